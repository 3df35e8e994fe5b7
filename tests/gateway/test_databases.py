# SPDX-License-Identifier: Apache-2.0
"""SQLite and PostgreSQL have the same tables, a URL reveals nothing, a server's errors are told apart."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.gateway.database import sqlite
from ciphermote.gateway.database.interface import StatementError, fault_of
from ciphermote.gateway.database.postgres import PostgresDatabase, connection_string, migrate
from postgres_support import new_database, postgres_server
from psycopg.conninfo import conninfo_to_dict

_TYPES = {"INTEGER": "bigint", "REAL": "double precision", "TEXT": "text", "BLOB": "bytea"}


@pytest.fixture
def opened() -> PostgresDatabase:
    url = new_database()
    migrate(url)
    return PostgresDatabase(url)


def test_both_have_the_same_tables(tmp_path: Path, opened: PostgresDatabase) -> None:
    sqlite.migrate(tmp_path / "gateway.db")
    embedded = sqlite.connect(tmp_path / "gateway.db").execute(
        'SELECT m.name, c.name, c.type, c."notnull" FROM sqlite_schema m, pragma_table_info(m.name) c '
        "WHERE m.type = 'table' AND m.name != 'sqlite_sequence' AND NOT c.pk"
    )
    expected = {(table, name, _TYPES[kind], bool(needed)) for table, name, kind, needed in embedded}
    served = opened.connection.execute(
        "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable = 'NO' "
        "FROM information_schema.columns c WHERE c.table_schema = current_schema() "
        "AND c.table_name != 'schema_version' AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a "
        "ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indisprimary "
        "AND i.indrelid = CAST(c.table_name AS TEXT)::regclass AND a.attname = c.column_name)"
    )
    assert {tuple(row) for row in served} == expected and len(expected) > 100


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db/gateway",
        "postgresql://me@db/gateway?password=secret",
        "postgresql://me@db/gateway?sslmode=require",
        "mysql://db/gateway",
    ],
)
def test_a_url_with_a_password_or_without_a_checked_server_is_refused(url: str) -> None:
    with pytest.raises(ParameterError) as error:
        connection_string(url)
    assert "secret" not in str(error.value)


def test_a_server_elsewhere_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert conninfo_to_dict(connection_string("postgresql://me@db/gateway"))["sslmode"] == "verify-full"
    assert "sslmode" not in conninfo_to_dict(connection_string("postgresql://me@localhost/gateway"))


def test_another_applications_database_is_left_alone() -> None:
    url = new_database()
    PostgresDatabase(url).connection.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(KeyFileError, match="another application"):
        migrate(url)


def test_faults_are_told_apart_and_name_no_values(opened: PostgresDatabase) -> None:
    tenant = "INSERT INTO tenants (name, created, most_devices, most_bytes) VALUES (?, 0, 1, 1)"
    opened.connection.execute(tenant, ("their-name",))
    for parameters, fault in ((("their-name",), "integrity"), (("\0",), "text")):
        with pytest.raises(StatementError) as error:
            opened.connection.execute(tenant, parameters)
        assert fault_of(error.value) == fault and "their-name" not in str(error.value)
    with pytest.raises(StatementError) as error:
        opened.connection.execute("SELECT no_such_thing")
    assert fault_of(error.value) == "other"


def test_an_error_undoes_the_transaction_and_the_next_one_begins(opened: PostgresDatabase) -> None:
    with pytest.raises(StatementError), opened.writing() as database:
        database.execute("UPDATE jobs_ended SET number = 5")
        database.execute("SELECT no_such_thing")
    with opened.writing() as database:
        assert database.execute("SELECT max(number) FROM jobs_ended").fetchone()[0] == 0


def test_a_writer_is_alone_and_frequent_writers_are_beside_each_other(opened: PostgresDatabase) -> None:
    entered: list[str] = []

    def write(name: str, *, beside: bool) -> threading.Thread:
        def run() -> None:
            with opened.writing(beside=beside):
                entered.append(name)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    with opened.writing(beside=True):
        write("second", beside=True).join(20)
        assert entered == ["second"]
        alone = write("alone", beside=False)
        alone.join(0.3)
        assert entered == ["second"]
    alone.join(20)
    assert entered == ["second", "alone"]


def test_objects_are_kept_by_one_at_a_time_while_others_write(opened: PostgresDatabase) -> None:
    entered: list[str] = []

    def keep() -> None:
        with opened.objects_kept():
            entered.append("second")

    with opened.objects_kept():
        second = threading.Thread(target=keep)
        second.start()
        second.join(0.3)
        with opened.writing():
            assert entered == []
    second.join(20)
    assert entered == ["second"]


def test_a_server_that_is_started_anew_is_found_again(opened: PostgresDatabase) -> None:
    server = postgres_server()
    assert opened.missing() is None
    server.stop()
    try:
        assert "does not answer" in (opened.missing() or "")
        with pytest.raises(StatementError) as error, opened.writing():
            pass
        assert fault_of(error.value) == "lost"
    finally:
        server.start()
    assert opened.missing() is None
    with opened.writing() as database:
        assert database.execute("SELECT count(*) FROM tenants").fetchone()[0] == 0
