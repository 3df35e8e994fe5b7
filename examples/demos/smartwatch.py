# SPDX-License-Identifier: Apache-2.0
"""The demo's data and its classifier, in the clear: BasicMotions, its features, a linear model of them.

BasicMotions (UCR/UEA archive, shipped with aeon): ten seconds of a smartwatch's accelerometer and gyroscope,
three axes each at 10 Hz, for four activities; 40 windows to train on and 40 to test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ciphermote.evaluate.linear_model import LinearModel
from numpy.typing import NDArray

CLIP = 8.0
"""Standardised features end here: |feature * scale| < 2^29 at scale 2^25 holds for whatever a sensor says."""


@dataclass(frozen=True, eq=False)
class Windows:
    """windows: float32 [count, channels, samples]; labels: int [count], into names."""

    windows: NDArray[np.float32]
    labels: NDArray[np.int64]
    names: tuple[str, ...]


def load(split: str) -> Windows:
    """The windows of a split, "train" or "test"."""
    from aeon.datasets import load_classification

    windows, labels = load_classification("BasicMotions", split=split)
    names = sorted(set(labels.tolist()))
    return Windows(
        windows.astype(np.float32), np.array([names.index(label) for label in labels.tolist()]), tuple(names)
    )


def raw_features(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32 [count, 3 * channels * samples]: x, |x| and |x[t] - x[t-1]|, as ports/app computes them."""
    steps = np.abs(np.diff(windows, axis=2, prepend=windows[:, :, :1]))
    blocks = [windows, np.abs(windows), steps]
    return np.concatenate([block.reshape(len(windows), -1) for block in blocks], axis=1)


@dataclass(frozen=True, eq=False)
class Standardisation:
    """A device's provisioned standardization: mean and inverse deviation of each feature, float32
    [features]."""

    mean: NDArray[np.float32]
    inverse_deviation: NDArray[np.float32]

    @classmethod
    def of(cls, features: NDArray[np.float32]) -> Standardisation:
        """A feature that never varies is only centred."""
        deviation = features.std(axis=0, dtype=np.float64)
        inverse = np.divide(1, deviation, out=np.ones_like(deviation), where=deviation > 0)
        return cls(features.mean(axis=0, dtype=np.float64).astype(np.float32), inverse.astype(np.float32))

    def apply(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Standardize in binary32, with the device's operations."""
        return np.clip((features - self.mean) * self.inverse_deviation, np.float32(-CLIP), np.float32(CLIP))


def train(data: Windows) -> tuple[Standardisation, LinearModel]:
    """Fit a linear classifier on the training windows alone; cross-validation chooses its regularisation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    raw = raw_features(data.windows)
    standardisation = Standardisation.of(raw)
    features = standardisation.apply(raw).astype(np.float64)
    # The best weights are combinations of the windows, far fewer than the features: fit in their coordinates.
    basis = np.linalg.svd(features, full_matrices=False).Vh
    search = GridSearchCV(LogisticRegression(max_iter=2000), {"C": np.logspace(-3, 1, 5)}, cv=5)
    fitted = search.fit(features @ basis.T, data.labels).best_estimator_
    return standardisation, LinearModel(fitted.coef_ @ basis, fitted.intercept_, labels=data.names)


def app_model_header(standardisation: Standardisation, channels: int, samples: int, log2_scale: int) -> str:
    """app_model.h, which ports/README.md describes."""

    def table(name: str, values: NDArray[np.float32]) -> list[str]:
        numbers = [float(value).hex() + "f" for value in values]
        rows = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
        return [f"static const float {name}[APP_FEATURES] = {{", *(f"    {row}," for row in rows), "};"]

    return "\n".join(
        [
            "/* The standardisation of the demo's features, written by `ciphermote demo`. */",
            "#ifndef APP_MODEL_H",
            "#define APP_MODEL_H",
            "",
            f"#define APP_CHANNELS {channels}",
            f"#define APP_SAMPLES {samples}",
            f"#define APP_FEATURES {len(standardisation.mean)}",
            f"#define APP_CLIP {CLIP!r}f",
            f"#define APP_LOG2_SCALE {log2_scale}",
            "",
            *table("app_mean", standardisation.mean),
            *table("app_inverse_deviation", standardisation.inverse_deviation),
            "",
            "#endif",
            "",
        ]
    )
