# SPDX-License-Identifier: Apache-2.0
"""The gateway, its workers and its broker are killed at random while devices send, and devices lose their
power; afterwards every window has to be in the sums exactly once.

`make chaos KILLS=100` writes its rows into bench/results/gateway.json. Each window has a slot of its own with
a 1 in it, so that the sum of all windows shows a window that was lost as 0 and one that counted twice as 2.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import C
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.formats.receipts import Receipt
from gateway_support import (
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    frames_of,
    full_owner,
    wait_until,
    workers_of,
)
from mqtt_support import Station, site

from bench.rows import Row, timed, write_results

ROOT = Path(__file__).resolve().parent.parent.parent
SLOTS = 1024
"""The windows that a fleet can send."""
LOG2_SCALE = 20
PARAMETERS = "n4096_q26x3_p27"
"""With room for the sum of all windows, of which each holds a 1."""
"""The noise of 1,024 windows stays far below 1/2, and twice the sum far below the modulus."""
DEVICES = 4
"""Devices of each fleet."""
KILL_SECONDS = 2.0
"""About, from one kill to the next."""
WINDOWS_A_KILL = 10
"""More than so many are sent."""
REBOOTS = 0.1
"""The part of all windows under way that sees its device lose power."""
SECONDS = 600.0
STREAM_SECONDS = 5


@dataclass
class Window:
    """receipted: the device was told that it is done; dropped: it has lost the readings, and says so."""

    slot: int
    receipted: bool = False
    dropped: bool = False


@dataclass
class Tally:
    """The outcome of a run."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    """Whatever else was done to it."""
    windows: int = 0
    reboots: int = 0
    dropped: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    jobs: int = 0
    jobs_wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    orphans: int = 0
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.jobs_wrong or self.errors or self.orphans)


# --- devices ------------------------------------------------------------------------------------------------


class Sender:
    """A device that sends one window after the other, each until its receipt comes."""

    def __init__(self, fleet: Fleet, device: FullDevice | PacketDevice, first_slot: int, run: Run) -> None:
        self.device = device
        self.keeps = device.number % 2 == 1
        """Its readings, when it loses power."""
        self.windows: dict[int, Window] = {}
        self.reboots = 0
        self._fleet = fleet
        self._first_slot = first_slot
        self._run = run
        self._random = random.Random(run.random.random())
        self.thread = threading.Thread(target=self._guarded, daemon=True)

    def _guarded(self) -> None:
        try:
            self._send_all()
        except Exception as error:
            self._run.tally.errors.append(f"{self._fleet.name} {self.device.number}: {error!r}")

    def _send_all(self) -> None:
        count = SLOTS // DEVICES
        for index in range(count):
            if self._run.over.is_set():
                return
            self._send(self._first_slot + index)
            time.sleep(self._random.uniform(0, 2 * self._run.pace / count))

    def _send(self, slot: int) -> None:
        pieces = self._encrypted(slot, None)
        number = _window_number(pieces[0])
        window = self.windows[number] = Window(slot)
        sent = 0
        while True:
            if sent < 3 and self._random.random() < REBOOTS:  # power fails before all of it is sent
                self._fleet.deliver(self, pieces[: self._random.randrange(len(pieces) + 1)])
                self._boot()
                if not self.keeps:
                    window.dropped = True
                    return
                pieces = self._encrypted(slot, number)
            sent += 1
            receipt = self._fleet.deliver(self, pieces)
            if receipt is not None:
                assert receipt.window == number, receipt
                window.receipted = True
                return
            time.sleep(0.1)

    def _boot(self) -> None:
        self.reboots += 1
        if isinstance(self.device, FullDevice):
            self.device.boot(self.device.counter)
        else:
            self.device.boot()

    def _encrypted(self, slot: int, window: int | None) -> list[bytes]:
        """Whole, or frame by frame in any order."""
        values = np.zeros(SLOTS)
        values[slot] = 1
        if isinstance(self.device, PacketDevice):
            pieces = self.device.encrypt(values.astype(np.int64), window)
        else:
            data = self.device.encrypt(values, window)
            pieces = [data] if self._random.random() < 0.5 else frames_of(data)
        self._random.shuffle(pieces)
        return pieces

    def receipt(self, data: bytes) -> Receipt:
        return Receipt.from_bytes(data, self.device.tag_keys.receipts)


def _window_number(piece: bytes) -> int:
    """The window number of a packet or frame whose counter is below 2^32."""
    is_packet = piece[0] == 0x21
    (counter,) = struct.unpack_from("<I", piece, 8 if is_packet else 20)
    (behind,) = struct.unpack_from("<I", piece, 12 if is_packet else 52)
    return int(counter - behind)


@dataclass
class Fleet:
    name: str
    decrypt: Callable[[bytes], Any]
    senders: list[Sender] = field(default_factory=list)
    clients: dict[int, Any] = field(default_factory=dict)
    """By device."""

    def deliver(self, sender: Sender, pieces: list[bytes]) -> Receipt | None:
        """Send each piece, once; the receipt, if there was one."""
        raise NotImplementedError

    def expected(self, contributors: list[list[int]]) -> Any:
        """Return the sum over these windows in each slot."""
        found = np.zeros(SLOTS)
        by_device = {sender.device.number: sender for sender in self.senders}
        for device, _, number in contributors:
            found[by_device[device].windows[number].slot] += 1
        return found

    def leave(self) -> None:
        """End the devices' connections that would last."""

    def right(self, contributors: list[list[int]], parts: list[bytes]) -> bool:
        if not contributors:
            return not parts
        total = np.round(self.decrypt(parts[0])[:SLOTS])
        return bool((total == self.expected(contributors)).all())


