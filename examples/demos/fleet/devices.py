# SPDX-License-Identifier: Apache-2.0
"""The fleet's devices, each in a thread with its modem or in a process: they measure at fixed times, send
what they measured until its receipt has come, and write both into the diary.

A modem knows no key and checks nothing: it hands frames over, and brings the receipt back to the device. The
Cortex-M4s need none: they deliver by themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.base.files import write_atomically
from net_device import NetDevice, Transport
from numpy.typing import NDArray

from demos.fleet.diary import Diary, Window
from demos.fleet.links import Link
from demos.fleet.linux_device import PLAN, READY
from demos.fleet.unos import Uno

TRIES = 3
"""So often an attempt is sent before the device encrypts the window again."""
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 120.0
"""For the last receipts, once nothing more is measured."""
D = TypeVar("D")


@dataclass(frozen=True)
class Schedule:
    """When devices measure: every so many seconds from begins to before ends, in seconds since 1970."""

    begins: float
    ends: float
    every: float

    def times(self) -> Iterator[float]:
        count = int(np.ceil((self.ends - self.begins) / self.every))
        return (self.begins + i * self.every for i in range(count))


class Device(Protocol):
    """One that keeps a window until its receipt."""

    def encrypt(self, sample: NDArray[np.float32]) -> list[bytes]:
        """The frames or packets of a new window."""

    def encrypt_again(self) -> list[bytes]:
        """Encrypt the last values again, for another attempt."""

    def take_receipt(self, receipt: bytes) -> bool:
        """Whether it was for the latest attempt."""

    def number(self, part: bytes) -> int:
        """The window's, which stands in each frame or packet."""


class Meter:
    """An Arduino Uno in simavr."""

    def __init__(self, uno: Uno) -> None:
        self._uno = uno

    def encrypt(self, sample: NDArray[np.float32]) -> list[bytes]:
        return self._uno.encrypt(sample.astype(int).tolist())

    def encrypt_again(self) -> list[bytes]:
        return self._uno.encrypt_again()

    def take_receipt(self, receipt: bytes) -> bool:
        return self._uno.take_receipt(receipt)

    def number(self, part: bytes) -> int:
        return int.from_bytes(part[8:12], "little") - int.from_bytes(part[12:16], "little")


@contextmanager
def meter(image: Path) -> Iterator[Meter]:
    with Uno(image) as uno:
        yield Meter(uno)


