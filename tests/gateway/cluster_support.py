# SPDX-License-Identifier: Apache-2.0
"""Two gateways as an operator starts them: on one PostgreSQL and one S3, with the same wrapping key."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway_support import Server, free_port
from postgres_support import new_database
from store_support import S3, moto


@dataclass
class Cluster:
    """one, two: the gateways; database: the URL of the PostgreSQL's."""

    one: Server
    two: Server
    s3: S3
    database: str

    @property
    def servers(self) -> tuple[Server, Server]:
        return self.one, self.two


@contextmanager
def cluster(
    folder: Path, options: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()), **environment: str
) -> Iterator[Cluster]:
    """For the block. options: of each gateway."""
    with moto() as s3:
        url = new_database()
        shared = ("--database", url, "--store", s3.new_url(), "--workers", "0")
        one, two = (
            Server(folder / name, free_port(), (*shared, *more), {**s3.environment, **environment})
            for name, more in zip(("one", "two"), options, strict=True)
        )
        try:
            one.start()
            (folder / "two" / "mosquitto").mkdir(parents=True)
            shutil.copy(one.data / "wrap.key", two.data)
            shutil.copy(one.data / "mosquitto" / "gateway.password", two.data / "mosquitto")
            shutil.copy(one.data / "operator.token", two.data)
            shutil.copy(one.data / "owner.token", two.data)
            yield Cluster(one, two.start(), s3, url)
        finally:
            for each in (one, two):
                if each.is_running:
                    each.stop()
