# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL 15 or later, which several gateways may share.

Statements are the same as for SQLite: placeholders are numbered here, and the schema defines the few
functions of SQLite that they use (migrations/postgres). A transaction that nobody else may write beside holds
a lock of the whole database; those of Database.writing(beside=True) share it, and rely on row locks.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import Any, ClassVar

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import no_result
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.gateway.database.interface import Connection, Database, Fault, StatementError
from ciphermote.gateway.database.watch import Watch

_MOST_CONNECTIONS = 10
"""The most connections of a process: a thread that finds none waits for one."""
_WAIT_SECONDS = 30.0
_MOST_PREPARED = 500
_WRITERS = 0x434D4757
"""The advisory lock that writers hold, alone or beside others."""
_MIGRATION = _WRITERS + 1
_OBJECTS = _WRITERS + 2
"""The advisory lock of objects_kept."""
_SETTINGS = {
    "application_name": "ciphermote",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    # A gateway that stops in a transaction, or is cut off, gives way to the others. The server asks whether
    # it is there, because the timeout of idle transactions does not count within an executemany.
    "options": "-c statement_timeout=60s -c lock_timeout=20s -c idle_in_transaction_session_timeout=10s "
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 "
    "-c tcp_user_timeout=10000",
}
_NEWER_THAN = 150_000
"""The oldest version that is supported, as the server writes it."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_FAULTS: dict[str, Fault] = {
    "CM001": "deleted",
    "CM002": "lost",
    "40001": "conflict",
    "40P01": "conflict",
    "55P03": "busy",
    "57014": "busy",
    "53300": "busy",
    "53100": "full",
    "53200": "full",
    "XX001": "damage",
    "XX002": "damage",
    "22021": "text",
    "25006": "lost",
    "25P03": "lost",
}
_FAULTS_OF_CLASS: dict[str, Fault] = {"23": "integrity", "08": "lost", "57": "lost"}


class PostgresDatabase(Database):
    """A database of a PostgreSQL server, with a few connections that threads borrow for a statement or a
    transaction."""

    system = "postgresql"
    is_shared = True
    skip_locked = " FOR UPDATE SKIP LOCKED"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._where = connection_string(url)
        self._free: queue.LifoQueue[psycopg.Connection[Any] | None] = queue.LifoQueue()
        """Connections that nobody uses; None for each that may still be made."""
        for _ in range(_MOST_CONNECTIONS):
            self._free.put(None)
        self._connection = _Connection(self)
        self._watch: Watch | None = None

    @property
    def connection(self) -> Connection:
        return self._connection

    @property
    def held(self) -> psycopg.Connection[Any] | None:
        """The connection of this thread's transaction."""
        found: psycopg.Connection[Any] | None = getattr(self._local, "held", None)
        return found

    @contextlib.contextmanager
    def lent(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection for a statement. Raises StatementError for an error of the database."""
        with _translated():
            if self.held is not None:
                yield self.held
                return
            found = self._borrow()
            try:
                yield found
            finally:
                self._return(found)

    def _borrow(self) -> psycopg.Connection[Any]:
        watch = self._watch
        if watch is not None and watch.trouble is not None:
            raise StatementError("lost", watch.trouble)
        try:
            found = self._free.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            raise StatementError("busy", "all connections are in use") from None
        if found is not None:
            return found
        try:
            made = _connect(self._where)
        except BaseException:
            self._free.put(None)
            raise
        if watch is not None:
            watch.add(made)
        return made

    def _return(self, connection: psycopg.Connection[Any]) -> None:
        if connection.info.transaction_status == TransactionStatus.IDLE:
            self._free.put(connection)
            return
        connection.close()
        self._free.put(None)
        self._drop_idle()  # they are as dead as this one, if the server was started anew

    def _drop_idle(self) -> None:
        dropped = 0
        with contextlib.suppress(queue.Empty):
            while True:
                idle = self._free.get_nowait()
                if idle is not None:
                    idle.close()
                dropped += 1
        for _ in range(dropped):
            self._free.put(None)

    def _begin(self, *, beside: bool) -> Connection:
        with _translated():
            found = self._borrow()
            lock = "pg_advisory_xact_lock_shared" if beside else "pg_advisory_xact_lock"
            try:
                found.execute(f"BEGIN; SELECT {lock}({_WRITERS})", prepare=False)
            except BaseException:
                found.close()
                self._return(found)
                raise
            self._local.held = found
            return self._connection

    def _commit(self) -> None:
        held = self.held
        assert held is not None
        with _translated():
            held.execute("COMMIT")
        self._local.held = None
        self._return(held)

    def _roll_back(self) -> None:
        held = self.held
        if held is not None:
            self._local.held = None
            with contextlib.suppress(psycopg.Error):
                held.execute("ROLLBACK")
            self._return(held)

    @contextlib.contextmanager
    def objects_kept(self) -> Iterator[None]:
        """The lock is the session's and not a transaction's, which the server would end while the store is
        slow; and intakes go on."""
        with _translated():
            found = self._borrow()
            try:
                found.execute(f"SELECT pg_advisory_lock({_OBJECTS})")
            except BaseException:
                found.close()
                self._return(found)
                raise
        try:
            yield
        finally:
            try:
                found.execute(f"SELECT pg_advisory_unlock({_OBJECTS})")
            except psycopg.Error:
                found.close()
            self._return(found)

    def keep_undo_in_memory(self) -> None:
        """The server decides where it keeps it."""

    def clock(self) -> tuple[str, float]:
        (seconds,) = self.connection.execute(
            "SELECT CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION)"
        ).fetchone()
        return "database", float(seconds)

    def watch(self) -> None:
        quickly = make_conninfo(self._where, connect_timeout=2)
        self._watch = Watch(lambda: _connect(quickly), _sentence)

    def missing(self) -> str | None:
        if self._watch is not None:
            return self._watch.ask()
        try:
            self.connection.execute("SELECT 1")
        except StatementError as error:
            return f"the database does not answer ({error})"
        return None

    def damaged_pages(self) -> list[str]:
        """The server checks its pages itself, when it reads them (initdb --data-checksums)."""
        return []

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._drop_idle()


class _Connection:
    """Looks like one connection, and borrows one for each statement."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @property
    def in_transaction(self) -> bool:
        return self._database.held is not None

    def execute(self, sql: str, parameters: Any = (), /) -> _Result:
        with self._database.lent() as connection:
            return _Result(connection.execute(_numbered(sql), parameters))

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> _Result:
        with self._database.lent() as connection, connection.cursor() as cursor:
            cursor.executemany(_numbered(sql), list(parameters))
            return _Result(cursor)


class _Result:
    """Holds all rows that a statement returned."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self.rowcount = cursor.rowcount
        self._rows: Iterator[Any] = iter(cursor.fetchall() if cursor.description else ())

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class _Row(tuple[Any, ...]):
    """A row with values by place and by name, as sqlite3.Row has them."""

    places: ClassVar[dict[str, int]]

    def __getitem__(self, key: Any, /) -> Any:
        return tuple.__getitem__(self, self.places[key] if isinstance(key, str) else key)

    def keys(self) -> Iterable[str]:
        return self.places.keys()


def _row_factory(cursor: Any) -> Any:
    if cursor.description is None:
        return no_result
    return _row_class(tuple(column.name for column in cursor.description))


@cache
def _row_class(names: tuple[str, ...]) -> type[_Row]:
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
    return type("_Row", (_Row,), {"places": places})


class _BoolDumper(Dumper):
    """Booleans are stored as numbers, as SQLite has them."""

    oid = Int8Dumper.oid

    def dump(self, value: object) -> Buffer:
        return b"1" if value else b"0"


class _NumericLoader(Loader):
    """Sums of whole numbers are whole numbers."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


def _adapt(context: AdaptContext) -> None:
    adapters = context.adapters
    assert adapters is not None
    # One type for each kind of value, or a statement would be prepared once for each size of a number.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_dumper(str, StrDumper)
    adapters.register_loader("numeric", _NumericLoader)


_PLACEHOLDER = re.compile(r"'(?:[^']|'')*'|\?(\d*)")


@lru_cache(1000)
def _numbered(sql: str) -> str:
    """Write placeholders as PostgreSQL does: $1 for the first ?, and for each ?1."""
    count = itertools.count(1)

    def number(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == "'" else f"${found[1] or next(count)}"

    return _PLACEHOLDER.sub(number, sql)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Raises StatementError for errors of psycopg. Their details, which may name values, stay here."""
    try:
        yield
    except psycopg.Error as error:
        raise StatementError(_fault(error), _sentence(error)) from None


def _sentence(error: psycopg.Error) -> str:
    return error.diag.message_primary or (str(error).splitlines() or [type(error).__name__])[0]


def _fault(error: psycopg.Error) -> Fault:
    state = error.sqlstate
    if state is None:
        return "text" if isinstance(error, psycopg.DataError) else "lost"
    return _FAULTS.get(state) or _FAULTS_OF_CLASS.get(state[:2], "other")


def connection_string(url: str) -> str:
    """Return what libpq takes for a URL. Raises ParameterError if the URL has a password, or asks for less
    than a checked certificate of a server elsewhere."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise ParameterError(
            "--database is no URL of PostgreSQL: give postgresql://USER@HOST/NAME."
        ) from None
    if "password" in given:
        raise ParameterError(
            "--database has a password, which everybody on this machine can see: leave it out, and put it "
            "into a file that PGPASSFILE names, or into PGPASSWORD."
        )
    hosts = str(given.get("host") or os.environ.get("PGHOST", "")).split(",")
    elsewhere = any(host and host not in _LOCAL and not host.startswith(("/", "@")) for host in hosts)
    mode = given.get("sslmode") or os.environ.get("PGSSLMODE")
    if elsewhere and mode not in (None, "verify-full"):
        raise ParameterError(
            f"--database asks for sslmode={mode}, by which another server could pass for the database: give "
            "sslmode=verify-full, and the authority as sslrootcert=FILE."
        )
    checked: dict[str, Any] = {"sslmode": "verify-full"} if elsewhere else {}
    return make_conninfo(**{**_SETTINGS, **checked, **given})


def _connect(where: str) -> psycopg.Connection[Any]:
    connection: psycopg.Connection[Any] = psycopg.connect(
        where, autocommit=True, cursor_factory=psycopg.RawCursor, row_factory=_row_factory
    )
    connection.prepared_max = _MOST_PREPARED
    _adapt(connection)
    return connection


def migrations() -> list[tuple[int, str]]:
    """Return (version, SQL) of each step, in order: the files of migrations/postgres/."""
    folder = resources.files(__package__) / "migrations" / "postgres"
    files = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry.read_text()) for entry in files)


