# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL for the tests, started once in a process, with a database for the directory of each gateway.

back_end.now is what the gateways of a test store their state in: conftest.py runs the tests of some modules
over each.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from ciphermote.gateway.database.interface import Database
from ciphermote.gateway.database.opening import migrate, open_database
from demos.cluster.services import Postgres

BackEnd = Literal["sqlite", "postgres"]
BACK_ENDS: tuple[BackEnd, ...] = get_args(BackEnd)


class _Current:
    now: BackEnd = "sqlite"


back_end = _Current()
_numbers = itertools.count()


@cache
def postgres_server() -> Postgres:
    """The server of this process, which ends with it."""
    server = Postgres().start()
    atexit.register(server.remove)
    return server


def new_database() -> str:
    """The URL of a new, empty database."""
    return postgres_server().create(f"gateway{next(_numbers)}")


_shared: dict[Path, Path] = {}


def share_database(folder: Path, other: Path) -> None:
    """Have the gateway of a directory use the database of another's."""
    _shared[folder] = other


@cache
def _database_of(folder: Path) -> str:
    return new_database()


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Database]:
    """The database of a gateway's directory, made if there is none, for the block."""
    folder.mkdir(parents=True, exist_ok=True)
    migrate(folder, database_url(folder))
    with contextlib.closing(open_database(folder, database_url(folder))) as database:
        yield database


def database_url(folder: Path) -> str | None:
    """The URL of the database that belongs to a gateway's directory; None for SQLite."""
    return None if back_end.now == "sqlite" else _database_of(_shared.get(folder, folder))
