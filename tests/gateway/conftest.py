# SPDX-License-Identifier: Apache-2.0
"""One gateway for all tests of a module that need nothing special of it, and the modules whose tests run over
each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_support import Server, serving
from postgres_support import BACK_ENDS, BackEnd, back_end

STATEFUL = (
    "test_clock",
    "test_counting",
    "test_deliveries",
    "test_idempotency",
    "test_jobs",
    "test_leases",
    "test_listings",
    "test_operator",
    "test_operator_deletions",
    "test_quotas",
    "test_retention",
    "test_rotation",
    "test_two_gateways",
)
"""Modules whose tests run over SQLite and PostgreSQL, unless a test is marked for one of them."""
SAMPLED = ("test_clock", "test_jobs", "test_operator", "test_retention")
"""Those that take long, and so run over PostgreSQL in make test-all alone."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if module in STATEFUL:
        only = [name for name in BACK_ENDS if metafunc.definition.get_closest_marker(name) is not None]
        found = [
            pytest.param(name, marks=pytest.mark.slow) if name == "postgres" and module in SAMPLED else name
            for name in only or BACK_ENDS
        ]
        metafunc.parametrize("database", found, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def database(request: pytest.FixtureRequest) -> Iterator[BackEnd]:
    back_end.now = getattr(request, "param", "sqlite")
    yield back_end.now
    back_end.now = "sqlite"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database: BackEnd) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    with serving(folder / "data") as found:
        yield found
