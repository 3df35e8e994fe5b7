# SPDX-License-Identifier: Apache-2.0
"""What to compute on a ciphertext, as data: a short straight-line program over registers.

A plan (inference.py) writes it, an engine runs it; neither needs to know the other. Register 0 holds the
input. A program has no branches and never holds a key.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ciphermote.bounds import UNKNOWN, Known, check_room
from ciphermote.parameters import ParameterSet

Operation = Literal["multiply_plain", "add_plain", "add", "multiply", "rotate", "rescale", "keep_primes"]


@dataclass(frozen=True)
class Step:
    """One operation: target = operation(source, argument).

    multiply_plain: argument numbers a constant, which is encoded at its own scale.
    add_plain: argument numbers a constant, which is encoded at the source's scale.
    add, multiply: argument is the other register; multiply relinearizes.
    rotate: slot j takes what slot j + argument held, cyclically over all slots.
    rescale: divide by the last prime, drop it, and the scale with it; argument is unused.
    keep_primes: drop primes until argument are left, the scale unchanged.
    """

    operation: Operation
    target: int
    source: int
    argument: int = 0


@dataclass(frozen=True, eq=False)
class Constant:
    """A vector in the clear, float64 [at most slots], the rest zeros, and its scale in multiply_plain."""

    values: NDArray[np.float64]
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in order; the result is the last step's target.

    model_id: of the model whose scores that is (LinearModel.id), or None. result: what the planner knows of
    the values in the result, and in all that is computed on the way; None: an engine follows the steps, which
    bounds sums of rotations more coarsely.
    """

    steps: tuple[Step, ...]
    constants: tuple[Constant, ...]
    model_id: int | None = None
    result: Known | None = None

    @cached_property
    def rotation_steps(self) -> tuple[int, ...]:
        """The rotations it needs a Galois key for, ascending."""
        return tuple(sorted({step.argument for step in self.steps if step.operation == "rotate"}))

    @cached_property
    def digest(self) -> str:
        """Names the program: equal programs have equal digests."""
        rows = [(s.operation, s.target, s.source, s.argument) for s in self.steps]
        digest = hashlib.blake2b(json.dumps(rows).encode(), digest_size=16)
        for constant in self.constants:
            digest.update(f"{constant.scale!r} {constant.values.size} ".encode() + constant.values.tobytes())
        return digest.hexdigest()

    def follow(
        self, given: Known, parameters: ParameterSet, primes: int, scale: float, plain_modulus: int
    ) -> Known:
        """What is known of the result of a ciphertext of which `given` is known, with so many primes at this
        scale. ValueRangeError if a step may outgrow the modulus."""
        if self.result is not None:
            return self.result
        registers = {0: _Register(given, primes, scale)}
        target = 0
        for number, step in enumerate(self.steps, 1):
            source, target = registers[step.source], step.target
            after = self._after(step, source, registers, parameters)
            what = f"Step {number} of the program ({step.operation})"
            check_room(what, after.known.largest, parameters, after.primes, after.scale, plain_modulus)
            registers[target] = after
        return registers[target].known

    def _after(
        self, step: Step, source: _Register, registers: dict[int, _Register], parameters: ParameterSet
    ) -> _Register:
        match step.operation:
            case "multiply_plain":
                constant = self.constants[step.argument]
                return replace(
                    source, known=source.known.times(_largest(constant)), scale=source.scale * constant.scale
                )
            case "add_plain":
                return replace(source, known=source.known.plus_plain(_largest(self.constants[step.argument])))
            case "add":
                return replace(source, known=source.known.plus(registers[step.argument].known))
            case "multiply":
                other = registers[step.argument]
                return replace(
                    source, known=source.known.product(other.known), scale=source.scale * other.scale
                )
            case "rescale":
                last = parameters.primes[source.primes - 1]
                return replace(source, primes=source.primes - 1, scale=source.scale / last)
            case "keep_primes":
                return replace(source, primes=min(source.primes, step.argument))
            case "rotate":
                return source
        return replace(source, known=UNKNOWN)


@dataclass(frozen=True)
class _Register:
    """What is known of a register as a program is followed."""

    known: Known
    primes: int
    scale: float


def _largest(constant: Constant) -> float:
    return float(np.abs(constant.values).max(initial=0.0))
