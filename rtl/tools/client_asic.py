# SPDX-License-Identifier: Apache-2.0
"""Area, timing and energy of the client engine on the open library IHP SG13G2, before layout.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/client_asic.py [energy]

prints asic.Report as JSON, with kge and energy by block. energy: that of one symmetric encryption of BFV in
NTT form under a seed, from the command to the last word, simulated on the mapped netlist with its cells'
delays. Its inputs are those of the same engine under Verilator, and its frames must be the C library's.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import asic
import client_bench
import gates
import power
from client import INPUTS, SILICON, TOP, Outcome, Shape

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


def encryption() -> tuple[Outcome, bytes]:
    """One symmetric encryption of the bench's, with the inputs of each cycle, and the frames it must give."""
    case = client_bench.cases()[0]
    one = {**case, "draws": case["draws"][:1], "messages": case["messages"][:1], "frames": case["frames"][:1]}
    return client_bench.run(SHAPE, one, "COMMAND_SYMMETRIC", record=True), bytes.fromhex(one["frames"][0])


def _frames(inputs: list[list[int]], outputs: Iterable[dict[str, int]]) -> bytes:
    ready = INPUTS.index("frame_ready_i")
    words = [
        now["frame_o"]
        for line, now in zip(inputs, outputs, strict=True)
        if now["frame_valid_o"] and line[ready]
    ]
    return b"".join(word.to_bytes(4, "little") for word in words)


def met_clock_ns(found: asic.Mapped) -> float:
    """The mapped clock or, if the slowest path misses it, the next longer one in steps of half a ns that it
    meets: at less, a simulation with delays would be of another circuit.
    """
    late = max(0.0, -(asic.slack(found) or 0.0))
    return found.clock_ns + math.ceil(2 * late) / 2


def simulate(found: asic.Mapped, clock_ns: float) -> tuple[power.Activity, int]:
    """The activity of an encryption, and its cycles. Raises ToolError if the netlist gives other frames."""
    outcome, frames = encryption()
    window = (outcome.taken[-1], outcome.last_words[-1] + 1)
    inputs = outcome.inputs[: window[1]]
    stimulus = (dict(zip(INPUTS, line, strict=True)) for line in inputs)
    outputs, activity = gates.simulate(found.cells, found.directory, stimulus, window, clock_ns)
    if _frames(inputs, outputs) != frames:
        raise ToolError(f"{found.directory.name}: the mapped netlist gave other frames.")
    return activity, window[1] - window[0]


def blocks(by_path: Mapping[str, float]) -> dict[str, float]:
    """pJ by block: instances of the top, those of the lanes and of generate blocks apart."""
    sums: dict[str, float] = defaultdict(float)
    for path, energy in by_path.items():
        parts = [re.sub(r"\[\d+\]", "", part) for part in path.split(".")]
        sums[".".join(parts[:2]) if parts[0] in ("u_lanes", "u_stream") else parts[0]] += energy
    return {block: round(energy) for block, energy in sorted(sums.items(), key=lambda item: -item[1])}


def report(*, energy: bool) -> dict[str, Any]:
    found = mapped()
    clock_ns = met_clock_ns(found)
    activity, cycles = simulate(found, clock_ns) if energy else (None, 0)
    of = asic.report(found, activity)
    return {
        **asdict(of),
        "energy_by_path_pj": blocks(of.energy_by_path_pj),
        "cycles": cycles,
        "energy_clock_ns": clock_ns,
    }


def main() -> int:
    try:
        print(json.dumps(report(energy="energy" in sys.argv[1:])))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
