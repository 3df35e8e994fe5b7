# SPDX-License-Identifier: Apache-2.0
"""The cycle models of named cores: instructions of each class, counted by hand, and cycles from them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench/m4"))

import models  # noqa: E402
import simulate  # noqa: E402

THUMB = (
    {"load": 2, "store": 1, "other": 1},
    {"multiply": 1, "other": 1},
    {"other": 21, "taken": 9},
    {"call": 1, "other": 1, "multiple": 2, "moved": 6, "return": 1, "taken": 3},
    {"system": 2},
)
HELIUM = (*THUMB, {"vector": 4, "other": 1}, {"other": 22, "taken": 9, "looped": 9})
RISCV = (
    {"load": 2, "used": 1, "store": 1, "other": 1},
    {"multiply": 1, "divide": 1},
    {"other": 21, "taken": 9},
    {"call": 3, "taken": 3},
    {"load": 1, "used": 1, "other": 2},
)
SEQUENCES = {"m0": THUMB, "m55": HELIUM, "rv32imc": RISCV}
"""The sequences of bench/m4/firmware/class_selftest.c."""


@pytest.mark.parametrize("core", SEQUENCES)
def test_classes_are_counted_as_by_hand(core: str, tmp_path: Path) -> None:
    plugin = simulate.build_plugin(tmp_path)
    image = tmp_path / core / "class_selftest.elf"
    bench = ["make", "-C", simulate.HERE, f"BUILD={image.parent}", f"CORE={core}", "FLAGS=-O1", image]
    simulate.run_tool(bench, "Building the sequences")
    run = simulate.simulate(image, plugin, core)
    found = [{name: count for name, count in region.classes.items() if count} for region in run.regions]
    assert found == list(SEQUENCES[core])
    for region in run.regions:
        events = sum(region.classes[name] for name in models.EVENTS)
        assert sum(region.classes.values()) - events == region.instructions


@pytest.mark.parametrize(
    ("core", "cycles"),
    [
        # Loads and stores 2; a product 1; a loop 1 + 10 * 2 + 9; BL 3, B 2, PUSH 1 + 3, POP 3 + 3; 3 each.
        ("m0", (3 * 2 + 1, 2, 30, 3 + 2 + 4 + 6, 6)),
        # A vector 2, its lane 1; a loop by LE: 22 and nothing for its branches.
        ("m55", (4, 2, 21 + 18, 5 - 1 + 6, 2, 4 * 2 + 1, 22)),
        ("rv32imc", (4 + 1, 1 + 33, 21 + 18, 3 + 6, 3 + 1)),
    ],
)
def test_cycles_follow_from_the_classes(core: str, cycles: tuple[int, ...]) -> None:
    assert tuple(models.MODELS[core].cycles(classes) for classes in SEQUENCES[core]) == cycles


def test_classes_have_the_names_that_the_models_use() -> None:
    header = (ROOT / "bench/m4/classes.h").read_text()
    names = header[header.index("CLASS_NAMES") : header.index("typedef")]
    for model in models.MODELS.values():
        assert all(f'"{name}"' in names for name in model.cycles_of)
    assert all(f'"{name}"' in names for name in models.EVENTS)
