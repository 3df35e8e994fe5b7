# SPDX-License-Identifier: Apache-2.0
"""Decryption on the device: what Microsoft SEAL encrypts and computes, decrypted by the device library."""

from __future__ import annotations

import os
import struct
import subprocess
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path

import ciphermote_testing as testing
import numpy as np
import pytest
import tenseal.sealapi as seal
from ciphermote import _core
from ciphermote.base.errors import Error, FrameError, ParameterError
from ciphermote.formats import seal as sb
from ciphermote.formats.device_public_key import read_public_key
from ciphermote.formats.device_results import device_frames
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BFV, BUILTIN, ParameterSet
from ciphermote.parameters.native import core_params
from seal_owner import SealOwner
from sensor import split

ROOT = Path(__file__).resolve().parents[2]
KEY_ID = 0x0123456789ABCDEF
COUNTER = 77
INT16, INT32, UINT16, UINT32 = 2, 3, 4, 5
BATCH = REAL = 1
N4096 = BUILTIN[2]

parameter_sets = pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)


def plain_modulus_of(parameters: ParameterSet) -> int:
    """A prime for batching, of 16 bits where there is one; n = 1024 has room for few bits."""
    return {1024: 12289, 2048: 12289, 4096: 40961, 8192: 65537, 16384: 65537}[parameters.n]


class BfvOwner(SealOwner):
    """SEAL's keys, and the secret one as the device holds it."""

    def __init__(self, parameters: ParameterSet, folder: Path) -> None:
        self.t = plain_modulus_of(parameters)
        super().__init__(parameters, folder, self.t)
        found = sb.read_secret_key(self.save(self.secret_key), parameters, scheme=BFV(self.t))
        self.device_key = SecretKey._from_residues(parameters, found.residues)
        self.encoder = seal.BatchEncoder(self.context)
        self.evaluator = seal.Evaluator(self.context)

    def batched(self, values: np.ndarray) -> seal.Plaintext:
        plain = seal.Plaintext()
        self.encoder.encode(values.tolist(), plain)
        return plain

    def encrypted(self, values: np.ndarray, *, symmetric: bool) -> seal.Ciphertext:
        if symmetric:
            data = self.save(self.encryptor.encrypt_symmetric(self.batched(values)))
            return self.load(seal.Ciphertext, data)
        ciphertext = seal.Ciphertext()
        self.encryptor.encrypt(self.batched(values), ciphertext)
        return ciphertext

    def read(self, ciphertext: seal.Ciphertext) -> sb.SealCiphertext:
        return sb.read_ciphertext(self.save(ciphertext), self.parms, scheme=BFV(self.t))

    def budget(self, ciphertext: seal.Ciphertext) -> int:
        return self.decryptor.invariant_noise_budget(ciphertext)

    def decryption(
        self, number: int, sums: int, log2_tiles: int, *, batch: bool = True
    ) -> testing.Decryption:
        return testing.Decryption.bfv(
            core_params(self.parms), self.device_key.packed, KEY_ID, self.t, batch, number, sums, log2_tiles
        )


@cache
def bfv_owner(parameters: ParameterSet, folder: Path) -> BfvOwner:
    return BfvOwner(parameters, folder)


@pytest.fixture
def owner(parameters: ParameterSet, tmp_path_factory: pytest.TempPathFactory) -> BfvOwner:
    return bfv_owner(parameters, tmp_path_factory.getbasetemp())


def feed(decryption: testing.Decryption, data: bytes, piece: int = 1 << 20) -> None:
    for start in range(0, len(data), piece):
        decryption.feed(data[start : start + piece])


def random_slots(owner: BfvOwner, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, owner.t, owner.parms.n)


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "asymmetric"])
@parameter_sets
def test_what_seal_encrypts_in_bfv_comes_out_exactly(parameters, owner, symmetric):
    wide = [(UINT32, 32, 0), (INT32, 32, 2)]
    narrow = [(UINT16, 32, 1), (UINT16, 24, 3), (INT16, 24, 4)] if owner.t < 2**16 else []
    for seed, (number, sums, log2_tiles) in enumerate(wide + narrow):
        slots = random_slots(owner, seed)
        frames = device_frames(
            owner.read(owner.encrypted(slots, symmetric=symmetric)), KEY_ID, COUNTER, log2_tiles=log2_tiles
        )
        decryption = owner.decryption(number, sums, log2_tiles)
        feed(decryption, b"".join(frames), piece=1000 + seed)
        found = decryption.end().astype(np.int64)
        if number in (INT16, INT32):
            assert found.min() < 0 and np.abs(found).max() <= owner.t // 2
        assert np.array_equal(found % owner.t, slots), (number, sums, log2_tiles)


