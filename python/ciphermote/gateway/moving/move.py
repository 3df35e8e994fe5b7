# SPDX-License-Identifier: Apache-2.0
"""Move a stopped gateway's data, in steps that can be repeated.

Both databases are marked, the source first: from then on neither starts a gateway. Rows and bytes are copied
and compared. Then the source is marked as left, and last of all the target as arrived, which opens it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.backup import copy_secrets
from ciphermote.gateway.database.interface import Database
from ciphermote.gateway.moving import bulk
from ciphermote.gateway.moving.bulk import Schema, newest_schema
from ciphermote.gateway.moving.comparing import Comparison
from ciphermote.gateway.moving.copying import Copy, Stages
from ciphermote.gateway.moving.ends import (
    End,
    Place,
    assign_store,
    check_new_folder,
    check_new_store,
    keeps_bytes,
    not_empty,
    opened_database,
    opened_source,
    opened_target,
    target_end,
)
from ciphermote.gateway.moving.marks import Mark, mark_of, put_mark


class Moved(NamedTuple):
    """Figures of a move. rows, size: all rows, and all bytes of ciphertexts and objects, that were compared;
    copied: bytes that this run copied; seconds: of this run; was_done: whether an earlier run had done it."""

    rows: int = 0
    size: int = 0
    copied: int = 0
    seconds: float = 0.0
    was_done: bool = False


def move(
    source: Place, target: Place, stages: Stages, report: Callable[[str], None], *, leave_out: bool = False
) -> Moved:
    """Move all data of a stopped gateway, or go on with a move that was stopped. report: called with a
    sentence for each damaged thing; leave_out: move the rest, with those marked as deleted. Raises
    KeyFileError, and ERRORS and OSError of databases and stores."""
    started = time.monotonic()
    schema = newest_schema()
    with opened_source(source, schema) as (here, wrapper), opened_target(target) as database:
        mark = _begin(here, target, database, schema)
        if mark is None:
            return Moved(was_done=True)
        with target_end(here, target, database) as there:
            copy = Copy(here, there, schema, wrapper, stages, report, leave_out=leave_out)
            copy.run()
            comparison = Comparison(here, there, schema, wrapper, stages, mark.id, leave_out=leave_out)
            comparison.run()
            _finish(here, there, schema, mark)
    return Moved(comparison.rows, comparison.size, copy.size, time.monotonic() - started)


def _begin(here: End, target: Place, database: Database, schema: Schema) -> Mark | None:
    """Mark both ends, unless they are, and return the source's mark; None if the move is done. Raises
    KeyFileError if either end belongs to another move, or the target is not empty."""
    left = mark_of(here.connection, "leaving", "left", "arriving")
    if left is not None and left.state == "arriving":
        raise KeyFileError(f"The data of {left.other} are not all in {here.place} yet: end that move first.")
    if left is not None and left.other != str(target):
        raise KeyFileError(
            f"The data of {here.place} are being moved to {left.other}, or were: go on with that one, or "
            "give it up (`ciphermote gateway reopen`)."
        )
    if left is not None:
        row = database.connection.execute("SELECT state FROM moves WHERE id = ?", (left.id,)).fetchone()
        if row is not None:
            return left if row["state"] == "arriving" else None
    _check_new(here, target, database, schema)
    mark = left or Mark(secrets.token_hex(16), "leaving", str(target))
    with here.database.writing() as connection:
        put_mark(connection, mark)
        bulk.close_tables(here.database, connection, schema)
    with database.writing() as connection:
        if not bulk.is_blank(connection, schema):
            raise not_empty(target)
        connection.execute("DELETE FROM jobs_ended")
        bulk.switch_triggers_off(database, connection, schema)
        put_mark(connection, Mark(mark.id, "arriving", str(here.place)))
        assign_store(here, target, connection)
    return mark


def _check_new(here: End, target: Place, database: Database, schema: Schema) -> None:
    if not bulk.is_blank(database.connection, schema):
        raise not_empty(target)
    if target.database is None:
        check_new_folder(target.folder)
    if target.store is not None and not keeps_bytes(here, target):
        check_new_store(target)


def _finish(here: End, there: End, schema: Schema, mark: Mark) -> None:
    if there.place.folder != here.place.folder:
        copy_secrets(here.place.folder, there.place.folder)
    with there.database.writing() as connection:
        bulk.switch_triggers_on(there.database, connection, schema)
        for table in schema.tables:
            number = bulk.last_number(here.database, table)
            bulk.set_last_number(there.database, connection, table, number)
        _mark(here, mark._replace(state="left"))
        put_mark(connection, Mark(mark.id, "arrived", str(here.place)))
    bulk.gather_statistics(there.database)


def _mark(end: End, mark: Mark) -> None:
    with end.database.writing() as connection:
        put_mark(connection, mark)


def reopen(folder: Path, url: str | None) -> str:
    """Let a gateway start again whose data were moved, or were being moved, and return where to. Raises
    KeyFileError."""
    schema = newest_schema()
    with opened_database(folder, url) as database, database.writing() as connection:
        mark = mark_of(connection, "leaving", "left")
        if mark is None:
            raise KeyFileError(f"The data of {url or folder} were not moved: start the gateway.")
        bulk.reopen_tables(database, connection, schema)
        connection.execute("DELETE FROM moves WHERE id = ?", (mark.id,))
    return mark.other
