# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts under SEAL's own chains come in, are computed on, and go back to SEAL, which decrypts them.

Chains: SEAL's default ones at n = 4096 and 8192, and {30, 30, 30}; both schemes, every level, seeded and
under the public key, fresh and after a product in SEAL. Budgets are measured exactly, with Python's integers.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import (
    BFV,
    CKKS,
    Ciphertext,
    EngineError,
    Evaluator,
    FrameError,
    KeyFileError,
    MismatchError,
    Owner,
    ParameterError,
    ParameterSet,
    SealChain,
    ValueRangeError,
    read_seal_chain,
)
from ciphermote import _evaluator as native
from ciphermote.formats import seal as sb
from ciphermote.parameters import by_name, generate, is_prime
from ciphermote.parameters.native import wide_chain_of
from ciphermote.parameters.noise import rounding_noise
from ciphermote.parameters.seal_chain import nearest_level
from ciphermote.parameters.uncertainty import Uncertainty
from numpy.typing import NDArray
from seal_chains import BITS, SealUser, bfv_of, centred, chain_of, primes_of, uncompressed

SAMPLE, SWEEP = 4, 100
counts = pytest.mark.parametrize(
    "count", [SAMPLE, pytest.param(SWEEP, marks=pytest.mark.slow)], ids=["sample", "sweep"]
)
chains = pytest.mark.parametrize("name", BITS)
seeds = pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "public"])
SCALES = {"default4096": 2.0**30, "default8192": 2.0**40, "three30": 2.0**18}
PRODUCT_SCALES = {"default4096": 2.0**34, "default8192": 2.0**42, "three30": 2.0**27}
LARGEST = 3.0

_users: dict[SealChain, SealUser] = {}


def user_of(chain: SealChain, folder: Path) -> SealUser:
    if chain not in _users:
        _users[chain] = SealUser(chain, folder)
    return _users[chain]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seal_chains")


# --- the switch itself --------------------------------------------------------------------------------------


