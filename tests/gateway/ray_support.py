# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster for the tests, one a session."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from demos.cluster.ray_nodes import RayNodes, descendants
from store_support import S3, Servers

__all__ = ["descendants"]


class Cluster(RayNodes):
    """A cluster whose nodes read an object store of the tests."""

    def __init__(self, s3: S3) -> None:
        self.s3 = s3
        super().__init__(s3.environment)


@contextlib.contextmanager
def cluster_of(s3: S3) -> Iterator[Cluster]:
    cluster = Cluster(s3)
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
