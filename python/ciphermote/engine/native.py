# SPDX-License-Identifier: Apache-2.0
"""Ciphermote's own evaluator behind the Engine interface, in threads of this process.

Its native code reads checked residues only, never bytes from outside, so it needs no process of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ciphermote import _evaluator as native
from ciphermote import _owner, seal_bytes
from ciphermote.bounds import UNKNOWN, Known, KnownSum
from ciphermote.ckks import expand_second
from ciphermote.engine import Bytes, Progress, check_reading
from ciphermote.engine.keyed import ZERO_RESULT, KeyedEngine
from ciphermote.engine.summation import Summand, summed
from ciphermote.errors import EngineError, Error
from ciphermote.hosted import context_of
from ciphermote.parameters import ParameterSet
from ciphermote.program import Program
from ciphermote.seal_bytes import Scheme, SealCiphertext
from ciphermote.seeded_keys import SeededKey


def opened(ciphertext: SealCiphertext, context: native.Context) -> native.Ciphertext:
    """What SEAL's bytes hold, as the evaluator takes it."""
    residues = np.ascontiguousarray(expand_second(ciphertext), dtype=np.uint32)
    form = native.Form.values if ciphertext.ntt_form else native.Form.coefficients
    return native.Ciphertext(context, residues, ciphertext.scale, form)


def saved(
    result: native.Ciphertext,
    parameters: ParameterSet,
    plain_modulus: int,
    *,
    key_id: int | None,
    model_id: int | None = None,
    known: Known = UNKNOWN,
    ntt_form: bool | None = None,
) -> bytes:
    """SEAL's bytes with a label. ntt_form: as SEAL wants it for all but additions, unless said.
    EngineError for what is no encryption."""
    in_ntt_form = not plain_modulus if ntt_form is None else ntt_form
    residues = result.residues() if in_ntt_form else result.coefficients()
    if not residues[1].any(axis=-1).all():
        raise EngineError(
            "The result is in the clear, for its second polynomial is zero at a prime, as when a ciphertext "
            "is subtracted from itself: there is nothing to decrypt."
        )
    return seal_bytes.write_ciphertext(
        SealCiphertext(
            parameters,
            result.primes,
            in_ntt_form,
            result.scale,
            residues,
            scheme=Scheme.BFV if plain_modulus else Scheme.CKKS,
            plain_modulus=plain_modulus,
            key_id=key_id,
            model_id=model_id,
            known=known,
        )
    )


