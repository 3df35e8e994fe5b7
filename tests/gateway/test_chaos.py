# SPDX-License-Identifier: Apache-2.0
"""Ten kills at random of what `make chaos` does a hundred times; and that its counts can be wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from chaos import SLOTS, WINDOWS_A_KILL, Fleet, Run, Sender, Window
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.settings import Settings
from ciphermote.gateway.worker import Worker
from ciphermote.rest.requests import CompactFleet, JobRequest, JobSpec
from gateway_support import FullDevice, full_owner


def test_ten_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    tally = Run(tmp_path, 10, seed=1).go()
    assert tally.is_clean, tally
    assert sum(tally.kills.values()) >= 10 and tally.windows > 10 * WINDOWS_A_KILL and tally.jobs > 10, tally


def test_what_was_lost_or_doubled_is_counted(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, seed=2)
    fleet = Fleet("planted", np.array)
    sender = Sender(fleet, FullDevice(full_owner(), 1), 0, run)
    fleet.senders.append(sender)
    sender.windows = {
        0: Window(0, receipted=True),
        1: Window(1, receipted=True),
        2: Window(2, receipted=True),
        3: Window(3, dropped=True),
        4: Window(4),
    }
    total = np.zeros(SLOTS)
    total[[0, 2, 2]] = 1
    total[2] += 1
    run._count(fleet, total)
    tally = run.tally
    assert (tally.lost, tally.doubled, tally.dropped) == (["planted 1.1"], ["planted 1.2"], 1)
    assert tally.errors == ["planted 1.4 had no receipt"]
    assert fleet.right([[1, 1, 0]], [np.eye(SLOTS)[0]])  # type: ignore[list-item]
    assert not fleet.right([[1, 1, 0]], [total])  # type: ignore[list-item]


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


def test_a_worker_outlives_a_job_that_it_cannot_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = Gateway(Settings(tmp_path / "data"))
    tenant = gateway.registry.tenant("home")
    definition = CompactFleet(set="a16", key_id="0" * 15 + "1", positions=[[0, 8]])
    gateway.registry.put_fleet(tenant, "meters", definition)
    fleet = gateway.registry.fleet(tenant, "meters")
    number = gateway.jobs.add(fleet, JobRequest(spec=JobSpec()))
    worker = Worker(tmp_path / "data", "one")
    leased = worker._jobs.lease("one")
    assert leased is not None

    def fault(*_: object) -> None:
        raise ValueError("math domain error")

    monkeypatch.setattr("ciphermote.gateway.worker.compute", fault)
    worker._work(leased)
    shown = gateway.jobs.shown(fleet.id, number)
    assert (shown["state"], shown["tries"]) == ("failed", 1) and "The gateway failed" in shown["error"]
    gateway.database.close()
