# SPDX-License-Identifier: Apache-2.0
"""The simulated Cortex-M4 that delivers by itself (ports/netfirmware): its headers, its image, its UART."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np
from ciphermote.base.files import write_atomically
from ciphermote.fleet import Attachment, Connection, enroll
from net_settings import to_header
from numpy.typing import NDArray

PORTS = Path(__file__).resolve().parents[1]
SHARED = PORTS.parent / "build" / "ports" / "netfirmware"
"""Objects without keys, which all images have in common."""
SECONDS = 120.0
Transport = Literal["https", "mqtt"]


class NetDeviceError(Exception):
    """One sentence for the user."""


def write_headers(
    attachment: Attachment, device: int, folder: Path, broker: str, key: Literal["symmetric", "asymmetric"]
) -> None:
    """Enroll a device, and write the headers that its firmware is built with to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "compact_keys.h" if attachment.is_compact else "provisioned_keys.h"
    connection = folder / "connection.json"
    enroll(attachment, device, folder / name, connection, key=key)
    write_settings(folder, Connection.load(connection), broker)


def write_settings(folder: Path, connection: Connection, broker: str) -> None:
    """Write network_settings.h, for its user alone. broker: NAME:PORT."""
    write_atomically(folder / "network_settings.h", to_header(connection, broker).encode(), 0o600)


def build(headers: Path, folder: Path, *, shared: Path = SHARED, options: Sequence[str] = ()) -> Path:
    """Compile and link the firmware with the headers of a device; the path of its ELF file.

    The image and some objects hold keys, so what the compiler writes is for its user alone. shared: a folder
    for objects without keys, which images with the same options may use. options: more words
    for make, such as MARKS=1. Raises NetDeviceError.
    """
    command = ["make", "-j2", "-C", str(PORTS), "netfirmware", f"GENERATED={headers}", f"BUILD={folder}"]
    command += [f"NET_SHARED={shared}", *options]
    with _turn(shared):
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, umask=0o077
        )
    if done.returncode != 0:
        raise NetDeviceError(f"The firmware cannot be built: {done.stderr.strip()[-1500:]}")
    return folder / "netfirmware" / "ciphermote.elf"


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait for a turn: one build at a time in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "turn").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Line:
    """A line that the device says on its UART. kind: its first word, without a colon."""

    text: str

    @property
    def kind(self) -> str:
        return self.text.split(" ", 1)[0].rstrip(":")

    @property
    def figures(self) -> Mapping[str, int]:
        pairs = (word.split("=") for word in self.text.split() if "=" in word)
        return {name: int(value) for name, value in pairs}


class NetDevice:
    """The firmware in QEMU, with a user network, in which 10.0.2.2 is this machine's loopback.

    Keeps its counter in workdir, and takes its readings from there. wrapper: more words for QEMU. heard: all
    lines so far. Raises NetDeviceError where it does not start or stops answering.
    """

    def __init__(self, elf: Path, workdir: Path, wrapper: Sequence[str] = ()) -> None:
        self._command = (
            *("qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none"),
            *("-serial", "stdio", "-nic", "user", "-semihosting-config", "enable=on,target=native"),
            *("-kernel", str(elf.resolve()), *wrapper),
        )
        self._workdir = workdir
        self._lines: queue.Queue[Line | None] = queue.Queue()
        self.heard: list[Line] = []

    def __enter__(self) -> Self:
        self._errors = (self._workdir / "qemu.log").open("wb")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self._workdir,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.wait_for("ready")
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()

    def restart(self) -> None:
        """Start it anew, as after a power cut: it keeps its counter, and forgets its window."""
        self._kill()
        self._lines = queue.Queue()
        self.heard.clear()
        self.__enter__()

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._errors.close()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # QEMU had gone before it took the last command
                stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(Line(line.decode(errors="replace").rstrip()))
        self._lines.put(None)

    def measure(self, values: NDArray[np.float32] | NDArray[np.uint16]) -> None:
        """Set what the sensor shows from now on: float32, or uint16 for a compact set."""
        path = self._workdir / "ciphermote-readings"
        new = path.with_suffix(".new")
        new.write_bytes(struct.pack("<I", len(values)) + values.tobytes())
        os.replace(new, path)

    def command(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n".encode())
        self._process.stdin.flush()

    def next_line(self, seconds: float = SECONDS) -> Line:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise NetDeviceError(
                f"The device said nothing for {seconds:g} s; before: {self._said()}"
            ) from None
        if line is None:
            raise NetDeviceError(f"The device ended with code {self._process.wait()}: {self._said()}")
        self.heard.append(line)
        return line

    def wait_for(self, *kinds: str, seconds: float = SECONDS) -> Line:
        """Return the next line of one of these kinds."""
        end = time.monotonic() + seconds
        while True:
            line = self.next_line(max(0.1, end - time.monotonic()))
            if line.kind in kinds:
                return line

    def deliver(self, transport: Transport, seconds: float = SECONDS) -> Line:
        """Deliver a window, up to `delivered` or `refused`."""
        self.command(transport)
        return self.wait_for("delivered", "refused", seconds=seconds)

    def report(self) -> Mapping[str, int]:
        """Bytes of memory: static, stack (the deepest so far), ram (their sum), pool and pool_used (TLS's,
        within static); open: 1 if a window has no receipt."""
        self.command("report")
        return self.wait_for("report").figures

    def interrupt(self) -> None:
        """End the simulation from another thread: whoever waits for a line has a NetDeviceError."""
        self._process.kill()

    def stop(self) -> int:
        """Return the firmware's exit code."""
        self.command("stop")
        return self._process.wait(SECONDS)

    def _said(self) -> str:
        return json.dumps([line.text for line in self.heard[-5:]])
