# SPDX-License-Identifier: Apache-2.0
"""The device library's BFV: its plaintexts are SEAL's, and SEAL decrypts and adds its ciphertexts, exactly.

Every parameter set, both key kinds, both forms, all XOFs, and among the ciphertexts all forms of bytes.
"""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path
from typing import Any

import ciphermote
import ciphermote_testing as testing
import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _core
from ciphermote.base.errors import Error, FrameError
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import FrameReader, adapt, read_sets
from ciphermote.owner.encryption import device_residues
from ciphermote.owner.keys import SecretKey, make_public_key
from ciphermote.parameters import BFV, BUILTIN, ParameterSet, by_name
from ciphermote.parameters.native import core_params
from numpy.typing import NDArray
from seal_owner import SealOwner

from golden import device as golden

KEY_ID = 0x0123456789ABCDEF
BATCH, COEFFICIENTS = 1, 2
XOFS = {"asymmetric": 0, "blake2xb": 1, "shake256": 2, "chacha20": 3}
N1024, N4096 = by_name("n1024_q26"), by_name("n4096_q26x3_p27")

by_set = pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
by_xof = pytest.mark.parametrize("xof", XOFS.values(), ids=XOFS.keys())
by_form = pytest.mark.parametrize("ntt_form", [True, False], ids=["ntt", "coefficients"])


def batching_moduli(parameters: ParameterSet) -> list[tuple[int, int]]:
    """(t, width): what works for both kinds of key, in 16 bits if possible, and in 32 bits."""
    if len(parameters.data_primes) == 1:
        return [(12289, 16), (12289, 32)]
    return [(40961, 16), (786433, 32)] if parameters.n == 4096 else [(65537, 32), (786433, 32)]


class Owner:
    """A key pair, SEAL with its secret, and devices with either key."""

    def __init__(self, parameters: ParameterSet, t: int, folder: Path) -> None:
        self.parameters, self.t = parameters, t
        self.secret = SecretKey.generate(parameters)
        self.public = device_residues(make_public_key(self.secret)).reshape(-1)
        self.seal = SealOwner(parameters, folder, t)
        residues = np.stack([self.secret.residues(i) for i in range(len(parameters.primes))])
        secret = sb.write_secret_key(sb.SealSecretKey(parameters, residues, BFV(t)))
        self.decryptor = sealapi.Decryptor(self.seal.context, self.seal.load(sealapi.SecretKey, secret))
        self.evaluator = sealapi.Evaluator(self.seal.context)
        self.counter = 0
        self.device = _core.Device(os.urandom(32), os.urandom, lambda: self.counter, self._store)

    def _store(self, value: int) -> None:
        self.counter = value

    def encrypt(
        self,
        values: NDArray[Any],
        xof: int,
        layout: str,
        *,
        ntt_form: bool = True,
        width: int = 32,
        encoding: int = BATCH,
    ) -> bytes:
        core = core_params(self.parameters)
        rest = (values, self.t, encoding, width, ntt_form, layout)
        if xof:
            return self.device.encrypt_bfv_symmetric(core, self.secret.packed, KEY_ID, xof, *rest)
        return self.device.encrypt_bfv_asymmetric(core, self.public, KEY_ID, *rest)

    def load(self, data: bytes) -> Any:
        return self.seal.load(sealapi.Ciphertext, data)

    def coefficients(self, ciphertext: Any) -> NDArray[np.uint32]:
        """Decrypt with SEAL, [n]; from NTT form, after an inverse transform."""
        if ciphertext.is_ntt_form():
            self.evaluator.transform_from_ntt_inplace(ciphertext)
        plain = sealapi.Plaintext()
        self.decryptor.decrypt(ciphertext, plain)
        return coefficients_of(plain, self.parameters.n)

    def slots(self, ciphertext: Any) -> NDArray[np.uint64]:
        if ciphertext.is_ntt_form():
            self.evaluator.transform_from_ntt_inplace(ciphertext)
        plain = sealapi.Plaintext()
        self.decryptor.decrypt(ciphertext, plain)
        return np.array(sealapi.BatchEncoder(self.seal.context).decode_uint64(plain), dtype=np.uint64)


