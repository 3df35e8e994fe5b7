# SPDX-License-Identifier: Apache-2.0
"""Residues that cm_client_shake makes under Verilator, and those that SEAL's rules give."""

from __future__ import annotations

import hashlib
import itertools
import struct
import subprocess
from collections.abc import Iterator, Sequence

from verilated import HARNESS, verilate

from tools import CLIENT_INCLUDES, CLIENT_SOURCES

TOP = "cm_client_shake"
BLOCK_BYTES = 4096


def words(seed: bytes, block: int) -> Iterator[int]:
    """The stream from a block on, a u64 at a time."""
    for number in itertools.count(block):
        data = hashlib.shake_256(seed + number.to_bytes(8, "little")).digest(BLOCK_BYTES)
        yield from (word for (word,) in struct.iter_unpack("<Q", data))


def expected(seed: bytes, primes: Sequence[int], n: int) -> tuple[list[int], list[int]]:
    """The residues of all primes, in order, and the numbers of those for which a word was rejected, once for
    each (docs/wire-format.md)."""
    replacements = words(seed, len(primes) * n * 8 // BLOCK_BYTES)
    residues: list[int] = []
    rejected, most = [], 2**64 - 1
    for q, x in zip([q for q in primes for _ in range(n)], words(seed, 0), strict=False):
        while x >= most - most % q - 1:
            x = next(replacements)
            rejected.append(len(residues))
        residues.append(x % q)
    return residues, rejected


def made(
    width: int, log2_n: int, jobs: Sequence[tuple[bytes, int, Sequence[int]]]
) -> list[tuple[int, list[int]]]:
    """For each job of a seed, how many of 256 cycles pause, and primes: cycles, and residues."""
    shape = {"WIDTH": width, "LOG2_N": log2_n, "LOG2_PRIMES": 2}
    program = verilate(
        TOP, f"w{width}-n{log2_n}", shape, [*CLIENT_SOURCES, HARNESS / "shake.cpp"], CLIENT_INCLUDES
    )
    lines = "".join(f"{seed.hex()} {stall} {' '.join(map(str, primes))}\n" for seed, stall, primes in jobs)
    said = subprocess.run(
        [program], input=lines, capture_output=True, text=True, check=True, timeout=600
    ).stdout
    numbers = [list(map(int, line.split())) for line in said.splitlines()]
    return [(cycles, residues) for cycles, *residues in numbers]
