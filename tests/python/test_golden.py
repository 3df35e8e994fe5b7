# SPDX-License-Identifier: Apache-2.0
"""The library's outputs are the golden model's, bit for bit: encoding, seeds, samplers, keys, ciphertexts."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ciphermote_testing as testing
import generate_vectors
import numpy as np
import pytest
from ciphermote import _core, parameters
from ciphermote.base.errors import ValueRangeError
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import core_params

from golden import device as golden

ROOT = Path(__file__).resolve().parents[2]

SETS = parameters.BUILTIN
N1024, N4096 = SETS[0], SETS[2]
DEVICE_SECRET = bytes(range(32))
RANDOMNESS = bytes(range(100, 132))
KEY_SEED = bytes(range(50, 82))
COUNTER = (5 << 32) + 0xFFFFFFFE
KEY_ID = 0x0123456789ABCDEF
XOFS = {"blake2xb": golden.BLAKE2XB, "shake256": golden.SHAKE256, "chacha20": golden.CHACHA20}

by_set = pytest.mark.parametrize("chosen", SETS, ids=lambda chosen: chosen.name)
by_precision = pytest.mark.parametrize("precision", [31, 63])
by_slots = pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
by_small_set = pytest.mark.parametrize("chosen", [N1024, N4096], ids=lambda chosen: chosen.name)
by_xof = pytest.mark.parametrize("xof", XOFS.values(), ids=XOFS.keys())


def chain_of(chosen: ParameterSet) -> golden.Chain:
    return golden.Chain(chosen.n, chosen.primes)


def limit(chosen: ParameterSet, precision: int) -> int:
    """log2 of the first |value * scale| that is refused."""
    return min({31: 29, 63: 58}[precision], chosen.data_modulus.bit_length() - 3)


def both_encodings(
    chosen: ParameterSet,
    numbers: np.ndarray,
    log2_scale: int,
    precision: int,
    *,
    complex_slots: bool = False,
    exponent: int = 0,
) -> tuple[list[int], list[int]]:
    """(the library's coefficients, the model's)"""
    library = testing.encode(core_params(chosen), numbers, complex_slots, exponent, log2_scale, precision)
    model = golden.encode(
        chain_of(chosen),
        numbers.tolist(),
        complex_slots=complex_slots,
        exponent=exponent if numbers.dtype.kind == "i" else 0,
        log2_scale=log2_scale,
        precision=precision,
    )
    return library.tolist(), model


# ---- parameters, the ring ----


@by_set
def test_names_of_parameter_sets_and_roots_of_unity(chosen: ParameterSet) -> None:
    chain = chain_of(chosen)
    assert chain.id == chosen.id.to_bytes(4, "little")
    assert chain.parms_id() == chosen.parms_id()
    q = chosen.primes[-1]
    assert golden.smallest_root(chosen.n, q) == parameters.prime_constants(chosen.n, q).psi


@by_set
def test_transform(chosen: ParameterSet) -> None:
    prime = len(chosen.primes) - 1
    q = chosen.primes[prime]
    a = np.random.default_rng(1).integers(0, q, chosen.n)
    a[:2] = q - 1
    transformed = _core.ntt_forward(core_params(chosen), prime, a.astype(np.uint32))
    assert np.array_equal(transformed, golden.ntt(a, q))
    assert np.array_equal(_core.ntt_inverse(core_params(chosen), prime, transformed), a)


# ---- encoding ----


@by_set
@by_precision
@by_slots
def test_encoding_of_floats(chosen: ParameterSet, precision: int, *, complex_slots: bool) -> None:
    numbers = np.random.default_rng(2).uniform(-1, 1, chosen.n if complex_slots else chosen.n // 2)
    library, model = both_encodings(
        chosen,
        numbers.astype(np.float32),
        limit(chosen, precision) - 1,
        precision,
        complex_slots=complex_slots,
    )
    assert library == model


@by_precision
@by_slots
@pytest.mark.parametrize("log2_scale", [1, 2, 22, 60])
def test_encoding_of_subnormals_signed_zeros_and_halves(
    precision: int, *, complex_slots: bool, log2_scale: int
) -> None:
    unit = 2.0 ** -(log2_scale + {31: 1, 63: 3}[precision])
    tiny = float(np.float32(2.0**-149))
    special = [-0.0, 0.0, tiny, -tiny, 8388607 * tiny, 2.0**-126, -(2.0**-126)]
    halves = [sign * (k + half) * unit for k in range(5) for half in (0.25, 0.5, 0.75) for sign in (1, -1)]
    just_off = [0.5 * unit * (1 - 2.0**-24), 0.5 * unit * (1 + 2.0**-23), 4194303.5 * unit, -4194303.5 * unit]
    numbers = np.array([*special, *halves, *just_off, 0.0], dtype=np.float32)
    library, model = both_encodings(N4096, numbers, log2_scale, precision, complex_slots=complex_slots)
    assert library == model


@by_precision
@by_slots
@pytest.mark.parametrize(
    "log2_scale, exponent", [(1, 0), (25, -20), (40, -41), (60, -128), (30, -47), (1, 5)]
)
@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_encoding_of_integers(
    precision: int, *, complex_slots: bool, log2_scale: int, exponent: int, dtype: type
) -> None:
    bits = min(np.iinfo(dtype).bits - 1, max(1, limit(N4096, precision) - 1 - log2_scale - exponent))
    numbers = np.random.default_rng(3).integers(-(2**bits), 2**bits, 1000).astype(dtype)
    numbers[:4] = [2**bits - 1, -(2**bits) + 1, 1, -1]
    library, model = both_encodings(
        N4096, numbers, log2_scale, precision, complex_slots=complex_slots, exponent=exponent
    )
    assert library == model


@by_precision
@by_slots
@pytest.mark.parametrize("chosen", SETS[:4], ids=lambda chosen: chosen.name)
def test_encoding_just_below_the_limit(chosen: ParameterSet, precision: int, *, complex_slots: bool) -> None:
    top = float(np.nextafter(np.float32(2.0 ** (limit(chosen, precision) - 1)), np.float32(0)))
    top *= 0.5**0.5 if complex_slots else 1
    signs = np.random.default_rng(4).choice([-1, 1], chosen.n if complex_slots else chosen.n // 2)
    for numbers in (np.full(len(signs), top), top * signs):
        library, model = both_encodings(
            chosen, numbers.astype(np.float32), 1, precision, complex_slots=complex_slots
        )
        assert library == model


def refused(encode: Callable[[], object]) -> bool:
    try:
        encode()
    except (golden.ValueRangeError, ValueRangeError):
        return True
    return False


@by_precision
@by_slots
@pytest.mark.parametrize(
    ("dtype", "exponent"), [(np.float32, 0), (np.int16, -7), (np.int32, -20), (np.int32, -31), (np.int16, 3)]
)
def test_values_beyond_the_largest_are_refused(
    precision: int, *, complex_slots: bool, dtype: type, exponent: int
) -> None:
    """Values within a few units of it, on either side; of complex numbers at every angle."""
    largest, log2_scale, unit = float(np.float32(99.9)), 20, 2.0**exponent
    rng, outcomes = np.random.default_rng(6), set()
    for _ in range(300):
        angle = rng.uniform(0, 2 * np.pi) if complex_slots else np.pi * rng.integers(2)
        step = largest * 2.0**-24 if dtype == np.float32 else unit
        size = largest + float(rng.integers(-3, 4)) * step
        given = size * np.array([np.cos(angle), np.sin(angle)][: 1 + complex_slots])
        limits = np.iinfo(dtype) if dtype != np.float32 else np.finfo(dtype)
        numbers = np.clip(given if dtype == np.float32 else np.rint(given / unit), limits.min, limits.max)
        numbers = numbers.astype(dtype)
        how = {"log2_scale": log2_scale, "precision": precision, "exponent": exponent, "largest": largest}
        by_model = refused(
            lambda n=numbers.tolist(), how=how: golden.encode(
                chain_of(N4096), n, complex_slots=complex_slots, **how
            )
        )
        by_library = refused(
            lambda n=numbers, how=how: testing.encode(core_params(N4096), n, complex_slots, **how)
        )
        assert by_library == by_model
        outcomes.add(by_model)
    assert outcomes == {True, False} or (dtype, exponent) == (np.int32, -31)


@pytest.mark.parametrize("count", [1, 2, 3, 511])
@by_slots
def test_slots_not_given_are_zero(count: int, *, complex_slots: bool) -> None:
    numbers = np.arange(1, 1 + count * (2 if complex_slots else 1), dtype=np.int16)
    library, model = both_encodings(N1024, numbers, 10, 31, complex_slots=complex_slots)
    assert library == model


# ---- seeds, samplers, keys ----


@pytest.mark.parametrize("counter", [0, 1, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1])
def test_seeds_of_a_ciphertext(counter: int) -> None:
    seeds = golden.derive_seeds(DEVICE_SECRET, RANDOMNESS, counter)
    assert testing.derive_seeds(DEVICE_SECRET, RANDOMNESS, counter) == (seeds.public, seeds.secret)


@by_set
@by_xof
def test_expansion_of_a_public_seed(chosen: ParameterSet, xof: int) -> None:
    seed = bytes(range(7, 39 if xof == golden.CHACHA20 else 71))
    count = min(4, len(chosen.primes))
    library = _core.expand_seed(core_params(chosen), xof, seed, count)
    assert np.array_equal(library, golden.uniform(chain_of(chosen), xof, seed, count))


@by_set
def test_secret_key(chosen: ParameterSet) -> None:
    secret = golden.ternary(KEY_SEED, chosen.n)
    packed = _core.secret_key_generate(core_params(chosen), KEY_SEED)
    assert packed == golden.pack_ternary(secret)
    prime = len(chosen.primes) - 1
    residues = _core.secret_key_residues(core_params(chosen), packed, prime)
    assert np.array_equal(residues, golden.ntt(secret, chosen.primes[prime]))


@by_set
def test_encryption_of_zero(chosen: ParameterSet) -> None:
    secret = golden.ternary(KEY_SEED, chosen.n)
    for prime in {0, len(chosen.primes) - 1}:
        library = _core.zero_encryption(core_params(chosen), golden.pack_ternary(secret), RANDOMNESS, prime)
        assert np.array_equal(library, golden.zero_encryption(chain_of(chosen), secret, RANDOMNESS, prime))


# ---- ciphertexts ----


def device() -> _core.Device:
    """A device whose secret, randomness and first counter are the constants above."""
    stored = [COUNTER]
    return _core.Device(
        DEVICE_SECRET,
        lambda length: RANDOMNESS[:length],
        lambda: stored[0],
        lambda value: stored.__setitem__(0, value),
    )


def emitted(ciphertext: golden.Ciphertext, form: str) -> bytes:
    """The model's bytes of a ciphertext."""
    if form == "frames":
        return golden.frames(ciphertext)
    return golden.seal_bytes(ciphertext, seeded=form == "seal_seeded")


