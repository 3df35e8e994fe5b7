# SPDX-License-Identifier: Apache-2.0
"""Deliveries to several gateways over one PostgreSQL and one object store, all on this machine.

Two gateways are measured beside one, each held to a quarter of a core, so that database, store and load have
room; and one gateway, held to nothing, beside raw over the same database and store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.rows import Row

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "gateway"), str(ROOT / "bench" / "gateway")]

import gateway_support as support  # noqa: E402
from demos.cluster.services import BUCKET  # noqa: E402
from demos.cluster.site import Cluster, cluster  # noqa: E402
from load import write_bodies  # noqa: E402
from shares import held  # noqa: E402
from turns import CONNECTIONS, SET, Bench, FullFleet, Turn, load, raw_server, take_turns  # noqa: E402

DEVICES = 400
"""Any of them sends to any gateway, as a balancer would have it."""
CORES = 0.25
"""The cores of each of two gateways."""
SETS, TURNS = 2000, 7
_PATH = "/v1/fleets/full/deliveries"


def cluster_rows(bench: Bench) -> Iterator[Row]:
    """Measure both on one cluster."""
    with cluster(bench.folder / "cluster", ("--workers", "0")) as here:
        fleet = FullFleet(here.servers[0], DEVICES)
        yield from _two_beside_one(bench, here, fleet)
        yield from _one_beside_raw(bench, here, fleet)


def _sending(
    bench: Bench, fleet: FullFleet, servers: Sequence[support.Server], cores: float | None
) -> Callable[[], Turn]:
    """A turn in which devices send to these gateways, each held to so many cores."""
    ports = ",".join(str(server.port) for server in servers)
    processes = [server.process for server in servers]

    def turn() -> Turn:
        write_bodies(bench.bodies, fleet.bodies(SETS))
        connections = CONNECTIONS * len(servers)
        where = "http", ports, servers[0].authority, fleet.token, _PATH, connections, bench.bodies
        if cores is None:
            return load(processes, *where)
        with held((process.pid for process in processes if process is not None), cores):
            return load(processes, *where)

    return turn


def _two_beside_one(bench: Bench, here: Cluster, fleet: FullFleet) -> Iterator[Row]:
    one = _sending(bench, fleet, here.servers[:1], CORES)
    two = _sending(bench, fleet, here.servers, CORES)
    found = take_turns(
        bench.console, f"two gateways, {CORES:g} cores each", bench.turns(TURNS), two, one, "one"
    )
    (rate, cpu), (one_rate, one_cpu) = (
        (round(median(turn.rate for turn in of)), round(median(turn.server_us for turn in of)))
        for of in found
    )
    size = len(next(fleet.bodies(1)))
    params = {"connections_each": CONNECTIONS, "devices": DEVICES, "sets": SETS, "bytes": size, "set": SET}
    params = {**params, "cores_each": CORES, "turns": len(found[0]), "kind": "measured"}
    shown = {**params, "cpu_us": cpu, "single_cpu_us": one_cpu}
    yield Row("cluster.ingest.ratio_to_single", round(rate / one_rate, 3), "ratio", shown, better="more")
    yield Row("cluster.ingest.sets_per_second", rate, "1/s", {**params, "gateways": 2})
    yield Row("cluster.ingest.single_sets_per_second", one_rate, "1/s", {**params, "gateways": 1})
    yield Row("cluster.ingest.cpu_us", cpu, "us", {**params, "gateways": 2})
    yield Row("cluster.ingest.single_cpu_us", one_cpu, "us", {**params, "gateways": 1})


def _one_beside_raw(bench: Bench, here: Cluster, fleet: FullFleet) -> Iterator[Row]:
    database, store = here.postgres.create("raw"), f"s3://{BUCKET}/raw"
    first = here.servers[0]
    same = "--cluster", database, store
    with raw_server(first, bench.folder / "raw-cluster", *same, **here.store.credentials()) as raw:

        def raw_turn() -> Turn:
            write_bodies(bench.bodies, fleet.bodies(SETS))
            where = raw.port, first.authority, "raw", "/deliveries", CONNECTIONS, bench.bodies
            return load([raw.process], "http", *where)

        ours = _sending(bench, fleet, [first], None)
        found = take_turns(bench.console, "one gateway of a cluster", bench.turns(TURNS), ours, raw_turn)
    cpu, raw_cpu = (round(median(turn.server_us for turn in of)) for of in found)
    rate, raw_rate = (round(median(turn.rate for turn in of)) for of in found)
    params = {"connections": CONNECTIONS, "devices": DEVICES, "sets": SETS, "set": SET}
    params = {**params, "turns": len(found[0]), "kind": "measured"}
    shown = {**params, "cpu_us": cpu, "raw_cpu_us": raw_cpu}
    yield Row("cluster.ingest.ratio_to_raw", round(raw_cpu / cpu, 3), "ratio", shown, better="more")
    of_rates = {**params, "sets_per_second": rate, "raw_sets_per_second": raw_rate}
    yield Row("cluster.ingest.rate_ratio_to_raw", round(rate / raw_rate, 3), "ratio", of_rates, better="more")
