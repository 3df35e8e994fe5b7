# SPDX-License-Identifier: Apache-2.0
"""Bytes that hold a ciphertext, frames as a device sends them or SEAL's with their label, and what they say
of themselves.
"""

from __future__ import annotations

from ciphermote.adapter import FrameSet, SetHeader, parse_frame, read_set
from ciphermote.arguments import instance, modulus
from ciphermote.declaration import split
from ciphermote.errors import FrameError, MismatchError, ParameterError
from ciphermote.framing import HEADER_BYTES, MAGIC
from ciphermote.labels import detach
from ciphermote.parameters import ParameterSet, by_id

Bytes = bytes | bytearray | memoryview
_PARAMETERS_AT = slice(8, 12)


def check_bytes(data: object, name: str) -> None:
    """ParameterError unless data are bytes."""
    wanted = "the bytes of frames or of a ciphertext"
    instance(data, (bytes, bytearray, memoryview), name, wanted)


def are_frames(data: Bytes) -> bool:
    """Whether data begins as frames do, and not as what SEAL saves."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def stated_parameters(data: Bytes) -> ParameterSet:
    """The built-in set that a frame or a label names. ParameterError if it is none, or nothing names it."""
    if are_frames(data):
        if len(data) < HEADER_BYTES:
            raise FrameError(
                f"{len(data)} bytes are fewer than a frame's header: they were cut short, so have them sent "
                "again."
            )
        return by_id(int.from_bytes(data[_PARAMETERS_AT], "little"))
    _, label = detach(data)
    if label is None:
        raise ParameterError(
            "Nothing names the ciphertext's parameter set, for it has no label: if it is a ciphertext that "
            "SEAL itself saved, and not a key, name it (--params)."
        )
    return by_id(label.parameters_id)


def stated_modulus(data: Bytes, parameters: ParameterSet) -> int | None:
    """BFV's t, 0 for CKKS, as a frame or a label says it; None if there is no label."""
    if are_frames(data):
        return _header(data, parameters).plain_modulus
    _, label = detach(data)
    return None if label is None else label.plain_modulus


def modulus_of(data: Bytes, parameters: ParameterSet, given: int = 0) -> int:
    """BFV's t, 0 for CKKS, as a frame or a label says it; as given, if there is no label. MismatchError if
    another one is given than is said."""
    given = modulus(given)
    stated = stated_modulus(data, parameters)
    if stated is None:
        return given
    if given not in (0, stated):
        raise MismatchError(
            f"The ciphertext is {_scheme_name(stated)}, and {given} was given: leave the plain modulus "
            "(--plain-modulus) out."
        )
    return stated


def check_one_scheme(data: Bytes, parameters: ParameterSet, first: int, of: str) -> None:
    """MismatchError if data state another modulus than the first of several ciphertexts has, which is called
    `of`."""
    stated = stated_modulus(data, parameters)
    if stated not in (None, first):
        raise MismatchError(
            f"The ciphertext is {_scheme_name(stated)}, and {of} is {_scheme_name(first)}: give ciphertexts "
            "of one scheme and plain modulus."
        )


def _scheme_name(plain_modulus: int | None) -> str:
    return f"BFV's, modulo {plain_modulus}" if plain_modulus else "CKKS's, which has no plain modulus"


def as_seal(data: Bytes, parameters: ParameterSet) -> bytes:
    """SEAL's bytes and their label: of the frames of one ciphertext, or as they are. FrameError."""
    if not are_frames(data):
        return bytes(data)
    return set_of(data, parameters).to_seal()


def set_of(data: Bytes, parameters: ParameterSet) -> FrameSet:
    """The frames of one ciphertext, of whatever key and scheme the first of them names. FrameError."""
    head = _header(data, parameters)
    return read_set(bytes(data), parameters, head.key_id, plain_modulus=head.plain_modulus)


def _header(data: Bytes, parameters: ParameterSet) -> SetHeader:
    _, frames = split(bytes(data))
    return parse_frame(frames, parameters)[0].set