class WebFleet(Fleet):
    """A fleet that delivers over HTTPS, each time to any of the gateways."""

    def deliver(self, sender: Sender, pieces: list[bytes]) -> Receipt | None:
        found = None
        client: httpx.Client = random.choice(self.clients[sender.device.number])
        for piece in pieces:
            try:
                answer = client.post(f"/v1/fleets/{self.name}/deliveries", content=piece, timeout=10)
            except httpx.HTTPError:
                return None
            if answer.status_code == 200:
                found = sender.receipt(answer.content)
            elif answer.status_code not in (202, 503):
                raise AssertionError(answer.text)
        return found


class BrokerFleet(Fleet):
    """A fleet that delivers over MQTT."""

    def deliver(self, sender: Sender, pieces: list[bytes]) -> Receipt | None:
        station: Station = self.clients[sender.device.number]
        if not station.client.is_connected():
            time.sleep(0.2)
            return None
        while not station.answers.empty():
            station.answers.get()
        sent = {os.urandom(8): piece for piece in pieces}
        for tried, piece in sent.items():
            station.publish(piece, tried, wait=False)
        found = None
        end = time.monotonic() + 3
        while sent and time.monotonic() < end:
            try:
                answer = station.answer(0.5)
            except Exception:  # queue.Empty
                continue
            if sent.pop(answer.correlation or b"", None) is None:
                continue
            if answer.status == "receipt":
                found = sender.receipt(answer.payload)
            elif answer.status == "refused" and json.loads(answer.payload)["status"] != 503:
                raise AssertionError(answer.payload)
        return found

    def leave(self) -> None:
        for station in self.clients.values():
            station.leave()


def full_devices() -> list[FullDevice]:
    keys = full_owner(PARAMETERS)
    return [FullDevice(keys, number, log2_scale=LOG2_SCALE, largest=1) for number in range(1, DEVICES + 1)]


# --- the run ------------------------------------------------------------------------------------------------


