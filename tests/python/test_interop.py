# SPDX-License-Identifier: Apache-2.0
"""Microsoft SEAL decrypts the device library's output with at most the error of SEAL's own encryption.

Every parameter set, both key kinds, both precisions, all XOFs, real and complex slots, and among the
ciphertexts of each all forms of bytes. An error is measured over at least 2^17 slots: one ciphertext's
scatters by up to 3 %.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as seal
from ciphermote import _core
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import adapt
from ciphermote.owner.encryption import device_residues
from ciphermote.owner.keys import SecretKey, make_public_key
from ciphermote.parameters import BUILTIN, ParameterSet
from ciphermote.parameters.native import core_params

SLOTS_MEASURED = 2**17
KEY_PAIRS = 8  # an asymmetric error depends a little on the key: 1 % at n = 1024
KEY_ID = 0x0123456789ABCDEF
NOISE = 3.24

XOFS = {"blake2xb": 1, "shake256": 2, "chacha20": 3}
FORMS = {0: ["frames", "seal"], 1: ["frames", "seal", "seal_seeded"], 2: ["frames", "seal", "seal_seeded"]}
FORMS[3] = ["frames", "seal"]
"""XOF (0: asymmetric) -> what the device can emit."""

parameter_sets = pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
slot_kinds = pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
precisions = pytest.mark.parametrize("precision", [31, 63], ids=["31bit", "63bit"])


@cache
def context(parameters: ParameterSet) -> seal.SEALContext:
    parms = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parms.set_poly_modulus_degree(parameters.n)
    parms.set_coeff_modulus([seal.Modulus(q) for q in parameters.primes])
    return seal.SEALContext(parms, True, seal.SEC_LEVEL_TYPE.TC128)


def load(target, parameters: ParameterSet, data: bytes):
    """SEAL loads from files alone."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as file:
        file.write(data)
        file.flush()
        target.load(context(parameters), file.name)
    return target


def save(thing, folder: Path) -> bytes:
    """Return SEAL's bytes of an object."""
    thing.save(str(folder / "object"))
    return (folder / "object").read_bytes()


class Counter:
    """A persistent counter, in memory."""

    def __init__(self) -> None:
        self.value = 0

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value


@dataclass
class Owner:
    """A key pair, SEAL's tools with its secret, and a device with either key."""

    parameters: ParameterSet

    def __post_init__(self) -> None:
        self.secret = SecretKey.generate(self.parameters)
        self.public = device_residues(make_public_key(self.secret)).reshape(-1)
        self.seal_secret = load(seal.SecretKey(), self.parameters, self.secret.to_seal())
        self.decryptor = seal.Decryptor(context(self.parameters), self.seal_secret)
        self.encoder = seal.CKKSEncoder(context(self.parameters))
        counter = Counter()
        self.device = _core.Device(os.urandom(32), os.urandom, counter.read, counter.write)

    def device_bytes(self, values, xof, layout, log2_scale, precision, complex_slots) -> bytes:
        core = core_params(self.parameters)
        rest = (KEY_ID, values, log2_scale, precision, complex_slots, 0, layout)
        if xof:
            emitted = self.device.encrypt_symmetric(core, self.secret.packed, rest[0], xof, *rest[1:])
        else:
            emitted = self.device.encrypt_asymmetric(core, self.public, *rest)
        return adapt(emitted, self.parameters, KEY_ID) if layout == "frames" else emitted

    def decrypt(self, ciphertext: seal.Ciphertext, *, complex_slots: bool) -> np.ndarray:
        """Interleaved parts, as the values are."""
        plain = seal.Plaintext()
        self.decryptor.decrypt(ciphertext, plain)
        if not complex_slots:
            return np.array(self.encoder.decode_double(plain))
        return np.array(self.encoder.decode_complex(plain)).view(np.float64)


def log2_scale_of(parameters: ParameterSet) -> int:
    return 25 if len(parameters.data_primes) > 1 else 18


def random_values(rng: np.random.Generator, parameters: ParameterSet, *, complex_slots: bool) -> np.ndarray:
    return rng.uniform(-1, 1, parameters.slots * (1 + complex_slots)).astype(np.float32)


def rms(errors: list[np.ndarray]) -> float:
    return math.sqrt(np.mean(np.square(np.concatenate(errors))))


