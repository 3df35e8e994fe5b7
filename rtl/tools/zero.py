# SPDX-License-Identifier: Apache-2.0
"""Runs cm_zero_encrypt (rtl/zero) under Verilator, and measures it.

    build/rtl-venv/bin/python rtl/tools/zero.py

prints as JSON the cycles of a zero encryption and of a decryption by a published measure (docs/client-
engine.md) for both pipelines, after comparing the results with a model, and the numbers of modular
multipliers and of bits of memory. zero_energy.py maps the deep pipeline to standard cells.
"""

from __future__ import annotations

import fcntl
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from client import bit_reverse, montgomery_r
from client_memory import memories_of, modules_of

from golden import hardware as golden
from tools import BUILD, ENGINE_SOURCES, RTL, ZERO_SOURCES, ToolError, run

TOP = "cm_zero_encrypt"
SOURCES = [*ENGINE_SOURCES, *ZERO_SOURCES]
INCLUDES = [f"-I{RTL / 'engine'}"]
Word = tuple[int, int, int, int]
"""What the host writes at once: kind, layer, address, data."""
U, ERROR, TWIDDLE, KEY, ROW = range(5)


@dataclass(frozen=True)
class Shape:
    """Parameters of cm_zero_encrypt."""

    LOG2_N: int = 12
    WIDTH: int = 40
    PRIMES: int = 3
    ERROR_BITS: int = 6
    DEEP: int = 1

    @property
    def name(self) -> str:
        return f"n{1 << self.LOG2_N}-w{self.WIDTH}-p{self.PRIMES}-d{self.DEEP}"

    @property
    def n(self) -> int:
        return 1 << self.LOG2_N


# --- words ------------------------------------------------------------------------------------------------


def packed(fields: Iterable[int], bits: int) -> int:
    """Fields without gaps, the first one lowest; negative ones in two's complement."""
    return sum((x & ((1 << bits) - 1)) << bits * i for i, x in enumerate(fields))


