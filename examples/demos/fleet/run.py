# SPDX-License-Identifier: Apache-2.0
"""The fleet demo's course: start a gateway and a broker, enroll twenty devices, let them send for a minute
while gateway, broker and workers are killed, and hold every result to what the devices say they measured.

`make demo-fleet SECONDS=60`. Who knows what: each device its own readings and the key under which it
encrypts; the gateway who sent which window when; the owner, who has the keys, fetches sums and means alone.
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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.base.files import write_exclusively
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import B
from ciphermote.fleet import (
    Connection,
    GatewayClient,
    attach,
    enroll,
)
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from net_device import NetDevice, NetDeviceError, Transport, build, write_settings
from numpy.typing import NDArray
from rich.console import Console

from demos import smartwatch
from demos.fleet import report, unos
from demos.fleet.devices import Courier, LinuxDevice, Modem, Schedule, Trigger, meter
from demos.fleet.diary import Diary
from demos.fleet.links import connect
from demos.fleet.owner import STOP_SECONDS, Fleet, add_streams, await_streams, fetch_results
from demos.fleet.report import Outcome
from demos.fleet.site import Site, is_alive, site, wait_until
from demos.fleet.unos import ROOT
from demos.run import Stage

import demand  # isort: skip  (unos has made it known)

PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE = 22
FEATURES = 1800
"""Features in a watch's window."""
LARGEST = 1023
"""The largest reading of a meter: 64 windows of set B may be added up then."""
WATCHES, METERS, HOMES = "watches", "meters", "homes"
FROM_NOW = 2.0
"""Seconds until the first window is measured, once all devices wait for it."""
MOST_STRETCH = 10
"""So many times as long everything takes at most, for a machine that has much else to do."""


