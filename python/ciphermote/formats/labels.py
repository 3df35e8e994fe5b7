# SPDX-License-Identifier: Apache-2.0
"""The label that follows SEAL's bytes in a file: it names their key, parameter set, scheme, and scale or
plain modulus, the model whose scores they hold, and what is known about the values (parameters/bounds.py).

SEAL's own bytes name no key, and mixed keys compute and decrypt to noise without an error. SEAL reads only as
many bytes as an object's header states, so an object with a label loads into SEAL unchanged; objects that
SEAL saves have none. A label is passed on and checked where objects are combined, and never invented. Its
digest detects accidents, and proves nothing against attackers. docs/wire-format.md has the layout.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.parameters import CKKS, ParameterSet, Scheme
from ciphermote.parameters.bounds import MOST_SOURCES, UNKNOWN, Known
from ciphermote.parameters.schemes import BFV_CODE, CKKS_CODE, LARGEST_PLAIN_MODULUS
from ciphermote.parameters.uncertainty import MOST_COEFFICIENTS, Uncertainty

_MAGIC = b"CMLB"
_VERSION = 3
_OBJECT = struct.Struct("<4sBBBBIQ8sQ")
_OLDER_VERSION = 2
_KNOWN = struct.Struct("<dddddBBBBB")
"""What is known about the values, after the object's fields. The last five fields count the numbers that
follow; the names of sources come last."""
_SLOTS_INDEPENDENT = 1
"""The flag for slots whose errors are independent of each other."""
_ASSUMED = 2
"""The flag for what holds only if a caller was right (Known.assumed)."""
_DIGEST_BYTES = 32
MOST_LABEL_BYTES = _OBJECT.size + _KNOWN.size + 8 * (4 * MOST_COEFFICIENTS + MOST_SOURCES) + _DIGEST_BYTES
_SEAL_MAGIC = b"\x5e\xa1"
_SEAL_HEADER_BYTES = 16
_SEAL_SIZE_AT = 8


class Kind(IntEnum):
    """The kind of a labelled object."""

    CIPHERTEXT = 1
    RELIN_KEYS = 2
    GALOIS_KEYS = 3


_NAMES = {
    Kind.CIPHERTEXT: "a ciphertext",
    Kind.RELIN_KEYS: "relinearization keys",
    Kind.GALOIS_KEYS: "Galois keys",
}


@dataclass(frozen=True)
class Label:
    """The fields of a label.

    scale: that of a CKKS ciphertext; 0 otherwise. model_id: ID of the model whose scores a ciphertext holds
    (LinearModel.id), or None. known: what is known about a ciphertext's values.
    """

    kind: Kind
    scheme: Scheme
    parameters_id: int
    key_id: int
    scale: float = 0.0
    model_id: int | None = None
    known: Known = UNKNOWN

    def _pack(self) -> bytes:
        value = (
            struct.pack("<Q", self.scheme.plain_modulus)
            if self.scheme.is_bfv
            else struct.pack("<d", self.scale)
        )
        flags = _SLOTS_INDEPENDENT * self.known.slots_independent + _ASSUMED * self.known.assumed
        head = _MAGIC, _VERSION, self.kind, self.scheme.code, flags
        of = self.parameters_id, self.key_id, value, self.model_id or 0
        return _OBJECT.pack(*head, *of) + _pack_known(self.known)

    def check(self, kind: Kind, parameters: ParameterSet, scheme: Scheme) -> None:
        """Raises FrameError unless the label belongs to such an object, or MismatchError if set, scheme or
        modulus differ."""
        if self.kind != kind:
            raise FrameError(
                f"By its label the file holds {_NAMES[self.kind]}, not {_NAMES[kind]}: give the right file."
            )
        if self.parameters_id != parameters.id:
            raise MismatchError(
                f"The label of {_NAMES[kind]} names the parameter set 0x{self.parameters_id:08x}, not "
                f"{parameters.name} (0x{parameters.id:08x}): use files of one set."
            )
        if self.scheme != scheme:
            raise MismatchError(
                f"The label of {_NAMES[kind]} says {self.scheme}, not {scheme}: use files of one "
                "scheme and plain modulus."
            )


def other_scheme(found: Scheme, wanted: Scheme) -> MismatchError:
    """Make the error for a ciphertext of another scheme than expected."""
    return MismatchError(
        f"The ciphertext is {found}'s, and one of {wanted} is wanted here: "
        "give one of that scheme, or name the ciphertext's (--plain-modulus, or none for CKKS; in Python, "
        "scheme)."
    )


def attach(seal: bytes, label: Label) -> bytes:
    """Return SEAL's bytes of an object with a label after them."""
    fields = label._pack()
    return seal + fields + _digest(seal, fields)


def detach(data: bytes | bytearray | memoryview) -> tuple[memoryview, Label | None]:
    """Split data into SEAL's bytes and the label, if there is one.

    Raises FrameError if a label is damaged or belongs to other bytes. Other bytes after the object stay with
    it, and SEAL's reader refuses them.
    """
    view = memoryview(data).cast("B")
    if len(view) < _SEAL_HEADER_BYTES or view[:2] != _SEAL_MAGIC:
        return view, None
    size = int.from_bytes(view[_SEAL_SIZE_AT:_SEAL_HEADER_BYTES], "little")
    tail = bytes(view[size : size + MOST_LABEL_BYTES + 1])
    if not tail.startswith(_MAGIC):
        return view, None
    version = tail[len(_MAGIC)] if len(tail) > len(_MAGIC) else None
    if version not in (_VERSION, _OLDER_VERSION):
        raise _other_version()
    seal, fields = view[:size], tail[:-_DIGEST_BYTES]
    if len(tail) < _OBJECT.size + _DIGEST_BYTES or tail[len(fields) :] != _digest(seal, fields):
        raise _damaged("is damaged, or is another object's: have the file sent again.")
    return seal, _label(fields)


