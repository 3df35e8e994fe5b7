#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a window costs a gateway's surroundings: bytes and log of PostgreSQL, objects of the store,
connections, processor time. Compact windows of 16 values, and whole sets of 40 KB, over HTTPS from 32
senders. The log is counted from a checkpoint on, so that whole pages are in it.

`make bench-capacity` writes bench/results/capacity.json. PostgreSQL is the tests', with 64 MB of buffers; the
store is versitygw if it is built, else moto, and only its objects are counted. All share the machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from bench.rows import Row, timed, write_results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway"), str(ROOT / "bench" / "gateway")]

import gateway_support as support  # noqa: E402
import run as gateway_bench  # noqa: E402
from postgres_support import postgres_server  # noqa: E402
from store_support import S3, VERSITYGW, moto, versitygw  # noqa: E402

WARM, PACKETS, SETS = 10_000, 60_000, 6_000
_TABLES = "SELECT pg_table_size('windows'), pg_indexes_size('windows')"


class Measured:
    """A gateway on PostgreSQL and a store, and counters before and after."""

    def __init__(self, folder: Path, server: support.Server, database: str, s3: S3, store: str) -> None:
        self._folder = folder
        self._server = server
        self._database = psycopg.connect(database, autocommit=True)
        self._s3, self._store = s3, store

    def send(self, name: str, fleet: Any, count: int) -> gateway_bench.Turn:
        bodies = self._folder / "bodies"
        gateway_bench.write_bodies(bodies, fleet.bodies(count))
        path, ca = f"/v1/fleets/{name}/deliveries", self._server.authority
        asked = (self._server.port, ca, fleet.token, path, gateway_bench.CONNECTIONS, bodies)
        return gateway_bench.load(self._server.process, "http", *asked)

    def _asked(self, sql: str, *parameters: Any) -> Any:
        return self._database.execute(sql.encode(), parameters).fetchone()

    def rows(self, name: str, fleet: Any, count: int) -> Iterator[Row]:
        self.send(name, fleet, WARM if name == "compact" else SETS // 4)
        self._asked("SELECT 1")
        self._database.execute(b"CHECKPOINT")
        (log,) = self._asked("SELECT pg_current_wal_lsn()")
        tables, indexes = self._asked(_TABLES)
        objects, busy = len(self._s3.names(self._store, "rounds/")), postgres_seconds()
        turn = self.send(name, fleet, count)
        took = postgres_seconds() - busy
        (written,) = self._asked("SELECT pg_current_wal_lsn() - %s::pg_lsn", log)
        tables_after, indexes_after = self._asked(_TABLES)
        more = len(self._s3.names(self._store, "rounds/")) - objects
        size = len(next(fleet.bodies(1)))
        params = {
            "windows": count,
            "bytes": size,
            "connections": gateway_bench.CONNECTIONS,
            "kind": "measured",
        }
        figures = {
            "database_bytes": ((tables_after - tables + indexes_after - indexes) / count, "bytes"),
            "log_bytes": (float(written) / count, "bytes"),
            "database_cpu_us": (took / count * 1e6, "us"),
            "gateway_cpu_us": (turn.server_us, "us"),
            "windows_an_object": (count / more, "windows"),
        }
        for what, (value, unit) in figures.items():
            yield Row(f"capacity.{name}.{what}", round(value, 1), unit, params)

    def connections(self) -> Row:
        """The connections of the gateway and its worker."""
        (count,) = self._asked(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ciphermote' "
            "AND datname = current_database()"
        )
        return Row("capacity.connections", count, "connections", {"workers": 1, "kind": "measured"})


def postgres_seconds() -> float:
    """Return the processor seconds of the server and its processes so far."""
    postmaster = int((postgres_server().folder / "data" / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, fields = int(entry.parent.name), entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if number == postmaster:
            ticks += sum(map(int, fields[11:15]))  # with those of its children that have ended
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(folder: Path) -> Iterator[Row]:
    url = postgres_server().create()
    with versitygw(folder / "s3") if VERSITYGW.exists() else moto() as s3:
        os.environ.update(s3.environment)
        store = s3.new_url()
        options = ("--database", url, "--store", store, "--workers", "1")
        with support.serving(folder / "data", *options) as server:
            measured = Measured(folder, server, url, s3, store)
            yield from measured.rows("compact", gateway_bench.CompactFleet(server), PACKETS)
            yield from measured.rows("full", gateway_bench.FullFleet(server), SETS)
            yield measured.connections()


def main() -> int:
    parser = argparse.ArgumentParser(description="What a window costs a gateway's surroundings.")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/capacity.json")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        rows = timed(measure(Path(name)))
    write_results(arguments.results, "make bench-capacity", f"Python {platform.python_version()}", rows)
    for row in rows:
        console.print(f"{row.name}: {row.value:,} {row.unit}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