@dataclass(frozen=True)
class Plan:
    """The size of the demo. seconds: duration of measuring; every: from one window of a device to its next;
    interval: that a result is over, in which each device measures five times or more, and no more than 64
    meters' windows may fall; kills: (when, as part of the seconds; what)."""

    seconds: float = 60.0
    boards: int = 4
    unos: int = 6
    linux: int = 10
    every: float = 2.0
    kills: tuple[tuple[float, str], ...] = (
        (0.15, "gateway"),
        (0.3, "worker"),
        (0.4, "broker"),
        (0.55, "gateway"),
        (0.65, "worker"),
        (0.75, "gateway and broker"),
    )

    @property
    def interval(self) -> float:
        return self.seconds / max(1, self.seconds // (5 * self.every))

    def stretched(self, encrypting_seconds: float) -> Plan:
        """For devices that take so long for a window: half of the time between two at most. Raises Error."""
        stretch = max(1, math.ceil(2 * encrypting_seconds / self.every))
        if stretch > MOST_STRETCH:
            raise Error(
                f"A device takes {encrypting_seconds:.0f} s to encrypt a window, and {MOST_STRETCH / 2:g} "
                f"times {self.every:g} s is the most: the machine has too much else to do; wait until it "
                "has less."
            )
        return replace(self, seconds=stretch * self.seconds, every=stretch * self.every)

    @property
    def devices(self) -> int:
        return self.boards + self.unos + self.linux


@dataclass
class Run:
    """One run of the demo."""

    plan: Plan
    work: Path
    console: Console
    outcome: Outcome = field(init=False)
    diary: Diary = field(default_factory=Diary)
    fleets: dict[str, Fleet] = field(default_factory=dict)
    modems: list[Courier[Any]] = field(default_factory=list)
    linux: list[LinuxDevice] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    workers: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.outcome = Outcome(self.plan.devices, self.plan.seconds, self.diary, self.kills)
        self._stage = Stage(self.console, self.outcome.times)

    def go(self) -> Outcome:
        """Raises Error if it cannot be done; whether what came out is right, report.judge tells."""
        with self._stopped_after(), self._site() as here:
            self._attach(here)
            self._enroll(here)
            self._rehearse()
            schedule = self._stream()
            with GatewayClient(
                here.server.url, here.server.token("owner"), ca=self._authority(here)
            ) as owner:
                self._measure(here, schedule)
                self._last_receipts()
                self.outcome.replays = await_streams(owner, self.fleets, schedule.ends, self._stage)
                found = fetch_results(owner, self.fleets, schedule.ends, self.work / "results", self._stage)
                self.outcome.results += found
            self.workers.update(here.server.workers())
        self._count_survivors()
        return self.outcome

    # --- before ---------------------------------------------------------------------------------------------

    @contextmanager
    def _site(self) -> Iterator[Site]:
        with ExitStack() as stack:
            with self._stage.step("Start the gateway"):
                data = self.work / "gateway"
                here = stack.enter_context(site(data, "--workers", "2", reserve=256, with_broker=False))
            yield here

    @staticmethod
    def _authority(here: Site) -> str:
        return here.server.authority.read_text()

    def _attach(self, here: Site) -> None:
        with self._stage.step("Owner: make keys, define three fleets", 3) as done:
            where = here.server.url, here.server.token("owner")
            authority = self._authority(here)
            compact = CompactKeys.generate(B)
            compact.save(self.work / "meters.key")
            positions = [(0, demand.HOURS)]
            found = attach(self.work / "meters.key", *where, METERS, ca=authority, positions=positions)
            self.fleets[METERS] = Fleet(found, compact, "sum", demand.HOURS, 0)
            done()
            for name, columns in ((WATCHES, FEATURES), (HOMES, demand.HOURS)):
                store = KeyStore.create(self.work / f"{name}-keys", PARAMETERS, galois_steps=[], relin=False)
                found = attach(self.work / f"{name}-keys", *where, name, ca=authority, log2_scale=LOG2_SCALE)
                self.fleets[name] = Fleet(found, store, "mean", columns, report.MAX_ABS_ERROR)
                done()

    def _enroll(self, here: Site) -> None:
        plan = self.plan
        connections = {}
        with self._stage.step("Owner: enroll devices", plan.devices) as done:
            for name, count in ((WATCHES, plan.boards), (METERS, plan.unos), (HOMES, plan.linux)):
                for number in range(1, count + 1):
                    connections[name, number] = self._enroll_one(name, number)
                    done()
        with self._stage.step("Start the broker"):
            here.broker.start()
        with self._stage.step("Build and start Cortex-M4s (QEMU)", plan.boards) as done:
            samples, values, header = watch_data()
            for number in range(1, plan.boards + 1):
                folder = self._folder(WATCHES, number)
                write_exclusively(folder / "app_model.h", header.encode(), 0o600)
                write_settings(folder, connections[WATCHES, number], f"localhost:{here.broker.port}")
                running = NetDevice(self._firmware(folder), folder)
                mine = slice(number - 1, None, plan.boards)
                shown = list(samples[mine]), list(values[mine])
                transport: Transport = "mqtt" if number % 2 == 0 else "https"
                self._start(Trigger((WATCHES, number), running, transport, self.diary, *shown))
                done()
        with self._stage.step("Build and start Arduino Unos (simavr)", plan.unos) as done:
            days = 1 + math.ceil(plan.seconds / plan.every)
            readings = np.minimum(demand.load(plan.unos, days), LARGEST)
            for number in range(1, plan.unos + 1):
                image = unos.build(self._folder(METERS, number))
                link = connect(here, connections[METERS, number], over_mqtt=True)
                own = readings[number - 1]
                where, started = (METERS, number), meter(image)
                as_sent, truth = list(own.astype(np.float32)), list(own.astype(np.float64))
                self._start(Modem(where, started, link, self.diary, as_sent, truth))
                done()
        days = 1 + math.ceil(plan.seconds / plan.every)
        curves = demand.curves(plan.linux, days)
        for number in range(1, plan.linux + 1):
            device = LinuxDevice((HOMES, number), self._folder(HOMES, number), curves[number - 1])
            device.start()
            self.linux.append(device)

    def _enroll_one(self, fleet: str, number: int) -> Connection:
        folder = self._folder(fleet, number)
        folder.mkdir(mode=0o700)
        names = {WATCHES: "provisioned_keys.h", METERS: "compact_keys.h", HOMES: "device.blob"}
        enroll(
            self.fleets[fleet].attachment,
            number,
            folder / names[fleet],
            folder / "connection.json",
            key="asymmetric" if fleet == HOMES and number % 2 == 0 else "symmetric",
            largest_value=LARGEST if fleet == METERS else None,
        )
        return Connection.load(folder / "connection.json")

    @staticmethod
    def _firmware(folder: Path) -> Path:
        try:
            return build(folder, folder / "build")
        except NetDeviceError as error:
            raise Error(str(error)) from None

    def _folder(self, fleet: str, number: int) -> Path:
        return self.work / f"{fleet}-{number}"

    def _start(self, modem: Courier[Any]) -> None:
        modem.start()
        self.modems.append(modem)
        if not modem.ready.wait(STOP_SECONDS) or modem.error is not None:
            raise Error(f"Device {modem.name} did not start: {modem.error}")

    # --- meanwhile ------------------------------------------------------------------------------------------

    def _rehearse(self) -> None:
        """Wait until every device is ready, and take as much time as they need."""
        with self._stage.step("Devices: encrypt once, all at the same time", self.plan.devices) as done:
            for modem in self.modems:
                modem.rehearse()
            end = time.monotonic() + STOP_SECONDS
            for modem in self.modems:
                if not modem.rehearsed.wait(end - time.monotonic()):
                    raise Error(f"Device {modem.name} has not encrypted within {STOP_SECONDS:g} s.")
                self._see_that_all_go_on()
                done()
            for device in self.linux:
                left = max(0.0, end - time.monotonic())
                wait_until(lambda device=device: device.is_ready, "a Linux device", left)  # type: ignore[misc]
                done()
        slowest = max((modem.encrypting_seconds for modem in self.modems), default=0.0)
        asked = self.plan.seconds
        self.plan = self.plan.stretched(slowest)
        self.outcome.seconds = self.plan.seconds
        if self.plan.seconds > asked:
            self.console.print(
                f"  A device takes {slowest:.1f} s to encrypt: measuring for {self.plan.seconds:g} s instead "
                f"of {asked:g} s",
                highlight=False,
            )

    def _stream(self) -> Schedule:
        """Have each fleet's intervals computed as they end."""
        begins = math.ceil(time.time() + FROM_NOW)
        add_streams(self.fleets, self.plan.interval, begins)
        return Schedule(begins, begins + self.plan.seconds, self.plan.every)

    def _measure(self, here: Site, schedule: Schedule) -> None:
        kills = [(schedule.begins + part * self.plan.seconds, what) for part, what in self.plan.kills]
        for device in self.linux:
            device.follow(schedule)
        for modem in self.modems:
            modem.follow(schedule)
        title = "Devices: measure, encrypt, send (seconds)"
        with self._stage.step(title, math.ceil(self.plan.seconds)) as done:
            shown = 0
            while (now := time.time()) < schedule.ends:
                self._see_that_all_go_on()
                if kills and now >= kills[0][0]:
                    self._kill(here, kills.pop(0)[1], now - schedule.begins)
                while shown < int(now - schedule.begins):
                    shown += 1
                    done()
                time.sleep(0.1)

    def _see_that_all_go_on(self) -> None:
        for modem in self.modems:
            if modem.error is not None:
                raise Error(f"Device {modem.name} has stopped: {modem.error}")

    def _kill(self, here: Site, what: str, second: float) -> None:
        """SIGKILL, and start again what does not come back by itself."""
        self.workers.update(here.server.workers())
        started = time.monotonic()
        if what == "worker":
            workers = here.server.workers()
            if not workers:
                return
            os.kill(random.choice(workers), signal.SIGKILL)
            self.kills["worker"] += 1
            self.console.print(
                f"  {second:.0f} s: a worker killed; the gateway starts another", highlight=False
            )
            return
        if "gateway" in what:
            here.server.kill()
            self.kills["gateway"] += 1
        if "broker" in what:
            here.broker.kill()
            self.kills["broker"] += 1
        time.sleep(0.5)
        if "broker" in what:
            here.broker.start()
        if "gateway" in what:
            here.server.start()
        took = time.monotonic() - started
        self.console.print(f"  {second:.0f} s: {what} killed; back after {took:.1f} s", highlight=False)

    # --- afterwards -----------------------------------------------------------------------------------------

    def _last_receipts(self) -> None:
        with self._stage.step("Devices: wait for the last receipts", self.plan.devices) as done:
            end = time.monotonic() + STOP_SECONDS
            for modem in self.modems:
                modem.join(max(0.0, end - time.monotonic()))
                if modem.is_alive():
                    raise Error(f"Device {modem.name} has not ended within {STOP_SECONDS:g} s.")
                self._see_that_all_go_on()
                done()
            for device in self.linux:
                tries = device.finish(self.diary, max(1.0, end - time.monotonic()))
                self.outcome.linux_tries += tries
                done()

    # --- the end --------------------------------------------------------------------------------------------

    @contextmanager
    def _stopped_after(self) -> Iterator[None]:
        """No device outlives the block."""
        try:
            yield
        finally:
            for modem in self.modems:
                modem.stop()
            for device in self.linux:
                device.kill()
            for modem in self.modems:
                modem.join(30)

    def _count_survivors(self) -> None:
        """Workers end by themselves when their gateway does."""
        end = time.monotonic() + 15
        while (left := [each for each in self.workers if is_alive(each)]) and time.monotonic() < end:
            time.sleep(0.2)
        self.outcome.survivors = len(left)
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


def watch_data() -> tuple[NDArray[np.float32], NDArray[np.float64], str]:
    """(windows of a smartwatch, the features that a device makes of each, what it is provisioned with)"""
    test = smartwatch.load("test").windows
    standardisation = smartwatch.Standardisation.of(smartwatch.raw_features(smartwatch.load("train").windows))
    features = standardisation.apply(smartwatch.raw_features(test)).astype(np.float64)
    _, channels, samples = test.shape
    return test, features, smartwatch.app_model_header(standardisation, channels, samples, LOG2_SCALE)


def _end(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run(console: Console | None = None, plan: Plan | None = None, work: Path | None = None) -> Outcome:
    """Run the demo. Writes demo.png and demo.json into work; raises Error if anything differs or is
    missing."""
    console = console or Console()
    work = work or ROOT / "build" / "demo-fleet"
    shutil.rmtree(work, ignore_errors=True)
    before = os.umask(0o077)  # headers and images hold keys
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGTERM, _end) if is_main else None  # ends what it has started
    try:
        work.mkdir(parents=True)
        outcome = Run(plan or Plan(), work, console).go()
    finally:
        os.umask(before)
        if is_main:
            signal.signal(signal.SIGTERM, handler)
    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json")
    console.print(f"\nThe plot and the figures are {work}/demo.png and demo.json.", highlight=False)
    report.judge(outcome)
    return outcome