def _label(fields: bytes) -> Label:
    """Make a label from its fields. Raises FrameError for a field that this package does not write."""
    _, version, kind, scheme, flags, parameters_id, key_id, value, model_id = _OBJECT.unpack_from(fields)
    of_ciphertext = kind == Kind.CIPHERTEXT
    older = version == _OLDER_VERSION
    if (
        kind not in _NAMES
        or scheme not in (BFV_CODE, CKKS_CODE)
        or flags & ~(_SLOTS_INDEPENDENT | _ASSUMED if of_ciphertext and not older else 0)
        or (model_id and not of_ciphertext)
    ):
        raise _other_version()
    known = UNKNOWN if older else _read_known(fields[_OBJECT.size :], flags)
    scale, plain_modulus = struct.unpack("<d", value)[0], int.from_bytes(value, "little")
    is_bfv = scheme == BFV_CODE
    if (
        (older and len(fields) > _OBJECT.size)
        or (known != UNKNOWN and not of_ciphertext)
        or (is_bfv and not 2 <= plain_modulus <= LARGEST_PLAIN_MODULUS)
    ):
        raise _damaged("has fields that are no such object's: the file is damaged or hostile, so drop it.")
    return Label(
        Kind(kind),
        Scheme(plain_modulus) if is_bfv else CKKS,
        parameters_id,
        key_id,
        0.0 if is_bfv else scale,
        model_id or None,
        known,
    )


def _pack_known(known: Known) -> bytes:
    error, reading = known.error, known.reading
    numbers = () if error is None else (error.variance, error.spread, error.values, error.rounding)
    of_reading = (
        (math.nan,) * 3 if reading is None else (reading.variance[0], reading.spread[0], reading.rounding[0])
    )
    return _KNOWN.pack(
        math.nan if known.largest is None else known.largest,
        0.0 if error is None else error.bias,
        *of_reading,
        *(map(len, numbers) if error else (0, 0, 0, 0)),
        len(known.sources),
    ) + b"".join(
        [
            *(struct.pack(f"<{len(each)}d", *each) for each in numbers),
            *(struct.pack("<Q", source) for source in sorted(known.sources)),
        ]
    )


def _read_known(fields: bytes, flags: int) -> Known:
    """Read what _pack_known wrote. Raises FrameError for anything else."""
    try:
        largest, bias, *reading, variances, spreads, values, roundings, named = _KNOWN.unpack_from(fields)
        counts = variances, spreads, values, roundings
        numbers = struct.unpack_from(f"<{sum(counts)}d", fields, _KNOWN.size)
        sources = struct.unpack_from(f"<{named}Q", fields, _KNOWN.size + 8 * sum(counts))
    except struct.error:
        raise _damaged("ends early: have the file sent again.") from None
    unread = iter(numbers)
    variance, spread, value, rounding = (tuple(islice(unread, count)) for count in counts)
    own_variance, own_spread, own_rounding = ((number,) for number in reading)
    known = Known(
        None if math.isnan(largest) else largest,
        Uncertainty(variance, spread, bias, value, rounding) if variances else None,
        None
        if any(map(math.isnan, reading))
        else Uncertainty(own_variance, own_spread, rounding=own_rounding),
        frozenset(sources),
        slots_independent=bool(flags & _SLOTS_INDEPENDENT),
        assumed=bool(flags & _ASSUMED),
    )
    sizes = known.largest or 0.0, bias, *(() if known.reading is None else reading)
    sound = (
        all(map(math.isfinite, (*sizes, *numbers)))
        and min(sizes) >= 0
        and max(counts) <= MOST_COEFFICIENTS
        and (bool(variances) == bool(spreads) == bool(roundings))
        and (values == 0 or variances > 0)
        and (values > 0 or (max(variances, spreads, roundings) <= 1 and min(numbers, default=0.0) >= 0))
        and len(fields) == _KNOWN.size + 8 * (sum(counts) + named)
        and list(sources) == sorted(known.sources)
        and named <= MOST_SOURCES
    )
    if not sound:
        raise _damaged(
            "holds no bound or error that this package writes: the file is damaged or hostile, so drop it."
        )
    return known


def _damaged(how: str) -> FrameError:
    return FrameError(f"The label behind SEAL's bytes {how}")


def _other_version() -> FrameError:
    return FrameError(
        f"The label behind SEAL's bytes is of another version than this package reads ({_VERSION}): make the "
        "file anew with this one, or update the package."
    )


def _digest(seal: bytes | memoryview, fields: bytes) -> bytes:
    digest = hashlib.blake2b(seal, digest_size=_DIGEST_BYTES)
    digest.update(fields)
    return digest.digest()


def check_key(
    what: str,
    key_id: int | None,
    against: str,
    other: int | None,
    *,
    bare: bool = False,
    advice: str = "use the key directory it was encrypted for",
) -> None:
    """Raises MismatchError unless both keys are equal; None stands for an unknown key, which only bare
    allows.

    what, against, advice: phrases for the message, such as "the ciphertext" and "the Galois keys".
    """
    if key_id is None or other is None:
        if not bare:
            raise MismatchError(
                f"Nothing names the key of {what if key_id is None else against}, for SEAL's own bytes have "
                "no room for it: take it without (--bare) if you know that its key is the right one."
            )
    elif key_id != other:
        raise MismatchError(
            f"{what[0].upper()}{what[1:]} and {against} belong to different keys ({key_id:016x}, "
            f"{other:016x}): {advice}."
        )
