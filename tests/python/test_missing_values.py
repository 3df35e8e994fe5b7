# SPDX-License-Identifier: Apache-2.0
"""Masked and missing values are refused by every function that takes numbers: numpy would take the
placeholder beneath a mask for a measurement, and None for NaN."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ciphermote
import numpy as np
import pytest
from ciphermote import Evaluator, LinearModel, Matrix, Owner, WeightedSum, encrypt
from ciphermote.base import arguments
from ciphermote.base.errors import ValueRangeError
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import compact_set
from ciphermote.evaluate.client_aided import plan_rounds
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.evaluate.neural_network import Network, quantise
from ciphermote.parameters import BFV, by_name
from link import DeviceLink

PACKAGE = Path(ciphermote.__file__).parent
MASKED = np.ma.array([20, -99, 21], mask=[0, 1, 0])
OWNER = Owner.generate("n2048_q26_p27", relin=False)
INTEGERS = {"scheme": BFV(12289)}
MODEL = LinearModel([[0.5, -1.0, 2.0]], [0.25])
NETWORK = Network((MODEL,), 100.0)
WHOLE = quantise(NETWORK, [[1.0, 2.0, 3.0]], plain_modulus=12289, limit=50)
LARGER = by_name("n4096_q26x3_p27")
PLAN = plan_linear(MODEL, LARGER, 2.0**25, feature_bound=4)
ROUNDS = plan_rounds([MODEL], LARGER, bound=4)


def ciphertext(**options: Any) -> Any:
    evaluator = Evaluator(OWNER.parameters, **options)
    return evaluator.load(encrypt([1, 2, 3], OWNER.public_key, **options))


def compact(values: Any) -> None:
    keys, enrolment = CompactKeys.generate(compact_set("b")).enroll(1, 1000)
    CompactDevice(
        keys, enrolment, packet_bytes=4096, counter_read=lambda: 0, counter_write=lambda value: None
    ).encrypt(values)


DOORS: dict[str, Callable[[Any], object]] = {
    "encrypt": lambda v: encrypt(v, OWNER.public_key),
    "encrypt under the secret key": lambda v: encrypt(v, OWNER.secret_key),
    "encrypt integers": lambda v: encrypt(v, OWNER.public_key, **INTEGERS),
    "compact": compact,
    "weights of a model": lambda v: LinearModel([v], [0.0]),
    "bias of a model": lambda v: LinearModel(np.zeros((3, 2)), v),
    "features of a model": MODEL.scores,
    "weighted sum": WeightedSum,
    "a ciphertext plus numbers": lambda v: ciphertext() + v,
    "a ciphertext minus numbers": lambda v: ciphertext() - v,
    "numbers minus a ciphertext": lambda v: v - ciphertext(),
    "a ciphertext times numbers": lambda v: ciphertext() * v,
    "integers of a ciphertext": lambda v: ciphertext(**INTEGERS) + v,
    "matrix": lambda v: Matrix(OWNER.parameters, [v]),
    "matrix of integers": lambda v: Matrix(OWNER.parameters, [v], **INTEGERS),
    "network": lambda v: NETWORK.inputs([v]),
    "network of integers": lambda v: WHOLE.inputs([v]),
    "calibration": lambda v: quantise(NETWORK, [v], plain_modulus=12289, limit=50),
    "vectors of a session": lambda v: ROUNDS.packed([v]),
    "decrypted scores": lambda v: PLAN.scores(v),
    "link": lambda v: DeviceLink.encrypt_values(object.__new__(DeviceLink), v),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "values",
    [
        MASKED,
        MASKED.astype(np.float64),
        [20, np.ma.masked, 21],
        [np.ma.array(20, mask=True), 20, 21],
        [20, None, 21],
    ],
    ids=["masked integers", "masked reals", "masked in a list", "masked scalar in a list", "None"],
)
def test_what_is_masked_or_missing_is_refused_by_its_place(door: str, values: Any) -> None:
    with pytest.raises(ciphermote.Error, match=r"^Number .* is (masked|missing), so nothing is known of it"):
        DOORS[door](values)


LATER = {"features of a model", "weighted sum", "network", "vectors of a session", "decrypted scores", "link"}
"""NaN stays NaN there, until encrypt, compute or the device refuses it."""


@pytest.mark.parametrize("door", sorted(DOORS.keys() - LATER))
def test_nan_is_refused(door: str) -> None:
    with pytest.raises(ciphermote.Error):
        DOORS[door]([1.0, np.nan, 2.0])


def test_a_masked_number_for_all_slots_is_refused() -> None:
    for scheme in ({}, INTEGERS):
        with pytest.raises(ciphermote.Error, match="The number is masked"):
            ciphertext(**scheme) * np.ma.masked


def test_an_array_that_could_be_masked_and_is_not_is_taken() -> None:
    whole = np.ma.array([1.0, 2.0], mask=[0, 0])
    assert OWNER.decrypt(encrypt(whole, OWNER.secret_key, largest=2))[:2].round().tolist() == [1.0, 2.0]
    assert encrypt([whole[0], np.ma.array(2.0)], OWNER.public_key)


def test_the_place_is_named_in_every_dimension() -> None:
    with pytest.raises(ValueRangeError, match=r"^Number 2, 1 is masked"):
        arguments.array([np.ma.array([1, 2]), np.ma.array([1, 2], mask=[1, 0])], ValueRangeError)


def test_a_list_within_itself_ends_in_a_sentence() -> None:
    values: list[Any] = []
    values.append(values)
    with pytest.raises(ciphermote.Error):
        encrypt(values, OWNER.public_key)


def arrays_of_callers(path: Path) -> list[str]:
    """Find functions that pass a caller's array argument straight to numpy."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef) or function.name == "array":
            continue
        given = {
            argument.arg
            for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            if argument.annotation is not None and "ArrayLike" in ast.unparse(argument.annotation)
        }
        for call in ast.walk(function):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func).startswith("np.")
                and any(isinstance(each, ast.Name) and each.id in given for each in call.args)
            ):
                found.append(f"{path.name}:{call.lineno}")
    return found


def test_no_callers_array_goes_to_numpy_unseen() -> None:
    found = [place for path in PACKAGE.rglob("*.py") for place in arrays_of_callers(path)]
    assert found == [], "convert callers' arrays by arguments.array, which refuses masks"