def near_ties(p: int, q: int) -> list[int]:
    """Integers modulo p whose q / p-th part is as near to half an odd number as any."""
    inverse = pow(q, -1, p)
    return [((p - 1) // 2 + off) * inverse % p for off in (-1, 0, 1, 2)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("default4096", "n4096_q26x3_p27"), ("n4096_q26x3_p27", "default4096"), ("three30", "n4096_q26x3_p27")],
)
def test_a_switch_rounds_to_the_nearest_integer_and_takes_residues_as_centred(
    before: str, after: str
) -> None:
    primes = [primes_of(x) if x in BITS else by_name(x).primes for x in (before, after)]
    draw = random.Random(5)
    for many, few in ((3, 1), (1, 3), (2, 2), (3, 3)):
        one, other = primes[0][:many], primes[1][:few]
        p, q = math.prod(one), math.prod(other)
        given = [draw.randrange(p) for _ in range(4084)]
        given += [*near_ties(p, q), 0, 1, p - 1, p // 2, p // 2 + 1, p // q if p > q else 2, p - 2, 3]
        words = np.array([[[x % prime for x in given] for prime in one]], dtype=np.uint64)
        found = native.WideChain(12, list(one)).switched(words, native.WideChain(12, list(other)), few)
        for at, x in enumerate(given):
            exact = math.floor(Fraction(centred(x, p) * q, p) + Fraction(1, 2))
            assert [int(word) for word in found[0, :, at]] == [exact % prime for prime in other], x


def test_a_switch_between_chains_that_share_primes_is_exact() -> None:
    primes = by_name("n4096_q26x3_p27").primes
    chain = native.WideChain(12, list(primes))
    x = np.random.default_rng(1).integers(0, min(primes), (2, 2, 4096), dtype=np.uint64)
    up = chain.switched(x, chain, 3)
    assert (chain.switched(up, chain, 2) == x).all()
    assert not up[:, 2].any()  # a multiple of the prime that came in
    assert (chain.switched(x, chain, 2) == x).all()


@chains
def test_transforms_are_seals(name: str, folder: Path) -> None:
    user = user_of(chain_of(name, bfv_of(name)), folder)
    data = user.encrypted(np.arange(user.chain.n) % 5, seeded=False)
    ciphertext = user.load(sealapi.Ciphertext, data)
    user.seal.transform_to_ntt_inplace(ciphertext)
    values = sb.read_wide_ciphertext(user.save(ciphertext), user.chain)
    found = sb.read_wide_ciphertext(data, user.chain)
    assert values.ntt_form and not found.ntt_form
    chain = wide_chain_of(user.chain)
    assert (chain.to_values(found.residues) == values.residues).all()
    assert (chain.to_coefficients(values.residues) == found.residues).all()


@pytest.mark.parametrize("xof", [sb.SeedType.BLAKE2XB, sb.SeedType.SHAKE256])
def test_a_seed_expands_as_in_seal_redraws_included(xof: sb.SeedType, folder: Path) -> None:
    """SEAL draws nearly every 17th residue again at a prime that is a little above 2^64 / 17."""
    first, last = (q.value() for q in sealapi.CoeffModulus.Create(8192, [43, 60]))
    step = 2 * 8192
    redrawn = next(q for q in range((2**64 // 17 // step + 1) * step + 1, 2**60, step) if is_prime(q))
    user = user_of(SealChain(8192, (redrawn, first, last)), folder)
    data = uncompressed(user.encrypted(np.ones(4), 2.0**30, seeded=True))
    data[-sb.SEED_BYTES - 1] = xof
    seeded = sb.read_wide_ciphertext(data, user.chain)
    assert seeded.seed is not None and seeded.seed[0] == xof
    whole = sb.read_wide_ciphertext(user.save(user.load(sealapi.Ciphertext, bytes(data))), user.chain)
    assert whole.seed is None
    assert (wide_chain_of(user.chain).expand(int(xof), seeded.seed[1], 2)[0] == whole.residues[1]).all()


# --- there and back -----------------------------------------------------------------------------------------


@counts
@chains
@seeds
@pytest.mark.parametrize("multiplied", [False, True], ids=["fresh", "multiplied"])
def test_integers_come_in_are_computed_on_and_go_back(
    name: str, *, seeded: bool, multiplied: bool, count: int, folder: Path
) -> None:
    user = user_of(chain_of(name, bfv_of(name)), folder)
    draw = np.random.default_rng(len(name) + 2 * seeded + multiplied)
    evaluator = Evaluator(user.owner.evaluation_keys, user.chain.scheme)
    levels = range(len(user.chain.data_primes), 0, -1)
    done = products = 0
    for number in range(3 * count):
        values = draw.integers(-2, 3, user.chain.n)
        data = user.encrypted(values, seeded=seeded)
        if multiplied:
            data, values = user.square(data, relinearized=number % 2 == 0), values**2
        if number >= 2:
            data = user.at_level(data, levels[number % len(levels)])
        before = user.budget_in_seal(data)
        if before < 1:  # a product leaves nothing at the lowest level
            continue
        given = user.owner.import_seal(data, largest=4)
        modulus = user.chain.moduli[sb.read_wide_ciphertext(data, user.chain).primes]
        lost = check_loss(before, modulus, user.budget(given), given.parameters.moduli[given.primes])
        assert lost < 0.15 or multiplied  # docs/from-seal.md says so
        given = evaluator.relinearize(given)
        assert (user.owner.decrypt(given, places="slots") == values).all()
        result, expected = evaluator.rotate(given, 1), rotated(values)
        if user.budget(given) > math.log2(user.chain.scheme.plain_modulus) + 18:
            result, expected = evaluator.multiply(result, given), expected * values
            products += 1
        back = user.owner.export_seal(result)
        modulus = result.parameters.moduli[result.primes]
        left = user.budget(result), modulus
        lost = check_loss(*left, user.budget_in_seal(back.data), user.chain.moduli[back.primes])
        assert lost < 0.15 or multiplied
        assert (user.read(back.data) == expected).all()
        done += 1
        if done == count:
            break
    assert done == count
    assert products or (multiplied and user.chain.n == 4096)


def check_loss(before: float, modulus: int, after: float, new_modulus: int) -> float:
    """Check the noise budgets before and after a switch from one modulus to another; return the loss."""
    assert before - after <= max(math.log2(modulus / new_modulus), 0) + 1
    return before - after


def test_the_default_chain_of_n_2048_comes_in_with_a_smaller_budget(folder: Path) -> None:
    (prime,) = sealapi.CoeffModulus.BFVDefault(2048, sealapi.SEC_LEVEL_TYPE.TC128)
    user = SealUser(SealChain(2048, (prime.value(),), BFV(12289), "2018"), folder)
    values = np.arange(2048) % 7
    data = user.encrypted(values, seeded=False)
    given = user.owner.import_seal(data, largest=6)
    lost = check_loss(
        user.budget_in_seal(data), user.chain.moduli[1], user.budget(given), given.parameters.moduli[1]
    )
    assert lost > 20
    assert (user.owner.decrypt(given, places="slots") == values).all()
    assert (user.read(user.owner.export_seal(given).data) == values).all()


@pytest.mark.parametrize("name", ["default4096", "three30"])
def test_a_product_of_a_product_of_seals_is_right(name: str, folder: Path) -> None:
    """At n = 4096 there is budget for two products if t is small: of polynomials, for such a t has no
    slots."""
    user = user_of(chain_of(name, BFV(17)), folder)
    ciphertext = sealapi.Ciphertext()
    user.encryptor.encrypt(sealapi.Plaintext("2x^4095 + 3x^1 + 1"), ciphertext)
    data = user.square(user.save(ciphertext))
    evaluator = Evaluator(user.owner.evaluation_keys, user.chain.scheme)
    back = user.owner.export_seal(evaluator.square(user.owner.import_seal(data)))
    plain = sealapi.Plaintext()
    user.decryptor.decrypt(user.load(sealapi.Ciphertext, back.data), plain)
    expected = negacyclic_square(negacyclic_square({0: 1, 1: 3, 4095: 2}, 4096, 17), 4096, 17)
    assert plain.to_string().lower() == " + ".join(
        f"{expected[power]:x}" + (f"x^{power}" if power else "") for power in sorted(expected, reverse=True)
    )


def negacyclic_square(polynomial: dict[int, int], n: int, t: int) -> dict[int, int]:
    """The square modulo x^n + 1 and t, without terms that are 0; coefficients by power."""
    found: dict[int, int] = {}
    for i, a in polynomial.items():
        for j, b in polynomial.items():
            sign = -1 if i + j >= n else 1
            found[(i + j) % n] = (found.get((i + j) % n, 0) + sign * a * b) % t
    return {power: x for power, x in found.items() if x}


def rotated(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """BFV's rotation: of both rows."""
    return np.roll(values.reshape(2, -1), -1, axis=1).reshape(-1)


@counts
@chains
@seeds
@pytest.mark.parametrize("multiplied", [False, True], ids=["fresh", "multiplied"])
def test_real_numbers_come_in_are_computed_on_and_go_back(
    name: str, *, seeded: bool, multiplied: bool, count: int, folder: Path
) -> None:
    user = user_of(chain_of(name), folder)
    draw = np.random.default_rng(len(name) + 2 * seeded + multiplied)
    evaluator = Evaluator(user.owner.evaluation_keys)
    top = len(user.chain.data_primes)
    levels = range(top - multiplied, 0, -1)
    products, beyond = 0, []
    for number in range(count):
        values = draw.uniform(-1, 1, user.chain.n // 2)
        scale = (PRODUCT_SCALES if multiplied else SCALES)[name]
        data = user.encrypted(values, scale, seeded=seeded)
        if multiplied:
            data, values = user.square(data), values**2
        data = user.at_level(data, levels[number % len(levels)])
        wide = sb.read_wide_ciphertext(data, user.chain)
        off = np.abs(user.read(data) - values).max()
        error = float(off) if multiplied else (None if seeded and wide.seed else "asymmetric")
        given = user.owner.import_seal(data, largest=1, error=error)
        p, q = user.chain.moduli[wide.primes], given.parameters.moduli[given.primes]
        assert given.primes == nearest_level(p, given.parameters.moduli, len(given.parameters.data_primes))
        assert given.scale == pytest.approx(wide.scale * q / p, rel=2**-50)
        found = user.owner.decrypt_with_errors(given)
        beyond.append(np.mean(np.abs(found.values - values) > found.errors))
        result, expected = evaluator.rotate(given, 1), np.roll(values, -1)
        if q / 4 > given.scale**2 and given.primes > 1:
            result, expected = evaluator.rescale(evaluator.multiply(result, given)), expected * values
            products += 1
        back = user.owner.export_seal(result)
        q = result.parameters.moduli[result.primes]
        assert back.scale == pytest.approx(result.scale * user.chain.moduli[back.primes] / q, rel=2**-50)
        assert back.known.error is not None
        beyond.append(np.mean(np.abs(user.read(back.data) - expected) > back.known.error.stated))
    assert np.mean(beyond) <= 0.004  # one in 1,000 over all keys, and this is one key
    assert products or multiplied


def test_every_level_of_seals_has_one_of_ours(folder: Path) -> None:
    """The fewest primes whose product is not below SEAL's modulus."""
    found = {}
    for name in BITS:
        chain = chain_of(name)
        moduli, most = chain.nearest_set.moduli, len(chain.nearest_set.data_primes)
        counts = [nearest_level(p, moduli, most) for p in chain.moduli[1 : len(chain.data_primes) + 1]]
        assert all(moduli[k] >= p > moduli[k - 1] for k, p in zip(counts, chain.moduli[1:], strict=False))
        found[name] = counts
    assert found == {"default4096": [2, 3], "default8192": [2, 4, 6, 7], "three30": [2, 3]}


def test_a_smaller_modulus_costs_as_much_budget_as_it_is_smaller(folder: Path) -> None:
    user = user_of(chain_of("default8192", bfv_of("default8192")), folder)
    data = user.encrypted(np.arange(8192), seeded=False)
    before = user.budget_in_seal(data)
    for primes in range(2, 8):
        given = user.owner.import_seal(data, primes=primes)
        assert given.primes == primes
        smaller = math.log2(user.chain.moduli[4] / given.parameters.moduli[primes])
        assert before - user.budget(given) <= max(smaller, 0) + 1
        assert primes > 5 or before - user.budget(given) > smaller - 25


@pytest.mark.parametrize("components", [2, 3])
def test_the_rounding_is_part_of_the_stated_error(components: int, folder: Path) -> None:
    """At a small scale it is nearly all of the error; under several keys, as its size depends on the key."""
    chain = chain_of("default4096")
    shares = []
    for _ in range(8):
        user = SealUser(chain, folder)
        values = np.random.default_rng(3).uniform(-0.9, 0.9, 2048)
        data = user.encrypted(values, 2.0**64 if components == 2 else 2.0**35, seeded=True)
        if components == 3:
            data, values = user.square(data, relinearized=False), values**2
        given = user.owner.import_seal(data, primes=1, largest=0.9, error=0.0)
        found = user.owner.decrypt_with_errors(given)
        noise = rounding_noise(4096, components)
        assert found.errors is not None
        assert found.errors[0] == pytest.approx(Uncertainty.of(noise, 4096, given.scale).stated, rel=0.01)
        shares.append(np.abs(found.values - values) / found.errors)
    every = np.concatenate(shares)
    assert np.mean(every > 1) <= 0.003 and np.mean(every > 0.4) >= 0.005


def test_products_of_seal_are_relinearized_here(folder: Path) -> None:
    user = user_of(chain_of("default8192"), folder)
    values = np.random.default_rng(6).uniform(-1, 1, 4096)
    data = user.square(user.encrypted(values, 2.0**40, seeded=False), relinearized=False)
    given = user.owner.import_seal(data, largest=1)
    assert given.hosted.components == 3
    evaluator = Evaluator(user.owner.evaluation_keys)
    with pytest.raises(EngineError, match="has 3 polynomials"):
        evaluator.rotate(given, 1)
    result = evaluator.rotate(evaluator.relinearize(given), 1)
    back = user.owner.export_seal(result)
    assert np.abs(user.read(back.data) - np.roll(values**2, -1)).max() < 1e-4
    assert evaluator.relinearize(result).hosted.components == 2


def test_a_set_of_your_own_keeps_the_scale(folder: Path) -> None:
    """With primes whose product is near SEAL's modulus, scale and room stay as they are in SEAL."""
    chain = chain_of("three30")
    own = generate(4096, [20, 20, 20, 27])
    seal = SealUser(chain, folder)
    owner = Owner.from_seal(seal.save(seal.secret_key), chain, own)
    values = np.random.default_rng(7).uniform(-1, 1, 2048)
    given = owner.import_seal(seal.encrypted(values, 2.0**25, seeded=True), largest=1)
    assert 0.8 < given.scale / 2**25 < 1.2
    evaluator = Evaluator(owner.evaluation_keys)
    found = owner.decrypt_with_errors(evaluator.rescale(evaluator.square(given)))
    assert found.errors is not None and found.errors.max() < 1e-3
    assert np.mean(np.abs(found.values - values**2) > found.errors) <= 0.006


# --- keys ---------------------------------------------------------------------------------------------------


def test_a_key_keeps_its_chain_in_its_directory(folder: Path, tmp_path: Path) -> None:
    user = user_of(chain_of("default4096"), folder)
    user.owner.save(tmp_path / "keys")
    again = Owner.load(tmp_path / "keys")
    assert again.seal_chain == user.chain and again.seal_chain.is_older
    assert (again.secret_key.coefficients == user.secret).all()
    user.owner.save_public(tmp_path / "public")
    assert (tmp_path / "public/seal-chain.seal").read_bytes() == sb.write_seal_chain(user.chain)
    (tmp_path / "keys/seal-chain.seal").write_bytes(sb.write_seal_chain(chain_of("three30")))
    with pytest.raises(KeyFileError, match="damaged or was replaced"):
        Owner.load(tmp_path / "keys")


@chains
def test_seal_reads_the_parameters_that_are_written(name: str, folder: Path) -> None:
    for scheme in (CKKS, bfv_of(name)):
        user = user_of(chain_of(name, scheme), folder)
        assert read_seal_chain(user.save(user.parameters), "2018") == user.chain
        loaded = user.load(sealapi.EncryptionParameters, sb.write_seal_chain(user.chain))
        assert user.save(loaded) == user.save(user.parameters)


@pytest.mark.parametrize("what", ["not ternary", "one prime differs", "zero"])
def test_a_secret_key_that_is_not_ternary_is_refused(what: str, folder: Path) -> None:
    user = user_of(chain_of("default4096"), folder)
    chain = wide_chain_of(user.chain)
    secret = user.secret.copy()
    if what == "not ternary":
        secret[17] = 2
    elif what == "zero":
        secret[:] = 0
    primes = np.array(user.chain.primes, dtype=np.int64)[:, np.newaxis]
    residues = chain.to_values((secret % primes).astype(np.uint64)[np.newaxis])[0]
    if what == "one prime differs":
        residues[2, 5] ^= 1
    data = uncompressed(user.save(user.secret_key))
    sound = Owner.from_seal(bytes(data), user.chain, relin=False)
    assert (sound.secret_key.coefficients == user.secret).all()
    data[-residues.nbytes :] = residues.astype("<u8").tobytes()
    with pytest.raises(KeyFileError, match=r"differs from prime|coefficients of -1|zero at a prime"):
        Owner.from_seal(bytes(data), user.chain)


def test_chains_of_the_2018_table_are_taken_by_that_name_only() -> None:
    for name, (n, _) in BITS.items():
        if name == "three30":
            assert not SealChain(n, primes_of(name)).is_older
            continue
        with pytest.raises(ParameterError, match="pass standard 2018"):
            SealChain(n, primes_of(name))
        chain = SealChain(n, primes_of(name), standard="2018")
        assert chain.is_older and chain.name.startswith("std2018_seal_n") and 124 < chain.security_bits < 126
    with pytest.raises(ParameterError, match="2018 table allows"):
        SealChain(4096, primes_of("default8192")[:3], standard="2018")


# --- refusals -----------------------------------------------------------------------------------------------


def refused(kind: type[Exception], words: str, call: Any, *arguments: Any, **named: Any) -> None:
    """The call raises the error with one sentence that has these words."""
    with pytest.raises(kind, match=words) as found:
        call(*arguments, **named)
    sentence = str(found.value)
    assert "\n" not in sentence and sentence.endswith(".") and len(sentence) < 500


@chains
def test_other_keys_are_refused(name: str, folder: Path) -> None:
    for scheme in (CKKS, bfv_of(name)):
        user, other = user_of(chain_of(name, scheme), folder), SealUser(chain_of(name, scheme), folder)
        data = other.encrypted(np.arange(4), 2.0**20, seeded=True)
        refused(MismatchError, "noise", user.owner.import_seal, data)
        given = other.owner.import_seal(data)
        refused(MismatchError, "different keys", user.owner.export_seal, given)
        refused(MismatchError, "Nothing names the key", user.owner.export_seal, given.without_key())
        evaluator = Evaluator(user.owner.evaluation_keys, scheme)
        refused(MismatchError, "different keys", evaluator.rotate, given, 1)


def test_other_chains_schemes_and_sets_are_refused(folder: Path) -> None:
    user = user_of(chain_of("default4096"), folder)
    data = user.encrypted(np.ones(4), 2.0**30, seeded=True)
    read = Ciphertext.from_seal_chain
    refused(FrameError, "parms_id", read, data, chain_of("three30"))
    refused(FrameError, "parms_id", read, data, chain_of("default4096", BFV(40961)))
    bfv = user_of(chain_of("default4096", bfv_of("default4096")), folder)
    integers = bfv.encrypted(np.ones(4096, dtype=int), seeded=False)
    refused(FrameError, "plain modulus", read, integers, chain_of("default4096", BFV(65537)))
    refused(ParameterError, "same n", read, data, user.chain, by_name("n8192_q26x7_p27"))
    given = bfv.owner.import_seal(integers)
    refused(MismatchError, "plain modulus", given.to_seal_chain, chain_of("default4096", BFV(65537)))
    refused(MismatchError, "plain modulus", given.to_seal_chain, user.chain)
    refused(ParameterError, "same n", given.to_seal_chain, chain_of("default8192", given.scheme))
    plain = Owner.generate()
    refused(ParameterError, "not made for a secret key of SEAL's", plain.import_seal, data)
    refused(ParameterError, "not made for a secret key of SEAL's", plain.export_seal, given)
    refused(MismatchError, "has a label", user.owner.import_seal, user.owner.import_seal(data).to_seal())


def test_levels_scales_and_bounds_that_do_not_fit_are_refused(folder: Path) -> None:
    user = user_of(chain_of("default4096"), folder)
    data = user.encrypted(np.ones(4), 2.0**30, seeded=True)
    for primes in (0, 4, True):
        refused(ParameterError, "level", user.owner.import_seal, data, primes=primes)
        refused(ParameterError, "level", user.owner.export_seal, user.owner.import_seal(data), primes=primes)
    small = user.encrypted([1.0], 2.0**20, seeded=True)
    refused(ParameterError, "would become 2\\^-26", user.owner.import_seal, small, primes=1)
    refused(ValueRangeError, "may reach", user.owner.import_seal, data, largest=2.0**45)
    refused(ParameterError, "error", user.owner.import_seal, data, largest=1, error=-1)
    one, other = (user.owner.import_seal(user.encrypted([1.0], 2.0**k, seeded=True)) for k in (30, 29))
    with pytest.raises(EngineError):
        one + other


def test_results_in_the_clear_are_not_exported(folder: Path) -> None:
    user = user_of(chain_of("default4096"), folder)
    given = user.owner.import_seal(user.encrypted([1.0], 2.0**30, seeded=True))
    refused(EngineError, "in the clear", user.owner.export_seal, given - given)


@pytest.mark.parametrize("primes", [(), (4096,), (40961, 40961), (68719403009, 2**61 - 1), (8193,)])
def test_what_is_no_chain_of_primes_is_refused(primes: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match=r"primes|no prime"):
        SealChain(4096, primes, standard="2018")
    with pytest.raises(EngineError, match="prime"):
        native.WideChain(12, list(primes))


def test_residues_and_shapes_from_outside_are_checked() -> None:
    chain = native.WideChain(12, list(primes_of("three30")))
    whole = np.zeros((1, 2, 4096), dtype=np.uint64)
    for bad in (whole[:, :, :2048], np.zeros((1, 4, 4096), dtype=np.uint64), whole[:0]):
        with pytest.raises(EngineError, match=r"residues|level|shape"):
            chain.to_values(np.ascontiguousarray(bad))
    whole[0, 1, 7] = primes_of("three30")[1]
    with pytest.raises(EngineError, match="not below its prime"):
        chain.switched(whole, chain, 1)
    with pytest.raises(EngineError, match="degrees"):
        chain.switched(np.zeros_like(whole), native.WideChain(13, [primes_of("default8192")[0]]), 1)
    with pytest.raises(EngineError, match="64 bytes"):
        chain.expand(1, b"short", 1)


def test_sets_are_of_the_2024_guidelines() -> None:
    for name in BITS:
        found: ParameterSet = chain_of(name).nearest_set
        assert found.standard == "2024" and found.n == BITS[name][0]
