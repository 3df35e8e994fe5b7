# SPDX-License-Identifier: Apache-2.0
"""The C library installed to a folder of its own, for the packaging tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run


@pytest.fixture(scope="session", params=["static", "shared"])
def prefix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the C library installed in it, moved there after its installation somewhere else."""
    folder = tmp_path_factory.mktemp(request.param)
    shared = "ON" if request.param == "shared" else "OFF"
    run(
        *("cmake", "-S", REPOSITORY, "-B", folder / "build", "-G", "Ninja"),
        *(f"-DBUILD_SHARED_LIBS={shared}", "-DCIPHERMOTE_BUILD_TESTS=OFF", "-DCMAKE_INSTALL_LIBDIR=lib"),
    )
    run("cmake", "--build", folder / "build")
    run("cmake", "--install", folder / "build", "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"
