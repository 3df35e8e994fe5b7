# SPDX-License-Identifier: Apache-2.0
"""ciphermote.Evaluator: what its methods compute, and what they refuse."""

from __future__ import annotations

import math
import pickle
from functools import cache
from typing import get_args

import numpy as np
import pytest
from ciphermote import Ciphertext, Evaluator, Matrix, Mean, Owner, Sum, _owner, compute, encrypt
from ciphermote import _evaluator as native
from ciphermote.base.errors import (
    EngineError,
    Error,
    FrameError,
    MismatchError,
    ParameterError,
    ValueRangeError,
)
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.evaluator import inner_sum_steps
from ciphermote.evaluate.program import Program, Step
from ciphermote.formats.labels import detach
from ciphermote.parameters import BFV, Scheme, by_name, is_prime
from ciphermote.parameters.native import context_of
from numpy.typing import NDArray

SET = by_name("n8192_q26x7_p27")
T = 65537
ROTATIONS = (1, 2, 3, 6, 12, 13, -1, -5)
MATRIX = np.random.default_rng(3).uniform(-1, 1, (6, 9))


@cache
def owner() -> Owner:
    steps = {*ROTATIONS, *inner_sum_steps(SET, 27), *Matrix(SET, MATRIX).steps}
    return Owner.generate(SET, rotations=sorted(steps), conjugation=True)


@cache
def evaluator(t: int = 0) -> Evaluator:
    return Evaluator(owner().evaluation_keys, Scheme(t))


def real(values: NDArray[np.float64]) -> Ciphertext:
    return evaluator().load(encrypt(values, owner().secret_key, largest=1))


def whole(values: NDArray[np.int64]) -> Ciphertext:
    """For arithmetic modulo T that is meant to wrap."""
    frames = encrypt(values, owner().secret_key, largest=T - 1, scheme=BFV(T))
    return evaluator(T).load(frames).without_bound()


def close(found: Ciphertext, truth: NDArray[np.float64], most: float = 2e-3) -> bool:
    slots = owner().decrypt(found.to_seal())[: len(truth)]
    return bool(np.abs(slots - truth).max() < most)


def exact(found: Ciphertext, truth: NDArray[np.int64]) -> bool:
    slots = owner().decrypt(found.to_seal(), places="slots", signed=False)[: len(truth)]
    return bool((slots == truth % T).all())


X = np.random.default_rng(1).uniform(-1, 1, SET.slots)
Y = np.random.default_rng(2).uniform(-1, 1, SET.slots)
K = np.random.default_rng(1).integers(0, T, SET.n)
L = np.random.default_rng(2).integers(0, T, SET.n)


def test_real_numbers() -> None:
    e, x, y = evaluator(), real(X), real(Y)
    assert close(x + y, X + Y) and close(x - y, X - Y) and close(-x, -X)
    assert close(x + 2.5, X + 2.5) and close(2.5 + x, X + 2.5) and close(3 - x, 3 - X)
    assert close(x - Y, X - Y) and close(x + np.array([1, 2]), X + np.array([1, 2, *[0] * (SET.slots - 2)]))
    assert close(Y + x, X + Y)
    for product in (x * Y, Y * x, e.rescale(x * Y)):
        assert close(product, X * Y)
    assert e.rescale(x * Y).scale == x.scale and (3 * x).scale == (np.int64(3) * x).scale == x.scale
    for product in (3 * x, x * 3.0, x * np.full(SET.slots, 3), e.rescale(3.0 * x)):
        assert close(product, 3 * X)
    assert close(x * -0.5, -X / 2)
    assert (
        close(e.rescale(e.multiply(x, y)), X * Y)
        and close(e.square(x), X * X)
        and close(e.multiply(x, x), X * X)
    )
    assert close(e.rotate(x, 3), np.roll(X, -3)) and close(e.rotate(x, -5), np.roll(X, 5))
    for step, found in zip((1, -1, 12), e.rotate_many(x, (1, -1, 12)), strict=True):
        assert close(found, np.roll(X, -step))
    assert close(e.conjugate(x), X) and close(e.mod_switch(x, 5), X)
    assert close(e.sum([x, y.to_seal(), encrypt(Y, owner().secret_key, largest=1)]), X + 2 * Y)
    assert all(
        close(found, row + 1) for found, row in zip(e.map(lambda c: c + 1, [x, y]), (X, Y), strict=True)
    )


