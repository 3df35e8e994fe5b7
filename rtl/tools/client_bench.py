# SPDX-License-Identifier: Apache-2.0
"""The client engine's cycles: prints them as JSON after comparing what it gave with the C library's.

python3 rtl/tools/client_bench.py

Latency is from the cycle in which a command is taken to that of the last word out, with random words and
values there from the start, a value a cycle at most. Pace is the longest time from last word to last word of
ciphertexts that follow each other. Keys and tables are resident.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import soc
from client import SILICON, Client, Key, Outcome, Shape

from tools import ROOT, ToolError

SET = "n4096_q26x3_p27"
T = 40961
"""The smallest plain modulus for batching."""
CIPHERTEXTS = 6
SHAPES = {
    "deep": Shape(),
    "shallow": Shape(DEEP=0),
    "silicon": Shape(DEEP=0, MULTIPLIER_WIDTH=SILICON),
}


def cases() -> list[dict[str, Any]]:
    """Symmetric and public-key encryptions."""
    wanted = [{"set": SET, "t": T, "public": public, "ciphertexts": CIPHERTEXTS} for public in (False, True)]
    command = [ROOT / ".venv/bin/python", ROOT / "rtl/tools/client_cases.py", json.dumps(wanted)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(shape: Shape, case: dict[str, Any], command: str, record: bool = False) -> Outcome:
    """All of the case's ciphertexts, back to back."""
    key = Key(
        case["params_id"],
        case["key_id"],
        case["primes"],
        case["roots"],
        bytes.fromhex(case["device_secret"]),
        bytes.fromhex(case["ternary"]),
        case["public"],
    )
    engine = Client(shape)
    engine.wait_for_wipe()
    engine.load(key)
    engine.message_space(key, case["t"], signed=False, coefficients=False)
    engine.counter(case["counter"])
    for draw, message, frames in zip(case["draws"], case["messages"], case["frames"], strict=True):
        if command == "COMMAND_DECRYPT":
            engine.read(bytes.fromhex(frames))
        else:
            engine.entropy(bytes.fromhex(draw))
            engine.values(message)
    for _ in case["messages"]:
        engine.command(command)
    engine.run(2_000_000)
    return engine.simulate(record=record)


def times(shape: Shape, case: dict[str, Any], command: str) -> dict[str, int]:
    """Latency and pace, in cycles. ToolError if a byte or a value is wrong."""
    outcome = run(shape, case, command)
    decrypted = [[x for word in words for x in (word & 0xFFFF, word >> 16)] for words in outcome.results]
    right = (
        decrypted == case["messages"]
        if command == "COMMAND_DECRYPT"
        else outcome.frames == [bytes.fromhex(frames) for frames in case["frames"]]
    )
    if not right:
        raise ToolError(f"{command}: the engine's outputs are not the C library's")
    ends = outcome.last_words
    taken = outcome.taken[1]  # the first command loads the key
    return {
        "latency": ends[0] - taken + 1,
        "pace": max(later - earlier for earlier, later in pairwise(ends)),
    }


def soc_times() -> dict[str, int]:
    """Cycles of an encryption by firmware on a RISC-V core, through the engine and in software.

    The first one through the engine also loads tables and key. ToolError if a byte differs.
    """
    field = soc.field("bench", set=SET, t=T, ciphertexts=2, seed=1)
    engine, software = (soc.simulate(field, chip) for chip in (soc.Chip(), soc.SOFTWARE))
    if engine.code or software.code or engine.frames != software.frames or not engine.frames:
        raise ToolError("soc: the frames with the engine are not those of software")
    return {
        "engine": engine.encryptions[1],
        "first": engine.encryptions[0],
        "software": software.encryptions[1],
    }


def main() -> int:
    symmetric, public = cases()
    jobs = {
        "symmetric": (symmetric, "COMMAND_SYMMETRIC"),
        "public": (public, "COMMAND_PUBLIC"),
        "decrypt": (public, "COMMAND_DECRYPT"),
    }
    try:
        taken = {
            pipeline: {job: times(shape, *of) for job, of in jobs.items()}
            for pipeline, shape in SHAPES.items()
        }
        chip = soc_times()
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({"set": SET, "t": T, "ciphertexts": CIPHERTEXTS, "cycles": taken, "soc": chip}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
