# SPDX-License-Identifier: Apache-2.0
"""The checks that all engines share: of keys, ciphertexts and programs; and the names of results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations_with_replacement

from ciphermote.base.arguments import Bytes, flag, whole
from ciphermote.base.errors import EngineError, MismatchError
from ciphermote.base.words import count_of, scale_name
from ciphermote.ciphertext import RELINEARIZED, Ciphertext
from ciphermote.evaluate.engine import Engine, describe_content
from ciphermote.evaluate.program import Program
from ciphermote.formats import seal as seal_bytes
from ciphermote.formats import seeded_keys
from ciphermote.formats.labels import check_key, other_scheme
from ciphermote.formats.seal import SealGaloisKeys, SealRelinKeys
from ciphermote.formats.seeded_keys import KeyKind, SeededKeys, are_seeded
from ciphermote.parameters import CKKS, ParameterSet, Scheme, batches
from ciphermote.parameters.schemes import checked_scheme

MOST_WORKERS = 64

ZERO_RESULT = (
    "The result would be zero in the clear, because every weight vanishes at its scale: scale the weights up."
)


class KeyedEngine(Engine):
    """An engine with an owner's evaluation keys.

    galois_keys, relin_keys: their bytes, SEAL's or seeded, which are checked here: anything else, such as a
    secret key, is refused. scheme: CKKS or BFV(t), for keys and ciphertexts. bare: as for open_engine.
    workers: 1 to 64, best one per core. Raises FrameError, MismatchError or ParameterError, or EngineError if
    it cannot start.
    """

    def __init__(
        self,
        parms: ParameterSet,
        *,
        galois_keys: Bytes | None = None,
        relin_keys: Bytes | None = None,
        scheme: Scheme = CKKS,
        bare: bool = False,
        workers: int = 1,
    ) -> None:
        workers = whole(workers, "workers (--workers)", 1, MOST_WORKERS)
        self.parms = parms
        self.scheme = checked_scheme(scheme)
        self._bare = flag(bare, "bare (--bare)")
        self._galois: SealGaloisKeys | SeededKeys | None = None
        self._relin: SealRelinKeys | SeededKeys | None = None
        named: dict[str, int | None] = {}
        if galois_keys is not None:
            if are_seeded(galois_keys):
                self._galois = seeded_keys.read(galois_keys, parms, KeyKind.GALOIS)
            else:
                self._galois = seal_bytes.read_galois_keys(galois_keys, parms, scheme=self.scheme)
            named["the Galois keys"] = self._galois.key_id
        if relin_keys is not None:
            if are_seeded(relin_keys):
                self._relin = seeded_keys.read(relin_keys, parms, KeyKind.RELINEARIZATION)
            else:
                self._relin = seal_bytes.read_relin_keys(relin_keys, parms, scheme=self.scheme)
            named["the relinearization keys"] = self._relin.key_id
        self._has_keys = bool(named)
        self._all_named = None not in named.values()
        for (what, key_id), (other, other_id) in combinations_with_replacement(named.items(), 2):
            check_key(what, key_id, other, other_id, bare=self._bare)
        self.key_id = next((key_id for key_id in named.values() if key_id is not None), None)
        self._start([keys for keys in (galois_keys, relin_keys) if keys is not None], workers)

    @abstractmethod
    def _start(self, keys: Sequence[Bytes], workers: int) -> None:
        """Prepare to compute. keys: the bytes that _galois and _relin were read from. Raises EngineError."""

    def load(self, data: Bytes | Ciphertext) -> Ciphertext:
        if isinstance(data, Ciphertext):
            given = data
            if (given.parameters, given.scheme) != (self.parms, self.scheme):
                raise self._other_set(given)
            if given.hosted.components not in RELINEARIZED:
                raise EngineError(
                    f"{given!r} has {given.hosted.components} polynomials, as products have before they are "
                    "relinearized: relinearize it where it was computed."
                )
        else:
            given = Ciphertext.from_bytes(data, self.parms, self.scheme, sizes=RELINEARIZED)
        self.check_key_of(given.key_id)
        # What unnamed evaluation keys compute is under a key that nothing names.
        return given if self._all_named or given.key_id is None else given.without_key()

    def _other_set(self, given: Ciphertext) -> MismatchError:
        if given.parameters == self.parms:
            return other_scheme(given.scheme, self.scheme)
        return MismatchError(
            f"{given!r} is of another set than {self.parms.name}, of which the evaluation keys are: make an "
            "evaluator for its set."
        )

    def check_key_of(self, key_id: int | None) -> None:
        """Raises MismatchError unless the engine may compute on a ciphertext of this key; None for an unknown
        one."""
        wanted = self.key_id if self._has_keys else key_id
        check_key("the ciphertext", key_id, "the evaluation keys", wanted, bare=self._bare)

    def check_program(self, program: Program) -> None:
        """Raises EngineError for steps that the scheme, the set or the keys do not support."""
        if self.scheme.is_bfv and any(step.operation == "rescale" for step in program.steps):
            raise EngineError(
                "The program rescales, which is CKKS's alone: plan it for BFV (plan_linear's scheme)."
            )
        slotted = program.constants or program.rotation_steps
        if self.scheme.is_bfv and slotted and not batches(self.scheme.plain_modulus, self.parms.n):
            raise EngineError(
                f"Integers modulo {self.scheme.plain_modulus} are not batched at n = {self.parms.n}, which "
                "the program's constants and rotations need: take a prime that is 1 modulo 2n."
            )
        elements = self._galois.keys if self._galois else {}
        missing = [
            step
            for step in program.rotation_steps
            if seal_bytes.galois_element(self.parms.n, step) not in elements
        ]
        if missing:
            rotations = ", ".join(map(str, missing))
            option, argument = f"--rotations={','.join(map(str, missing))}", f"rotations=[{rotations}]"
            if program.model_id is not None:
                option, argument = "--model MODEL", "model=..."
            raise EngineError(
                f"The engine has no Galois keys for the rotations {rotations}: have the owner make them "
                f"(`ciphermote extend KEYS {option}`; in Python, Owner.extend({argument}))."
            )
        if self._relin is None and any(step.operation == "multiply" for step in program.steps):
            raise EngineError(
                "The engine has no relinearization keys, which multiply needs: open it with them."
            )


def check_addable(ciphertext: Ciphertext, first: Ciphertext) -> None:
    """Raises MismatchError or EngineError unless both have one scheme, key, content, scale and level."""
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
    if ciphertext.scale != first.scale and ciphertext.primes == first.primes:
        raise EngineError(
            f"The ciphertext has scale {scale_name(ciphertext.scale)}, and the first "
            f"{scale_name(first.scale)}: encrypt all for the same largest value, from which the scale "
            "follows, or bring them to one scale."
        )
    if (ciphertext.scale, ciphertext.primes) != (first.scale, first.primes):
        raise EngineError(
            f"The ciphertext has scale {scale_name(ciphertext.scale)} and "
            f"{count_of(ciphertext.primes, 'prime')}, the "
            f"first {scale_name(first.scale)} and {first.primes}: bring them to one scale and level."
        )


def _key_name(ciphertext: Ciphertext) -> str:
    return "an unknown key" if ciphertext.key_id is None else f"key {ciphertext.key_id:016x}"
