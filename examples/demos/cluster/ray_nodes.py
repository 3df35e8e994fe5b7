# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster on this machine, started by the commands of docs/operations.md, with a token and TLS."""

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
from collections.abc import Iterator, Mapping
from pathlib import Path

from ciphermote.gateway import tasks

from demos.fleet.site import free_port
from demos.fleet.station import wait_until

PAGE = (Path(__file__).resolve().parents[3] / "docs/operations.md").read_text()
SECTION = PAGE.partition("## Computing on Ray")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^    (.*)$", SECTION, re.M)
_AUTHORITY, _ENVIRONMENT, _HEAD, _NODE = COMMANDS[1:6], COMMANDS[6:8], COMMANDS[8], COMMANDS[9]
SERVE = COMMANDS[11]
_START_SECONDS = 60.0


def own_address() -> str:
    """Return the address that Ray takes for this machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.connect(("192.0.2.1", 9))  # nothing is sent
        return str(found.getsockname()[0])


class RayNodes:
    """Nodes of a Ray cluster, none at first. store: the environment of an object store's clients;
    environment: what a gateway needs. The folder's path is short, because those of sockets are limited."""

    def __init__(self, store: Mapping[str, str]) -> None:
        self.folder, self._store = Path(tempfile.mkdtemp(prefix="ray")), store
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

    @property
    def last(self) -> subprocess.Popen[bytes]:
        """The node that was started last."""
        return self._nodes[-1]

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
                env={**os.environ, **self._store, **self.environment},
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

    def worker_processes(self) -> list[int]:
        """Processes of the nodes that tasks run in, or may."""
        return [process for process, _ in self._titled()]

    def task_processes(self) -> list[int]:
        """Processes in which tasks run now."""
        return [process for process, title in self._titled() if hasattr(tasks, title)]

    def _titled(self) -> Iterator[tuple[int, str]]:
        for node in self._nodes:
            for process in descendants(node.pid):
                with contextlib.suppress(OSError):
                    title = Path(f"/proc/{process}/cmdline").read_bytes()
                    if title.startswith(b"ray::"):
                        yield process, title[5:].strip(b"\0 ").decode()

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
