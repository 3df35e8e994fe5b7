# SPDX-License-Identifier: Apache-2.0
"""One gateway for all tests of a module that need nothing special of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_support import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    with serving(folder / "data") as found:
        yield found
