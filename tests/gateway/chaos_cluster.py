# SPDX-License-Identifier: Apache-2.0
"""A cluster is hurt at random while devices send to any of its gateways: gateways, workers, the database and
the object store are killed; a gateway is cut off from the database, all are cut off from the store, and the
database's disk is slow. Afterwards every window has to be in the sums exactly once (chaos.py).

`make chaos-cluster KILLS=200` writes its rows into bench/results/gateway.json. What is cut off or slow is
counted too, but not as a kill.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from chaos import Fleet, Run, main
from demos.cluster.site import cluster
from door import Door
from gateway_support import Server

GATEWAYS = 2
SLOW_MS = 200
"""The extra time of each sync of a slow disk."""
MOST_SECONDS = 3.0
"""The longest that a partition lasts, or a slow disk."""


class ClusterRun(Run):
    """Kill processes of a cluster at random, cut them off and slow them down, and count windows."""

    rows = "cluster.chaos"
    goal = "chaos-cluster"

    @contextlib.contextmanager
    def _serving(self) -> Iterator[list[Server]]:
        self._doors: list[Door] = []
        """Doors of the first gateway, to the database and to the store; then of the second, and so on."""
        with _slow_disk() as (self._slow, preloaded):
            where = self._folder, ("--workers", "1")
            with cluster(*where, gateways=GATEWAYS, through=self._through, **preloaded) as self._cluster:
                yield self._cluster.servers
                deadlocks = self._cluster.postgres.log().count("deadlock detected")
                if deadlocks:
                    self.tally.errors.append(f"{deadlocks} deadlocks in the database")
        for door in self._doors:
            door.close()

    def _through(self, port: int) -> int:
        self._doors.append(Door(port))
        return self._doors[-1].port

    def _fleets(self) -> list[Fleet]:
        return self._web_fleets()

    def _kill(self) -> None:
        """Do one of many things at random, and undo it after a while."""
        acts: dict[Callable[[], None], int] = {
            self._kill_gateway: 5,
            self._kill_worker: 3,
            self._kill_database: 2,
            self._kill_store: 2,
            self._cut_off: 2,
            self._hold_up: 2,
            self._slow_down: 1,
        }
        self.random.choices([*acts], [*acts.values()])[0]()

    def _kill_gateway(self) -> None:
        server = self.random.choice(self._servers)
        server.kill()
        self.tally.kills["gateway"] += 1
        self._wait(0.5)
        self._restart(server)

    def _kill_database(self) -> None:
        self._cluster.postgres.kill()
        self.tally.kills["database"] += 1
        self._wait(1)
        self._cluster.postgres.start()

    def _kill_store(self) -> None:
        self._cluster.store.kill()
        self.tally.kills["store"] += 1
        self._wait(1)
        self._cluster.store.start()

    def _cut_off(self) -> None:
        """Cut a gateway off from the database or from the store."""
        door = self.random.choice(self._doors)
        door.shut()
        self.tally.faults["cut"] += 1
        self._wait(MOST_SECONDS)
        door.reopen()

    def _hold_up(self) -> None:
        """Have a gateway's packets to the database or to the store wait."""
        door = self.random.choice(self._doors)
        door.hold()
        self.tally.faults["held"] += 1
        self._wait(MOST_SECONDS)
        door.release()

    def _slow_down(self) -> None:
        """Have the database's disk take long for each sync."""
        self._slow.write_text(str(SLOW_MS))
        self.tally.faults["slow"] += 1
        self._wait(MOST_SECONDS)
        self._slow.unlink()

    def _wait(self, most: float) -> None:
        time.sleep(self.random.uniform(0, most))


@contextlib.contextmanager
def _slow_disk() -> Iterator[tuple[Path, dict[str, str]]]:
    """A file that makes syncs slow, and the environment of a process whose syncs it makes slow."""
    with tempfile.TemporaryDirectory(prefix="slow-sync-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # for another user's process
        library, slow = folder / "slow_sync.so", folder / "milliseconds"
        source = Path(__file__).parent / "slow_sync.c"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        yield slow, {"LD_PRELOAD": str(library), "SLOW_SYNC": str(slow)}


if __name__ == "__main__":
    sys.exit(main(ClusterRun))
