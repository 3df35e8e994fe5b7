# SPDX-License-Identifier: Apache-2.0
"""The client-aided demo's data and network, in the clear: JapaneseVowels, a perceptron of two hidden layers.

JapaneseVowels (UCR/UEA archive, shipped with aeon): a microphone's recordings of two vowels in a row, as 12
cepstral coefficients over 7 to 29 frames, by nine speakers; 270 utterances to train on and 370 to test. Who
speaks is what a voice betrays, and a good reason to encrypt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ciphermote.evaluate.client_aided import Rounds
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.neural_network import IntegerNetwork, Network
from numpy.typing import NDArray

HIDDEN = (32, 16)
CAP = 8.0
"""Where values are cut off; |value * scale| < 2^29 at scale 2^25 holds with room."""
CALIBRATED = 4.0
"""What hidden values of the training data reach: half the cap."""
PARTS = 2
"""An utterance's coefficients are averaged over its halves."""
ALPHA = 1.0


@dataclass(frozen=True, eq=False)
class Utterances:
    """features: float64 [count, 24]; labels: int [count], into names."""

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    names: tuple[str, ...]


def load(split: str) -> Utterances:
    """The utterances of a split, "train" or "test"."""
    from aeon.datasets import load_classification

    series, labels = load_classification("JapaneseVowels", split=split)
    names = sorted(set(labels.tolist()))
    features = [
        np.concatenate([part.mean(axis=1) for part in np.array_split(np.asarray(one), PARTS, axis=1)])
        for one in series
    ]
    return Utterances(
        np.array(features), np.array([names.index(label) for label in labels.tolist()]), tuple(names)
    )


def standardise(train: Utterances, others: Utterances) -> NDArray[np.float64]:
    """The features of others, centred and divided by the training ones' deviation."""
    mean, deviation = train.features.mean(axis=0), train.features.std(axis=0)
    standardised: NDArray[np.float64] = (others.features - mean) / deviation
    return standardised


def train_network(data: Utterances) -> Network:
    """Fit to the training utterances alone, with a fixed seed; takes standardised features."""
    from sklearn.neural_network import MLPClassifier

    features = standardise(data, data)
    fitted = MLPClassifier(HIDDEN, solver="lbfgs", alpha=ALPHA, max_iter=2000, random_state=1).fit(
        features, data.labels
    )
    layers = [
        LinearModel(weights.T, bias) for weights, bias in zip(fitted.coefs_, fitted.intercepts_, strict=True)
    ]
    layers[-1] = LinearModel(layers[-1].weights, layers[-1].bias, data.names)
    return Network(tuple(layers), CAP).scaled_to(features, CALIBRATED)


def aided_model_header(network: Network, integers: IntegerNetwork, rounds: Rounds) -> str:
    """aided_model.h, which ports/README.md describes. rounds: of either scheme; both have one layout."""
    multipliers = (*integers.multipliers, 0)
    layers = [
        f"    {{{plan.model.features}, {plan.first_feature}, {plan.model.classes}, {multiplier}u}},"
        for plan, multiplier in zip(rounds.plans, multipliers, strict=True)
    ]
    (cap_bits,) = np.array([network.cap], dtype=np.float32).view(np.uint32)
    return "\n".join(
        [
            "/* The layout of a network's rounds, written by `ciphermote demo-client-aided`. */",
            "#ifndef AIDED_MODEL_H",
            "#define AIDED_MODEL_H",
            "",
            '#include "rounds.h"',
            "",
            "static const rounds_layer aided_layers[] = {",
            *layers,
            "};",
            "static const rounds_model aided_model = {",
            "    .layers = aided_layers,",
            f"    .count = {len(layers)},",
            f"    .log2_stride = {rounds.stride.bit_length() - 1},",
            f"    .plain_modulus = {integers.plain_modulus}u,",
            f"    .limit = {integers.limit},",
            f"    .cap_bits = 0x{cap_bits:08X}u,",
            f"    .log2_scale = {rounds.log2_scale},",
            f"    .largest = {rounds.largest}u,",
            "};",
            "",
            "#endif",
            "",
        ]
    )
