# SPDX-License-Identifier: Apache-2.0
"""The owner's adviser chooses the parameter set, scale and precision for a CKKS computation.

It predicts and does not measure. The model follows one ciphertext through the computation in this order:
fresh encryptions are added up, then multiplied by plaintexts, then by ciphertexts. Rotations are assumed to
add up all the slots (the most expensive common use), right after the last product with a plaintext or else of
ciphertexts, or after the sum if there are no products. Every product is followed by rescaling, the last one
only if it helps.

Each source of error contributes the worst of all slots, at odds of about one in 10^4 or better, and sources
add as independent ones do. Noise in a coefficient of standard deviation s is noise of sqrt(n/2) s / scale in
a real slot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ciphermote.base.errors import ParameterError
from ciphermote.parameters import BUILTIN, ParameterSet
from ciphermote.parameters.bounds import LARGEST_BOUND, MOST_SUMMED
from ciphermote.parameters.noise import (
    ENCODER_VARIANCE,
    SIGMA,
    Key,
    encryption_sigma,
    rounding_sigma,
    special_ratio,
)

TAIL = 6.0
"""Ratio of the worst slot to the rms of one: a Gaussian exceeds it in 2 of 10^9 slots."""

TAIL_OF_ONE_SLOT = 4.0
"""The same ratio if one slot is far worse than all others: exceeded once in 16,000 keys."""

ENCODER_ROUNDING = {31: 0.5, 63: math.sqrt(ENCODER_VARIANCE)}
"""Precision -> rms rounding of a coefficient by the encoder, in units (at 31 bits: its guaranteed bound)."""

MESSAGE_LIMIT_BITS = {31: 29, 63: 58}
"""Precision -> the power of 2 below which |value * scale| stays."""

FRAME_OVERHEAD_BYTES = 44 + 4
SEED_BYTES = {"chacha20": 32, "shake256": 64, "blake2xb": 64}
WORKSPACE_BYTES = 704

_SMALLEST_SCALE = 1.0
"""The smallest scale to which the evaluator rescales."""

_ENCRYPTION: dict[Key, str] = {
    "symmetric": "sqrt(n/2) * 3.24 / scale",
    "asymmetric": "sqrt(n/2) * 3.24 * sqrt(4n/3 + 1) / scale",
}


@dataclass(frozen=True)
class Computation:
    """A computation under encryption.

    magnitude: the largest |value| that a device encrypts, from 2^-100 to 2^100. max_error: the largest
    absolute error allowed in any slot of the result, > 0. slots: numbers in one ciphertext, 1 to 8192.
    plain_products: products with plaintexts one after the other (weights of a linear layer: 1).
    ciphertext_products: products of ciphertexts one after the other (a square: 1). rotations: whether slots
    are moved or added up. summed: how many fresh ciphertexts are added up, 1 to 2^40. key: the key that
    devices encrypt with. weight_norm: the l2 norm of the weights of the last product with a plaintext; by
    default every weight is assumed to be at most 1 in magnitude. standard: the security table, '2024' or
    '2018'. xof: the function that expands the public seed: 'chacha20', 'shake256' or 'blake2xb'.

    Raises ParameterError for a field outside its range.
    """

    magnitude: float
    max_error: float
    slots: int
    plain_products: int = 0
    ciphertext_products: int = 0
    rotations: bool = False
    summed: int = 1
    key: Key = "asymmetric"
    weight_norm: float | None = None
    standard: str = "2024"
    xof: str = "chacha20"

    def __post_init__(self) -> None:
        _require(
            1 / LARGEST_BOUND <= self.magnitude <= LARGEST_BOUND,
            f"{option('magnitude')} is {self.magnitude}: give a finite number above 0, from 2^-100 to 2^100.",
        )
        _require(
            0 < self.max_error < math.inf,
            f"{option('max_error')} is {self.max_error}: give a finite number above 0.",
        )
        _require(self.slots >= 1, f"{option('slots')} is {self.slots}: give at least 1.")
        _require(
            1 <= self.summed <= MOST_SUMMED,
            f"{option('summed')} is {self.summed}: give 1 to 2^40.",
        )
        for name in ("plain_products", "ciphertext_products"):
            _require(
                0 <= getattr(self, name) <= 64,
                f"{name} is {getattr(self, name)}: give 0 to 64.",
            )
        _require(
            self.key in ("symmetric", "asymmetric"),
            f"key is {self.key!r}: give 'symmetric' or 'asymmetric'.",
        )
        _require(
            self.standard in ("2024", "2018"),
            f"standard is {self.standard!r}: give '2024' or '2018'.",
        )
        _require(
            self.xof in SEED_BYTES,
            f"xof is {self.xof!r}: give one of {', '.join(SEED_BYTES)}.",
        )
        if self.weight_norm is not None:
            _require(
                0 < self.weight_norm < math.inf,
                f"{option('weight_norm')} is {self.weight_norm}: give a finite number above 0.",
            )
            _require(
                self.plain_products > 0,
                "weight_norm speaks of a product with weights: give plain_products.",
            )

    @property
    def products(self) -> int:
        return self.plain_products + self.ciphertext_products


@dataclass(frozen=True)
class ErrorPart:
    """One source of error: its share of the result's error in the worst slot, and how it is computed."""

    source: str
    formula: str
    error: float


