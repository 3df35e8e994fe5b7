# SPDX-License-Identifier: Apache-2.0
"""The Uno demo's parts: its data are whole numbers whose sums are exact, and it judges its own outcome."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from avr_support import load_demo
from ciphermote.base.errors import Error
from rich.console import Console


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    return load_demo("demo_uno", "ports/arduino/demo")


def test_the_readings_are_days_of_whole_numbers_whose_sum_fits_the_plain_modulus(demo: ModuleType) -> None:
    readings = demo.demand.load(demo.NODES, demo.DAYS)
    assert demo.NODES >= 8 and readings.shape == (demo.NODES, demo.DAYS, 24)
    assert readings.dtype == np.int64 and readings.min() > 0
    assert readings.sum(axis=0).max() < demo.PLAIN_MODULUS
    assert len(np.unique(readings.reshape(-1, 24), axis=0)) > 100


def test_a_wrong_total_is_a_failure(demo: ModuleType) -> None:
    readings = demo.demand.load(2, 1)
    outcome = demo.report.Outcome(demo.PARAMETERS, readings, total=readings.sum(axis=0))
    demo.report.judge(outcome)
    outcome.total[0, 0] += 1
    with pytest.raises(Error, match="1 hours of the total differ"):
        demo.report.judge(outcome)


def test_two_nodes_go_the_whole_way(
    demo: ModuleType, tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "NODES", 2)
    monkeypatch.setattr(demo, "DAYS", 1)
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(demo.os, "umask", lambda mask: None)
    demo.run(Console(width=100))
    assert "24 of 24" in capsys.readouterr().out
    assert (tmp_path / "build/demo-uno/demo.png").stat().st_size > 10_000
    assert "hours_that_differ" in (tmp_path / "build/demo-uno/demo.json").read_text()
