# SPDX-License-Identifier: Apache-2.0
"""Bounds on sums of compact windows: the range of values, and the chance that noise makes one wrong.

A sum decrypts to round(t y / Q) with y = Q M / t + error, and M = sum w m is right while |error| is below Q /
(2 t). Each window adds w times three errors:

* noise, centred binomial of 21 coin pairs (variance 10.5);
* the d bits that were dropped and are restored as their middle: uniform in 1 - 2^(d-1) .. 2^(d-1), because c0
* is uniform (but for 2^d / Q). That is 1/2 too much on average, so sums subtract bias(weights); the rounding
* of Q m / t, at most 1/2. Devices that read the same value round alike, so these add up to
  sum |w| / 2 and not to its root; the bound adds them up, to either side.

The distribution of the first two is a convolution, computed to some ten digits in the tail too. Each part's
generating function E[z^x] is known in closed form, and their product is the sum's. An inverse Fourier
transform on the circle |z| = e^theta gives the probabilities times e^(theta x): theta is chosen so that those
are largest where the tail begins, so that nothing small is told from 1 (Cramer, "Sur un nouveau
theoreme-limite de la theorie des probabilites", 1938).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import ParameterError
from ciphermote.compact.sets import CompactSet

ETA = 21
"""Number of coin pairs in a coefficient's noise."""

LOG2_FAILURE = -40.0
"""log2 of the largest accepted chance that a coefficient of a sum is wrong."""

LARGEST_WEIGHT = 1 << 20
"""Largest magnitude of a weight; noise allows much less."""

_NEGLIGIBLE = 1e-22
"""Products of factors up to 1 count as 0 below this."""
_HIDDEN = 1e-10
"""Bound on the sum of all rounding errors in a total of at most 1 in binary64."""
_WIDTHS = 16.0
"""Standard deviations on either side of where the tail begins. A coin's noise is sub-Gaussian with its own
variance and dropped bits' with three times theirs, tilted or not, so less than 2^-60 lies beyond."""
_MOST_POINTS = 1 << 24
"""Noise this wide exceeds every set's modulus, so the chance is near 1."""
_LARGEST_TILT = 64.0

Complex = NDArray[np.complexfloating[Any, Any]]
Weights = Mapping[int, int]
"""Maps a weight to the number of windows that have it."""


@dataclass(frozen=True)
class Term:
    """A window in a sum, or several of different devices, with values of at most ``largest`` each."""

    weight: int
    largest: int


def weights_of(weights: Iterable[int]) -> Weights:
    """Count the windows of each weight. Raises ParameterError for a weight that is 0 or too large."""
    counted = Counter(weights)
    for weight in counted:
        if not 1 <= abs(weight) <= LARGEST_WEIGHT:
            raise ParameterError(
                f"A window has the weight {weight}: give whole numbers from 1 to {LARGEST_WEIGHT}, or the "
                "same below 0, and leave out what does not count."
            )
    return counted


def bias(compact: CompactSet, weights: Weights) -> int:
    """Return the excess of a sum's c0 at every position, rounded down, once its windows' bits are
    restored."""
    return sum(weight * count for weight, count in weights.items()) // 2 if compact.dropped_bits else 0


def noise_room(compact: CompactSet, weights: Weights, dropped: int = 0) -> float:
    """Return the largest sum of noise and dropped bits that decrypts rightly, in units of a coefficient.
    dropped: low bits that the sum's own c0 lacks."""
    coherent = sum(abs(weight) * count for weight, count in weights.items()) / 2
    return compact.modulus / (2 * compact.plain_modulus) - coherent - (1 << dropped >> 1)


def failure_log2(compact: CompactSet, weights: Iterable[int] | Weights, dropped: int = 0) -> float:
    """Return log2 of the chance that a coefficient of the sum decrypts wrongly; -inf if it cannot.

    weights: one for each window, or counted; dropped: low bits that the sum's own c0 lacks. Raises
    ParameterError for weights that are 0 or too large.
    """
    counted = weights if isinstance(weights, Mapping) else weights_of(weights)
    return exceeds_log2(compact, counted, noise_room(compact, counted, dropped))


def exceeds_log2(compact: CompactSet, weights: Weights, room: float) -> float:
    """Return log2 of the chance that noise and dropped bits, less their bias, reach `room` in magnitude."""
    tails = [_tail(errors, math.ceil(room) + shift) for errors, shift in _sides(compact, weights)]
    largest = max(tails)
    if largest == -math.inf:
        return largest
    return min(0.0, largest + math.log2(sum(2 ** (tail - largest) for tail in tails)))


