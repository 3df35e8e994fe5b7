# SPDX-License-Identifier: Apache-2.0
"""Small neural networks, linear layers with ReLU between them, in floats and in integers modulo t.

A client-aided inference (client_aided.py) computes them layer by layer: the linear parts under encryption,
the rest on the device. Between two layers values are clipped to 0 and a cap, so that the outputs of a layer
have a bound that holds for every input. This module computes in the clear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote.base.errors import ParameterError
from ciphermote.evaluate.linear_model import LinearModel, check_chain, real_numbers

SHIFT = 16
"""Integers are scaled down by a multiplier of at most 2^SHIFT and a shift by SHIFT bits."""

MAX_LIMIT = (1 << 15) - 1
"""Devices hold the values between layers as int16."""


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in floats. Inputs are clipped to +-cap, and the values between layers to 0 and cap."""

    layers: tuple[LinearModel, ...]
    cap: float

    def __post_init__(self) -> None:
        check_chain(self.layers)
        if not (np.isfinite(self.cap) and self.cap > 0):
            raise ParameterError(
                f"The cap {self.cap!r} is not a positive number: give the largest |value| that it lets pass."
            )

    def inputs(self, x: ArrayLike) -> NDArray[np.float32]:
        """Clip a device's inputs: float32 [..., features]."""
        values = real_numbers(x, "Inputs").astype(np.float32)
        return np.clip(values, np.float32(-self.cap), np.float32(self.cap))

    def hidden(self, x: ArrayLike) -> list[NDArray[np.float64]]:
        """Return the outputs of each layer but the last, float64 [..., classes]."""
        values: NDArray[np.float64] = self.inputs(x).astype(np.float64)
        passed = []
        for layer in self.layers[:-1]:
            values = np.clip(layer.scores(values), 0.0, self.cap)
            passed.append(values)
        return passed

    def scores(self, x: ArrayLike) -> NDArray[np.float64]:
        """float [..., features] -> float64 [..., classes]."""
        passed = self.hidden(x)
        return self.layers[-1].scores(passed[-1] if passed else self.inputs(x))

    def scaled_to(self, x: ArrayLike, largest: float) -> Network:
        """Return the same function with hidden values scaled so that those of x reach `largest`, because ReLU
        commutes with positive factors. Raises ParameterError if a layer's outputs are all zero."""
        layers = list(self.layers)
        values: NDArray[np.float64] = self.inputs(x).astype(np.float64)
        for place in range(len(layers) - 1):
            values = np.maximum(layers[place].scores(values), 0.0)
            peak = float(values.max(initial=0.0))
            if not peak > 0:
                raise ParameterError(f"Layer {place} passes nothing on: train the network again.")
            factor, here, following = largest / peak, layers[place], layers[place + 1]
            layers[place] = LinearModel(here.weights * factor, here.bias * factor, here.labels)
            layers[place + 1] = LinearModel(following.weights / factor, following.bias, following.labels)
            values = values * factor
        return Network(tuple(layers), self.cap)


@dataclass(frozen=True, eq=False)
class IntegerNetwork:
    """Layers in integers, exact modulo plain_modulus.

    Inputs are round(x * input_scale), clipped to +-limit. The values from layer i to the next are min(limit,
    (max(0, z) * multipliers[i] + 2^(SHIFT - 1)) >> SHIFT).
    """

    layers: tuple[LinearModel, ...]
    limit: int
    input_scale: float
    multipliers: tuple[int, ...]
    plain_modulus: int

    def __post_init__(self) -> None:
        check_chain(self.layers)
        if len(self.multipliers) != len(self.layers) - 1:
            raise ParameterError(
                "An integer network has a multiplier for each layer but the last: give as many."
            )
        if any(not 0 < multiplier <= 1 << SHIFT for multiplier in self.multipliers):
            raise ParameterError(f"Multipliers are from 1 to 2^{SHIFT}.")
        _check_integers(self.plain_modulus, self.limit)

    def inputs(self, x: ArrayLike) -> NDArray[np.int16]:
        """Quantize and clip a device's inputs: int16 [..., features]."""
        values = real_numbers(x, "Inputs")
        if not np.isfinite(values).all():
            raise ParameterError("An input is NaN or infinite: check where it comes from.")
        scaled = np.rint(values * self.input_scale)
        return np.clip(scaled, -self.limit, self.limit).astype(np.int16)

    def scores(self, x: ArrayLike) -> NDArray[np.int64]:
        """float [..., features] -> int64 [..., classes]."""
        values: NDArray[np.int64] = self.inputs(x).astype(np.int64)
        for layer, multiplier in zip(self.layers, self.multipliers, strict=False):
            values = self._activated(_exact(layer, values), multiplier)
        return _exact(self.layers[-1], values)

    def _activated(self, z: NDArray[np.int64], multiplier: int) -> NDArray[np.int64]:
        scaled: NDArray[np.int64] = (np.maximum(z, 0) * multiplier + (1 << SHIFT - 1)) >> SHIFT
        return np.minimum(scaled, np.int64(self.limit))


