# SPDX-License-Identifier: Apache-2.0
"""The bound on |value| of readings: declared, carried along, and what keeps results within the modulus."""

from __future__ import annotations

import pickle
import struct
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from ciphermote import (
    Ciphertext,
    Constant,
    Evaluator,
    LinearModel,
    Matrix,
    Mean,
    Owner,
    Program,
    Step,
    Sum,
    WeightedSum,
    compute,
    encrypt,
)
from ciphermote.base.errors import AssumptionWarning, Error, FrameError, ParameterError, ValueRangeError
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.formats.declaration import Declaration, split
from ciphermote.formats.frames import adapt, read_set
from ciphermote.formats.labels import attach, detach
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import BFV, BUILTIN, CKKS, Scheme, by_name
from ciphermote.parameters.bounds import Known, KnownSum, Readings, check_room
from ciphermote.parameters.uncertainty import DEVIATIONS, Uncertainty

SET = by_name("n4096_q26x3_p27")
T = 40961
MODEL = LinearModel(np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([1.0, -1.0]))


@cache
def owner() -> Owner:
    return Owner.generate(SET, model=MODEL, rotations=[1, 2, -1])


@cache
def evaluator(t: int = 0) -> Evaluator:
    return Evaluator(owner().evaluation_keys, Scheme(t))


def known(data: bytes) -> Known:
    _, label = detach(data)
    assert label is not None
    return label.known


# --- what an owner declares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
@pytest.mark.parametrize(
    ("largest", "summed"), [(100.0, 1000), (1.0, 1), (1e-6, 50), (3e4, 10), (2.5, 10**6)]
)
def test_the_scale_has_room_for_the_sum_that_is_declared(
    parameters: Any, largest: float, summed: int
) -> None:
    readings = Readings(largest, summed)
    try:
        scale = 2.0 ** readings.log2_scale(parameters)
    except ParameterError as error:
        assert "has no room for sums" in str(error) and parameters.n < 4096
        return
    check_room("The sum", largest * summed, parameters, len(parameters.data_primes), scale, CKKS)


def test_a_thousand_readings_of_100_add_up_by_default() -> None:
    own = Owner.generate(SET, relin=False)
    reading = np.full(SET.slots, 100.0)
    frames = [encrypt(reading, own.secret_key) for _ in range(50)]
    total = own.decrypt(compute(Sum(), frames * 20))
    assert np.abs(total - 100_000).max() < 0.5
    mean = own.decrypt(compute(Mean(), frames * 20))
    assert np.abs(mean - 100).max() < 1e-3


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, True, "100", None, 1e40])
def test_a_bound_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="The largest value"):
        Readings(value)


def test_keys_keep_what_is_declared(tmp_path: Any) -> None:
    own = Owner.generate(SET, largest=7.5, summed=12, relin=False)
    own.save(tmp_path / "keys")
    own.save_public(tmp_path / "public")
    for folder in ("keys", "public"):
        assert KeyStore.open(tmp_path / folder).readings == Readings(7.5, 12)
    again = Owner.load(tmp_path / "keys")
    assert again.secret_key.readings == again.public_key.readings == own.device_keys().secret_key.readings
    with pytest.raises(ValueRangeError, match=r"8.0 \(number 2\) is beyond the declared largest value, 7.5"):
        encrypt([1.0, 8.0], again.public_key)
    assert known(adapt(encrypt([1.0], again.public_key).to_frames(), SET, own.key_id)).largest == 7.5


def test_the_stated_error_of_a_reading_is_four_deviations() -> None:
    readings = Readings()
    for key in ("symmetric", "asymmetric"):
        expected = Known.encrypted(100.0, SET, key, 2.0 ** readings.log2_scale(SET)).error  # type: ignore[arg-type]
        assert expected is not None
        assert readings.error(SET, key) == pytest.approx(expected.stated)  # type: ignore[arg-type]
        deviations = expected.stated / np.sqrt(expected.total)
        assert deviations == pytest.approx(DEVIATIONS * (1.15 if key == "asymmetric" else 1), rel=1e-3)


