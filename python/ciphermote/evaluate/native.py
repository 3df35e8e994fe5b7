# SPDX-License-Identifier: Apache-2.0
"""Ciphermote's own evaluator behind the Engine interface, in threads of this process.

Its native code reads checked residues and frames, and runs in this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
from numpy.typing import NDArray

from ciphermote import _evaluator as native
from ciphermote import _owner
from ciphermote.base.arguments import Bytes
from ciphermote.base.errors import EngineError, Error
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.engine import Progress, check_reading
from ciphermote.evaluate.keyed_engine import ZERO_RESULT, KeyedEngine
from ciphermote.evaluate.program import Program
from ciphermote.evaluate.summation import add_up
from ciphermote.formats import seal as seal_bytes
from ciphermote.formats.seeded_keys import SeededKey
from ciphermote.parameters.native import context_of


class NativeEngine(KeyedEngine):
    """Ciphermote's own evaluator, with a thread for each worker; the threads share the keys."""

    keys: native.EvaluationKeys

    def _start(self, keys: Sequence[Bytes], workers: int) -> None:
        self._workers = workers
        self._context = context_of(self.parms, self.scheme)
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

    def sum(
        self,
        ciphertexts: Iterable[Bytes | Ciphertext],
        *,
        bound: float | None = None,
        distinct: bool = False,
        names: Sequence[object] = (),
    ) -> Ciphertext:
        self._check_open()
        return add_up(ciphertexts, self.load, names, bound=bound, distinct=distinct)

    def mean(
        self, ciphertexts: Iterable[Bytes | Ciphertext], *, bound: float | None = None, distinct: bool = False
    ) -> Ciphertext:
        """Average ciphertexts, as sum adds them: the scale of the sum is multiplied by their number. Raises
        EngineError for BFV, and for a scale that the modulus has no room for."""
        self._check_open()
        return add_up(ciphertexts, self.load, mean=True, bound=bound, distinct=distinct)

    def evaluate(self, program: Program, ciphertext: Bytes | Ciphertext) -> Ciphertext:
        return self._evaluated(program, self.load(ciphertext))

    def evaluate_all(
        self,
        program: Callable[[Ciphertext], Program],
        ciphertexts: Sequence[Bytes | Ciphertext],
        progress: Progress | None = None,
    ) -> list[Ciphertext | Error]:
        results: list[Ciphertext | Error] = [EngineError("Not evaluated.")] * len(ciphertexts)
        planning = threading.Lock()
        with ThreadPoolExecutor(min(self._workers, os.cpu_count() or 1)) as pool:

            def one(ciphertext: Bytes | Ciphertext) -> Ciphertext:
                loaded = self.load(ciphertext)
                with planning:
                    wanted = program(loaded)
                return self._evaluated(wanted, loaded)

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

    def _evaluated(self, program: Program, given: Ciphertext) -> Ciphertext:
        self._check_open()
        if program.model_id is not None:
            check_reading(given)
        self.check_program(program)
        known = self._followed(program, given)
        result = self._run(program, given.hosted)
        if result is None:
            raise EngineError(ZERO_RESULT)
        return Ciphertext(self.parms, self.scheme, given.key_id, result, known, model_id=program.model_id)

    def _run(self, program: Program, given: native.Ciphertext) -> native.Ciphertext | None:
        """Run a program. A register of None is zero in the clear: a product with a zero plaintext."""
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
        """Encode a constant, and cache it for the next ciphertext of the same program."""
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
        if self.scheme.is_bfv:
            return native.Plaintext(self._context, values.astype(np.int64), native.Places.slots, primes)
        return native.Plaintext(self._context, values.astype(complex), scale, primes)


def expanded(key: seal_bytes.KeySwitchKey | SeededKey, context: native.Context) -> NDArray[np.uint32]:
    """uint32 [digits, 2, data + special primes, n]."""
    if isinstance(key, SeededKey):
        return _owner.SeededKey(context, key.seed, key.first).expanded()
    return np.stack([part.residues for part in key])
