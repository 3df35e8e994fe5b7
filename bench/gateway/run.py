#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gateway's bench: deliveries that are on the disk and receipted, a second and in processor time, beside
raw (raw.py) on the same machine; what they leave in memory; and a job's sum beside the evaluator alone.

`make bench-gateway` writes bench/results/gateway.json, and keeps the rows of `make chaos` in it. The load
generator (load.py), the server and the broker share the machine. Gateway and raw take turns; a figure is the
median of its turns, and a ratio that of two figures. Processor time is the server's alone: user and system,
of all its threads.

And how far one hostile device of 1,000 moves a sum (docs/security.md), by whatever it sends: device and owner
are the tests' (tests/gateway/hostile_support.py), groups those of a sum that nobody has configured.

`make bench-gateway ONLY=compact TURNS=2` measures one part, a little, into build/bench-gateway.json. Parts:
http, compact, mqtt, jobs, poison, cluster.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from ciphermote.compact.sets import C
from rich.console import Console
from rich.table import Table

from bench.rows import Row, timed, write_results

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway"), str(ROOT / "bench" / "gateway")]

import gateway_support as support  # noqa: E402
import hostile_support as hostile  # noqa: E402
from cluster import cluster_rows  # noqa: E402
from load import write_bodies  # noqa: E402
from turns import (  # noqa: E402
    CONNECTIONS,
    DEVICES,
    SET,
    VALUES,
    Bench,
    CompactFleet,
    FullFleet,
    Turn,
    load,
    memory,
    over_https,
    ratio_rows,
    raw_server,
    take_turns,
)

FULL_SETS, FULL_TURNS = 2000, 7
PACKETS, PACKET_TURNS = 20_000, 10
SUMMED = 10_000
POISONED = 1000
CHEATS = (1000.0, 1.0, 1.5, 2.0, 5.0, 20.0, 30.0, 60.0, -1.0, -5.0, -20.0, -40.0, 0.0)
"""What a hostile device sends, in multiples of its largest value; 0: three times that below t (CKKS: 0)."""
_ENROLLED = POISONED + len(CHEATS)


def http_rows(bench: Bench) -> Iterator[Row]:
    """Full sets over HTTPS."""
    with serving(bench, "http", "0") as server, raw_server(server, bench.folder / "raw") as raw:
        fleet = FullFleet(server)
        size = len(next(fleet.bodies(1)))
        both = over_https(bench, server, raw, "full", fleet, FULL_SETS)
        found = take_turns(bench.console, "full sets over HTTPS", bench.turns(FULL_TURNS), *both)
        params = {"connections": CONNECTIONS, "devices": DEVICES, "sets": FULL_SETS, "bytes": size}
        yield from ratio_rows("http", *found, params)


def compact_rows(bench: Bench) -> Iterator[Row]:
    """Compact sets over HTTPS, and what they leave in memory."""
    with serving(bench, "compact", "0") as server, raw_server(server, bench.folder / "raw-compact") as raw:
        assert server.process is not None
        fleet = CompactFleet(server)
        size = len(next(fleet.bodies(1)))
        both = over_https(bench, server, raw, "compact", fleet, PACKETS)
        both[0]()
        before = memory(server.process.pid)
        count = bench.turns(PACKET_TURNS)
        found = take_turns(bench.console, "compact sets over HTTPS", count, *both)
        grown = memory(server.process.pid) - before
        params = {"connections": CONNECTIONS, "devices": DEVICES, "sets": PACKETS, "bytes": size}
        yield from ratio_rows("compact", *found, params)
        kept = {"sets": PACKETS * count, "kind": "measured"}
        yield Row("ingest.rss_growth_bytes", grown, "bytes", kept)


def mqtt_rows(bench: Bench) -> Iterator[Row]:
    """Measure deliveries through Mosquitto, with receipts."""
    port = support.free_port()
    with serving(bench, "mqtt", "0", "--broker", f"localhost:{port}") as server:
        broker = support.Broker(server.data, port).start()
        try:
            yield from rows_through(broker, server, bench)
        finally:
            broker.kill()


def rows_through(broker: support.Broker, server: support.Server, bench: Bench) -> Iterator[Row]:
    ca = server.data / "tls/ca.pem"
    fleet = FullFleet(server)

    def full(process: subprocess.Popen[bytes] | None) -> Turn:
        write_bodies(bench.bodies, fleet.bodies(FULL_SETS))
        user = "home.full.uplink", fleet.token
        return load([process], "mqtt", broker.port, ca, *user, CONNECTIONS, bench.bodies)

    def raw() -> Turn:
        with raw_server(server, bench.folder / "raw", "--broker", broker.port, ca, server.data) as started:
            return full(started.process)

    def ours() -> Turn:
        server.start()
        support.wait_until(lambda: "broker connected" in server.log()[-2000:], "the broker's connection")
        time.sleep(1)
        try:
            return full(server.process)
        finally:
            server.stop()

    size = len(next(fleet.bodies(1)))
    server.stop()
    found = take_turns(bench.console, "full sets over MQTT", bench.turns(FULL_TURNS), ours, raw)
    params = {"in_flight": CONNECTIONS, "devices": DEVICES, "sets": FULL_SETS, "bytes": size}
    yield from ratio_rows("mqtt", *found, params)


