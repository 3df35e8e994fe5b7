# SPDX-License-Identifier: Apache-2.0
"""A computation on a ciphertext as data: a short straight-line program over registers.

A plan (linear_plans.py) writes it, an engine runs it; neither needs to know the other. Register 0 holds the
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

from ciphermote.base.arguments import array
from ciphermote.base.errors import ParameterError
from ciphermote.parameters import ParameterSet, Scheme
from ciphermote.parameters.bounds import UNKNOWN, Known, check_digits, check_room, terms_of_product
from ciphermote.parameters.uncertainty import FLOAT_ROUNDING, Uncertainty

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
    """A vector in the clear, float64 with at most as many numbers as slots (the rest are zeros), and its
    scale in multiply_plain."""

    values: NDArray[np.float64]
    scale: float = 1.0

    def __post_init__(self) -> None:
        found = array(self.values)
        if found.ndim != 1 or found.dtype.kind not in "biuf":
            raise ParameterError(
                f"A constant of type {found.dtype} and shape {list(found.shape)} is given: give real numbers "
                "in one dimension."
            )
        object.__setattr__(self, "values", found.astype(np.float64))

    @cached_property
    def largest(self) -> float:
        """The vector's largest magnitude."""
        return float(np.abs(self.values).max(initial=0.0))

    def multiplied(self, known: Known, parameters: ParameterSet) -> Known:
        """Return what is known of a ciphertext's product with this constant, including the rounding at its
        scale."""
        first = float(self.values[0]) if self.values.size else 0.0
        if self.values.size >= parameters.slots and (self.values == first).all():
            return known.times_rounded(first, self.scale)
        if known.error is None or known.largest is None:
            return known.times_slots(self.largest)
        rounding = Uncertainty.of_weights(parameters, self.scale, known.largest)
        rounding = rounding.biased(FLOAT_ROUNDING * self.largest * known.largest)
        return known.times_slots(self.largest).plus_noise(rounding)


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in order; the result is the last step's target.

    model_id: ID of the model whose scores the result is (LinearModel.id), or None. result: what the planner
    knows about the values in the result and in every intermediate one; None: an engine follows the steps,
    which bounds sums of rotations more coarsely.
    """

    steps: tuple[Step, ...]
    constants: tuple[Constant, ...]
    model_id: int | None = None
    result: Known | None = None

    def __post_init__(self) -> None:
        made = {0}
        for number, step in enumerate(self.steps, 1):
            taken = {step.source}
            if step.operation in ("add", "multiply"):
                taken.add(step.argument)
            if missing := taken - made:
                raise ParameterError(
                    f"Step {number} of the program ({step.operation}) takes register {min(missing)}, which "
                    "no step before it makes: 0 is the program's input."
                )
            plain = step.operation in ("multiply_plain", "add_plain")
            if plain and not 0 <= step.argument < len(self.constants):
                raise ParameterError(
                    f"Step {number} of the program ({step.operation}) takes constant {step.argument}, and "
                    f"there are {len(self.constants)}, numbered from 0."
                )
            made.add(step.target)

    @cached_property
    def rotation_steps(self) -> tuple[int, ...]:
        """The rotations that need a Galois key, ascending."""
        return tuple(sorted({step.argument for step in self.steps if step.operation == "rotate"}))

    @cached_property
    def digest(self) -> str:
        """A digest that is equal for equal programs."""
        rows = [(s.operation, s.target, s.source, s.argument) for s in self.steps]
        digest = hashlib.blake2b(json.dumps(rows).encode(), digest_size=16)
        for constant in self.constants:
            digest.update(f"{constant.scale!r} {constant.values.size} ".encode() + constant.values.tobytes())
        return digest.hexdigest()

    def follow(
        self,
        given: Known,
        parameters: ParameterSet,
        primes: int,
        scale: float,
        scheme: Scheme,
        *,
        centred: bool = True,
    ) -> Known:
        """Return what is known of the result, for a ciphertext about which `given` is known, with this number
        of primes and this scale. centred: whether digits of key switching are centred
        (noise.switching_noise). Raises ValueRangeError if a step may exceed the modulus."""
        if self.result is not None:
            return self.result
        registers = {0: _Register(given, primes, scale)}
        target = 0
        for number, step in enumerate(self.steps, 1):
            source, target = registers[step.source], step.target
            after = self._after(step, source, registers, parameters, scheme, centred=centred)
            what = f"Step {number} of the program ({step.operation})"
            check_room(what, after.known.largest, parameters, after.primes, after.scale, scheme)
            registers[target] = after
        return registers[target].known

    def _after(
        self,
        step: Step,
        source: _Register,
        registers: dict[int, _Register],
        parameters: ParameterSet,
        scheme: Scheme,
        *,
        centred: bool,
    ) -> _Register:
        """Follow one step. Errors are followed too, which BFV's integers do not have."""
        known = source.known
        match step.operation:
            case "multiply_plain":
                constant = self.constants[step.argument]
                known = constant.multiplied(known, parameters)
                return replace(source, known=known, scale=source.scale * constant.scale)
            case "add_plain":
                known = known.plus_slots(self.constants[step.argument].largest)
                noise = Uncertainty.encoding(parameters, source.scale)
                noise = noise.biased(FLOAT_ROUNDING * self.constants[step.argument].largest)
                return replace(source, known=known.plus_noise(noise))
            case "add":
                return replace(source, known=known.plus(registers[step.argument].known))
            case "multiply":
                other = registers[step.argument]
                for each in (source, other):
                    check_digits("A factor", each.known, parameters)
                scale = source.scale * other.scale
                same = step.argument == step.source
                product = known.square() if same else known.product(other.known)
                product = product.times(terms_of_product(parameters, scheme))
                return replace(
                    source,
                    known=_switched(product, parameters, source.primes, scale, centred=centred),
                    scale=scale,
                )
            case "rescale":
                scale = source.scale / parameters.primes[source.primes - 1]
                known = known.plus_noise(Uncertainty.rescaling(parameters, scale))
                return _Register(known, source.primes - 1, scale)
            case "keep_primes":
                return replace(source, primes=min(source.primes, step.argument))
            case "rotate":
                known = _switched(known, parameters, source.primes, source.scale, centred=centred)
                return replace(source, known=known)
        return replace(source, known=UNKNOWN)


@dataclass(frozen=True)
class _Register:
    """Knowledge about a register while a program is followed."""

    known: Known
    primes: int
    scale: float


def _switched(known: Known, parameters: ParameterSet, primes: int, scale: float, *, centred: bool) -> Known:
    """Add the error of a key switch, if the set has a key prime."""
    if known.error is None or not parameters.special_primes:
        return known
    return known.plus_noise(Uncertainty.switching(parameters, primes, scale, centred=centred))
