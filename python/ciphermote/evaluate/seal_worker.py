# SPDX-License-Identifier: Apache-2.0
"""The SEAL engine's process: TenSEAL's sealapi behind a pipe.

It runs as a script of its own and imports nothing of ciphermote. It gets parameters, evaluation keys,
programs and ciphertexts, all checked by its parent, and never a secret key. So that bytes that take over SEAL
can reach no more than that, it drops, before the first request, all privileges that Linux lets it drop
(confine), and reports them to its parent. docs/security.md explains what that protects from.

A message is a little-endian u32, that many bytes of JSON, and the byte strings whose lengths the JSON lists
under "blobs". Requests come on standard input, one reply follows each on standard output; the end of input
ends the process. A first message, without a request, says what the process is confined from. SEAL saves and
loads files only, so it works in one that is nothing but memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import struct
import sys
from array import array
from typing import IO, Any

_PIECE = 1 << 30  # Linux writes no more than 2 GiB at once


def write_message(stream: IO[bytes], fields: dict[str, Any], blobs: list[bytes]) -> None:
    head = json.dumps({**fields, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(struct.pack("<I", len(head)) + head)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_message(
    stream: IO[bytes], most_head: int = 1 << 32, most_blobs: int = 1 << 63
) -> tuple[dict[str, Any], list[bytes]] | None:
    """Read the next message; None at the end of input, even in the middle of a message.

    Raises ValueError for anything else, and for more bytes than most_head and most_blobs, which are not read.
    """
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    size = struct.unpack("<I", prefix)[0]
    if size > most_head:
        raise ValueError("its head is too long")
    head = stream.read(size)
    if len(head) < size:
        return None
    try:
        fields = json.loads(head)
        lengths = fields["blobs"]
        good = all(type(length) is int and length >= 0 for length in lengths) and sum(lengths) <= most_blobs
    except (RecursionError, TypeError, KeyError):
        good = False
    if not good:
        raise ValueError("its head is none")
    blobs = [stream.read(length) for length in lengths]
    if any(len(blob) < length for blob, length in zip(blobs, lengths, strict=True)):
        return None
    return fields, blobs


# --- confinement ----------------------------------------------------------------------------------

_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446  # the same on every architecture
_LANDLOCK_VERSION = 1  # a flag: ask for the version
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Maps Landlock's version to its number of rights on files, which are bits from 0 on."""
_NET_VERSION, _NET_RIGHTS = 4, 0b11  # bind and connect, TCP
_SCOPE_VERSION, _SCOPES = 6, 0b11  # abstract Unix sockets, signals

FILES, TRUNCATION, TCP, PROCESSES = "files", "truncation", "tcp", "processes"


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr: the rights that are denied unless a rule allows them; there are no
    rules."""

    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def confine() -> list[str]:
    """Drop, permanently, the privileges that SEAL does not need, and return them.

    FILES: to open, make, list, remove or execute any file. TRUNCATION: to truncate files by name. TCP: to
    connect or listen. PROCESSES: to signal or trace other processes, or to reach their abstract sockets.
    Landlock applies to the calling thread, so a process with other threads is not confined, and reports that.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # ciphertexts stay out of core dumps
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = system.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), _LANDLOCK_VERSION)
    if version < 1 or len(os.listdir("/proc/self/task")) > 1:
        return []
    rights = max(count for least, count in _FILE_RIGHTS.items() if least <= version)
    ruleset = _Ruleset(
        (1 << rights) - 1,
        _NET_RIGHTS if version >= _NET_VERSION else 0,
        _SCOPES if version >= _SCOPE_VERSION else 0,
    )
    descriptor = system.syscall(
        _LANDLOCK_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(ctypes.sizeof(ruleset)), 0
    )
    if descriptor < 0:
        return []
    refused = system.syscall(_LANDLOCK_RESTRICT_SELF, descriptor, 0)
    os.close(descriptor)
    if refused:
        return []
    since = {FILES: 1, TRUNCATION: 3, TCP: _NET_VERSION, PROCESSES: _SCOPE_VERSION}
    return [name for name, least in since.items() if version >= least]


