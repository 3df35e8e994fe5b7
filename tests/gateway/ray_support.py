# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster on this machine, started as docs/operations.md says, with a token and TLS."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_support import free_port, wait_until
from store_support import S3, Servers

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text()
SECTION = PAGE.partition("## Computing on Ray")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^    (.*)$", SECTION, re.M)
_AUTHORITY, _ENVIRONMENT, _HEAD, _NODE = COMMANDS[1:6], COMMANDS[6:8], COMMANDS[8], COMMANDS[9]
SERVE = COMMANDS[11]
_START_SECONDS = 60.0


def own_address() -> str:
    """What Ray takes for this machine's address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.connect(("192.0.2.1", 9))  # nothing is sent
        return str(found.getsockname()[0])


class Cluster:
    """A cluster of which only nodes are started that a test asks for. environment: what a gateway needs."""

    def __init__(self, folder: Path, s3: S3) -> None:
        self.folder, self.s3 = folder, s3
        self.host, self.port = own_address(), free_port()
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._run("\n".join(_AUTHORITY))
        shown = self._run("\n".join((*_ENVIRONMENT, "env")))
        given = dict(line.split("=", 1) for line in shown.splitlines() if line.startswith("RAY_"))
        self.environment = {name: value for name, value in given.items() if os.environ.get(name) != value}

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def _as_here(self, command: str) -> str:
        """A command of the page, for this machine."""
        for there, here in (
            ("/etc/ray", str(self.folder / "etc")),
            ("/run/ray", str(self.folder / "run")),
            ("10.0.0.1:6379", self.address),
            ("--port=6379", f"--port={self.port}"),
        ):
            command = command.replace(there, here)
        command = re.sub(r"10\.0\.0\.\d", self.host, command)
        return re.sub(r"^ray ", f"exec {Path(sys.executable).parent / 'ray'} ", command)

    def _run(self, command: str) -> str:
        arguments = ("bash", "-ec", self._as_here(command))
        found = subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60)
        return found.stdout

    def start_head(self, cores: int) -> subprocess.Popen[bytes]:
        return self._start(_HEAD, cores)

    def start_node(self, cores: int) -> subprocess.Popen[bytes]:
        return self._start(_NODE, cores)

    def _start(self, command: str, cores: int) -> subprocess.Popen[bytes]:
        more = f" --num-cpus={cores} --object-store-memory=100000000"
        log_file = self.folder / f"node{len(self._nodes)}.log"
        with log_file.open("wb") as log:
            node = subprocess.Popen(
                ("bash", "-ec", self._as_here(command) + more),
                env={**os.environ, **self.s3.environment, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._nodes.append(node)
        wait_until(lambda: b"Ray runtime started" in log_file.read_bytes(), "Ray", _START_SECONDS)
        return node

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End a node at once, with all its processes."""
        for process in (*descendants(node.pid), node.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        node.wait(20)
        self._nodes.remove(node)

    def task_processes(self) -> list[int]:
        """Processes in which tasks run now."""
        found = []
        for node in self._nodes:
            for process in descendants(node.pid):
                with contextlib.suppress(OSError):
                    title = Path(f"/proc/{process}/cmdline").read_bytes()
                    if title.startswith(b"ray::") and not title.startswith(b"ray::IDLE"):
                        found.append(process)
        return found

    def close(self) -> None:
        for node in list(reversed(self._nodes)):
            self.kill(node)
        shutil.rmtree(self.folder, ignore_errors=True)


def descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, left = [], [process]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


@contextlib.contextmanager
def cluster_of(s3: S3) -> Iterator[Cluster]:
    # A short path: those of sockets are limited.
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="ray")), s3)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def session_cluster(servers: Servers) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        s3 = servers("moto", monkeypatch)
    with cluster_of(s3) as cluster:
        cluster.start_head(2)
        yield cluster


@pytest.fixture
def cluster(session_cluster: Cluster, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with a node of two cores, and its environment and its store's."""
    servers("moto", monkeypatch)
    for variable, value in session_cluster.environment.items():
        monkeypatch.setenv(variable, value)
    return session_cluster
