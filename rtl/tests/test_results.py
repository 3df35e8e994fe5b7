# SPDX-License-Identifier: Apache-2.0
"""The published cycles are within what the hardware was built for."""

import json

import pytest
from simulation import ROOT

ROWS = {
    row["name"]: row["value"] for row in json.loads((ROOT / "bench/results/rtl.json").read_text())["rows"]
}
MOST = {
    "ntt.n1024.u1.cycles": 5_144,
    "ntt.n1024.u8.cycles": 664,
    "ntt.n1024.u32.cycles": 190,
    "ntt.n1024.u64.cycles": 130,
    "ntt.n4096.u2.w40.cycles": 12_303,
    "product.n1024.u64.cycles": 250,
    "double_product.n1024.u64.cycles": 400,
}


@pytest.mark.parametrize("name", MOST)
def test_cycles_are_within_their_goal(name):
    assert ROWS[name] <= MOST[name]
