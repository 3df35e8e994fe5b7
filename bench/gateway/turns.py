# SPDX-License-Identifier: Apache-2.0
"""Fleets, raw's process, and turns of both, for all parts of the gateway's bench."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A16
from rich.console import Console

from bench.rows import Row

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway"), str(ROOT / "bench" / "gateway")]

import gateway_support as support  # noqa: E402
from load import write_bodies  # noqa: E402

SET = "n4096_q26x3_p27"
DEVICES = 20
CONNECTIONS = 32
VALUES = 16
HOUR = {"windows_per_hour": 3_600_000}


@dataclass
class Turn:
    """The figures of load.py for one run, and the server's processor time."""

    seconds: float
    count: int
    p50_ms: float
    p99_ms: float
    server_seconds: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    @property
    def server_us(self) -> float:
        """Microseconds of the server for one delivery."""
        return 1e6 * self.server_seconds / self.count


def load(servers: Sequence[subprocess.Popen[bytes] | None], *arguments: object) -> Turn:
    """Have load.py send to servers, or have a broker's messages reach them."""
    command = (sys.executable, str(ROOT / "bench/gateway/load.py"), *map(str, arguments))
    processes = [server.pid for server in servers if server is not None]
    before = sum(map(processor_seconds, processes))
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return Turn(**found, server_seconds=sum(map(processor_seconds, processes)) - before)


def processor_seconds(process: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Raw:
    """Raw, as a process that listens."""

    process: subprocess.Popen[bytes]
    port: int


@contextlib.contextmanager
def raw_server(server: support.Server, folder: Path, *options: object, **environment: str) -> Iterator[Raw]:
    """Raw for the block, with the gateway's certificate."""
    port, tls = support.free_port(), server.data / "tls"
    command = (sys.executable, str(ROOT / "bench/gateway/raw.py"), folder, port, tls / "server.pem")
    command = (*map(str, command), str(tls / "server.key"), *map(str, options))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment})
    try:
        assert process.stdout is not None
        process.stdout.readline()  # once it is ready
        yield Raw(process, port)
    finally:
        process.terminate()
        process.wait(20)


class FullFleet:
    """Devices that send whole sets of 40 KB."""

    def __init__(self, server: support.Server, devices: int = DEVICES) -> None:
        self.keys = support.full_owner(SET)
        support.LOG2_SCALE = 25
        owner = server.owner()
        support.define_full(owner, "full", self.keys, **HOUR)
        made = (support.FullDevice(self.keys, number) for number in range(devices))
        self.devices = [device.enroll(owner, "full") for device in made]
        self.token = support.device_token(owner, "full")

    def bodies(self, count: int) -> Iterator[bytes]:
        for number in range(count):
            yield self.devices[number % len(self.devices)].encrypt([number % 8])


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
        support.accepted(owner.put("/v1/fleets/compact", json={**definition, **HOUR}))
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
    """Figures of both, and ratios of what is shown of them."""
    params = {**params, "turns": len(ours), "kind": "measured"}
    rate, raw_rate = (round(median(turn.rate for turn in of)) for of in (ours, raw))
    cpu, raw_cpu = (round(median(turn.server_us for turn in of)) for of in (ours, raw))
    yield Row(f"ingest.{name}.ratio_to_raw", round(rate / raw_rate, 3), "ratio", params, better="more")
    yield Row(f"ingest.{name}.sets_per_second", rate, "1/s", params)
    yield Row(f"ingest.{name}.raw_sets_per_second", raw_rate, "1/s", params)
    yield Row(f"ingest.{name}.cpu_ratio_to_raw", round(raw_cpu / cpu, 3), "ratio", params, better="more")
    yield Row(f"ingest.{name}.cpu_us", cpu, "us", params)
    yield Row(f"ingest.{name}.raw_cpu_us", raw_cpu, "us", params)
    yield Row(f"ingest.{name}.p50_ms", round(median(t.p50_ms for t in ours), 1), "ms", params)
    yield Row(f"ingest.{name}.p99_ms", round(median(t.p99_ms for t in ours), 1), "ms", params)


def take_turns(
    console: Console,
    what: str,
    count: int,
    ours: Callable[[], Turn],
    other: Callable[[], Turn],
    other_name: str = "raw",
) -> tuple[list[Turn], list[Turn]]:
    """Measure both, each going first in turn."""
    found: tuple[list[Turn], list[Turn]] = ([], [])
    for number in range(count):
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append((ours, other)[which]())
        a, b = found[0][-1], found[1][-1]
        console.print(
            f"{what} {number + 1}/{count}: {a.rate:,.0f}/s, {other_name} {b.rate:,.0f}/s "
            f"({a.rate / b.rate:.2f}); "
            f"{a.server_us:.0f} us, {other_name} {b.server_us:.0f} us ({b.server_us / a.server_us:.2f})"
        )
    return found


@dataclass
class Bench:
    """The environment of the parts. most_turns: the most turns of each part."""

    folder: Path
    console: Console
    most_turns: int

    @property
    def bodies(self) -> Path:
        return self.folder / "bodies"

    def turns(self, count: int) -> int:
        return min(count, self.most_turns)


def over_https(
    bench: Bench, server: support.Server, raw: Raw, name: str, fleet: Any, count: int
) -> tuple[Callable[[], Turn], Callable[[], Turn]]:
    """A turn of the gateway, and one of raw."""
    ca = server.data / "tls/ca.pem"

    def ours() -> Turn:
        write_bodies(bench.bodies, fleet.bodies(count))
        path = f"/v1/fleets/{name}/deliveries"
        return load([server.process], "http", server.port, ca, fleet.token, path, CONNECTIONS, bench.bodies)

    def raw_turn() -> Turn:
        write_bodies(bench.bodies, fleet.bodies(count))
        return load([raw.process], "http", raw.port, ca, "raw", "/deliveries", CONNECTIONS, bench.bodies)

    return ours, raw_turn