class NativeEngine(KeyedEngine):
    """The evaluator, with a thread for each worker; keys are shared."""

    keys: native.EvaluationKeys

    def _start(self, keys: Sequence[Bytes], workers: int) -> None:
        self._workers = workers
        self._context = context_of(self.parms, self.plain_modulus)
        self.keys = native.EvaluationKeys(self._context)
        if self._relin is not None:
            self.keys.add_relinearization(expanded(self._relin.key, self._context))
        if self._galois is not None:
            for element, key in self._galois.keys.items():
                self.keys.add_galois(element, expanded(key, self._context))
        self._closed = False
        # The digest of the last program, and its constants by number, scale and primes: swapped as one, for
        # threads may run two programs.
        self._encoded_last: tuple[str, dict[tuple[int, float, int], native.Plaintext]] = ("", {})

    def close(self) -> None:
        self._closed = True

    def _open(self, ciphertext: SealCiphertext) -> native.Ciphertext:
        return opened(ciphertext, self._context)

    def _save(
        self,
        result: native.Ciphertext,
        key_id: int | None,
        model_id: int | None,
        known: Known,
    ) -> bytes:
        return saved(
            result,
            self.parms,
            self.plain_modulus,
            key_id=self.known(key_id),
            model_id=model_id,
            known=known,
        )

    def add(
        self,
        ciphertexts: Iterable[Bytes],
        *,
        bound: float | None = None,
        distinct: bool = False,
        names: Sequence[object] = (),
    ) -> bytes:
        self._check_open()
        known = KnownSum(distinct=distinct)
        total, _ = summed(
            ciphertexts, lambda data: Summand.of(self.check(data)), names, bound=bound, known=known
        )
        return seal_bytes.write_ciphertext(replace(total, key_id=self.known(total.key_id)))

    def evaluate(self, program: Program, ciphertext: Bytes) -> bytes:
        return self._evaluated(program, self.check(ciphertext))

    def evaluate_all(
        self,
        program: Callable[[SealCiphertext], Program],
        ciphertexts: Sequence[Bytes],
        progress: Progress | None = None,
    ) -> list[bytes | Error]:
        results: list[bytes | Error] = [EngineError("Not evaluated.")] * len(ciphertexts)
        planning = threading.Lock()
        with ThreadPoolExecutor(min(self._workers, os.cpu_count() or 1)) as pool:

            def one(ciphertext: Bytes) -> bytes:
                checked = self.check(ciphertext)
                with planning:
                    wanted = program(checked)
                return self._evaluated(wanted, checked)

            places = {pool.submit(one, ciphertext): place for place, ciphertext in enumerate(ciphertexts)}
            for done, future in enumerate(as_completed(places), 1):
                try:
                    results[places[future]] = future.result()
                except Error as error:
                    results[places[future]] = error
                if progress is not None:
                    progress(done, len(ciphertexts))
        return results

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("The native engine is closed: open a new one.")

    def _evaluated(self, program: Program, checked: SealCiphertext) -> bytes:
        self._check_open()
        if program.model_id is not None:
            check_reading(checked)
        self.check_program(program)
        known = self._followed(program, checked)
        result = self._run(program, self._open(checked))
        if result is None:
            raise EngineError(ZERO_RESULT)
        return self._save(result, checked.key_id, program.model_id, known)

    def _run(self, program: Program, given: native.Ciphertext) -> native.Ciphertext | None:
        """A register of None is zero in the clear: a product with a zero plaintext."""
        registers: dict[int, native.Ciphertext | None] = {0: given}
        target = 0
        for step in program.steps:
            value, target = registers[step.source], step.target
            other = registers.get(step.argument) if step.operation in ("add", "multiply") else None
            if step.operation == "add" and (value is None or other is None):
                registers[target] = other if value is None else value
            elif value is None or (step.operation == "multiply" and other is None):
                registers[target] = None
            else:
                registers[target] = self._step(program, step.operation, step.argument, value, other)
        return registers[target]

    def _step(
        self,
        program: Program,
        operation: str,
        argument: int,
        value: native.Ciphertext,
        other: native.Ciphertext | None,
    ) -> native.Ciphertext | None:
        match operation:
            case "multiply_plain":
                plain = self._encoded(program, argument, program.constants[argument].scale, value.primes)
                return native.multiply_plain(value, plain) if plain.residues().any() else None
            case "add_plain":
                return native.add_plain(value, self._encoded(program, argument, value.scale, value.primes))
            case "add":
                assert other is not None
                return native.add(value, other)
            case "multiply":
                assert other is not None
                return native.relinearize(native.multiply(value, other), self.keys)
            case "rotate":
                return native.rotate(value, argument, self.keys)
            case "rescale":
                return native.rescale(value)
            case "keep_primes":
                return native.mod_switch(value, value.primes - argument) if value.primes > argument else value
            case _:
                raise EngineError(f"The program has an unknown operation {operation!r}: plan it anew.")

    def _encoded(self, program: Program, number: int, scale: float, primes: int) -> native.Plaintext:
        """Kept for the next ciphertext, as long as the program stays."""
        digest, kept = self._encoded_last
        if program.digest != digest:
            kept = {}
            self._encoded_last = program.digest, kept
        found = kept.get((number, scale, primes))
        if found is None:
            found = kept[number, scale, primes] = self._encode(
                program.constants[number].values, scale, primes
            )
        return found

    def _encode(self, values: NDArray[np.float64], scale: float, primes: int) -> native.Plaintext:
        if self.plain_modulus:
            return native.Plaintext(self._context, values.astype(np.int64), native.Places.slots, primes)
        return native.Plaintext(self._context, values.astype(complex), scale, primes)


def expanded(key: seal_bytes.KeySwitchKey | SeededKey, context: native.Context) -> NDArray[np.uint32]:
    """uint32 [digits, 2, data + special primes, n]."""
    if isinstance(key, SeededKey):
        return _owner.SeededKey(context, key.seed, key.first).expanded()
    return np.stack([part.residues for part in key])