def test_where_noise_leaves_too_little_a_larger_set_is_named() -> None:
    readings = Readings()
    assert readings.smallest_set(by_name("n1024_q26"), "asymmetric") == SET
    assert readings.smallest_set(SET, "asymmetric") == SET
    assert Readings(10, 1).smallest_set(by_name("n1024_q26"), "symmetric") == by_name("n1024_q26")


# --- what travels with a ciphertext -------------------------------------------------------------------------


def test_frames_carry_what_was_declared_and_a_label_carries_it_on() -> None:
    frames = encrypt([1.0], owner().public_key, largest=2)
    assert read_set(frames.to_frames(), SET, owner().key_id).largest == 2
    x = evaluator().load(frames)
    assert x.largest == 2 == known(x.to_seal()).largest == evaluator().load(x.to_seal()).largest
    assert x.known.error is not None and len(x.known.sources) == 1
    # A device declares nothing in its frames: its owner has, with the keys.
    _, bare = split(frames.to_frames())
    assert read_set(bare, SET, owner().key_id).largest is None
    assert known(adapt(bare, SET, owner().key_id, largest=100)).largest == 100
    assert evaluator().load(bare).largest is None


def test_a_declaration_belongs_to_its_reading() -> None:
    frames = [
        encrypt([1.0], owner().public_key, largest=bound, counter=bound).to_frames() for bound in (2, 5)
    ]
    declarations, rest = zip(*map(split, frames), strict=True)
    mixed = b"".join(declared.to_bytes() for declared in declarations) + rest[1]  # type: ignore[union-attr]
    assert read_set(mixed, SET, owner().key_id).largest == 5


def test_a_damaged_declaration_is_refused() -> None:
    frames = encrypt([1.0], owner().public_key).to_frames()
    for at in range(48):
        broken = frames[:at] + bytes([frames[at] ^ 1]) + frames[at + 1 :]
        with pytest.raises(FrameError):
            owner().decrypt(broken)
    for largest in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(FrameError, match="declaration"):
            owner().decrypt(Declaration(SET.id, owner().key_id, 3, largest).to_bytes() + split(frames)[1])


def test_labels_of_older_files_declare_nothing_and_are_read() -> None:
    x = evaluator().load(encrypt([2.0], owner().public_key)).to_seal()
    seal, label = detach(x)
    assert label is not None
    import hashlib

    old = struct.pack("<4sBBBBIQdQ", b"CMLB", 2, 1, 2, 0, SET.id, owner().key_id, label.scale, 0)
    old = bytes(seal) + old + hashlib.blake2b(bytes(seal) + old, digest_size=32).digest()
    assert known(old) == Known()
    found = compute(Sum(), [old, old])
    assert known(found.to_seal()).largest is None
    assert abs(owner().decrypt(found)[0] - 4) < 0.1


@pytest.mark.parametrize("number", [-1.0, np.inf, -np.inf])
def test_a_label_with_an_impossible_bound_is_refused(number: float) -> None:
    seal, label = detach(evaluator().load(encrypt([2.0], owner().public_key)).to_seal())
    assert label is not None
    for measures in (Known(number), Known(1.0, Uncertainty((number,)))):
        with pytest.raises(FrameError, match="damaged or hostile"):
            detach(attach(bytes(seal), replace(label, known=measures)))


# --- what operations make of it -----------------------------------------------------------------------------

REAL = encrypt([3.0, -4.0], owner().secret_key, largest=4, log2_scale=25)


def real() -> Ciphertext:
    return evaluator().load(REAL)


