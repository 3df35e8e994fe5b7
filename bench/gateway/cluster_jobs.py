# SPDX-License-Identifier: Apache-2.0
"""A job's sum on a Ray cluster beside the same on the gateway's own machine: both read the same windows from
one object store (versitygw), on the same cores. The cluster is up, and each turn's first job is not counted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import gateway_support as support
import ray_support
import store_support
from rich.console import Console

from bench.rows import Row

_SPEC = {"kind": "sum"}


@contextlib.contextmanager
def store_and_cluster(folder: Path, cores: int) -> Iterator[tuple[store_support.S3, ray_support.Cluster]]:
    """A store whose credentials are in the environment, and a cluster of one node."""
    if not store_support.VERSITYGW.exists():
        raise SystemExit("Build versitygw first: make versitygw")
    with store_support.versitygw(folder) as s3, ray_support.cluster_of(s3) as cluster:
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
    ways = {"local": (), "ray": ("--compute", cluster.address)}
    options, seconds = server.options, {name: [] for name in ways}
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
    cores = len(os.sched_getaffinity(0))
    params = {"windows": windows, **params, "turns": turns, "cores": cores, "kind": "measured"}
    rates = {name: round(windows / median(found)) for name, found in seconds.items()}
    ratio = round(rates["ray"] / rates["local"], 3)
    yield Row("cluster.jobs.sum.ratio_to_local", ratio, "ratio", params, better="more")
    yield Row("cluster.jobs.sum.windows_per_second", rates["ray"], "1/s", params)
    yield Row("cluster.jobs.sum.local_windows_per_second", rates["local"], "1/s", params)
