# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for the tests of the gateway: moto in this process, or versitygw as another one."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import obstore
import obstore.store
import pytest
from gateway_support import free_port
from moto.server import ThreadedMotoServer

VERSITYGW = Path(__file__).resolve().parents[2] / "build" / "versitygw" / "versitygw"
"""`make versitygw` builds it."""
_KEY, _SECRET = "gateway", "not-very-secret"


class S3:
    """A server with one bucket. environment: what a client of it needs."""

    def __init__(self, endpoint: str) -> None:
        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
        }

    def new_url(self) -> str:
        """A prefix that nobody has."""
        return f"s3://bucket/{uuid.uuid4()}"

    def names(self, url: str, folder: str = "") -> list[str]:
        """Names of all objects below a prefix."""
        chunks = obstore.list(obstore.store.from_url(url), folder)
        return sorted(found["path"] for chunk in chunks for found in chunk)


@contextlib.contextmanager
def moto() -> Iterator[S3]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield with_bucket(f"http://{host}:{port}")
    finally:
        server.stop()


@contextlib.contextmanager
def versitygw(folder: Path) -> Iterator[S3]:
    """A gateway to S3 in front of a directory, which has the buckets."""
    port = free_port()
    (folder / "buckets").mkdir(parents=True)
    command = (VERSITYGW, "--port", f"127.0.0.1:{port}", "--quiet", "posix", folder / "buckets")
    environment = {**os.environ, "ROOT_ACCESS_KEY": _KEY, "ROOT_SECRET_KEY": _SECRET}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield with_bucket(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)


def with_bucket(endpoint: str) -> S3:
    """Make the bucket, as its operator would, once the server answers."""
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=_KEY,
        aws_secret_access_key=_SECRET,
    )
    for _ in range(50):
        try:
            client.create_bucket(Bucket="bucket")
            return S3(endpoint)
        except Exception:  # it is starting
            time.sleep(0.1)
    raise RuntimeError("the S3 server does not answer")


SERVERS = ("moto", "versitygw")

Servers = Callable[[str, pytest.MonkeyPatch], S3]


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A server of each kind, once it is asked for, with its credentials in the environment."""
    with contextlib.ExitStack() as running:
        known: dict[str, S3] = {}

        def find(name: str, monkeypatch: pytest.MonkeyPatch) -> S3:
            if name == "versitygw" and not VERSITYGW.exists():
                pytest.skip("versitygw is not built: make versitygw")
            if name not in known:
                made = moto() if name == "moto" else versitygw(tmp_path_factory.mktemp(name))
                known[name] = running.enter_context(made)
            for variable, value in known[name].environment.items():
                monkeypatch.setenv(variable, value)
            return known[name]

        yield find


@pytest.fixture(params=SERVERS)
def s3(request: pytest.FixtureRequest, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> S3:
    return servers(request.param, monkeypatch)


class Door:
    """A TCP proxy in front of a server: what goes to the server can be held up, and the door can be shut."""

    def __init__(self, endpoint: str) -> None:
        """endpoint: an http URL, or the path of a local socket."""
        host, _, port = endpoint.removeprefix("http://").partition(":")
        self._inside: tuple[str, int] | str = (host, int(port)) if port else endpoint
        self._open, self._shut = threading.Event(), threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Let nothing through until release."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def shut(self) -> None:
        """End every connection, and take no other."""
        self._shut.set()
        self._open.set()
        self._end()

    def reopen(self) -> None:
        self._shut.clear()

    def _end(self) -> None:
        for each in self._connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def close(self) -> None:
        self.shut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                outside, _ = self._listener.accept()
                if self._shut.is_set():
                    outside.close()
                    continue
                inside = self._reach()
                self._connections += [outside, inside]
                for ends in ((outside, inside), (inside, outside)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _reach(self) -> socket.socket:
        if not isinstance(self._inside, str):
            return socket.create_connection(self._inside)
        found = socket.socket(socket.AF_UNIX)
        found.connect(self._inside)
        return found

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(1 << 16):
                self._open.wait()
                target.sendall(data)


@pytest.fixture
def door(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A door that clients go through, between them and the server."""
    found = Door(s3.environment["AWS_ENDPOINT_URL"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", found.endpoint)
    yield found
    found.close()
