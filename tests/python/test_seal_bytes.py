# SPDX-License-Identifier: Apache-2.0
"""SEAL's bytes: we read what SEAL writes, SEAL reads what we write, and hostile bytes end in one error."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
import zstandard
from ciphermote.base.errors import Error, FrameError
from ciphermote.cli import inspection
from ciphermote.formats import seal as seal_bytes
from ciphermote.formats.seal import (
    SealCiphertext,
    SealGaloisKeys,
    SealPlaintext,
    SealRelinKeys,
    SealSecretKey,
    SeedType,
    galois_element,
    read_ciphertext,
    read_galois_keys,
    read_parameters,
    read_plaintext,
    read_public_key,
    read_relin_keys,
    read_secret_key,
    write_ciphertext,
    write_galois_keys,
    write_parameters,
    write_plaintext,
    write_public_key,
    write_relin_keys,
    write_secret_key,
)
from ciphermote.parameters import BFV, CKKS, by_name, generate
from hypothesis import given, settings
from hypothesis import strategies as st
from seal_owner import SCALE, SealOwner

PARMS = by_name("n4096_q26x3_p27")
SMALL = generate(1024, [26])
BFV_PARMS = by_name("n4096_q26x3_p27")
PLAIN_MODULUS = 40961
NTT_FLAG, SIZE, DEGREE, PRIMES, SCALE_AT, ARRAY, COUNT, DATA = 48, 49, 57, 65, 73, 81, 97, 105
"""Offsets in a ciphertext of version 3.6."""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    return SealOwner(PARMS, tmp_path_factory.mktemp("seal"))


@pytest.fixture(scope="module")
def bfv_owner(tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    return SealOwner(BFV_PARMS, tmp_path_factory.mktemp("seal"), PLAIN_MODULUS)


@pytest.fixture(scope="module")
def ciphertext(owner: SealOwner) -> SealCiphertext:
    return read_ciphertext(owner.encrypt_public([0.5, -1.25]), PARMS)


def small_ciphertext(*, seeded: bool = False) -> SealCiphertext:
    """A well-formed one with one prime: 16 KiB, for tests that read thousands."""
    random = np.random.default_rng(1)
    residues = random.integers(0, SMALL.primes[0], (1 if seeded else 2, 1, SMALL.n), dtype=np.uint32)
    seed = (SeedType.SHAKE256, bytes(range(64))) if seeded else None
    return SealCiphertext(SMALL, 1, True, SCALE, residues, seed)


def resized(data: bytes) -> bytes:
    """Return the bytes with a header that states their real size."""
    return data[:8] + struct.pack("<Q", len(data)) + data[16:]


def compressed(data: bytes, mode: int) -> bytes:
    body = zlib.compress(data[16:]) if mode == 1 else zstandard.compress(data[16:])
    return resized(data[:5] + bytes([mode]) + data[6:16] + body)


def put(data: bytes, offset: int, format_: str, value: float) -> bytes:
    """Return the bytes with one field replaced."""
    field = struct.pack(format_, value)
    return data[:offset] + field + data[offset + len(field) :]


# --- SEAL's objects -----------------------------------------------------------------------------------------


def test_every_object_that_seal_writes_is_read_and_comes_back_the_same_to_the_bit(owner: SealOwner) -> None:
    relin, galois = sealapi.RelinKeys(), sealapi.GaloisKeys()
    owner.generator.create_relin_keys(relin)
    owner.generator.create_galois_keys([galois_element(PARMS.n, step) for step in (1, 4)], galois)
    full = owner.load(sealapi.Ciphertext, owner.encrypt_public([1.0, 2.0]))
    cases: list[tuple[Any, Callable[..., Any], Callable[..., bytes]]] = [
        (owner.plaintext([0.25, -3.0]), read_plaintext, write_plaintext),
        (full, read_ciphertext, write_ciphertext),
        (owner.secret_key, read_secret_key, write_secret_key),
        (owner.public_key, read_public_key, write_public_key),
        (relin, read_relin_keys, write_relin_keys),
        (galois, read_galois_keys, write_galois_keys),
    ]
    for thing, read, write in cases:
        theirs = owner.save(thing)
        assert theirs[3:6] == bytes([4, 3, 2]), "this SEAL writes 4.3 with zstd"
        ours = write(read(theirs, PARMS))
        assert ours[3:6] == bytes([3, 6, 0])
        assert owner.save(owner.load(type(thing), ours)) == theirs
        assert write(read(ours, PARMS)) == ours


def test_a_seeded_ciphertext_keeps_its_seed_and_expands_to_the_same_words(owner: SealOwner) -> None:
    theirs = owner.encrypt([1.0, 2.0])
    read = read_ciphertext(theirs, PARMS)
    assert read.seed is not None and read.seed[0] == SeedType.BLAKE2XB
    assert read.residues.shape == (1, 3, PARMS.n) and read.size == 2
    ours = write_ciphertext(read)
    assert len(ours) == 98490
    expanded = [
        read_ciphertext(owner.save(owner.load(sealapi.Ciphertext, data)), PARMS) for data in (theirs, ours)
    ]
    assert (expanded[0].residues == expanded[1].residues).all()
    assert (expanded[1].residues[0] == read.residues[0]).all()


def test_seeded_keys_are_read_and_serve_seal_as_the_full_ones_do(owner: SealOwner) -> None:
    seeded = owner.save(owner.generator.create_galois_keys([3]))
    keys = read_galois_keys(seeded, PARMS)
    assert list(keys.keys) == [3] and all(part.seed is not None for part in keys.keys[3])
    loaded = owner.load(sealapi.GaloisKeys, write_galois_keys(keys))
    rotated = sealapi.Ciphertext()
    source = owner.load(sealapi.Ciphertext, owner.encrypt([1.0, 2.0, 3.0]))
    sealapi.Evaluator(owner.context).rotate_vector(source, 1, loaded, rotated)
    assert np.allclose(owner.decrypt(owner.save(rotated))[:2], [2.0, 3.0], atol=0.02)


def test_parameters_are_read_and_come_back_the_same(owner: SealOwner, bfv_owner: SealOwner) -> None:
    for seal, scheme in ((owner, CKKS), (bfv_owner, BFV(PLAIN_MODULUS))):
        theirs = seal.save(seal.parameters)
        found = read_parameters(theirs)
        assert (found.scheme_name, found.n, found.primes, found.plain_modulus) == (
            scheme.name,
            PARMS.n,
            PARMS.primes,
            scheme.plain_modulus,
        )
        ours = write_parameters(PARMS, scheme)
        assert read_parameters(ours) == found
        assert seal.save(seal.load(sealapi.EncryptionParameters, ours)) == theirs


def test_bfv_objects_are_read_and_come_back_the_same(bfv_owner: SealOwner) -> None:
    kind = {"scheme": BFV(PLAIN_MODULUS)}
    plaintext, result = sealapi.Plaintext(), sealapi.Ciphertext()
    sealapi.BatchEncoder(bfv_owner.context).encode([1, 2, 40960], plaintext)
    bfv_owner.encryptor.encrypt(plaintext, result)
    cases: list[tuple[Any, Callable[..., Any], Callable[..., bytes]]] = [
        (plaintext, read_plaintext, write_plaintext),
        (result, read_ciphertext, write_ciphertext),
        (bfv_owner.public_key, read_public_key, write_public_key),
    ]
    for thing, read, write in cases:
        theirs = bfv_owner.save(thing)
        assert bfv_owner.save(bfv_owner.load(type(thing), write(read(theirs, BFV_PARMS, **kind)))) == theirs
        with pytest.raises(FrameError):
            read(theirs, BFV_PARMS)
    assert not read_ciphertext(bfv_owner.save(result), BFV_PARMS, **kind).ntt_form


def test_our_words_are_seals_words(owner: SealOwner) -> None:
    theirs = owner.load(sealapi.Ciphertext, owner.encrypt_public([1.0]))
    ours = read_ciphertext(owner.save(theirs), PARMS)
    for polynomial, prime, index in ((0, 0, 0), (0, 2, 4095), (1, 0, 1), (1, 2, 4095)):
        word = theirs.dyn_array().at((polynomial * 3 + prime) * PARMS.n + index)
        assert word == ours.residues[polynomial, prime, index]


def test_every_level_below_the_keys_is_read_and_the_keys_own_is_not(owner: SealOwner) -> None:
    value = owner.load(sealapi.Ciphertext, owner.encrypt_public([1.0]))
    evaluator = sealapi.Evaluator(owner.context)
    for primes in (3, 2, 1):
        found = read_ciphertext(owner.save(value), PARMS)
        assert (found.primes, found.scale) == (primes, SCALE)
        assert found.residues.shape == (2, primes, PARMS.n)
        if primes > 1:
            evaluator.mod_switch_to_next_inplace(value)
    with pytest.raises(FrameError, match="parms_id"):
        read_ciphertext(owner.save(owner.public_key), PARMS)
    with pytest.raises(FrameError, match="parms_id"):
        read_ciphertext(owner.save(value), generate(4096, [25, 26, 27]))


def test_three_polynomials_are_read_only_when_asked_for(owner: SealOwner) -> None:
    value = owner.load(sealapi.Ciphertext, owner.encrypt_public([1.0]))
    sealapi.Evaluator(owner.context).square_inplace(value)
    data = owner.save(value)
    assert read_ciphertext(data, PARMS, sizes=(2, 3)).residues.shape == (3, 3, PARMS.n)
    with pytest.raises(FrameError, match="three polynomials, as products have: relinearize it"):
        read_ciphertext(data, PARMS)


def test_sizes_on_the_wire_are_those_of_the_specification(ciphertext: SealCiphertext) -> None:
    assert len(write_ciphertext(ciphertext)) == 196713


@pytest.mark.parametrize("mode", [1, 2])
def test_both_compressions_are_read(ciphertext: SealCiphertext, mode: int) -> None:
    again = read_ciphertext(compressed(write_ciphertext(ciphertext), mode), PARMS)
    assert (again.residues == ciphertext.residues).all()


@pytest.mark.parametrize("version", [(3, 6), (3, 7), (4, 0), (4, 4)])
def test_other_versions_are_read(version: tuple[int, int]) -> None:
    data = write_ciphertext(small_ciphertext())
    correction = struct.pack("<Q", 1) if version[0] == 4 else b""
    array = data[ARRAY : ARRAY + 3] + bytes(version) + data[ARRAY + 5 :]
    data = resized(data[:3] + bytes(version) + data[5:ARRAY] + correction + array)
    assert (read_ciphertext(data, SMALL).residues == small_ciphertext().residues).all()


# --- hostile bytes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("fix_header", [False, True])
def test_truncation_anywhere_is_a_frame_error(*, seeded: bool, fix_header: bool) -> None:
    data = write_ciphertext(small_ciphertext(seeded=seeded))
    lengths = {*range(DATA + 20), *range(DATA + 20, len(data), 97), *range(len(data) - 90, len(data))}
    for length in lengths:
        cut = data[:length]
        if fix_header and length >= 16:
            cut = resized(cut)
        with pytest.raises(FrameError):
            read_ciphertext(cut, SMALL)


@pytest.mark.parametrize("seeded", [False, True])
def test_a_flipped_bit_in_a_header_field_is_refused_unless_the_field_stays_valid(*, seeded: bool) -> None:
    good = small_ciphertext(seeded=seeded)
    data = write_ciphertext(good)
    passed = set()
    for bit in range(8 * DATA):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            found = read_ciphertext(flipped, SMALL)
        except FrameError:
            continue
        assert (found.residues == good.residues).all() and 1 <= found.scale < 2.0**200
        passed.add(bit // 8)
    assert passed <= set(range(SCALE_AT, SCALE_AT + 8)), "only another scale may pass"


def test_a_flipped_bit_in_a_seeds_header_is_refused() -> None:
    data = write_ciphertext(small_ciphertext(seeded=True))
    for bit in range(8 * (len(data) - 81), 8 * (len(data) - 64)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FrameError):
            read_ciphertext(flipped, SMALL)


@pytest.mark.parametrize(
    "scale", [float("nan"), float("inf"), -(2.0**25), 0.0, -0.0, 2.0**300, 2.0**200, -1e-300, 1e-300, 0.99]
)
def test_a_scale_that_is_no_scale_is_refused(scale: float) -> None:
    with pytest.raises(FrameError, match="scale"):
        read_ciphertext(put(write_ciphertext(small_ciphertext()), SCALE_AT, "<d", scale), SMALL)


@pytest.mark.parametrize("offset", [SIZE, DEGREE, PRIMES, COUNT, ARRAY + 8, 8])
@pytest.mark.parametrize("value", [0, 1, 3, 2**28, 2**32 + 1, 2**61, 2**63, 2**64 - 1])
def test_a_wrong_count_is_refused_without_memory_for_it(offset: int, value: int) -> None:
    data = put(write_ciphertext(small_ciphertext()), offset, "<Q", value)
    if data == write_ciphertext(small_ciphertext()):
        return  # one prime is what this one has
    tracemalloc.start()
    try:
        with pytest.raises(FrameError):
            read_ciphertext(data, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_second_polynomial_of_zeros_is_refused_at_a_single_prime_too(ciphertext: SealCiphertext) -> None:
    for where in (slice(None), 0, 2):
        residues = ciphertext.residues.copy()
        residues[1, where] = 0
        data = write_ciphertext(dataclasses.replace(ciphertext, residues=residues))
        with pytest.raises(FrameError, match="second polynomial is zero"):
            read_ciphertext(data, PARMS)


@pytest.mark.parametrize("place", [(0, 0, 0), (0, 2, 4095), (1, 1, 17), (1, 2, 4095)])
def test_a_residue_that_is_not_below_its_prime_is_refused(
    ciphertext: SealCiphertext, place: tuple[int, int, int]
) -> None:
    polynomial, prime, index = place
    data = write_ciphertext(ciphertext)
    offset = DATA + 8 * ((polynomial * 3 + prime) * PARMS.n + index)
    read_ciphertext(put(data, offset, "<Q", PARMS.primes[prime] - 1), PARMS)
    for value in (PARMS.primes[prime], 2**32, 2**64 - 1):
        with pytest.raises(FrameError, match=f"residue {index} of polynomial {polynomial} at prime {prime}"):
            read_ciphertext(put(data, offset, "<Q", value), PARMS)


@pytest.mark.parametrize("seeded", [False, True])
def test_trailing_bytes_are_refused_whatever_the_header_says(*, seeded: bool) -> None:
    data = write_ciphertext(small_ciphertext(seeded=seeded))
    for longer in (data + b"\0", resized(data + b"\0"), resized(data + data)):
        with pytest.raises(FrameError):
            read_ciphertext(longer, SMALL)
    for mode in (1, 2):
        packed = compressed(data, mode)
        for longer in (resized(packed + b"\0"), resized(packed + packed[16:])):
            with pytest.raises(FrameError, match="bytes follow"):
                read_ciphertext(longer, SMALL)


def bomb(start: bytes, filler: bytes, mode: int, packed_bytes: int) -> bytes:
    """An object that continues with filler after start, compressed into about that many bytes."""
    packer = zlib.compressobj() if mode == 1 else zstandard.ZstdCompressor().compressobj()
    body = packer.compress(start[16:])
    while len(body) < packed_bytes:
        body += packer.compress(filler * max(1, (1 << 24) // len(filler)))
    return resized(start[:5] + bytes([mode]) + bytes(10) + body + packer.flush())


@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("start", [16, DATA, None], ids=["zeros", "header", "object"])
def test_a_decompression_bomb_is_stopped_early(mode: int, start: int | None) -> None:
    data = bomb(write_ciphertext(small_ciphertext())[:start], bytes(8), mode, 1 << 15)
    tracemalloc.start()
    try:
        with pytest.raises(FrameError):
            read_ciphertext(data, SMALL)
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
    finally:
        tracemalloc.stop()


LARGE = by_name("n16384_q26x15_p27")


def galois_bomb(mode: int) -> bytes:
    """Keys of the largest set, every field as it must be and every residue 1: 124 KB for up to 4 GB."""
    ones = SealCiphertext(LARGE, 16, True, 1.0, np.ones((2, 16, LARGE.n), dtype=np.uint32))
    keys = write_galois_keys(SealGaloisKeys(LARGE, {3: (ones,) * 15}))
    (count_at,) = (at for at in (keys.find(struct.pack("<Q", 15)),) if at >= 0)
    one_key = keys[count_at : len(keys) - 8 * (LARGE.n - 2)]
    return bomb(keys[:count_at], one_key, mode, 124_000)


INSPECT = """
import pathlib, resource, sys
from ciphermote.base import errors
from ciphermote.cli import inspection
(size,) = (int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, ((size << 10) + (96 << 20),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
try:
    inspection.describe(pathlib.Path(sys.argv[1]))
except errors.FrameError as error:
    print(error)
"""


def test_a_file_is_read_into_one_copy(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(write_ciphertext(small_ciphertext())[:8] + struct.pack("<Q", 64 << 20))
        file.truncate(64 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(FrameError, match="damaged, or of a parameter set"):
            inspection.describe(path)
        assert tracemalloc.get_traced_memory()[1] < 96 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("kind", ["zeros", "galois keys"])
def test_a_small_hostile_file_is_inspected_in_little_memory(tmp_path: Path, mode: int, kind: str) -> None:
    hostile = tmp_path / "hostile.seal"
    zeros = write_galois_keys(SealGaloisKeys(LARGE, {}))[:16]
    hostile.write_bytes(bomb(zeros, bytes(8), mode, 124_000) if kind == "zeros" else galois_bomb(mode))
    command = [sys.executable, "-c", INSPECT, str(hostile)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "damaged, or of a parameter set that is not built in" in done.stdout
    assert ("no such object packs as well" in done.stdout) == (kind == "galois keys")


@pytest.mark.parametrize("mode", [1, 2])
def test_damaged_or_cut_compressed_bodies_are_frame_errors(ciphertext: SealCiphertext, mode: int) -> None:
    data = compressed(write_ciphertext(small_ciphertext()), mode)
    for length in range(16, len(data), 501):
        with pytest.raises(FrameError):
            read_ciphertext(resized(data[:length]), SMALL)
    for place in range(16, min(len(data), 3000), 7):
        flipped = bytearray(data)
        flipped[place] ^= 0x55
        with suppress(FrameError):  # zstd without a checksum may yield other, valid residues
            read_ciphertext(flipped, SMALL)


def test_seeds_of_zeros_or_of_unknown_type_are_refused() -> None:
    data = write_ciphertext(small_ciphertext(seeded=True))
    with pytest.raises(FrameError, match="all zeros"):
        read_ciphertext(data[:-64] + bytes(64), SMALL)
    for kind in (0, 3, 255):
        with pytest.raises(FrameError, match="seed type"):
            read_ciphertext(data[:-65] + bytes([kind]) + data[-64:], SMALL)


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=300),
    st.integers(0, DATA),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(
        [read_ciphertext, read_public_key, read_galois_keys, read_relin_keys, read_plaintext, read_secret_key]
    ),
)
def test_random_bytes_behind_a_valid_beginning_only_ever_raise_frame_errors(
    tail: bytes, kept: int, mode: int, read: Callable[..., Any]
) -> None:
    good = write_ciphertext(small_ciphertext())
    data = good[:5] + bytes([mode]) + good[6 : max(6, kept)] + tail
    for attempt in (data, resized(data) if len(data) >= 16 else data):
        for parms in (SMALL, PARMS):
            with pytest.raises(FrameError):
                read(attempt, parms)
        with pytest.raises(FrameError):
            read_parameters(attempt)


def test_keys_of_the_wrong_kind_or_set_are_refused(owner: SealOwner, ciphertext: SealCiphertext) -> None:
    secret, public = owner.save(owner.secret_key), owner.save(owner.public_key)
    relin, galois = owner.relin_keys(), owner.galois_keys([1])
    for read, wrong in (
        (read_galois_keys, (secret, public, relin, write_ciphertext(ciphertext))),
        (read_relin_keys, (secret, public, galois)),
        (read_public_key, (secret, relin, write_ciphertext(ciphertext))),
        (read_secret_key, (public, galois)),
        (read_ciphertext, (secret, public, galois)),
    ):
        for data in wrong:
            with pytest.raises(FrameError):
                read(data, PARMS)
    for read, data in ((read_galois_keys, galois), (read_relin_keys, relin), (read_public_key, public)):
        with pytest.raises(FrameError):
            read(data, generate(4096, [26, 26, 27]))
    with pytest.raises(FrameError, match="no key switching"):
        read_galois_keys(galois, SMALL)


def test_hostile_galois_keys_are_refused(owner: SealOwner) -> None:
    keys = read_galois_keys(owner.galois_keys([1, 2]), PARMS)
    data = write_galois_keys(keys)
    first = 16 + 32 + 8
    with pytest.raises(FrameError, match="more than"):
        read_galois_keys(data, PARMS, most_keys=1)
    with pytest.raises(FrameError, match="element 1"):
        read_galois_keys(put(data, first, "<Q", 3), PARMS)
    with pytest.raises(FrameError, match="parts of a key"):
        read_galois_keys(put(data, first + 8, "<Q", 2**40), PARMS)
    with pytest.raises(FrameError, match="count of keys"):
        read_galois_keys(put(data, first - 8, "<Q", 2**40), PARMS)
    inner = first + 8 + 8  # the header of the first part of element 3
    with pytest.raises(FrameError, match="inner key"):
        read_galois_keys(put(data, inner + 8, "<Q", 2**40), PARMS)
    with pytest.raises(FrameError, match="inner key"):
        read_galois_keys(put(data, inner + 8, "<Q", 17), PARMS)
    for length in range(0, len(data), 20011):
        with pytest.raises(FrameError):
            read_galois_keys(resized(data[:length]) if length >= 16 else data[:length], PARMS)
    part = keys.keys[3][0]
    bad = dataclasses.replace(
        part, residues=np.concatenate([part.residues[:1], np.zeros_like(part.residues[1:])])
    )
    with pytest.raises(FrameError, match="second polynomial is zero"):
        read_galois_keys(write_galois_keys(SealGaloisKeys(PARMS, {3: (bad, *keys.keys[3][1:])})), PARMS)


def test_hostile_parameters_are_refused() -> None:
    data = write_parameters(PARMS)
    for offset, format_, value in (
        (16, "<B", 0),
        (16, "<B", 9),
        (17, "<Q", 4095),
        (17, "<Q", 2**40),
        (25, "<Q", 0),
        (25, "<Q", 2**40),
        (49, "<Q", 2**62),
        (49, "<Q", 67043331),
        (len(data) - 8, "<Q", 5),
    ):
        with pytest.raises(FrameError):
            read_parameters(put(data, offset, format_, value))


def test_hostile_plaintexts_and_secret_keys_are_refused(owner: SealOwner) -> None:
    plaintext = write_plaintext(read_plaintext(owner.save(owner.plaintext([1.0])), PARMS))
    secret = write_secret_key(read_secret_key(owner.save(owner.secret_key), PARMS))
    for read, data in ((read_plaintext, plaintext), (read_secret_key, secret)):
        for offset, format_, value in (
            (48, "<Q", 2**40),
            (56, "<d", float("nan")),
            (80, "<Q", 2**40),
            (88, "<Q", PARMS.primes[0]),
        ):
            with pytest.raises(FrameError):
                read(put(data, offset, format_, value), PARMS)
        for length in (*range(110), len(data) - 1):
            with pytest.raises(FrameError):
                read(resized(data[:length]) if length >= 16 else data[:length], PARMS)
    with pytest.raises(FrameError, match="zero at a prime"):
        read_secret_key(secret[:88] + bytes(len(secret) - 88), PARMS)


# --- writing ------------------------------------------------------------------------------------------------


def test_what_could_not_be_read_is_not_written(ciphertext: SealCiphertext) -> None:
    too_large = ciphertext.residues.copy()
    too_large[0, 1, 5] = PARMS.primes[1]
    broken: list[Callable[[], bytes]] = [
        lambda: write_ciphertext(dataclasses.replace(ciphertext, residues=too_large)),
        lambda: write_ciphertext(dataclasses.replace(ciphertext, residues=ciphertext.residues[:, :2])),
        lambda: write_ciphertext(
            dataclasses.replace(ciphertext, residues=ciphertext.residues.astype(np.int64))
        ),
        lambda: write_ciphertext(
            dataclasses.replace(
                ciphertext, residues=ciphertext.residues[:1], seed=(SeedType.SHAKE256, b"short")
            )
        ),
        lambda: write_secret_key(SealSecretKey(PARMS, ciphertext.residues[0])),
        lambda: write_relin_keys(SealRelinKeys(PARMS, (ciphertext,))),
        lambda: write_galois_keys(SealGaloisKeys(PARMS, {2: (ciphertext,) * 3})),
        lambda: write_plaintext(
            SealPlaintext(PARMS, 0, 1.0, np.array([PLAIN_MODULUS], np.uint64), BFV(PLAIN_MODULUS))
        ),
    ]
    for write in broken:
        with pytest.raises(Error, match="Writing SEAL bytes"):
            write()


def test_the_module_never_calls_seal() -> None:
    assert "tenseal" not in Path(seal_bytes.__file__).read_text(encoding="utf-8").replace("TenSEAL", "")
