# SPDX-License-Identifier: Apache-2.0
"""Compact windows and sums as SEAL's ciphertexts of BFV, with zeros where nothing was sent.

SEAL decrypts them exactly at the positions that were sent; elsewhere it finds noise, and so calls their noise
budget 0. It does not notice when a sum exceeds t or its noise the modulus: bounds.check does. Windows that
SEAL adds up itself keep the bias that CompactSum subtracts (bounds.bias), a half each. Sums that the sets are
made for hold 2^-40 all the same, but for set d: up to MOST_SEAL_ADDS_OF_D of its windows.
"""

from __future__ import annotations

from ciphermote.base.errors import ParameterError
from ciphermote.compact.frames import Window
from ciphermote.compact.sets import CompactSet
from ciphermote.compact.sums import CompactResult, CompactSum
from ciphermote.formats import seal as sb
from ciphermote.parameters import BFV

MOST_SEAL_ADDS_OF_D = 6840


def seal_ciphertext(found: Window | CompactResult) -> sb.SealCiphertext:
    """Make a SEAL ciphertext in coefficient form, at all primes of the set. Raises ParameterError for a set
    that SEAL cannot represent."""
    if isinstance(found, Window):
        alone = CompactSum(found.set, found.key_id, found.positions.tolist())
        alone.add(found)
        found = alone.result()
    check_seal(found.set)
    return sb.SealCiphertext(
        found.set.parameters,
        len(found.set.primes),
        False,
        1.0,
        found.residues(),
        scheme=BFV(found.set.plain_modulus),
        key_id=found.key_id,
    )


def to_seal(found: Window | CompactResult) -> bytes:
    """Return SEAL's bytes and a label that names the key."""
    return sb.write_ciphertext(seal_ciphertext(found))


def parameters_to_seal(compact: CompactSet) -> bytes:
    """Return the set's parameters in SEAL's bytes."""
    check_seal(compact)
    return sb.write_parameters(compact.parameters, BFV(compact.plain_modulus))


def check_seal(compact: CompactSet) -> None:
    """Raises ParameterError if SEAL would keep the last prime for key switching, as it does whenever t is
    below the product of the others: its ciphertexts then lack that prime, and these would decrypt to
    arbitrary values."""
    if len(compact.primes) > 1 and compact.plain_modulus < compact.modulus // compact.primes[-1]:
        raise ParameterError(
            f"SEAL keeps the last prime of set {compact.name} for key switching, for t is below the others' "
            "product: decrypt its sums with the owner's keys instead."
        )
