# SPDX-License-Identifier: Apache-2.0
"""Texts that jobs refer to: specs, and lists of devices whose windows are left out. Each is stored once in
its fleet for all jobs, and removed with the last of them.
"""

from __future__ import annotations

import json

from ciphermote.gateway.database.interface import Connection, text_digest
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.quotas import ROW_BYTES, check_bytes
from ciphermote.rest.requests import JobSpec

_LONG_FIELDS = {"devices", "weights", "model"}


def store_spec(database: Connection, fleet: Fleet, spec: JobSpec) -> int:
    """Store a spec, and return its id. Raises Refusal if the tenant has no room for it."""
    text = spec.model_dump_json()
    digest = text_digest(text)
    known = database.execute(
        "SELECT id FROM specs WHERE fleet = ? AND digest = ?", (fleet.id, digest)
    ).fetchone()
    if known is not None:
        return int(known["id"])
    check_bytes(database, fleet.tenant, len(text) + ROW_BYTES)
    (number,) = database.execute(
        "INSERT INTO specs (fleet, digest, summary, text) VALUES (?, ?, ?, ?) RETURNING id",
        (fleet.id, digest, spec.model_dump_json(exclude=_LONG_FIELDS), text),
    ).fetchone()
    return int(number)


def store_exclusion(database: Connection, fleet: int) -> int | None:
    """Store the list of the fleet's devices now in quarantine, and return its id; None if there are none.
    Raises Refusal if the tenant has no room for it."""
    rows = database.execute("SELECT id FROM devices WHERE fleet = ? AND excluded = 1 ORDER BY id", (fleet,))
    devices = [row["id"] for row in rows]
    if not devices:
        return None
    text = json.dumps(devices, separators=(",", ":"))
    digest = text_digest(text)
    known = database.execute(
        "SELECT id FROM exclusions WHERE fleet = ? AND digest = ?", (fleet, digest)
    ).fetchone()
    if known is not None:
        return int(known["id"])
    (tenant,) = database.execute("SELECT tenant FROM fleets WHERE id = ?", (fleet,)).fetchone()
    check_bytes(database, tenant, len(text) + ROW_BYTES)
    (number,) = database.execute(
        "INSERT INTO exclusions (fleet, digest, devices) VALUES (?, ?, ?) RETURNING id", (fleet, digest, text)
    ).fetchone()
    return int(number)


def delete_unused(database: Connection) -> None:
    """Delete specs and lists that no job and no stream refers to."""
    database.execute(
        "DELETE FROM specs WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.spec = specs.id) "
        "AND NOT EXISTS (SELECT 1 FROM streams WHERE streams.job = specs.id)"
    )
    database.execute(
        "DELETE FROM exclusions WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.excluded = exclusions.id)"
    )
