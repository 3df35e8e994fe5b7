# SPDX-License-Identifier: Apache-2.0
"""Count windows that a fleet's devices should have sent but did not, which reveals to the owner that somebody
silences devices; missing receipts reveal it only to the devices.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from ciphermote.gateway.database.interface import Database
from ciphermote.gateway.logs import log
from ciphermote.gateway.metrics import Metrics

_SECONDS = 30.0
_LEAST_SHARE = 20
"""The pause after a count, as a multiple of its duration."""


@dataclass(frozen=True)
class Missing:
    """Windows that active devices have not delivered. skipped: windows with lower numbers than one received;
    overdue: windows that each device would have sent by now at its rate since enrolment. The next one is not
    overdue."""

    tenant: str
    fleet: str
    skipped: int
    overdue: int


def missing_windows(database: Database, now: float) -> list[Missing]:
    """Count the missing windows of each fleet that has devices."""
    rows = database.connection.execute(
        """
        WITH active AS (
            SELECT d.id, d.fleet, max(d.newest_window + 1 - d.oldest, 0) AS begun, d.oldest, d.last_seen,
                max((d.last_seen - d.created) / nullif(d.newest_window + 1, 0),
                    3600.0 / CAST(f.definition ->> 'windows_per_hour' AS DOUBLE PRECISION)) AS every
            FROM devices d JOIN fleets f ON f.id = d.fleet WHERE d.state = 'active'
        )
        SELECT t.name AS tenant, f.name AS fleet,
            coalesce(sum(begun - (
                SELECT count(*) FROM windows w WHERE w.device = active.id AND w.number >= active.oldest
            )), 0) AS skipped,
            coalesce(sum(
                CASE WHEN begun > 0 THEN max(CAST(round((? - last_seen) / every - 0.5) AS BIGINT) - 1, 0) END
            ), 0) AS overdue
        FROM active JOIN fleets f ON f.id = active.fleet JOIN tenants t ON t.id = f.tenant
        GROUP BY f.id, f.name, t.name
        """,
        (now,),
    )
    return [Missing(*row) for row in rows]


async def count_missing(database: Database, metrics: Metrics) -> None:
    """Count missing windows until cancelled."""
    while True:
        started = time.monotonic()
        try:
            found = await asyncio.to_thread(missing_windows, database, time.time())
        except Exception as error:  # a busy database, say: the next one may be luckier
            log.error("missing windows", error=repr(error))
        else:
            metrics.windows_missing.clear()  # of fleets that are gone
            for each in found:
                for why, count in (("skipped", each.skipped), ("overdue", each.overdue)):
                    metrics.windows_missing.labels(each.tenant, each.fleet, why).set(count)
        await asyncio.sleep(max(_SECONDS, _LEAST_SHARE * (time.monotonic() - started)))
