# SPDX-License-Identifier: Apache-2.0
"""The SEAL engine: Microsoft SEAL, through TenSEAL's sealapi, in separate processes (seal_worker.py).

sealapi holds Python's global lock, and is C++ that reads untrusted bytes, so each worker is a process,
confined as far as the system allows. Untrusted bytes are checked field by field before a worker sees them,
and so are a worker's replies. Results have version 3.6, which SEAL 3.6 to 4.x load. No secret key ever goes
to a worker.
"""

from __future__ import annotations

import importlib.util
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from ciphermote import _evaluator as native
from ciphermote.base.arguments import Bytes, stream
from ciphermote.base.errors import EngineError, Error
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.engine import Progress, check_reading
from ciphermote.evaluate.keyed_engine import ZERO_RESULT, KeyedEngine
from ciphermote.evaluate.program import Program
from ciphermote.evaluate.seal_worker import FILES, PROCESSES, TCP, TRUNCATION, read_message, write_message
from ciphermote.evaluate.summation import NONE_GIVEN, Summands
from ciphermote.formats import seal as seal_bytes
from ciphermote.formats.labels import detach
from ciphermote.formats.seal import write_ciphertext
from ciphermote.formats.seeded_keys import are_seeded

_T = TypeVar("_T")
_WORKER = Path(__file__).with_name("seal_worker.py")
_CLOSE_SECONDS = 5.0
_ADD_BATCH = 16
"""Ciphertexts in one message of a sum: some 10 ms of work against 0.1 ms of pipe."""


_MOST_REPLY_HEAD = 1 << 16
_MOST_REPLY_SENTENCE = 1000
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "LANG", "LC_ALL", "TZ")
"""The environment variables that a worker gets; others may hold passwords."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A worker has one thread, because Landlock confines threads, not processes."""


