# SPDX-License-Identifier: Apache-2.0
"""Bytes that hold a ciphertext, frames as a device sends them or SEAL's with their label, and what they say
of themselves.
"""

from __future__ import annotations

from ciphermote.adapter import SetHeader, adapt, parse_frame
from ciphermote.arguments import instance, modulus
from ciphermote.errors import FrameError, MismatchError, ParameterError
from ciphermote.framing import HEADER_BYTES, MAGIC
from ciphermote.labels import detach
from ciphermote.parameters import ParameterSet, by_id

Bytes = bytes | bytearray | memoryview
_PARAMETERS_AT = slice(8, 12)


def check_bytes(data: object, name: str) -> None:
    """ParameterError unless data are bytes."""
    instance(data, (bytes, bytearray, memoryview), name, "the bytes of frames or of a ciphertext")


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


def modulus_of(data: Bytes, parameters: ParameterSet, given: int = 0) -> int:
    """BFV's t, 0 for CKKS, as a frame or a label says it; as given, if there is no label. MismatchError if
    another one is given than is said."""
    given = modulus(given)
    if are_frames(data):
        stated = _header(data, parameters).plain_modulus
    else:
        _, label = detach(data)
        stated = given if label is None else label.plain_modulus
    if given not in (0, stated):
        said = f"BFV's, modulo {stated}" if stated else "CKKS's, which has no plain modulus"
        raise MismatchError(
            f"The ciphertext is {said}, and {given} was given: leave the plain modulus (--plain-modulus) out."
        )
    return stated


def as_seal(data: Bytes, parameters: ParameterSet) -> bytes:
    """SEAL's bytes and their label: of the frames of one ciphertext, or as they are. FrameError."""
    if not are_frames(data):
        return bytes(data)
    head = _header(data, parameters)
    return adapt(bytes(data), parameters, head.key_id, plain_modulus=head.plain_modulus)


def _header(data: Bytes, parameters: ParameterSet) -> SetHeader:
    return parse_frame(bytes(data), parameters)[0].set
