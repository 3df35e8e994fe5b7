# SPDX-License-Identifier: Apache-2.0
"""Rows of the compact lane's scores, for bench/compact.py: bytes, time on one core with AVX2, and what
rounded weights and features cost in accuracy on data sets that scikit-learn ships."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TypeVar
from unittest.mock import patch

import numpy as np
from ciphermote import _evaluator
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.frames import CompactReader
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.scores import (
    WEIGHT_BITS,
    CompactScorer,
    CompactScores,
    ScoreDecryption,
    ScorePlan,
    decrypt_scores,
)
from ciphermote.compact.sets import L
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.parameters import ParameterSet, Scheme, native
from numpy.typing import NDArray

from bench.rows import Row, timed

SCORES = 4096
VALUES = 16
LARGEST = 255
LARGEST_WEIGHT = 8
TURNS = 5
SEED = 31
SPLITS = 5
_WHOLE_WINDOW = 2**16 - 1

_Result = TypeVar("_Result")
Numbers = NDArray[np.float64]
Windows = NDArray[np.int64]


class Sender:
    """A device of set L, and the fleet's keys."""

    def __init__(self, largest: int = LARGEST, packet_bytes: int = _WHOLE_WINDOW) -> None:
        self.keys, enrolment = CompactKeys.generate(L).enroll(1, largest)
        self._counter = 0
        self._device = CompactDevice(
            self.keys,
            enrolment,
            packet_bytes=packet_bytes,
            counter_read=lambda: self._counter,
            counter_write=self._write,
        )

    def _write(self, value: int) -> None:
        self._counter = value

    def packets(self, windows: Windows) -> list[bytes]:
        return [packet for window in windows for packet in self._device.encrypt(window)[0]]


def score(keys: CompactKeys, model: LinearModel, packets: list[bytes]) -> bytes:
    """The gateway's part: packets are checked and put together, windows scored, the result written."""
    gateway = keys.gateway()
    reader = CompactReader(gateway, range(model.features))
    largest = max(entry.largest_value for entry in gateway.entries)
    scorer = CompactScorer(ScorePlan.of(L, model, largest), keys.key_id, range(model.features))
    for packet in packets:
        for window in reader.feed(packet).windows:
            scorer.add(window)
    return scorer.result().to_bytes()


def read(keys: CompactKeys, model: LinearModel, result: bytes) -> ScoreDecryption:
    """The owner's part, expansion of the seeds included."""
    return decrypt_scores(keys, CompactScores.from_bytes(result), model)


# --- bytes and time -----------------------------------------------------------------------------------------


@contextmanager
def one_core_with_avx2() -> Iterator[None]:
    """Run on one core, and make contexts for AVX2 though the machine may have more."""

    def context_of(parameters: ParameterSet, scheme: Scheme) -> _evaluator.Context:
        key = parameters, scheme
        if key not in made:
            made[key] = _evaluator.Context(
                parameters.log2_n,
                list(parameters.data_primes),
                list(parameters.special_primes),
                parameters.digit_primes,
                scheme.plain_modulus,
                isa="avx2",
            )
        return made[key]

    made: dict[tuple[ParameterSet, Scheme], _evaluator.Context] = {}
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with patch.object(native, "_context_of", context_of):
            yield
    finally:
        os.sched_setaffinity(0, cores)


def score_rows() -> Iterator[Row]:
    """Raises AssertionError unless every score is the model's own."""
    params: dict[str, object] = {"set": "l", "values": VALUES, "bits": L.wire_bits}
    yield Row("compact.l.bytes_per_value", L.wire_bits / 8, "bytes", {"set": "l", "values_of": "8 bits"})
    (packet,) = Sender().packets(np.zeros((1, VALUES), np.int64))
    yield Row(f"compact.l.k{VALUES}.packet_bytes", len(packet), "bytes", {**params, "kind": "measured"})
    yield from timed(_timed_rows(params))


