#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure Python's overhead over the native calls: to load, encrypt, compute on and decrypt a ciphertext.

`make bench-python` writes bench/results/python.json. Each row compares what a user calls with the native call
that does the work, in turns in one process; a figure is the median of the turns' ratios, or of their
differences.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import ciphermote
import numpy as np
from ciphermote import _core, _evaluator, _owner
from ciphermote.formats.declaration import split
from ciphermote.parameters.native import context_of, core_params
from rich.console import Console
from rich.table import Table

from bench.rows import Row, timed, write_results

ROOT = Path(__file__).resolve().parent.parent
SET = "n8192_q26x7_p27"
TURNS, SUMMED = 1000, 16
"""Turns of each row; ciphertexts in a sum."""

Call = Callable[[], object]


def seconds(call: Call) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def in_turns(ours: Call, native: Call, turns: int) -> list[tuple[float, float]]:
    """Seconds of both, each going first in turn; the first turns, which fill caches, are left out."""
    found = []
    for turn in range(turns + 3):
        first, second = (ours, native) if turn % 2 else (native, ours)
        pair = seconds(first), seconds(second)
        found.append(pair if turn % 2 else pair[::-1])
    return found[3:]


class Bench:
    """Keys and ciphertexts, and a row for each thing that a user does."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.owner = ciphermote.Owner.generate(SET, largest=50)
        self.evaluator = ciphermote.Evaluator(self.owner.evaluation_keys)
        self.parameters = self.owner.parameters
        self.context, self.params = context_of(self.parameters), core_params(self.parameters)
        self.values = np.random.default_rng(1).uniform(-50, 50, self.parameters.slots)
        self.loaded = [ciphermote.encrypt(self.values, self.owner.secret_key) for _ in range(SUMMED)]
        self.frames = [each.to_frames() for each in self.loaded]

    def rows(self) -> Iterator[Row]:
        for name, (ours, native) in {
            "load_frames.ratio_to_unpack": self.load_frames(),
            "decrypt.ratio_to_native": self.decrypt(),
            "encrypt.ratio_to_native": self.encrypt(),
            "sum.ratio_to_native": self.sum(),
            "multiply.ratio_to_native": self.multiply(),
        }.items():
            pairs = in_turns(ours, native, self.turns)
            params = {"set": SET, "turns": self.turns, "kind": "measured"}
            params["native_us"] = round(1e6 * median(theirs for _, theirs in pairs), 1)
            yield Row(name, round(median(mine / theirs for mine, theirs in pairs), 3), "ratio", params)
        pairs = in_turns(*self.add(), self.turns)
        params = {"set": SET, "turns": self.turns, "kind": "measured"}
        overhead = median(mine - theirs for mine, theirs in pairs)
        yield Row("operator_add.overhead_us", round(1e6 * overhead, 2), "us", params)

    def load_frames(self) -> tuple[Call, Call]:
        """Beside the call that checks every field and checksum, unpacks into memory that is there, and
        expands the seed."""
        (_, frames), there = split(self.frames[0]), self.loaded[1].hosted
        return (
            lambda: self.evaluator.load(self.frames[0]),
            lambda: there.read_frames(self.params, frames),
        )

    def decrypt(self) -> tuple[Call, Call]:
        x, secret = self.loaded[0], self.owner.secret_key
        return lambda: self.owner.decrypt(x), lambda: _owner.decrypt(x.hosted, secret.hosted)

    def encrypt(self) -> tuple[Call, Call]:
        """Beside the C library's call, which writes the frames."""
        key = self.owner.secret_key
        stored = [1]
        device = _core.Device(
            os.urandom(32), os.urandom, lambda: stored[0], lambda value: stored.insert(0, value)
        )
        numbers = np.rint(np.ldexp(self.values, 47)).astype(np.int64)
        of = self.params, key.packed, key.key_id, 3, numbers, 22, 63, False, -47, "frames", 50.0
        return lambda: ciphermote.encrypt(self.values, key), lambda: device.encrypt_symmetric(*of)

    def sum(self) -> tuple[Call, Call]:
        def native() -> object:
            total = _evaluator.Sum(self.context)
            for x in self.loaded:
                total.add(x.hosted)
            return total.total()

        return lambda: self.evaluator.sum(self.loaded), native

    def multiply(self) -> tuple[Call, Call]:
        x, y = self.loaded[:2]
        keys = self.evaluator.keys
        return (
            lambda: self.evaluator.multiply(x, y),
            lambda: _evaluator.relinearize(_evaluator.multiply(x.hosted, y.hosted), keys),
        )

    def add(self) -> tuple[Call, Call]:
        x, y = self.loaded[:2]
        return lambda: x + y, lambda: _evaluator.add(x.hosted, y.hosted)


def main() -> int:
    parser = argparse.ArgumentParser(description="What Python adds to the native calls under it.")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/python.json")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    rows = list(Bench(options.turns).rows())
    write_results(options.results, "make bench-python", f"numpy {np.__version__}", timed(rows))
    table = Table(title="Python beside the native calls")
    for title in ("row", "value", "native, us"):
        table.add_column(title, justify="left" if title == "row" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.value:,}", str(row.params.get("native_us", "")))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
