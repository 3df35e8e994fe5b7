# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster: the same bytes as on one machine, whatever dies, and a cluster that is closed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import C
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.gateway.fleets import Fleet
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import Enrolment
from gateway_support import FullDevice, PacketDevice, enrolment
from ray_support import Cluster, cluster, session_cluster
from site_support import Site as GatewaySite
from site_support import on_site
from store_support import servers

__all__ = ["cluster", "servers", "session_cluster"]

DEEP = "n4096_q26x3_p27"
MODEL = LinearModel(np.array([[1.0, 2.0, 0.0, -1.0], [0.5, 0.0, 1.0, 0.0]]), np.array([0.25, -0.5]))


def by_both(folder: Path, cluster: Cluster) -> list[list[Any]]:
    """What threads and the cluster gave for each waiting job."""
    command = (sys.executable, Path(__file__).parent / "ray_driver.py", folder, cluster.address)
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=100)
    results: list[list[Any]] = json.loads(found.stdout)
    return results


def full_fleet(site: GatewaySite, keys: Owner, **more: Any) -> Fleet:
    fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
    fleet = site.define("full", {"lane": "full", "log2_scale": 25, **fields, **more})
    for kind in ("galois", "relin"):
        content = getattr(keys.evaluation_keys, kind)
        site.gateway.registry.put_evaluation_keys(fleet, kind, content)
    return fleet


async def send_windows(site: GatewaySite, fleet: Fleet, device: FullDevice, count: int) -> None:
    body = enrolment(device.tag_keys, device.key_id)
    site.gateway.registry.enroll(fleet, device.number, Enrolment(**body))
    for number in range(count):
        await site.send(fleet, device.encrypt([device.number, number, 1.0, 0.0]))


async def compact_fleet(site: GatewaySite, devices: int, windows: int) -> tuple[Fleet, CompactKeys]:
    keys = CompactKeys.generate(C)
    fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
    fleet = site.define("compact", {**fields, "positions": [[0, 4]]})
    for number in range(1, devices + 1):
        device = PacketDevice(keys, number)
        keys, entry = device.keys, device.enrolment
        body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
        site.gateway.registry.enroll(fleet, number, Enrolment(**body))
        for _ in range(windows):
            for packet in device.encrypt([number, 0, 1, 2]):
                await site.send(fleet, packet)
    return fleet, keys


FULL_SPECS: list[dict[str, Any]] = [
    {"kind": "sum"},
    {"kind": "mean", "devices": [1, 3]},
    {"kind": "sum", "groups": {"count": 2, "seed": "0" * 32}},
    {"kind": "sum", "groups": {"count": 3, "seed": "0" * 32}},
    {"kind": "weighted-sum", "weights": {"1": 0.5, "2": -2.0, "3": 1.0}, "bound": 8},
    {"kind": "variance"},
    {"kind": "linear", "model": json.loads(MODEL.to_json()), "bound": 8},
]


COMPACT_SPECS: list[dict[str, Any]] = [
    {"kind": "sum"},
    {"kind": "weighted-sum", "weights": {"1": 1.0, "2": 0.0, "3": -1.0}},
    {"kind": "sum", "groups": {"count": 2, "seed": "0" * 32}},
    {"kind": "sum", "groups": {"count": 3, "seed": "0" * 32}},
    {"kind": "linear", "model": json.loads(MODEL.to_json())},
]


@pytest.mark.parametrize("kept", ["store", "directory"])
def test_results_are_the_same_bytes_as_on_one_machine(tmp_path: Path, cluster: Cluster, kept: str) -> None:
    keys = Owner.generate(DEEP, model=MODEL)

    async def what(site: GatewaySite) -> None:
        fleet = full_fleet(site, keys)
        for number in (1, 2, 3):
            await send_windows(site, fleet, FullDevice(keys, number, log2_scale=25), 3)
        compact, compact_keys = await compact_fleet(site, 3, 3)
        jobs = [site.add(fleet, spec) for spec in FULL_SPECS]
        jobs += [site.add(compact, spec) for spec in COMPACT_SPECS]
        found = by_both(tmp_path / "data", cluster)
        assert len(found) == len(jobs)
        for (here, there), spec in zip(found, FULL_SPECS + COMPACT_SPECS, strict=True):
            assert here == there, spec
        get = site.gateway.store.get
        total = keys.decrypt(get(found[0][1][1][0]))
        np.testing.assert_allclose(total[:3], [18, 9, 9], atol=0.01)
        compact_total = CompactResult.from_bytes(get(found[len(FULL_SPECS)][1][1][0]))
        assert decrypt_sum(compact_keys, compact_total).values.tolist() == [18, 0, 9, 18]

    on_site(tmp_path / "data", what, cluster.s3.new_url() if kept == "store" else None)
