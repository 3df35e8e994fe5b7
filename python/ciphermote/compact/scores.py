# SPDX-License-Identifier: Apache-2.0
"""Scores of compact windows by a linear model in the clear: computed without any key, and read by the owner.

A window's values m at positions p are coefficients of a ciphertext (c0, c1) under the fleet's secret key.
For whole weights w, the constant coefficient of the ciphertext times the sum of w X^-p decrypts to the sum of
w m. Of c0 that takes the coefficients that were sent and no other, so a score needs no evaluation key. c1
times the sum of w X^-p follows from the window's seed and the weights, which the owner knows: a result leaves
it out.

The sum of w m is exact if it cannot wrap around modulo t, and if its noise is within Q / (2 t) but for a
chance of 2^-40 (check_weights). Larger weights are written in several digits, sum_j radix^j digit_j, each of
which makes a form of its own that is exact; the owner puts the values together again. So the only error of a
score is that of rounding the model's weights to whole numbers, and its bound is known (ScorePlan.errors).

A result (integers little-endian; packed numbers low bits first, zero bits up to a byte):

    offset  bytes  field
    0       4      "CMCS"
    4       2      version, 1
    6       1      compact set id
    7       1      bits of a weight, its sign included
    8       8      key id
    16      8      model id (LinearModel.id)
    24      2      the largest value that a device in it is enrolled for
    26      2      the largest magnitude of a digit
    28      4      windows, k
    32      2      forms, f
    34      2      runs of positions, r
    36      4 r    first position (u16), positions (u16): ascending, and apart
    ..      30 k   device (u32), epoch (u16), window (u64), counter (u64), random (8): ascending by the first
                   three
    ..      ..     k f constant coefficients of c0, less their bias, window by window, in as many bits each as
                   Q has
    ..      16     BLAKE2b-128 of all before
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core, _evaluator, _owner
from ciphermote.base import arguments
from ciphermote.base.errors import FrameError, MismatchError, ParameterError
from ciphermote.base.files import MOST_OBJECT_BYTES
from ciphermote.base.words import count_of
from ciphermote.compact import bounds, packing
from ciphermote.compact.frames import Window, check_positions
from ciphermote.compact.keys import CompactKeys, lane_key
from ciphermote.compact.packing import SentWindow
from ciphermote.compact.sets import CompactSet
from ciphermote.compact.sums import check_noise, composed, signed
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.parameters.native import context_of

WEIGHT_BITS = 8
"""Default number of bits of a weight, its sign included."""
MOST_WEIGHT_BITS = 16
MOST_FORMS = 4096
"""The most forms in a result: classes times digits."""
MOST_DIGIT = (1 << 15) - 1

_MAGIC = b"CMCS"
_VERSION = 1
_HEAD = struct.Struct("<4sHBBQQHHIHH")
_MOST_WINDOWS = 1 << 22


# --- what is exact ------------------------------------------------------------------------------------------


def check_weights(compact: CompactSet, weights: Iterable[int], largest_value: int) -> float:
    """Return log2 of the chance that the sum of weights times values decrypts wrongly; -inf if it cannot.

    weights: one for each value of a window, whole numbers; largest_value: the largest that a value can be.
    Exact means: largest_value times the sum of |w| is below t; and noise, whose variance grows with the sum
    of w^2, exceeds Q / (2 t), less half the sum of |w| for what was rounded, with a chance of at most 2^-40.
    Raises ParameterError for weights that are not exact.
    """
    found = [int(weight) for weight in weights if weight]
    if not found:
        return -math.inf
    low, high = bounds.value_range(bounds.Term(weight, largest_value) for weight in found)
    what = f"{count_of(len(found), 'weight')} that come to {sum(map(abs, found))} in magnitude"
    if high - low >= compact.plain_modulus:
        raise ParameterError(
            f"{what}, times values up to {largest_value}, make a score from {low} to {high}, and set "
            f"{compact.name} tells {compact.plain_modulus} values apart: take smaller weights or fewer "
            "features, or enroll the devices for smaller values."
        )
    failure = bounds.failure_log2(compact, bounds.weights_of(found))
    if failure > bounds.LOG2_FAILURE:
        raise ParameterError(
            f"The noise of {what} makes a score of set {compact.name} wrong with a chance of "
            f"2^{failure:.1f}, and 2^{bounds.LOG2_FAILURE:.0f} is allowed: take smaller weights or fewer "
            "features."
        )
    return failure


def are_exact(compact: CompactSet, weights: Iterable[int], largest_value: int) -> bool:
    """Whether check_weights accepts the weights."""
    try:
        check_weights(compact, weights, largest_value)
    except ParameterError:
        return False
    return True


@lru_cache(maxsize=256)
def largest_digit(compact: CompactSet, features: int, largest_value: int) -> int:
    """Return the largest d for which `features` weights of d on values up to largest_value are exact; 0 if
    even 1 is not."""
    # None is exact whose noise reaches the room at four standard deviations, and at seven tenths of what it
    # can come to: that spares distributions that are wider than the modulus.
    room, half = bounds.noise_room(compact, {}), 1 << compact.dropped_bits >> 1
    deviation = math.sqrt(features * (bounds.ETA / 2 + ((1 << 2 * compact.dropped_bits) - 1) / 12))
    widest = math.ceil(room / min(4 * deviation, 0.7 * features * (bounds.ETA + half)))
    most = min(MOST_DIGIT, (compact.plain_modulus - 1) // (features * largest_value), widest)
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if are_exact(compact, [middle] * features, largest_value) else (low, middle)
        )
    return low


@dataclass(frozen=True, eq=False)
class ScorePlan:
    """A linear model in whole weights, and the forms in which windows of a set are scored with it.

    weights: int64 [classes, features]; scales: float64 [classes], by which the model's weights were
    multiplied before they were rounded; digit: the largest magnitude of a form's weight; forms: int64 [forms,
    features]; places: for each form its class, and the power of `radix` that it counts; failure_log2: log2 of
    the chance that one of a window's forms decrypts wrongly.
    """

    set: CompactSet
    model: LinearModel
    largest_value: int
    weight_bits: int
    digit: int
    weights: NDArray[np.int64]
    scales: NDArray[np.float64]
    forms: NDArray[np.int64]
    places: tuple[tuple[int, int], ...]
    failure_log2: float

    @classmethod
    def of(
        cls,
        compact: CompactSet,
        model: LinearModel,
        largest_value: int,
        weight_bits: int = WEIGHT_BITS,
        *,
        digit: int | None = None,
    ) -> ScorePlan:
        """Plan scores of windows whose values are at most largest_value.

        weight_bits: bits of a whole weight, its sign included, 2 to 16. Weights that are whole and fit
        already stay as they are, and so do their fractions by powers of two; others are scaled, class by
        class, so that the largest one fills the bits.
        digit: the largest magnitude of a form's weight; None for largest_digit. Raises ParameterError if the
        set has no room for the model's features, or for the digit.
        """
        value = arguments.whole(largest_value, "The largest value", 1, compact.largest_value)
        bits = arguments.whole(weight_bits, "The bits of a weight (--weight-bits)", 2, MOST_WEIGHT_BITS)
        most = largest_digit(compact, model.features, value) if digit is None else digit
        if most < 1:
            raise ParameterError(
                f"Set {compact.name} has no room for a model of {count_of(model.features, 'feature')} with "
                f"values up to {value}, whatever its weights: take fewer features, or enroll the devices for "
                "smaller values."
            )
        with np.errstate(over="ignore"):
            bound = model.score_bound(value)
        if not math.isfinite(bound):
            raise ParameterError("The model's scores may be beyond binary64: scale its weights down.")
        scales = np.array([_scale(row, (1 << (bits - 1)) - 1) for row in model.weights])
        weights = np.rint(model.weights * scales[:, np.newaxis]).astype(np.int64)
        forms, places = _digits(weights, 2 * most + 1)
        if len(forms) > MOST_FORMS:
            raise ParameterError(
                f"The model's {count_of(model.classes, 'class')} take {len(forms):,} forms of weights up to "
                f"{most}, and {MOST_FORMS:,} is the most: take fewer classes, or fewer bits a weight."
            )
        chances = [check_weights(compact, row.tolist(), value) for row in forms]
        total = sum(2.0**chance for chance in chances)
        failure = math.log2(total) if total else max(chances, default=-math.inf)
        return cls(compact, model, value, bits, most, weights, scales, forms, places, failure)

    @property
    def radix(self) -> int:
        return 2 * self.digit + 1

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Bounds on how far each class's score may be from the model's: float64 [classes], 0 for whole
        weights that stayed as they are and a whole bias."""
        model = self.model
        rounded = np.abs(model.weights - self.weights / self.scales[:, np.newaxis]).sum(axis=1)
        # What binary64 rounds in this bound, in w / scale, and in the score.
        sizes = np.abs(model.weights).sum(axis=1) * self.largest_value + np.abs(model.bias)
        bound = rounded * self.largest_value + sizes * (model.features + 8) * 2.0**-52
        return np.where((rounded == 0) & (model.bias == np.rint(model.bias)), 0.0, bound)

    def scores(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """Put scores together: values int64 [windows, forms], decrypted -> float64 [windows, classes]."""
        sums = np.zeros((len(values), self.model.classes), dtype=np.int64)
        for i, (row, power) in enumerate(self.places):
            sums[:, row] += values[:, i] * self.radix**power
        found: NDArray[np.float64] = sums / self.scales + self.model.bias
        return found


def _scale(row: NDArray[np.float64], most: int) -> float:
    """Return a power of two that makes the weights whole numbers up to `most`, or else what makes the largest
    one of them `most`."""
    largest = float(np.abs(row).max())
    for scale in (2.0**power for power in range(MOST_WEIGHT_BITS)):
        if largest * scale <= most and bool((row * scale == np.rint(row * scale)).all()):
            return scale
    return min(most / largest, sys.float_info.max)


def _digits(weights: NDArray[np.int64], radix: int) -> tuple[NDArray[np.int64], tuple[tuple[int, int], ...]]:
    """Write each row in digits from -(radix - 1) / 2 to as much, for an odd radix, and leave out zeros."""
    forms, places = [], []
    for row, left in enumerate(weights):
        power = 0
        while left.any():
            digits = (left + radix // 2) % radix - radix // 2
            if digits.any():
                forms.append(digits)
                places.append((row, power))
            left = (left - digits) // radix
            power += 1
    return np.array(forms, dtype=np.int64).reshape(len(forms), weights.shape[1]), tuple(places)


# --- without any key ----------------------------------------------------------------------------------------


class CompactScorer:
    """Scores windows by a plan, at the positions that every window has sent: feature i at position i of
    them, ascending. It holds no secret. key_id: that of all windows."""

    def __init__(self, plan: ScorePlan, key_id: int, positions: Iterable[int]) -> None:
        self.plan = plan
        self.key_id = key_id
        self.positions = check_positions(plan.set, positions)
        if len(self.positions) != plan.model.features:
            raise ParameterError(
                f"The model takes {count_of(plan.model.features, 'feature')} and windows have "
                f"{count_of(len(self.positions), 'value')}: give a model of as many features, the first one "
                "for the lowest position."
            )
        self._scored: dict[tuple[int, int, int], tuple[SentWindow, NDArray[np.uint64]]] = {}

    def add(self, window: Window) -> None:
        """Add a window. Raises MismatchError for a window of another set or key, at other positions, with
        larger values, or scored already."""
        who = f"Device {window.device}, window {window.number}"
        if window.set != self.plan.set or window.key_id != self.key_id:
            raise MismatchError(
                f"{who}: it is of set {window.set.name} and key {window.key_id:016x}, and the scores of "
                f"{self.plan.set.name} and {self.key_id:016x}: score windows of one fleet."
            )
        if not np.array_equal(window.positions, self.positions):
            raise MismatchError(
                f"{who}: it has sent other positions than those that are scored: leave it out."
            )
        if window.largest_value > self.plan.largest_value:
            raise MismatchError(
                f"{who}: its device is enrolled for values up to {window.largest_value}, and the scores are "
                f"planned for {self.plan.largest_value}: plan them for the largest."
            )
        found = SentWindow(window.device, window.epoch, window.number, window.counter, window.random)
        if found.place in self._scored:
            raise MismatchError(f"{who}: it is scored already, and a window counts once: add it once.")
        self._scored[found.place] = found, window.payload

    def check_size(self, windows: int) -> None:
        """Raises ParameterError if the scores of so many windows exceed what a file of them may hold."""
        bits = len(self.plan.forms) * self.plan.set.modulus.bit_length()
        size = (
            windows * (packing.SENT_WINDOW_BYTES + bits / 8)
            + _HEAD.size
            + packing.RUN.size * len(self.positions)
        )
        if size > MOST_OBJECT_BYTES - packing.DIGEST_BYTES - 1:
            raise ParameterError(
                f"The scores of {windows:,} windows take {size / 2**20:,.1f} MiB, and a result is at most "
                f"{MOST_OBJECT_BYTES >> 20} MiB: score fewer at a time."
            )

    def result(self) -> CompactScores:
        """Return the scores so far. Raises ParameterError if there are none, or too many (check_size)."""
        if not self._scored:
            raise ParameterError("No window is scored: add at least one.")
        self.check_size(len(self._scored))
        plan, ordered = self.plan, [self._scored[place] for place in sorted(self._scored)]
        c0 = np.zeros((len(ordered), len(plan.forms)), dtype=np.uint64)
        if len(plan.forms):
            payload = np.stack([payload for _, payload in ordered])
            forms = _evaluator.CompactForms(context_of(plan.set.parameters), self.positions, plan.forms)
            constants = forms.constants(payload, plan.set.dropped_bits)
            for i, row in enumerate(plan.forms):
                modulus = np.uint64(plan.set.modulus)
                bias = np.uint64(bounds.bias(plan.set, _counted(row)) % plan.set.modulus)
                c0[:, i] = (composed(plan.set, constants[:, i].T) + modulus - bias) % modulus
        return CompactScores(
            *(plan.set, self.key_id, plan.model.id, plan.weight_bits, plan.largest_value, plan.digit),
            *(self.positions, tuple(scored for scored, _ in ordered), c0),
        )


def _counted(row: NDArray[np.int64]) -> bounds.Weights:
    return bounds.weights_of(weight for weight in row.tolist() if weight)


@dataclass(frozen=True, eq=False)
class CompactScores:
    """Encrypted scores for the owner. windows: ascending by device, epoch and window; c0: uint64 [windows,
    forms], modulo Q; the other fields are those of the ScorePlan."""

    set: CompactSet
    key_id: int
    model_id: int
    weight_bits: int
    largest_value: int
    digit: int
    positions: NDArray[np.uint32]
    windows: tuple[SentWindow, ...]
    c0: NDArray[np.uint64] = field(repr=False)

    @classmethod
    def joined(cls, parts: Sequence[CompactScores]) -> CompactScores:
        """Join scores by one plan of different windows, which ascend from part to part."""
        windows = tuple(window for part in parts for window in part.windows)
        return replace(parts[0], windows=windows, c0=np.concatenate([part.c0 for part in parts]))

    def to_bytes(self) -> bytes:
        runs = packing.runs(self.positions)
        body = b"".join(
            (
                _HEAD.pack(
                    *(_MAGIC, _VERSION, self.set.id, self.weight_bits, self.key_id, self.model_id),
                    *(self.largest_value, self.digit, len(self.windows), self.c0.shape[1], len(runs)),
                ),
                packing.pack_runs(runs),
                packing.pack_sent_windows(self.windows),
                packing.packed(self.c0.reshape(-1), self.set.modulus.bit_length()),
            )
        )
        return body + packing.digest(body)

    @classmethod
    def from_bytes(cls, data: bytes) -> CompactScores:
        """Read what to_bytes wrote. Raises FrameError if it is damaged, or something else."""
        if not is_scores(data) or len(data) < _HEAD.size + packing.DIGEST_BYTES:
            raise FrameError(
                "The bytes are no compact scores: give what `ciphermote compact score` "
                "(CompactScorer.result) wrote."
            )
        _, version, identifier, bits, key_id, model_id, largest, digit, count, forms, runs = (
            _HEAD.unpack_from(data)
        )
        reader, compact = packing.open_result(
            data, _HEAD.size, version, _VERSION, identifier, "The file of compact scores"
        )
        if (
            not (2 <= bits <= MOST_WEIGHT_BITS and 1 <= largest <= compact.largest_value)
            or not (1 <= digit <= MOST_DIGIT and 1 <= count <= _MOST_WINDOWS)
            or not (forms <= MOST_FORMS and 1 <= runs <= compact.n)
        ):
            raise reader.hostile()
        positions = reader.positions(compact, runs)
        windows = reader.sent_windows(count)
        c0 = reader.numbers(count * forms, compact.modulus.bit_length(), compact.modulus - 1)
        if not reader.at_end:
            raise reader.hostile()
        return cls(
            *(compact, key_id, model_id, bits, largest, digit, positions, windows),
            c0.reshape(count, forms),
        )


def is_scores(data: bytes) -> bool:
    """Whether data begin like scores."""
    return data.startswith(_MAGIC)


# --- the owner ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreDecryption:
    """Decrypted scores. windows: in order; scores: float64 [windows, classes]; errors: float64 [classes], how
    far each may be from the model's own score of the window's values; failure_log2: log2 of the chance that
    any of a window's scores is farther off."""

    windows: tuple[SentWindow, ...]
    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    failure_log2: float


def decrypt_scores(
    keys: CompactKeys,
    result: CompactScores,
    model: LinearModel,
    windows: Iterable[tuple[int, int, int]] | None = None,
) -> ScoreDecryption:
    """Decrypt scores by the model that they were asked for.

    windows: (device, epoch, window) of those that the owner expects, in any order; None for the result's own
    list. What can be right is computed anew from the model and from what the devices were enrolled for.
    Raises ParameterError if the weights are not exact; MismatchError for scores of other keys, another model
    or other windows, and for those that decrypt to noise or to more than the weights can make of a window.
    """
    if result.set != keys.set or result.key_id != keys.key_id:
        raise MismatchError(
            f"The scores are of set {result.set.name} and key {result.key_id:016x}, and the keys of "
            f"{keys.set.name} and {keys.key_id:016x}: use the keys that its devices were enrolled with."
        )
    if model.id != result.model_id:
        raise MismatchError(
            f"The scores are of model {result.model_id:016x}, and the model given is {model.id:016x}: give "
            "the one that they were asked for."
        )
    places = [window.place for window in result.windows]
    if windows is not None and sorted(windows) != places:
        raise MismatchError(
            f"The scores name {count_of(len(places), 'window')}, which are not those that are expected: give "
            "the list of the windows that were scored."
        )
    for device, epoch in dict.fromkeys(place[:2] for place in places):
        largest = keys.enrolment(device, epoch).largest_value
        if largest > result.largest_value:
            raise MismatchError(
                f"Device {device} (epoch {epoch}) is enrolled for values up to {largest}, and the scores are "
                f"planned for {result.largest_value}: have them computed again."
            )
    plan = ScorePlan.of(result.set, model, result.largest_value, result.weight_bits, digit=result.digit)
    if (len(plan.forms), model.features) != (result.c0.shape[1], len(result.positions)):
        raise MismatchError(
            f"The scores have {result.c0.shape[1]} forms of {len(result.positions)} values, and the model "
            f"makes {len(plan.forms)} of {model.features}: have them computed again by this version."
        )
    values = _decrypted_forms(keys, result, plan)
    return ScoreDecryption(result.windows, plan.scores(values), plan.errors, plan.failure_log2)


def _decrypted_forms(keys: CompactKeys, result: CompactScores, plan: ScorePlan) -> NDArray[np.int64]:
    """Return int64 [windows, forms], checked. The second polynomials follow from the windows' seeds."""
    compact, shape = result.set, result.c0.shape
    messages, noise = np.zeros(shape, dtype=np.uint32), np.zeros(shape)
    if not len(plan.forms):
        return messages.astype(np.int64)
    context = context_of(compact.parameters)
    forms = _evaluator.CompactForms(context, result.positions, plan.forms)
    constant = np.zeros(1, dtype=np.uint32)
    residues = np.zeros((2, len(compact.primes), compact.n), dtype=np.uint32)
    moduli = np.array(compact.primes, dtype=np.uint64)
    for i, window in enumerate(result.windows):
        key = lane_key(compact, keys.key_id, window.device, window.epoch)
        seed = _core.compact_seed(key, window.counter, window.random)
        for j, c1 in enumerate(forms.polynomials(seed)):
            residues[0, :, 0] = result.c0[i, j] % moduli
            residues[1] = c1
            ciphertext = _evaluator.Ciphertext(context, residues, 1.0, _evaluator.Form.coefficients)
            found = _owner.decrypt_bfv_at(ciphertext, keys.secret.hosted, compact.plain_modulus, constant)
            messages[i, j], noise[i, j] = found[0][0], found[1][0]
    values = np.zeros(shape, dtype=np.int64)
    for j, row in enumerate(plan.forms):
        check_noise(compact, _counted(row), noise[:, j])
        terms = [bounds.Term(weight, plan.largest_value) for weight in row.tolist() if weight]
        values[:, j] = signed(compact, terms, messages[:, j])
    return values
