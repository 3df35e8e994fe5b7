# SPDX-License-Identifier: Apache-2.0
"""Quotas: how much a tenant may store, in bytes, and how many fleets, devices, streams, jobs and tokens.

Everything that a tenant creates counts, so that none can exhaust the shared disk. Triggers in the database
(database/migrations) count 512 bytes for a row, 128 for a window's, and the sizes of specs, definitions, and
bytes in segments and objects. Call each check in the transaction that adds the row.
"""

from __future__ import annotations

from typing import Literal

from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.extents import digest_of
from ciphermote.gateway.store.interface import Store

WINDOW_ROW_BYTES = 128
ROW_BYTES = 512

Counted = Literal["fleets", "devices", "streams", "jobs", "tokens"]

_SUM = "SELECT coalesce(sum({}), 0) FROM fleets f JOIN fleet_counts c ON c.fleet = f.id WHERE f.tenant = t.id"
_QUOTAS: dict[Counted, tuple[str, str]] = {
    "fleets": ("most_fleets", "SELECT count(*) FROM fleets WHERE tenant = t.id AND deleted IS NULL"),
    "devices": ("most_devices", _SUM.format("c.devices")),
    "streams": ("most_streams", _SUM.format("c.streams")),
    "jobs": ("most_jobs", _SUM.format("c.queued + c.running + c.done + c.failed + c.cancelled")),
    "tokens": (
        "2 * most_devices + 100",
        "SELECT count(*) FROM tokens WHERE tenant = t.id AND revoked IS NULL",
    ),
}
"""Columns of each kind: a tenant's quota and its present number."""
USED_NUMBERS = ", ".join(f"({count}) AS {what}" for what, (_, count) in _QUOTAS.items())
"""Columns of tenants t: its present number of each kind."""


def room_for_number(database: Connection, tenant: int, what: Counted) -> int:
    """Return how many more of a kind the tenant may make; 0 or less if none."""
    most, count = _numbers(database, tenant, what)
    return most - count


def check_number(database: Connection, tenant: int, what: Counted) -> None:
    """Raises Refusal if the tenant has used up its quota of a kind, or has no room for one more row."""
    most, count = _numbers(database, tenant, what)
    if count >= most:
        raise Refusal(
            429,
            "quota",
            f"The tenant has {count:,} {what}, and {most:,} are the most that it may have: remove some, or "
            "have the operator raise the quota.",
        )
    check_bytes(database, tenant, ROW_BYTES)


def room_for_bytes(database: Connection, tenant: int) -> int:
    """Return how many more bytes the tenant may store; 0 or less if none."""
    most, kept = _bytes(database, tenant)
    return most - kept


def check_bytes(database: Connection, tenant: int, more: int) -> None:
    """Raises Refusal if the tenant has no room for this number of bytes."""
    most, kept = _bytes(database, tenant)
    if kept + more > most:
        raise out_of_room(kept, most)


def out_of_room(kept: int, most: int) -> Refusal:
    return Refusal(
        429,
        "quota",
        f"The tenant has stored {kept:,} of the {most:,} bytes that it may: keep this, and remove something, "
        "or have the operator raise the quota.",
        retry_after=60,
    )


def put_object(database: Connection, store: Store, tenant: int, content: bytes) -> str:
    """Store an object, before the transaction that refers to it and counts it, and return its digest. Raises
    Refusal if the tenant has no room for it; nothing is stored then."""
    if not _has_object(database, tenant, digest_of(content)):
        check_bytes(database, tenant, len(content) + ROW_BYTES)
    return store.put(content)


def book_object(database: Connection, tenant: int, digest: str, size: int) -> None:
    """Count an object once as the tenant's. Raises Refusal if it has no room for it."""
    if not _has_object(database, tenant, digest):
        check_bytes(database, tenant, size + ROW_BYTES)
        database.execute("INSERT INTO objects VALUES (?, ?, ?)", (tenant, digest, size))


def _has_object(database: Connection, tenant: int, digest: str) -> bool:
    found = database.execute("SELECT 1 FROM objects WHERE tenant = ? AND digest = ?", (tenant, digest))
    return found.fetchone() is not None


def _numbers(database: Connection, tenant: int, what: Counted) -> tuple[int, int]:
    most, count = _QUOTAS[what]
    row = database.execute(f"SELECT {most}, ({count}) FROM tenants t WHERE id = ?", (tenant,)).fetchone()
    return int(row[0]), int(row[1])


def _bytes(database: Connection, tenant: int) -> tuple[int, int]:
    row = database.execute("SELECT most_bytes, bytes FROM tenants WHERE id = ?", (tenant,)).fetchone()
    return int(row[0]), int(row[1])
