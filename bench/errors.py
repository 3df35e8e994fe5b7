#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often decrypted values are off by more than the stated error, and by more than half of it.

`make bench-errors` writes bench/results/errors.json. Each kind of computation has 500 fresh keys; under each,
readings are encrypted with the secret key and with the public key, computed on and decrypted. Each slot, or
each class, counts as one value. The bench fails if a row is beyond its limits.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import ciphermote
import numpy as np
from ciphermote.parameters.noise import Key
from numpy.polynomial import polynomial
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.rows import Row, timed, write_results

ROOT = Path(__file__).resolve().parent.parent
KEYS = 500
MOST_BEYOND = 0.001
LEAST_HALF, MOST_HALF = 0.02, 0.08
SET, POLYNOMIAL_SET = "n4096_q26x3_p27", "n8192_q26x7_p27"
READINGS = 3
"""In a sum."""
LEAST_SCORES = 16
"""Under each key: of models with fewer classes, more than one reading is scored."""
LARGEST = 50.0
FEATURES = {1: 1, 2: 2, 3: 12, 10: 64}
"""Classes of a model -> its features."""
SIGMOID = (0.5, 0.197, 0.0, -0.004)
"""A polynomial that stands for 1 / (1 + exp(-x)) from -4 to 4."""
SIGMOID_LARGEST, SIGMOID_LOG2_SCALE = 4.0, 26

Reals = NDArray[np.float64]
Shares = Iterator[tuple[Key, Reals]]
"""What encrypted, and the errors of decrypted values, each as a share of what is stated."""
ENCRYPTING: tuple[Key, Key] = ("symmetric", "asymmetric")

SUMS = ("sum", "mean", "variance", "weighted_sum")
SCORES = {f"linear{classes}": classes for classes in FEATURES}
KINDS = (*SUMS, *SCORES, "square", "polynomial")


def of_sums(kind: str, random: np.random.Generator) -> Shares:
    owner = ciphermote.Owner.generate(SET, relin=kind == "variance")
    for key in ENCRYPTING:
        given = [random.uniform(-LARGEST, LARGEST, owner.parameters.slots) for _ in range(READINGS)]
        frames = [encrypted(values, owner, key) for values in given]
        match kind:
            case "sum":
                found = owner.decrypt_with_errors(ciphermote.compute(ciphermote.Sum(), frames))
                truth = np.sum(given, axis=0)
            case "mean":
                found = owner.decrypt_with_errors(ciphermote.compute(ciphermote.Mean(), frames))
                truth = np.mean(given, axis=0)
            case "weighted_sum":
                weights = random.normal(size=READINGS)
                found = owner.decrypt_with_errors(ciphermote.compute(ciphermote.WeightedSum(weights), frames))
                truth = weights @ np.array(given)
            case _:
                evaluator = ciphermote.Evaluator(owner.evaluation_keys)
                loaded = [evaluator.load(each) for each in frames]
                sums = evaluator.sum(loaded), evaluator.sum([evaluator.square(x) for x in loaded])
                total, squares = (owner.decrypt_with_errors(each.to_seal()) for each in sums)
                found = ciphermote.variance_with_errors(total, squares, READINGS)
                truth = np.var(given, axis=0)
        yield key, share(found, truth)


def of_scores(kind: str, random: np.random.Generator) -> Shares:
    classes = SCORES[kind]
    sizes = random.uniform(0.2, 5, (classes, 1))
    weights = random.normal(size=(classes, FEATURES[classes])) * sizes
    model = ciphermote.LinearModel(weights, random.normal(size=classes))
    owner = ciphermote.Owner.generate(SET, model=model, relin=False)
    with owner.evaluation_keys.engine() as engine:
        for key in ENCRYPTING:
            for _ in range(math.ceil(LEAST_SCORES / classes)):
                values = random.uniform(-LARGEST, LARGEST, model.features)
                reading = encrypted(values, owner, key)
                found = owner.decrypt_with_errors(engine.linear(reading, model), model=model)
                yield key, share(found, model.scores(values))