def coefficients_of(plain: Any, n: int) -> NDArray[np.uint32]:
    """A SEAL plaintext's, which leaves out leading zeros."""
    found = np.zeros(n, dtype=np.uint32)
    found[: plain.coeff_count()] = [plain[i] for i in range(plain.coeff_count())]
    return found


@cache
def seal_context(parameters: ParameterSet, t: int) -> Any:
    parms = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.BFV)
    parms.set_poly_modulus_degree(parameters.n)
    parms.set_coeff_modulus([sealapi.Modulus(q) for q in parameters.primes])
    parms.set_plain_modulus(t)
    return sealapi.SEALContext(parms, True, sealapi.SEC_LEVEL_TYPE.TC128)


def random_values(parameters: ParameterSet, t: int, seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, t, parameters.n).astype(np.uint32)


# ---- plaintexts ----


@by_set
def test_batched_coefficients_are_those_of_seals_encoder(parameters: ParameterSet) -> None:
    for t, width in batching_moduli(parameters):
        values = random_values(parameters, t, 1)
        values[:3] = [0, 1, t - 1]
        plain = sealapi.Plaintext()
        sealapi.BatchEncoder(seal_context(parameters, t)).encode(values.tolist(), plain)
        found, _ = testing.bfv_encode(core_params(parameters), values, t, BATCH, width)
        assert np.array_equal(found, coefficients_of(plain, parameters.n)), t


@by_set
def test_batched_and_scaled_coefficients_are_the_models(parameters: ParameterSet) -> None:
    chain = golden.Chain(parameters.n, parameters.primes)
    for t, width in batching_moduli(parameters):
        values = random_values(parameters, t, 2)[: parameters.n - 5]
        m = golden.encode_integers(chain, values.tolist(), t, signed=False, batch=True)
        scaled = golden.scale_up(chain, m, t)
        found, residues = testing.bfv_encode(core_params(parameters), values, t, BATCH, width)
        assert found.tolist() == m
        for row, q in zip(residues, parameters.data_primes, strict=True):
            assert row.tolist() == [x % q for x in scaled]


