# SPDX-License-Identifier: Apache-2.0
"""The gateway holds nothing that decrypts: its files and the memory of its processes, after deliveries, jobs
and results, are searched for decryption keys in every form that they have, for devices' secrets and for
readings. The tag keys, which it does hold, show that the search finds what is there.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A16
from gateway_support import (
    LOG2_SCALE,
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    full_owner,
    run_job,
    serving,
)

VALUES = [12.345678, -9.8765432, 3.4506251, 7.7077123]
"""A full device's readings, as no other numbers look."""
COUNTS = [213, 77, 151, 189, 237, 93, 111, 245]
"""A compact device's."""
WINDOW_BYTES = 32
"""Bytes of a key that are searched for at many places: fewer would be found by chance, more could be
split."""


# --- what is searched for -----------------------------------------------------------------------------------


def pieces(data: bytes, count: int = 24) -> list[bytes]:
    """Runs of it, from all over it, that say something."""
    step = max(1, (len(data) - WINDOW_BYTES) // count)
    found = []
    for first in range(0, len(data) - WINDOW_BYTES + 1, step):
        for at in range(first, min(first + 256, len(data) - WINDOW_BYTES + 1)):
            run = data[at : at + WINDOW_BYTES]
            changes = sum(x != y for x, y in pairwise(run))
            if len(set(run[:8])) >= 3 and changes >= 6:  # no run of zeros, which is everywhere
                found.append(run)
                break
    return found


def repacked(trits: np.ndarray) -> Iterator[bytes]:
    """Coefficients -1, 0, 1 in two bits each, at every alignment, and in 8, 32 and 64 bits."""
    for code in ((3, 0, 1), (2, 0, 1), (0, 1, 2)):
        two = np.array(code, dtype=np.uint8)[trits + 1]
        for shift in range(4):
            part = two[shift : shift + (len(two) - shift) // 4 * 4].reshape(-1, 4)
            yield (part << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=1).astype(np.uint8).tobytes()
            yield (part << np.array([6, 4, 2, 0], dtype=np.uint8)).sum(axis=1).astype(np.uint8).tobytes()
    yield trits.astype(np.int8).tobytes()


def residues(trits: np.ndarray, primes: list[int]) -> Iterator[bytes]:
    """Modulo each prime, in 32 and 64 bits."""
    for prime in primes:
        found = np.where(trits < 0, prime + trits, trits)
        yield found.astype(np.uint32).tobytes()
        yield found.astype(np.uint64).tobytes()


def packed_bits(values: np.ndarray, bits: int) -> bytes:
    """Pack bits without gaps, as frames pack residues."""
    wide = ((values[:, None] >> np.arange(bits)) & 1).astype(np.uint8).reshape(-1)
    return np.packbits(wide, bitorder="little").tobytes()


def coefficients(packed: bytes) -> np.ndarray:
    """The coefficients of a secret key as ciphermote/keys.h packs it."""
    two = np.frombuffer(packed, dtype=np.uint8)[:, None] >> np.array([0, 2, 4, 6]) & 3
    found = two.reshape(-1).astype(np.int64)
    return np.where(found == found.max(), -1, found) if found.max() > 1 else found


def transformed(seal: bytes, n: int, primes: list[int]) -> Iterator[bytes]:
    """The NTT form, which is what SEAL's bytes of the key hold: in 64 bits, in 32, and packed."""
    size = 8 * n * len(primes)
    words = np.frombuffer(seal[seal_data_at(seal, size) :][:size], dtype="<u8").reshape(len(primes), n)
    for row, prime in zip(words, primes, strict=True):
        assert (row < prime).all()
        yield row.astype(np.uint64).tobytes()
        yield row.astype(np.uint32).tobytes()
        yield packed_bits(row.astype(np.int64), prime.bit_length())


def seal_data_at(seal: bytes, size: int) -> int:
    """Behind the count of words, which stands there twice."""
    count = struct.pack("<Q", size // 8)
    return seal.index(count, seal.index(count) + 8) + 8


# --- where it is searched for -------------------------------------------------------------------------------


def family(server: Server) -> list[int]:
    """The gateway and its workers."""
    assert server.process is not None
    first = server.process.pid
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    found = [first, *map(int, children)]
    assert len(found) >= 2
    return found


def memory(process: int) -> Iterator[bytes]:
    """Return the process's writable memory, which holds everything that was received."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as file:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) (..)", line)
            assert found
            if found[3] != "rw":
                continue
            begin, end = int(found[1], 16), int(found[2], 16)
            with contextlib.suppress(OSError, ValueError, OverflowError):
                yield os.pread(file.fileno(), end - begin, begin)


def files(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield bytes(content)


_CHUNK = 1 << 20
_OVERLAP = 128
"""No less than what is searched for."""


class Image:
    """Everything that the gateway has, at one moment."""

    def __init__(self, server: Server) -> None:
        self.memory = [part for process in family(server) for part in memory(process)]
        self.files = [*files(server.data), server.log().encode()]

    def finds(self, what: list[bytes]) -> list[bytes]:
        """Return the needles that occur. Two tables of 16 bits select the places to compare."""
        low, high = np.zeros(1 << 16, dtype=bool), np.zeros(1 << 16, dtype=bool)
        by_head: dict[bytes, set[bytes]] = {}
        for each in what:
            first, second = struct.unpack_from("<HH", each)
            low[first] = high[second] = True
            by_head.setdefault(each[:8], set()).add(each)
        heads = np.array([int.from_bytes(head, "little") for head in by_head], dtype=np.uint64)
        found: set[bytes] = set()
        for part in (*self.memory, *self.files):
            for begin in range(0, len(part), _CHUNK):
                chunk = part[begin : begin + _CHUNK + _OVERLAP]
                if chunk.count(0) == len(chunk):
                    continue
                for shift in (0, 1):
                    words = np.frombuffer(chunk, dtype="<u2", offset=shift, count=(len(chunk) - shift) // 2)
                    places = np.nonzero(low[words[:-3]] & high[words[1:-2]])[0]
                    wide = [words[places + i].astype(np.uint64) << np.uint64(16 * i) for i in range(4)]
                    likely = np.isin(wide[0] | wide[1] | wide[2] | wide[3], heads)
                    for at in 2 * places[likely] + shift:
                        for each in by_head.get(chunk[at : at + 8], ()):
                            if chunk.startswith(each, int(at)):
                                found.add(each)
        return sorted(found)


# --- the test -----------------------------------------------------------------------------------------------


class Scene:
    """A gateway that has done all that it does, and what its owner knows."""

    def __init__(self, server: Server) -> None:
        owner = server.owner()
        self.full = full_owner()
        define_full(owner, "full", self.full)
        self.device = FullDevice(self.full, 1, largest=500).enroll(owner, "full")
        client = server.client(device_token(owner, "full", 1))
        for _ in range(5):
            self.device.receipt(
                client.post("/v1/fleets/full/deliveries", content=self.device.encrypt(VALUES))
            )
        keys = CompactKeys.generate(A16)
        define_compact(owner, "compact", keys, len(COUNTS))
        self.packets = PacketDevice(keys, 1, 300).enroll(owner, "compact")
        uplink = server.client(device_token(owner, "compact"))
        for packet in self.packets.encrypt(np.array(COUNTS)):
            accepted(uplink.post("/v1/fleets/compact/deliveries", content=packet))
        for fleet in ("full", "compact"):
            shown, parts = run_job(owner, fleet, {"kind": "sum", "per_device": 1})
            assert shown["state"] == "done" and parts
        np.testing.assert_allclose(
            self.full.decrypt(run_job(owner, "full", {"kind": "sum"})[1][0])[:4], VALUES, atol=0.1
        )
        self.image = Image(server)

    def decryption_keys(self) -> list[bytes]:
        found: list[bytes] = []
        for secret in (self.full.secret_key, self.packets.keys.secret):
            parameters = secret.parameters
            primes = [*parameters.data_primes, *parameters.special_primes]
            forms = [secret.packed, *transformed(secret.to_seal(), parameters.n, primes)]
            trits = coefficients(secret.packed)
            forms += [*repacked(trits), *residues(trits, primes)]
            for form in forms:
                found += pieces(form)
        assert len(found) > 500
        return found

    def device_secrets(self) -> list[bytes]:
        secrets = [self.device.secret, self.packets.enrolment.secret]
        material = self.packets.keys.material(self.packets.enrolment)
        secrets += [
            material[at : at + 32] for at in (32, 64)
        ]  # noise and random keys; the lane key is public
        return [
            form for secret in secrets for form in (secret, secret.hex().encode(), secret[:16], secret[16:])
        ]

    def readings(self) -> list[bytes]:
        numbers = np.array(VALUES)
        found = [numbers.astype(kind).tobytes()[:16] for kind in (np.float32, np.float64)]
        scaled = np.round(numbers * 2.0**LOG2_SCALE)
        found += [scaled.astype(kind).tobytes()[:16] for kind in (np.int32, np.int64)]
        found += [np.array(COUNTS, dtype=kind).tobytes()[:16] for kind in (np.uint16, np.uint32, np.uint64)]
        return [*found, b"12.345678", b"213, 77, 151", b"213,77,151"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with serving(tmp_path_factory.mktemp("secrets") / "data") as server:
        yield Scene(server)


def test_nothing_that_decrypts_is_there(scene: Scene) -> None:
    assert scene.image.finds(scene.decryption_keys()) == []


def test_no_devices_secret_is_there(scene: Scene) -> None:
    assert scene.image.finds(scene.device_secrets()) == []


def test_no_reading_is_there(scene: Scene) -> None:
    assert scene.image.finds(scene.readings()) == []


def test_the_search_finds_what_is_there(scene: Scene) -> None:
    """Tag keys in memory, and ciphertexts in files and in none of the wrong places."""
    keys = scene.device.tag_keys
    image = scene.image
    held = [key[:WINDOW_BYTES] for key in (keys.frames, keys.receipts)]
    assert any(part.find(held[0]) >= 0 for part in image.memory)
    assert any(part.find(held[1]) >= 0 for part in image.memory)
    assert not any(key in part for part in image.files for key in held), "tag keys lie unwrapped on the disk"


def test_the_search_would_find_each_form(scene: Scene) -> None:
    """Each is planted at an odd place in a copy of what was searched."""
    for each in (*scene.decryption_keys()[::37], *scene.device_secrets(), *scene.readings()):
        planted = Image.__new__(Image)
        planted.memory, planted.files = [b"\x5a" * 1001 + each + b"\xa5" * 77], []
        assert planted.finds([each]) == [each]


def test_a_planted_key_is_found_in_a_process(scene: Scene) -> None:
    """This one, which has them all, by the same reading of memory."""
    found = list(memory(os.getpid()))
    packed = scene.full.secret_key.packed
    secret = scene.device.secret
    assert any(pieces(packed)[3] in part for part in found)
    assert any(secret in part for part in found)
