# SPDX-License-Identifier: Apache-2.0
"""The ledger of readings taken in, by which replayed frames are noticed.

A device's counter never repeats, so a repeated counter is a copy: an attacker's, or the same file read twice.
The ledger is an SQLite database: a transaction is open from the check of a reading until its result is on the
disk, so that processes take turns, no entry is lost, and after a crash or a failed write the same frames can
simply be taken in again.

It stores the newest readings of each device and refuses older ones, so it stays small: as many counters as
its window, or a week of readings numbered by the clock. A number far ahead is refused, because one wrong
clock or forged frame would otherwise make all later readings too old. Its limits: its memory is its file, it
knows no other ledger's readings, and it cannot tell a forged frame from a device's (docs/security.md).
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ciphermote.base.errors import KeyFileError, ParameterError, ReplayError
from ciphermote.base.files import sync_directory
from ciphermote.base.forks import Opener

if TYPE_CHECKING:
    from ciphermote.formats.frames import FrameSet

LEDGER_FILE = "readings.ledger"
"""The ledger's file name beside the keys."""

WINDOW = 1024
CLOCK_BEGINS = 10**18
"""Counters from here on are nanoseconds since 1970, in 2001 and later, with which encrypt numbers readings;
no device counts that far. Both kinds can come from one sender's key without disturbing each other."""
CLOCK_WINDOW = 7 * 86_400 * 10**9
CLOCK_AHEAD = 86_400 * 10**9
MOST_JUMP = 2**31
"""The same as a gateway's."""

_SQLITE_MAGIC = b"SQLite format 3\0"
_APPLICATION_AT = 68
_APPLICATION = b"CMLD"
_APPLICATION_ID = int.from_bytes(_APPLICATION, "big")
_VERSION = 2
_BUSY_SECONDS = 60.0
_FLOORS = """
CREATE TABLE floors (
    key_id TEXT NOT NULL,
    device TEXT NOT NULL,
    by_clock INTEGER NOT NULL,
    counter TEXT NOT NULL,
    PRIMARY KEY (key_id, device, by_clock)
) WITHOUT ROWID;
"""
"""Counters up to which readings are too old to tell. They never decrease, even if this computer's clock
does."""
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
CREATE TABLE readings (
    key_id TEXT NOT NULL,
    device TEXT NOT NULL,
    counter TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (key_id, device, counter)
) WITHOUT ROWID;
CREATE INDEX readings_by_digest ON readings (digest);
{_FLOORS}"""
"""Key ids and counters are stored as 16 hexadecimal digits, which sort like the numbers: SQLite's integers
are signed."""


def is_ledger(data: bytes) -> bool:
    """Whether data begin like a ledger's file."""
    return data.startswith(_SQLITE_MAGIC) and data[_APPLICATION_AT:].startswith(_APPLICATION)