@pytest.mark.parametrize(
    ("operation", "largest"),
    [
        (lambda x: x + x, 8),
        (lambda x: x - x * 2, 12),
        (lambda x: -x, 4),
        (lambda x: 7 - x, 11),
        (lambda x: x + np.array([1.0, -5.0]), 9),
        (lambda x: x * -3, 12),
        (lambda x: x * 0.5, 2),
        (lambda x: x * np.array([1.0, -2.5]), 10),
        (lambda x: evaluator().multiply(x, x + 1), 20),
        (lambda x: evaluator().rescale(evaluator().square(x)), 16),
        (lambda x: evaluator().rotate(x, 1), 4),
        (lambda x: evaluator().rotate_many(x, [1, 2])[1], 4),
        (lambda x: evaluator().mod_switch(x), 4),
        (lambda x: evaluator().inner_sum(x, 3), 12),
        (lambda x: evaluator().sum([x, x, x]), 12),
        (lambda x: evaluator().polynomial(x, [1, -2]), 1 + 8),
        (lambda x: evaluator().matmul(Matrix(SET, [[1.0, -2.0], [0.5, 0.0]]), x), 12),
        (lambda x: (x * 2.0).match(evaluator().mod_switch(x)), 8),
    ],
)
def test_the_bound_of_a_result_follows_from_those_of_its_operands(
    operation: Callable[[Ciphertext], Ciphertext], largest: float
) -> None:
    found = operation(real())
    assert found.largest == pytest.approx(largest)
    assert np.abs(owner().decrypt(found.to_seal())).max() <= largest * (1 + 1e-3)
    assert operation(real().without_bound()).largest is None


@pytest.mark.parametrize("engine", ["native", "seal"])
def test_engines_carry_the_bound(engine: EngineName) -> None:
    keys = owner().evaluation_keys
    program = Program(
        (
            Step("multiply_plain", 1, 0, 0),
            Step("rescale", 1, 1),
            Step("add", 1, 1, 1),
            Step("add_plain", 1, 1, 1),
        ),
        (Constant(np.array([1.5, -2.0]), float(SET.primes[2])), Constant(np.array([-7.0]))),
    )
    for operation, largest in (
        (Sum(), 4),
        (WeightedSum([-2.0]), 8),
        (MODEL, 15),  # 0.5 * 4 + 3 * 4 + 1
        (program, 2 * 2 * 4 + 7),
    ):
        result = compute(operation, REAL, keys, engine=engine)  # type: ignore[arg-type]
        assert known(result.to_seal()).largest == pytest.approx(largest)
    for operation in (Sum(), WeightedSum([1, 1])):
        for bound in (3, 5):
            found = known(compute(operation, [REAL, REAL], bound=bound, engine=engine).to_seal())
            assert (found.largest, found.assumed) == (2 * bound, bound < 4)


# --- what is refused ----------------------------------------------------------------------------------------


@cache
def narrow() -> Owner:
    """An owner with one data prime: at scale 2^16, room for values below 256."""
    return Owner.generate("n2048_q26_p27", rotations=[1])


def reading(value: float, largest: float, **options: Any) -> Ciphertext:
    values = np.full(narrow().parameters.slots, value)
    return encrypt(values, narrow().secret_key, largest=largest, log2_scale=16, **options)


@pytest.mark.parametrize("value", [21.5, 80.0, -80.0])
def test_sums_and_means_that_may_wrap_are_refused(value: float) -> None:
    """Three readings of 80 have room and add up; a fourth is refused, whatever its value is."""
    frames = [reading(value, 80) for _ in range(4)]
    own = narrow()
    evaluate = Evaluator(own.evaluation_keys)
    for operation, factor in ((Sum(), 3.0), (Mean(), 1.0)):
        assert np.abs(own.decrypt(compute(operation, frames[:3])) - factor * value).max() < 0.3
        with pytest.raises(ValueRangeError, match=r"sum of 4 ciphertexts may reach 320, .* up to 255"):
            compute(operation, frames)
    with pytest.raises(ValueRangeError, match="may reach 320"):
        compute(Sum(), frames, engine="seal")
    with pytest.raises(ValueRangeError, match="may reach 320"):
        evaluate.sum(frames)
    x = evaluate.load(frames[0])
    for act in (
        lambda: x + x + x + x,
        lambda: x * 4,
        lambda: x - 200,
        lambda: 200 - x,
        lambda: x - x - x - x,
        lambda: evaluate.inner_sum(x, 4),
    ):
        with pytest.raises(ValueRangeError, match="may reach"):
            act()


