# SPDX-License-Identifier: Apache-2.0
"""The door to applications of SEAL: ciphertexts under SEAL's own chains come in, and results go back, for the
keys that were made for SEAL's secret key."""

from __future__ import annotations

from ciphermote.base.arguments import Bytes
from ciphermote.base.errors import ParameterError
from ciphermote.ciphertext import Ciphertext, SealResult
from ciphermote.formats.labels import check_key
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.noise import Key
from ciphermote.parameters.seal_chain import SealChain


def imported_from_seal(
    chain: SealChain | None,
    parameters: ParameterSet,
    data: Bytes,
    key_id: int,
    primes: int | None = None,
    largest: float | None = None,
    error: float | Key | None = None,
) -> Ciphertext:
    """Read a ciphertext that SEAL saved under the chain of these keys, as Ciphertext.from_seal_chain does.
    Raises ParameterError if the keys have no chain of SEAL's."""
    return Ciphertext.from_seal_chain(
        data,
        _of_seal(chain),
        parameters,
        key_id=key_id,
        primes=primes,
        largest=largest,
        error=error,
    )


def exported_to_seal(
    chain: SealChain | None,
    parameters: ParameterSet,
    key_id: int,
    ciphertext: Bytes | Ciphertext,
    primes: int | None = None,
    *,
    bare: bool = False,
) -> SealResult:
    """Bring a ciphertext back to the chain of these keys, as Ciphertext.to_seal_chain does. bare: accept one
    that names no key. Raises MismatchError for one under another key; ParameterError if the keys have no
    chain of SEAL's."""
    of = _of_seal(chain)
    given = ciphertext
    if not isinstance(given, Ciphertext):
        given = Ciphertext.from_bytes(given, parameters, of.scheme if bare else None)
    check_key("the ciphertext", given.key_id, "the keys", key_id, bare=bare)
    return given.to_seal_chain(of, primes=primes)


def _of_seal(chain: SealChain | None) -> SealChain:
    if chain is None:
        raise ParameterError(
            "These keys were not made for a secret key of SEAL's, so nothing says which chain SEAL uses: "
            "make them with `ciphermote keygen --import-secret KEY --seal-parameters FILE` (in Python, "
            "Owner.from_seal)."
        )
    return chain
