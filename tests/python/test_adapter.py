# SPDX-License-Identifier: Apache-2.0
"""Frames become SEAL ciphertexts, and whatever is wrong with them ends in a FrameError before SEAL sees a
byte.
"""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _core
from ciphermote.base.errors import FrameError
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import FrameReader, adapt, read_set, read_sets
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import SECRET_FILE, KeyStore
from ciphermote.owner.provisioning import provision
from ciphermote.parameters import by_name, generate
from seal_owner import SealOwner
from sensor import BLAKE2XB, CHACHA20, HEADER_BYTES, SHAKE256, Sensor, patched, split

PARMS = by_name("n4096_q26x3_p27")
X = np.random.default_rng(31).uniform(-1, 1, PARMS.slots)
COMPONENT, PRIME, TILES, LENGTH = 37, 38, 39, 40


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    return KeyStore.create(tmp_path_factory.mktemp("store") / "keys", PARMS)


@pytest.fixture(scope="module")
def sensor(store: KeyStore) -> Sensor:
    return Sensor(provision(store, secret=True, public=True))


@pytest.fixture(scope="module")
def seal(store: KeyStore, tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    owner = SealOwner(PARMS, tmp_path_factory.mktemp("seal"))
    secret = owner.load(sealapi.SecretKey, (store.path / SECRET_FILE).read_bytes())
    owner.decryptor = sealapi.Decryptor(owner.context, secret)
    return owner


def nothing_follows(reader: FrameReader) -> bool:
    """Whether the stream that the reader has read ended as it should."""
    last = reader.finish()
    return last.sets == [] and last.fault is None


@pytest.fixture
def frames(sensor: Sensor) -> list[bytes]:
    """A fresh symmetric set: the seed and three primes."""
    found = split(sensor.symmetric(X))
    assert len(found) == 4
    return found


def refused(frames: list[bytes], store: KeyStore) -> str:
    """The sentence that adapt refuses the frames with."""
    with pytest.raises(FrameError) as caught:
        adapt(b"".join(frames), store.parameters, store.key_id)
    return str(caught.value)


# --- what comes out -------------------------------------------------------------------------------


@pytest.mark.parametrize("xof", [BLAKE2XB, SHAKE256, CHACHA20], ids=["blake2xb", "shake256", "chacha20"])
@pytest.mark.parametrize("seeded", [False, True], ids=["full", "seeded"])
def test_a_symmetric_reading_decrypts_by_us_and_by_seal(
    store: KeyStore, sensor: Sensor, seal: SealOwner, xof: int, *, seeded: bool
) -> None:
    data = adapt(sensor.symmetric(X, xof), PARMS, store.key_id, seeded=seeded)
    assert (sb.read_ciphertext(data, PARMS).seed is not None) == (seeded and xof != CHACHA20)
    assert np.abs(decrypt(data, store.secret()) - X).max() < 5e-5
    assert np.abs(seal.decrypt(data) - X).max() < 5e-5


def test_an_asymmetric_reading_decrypts_by_us_and_by_seal(
    store: KeyStore, sensor: Sensor, seal: SealOwner
) -> None:
    data = adapt(sensor.asymmetric(X), PARMS, store.key_id)
    bound = 6e-3  # 18 sigma, with exponential tails
    assert np.abs(decrypt(data, store.secret()) - X).max() < bound
    assert np.abs(seal.decrypt(data) - X).max() < bound


@pytest.mark.parametrize("form", ["seal", "seal_seeded"])
def test_seal_bytes_straight_from_the_device_decrypt_alike(
    store: KeyStore, sensor: Sensor, seal: SealOwner, form: str
) -> None:
    data = sensor.symmetric(X, SHAKE256, form)
    assert sb.write_ciphertext(sb.read_ciphertext(data, PARMS)) == data
    assert np.abs(decrypt(data, store.secret(), bare=True) - X).max() < 5e-5
    assert np.abs(seal.decrypt(data) - X).max() < 5e-5


def test_the_seed_expanded_by_us_is_the_seed_expanded_by_seal(
    store: KeyStore, sensor: Sensor, seal: SealOwner
) -> None:
    frames = sensor.symmetric(X, SHAKE256)
    ours = sb.read_ciphertext(adapt(frames, PARMS, store.key_id), PARMS)
    loaded = seal.load(sealapi.Ciphertext, adapt(frames, PARMS, store.key_id, seeded=True))
    theirs = sb.read_ciphertext(seal.save(loaded), PARMS)
    assert np.array_equal(ours.residues, theirs.residues)


@pytest.mark.parametrize("shuffle", range(4))
def test_frames_come_in_any_order(store: KeyStore, sensor: Sensor, shuffle: int) -> None:
    whole = sensor.asymmetric(X)
    pieces = split(whole)
    random.Random(shuffle).shuffle(pieces)
    assert adapt(b"".join(pieces), PARMS, store.key_id) == adapt(whole, PARMS, store.key_id)


@pytest.mark.parametrize("size", [1, 43, 44, 45, 4096, 100_000])
def test_a_stream_comes_in_pieces_of_any_size(store: KeyStore, sensor: Sensor, size: int) -> None:
    stream = sensor.symmetric(X) + sensor.symmetric(-X)
    reader = FrameReader(PARMS, store.key_id)
    sets = [found for i in range(0, len(stream), size) for found in reader.feed(stream[i : i + size]).sets]
    assert nothing_follows(reader)
    first, second = (decrypt(found.to_seal(), store.secret()) for found in sets)
    assert np.abs(first - X).max() < 5e-5
    assert np.abs(second + X).max() < 5e-5


def test_sets_may_interleave(store: KeyStore, sensor: Sensor) -> None:
    first, second = split(sensor.symmetric(X)), split(sensor.symmetric(-X))
    mixed = [frame for pair in zip(first, second, strict=True) for frame in pair]
    assert len(read_sets(mixed, PARMS, store.key_id)) == 2


def test_a_set_of_ones_own_parameters_is_adapted(tmp_path: Path) -> None:
    own = generate(4096, [25, 26, 27])
    store = KeyStore.create(tmp_path / "keys", own)
    sensor = Sensor(provision(store, secret=True))
    data = adapt(sensor.symmetric(X), own, store.key_id)
    assert np.abs(decrypt(data, store.secret()) - X).max() < 5e-5


def tiled(frame: bytes, log2_tiles: int) -> list[bytes]:
    """One frame as the same residues in tiles; the primes here have 26 bits."""
    size = PARMS.n // 8 * 26 >> log2_tiles
    payload = frame[HEADER_BYTES:-4]
    tiles = []
    for tile in range(1 << log2_tiles):
        head = frame[:TILES] + bytes([log2_tiles | tile << 4]) + struct.pack("<I", size)
        body = head + payload[tile * size : (tile + 1) * size]
        tiles.append(body + struct.pack("<I", _core.crc32c(body)))
    return tiles


def test_tiles_join_to_the_whole(store: KeyStore, frames: list[bytes]) -> None:
    pieces = [frames[0], *tiled(frames[1], 4), *tiled(frames[2], 1), frames[3]]
    random.Random(1).shuffle(pieces)
    assert adapt(b"".join(pieces), PARMS, store.key_id) == adapt(b"".join(frames), PARMS, store.key_id)


# --- what is refused ------------------------------------------------------------------------------


def test_a_missing_frame_is_named(store: KeyStore, frames: list[bytes]) -> None:
    assert "component 0, prime 1" in refused(frames[:2] + frames[3:], store)
    assert "the seed" in refused(frames[1:], store)


def test_a_missing_tile_is_noticed(store: KeyStore, frames: list[bytes]) -> None:
    assert "component 0, prime 0" in refused([frames[0], *tiled(frames[1], 3)[1:], *frames[2:]], store)


@pytest.mark.parametrize("which", range(4))
def test_a_doubled_frame_is_refused(store: KeyStore, frames: list[bytes], which: int) -> None:
    assert "came twice" in refused([*frames, frames[which]], store)
    assert "came twice" in refused([frames[which], *frames], store)


def test_overlapping_tiles_are_refused(store: KeyStore, frames: list[bytes]) -> None:
    assert "came twice" in refused([frames[0], tiled(frames[1], 2)[1], *frames[1:]], store)


def test_a_whole_set_sent_again_is_refused(store: KeyStore, frames: list[bytes]) -> None:
    assert "came twice" in refused(frames + frames, store)


def test_frames_of_two_readings_do_not_mix(store: KeyStore, sensor: Sensor) -> None:
    first, second = split(sensor.symmetric(X)), split(sensor.symmetric(X))
    assert "incomplete" in refused([*first[:3], second[3]], store)


def test_frames_that_disagree_are_refused(store: KeyStore, frames: list[bytes]) -> None:
    other_scale = patched(frames[3], 28, struct.pack("<d", 2.0**24))
    assert "differs from those before it in scale" in refused([*frames[:3], other_scale], store)
    fewer_primes = patched(frames[1], 7, b"\x02")
    assert "differs from those before it in primes" in refused([frames[0], fewer_primes, *frames[2:]], store)
    other_xof = patched(frames[1], 36, bytes([SHAKE256]))
    assert "differs from those before it in xof" in refused([frames[0], other_xof, *frames[2:]], store)


def test_anothers_frames_are_refused(store: KeyStore, frames: list[bytes]) -> None:
    with pytest.raises(FrameError, match="made with another key"):
        adapt(b"".join(frames), PARMS, store.key_id ^ 1)


def test_frames_of_another_set_are_refused(store: KeyStore, frames: list[bytes]) -> None:
    with pytest.raises(FrameError, match="parameter set 0x"):
        adapt(b"".join(frames), by_name("std2018_n4096_q27x3_p27"), store.key_id)


def test_trailing_bytes_are_refused(store: KeyStore, frames: list[bytes]) -> None:
    assert "bytes at the end" in refused([*frames, b"\x00"], store)
    assert "not a Ciphermote frame" in refused([*frames, bytes(100)], store)


def test_two_readings_are_not_one(store: KeyStore, sensor: Sensor) -> None:
    assert "2 ciphertexts" in refused([sensor.symmetric(X), sensor.symmetric(X)], store)
    assert "0 ciphertexts" in refused([], store)


def test_every_truncation_is_refused(store: KeyStore, frames: list[bytes]) -> None:
    whole = b"".join(frames)
    ends = {
        i + d for i in np.cumsum([0, *map(len, frames)]).tolist() for d in (-45, -5, -1, 0, 1, 43, 44, 45)
    }
    for end in sorted(end for end in ends if 0 <= end < len(whole)):
        refused([whole[:end]], store)


def test_a_flip_of_any_header_bit_is_refused(store: KeyStore, frames: list[bytes]) -> None:
    for at in range(HEADER_BYTES):
        for bit in range(8):
            flipped = bytearray(frames[1])
            flipped[at] ^= 1 << bit
            refused([frames[0], bytes(flipped), *frames[2:]], store)


def test_a_flip_of_any_header_bit_under_a_fitting_check_sum_is_refused(
    store: KeyStore, frames: list[bytes]
) -> None:
    for which in (0, 1):
        for at in range(HEADER_BYTES):
            for bit in range(8):
                forged = patched(frames[which], at, bytes([frames[which][at] ^ 1 << bit]))
                refused([*frames[:which], forged, *frames[which + 1 :]], store)


@pytest.mark.parametrize("at", [HEADER_BYTES, HEADER_BYTES + 5000, -5, -1])
def test_a_flip_in_the_payload_or_check_sum_is_refused_and_named(
    store: KeyStore, frames: list[bytes], at: int
) -> None:
    flipped = bytearray(frames[2])
    flipped[at] ^= 0x10
    sentence = refused([*frames[:2], bytes(flipped), frames[3]], store)
    assert "component 0, prime 1" in sentence
    assert "checksum" in sentence


def test_a_residue_that_is_not_below_its_prime_is_refused(store: KeyStore, frames: list[bytes]) -> None:
    assert "not below its prime" in refused(
        [*frames[:2], patched(frames[2], HEADER_BYTES, b"\xff" * 8), frames[3]], store
    )


def test_a_seed_of_zeros_is_refused(store: KeyStore, frames: list[bytes]) -> None:
    assert "all zeros" in refused([patched(frames[0], HEADER_BYTES, bytes(32)), *frames[1:]], store)


def test_a_zero_second_polynomial_is_refused(store: KeyStore, sensor: Sensor) -> None:
    frames = split(sensor.asymmetric(X))
    payload = bytes(len(frames[0]) - HEADER_BYTES - 4)
    emptied = [
        patched(f, HEADER_BYTES, payload) if f[COMPONENT] == 1 and f[PRIME] == 2 else f for f in frames
    ]
    assert "in the clear" in refused(emptied, store)


@pytest.mark.parametrize(
    ("at", "content"),
    [
        (LENGTH, struct.pack("<I", 0xFFFFFFFF)),
        (LENGTH, struct.pack("<I", 0)),
        (28, struct.pack("<d", float("nan"))),
        (28, struct.pack("<d", float("inf"))),
        (28, struct.pack("<d", -(2.0**25))),
        (28, struct.pack("<d", 0.5)),
        (28, struct.pack("<d", 2.0**79)),
        (28, struct.pack("<d", 2.0**300)),
        (4, b"\x01"),
        (5, b"\x00"),
        (6, b"\x03"),
        (6, b"\x01"),
        (7, b"\x00"),
        (7, b"\x04"),
        (36, b"\x00"),
        (36, b"\x04"),
        (COMPONENT, b"\x02"),
        (PRIME, b"\x03"),
        (TILES, b"\x05"),
        (TILES, b"\x11\x00"),
    ],
)
def test_hostile_fields_in_all_frames_alike_are_refused(
    store: KeyStore, frames: list[bytes], at: int, content: bytes
) -> None:
    refused([patched(frame, at, content) for frame in frames], store)


def test_a_claimed_length_allocates_nothing(store: KeyStore) -> None:
    reader = FrameReader(PARMS, store.key_id)
    junk = (b"CM\x01" + bytes(61)) * 4096
    for _ in range(4):
        assert "bytes were dropped" in str(reader.feed(junk).fault)
    assert reader.bytes_kept < HEADER_BYTES
    assert not reader._open


@pytest.mark.parametrize(
    ("junk", "seconds"),
    [(b"CM", 0.15), (b"CM\x01", 0.15), (b"CM\x01" + bytes(5) + PARMS.id.to_bytes(4, "little"), 1.5)],
    ids=["magic", "version", "parameters"],
)
def test_junk_that_looks_like_frames_costs_little_time(store: KeyStore, junk: bytes, seconds: float) -> None:
    """A quarter of a megabyte. The bounds allow for a machine that is ten times slower."""
    reader = FrameReader(PARMS, store.key_id)
    start = time.process_time()
    assert reader.feed(junk * ((1 << 18) // len(junk))).fault is not None
    assert time.process_time() - start < seconds
    assert reader.bytes_kept < HEADER_BYTES


@pytest.mark.parametrize("junk", [b"CM" * 5000, b"CM\x01" * 5000, b"C", b"noise on the line"])
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_reading_after_junk_is_found(store: KeyStore, sensor: Sensor, junk: bytes, size: int) -> None:
    reader = FrameReader(PARMS, store.key_id)
    stream = junk + sensor.symmetric(X)
    sets = [found for i in range(0, len(stream), size) for found in reader.feed(stream[i : i + size]).sets]
    assert len(sets) == 1
    assert reader.faults > 0
    assert reader.bytes_dropped == len(junk)
    assert nothing_follows(reader)


def test_every_piece_of_a_strangers_stream_is_refused(store: KeyStore, tmp_path: Path) -> None:
    other = KeyStore.create(tmp_path / "other", by_name("std2018_n4096_q27x3_p27"))
    stranger = Sensor(provision(other, secret=True))
    reader = FrameReader(PARMS, store.key_id)
    for words in ("parameter set 0x", "were skipped", "were skipped"):
        assert words in str(reader.feed(stranger.symmetric(X)).fault)


def test_open_sets_are_bounded_and_the_lost_one_is_named(store: KeyStore, sensor: Sensor) -> None:
    reader = FrameReader(PARMS, store.key_id, max_open=3)
    starts = [split(sensor.symmetric(X))[:2] for _ in range(4)]
    for start in starts[:3]:
        assert reader.feed(b"".join(start)).fault is None
    counter = struct.unpack_from("<Q", starts[0][0], 20)[0]
    assert f"Reading {counter} is incomplete" in str(reader.feed(starts[3][0]).fault)
    assert len(reader._open) == 3


def test_a_fault_costs_no_other_reading(store: KeyStore, sensor: Sensor) -> None:
    good, bad, after = (split(sensor.symmetric(X)) for _ in range(3))
    damaged = bytearray(bad[1])
    damaged[2000] ^= 1
    reader = FrameReader(PARMS, store.key_id)
    noise = b"noise on the line"
    received = reader.feed(b"".join([*good, bad[0], bytes(damaged), *bad[2:], noise, *after]))
    assert "checksum" in str(received.fault)
    assert f"({len(damaged) + len(noise):,} bytes were dropped. 1 more fault followed.)" in str(
        received.fault
    )
    assert len(received.sets) == 2
    again = reader.feed(bad[1])
    assert len(again.sets) == 1, "the damaged frame, sent again, completes its reading"
    assert again.fault is None
    assert nothing_follows(reader)


def test_what_is_no_untagged_frame_is_named(store: KeyStore) -> None:
    parameters = store.parameters
    tagged = b"CM\2" + bytes(5) + parameters.id.to_bytes(4, "little") + bytes(200)
    for data, said in ((tagged, "have tags .* gateway"), (store.secret().to_seal(), "SEAL's bytes")):
        with pytest.raises(FrameError, match=said):
            read_set(data, parameters, store.checked_key_id())
