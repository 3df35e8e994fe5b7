# SPDX-License-Identifier: Apache-2.0
"""The evaluator in hardware by definition: what its programs compute, instruction by instruction, in plain
integers, and the words of programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from golden.hardware import Montgomery, Ring

A, B, SET, ONE = range(4)
"""Sources of a term; as destinations, A, B and SET, the transformer's."""
HEADER, TERM, RECEIVE = range(3)


@dataclass(frozen=True)
class Term:
    """A word of the source times a weight, or, as a product, times a word of memory B."""

    source: int
    slot: int = 0
    factor: int = 0
    product: bool = False

    def word(self) -> int:
        return TERM << 62 | self.factor << 13 | int(self.product) << 12 | self.slot << 2 | self.source


@dataclass
class Instruction:
    """The sum of its terms, divided by R modulo a prime, or shifted with rounding where shift is not 0."""

    terms: list[Term]
    modulus: int = 0
    shift: int = 0
    destination: int = A
    slot: int = 0
    """The slot of a memory, or the transformer's set."""
    inverse: bool = False
    arrivals: int = 0
    send: bool = False
    end: bool = False

    def words(self) -> list[int]:
        header = HEADER << 62 | len(self.terms) | self.modulus << 8 | int(self.shift != 0) << 12
        header |= self.shift << 13 | self.destination << 19 | self.slot << 21 | self.arrivals << 31
        header |= int(self.inverse) << 22 | int(self.send) << 39 | int(self.end) << 40
        return [header, *(term.word() for term in self.terms)]


@dataclass
class Program:
    receives: list[tuple[int, int]]
    """Memory and slot of each packet."""
    instructions: list[Instruction] = field(default_factory=list)

    def words(self) -> list[int]:
        received = [RECEIVE << 62 | slot << 2 | memory for memory, slot in self.receives]
        return [*received, *(word for of in self.instructions for word in of.words())]


class Machine:
    """Memories, sets, moduli and weights; everything is zero at first."""

    def __init__(self, log2_n: int, width: int, slots: tuple[int, int], moduli: int, weights: int) -> None:
        self.log2_n = log2_n
        self.n = 1 << log2_n
        # So many steps of log2(2n) bits that a sum of 62 bits is below q R for primes of 20 bits.
        self.montgomery_bits = -(-43 // (log2_n + 1)) * (log2_n + 1)
        self.twiddle_r = Montgomery(width, log2_n).r
        self.memories = [[[0] * self.n for _ in range(count)] for count in slots]
        self.sets = [[0] * self.n for _ in range(2)]
        self.moduli: list[Ring | None] = [None] * moduli
        self.weights = [0] * weights

    def _factors(self, term: Term) -> list[int]:
        return self.memories[B][term.factor] if term.product else [self.weights[term.factor]] * self.n

    def _source(self, term: Term) -> list[int]:
        if term.source == ONE:
            return [1] * self.n
        return self.sets[term.slot] if term.source == SET else self.memories[term.source][term.slot]

    def execute(self, of: Instruction) -> list[int]:
        sums = [0] * self.n
        for term in of.terms:
            source, factors = self._source(term), self._factors(term)
            sums = [s + x * y for s, x, y in zip(sums, source, factors, strict=True)]
        assert max(sums) < 1 << 62
        ring = self.moduli[of.modulus]
        if of.shift:
            out = [(s + (1 << (of.shift - 1))) >> of.shift for s in sums]
        else:
            assert ring is not None and max(sums) >> self.montgomery_bits < ring.q
            r_inverse = pow(2, -self.montgomery_bits, ring.q)
            out = [s * r_inverse % ring.q for s in sums]
        if of.destination == SET:
            assert ring is not None
            self.sets[of.slot] = ring.inverse(out) if of.inverse else ring.forward(out)
        else:
            self.memories[of.destination][of.slot] = out
        return out

    def run(self, program: Program, operands: Sequence[list[int]]) -> list[list[int]]:
        """The results that it sends."""
        for (memory, slot), operand in zip(program.receives, operands, strict=True):
            self.memories[memory][slot] = list(operand)
        return [out for of in program.instructions for out in [self.execute(of)] if of.send]
