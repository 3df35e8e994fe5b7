# SPDX-License-Identifier: Apache-2.0
"""Ten kills at random of what `make chaos-cluster` does two hundred times."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos import WINDOWS_A_KILL
from chaos_cluster import ClusterRun
from demos.cluster.services import VERSITYGW


@pytest.mark.skipif(not VERSITYGW.exists(), reason="versitygw is not built: make versitygw")
def test_ten_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    tally = ClusterRun(tmp_path, 10, seed=1).go()
    assert tally.is_clean, tally
    assert sum(tally.kills.values()) >= 10 and tally.windows > 10 * WINDOWS_A_KILL and tally.jobs > 10, tally
