# SPDX-License-Identifier: Apache-2.0
"""The audit log: who changed what, when, and from where. Entries are added in the transaction of the change
that they describe, never changed, and removed only if there are too many, oldest first. No entry holds a
secret.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ciphermote.gateway.database.interface import Connection, Database, Row
from ciphermote.gateway.refusals import Refusal

DONE = "done"
MOST_OPERATOR_ENTRIES = 100_000
MOST_OWNER_ENTRIES = 10_000
"""The most entries of one tenant's owners, so that they never displace those of operators."""
_MOST_DETAILS = 2000


@dataclass(frozen=True)
class Actor:
    """The author of a change. name: "local" for anyone with access to the gateway's directory, otherwise
    "token" and the token's id. address: the address that the request came from. tenant: the tenant whose
    owner acts; None for an operator."""

    name: str
    address: str
    tenant: int | None = None


class Audit:
    """The audit log of one gateway database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextlib.contextmanager
    def recording(self, actor: Actor, action: str, details: dict[str, Any]) -> Iterator[Connection]:
        """A transaction that stores a change together with its entry.

        The block may add to details. A Refusal in it undoes the change, and becomes the entry's outcome.
        """
        try:
            with self._database.writing() as database:
                yield database
                _add(database, actor, action, details, DONE)
        except Refusal as refusal:
            with self._database.writing() as database:
                _add(database, actor, action, details, refusal.name)
            raise

    def listed(self, before: int, tenant: str | None, limit: int) -> list[Row]:
        """Return entries from the newest to the oldest, with ids below before. tenant: those about it, and
        those of its owners."""
        return self._database.connection.execute(
            "SELECT a.id, a.time, a.actor, a.address, t.name AS owner_of, a.action, a.details, a.outcome "
            "FROM audit a LEFT JOIN tenants t ON t.id = a.tenant "
            "WHERE a.id < ?1 AND (CAST(?2 AS TEXT) IS NULL OR t.name = ?2 OR a.details ->> 'tenant' = ?2) "
            "ORDER BY a.id DESC LIMIT ?3",
            (before, tenant, limit),
        ).fetchall()


def _add(database: Connection, actor: Actor, action: str, details: dict[str, Any], outcome: str) -> None:
    text = json.dumps(details)
    database.execute(
        "INSERT INTO audit (time, actor, address, tenant, action, details, outcome) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(time.time(), actor.name, actor.address, actor.tenant, action),
            *(text if len(text) <= _MOST_DETAILS else "{}", outcome),
        ),
    )
    most = MOST_OPERATOR_ENTRIES if actor.tenant is None else MOST_OWNER_ENTRIES
    database.execute(
        "DELETE FROM audit WHERE tenant IS NOT DISTINCT FROM ?1 AND id <= "
        "(SELECT id FROM audit WHERE tenant IS NOT DISTINCT FROM ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        (actor.tenant, most),
    )
