# SPDX-License-Identifier: Apache-2.0
"""Interface of the database for the gateway's other parts, and the code that both back ends share."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Literal, Protocol

from ciphermote.gateway import telemetry
from ciphermote.gateway.logs import log

_ROWS_AT_ONCE = 32
REMEMBERED_SECONDS = 4.0
"""How long tokens, fleets and tenants are remembered if others may change them."""

Fault = Literal["integrity", "deleted", "conflict", "busy", "lost", "full", "damage", "text", "other"]
"""Why a statement failed: it broke a constraint; it belongs to something deleted; another transaction was in
its way, and the whole transaction may succeed if repeated; it waited too long; the server is away; there is
no room; the database is damaged; a text cannot be stored; any other reason."""


class Row(Protocol):
    """A row, as sqlite3.Row is one: values by place and by name, in order when iterated over."""

    def __getitem__(self, key: int | str, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def keys(self) -> Iterable[str]: ...


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Executes statements, with placeholders ? or ?1, ?2 and so on. Each is a transaction, unless it is in
    Database.writing."""

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, sql: str, parameters: Any = (), /) -> Cursor: ...
    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Cursor: ...


class StatementError(Exception):
    """An error of a database that has a server."""

    def __init__(self, fault: Fault, sentence: str) -> None:
        super().__init__(sentence)
        self.fault = fault


ERRORS = (sqlite3.DatabaseError, StatementError)
"""What statements raise. SQLite's errors stay as they are, because rows raise them too, one by one."""


def fault_of(error: BaseException) -> Fault | None:
    """Return why a statement failed; None for an error that no database raised."""
    if isinstance(error, StatementError):
        return error.fault
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    code, text = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return "damage"
    if isinstance(error, sqlite3.IntegrityError):
        return "deleted" if text == "deleted" else "integrity"
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in text or "busy" in text:
            return "busy"
        if "full" in text or "I/O" in text:
            return "full"
    return "other"


class Database(ABC):
    """The database of one gateway, for all its threads."""

    system: ClassVar[str]
    """Its name in traces."""
    is_shared: ClassVar[bool]
    """Whether other gateways change it too, so that what is remembered of it may be outdated."""
    skip_locked: ClassVar[str]
    """The end of a SELECT in a transaction beside others: locks its rows, and skips those that others have
    locked."""

    def __init__(self) -> None:
        self.damage: str | None = None
        """The error that showed damage to it, if any."""
        self._local = threading.local()

    def is_outdated(self, since: float) -> bool:
        """Whether what was looked up at a time of time.monotonic() must be looked up again."""
        return self.is_shared and time.monotonic() - since > REMEMBERED_SECONDS

    @property
    @abstractmethod
    def connection(self) -> Connection:
        """This thread's connection."""

    @abstractmethod
    def _begin(self, *, beside: bool) -> Connection:
        """Begin this thread's transaction."""

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _roll_back(self) -> None:
        """Undo this thread's transaction, if it still goes on."""

    @contextlib.contextmanager
    def writing(self, *, beside: bool = False) -> Iterator[Connection]:
        """A transaction that is on the disk when the block has ended; an error in the block undoes it. Inside
        another transaction of the same thread, it becomes part of that one.

        Nobody else writes meanwhile, so what the block reads stays true until it has ended. beside: for the
        most frequent writers: others of them may write at the same time, in this gateway or another, so that
        only the rows that a statement has changed or locked stay as they are.
        """
        if self.connection.in_transaction:
            yield self.connection
            return
        self._local.afterwards = []
        with telemetry.span("transaction", system=self.system):
            database = self._begin(beside=beside)
            try:
                yield database
                self._commit()
            except BaseException as error:
                self.notice(error)
                self._roll_back()
                raise
        for action in self._local.afterwards:
            action()

    def once_stored(self, action: Callable[[], object]) -> None:
        """Call a function once this thread's transaction is on the disk, and not if it is undone: for example
        to drop cached rows that it changes."""
        assert self.connection.in_transaction
        self._local.afterwards.append(action)

    def notice(self, error: BaseException) -> None:
        """Record an error that shows damage."""
        if fault_of(error) == "damage" and self.damage is None:
            self.damage = f"the database is damaged ({error})"
            log.error("damaged", what=self.damage)

    @abstractmethod
    def objects_kept(self) -> contextlib.AbstractContextManager[None]:
        """A block beside which no other of its kind runs, in this gateway or another: one that deletes an
        object of the store, or that refers to one after it has seen it there. It may take as long as the
        store does, and have transactions."""

    @abstractmethod
    def keep_undo_in_memory(self) -> None:
        """Have this thread's statements of several rows keep what they would have to undo in memory, which
        needs no file: for one that writes often."""

    @abstractmethod
    def clock(self) -> tuple[str, float]:
        """Return a clock's name and its seconds, by which leases last: the same for all who lease, and one
        that no gateway's machine can set."""

    def watch(self) -> None:  # noqa: B027  a file needs no watching
        """From now on, notice soon that the database's server does not answer: statements fail then, as lost,
        instead of waiting."""

    @abstractmethod
    def missing(self) -> str | None:
        """Return None, or why the database cannot be reached now."""

    @abstractmethod
    def damaged_pages(self) -> list[str]:
        """Return faults of the database's pages and rows."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections of all threads, which may not be used any longer."""


def write_values(
    database: Connection, before: str, rows: Sequence[tuple[Any, ...]], after: str = ""
) -> list[Row]:
    """Execute a statement with rows between its two parts, and return the rows that it returns. Each
    execution releases the interpreter's lock, for which other threads compete, or asks a server, so many rows
    share one execution; and both back ends remember statements of a few lengths."""
    found: list[Row] = []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[first : first + _ROWS_AT_ONCE]
        places = _places(len(some), len(some[0]))
        given = list(itertools.chain.from_iterable(some))
        found += database.execute(f"{before} {places}{after}", given).fetchall()
    return found


@cache
def _places(rows: int, columns: int) -> str:
    """Return placeholders for `rows` rows of `columns` values each."""
    return ", ".join([f"({', '.join('?' * columns)})"] * rows)


def text_digest(text: str) -> str:
    """Return the digest by which texts stored once are found again. Migrations of SQLite call it as
    digest(text)."""
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()
