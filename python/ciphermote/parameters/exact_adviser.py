# SPDX-License-Identifier: Apache-2.0
"""The owner's adviser for exact integers chooses the plain modulus t and the set for a BFV computation.

Results are exact while two bounds hold, which are both checked before anything is encrypted. No value may
leave +-(t - 1) / 2, because it would be reduced modulo t. And t times the noise may not pass q / 4, one bit
of noise budget, below which decryption refuses a ciphertext as another key's; q is the product of the data
primes.

It predicts by worst-case bounds: random noise counts EXACT_TAIL standard deviations, noise that may be equal
is assumed to be, and the sources of noise are added. noise here is in units of a coefficient.

* A fresh ciphertext has the encryption's noise, and 1/2 for the rounding of q m / t.
* A sum adds the noise of independent encryptions up as roots of squares, their roundings plainly.
* A weight common to a ciphertext's slots multiplies its noise. Weights of their own in each slot are a
  polynomial d with coefficients up to t/2: the noise's product with it has up to sqrt(n) t/2 the standard
  deviation, and the rounding's up to n t/2 the size.
* Rotations that add slots up add the noise of as many ciphertexts. They do not move the constant coefficient,
* where equal noise may add up. Key switching brings noise of its own. Scores are switched to the fewest
* primes that hold them, which rounds once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from ciphermote.base.errors import ParameterError
from ciphermote.parameters import BUILTIN, SECURITY_BOUNDS, ParameterSet, batches
from ciphermote.parameters.adviser import SEED_BYTES, frame_bytes, option, work_bytes
from ciphermote.parameters.noise import (
    EXACT_TAIL,
    LARGEST,
    SIGMA,
    Key,
    encryption_sigma,
    fewest_result_primes,
    rounding_sigma,
    special_ratio,
)

_MOST = 2**64


@dataclass(frozen=True)
class ExactComputation:
    """A computation with integers under encryption: a sum of ciphertexts, a weighted sum of them, a sum of
    slots, or a linear model's scores.

    magnitude: the largest |integer| that a device encrypts. slots: integers in one ciphertext; with
    rotations, those that are added up (a model's features). summed: how many fresh ciphertexts are added up.
    largest_weight: the largest |weight|, an integer; None without products. Without rotations each ciphertext
    of the sum has a weight (WeightedSum), with them each slot (LinearModel). rotations: whether slots are
    added up. largest_result: the largest |result|, if it differs from the bound that the other fields imply,
    for example because of a bias (see LinearModel.score_bound). plain_modulus: t if it is given; 0 to choose
    one. key, standard, xof: as Computation's.

    Raises ParameterError for a field outside its range.
    """

    magnitude: int
    slots: int = 1
    summed: int = 1
    largest_weight: int | None = None
    rotations: bool = False
    largest_result: int | None = None
    plain_modulus: int = 0
    key: Key = "asymmetric"
    standard: str = "2024"
    xof: str = "chacha20"

    def __post_init__(self) -> None:
        for name in ("magnitude", "slots", "summed", "largest_weight", "largest_result"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and 1 <= value <= _MOST):
                raise ParameterError(f"{option(name)} is {value}: give a whole number from 1 to 2^64.")
        if type(self.plain_modulus) is not int or self.plain_modulus < 0 or self.plain_modulus == 1:
            raise ParameterError(
                f"{option('plain_modulus')} is {self.plain_modulus}: give a whole number from 2 on, or 0 "
                "for advice."
            )
        for name, known in (("key", ("symmetric", "asymmetric")), ("standard", SECURITY_BOUNDS)):
            if getattr(self, name) not in known:
                raise ParameterError(f"{name} is {getattr(self, name)!r}: give one of {', '.join(known)}.")
        if self.xof not in SEED_BYTES:
            raise ParameterError(f"xof is {self.xof!r}: give one of {', '.join(SEED_BYTES)}.")

    @property
    def result_bound(self) -> int:
        """A bound on every |result| and every encrypted |integer|."""
        if self.largest_result is not None:
            return max(self.largest_result, self.magnitude)
        added = self.slots if self.rotations else 1
        return self.magnitude * self.summed * (self.largest_weight or 1) * added

    @property
    def needs_slots(self) -> bool:
        """Whether integers must be batched, because slots are multiplied or moved."""
        return self.rotations or self.largest_weight is not None


@dataclass(frozen=True)
class NoisePart:
    """One source of noise: its share of the bound, and how it is computed."""

    source: str
    formula: str
    noise: float


@dataclass(frozen=True)
class ExactAdvice:
    """Recommended parameters and the expected result.

    plain_modulus: t. batched: integers are in slots; otherwise t has none, and they are in coefficients.
    largest_result: the bound on every |result|. noise_budget: bits left at the end, at least. frame_bytes:
    one fresh ciphertext on the wire, headers and checksums included. arena_bytes: the memory that one
    encryption needs on the device. explanation: sentences for people.
    """

    parameters: ParameterSet
    plain_modulus: int
    batched: bool
    largest_result: int
    noise_budget: float
    noise_parts: tuple[NoisePart, ...]
    frame_bytes: int
    arena_bytes: int
    explanation: list[str] = field(compare=False)


def advise_exact(computation: ExactComputation) -> ExactAdvice:
    """Recommend the smallest built-in parameter set, and its smallest plain modulus, with exact results.

    Raises ParameterError, which says what to give up, if no set of the standard can do it.
    """
    loud: _Fit | None = None
    for parameters in _candidates(computation):
        for t in _moduli(computation, parameters):
            fit = _Fit(computation, parameters, t)
            if fit.noise_budget >= 1:
                return _advice(fit)
            if loud is None or fit.noise_budget > loud.noise_budget:
                loud = fit
    raise ParameterError(_refusal(computation, loud))


def _candidates(computation: ExactComputation) -> list[ParameterSet]:
    """Yield sets with enough slots and, if needed, key switching, smallest first."""
    fit = [
        parameters
        for parameters in BUILTIN
        if parameters.standard in ("2024", computation.standard)
        and computation.slots <= _most_slots(computation, parameters)
        and (parameters.special_prime or not computation.rotations)
    ]
    return sorted(fit, key=lambda parameters: parameters.n)


def _most_slots(computation: ExactComputation, parameters: ParameterSet) -> int:
    """Return the most slots of a computation: rotations turn each row of n/2 slots separately."""
    return parameters.n // 2 if computation.rotations else parameters.n


def _moduli(computation: ExactComputation, parameters: ParameterSet) -> Iterator[int]:
    """Yield the given plain modulus, or the smallest that batches, if it serves this set."""
    n, least, most = parameters.n, 2 * computation.result_bound + 1, min(parameters.primes)
    t = computation.plain_modulus
    if not t:
        smallest = least + (1 - least) % (2 * n)
        t = next((t for t in range(max(smallest, 2 * n + 1), most, 2 * n) if batches(t, n)), most)
    elif computation.needs_slots and not batches(t, n):
        return
    if least <= t < most:
        yield t


@dataclass(frozen=True)
class _Fit:
    """A computation at one set and plain modulus, and the bound of its noise."""

    computation: ExactComputation
    parameters: ParameterSet
    plain_modulus: int

    @property
    def parts(self) -> tuple[NoisePart, ...]:
        if not self.computation.rotations:
            return self._of_a_sum(self.computation.largest_weight or 1)
        if self.computation.largest_weight is None:
            return self._of_added_slots(1 << (self.computation.slots - 1).bit_length())
        return self._of_scores(self.parameters.n // 2)

    def _of_a_sum(self, weight: int, terms: int = 1) -> tuple[NoisePart, ...]:
        """Return the noise after one weight for each ciphertext and sums over rotations, including that of
        the secret key."""
        summed, times = self.computation.summed, weight * terms
        factors = (f" * weight {weight}" if weight > 1 else "") + (f" * {terms} slots" if terms > 1 else "")
        random, formula = self._random()
        if self.computation.key == "symmetric" and LARGEST * summed < random:
            random, formula = LARGEST * summed, "21 * summed"
        return (
            NoisePart(f"{self.computation.key} encryption", formula + factors, random * times),
            NoisePart("rounding of q m / t", "summed / 2" + factors, summed / 2 * times),
        )

    def _of_added_slots(self, terms: int) -> tuple[NoisePart, ...]:
        return *self._of_a_sum(1, terms), self._switching(terms)

    def _of_scores(self, terms: int) -> tuple[NoisePart, ...]:
        n, t, summed = self.parameters.n, self.plain_modulus, self.computation.summed
        random, formula = self._random()
        return (
            NoisePart(
                f"{self.computation.key} encryption",
                f"{formula} * sqrt(n) t/2 * {terms} slots",
                random * math.sqrt(n) * t / 2 * terms,
            ),
            NoisePart(
                "rounding of q m / t", f"summed / 2 * n t/2 * {terms} slots", summed / 2 * n * t / 2 * terms
            ),
            self._switching(terms),
        )

    def _random(self) -> tuple[float, str]:
        """Return the noise of the sum of fresh encryptions, and its formula."""
        n, key, summed = self.parameters.n, self.computation.key, self.computation.summed
        formula = "8 * 3.24" + (" * sqrt(4n/3 + 1)" if key == "asymmetric" else "") + " * sqrt(summed)"
        return EXACT_TAIL * encryption_sigma(n, key) * math.sqrt(summed), formula

    def _switching(self, terms: int) -> NoisePart:
        """Return the noise of key switching. Digits count as q_j, their bound, because equal digits add
        up."""
        n, primes = self.parameters.n, len(self.parameters.data_primes)
        digits = SIGMA * math.sqrt(n) * special_ratio(self.parameters, primes)
        return NoisePart(
            "key switching",
            f"8 * sqrt(10.5 n sum (q_j/P)^2 + (2n/3 + 1)/12) * {terms} slots",
            EXACT_TAIL * math.hypot(digits, rounding_sigma(n)) * terms,
        )

    @property
    def noise_budget(self) -> float:
        """The bits left: log2 of half the modulus over t times the noise."""
        q = self.parameters.data_modulus
        relative = sum(part.noise for part in self.parts) / (q / self.plain_modulus)
        if self.computation.rotations and self.computation.largest_weight:
            kept = fewest_result_primes(self.parameters, self.plain_modulus)
            if kept < len(self.parameters.data_primes):
                switch = EXACT_TAIL * rounding_sigma(self.parameters.n) * self.plain_modulus
                relative += switch / self.parameters.moduli[kept]
        return -1 - math.log2(relative)


# ---- words ----


def _advice(fit: _Fit) -> ExactAdvice:
    computation, parameters, t = fit.computation, fit.parameters, fit.plain_modulus
    key, batched = computation.key, batches(t, parameters.n)
    wire = frame_bytes(parameters, key, computation.xof)
    arena = parameters.n * (2 if t <= 1 << 16 else 4) + work_bytes(parameters.n, key)
    parts = fit.parts
    dominant = max(parts, key=lambda part: part.noise)
    places = (
        f"{_most_slots(computation, parameters)} slots"
        if batched
        else f"{parameters.n} coefficients (this modulus has no slots)"
    )
    explanation = [
        f"Use {parameters.name}: n = {parameters.n} gives {places} for your {computation.slots}, and its "
        f"{parameters.log2_q:.1f} bits of primes hold 128-bit security by the {parameters.standard} table.",
        f"Encrypt modulo {t}: results up to {computation.result_bound} have room in +-{(t - 1) // 2}, "
        "negative ones too.",
        f"At least {fit.noise_budget:.1f} bits of noise budget are left in the end, and 1 is needed; most of "
        f"the noise comes from {dominant.source} ({dominant.formula}).",
        f"One {key} ciphertext takes {wire:,} bytes on the wire, and {arena:,} bytes of memory on a device "
        "without a preset (CM_CONFIG_PRESET) while it is made; presets take less.",
    ]
    return ExactAdvice(
        parameters=parameters,
        plain_modulus=t,
        batched=batched,
        largest_result=(t - 1) // 2,
        noise_budget=fit.noise_budget,
        noise_parts=parts,
        frame_bytes=wire,
        arena_bytes=arena,
        explanation=explanation,
    )


def _refusal(computation: ExactComputation, loud: _Fit | None) -> str:
    """Return a sentence that explains what is impossible, and what to give up."""
    bound, t, slots = computation.result_bound, computation.plain_modulus, computation.slots
    most_slots = max(_most_slots(computation, parameters) for parameters in BUILTIN)
    if slots > most_slots:
        return (
            f"{slots} slots do not fit one ciphertext, whose largest has {most_slots}: split the integers "
            f"over {math.ceil(slots / most_slots)} ciphertexts."
        )
    if t and 2 * bound + 1 > t:
        return (
            f"Results reach {bound}, and integers modulo {t} hold up to {(t - 1) // 2}: take a larger "
            "modulus, or leave it out to be advised one."
        )
    if loud is not None:
        fewer = "sum fewer ciphertexts, take smaller weights, or leave the modulus out to be advised one"
        return (
            f"No parameter set has room for the noise modulo {loud.plain_modulus}: the best, "
            f"{loud.parameters.name}, is left {loud.noise_budget:.1f} bits of noise budget, and 1 is needed; "
            f"{fewer}."
        )
    largest = max(min(parameters.primes) for parameters in _candidates(computation))
    if t >= largest:
        return f"No parameter set that serves has all its primes above {t}: take a modulus below {largest}."
    if t:
        return (
            f"The modulus {t} has no slots in any set that serves, and weights and rotations need them: take "
            "a prime that is 1 modulo 2n, or leave it out to be advised one."
        )
    return (
        f"Results reach {bound}, and no modulus of any set that serves holds more than {(largest - 1) // 2}: "
        "encrypt smaller integers, sum fewer, or take smaller weights."
    )