def _check_integers(plain_modulus: int, limit: int) -> None:
    if not (isinstance(plain_modulus, int | np.integer) and plain_modulus >= 3):
        raise ParameterError(f"The plain modulus {plain_modulus!r} is not an integer from 3 on: give one.")
    if not (isinstance(limit, int | np.integer) and 1 <= limit <= MAX_LIMIT):
        raise ParameterError(f"The limit {limit!r} is not an integer from 1 to {MAX_LIMIT}, as int16 holds.")


def _exact(layer: LinearModel, values: NDArray[np.int64]) -> NDArray[np.int64]:
    return values @ layer.weights.astype(np.int64).T + layer.bias.astype(np.int64)


def quantise(network: Network, x: ArrayLike, *, plain_modulus: int, limit: int) -> IntegerNetwork:
    """Quantize the network to integers whose sums stay within +-(plain_modulus - 1) / 2 for all inputs.

    x: inputs for calibration, float [count, features]. Each layer takes the largest scale of weights whose
    bound, limit * sum |w| + |b|, still fits. Raises ParameterError if a layer then has only zero weights, or
    the values for x have no range.
    """
    _check_integers(plain_modulus, limit)
    room = (plain_modulus - 1) // 2
    calibration: NDArray[np.float64] = network.inputs(x).astype(np.float64)
    largest = float(np.abs(calibration).max(initial=0.0))
    if not largest > 0:
        raise ParameterError(
            "The inputs to calibrate with are empty, all zero or not finite: give real readings."
        )
    input_scale = scale = limit / largest
    passed = network.hidden(x)
    layers, multipliers = [], []
    for place, layer in enumerate(network.layers):
        if not layer.weights.any():
            raise ParameterError(f"Layer {place} has no weights but zeros: train the network again.")
        weight_scale = _largest_scale(layer, scale, limit, room)
        layers.append(_rounded(layer, weight_scale, scale))
        if not layers[-1].weights.any():
            raise ParameterError(f"Layer {place} vanishes within +-{room}: take a larger modulus.")
        if place < len(passed):
            reached = float(passed[place].max()) * weight_scale * scale
            multipliers.append(max(1, min(1 << SHIFT, int((limit << SHIFT) / max(reached, 1.0)))))
            scale *= weight_scale * multipliers[-1] / (1 << SHIFT)
    return IntegerNetwork(tuple(layers), limit, input_scale, tuple(multipliers), plain_modulus)


def _rounded(layer: LinearModel, weight_scale: float, scale: float) -> LinearModel:
    return LinearModel(
        np.rint(layer.weights * weight_scale), np.rint(layer.bias * weight_scale * scale), layer.labels
    )


def _largest_scale(layer: LinearModel, scale: float, limit: int, room: int) -> float:
    """Return the largest scale of weights: one hundredth below the one that fits without rounding, and less
    until it fits with it."""
    factor = np.abs(layer.weights).sum(axis=1) * limit + np.abs(layer.bias) * scale
    weight_scale = room / float(factor.max())
    while _rounded(layer, weight_scale, scale).score_bound(limit) > room:
        weight_scale *= 0.99
    return weight_scale
