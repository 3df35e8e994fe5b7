# SPDX-License-Identifier: Apache-2.0
"""What to compute on a ciphertext, as data: a short straight-line program over registers.

A plan (inference.py) writes it, an engine runs it; neither needs to know the other. Register 0 holds the
input. A program has no branches and never holds a key.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
    """Steps in order; the result is the last step's target. model_id: of the model whose scores that is
    (LinearModel.id), or None."""

    steps: tuple[Step, ...]
    constants: tuple[Constant, ...]
    model_id: int | None = None

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