def test_a_ciphertext_matches_the_scale_and_level_of_another() -> None:
    e, x, y = evaluator(), real(X), real(Y)
    cube = e.rescale(e.multiply(e.rescale(e.square(x)), x.match(e.rescale(e.square(x)))))
    assert close(cube + y.match(cube), X**3 + Y, 2e-2) and y.match(cube).primes == cube.primes
    assert x.match(y) is x
    k = whole(K)
    assert k.match(evaluator(T).mod_switch(k)) is k
    with pytest.raises(EngineError, match="scales"):
        cube + y
    with pytest.raises(EngineError, match="takes a "):
        cube.match(y)


def test_numbers_of_any_type_are_subtracted() -> None:
    x, k = real(X), whole(K)
    for number in (np.uint8(5), np.int8(-128), np.uint64(2**63), True):
        assert close(x - number, X - float(number), 2e-3 + float(number) * 1e-15)
        assert exact(k - number, K - int(number) % T)
    small = (K % 200).astype(np.uint8)
    assert exact(k - small, K - small.astype(np.int64)) and exact(k - K.astype(np.uint32), 0 * K)


def test_complex_numbers() -> None:
    e, x = evaluator(), real(X)
    slots = owner().decrypt(e.conjugate(x * (X * 1j)).to_seal(), complex_slots=True)
    assert np.abs(slots + 1j * X * X).max() < 2e-3
    slots = owner().decrypt((x + 2j).to_seal(), complex_slots=True)
    assert np.abs(slots - X - 2j).max() < 2e-3


def test_integers() -> None:
    e, k, el = evaluator(T), whole(K), whole(L)
    rows = K.reshape(2, -1)
    assert exact(k + el, K + L) and exact(k - el, K - L) and exact(-k, -K)
    assert exact(k + 7, K + 7) and exact(7 - k, 7 - K) and exact(k + L, K + L) and exact(k - L, K - L)
    assert exact(k * L, K * L) and exact(k * -3, -3 * K) and exact(np.int64(5) * k, 5 * K)
    assert exact(e.multiply(k, el), K * L) and exact(e.square(k), K * K)
    assert exact(e.rotate(k, 3), np.roll(rows, -3, 1).ravel()) and exact(
        e.conjugate(k), np.roll(K, SET.slots)
    )
    assert exact(e.mod_switch(k, 4), K) and exact(e.mod_switch(e.square(k), 5), K * K)
    # At two levels, the longer one comes down.
    assert exact(k + e.mod_switch(el, 3), K + L) and exact(e.multiply(e.mod_switch(k, 2), el), K * L)


def test_inner_sums_of_any_count() -> None:
    for count in (1, 2, 3, 27):
        truth = sum(np.roll(X, -i) for i in range(count))
        assert close(evaluator().inner_sum(real(X), count), truth, 1e-2)
        rows = np.sum([np.roll(K.reshape(2, -1), -i, 1) for i in range(count)], axis=0).ravel()
        assert exact(evaluator(T).inner_sum(whole(K), count), rows)


def test_matrices_times_vectors() -> None:
    e = evaluator()
    found = e.rescale(e.matmul(Matrix(SET, MATRIX), real(X)))
    truth = np.zeros(SET.slots)
    truth[:6] = MATRIX @ X[:9]
    assert close(found, truth, 5e-3)
    integers = np.random.default_rng(4).integers(-50, 50, (6, 9))
    integers[0] = 0
    rows = K.reshape(2, -1)
    both = np.zeros_like(rows)
    both[:, :6] = rows[:, :9] @ integers.T
    assert exact(evaluator(T).matmul(Matrix(SET, integers, scheme=BFV(T)), whole(K)), both.ravel())


