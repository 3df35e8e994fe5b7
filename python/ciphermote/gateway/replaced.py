# SPDX-License-Identifier: Apache-2.0
"""Extents that windows had before they were switched to another key, as long as jobs may still read them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.store.extents import Extent, extents_text


def keep_replaced(database: Connection, fleet: int, job: int, extents: Iterable[Extent]) -> None:
    """Keep extents for the fleet's jobs that run now, and may have looked them up before. job: the one that
    replaces them."""
    rows = database.execute(
        "SELECT id, fence FROM jobs WHERE fleet = ? AND state = 'running' AND id != ?", (fleet, job)
    )
    leases = [[row["id"], row["fence"]] for row in rows]
    if leases:
        database.execute(
            "INSERT INTO replaced (fleet, extents, leases) VALUES (?, ?, ?)",
            (fleet, extents_text(extents), json.dumps(leases)),
        )


def forget_replaced(database: Connection) -> None:
    """Forget extents that no job reads any longer."""
    rows = database.execute("SELECT id, leases FROM replaced").fetchall()
    running = database.execute("SELECT id, fence FROM jobs WHERE state = 'running'").fetchall()
    leases = {(row["id"], row["fence"]) for row in running}
    over = [(row["id"],) for row in rows if leases.isdisjoint(map(tuple, json.loads(row["leases"])))]
    database.executemany("DELETE FROM replaced WHERE id = ?", over)
