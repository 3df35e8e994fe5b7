#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how fast `ciphermote gateway migrate` moves a gateway's data: from its directory to PostgreSQL and
an object store, and back to a new directory.

`make bench-migrate` prints the times of the whole commands, which copy and compare; database, object store
(versitygw, else moto) and the command share the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

from ciphermote import Owner
from ciphermote.gateway.database.sqlite import connect
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import Enrolment
from rich.console import Console
from rich.table import Table

from bench.rows import machine

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway")]

from gateway_support import LOG2_SCALE, FullDevice, enrolment  # noqa: E402
from migrate_support import migrated  # noqa: E402
from postgres_support import postgres_server  # noqa: E402
from site_support import Site  # noqa: E402
from store_support import VERSITYGW, moto, versitygw  # noqa: E402

SET = "n4096_q26x3_p27"
WINDOWS = int(os.environ.get("WINDOWS", "10000"))
ROWS = 300_000
"""Rows of windows whose bytes are deleted."""
_AT_ONCE = 256


async def fill(folder: Path) -> None:
    site = Site(folder)
    keys = Owner.generate(SET)
    fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
    fleet = site.define(
        "fleet", {"lane": "full", "log2_scale": LOG2_SCALE, "windows_per_hour": 3_600_000, **fields}
    )
    devices = [FullDevice(keys, number) for number in range(20)]
    for device in devices:
        body = Enrolment(**enrolment(device.tag_keys, device.key_id))
        site.gateway.registry.enroll(fleet, device.number, body)
    for first in range(0, WINDOWS, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, WINDOWS))
        await asyncio.gather(
            *(site.send(fleet, devices[number % len(devices)].encrypt([1.0])) for number in numbers)
        )
    await site.gateway.close()


def add_rows(folder: Path) -> None:
    with contextlib.closing(connect(folder / "gateway.db")) as database:
        database.execute(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1) "
            "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
            "SELECT (SELECT min(id) FROM devices), 1000000 + i, 1000000 + i, 0, 0, i, i, '' FROM n",
            (ROWS,),
        )


def main() -> None:
    table = Table("data", "from", "to", "s", "MB/s", "rows/s", title=machine())
    with contextlib.ExitStack() as held:
        scratch = Path(held.enter_context(tempfile.TemporaryDirectory()))
        s3 = held.enter_context(versitygw(scratch / "s3") if VERSITYGW.exists() else moto())
        os.environ.update(s3.environment)
        for what in ("windows", "rows"):
            one, two = scratch / f"{what}-one", scratch / f"{what}-two"
            if what == "windows":
                asyncio.run(fill(one))
                size, rows = sum(path.stat().st_size for path in (one / "segments").iterdir()), WINDOWS
            else:
                asyncio.run(_start(one))
                add_rows(one)
                size, rows = 0, ROWS
            url, store = postgres_server().create(), s3.new_url()
            ways = (
                ("SQLite, a directory", "PostgreSQL, S3", ("--data", one, "--to", url, "--store", store)),
                ("PostgreSQL, S3", "SQLite, a directory", ("--data", one, "--database", url, "--to", two)),
            )
            for source, target, arguments in ways:
                started = time.perf_counter()
                migrated(*arguments)
                seconds = time.perf_counter() - started
                table.add_row(
                    f"{rows:,} {'windows' if size else 'rows without bytes'}, {size / 1e6:,.0f} MB",
                    *(source, target, f"{seconds:.1f}", f"{size / 1e6 / seconds:.0f}"),
                    f"{rows / seconds:,.0f}",
                )
    Console().print(table)


async def _start(folder: Path) -> None:
    """Have one device."""
    site = Site(folder)
    site.device(site.fleet("fleet"), 1)
    await site.gateway.close()


if __name__ == "__main__":
    main()
