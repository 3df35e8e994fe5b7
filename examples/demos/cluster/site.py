# SPDX-License-Identifier: Apache-2.0
"""Several gateways over one PostgreSQL and one object store, on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ciphermote.gateway.gateway_files import WRAP_KEY_FILE

from demos.cluster.ray_nodes import RayNodes
from demos.cluster.services import BUCKET, ObjectStore, Postgres
from demos.fleet.site import Server, free_port

DATABASE = "ciphermote"
PREFIX = "fleet"
"""The gateways' prefix in the bucket."""


@dataclass
class Cluster:
    """The services, and the gateways over them. through: for the port of a service that of something between
    it and one gateway."""

    folder: Path
    postgres: Postgres
    store: ObjectStore
    through: Callable[[int], int]
    nodes: RayNodes | None
    """What jobs are computed on; None: the gateways' machine."""
    servers: list[Server] = field(default_factory=list)

    def server(self, options: Sequence[str] = ()) -> Server:
        """One more gateway, which is not started yet."""
        number = len(self.servers) + 1
        database = self.postgres.url(DATABASE, self.through(self.postgres.port))
        shared: tuple[str, ...] = ("--database", database, "--store", f"s3://{BUCKET}/{PREFIX}")
        data = self.folder / f"gateway-{number}"
        environment = self.store.credentials(self.through(self.store.port))
        if self.nodes is not None:
            shared = (*shared, "--compute", self.nodes.address)
            environment |= self.nodes.environment
        made = Server(data, free_port(), (*shared, *options), environment)
        if self.servers:  # with the wrapping key of the first, and its certificate
            first = self.servers[0].data
            data.mkdir(mode=0o700)
            shutil.copy2(first / WRAP_KEY_FILE, data)
            shutil.copytree(first / "tls", data / "tls")
        self.servers.append(made)
        return made


@contextmanager
def cluster(
    folder: Path,
    options: Sequence[str] = (),
    *,
    gateways: int = 2,
    ray: bool = False,
    through: Callable[[int], int] = lambda port: port,
    **of_postgres: str,
) -> Iterator[Cluster]:
    """A cluster for the block. options: of each gateway; ray: jobs are computed on a Ray cluster, whose head
    computes nothing; of_postgres: the database server's environment."""
    postgres = Postgres(free_port(), of_postgres)
    store = ObjectStore(folder / "store", free_port())
    with ExitStack() as stack:
        stack.callback(postgres.remove)
        postgres.start()
        stack.callback(store.kill)
        store.start()
        postgres.create(DATABASE)
        nodes = None
        if ray:
            nodes = RayNodes(store.credentials())
            stack.callback(nodes.close)
            nodes.start_head(0)
        here = Cluster(folder, postgres, store, through, nodes)
        for _ in range(gateways):
            server = here.server(options)
            stack.callback(_end, server)
            server.start()
        yield here


def _end(server: Server) -> None:
    if server.is_running:
        server.stop()