@dataclass(frozen=True)
class Advice:
    """Recommended parameters and the expected result.

    levels_used: data primes that rescaling drops. log2_weight_scales: log2 of the scale at which the
    plaintext of each product with one is best encoded, in order. predicted_error: worst absolute error of any
    slot of the result. frame_bytes: one fresh ciphertext on the wire, headers and checksums included.
    arena_bytes: the memory that one encryption of real numbers needs on the device. explanation: sentences
    for people.
    """

    parameters: ParameterSet
    log2_scale: int
    precision: int
    levels_used: int
    log2_weight_scales: tuple[float, ...]
    predicted_error: float
    error_parts: tuple[ErrorPart, ...]
    frame_bytes: int
    arena_bytes: int
    explanation: list[str] = field(compare=False)


def advise(computation: Computation) -> Advice:
    """Recommend the smallest built-in parameter set that serves the computation, with its scale and
    precision.

    Prefers 31-bit precision, then results with fewer primes, then a smaller error. Raises ParameterError,
    which says what to give up, if no set of the standard can do it.
    """
    best: _Run | None = None
    for parameters in _candidates(computation):
        for precision in (31, 63):
            for rescale_last in (True, False):
                runs = _runs(computation, parameters, precision, rescale_last=rescale_last)
                run = min(runs, key=lambda run: run.predicted_error, default=None)
                if run is None:
                    continue
                if run.predicted_error <= computation.max_error:
                    return _advice(computation, run)
                if best is None or run.predicted_error < best.predicted_error:
                    best = run
    raise ParameterError(_refusal(computation, best))


def predicted_fresh_rms(parameters: ParameterSet, log2_scale: int, key: Key, precision: int = 63) -> float:
    """Return the predicted rms error of a real slot of a fresh ciphertext."""
    sigma = encryption_sigma(parameters.n, key)
    return _slot(parameters.n, math.hypot(sigma, ENCODER_ROUNDING[precision]), 2.0**log2_scale)


def frame_bytes(parameters: ParameterSet, key: Key, xof: str = "chacha20") -> int:
    """Return the bytes of all frames of one fresh ciphertext: residues packed to each prime's bits, or their
    seed."""
    residues = sum(
        FRAME_OVERHEAD_BYTES + (parameters.n * q.bit_length() + 7) // 8 for q in parameters.data_primes
    )
    return residues + FRAME_OVERHEAD_BYTES + SEED_BYTES[xof] if key == "symmetric" else 2 * residues


def arena_bytes(n: int, key: Key, precision: int = 31, parts: int = 1) -> int:
    """CM_CKKS_SYMMETRIC_ARENA_BYTES or CM_CKKS_ASYMMETRIC_ARENA_BYTES; parts is 2 for complex slots."""
    return n // 2 * parts * (4 if precision == 31 else 8) + work_bytes(n, key)


