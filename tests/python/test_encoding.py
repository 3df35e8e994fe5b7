# SPDX-License-Identifier: Apache-2.0
"""The fixed-point encoder against Microsoft SEAL's and the exact embedding, coefficient for coefficient."""

from __future__ import annotations

import tempfile
from pathlib import Path

import ciphermote_testing as testing
import numpy as np
import pytest
import tenseal.sealapi as seal
from ciphermote import _core
from ciphermote.base.errors import ParameterError, ValueRangeError
from ciphermote.formats import seal as sb
from ciphermote.parameters import BUILTIN, ParameterSet, by_name
from ciphermote.parameters.native import core_params
from exact import joined

from golden import embedding

PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE = 25
MOST_UNITS_RMS = 0.5


def signals(slots: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2026)
    return {
        "uniform": rng.uniform(-1, 1, slots).astype(np.float32),
        "sine": np.sin(np.arange(slots) / 10).astype(np.float32),
        "offset": (20 + rng.uniform(-5, 5, slots)).astype(np.float32),
        "ramp": np.arange(slots, dtype=np.float32),
    }


def seal_coefficients(values: np.ndarray, parameters: ParameterSet, log2_scale: int) -> np.ndarray:
    """int64 [n]: what SEAL's encoder returns for the values."""
    parms = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parms.set_poly_modulus_degree(parameters.n)
    parms.set_coeff_modulus([seal.Modulus(q) for q in parameters.primes])
    context = seal.SEALContext(parms, True, seal.SEC_LEVEL_TYPE.TC128)
    plain = seal.Plaintext()
    seal.CKKSEncoder(context).encode(values.tolist(), 2.0**log2_scale, plain)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "plain"
        plain.save(str(path))
        residues = sb.read_plaintext(path.read_bytes(), parameters).values
    core = core_params(parameters)
    rows = np.stack([_core.ntt_inverse(core, i, row.astype(np.uint32)) for i, row in enumerate(residues)])
    return np.array(joined(rows, parameters.data_primes), dtype=np.int64)


def device_coefficients(
    values, parameters=PARAMETERS, *, precision, log2_scale=LOG2_SCALE, exponent=0, slots=False
):
    return testing.encode(core_params(parameters), values, slots, exponent, log2_scale, precision)


def units_rms(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square((a - b).astype(np.float64)))))


@pytest.mark.parametrize(
    ("signal", "precision"),
    [("uniform", 31), ("sine", 31), ("uniform", 63), ("sine", 63), ("offset", 63), ("ramp", 63)],
)
def test_coefficients_equal_seals_within_half_a_unit_rms(signal, precision):
    values = signals(PARAMETERS.slots)[signal]
    expected = seal_coefficients(values, PARAMETERS, LOG2_SCALE)
    found = device_coefficients(values, precision=precision)
    assert units_rms(found, expected) <= MOST_UNITS_RMS
    assert np.abs(found - expected).max() <= 2


def test_31_bits_stay_within_half_a_unit_up_to_their_edge():
    """|value * scale| just below 2^29, in shapes that keep a transform's energy together or spread it."""
    rng = np.random.default_rng(5)
    slots = PARAMETERS.slots
    for values in (
        np.full(slots, 15.999),
        15.999 * np.sign(rng.uniform(-1, 1, slots)),
        15.999 * np.cos(np.arange(slots)),
        rng.uniform(-15.999, 15.999, slots),
    ):
        values = values.astype(np.float32)
        found = device_coefficients(values, precision=31)
        assert units_rms(found, embedding.encode(values, 2.0**LOG2_SCALE, PARAMETERS.n)) <= MOST_UNITS_RMS


def test_31_bits_refuse_what_is_not_below_2_to_the_29():
    device_coefficients(np.array([np.nextafter(np.float32(16), np.float32(0))]), precision=31)
    for value in (16, -16, 17.5):
        with pytest.raises(ValueRangeError, match="too large"):
            device_coefficients(np.array([value], dtype=np.float32), precision=31)


@pytest.mark.parametrize("precision", [31, 63])
@pytest.mark.parametrize("slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("parameters", BUILTIN[:5], ids=lambda p: p.name)
def test_rounding_stays_close_to_the_exact_embedding_at_every_degree(parameters, slots, precision):
    log2_scale = 25 if len(parameters.data_primes) > 1 else 18
    values = np.random.default_rng(1).uniform(-1, 1, parameters.slots * (1 + slots)).astype(np.float32)
    given = values.astype(np.float64)
    expected = embedding.encode(given.view(np.complex128) if slots else given, 2.0**log2_scale, parameters.n)
    found = device_coefficients(values, parameters, precision=precision, log2_scale=log2_scale, slots=slots)
    assert units_rms(found, expected) <= (0.5 if precision == 31 else 0.25)


def test_integers_encode_as_the_numbers_they_stand_for():
    integers = np.random.default_rng(3).integers(-2048, 2048, PARAMETERS.slots)
    as_floats = device_coefficients((integers / 256).astype(np.float32), precision=31)
    for kind in (np.int16, np.int32):
        found = device_coefficients(integers.astype(kind), precision=31, exponent=-8)
        assert np.array_equal(found, as_floats)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_refused(bad):
    with pytest.raises(ValueRangeError):
        device_coefficients(np.array([0.5, bad], dtype=np.float32), precision=63)


def test_more_values_than_slots_are_refused():
    with pytest.raises(ValueRangeError):
        device_coefficients(np.zeros(PARAMETERS.slots + 1, dtype=np.float32), precision=31)


@pytest.mark.parametrize(
    ("exponent", "log2_scale"),
    [
        (65536, 25),
        (-65536, 25),
        (32768, 25),
        (128, 25),
        (-129, 25),
        (0, 65536 + 25),
        (0, 61),
        (0, 0),
        (0, -1),
    ],
)
def test_an_exponent_or_scale_beyond_its_range_is_refused_and_does_not_wrap_around(exponent, log2_scale):
    with pytest.raises(ParameterError):
        device_coefficients(
            np.array([1, 2], dtype=np.int16), precision=63, exponent=exponent, log2_scale=log2_scale
        )


def test_arrays_that_may_not_be_written_are_encoded_too():
    values = np.array([0.5, -0.25], dtype=np.float32)
    expected = device_coefficients(values, precision=31)
    values.setflags(write=False)
    assert np.array_equal(device_coefficients(values, precision=31), expected)


def test_words_that_may_not_be_written_are_transformed_too():
    words = np.arange(PARAMETERS.n, dtype=np.uint32)
    expected = _core.ntt_forward(core_params(PARAMETERS), 0, words)
    words.setflags(write=False)
    assert np.array_equal(_core.ntt_forward(core_params(PARAMETERS), 0, words), expected)
