# SPDX-License-Identifier: Apache-2.0
"""A gateway and its broker on this machine, each a process that can be killed and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from ciphermote.base.errors import Error
from ciphermote.rest import routes

from demos.fleet.station import SECONDS, Station, wait_until


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Server:
    """`ciphermote serve` over a directory, in a process that can be killed and started again. reserve: MB of
    the disk that ciphertexts leave free."""

    data: Path
    port: int
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    reserve: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self, prefix: tuple[str, ...] = ()) -> Server:
        self.start_unready(prefix)
        wait_until(self._answers, "the gateway")
        return self

    def start_unready(self, prefix: tuple[str, ...] = ()) -> None:
        """Start without waiting until it answers."""
        command = (sys.executable, "-m", "ciphermote", "serve", "--data", str(self.data))
        addressed = ("--port", str(self.port), "--reserve", str(self.reserve), *self.options)
        self.data.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                (*prefix, *command, *addressed),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
            )

    def _answers(self) -> bool:
        assert self.process is not None
        if (code := self.process.poll()) is not None:
            raise Error(f"The gateway ended with exit code {code}: {self.log()[-2000:].strip()}")
        try:
            return self.client().get(routes.READINESS).status_code == 200
        except (httpx.HTTPError, OSError):
            return False

    @property
    def _log(self) -> Path:
        return self.data.parent / f"{self.data.name}.log"

    def log(self) -> str:
        return self._log.read_text()

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def workers(self) -> list[int]:
        """The processes that compute, which it has started."""
        if not self.is_running:
            return []
        assert self.process is not None
        found = []
        for entry in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(number) for number in entry.read_text().split()]
        return [number for number in found if b"ciphermote.gateway.worker" in _command_line(number)]

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(SECONDS)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    @property
    def authority(self) -> Path:
        """The PEM file of whoever signed its certificate."""
        return self.data / "tls" / "ca.pem"

    def token(self, whose: str) -> str:
        """The first owner's token, or the operator's."""
        return (self.data / f"{whose}.token").read_text().strip()

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        context = ssl.create_default_context(cafile=self.authority)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=SECONDS, **options)

    def owner(self) -> httpx.Client:
        return self.client(self.token("owner"))

    def operator(self) -> httpx.Client:
        return self.client(self.token("operator"))


def _command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def is_alive(process: int) -> bool:
    """Whether a worker with this id runs."""
    return b"ciphermote.gateway.worker" in _command_line(process)


@contextmanager
def serving(data: Path, *options: str, **environment: str) -> Iterator[Server]:
    """A gateway for the block."""
    server = Server(data, free_port(), options, environment)
    try:
        yield server.start()
    finally:
        if server.is_running:
            server.stop()


def listens(process: subprocess.Popen[bytes] | None, port: int, log: Path, name: str) -> bool:
    """Whether a process listens. Raises Error with its log's end if it has ended."""
    assert process is not None
    if (code := process.poll()) is not None:
        raise Error(f"{name} ended with exit code {code}: {log.read_text()[-1000:].strip()}")
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Broker:
    """A Mosquitto with the files that a gateway wrote."""

    data: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> Broker:
        folder = self.data / "mosquitto"
        wait_until((folder / "mosquitto.conf").exists, "the broker's files")
        with (self.data.parent / "mosquitto.log").open("ab") as log:
            self.process = subprocess.Popen(
                (_mosquitto(), "-c", str(folder / "mosquitto.conf")),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(self._listens, "the broker")
        return self

    def _listens(self) -> bool:
        return listens(self.process, self.port, self.data.parent / "mosquitto.log", "Mosquitto")

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(SECONDS)


def _mosquitto() -> str:
    found = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise Error("mosquitto is not installed: install it (Debian: apt-get install mosquitto).")
    return found


@dataclass
class Site:
    """A gateway and its broker."""

    server: Server
    broker: Broker

    def station(self, user: str, token: str, client_id: str = "") -> Station:
        return Station(self.broker.port, self.server.authority, user, token, client_id)


@contextmanager
def site(data: Path, *options: str, reserve: int = 0, with_broker: bool = True) -> Iterator[Site]:
    """For the block. with_broker: else the block starts the broker."""
    broker = Broker(data, free_port())
    server = Server(data, free_port(), ("--broker", f"localhost:{broker.port}", *options), reserve=reserve)
    try:
        server.start()
        if with_broker:
            broker.start()
            wait_until(lambda: "broker connected" in server.log(), "the gateway's connection")
        yield Site(server, broker)
    finally:
        if server.is_running:
            server.stop()
        if broker.is_running:
            broker.kill()


__all__ = ["Broker", "Server", "Site", "free_port", "is_alive", "serving", "site", "wait_until"]
