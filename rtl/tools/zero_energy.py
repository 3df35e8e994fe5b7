# SPDX-License-Identifier: Apache-2.0
"""Area, timing and energies of cm_zero_encrypt (rtl/zero) on the open library, before layout.

    CIPHERMOTE_PDK=<folder> build/rtl-venv/bin/python rtl/tools/zero_energy.py [energy]

prints asic.Report as JSON and, with energy, what corners.py says of a zero encryption and of a decryption,
from the start of each to its end, with keys, errors and u in memory. The residues must be the model's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import asic
import corners
import gates
import zero
from zero import INCLUDES, SOURCES, TOP, Shape, Word

from tools import ToolError

APART = ("cm_butterfly", "cm_ram", "cm_ntt_control", "cm_zero_start", "cm_zero_layer")
HOLD = 3
"""Cycles from the address of a row to its residues."""
REST = 4


class _Stimulus:
    """The inputs of each cycle, and where the jobs and the rows that are read lie among them."""

    def __init__(self, shape: Shape, inputs: zero.Inputs) -> None:
        self.shape = shape
        roots = (pow(ring.psi, shape.n // 2, ring.q) for ring in inputs.rings)
        self.always = {
            "q_i": zero.packed((ring.q for ring in inputs.rings), shape.WIDTH),
            "root_i": zero.packed(roots, shape.WIDTH),
        }
        self.cycles: list[dict[str, int]] = [{**self.always, "rst_i": 1}] * 3
        self.jobs: list[tuple[int, int]] = []
        self.rows: list[int] = []

    def idle(self, count: int = REST) -> None:
        self.cycles += [self.always] * count

    def write(self, words: Iterable[Word]) -> None:
        names = ("write_kind_i", "write_layer_i", "write_address_i", "write_data_i")
        self.cycles += [
            {**self.always, "write_i": 1, **dict(zip(names, word, strict=True))} for word in words
        ]

    def job(self, cycles: int, *, decrypt: bool) -> None:
        self.idle()
        self.jobs.append((len(self.cycles), len(self.cycles) + cycles))
        self.cycles.append({**self.always, "start_i": 1, "decrypt_i": int(decrypt)})
        self.idle(cycles - 1 + REST)

    def read(self, layer: int, page: int) -> None:
        for row in range(self.shape.n // 4):
            address = {"read_layer_i": layer, "read_address_i": page << (self.shape.LOG2_N - 2) | row}
            self.cycles += [{**self.always, **address}] * HOLD
            self.rows.append(len(self.cycles) - 1)


def _stimulus(shape: Shape, inputs: zero.Inputs, cycles: dict[str, int]) -> _Stimulus:
    found = _Stimulus(shape, inputs)
    for layer, ring in enumerate(inputs.rings):
        found.write(zero.words_of_twiddles(shape, layer, ring.q, ring.psi))
    found.write(inputs.encryption)
    found.job(cycles["zero_encryption"], decrypt=False)
    for layer in range(shape.PRIMES):
        for page in range(2):
            found.read(layer, page)
    found.write(inputs.decryption)
    found.job(cycles["delta_m_decryption"], decrypt=True)
    for layer in range(shape.PRIMES):
        found.read(layer, 0)
    return found


def _polynomials(shape: Shape, rows: Sequence[int], outputs: Iterable[dict[str, int]]) -> Iterator[list[int]]:
    wanted = set(rows)
    read = [now["read_data_o"] for cycle, now in enumerate(outputs) if cycle in wanted]
    for start in range(0, len(read), shape.n // 4):
        yield zero.residues_of(shape, read[start : start + shape.n // 4])


def mapped() -> asic.Mapped:
    return asic.synthesise(TOP, SOURCES, vars(Shape()), apart=APART, includes=INCLUDES)


def energies(found: asic.Mapped) -> dict[str, Any]:
    """Measure both jobs. Raises ToolError if a residue is wrong."""
    shape = Shape()
    inputs, cycles = zero.draw(shape), zero.times(shape)
    at = corners.at_corners(found)
    stimulus = _stimulus(shape, inputs, cycles)
    clock_ns = at["typical"].clock_ns
    outputs, activities = gates.simulate(
        found.cells, found.directory, stimulus.cycles, stimulus.jobs, clock_ns
    )
    if [*_polynomials(shape, stimulus.rows, outputs)] != [*inputs.encrypted, *inputs.decrypted]:
        raise ToolError(f"{found.directory.name}: the mapped netlist gave other residues.")
    jobs = zip(cycles.items(), activities, strict=True)
    operations = {name: corners.energies(at, activity, count) for (name, count), activity in jobs}
    return {**corners.about(at), "operations": operations}


def main() -> int:
    try:
        found = mapped()
        report = asdict(asic.area(found))
        print(json.dumps({**report, **(energies(found) if "energy" in sys.argv[1:] else {})}))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
