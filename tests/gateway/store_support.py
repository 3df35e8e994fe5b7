# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for the tests of the gateway: moto in this process, or versitygw as another one."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import obstore
import obstore.store
import pytest
from demos.cluster.services import BUCKET, VERSITYGW, ObjectStore, credentials
from door import Door
from gateway_support import free_port
from moto.server import ThreadedMotoServer


class S3:
    """A server with one bucket. environment: what a client of it needs."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def new_url(self) -> str:
        """A prefix that nobody has."""
        return f"s3://{BUCKET}/{uuid.uuid4()}"

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
        environment = credentials(server.get_host_and_port()[1])
        client = boto3.client(
            "s3",
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            region_name=environment["AWS_REGION"],
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        )
        client.create_bucket(Bucket=BUCKET)
        yield S3(environment)
    finally:
        server.stop()


@contextlib.contextmanager
def versitygw(folder: Path) -> Iterator[S3]:
    store = ObjectStore(folder, free_port()).start()
    try:
        yield S3(store.credentials())
    finally:
        store.kill()


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


@pytest.fixture
def door(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """A door that clients go through, between them and the server."""
    found = Door(int(s3.environment["AWS_ENDPOINT_URL"].rpartition(":")[2]))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{found.port}")
    yield found
    found.close()
