# SPDX-License-Identifier: Apache-2.0
"""Whatever the public names are given, they work or raise a ciphermote.Error, one clear sentence."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ciphermote
import numpy as np
import pytest
from ciphermote import (
    EvaluationKeys,
    LinearModel,
    Owner,
    Program,
    PublicKey,
    Step,
    Sum,
    WeightedSum,
    compute,
    decrypt,
    encrypt,
)
from ciphermote.parameters import BFV
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MODEL = LinearModel(np.array([[0.5, -1.25]]), [0.25])
OWNER = Owner.generate("n2048_q26_p27", relin=False)
FRAMES = encrypt([1.5, -2.0], OWNER.public_key)
INTEGERS = encrypt([1, 2], OWNER.public_key, scheme=BFV(12289))

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 70000),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=50),
    st.complex_numbers(),
    st.lists(
        st.one_of(st.integers(-(2**40), 2**40), st.floats(), st.text(max_size=3), st.none()), max_size=4
    ),
    st.lists(st.lists(st.floats(), max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from(
        [
            *(OWNER, OWNER.public_key, OWNER.evaluation_keys, OWNER.parameters, MODEL, Sum, Sum()),
            *(
                Path("nowhere"),
                FRAMES,
                [FRAMES],
                [FRAMES, INTEGERS],
                FRAMES.to_frames(),
                [FRAMES.to_seal()],
                FRAMES.to_frames()[:100],
                object(),
                int,
                np.int64(3),
            ),
            *(np.zeros((2, 2)), np.array([object()]), np.float32(1.5), 2**32, 10**30, "slots", "shake256"),
        ]
    ),
)


def sentence_or_nothing(call: Callable[[], object]) -> None:
    try:
        call()
    except ciphermote.Error as error:
        assert re.fullmatch(r"[^\n]+[.)]", str(error)), str(error)


EXAMPLES = 60 if settings().derandomize else settings().max_examples
quickly = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@quickly
@given(
    anything,
    anything,
    st.sampled_from(["values", "key", "log2_scale", "scheme", "places", "xof", "counter"]),
)
def test_encrypt_takes_or_refuses_anything(value: Any, other: Any, name: str) -> None:
    arguments: dict[str, Any] = {"values": [1, 2], "key": OWNER.public_key} | {name: value}
    sentence_or_nothing(partial(encrypt, **arguments))
    sentence_or_nothing(partial(encrypt, **{**arguments, "scheme": BFV(12289), "values": other}))


@quickly
@given(anything, st.sampled_from(["data", "key", "complex_slots", "places", "signed", "bare"]))
def test_decrypt_takes_or_refuses_anything(value: Any, name: str) -> None:
    for data in (FRAMES, INTEGERS):
        arguments: dict[str, Any] = {"data": data, "key": OWNER.secret_key} | {name: value}
        sentence_or_nothing(partial(decrypt, **arguments))


@settings(quickly, max_examples=EXAMPLES // 2)
@given(anything, st.sampled_from(["operation", "ciphertexts", "keys", "bound", "bare"]))
def test_compute_takes_or_refuses_anything(value: Any, name: str) -> None:
    for operation, bound in ((Sum(), None), (WeightedSum([2]), 3)):
        arguments: dict[str, Any] = {"operation": operation, "ciphertexts": [FRAMES], "bound": bound}
        sentence_or_nothing(partial(compute, **(arguments | {name: value})))


@quickly
@given(anything)
def test_what_an_owner_is_given_is_taken_or_refused(value: Any) -> None:
    short = isinstance(value, list)
    few = type(value) in (int, np.int64) and 1 <= value <= 64
    if isinstance(value, str) and not value.isprintable():
        return
    for call in (
        lambda: OWNER.extend(rotations=value),
        lambda: OWNER.extend(model=value),
        lambda: OWNER.extend(conjugation=value) if value is not True else None,
        lambda: OWNER.evaluation_keys.engine(value).close(),
        lambda: OWNER.evaluation_keys.engine(bare=value).close(),
        lambda: OWNER.evaluation_keys.engine(workers=value).close() if not few else None,
        lambda: Owner.generate(value) if not isinstance(value, ciphermote.ParameterSet) else None,
        lambda: Owner.load(value),
        lambda: EvaluationKeys.load(value),
        lambda: PublicKey.load(value),
        lambda: WeightedSum(value),
        lambda: LinearModel(value, value),
        lambda: LinearModel([[1.0]], [0.0], value),
        lambda: LinearModel.load(value),
        lambda: MODEL.scores(value),
        lambda: OWNER.provisioned_header(public=True, plain_moduli=value) if short else None,
        lambda: OWNER.provisioned_header(public=value),
    ):
        sentence_or_nothing(call)


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([1, 50000], {"scheme": BFV(40961)}, "50000 (number 2) is beyond the declared largest value, 100"),
        (
            [1, -30000],
            {"scheme": BFV(40961), "largest": 40960},
            "-30000 (number 2) is negative, and with a largest value",
        ),
        ([1.0, float("nan")], {}, "Number 2 is nan"),
        ([1.0, -1e6], {}, "-1000000.0 (number 2) is beyond the declared largest value, 100"),
        ([1.0], {"log2_scale": 60}, "1.0 (number 1) times the scale 2^60 is not below 2^58"),
        ([1.0] * 2049, {}, "2,049 numbers are given, and a ciphertext of n4096_q26x3_p27 holds 2048"),
        ([1.0], {"log2_scale": 80}, "give a whole number from 1 to 60"),
        (21.5, {}, "of shape []: give an array of one dimension"),
        ([[1, 2], [3, 4]], {}, "of shape [2, 2]: give an array of one dimension"),
        ([], {}, "There are no values: give at least one"),
        (["21.5"], {}, "of type <U4: give real or complex numbers"),
        ([21.5], {"scheme": BFV(40961)}, "of type float64: give integers"),
        ([1], {"scheme": BFV(1000), "places": "slots"}, "The plain modulus 1000 has no slots at n = 4096"),
    ],
)
def test_values_are_refused_by_place_and_limit(values: Any, options: dict[str, Any], words: str) -> None:
    owner = Owner.generate(relin=False)
    for key in (owner.public_key, owner.secret_key):
        with pytest.raises(ciphermote.Error, match=re.escape(words)):
            encrypt(values, key, **options)


def test_extending_by_nothing_is_refused() -> None:
    with pytest.raises(ciphermote.ParameterError, match="Nothing is asked for"):
        OWNER.extend()
    with contextlib.suppress(ciphermote.Error):
        OWNER.extend(rotations=[1])


def test_programs_and_steps_are_public() -> None:
    assert Program((Step("multiply", 1, 0, 0),), ()).rotation_steps == ()


def test_sentences_have_the_articles_and_numbers_of_their_nouns() -> None:
    with pytest.raises(ciphermote.ParameterError, match=r"is an int: give"):
        decrypt(7, OWNER.secret_key)  # type: ignore[arg-type]
    with pytest.raises(ciphermote.ParameterError, match=r"is a float: give"):
        decrypt(7.5, OWNER.secret_key)  # type: ignore[arg-type]
    evaluator = ciphermote.Evaluator(OWNER.parameters)
    x = evaluator.load(FRAMES)
    assert repr(x).endswith(", 1 prime>")
    with pytest.raises(ciphermote.EngineError, match="has 1 prime and is to lose 1"):
        evaluator.mod_switch(x)