class _Worker:
    """One worker process and its pipes, which one thread at a time may use.

    most_bytes: the most bytes in a reply. confined: what the process reports that it can no longer reach.
    """

    def __init__(self, most_bytes: int) -> None:
        self._program = ""
        self._most_bytes = most_bytes
        # -P keeps this folder off the module path: a module here must not shadow one that TenSEAL imports.
        command = [sys.executable, "-P", str(_WORKER)]
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**kept, **_ONE_THREAD}
            )
        except OSError as error:
            raise EngineError(f"The SEAL worker process cannot start: {error.strerror}.") from None
        try:
            confined = self._reply()[0]["confined"]
            self.confined = frozenset({FILES, TRUNCATION, TCP, PROCESSES}.intersection(confined))
        except BaseException as error:
            self.close()
            if isinstance(error, KeyError | TypeError):
                raise self._nonsense() from None
            raise

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: str, blobs: Sequence[Bytes] = (), **fields: Any) -> list[bytes]:
        """Send a request and wait for its reply. Raises EngineError with the worker's sentence, or if it is
        dead."""
        if self._process.stdin is None or self._process.stdin.closed:
            raise EngineError("The SEAL engine is closed: open a new one.")
        try:
            self._send({"request": request, **fields}, [bytes(blob) for blob in blobs])
            reply, found = self._reply()
        except KeyboardInterrupt:
            self._process.kill()  # Its reply would otherwise answer the next request.
            raise
        if "error" in reply:
            raise EngineError(str(reply["error"])[:_MOST_REPLY_SENTENCE])
        return found

    def _reply(self) -> tuple[dict[str, Any], list[bytes]]:
        """Read a reply. This is the only place where bytes come from the worker, which hostile bytes may have
        taken over."""
        assert self._process.stdout is not None
        try:
            reply = read_message(self._process.stdout, _MOST_REPLY_HEAD, self._most_bytes)
        except ValueError:
            raise self._nonsense() from None
        if reply is None:
            raise self._death()
        return reply

    def _nonsense(self) -> EngineError:
        self._process.kill()
        return EngineError(
            "The SEAL worker process sent what is not a reply, as if something had taken it over: close the "
            "engine, and look at what it was given."
        )

    def _send(self, fields: dict[str, Any], blobs: list[bytes]) -> None:
        """Send a request. This is the only place where bytes leave for the worker."""
        assert self._process.stdin is not None
        try:
            write_message(self._process.stdin, fields, blobs)
        except OSError:
            raise self._death() from None

    def _death(self) -> EngineError:
        try:
            code = self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            return EngineError(
                "The SEAL worker process stopped answering: close the engine and open a new one."
            )
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return EngineError(
            f"The SEAL worker process ended {how} (out of memory, or stopped from outside?): open a "
            "new engine."
        )

    def evaluate(self, program: Program, ciphertext: Bytes) -> bytes:
        if self._program != program.digest:
            self._program = ""
            self.ask(
                "program",
                [constant.values.astype("=f8").tobytes() for constant in program.constants],
                steps=[[s.operation, s.target, s.source, s.argument] for s in program.steps],
                scales=[constant.scale for constant in program.constants],
            )
            self._program = program.digest
        results = self.ask("evaluate", [ciphertext])
        if not results:
            raise EngineError(ZERO_RESULT)
        return results[0]

    def close(self) -> None:
        """End the process, by force if it does not end by itself."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with suppress(OSError):  # A dead process cannot take what was left to send.
                self._process.stdin.close()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class SealEngine(KeyedEngine):
    """SEAL behind worker processes, each of which holds the keys."""

    centred_digits = False

    def _start(self, keys: Sequence[Bytes], workers: int) -> None:
        self._closed = False
        self._workers: list[_Worker] = []
        if importlib.util.find_spec("tenseal") is None:
            raise EngineError(
                "The SEAL engine needs the package tenseal: install it with pip install tenseal==0.3.18."
            )
        if any(map(are_seeded, keys)):
            raise EngineError(
                f"The evaluation keys of {self.parms.name} have several special primes or digits of several "
                "primes, and SEAL has neither: compute with the native engine (--engine native)."
            )
        most_bytes = seal_bytes.most_ciphertext_bytes(self.parms)
        try:
            for _ in range(workers):
                self._workers.append(_Worker(most_bytes))
            for worker in self._workers:
                worker.ask(
                    "open",
                    [detach(key)[0] for key in keys],
                    n=self.parms.n,
                    primes=list(self.parms.primes),
                    plain_modulus=self.scheme.plain_modulus,
                    galois_keys=self._galois is not None,
                    relin_keys=self._relin is not None,
                )
        except BaseException:
            self.close()
            raise
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    @property
    def process_ids(self) -> list[int]:
        """The worker processes, none of which has a secret key."""
        return [worker.process_id for worker in self._workers]

    @property
    def confined(self) -> frozenset[str]:
        """Resources that no worker can reach any longer: files, truncation, tcp and processes
        (worker.confine)."""
        return frozenset.intersection(*(worker.confined for worker in self._workers))

    def _run(self, task: Callable[[_Worker], _T]) -> _T:
        """Run task on the next idle worker."""
        if self._closed:
            raise EngineError("The SEAL engine is closed: open a new one.")
        while not (worker := self._idle.get()).alive and any(other.alive for other in self._workers):
            pass  # The dead one is left out; the last dead one stays, to tell every caller.
        try:
            return task(worker)
        finally:
            self._idle.put(worker)

    def _result(self, data: bytes) -> native.Ciphertext:
        """Check and return what a worker computed."""
        return Ciphertext.from_seal(data, self.parms, self.scheme).hosted

    def _evaluated(self, program: Program, given: Ciphertext) -> Ciphertext:
        if program.model_id is not None:
            check_reading(given)
        self.check_program(program)
        known = self._followed(program, given)
        seal = _bytes_for_seal(given)
        content = self._result(self._run(lambda worker: worker.evaluate(program, seal)))
        return Ciphertext(self.parms, self.scheme, given.key_id, content, known, model_id=program.model_id)

    def evaluate(self, program: Program, ciphertext: Bytes | Ciphertext) -> Ciphertext:
        return self._evaluated(program, self.load(ciphertext))

    def evaluate_all(
        self,
        program: Callable[[Ciphertext], Program],
        ciphertexts: Sequence[Bytes | Ciphertext],
        progress: Progress | None = None,
    ) -> list[Ciphertext | Error]:
        planning = threading.Lock()

        def one(ciphertext: Bytes | Ciphertext) -> Ciphertext:
            loaded = self.load(ciphertext)
            with planning:
                wanted = program(loaded)
            return self._evaluated(wanted, loaded)

        results: list[Ciphertext | Error] = [EngineError("Not evaluated.")] * len(ciphertexts)
        # One thread more than workers reads the next ciphertext while all of them compute.
        with ThreadPoolExecutor(len(self._workers) + 1) as pool:
            places = {pool.submit(one, ciphertext): place for place, ciphertext in enumerate(ciphertexts)}
            try:
                for done, future in enumerate(as_completed(places), 1):
                    results[places[future]] = _outcome(future)
                    if progress is not None:
                        progress(done, len(ciphertexts))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return results

    def sum(
        self,
        ciphertexts: Iterable[Bytes | Ciphertext],
        *,
        bound: float | None = None,
        distinct: bool = False,
        names: Sequence[object] = (),
    ) -> Ciphertext:
        iterator = iter(stream(ciphertexts, "ciphertexts", "a list of ciphertexts"))
        summands = Summands(self.load, names, bound=bound, distinct=distinct)

        def add_on(worker: _Worker) -> bytes:
            sent = False
            try:
                while batch := [summands.next(data) for data in islice(iterator, _ADD_BATCH)]:
                    sent = True
                    worker.ask("accumulate", [_bytes_for_seal(each) for each in batch])
            except BaseException:
                if sent:
                    _forget_total(worker)
                raise
            if not sent:
                raise EngineError(NONE_GIVEN)
            return b"".join(worker.ask("total"))

        return summands.result(self._result(self._run(add_on)))

    def close(self) -> None:
        self._closed = True
        for worker in self._workers:
            worker.close()


def _bytes_for_seal(ciphertext: Ciphertext) -> bytes:
    """Return the ciphertext's bytes without a label, which a worker would not read."""
    return write_ciphertext(replace(ciphertext.as_seal(), key_id=None))


def _outcome(future: Future[Ciphertext]) -> Ciphertext | Error:
    try:
        return future.result()
    except Error as error:
        return error


def _forget_total(worker: _Worker) -> None:
    """Discard an unfinished sum; a dead worker has none."""
    with suppress(EngineError):
        worker.ask("total")
