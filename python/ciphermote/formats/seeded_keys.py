# SPDX-License-Identifier: Apache-2.0
"""Evaluation keys in Ciphermote's own format, with any number of special primes and with seeds for the
uniform halves.

SEAL's format has one special prime and 64 bits for each residue. This one has 32 bits, for half of the
residues. docs/wire-format.md has the layout. Everything in it is public.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.base.words import count_of
from ciphermote.parameters import ParameterSet

MAGIC = b"CMEK"
SEED_BYTES = 32
MOST_KEYS = 64

_VERSION = 1
_HEADER = struct.Struct("<4sBBBBBBHIQQ")
_PARAMETERS_FIELD = 8
_ELEMENT = struct.Struct("<I")
_DIGEST_BYTES = 32

Bytes = bytes | bytearray | memoryview


class KeyKind(IntEnum):
    """The kind of a key-switch key, by the key that it switches from."""

    RELINEARIZATION = 1
    GALOIS = 2
    REKEY = 3


NAMES = {
    KeyKind.RELINEARIZATION: "relinearization keys",
    KeyKind.GALOIS: "Galois keys",
    KeyKind.REKEY: "a rekey key",
}
"""Names of the kinds in messages."""


@dataclass(frozen=True, eq=False)
class SeededKey:
    """seed: 32 bytes, which give the second polynomials. first: uint32 [digits, data + special primes, n]."""

    seed: bytes
    first: NDArray[np.uint32] = field(repr=False)


@dataclass(frozen=True, eq=False)
class SeededKeys:
    """Evaluation keys of one kind. keys: by Galois element; other kinds have one, at 0. key_id: ID of the
    owner's key. source_id: ID of the key that a rekey key converts from; 0 otherwise."""

    parameters: ParameterSet
    kind: KeyKind
    key_id: int
    keys: Mapping[int, SeededKey]
    source_id: int = 0

    @property
    def key(self) -> SeededKey:
        """The only key, for kinds that have one."""
        return self.keys[0]


def are_seeded(data: Bytes) -> bool:
    """Whether data begin like this format, and not like SEAL's bytes."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def stated_kind(data: Bytes) -> KeyKind:
    """Read the kind of keys. Raises FrameError unless data begin like keys of this version."""
    if len(data) < _HEADER.size or not are_seeded(data):
        raise FrameError("These bytes are no evaluation keys: they do not begin as such keys do.")
    _, version, number, *_ = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise FrameError(
            f"The evaluation keys are of version {version} and this package reads {_VERSION}: update it."
        )
    try:
        return KeyKind(number)
    except ValueError:
        raise FrameError(
            f"The evaluation keys are of kind {number}, which there is not: they are damaged."
        ) from None


def stated_parameters_id(data: Bytes) -> int:
    """Return the ID of the parameter set that data name, which must have a stated_kind."""
    return int(_HEADER.unpack_from(data)[_PARAMETERS_FIELD])


def stated_bytes(head: Bytes) -> int:
    """Return the length that a header states, which nothing has checked yet; at least the header's bytes."""
    if len(head) < _HEADER.size:
        return _HEADER.size
    _, _, _, log2_n, digit_primes, data, special, count, *_ = _HEADER.unpack_from(head)
    words = -(-data // max(digit_primes, 1)) * (data + special) << log2_n
    each = _ELEMENT.size + SEED_BYTES + 4 * words
    total: int = _HEADER.size + 4 * (data + special) + count * each + _DIGEST_BYTES
    return total


def write(keys: SeededKeys) -> bytes:
    primes = _primes(keys.parameters)
    parts = [_header(keys), np.array(primes, dtype="<u4").tobytes()]
    for element, key in sorted(keys.keys.items()):
        parts += [_ELEMENT.pack(element), key.seed, key.first.astype("<u4").tobytes()]
    body = b"".join(parts)
    return body + _digest(body)


def read(data: Bytes, parameters: ParameterSet, kind: KeyKind) -> SeededKeys:
    """Read keys and check every field but the residues, which the evaluator compares with their primes.
    Raises FrameError if data are not such keys, or MismatchError if they have another set or kind."""
    view = memoryview(data).cast("B")
    if (found := stated_kind(view)) != kind:
        raise MismatchError(f"The file holds {NAMES[found]}, not {NAMES[kind]}: give the right file.")
    *_, count, _, key_id, source_id = _HEADER.unpack_from(view)
    expected = SeededKeys(parameters, kind, key_id, dict.fromkeys(range(count)), source_id)  # type: ignore[arg-type]
    primes = np.array(_primes(parameters), dtype="<u4").tobytes()
    start = _HEADER.size + len(primes)
    if bytes(view[: _HEADER.size]) != _header(expected) or bytes(view[_HEADER.size : start]) != primes:
        raise MismatchError(
            f"The evaluation keys are not of the set {parameters.name}, its special primes and digits: use "
            "files of one set."
        )
    each = _ELEMENT.size + SEED_BYTES + 4 * _words(parameters)
    if count > MOST_KEYS or len(view) != start + count * each + _DIGEST_BYTES:
        raise FrameError(
            f"The evaluation keys have {len(view)} bytes, and {count_of(count, 'key')} of {parameters.name} "
            f"would have {start + count * each + _DIGEST_BYTES}: they were cut short or damaged, so fetch "
            "them again."
        )
    if _digest(view[:-_DIGEST_BYTES]) != bytes(view[-_DIGEST_BYTES:]):
        raise FrameError("The evaluation keys are damaged: their digest differs, so fetch them again.")
    return SeededKeys(parameters, kind, key_id, _keys(view[start:-_DIGEST_BYTES], expected), source_id)


def _keys(view: memoryview, of: SeededKeys) -> dict[int, SeededKey]:
    parameters = of.parameters
    each = _ELEMENT.size + SEED_BYTES + 4 * _words(parameters)
    keys: dict[int, SeededKey] = {}
    last = -1
    for at in range(0, len(view), each):
        (element,) = _ELEMENT.unpack_from(view, at)
        galois = of.kind is KeyKind.GALOIS
        if element <= last or (
            element % 2 == 0 or not 3 <= element < 2 * parameters.n if galois else element != 0
        ):
            raise FrameError(
                f"The evaluation keys name the element {element} out of place: they are damaged, so fetch "
                "them again."
            )
        last = element
        seed = bytes(view[at + _ELEMENT.size : at + _ELEMENT.size + SEED_BYTES])
        words = np.frombuffer(view[at + _ELEMENT.size + SEED_BYTES : at + each], dtype="<u4")
        keys[element] = SeededKey(seed, words.reshape(-1, len(_primes(parameters)), parameters.n))
    return keys


def _primes(parameters: ParameterSet) -> tuple[int, ...]:
    return (*parameters.data_primes, *parameters.special_primes)


def _words(parameters: ParameterSet) -> int:
    digits = -(-len(parameters.data_primes) // parameters.digit_primes)
    return digits * len(_primes(parameters)) * parameters.n


def _header(keys: SeededKeys) -> bytes:
    p = keys.parameters
    return _HEADER.pack(
        MAGIC,
        _VERSION,
        keys.kind,
        p.log2_n,
        p.digit_primes,
        len(p.data_primes),
        len(p.special_primes),
        len(keys.keys),
        p.id,
        keys.key_id,
        keys.source_id,
    )


def _digest(body: Bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
