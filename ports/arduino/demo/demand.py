# SPDX-License-Identifier: Apache-2.0
"""The Uno demo's data: ItalyPowerDemand, days of hourly demand, dealt out to nodes as whole numbers.

ItalyPowerDemand (UCR archive, shipped with aeon): the national demand of 1996 and 1997, 24 hours a curve,
each normalised to mean 0 and deviation 1. The demo gives each node days of its own, and brings them to whole
numbers again: 500 plus 150 times the curve, in units of the demo's own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HOURS = 24
MEAN, DEVIATION = 500, 150
LARGEST = 2000
"""What nodes declare: ten deviations above the mean. Eight of them add up to less than half of 40961."""


def curves(nodes: int, days: int) -> NDArray[np.float64]:
    """float64 [nodes, days, 24], as they are shipped; they begin anew when all have been dealt out."""
    from aeon.datasets import load_classification

    found, _ = load_classification("ItalyPowerDemand", split="test")
    wanted = np.arange(nodes * days) % len(found)
    dealt: NDArray[np.float64] = found[wanted, 0].reshape(nodes, days, HOURS).astype(np.float64)
    return dealt


def load(nodes: int, days: int) -> NDArray[np.int64]:
    """int64 [nodes, days, 24], positive."""
    return np.rint(MEAN + DEVIATION * curves(nodes, days)).astype(np.int64)


def header(readings: NDArray[np.int64], plain_modulus: int) -> str:
    """demand.h, which demand_node.ino includes. readings: int64 [days, 24], below plain_modulus."""
    flat = readings.reshape(-1).tolist()
    rows = [f"    {', '.join(str(x) for x in flat[i : i + HOURS])}," for i in range(0, len(flat), HOURS)]
    return "\n".join(
        [
            "/* A node's days, hour by hour; written by `make demo-uno`. */",
            "#include <avr/pgmspace.h>",
            "",
            f"#define DEMAND_READINGS {len(flat)}",
            f"#define DEMAND_PLAIN_MODULUS {plain_modulus}",
            f"#define DEMAND_LARGEST {LARGEST}",
            "",
            f"static const uint16_t demand_readings[{len(flat)}] PROGMEM = {{",
            *rows,
            "};",
            "",
        ]
    )