def device_error(parameters, xof, precision, complex_slots) -> float:
    """rms error of a part of a slot over SLOTS_MEASURED slots; every form is among the ciphertexts."""
    rng = np.random.default_rng(1)
    count = SLOTS_MEASURED // parameters.slots
    owners = [Owner(parameters) for _ in range(1 if xof else min(KEY_PAIRS, count))]
    errors = []
    for i, layout in zip(range(count), itertools.cycle(FORMS[xof]), strict=False):
        owner = owners[i % len(owners)]
        values = random_values(rng, parameters, complex_slots=complex_slots)
        data = owner.device_bytes(values, xof, layout, log2_scale_of(parameters), precision, complex_slots)
        ciphertext = load(seal.Ciphertext(context(parameters)), parameters, data)
        errors.append(owner.decrypt(ciphertext, complex_slots=complex_slots) - values)
    return rms(errors)


@cache
def seal_symmetric_error(parameters: ParameterSet, *, complex_slots: bool) -> float:
    """Return the error of SEAL's encoder and symmetric encryptor on the same values."""
    rng = np.random.default_rng(1)
    owner = Owner(parameters)
    encryptor = seal.Encryptor(context(parameters), owner.seal_secret)
    errors = []
    for _ in range(SLOTS_MEASURED // parameters.slots):
        values = random_values(rng, parameters, complex_slots=complex_slots)
        plain, ciphertext = seal.Plaintext(), seal.Ciphertext(context(parameters))
        slots = values.astype(np.float64)
        slots = slots.view(np.complex128) if complex_slots else slots
        owner.encoder.encode(slots.tolist(), 2.0 ** log2_scale_of(parameters), plain)
        encryptor.encrypt_symmetric(plain, ciphertext)
        errors.append(owner.decrypt(ciphertext, complex_slots=complex_slots) - values)
    return rms(errors)


@slot_kinds
@parameter_sets
def test_symmetric_ciphertexts_are_as_exact_in_seal_as_seals_own(parameters, complex_slots):
    reference = seal_symmetric_error(parameters, complex_slots=complex_slots)
    for precision, xof in itertools.product((31, 63), XOFS.values()):
        error = device_error(parameters, xof, precision, complex_slots)
        assert 0.9 * reference < error <= 1.05 * reference, (precision, xof, error / reference)


@precisions
@slot_kinds
@parameter_sets
def test_asymmetric_ciphertexts_have_the_error_that_theory_gives(parameters, complex_slots, precision):
    n = parameters.n
    theory = math.sqrt(n / 2) * NOISE * math.sqrt(4 * n / 3 + 1) / 2.0 ** log2_scale_of(parameters)
    error = device_error(parameters, 0, precision, complex_slots)
    assert 0.9 * theory < error <= 1.05 * theory, error / theory


def emit_again(parameters: ParameterSet, secret: SecretKey, xof: int, layout: str) -> bytes:
    """Emit the same bytes in every call: the same device, randomness and values."""
    counter = Counter()
    device = _core.Device(
        bytes(range(1, 33)), lambda length: bytes(range(length)), counter.read, counter.write
    )
    values = np.linspace(-1, 1, parameters.slots, dtype=np.float32)
    return device.encrypt_symmetric(
        core_params(parameters), secret.packed, KEY_ID, xof, values, 18, 31, False, 0, layout
    )


@parameter_sets
@pytest.mark.parametrize("xof", ["blake2xb", "shake256"])
def test_seal_expands_a_seeded_ciphertext_to_the_devices_full_one_word_for_word(parameters, xof, tmp_path):
    secret = SecretKey.generate(parameters)
    emitted = emit_again(parameters, secret, XOFS[xof], "seal")
    full, seeded = (
        sb.read_ciphertext(
            save(load(seal.Ciphertext(context(parameters)), parameters, data), tmp_path), parameters
        )
        for data in (emitted, emit_again(parameters, secret, XOFS[xof], "seal_seeded"))
    )
    assert seeded.seed is None, "SEAL has expanded it"
    assert np.array_equal(seeded.residues, full.residues)
    assert np.array_equal(full.residues, sb.read_ciphertext(emitted, parameters).residues)