def test_a_matrix_of_all_slots_wraps_around() -> None:
    small = by_name("n4096_q26x3_p27")
    random = np.random.default_rng(5)
    diagonals = {0: 3, 5: -2, small.slots - 7: 4}
    table = np.zeros((small.slots, small.slots), dtype=np.int64)
    for k, factor in diagonals.items():
        table[np.arange(small.slots), (np.arange(small.slots) + k) % small.slots] = factor
    t = 40961
    matrix = Matrix(small, table, scheme=BFV(t))
    keys = Owner.generate(small, rotations=matrix.steps)
    values = random.integers(0, 4, small.n)
    e = Evaluator(keys.evaluation_keys, BFV(t))
    found = keys.decrypt(
        e.matmul(matrix, encrypt(values, keys.public_key, scheme=BFV(t))).to_seal(), places="slots"
    )
    assert (found.reshape(2, -1) == values.reshape(2, -1) @ table.T).all()


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 7, 8, 15, 16, 31])
def test_polynomials_take_the_fewest_levels(degree: int) -> None:
    e = evaluator()
    random = np.random.default_rng(degree)
    coefficients = random.uniform(-1, 1, degree + 1)
    if degree > 4:
        coefficients[random.integers(0, degree, 3)] = 0
    x = e.load(encrypt(X, owner().secret_key, largest=1, log2_scale=26))
    found = e.polynomial(x, list(coefficients))
    assert x.primes - found.primes == math.ceil(math.log2(degree + 1))
    assert found.scale == pytest.approx(x.scale, rel=1e-12)
    assert close(found, np.polyval(coefficients[::-1], X), 5e-3 * degree)
    integers = [int(c) for c in random.integers(-T, T, min(degree, 6) + 1)]
    integers[-1] = integers[-1] or 1
    truth = np.zeros(len(K), dtype=object)
    for c in integers[::-1]:
        truth = (truth * K + c) % T
    assert exact(evaluator(T).polynomial(whole(K), integers), truth.astype(np.int64))


DEGREES = (2, 3, 5, 8, 16, 31, 40)


@cache
def with_relin(name: str) -> Owner:
    return Owner.generate(by_name(name))


@pytest.mark.parametrize("log2_scale", [18, 22, 24, 25, 26])
@pytest.mark.parametrize(("name", "degrees"), [("n4096_q26x3_p27", (2, 3)), ("n8192_q26x7_p27", DEGREES)])
def test_polynomials_are_as_precise_as_the_scale(
    name: str, degrees: tuple[int, ...], log2_scale: int
) -> None:
    for degree in degrees:
        left = len(by_name(name).data_primes) - math.ceil(math.log2(degree + 1))
        if log2_scale < 26 * left:  # below the modulus
            check_polynomial(with_relin(name), log2_scale, degree, 1)


@pytest.mark.parametrize(
    ("name", "degrees"),
    [("n8192_q26x7_p27", (2, 3)), ("n8192_q24x5_23x2_p24x2", (2, 3)), ("n16384_q26x14_p27x2", DEGREES)],
)
@pytest.mark.parametrize("log2_scale", [30, 40, 45])
def test_and_by_pairs_of_primes(name: str, degrees: tuple[int, ...], log2_scale: int) -> None:
    for degree in degrees:
        check_polynomial(with_relin(name), log2_scale, degree, 2)


def check_polynomial(keys: Owner, log2_scale: int, degree: int, primes_per_level: int) -> None:
    random = np.random.default_rng(degree)
    p = keys.parameters
    numbers = np.concatenate([[0.9, 0.5, 1.0, -1.0], random.uniform(-1, 1, p.slots - 4)])
    x = Evaluator(keys.evaluation_keys).load(
        encrypt(numbers, keys.secret_key, largest=1, log2_scale=log2_scale)
    )
    numbers = keys.decrypt(x.to_seal()).astype(np.float64)  # with the encoding's error, 3e-10 at large scales
    pure, mixed = np.zeros(degree + 1), random.uniform(-1, 1, degree + 1)
    pure[-1] = 0.2  # the result has room for values below 1/4 where 2^26 is all that is left at 2^26
    mixed *= 0.2 / np.abs(mixed).sum()
    for coefficients in (pure, mixed):
        found = Evaluator(keys.evaluation_keys).polynomial(
            x, list(coefficients), primes_per_level=primes_per_level
        )
        levels = math.ceil(math.log2(degree + 1))
        assert x.primes - found.primes == primes_per_level * levels
        assert found.scale == pytest.approx(x.scale, rel=1e-12)
        decrypted = _owner.decrypt(found.hosted, keys.secret_key.hosted).real  # noise, too
        errors = decrypted - np.polyval(coefficients[::-1], numbers)
        # A level rounds by n / 6 over the scale, root mean square, of which |x| <= 1 leaves a part: in all,
        # 0.25 n after two levels and 0.36 n after four, at whatever scale.
        assert np.sqrt(np.mean(errors**2)) < 0.18 * levels * p.n / 2**log2_scale, (degree, errors)


