# SPDX-License-Identifier: Apache-2.0
"""The demo's files: those with keys are for their owner only, and those with figures say what they measure.

The demo itself is `make demo`; tests/python/test_ports.py has the simulated device.
"""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from demos import report
from demos.run import KINDS, KindOutcome, Outcome, flash_device
from demos.smartwatch import Windows


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_device_is_flashed_with_is_for_its_owner_alone(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "build" / "ports" / "mps2-an386" / "ciphermote.elf"
    image.parent.mkdir(parents=True)

    def compiler(command: list[str], **options: object) -> SimpleNamespace:
        assert options["umask"] == 0o077, "what make leaves in build/ports holds keys as well"
        image.write_bytes(b"an image")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", compiler)
    store = KeyStore.create(tmp_path / "keys", by_name("n1024_q26"))
    elf = flash_device(tmp_path, tmp_path, store, "/* a model */\n", kind)
    assert elf.read_bytes() == b"an image"
    assert mode(elf.parent) == 0o700
    assert {path.name: mode(path) for path in elf.parent.iterdir()} == {
        "provisioned_keys.h": 0o600,
        "app_model.h": 0o600,
        "ciphermote.elf": 0o600,
    }


def test_the_figures_tell_values_from_the_slots_that_travel(tmp_path: Path) -> None:
    scores = np.array([[1.0, 0.0], [0.0, 1.0]])
    device = SimpleNamespace(static_bytes=1, arena_bytes=2, stack_bytes=3, total_bytes=6)
    outcome = Outcome(
        Windows(np.zeros((2, 6, 100), dtype=np.float32), np.array([0, 1]), ("rest", "walk")),
        LinearModel(np.ones((2, 1800)), np.zeros(2)),
        scores,
        kinds={kind: KindOutcome(scores, [40160, 40160], device) for kind in KINDS},
    )
    report.write(outcome, tmp_path / "demo.json")
    rows = json.loads((tmp_path / "demo.json").read_text())["rows"]
    sizes = [row["params"] for row in rows if row["name"].startswith("demo.frame_bytes.")]
    assert [(size["slots"], size["values"]) for size in sizes] == [(2048, 1800)] * 2
