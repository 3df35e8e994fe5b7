# SPDX-License-Identifier: Apache-2.0
"""The owner's room of the hosted library makes keys, encrypts and decrypts as the definitions say, alike on
each instruction set, and refuses what does not fit.

SEAL takes its keys in test_keys.py and test_interop.py, through the package."""

from __future__ import annotations

import math
import os
from functools import cache

import numpy as np
import pytest
from ciphermote import _core, _owner
from ciphermote import _evaluator as ev
from ciphermote.base.errors import EngineError, MismatchError
from ciphermote.parameters import BUILTIN, ParameterSet
from ciphermote.parameters.native import core_params
from numpy.typing import NDArray
from test_evaluator import N, automorphism, back, crt, isas, primes_below, values_of

from golden import embedding

Words = NDArray[np.uint32]
SIGMA = math.sqrt(21 / 2)
SEED = bytes(range(32))


def context_of(data: int, special: int = 0, digit: int = 1, isa: str = "", bits: int = 26) -> ev.Context:
    primes = primes_below(1 << bits, data + special)
    return ev.Context(10, primes[:data], primes[data:], digit, isa=isa, insecure=True)


def ternary(seed: int = 1, n: int = N) -> NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-1, 2, n, dtype=np.int8)


def centred(x: int, q: int) -> int:
    return (x + q // 2) % q - q // 2


def joined(digits: NDArray[np.int32], primes: list[int]) -> list[int]:
    """The integers of centred mixed-radix digits."""
    total = [0] * digits.shape[1]
    for row, q in zip(digits[::-1], primes[len(digits) - 1 :: -1], strict=True):
        total = [t * q + int(d) for t, d in zip(total, row, strict=True)]
    return total


def with_phase(
    context: ev.Context, primes: list[int], x: list[int], secret: NDArray[np.int8], components: int = 2
) -> ev.Ciphertext:
    """A ciphertext at these primes that decrypts to the integers x."""
    random = np.random.default_rng(len(primes))
    residues = np.zeros((components, len(primes), N), np.uint32)
    for m, q in enumerate(primes):
        s, power = values_of(secret.astype(np.int64), q), np.ones(N, np.int64)
        total = values_of(np.array([c % q for c in x]), q)
        for component in range(1, components):
            residues[component, m] = random.integers(0, q, N)
            power = power * s % q
            total = (total - residues[component, m].astype(np.int64) * power) % q
        residues[0, m] = total
    return ev.Ciphertext(context, residues, 1.0)


# --- keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda parameters: parameters.name)
def test_the_first_public_key_of_a_seed_is_the_c_librarys(parameters: ParameterSet) -> None:
    special = [parameters.special_prime] if parameters.special_prime else []
    core, seed = core_params(parameters), os.urandom(32)
    packed = _core.secret_key_generate(core, os.urandom(32))
    digits = np.frombuffer(packed, np.uint8)[:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
    coefficients = digits.reshape(-1).astype(np.int8) - np.int8(1)
    for isa in isas():
        context = ev.Context(
            parameters.log2_n, list(parameters.data_primes), special, 1, isa=isa, insecure=True
        )
        secret = _owner.SecretKey(context, coefficients)
        assert (secret.coefficients() == coefficients).all()
        found = _owner.make_public_key(secret, _owner.Entropy(seed)).expanded()
        for m in range(len(parameters.primes)):
            assert (secret.residues()[m] == _core.secret_key_residues(core, packed, m)).all()
            for component, truth in enumerate(_core.zero_encryption(core, packed, seed, m)):
                assert (found[0, component, m] == truth).all()


def test_a_secret_key_is_uniform_ternary_and_new_each_time() -> None:
    context = ev.Context(15, primes_below(1 << 26, 1, 1 << 15), [], insecure=True)
    entropy = _owner.Entropy(SEED)
    first, second = (_owner.SecretKey.generate(context, entropy).coefficients() for _ in range(2))
    for coefficients in (first, second):
        counts = np.bincount(coefficients + 1, minlength=3)
        assert len(counts) == 3
        assert (abs(counts - 2**15 / 3) < 6 * math.sqrt(2**15 * 2 / 9)).all()
    assert abs(np.mean(first == second) - 1 / 3) < 0.02


CHAINS = [(1, 1, 1), (3, 1, 1), (5, 2, 2), (7, 3, 3), (6, 4, 4), (2, 2, 1)]


def noises(
    context_primes: list[int], secret: NDArray[np.int8], key: Words, message: list[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """int64 [pairs, n]: the noise of each pair, the same at all primes. message: [pair][prime] of values."""
    found = np.zeros((len(key), N), np.int64)
    for pair, (first, second) in enumerate(key.astype(np.int64)):
        for m, q in enumerate(context_primes):
            left = (first[m] + second[m] * values_of(secret.astype(np.int64), q) - message[pair][m]) % q
            noise = back(left, q)
            noise = np.where(noise > q // 2, noise - q, noise)
            if m:
                assert (noise == found[pair]).all()
            found[pair] = noise
    return found


@pytest.mark.parametrize(("data", "special", "digit"), CHAINS)
def test_keys_hide_their_targets_in_noise_that_none_shares(data: int, special: int, digit: int) -> None:
    primes = primes_below(1 << 26, data + special)
    own, other = ternary(1), ternary(2)
    square = automorphism_free_square(own)
    targets = {"relin": square, "galois": np.array(automorphism(own.tolist(), 5)), "rekey": other}
    product = math.prod(primes[data:])
    every: dict[str, NDArray[np.int64]] = {}
    seeds = set()
    expected: dict[str, Words] = {}
    for isa in isas():
        context = ev.Context(10, primes[:data], primes[data:], digit, isa=isa, insecure=True)
        secret, device = _owner.SecretKey(context, own), _owner.SecretKey(context, other)
        entropy = _owner.Entropy(SEED)
        keys = {
            "relin": _owner.make_relinearization_key(secret, entropy),
            "galois": _owner.make_galois_key(secret, 5, entropy),
            "rekey": _owner.make_rekey_key(secret, device, entropy),
        }
        for name, key in keys.items():
            residues = key.expanded()
            again = _owner.SeededKey(context, key.seed, key.first()).expanded()
            assert (again == residues).all()
            if name in expected:
                assert (residues == expected[name]).all(), isa
                continue
            expected[name] = residues
            seeds.add(key.seed)
            message = [
                [
                    values_of(targets[name].astype(np.int64), q) * (product % q) % q
                    if j * digit <= m < min((j + 1) * digit, data)
                    else np.zeros(N, np.int64)
                    for m, q in enumerate(primes)
                ]
                for j in range(len(residues))
            ]
            every[name] = noises(primes, own, residues, message)
    rows = np.concatenate(list(every.values()))
    assert len(seeds) == 3
    assert abs(rows).max() <= 21
    assert abs(rows.std() / SIGMA - 1) < 6 / math.sqrt(2 * rows.size)
    assert abs(rows.mean()) < 6 * SIGMA / math.sqrt(rows.size)
    correlation = np.corrcoef(rows) - np.eye(len(rows)) if len(rows) > 1 else np.zeros(1)
    assert abs(correlation).max() < 6 / math.sqrt(N), "two pairs have the same noise"
    second = np.concatenate([key[:, 1].reshape(-1, N) for key in expected.values()])
    assert len({row.tobytes() for row in second}) == len(second), "two pairs have the same mask"


def automorphism_free_square(s: NDArray[np.int8]) -> NDArray[np.int64]:
    full = np.convolve(s.astype(np.int64), s.astype(np.int64))
    square = full[:N].copy()
    square[: N - 1] -= full[N:]
    return square


def test_expansion_is_uniform() -> None:
    q = primes_below(1 << 26, 1)[0]
    context = ev.Context(10, primes_below(1 << 26, 32), [], 2, insecure=True)
    key = _owner.make_public_key(_owner.SecretKey(context, ternary()), _owner.Entropy(SEED)).expanded()
    rows = key[0].reshape(-1) / q
    assert abs(rows.mean() - 0.5) < 6 / math.sqrt(12 * rows.size)
    assert abs(rows.var() - 1 / 12) < 0.002


# --- decryption -------------------------------------------------------------------------------------


@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, 32])
def test_decryption_joins_residues_exactly(count: int, components: int) -> None:
    primes = primes_below(1 << 26, 32)
    modulus = math.prod(primes[:count])
    random = np.random.default_rng(count)
    most = modulus // (4 * N)  # whose slots stay below a quarter
    x = [int(random.integers(0, 2**62)) ** 14 % (2 * most + 1) - most for _ in range(N)]
    x[:9] = [0, 1, -1, most, -most, primes[0] // 2, -(primes[0] // 2), primes[0] // 2 + 1, -primes[0]]
    if count > 1:
        x[9:12] = [min(most, 2**52 - 1), -min(most, 2**52 - 1), (primes[0] * primes[1] - 1) // 2 % most]
    x = [c % (most + 1) if c > most else -(-c % (most + 1)) if c < -most else c for c in x]
    weights = [math.prod(primes[:i]) for i in range(1, count - 1)]  # one rounding of theirs is all
    x[20 : 20 + len(weights)] = weights
    s = ternary()
    for isa in isas():
        context = ev.Context(10, primes, [], 2, isa=isa, insecure=True)
        secret = _owner.SecretKey(context, s)
        ciphertext = with_phase(context, primes[:count], x, s, components)
        assert joined(_owner.decrypt_digits(ciphertext, secret), primes) == x
        found = _owner.decrypt_coefficients(ciphertext, secret)
        for got, truth in zip(found, x, strict=True):
            assert abs(int(got) - truth) * 2**53 <= 7 * abs(truth)
        assert found[20 : 20 + len(weights)].tolist() == [float(w) for w in weights]
        slots = _owner.decrypt(ciphertext, secret)
        reference = embedding.decode(found, 1.0)
        assert np.abs(slots - reference).max() <= 1e-13 * np.abs(reference).max()


def test_slots_are_divided_by_the_scale() -> None:
    context = context_of(3)
    random = np.random.default_rng(3)
    z = random.uniform(-1, 1, N // 2) + 1j * random.uniform(-1, 1, N // 2)
    secret, entropy = _owner.SecretKey(context, ternary()), _owner.Entropy(SEED)
    found = _owner.decrypt(_owner.encrypt(ev.Plaintext(context, z, 2.0**45, 3), secret, entropy), secret)
    assert np.abs(found - z).max() < 2.0**-33


@pytest.mark.parametrize("count", [1, 2, 5, 32])
def test_values_are_refused_from_a_quarter_of_the_modulus_on(count: int) -> None:
    """All slots of a constant are equal; those of c X^(n/2) are c i."""
    primes = primes_below(1 << 26, 32)
    context, s = ev.Context(10, primes, [], 2, insecure=True), ternary()
    secret = _owner.SecretKey(context, s)
    quarter = math.prod(primes[:count]) // 4
    for place in (0, N // 2):
        for value, passes in (
            (quarter - (quarter >> 40), True),
            (-quarter + (quarter >> 40), True),
            (quarter + 1 + (quarter >> 40), False),
            (-quarter - 1 - (quarter >> 40), False),
            (2 * quarter, False),
        ):
            x = [0] * N
            x[place] = value
            ciphertext = with_phase(context, primes[:count], x, s)
            if passes:
                part = _owner.decrypt(ciphertext, secret)
                assert np.allclose(abs(part.imag if place else part.real), float(abs(value)), rtol=1e-12)
            else:
                with pytest.raises(MismatchError, match="decrypts to noise"):
                    _owner.decrypt(ciphertext, secret)


def test_another_key_gives_noise_and_an_error() -> None:
    for count in (1, 2, 9):
        context = context_of(count)
        secret, other = (_owner.SecretKey(context, ternary(seed)) for seed in (1, 2))
        plain = ev.Plaintext(context, np.ones(5, complex), 2.0**18, count)
        entropy = _owner.Entropy(SEED)
        public = _owner.PublicKey.from_seeded(_owner.make_public_key(secret, entropy))
        for ciphertext in (_owner.encrypt(plain, secret, entropy), _owner.encrypt(plain, public, entropy)):
            for decrypt in (_owner.decrypt, _owner.decrypt_coefficients, _owner.decrypt_digits):
                decrypt(ciphertext, secret)
                with pytest.raises(MismatchError, match=r"decrypts to noise.*own key.*\."):
                    decrypt(ciphertext, other)
            with pytest.raises(MismatchError, match=r"decrypts to noise.*own key.*\."):
                _owner.decrypt_bfv(ev.Ciphertext(context, ciphertext.residues(), 1), other, 257)


@pytest.mark.parametrize("t", [2, 3, 4096, 40961, 1032193, (1 << 31) - 1, (1 << 32) - 1, (1 << 32) - 2])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 32])
def test_bfv_decrypts_exactly_while_there_is_room(count: int, t: int) -> None:
    primes = primes_below(1 << 26, 32)
    modulus = math.prod(primes[:count])
    room = modulus // (4 * t) - 1  # leaves a bit of budget, for rounding Q m / t adds up to a half
    room -= room >> 45  # and it is compared in doubles
    random = np.random.default_rng(count)
    if room < 2:
        pytest.skip("no room for noise")
    message = [0, 1, t - 1, t // 2, (t // 2 + 1) % t, *(int(m) for m in random.integers(0, t, N - 5))]
    kinds = [0, room, -room, room // 2]
    noise = [kinds[i % 5] if i % 5 < 4 else int(random.integers(2**62)) % (room + 1) for i in range(N)]
    x = [(2 * m * modulus + t) // (2 * t) + e for m, e in zip(message, noise, strict=True)]
    expected = [(2 * t * c + modulus) // (2 * modulus) % t for c in x]
    assert expected == message
    s = ternary()
    for isa in isas():
        context = ev.Context(10, primes, [], 2, isa=isa, insecure=True)
        ciphertext = with_phase(context, primes[:count], x, s, 3)
        assert _owner.decrypt_bfv(ciphertext, _owner.SecretKey(context, s), t).tolist() == message


def test_bfv_noise_is_refused_where_it_may_be_wrong() -> None:
    primes = primes_below(1 << 26, 3)
    modulus, t, s = math.prod(primes), 65537, ternary()
    context = ev.Context(10, primes, [], 2, insecure=True)
    secret = _owner.SecretKey(context, s)

    def decrypt(sixteenths: float, others: float = 0) -> NDArray[np.uint32]:
        noise = [int(others * modulus / (16 * t))] * N
        noise[7] = int(sixteenths * modulus / (16 * t))
        return _owner.decrypt_bfv(with_phase(context, primes, noise, s), secret, t)

    assert not decrypt(3.99, 3.99).any()
    assert not decrypt(-6.99).any()
    assert not decrypt(6.99, 1.3).any()
    for largest, others in ((7.01, 0.0), (-7.01, 0.0), (4.01, 1.4), (4.01, 4.0)):
        with pytest.raises(MismatchError, match="noise budget is 0"):
            decrypt(largest, others)


@pytest.mark.parametrize("deviations", [2, 3.4, 5.7, 6.3, 12])
def test_bfv_noise_is_told_by_its_deviation_where_its_largest_leaves_less_than_a_bit(
    deviations: float,
) -> None:
    primes = primes_below(1 << 26, 2)
    modulus, t, s = math.prod(primes), 2, ternary()
    context = ev.Context(10, primes, [], insecure=True)
    noise = np.random.default_rng(1).normal(0, modulus / 2 / deviations, N)
    x = [int(e / t) for e in np.clip(noise, -modulus / 2, modulus / 2)]
    ciphertext, secret = with_phase(context, primes, x, s), _owner.SecretKey(context, s)
    if deviations < 6:
        with pytest.raises(MismatchError, match="noise budget is 0"):
            _owner.decrypt_bfv(ciphertext, secret, t)
    else:
        assert not _owner.decrypt_bfv(ciphertext, secret, t).any()


# --- encryption and switching -----------------------------------------------------------------------


def phase(ciphertext: ev.Ciphertext, secret: _owner.SecretKey, primes: list[int]) -> list[int]:
    return joined(_owner.decrypt_digits(ciphertext, secret), primes)


def test_encryptions_have_the_noise_that_theory_says() -> None:
    primes = primes_below(1 << 26, 5)
    results: list[list[Words]] = []
    for isa in isas():
        context = ev.Context(10, primes[:4], primes[4:], 1, isa=isa, insecure=True)
        entropy = _owner.Entropy(SEED)
        s = ternary()
        secret = _owner.SecretKey(context, s)
        public = _owner.PublicKey.from_seeded(_owner.make_public_key(secret, entropy))
        plain = ev.Plaintext(context, np.linspace(-1, 1, N // 2).astype(complex), 2.0**30, 3)
        message = [centred(c, math.prod(primes[:3])) for c in crt(plain.residues(), primes[:3])]
        found = []
        for key, sigma in (
            (secret, SIGMA),
            (public, SIGMA * math.sqrt(2 * N / 3 + 1 + int(np.abs(s).sum()))),
        ):
            pair = [_owner.encrypt(plain, key, entropy) for _ in range(2)]
            errors = [
                np.array(phase(c, secret, primes), dtype=float) - np.array(message, dtype=float) for c in pair
            ]
            for error in errors:
                assert 0.9 < error.std() / sigma < 1.1
            assert abs(np.corrcoef(errors)[0, 1]) < 0.2
            assert pair[0].primes == 3
            assert pair[0].scale == 2.0**30
            assert (pair[0].residues()[1] != pair[1].residues()[1]).mean() > 0.99
            found += [c.residues() for c in pair]
        results.append(found)
    for other in results[1:]:
        assert all((a == b).all() for a, b in zip(other, results[0], strict=True))


def test_an_encryption_draws_its_mask_and_both_its_noises_apart() -> None:
    """Under the public key (2^13, 2^13), ciphertexts are 2^13 u + e, at each prime."""
    primes = primes_below(1 << 26, 2)
    context = ev.Context(10, primes, [], insecure=True)
    key = _owner.PublicKey(context, np.full((2, 2, N), 1 << 13, np.uint32))
    plain = ev.Plaintext(context, np.zeros(1, complex), 1.0, 2)
    found = _owner.encrypt(plain, key, _owner.Entropy(SEED)).residues().astype(np.int64)
    rows = []
    for component in found:
        sums = [back(values, q) for values, q in zip(component, primes, strict=True)]
        first, second = (np.where(c > q // 2, c - q, c) for c, q in zip(sums, primes, strict=True))
        assert (first == second).all()
        u = (first + (1 << 12)) >> 13
        rows += [u, first - (u << 13)]
    assert (rows[0] == rows[2]).all()
    assert set(rows[0]) == {-1, 0, 1}
    noise = np.stack([rows[1], rows[3]])
    assert abs(noise).max() <= 21
    assert (abs(noise.std(axis=1) / SIGMA - 1) < 0.15).all()
    assert abs(np.corrcoef([rows[0], *noise]) - np.eye(3)).max() < 6 / math.sqrt(N)


@pytest.mark.parametrize(("data", "special", "digit"), CHAINS)
def test_switching_with_own_keys_adds_the_noise_that_theory_says(data: int, special: int, digit: int) -> None:
    """The noise has variance n sigma^2 / 12 times the digits' (Q_j / P)^2, centred and uniform, and what
    rounding the division by P leaves, 1/12 (1 + |s|^2)."""
    primes = primes_below(1 << 25, data + special)
    context = ev.Context(10, primes[:data], primes[data:], digit, insecure=True)
    entropy, own, other = _owner.Entropy(SEED), ternary(1), ternary(2)
    secret, device = _owner.SecretKey(context, own), _owner.SecretKey(context, other)
    keys = ev.EvaluationKeys(context)
    keys.add_relinearization(_owner.make_relinearization_key(secret, entropy).expanded())
    keys.add_galois(3, _owner.make_galois_key(secret, 3, entropy).expanded())
    rekey = ev.EvaluationKeys(context)  # relinearizes (c0, 0, c1): from c0 + c1 s' to the owner's
    rekey.add_relinearization(_owner.make_rekey_key(secret, device, entropy).expanded())
    modulus_p = math.prod(primes[data:])
    random = np.random.default_rng(data)
    for count in range(1, data + 1):
        digits = [math.prod(primes[j : min(j + digit, count)]) for j in range(0, count, digit)]
        variance = N * SIGMA**2 / 12 * sum((d / modulus_p) ** 2 for d in digits)
        sigma = math.sqrt(variance + (1 + np.abs(own).sum()) / 12)
        message = [int(c) for c in random.integers(-5, 6, N)]
        three = with_phase(context, primes[:count], message, own, 3)
        two = with_phase(context, primes[:count], message, own)
        foreign = with_phase(context, primes[:count], message, other).residues()
        foreign = np.stack([foreign[0], np.zeros_like(foreign[1]), foreign[1]])
        for found, truth in (
            (ev.relinearize(three, keys), message),
            (ev.rotate(two, 1, keys), automorphism(message, 3)),
            (ev.relinearize(ev.Ciphertext(context, foreign, 1.0), rekey), message),
        ):
            error = np.array(phase(found, secret, primes)) - np.array(truth)
            assert 0.85 < error.astype(float).std() / sigma < 1.15


@pytest.mark.parametrize(
    ("log2_n", "data", "special", "digit"),
    [(10, 2, 1, 1), (11, 3, 2, 2), (12, 4, 3, 3), (13, 7, 2, 2), (14, 14, 2, 2), (15, 32, 4, 4)],
)
def test_every_degree_computes_from_keys_to_values(log2_n: int, data: int, special: int, digit: int) -> None:
    n = 1 << log2_n
    primes = primes_below(1 << 26, data + special, n)
    context = ev.Context(log2_n, primes[:data], primes[data:], digit, insecure=True)
    entropy = _owner.Entropy(os.urandom(32))
    secret = _owner.SecretKey.generate(context, entropy)
    public = _owner.PublicKey.from_seeded(_owner.make_public_key(secret, entropy))
    keys = ev.EvaluationKeys(context)
    keys.add_relinearization(_owner.make_relinearization_key(secret, entropy).expanded())
    keys.add_galois(9, _owner.make_galois_key(secret, 9, entropy).expanded())
    random = np.random.default_rng(log2_n)
    z = random.uniform(-1, 1, n // 2) + 1j * random.uniform(-1, 1, n // 2)
    plain = ev.Plaintext(context, z, 2.0**24, data)
    a, b = _owner.encrypt(plain, public, entropy), _owner.encrypt(plain, secret, entropy)
    product = ev.rotate(ev.relinearize(ev.multiply(a, b), keys), 2, keys)
    assert np.abs(_owner.decrypt(ev.multiply(a, b), secret) - z * z).max() < 0.1
    assert np.abs(_owner.decrypt(product, secret) - np.roll(z * z, -2)).max() < 0.1
    # For a slot under the public key: a product of three that are nearly normal, so of heavy tails.
    fresh = SIGMA * math.sqrt(4 * n / 3) * math.sqrt(n) / 2.0**24
    assert np.abs(_owner.decrypt(a, secret) - z).max() < 10 * fresh


# --- refusals ---------------------------------------------------------------------------------------


@cache
def small() -> tuple[ev.Context, _owner.SecretKey]:
    context = context_of(2, 1)
    return context, _owner.SecretKey(context, ternary())


def test_what_does_not_fit_is_refused_with_a_sentence() -> None:
    context, secret = small()
    alone = context_of(2)
    primes = primes_below(1 << 26, 3)
    other = ev.Context(10, [primes[0], primes[2]], [primes[1]], insecure=True)
    foreign, entropy = _owner.SecretKey(other, ternary()), _owner.Entropy(SEED)
    without = _owner.SecretKey(alone, ternary())
    plain = ev.Plaintext(context, np.ones(1, complex), 2.0**20, 2)
    ciphertext = _owner.encrypt(plain, secret, entropy)
    relin = _owner.make_relinearization_key(secret, entropy)
    damaged = relin.first()
    damaged[1, 2, 5] = primes_below(1 << 26, 3)[2]
    public = _owner.make_public_key(secret, entropy).expanded()
    zero_public = public.copy()
    zero_public[0, 1, 2] = 0
    bad_public = public.copy()
    bad_public[0, 1, 2, N - 1] = 1 << 27
    two, zeros = ternary(), np.zeros(N, np.int8)
    two[N - 1] = 2
    q = primes_below(1 << 26, 1)[0]
    for what, (call, words) in {
        "seed": (lambda: _owner.Entropy(SEED[1:]), "31 bytes"),
        "equal bytes": (lambda: _owner.Entropy(b"\xa5" * 32), "failing random source"),
        "coefficients": (lambda: _owner.SecretKey(context, ternary()[1:]), "1023 coefficients"),
        "two": (lambda: _owner.SecretKey(context, two), "not all -1, 0 and 1"),
        "-2": (lambda: _owner.SecretKey(context, -two), "not all -1, 0 and 1"),
        "zeros": (lambda: _owner.SecretKey(context, zeros), "all of them are 0"),
        "large": (lambda: _owner.SecretKey(context, two + np.int8(100)), "not all -1, 0 and 1"),
        "element": (lambda: _owner.make_galois_key(secret, 4, entropy), "odd, from 3 to 2047"),
        "element 1": (lambda: _owner.make_galois_key(secret, 1, entropy), "odd, from 3 to 2047"),
        "element 2n": (lambda: _owner.make_galois_key(secret, 2 * N + 1, entropy), "odd, from 3 to 2047"),
        "relin": (lambda: _owner.make_relinearization_key(without, entropy), "no special prime"),
        "galois": (lambda: _owner.make_galois_key(without, 3, entropy), "no special prime"),
        "rekey": (lambda: _owner.make_rekey_key(without, without, entropy), "no special prime"),
        "rekey contexts": (lambda: _owner.make_rekey_key(secret, foreign, entropy), "two contexts"),
        "seeded residue": (lambda: _owner.SeededKey(context, relin.seed, damaged), "not below its prime"),
        "seeded seed": (lambda: _owner.SeededKey(context, SEED + b"0", relin.first()), "33 bytes"),
        "seeded shape": (
            lambda: _owner.SeededKey(context, relin.seed, relin.first()[:, :2]),
            "a seeded key of this chain has 3072 if it is a public key, and 6144 if it switches keys",
        ),
        "public": (lambda: _owner.PublicKey(context, bad_public), "not below its prime"),
        "public zero": (lambda: _owner.PublicKey(context, zero_public), "messages in the clear"),
        "public shape": (lambda: _owner.PublicKey(context, public[:, :1]), "has 6144"),
        "public of digits": (lambda: _owner.PublicKey.from_seeded(relin), "a public key of this chain has"),
        "encrypt": (lambda: _owner.encrypt(plain, foreign, entropy), "two contexts"),
        "encrypt public": (
            lambda: _owner.encrypt(plain, _owner.PublicKey(other, public), entropy),
            "two contexts",
        ),
        "decrypt": (lambda: _owner.decrypt(ciphertext, foreign), "two contexts"),
        "decrypt bfv": (lambda: _owner.decrypt_bfv(ciphertext, foreign, 17), "two contexts"),
        "t": (lambda: _owner.decrypt_bfv(ciphertext, secret, 1), "give 2 to"),
        "t of the chain": (
            lambda: _owner.decrypt_bfv(ciphertext, secret, 3 * q),
            f"multiple of the prime {q}",
        ),
    }.items():
        with pytest.raises(EngineError, match=words) as refusal:
            call()
        assert str(refusal.value)[-1] == ".", what


@pytest.mark.parametrize("isa", isas())
def test_chosen_coefficients_are_those_of_the_whole_decryption(isa: str) -> None:
    """Messages as decrypt_bfv's, noise as the phase's distance from Q m / t; what is elsewhere says
    nothing."""
    context, t = context_of(2, isa=isa), 40961
    primes = primes_below(1 << 26, 2)
    modulus = math.prod(primes)
    random, positions = np.random.default_rng(3), np.array([1023, 0, 5], np.uint32)
    messages = [int(m) for m in random.integers(0, t, N)]
    errors = [int(e) for e in random.integers(-(10**6), 10**6, N)]
    x = [(modulus * m + t // 2) // t + e for m, e in zip(messages, errors, strict=True)]
    x[7] = modulus // (2 * t)  # where nothing can be told
    coefficients = ternary()
    ciphertext = with_phase(context, primes, x, coefficients)
    found, noise = _owner.decrypt_bfv_at(ciphertext, _owner.SecretKey(context, coefficients), t, positions)
    assert found.tolist() == [messages[p] for p in positions.tolist()]
    for p, measured in zip(positions.tolist(), noise.tolist(), strict=True):
        exact = centred(t * x[p], modulus) / modulus
        assert measured == pytest.approx(exact, rel=1e-12)
    with pytest.raises(EngineError, match="give positions within it"):
        _owner.decrypt_bfv_at(
            ciphertext, _owner.SecretKey(context, coefficients), t, np.array([N], np.uint32)
        )