def _timed_rows(params: dict[str, object]) -> Iterator[Row]:
    rng = np.random.default_rng(SEED)
    weights = rng.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT + 1, (1, VALUES)).astype(np.float64)
    model, windows = LinearModel(weights, np.zeros(1)), rng.integers(0, LARGEST + 1, (SCORES, VALUES))
    with one_core_with_avx2():
        sender = Sender(packet_bytes=L.packet_bytes(VALUES))
        packets = sender.packets(windows)
        gateway = [_timed(lambda: score(sender.keys, model, packets)) for _ in range(TURNS)]
        result = gateway[0][1]
        owner = [_timed(lambda: read(sender.keys, model, result)) for _ in range(TURNS)]
    assert np.array_equal(owner[0][1].scores, model.scores(windows)), "a score is wrong"
    seconds = [median(turn[0] for turn in turns) for turns in (gateway, owner)]
    own = {**params, "isa": "avx2", "cores": 1, "largest_weight": LARGEST_WEIGHT, "result_bytes": len(result)}
    yield Row(
        f"compact.l.scores_{SCORES}.seconds",
        round(sum(seconds), 4),
        "s",
        {**own, "of": "packets checked and put together, scores, the result's bytes, and their decryption"},
    )
    for part, value in zip(("gateway", "owner"), seconds, strict=True):
        yield Row(f"compact.l.scores_{SCORES}.{part}.seconds", round(value, 4), "s", own)


def _timed(call: Callable[[], _Result]) -> tuple[float, _Result]:
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


# --- accuracy -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Accuracy:
    """Shares of windows that get the right class, of those that the model was not trained on. plain: by the
    model in binary64 on the numbers as they are; encrypted: by decrypted scores of packets. Both are of
    SPLITS splits together."""

    name: str
    features: int
    windows: int
    plain: float
    encrypted: float

    @property
    def loss(self) -> float:
        return self.plain - self.encrypted


def accuracy(name: str) -> Accuracy:
    """Train logistic regressions on two thirds of a data set, and score the others encrypted."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    found = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(x))
        found.append(_right(x, y, order[: 2 * len(x) // 3], order[2 * len(x) // 3 :]))
    plain, encrypted = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Accuracy(name, x.shape[1], len(plain), float(plain.mean()), float(encrypted.mean()))


def _right(x: Numbers, y: Windows, known: Windows, new: Windows) -> tuple[Windows, Windows]:
    """Whether each of the new gets the right class, in the clear and encrypted. Features are scaled to 0 to 1
    by their range in the known part. A device sends them as whole numbers: as they are if they are such
    numbers up to 255, else in 255ths of the range, and at its ends what is beyond."""
    from sklearn.linear_model import LogisticRegression

    low, high = x[known].min(axis=0), x[known].max(axis=0)
    scale = np.where(high > low, high - low, 1)
    trained = LogisticRegression(C=10, max_iter=10_000).fit((x[known] - low) / scale, y[known])
    are_counts = bool((x == np.rint(x)).all() and x.min() >= 0 and x.max() <= LARGEST)
    first, step = (np.zeros_like(low), np.ones_like(scale)) if are_counts else (low, scale / LARGEST)
    windows = np.clip(np.rint((x[new] - first) / step), 0, LARGEST).astype(np.int64)
    # The same scores from a window's whole numbers m, which stand for first + step m.
    weights = trained.coef_ / scale
    model = LinearModel(weights * step, trained.intercept_ + weights @ (first - low))
    sender = Sender(largest=int(windows.max()))
    found = read(sender.keys, model, score(sender.keys, model, sender.packets(windows)))
    scores = found.scores if model.classes > 1 else np.hstack([-found.scores, found.scores])
    plain = trained.predict((x[new] - low) / scale) == y[new]
    return plain, trained.classes_[scores.argmax(axis=1)] == y[new]


def accuracy_rows() -> Iterator[Row]:
    found = [accuracy(name) for name in ("digits", "breast_cancer", "wine")]
    worst = max(found, key=lambda each: each.loss)
    params: dict[str, object] = {"set": "l", "weight_bits": WEIGHT_BITS, "of": worst.name}
    for each in found:
        params[each.name] = {
            "features": each.features,
            "windows": each.windows,
            "plain": round(each.plain, 6),
            "encrypted": round(each.encrypted, 6),
        }
    yield Row("compact.l.accuracy_loss", round(worst.loss, 6), "share lost", params, better="less")
