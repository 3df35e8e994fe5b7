# SPDX-License-Identifier: Apache-2.0
"""Area and timing of the client engine on the open library IHP SG13G2, before layout.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/client_asic.py

prints asic.Report as JSON, with kge by module. client_energy.py measures what operations take.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import asic
from client import SILICON, TOP, Shape

from tools import CLIENT_INCLUDES, CLIENT_SOURCES, ENGINE_SOURCES, ToolError

SHAPE = Shape(DEEP=0, MULTIPLIER_WIDTH=SILICON)
CONTROL = tuple(
    f"cm_client_{name}"
    for name in (
        *("settings", "primes", "key_check", "commands", "counter", "arbiter", "sampling", "values"),
        *("message_memory", "noise_memory", "item_counter", "pair_counter", "load_control", "lane_control"),
        *("stream_control", "source", "multiply_add", "uniform_control", "output_queue", "writer", "drain"),
        *("message_output", "faults"),
    )
)
"""Rooms of the top, which are mapped as one block with it: paths cross their borders."""
APART = (
    *("cm_butterfly", "cm_ntt_control", "cm_client_lanes", "cm_montgomery_multiply", "cm_chacha20"),
    *(path.stem for path in CLIENT_SOURCES if path.stem not in (TOP, "cm_client_axi", "cm_keccak", *CONTROL)),
    "cm_ram",
)
"""Modules that keep their borders, so that their areas are known. Keccak belongs to cm_client_shake: most of
what it loads is constant."""


def mapped() -> asic.Mapped:
    return asic.synthesise(
        TOP,
        [*ENGINE_SOURCES, *CLIENT_SOURCES],
        vars(SHAPE),
        apart=APART,
        includes=CLIENT_INCLUDES,
        recipe=asic.FOR_PRODUCTS,
    )


def main() -> int:
    try:
        print(json.dumps(asdict(asic.area(mapped()))))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
