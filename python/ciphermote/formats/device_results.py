# SPDX-License-Identifier: Apache-2.0
"""Write a SEAL ciphertext as frames that a device decrypts.

A device decrypts tile by tile and prime by prime, component 1 before component 0, in NTT form
(core/include/ciphermote/decryptor.h); results are converted to that form and order here. Everything here is
public: no secret key is needed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ciphermote import _core
from ciphermote.base.arguments import whole
from ciphermote.base.errors import ParameterError
from ciphermote.base.words import count_of
from ciphermote.formats import seal as sb
from ciphermote.formats.labels import check_key
from ciphermote.formats.residues import transformed
from ciphermote.formats.tags import LARGEST_DEVICE, LARGEST_EPOCH, TAG_KEY_BYTES
from ciphermote.parameters.native import core_params

MAX_LOG2_TILES = 4
_MOST_PRIMES_DECRYPTED = 2
_SCALE_END = 2.0**512
"""Frames can express scales from 1 to below this."""

_SCHEME_KEY = 0
_RANDOM_BYTES = 8


@dataclass(frozen=True)
class ResultTag:
    """The device that a result is for and the attempt that it answers: besides the frames' counter, the
    window and the 8 random bytes.

    key: the result key (TagKeys.results), under which the frames are tagged. Raises ParameterError for values
    that frames cannot express. An attempt has one result: to send it again, send the same bytes, because
    frames of two results with one ResultTag could be mixed.
    """

    key: bytes = field(repr=False)
    device: int
    epoch: int
    window: int
    random: bytes

    def __post_init__(self) -> None:
        whole(self.device, "The device", 0, LARGEST_DEVICE, "2^32 - 1")
        whole(self.epoch, "The epoch", 1, LARGEST_EPOCH)
        for name, value, size in (
            ("result key", self.key, TAG_KEY_BYTES),
            ("attempt's random bytes", self.random, _RANDOM_BYTES),
        ):
            if not isinstance(value, bytes) or len(value) != size:
                raise ParameterError(f"The {name} are not {size} bytes: give those of the device.")


def device_frames(
    ciphertext: sb.SealCiphertext,
    key_id: int,
    counter: int,
    *,
    largest: float | None = None,
    log2_tiles: int = 0,
    primes: int | None = None,
    tag: ResultTag | None = None,
) -> Iterator[bytes]:
    """Write the frames of a ciphertext, one after the other, in the order in which a device accepts them.

    ciphertext: one of two polynomials, BFV (either form) or CKKS, at any level. key_id, counter: those to
    write into the frames; the device checks that all agree. largest (required for CKKS, and only there): the
    largest magnitude of a slot; times the scale it must be below a quarter of the product of the primes that
    the device decrypts at. log2_tiles: each polynomial is written in 2^log2_tiles tiles, as the device's
    decryption expects. primes (CKKS): the number of first primes to use, which changes no value; None for the
    fewest that largest allows, which is one (the most for a device with 31 bits) or two. tag: makes the
    frames version 2, for a device that expects them. Raises MismatchError if the ciphertext names another
    key. Raises ParameterError if the ciphertext does not have two polynomials, a scale from 1 to below 2^512
    and residues below their primes; if largest, the tiles or the primes do not fit; if key_id or counter have
    more than 64 bits; or if the counter is before the tag's window, or 2^32 or more after it.
    """
    check_key("the ciphertext", ciphertext.key_id, "the device", key_id, bare=True)
    if ciphertext.size != 2:
        raise ParameterError(
            f"The ciphertext has {ciphertext.size} polynomials and devices decrypt two: relinearize it first."
        )
    check_address(key_id, counter, log2_tiles)
    if tag is not None:
        whole(tag.window, "The window", max(0, counter - 2**32 + 1), counter)
    kept = _primes_to_keep(ciphertext, largest, primes)
    for prime, q in enumerate(ciphertext.parms.primes[:kept]):
        if (ciphertext.residues[:, prime] >= q).any():
            raise ParameterError(
                f"The ciphertext has a residue that is not below its prime {q}: it is damaged."
            )
    return _frames(ciphertext, key_id, counter, log2_tiles, kept, tag)


def _primes_to_keep(ciphertext: sb.SealCiphertext, largest: float | None, primes: int | None) -> int:
    is_ckks = not ciphertext.scheme.is_bfv
    if primes is not None and (
        not 1 <= primes <= ciphertext.primes or (primes < ciphertext.primes and not is_ckks)
    ):
        raise ParameterError(
            f"{count_of(primes, 'prime')} cannot be kept of a {ciphertext.scheme.name} ciphertext's "
            f"{ciphertext.primes}: CKKS ones can leave out their last primes, BFV ones are switched "
            "to fewer by SEAL."
        )
    if not is_ckks:
        if largest is not None:
            raise ParameterError(f"largest is {largest}, but BFV's values are bounded by t: leave it out.")
        return ciphertext.primes
    if not 1 <= ciphertext.scale < _SCALE_END:
        raise ParameterError(
            f"The ciphertext's scale is {ciphertext.scale:g} and frames say 1 to below 2^512: encrypt at "
            "another scale, or rescale less."
        )
    if largest is None or not 0 < largest < math.inf:
        raise ParameterError(
            f"largest is {largest}: say how large a slot may be in magnitude, for a device decrypts no "
            "ciphertext whose values might not fit its primes."
        )
    decrypted = range(1, min(ciphertext.primes, _MOST_PRIMES_DECRYPTED, primes or ciphertext.primes) + 1)
    for count in decrypted:
        if 4 * largest * ciphertext.scale < ciphertext.parms.moduli[count]:
            return primes or count
    raise ParameterError(
        f"Values up to {largest:g} at scale 2^{math.log2(ciphertext.scale):.4g} are not below a quarter of "
        f"the {len(decrypted)} prime(s) that a device decrypts at: rescale the ciphertext, or encrypt at a "
        "smaller scale."
    )


def check_address(key_id: int, counter: int, log2_tiles: int) -> None:
    """Raises ParameterError unless frames can express these."""
    for name, number in (("key id", key_id), ("counter", counter)):
        if not 0 <= number < 1 << 64:
            raise ParameterError(f"The {name} {number} is not from 0 to 2^64 - 1, as frames have them.")
    if not 0 <= log2_tiles <= MAX_LOG2_TILES:
        raise ParameterError(f"Frames never have 2^{log2_tiles} tiles: take log2_tiles from 0 to 4.")


def _frames(
    ciphertext: sb.SealCiphertext,
    key_id: int,
    counter: int,
    log2_tiles: int,
    primes: int,
    tag: ResultTag | None,
) -> Iterator[bytes]:
    parameters = ciphertext.parms
    params = core_params(parameters)
    is_bfv = ciphertext.scheme.is_bfv
    (scale_bits,) = struct.unpack("<Q", struct.pack("<d", ciphertext.scale))
    scale_or_modulus = ciphertext.scheme.plain_modulus if is_bfv else scale_bits
    residues = transformed(ciphertext, primes)
    points = parameters.n >> log2_tiles
    tagged = None if tag is None else (tag.key, tag.device, tag.epoch, tag.window, tag.random)
    for prime in range(primes):
        for tile in range(1 << log2_tiles):
            for component in (1, 0):
                part = residues[component, prime, tile * points : (tile + 1) * points]
                yield _core.write_frame(
                    params,
                    ciphertext.scheme.code,
                    primes,
                    log2_tiles,
                    key_id,
                    counter,
                    scale_or_modulus,
                    component,
                    prime,
                    tile,
                    np.ascontiguousarray(part),
                    tagged,
                )