@pytest.mark.parametrize("parameters", [N1024, N4096], ids=lambda p: p.name)
@pytest.mark.parametrize("t", [2, 3, 4, 255, 1000, 12288, 32767, 32768, 65534, 65535, 65536])
@pytest.mark.parametrize("width", [16, 32])
def test_coefficients_of_any_modulus_are_scaled_as_the_model_does(
    parameters: ParameterSet, t: int, width: int
) -> None:
    chain = golden.Chain(parameters.n, parameters.primes)
    values = random_values(parameters, t, 3)
    values[: min(t, 6)] = [0, 1, t - 1, t // 2, (t - 1) // 2, (t + 1) // 2 % t][: min(t, 6)]
    _, residues = testing.bfv_encode(core_params(parameters), values, t, COEFFICIENTS, width)
    scaled = golden.scale_up(chain, values.tolist(), t)
    for row, q in zip(residues, parameters.data_primes, strict=True):
        assert row.tolist() == [x % q for x in scaled]


@pytest.mark.parametrize("t", [(1 << 25) - 1, 1 << 25, 67043327])
def test_moduli_near_the_primes_are_scaled_as_the_model_does(t: int) -> None:
    chain = golden.Chain(N4096.n, N4096.primes)
    values = random_values(N4096, t, 4)
    values[:4] = [t - 1, t // 2, (t + 1) // 2, t // 2 + 1]
    if t >= min(N4096.data_primes):
        with pytest.raises(Error):
            testing.bfv_encode(core_params(N4096), values, t, COEFFICIENTS, 32)
        return
    _, residues = testing.bfv_encode(core_params(N4096), values, t, COEFFICIENTS, 32)
    scaled = golden.scale_up(chain, values.tolist(), t)
    for row, q in zip(residues, N4096.data_primes, strict=True):
        assert row.tolist() == [x % q for x in scaled]


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
@pytest.mark.parametrize("width", [16, 32])
def test_signed_values_are_taken_modulo_t(dtype: type, width: int) -> None:
    values = np.random.default_rng(5).integers(-6144, 6145, N1024.n).astype(dtype)
    found, _ = testing.bfv_encode(core_params(N1024), values, 12289, COEFFICIENTS, width)
    assert np.array_equal(found, values.astype(np.int64) % 12289)


# ---- ciphertexts ----


@by_set
@by_xof
@by_form
def test_seal_decrypts_the_devices_ciphertexts_exactly(
    parameters: ParameterSet, xof: int, *, ntt_form: bool, tmp_path: Path
) -> None:
    layouts = ["frames", "seal"] + (["seal_seeded"] if xof in (1, 2) else [])
    for t, width in batching_moduli(parameters):
        owner = Owner(parameters, t, tmp_path)
        for i, layout in enumerate(layouts):
            values = random_values(parameters, t, i)
            data = owner.encrypt(values, xof, layout, ntt_form=ntt_form, width=width)
            if layout == "frames":
                data = adapt(data, parameters, KEY_ID, scheme=BFV(t))
            ciphertext = owner.load(data)
            assert ciphertext.is_ntt_form() == ntt_form
            assert np.array_equal(owner.slots(ciphertext), values), (t, layout)


@by_xof
def test_seal_decrypts_coefficients_of_a_modulus_that_is_no_prime(xof: int, tmp_path: Path) -> None:
    owner = Owner(N4096, 1000, tmp_path)
    values = random_values(N4096, 1000, 6)
    data = owner.encrypt(values, xof, "seal", width=16, encoding=COEFFICIENTS)
    assert np.array_equal(owner.coefficients(owner.load(data)), values)


@by_set
def test_seal_adds_what_two_devices_send_in_ntt_form(parameters: ParameterSet, tmp_path: Path) -> None:
    t, width = batching_moduli(parameters)[0]
    owner = Owner(parameters, t, tmp_path)
    first, second = random_values(parameters, t, 7), random_values(parameters, t, 8)
    total = owner.load(
        adapt(owner.encrypt(first, 2, "frames", width=width), parameters, KEY_ID, scheme=BFV(t))
    )
    other = owner.load(
        adapt(
            owner.encrypt(second, 1, "frames", width=width),
            parameters,
            KEY_ID,
            scheme=BFV(t),
            seeded=True,
        )
    )
    owner.evaluator.add_inplace(total, other)
    assert total.is_ntt_form()
    assert np.array_equal(owner.slots(total), (first.astype(np.uint64) + second) % t)


@by_xof
def test_the_adapter_brings_frames_to_coefficient_form(xof: int, tmp_path: Path) -> None:
    owner = Owner(N4096, 40961, tmp_path)
    values = random_values(N4096, 40961, 9)
    for ntt_form, seeded in itertools.product((True, False), repeat=2):
        frames = owner.encrypt(values, xof, "frames", ntt_form=ntt_form, width=16)
        data = adapt(frames, N4096, KEY_ID, scheme=BFV(40961), seeded=seeded, coefficients=True)
        ciphertext = owner.load(data)
        assert not ciphertext.is_ntt_form()
        owner.evaluator.multiply_plain_inplace(ciphertext, owner.seal.load(sealapi.Plaintext, plain_two()))
        assert np.array_equal(owner.slots(ciphertext), 2 * values.astype(np.uint64) % 40961)


def plain_two() -> bytes:
    """The constant 2, which batching has in every slot."""
    return sb.write_plaintext(sb.SealPlaintext(N4096, 0, 1.0, np.array([2], dtype=np.uint64), BFV(40961)))


@by_set
@pytest.mark.parametrize("xof", [1, 2], ids=["blake2xb", "shake256"])
@by_form
def test_seal_expands_seeds_in_the_domain_of_the_ciphertext(
    parameters: ParameterSet, xof: int, *, ntt_form: bool, tmp_path: Path
) -> None:
    t, width = batching_moduli(parameters)[0]
    owner = SealOwner(parameters, tmp_path, t)
    secret = SecretKey.generate(parameters)
    values = random_values(parameters, t, 10)

    def emit(layout: str) -> bytes:
        stored = [0]
        device = _core.Device(
            bytes(range(1, 33)),
            lambda length: bytes(range(length)),
            lambda: stored[0],
            lambda value: stored.__setitem__(0, value),
        )
        core = core_params(parameters)
        return device.encrypt_bfv_symmetric(
            core, secret.packed, KEY_ID, xof, values, t, BATCH, width, ntt_form, layout
        )

    def read(data: bytes) -> sb.SealCiphertext:
        return sb.read_ciphertext(data, parameters, scheme=BFV(t))

    full = read(emit("seal"))
    expanded = read(owner.save(owner.load(sealapi.Ciphertext, emit("seal_seeded"))))
    assert expanded.seed is None and expanded.ntt_form == full.ntt_form == ntt_form
    assert np.array_equal(expanded.residues, full.residues)


# ---- refusals ----


def test_the_adapter_takes_no_scheme_and_no_modulus_but_what_it_was_told(tmp_path: Path) -> None:
    owner = Owner(N1024, 12289, tmp_path)
    frames = owner.encrypt(random_values(N1024, 12289, 11), 3, "frames", width=16)
    with pytest.raises(FrameError, match=r"a BFV ciphertext.*give that.*--plain-modulus 12289"):
        adapt(frames, N1024, KEY_ID)
    with pytest.raises(FrameError, match="has the plain modulus 12289 and not 40961"):
        adapt(frames, N1024, KEY_ID, scheme=BFV(40961))
    reader = FrameReader(N1024, KEY_ID, scheme=BFV(12289))
    (found,) = reader.feed(frames).sets
    assert (found.header.scale, found.scheme) == (1.0, BFV(12289))
    assert found.header.scale_or_modulus == "BFV modulo 12289"


def test_ckks_has_no_coefficient_form() -> None:
    secret = SecretKey.generate(N1024)
    values = np.ones(N1024.slots, dtype=np.float32)
    stored = [0]
    device = _core.Device(
        os.urandom(32), os.urandom, lambda: stored[0], lambda value: stored.__setitem__(0, value)
    )
    frames = device.encrypt_symmetric(
        core_params(N1024), secret.packed, KEY_ID, 3, values, 18, 31, False, 0, "frames"
    )
    (found,) = read_sets([frames], N1024, KEY_ID)
    with pytest.raises(FrameError, match="has no coefficient form"):
        found.to_seal(coefficients=True)


def test_a_plain_modulus_without_room_is_a_parameter_error(tmp_path: Path) -> None:
    owner = Owner(N1024, 65537, tmp_path)
    values = random_values(N1024, 65537, 12)
    with pytest.raises(Error, match="plain modulus"):
        owner.encrypt(values, 0, "frames")
    assert len(owner.encrypt(values, 3, "frames")) > 0


@pytest.mark.parametrize("plain_modulus", [18433, 40961])
def test_the_owner_decrypts_what_devices_may_encrypt_under_the_smallest_public_key(
    plain_modulus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where less than a bit of noise budget is left, as in a third of these at 40961.

    Of the same keys and noise in every run: at 40961 one ciphertext in 10^5 is refused.
    """
    monkeypatch.setattr(os, "urandom", np.random.default_rng(3).bytes)
    owner = ciphermote.Owner.generate("n1024_q26")
    values = np.arange(1024) % plain_modulus
    for counter in range(24):
        sent = ciphermote.encrypt(
            *(values, owner.public_key),
            largest=plain_modulus - 1,
            scheme=BFV(plain_modulus),
            places="coefficients",
            counter=counter,
        )
        assert (owner.decrypt(sent, places="coefficients", signed=False) == values).all()
