# SPDX-License-Identifier: Apache-2.0
"""The compact sets: rings, moduli and numbers of bits sent. core/src/params/compact_sets.c is generated from
this module."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ciphermote.base.errors import ParameterError
from ciphermote.parameters import ParameterSet

OVERHEAD_BYTES = 35
"""Bytes of a packet's header and tag."""


@dataclass(frozen=True)
class CompactSet:
    """A ring of degree n modulo Q, the product of primes; values modulo t, without the low bits of c0.

    ``largest_value`` is the most that a device of this set may be enrolled for; ``usual_value`` and
    ``usual_devices`` describe the sum that the set is made for: one value of at most usual_value from each of
    usual_devices devices.
    """

    id: int
    name: str
    n: int
    primes: tuple[int, ...]
    plain_modulus: int
    largest_value: int
    usual_value: int
    usual_devices: int
    dropped_bits: int

    @property
    def log2_n(self) -> int:
        return self.n.bit_length() - 1

    @property
    def modulus(self) -> int:
        """Q."""
        return math.prod(self.primes)

    @cached_property
    def parameters(self) -> ParameterSet:
        """The set's ring, whose primes are all data primes."""
        return ParameterSet(f"compact_{self.name}", self.n, self.primes, key_switching=False)

    @property
    def largest_payload(self) -> int:
        """The largest coefficient without its low bits."""
        return (self.modulus - 1) >> self.dropped_bits

    @property
    def wire_bits(self) -> int:
        """The bits of a coefficient on the wire."""
        return self.largest_payload.bit_length()

    def packet_bytes(self, values: int) -> int:
        """Return the bytes of a packet with `values` values: header, coefficients and tag
        (docs/wire-format.md)."""
        return OVERHEAD_BYTES + (values * self.wire_bits + 7) // 8

    def packet_values(self, packet_bytes: int) -> int:
        """Return the most values that fit a packet of `packet_bytes`; 0 or less if none fits."""
        return min(self.n, 8 * (packet_bytes - OVERHEAD_BYTES) // self.wire_bits)


A10 = CompactSet(1, "a10", 1024, (1038337,), 4091, 4090, 409, 10, 4)
A16 = CompactSet(2, "a16", 1024, (1038337,), 4081, 4080, 255, 16, 3)
B = CompactSet(3, "b", 1024, (67104769,), 65473, 4095, 1023, 64, 4)
C = CompactSet(4, "c", 2048, (1032193, 995329), 4095001, 4095, 4095, 1000, 10)
D = CompactSet(5, "d", 2048, (1032193, 995329), 40950001, 4095, 4095, 10_000, 5)
L = CompactSet(6, "l", 1024, (67104769,), 32641, 4095, 255, 128, 2)

COMPACT_SETS = (A10, A16, B, C, D, L)
"""In the order of their ids, which are stable."""


def compact_set(name: str) -> CompactSet:
    """Return the set of this name. Raises ParameterError."""
    for found in COMPACT_SETS:
        if found.name == name:
            return found
    names = ", ".join(found.name for found in COMPACT_SETS)
    raise ParameterError(f"There is no compact set {name!r}: give one of {names}.")


def compact_set_by_id(identifier: int) -> CompactSet:
    """Return the set with this id on the wire. Raises ParameterError."""
    for found in COMPACT_SETS:
        if found.id == identifier:
            return found
    raise ParameterError(f"No compact set has the id {identifier}: update the package, or drop the bytes.")
