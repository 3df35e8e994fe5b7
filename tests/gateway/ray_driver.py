# SPDX-License-Identifier: Apache-2.0
"""Computes all waiting jobs of a gateway's directory twice, in threads and on a Ray cluster, with tasks of
few windows each, and prints as a line of JSON what both gave: [fields of the result, digests of its parts].
Each job is given up once before, after its first task on the cluster. The line tells, too, what becomes of a
task that ends its process, and whether tasks see a variable of this process's environment.

    python ray_driver.py DIRECTORY HOST:PORT
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from ciphermote.gateway import computing
from ciphermote.gateway.executors.interface import TaskLost
from ciphermote.gateway.executors.local import LocalExecutor
from ciphermote.gateway.executors.opening import open_executor
from ciphermote.gateway.worker import Worker


def give_up(done: int, total: int) -> None:
    if done:
        raise computing.Cancelled


def main(folder: Path, address: str) -> None:
    # So that few windows make many tasks, and a tree of their results.
    computing._SUM_WINDOWS, computing._PRODUCT_WINDOWS, computing._CONVERTED = 2, 1, 2
    local, cluster = LocalExecutor(), open_executor(address)
    worker = Worker(folder, "driver")
    found = []
    while job := worker._jobs.lease("driver"):
        with suppress(computing.Cancelled):
            computing.compute(job, worker._site, cluster, give_up)
        results = (
            computing.compute(job, worker._site, executor, lambda done, total: None)
            for executor in (local, cluster)
        )
        found.append([[result.fields, result.parts] for result in results])
    lost = False
    if "LOSE_A_TASK" in os.environ:
        handle = cluster.submit(os.abort)
        while not cluster.wait(handle, 10):
            pass
        try:
            cluster.result(handle)
        except TaskLost:
            lost = True
    there = cluster.submit(os.getenv, "PGPASSWORD")
    while not cluster.wait(there, 10):
        pass
    print(json.dumps({"results": found, "lost": lost, "password": cluster.result(there)}))
    cluster.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