def of_device(owner: BfvOwner, ciphertext: seal.Ciphertext, log2_tiles: int) -> int:
    """The noise budget that the device finds."""
    decryption = testing.Decryption.bfv_noise(
        core_params(owner.parms), owner.device_key.packed, KEY_ID, owner.t, log2_tiles
    )
    frames = device_frames(owner.read(ciphertext), KEY_ID, COUNTER, log2_tiles=log2_tiles)
    feed(decryption, b"".join(frames))
    budget = decryption.noise_budget()
    assert not any(decryption.arena)
    return budget


@parameter_sets
def test_the_noise_budget_is_seals_until_none_is_left(parameters, owner):
    for symmetric, log2_tiles in ((True, 0), (False, 3)):
        ciphertext = owner.encrypted(random_slots(owner, 7), symmetric=symmetric)
        found = []
        while not found or found[-1] > 0:
            found.append(owner.budget(ciphertext))
            assert of_device(owner, ciphertext, log2_tiles) == found[-1]
            owner.evaluator.multiply_plain_inplace(ciphertext, owner.batched(random_slots(owner, 8)))
        assert len(found) > 1


def test_a_decryption_of_values_tells_no_noise_budget_and_one_of_noise_no_values(tmp_path):
    owner = BfvOwner(BUILTIN[0], tmp_path)
    frames = b"".join(
        device_frames(owner.read(owner.encrypted(random_slots(owner, 9), symmetric=True)), KEY_ID, COUNTER)
    )
    values = owner.decryption(UINT16, 32, 0)
    noise = testing.Decryption.bfv_noise(
        core_params(owner.parms), owner.device_key.packed, KEY_ID, owner.t, 0
    )
    feed(values, frames)
    feed(noise, frames)
    for refused in (values.noise_budget, noise.end):
        with pytest.raises(Error):
            refused()


FLOAT32 = 1
LARGEST = 2
"""No slot of these tests is larger in magnitude."""
SLOTS_MEASURED = 2**17


class CkksOwner(SealOwner):
    """SEAL's keys, and the secret one as the device holds it."""

    def __init__(self, parameters: ParameterSet, folder: Path) -> None:
        super().__init__(parameters, folder)
        self.device_key = SecretKey.from_seal(self.save(self.secret_key), parameters)
        self.log2_scale = 22 if len(parameters.data_primes) > 1 else 18

    def encrypted(self, values: np.ndarray, *, symmetric: bool) -> bytes:
        plain = seal.Plaintext()
        self.encoder.encode(values.tolist(), 2.0**self.log2_scale, plain)
        if symmetric:
            return self.save(self.encryptor.encrypt_symmetric(plain))
        ciphertext = seal.Ciphertext()
        self.encryptor.encrypt(plain, ciphertext)
        return self.save(ciphertext)

    def seal_slots(self, data: bytes) -> np.ndarray:
        plain = seal.Plaintext()
        self.decryptor.decrypt(self.load(seal.Ciphertext, data), plain)
        return np.array(self.encoder.decode_complex(plain))

    def device_slots(
        self,
        data: bytes,
        primes: int,
        *,
        complex_slots: bool = False,
        precision: int = 31,
        number: int = FLOAT32,
        exponent: int = 0,
        log2_tiles: int = 0,
    ) -> np.ndarray:
        ciphertext = sb.read_ciphertext(data, self.parms)
        decryption = testing.Decryption.ckks(
            core_params(self.parms),
            self.device_key.packed,
            KEY_ID,
            complex_slots,
            precision,
            number,
            exponent,
            log2_tiles,
            LARGEST,
        )
        frames = device_frames(
            ciphertext, KEY_ID, COUNTER, largest=LARGEST, log2_tiles=log2_tiles, primes=primes
        )
        feed(decryption, b"".join(frames), piece=1237)
        found = decryption.end()
        return found.view(np.complex64) if complex_slots else found