def migrate(url: str) -> int:
    """Create the gateway's tables, or update them, with each step in one transaction, and return their
    version. Raises KeyFileError if the database cannot be used."""
    try:
        with contextlib.closing(_connect(connection_string(url))) as connection:
            _check_server(connection)
            connection.execute(f"SELECT pg_advisory_lock({_MIGRATION})")
            return _migrate(connection)
    except psycopg.Error as error:
        raise KeyFileError(
            f"The database cannot be used ({_sentence(error)}): check --database, and that the server runs."
        ) from None


def _check_server(connection: psycopg.Connection[Any]) -> None:
    if connection.info.server_version < _NEWER_THAN:
        raise KeyFileError("The database's server is older than PostgreSQL 15: give a newer one.")
    for setting in ("fsync", "synchronous_commit"):
        (value,) = connection.execute(f"SHOW {setting}").fetchone() or ("",)
        if value == "off":
            raise KeyFileError(
                f"The database's server has {setting} = off, by which it may lose what it has confirmed: "
                "switch it on."
            )


def _migrate(connection: psycopg.Connection[Any]) -> int:
    def one(sql: str) -> Any:
        row = connection.execute(sql).fetchone()
        return row and row[0]

    version = 0
    if one("SELECT to_regclass('schema_version')") is not None:
        version = int(one("SELECT version FROM schema_version"))
    elif one("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"):
        raise KeyFileError(
            "The database holds tables of another application: name an empty one (--database)."
        )
    steps = migrations()
    newest = steps[-1][0]
    if version > newest:
        raise KeyFileError(
            f"The database is of version {version} and this gateway knows up to {newest}: run the newer "
            "gateway."
        )
    for number, script in steps:
        if number > version:
            connection.execute(
                f"BEGIN;\n{script}\nUPDATE schema_version SET version = {number};\nCOMMIT;", prepare=False
            )
    return newest