def test_polynomials_at_a_scale_that_no_integer_brings_to_a_prime() -> None:
    keys = with_relin("n8192_q26x7_p27")
    numbers = np.random.default_rng(1).choice([-1.0, 0.9, 1.0], keys.parameters.slots)
    frames = encrypt(numbers, keys.secret_key, largest=1, log2_scale=24)
    e = Evaluator(keys.evaluation_keys)
    mean = e.load(compute(Mean(), [frames] * 3))  # at 3/4 of a prime
    found = e.polynomial(mean, [0] * 31 + [1])
    assert found.scale == pytest.approx(3 * 2.0**24, rel=1e-12)
    errors = keys.decrypt(found.to_seal()) - keys.decrypt(mean.to_seal()) ** 31
    # Near 1 the power multiplies what x^2 was rounded by.
    assert np.sqrt(np.mean(errors**2)) < 31 / 2 / 3 * keys.parameters.n / found.scale


def test_polynomials_at_scales_without_room_are_refused_in_their_own_words() -> None:
    keys = with_relin("n8192_q26x7_p27")
    e = Evaluator(keys.evaluation_keys)

    def at(log2_scale: int) -> Ciphertext:
        return e.load(encrypt([0.5], keys.secret_key, largest=0.5, log2_scale=log2_scale))

    for log2_scale, degree, primes, words in (
        (40, 2, 1, r"polynomial's power 2 would have the scale 2\^54.* divides by 2\^2.*more primes a level"),
        (27, 8, 1, r"polynomial's power 8 would have the scale 2\^34"),
        (27, 9, 1, r"polynomial's power 8 would have the scale 2\^34"),
        (26, 40, 1, r"polynomial of degree 40 leaves a modulus of 2\^25.* scale, 2\^26.*a longer chain"),
        (40, 7, 2, r"polynomial of degree 7 leaves a modulus of 2\^25.* scale, 2\^40"),
    ):
        with pytest.raises(EngineError, match=words):
            e.polynomial(at(log2_scale), [0] * degree + [1], primes_per_level=primes)
    for log2_scale, degree in ((27, 7), (28, 3)):  # above what a level divides by, but not far
        found = e.polynomial(at(log2_scale), [0] * degree + [1])
        assert abs(keys.decrypt(found.to_seal())[0] - 0.5**degree) < 2e-3


def test_polynomials_by_pairs_of_primes() -> None:
    e = evaluator()
    x = e.load(encrypt(X, owner().secret_key, largest=1, log2_scale=52))
    found = e.polynomial(x, [0.25, -1, 0.5, 2], primes_per_level=2)
    assert (x.primes, found.primes) == (7, 3)
    assert close(found, 0.25 - X + X**2 / 2 + 2 * X**3, 1e-6)


def test_ciphertexts_travel_and_pickle_as_bytes() -> None:
    e = evaluator()
    x = real(X)
    for copy in (pickle.loads(pickle.dumps(x)), e.load(x.to_seal())):
        assert copy.to_seal() == x.to_seal() and copy.key_id == owner().key_id
        assert close(copy + x, 2 * X)
    k = whole(K)
    again = pickle.loads(pickle.dumps(evaluator(T).square(k)))
    assert exact(again - k, K * K - K)


def test_without_slots_nothing_acts_on_slots() -> None:
    keys = Owner.generate("n4096_q26x3_p27", rotations=[1], conjugation=True)
    t = 1024
    e = Evaluator(keys.evaluation_keys, BFV(t))
    k = np.arange(1, 5)
    x = e.load(encrypt(k, keys.secret_key, largest=4, scheme=BFV(t)))
    for act in (
        lambda: e.rotate(x, 1),
        lambda: e.rotate_many(x, [1]),
        lambda: e.conjugate(x),
        lambda: e.inner_sum(x, 1),
        lambda: e.polynomial(x, [0, 0, 1]),
        lambda: Matrix(keys.parameters, [[1]], scheme=BFV(t)),
        lambda: x + 5,
        lambda: 5 - x,
        lambda: x + k,
        lambda: x * k,
    ):
        with pytest.raises(EngineError, match="1024 has no slots"):
            act()
    frames = encrypt(k, keys.secret_key, scheme=BFV(t))
    for name in get_args(EngineName):
        with pytest.raises(EngineError, match="modulo 1024 are not batched"):
            compute(Program((Step("rotate", 1, 0, 1),), ()), frames, keys.evaluation_keys, engine=name)
    # What is of polynomials stays.
    assert (keys.decrypt((x * 5 + x).to_seal(), signed=False)[:5] == [6, 12, 18, 24, 0]).all()
    with pytest.raises(ValueRangeError, match="may reach 65,536"):  # 4096 products of 4 and 4
        e.square(x)
    square = e.square(x.without_bound())
    assert square.largest is None
    assert (keys.decrypt(square.to_seal(), signed=False)[:8] == np.convolve([*k, 0], k)).all()
    # A prime beyond 2^27 has slots, though nothing of ours encodes them.
    large = next(q for q in range((1 << 27) + 1, 1 << 31, 2 * keys.parameters.n) if is_prime(q))
    e = Evaluator(keys.evaluation_keys, BFV(large))
    context = context_of(keys.parameters, BFV(large))
    coefficients = np.arange(keys.parameters.n)
    plain = native.Plaintext(context, coefficients, native.Places.coefficients, 3)
    entropy = _owner.Entropy(bytes(range(32)))
    made = _owner.encrypt(plain, _owner.SecretKey(context, keys.secret_key.hosted.coefficients()), entropy)
    y = Ciphertext(keys.parameters, BFV(large), keys.key_id, made)

    def slots(found: Ciphertext) -> NDArray[np.int64]:
        return keys.decrypt(found.to_seal(), places="slots", signed=False).astype(np.int64)

    assert (slots(e.rotate(y, 1)) == np.roll(slots(y).reshape(2, -1), -1, 1).ravel()).all()
    assert (slots(y + 5) == (slots(y) + 5) % large).all()