@cache
def ckks_owner(parameters: ParameterSet, folder: Path) -> CkksOwner:
    return CkksOwner(parameters, folder)


@pytest.fixture
def approximate(parameters: ParameterSet, tmp_path_factory: pytest.TempPathFactory) -> CkksOwner:
    return ckks_owner(parameters, tmp_path_factory.getbasetemp())


def rms(errors: list[np.ndarray]) -> float:
    return float(np.sqrt(np.mean(np.square(np.abs(np.concatenate(errors))))))


@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "asymmetric"])
@parameter_sets
def test_what_seal_encrypts_in_ckks_comes_out_as_exactly_as_in_seal(
    parameters, approximate, symmetric, complex_slots
):
    rng = np.random.default_rng(2)
    ways = [(31, 1, 0), (31, 1, 3), (63, 1, 1), (63, min(2, len(parameters.data_primes)), 2)]
    of_seal: list[np.ndarray] = []
    of_device: dict[tuple[int, int, int], list[np.ndarray]] = {way: [] for way in ways}
    for _ in range(SLOTS_MEASURED // parameters.slots):
        values = rng.uniform(-1, 1, parameters.slots)
        if complex_slots:
            values = values + 1j * rng.uniform(-1, 1, parameters.slots)
        data = approximate.encrypted(values, symmetric=symmetric)
        slots = approximate.seal_slots(data)
        of_seal.append((slots if complex_slots else slots.real) - values)
        for precision, primes, log2_tiles in ways:
            found = approximate.device_slots(
                data, primes, complex_slots=complex_slots, precision=precision, log2_tiles=log2_tiles
            )
            of_device[precision, primes, log2_tiles].append(found - values)
    reference = rms(of_seal)
    for way, errors in of_device.items():
        print(parameters.name, way, rms(errors) / reference)
        assert rms(errors) <= 1.05 * reference, (way, rms(errors) / reference)


class Counter:
    """A persistent counter, in memory."""

    def __init__(self) -> None:
        self.value = 0

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value


@pytest.mark.parametrize("xof", [1, 2, 3], ids=["blake2xb", "shake256", "chacha20"])
@parameter_sets
def test_what_seal_encrypts_under_a_devices_own_public_key_the_device_decrypts(
    parameters, approximate, xof, tmp_path
):
    counter = Counter()
    device = _core.Device(os.urandom(32), os.urandom, counter.read, counter.write)
    ternary, key_id = testing.make_secret_key(device, core_params(parameters))
    frames = testing.emit_public_key(device, core_params(parameters), ternary, key_id, xof)
    secret = SecretKey(parameters, ternary)
    assert np.abs(secret.coefficients).mean() == pytest.approx(2 / 3, abs=0.1)
    public = read_public_key(frames, parameters, key_id)
    key = approximate.load(seal.PublicKey, sb.write_public_key(public))
    values = np.random.default_rng(3).uniform(-1, 1, parameters.slots)
    plain, ciphertext = seal.Plaintext(), seal.Ciphertext()
    approximate.encoder.encode(values.tolist(), 2.0**approximate.log2_scale, plain)
    seal.Encryptor(approximate.context, key).encrypt(plain, ciphertext)
    found = sb.read_ciphertext(approximate.save(ciphertext), parameters)
    decryption = testing.Decryption.ckks(
        core_params(parameters), ternary, key_id, False, 31, FLOAT32, 0, 1, LARGEST
    )
    feed(decryption, b"".join(device_frames(found, key_id, COUNTER, largest=LARGEST, log2_tiles=1)))
    theory = np.sqrt(parameters.n / 2) * 3.24 * np.sqrt(4 * parameters.n / 3 + 1) / 2**approximate.log2_scale
    assert rms([decryption.end() - values]) < 1.4 * theory  # at n = 1024 it scatters by 4 %


def test_a_public_key_with_a_doubled_or_missing_frame_is_refused():
    counter = Counter()
    device = _core.Device(os.urandom(32), os.urandom, counter.read, counter.write)
    ternary, key_id = testing.make_secret_key(device, core_params(N4096))
    frames = split(testing.emit_public_key(device, core_params(N4096), ternary, key_id, 3))
    assert len(frames) > 1
    for place, frame in enumerate(frames):
        for at in (0, place, len(frames)):
            with pytest.raises(FrameError, match="came twice"):
                read_public_key(b"".join([*frames[:at], frame, *frames[at:]]), N4096, key_id)
        with pytest.raises(FrameError, match="missing"):
            read_public_key(b"".join(frames[:place] + frames[place + 1 :]), N4096, key_id)
    assert read_public_key(b"".join(frames[::-1]), N4096, key_id).key_id == key_id


class SimulatedDevice:
    """The device's decryption on QEMU's Cortex-M4, assembly and all (tests/device/decryptor.c)."""

    def __init__(self, folder: Path) -> None:
        command = ["make", "-s", "-C", str(ROOT / "ports"), "decryptor"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        self.folder = folder

    def decrypted(
        self, owner: BfvOwner | CkksOwner, frames: bytes, kind: tuple[int, int, int, int, int], dtype: type
    ):
        """kind: plain modulus or 0, encoding or slots, number, sums or precision, log2_tiles."""
        modulus, *rest = kind
        head = struct.pack("<IQ", owner.parms.id, KEY_ID)
        request = head + struct.pack("<6I", modulus, *rest, len(frames)) + owner.device_key.packed + frames
        (self.folder / "request").write_bytes(request)
        values = self.folder / "values"
        values.unlink(missing_ok=True)
        command = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none"]
        command += ["-serial", "null", "-semihosting-config", "enable=on,target=native", "-kernel"]
        elf = ROOT / "build" / "ports" / "test-qemu" / "decryptor.elf"
        subprocess.run([*command, str(elf)], cwd=self.folder, timeout=120, check=True)
        written = values.read_bytes()
        assert written[:4] == bytes(4), f"status {written[0]}"
        return np.frombuffer(written[4:], dtype=dtype)


def computed(owner: BfvOwner, slots: np.ndarray, *, symmetric: bool) -> tuple[seal.Ciphertext, np.ndarray]:
    """Three times the slots, by an addition and a product, switched to the first prime."""
    ciphertext = owner.encrypted(slots, symmetric=symmetric)
    twice = seal.Ciphertext()
    owner.evaluator.add(ciphertext, ciphertext, twice)
    owner.evaluator.multiply_plain_inplace(twice, owner.batched(np.full(owner.parms.n, 2)))
    owner.evaluator.sub_inplace(twice, ciphertext)
    for _ in owner.parms.data_primes[1:]:
        owner.evaluator.mod_switch_to_next_inplace(twice)
    return twice, slots * 3 % owner.t


def test_a_simulated_cortex_m4_decrypts_what_seal_encrypts_and_computes(tmp_path):
    device = SimulatedDevice(tmp_path)
    for parameters, symmetric in product(BUILTIN, (True, False)):
        owner, real = BfvOwner(parameters, tmp_path), CkksOwner(parameters, tmp_path)
        slots = random_slots(owner, 10)
        for log2_tiles, (ciphertext, expected) in enumerate(
            [
                (owner.encrypted(slots, symmetric=symmetric), slots),
                computed(owner, slots, symmetric=symmetric),
            ]
        ):
            frames = device_frames(owner.read(ciphertext), KEY_ID, COUNTER, log2_tiles=log2_tiles)
            found = device.decrypted(
                owner, b"".join(frames), (owner.t, BATCH, UINT32, 32, log2_tiles), np.uint32
            )
            assert np.array_equal(found, expected), (parameters.name, symmetric, log2_tiles)
        data = real.encrypted(np.random.default_rng(11).uniform(-1, 1, parameters.slots), symmetric=symmetric)
        for precision, log2_tiles in ((31, 3), (63, 0)):
            primes = min(len(parameters.data_primes), 1 + (precision == 63))
            frames = device_frames(
                sb.read_ciphertext(data, parameters),
                *(KEY_ID, COUNTER),
                largest=LARGEST,
                log2_tiles=log2_tiles,
                primes=primes,
            )
            found = device.decrypted(
                real, b"".join(frames), (0, REAL, FLOAT32, precision, log2_tiles), np.float32
            )
            on_the_host = real.device_slots(data, primes, precision=precision, log2_tiles=log2_tiles)
            assert np.array_equal(found, on_the_host), (parameters.name, symmetric, precision)
            assert rms([found - real.seal_slots(data).real]) < 2e-3


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "asymmetric"])
@parameter_sets
def test_what_seal_computes_in_bfv_comes_out_exactly(parameters, owner, symmetric):
    for log2_tiles in (0, 2, 4):
        ciphertext, expected = computed(owner, random_slots(owner, 12 + log2_tiles), symmetric=symmetric)
        decryption = owner.decryption(UINT32, 32, log2_tiles)
        feed(
            decryption,
            b"".join(device_frames(owner.read(ciphertext), KEY_ID, COUNTER, log2_tiles=log2_tiles)),
        )
        assert np.array_equal(decryption.end(), expected)


