"""What the AVR tests share: the library's kernels in simulated cores, and reference transforms."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "avr"))

from machine import Machine, build_image, build_simulator  # noqa: E402

BUILD = ROOT / "build" / "avr"
KERNELS = ROOT / "core/src/ring/arch/avr"
FIRMWARE = ROOT / "bench/avr/firmware"
RAM_START = 0x200
"""Behind the few variables of an image."""


FLAGS = ("-O2", "-DCM_ASM=1", "-DCM_MAX_LOG2_N=10")


def open_machine(name: str, *sources: Path, main: Path = FIRMWARE / "idle.c") -> Machine:
    """A core that stands in main, with functions to call."""
    image = build_image(BUILD / f"{name}.elf", [main, *sources], "atmega328p", FLAGS)
    machine = Machine(build_simulator(BUILD), image, "atmega328p")
    machine.run_to("main")
    return machine


def open_kernels(name: str, *sources: Path) -> Machine:
    """The same with the functions of kernels.c."""
    return open_machine(name, *sources, main=FIRMWARE / "kernels.c")


def bit_reversed(i: int, bits: int) -> int:
    return int(f"{i:0{bits}b}"[::-1], 2)


@cache
def smallest_root(q: int, order: int) -> int:
    """The smallest primitive root of unity mod q of an order that is a power of two."""
    return next(x for x in range(2, q) if pow(x, order // 2, q) == q - 1)


@cache
def evaluation(q: int, n: int) -> np.ndarray:
    """The negacyclic transform in SEAL's order, n x n: row i has the powers of psi^(2 bitrev(i) + 1)."""
    psi = smallest_root(q, 2 * n)
    powers = np.array([pow(psi, e, q) for e in range(2 * n)], dtype=np.int64)
    exponents = np.array([2 * bit_reversed(i, n.bit_length() - 1) + 1 for i in range(n)], dtype=np.int64)
    return powers[np.outer(exponents, np.arange(n)) % (2 * n)]


def transform(a: np.ndarray, q: int) -> np.ndarray:
    """By definition: each output is the polynomial at one point."""
    matrix = evaluation(q, len(a))
    out = np.zeros(len(a), dtype=np.int64)
    for start in range(0, len(a), 64):  # 64 products of 52 bits fit in 63
        out = (out + matrix[:, start : start + 64] @ a[start : start + 64]) % q
    return out


def negacyclic_product(a: np.ndarray, b: np.ndarray, q: int) -> np.ndarray:
    """By the schoolbook, for q below 2^14."""
    n = len(a)
    full = np.convolve(a, b)
    full = np.concatenate([full, np.zeros(2 * n - len(full), dtype=np.int64)])
    return (full[:n] - full[n:]) % q


def edge_vectors(q: int, n: int) -> list[np.ndarray]:
    """All 0, all q - 1, and both in turn."""
    return [
        np.zeros(n, dtype=np.int64),
        np.full(n, q - 1, dtype=np.int64),
        np.where(np.arange(n) % 2, q - 1, 0).astype(np.int64),
        np.where(np.arange(n) < n // 2, q - 1, 0).astype(np.int64),
    ]
