# SPDX-License-Identifier: Apache-2.0
"""What engines share: which keys, ciphertexts and programs they take, and what names a result."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

from ciphermote import seal_bytes
from ciphermote.arguments import flag, modulus
from ciphermote.engine import Bytes, Engine, describe_content
from ciphermote.errors import EngineError, MismatchError
from ciphermote.labels import check_key
from ciphermote.parameters import ParameterSet, batches
from ciphermote.program import Program
from ciphermote.seal_bytes import Scheme, SchemeOptions, SealCiphertext, SealGaloisKeys, SealRelinKeys
from ciphermote.words import scale_name


class KeyedEngine(Engine):
    """An engine with an owner's evaluation keys, checked here: whatever is not such keys (a secret key, say)
    is refused. FrameError, MismatchError, ParameterError."""

    def __init__(
        self,
        parms: ParameterSet,
        *,
        galois_keys: Bytes | None,
        relin_keys: Bytes | None,
        plain_modulus: int,
        bare: bool,
    ) -> None:
        self.parms = parms
        self.plain_modulus = modulus(plain_modulus)
        self._bare = flag(bare, "bare (--bare)")
        self._scheme: SchemeOptions = {
            "scheme": Scheme.BFV if self.plain_modulus else Scheme.CKKS,
            "plain_modulus": self.plain_modulus,
        }
        self._galois: SealGaloisKeys | None = None
        self._relin: SealRelinKeys | None = None
        named: dict[str, int | None] = {}
        if galois_keys is not None:
            self._galois = seal_bytes.read_galois_keys(galois_keys, parms, **self._scheme)
            named["the Galois keys"] = self._galois.key_id
        if relin_keys is not None:
            self._relin = seal_bytes.read_relin_keys(relin_keys, parms, **self._scheme)
            named["the relinearization keys"] = self._relin.key_id
        self._has_keys = bool(named)
        self._all_named = None not in named.values()
        for (what, key_id), (other, other_id) in combinations_with_replacement(named.items(), 2):
            check_key(what, key_id, other, other_id, bare=self._bare)
        self.key_id = next((key_id for key_id in named.values() if key_id is not None), None)

    def check(self, ciphertext: Bytes) -> SealCiphertext:
        found = seal_bytes.read_ciphertext(ciphertext, self.parms, **self._scheme)
        wanted = self.key_id if self._has_keys else found.key_id
        check_key("the ciphertext", found.key_id, "the evaluation keys", wanted, bare=self._bare)
        return found

    def check_program(self, program: Program) -> None:
        """EngineError for what the scheme, the set or the keys do not have."""
        if self.plain_modulus and any(step.operation == "rescale" for step in program.steps):
            raise EngineError(
                "The program rescales, which is CKKS's alone: plan it for BFV (plan_linear's plain_modulus)."
            )
        if self.plain_modulus and program.constants and not batches(self.plain_modulus, self.parms.n):
            raise EngineError(
                f"Integers modulo {self.plain_modulus} are not batched at n = {self.parms.n}, which the "
                "program's constants need: take a prime that is 1 modulo 2n."
            )
        elements = self._galois.keys if self._galois else {}
        missing = [
            step
            for step in program.rotation_steps
            if seal_bytes.galois_element(self.parms.n, step) not in elements
        ]
        if missing:
            raise EngineError(
                f"The engine has no Galois keys for the rotations {', '.join(map(str, missing))}: have the "
                "owner make them (`ciphermote extend KEYS --model MODEL`; in Python, Owner.extend)."
            )
        if self._relin is None and any(step.operation == "multiply" for step in program.steps):
            raise EngineError(
                "The engine has no relinearization keys, which multiply needs: open it with them."
            )

    def named(self, result: SealCiphertext, key_id: int | None, model_id: int | None = None) -> bytes:
        """A result as bytes: of key_id, its source's, if that of the evaluation keys is known too. model_id:
        of the model whose scores it holds."""
        known = key_id if self._all_named else None
        return seal_bytes.write_ciphertext(replace(result, key_id=known, model_id=model_id))


def check_addable(ciphertext: SealCiphertext, first: SealCiphertext) -> None:
    """MismatchError, EngineError unless both are of one key, content, scale and level."""
    if ciphertext.key_id != first.key_id:
        raise MismatchError(
            f"The ciphertext is of {_key_name(ciphertext)}, the first of {_key_name(first)}: add up what is "
            "of one key."
        )
    if ciphertext.model_id != first.model_id:
        raise MismatchError(
            f"The ciphertext holds {describe_content(ciphertext)}, the first {describe_content(first)}: add "
            "up readings alone, or one model's scores."
        )
    if (ciphertext.scale, ciphertext.primes) != (first.scale, first.primes):
        raise EngineError(
            f"The ciphertext has scale {scale_name(ciphertext.scale)} and {ciphertext.primes} primes, the "
            f"first {scale_name(first.scale)} and {first.primes}: bring them to one scale and level."
        )


def _key_name(ciphertext: SealCiphertext) -> str:
    return "an unknown key" if ciphertext.key_id is None else f"key {ciphertext.key_id:016x}"