def assumed(result: Ciphertext) -> bool:
    """Whether the owner is told that numbers rest on more than declared bounds, each way of decrypting."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        how: dict[str, Any] = {"places": "slots", "signed": True} if result.scheme.is_bfv else {}
        data = result.to_seal()
        found = owner().decrypt_with_errors(
            Ciphertext.from_seal(data, result.parameters, result.scheme), **how
        )
        owner().decrypt(result, **how)
    told = bool(found.assumes)
    assert [each.category for each in caught] == [AssumptionWarning] * (2 * told)
    assert all(f"right only if {found.assumes}" in str(each.message) for each in caught)
    return told


@pytest.mark.parametrize("scheme", [CKKS, BFV(T)], ids=str)
def test_what_rests_on_a_callers_bound_says_so(scheme: Scheme) -> None:
    """With a bound below what readings declare, errors hold only if it is right. Whatever is computed of such
    a result rests on it too."""
    frames = [encrypt([10, 3], owner().secret_key, scheme=scheme, largest=80) for _ in range(4)]
    keys = owner().evaluation_keys
    for operation in [Sum(), WeightedSum([1, 1])] + ([] if scheme.is_bfv else [Mean()]):
        assert assumed(compute(operation, frames[:2], bound=10))
        assert not assumed(compute(operation, frames[:2])) and not assumed(
            compute(operation, frames[:2], bound=80)
        )
    model = LinearModel([[1.0, -2.0], [1.0, 3.0]], [1.0, -1.0])
    for bound in (10, 80):
        assert assumed(compute(model, frames[:1], keys, bound=bound)) == (bound < 80)
    undeclared = [each.without_bound() for each in frames]
    assert assumed(compute(Sum(), undeclared[:2], bound=80)), "nothing but the caller says so"
    result = compute(Sum(), frames[:2], bound=10)
    evaluate = Evaluator(keys, scheme)
    for more in (
        result + 1,
        -result,
        result * 2,
        result + evaluate.load(frames[0]),
        evaluate.load(frames[0]) + result,
        evaluate.sum([evaluate.load(frames[0]), result]),
        evaluate.inner_sum(result, 2),
        evaluate.square(result),
        evaluate.multiply(result, evaluate.load(frames[0])),
    ):
        assert assumed(more)
    if not scheme.is_bfv:
        assert assumed(evaluate.matmul(Matrix(SET, [[1.0]]), result))
        assert assumed(evaluate.polynomial(result, [1, 2]))
    assert "on a caller's word" in result._repr_html_()
    assert assumed(result.without_bound()), "nothing is declared then"


def test_products_that_may_wrap_are_refused() -> None:
    e = evaluator()
    x = e.load(encrypt([1.0], owner().secret_key, largest=100, log2_scale=25))
    square = e.rescale(e.square(x))
    assert square.largest == 1e4
    for act in (
        lambda: e.square(square),
        lambda: e.polynomial(x, [0, 0, 0, 1]),
        lambda: e.rescale(e.multiply(square, e.mod_switch(x) * 2**30)),
        lambda: e.matmul(Matrix(SET, [[2.0**60]]), x),
        lambda: e.mod_switch(x, 2),
    ):
        with pytest.raises(ValueRangeError, match="may reach"):
            act()


def test_integers_beyond_the_plain_modulus_are_refused() -> None:
    frames = [encrypt([100, 5], owner().secret_key, scheme=BFV(1009)) for _ in range(11)]
    found = owner().decrypt(compute(Sum(), frames[:10]), signed=False)
    assert found[:2].tolist() == [1000, 50]
    with pytest.raises(ValueRangeError, match=r"may reach 1,100, and integers modulo 1009 go up to 1,008"):
        compute(Sum(), frames)
    with pytest.raises(ParameterError, match=r"may reach 1,000 either way, .* with a sign go up to 504"):
        owner().decrypt(compute(Sum(), frames[:10]), signed=True)
    x = evaluator(T).load(encrypt([200, 3], owner().secret_key, largest=200, scheme=BFV(T)))
    assert evaluator(T).square(x).largest == 40_000
    for act in (
        lambda: evaluator(T).square(x + 3),
        lambda: x * 205,
        lambda: evaluator(T).polynomial(x, [0, 1, 2]),
        lambda: evaluator(T).inner_sum(x, 205),
    ):
        with pytest.raises(ValueRangeError, match="may reach"):
            act()


def test_a_result_of_nothing_but_noise_is_refused() -> None:
    """Room for 1,000 readings of 100 leaves a scale at which the public key's noise drowns them."""
    own = narrow()
    frames = [encrypt(np.full(1024, 80.0), own.public_key) for _ in range(3)]
    for act in (
        lambda: compute(Sum(), frames),
        lambda: compute(Mean(), frames),
        lambda: own.decrypt(frames[0]),
    ):
        with pytest.raises(ValueRangeError, match="leaves nothing of them"):
            act()
    assert np.abs(own.decrypt(encrypt([80.0], own.secret_key))[0] - 80) < 5