def pin(process: int, cores: set[int]) -> None:
    """Keep a process, and the threads that it makes, on these cores."""
    for thread in Path(f"/proc/{process}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def job_rows(bench: Bench) -> Iterator[Row]:
    """A job's sum, from the segments to the result, beside the evaluator's on the same bytes in memory, which
    takes one core: with all of the machine's cores, and with one."""
    with serving(bench, "jobs", "1") as server:
        yield from sum_rows(server, bench)


def sum_rows(server: support.Server, bench: Bench) -> Iterator[Row]:
    from evaluator_sum import seconds_to_add

    fleet, bodies = FullFleet(server), bench.bodies
    write_bodies(bodies, fleet.bodies(SUMMED))
    ca, path = server.data / "tls/ca.pem", "/v1/fleets/full/deliveries"
    load([server.process], "http", server.port, ca, fleet.token, path, CONNECTIONS, bodies)
    (worker,) = support.workers_of(server.data)
    every = os.sched_getaffinity(0)
    alone: list[float] = []
    jobs: dict[str, list[float]] = {"jobs.sum": [], "jobs.sum.one_core": []}
    for _ in range(bench.turns(FULL_TURNS)):
        alone.append(seconds_to_add(bodies, SET))
        for name, cores in (("jobs.sum", every), ("jobs.sum.one_core", {min(every)})):
            pin(worker, cores)
            shown, _ = support.run_job(server.owner(), "full", {"kind": "sum", "per_device": SUMMED})
            assert shown["result"]["windows"] == SUMMED
            jobs[name].append(shown["result"]["seconds"])
        bench.console.print(
            f"sum of {SUMMED}: {jobs['jobs.sum'][-1]:.3f} s, on one core "
            f"{jobs['jobs.sum.one_core'][-1]:.3f} s, the evaluator alone {alone[-1]:.3f} s"
        )
    params = {"windows": SUMMED, "set": SET, "turns": len(alone), "kind": "measured"}
    evaluator = round(SUMMED / median(alone))
    for name, seconds in jobs.items():
        cores = len(every) if name == "jobs.sum" else 1
        rate = round(SUMMED / median(seconds))
        ratio = round(rate / evaluator, 3)
        yield Row(f"{name}.ratio_to_evaluator", ratio, "ratio", {**params, "cores": cores}, better="more")
        yield Row(f"{name}.windows_per_second", rate, "1/s", {**params, "cores": cores})
    yield Row("jobs.sum.evaluator_windows_per_second", evaluator, "1/s", params)


def poison_rows(bench: Bench) -> Iterator[Row]:
    """Measure how far a hostile device moves the sum of 1,000, in multiples of its bound, without the devices
    that the result leaves out; and what the check costs the owner."""
    at_thousand, rows = [], []
    with serving(bench, "poison", "2") as server:
        fleets: dict[str, hostile.Fleet] = {
            "compact": hostile.CompactFleet(server, "compact", bench.folder, C, _ENROLLED, VALUES),
            "ckks": hostile.FullFleet(server, "ckks", bench.folder, _ENROLLED),
            "bfv": hostile.FullFleet(server, "bfv", bench.folder, _ENROLLED, hostile.T),
        }
        for lane, fleet in fleets.items():
            cheats = CHEATS if bench.most_turns >= FULL_TURNS else CHEATS[:3]
            found = poisoned(fleet, bench, cheats)
            at_thousand.append(found[0].moved)
            rows += poisoned_rows(lane, found)
            if lane == "ckks":
                rows += poisoned_rows("ckks_each", poisoned(fleet, bench, cheats, POISONED))
    params = {"devices": POISONED, "times": 1000, "lanes": "compact, CKKS, BFV", "kind": "measured"}
    yield Row("poison.moved_ratio", max(at_thousand), "ratio", params)
    yield from rows


@dataclass
class Poisoned:
    """Outcome of one cheat. times: what it sent, in multiples of its largest value; moved: by how
    many times that the sum has moved; bound: what the result says it can be at most; left_out: devices."""

    times: float
    moved: float
    bound: int
    left_out: int
    size: int
    owner_ms: float
    gateway_ms: float
    parts: int


def poisoned_rows(name: str, found: list[Poisoned]) -> Iterator[Row]:
    """Return rows of what each cheat has done, the first one 1,000 times the largest value."""
    worst = max(found, key=lambda each: each.moved)
    params = {"devices": POISONED, "parts": found[0].parts, "kind": "measured"}
    of_worst = {"times": worst.times, "cheats": len(found), "bound": worst.bound}
    owner_ms, gateway_ms = (
        round(median(values), 1) for values in zip(*((f.owner_ms, f.gateway_ms) for f in found), strict=True)
    )
    yield Row(f"poison.{name}.moved_ratio", found[0].moved, "ratio", {**params, "times": 1000})
    yield Row(f"poison.{name}.moved_ratio_worst", worst.moved, "ratio", {**params, **of_worst})
    yield Row(f"poison.{name}.left_out", found[0].left_out, "devices", {**params, "times": 1000})
    yield Row(f"poison.{name}.result_bytes", found[0].size, "bytes", params)
    yield Row(f"poison.{name}.owner_ms", owner_ms, "ms", params)
    yield Row(f"poison.{name}.gateway_ms", gateway_ms, "ms", params)


def poisoned(
    fleet: hostile.Fleet, bench: Bench, cheats: Sequence[float], groups: int | None = None
) -> list[Poisoned]:
    """Have a hostile device join the same 999 honest ones with each cheat in turn. groups: None for the
    default."""
    random = np.random.default_rng(33)
    honest = {number: float(random.integers(0, int(fleet.largest) + 1)) for number in range(1, POISONED)}
    fleet.round += 1
    for number, value in honest.items():
        fleet.send(number, value)
    found = []
    for hostile_one, times in enumerate(cheats, POISONED):
        below = -3 * fleet.largest
        cheat = times * fleet.largest if times else below + (fleet.modulus if fleet.wraps else 0)
        fleet.send(hostile_one, 0, cheat)
        job = fleet.compute(groups, devices=(*honest, hostile_one))
        started = time.perf_counter()
        reading = fleet.read(job)
        seconds = time.perf_counter() - started
        assert reading.most_moved is not None and job.job.result is not None
        moved = round(hostile.moved(reading, honest, fleet.largest, hostile_one), 6)
        assert moved <= reading.most_moved + 1e-4
        one = Poisoned(
            times=round(cheat / fleet.largest, 3),
            moved=moved,
            bound=reading.most_moved,
            left_out=len(hostile.left_out(reading)),
            size=sum(path.stat().st_size for path in job.files),
            owner_ms=1e3 * seconds,
            gateway_ms=1e3 * (job.job.result.seconds or 0),
            parts=len(job.files),
        )
        found.append(one)
        bench.console.print(
            f"poison, {fleet.fleet}, {one.parts} parts: {times:g} times its largest moves it by {moved:g} "
            f"(at most {one.bound}), {one.left_out} left out"
        )
    return found


@contextlib.contextmanager
def serving(bench: Bench, name: str, workers: str, *options: str) -> Iterator[support.Server]:
    """A gateway of its own for each part."""
    with support.serving(bench.folder / name, "--workers", workers, *options) as server:
        yield server


PARTS: dict[str, tuple[Callable[[Bench], Iterator[Row]], tuple[str, ...]]] = {
    "http": (http_rows, ("ingest.http.",)),
    "compact": (compact_rows, ("ingest.compact.", "ingest.rss_growth_bytes")),
    "mqtt": (mqtt_rows, ("ingest.mqtt.",)),
    "jobs": (job_rows, ("jobs.",)),
    "poison": (poison_rows, ("poison.",)),
    "cluster": (cluster_rows, ("cluster.ingest.",)),
}
"""By name: what measures it, and how the names of its rows begin."""


def other_rows(path: Path, parts: Sequence[str]) -> list[Row]:
    """Return the rows of a file that other parts or goals wrote, such as make chaos."""
    if not path.exists():
        return []
    mine = tuple(begins for part in parts for begins in PARTS[part][1])
    rows = json.loads(path.read_text())["rows"]
    return [Row(**row) for row in rows if not row["name"].startswith(mine)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Deliveries and jobs of a gateway, beside raw.")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part (repeatable)")
    parser.add_argument("--turns", type=int, help="at most so many of each")
    parser.add_argument(
        "--results", type=Path, help="bench/results/gateway.json; build/bench-gateway.json of less than all"
    )
    arguments = parser.parse_args()
    parts = arguments.only or list(PARTS)
    is_whole = arguments.only is None and arguments.turns is None
    usual = ROOT / ("bench/results/gateway.json" if is_whole else "build/bench-gateway.json")
    results = arguments.results or usual
    results.parent.mkdir(exist_ok=True)
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), console, arguments.turns or max(FULL_TURNS, PACKET_TURNS))
        rows = [row for part in parts for row in PARTS[part][0](bench)]
    machine = f"Python {platform.python_version()}"
    write_results(results, "make bench-gateway", machine, [*timed(rows), *other_rows(results, parts)])
    table = Table(title="The gateway")
    for title in ("row", "value", "unit"):
        table.add_column(title, justify="right" if title == "value" else "left")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", row.unit)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
