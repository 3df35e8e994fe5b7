# SPDX-License-Identifier: Apache-2.0
"""Clocks and energies of a mapped netlist at the corners of the open library (asic.CORNERS)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import asic
import power

WITH_MACROS = ("typical", "slow", "fast")
"""Corners of which the library has SRAM macros."""


def at_corners(found: asic.Mapped) -> dict[str, asic.Mapped]:
    """The netlist at each corner with its clock: the mapped one or, where a path misses it, the shortest that
    holds. At less, toggles would be those of another circuit."""
    at = {name: found.at(asic.CORNERS[name], found.clock_ns) for name in WITH_MACROS}
    return {
        name: replace(mapped, clock_ns=max(found.clock_ns, asic.clock_that_holds(mapped)))
        for name, mapped in at.items()
    }


def energies(at: Mapping[str, asic.Mapped], activity: power.Activity, cycles: int) -> dict[str, Any]:
    """The cycles of an operation; pJ by corner and part; by path, in the typical corner.

    activity: that of the typical corner. Another one's tables and voltage say what its toggles cost there,
    and its clock how long the leakage lasts.
    """
    by_corner: dict[str, dict[str, float]] = {}
    by_path: dict[str, float] = {}
    for name, mapped in at.items():
        lasting = replace(activity, ns=cycles * mapped.clock_ns)
        parts = power.energy(asic.calculator(mapped, lasting))
        total = power.Energy()
        for path, part in parts.items():
            total.add(part)
            if name == "typical":
                by_path[path or mapped.top] = part.total
        by_corner[name] = asdict(total)
    return {"cycles": cycles, "corners_pj": by_corner, "by_path_pj": by_path}


def about(at: Mapping[str, asic.Mapped]) -> dict[str, Any]:
    """Say what the energies are of."""
    return {
        "clocks_ns": {name: mapped.clock_ns for name, mapped in at.items()},
        "corners": {name: asic.CORNERS[name].name for name in at},
        "wire_load": at["typical"].target.wire_load,
    }
