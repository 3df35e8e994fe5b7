# SPDX-License-Identifier: Apache-2.0
"""`make rtl-route` and `make rtl-synth` write into one file, and leave each other's rows as they are."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def benches(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench/rtl"))
    for name in ("route", "synthesis", "hardware"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module("route"), import_module("synthesis")


def test_routed_rows_replace_routed_rows_alone(benches, tmp_path):
    route, synthesis = benches
    results = tmp_path / "rtl-synth.json"
    other = {
        "name": "engine.n1024.ecp5.lut",
        "value": 1,
        "unit": "LUT",
        "params": {},
        "timed": False,
        "better": "less",
    }
    results.write_text(json.dumps({"command": "make rtl-synth", "rows": [other]}))
    for mhz in (40.0, 52.5):
        route.merge(results, route.rows_of({"fmax_mhz": mhz, "seconds": 900}))
    rows = json.loads(results.read_text())["rows"]
    assert rows[0] == other
    assert {row["name"]: (row["value"], row["timed"], row["better"]) for row in rows[1:]} == {
        "ecp5.engine.fmax_mhz": (52.5, False, "more"),
        "ecp5.engine.seconds": (900, True, "less"),
    }
    assert [vars(row) for row in synthesis.routed(results)] == rows[1:]
