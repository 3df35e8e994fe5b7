# SPDX-License-Identifier: Apache-2.0
"""The compact lane in Python integers: docs/wire-format.md as a program, without the C library."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from golden import device as golden

HEADER_BYTES, TAG_BYTES = 27, 8


@dataclass(frozen=True)
class Ring:
    """A compact set's numbers."""

    id: int
    n: int
    primes: tuple[int, ...]
    plain_modulus: int
    dropped_bits: int

    @property
    def modulus(self) -> int:
        return math.prod(self.primes)

    @property
    def wire_bits(self) -> int:
        return ((self.modulus - 1) >> self.dropped_bits).bit_length()


@dataclass(frozen=True)
class Window:
    """The fields that all packets of a window's attempt share."""

    epoch: int
    device: int
    counter: int
    number: int
    random: bytes

    @property
    def position(self) -> bytes:
        return struct.pack("<Q", self.counter) + self.random


def material(ring: Ring, key_id: int, device: int, epoch: int, device_secret: bytes) -> bytes:
    """The lane, noise, random and tag keys."""
    whose = struct.pack("<QIH", key_id, device, epoch)
    lane = struct.pack(
        f"<BQ{len(ring.primes)}QQQ", ring.id, ring.n, *ring.primes, ring.plain_modulus, ring.dropped_bits
    )

    def derived(label: str, fields: bytes, size: int, key: bytes = b"") -> bytes:
        return hashlib.blake2b(f"ciphermote {label}".encode() + fields, digest_size=size, key=key).digest()

    return (
        derived("compact a", whose + lane, 32)
        + derived("compact noise", whose + lane, 32, device_secret)
        + derived("compact random", whose + lane, 32, device_secret)
        + derived("tag", whose, 48, device_secret)
    )


def block(key: bytes, position: bytes, length: int) -> bytes:
    """The beginning of ChaCha20's block at 16 bytes of block counter and nonce."""
    counter, *nonce = struct.unpack("<4I", position)
    return golden.chacha20(key, (nonce[0], nonce[1], nonce[2]), counter, 64)[:length]


def tag(tag_key: bytes, message: bytes) -> bytes:
    """ChaCha20 of Poly1305's polynomial of the message."""
    r = int.from_bytes(tag_key[32:], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    h = 0
    for start in range(0, len(message), 16):
        h = (h + int.from_bytes(message[start : start + 16] + b"\x01", "little")) * r % (2**130 - 5)
    return block(tag_key[:32], (h % 2**128).to_bytes(16, "little"), TAG_BYTES)


def composed(ring: Ring, residues: Sequence[golden.Residues]) -> list[int]:
    """Polynomials modulo each prime to one modulo Q."""
    if len(ring.primes) == 1:
        return [int(x) for x in residues[0]]
    first, second = ring.primes
    inverse = pow(first, -1, second)
    return [int(x) + first * ((int(y) - int(x)) * inverse % second) for x, y in zip(*residues, strict=True)]


def product(a: golden.Residues, s: golden.Residues, q: int) -> golden.Residues:
    """a s modulo x^n + 1 and q."""
    n = len(a)
    whole = np.zeros(2 * n, dtype=np.int64)
    for i in np.flatnonzero(s):
        whole[i : i + n] += int(s[i]) * a
    return (whole[:n] - whole[n:]) % q


def products(ring: Ring, lane_key: bytes, window: Window, s: golden.Residues) -> list[int]:
    """a s modulo Q, for the window's a."""
    seed = block(lane_key, window.position, 32)
    expanded = golden.uniform(golden.Chain(ring.n, ring.primes), golden.CHACHA20, seed, len(ring.primes))
    return composed(ring, [product(a, s, q) for a, q in zip(expanded, ring.primes, strict=True)])


def coefficients(
    ring: Ring, keys: bytes, window: Window, s: golden.Residues, values: dict[int, int]
) -> dict[int, int]:
    """Return the part of c0 that is sent at the positions of values."""
    q, t = ring.modulus, ring.plain_modulus
    minus = products(ring, keys[:32], window, s)
    noise = golden.noise(block(keys[32:64], window.position, 32), 0, ring.n)
    return {
        i: (-minus[i] + int(noise[i]) + (q * m + (t + 1) // 2) // t) % q >> ring.dropped_bits
        for i, m in values.items()
    }


def linear_form(
    ring: Ring, seed: bytes, positions: Sequence[int], weights: Sequence[int], payload: Sequence[int]
) -> tuple[int, list[golden.Residues]]:
    """Return a ciphertext whose constant coefficient decrypts to the sum of weights times values: the
    constant coefficient of its c0 modulo Q, without a bias taken off, and c1 at each prime. payload: what was
    sent."""
    middle = 1 << ring.dropped_bits >> 1
    sent = [(coefficient << ring.dropped_bits) + middle for coefficient in payload]
    constant = sum(w * c for w, c in zip(weights, sent, strict=True)) % ring.modulus
    expanded = golden.uniform(golden.Chain(ring.n, ring.primes), golden.CHACHA20, seed, len(ring.primes))
    found = []
    for a, q in zip(expanded, ring.primes, strict=True):
        total = np.zeros(ring.n, dtype=np.int64)
        for w, p in zip(weights, positions, strict=True):
            total += w * np.concatenate([a[p:], -a[:p]])  # a X^-p, for X^n = -1
        found.append(total % q)
    return constant, found


def packet(ring: Ring, keys: bytes, window: Window, sent: dict[int, int], first: int, count: int) -> bytes:
    """One packet with the coefficients from first on."""
    header = struct.pack(
        "<BBHIII8s",
        *(0x21, ring.id, window.epoch, window.device, window.counter & 0xFFFFFFFF),
        *(window.counter - window.number, window.random),
    )
    header += (first | count << 12).to_bytes(3, "little")
    packed = sum(sent[first + i] << i * ring.wire_bits for i in range(count))
    body = header + packed.to_bytes(-(-count * ring.wire_bits // 8), "little")
    return body + tag(keys[96:], body + struct.pack("<I", window.counter >> 32))


def packets(
    ring: Ring,
    keys: bytes,
    window: Window,
    s: golden.Residues,
    first: int,
    values: Sequence[int],
    packet_bytes: int,
) -> list[bytes]:
    """A window's packets, each of at most so many bytes."""
    sent = coefficients(ring, keys, window, s, {first + i: m for i, m in enumerate(values)})
    most = (packet_bytes - HEADER_BYTES - TAG_BYTES) * 8 // ring.wire_bits
    return [
        packet(ring, keys, window, sent, first + at, min(most, len(values) - at))
        for at in range(0, len(values), most)
    ]


def tagged_frames(frames: bytes, window: Window, tag_key: bytes) -> bytes:
    """Frames of version 1 as version 2 has them."""
    sent = []
    while frames:
        header, length = bytearray(frames[:44]), struct.unpack("<I", frames[40:44])[0]
        header[2] = 2
        more = struct.pack(
            "<IHHI8s", window.device, window.epoch, 0, window.counter - window.number, window.random
        )
        body = bytes(header) + more + frames[44 : 44 + length]
        body += tag(tag_key, body)
        sent.append(body + struct.pack("<I", golden.crc32c(body)))
        frames = frames[44 + length + 4 :]
    return b"".join(sent)