def check_device(name: str) -> str:
    """Check and return the name of a device; it may be empty. Raises ParameterError unless it can be part of
    a file's name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}|", name):
        raise ParameterError(
            f"The device is named {name!r}: take up to 64 letters, digits, dots, dashes and underscores."
        )
    return name


class CounterLedger:
    """Remembers which readings were taken in; a context manager that closes its file.

    path: the file, which is created if needed; None for memory only. window: number of counters below a
    device's newest that are distinguished; older ones count as seen. For readings numbered by the clock the
    window is CLOCK_WINDOW nanoseconds. Raises KeyFileError if the file is damaged, is not a ledger, or cannot
    be opened.
    """

    def __init__(self, path: str | Path | None = None, window: int = WINDOW) -> None:
        if window < 1:
            raise ParameterError(f"A ledger's window of {window} remembers nothing: give 1 or more.")
        self._path = None if path is None else Path(path)
        self._window = window
        self._opener = Opener("The ledger")
        with self._sentences():
            if self._path is None:
                self._database = _connect(":memory:")
                self._database.executescript(_SCHEMA)
            else:
                if not self._path.exists():
                    _create(self._path)
                self._database = _connect(self._path)
                try:
                    self._check()
                except BaseException:
                    self._database.close()  # or a statement cut short keeps its lock
                    raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._opener.is_here:  # SQLite's connections are not carried over a fork, nor closed behind it
            self._database.close()

    @contextlib.contextmanager
    def taking(
        self, sets: Iterable[FrameSet], device: str = "", *, again: bool = False, ahead: bool = False
    ) -> Iterator[None]:
        """Take readings in: write their results within the block.

        They are recorded when the block ends, and not if it fails. device: the sender, if several devices
        share a key. again: accept recorded readings again, if they are identical. ahead: accept readings
        whose numbers are far ahead: over MOST_JUMP counters beyond the device's newest, or CLOCK_AHEAD
        nanoseconds beyond this computer's clock. Raises ReplayError, before the block begins, if one was
        recorded before, is too old to tell or is far ahead, or KeyFileError if the ledger cannot be used.
        """
        self._opener.check()
        check_device(device)
        with self._sentences():
            self._database.execute("BEGIN IMMEDIATE")
        try:
            with self._sentences():
                for frames in sets:
                    self._take(frames, device, again=again, ahead=ahead)
            yield
            with self._sentences():
                self._database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    def _take(self, frames: FrameSet, device: str, *, again: bool, ahead: bool) -> None:
        head = frames.header
        owner = f"{head.key_id:016x}", device
        counter, digest = f"{head.counter:016x}", frames.digest()
        who = f"reading {head.counter} of key {owner[0]}" + (f", device {device}" if device else "")
        row = self._database.execute(
            "SELECT digest FROM readings WHERE key_id = ? AND device = ? AND counter = ?", (*owner, counter)
        ).fetchone()
        if row is not None and row[0] != digest:
            raise ReplayError(
                f"Another {who} was taken in before, and no device counts twice: if several devices share "
                "the key, name each (--device); if this one lost its counter, provision it anew; otherwise "
                "drop these frames."
            )
        if row is not None and not again:
            raise ReplayError(
                f"{who[0].upper()}{who[1:]} was taken in before: these frames may be a replay, so drop them; "
                "to take it in again, give --again."
            )
        if row is not None:
            return
        other = self._database.execute("SELECT device FROM readings WHERE digest = ?", (digest,)).fetchone()
        if other is not None:
            name = f"device {other[0]}" if other[0] else "a device without a name"
            raise ReplayError(
                f"{who[0].upper()}{who[1:]} was taken in before from {name}: these frames may be a replay, "
                "so drop them, or name the device that they are of (--device)."
            )
        by_clock = head.counter >= CLOCK_BEGINS
        newest, floor = self._newest(owner, by_clock=by_clock), self._floor(owner, by_clock=by_clock)
        if head.counter <= floor:
            span = self._span(by_clock=by_clock)
            raise ReplayError(
                f"{who[0].upper()}{who[1:]} is {span} or more behind the newest ({newest}), "
                "too old to tell from a replay: adapt files oldest first, or give the sender a name of its "
                "own (--device)."
            )
        now = time.time_ns()
        if by_clock and head.counter > now + CLOCK_AHEAD and not ahead:
            raise ReplayError(
                f"{who[0].upper()}{who[1:]} is numbered by a clock that is "
                f"{(head.counter - now) / 86_400e9:,.0f} days ahead of this computer's: it is held back; see "
                "which clock is wrong, or accept it (--ahead)."
            )
        if not by_clock and newest >= 0 and head.counter > newest + MOST_JUMP and not ahead:
            raise ReplayError(
                f"{who[0].upper()}{who[1:]} is more than 2^31 ahead of the newest ({newest}): it is held "
                "back, for all that the sender numbers lower would be too old; see that its counter is "
                "right, or accept it (--ahead)."
            )
        self._database.execute("INSERT INTO readings VALUES (?, ?, ?, ?)", (*owner, counter, digest))
        top = max(head.counter, newest)
        self._raise_floor(
            owner,
            by_clock=by_clock,
            floor=floor,
            wanted=min(top, now) - CLOCK_WINDOW if by_clock else top - self._window,
        )

    def _span(self, *, by_clock: bool) -> str:
        return f"{CLOCK_WINDOW // 86_400_000_000_000} days" if by_clock else str(self._window)

    def _newest(self, owner: tuple[str, str], *, by_clock: bool) -> int:
        """Return the highest counter recorded; -1 if there is none. Raises ValueError or TypeError if one is
        not a number."""
        first, last = _range(by_clock=by_clock)
        where = "FROM readings WHERE key_id = :key AND device = :device"
        found = self._database.execute(
            f"SELECT (SELECT max(counter) {where} AND counter >= :first AND counter <= :last), "
            f"(SELECT min(counter) {where}), (SELECT max(counter) {where})",
            {"key": owner[0], "device": owner[1], "first": first, "last": last},
        ).fetchone()
        newest, *_ = (-1 if counter is None else int(counter, 16) for counter in found)
        return newest

    def _floor(self, owner: tuple[str, str], *, by_clock: bool) -> int:
        """Return the highest counter that is too old to tell; -1 if there is none."""
        found = self._database.execute(
            "SELECT counter FROM floors WHERE key_id = ? AND device = ? AND by_clock = ?", (*owner, by_clock)
        ).fetchone()
        return -1 if found is None else int(found[0], 16)

    def _raise_floor(self, owner: tuple[str, str], *, by_clock: bool, floor: int, wanted: int) -> None:
        first, _ = _range(by_clock=by_clock)
        if wanted <= floor or f"{max(wanted, 0):016x}" < first:
            return
        self._database.execute(
            "INSERT OR REPLACE INTO floors VALUES (?, ?, ?, ?)", (*owner, by_clock, f"{wanted:016x}")
        )
        self._database.execute(
            "DELETE FROM readings WHERE key_id = ? AND device = ? AND counter >= ? AND counter <= ?",
            (*owner, first, f"{wanted:016x}"),
        )

    def _check(self) -> None:
        """Whether the file is a ledger, of the version that this package reads."""
        if self._path is not None and self._path.stat().st_size == 0:
            raise sqlite3.DatabaseError("empty")
        (application_id,) = self._database.execute("PRAGMA application_id").fetchone()
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if application_id != _APPLICATION_ID:
            raise sqlite3.DatabaseError("another application's")
        if version == 1:
            self._migrate()
        elif version != _VERSION:
            raise KeyFileError(
                f"The ledger {self._path} is of version {version} and this package reads {_VERSION}: update "
                "the package."
            )

    def _migrate(self) -> None:
        """Store the floors, which version 1 derived from the newest reading of a sender."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            if self._database.execute("PRAGMA user_version").fetchone() == (1,):
                self._database.execute(_FLOORS)
                for *owner, newest in self._database.execute(
                    "SELECT key_id, device, max(counter) FROM readings GROUP BY key_id, device"
                ).fetchall():
                    floor = int(newest, 16) - WINDOW
                    for by_clock in (False, True):
                        first, last = _range(by_clock=by_clock)
                        row = (*owner, by_clock, min(f"{max(floor, 0):016x}", last))
                        if floor >= 0 and row[-1] >= first:
                            self._database.execute("INSERT INTO floors VALUES (?, ?, ?, ?)", row)
                self._database.execute(f"PRAGMA user_version = {_VERSION}")
            self._database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise KeyFileError(
                f"The ledger {self._path} cannot be used ({error}), and without it replays go unnoticed: "
                f"{_what_to_do(str(error))}."
            ) from None
        except OSError as error:
            raise KeyFileError(
                f"The ledger {self._path} cannot be used ({error.strerror}), and without it replays go "
                "unnoticed: name another ledger (--ledger)."
            ) from None
        except (sqlite3.DatabaseError, ValueError, TypeError):  # the last two: a counter that is no number
            raise KeyFileError(
                f"The ledger {self._path} is damaged, or is not a ledger: restore it from a copy, or "
                "replays go unnoticed."
            ) from None


def _what_to_do(error: str) -> str:
    """Tell what to do about an error of SQLite."""
    if "locked" in error or "busy" in error:
        return f"another process has held it for {_BUSY_SECONDS:g} s, so wait until it has ended"
    if "full" in error:
        return "make room on its disk"
    return "see that you may read and write it and its directory, or name another ledger (--ledger)"


def _range(*, by_clock: bool) -> tuple[str, str]:
    """Return the first and last counter of a kind."""
    first, last = (CLOCK_BEGINS, 2**64 - 1) if by_clock else (0, CLOCK_BEGINS - 1)
    return f"{first:016x}", f"{last:016x}"


def _connect(path: str | Path) -> sqlite3.Connection:
    """Open the file. Transactions are begun explicitly, and are on the disk, with the directory's entry, when
    they end."""
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = EXTRA")
    except BaseException:
        database.close()
        raise
    return database


def _create(path: Path) -> None:
    """Create an empty ledger, atomically, and never in place of one that another process created."""
    directory = path.absolute().parent
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=directory)
    os.close(descriptor)
    try:
        with contextlib.closing(_connect(scratch)) as database:
            database.executescript(_SCHEMA)
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)
    finally:
        os.unlink(scratch)
    sync_directory(directory)
