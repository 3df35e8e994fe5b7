# SPDX-License-Identifier: Apache-2.0
"""Ciphermote's own evaluator behind the Engine interface, in this process: CKKS alone.

Its native code reads checked residues only, never bytes from outside, so it needs no process of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from numpy.typing import NDArray

from ciphermote import _evaluator as native
from ciphermote import seal_bytes
from ciphermote.arguments import whole
from ciphermote.ckks import expand_second
from ciphermote.engine import Bytes, Progress, check_reading
from ciphermote.engine.keyed import KeyedEngine, check_addable
from ciphermote.errors import EngineError, Error, about
from ciphermote.parameters import ParameterSet
from ciphermote.program import Program
from ciphermote.seal_bytes import SealCiphertext

MOST_WORKERS = 64


class NativeEngine(KeyedEngine):
    """The evaluator, with a thread for each worker; keys are shared. ParameterError for workers outside 1 to
    64; EngineError for a plain modulus."""

    def __init__(
        self,
        parms: ParameterSet,
        *,
        galois_keys: Bytes | None = None,
        relin_keys: Bytes | None = None,
        plain_modulus: int = 0,
        bare: bool = False,
        workers: int = 1,
    ) -> None:
        self._workers = whole(workers, "workers (--workers)", 1, MOST_WORKERS)
        super().__init__(
            parms, galois_keys=galois_keys, relin_keys=relin_keys, plain_modulus=plain_modulus, bare=bare
        )
        if self.plain_modulus:
            raise EngineError("The native engine computes CKKS alone: take the engine seal for BFV.")
        special = [] if parms.special_prime is None else [parms.special_prime]
        self._context = native.Context(parms.log2_n, list(parms.data_primes), special)
        self._keys = native.EvaluationKeys(self._context)
        if self._relin is not None:
            self._keys.add_relinearization(_key(self._relin.key))
        if self._galois is not None:
            for element, key in self._galois.keys.items():
                self._keys.add_galois(element, _key(key))
        self._closed = False
        # The digest of the last program, and its constants by number, scale and primes: swapped as one, for
        # threads may run two programs.
        self._encoded_last: tuple[str, dict[tuple[int, float, int], native.Plaintext]] = ("", {})

    def close(self) -> None:
        self._closed = True

    def _open(self, ciphertext: SealCiphertext) -> native.Ciphertext:
        residues = np.ascontiguousarray(expand_second(ciphertext), dtype=np.uint32)
        return native.Ciphertext(self._context, residues, ciphertext.scale)

    def _save(self, result: native.Ciphertext, key_id: int | None, model_id: int | None) -> bytes:
        found = SealCiphertext(self.parms, result.primes, True, result.scale, result.residues())
        return self.named(found, key_id, model_id)

    def add(self, ciphertexts: Iterable[Bytes], *, names: Sequence[object] = ()) -> bytes:
        self._check_open()
        first: SealCiphertext | None = None
        total: native.Ciphertext | None = None
        for place, data in enumerate(ciphertexts):
            with about(names[place] if names else f"Ciphertext {place + 1} of the sum"):
                ciphertext = self.check(data)
                first = first or ciphertext
                check_addable(ciphertext, first)
                opened = self._open(ciphertext)
            total = opened if total is None else native.add(total, opened)
        if first is None or total is None:
            raise EngineError("A sum of no ciphertexts was asked for: give at least one.")
        return self._save(total, first.key_id, None)

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
        result = self._run(program, self._open(checked))
        if result is None:
            raise EngineError(
                "The result would be zero in the clear, because every weight vanishes at its scale: scale "
                "the weights up."
            )
        return self._save(result, checked.key_id, program.model_id)

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
                return native.relinearize(native.multiply(value, other), self._keys)
            case "rotate":
                return native.rotate(value, argument, self._keys)
            case "rescale":
                return native.rescale(value)
            case "keep_primes":
                return (
                    native.drop_primes(value, value.primes - argument) if value.primes > argument else value
                )
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
            values = program.constants[number].values.astype(complex)
            found = kept[number, scale, primes] = native.Plaintext(self._context, values, scale, primes)
        return found


def _key(key: seal_bytes.KeySwitchKey) -> NDArray[np.uint32]:
    return np.stack([part.residues for part in key])
