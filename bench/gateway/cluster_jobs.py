# SPDX-License-Identifier: Apache-2.0
"""A job's sum on a Ray cluster beside the same on the gateway's own machine: both read the same windows from
one object store (versitygw, or moto if that is not built), on the same cores. The cluster is up, and each
turn's first job is not counted.

And the memory of a job there: of the gateway, its worker, which drives it, and the processes of its tasks,
each page that several share counted once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import gateway_support as support
import ray_support
import store_support
from rich.console import Console

from bench.rows import Row

STORE = "versitygw" if store_support.VERSITYGW.exists() else "moto"
_SPEC = {"kind": "sum"}
_SAMPLE_SECONDS = 0.05


@contextlib.contextmanager
def store_and_cluster(folder: Path, cores: int) -> Iterator[tuple[store_support.S3, ray_support.Cluster]]:
    """A store whose credentials are in the environment, and a cluster of one node."""
    store = store_support.versitygw(folder) if STORE == "versitygw" else store_support.moto()
    with store as s3, ray_support.cluster_of(s3) as cluster:
        os.environ.update(s3.environment)
        cluster.start_head(cores)
        yield s3, cluster


def sum_rows(
    console: Console,
    server: support.Server,
    cluster: ray_support.Cluster,
    windows: int,
    turns: int,
    **params: Any,
) -> Iterator[Row]:
    """server: a gateway on the store, which has the windows in its fleet `full`."""
    ways: dict[str, tuple[str, ...]] = {"local": (), "ray": ("--compute", cluster.address)}
    options = server.options
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    server.environment.update(cluster.environment)
    for turn in range(turns):
        for name in (*ways,) if turn % 2 else (*reversed(ways),):
            server.stop()
            server.options = (*options, *ways[name])
            server.start()
            for is_counted in (False, True):
                shown, _ = support.run_job(server.owner(), "full", {**_SPEC, "per_device": windows})
                assert shown["result"]["windows"] == windows
                if is_counted:
                    seconds[name].append(shown["result"]["seconds"])
        local, ray = (seconds[name][-1] for name in ways)
        console.print(f"sum of {windows} from S3: {local:.3f} s, on Ray {ray:.3f} s ({local / ray:.2f})")
    server.options = options
    cores = len(os.sched_getaffinity(0))
    params = {
        "windows": windows,
        "store": STORE,
        **params,
        "turns": turns,
        "cores": cores,
        "kind": "measured",
    }
    rates = {name: round(windows / median(found)) for name, found in seconds.items()}
    ratio = round(rates["ray"] / rates["local"], 3)
    yield Row("cluster.jobs.sum.ratio_to_local", ratio, "ratio", params, better="more")
    yield Row("cluster.jobs.sum.windows_per_second", rates["ray"], "1/s", params)
    yield Row("cluster.jobs.sum.local_windows_per_second", rates["local"], "1/s", params)


class Peak:
    """The most bytes that a gateway, its workers and a cluster's tasks had at a time, in the block."""

    def __init__(self, server: support.Server, cluster: ray_support.Cluster) -> None:
        self._server, self._cluster = server, cluster
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.bytes = 0

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        assert self._server.process is not None
        while not self._is_over.wait(_SAMPLE_SECONDS):
            found = (self._server.process.pid, *self._server.workers(), *self._cluster.worker_processes())
            self.bytes = max(self.bytes, sum(map(_proportional, found)))


def _proportional(process: int) -> int:
    """Bytes of a process, its part of those that it shares."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) << 10
    return 0


def peak_row(
    name: str,
    server: support.Server,
    cluster: ray_support.Cluster,
    fleet: str,
    spec: dict[str, Any],
    **params: Any,
) -> Row:
    """server: a gateway on the cluster's store; it computes on the cluster then."""
    server.stop()
    server.options = (*server.options, "--compute", cluster.address)
    server.environment.update(cluster.environment)
    server.start()
    with Peak(server, cluster) as peak:
        shown, _ = support.run_job(server.owner(), fleet, spec)
    assert shown["state"] == "done", shown
    params = {"windows": shown["result"]["windows"], "store": STORE, **params}
    return Row(name, peak.bytes, "bytes", {**params, "kind": "measured"}, better="less")