def test_an_unknown_bound_makes_the_sums_unknown() -> None:
    total = KnownSum()
    errors = [Uncertainty((deviation**2,)) for deviation in (0.1, 0.2, 0.3)]
    sources = frozenset({1}), frozenset({2}), frozenset()
    for largest, error, source in zip((3.0, 4.0, 5.0), errors, sources, strict=True):
        total.add(Known(largest, error, sources=source))
    assert total.known.largest == 12 and total.known.error is not None
    assert total.known.error.stated == pytest.approx(4 * (0.3 + np.hypot(0.1, 0.2)))
    total.add(Known())
    assert total.known == Known()


@pytest.mark.parametrize("distinct", [False, True])
def test_equal_errors_add_up_as_if_they_were_added_one_by_one(*, distinct: bool) -> None:
    """Flat ones are counted. Curves are not, for a sum of squares is a curve again."""
    flat = Uncertainty((4.0,), (1.0,), 0.25, rounding=(0.09,))
    curve = flat.through((0.0, 0.0, 1.0), 3.0)
    assert curve is not None and curve.is_curve
    for terms in ([flat] * 5, [curve] * 3, [flat, flat, curve, flat, flat]):
        total, expected = KnownSum(distinct=distinct), terms[0]
        for term in terms:
            total.add(Known(1.0, term))
        for term in terms[1:]:
            expected = expected.plus(term, independent=distinct)
        found = total.known.error
        assert found is not None and found.is_curve == expected.is_curve
        for part in ("variance", "spread", "bias", "values", "rounding"):
            assert getattr(found, part) == pytest.approx(getattr(expected, part)), (part, terms)


def test_errors_are_whole_sentences() -> None:
    for act in (
        lambda: compute(Sum(), [reading(1.0, 80)] * 4),
        lambda: encrypt([101.0], owner().public_key),
        lambda: check_room("A square", 1e30, SET, 3, 2.0**40, CKKS),
        lambda: check_room("A square", 1e30, SET, 3, 1.0, BFV(17)),
    ):
        with pytest.raises(Error) as caught:
            act()
        assert str(caught.value).endswith(".") and "(--l" in str(caught.value)


def test_a_programs_product_of_polynomials_adds_up_as_many_products_as_there_are_coefficients() -> None:
    """Where the plain modulus has no slots; an evaluator's product is held to the same."""
    frames = encrypt([10] * owner().parameters.n, owner().secret_key, scheme=BFV(40_000), largest=10)
    square = Program((Step("multiply", 1, 0, 0),), ())
    with pytest.raises(ValueRangeError, match=r"may reach 409,600, .*modulo 40000"):
        compute(square, frames, owner().evaluation_keys)
    few = encrypt([1, -1], owner().secret_key, scheme=BFV(40_000), largest=1)
    found = owner().decrypt_with_errors(compute(square, few, owner().evaluation_keys), signed=True)
    assert found.values[:4].tolist() == [1, -2, 1, 0] and found.known.largest == owner().parameters.n


