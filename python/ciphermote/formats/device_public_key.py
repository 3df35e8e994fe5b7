# SPDX-License-Identifier: Apache-2.0
"""Read the public key that a device generated from its frames."""

from __future__ import annotations

import numpy as np

from ciphermote.base.errors import FrameError
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import parse_frame
from ciphermote.formats.residues import expand_seed
from ciphermote.parameters import ParameterSet


def read_public_key(data: bytes, parameters: ParameterSet, key_id: int) -> sb.SealPublicKey:
    """Read the public key in these frames of one device, in any order.

    Raises FrameError if a frame is damaged, missing, repeated, of another key, or not of a public key. Only
    the transport can prove that the key belongs to the device.
    """
    polynomial = np.zeros((len(parameters.primes), parameters.n), dtype=np.uint32)
    covered = np.zeros_like(polynomial, dtype=np.bool_)
    seed = b""
    xof = counter = None
    while data:
        header, frame = parse_frame(data, parameters)
        data = data[header.length :]
        found = header.set
        if found.scheme is not None or found.key_id != key_id:
            raise FrameError(
                f"A frame of {found.key_id:016x} is not of the public key {key_id:016x}: send the frames of "
                "that key and nothing more."
            )
        if (xof, counter) not in ((None, None), (found.xof, found.counter)):
            raise FrameError("The frames are of two public keys: send those of one.")
        xof, counter = found.xof, found.counter
        points = parameters.n >> header.log2_tiles
        place = header.prime, slice(header.tile * points, (header.tile + 1) * points)
        if seed if header.is_seed else covered[place].any():
            raise FrameError(
                f"The public key's frame of {header.place} came twice: send each of its frames once."
            )
        if header.is_seed:
            seed = bytes(frame.seed)
            if not any(seed):
                raise FrameError(
                    "The public key's seed is all zeros, so the device's random source failed: repair it and "
                    "make a new key."
                )
            continue
        polynomial[place] = frame.residues()
        covered[place] = True
    if not covered.all() or not seed or not xof:
        raise FrameError("Frames of the public key are missing: have all of them sent again.")
    second = expand_seed(parameters, xof, seed, len(parameters.primes))
    residues = np.stack([polynomial, second])
    return sb.SealCiphertext(parameters, len(parameters.primes), True, 1.0, residues, key_id=key_id)
