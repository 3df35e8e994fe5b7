# SPDX-License-Identifier: Apache-2.0
"""The gateway's bench still runs, and gives every committed row that it is to give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_bench_gives_the_committed_rows(tmp_path: Path) -> None:
    results = tmp_path / "gateway.json"
    command = [sys.executable, ROOT / "bench/gateway/run.py", "--turns", "1", "--results", results]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=900)
    rows = {row["name"]: row["value"] for row in json.loads(results.read_text())["rows"]}
    committed = json.loads((ROOT / "bench/results/gateway.json").read_text())["rows"]
    assert set(rows) >= {
        row["name"]
        for row in committed
        if row["name"].startswith(("cluster.jobs.", "ingest.", "jobs.", "poison."))
    }
    none_is_fine = "ingest.rss_growth_bytes", "poison.compact.moved_ratio", "poison.bfv.moved_ratio"
    assert all(value > 0 for name, value in rows.items() if name not in none_is_fine)
    assert rows["poison.moved_ratio"] <= 1 and rows["poison.compact.moved_ratio_worst"] <= 1
