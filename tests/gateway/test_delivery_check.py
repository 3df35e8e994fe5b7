# SPDX-License-Identifier: Apache-2.0
"""Every residue of a delivery is below its prime, wherever it lies in its frame's bytes."""

from __future__ import annotations

import os
import struct

import pytest
from ciphermote import _evaluator
from ciphermote.parameters.native import core_params
from gateway_support import FullDevice, frames_of, full_owner

from golden import compact as golden_compact
from golden import device as golden

HEADER_BYTES, TAG_BYTES = 64, 8
SETS = ("n1024_q26", "n4096_q26x3_p27")


def with_residue(frame: bytes, tag_key: bytes, bits: int, index: int, residue: int) -> bytes:
    """The frame with another residue, under its right tag and checksum."""
    payload = int.from_bytes(frame[HEADER_BYTES : -TAG_BYTES - 4], "little")
    payload += (residue - (payload >> index * bits) % (1 << bits)) << index * bits
    size = len(frame) - HEADER_BYTES - TAG_BYTES - 4
    body = frame[:HEADER_BYTES] + payload.to_bytes(size, "little")
    body += golden_compact.tag(tag_key, body)
    return body + struct.pack("<I", golden.crc32c(body))


@pytest.mark.parametrize("name", SETS)
def test_a_residue_that_is_not_below_its_prime_is_refused(name: str) -> None:
    keys = full_owner(name)
    device = FullDevice(keys, 1)
    params, key = core_params(keys.parameters), device.tag_keys.frames
    seed, *tiles = frames_of(device.encrypt([1.0]))
    prime, n = keys.parameters.primes[0], keys.parameters.n
    bits = prime.bit_length()
    first = next(tile for tile in tiles if len(tile) == HEADER_BYTES + n * bits // 8 + TAG_BYTES + 4)
    places = {0, 1, 7, 8, n - 2, n - 1, *(int.from_bytes(os.urandom(2), "little") % n for _ in range(8))}

    def status(index: int, residue: int) -> str:
        delivery = seed + with_residue(first, key, bits, index, residue)
        return str(_evaluator.check_deliveries([(params, key, 0, delivery)])[0].status)

    for index in sorted(places):
        assert status(index, prime - 1) == status(index, 0) == "CM_OK"
        assert status(index, prime) == status(index, 2**bits - 1) == "CM_ERR_RESIDUE", index