class Run:
    """Kill a gateway, its workers and its broker at random, and count windows."""

    rows = "chaos"
    """How the names of its rows begin."""
    goal = "chaos"
    """The Makefile's goal that runs it."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.tally = Tally()
        self.over = threading.Event()
        self.pace = kills * KILL_SECONDS * 1.5
        """Seconds in which the devices would use up their slots."""
        self._kills = kills
        self._folder = folder
        self._servers: list[Server] = []
        self._jobs: list[tuple[Fleet, int]] = []

    @contextlib.contextmanager
    def _serving(self) -> Iterator[list[Server]]:
        """The gateways, for the block."""
        with site(self._folder / "data", "--workers", "2") as self._site:
            yield [self._site.server]

    def go(self) -> Tally:
        started = time.monotonic()
        with self._serving() as self._servers:
            fleets = self._fleets()
            asking = threading.Thread(target=self._ask, args=(fleets,), daemon=True)
            asking.start()
            senders = [sender for fleet in fleets for sender in fleet.senders]
            for sender in senders:
                sender.thread.start()
            while sum(self.tally.kills.values()) < self._kills or self._has_too_few(senders, started):
                time.sleep(self.random.uniform(0.2, 1.5))
                self._kill()
            self.over.set()
            for sender in senders:
                sender.thread.join(SECONDS)
                if sender.thread.is_alive():
                    self.tally.errors.append(f"device {sender.device.number} did not end")
            asking.join(SECONDS)
            self._check(fleets)
            for fleet in fleets:
                fleet.leave()
        self._count_orphans()
        self.tally.seconds = time.monotonic() - started
        return self.tally

    def _owner(self) -> httpx.Client:
        """The owner, at any of the gateways."""
        return random.choice(self._servers).client(self._servers[0].token("owner"))

    def _has_too_few(self, senders: list[Sender], started: float) -> bool:
        """On a machine that is busy with other things the devices are slow: they are killed more often."""
        sent = sum(len(sender.windows) for sender in senders)
        return sent <= WINDOWS_A_KILL * self._kills and time.monotonic() - started < SECONDS

    def _fleets(self) -> list[Fleet]:
        broker = BrokerFleet("broker", full_owner(PARAMETERS).decrypt)
        self._define_full(broker)
        for number, token in self._enrolled(broker, full_devices()):
            broker.clients[number] = self._site.station(f"home.{broker.name}.{number}", token).ready()
        return [*self._web_fleets(), broker]

    def _web_fleets(self) -> list[Fleet]:
        web = WebFleet("web", full_owner(PARAMETERS).decrypt)
        keys = CompactKeys.generate(C)
        packets = WebFleet("packets", lambda data: _decrypted(keys, data))
        self._define_full(web)
        define_compact(self._owner(), packets.name, keys, SLOTS)
        devices: list[FullDevice | PacketDevice] = []
        for number in range(1, DEVICES + 1):
            devices.append(PacketDevice(keys, number, 1500, largest=1))
            keys = devices[-1].keys
        for fleet, of in ((web, full_devices()), (packets, devices)):
            for number, token in self._enrolled(fleet, of):
                fleet.clients[number] = [server.client(token) for server in self._servers]
        return [web, packets]

    def _define_full(self, fleet: Fleet) -> None:
        define_full(self._owner(), fleet.name, full_owner(PARAMETERS), log2_scale=LOG2_SCALE)

    def _enrolled(
        self, fleet: Fleet, devices: Sequence[FullDevice | PacketDevice]
    ) -> Iterator[tuple[int, str]]:
        """Enroll a fleet's devices, yield the token of each, and have a stream of its sums."""
        owner = self._owner()
        for index, device in enumerate(devices):
            device.enroll(owner, fleet.name)
            fleet.senders.append(Sender(fleet, device, index * SLOTS // DEVICES, self))
            yield device.number, device_token(owner, fleet.name, device.number)
        spec = {"job": _EVERYTHING, "every": STREAM_SECONDS}
        accepted(owner.post(f"/v1/fleets/{fleet.name}/streams", json={"name": "all", "spec": spec}))

    def _ask(self, fleets: list[Fleet]) -> None:
        """For sums of what there is, over all devices or some."""
        generator = random.Random(self.random.random())
        while not self.over.wait(generator.uniform(0.3, 2.5)):
            fleet = generator.choice(fleets)
            spec = dict(_EVERYTHING)
            if generator.random() < 0.5:
                spec["devices"] = generator.sample(range(1, DEVICES + 1), 2)
            try:
                made = self._owner().post(f"/v1/fleets/{fleet.name}/jobs", json={"spec": spec}, timeout=10)
            except (httpx.HTTPError, OSError):
                continue
            if made.status_code == 201:
                self._jobs.append((fleet, made.json()["id"]))

    # --- kills ----------------------------------------------------------------------------------------------

    def _kill(self) -> None:
        """SIGKILL one of them; what does not come back by itself is started again."""
        victim = self.random.choices(("gateway", "worker", "broker", "both"), (5, 3, 2, 1))[0]
        here = self._site
        if victim == "worker":
            self._kill_worker()
            return
        if victim in ("broker", "both"):
            here.broker.kill()
            self.tally.kills["broker"] += 1
        if victim in ("gateway", "both"):
            here.server.kill()
            self.tally.kills["gateway"] += 1
        time.sleep(self.random.uniform(0, 0.5))
        if victim in ("broker", "both"):
            here.broker.start()
        if victim in ("gateway", "both"):
            self._restart(here.server)

    def _restart(self, server: Server) -> None:
        """Start a gateway that was killed; sometimes kill it once more, while it is starting."""
        if self.random.random() < 0.2:
            server.start_unready()
            time.sleep(self.random.uniform(0, 3))
            server.kill()
            self.tally.kills["gateway"] += 1
        server.start()

    def _kill_worker(self) -> None:
        workers = self._workers()
        if workers:
            os.kill(self.random.choice(workers), signal.SIGKILL)
            self.tally.kills["worker"] += 1

    def _workers(self) -> list[int]:
        return [process for server in self._servers for process in workers_of(server.data)]

    def _count_orphans(self) -> None:
        """Workers outlive nobody for long."""
        end = time.monotonic() + 15
        while (left := self._workers()) and time.monotonic() < end:
            time.sleep(0.2)
        self.tally.orphans = len(left)
        for process in left:
            os.kill(process, signal.SIGKILL)

    # --- what came out --------------------------------------------------------------------------------------

    def _check(self, fleets: list[Fleet]) -> None:
        owner = self._owner()
        for fleet in fleets:
            made = accepted(owner.post(f"/v1/fleets/{fleet.name}/jobs", json={"spec": _EVERYTHING})).json()
            contributors, parts = self._result(owner, fleet, made["id"])
            total = np.round(fleet.decrypt(parts[0])[:SLOTS]) if parts else np.zeros(SLOTS)
            self._count(fleet, total)
            asked = [job for each, job in self._jobs if each is fleet]
            listed = [
                job["id"] for job in accepted(owner.get(f"/v1/fleets/{fleet.name}/jobs")).json()["items"]
            ]
            for job in sorted({*listed, *asked}):
                contributors, parts = self._result(owner, fleet, job)
                self.tally.jobs += 1
                if not fleet.right(contributors, parts):
                    self.tally.jobs_wrong.append(f"{fleet.name} job {job}")
            self._check_stream(owner, fleet)

    def _count(self, fleet: Fleet, total: Any) -> None:
        for sender in fleet.senders:
            self.tally.reboots += sender.reboots
            for number, window in sender.windows.items():
                found, name = int(total[window.slot]), f"{fleet.name} {sender.device.number}.{number}"
                self.tally.windows += 1
                self.tally.dropped += window.dropped
                if found > 1 or found < 0:
                    self.tally.doubled.append(name)
                elif window.receipted and found == 0:
                    self.tally.lost.append(name)
                elif not window.receipted and not window.dropped:
                    self.tally.errors.append(f"{name} had no receipt")

    def _result(self, owner: httpx.Client, fleet: Fleet, job: int) -> tuple[list[list[int]], list[bytes]]:
        path = f"/v1/fleets/{fleet.name}/jobs/{job}"

        def ended() -> bool:
            shown = accepted(owner.get(path)).json()
            if shown["state"] == "failed":  # its workers were killed too often: its owner tries again
                assert "workers died" in shown["error"], shown
                accepted(owner.post(f"{path}/retry"))
            return bool(shown["state"] == "done")

        wait_until(ended, f"{fleet.name} job {job}", SECONDS)
        shown = accepted(owner.get(path)).json()
        parts = [accepted(owner.get(f"{path}/results/{i}")).content for i in range(shown["result"]["parts"])]
        return accepted(owner.get(f"{path}/contributors")).json()["items"], parts

    def _check_stream(self, owner: httpx.Client, fleet: Fleet) -> None:
        """A job for each interval, and one only."""
        jobs = accepted(owner.get(f"/v1/fleets/{fleet.name}/jobs")).json()["items"]
        begins = [job["begins"] for job in jobs if job["stream"] is not None]
        if begins != [begins[0] + STREAM_SECONDS * i for i in range(len(begins))]:
            self.tally.errors.append(f"{fleet.name}'s intervals are {begins}")


_EVERYTHING: dict[str, Any] = {"kind": "sum", "per_device": 1_000_000}


def _decrypted(keys: CompactKeys, data: bytes) -> Any:
    return decrypt_sum(keys, CompactResult.from_bytes(data)).values


def rows(tally: Tally, begin: str) -> list[Row]:
    params = {
        "windows": tally.windows,
        "reboots": tally.reboots,
        "dropped_by_devices": tally.dropped,
        "seconds": round(tally.seconds),
        **{f"{what}_kills": count for what, count in sorted(tally.kills.items())},
        **dict(sorted(tally.faults.items())),
    }
    counts = {
        "lost": (len(tally.lost), "windows"),
        "doubled": (len(tally.doubled), "windows"),
        "kills": (sum(tally.kills.values()), "kills"),
        "jobs": (tally.jobs, "jobs"),
        "jobs_wrong": (len(tally.jobs_wrong), "jobs"),
    }
    return [Row(f"{begin}.{name}", value, unit, params) for name, (value, unit) in counts.items()]


def write(path: Path, run: type[Run], tally: Tally) -> None:
    """Write into the file, beside what else stands there."""
    before = json.loads(path.read_text()) if path.exists() else {}
    kept = [Row(**row) for row in before.get("rows", []) if not row["name"].startswith(f"{run.rows}.")]
    command = before.get("command", f"make {run.goal} KILLS={sum(tally.kills.values())}")
    compiler = before.get("compiler", f"Python {sys.version.split()[0]}")
    write_results(path, command, compiler, [*kept, *timed(rows(tally, run.rows))])


def main(run: type[Run]) -> int:
    parser = argparse.ArgumentParser(description=run.__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/gateway.json")
    options = parser.parse_args()
    print(f"{options.kills} kills, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        tally = run(Path(folder), options.kills, options.seed).go()
        if not tally.is_clean:
            for log in Path(folder).glob("*.log"):
                print(f"{log.name}: {log.read_text()[-4000:]}", file=sys.stderr)
    for row in rows(tally, run.rows):
        print(f"{row.name:20} {row.value:6} {row.unit}")
    print(dict(rows(tally, run.rows)[0].params))
    if not tally.is_clean:
        print(tally, file=sys.stderr)
        return 1
    write(options.results, run, tally)
    return 0


if __name__ == "__main__":
    sys.exit(main(Run))
