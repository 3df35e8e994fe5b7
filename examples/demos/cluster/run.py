# SPDX-License-Identifier: Apache-2.0
"""The cluster demo's course: fifty devices send to two gateways, over one PostgreSQL and one object store,
with Ray to compute, while each of these is killed; and every result is held to what the devices say they
measured.

`make demo-cluster SECONDS=60`. Who knows what: each device its own readings and its key; gateways, database,
object store and Ray's nodes ciphertexts, and who sent which window when; the owner, who has the keys, fetches
sums and means alone.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.base.files import write_atomically
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import C
from ciphermote.fleet import Connection, FleetDevice, GatewayClient, attach, enroll
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from numpy.typing import NDArray
from rich.console import Console

from demos.cluster.site import Cluster, cluster
from demos.fleet import report
from demos.fleet.diary import Diary, Window
from demos.fleet.owner import STOP_SECONDS, Fleet, add_streams, await_streams, fetch_results
from demos.fleet.report import Outcome
from demos.fleet.unos import ROOT
from demos.run import Stage

import demand  # isort: skip  (unos has made it known)

PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE = 22
LARGEST = 255
"""The largest reading of a meter: some 250 windows of set C may be added up then."""
METERS, HOMES = "meters", "homes"
FROM_NOW = 3.0
"""Seconds from the streams' start to the first window."""


