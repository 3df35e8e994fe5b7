# SPDX-License-Identifier: Apache-2.0
"""Open a gateway's database: PostgreSQL, if a URL names one, else SQLite in the gateway's directory."""

from __future__ import annotations

from pathlib import Path

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import how_to_install
from ciphermote.gateway.database import sqlite
from ciphermote.gateway.database.interface import Database
from ciphermote.gateway.gateway_files import DATABASE_FILE


def check_url(url: str) -> None:
    """Raises ParameterError for a URL that names no database, or holds a password."""
    try:
        from ciphermote.gateway.database.postgres import connection_string
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"The packages for PostgreSQL are not installed ({error.name} is missing): "
            f"{how_to_install('cluster')}."
        ) from None
    connection_string(url)


def migrate(folder: Path, url: str | None) -> None:
    """Create the database of a gateway's directory, or update it. Raises KeyFileError if it cannot be
    used."""
    if url is None:
        sqlite.migrate(folder / DATABASE_FILE)
    else:
        from ciphermote.gateway.database import postgres

        postgres.migrate(url)


def open_database(folder: Path, url: str | None) -> Database:
    """Open the database of a gateway's directory, which must be up to date."""
    if url is None:
        return sqlite.SqliteDatabase(folder / DATABASE_FILE)
    from ciphermote.gateway.database.postgres import PostgresDatabase

    return PostgresDatabase(url)