# --- the work -------------------------------------------------------------------------------------


class Refusal(Exception):
    """A request that cannot be served; its text is a sentence for people."""


class Worker:
    """SEAL's state: context, evaluation keys, one program with its encoded constants, one running sum.

    A register of None is zero: a product with a zero plaintext, a transparent ciphertext, which SEAL refuses.
    A result of None is no bytes.
    """

    def __init__(self) -> None:
        import tenseal.sealapi as sealapi

        self.seal = sealapi
        self.memory = os.memfd_create("ciphermote")
        self.path = f"/proc/self/fd/{self.memory}"
        self.context: Any = None
        self.evaluator: Any = None
        self.encoder: Any = None
        self.plain_modulus = 0  # BFV's t, or 0 for CKKS
        self.galois_keys: Any = None
        self.relin_keys: Any = None
        self.steps: list[tuple[str, int, int, int]] = []
        self.constants: list[tuple[list[float], float]] = []
        self.encoded: dict[int, tuple[tuple[Any, float], Any]] = {}
        self.total: Any = None

    def serve(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        handlers = {
            "open": self.open,
            "program": self.program,
            "evaluate": self.evaluate,
            "accumulate": self.accumulate,
            "total": self.take_total,
        }
        return handlers[fields["request"]](fields, blobs)

    def open(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        seal = self.seal
        self.plain_modulus = fields["plain_modulus"]
        scheme = seal.SCHEME_TYPE.BFV if self.plain_modulus else seal.SCHEME_TYPE.CKKS
        parameters = seal.EncryptionParameters(scheme)
        parameters.set_poly_modulus_degree(fields["n"])
        parameters.set_coeff_modulus([seal.Modulus(prime) for prime in fields["primes"]])
        if self.plain_modulus:
            parameters.set_plain_modulus(self.plain_modulus)
        # TC128 is the 2018 table, which every set of ours holds.
        self.context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set():
            raise Refusal(f"SEAL refuses the parameter set: {self.context.parameters_error_message()}.")
        self.evaluator = seal.Evaluator(self.context)
        keys = iter(blobs)
        if fields["galois_keys"]:
            self.galois_keys = self.load(seal.GaloisKeys(), next(keys))
        if fields["relin_keys"]:
            self.relin_keys = self.load(seal.RelinKeys(), next(keys))
        return []

    def load(self, target: Any, data: bytes) -> Any:
        try:
            for start in range(0, len(data), _PIECE):
                os.pwrite(self.memory, data[start : start + _PIECE], start)
            target.load(self.context, self.path)
        finally:
            os.ftruncate(self.memory, 0)
        return target

    def save(self, ciphertext: Any) -> bytes:
        try:
            ciphertext.save(self.path)
            return os.pread(self.memory, os.fstat(self.memory).st_size, 0)
        finally:
            os.ftruncate(self.memory, 0)

    def program(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        self.steps = [(s[0], s[1], s[2], s[3]) for s in fields["steps"]]
        self.constants = []
        for blob, scale in zip(blobs, fields["scales"], strict=True):
            values = array("d")
            values.frombytes(blob)
            self.constants.append((values.tolist(), scale))
        self.encoded = {}
        return []

    def evaluate(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        registers: dict[int, Any] = {0: self.load(self.seal.Ciphertext(), blobs[0])}
        result = 0
        for position, (operation, target, source, argument) in enumerate(self.steps):
            value = registers[source]
            if value is not None or operation == "add":
                value = getattr(self, "do_" + operation)(position, value, argument, registers)
            registers[target] = value
            result = target
        return [] if registers[result] is None else [self.save(registers[result])]

    def encode(
        self, position: int, argument: int, ciphertext: Any, scale: float | None, sign: int = 1
    ) -> Any:
        """Encode the constant times sign at the ciphertext's level, and cache it for the next one; scale
        None: the ciphertext's own."""
        values, own_scale = self.constants[argument]
        wanted = (tuple(ciphertext.parms_id()), ciphertext.scale if scale is None else own_scale)
        kept = self.encoded.get(position)
        if kept is None or kept[0] != wanted:
            plaintext = self.seal.Plaintext()
            if self.encoder is None:  # not every plain modulus has one, and sums need none
                kind = self.seal.BatchEncoder if self.plain_modulus else self.seal.CKKSEncoder
                self.encoder = kind(self.context)
            if self.plain_modulus:
                integers = [sign * int(value) % self.plain_modulus for value in values]
                self.encoder.encode(integers, plaintext)
            else:
                self.encoder.encode(values, list(wanted[0]), wanted[1], plaintext)
            kept = (wanted, plaintext)
            self.encoded[position] = kept
        return kept[1]

    def do_multiply_plain(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        sign = self.common_sign(argument)
        plaintext = self.encode(position, argument, value, self.constants[argument][1], sign)
        if plaintext.is_zero():
            return None
        result = self.seal.Ciphertext()
        self.evaluator.multiply_plain(value, plaintext, result)
        if sign < 0:
            self.evaluator.negate_inplace(result)
        return result

    def common_sign(self, argument: int) -> int:
        """Return -1 for equal negative integers, which encode to one coefficient, and else 1. SEAL centres
        the coefficients of a factor only if there are several, so a weight of -1, which is t - 1 modulo t,
        would multiply the noise by t - 1."""
        values, _ = self.constants[argument]
        lowest = min(values, default=0)
        return -1 if self.plain_modulus and lowest < 0 and lowest == max(values) else 1

    def do_add_plain(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        result = self.seal.Ciphertext()
        self.evaluator.add_plain(value, self.encode(position, argument, value, None), result)
        return result

    def do_add(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        other = registers[argument]
        if value is None or other is None:
            return other if value is None else value
        result = self.seal.Ciphertext()
        self.evaluator.add(value, other, result)
        return result

    def do_multiply(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        other = registers[argument]
        if other is None:
            return None
        result = self.seal.Ciphertext()
        self.evaluator.multiply(value, other, result)
        self.evaluator.relinearize_inplace(result, self.relin_keys)
        return result

    def do_rotate(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        result = self.seal.Ciphertext()
        rotate = self.evaluator.rotate_rows if self.plain_modulus else self.evaluator.rotate_vector
        rotate(value, argument, self.galois_keys, result)
        return result

    def do_rescale(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        result = self.seal.Ciphertext()
        self.evaluator.rescale_to_next(value, result)
        return result

    def do_keep_primes(self, position: int, value: Any, argument: int, registers: dict[int, Any]) -> Any:
        while value.coeff_modulus_size() > argument:
            result = self.seal.Ciphertext()
            self.evaluator.mod_switch_to_next(value, result)
            value = result
        return value

    def accumulate(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        for blob in blobs:
            ciphertext = self.load(self.seal.Ciphertext(), blob)
            if self.total is None:
                self.total = ciphertext
            else:
                self.evaluator.add_inplace(self.total, ciphertext)
        return []

    def take_total(self, fields: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
        """Return the running sum, or None if nothing was added, and reset it."""
        total, self.total = self.total, None
        return [] if total is None else [self.save(total)]


def main() -> None:
    # Replies own the real standard output; whatever a library prints goes to standard error instead.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    try:
        worker = Worker()
        write_message(replies, {"confined": confine()}, [])
        while (message := read_message(requests)) is not None:
            try:
                blobs = worker.serve(*message)
            except Refusal as refusal:
                write_message(replies, {"error": str(refusal)}, [])
            except Exception as error:
                write_message(replies, {"error": f"SEAL refused the request: {error}."}, [])
            else:
                write_message(replies, {}, blobs)
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # The parent is gone, or the user stopped it and it will close this process.


if __name__ == "__main__":
    main()