@dataclass(frozen=True)
class Plan:
    """The size of the demo. seconds: duration of measuring; meters, homes: devices of the compact lane and
    of the other; every: from one window of a device to its next; interval: that a result is over; kills:
    (when, as part of the seconds; what)."""

    seconds: float = 60.0
    meters: int = 25
    homes: int = 25
    every: float = 3.0
    kills: tuple[tuple[float, str], ...] = (
        (0.1, "gateway"),
        (0.25, "database"),
        (0.4, "Ray node"),
        (0.55, "object store"),
        (0.7, "gateway"),
        (0.85, "worker"),
    )

    @property
    def interval(self) -> float:
        return self.seconds / max(1, self.seconds // (5 * self.every))

    @property
    def devices(self) -> int:
        return self.meters + self.homes


@dataclass
class Device:
    """A device, and what it measures: a row a window."""

    fleet: str
    number: int
    running: FleetDevice
    readings: NDArray[np.int64] | NDArray[np.float64]


@dataclass
class Run:
    """One run of the demo."""

    plan: Plan
    work: Path
    console: Console
    outcome: Outcome = field(init=False)
    diary: Diary = field(default_factory=Diary)
    fleets: dict[str, Fleet] = field(default_factory=dict)
    devices: list[Device] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.outcome = Outcome(self.plan.devices, self.plan.seconds, self.diary, self.kills)
        self._stage = Stage(self.console, self.outcome.times)

    def go(self) -> Outcome:
        """Raises Error if it cannot be done; whether what came out is right, report.judge tells."""
        with self._cluster() as here, ExitStack() as stack:
            self._attach(here)
            self._enroll(here, stack)
            begins = math.ceil(time.time() + FROM_NOW)
            add_streams(self.fleets, self.plan.interval, begins)
            self._measure(here, begins)
            self._last_receipts()
            first = here.servers[0]
            ends = begins + self.plan.seconds
            with GatewayClient(first.url, first.token("owner"), ca=first.authority.read_text()) as owner:
                self.outcome.replays = await_streams(owner, self.fleets, ends, self._stage)
                results = fetch_results(owner, self.fleets, ends, self.work / "results", self._stage)
            self.outcome.results += results
        return self.outcome

    # --- before ---------------------------------------------------------------------------------------------

    @contextmanager
    def _cluster(self) -> Iterator[Cluster]:
        with ExitStack() as stack:
            with self._stage.step("Start PostgreSQL, an object store, Ray and two gateways"):
                here = stack.enter_context(cluster(self.work, ("--workers", "1"), ray=True))
                assert here.nodes is not None
                here.nodes.start_node(1)
            yield here

    def _attach(self, here: Cluster) -> None:
        with self._stage.step("Owner: make keys, define two fleets", 2) as done:
            first = here.servers[0]
            where, authority = (first.url, first.token("owner")), first.authority.read_text()
            compact = CompactKeys.generate(C)
            compact.save(self.work / "meters.key")
            positions = [(0, demand.HOURS)]
            found = attach(self.work / "meters.key", *where, METERS, ca=authority, positions=positions)
            self.fleets[METERS] = Fleet(found, compact, "sum", demand.HOURS, 0)
            done()
            store = KeyStore.create(self.work / "homes-keys", PARAMETERS, galois_steps=[], relin=False)
            found = attach(self.work / "homes-keys", *where, HOMES, ca=authority, log2_scale=LOG2_SCALE)
            self.fleets[HOMES] = Fleet(found, store, "mean", demand.HOURS, report.MAX_ABS_ERROR)
            done()

    def _enroll(self, here: Cluster, stack: ExitStack) -> None:
        """Enroll all devices at the first gateway. Half of them are told the second one's address."""
        plan = self.plan
        windows = 1 + math.ceil(plan.seconds / plan.every)
        loads = np.minimum(demand.load(plan.meters, windows) // 5, LARGEST)
        curves = np.asarray(demand.curves(plan.homes, windows), np.float64)
        with self._stage.step("Owner: enroll devices", plan.devices) as done:
            for fleet, readings in ((METERS, loads), (HOMES, curves)):
                for number in range(1, len(readings) + 1):
                    folder = self.work / f"{fleet}-{number}"
                    folder.mkdir(mode=0o700)
                    keys, connection = folder / "device.blob", folder / "connection.json"
                    largest = LARGEST if fleet == METERS else None
                    enroll(self.fleets[fleet].attachment, number, keys, connection, largest_value=largest)
                    to = replace(Connection.load(connection), gateway=here.servers[number % 2].url)
                    write_atomically(connection, to.to_bytes(), 0o600)
                    running = stack.enter_context(FleetDevice(folder / "state", keys, connection))
                    running.start()
                    self.devices.append(Device(fleet, number, running, readings[number - 1]))
                    done()

    # --- meanwhile ------------------------------------------------------------------------------------------

    def _measure(self, here: Cluster, begins: float) -> None:
        plan = self.plan
        killer = _Killer(self, here, begins)
        killer.start()
        with self._stage.step("Devices: measure, encrypt, send (windows each)", len(self._times())) as done:
            for index, after in enumerate(self._times()):
                time.sleep(max(0.0, begins + after - time.time()))
                for device in self.devices:
                    measured = time.time()
                    if measured >= begins + plan.seconds:
                        break
                    values = device.readings[index]
                    number = device.running.put(values.tolist(), measured=measured)
                    self.diary.note(
                        Window(device.fleet, device.number, number, measured, values.astype(np.float64))
                    )
                killer.check()
                done()
            killer.join(STOP_SECONDS)
            killer.check()

    def _times(self) -> list[float]:
        return [index * self.plan.every for index in range(math.ceil(self.plan.seconds / self.plan.every))]

    def kill(self, here: Cluster, what: str) -> None:
        """SIGKILL, and start again what does not come back by itself."""
        assert here.nodes is not None
        self.kills[what] += 1
        if what == "gateway":
            server = here.servers[self.kills[what] % 2]
            server.kill()
            time.sleep(0.5)
            server.start()
        elif what == "database":
            here.postgres.kill()
            here.postgres.start()
        elif what == "object store":
            here.store.kill()
            here.store.start()
        elif what == "Ray node":
            here.nodes.kill(here.nodes.last)
            here.nodes.start_node(1)
        else:
            workers = [worker for server in here.servers for worker in server.workers()]
            os.kill(random.choice(workers), signal.SIGKILL)

    # --- afterwards -----------------------------------------------------------------------------------------

    def _last_receipts(self) -> None:
        with self._stage.step("Devices: wait for the last receipts", self.plan.devices) as done:
            end = time.monotonic() + STOP_SECONDS
            for device in self.devices:
                while device.running.waiting and time.monotonic() < end:
                    time.sleep(0.1)
                self.outcome.linux_tries += device.running.tries
                done()
        receipted = {
            (device.fleet, device.number): not device.running.waiting and not device.running.refused
            for device in self.devices
        }
        for window in self.diary.windows():
            window.receipted = receipted[window.fleet, window.device]


class _Killer(threading.Thread):
    """Kills one thing after the other while devices send."""

    def __init__(self, run: Run, here: Cluster, begins: float) -> None:
        super().__init__(daemon=True)
        self._run, self._here, self._begins = run, here, begins
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            for part, what in self._run.plan.kills:
                time.sleep(max(0.0, self._begins + part * self._run.plan.seconds - time.time()))
                second, started = time.time() - self._begins, time.monotonic()
                self._run.kill(self._here, what)
                took = time.monotonic() - started
                self._run.console.print(
                    f"  {second:.0f} s: {what} killed; back after {took:.1f} s", highlight=False
                )
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        """Raises Error if something did not come back."""
        if self._error is not None:
            raise Error(f"What was killed did not come back: {self._error}")


def run(console: Console | None = None, plan: Plan | None = None, work: Path | None = None) -> Outcome:
    """Run the demo. Writes demo.png and demo.json into work; raises Error if anything differs or is
    missing."""
    console = console or Console()
    work = work or ROOT / "build" / "demo-cluster"
    shutil.rmtree(work, ignore_errors=True)
    before = os.umask(0o077)  # files hold keys
    try:
        work.mkdir(parents=True)
        outcome = Run(plan or Plan(), work, console).go()
    finally:
        os.umask(before)
    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json", "cluster", "ItalyPowerDemand")
    console.print(f"\nThe plot and the figures are {work}/demo.png and demo.json.", highlight=False)
    report.judge(outcome)
    return outcome