def likely_noise(compact: CompactSet, weights: Weights, log2_chance: float = LOG2_FAILURE) -> int:
    """Return a magnitude that noise and dropped bits, less their bias, exceed with at most this chance:
    within a few per cent of the smallest such, by Chernoff's bound."""
    return max(_chernoff(errors, log2_chance) - shift for errors, shift in _sides(compact, weights))


def value_range(terms: Iterable[Term]) -> tuple[int, int]:
    """Return the smallest and the largest value that the sum can have."""
    products = [(term.weight * term.largest) for term in terms]
    return sum(p for p in products if p < 0), sum(p for p in products if p > 0)


def check(compact: CompactSet, terms: Iterable[Term], dropped: int = 0) -> float:
    """Return failure_log2 of the sum. Raises ParameterError if its values may exceed t, or its noise the
    modulus."""
    terms = list(terms)
    if not terms:
        raise ParameterError("The sum is of no windows: add at least one.")
    low, high = value_range(terms)
    if high - low >= compact.plain_modulus:
        raise ParameterError(
            f"The sum may be anything from {low} to {high}, and set {compact.name} tells "
            f"{compact.plain_modulus} values apart: add fewer windows, take smaller weights, or enroll the "
            "devices for smaller values."
        )
    weights = weights_of(term.weight for term in terms)
    failure = failure_log2(compact, weights, dropped)
    if failure > LOG2_FAILURE:
        raise ParameterError(
            f"The noise of {len(terms)} windows (weights of {_sum_of(weights)} in all) makes a value of set "
            f"{compact.name} wrong with a chance of 2^{failure:.1f}, and 2^{LOG2_FAILURE:.0f} is allowed: "
            "add fewer windows, take smaller weights, or a set with more room."
        )
    return failure


def most_dropped(compact: CompactSet, weights: Iterable[int] | Weights) -> int:
    """Return how many low bits of the sum's own c0 can be left out."""
    counted = weights if isinstance(weights, Mapping) else weights_of(weights)
    # The chance grows with every bit, and is 1 with all of them.
    low, high = 0, compact.modulus.bit_length()
    while high - low > 1:
        middle = (low + high) // 2
        if failure_log2(compact, counted, middle) <= LOG2_FAILURE:
            low = middle
        else:
            high = middle
    return low


def _sum_of(weights: Weights) -> int:
    return sum(abs(weight) * count for weight, count in weights.items())


# --- distributions ------------------------------------------------------------------------------------------