def test_a_ciphertext_that_no_device_could_read_is_refused(tmp_path):
    real = CkksOwner(BUILTIN[0], tmp_path)
    sound = sb.read_ciphertext(real.encrypted(np.ones(real.parms.slots), symmetric=False), real.parms)
    too_large = sound.residues.copy()
    too_large[1, 0, 7] = real.parms.primes[0]
    faults = {
        "not below its prime": replace(sound, residues=too_large),
        "has 1 polynomials": replace(sound, residues=sound.residues[:1]),
    }
    for scale in (float("nan"), float("inf"), -1.0, 0.0, 0.5, 2.0**512):
        with pytest.raises(ParameterError, match="frames say 1 to below"):
            device_frames(replace(sound, scale=scale), KEY_ID, COUNTER, largest=1e-160)
    assert list(device_frames(replace(sound, scale=1.0), KEY_ID, COUNTER, largest=1))
    for sentence, wrong in faults.items():
        with pytest.raises(ParameterError, match=sentence):
            device_frames(wrong, KEY_ID, COUNTER, largest=1)
    for key_id, counter, log2_tiles in ((1 << 64, 1, 0), (1, -1, 0), (1, 1, 5)):
        with pytest.raises(ParameterError, match=r"2\^"):
            device_frames(sound, key_id, counter, largest=1, log2_tiles=log2_tiles)


