# SPDX-License-Identifier: Apache-2.0
"""The schemes: CKKS for real numbers, BFV(t) for integers modulo t."""

from __future__ import annotations

from dataclasses import dataclass

from ciphermote.base.arguments import instance, whole

LARGEST_PLAIN_MODULUS = 2**32 - 1
A_SCHEME = "CKKS or BFV(t) (ciphermote.CKKS, ciphermote.BFV)"


@dataclass(frozen=True, repr=False)
class Scheme:
    """CKKS, or BFV with its plain modulus. Write CKKS and BFV(t), and compare with ==.

    plain_modulus: BFV's t; 0 for CKKS, which has none. Scheme(0) is CKKS, as in the formats that carry the
    plain modulus as a number.
    """

    plain_modulus: int = 0

    @property
    def is_bfv(self) -> bool:
        """Whether it computes exactly on integers, rather than on real numbers."""
        return self.plain_modulus != 0

    @property
    def name(self) -> str:
        """BFV or CKKS."""
        return "BFV" if self.is_bfv else "CKKS"

    @property
    def code(self) -> int:
        """SEAL's number of the scheme, which frames, labels and parms_ids carry: 1 for BFV, 2 for CKKS."""
        return BFV_CODE if self.is_bfv else CKKS_CODE

    def __str__(self) -> str:
        return f"BFV modulo {self.plain_modulus}" if self.is_bfv else "CKKS"

    def __repr__(self) -> str:
        return f"BFV({self.plain_modulus})" if self.is_bfv else "CKKS"


BFV_CODE = 1
CKKS_CODE = 2
CKKS = Scheme()
"""The scheme for approximate real or complex numbers."""


def BFV(plain_modulus: int) -> Scheme:
    """Return the scheme for exact integers modulo plain_modulus, 2 to 2^32 - 1. Raises ParameterError for
    another modulus."""
    name = "The plain modulus (--plain-modulus)"
    return Scheme(whole(plain_modulus, name, 2, LARGEST_PLAIN_MODULUS, "2^32 - 1"))


def scheme_of_modulus(plain_modulus: int) -> Scheme:
    """Return BFV modulo plain_modulus, or CKKS for 0, as on the command line. Raises ParameterError."""
    if isinstance(plain_modulus, int) and not isinstance(plain_modulus, bool) and plain_modulus == 0:
        return CKKS
    return BFV(plain_modulus)


def checked_scheme(given: Scheme) -> Scheme:
    """Check and return a scheme. Raises ParameterError for anything else, such as a plain modulus."""
    return instance(given, Scheme, "scheme", A_SCHEME)