def test_values_beyond_the_bound_are_refused_unless_nothing_is_declared() -> None:
    def declared(value: float) -> Ciphertext:
        values = np.full(SET.slots, value)
        return evaluator().load(encrypt(values, owner().secret_key, largest=value, log2_scale=25))

    x = declared(1.0)
    assert x.largest == 1 and (x + x).largest == 2 and (x * -3).largest == 3 and (x - 4).largest == 5
    with pytest.raises(
        ValueRangeError, match=r"may reach 1, .* 1 prime at scale 2\^25 holds values up to 0.4995"
    ):
        evaluator().mod_switch(x, 6)
    assert close(evaluator().mod_switch(declared(0.25), 6), np.full(SET.slots, 0.25))
    low = evaluator().mod_switch(x.without_bound(), 6)
    assert low.largest is None and (low + low).largest is None
    assert low.bound == pytest.approx(SET.primes[0] / 4 / 2**25) and x.bound > 2**100
    with pytest.raises(MismatchError, match="outgrew its modulus"):
        owner().decrypt(low.to_seal())
    # What nothing is known of wraps around: 2 at a bound of 1/2.
    assert np.abs(owner().decrypt((low * 2).to_seal())).max() < 0.01
    assert whole(K).bound == T - 1


def test_a_missing_key_is_named_by_what_it_does_and_how_to_make_it() -> None:
    for act, words in (
        (lambda: evaluator().rotate(real(X), 700), r"rotation by 700 slots, or by -3396 .*rotations=\[700\]"),
        (lambda: evaluator().rotate(real(X), -6), r"by 4090 slots, or by -6 .*rotations=\[4090\]"),
        (lambda: Evaluator(SET).conjugate(real(X)), r"the conjugation .*conjugation=True"),
        (lambda: Evaluator(SET, BFV(T)).conjugate(whole(K)), r"the exchange of the rows .*conjugation=True"),
        (lambda: Evaluator(SET).square(real(X)), r"no relinearization key.*relin=True"),
    ):
        with pytest.raises(EngineError, match=words):
            act()
    single = Owner.generate("n1024_q26")
    e = Evaluator(single.evaluation_keys)
    x = e.load(encrypt([0.5], single.secret_key, largest=0.8, log2_scale=12))
    for act in (lambda: e.rotate(x, 1), lambda: e.square(x)):
        with pytest.raises(EngineError, match="no special prime, and so no key switching"):
            act()
    with pytest.raises(EngineError, match="take a longer chain"):
        e.square(encrypt([0.1], single.secret_key, largest=0.1, log2_scale=20))