def test_values_that_might_not_fit_the_devices_primes_are_refused_with_the_cause(tmp_path):
    real = CkksOwner(N4096, tmp_path)
    fresh = sb.read_ciphertext(real.encrypted(np.ones(real.parms.slots), symmetric=False), real.parms)
    frames = partial(device_frames, fresh, KEY_ID, COUNTER)
    for largest in (None, 0, float("nan")):
        with pytest.raises(ParameterError, match="say how large a slot may be"):
            frames(largest=largest)
    with pytest.raises(ParameterError, match=r"at scale 2\^22 are not below a quarter of the 2 prime"):
        frames(largest=2**28)
    with pytest.raises(ParameterError, match="quarter of the 1 prime"):
        frames(largest=4, primes=1)
    frame = partial(_core.Frame, core_params(N4096))
    for largest, primes in ((3.9, 1), (4, 2)):
        assert {frame(data).primes for data in frames(largest=largest)} == {primes}
    integers = BfvOwner(N4096, tmp_path)
    exact = integers.read(integers.encrypted(random_slots(integers, 9), symmetric=True))
    with pytest.raises(ParameterError, match="bounded by t"):
        device_frames(exact, KEY_ID, COUNTER, largest=1)


def test_a_result_whose_scale_leaves_no_room_is_refused_by_the_device(tmp_path):
    """21.4 came out as 5.4: at one prime of 26 bits, scale 2^22 holds no value of 16."""
    real = CkksOwner(N4096, tmp_path)
    data = real.encrypted(np.full(real.parms.slots, 21.4), symmetric=False)
    ciphertext = sb.read_ciphertext(data, real.parms)
    sent = b"".join(device_frames(ciphertext, KEY_ID, COUNTER, largest=22))
    narrow, wide = (
        testing.Decryption.ckks(
            *(core_params(real.parms), real.device_key.packed, KEY_ID, False),
            *(precision, FLOAT32, 0, 0, 22),
        )
        for precision in (31, 63)
    )
    with pytest.raises(Error, match="The scale is missing, out of range"):
        feed(narrow, sent)
    feed(wide, sent)
    assert np.abs(wide.end() - 21.4).max() < 0.01
