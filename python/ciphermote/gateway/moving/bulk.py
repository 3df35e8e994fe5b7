# SPDX-License-Identifier: Apache-2.0
"""Reading and filling whole tables, where SQLite and PostgreSQL differ. Both have the same tables, columns
and keys; those of a new SQLite database describe them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

from ciphermote.gateway.database import sqlite
from ciphermote.gateway.database.interface import Connection, Database
from ciphermote.gateway.gateway_files import DATABASE_FILE

_OF_MOVES = "moves"


class Table(NamedTuple):
    """key: its primary key's columns; never_reuses: whether ids of deleted rows are never given again."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    never_reuses: bool

    def key_of(self, row: Any) -> tuple[Any, ...]:
        return tuple(row[column] for column in self.key)

    def rows_after(self, database: Connection, after: tuple[Any, ...] | None, most: int) -> list[Any]:
        """Return rows in the order of their keys, from the first one after a key on."""
        where = ""
        if after is not None:
            where = f"WHERE ({_names(self.key)}) > ({_places(self.key)}) "
        return database.execute(
            f'SELECT {_names(self.columns)} FROM "{self.name}" {where}ORDER BY {_names(self.key)} LIMIT ?',
            (*(after or ()), most),
        ).fetchall()

    def last_key(self, database: Connection) -> tuple[Any, ...] | None:
        order = ", ".join(f'"{column}" DESC' for column in self.key)
        row = database.execute(
            f'SELECT {_names(self.key)} FROM "{self.name}" ORDER BY {order} LIMIT 1'
        ).fetchone()
        return None if row is None else tuple(row)

    def count(self, database: Connection) -> int:
        return int(database.execute(f'SELECT count(*) FROM "{self.name}"').fetchone()[0])

    def insert(self, database: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows with their columns in order."""
        database.executemany(
            f'INSERT INTO "{self.name}" ({_names(self.columns)}) VALUES ({_places(self.columns)})', rows
        )


class Schema(NamedTuple):
    """tables: all but that of moves, those that others refer to first; triggers: SQLite's, as statements."""

    tables: tuple[Table, ...]
    triggers: tuple[str, ...]

    def named(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)


def newest_schema() -> Schema:
    """Return the schema of a database that is up to date."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE_FILE
        sqlite.migrate(path)
        with contextlib.closing(sqlite.connect(path)) as database:
            known = {
                row["name"]: row["sql"]
                for row in database.execute(
                    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' "
                    "ESCAPE '!' ORDER BY name"
                )
                if row["name"] != _OF_MOVES
            }
            parents = {
                name: [row["table"] for row in database.execute(f'PRAGMA foreign_key_list("{name}")')]
                for name in known
            }
            tables = [
                _table(database, name, known[name]) for name in TopologicalSorter(parents).static_order()
            ]
            triggers = database.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
            return Schema(tuple(tables), tuple(sql for (sql,) in triggers))


def _table(database: Connection, name: str, sql: str) -> Table:
    columns = database.execute(f'PRAGMA table_info("{name}")').fetchall()
    key = sorted((row["pk"], row["name"]) for row in columns if row["pk"])
    return Table(
        name,
        tuple(row["name"] for row in columns),
        tuple(column for _, column in key),
        "AUTOINCREMENT" in sql,
    )


def is_blank(database: Connection, schema: Schema) -> bool:
    """Whether no gateway has used a database, and nothing has been moved to it."""
    return not any(
        database.execute(f'SELECT EXISTS (SELECT 1 FROM "{table}")').fetchone()[0]
        for table in (*(table.name for table in schema.tables if table.name != "jobs_ended"), _OF_MOVES)
    )


# --- triggers -----------------------------------------------------------------------------------------------


def switch_triggers_off(database: Database, connection: Connection, schema: Schema) -> None:
    """Within a transaction, have rows be stored as they are: counts are rows too, and come with the
    others."""
    if isinstance(database, sqlite.SqliteDatabase):
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        return
    for table in schema.tables:
        connection.execute(f'ALTER TABLE "{table.name}" DISABLE TRIGGER USER')


def switch_triggers_on(database: Database, connection: Connection, schema: Schema) -> None:
    if isinstance(database, sqlite.SqliteDatabase):
        for sql in schema.triggers:
            connection.execute(sql)
        return
    for table in schema.tables:
        connection.execute(f'ALTER TABLE "{table.name}" ENABLE TRIGGER USER')


def close_tables(database: Database, connection: Connection, schema: Schema) -> None:
    """Within a transaction, refuse every later change of a database that others may be connected to. A file
    is locked by the one process that uses it."""
    for table in schema.tables if database.is_shared else ():
        connection.execute(
            f'CREATE OR REPLACE TRIGGER is_moved BEFORE INSERT OR UPDATE OR DELETE ON "{table.name}" '
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved()"
        )


def reopen_tables(database: Database, connection: Connection, schema: Schema) -> None:
    for table in schema.tables if database.is_shared else ():
        connection.execute(f'DROP TRIGGER IF EXISTS is_moved ON "{table.name}"')


# --- numbers that were given --------------------------------------------------------------------------------


def last_number(database: Database, table: Table) -> int:
    """Return the last id that a table has given, whose row may be deleted; 0 if none is known."""
    connection = database.connection
    if isinstance(database, sqlite.SqliteDatabase):
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
        given = 0 if row is None else row[0]
    else:
        sequence = _sequence(connection, table)
        if sequence is None:
            return 0
        last, is_given = connection.execute(f"SELECT last_value, is_called FROM {sequence}").fetchone()
        given = last if is_given else 0
    last_key = table.last_key(connection)
    return max(given, last_key[0]) if last_key is not None and _has_numbers(table) else int(given)


def set_last_number(database: Database, connection: Connection, table: Table, number: int) -> None:
    """Have the next id be the one after a number."""
    if isinstance(database, sqlite.SqliteDatabase):
        if table.never_reuses:
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, number))
        return
    sequence = _sequence(connection, table)
    if sequence is not None:
        connection.execute(f"SELECT setval('{sequence}', ?, CAST(? AS BIGINT) > 0)", (max(1, number), number))


def _has_numbers(table: Table) -> bool:
    return table.key in (("id",), ("sequence",)) and table.name != "tokens"


def _sequence(connection: Connection, table: Table) -> str | None:
    """Return the name of PostgreSQL's sequence for a table, quoted as statements want it; None for a table
    that gives no numbers."""
    if not _has_numbers(table):
        return None
    (found,) = connection.execute(
        "SELECT pg_get_serial_sequence(?, ?)", (table.name, table.key[0])
    ).fetchone()
    return None if found is None else str(found)


# --- others -------------------------------------------------------------------------------------------------


def others_connected(database: Database) -> int:
    """Return how many other sessions of the same user a database has; 0 for a file, which is locked."""
    if not database.is_shared:
        return 0
    (count,) = database.connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND usename = current_user AND pid != pg_backend_pid() AND backend_type = 'client backend'"
    ).fetchone()
    return int(count)


def gather_statistics(database: Database) -> None:
    """Have the server plan statements by what the tables now hold."""
    if database.is_shared:
        database.connection.execute("ANALYZE")


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _places(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))


def batches(
    table: Table, database: Connection, after: tuple[Any, ...] | None, most: int
) -> Iterator[list[Any]]:
    """Yield a table's rows in the order of their keys."""
    while rows := table.rows_after(database, after, most):
        yield rows
        after = table.key_of(rows[-1])