READINGS = {
    "31 bits, real floats": (np.float32, 31, False, 0),
    "63 bits, complex integers": (np.int16, 63, True, -15),
}


SYMMETRIC_FORMS = {
    f"{name} {form}": (xof, form)
    for name, xof in XOFS.items()
    for form in ("frames", "seal", "seal_seeded")
    if form != "seal_seeded" or xof != golden.CHACHA20  # which SEAL cannot expand
}


def readings(chosen: ParameterSet, dtype: type, *, complex_slots: bool) -> np.ndarray:
    numbers = np.random.default_rng(5).uniform(-1, 1, chosen.n if complex_slots else chosen.n // 2)
    return (numbers * (2**15 if dtype is np.int16 else 1)).astype(dtype)


@by_small_set
@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS.keys())
@pytest.mark.parametrize("xof, form", SYMMETRIC_FORMS.values(), ids=SYMMETRIC_FORMS.keys())
def test_symmetric_ciphertext(chosen: ParameterSet, reading: tuple, xof: int, form: str) -> None:
    dtype, precision, complex_slots, exponent = reading
    numbers, chain, log2_scale = readings(chosen, dtype, complex_slots=complex_slots), chain_of(chosen), 22
    secret = golden.ternary(KEY_SEED, chosen.n)
    library = device().encrypt_symmetric(
        core_params(chosen),
        golden.pack_ternary(secret),
        KEY_ID,
        xof,
        numbers,
        log2_scale,
        precision,
        complex_slots,
        exponent,
        form,
    )
    m = golden.encode(
        chain,
        numbers.tolist(),
        complex_slots=complex_slots,
        exponent=exponent,
        log2_scale=log2_scale,
        precision=precision,
    )
    seeds = golden.derive_seeds(DEVICE_SECRET, RANDOMNESS, COUNTER)
    model = golden.encrypt_symmetric(chain, secret, KEY_ID, xof, m, log2_scale, seeds)
    assert library == emitted(model, form)


