# SPDX-License-Identifier: Apache-2.0
"""Area, timing and the energy of one transform of a named cm_ntt_engine on the open library.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/transform_energy.py n1024_u8_deep

prints asic.Report as JSON, with the cycles of the transform and what corners.py says of it. It is of random
residues modulo a random prime of full width, and its result is compared with an independent one.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import asic
import corners
import gates
import power

from golden.hardware import Montgomery, Ring, random_prime
from tools import ENGINE_SOURCES, ToolError, configurations

TOP = "cm_ntt_engine"
HOLD = 3
"""Cycles from an address to its words."""
APART = ("cm_butterfly", "cm_ram", "cm_ntt_control")


def _table_step(parameters: Mapping[str, int], index: int) -> int:
    """cm_ntt_engine's table_step_o: twiddles that it takes at once."""
    rows = parameters["LOG2_N"] - parameters["LOG2_UNITS"] - 1
    return 1 << min(max(index.bit_length() - 1 - rows, 0), parameters["LOG2_LANES"])


def _stimulus(parameters: Mapping[str, int], ring: Ring, words: list[int]) -> Iterator[dict[str, int]]:
    """Reset, twiddles, words: what comes before the job."""
    lanes, width = 1 << parameters["LOG2_LANES"], parameters["WIDTH"]

    def beat(of: list[int], index: int) -> int:
        return sum(word << width * lane for lane, word in enumerate(of[index : index + lanes]))

    for _ in range(3):
        yield {"rst_i": 1, "q_i": ring.q}
    twiddles, index = ring.twiddles(Montgomery(width, parameters["LOG2_N"]).r), 0
    while index < ring.n:
        data = beat(twiddles, index)
        yield {"q_i": ring.q, "table_write_i": 1, "table_index_i": index, "table_data_i": data}
        index += _table_step(parameters, index)
    for index in range(0, ring.n, lanes):
        data = beat(words, index)
        yield {"q_i": ring.q, "host_write_i": 1, "host_write_index_i": index, "host_write_data_i": data}
    for _ in range(4):
        yield {"q_i": ring.q}


def _reading(parameters: Mapping[str, int], ring: Ring) -> Iterator[dict[str, int]]:
    """The result's addresses, each for HOLD cycles."""
    for index in range(0, ring.n, 1 << parameters["LOG2_LANES"]):
        for _ in range(HOLD):
            yield {"q_i": ring.q, "host_read_transformed_i": 1, "host_read_index_i": index}


def _result(parameters: Mapping[str, int], outputs: list[dict[str, int]]) -> list[int]:
    lanes, width = 1 << parameters["LOG2_LANES"], parameters["WIDTH"]
    mask = (1 << width) - 1
    data = (now["host_read_data_o"] for now in outputs[HOLD - 1 :: HOLD])
    return [word >> width * lane & mask for word in data for lane in range(lanes)]


def simulate(
    mapped: asic.Mapped, parameters: Mapping[str, int], job_cycles: int, seed: int
) -> tuple[power.Activity, int]:
    """The activity of a transform from its start to its end, and its cycles, at most job_cycles. Raises
    ToolError if it computed something else.
    """
    rng = random.Random(seed)
    ring = Ring(random_prime(rng, parameters["LOG2_N"], parameters["WIDTH"]), parameters["LOG2_N"])
    words = [rng.randrange(ring.q) for _ in range(ring.n)]
    before = list(_stimulus(parameters, ring, words))
    job = [{"q_i": ring.q, "start_i": 1, "forward_i": 1}]
    job += [{"q_i": ring.q, "forward_i": 1}] * (job_cycles - 1)
    stimulus = [*before, *job, *_reading(parameters, ring)]
    window = (len(before), len(before) + job_cycles)
    each, (activity,) = gates.simulate(mapped.cells, mapped.directory, stimulus, [window], mapped.clock_ns)
    outputs = list(each)
    if _result(parameters, outputs[window[1] :]) != ring.forward(words):
        raise ToolError(f"{mapped.directory.name}: the mapped netlist computed another transform.")
    done = [cycle for cycle in range(*window) if outputs[cycle]["done_o"]]
    return activity, done[0] - window[0] + 1


def measure(parameters: Mapping[str, int], seed: int = 1) -> dict[str, Any]:
    """The report with the energy of a transform, and its cycles: a first run counts them."""
    at = corners.at_corners(asic.synthesise(TOP, ENGINE_SOURCES, parameters, apart=APART))
    mapped = at["typical"]
    most = parameters["LOG2_N"] << (parameters["LOG2_N"] - parameters["LOG2_UNITS"])
    _, cycles = simulate(mapped, parameters, most + 200, seed)
    activity, again = simulate(mapped, parameters, cycles, seed)
    assert again == cycles
    report = asdict(asic.report(mapped, activity))
    return {**report, **corners.about(at), **corners.energies(at, activity, cycles)}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in configurations():
        print(f"usage: transform_energy.py {'|'.join(configurations())}", file=sys.stderr)
        return 2
    try:
        report = measure(configurations()[sys.argv[1]])
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
