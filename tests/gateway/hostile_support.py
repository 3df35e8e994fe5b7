# SPDX-License-Identifier: Apache-2.0
"""Hostile devices: enrolled like others, with tags of their own, and what they like in their ciphertexts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from ciphermote import _core
from ciphermote.compact import packing
from ciphermote.compact.sets import CompactSet
from ciphermote.parameters.native import core_params
from gateway_support import FullDevice, PacketDevice, frames_of
from numpy.typing import NDArray

from golden import compact as golden
from golden import device as golden_device

_HEADER_BYTES, _TAG_BYTES, _FRAME_HEADER_BYTES = 27, 8, 64


def packet_of(device: PacketDevice, values: Sequence[int]) -> bytes:
    """A packet of any values modulo t, encrypted as the set asks for."""
    keys, entry = device.keys, device.enrolment
    compact, device.counter = keys.set, device.counter + 1000
    ring = golden.Ring(compact.id, compact.n, compact.primes, compact.plain_modulus, compact.dropped_bits)
    window = golden.Window(entry.epoch, entry.device, device.counter, device.counter, os.urandom(8))
    secret = np.array(keys.secret.hosted.coefficients(), dtype=np.int64)
    reduced = [value % compact.plain_modulus for value in values]
    (packet,) = golden.packets(ring, keys.material(entry), window, secret, 0, reduced, 200)
    device.boot()
    return packet


def shift_packet(device: PacketDevice, packet: bytes, added: Sequence[int]) -> bytes:
    """A packet whose c0 is this much larger, modulo Q, with a new tag."""
    compact: CompactSet = device.keys.set
    bits = compact.wire_bits
    body = packet[_HEADER_BYTES:-_TAG_BYTES]
    flat = np.unpackbits(np.frombuffer(body, dtype=np.uint8), bitorder="little")[: len(added) * bits]
    rows = flat.reshape(len(added), bits).astype(np.uint64)
    sent = (rows << np.arange(bits, dtype=np.uint64)).sum(axis=1)
    moved = [
        (((int(old) << compact.dropped_bits) + more) % compact.modulus) >> compact.dropped_bits
        for old, more in zip(sent, added, strict=True)
    ]
    message = packet[:_HEADER_BYTES] + packing.packed(np.array(moved, dtype=np.uint64), bits)
    return message + _core.tag(device.tag_keys.frames, message + bytes(4))


def shift_frames(device: FullDevice, frames: bytes, added: int, power: int = 0) -> bytes:
    """Frames of a ciphertext whose c0 is larger by added X^power, modulo Q, with new tags. Of a constant,
    every CKKS slot is larger by added / scale, every BFV slot by round(t added / Q)."""
    parameters = device.keys.parameters

    def shifted(prime: int, residues: NDArray[np.uint32]) -> NDArray[np.uint32]:
        polynomial = np.zeros(parameters.n, dtype=np.int64)
        polynomial[power] = added % prime
        moved = (residues.astype(np.int64) + golden_device.ntt(polynomial, prime)) % prime
        return moved.astype(np.uint32)

    return _rewritten(device, frames, 0, shifted)


def in_the_clear(device: FullDevice, frames: bytes) -> bytes:
    """Frames of a device with the public key, whose second polynomial is zero."""
    return _rewritten(device, frames, 1, lambda _, residues: np.zeros_like(residues))


def _rewritten(
    device: FullDevice,
    frames: bytes,
    component: int,
    change: Callable[[int, NDArray[np.uint32]], NDArray[np.uint32]],
) -> bytes:
    """Frames with other residues of one component, and new tags."""
    parameters = device.keys.parameters
    found = []
    for data in frames_of(frames):
        frame = _core.Frame(core_params(parameters), data)
        if frame.is_seed or frame.component != component:
            found.append(data)
            continue
        prime = parameters.primes[frame.prime]
        payload = packing.packed(change(prime, frame.residues()), prime.bit_length())
        message = data[:_FRAME_HEADER_BYTES] + payload
        message += _core.tag(device.tag_keys.frames, message)
        found.append(message + _core.crc32c(message).to_bytes(4, "little"))
    return b"".join(found)


def constant_for(device: FullDevice, value: float) -> int:
    """What shift_frames adds for this value in every slot."""
    if modulus := device.plain_modulus:
        q = device.keys.parameters.moduli[len(device.keys.parameters.data_primes)]
        return round(q * value / modulus)
    return round(value * 2.0**device.log2_scale)