@by_small_set
@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS.keys())
@pytest.mark.parametrize("form", ["frames", "seal"])
def test_asymmetric_ciphertext(chosen: ParameterSet, reading: tuple, form: str) -> None:
    dtype, precision, complex_slots, exponent = reading
    numbers, chain, log2_scale = readings(chosen, dtype, complex_slots=complex_slots), chain_of(chosen), 22
    key = golden.public_key(chain, golden.ternary(KEY_SEED, chosen.n), RANDOMNESS)
    library = device().encrypt_asymmetric(
        core_params(chosen),
        np.concatenate([component for pair in key for component in pair]).astype(np.uint32),
        KEY_ID,
        numbers,
        log2_scale,
        precision,
        complex_slots,
        exponent,
        form,
    )
    m = golden.encode(
        chain,
        numbers.tolist(),
        complex_slots=complex_slots,
        exponent=exponent,
        log2_scale=log2_scale,
        precision=precision,
    )
    seeds = golden.derive_seeds(DEVICE_SECRET, RANDOMNESS, COUNTER)
    assert library == emitted(golden.encrypt_asymmetric(chain, key, KEY_ID, m, log2_scale, seeds), form)


# ---- the pinned vectors ----


COUNTING = bytes(range(256))
KNOWN = json.loads((ROOT / "vectors" / "random.json").read_text())


