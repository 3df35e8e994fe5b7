# SPDX-License-Identifier: Apache-2.0
"""Decrypting and decoding by our own arithmetic, against SEAL's and against exact integers."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _core
from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.ciphertext import Ciphertext
from ciphermote.formats import seal as sb
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import by_name
from ciphermote.parameters.native import core_params
from seal_owner import SCALE, SealOwner

from golden import embedding

PARMS = by_name("n4096_q26x3_p27")
RANDOM = np.random.default_rng(21)
X = RANDOM.uniform(-1, 1, PARMS.slots)


@pytest.fixture(scope="module")
def seal(tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    return SealOwner(PARMS, tmp_path_factory.mktemp("seal"))


@pytest.fixture(scope="module")
def secret(seal: SealOwner) -> SecretKey:
    return SecretKey.from_seal(seal.save(seal.secret_key), PARMS)


def test_the_reference_encoder_gives_seals_coefficients(seal: SealOwner) -> None:
    plain = sb.read_plaintext(seal.save(seal.plaintext(X)), PARMS)
    expected = embedding.encode(X, SCALE, PARMS.n)
    for i, q in enumerate(PARMS.data_primes):
        coefficients = _inverse(plain.values[i], i)
        centred = np.where(coefficients > q // 2, coefficients - q, coefficients)
        # Two double-precision computations may differ on a tie; SEAL's own FFT is off by less than one unit.
        assert np.abs(centred - expected).max() <= 1
        assert (centred != expected).mean() < 1e-3


def _inverse(row: np.ndarray, prime: int) -> np.ndarray:
    return _core.ntt_inverse(core_params(PARMS), prime, row).astype(np.int64)


@pytest.mark.parametrize("n", [1024, 2048, 4096, 8192, 16384])
def test_decoding_undoes_encoding(n: int) -> None:
    z = RANDOM.uniform(-1, 1, n // 2) + 1j * RANDOM.uniform(-1, 1, n // 2)
    found = embedding.decode(embedding.encode(z, 2.0**40, n), 2.0**40)
    assert np.abs(found - z).max() < 1e-9


def test_a_short_vector_leaves_the_other_slots_zero() -> None:
    found = embedding.decode(embedding.encode([1.0, 2.0], 2.0**40, 1024), 2.0**40)
    assert np.abs(found[2:]).max() < 1e-9
    assert np.abs(found[:2] - [1, 2]).max() < 1e-9


def test_decrypting_equals_seal_at_every_level(seal: SealOwner, secret: SecretKey) -> None:
    evaluator = sealapi.Evaluator(seal.context)
    ciphertext = seal.load(sealapi.Ciphertext, seal.encrypt(X))
    for primes in (3, 2):
        data = seal.save(ciphertext)
        assert Ciphertext.from_seal(data, PARMS).primes == primes
        assert np.abs(decrypt(data, secret, bare=True) - seal.decrypt(data)).max() < 1e-9
        lower = sealapi.Ciphertext()
        evaluator.mod_switch_to_next(ciphertext, lower)
        ciphertext = lower


def test_three_polynomials_decrypt(seal: SealOwner, secret: SecretKey) -> None:
    product = sealapi.Ciphertext()
    sealapi.Evaluator(seal.context).square(seal.load(sealapi.Ciphertext, seal.encrypt(X)), product)
    found = Ciphertext.from_seal(seal.save(product), PARMS)
    assert found.scale == SCALE**2
    assert np.abs(decrypt(found, secret, bare=True) - X * X).max() < 1e-4


def test_complex_slots_decrypt(seal: SealOwner, secret: SecretKey) -> None:
    z = X[:512] + 1j * X[512:1024]
    plaintext, ciphertext = sealapi.Plaintext(), sealapi.Ciphertext()
    seal.encoder.encode(z.tolist(), SCALE, plaintext)
    seal.encryptor.encrypt(plaintext, ciphertext)
    found = decrypt(seal.save(ciphertext), secret, bare=True, complex_slots=True)
    assert np.abs(found[:512] - z).max() < 5e-4  # 17 sigma, with exponential tails


def test_fifteen_primes_decrypt(tmp_path: Path) -> None:
    parameters = by_name("n16384_q26x15_p27")
    owner = SealOwner(parameters, tmp_path)
    secret = SecretKey.from_seal(owner.save(owner.secret_key), parameters)
    x = RANDOM.uniform(-1, 1, parameters.slots)
    for scale in (2.0**30, 2.0**180):
        assert np.abs(decrypt(owner.encrypt(x, scale), secret, bare=True) - x).max() < 1e-5


def test_another_key_finds_only_noise_which_is_refused(seal: SealOwner) -> None:
    with pytest.raises(MismatchError, match="decrypts to noise"):
        decrypt(seal.encrypt(X), SecretKey.generate(PARMS), bare=True)


def test_values_that_outgrow_the_modulus_are_refused(seal: SealOwner, secret: SecretKey) -> None:
    """Values times the scale must stay below a quarter of the primes' product, or they are lost."""
    room = prod(PARMS.data_primes) / 4
    assert np.abs(decrypt(seal.encrypt([0.9, -0.9], room), secret, bare=True)[0] - 0.9) < 1e-9
    for scale in (room * 1.2, room * 1.9):
        with pytest.raises(MismatchError, match="outgrew its modulus"):
            decrypt(seal.encrypt([0.9, -0.9], scale), secret, bare=True)


@pytest.mark.parametrize("cut", [0, 10, 90, 5000])
def test_a_cut_ciphertext_is_refused(seal: SealOwner, secret: SecretKey, cut: int) -> None:
    with pytest.raises(FrameError):
        decrypt(seal.encrypt(X)[:cut], secret, bare=True)
