# SPDX-License-Identifier: Apache-2.0
"""Energy of every operation of the client engine on the open library IHP SG13G2, before layout, by corner.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/client_energy.py [OPERATION ...]

prints, as JSON, the clocks that the corners hold and each operation's cycles and energies. An operation runs
on the netlist of client_asic.py with its cells' delays, from its command to its last word out; keys are
loaded before. Its inputs are those of the same engine under Verilator, whose outputs the C library's are
compared with, and the netlist must give the same. Toggles are counted once, with the delays of the typical
corner and its clock; what they cost is by each corner's tables and voltage, and the leakage is over its
clock.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import asic
import client_bench
import corners
import gates
import power
from client import INPUTS, Client, Key, Outcome
from client_asic import SHAPE, mapped

from tools import ToolError

Window = tuple[int, int]


@dataclass(frozen=True)
class Run:
    """A run of the engine, and its operations: each in the cycles from its first up to its second number."""

    outcome: Outcome
    windows: dict[str, Window]


def _single(case: dict[str, Any]) -> dict[str, Any]:
    """The case's first ciphertext alone."""
    lists = ("draws", "messages", "frames", "results")
    return case | {name: case[name][:1] for name in lists if name in case}


def _run(name: str, case: dict[str, Any], command: str) -> Run:
    """Raises ToolError if the engine's outputs are not the C library's."""
    one = _single(case)
    outcome = client_bench.run(SHAPE, one, command, record=True)
    client_bench.check(one, command, outcome)
    return Run(outcome, {name: (outcome.taken[-1], outcome.last_words[-1] + 1)})


@cache
def _bfv() -> list[dict[str, Any]]:
    return client_bench.cases()


@cache
def _ckks() -> list[dict[str, Any]]:
    return client_bench.ckks_cases()


def _key_pair() -> Run:
    """A secret key of the engine's own, and its public key."""
    (case,) = client_bench.said("client_cases.py", [{"set": client_bench.SET, "key_pair": True, "seed": 90}])
    engine = Client(SHAPE)
    engine.wait_for_wipe()
    engine.load(Key.of(case | {"public": []}), secret=False)
    engine.counter(case["counter"])
    for draw, command in ((case["key_draw"], "COMMAND_GENERATE"), (case["draws"][0], "COMMAND_PUBLISH")):
        engine.entropy(bytes.fromhex(draw))
        engine.command(command)
        engine.run()
    outcome = engine.simulate(record=True)
    if outcome.frames != [bytes.fromhex(frames) for frames in case["frames"]]:
        raise ToolError("COMMAND_PUBLISH: the engine's key is not the C library's")
    generated, published = outcome.taken[-2:]
    return Run(
        outcome, {"generate": (generated, published), "publish": (published, outcome.last_words[-1] + 1)}
    )


RUNS: dict[tuple[str, ...], Callable[[], Run]] = {
    ("bfv_symmetric",): lambda: _run("bfv_symmetric", _bfv()[0], "COMMAND_SYMMETRIC"),
    ("bfv_public",): lambda: _run("bfv_public", _bfv()[1], "COMMAND_PUBLIC"),
    ("bfv_decrypt",): lambda: _run("bfv_decrypt", _bfv()[1], "COMMAND_DECRYPT"),
    ("ckks_symmetric",): lambda: _run("ckks_symmetric", _ckks()[0], "COMMAND_SYMMETRIC"),
    ("ckks_public",): lambda: _run("ckks_public", _ckks()[1], "COMMAND_PUBLIC"),
    ("ckks_decrypt",): lambda: _run("ckks_decrypt", _ckks()[1], "COMMAND_DECRYPT"),
    ("generate", "publish"): _key_pair,
}
"""By the operations that a run has."""


def _words(inputs: list[list[int]], outputs: Iterable[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return the words that leave the netlist: of frames and of results."""
    streams = [
        (INPUTS.index(ready), valid, data)
        for ready, valid, data in (
            ("frame_ready_i", "frame_valid_o", "frame_o"),
            ("result_ready_i", "result_valid_o", "result_o"),
        )
    ]
    found: tuple[list[int], list[int]] = ([], [])
    for line, now in zip(inputs, outputs, strict=True):
        for words, (ready, valid, data) in zip(found, streams, strict=True):
            if now[valid] and line[ready]:
                words.append(now[data])
    return found


def activities(found: asic.Mapped, run: Run) -> dict[str, power.Activity]:
    """Count the toggles by operation. Raises ToolError if the netlist gives other words."""
    outcome = run.outcome
    inputs = outcome.inputs[: max(end for _, end in run.windows.values())]
    stimulus = (dict(zip(INPUTS, line, strict=True)) for line in inputs)
    windows = list(run.windows.values())
    with tempfile.TemporaryDirectory(dir=found.directory) as folder:
        outputs, counted = gates.simulate(found.cells, Path(folder), stimulus, windows, found.clock_ns)
        frames, results = _words(inputs, outputs)
    sent = b"".join(word.to_bytes(4, "little") for word in frames)
    if sent != b"".join(outcome.frames) or results != [word for words in outcome.results for word in words]:
        raise ToolError(f"{found.directory.name}: the mapped netlist gave other words in {[*run.windows]}.")
    return dict(zip(run.windows, counted, strict=True))


def blocks(by_path: Mapping[str, float]) -> dict[str, float]:
    """pJ by block: instances of the top, those of the lanes and of generate blocks apart."""
    sums: dict[str, float] = defaultdict(float)
    for path, energy in by_path.items():
        parts = [re.sub(r"\[\d+\]", "", part) for part in path.split(".")]
        sums[".".join(parts[:2]) if parts[0] in ("u_lanes", "u_stream") else parts[0]] += energy
    return {block: round(energy) for block, energy in sorted(sums.items(), key=lambda item: -item[1])}


def report(wanted: list[str]) -> dict[str, Any]:
    at = corners.at_corners(mapped())
    operations = {}
    for names, make in RUNS.items():
        if wanted and not set(names) & set(wanted):
            continue
        run = make()
        for name, activity in activities(at["typical"], run).items():
            start, end = run.windows[name]
            taken = corners.energies(at, activity, end - start)
            operations[name] = {**taken, "by_path_pj": blocks(taken["by_path_pj"])}
    return {**corners.about(at), "operations": operations}


def main() -> int:
    known = {name for names in RUNS for name in names}
    if unknown := set(sys.argv[1:]) - known:
        print(
            f"{sorted(unknown)[0]} is no operation: give some of {', '.join(sorted(known))}.", file=sys.stderr
        )
        return 2
    try:
        print(json.dumps(report(sys.argv[1:])))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