def test_what_is_of_another_type_is_refused_in_a_sentence() -> None:
    e, x = evaluator(), real(X)
    key = owner().device_keys()
    for act, words in (
        (lambda: Evaluator(owner()), "keys is .*Owner: give an owner's evaluation_keys"),
        (lambda: Evaluator(SET.name), "keys is .*str: give"),
        (lambda: Matrix(SET.name, [[1.0]]), "parameters is .*str: give a ParameterSet"),
        (lambda: e.matmul(np.eye(3), x), "matrix is .*ndarray: give a Matrix"),
        (lambda: x.match(None), "give a Ciphertext"),
        (
            lambda: e.rekey(encrypt([1.0], key.secret_key), key.rekey_key),
            "give what Evaluator.rekey_key makes",
        ),
        (lambda: e.rekey(None, e.rekey_key(key.rekey_key)), "give the bytes of"),
        (lambda: Ciphertext.from_bytes(x.to_seal(), SET.name), "parameters is .*str: give a ParameterSet"),
        (lambda: Ciphertext.from_bytes(x, SET), "give the bytes of"),
        (lambda: e.sum(None), "ciphertexts is None: give a list"),
        (lambda: e.map(lambda c: c, None), "ciphertexts is None: give a list"),
        (lambda: e.rotate_many(x, 1), "steps is 1: give a list"),
        (lambda: x * 2**100, "Integers beyond 64 bits"),
        (lambda: x + None, "what are no numbers"),
        (lambda: compute(Sum(), [1]), "give the bytes of"),
    ):
        with pytest.raises(ParameterError, match=words):
            act()
    with pytest.raises(EngineError, match=r"in the clear.*subtracted from itself"):
        (x - x).to_seal()


def test_what_does_not_fit_is_refused() -> None:
    e, x, k = evaluator(), real(X), whole(K)
    stranger = Owner.generate(SET, relin=False)
    theirs = encrypt(X, stranger.public_key)
    sums = Evaluator(SET)
    small = Owner.generate(relin=False)
    refusals: list[tuple[type[Error], str, object]] = [
        (EngineError, "do not go together", lambda: x + k),
        (MismatchError, "one of CKKS is wanted here", lambda: e.square(k)),
        (MismatchError, "of another set than n8192", lambda: e.square(encrypt([1.0], small.public_key))),
        (EngineError, "Evaluator.multiply", lambda: x * x),
        (EngineError, "scales", lambda: x + e.square(x)),
        (EngineError, "zero in the clear", lambda: x * 0),
        (EngineError, "relinearization", lambda: sums.square(x)),
        (EngineError, "Galois key", lambda: e.rotate(x, 100)),
        (EngineError, "Galois key", lambda: sums.rotate(x, 1)),
        (ParameterError, "The step is 4096", lambda: e.rotate(x, 4096)),
        (EngineError, "one must be left", lambda: e.mod_switch(x, 7)),
        (EngineError, "no scale", lambda: evaluator(T).rescale(k)),
        (EngineError, "takes 3 primes", lambda: e.polynomial(e.mod_switch(x, 4), [1] * 8)),
        (EngineError, "constant", lambda: e.polynomial(x, [3, 0, 0])),
        (ParameterError, "give integers", lambda: evaluator(T).polynomial(k, [0, 0.5])),
        (ParameterError, "give real numbers", lambda: e.polynomial(x, [0, 1j])),
        (ParameterError, "one dimension", lambda: e.polynomial(x, [[0, 1]])),  # type: ignore[list-item]
        (EngineError, "no ciphertexts", lambda: e.sum([])),
        (EngineError, "another set or scheme", lambda: e.matmul(Matrix(SET, [[1]], scheme=BFV(T)), x)),
        (EngineError, "entries of the matrix are 0", lambda: Matrix(SET, np.zeros((2, 2)))),
        (ParameterError, "two dimensions", lambda: Matrix(SET, [1.0, 2.0])),
        (ParameterError, "integers", lambda: Matrix(SET, [[0.5]], scheme=BFV(T))),
        (ParameterError, "integers", lambda: k + 0.5),
        (ParameterError, "shape", lambda: x + np.eye(1)),
        (EngineError, "room for 4096", lambda: x + np.zeros(4097)),
        (MismatchError, "different keys", lambda: e.load(theirs)),
        (MismatchError, "different keys", lambda: x + sums.load(theirs)),
        (FrameError, "of parameter set", lambda: e.load(encrypt(X[:2], small.public_key).to_frames())),
        (FrameError, "does not know the frame's version", lambda: e.load(b"CMOT" + bytes(100))),
        (ParameterError, "bytes", lambda: e.load("x")),  # type: ignore[arg-type]
    ]
    for kind, words, act in refusals:
        with pytest.raises(kind, match=words) as refusal:
            act()  # type: ignore[operator]
        assert str(refusal.value).endswith("."), refusal.value


def test_what_unnamed_keys_compute_names_no_key() -> None:
    unnamed = EvaluationKeys(SET, relin=bytes(detach(owner().evaluation_keys.relin or b"")[0]))
    e, x = Evaluator(unnamed, bare=True), real(X)
    assert x.key_id == owner().key_id and e.square(x).key_id is None
    assert evaluator().square(x).key_id == owner().key_id
