# SPDX-License-Identifier: Apache-2.0
"""Public objects go to other processes: they pickle and copy, whatever was done with them before."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ciphermote
import numpy as np
import pytest
from ciphermote import (
    Constant,
    EvaluationKeys,
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
    decrypt,
    encrypt,
)
from ciphermote.base.errors import GatewayError
from ciphermote.evaluate import native
from ciphermote.parameters import BFV, Scheme
from link import LinkError

MODEL = LinearModel([[0.5, -1.0], [1.0, 0.25]], [0.25, 0.0])
OWNER = Owner.generate("n4096_q26x3_p27", model=MODEL)
FRAMES = encrypt([1.0, 2.0], OWNER.public_key).to_frames()
T = 40961
WAYS: list[Callable[[Any], Any]] = [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]
ways = pytest.mark.parametrize("again", WAYS, ids=["pickle", "copy", "deepcopy"])


def frames_of(owner: Owner) -> bytes:
    return encrypt([1.0, 2.0], owner.public_key).to_frames()


@ways
def test_an_owner_and_its_keys_decrypt_after_they_decrypted(again: Callable[[Any], Any]) -> None:
    OWNER.decrypt(FRAMES)
    other = again(OWNER)
    assert other.key_id == OWNER.key_id
    assert other.decrypt(FRAMES)[:2].round(1).tolist() == [1.0, 2.0]
    assert decrypt(FRAMES, again(OWNER.secret_key))[:2].round(1).tolist() == [1.0, 2.0]
    other.extend(rotations=[3])
    assert 3 not in OWNER.rotations


@ways
@pytest.mark.parametrize("scheme", [{}, {"scheme": BFV(T)}])
def test_an_evaluator_computes_the_same(again: Callable[[Any], Any], scheme: dict[str, Scheme]) -> None:
    evaluator = Evaluator(OWNER.evaluation_keys, **scheme)
    data = encrypt([1, 2], OWNER.public_key, **scheme)
    assert again(evaluator).square(data).to_seal() == evaluator.square(data).to_seal()


@ways
@pytest.mark.parametrize("options", [{}, {"scheme": BFV(T)}, {"scale": 2.0**20}])
def test_a_matrix_is_the_same(again: Callable[[Any], Any], options: dict[str, Any]) -> None:
    matrix = Matrix(OWNER.parameters, [[1, 2], [3, 4]], **options)
    other = again(matrix)
    assert (other.steps, other.scheme) == (matrix.steps, matrix.scheme)
    owner = Owner.generate("n4096_q26x3_p27", rotations=matrix.steps)
    evaluator = Evaluator(owner.evaluation_keys, matrix.scheme)
    data = encrypt([1, 2], owner.public_key, largest=4, scheme=matrix.scheme)
    given = evaluator.load(data)
    assert evaluator.matmul(other, given).to_seal() == evaluator.matmul(matrix, given).to_seal()


@ways
@pytest.mark.parametrize(
    "value",
    [
        *(
            OWNER.public_key,
            OWNER.evaluation_keys,
            OWNER.parameters,
            MODEL,
            Sum(),
            Mean(),
            Step("rotate", 1, 0, 1),
        ),
        *(
            WeightedSum([1.0]),
            Constant(np.ones(2)),
            Program((), ()),
            Evaluator(OWNER.parameters).load(FRAMES),
        ),
        *(
            ciphermote.ParameterError("No."),
            LinkError("No.", "CM_ERR_SCALE"),
            GatewayError("No.", "held", 409, 2.0),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_else_pickles_and_copies(again: Callable[[Any], Any], value: Any) -> None:
    other = again(value)
    assert type(other) is type(value)
    if isinstance(value, Exception):
        assert (str(other), vars(other)) == (str(value), vars(value))


def test_evaluation_keys_are_expanded_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    expanded = []
    real = native.expanded
    monkeypatch.setattr(native, "expanded", lambda *given: expanded.append(1) or real(*given))
    owner = Owner.generate("n4096_q26x3_p27", model=MODEL, relin=False)
    results = [compute(MODEL, frames_of(owner), owner.evaluation_keys, bound=4) for _ in range(3)]
    for result in results:
        assert owner.decrypt(result)[:2] == pytest.approx([-1.25, 1.5], abs=0.05)
    assert len(expanded) == len(owner.rotations)
    keys = owner.evaluation_keys
    for modulus in (12289, 40961, 65537, 114689):
        with keys.borrowed(BFV(modulus), bare=False, name="native") as engine:
            assert engine is not None
        assert len(keys._kept) <= 2
    owner.extend(rotations=[7])
    assert 7 in {*owner.rotations} and owner.evaluation_keys is not keys
    assert not pickle.loads(pickle.dumps(keys))._kept


def test_keys_that_are_loaded_are_expanded_once_by_several_threads(tmp_path: Path) -> None:
    OWNER.save(tmp_path / "keys")
    keys = EvaluationKeys.load(tmp_path / "keys")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: compute(MODEL, FRAMES, keys, bound=4), range(8)))
    assert len({result.to_seal() for result in results}) == 1
    assert len(keys._kept) == 1
