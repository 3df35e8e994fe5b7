#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gateway's bench: deliveries that are on the disk and receipted, a second, beside raw (raw.py) on the
same machine; what they leave in memory; and a job's sum beside the evaluator alone.

`make bench-gateway` writes bench/results/gateway.json, and keeps the rows of `make chaos` in it. The load
generator (load.py), the server and the broker share the machine. Gateway and raw take turns, and a ratio is
the median of those of the turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A16
from ciphermote.results import Row, write_results
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway"), str(ROOT / "bench" / "gateway")]

import gateway_support as support  # noqa: E402
from load import write_bodies  # noqa: E402

SET = "n4096_q26x3_p27"
DEVICES = 20
CONNECTIONS = 32
FULL_SETS, FULL_TURNS = 2000, 7
PACKETS, PACKET_TURNS = 20_000, 10
VALUES = 16
SUMMED = 10_000
_HOUR = {"windows_per_hour": 3_600_000}


@dataclass
class Turn:
    """What load.py says of one run."""

    seconds: float
    count: int
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds


def load(*arguments: object) -> Turn:
    command = (sys.executable, str(ROOT / "bench/gateway/load.py"), *map(str, arguments))
    return Turn(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


@contextlib.contextmanager
def raw_server(server: support.Server, folder: Path, *broker: object) -> Iterator[int]:
    """Raw, with the gateway's certificate; its port."""
    port, tls = support.free_port(), server.data / "tls"
    command = (sys.executable, str(ROOT / "bench/gateway/raw.py"), folder, port, tls / "server.pem")
    process = subprocess.Popen([*map(str, command), str(tls / "server.key"), *map(str, broker)])
    try:
        time.sleep(3)
        yield port
    finally:
        process.terminate()
        process.wait(20)


class FullFleet:
    """Twenty devices that send whole sets of 40 KB."""

    def __init__(self, server: support.Server) -> None:
        self.keys = support.full_owner(SET)
        support.LOG2_SCALE = 25
        owner = server.owner()
        support.define_full(owner, "full", self.keys, **_HOUR)
        made = (support.FullDevice(self.keys, number) for number in range(DEVICES))
        self.devices = [device.enroll(owner, "full") for device in made]
        self.token = support.device_token(owner, "full")

    def bodies(self, count: int) -> Iterator[bytes]:
        for number in range(count):
            yield self.devices[number % DEVICES].encrypt([number % 8])


class CompactFleet:
    """Twenty devices whose windows are one packet of 16 values."""

    def __init__(self, server: support.Server) -> None:
        keys = CompactKeys.generate(A16)
        owner = server.owner()
        definition = {
            "lane": "compact",
            "set": "a16",
            "key_id": f"{keys.key_id:016x}",
            "positions": [[0, VALUES]],
        }
        support.accepted(owner.put("/v1/fleets/compact", json={**definition, **_HOUR}))
        self.devices = []
        for number in range(DEVICES):
            device = support.PacketDevice(keys, number).enroll(owner, "compact")
            keys = device.keys
            self.devices.append(device)
        self.token = support.device_token(owner, "compact")

    def bodies(self, count: int) -> Iterator[bytes]:
        values = np.arange(VALUES)
        for number in range(count):
            (packet,) = self.devices[number % DEVICES].encrypt(values)
            yield packet


def memory(process: int) -> int:
    """Resident bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) << 10


def ratio_rows(name: str, ours: list[Turn], raw: list[Turn], params: dict[str, Any]) -> Iterator[Row]:
    params = {**params, "turns": len(ours), "kind": "measured"}
    pairs = zip(ours, raw, strict=True)
    yield Row(
        f"ingest.{name}.ratio_to_raw", round(median(a.rate / b.rate for a, b in pairs), 3), "ratio", params
    )
    yield Row(f"ingest.{name}.sets_per_second", round(median(t.rate for t in ours)), "1/s", params)
    yield Row(f"ingest.{name}.raw_sets_per_second", round(median(t.rate for t in raw)), "1/s", params)
    yield Row(f"ingest.{name}.p50_ms", round(median(t.p50_ms for t in ours), 1), "ms", params)
    yield Row(f"ingest.{name}.p99_ms", round(median(t.p99_ms for t in ours), 1), "ms", params)


def turns(console: Console, what: str, count: int, ours: Any, raw: Any) -> tuple[list[Turn], list[Turn]]:
    """Of both, each going first in turn."""
    found: tuple[list[Turn], list[Turn]] = ([], [])
    for number in range(count):
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append((ours, raw)[which]())
        a, b = found[0][-1], found[1][-1]
        console.print(
            f"{what} {number + 1}/{count}: {a.rate:,.0f}/s, raw {b.rate:,.0f}/s ({a.rate / b.rate:.2f})"
        )
    return found


def http_rows(server: support.Server, folder: Path, console: Console) -> Iterator[Row]:
    """Over HTTPS: full sets, then compact ones, and what 200,000 of these leave in memory."""
    assert server.process is not None
    ca, bodies = server.data / "tls/ca.pem", folder / "bodies"
    common = {"connections": CONNECTIONS, "devices": DEVICES}
    with raw_server(server, folder / "raw") as port:
        fleet = FullFleet(server)

        def full() -> Turn:
            write_bodies(bodies, fleet.bodies(FULL_SETS))
            return load(
                "http", server.port, ca, fleet.token, "/v1/fleets/full/deliveries", CONNECTIONS, bodies
            )

        def full_raw() -> Turn:
            write_bodies(bodies, fleet.bodies(FULL_SETS))
            return load("http", port, ca, "raw", "/deliveries", CONNECTIONS, bodies)

        size = len(next(fleet.bodies(1)))
        ours, raw = turns(console, "full sets over HTTPS", FULL_TURNS, full, full_raw)
        yield from ratio_rows("http", ours, raw, {**common, "sets": FULL_SETS, "bytes": size})

        packets = CompactFleet(server)

        def compact() -> Turn:
            write_bodies(bodies, packets.bodies(PACKETS))
            path = "/v1/fleets/compact/deliveries"
            return load("http", server.port, ca, packets.token, path, CONNECTIONS, bodies)

        def compact_raw() -> Turn:
            write_bodies(bodies, packets.bodies(PACKETS))
            return load("http", port, ca, "raw", "/deliveries", CONNECTIONS, bodies)

        size = len(next(packets.bodies(1)))
        compact()
        before = memory(server.process.pid)
        ours, raw = turns(console, "compact sets over HTTPS", PACKET_TURNS, compact, compact_raw)
        grown = memory(server.process.pid) - before
        yield from ratio_rows("compact", ours, raw, {**common, "sets": PACKETS, "bytes": size})
        count = PACKETS * PACKET_TURNS
        yield Row("ingest.rss_growth_bytes", grown, "bytes", {"sets": count, "kind": "measured"})


def mqtt_rows(
    server: support.Server, broker: support.Broker, folder: Path, console: Console
) -> Iterator[Row]:
    """Through Mosquitto, with a receipt back through it."""
    ca, bodies = server.data / "tls/ca.pem", folder / "bodies"
    fleet = FullFleet(server)

    def full() -> Turn:
        write_bodies(bodies, fleet.bodies(FULL_SETS))
        return load("mqtt", broker.port, ca, "home.full.uplink", fleet.token, CONNECTIONS, bodies)

    def raw() -> Turn:
        with raw_server(server, folder / "raw", broker.port, ca, server.data):
            return full()

    def ours() -> Turn:
        server.start()
        support.wait_until(lambda: "broker connected" in server.log()[-2000:], "the broker's connection")
        time.sleep(1)
        try:
            return full()
        finally:
            server.stop()

    size = len(next(fleet.bodies(1)))
    server.stop()
    found = turns(console, "full sets over MQTT", FULL_TURNS, ours, raw)
    params = {"in_flight": CONNECTIONS, "devices": DEVICES, "sets": FULL_SETS, "bytes": size}
    yield from ratio_rows("mqtt", *found, params)


def pin(process: int, cores: set[int]) -> None:
    """Keep a process, and the threads that it makes, on these cores."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def job_rows(server: support.Server, folder: Path, console: Console) -> Iterator[Row]:
    """A job's sum, from the segments to the result, beside the evaluator's on the same bytes in memory, which
    takes one core: with all of the machine's cores, and with one."""
    from evaluator_sum import seconds_to_add

    fleet, bodies = FullFleet(server), folder / "bodies"
    write_bodies(bodies, fleet.bodies(SUMMED))
    ca, path = server.data / "tls/ca.pem", "/v1/fleets/full/deliveries"
    load("http", server.port, ca, fleet.token, path, CONNECTIONS, bodies)
    (worker,) = support.workers_of(server.data)
    every = os.sched_getaffinity(0)
    alone: list[float] = []
    jobs: dict[str, list[float]] = {"jobs.sum": [], "jobs.sum.one_core": []}
    for _ in range(FULL_TURNS):
        alone.append(seconds_to_add(bodies, SET))
        for name, cores in (("jobs.sum", every), ("jobs.sum.one_core", {min(every)})):
            pin(worker, cores)
            shown, _ = support.run_job(server.owner(), "full", {"kind": "sum", "per_device": SUMMED})
            assert shown["result"]["windows"] == SUMMED
            jobs[name].append(shown["result"]["seconds"])
        console.print(
            f"sum of {SUMMED}: {jobs['jobs.sum'][-1]:.3f} s, on one core "
            f"{jobs['jobs.sum.one_core'][-1]:.3f} s, the evaluator alone {alone[-1]:.3f} s"
        )
    params = {"windows": SUMMED, "set": SET, "turns": len(alone), "kind": "measured"}
    for name, seconds in jobs.items():
        cores = len(every) if name == "jobs.sum" else 1
        ratio = median(a / b for a, b in zip(alone, seconds, strict=True))
        yield Row(f"{name}.ratio_to_evaluator", round(ratio, 3), "ratio", {**params, "cores": cores})
        rate = round(SUMMED / median(seconds))
        yield Row(f"{name}.windows_per_second", rate, "1/s", {**params, "cores": cores})
    yield Row("jobs.sum.evaluator_windows_per_second", round(SUMMED / median(alone)), "1/s", params)


def measured(folder: Path, console: Console) -> Iterator[Row]:
    """Each part against a gateway of its own."""
    with support.serving(folder / "http", "--workers", "0") as server:
        yield from http_rows(server, folder, console)
    port = support.free_port()
    with support.serving(folder / "mqtt", "--workers", "0", "--broker", f"localhost:{port}") as server:
        broker = support.Broker(server.data, port).start()
        try:
            yield from mqtt_rows(server, broker, folder, console)
        finally:
            broker.kill()
    with support.serving(folder / "jobs", "--workers", "1") as server:
        yield from job_rows(server, folder, console)


def kept_rows(path: Path) -> list[Row]:
    """Those of make chaos."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text())["rows"]
    return [Row(**row) for row in rows if row["name"].startswith("chaos.")]


def main() -> int:
    parser = argparse.ArgumentParser(description="Deliveries and jobs of a gateway, beside raw.")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/gateway.json")
    results = parser.parse_args().results
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        rows = list(measured(Path(name), console))
    write_results(
        results, "make bench-gateway", f"Python {platform.python_version()}", [*rows, *kept_rows(results)]
    )
    table = Table(title="The gateway")
    for title in ("row", "value", "unit"):
        table.add_column(title, justify="right" if title == "value" else "left")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", row.unit)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