class Courier(threading.Thread, Generic[D]):
    """Takes a device through its schedule. samples: what it measures, over and over; values: what the owner
    should get of each. error: why it ended early, if it did."""

    def __init__(
        self,
        where: tuple[str, int],
        started: AbstractContextManager[D],
        diary: Diary,
        samples: Sequence[NDArray[np.float32]],
        values: Sequence[NDArray[np.float64]],
    ) -> None:
        super().__init__(name=f"{where[0]} {where[1]}", daemon=True)
        self._where, self._opened, self._diary = where, started, diary
        self._samples, self._values = samples, values
        self._stopping = threading.Event()
        self._schedule: Schedule | None = None
        self._rehearsing = threading.Event()
        self._scheduled = threading.Event()
        self.ready = threading.Event()
        self.rehearsed = threading.Event()
        self.encrypting_seconds = 0.0
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self._opened as device:
                self.ready.set()
                self._rehearsing.wait()
                if self._stopping.is_set():
                    return
                self._try_out(device)
                self.rehearsed.set()
                self._scheduled.wait()
                if self._schedule is not None:
                    self._follow(self._schedule, device)
        except Exception as error:  # shown by whoever waits for this thread
            self.error = error
        finally:
            self.ready.set()
            self.rehearsed.set()
            self._close()

    def rehearse(self) -> None:
        """Have the device encrypt its first window, which it sends when it follows a schedule, to see how
        long that takes."""
        self._rehearsing.set()

    def follow(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._scheduled.set()

    def stop(self) -> None:
        """Stop without waiting for receipts."""
        self._stopping.set()
        self._rehearsing.set()
        self._scheduled.set()

    def _follow(self, schedule: Schedule, device: D) -> None:
        index = 0
        for due in schedule.times():
            if self._stopping.wait(max(0.0, due - time.time())):
                return
            now = time.time()
            if now >= schedule.ends:
                return
            if now - due >= schedule.every:
                continue  # it was waiting for a receipt then
            self._take_window(device, index, now, schedule.ends + PATIENCE_SECONDS)
            index += 1

    def _try_out(self, device: D) -> None:
        """Encrypt the first window without sending it, and set encrypting_seconds; or do nothing."""

    def _take_window(self, device: D, index: int, now: float, end: float) -> None:
        """Have a window measured, sent and noted. end: when to give up."""
        raise NotImplementedError

    def _close(self) -> None:
        """Close what the device does not close itself."""


class Modem(Courier[Device]):
    """Hands over what a device without a network encrypts."""

    def __init__(
        self,
        where: tuple[str, int],
        started: AbstractContextManager[Device],
        link: Link,
        diary: Diary,
        samples: Sequence[NDArray[np.float32]],
        values: Sequence[NDArray[np.float64]],
    ) -> None:
        super().__init__(where, started, diary, samples, values)
        self._link = link
        self._first: list[bytes] = []

    def _try_out(self, device: Device) -> None:
        started = time.monotonic()
        self._first = device.encrypt(self._samples[0])
        self.encrypting_seconds = time.monotonic() - started

    def _take_window(self, device: Device, index: int, now: float, end: float) -> None:
        at = index % len(self._samples)
        parts = self._first if index == 0 else device.encrypt(self._samples[at])
        number = device.number(parts[0])
        window = self._diary.note(Window(*self._where, number, now, self._values[at]))
        self._send(device, window, parts, end)

    def _close(self) -> None:
        self._link.close()

    def _send(self, device: Device, window: Window, parts: list[bytes], end: float) -> None:
        """Send until the device has checked the receipt."""
        while not self._stopping.is_set():
            window.tries += 1
            receipt = self._link.deliver(parts, window.measured)
            if receipt is not None and device.take_receipt(receipt):
                window.receipted = True
                return
            if time.time() > end:
                raise Error(f"Window {window.number} has had no receipt after {window.tries} tries.")
            self._stopping.wait(PAUSE_SECONDS)
            if window.tries % TRIES == 0:
                parts = device.encrypt_again()


class Trigger(Courier[NetDevice]):
    """Sets a device that delivers by itself its samples, and reads what it says of each delivery."""

    def __init__(
        self,
        where: tuple[str, int],
        started: AbstractContextManager[NetDevice],
        transport: Transport,
        diary: Diary,
        samples: Sequence[NDArray[np.float32]],
        values: Sequence[NDArray[np.float64]],
    ) -> None:
        super().__init__(where, started, diary, samples, values)
        self._transport: Transport = transport
        self._device: NetDevice | None = None

    def stop(self) -> None:
        super().stop()
        if self._device is not None:
            self._device.interrupt()

    def _try_out(self, device: NetDevice) -> None:
        self._device = device  # it encrypts while it sends, so there is nothing to try

    def _take_window(self, device: NetDevice, index: int, now: float, end: float) -> None:
        at = index % len(self._samples)
        device.measure(self._samples[at].ravel())
        line = device.deliver(self._transport, end - time.time())
        if line.kind != "delivered":
            raise Error(f"It did not deliver: {line.text}")
        said = line.figures
        window = Window(*self._where, said["window"], said["measured"], self._values[at])
        window.tries, window.receipted = said["attempts"], True
        self._diary.note(window)


class LinuxDevice:
    """A process that encrypts by itself and delivers over HTTPS; folder as linux_device.py wants it."""

    def __init__(self, where: tuple[str, int], folder: Path, readings: NDArray[np.float64]) -> None:
        self._where, self._folder, self._readings = where, folder, readings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "demos.fleet.linux_device", str(self._folder)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=Path(__file__).resolve().parents[2],
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it waits for its schedule. Raises Error if it has ended."""
        if not self.is_running:
            raise Error(f"Device {self._name} has ended: {self._said()}")
        return (self._folder / READY).exists()

    def follow(self, schedule: Schedule) -> None:
        plan = {
            "begins": schedule.begins,
            "ends": schedule.ends,
            "every": schedule.every,
            "readings": self._readings.tolist(),
        }
        write_atomically(self._folder / PLAN, json.dumps(plan).encode(), 0o600)

    @property
    def _name(self) -> str:
        return f"{self._where[0]} {self._where[1]}"

    def _said(self) -> str:
        return (self._folder / "log").read_text().strip()[-500:]

    def finish(self, diary: Diary, seconds: float) -> int:
        """Wait until it has ended, and take over what it noted; how often it sent windows. Raises Error."""
        assert self._process is not None
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            raise Error(f"Device {self._name} ended with code {code}: {self._said()}")
        *lines, last = (self._folder / "diary.jsonl").read_text().splitlines()
        for line in lines:
            found = json.loads(line)
            values = np.array(found["values"], dtype=np.float64)
            diary.note(Window(*self._where, found["window"], found["measured"], values, 1, True))
        return int(json.loads(last)["tries"])

    def kill(self) -> None:
        if self.is_running:
            assert self._process is not None
            self._process.kill()
            self._process.wait()
