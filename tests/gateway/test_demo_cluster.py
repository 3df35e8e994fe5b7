# SPDX-License-Identifier: Apache-2.0
"""`make demo-cluster`: a short run in which each service dies once loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from demos.cluster import run
from demos.cluster.services import VERSITYGW
from rich.console import Console

SHORT = run.Plan(seconds=12, meters=3, homes=3, every=2)


@pytest.mark.skipif(not VERSITYGW.exists(), reason="versitygw is not built: make versitygw")
def test_a_short_run_counts_every_window_once(tmp_path: Path) -> None:
    outcome = run.run(Console(quiet=True), SHORT, tmp_path / "demo")
    assert outcome.windows == outcome.receipted == 36 and len(outcome.final()) == 2
    assert set(outcome.kills) == {"gateway", "database", "Ray node", "object store", "worker"}
    assert (tmp_path / "demo/demo.png").exists() and (tmp_path / "demo/demo.json").exists()