class _Errors:
    """The distribution of sum w (e + u), all w alike in sign with their errors: a negative w turns u over."""

    def __init__(self, compact: CompactSet, weights: Weights) -> None:
        self.dropped = compact.dropped_bits
        self.weights = weights

    def _lowest(self, weight: int) -> int:
        """The lowest u times the weight's sign: u is uniform over this and the 2^d - 1 integers above it."""
        half = 1 << self.dropped >> 1
        return 1 - half if weight > 0 and half else -half

    @property
    def most(self) -> int:
        """The largest sum."""
        span = (1 << self.dropped) - 1
        return sum(
            abs(weight) * count * (ETA + self._lowest(weight) + span)
            for weight, count in self.weights.items()
        )

    def log_function(self, weight: int, z: Complex) -> Complex:
        """log E[e^(z x)] of one window's part, for Re z > 0."""
        scaled = abs(weight) * z
        noise: Complex = 2 * ETA * (scaled / 2 + np.log1p(np.exp(-scaled)) - math.log(2))
        if not self.dropped:
            return noise
        values = 1 << self.dropped
        uniform = np.log(np.expm1(-values * scaled) / (values * np.expm1(-scaled)))
        both: Complex = noise + uniform + (self._lowest(weight) + values - 1) * scaled
        return both

    def reach(self, weight: int, count: int, theta: float) -> float:
        """No farther than this angle from a multiple of 2 pi is |weight| times a frequency at which count
        windows' parts, tilted by theta, come to more than _NEGLIGIBLE of their largest."""
        tilt = abs(weight) * theta
        shrink = math.exp(-tilt)
        coin = 4 * shrink / (1 + shrink) ** 2
        # |1 - e^(-V z)| <= 1 + e^(-V theta), and |1 - e^-z|^2 = (1 - e^-theta)^2 + 4 e^-theta sin^2.
        uniform, most = 0.0, 0.0
        if self.dropped:
            uniform = 4 * shrink / math.expm1(-tilt) ** 2
            whole = (1 << self.dropped) * tilt
            most = math.log1p(math.exp(-whole)) - math.log(-math.expm1(-whole))
        low, high = 0.0, 1.0
        for _ in range(50):
            sine = (low + high) / 2
            part = ETA * math.log1p(-coin * sine**2) + most - math.log1p(uniform * sine**2) / 2
            low, high = (sine, high) if count * part > math.log(_NEGLIGIBLE) - 1 else (low, sine)
        return 2 * math.asin(high)

    def log_moment(self, theta: float) -> float:
        """log E[e^(theta x)]."""
        z = np.array([theta], dtype=np.complex128)
        return sum(
            count * float(self.log_function(weight, z)[0].real) for weight, count in self.weights.items()
        )

    @property
    def mean(self) -> float:
        return sum(weight * count for weight, count in self.weights.items()) / 2 if self.dropped else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation, which is at least that of every tilted distribution with theta > 0."""
        one = ETA / 2 + ((1 << 2 * self.dropped) - 1) / 12
        return math.sqrt(one * sum(weight * weight * count for weight, count in self.weights.items()))

    def tilted_mean(self, theta: float) -> float:
        """The derivative of log E[e^(theta x)]."""
        values, total = 1 << self.dropped, 0.0
        for weight, count in self.weights.items():
            scaled = abs(weight) * theta
            part = ETA * math.tanh(abs(weight) * theta / 2)
            if self.dropped:
                part += self._lowest(weight) + values - 1
                # Each is cut where it has come to nothing, and would overflow.
                part += values / math.expm1(min(values * scaled, 500.0)) - 1 / math.expm1(min(scaled, 500.0))
            total += abs(weight) * count * part
        return total


def _sides(compact: CompactSet, weights: Weights) -> list[tuple[_Errors, int]]:
    """Return the errors and the bias subtracted, upwards and downwards."""
    shift = bias(compact, weights)
    mirrored = {-weight: count for weight, count in weights.items()}
    return [(_Errors(compact, weights), shift), (_Errors(compact, mirrored), -shift)]


def _tail(errors: _Errors, start: int) -> float:
    """log2 of the chance that the sum is start or more; 0 up to the mean."""
    if start <= max(errors.mean, 0.0):
        return 0.0
    if start > errors.most:
        return -math.inf
    points = 1 << math.ceil(2 * _WIDTHS * errors.deviation).bit_length()
    if points > _MOST_POINTS:
        return 0.0
    theta = _tilt(errors, start)
    # The tilted distribution's transform at half the frequencies, for the other half is its conjugate. Those
    # that a part has brought to nothing are left out: no other part brings them back.
    alive = np.arange(points // 2 + 1)
    logarithms = np.zeros(len(alive), dtype=np.complex128)
    moment = 0.0
    for weight, count in errors.weights.items():
        near = _near(alive, weight, points, errors.reach(weight, count, theta))
        alive, logarithms = alive[near], logarithms[near]
        part = count * errors.log_function(weight, theta + 2j * math.pi / points * alive)
        logarithms += part - part[0].real
        moment += float(part[0].real)
        kept = logarithms.real > math.log(_NEGLIGIBLE)
        alive, logarithms = alive[kept], logarithms[kept]
    # The sum of tilted probabilities from start on, each times e^(-theta (x - start)): a geometric series.
    ratio = -theta - 2j * math.pi / points * alive
    series = np.expm1(points // 2 * ratio) / np.expm1(ratio)
    values = np.exp(logarithms - 2j * math.pi / points * (alive * start % points)) * series
    both = np.where((alive == 0) | (alive == points // 2), 1.0, 2.0)
    # It is at most 1, so its rounding errors are far below this; a total that they hide, or turn negative, is
    # taken for more than it is.
    total = max(float(np.dot(both, values.real)) / points, _HIDDEN)
    return float((moment - theta * start + math.log(total)) / math.log(2))


def _near(frequencies: NDArray[np.int64], weight: int, points: int, reach: float) -> NDArray[np.bool_]:
    """Return the angles that times |weight| are within reach of a multiple of 2 pi."""
    turned = frequencies * abs(weight) & (points - 1)
    near: NDArray[np.bool_] = np.minimum(turned, points - turned) <= reach * points / (2 * math.pi) + 1
    return near


def _tilt(errors: _Errors, start: int) -> float:
    """theta > 0 whose tilted distribution is centred near start."""
    low, high = 0.0, _LARGEST_TILT
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if errors.tilted_mean(middle) < start else (low, middle)
    return high


def _chernoff(errors: _Errors, log2_chance: float) -> int:
    """The least x with P(x or more) <= E[e^(theta X)] e^(-theta x) <= 2^log2_chance for some theta."""
    low, high = max(0, math.ceil(errors.mean)), errors.most + 1
    while low < high:
        middle = (low + high) // 2
        theta = _tilt(errors, middle)
        if errors.log_moment(theta) - theta * middle <= log2_chance * math.log(2):
            high = middle
        else:
            low = middle + 1
    return low