def test_integers_beyond_what_was_declared_are_not_shown() -> None:
    """A product of coefficients modulo a t that has slots, whose bound is of slots; and the wrong places."""
    integers = evaluator(65_537)
    given = [100] * owner().parameters.n
    frames = encrypt(given, owner().secret_key, scheme=BFV(65_537), places="coefficients")
    assert owner().decrypt(frames, places="coefficients").tolist() == given
    for data, places in ((integers.square(frames).to_seal(), "coefficients"), (frames, "slots")):
        for signed in (None, False, True):
            with pytest.raises(ValueRangeError, match=r"Number \d+ is .* modulo 65537, and by its label"):
                owner().decrypt(data, places=places, signed=signed)  # type: ignore[arg-type]
    wrapped = integers.square(integers.load(frames).without_bound())
    with pytest.raises(ParameterError, match="No bound on these integers is declared"):
        owner().decrypt(wrapped, places="coefficients")
    found = owner().decrypt_with_errors(wrapped.to_seal(), places="coefficients", signed=True)
    assert found.errors is None


def test_integers_have_a_sign_where_their_bound_leaves_no_doubt() -> None:
    frames = [encrypt([-5, 7], owner().public_key, scheme=BFV(65_537)) for _ in range(2)]
    total = compute(Sum(), frames)
    for data, times in ((frames[0], 1), (total, 2)):
        for signed in (None, True):
            found = owner().decrypt(data, places="slots", signed=signed)
            assert found[:2].tolist() == [-5 * times, 7 * times]
        residues = owner().decrypt(data, places="slots", signed=False)[:2]
        assert residues.tolist() == [65_537 - 5 * times, 7 * times]


def test_integers_that_could_be_negative_or_large_are_shown_only_if_their_owner_knows() -> None:
    t = 40_961
    for sent, whole in ((-5, None), (5, 1500)):
        total = compute(Sum(), [encrypt([sent], owner().secret_key, scheme=BFV(t))] * 300)
        for read in (owner().decrypt, owner().decrypt_with_errors):
            with pytest.raises(ParameterError, match=r"may reach 30,000 either way, .*none is negative"):
                read(total, places="slots")
            with pytest.raises(ParameterError, match=r"with a sign go up to 20,480"):
                read(total, places="slots", signed=True)
        if whole is not None:
            assert owner().decrypt(total, places="slots", signed=False)[0] == whole
        else:  # what nobody may have said
            with pytest.raises(ValueRangeError, match=r"39,461 modulo 40961, .* beyond 30,000"):
                owner().decrypt(total, places="slots", signed=False)
    with pytest.raises(ValueRangeError, match=r"-3 \(number 2\) is negative.* 60 modulo 97"):
        encrypt([5, -3], owner().secret_key, scheme=BFV(97), largest=60)
    large = encrypt([40_000], owner().public_key, scheme=BFV(65_537), largest=40_000)
    assert owner().decrypt(large, places="slots", signed=False)[0] == 40_000


def test_frames_without_a_declaration_take_the_devices_bound() -> None:
    """As devices send them: their owner declares a bound for all of them with the keys."""
    t = 40_961
    _, sent = split(encrypt([21, -27], owner().secret_key, scheme=BFV(t)).to_frames())
    unknown = Ciphertext.from_frames(sent)
    assert unknown.largest is None
    with pytest.raises(ParameterError, match="what the device's largest value is"):
        owner().decrypt(compute(Sum(), [unknown, unknown]), places="slots")
    known = Ciphertext.from_frames(sent, largest=60)
    total = compute(Sum(), [known, pickle.loads(pickle.dumps(known))])
    assert total.largest == 120
    assert owner().decrypt(total, places="slots")[:2].tolist() == [42, -54]
    declared = encrypt([21.5], owner().secret_key, largest=30).to_frames()
    assert Ciphertext.from_frames(declared, largest=5).largest == 30
    _, sent = split(declared)
    assert owner().decrypt_with_errors(Ciphertext.from_frames(sent, largest=30)).errors is not None
    for wrong in (0, -1, float("nan"), "30"):
        with pytest.raises(ParameterError, match="largest value"):
            Ciphertext.from_frames(sent, largest=wrong)  # type: ignore[arg-type]