def of_squares(kind: str, random: np.random.Generator) -> Shares:
    owner = ciphermote.Owner.generate(SET)
    evaluator = ciphermote.Evaluator(owner.evaluation_keys)
    for key in ENCRYPTING:
        values = random.uniform(-LARGEST, LARGEST, owner.parameters.slots)
        square = evaluator.rescale(evaluator.square(encrypted(values, owner, key)))
        yield key, share(owner.decrypt_with_errors(square), values**2)


def of_polynomials(kind: str, random: np.random.Generator) -> Shares:
    owner = ciphermote.Owner.generate(POLYNOMIAL_SET, largest=SIGMOID_LARGEST, summed=1)
    evaluator = ciphermote.Evaluator(owner.evaluation_keys)
    for key in ENCRYPTING:
        values = random.uniform(-SIGMOID_LARGEST, SIGMOID_LARGEST, owner.parameters.slots)
        reading = encrypted(values, owner, key, log2_scale=SIGMOID_LOG2_SCALE)
        found = owner.decrypt_with_errors(evaluator.polynomial(reading, SIGMOID))
        yield key, share(found, polynomial.polyval(values, SIGMOID))


COMPUTATIONS: dict[str, Callable[[str, np.random.Generator], Shares]] = {
    **dict.fromkeys(SUMS, of_sums),
    **dict.fromkeys(SCORES, of_scores),
    "square": of_squares,
    "polynomial": of_polynomials,
}
"""Each under one fresh key."""


def encrypted(
    values: Reals, owner: ciphermote.Owner, key: Key, log2_scale: int | None = None
) -> ciphermote.Ciphertext:
    used = owner.secret_key if key == "symmetric" else owner.public_key
    return ciphermote.encrypt(values, used, log2_scale=log2_scale)


def share(found: ciphermote.Decrypted, truth: Reals) -> Reals:
    assert found.errors is not None, found.why_unknown
    shares: Reals = np.abs(found.values - truth) / found.errors
    return shares


def rows_of(kind: str, keys: int) -> list[Row]:
    """Rows of all values of a kind, and of those that each key encrypted. Numbers, but not keys, are the same
    each time."""
    random = np.random.default_rng(KINDS.index(kind))
    found: dict[Key, list[Reals]] = {key: [] for key in ENCRYPTING}
    for _ in range(keys):
        for key, shares in COMPUTATIONS[kind](kind, random):
            found[key].append(shares)
    groups = {"": [*found["symmetric"], *found["asymmetric"]]} | {
        f".{key}": shares for key, shares in found.items()
    }
    rows = []
    for name, shares in groups.items():
        values = np.concatenate(shares)
        params = {"keys": keys, "values": values.size, "kind": "measured"}
        for what, least in (("beyond", 1.0), ("beyond_half", 0.5)):
            rows.append(
                Row(
                    f"errors.{kind}{name}.{what}",
                    float(np.mean(values > least)),
                    "share",
                    params,
                    better="less",
                )
            )
    return rows


def faults(rows: Iterable[Row]) -> list[str]:
    """The rows of all values that are not within their limits, for people."""
    found = {row.name: row.value for row in rows}
    limits = {"beyond": (0.0, MOST_BEYOND), "beyond_half": (LEAST_HALF, MOST_HALF)}
    return [
        f"errors.{kind}.{what} is {value:.5f}, not from {least:g} to {most:g}."
        for kind in KINDS
        for what, (least, most) in limits.items()
        if (value := found.get(f"errors.{kind}.{what}")) is not None and not least <= value <= most
    ]


def show(rows: list[Row], console: Console) -> None:
    table = Table(title="Values beyond their stated error, and beyond half of it")
    for title in ("row", "share", "values"):
        table.add_column(title, justify="left" if title == "row" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.value:.5f}", f"{row.params['values']:,}")
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description="How often values are off by more than is stated.")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/errors.json")
    parser.add_argument("--keys", type=int, default=KEYS, help="fresh keys of each kind")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="kinds at a time")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        running = [pool.submit(rows_of, kind, options.keys) for kind in options.kinds]
        watched = track(running, description="kinds", console=Console(stderr=True))
        rows = [row for each in watched for row in each.result()]
    write_results(options.results, "make bench-errors", f"numpy {np.__version__}", timed(rows))
    show(rows, Console())
    found = faults(rows)
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
