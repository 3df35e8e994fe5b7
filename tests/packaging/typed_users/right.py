# SPDX-License-Identifier: Apache-2.0
"""A program that type checkers accept: what an owner and a server do, and what each step returns."""

from pathlib import Path
from typing import assert_type

import ciphermote
import numpy as np
from ciphermote import Ciphertext, Owner, WeightedSum, compute, decrypt, encrypt
from ciphermote.base.errors import Error, FrameError
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.formats.frames import adapt
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.formats.residues import expand_seed
from ciphermote.owner.decryption import Numbers
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import ParameterSet, by_name
from numpy.typing import NDArray


def make_keys(folder: Path, model: LinearModel) -> KeyStore:
    parameters = assert_type(by_name("n4096_q26x3_p27"), ParameterSet)
    assert parameters == ciphermote.parameters.by_name("n4096_q26x3_p27")
    plan = plan_linear(model, parameters, 2.0**25, feature_bound=60)
    return KeyStore.create(folder, parameters, galois_steps=plan.rotation_steps)


def score(keys: KeyStore, model: LinearModel, frames: bytes) -> Ciphertext:
    reading = assert_type(adapt(frames, keys.parameters, keys.key_id), bytes)
    with open_engine(keys.parameters, galois_keys=keys.public_bytes(GALOIS_FILE)) as engine:
        assert_type(engine, Engine)
        assert_type(engine.confined, frozenset[str])
        return engine.linear(reading, model, feature_bound=60)


def average(readings: list[list[float]]) -> float:
    owner = assert_type(Owner.generate(rotations=[1]), Owner)
    readings_sent = [encrypt(values, owner.public_key) for values in readings]
    frames = assert_type([each.to_frames() for each in readings_sent], list[bytes])
    weights = [1 / len(frames)] * len(frames)
    mean = compute(WeightedSum(weights), frames, owner.evaluation_keys, bound=60)
    assert_type(owner.key_id, int)
    return float(decrypt(assert_type(mean, Ciphertext), owner.secret_key)[0].real)


def read(keys: KeyStore, scores: bytes, sums: bytes) -> NDArray[np.float64]:
    try:
        integers = decrypt(sums, keys.secret(), places="slots")
    except FrameError as error:
        raise Error(f"{ciphermote.__version__}: {error}") from error
    assert_type(integers, Numbers)
    assert_type(expand_seed(keys.parameters, 1, bytes(64), 1), NDArray[np.uint32])
    return decrypt(scores, keys.secret()).astype(np.float64)