@pytest.mark.parametrize("known", KNOWN["chacha20"], ids=lambda known: known["source"])
def test_the_models_chacha20_gives_the_known_answers(known: dict[str, Any]) -> None:
    nonce = struct.unpack("<3I", bytes.fromhex(known["nonce"]))
    output = bytes.fromhex(known["output"])
    assert golden.chacha20(COUNTING[:32], nonce, known["counter"], len(output)) == output


@pytest.mark.parametrize("known", KNOWN["seal"], ids=lambda known: known["xof"])
def test_the_models_streams_are_seals(known: dict[str, Any]) -> None:
    xof, seed = XOFS[known["xof"]], COUNTING[:64]
    stream = golden.seal_stream(xof, seed, 3 * 4096)
    assert hashlib.blake2b(stream, digest_size=32).hexdigest() == known["stream"]
    (residues,) = golden.uniform(golden.Chain(1024, (67043329,)), xof, seed, 1)
    assert hashlib.blake2b(residues.astype("<u4").tobytes(), digest_size=32).hexdigest() == known["residues"]


@pytest.mark.parametrize("name", ["shake256", "blake2b", "blake2xb"])
def test_hashes_that_the_model_uses_give_the_known_answers(name: str) -> None:
    for known in KNOWN[name]:
        key, message = COUNTING[: known["key_bytes"]], COUNTING[: known["message_bytes"]]
        length, start = known["output_bytes"], known["offset"]
        if name == "shake256":
            output = hashlib.shake_256(message).digest(length)
        elif name == "blake2b":
            output = hashlib.blake2b(message, key=key, digest_size=length).digest()
        elif length % 64 == 0:
            output = golden.blake2xb(key, message, length)
        else:
            continue  # the model needs no other lengths
        assert output[start:].startswith(bytes.fromhex(known["output"]))


PINNED = [
    pytest.param(vector, index, id=vector.title)
    for vectors in (generate_vectors.ckks_vectors(), generate_vectors.bfv_vectors())
    for index, vector in enumerate[generate_vectors.CkksVector | generate_vectors.BfvVector](vectors)
]


@pytest.mark.parametrize(("vector", "index"), PINNED)
def test_a_pinned_vector_is_the_models(vector: generate_vectors.Vector, index: int) -> None:
    assert generate_vectors.computed(vector, index) == vector


@pytest.mark.parametrize("index", range(len(generate_vectors.compact_vectors())))
def test_a_pinned_compact_window_is_the_models(index: int) -> None:
    vector = generate_vectors.compact_vectors()[index]
    assert generate_vectors.computed_compact(vector, index) == vector


def test_a_pinned_digest_that_differs_makes_another_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ckks", "bfv", "random", "compact"):
        shutil.copy(ROOT / f"vectors/{name}.json", tmp_path)
    monkeypatch.setattr(generate_vectors, "PINNED", tmp_path)
    assert generate_vectors.main(["--check"]) == 0
    pinned = tmp_path / "bfv.json"
    pinned.write_text(pinned.read_text().replace("c74b4a18", "c74b4a19"))
    assert generate_vectors.main(["--check"]) == 1
