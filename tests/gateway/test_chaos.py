# SPDX-License-Identifier: Apache-2.0
"""Processes that die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.settings import Settings


def test_a_worker_whose_gateway_died_at_once_ends(tmp_path: Path) -> None:
    """It may come up only after that, and see another parent from the beginning."""
    Gateway(Settings(tmp_path / "data")).database.close()
    gone = subprocess.Popen(["true"])
    gone.wait()
    worker = subprocess.Popen(
        [sys.executable, "-m", "ciphermote.gateway.worker", str(tmp_path / "data"), "late", str(gone.pid)]
    )
    try:
        assert worker.wait(30) == 0
    finally:
        worker.kill()
        worker.wait()