def work_bytes(n: int, key: Key) -> int:
    """CM_SYMMETRIC_WORK_BYTES or CM_ASYMMETRIC_WORK_BYTES: an arena without its message."""
    return 8 * n + (n // 4 if key == "asymmetric" else 0) + WORKSPACE_BYTES


def option(name: str) -> str:
    """Name a field with its command-line option."""
    return f"{name} (--{name.replace('_', '-')})"


def _require(condition: bool, sentence: str) -> None:  # noqa: FBT001 - a condition reads best first
    if not condition:
        raise ParameterError(sentence)


def _candidates(computation: Computation) -> list[ParameterSet]:
    """Yield sets with enough slots and, if needed, key switching, smallest first."""
    needs_keys = computation.rotations or computation.ciphertext_products > 0
    fit = [
        parameters
        for parameters in BUILTIN
        if parameters.standard in ("2024", computation.standard)
        and parameters.slots >= computation.slots
        and (parameters.special_prime or not needs_keys)
    ]
    return sorted(fit, key=lambda parameters: parameters.n)


# ---- noise ----


def _slot(n: int, coefficient_sigma: float, scale: float) -> float:
    """Return the rms error of a real slot, given a coefficient's."""
    return math.sqrt(n / 2) * coefficient_sigma / scale


def _switching_errors(parameters: ParameterSet, primes: int, scale: float) -> tuple[float, float]:
    """Return the errors of key switching with this many data primes left: (rms over all slots, rms of the
    worst slot).

    SEAL's digits are residues in [0, q_j) of mean square q_j^2/3. Most of it is their mean q_j/2, the same in
    every coefficient, and that gathers in the slots whose root zeta is near 1: |sum zeta^k| = 2/|1 - zeta| is
    2n/pi at zeta = e^(i pi/n), the first slot. Division by the special prime ends in one more rounding.
    """
    n, ratio = parameters.n, special_ratio(parameters, primes)
    over_all = _slot(n, math.hypot(SIGMA * math.sqrt(n / 3) * ratio, rounding_sigma(n)), scale)
    worst = _slot(n, SIGMA * ratio / 2 * (2 * n / math.pi), scale)
    return over_all, worst


# ---- following a ciphertext through the computation ----


@dataclass
class _Run:
    """A computation at one set, precision and scale: the values' size, the errors so far, the primes left."""

    computation: Computation
    parameters: ParameterSet
    precision: int
    log2_scale: int
    scale: float
    magnitude: float
    primes: int
    parts: list[ErrorPart] = field(default_factory=list)
    log2_weight_scales: list[float] = field(default_factory=list)

    @property
    def predicted_error(self) -> float:
        return math.hypot(*(part.error for part in self.parts))

    @property
    def log2_room(self) -> float:
        """log2 of the bound on |value| * scale: two bits below the modulus, as on the device."""
        return sum(math.log2(q) for q in self.parameters.data_primes[: self.primes]) - 2

    def fits(self) -> bool:
        """Whether values and scale are below the modulus (SEAL requires both), and values above the noise."""
        if self.scale < _SMALLEST_SCALE:
            return False
        has_room = math.log2(self.scale) + max(math.log2(self.magnitude), 0.0) < self.log2_room
        return has_room and self.predicted_error < self.magnitude

    def add(self, source: str, formula: str, error: float) -> None:
        self.parts.append(ErrorPart(source, formula, error))

    def amplify(self, gain: float) -> None:
        self.parts = [replace(part, error=part.error * gain) for part in self.parts]

    def dropped(self, count: int) -> float:
        """Return the product of the next `count` primes that rescaling drops."""
        return float(math.prod(self.parameters.data_primes[self.primes - count : self.primes]))


def _runs(
    computation: Computation, parameters: ParameterSet, precision: int, *, rescale_last: bool
) -> Iterator[_Run]:
    """Yield runs for every scale and number of primes dropped per product that work at this set and
    precision."""
    rescales = computation.products if rescale_last else computation.products - 1
    for drop in (1, 2) if computation.products else (1,):
        if rescales * drop >= len(parameters.data_primes):
            return  # The primes run out, whatever the scale.
        for log2_scale in parameters.log2_scales:
            run = _run(computation, parameters, precision, log2_scale, drop, rescale_last=rescale_last)
            if run is not None:
                yield run


def _run(
    computation: Computation,
    parameters: ParameterSet,
    precision: int,
    log2_scale: int,
    drop: int,
    *,
    rescale_last: bool,
) -> _Run | None:
    """Follow one ciphertext; None if it exceeds the precision or the modulus."""
    log2_message = log2_scale + math.log2(computation.magnitude)
    log2_q_data = parameters.data_modulus.bit_length() - 1
    if log2_message >= min(MESSAGE_LIMIT_BITS[precision], log2_q_data - 2):
        return None
    run = _Run(
        computation,
        parameters,
        precision,
        log2_scale,
        2.0**log2_scale,
        computation.magnitude,
        len(parameters.data_primes),
    )
    _encrypt_and_sum(run)
    if computation.products == 0 and computation.rotations:
        _add_up_slots(run)
    if not run.fits():
        return None
    for index in range(computation.products):
        rescales = rescale_last or index < computation.products - 1
        is_plain = index < computation.plain_products
        if not (
            _plain_product(run, index, drop, rescales=rescales)
            if is_plain
            else _ciphertext_product(run, index)
        ):
            return None
        if rescales:
            _rescale(run, drop)
            if not run.fits():
                return None
    return run


def _encrypt_and_sum(run: _Run) -> None:
    n, key, summed = run.parameters.n, run.computation.key, run.computation.summed
    fresh = _slot(n, encryption_sigma(n, key), run.scale)
    times = f" * sqrt({summed})" if summed > 1 else ""
    run.add(f"{key} encryption", _ENCRYPTION[key] + times, TAIL * math.sqrt(summed) * fresh)
    rounding = ENCODER_ROUNDING[run.precision]
    run.add(  # which is the same in readings of the same numbers
        "rounding of the encoder",
        f"sqrt(n/2) * {rounding:.2g} / scale" + (f" * {summed}" if summed > 1 else ""),
        TAIL * summed * _slot(n, rounding, run.scale),
    )
    run.magnitude *= run.computation.summed


def _plain_product(run: _Run, index: int, drop: int, *, rescales: bool) -> bool:
    """Multiply by a plaintext, and add up the slots after the last such product. False if the modulus is
    exceeded."""
    computation = run.computation
    is_last = index == computation.plain_products - 1
    adds_up = is_last and computation.rotations
    terms = computation.slots if adds_up else 1
    norm = computation.weight_norm if is_last else None
    before = run.magnitude
    run.magnitude *= math.sqrt(terms) * norm if norm else terms
    if rescales:
        log2_weight = math.log2(run.dropped(drop))
    else:
        spare = run.log2_room - math.log2(run.scale) - max(math.log2(run.magnitude), 0.0)
        if spare <= 1:
            return False
        log2_weight = min(math.ceil(spare) - 1, 60)
    run.scale *= 2.0**log2_weight
    run.log2_weight_scales.append(log2_weight)
    if not run.fits():
        return False
    run.amplify(norm if norm else math.sqrt(terms))
    weight_error = TAIL * _slot(run.parameters.n, math.sqrt(ENCODER_VARIANCE), 2.0**log2_weight)
    run.add(
        "rounding of the weights",
        "sqrt(n/2) * 0.41 / weight scale * |value|" + (" * sqrt(slots)" if adds_up else ""),
        weight_error * before * math.sqrt(terms),
    )
    if adds_up:
        _add_switching(run, terms)
    return True


def _ciphertext_product(run: _Run, index: int) -> bool:
    """Multiply by a ciphertext like itself and relinearize, and add up the slots after the last product."""
    computation = run.computation
    run.amplify(2 * run.magnitude + run.predicted_error)
    run.magnitude *= run.magnitude  # ** raises OverflowError where * gives infinity, which does not fit.
    run.scale *= run.scale
    if not run.fits():
        return False
    over_all, worst = _switching_errors(run.parameters, run.primes, run.scale)
    run.add(
        "relinearization",
        "key-switching noise / scale^2",
        math.hypot(TAIL * over_all, TAIL_OF_ONE_SLOT * worst),
    )
    if computation.rotations and computation.plain_products == 0 and index == computation.products - 1:
        _add_up_slots(run)
    return run.fits()


def _add_up_slots(run: _Run) -> None:
    terms = run.computation.slots
    run.magnitude *= terms
    run.amplify(math.sqrt(terms))
    _add_switching(run, terms)


def _add_switching(run: _Run, terms: int) -> None:
    """log2(terms) rotations, each followed by an addition.

    The noise of step i is summed over 2^(steps - i) slots by the steps after it, terms - 1 slots in all;
    the slot that key switching treats worst may be among them, once a step.
    """
    steps = max(math.ceil(math.log2(terms)), 1)
    over_all, worst = _switching_errors(run.parameters, run.primes, run.scale)
    run.add(
        f"{steps} rotation{'s' if steps > 1 else ''}",
        "key-switching noise / scale at that point",
        math.hypot(
            TAIL * over_all * math.sqrt(max(terms - 1, 1)), TAIL_OF_ONE_SLOT * worst * math.sqrt(steps)
        ),
    )


def _rescale(run: _Run, drop: int) -> None:
    run.scale /= run.dropped(drop)
    run.primes -= drop
    run.add(
        "rescaling",
        "sqrt(n/2) * sqrt((2n/3 + 1)/12) / scale after",
        TAIL * _slot(run.parameters.n, rounding_sigma(run.parameters.n), run.scale),
    )


# ---- words ----


def _advice(computation: Computation, run: _Run) -> Advice:
    parameters = run.parameters
    wire = frame_bytes(parameters, computation.key, computation.xof)
    arena = arena_bytes(parameters.n, computation.key, run.precision)
    levels = len(parameters.data_primes) - run.primes
    dominant = max(run.parts, key=lambda part: part.error)
    explanation = [
        f"Use {parameters.name}: n = {parameters.n} gives {parameters.slots} slots for your "
        f"{computation.slots}, and its {parameters.log2_q:.1f} bits of primes hold 128-bit security by the "
        f"{parameters.standard} table.",
        f"Encrypt at scale 2^{run.log2_scale}, a device with {run.precision}-bit precision: |value| up to "
        f"{computation.magnitude:g} then stays below 2^{MESSAGE_LIMIT_BITS[run.precision]} there.",
        _levels_sentence(parameters, levels, run),
        f"The predicted error is {run.predicted_error:.2g} in the worst slot, of {computation.max_error:g} "
        f"allowed; most of it comes from {dominant.source} ({dominant.formula}).",
        f"One {computation.key} ciphertext takes {wire:,} bytes on the wire, and {arena:,} bytes of memory "
        "on a device without a preset (CM_CONFIG_PRESET) while it is made; presets take less.",
    ]
    float_error = computation.magnitude * 2.0**-24
    if run.predicted_error < float_error:
        explanation.append(
            f"Values given as 32-bit floats are themselves off by up to {float_error:.2g}, which the "
            "prediction leaves out: give integers with an exponent if you have them."
        )
    if run.log2_weight_scales:
        scales = ", ".join(f"2^{log2:.4g}" for log2 in run.log2_weight_scales)
        explanation.append(f"Encode the plaintext of the products, in order, at scale {scales}.")
    return Advice(
        parameters=parameters,
        log2_scale=run.log2_scale,
        precision=run.precision,
        levels_used=levels,
        log2_weight_scales=tuple(run.log2_weight_scales),
        predicted_error=run.predicted_error,
        error_parts=tuple(run.parts),
        frame_bytes=wire,
        arena_bytes=arena,
        explanation=explanation,
    )


def _levels_sentence(parameters: ParameterSet, levels: int, run: _Run) -> str:
    if levels:
        return f"Rescaling drops {levels} of its {len(parameters.data_primes)} data primes on the way."
    if run.computation.products:
        return "Do not rescale after the product: the modulus has room for the result as it is."
    return "Nothing is multiplied, so nothing is rescaled."


def _refusal(computation: Computation, best: _Run | None) -> str:
    """Return a sentence that explains what is impossible, and what to give up."""
    largest = max(parameters.slots for parameters in BUILTIN)
    if computation.slots > largest:
        return (
            f"{computation.slots} slots do not fit one ciphertext, whose largest has {largest}: split the "
            f"values over {math.ceil(computation.slots / largest)} ciphertexts."
        )
    if best is not None:
        return (
            f"No parameter set reaches an error of {computation.max_error:g}: the best, "
            f"{best.parameters.name} at scale 2^{best.log2_scale}, is predicted to reach "
            f"{best.predicted_error:.2g} on values up to {best.magnitude:.2g}; allow that much, or "
            f"{_less(computation)}."
        )
    depth = _feasible_depth(computation)
    if depth is None:
        return (
            f"Values up to {computation.magnitude:g}, {computation.summed} summed, outgrow every modulus at "
            "every scale: scale them down or sum fewer."
        )
    return (
        f"No parameter set has room for {computation.products} products one after the other on values this "
        f"large: at most {depth} fit; compute the rest after decryption, or scale the values down."
    )


def _less(computation: Computation) -> str:
    """Return what can be given up, in words."""
    ways = [
        *(["sum fewer ciphertexts"] if computation.summed > 1 else []),
        *(["give up products"] if computation.products else []),
        *(["give up rotations"] if computation.rotations else []),
        "encrypt smaller values",
    ]
    return ", ".join(ways[:-1]) + (" or " if len(ways) > 1 else "") + ways[-1]


def _feasible_depth(computation: Computation) -> int | None:
    """Return how many of the products work at some error, or None if not even the sum does."""
    for depth in range(computation.products - 1, -1, -1):
        plain = min(computation.plain_products, depth)
        smaller = replace(
            computation,
            plain_products=plain,
            ciphertext_products=depth - plain,
            weight_norm=computation.weight_norm if plain else None,
        )
        for parameters in _candidates(smaller):
            for precision, rescale_last in ((31, True), (31, False), (63, True), (63, False)):
                if next(_runs(smaller, parameters, precision, rescale_last=rescale_last), None) is not None:
                    return depth
    return None