def row_places(shape: Shape) -> Iterator[list[int]]:
    """The coefficients in each row of a page, in its order."""
    for r in range(shape.n // 4):
        yield [h << (shape.LOG2_N - 1) | r << 1 | v for v in (0, 1) for h in (0, 1)]


def words_of_u(shape: Shape, u: Sequence[int]) -> Iterator[Word]:
    top = shape.LOG2_N - 1
    for a in range(shape.n // 8):
        places = [x << top | h << (top - 1) | a << 1 | v for x in (0, 1) for h in (0, 1) for v in (0, 1)]
        yield U, 0, a, packed((u[i] for i in places), 2)


def words_of_errors(shape: Shape, component: int, errors: Sequence[int]) -> Iterator[Word]:
    for r, places in enumerate(row_places(shape)):
        yield (
            ERROR,
            0,
            component << (shape.LOG2_N - 2) | r,
            packed((errors[i] for i in places), shape.ERROR_BITS),
        )


def words_of_page(shape: Shape, layer: int, page: int, residues: Sequence[int]) -> Iterator[Word]:
    for r, places in enumerate(row_places(shape)):
        yield ROW, layer, page << (shape.LOG2_N - 2) | r, packed((residues[i] for i in places), shape.WIDTH)


def words_of_twiddles(shape: Shape, layer: int, q: int, psi: int) -> Iterator[Word]:
    powers = [montgomery_r(shape.WIDTH, shape.LOG2_N) % q]
    for _ in range(shape.n - 1):
        powers.append(powers[-1] * psi % q)
    for j in range(shape.n):
        yield TWIDDLE, layer, j, powers[bit_reverse(j, shape.LOG2_N)]


def words_of_key(shape: Shape, layer: int, component: int, q: int, outputs: Sequence[int]) -> Iterator[Word]:
    """outputs: the transform of that component."""
    r = montgomery_r(shape.WIDTH, shape.LOG2_N)
    for i, x in enumerate(outputs):
        yield KEY, layer, component << shape.LOG2_N | i, x * r % q


def residues_of(shape: Shape, rows: Sequence[int]) -> list[int]:
    """The polynomial in a page's rows."""
    residues = [0] * shape.n
    for row, places in zip(rows, row_places(shape), strict=True):
        for c, i in enumerate(places):
            residues[i] = row >> shape.WIDTH * c & ((1 << shape.WIDTH) - 1)
    return residues


# --- the simulation ---------------------------------------------------------------------------------------


@cache
def build(shape: Shape) -> Path:
    """The program that simulates this shape."""
    directory = BUILD / "verilated" / f"zero-{shape.name}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    flags = " ".join(["-O1", "-std=c++17", *(f"-D{key}={value}" for key, value in vars(shape).items())])
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run at the same time share it
        run(
            [
                *("verilator", "--cc", "--exe", "--build", "-j", "1", "-O3", "-Wno-fatal", "-Wno-lint"),
                *("--top", TOP, "--Mdir", directory, *INCLUDES),
                *(f"-G{key}={value}" for key, value in vars(shape).items()),
                *("-CFLAGS", flags, "-MAKEFLAGS", "VM_PARALLEL_BUILDS=0 OPT_FAST=-O1"),
                *(*SOURCES, RTL / "harness/zero.cpp"),
            ],
            log=directory.with_suffix(".log"),
        )
    return directory / f"V{TOP}"


class Zero:
    """A script for one simulation."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.script: list[str] = []

    def ring(self, layer: int, q: int, psi: int) -> None:
        self.script.append(f"ring {layer} {q:x} {pow(psi, self.shape.n // 2, q):x}")
        self.write(words_of_twiddles(self.shape, layer, q, psi))

    def write(self, words: Iterable[Word]) -> None:
        self.script += [f"write {kind} {layer} {address} {data:x}" for kind, layer, address, data in words]

    def job(self, *, decrypt: bool = False) -> None:
        self.script.append(f"job {int(decrypt)}")

    def read(self, layer: int, page: int) -> None:
        self.script.append(f"read {layer} {page}")

    def simulate(self) -> tuple[list[int], list[list[int]]]:
        """Cycles of each job, from its start to its end, and what was read."""
        done = subprocess.run(
            [build(self.shape)],
            input="\n".join([*self.script, "quit"]) + "\n",
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode:
            raise ToolError(f"{TOP}: {done.stderr.strip()}")
        cycles, polynomials = [], []
        for line in done.stdout.splitlines():
            what, *rest = line.split()
            if what == "cycles":
                cycles.append(int(rest[0]))
            else:
                polynomials.append(residues_of(self.shape, [int(row, 16) for row in rest]))
        return cycles, polynomials


# --- the bench --------------------------------------------------------------------------------------------


@dataclass
class Inputs:
    """Random inputs at primes of all the bits: what the host writes, and the polynomials that a zero
    encryption leaves in pages 0 and 1, and a decryption in page 0, by layer."""

    rings: list[golden.Ring]
    encryption: list[Word]
    decryption: list[Word]
    encrypted: list[list[int]]
    decrypted: list[list[int]]


def draw(shape: Shape, seed: int = 1) -> Inputs:
    rng = random.Random(seed)
    n = shape.n
    rings = [
        golden.Ring(golden.random_prime(rng, shape.LOG2_N, shape.WIDTH), shape.LOG2_N)
        for _ in range(shape.PRIMES)
    ]
    found = Inputs(rings, [], [], [], [])
    u = [rng.choice((-1, 0, 1)) for _ in range(n)]
    errors = [[rng.randint(-21, 21) for _ in range(n)] for _ in range(2)]
    found.encryption += words_of_u(shape, u)
    for component in range(2):
        found.encryption += words_of_errors(shape, component, errors[component])
    for layer, ring in enumerate(rings):
        for component in range(2):
            key = [rng.randrange(ring.q) for _ in range(n)]
            found.encryption += words_of_key(shape, layer, component, ring.q, ring.forward(key))
            product = ring.multiply([x % ring.q for x in u], key)
            found.encrypted.append(
                [(x + e) % ring.q for x, e in zip(product, errors[component], strict=True)]
            )
    for layer, ring in enumerate(rings):
        secret = [rng.choice((-1, 0, 1)) % ring.q for _ in range(n)]
        c0, c1 = ([rng.randrange(ring.q) for _ in range(n)] for _ in range(2))
        found.decryption += words_of_key(shape, layer, 0, ring.q, ring.forward(secret))
        found.decryption += words_of_page(shape, layer, 0, c1)
        found.decryption += words_of_page(shape, layer, 1, c0)
        found.decrypted.append([(x + y) % ring.q for x, y in zip(ring.multiply(secret, c1), c0, strict=True)])
    return found


def times(shape: Shape, seed: int = 1) -> dict[str, int]:
    """Cycles of both jobs. Raises ToolError if a residue is wrong."""
    inputs = draw(shape, seed)
    hardware = Zero(shape)
    for layer, ring in enumerate(inputs.rings):
        hardware.ring(layer, ring.q, ring.psi)
    hardware.write(inputs.encryption)
    hardware.job()
    for layer in range(shape.PRIMES):
        for page in range(2):
            hardware.read(layer, page)
    hardware.write(inputs.decryption)
    hardware.job(decrypt=True)
    for layer in range(shape.PRIMES):
        hardware.read(layer, 0)
    cycles, got = hardware.simulate()
    if got != [*inputs.encrypted, *inputs.decrypted]:
        raise ToolError(f"{TOP}: the residues are not those of the model")
    return {"zero_encryption": cycles[0], "delta_m_decryption": cycles[1]}


@cache
def counts(shape: Shape) -> dict[str, int]:
    """Modular multipliers and bits of memory in the elaborated design."""
    modules, top = modules_of(TOP, shape.name, SOURCES, INCLUDES, vars(shape))

    def of(name: str) -> int:
        types = [cell["type"] for cell in modules[name]["cells"].values()]
        return sum(
            ("cm_montgomery_multiply" in kind) + (of(kind) if kind in modules else 0) for kind in types
        )

    memories = memories_of(modules, top)
    bits = sum(count * words * width for (words, width), count in memories.items())
    return {"multipliers": of(top), "memory_bits": bits}


def main() -> int:
    shapes = {"deep": Shape(), "shallow": Shape(DEEP=0)}
    try:
        taken = {pipeline: times(shape) for pipeline, shape in shapes.items()}
        counted = {pipeline: counts(shape) for pipeline, shape in shapes.items()}
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    of = Shape()
    about = {"n": of.n, "width": of.WIDTH, "primes": of.PRIMES}
    print(json.dumps({**about, "counts": counted, "cycles": taken}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
