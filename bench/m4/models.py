# SPDX-License-Identifier: Apache-2.0
"""Cycles of named cores, modelled from how many instructions of each class they ran (classes.h).

Memory answers at once in all of them: caches, flash and buses of a chip make it slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

EVENTS = ("moved", "return", "used", "taken", "looped")
"""Not instructions: what makes one of them longer."""


@dataclass(frozen=True)
class Model:
    """manual: what the cycles are from, and what the model leaves out. cycles_of: those of a class where an
    instruction does not take one; for EVENTS, those that each adds."""

    core: str
    manual: str
    cycles_of: Mapping[str, int]

    def cycles(self, classes: Mapping[str, int]) -> int:
        return sum(count * self.cycles_of.get(name, name not in EVENTS) for name, count in classes.items())


MODELS = {
    "m0": Model(
        "RP2040 (Cortex-M0+ with the multiplier of one cycle)",
        "Cortex-M0+ TRM (DDI 0484), section 3.3: loads and stores 2, of N registers 1 + N, a POP that "
        "returns 3 + N, a branch taken 2, BL 3, MRS, MSR and barriers 3; left out: contention for the "
        "RP2040's RAM",
        {"load": 2, "store": 2, "multiple": 1, "moved": 1, "return": 1, "call": 2, "system": 3, "taken": 1},
    ),
    "rv32imc": Model(
        "ESP32-C3 (four stages, in order)",
        "an estimate: the ESP32-C3 TRM (chapter ESP-RISC-V CPU) gives stages and no timings; assumed "
        "are 1 for each instruction, products too, 2 more for a branch taken, 1 more where a load's "
        "register is read by the next instruction, 33 for a division; left out: the cache of its flash",
        {"taken": 2, "used": 1, "divide": 33},
    ),
    "m55": Model(
        "Cortex-M55 (two beats a cycle)",
        "an estimate: the Cortex-M55 TRM (101051) gives two beats a cycle, of a vector instruction's "
        "four, and no table of timings; assumed are 1 for each other instruction, 2 more for a branch "
        "taken, none for LE's, 6 for a division; left out: that beats of neighbours overlap and that "
        "some pairs issue together, which make it faster, and waits for results, which make it slower",
        {"vector": 2, "taken": 2, "looped": -2, "divide": 6},
    ),
}
"""By the cores of cores.py."""
