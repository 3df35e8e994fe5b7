# SPDX-License-Identifier: Apache-2.0
"""Computes all waiting jobs of a gateway's directory twice, in threads and on a Ray cluster, with tasks of
few windows each, and prints what both gave: [fields of the result, digests of its parts].

    python ray_driver.py DIRECTORY HOST:PORT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ciphermote.gateway import computing
from ciphermote.gateway.executors.local import LocalExecutor
from ciphermote.gateway.executors.opening import open_executor
from ciphermote.gateway.worker import Worker


def main(folder: Path, address: str) -> None:
    # So that few windows make many tasks, and a tree of their results.
    computing._SUM_WINDOWS, computing._PRODUCT_WINDOWS, computing._CONVERTED = 2, 1, 2
    local, cluster = LocalExecutor(), open_executor(address)
    worker = Worker(folder, "driver")
    found = []
    while job := worker._jobs.lease("driver"):
        results = (
            computing.compute(job, worker._site, executor, lambda done, total: None)
            for executor in (local, cluster)
        )
        found.append([[result.fields, result.parts] for result in results])
    cluster.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
