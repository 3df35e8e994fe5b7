# SPDX-License-Identifier: Apache-2.0
"""Several gateways over one PostgreSQL and one object store, on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ciphermote.gateway.gateway_files import WRAP_KEY_FILE

from demos.cluster.services import BUCKET, ObjectStore, Postgres
from demos.fleet.site import Server, free_port

PREFIX = "fleet"
"""The gateways' prefix in the bucket."""


@dataclass
class Cluster:
    """The services, and the gateways over them."""

    folder: Path
    postgres: Postgres
    store: ObjectStore
    database: str
    servers: list[Server] = field(default_factory=list)

    def server(self, options: Sequence[str] = ()) -> Server:
        """One more gateway, which is not started yet."""
        number = len(self.servers) + 1
        shared = ("--database", self.database, "--store", f"s3://{BUCKET}/{PREFIX}")
        data = self.folder / f"gateway-{number}"
        made = Server(data, free_port(), (*shared, *options), self.store.credentials())
        if self.servers:  # with the wrapping key of the first, and its certificate
            first = self.servers[0].data
            data.mkdir(mode=0o700)
            shutil.copy2(first / WRAP_KEY_FILE, data)
            shutil.copytree(first / "tls", data / "tls")
        self.servers.append(made)
        return made


@contextmanager
def cluster(folder: Path, gateways: int = 2, options: Sequence[str] = ()) -> Iterator[Cluster]:
    """A cluster for the block. options: of each gateway."""
    postgres = Postgres(folder / "postgres", free_port())
    store = ObjectStore(folder / "store", free_port())
    with ExitStack() as stack:
        postgres.start()
        stack.callback(postgres.stop)
        store.start()
        stack.callback(store.kill)
        here = Cluster(folder, postgres, store, postgres.create("ciphermote"))
        for _ in range(gateways):
            server = here.server(options)
            server.start()
            stack.callback(server.stop)
        yield here
