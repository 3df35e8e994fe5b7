# SPDX-License-Identifier: Apache-2.0
"""Decrypt ciphertexts or frames of either scheme to arrays, with the secret key."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ciphermote import _evaluator, _owner
from ciphermote.base.arguments import Bytes, flag, instance, whole
from ciphermote.base.errors import AssumptionWarning, MismatchError, ParameterError, ValueRangeError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats.labels import check_key
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.places import Places, integers_at
from ciphermote.parameters.bounds import UNKNOWN, Known, KnownSum, check_digits
from ciphermote.parameters.native import context_of
from ciphermote.parameters.uncertainty import FLOAT_ROUNDING, Uncertainty

Numbers = NDArray[np.float64] | NDArray[np.complex128] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decrypted:
    """Decrypted numbers with their error bounds.

    values: as decrypt returns them, or a model's scores. errors: float64, one for each value, which holds for
    both parts of complex numbers; 0 for exact values. At most one value in 1,000 is off by more: one in 1,400
    for fresh ciphertexts under a public key, one in 16,000 under a secret key. None if unknown; why_unknown
    then explains why. assumes: a clause that says on what the values and their errors rest beside what
    encryptions declare; empty if on nothing.
    """

    values: Numbers
    errors: NDArray[np.float64] | None
    known: Known = field(default=UNKNOWN, repr=False)
    assumes: str = ""

    @property
    def why_unknown(self) -> str:
        """Explains in a sentence why errors is None; empty if the errors are known."""
        if self.errors is not None:
            return ""
        return "bound not known" if self.known.largest is None else "error not known"


def decrypt(
    data: Bytes | Ciphertext,
    key: SecretKey,
    *,
    complex_slots: bool = False,
    places: Places | None = None,
    signed: bool | None = None,
    bare: bool = False,
) -> Numbers:
    """Decrypt a ciphertext: a Ciphertext, or the bytes of one, frames or SEAL's.

    An AssumptionWarning says if the numbers rest on more than what encryptions declare: if an input declared
    no bound, values that exceeded the modulus have wrapped around unnoticed.

    CKKS: float64 [n/2], the slots' real parts, or with complex_slots complex128 [n/2]. Raises
    ValueRangeError if the expected noise leaves no digit of the values.

    BFV: int64 [n]. signed: True from above -t/2 to t/2, False from 0 to t - 1; None for True if the declared
    bound leaves no other reading. Raises ParameterError if it does, or none is declared. places: "slots" or
    "coefficients", as the sender encrypted, which a ciphertext does not reveal; None if t leaves no choice.
    Raises ValueRangeError if a value exceeds the bound, for example because the places are not the sender's.

    bare: accept a ciphertext that names no key, such as one that SEAL saved; for BFV, make a Ciphertext first
    (Ciphertext.from_seal), because such bytes do not contain the plain modulus. Raises FrameError if data is
    not a ciphertext; MismatchError if it is under another key or decrypts to noise, which only the owner may
    learn; ParameterError for options of the other scheme.
    """
    options = _Options(complex_slots, places, signed, bare)
    return _decrypt(data, key, options).values


def decrypt_with_errors(
    data: Bytes | Ciphertext,
    key: SecretKey,
    *,
    model: LinearModel | None = None,
    complex_slots: bool = False,
    places: Places | None = None,
    signed: bool | None = None,
    bare: bool = False,
) -> Decrypted:
    """Decrypt as decrypt does, with an error bound for each number.

    model: the model whose scores the ciphertext holds; the values are then the score of each class, with
    errors that depend on the weights. Raises MismatchError also if the ciphertext does not hold scores of
    this model.

    >>> owner = ciphermote.Owner.generate()
    >>> frames = ciphermote.encrypt([21.4, -27.0], owner.secret_key)
    >>> found = ciphermote.decrypt_with_errors(frames, owner.secret_key)
    >>> bool(abs(found.values[0] - 21.4) <= found.errors[0])
    True
    """
    if model is not None:
        instance(model, LinearModel, "model", "a LinearModel")
        if complex_slots:
            raise ParameterError("A model's scores are real numbers: leave complex_slots (--complex) out.")
        places, signed = None, None
    options = _Options(complex_slots, places, signed, bare)
    found = _decrypt(data, key, options, model)
    return replace(found, errors=_errors(found.values, found.known, options, model))


def variance_with_errors(total: Decrypted, squares: Decrypted, count: int) -> Decrypted:
    """Return the variance of `count` readings, slot by slot: E[x^2] - E[x]^2.

    total, squares: the sum of the readings and of their squares. A reading's error e contributes 2 (x - mean)
    e, because it is the same in both sums, so the sum of squares has the error that it would have for
    readings shifted to their mean.
    """
    count = whole(count, "count", 1, 2**40, "2^40")
    mean = total.values / count
    found = np.asarray(squares.values / count - mean**2, dtype=np.float64)
    errors = None
    if total.errors is not None and squares.errors is not None:
        error = squares.known.error
        central = count * np.maximum(found, 0.0)
        errors = np.zeros(found.shape) if error is None else error.stated_at(central) / count
        errors = errors + FLOAT_ROUNDING * (np.abs(squares.values) / count + np.abs(mean) ** 2)
    known = squares.known if errors is None else total.known
    return Decrypted(found, errors, known, total.assumes or squares.assumes)


def is_within_bound(found: Decrypted) -> bool:
    """Whether all values are within the ciphertext's declared bound, with room for twice their error. CKKS:
    both parts of complex slots, as what a sender hides in the imaginary ones widens the errors of the real
    ones. Raises ParameterError if no bound, or no error, is declared."""
    known = found.known
    is_exact = found.values.dtype == np.int64
    if known.largest is None or (known.error is None and not is_exact):
        raise ParameterError(
            "What the senders are bound by is not declared, so nothing tells whether their values are within "
            "it: enroll those of older versions anew, or have one sum computed, unchecked (--groups 0)."
        )
    if is_exact:
        return bool((np.abs(found.values) <= known.largest).all())
    assert known.error is not None
    most = known.largest + 2 * (known.error.stated + FLOAT_ROUNDING * known.largest)
    slots = np.asarray(found.values, dtype=np.complex128)
    return bool((np.abs(slots.real) <= most).all() and (np.abs(slots.imag) <= most).all())


def sum_with_errors(terms: Sequence[Decrypted]) -> Decrypted:
    """Add up decrypted sums that have no encryption in common: integers, or the real parts of complex
    slots."""
    known = KnownSum(distinct=True)
    for term in terms:
        known.add(term.known)
    assumes = next((term.assumes for term in terms if term.assumes), "")
    total = np.sum([term.values for term in terms], axis=0)
    if total.dtype == np.int64:
        return Decrypted(total, np.zeros(total.shape), known.known, assumes)
    errors, error = None, known.known.error
    if error is not None:
        rounding = FLOAT_ROUNDING * sum(float(np.abs(term.values).max()) for term in terms)
        errors = _errors_of_slots(total, error) + rounding
    return Decrypted(total.real.copy(), errors, known.known, assumes)


@dataclass
class _Options:
    """The options of a decryption, and what it has found. is_exact: whether it is BFV's; slots: CKKS's, with
    their imaginary parts."""

    complex_slots: bool
    places: Places | None
    signed: bool | None
    bare: bool
    is_exact: bool = False
    slots: NDArray[np.complex128] | None = None

    def __post_init__(self) -> None:
        self.complex_slots = flag(self.complex_slots, "complex_slots (--complex)")
        self.signed = None if self.signed is None else flag(self.signed, "signed (--signed)")
        self.bare = flag(self.bare, "bare (--bare)")


def _decrypt(
    data: Bytes | Ciphertext, key: SecretKey, options: _Options, model: LinearModel | None = None
) -> Decrypted:
    """Decrypt without errors, and warn of what the numbers assume."""
    instance(key, SecretKey, "The key", "an owner's secret_key")
    given = _opened(data, key)
    options.is_exact = given.scheme.is_bfv
    check_digits("The ciphertext", given.known, key.parameters)
    if model is not None and given.key_id is not None:
        check_scores(model, given.model_id)
    check_key("the ciphertext", given.key_id, "the secret key", key.key_id, bare=options.bare)
    found = _integers(given, key, options, model) if options.is_exact else _slots(given, key, options)
    if model is not None:
        if len(found) < model.classes:
            raise ParameterError(
                f"The model has {model.classes} classes and the ciphertext {len(found)} slots: "
                "give its own model."
            )
        found = found[: model.classes].astype(np.float64)
    assumes = _assumption(given)
    if assumes:
        warnings.warn(f"These numbers are right only if {assumes}.", AssumptionWarning, stacklevel=4)
    return Decrypted(found, None, given.known, assumes)


def _assumption(given: Ciphertext) -> str:
    """Return Decrypted.assumes."""
    if given.known.assumed:
        return "no reading is beyond the bound that the computation was given: not all declare one as small"
    if given.known.largest is not None:
        return ""
    if given.scheme.is_bfv:
        return (
            f"nothing exceeded the plain modulus {given.scheme.plain_modulus}: not all inputs declare a bound"
        )
    return (
        f"nothing exceeded {given.bound:.6g}, which the modulus has room for: not all inputs declare a bound"
    )


def _opened(data: Bytes | Ciphertext, key: SecretKey) -> Ciphertext:
    if not isinstance(data, Ciphertext):
        return Ciphertext.from_bytes(data, key.parameters)
    if data.parameters != key.parameters:
        raise MismatchError(
            f"The ciphertext is of {data.parameters.name} and the secret key of {key.parameters.name}: "
            "use the ciphertext and the key of one set."
        )
    return data


def check_under(given: Ciphertext, key: SecretKey) -> None:
    """Raises MismatchError if a ciphertext decrypts to noise: it is under another key, or too much was
    computed on it."""
    if given.scheme.is_bfv:
        content = _evaluator.Ciphertext(context_of(given.parameters), given.hosted.residues(), 1.0)
        _owner.decrypt_bfv(content, key.hosted, given.scheme.plain_modulus)
    else:
        _owner.decrypt(given.hosted, key.hosted)


def _slots(given: Ciphertext, key: SecretKey, options: _Options) -> Numbers:
    """Decrypt CKKS's slots."""
    if options.places is not None or options.signed:
        raise ParameterError("The ciphertext is of CKKS: leave places and signed (--as, --signed) out.")
    slots = _owner.decrypt(given.hosted, key.hosted)
    options.slots = slots
    return slots if options.complex_slots else slots.real.copy()


def _integers(
    given: Ciphertext, key: SecretKey, options: _Options, model: LinearModel | None
) -> NDArray[np.int64]:
    """Decrypt BFV's integers."""
    if options.complex_slots:
        raise ParameterError("The ciphertext is of BFV, integers: leave complex_slots (--complex) out.")
    places, signed, t = options.places, options.signed, given.scheme.plain_modulus
    largest = given.known.largest
    if model is not None:
        places, signed = "slots", True
    if signed and largest is not None and largest > t // 2:
        raise ParameterError(
            f"The integers may reach {largest:,.15g} either way, and those with a sign go up to "
            f"{t // 2:,} modulo {t}: say --unsigned if none is negative (in Python, signed=False), or "
            "encrypt with a larger plain modulus."
        )
    if signed is None:
        if largest is None:
            raise ParameterError(
                "No bound on these integers is declared, so a negative one cannot be told from a large one: "
                "say whether they have a sign (--signed or --unsigned; in Python, signed), or what the "
                "device's largest value is when you read its frames (largest, in Python)."
            )
        if 2 * largest >= t:
            raise ParameterError(
                f"The integers may reach {largest:,.15g} either way, and modulo {t} a negative one could not "
                "be told from a large one: say that none is negative (--unsigned; in Python, signed=False), "
                "or encrypt with a larger plain modulus."
            )
        signed = True
    # The hosted secret key is of the set alone, without a plain modulus.
    content = _evaluator.Ciphertext(context_of(given.parameters), given.hosted.residues(), 1.0)
    coefficients = _owner.decrypt_bfv(content, key.hosted, t).astype(np.int64)
    found = integers_at(coefficients, t, places, signed=signed)
    _check_integers(found, largest, t)
    return found


def _check_integers(found: NDArray[np.int64], largest: float | None, plain_modulus: int) -> None:
    """Raises ValueRangeError if an integer exceeds the bound, read from 0 to t - 1 or with a sign. If the
    bound leaves both, none is negative."""
    if largest is None:
        return
    beyond = np.abs(found) > largest
    if 2 * largest < plain_modulus:
        beyond &= found < plain_modulus - largest
    if beyond.any():
        place = int(np.argmax(beyond))
        raise ValueRangeError(
            f"Number {place + 1} is {found[place]:,} modulo {plain_modulus}, and by its label no integer is "
            f"beyond {largest:,.15g}: read the places that the sender encrypted (--as), look for what "
            "encrypted a larger one, or, where it was computed modulo t, take Ciphertext.without_bound."
        )


def check_scores(model: LinearModel, model_id: int | None) -> None:
    """Raises MismatchError unless a ciphertext's label states that it holds this model's scores. model_id:
    the label's."""
    if model_id is None:
        raise MismatchError(
            "By its label the ciphertext holds no model's scores: score it with `ciphermote infer` first (in "
            "Python, compute), or leave the model (--model) out to see its slots."
        )
    if model_id != model.id:
        raise MismatchError(
            f"The ciphertext holds the scores of model {model_id:016x}, and the model given is "
            f"{model.id:016x}: give the model that `ciphermote infer` was given."
        )


def _errors(
    values: Numbers, known: Known, options: _Options, model: LinearModel | None
) -> NDArray[np.float64] | None:
    if known.largest is None:
        return None
    if options.is_exact:
        return np.zeros(values.shape)
    if known.error is None:
        return None
    assert options.slots is not None
    rounding = FLOAT_ROUNDING * float(np.abs(options.slots).max())
    if model is not None:
        of_classes = known.of_classes(model.weights)
        return None if of_classes is None else of_classes + rounding
    if options.complex_slots:
        return np.full(values.shape, known.error.stated + rounding)
    return _errors_of_slots(options.slots, known.error) + rounding


def _errors_of_slots(slots: NDArray[np.complex128], error: Uncertainty) -> NDArray[np.float64]:
    if (np.abs(slots.imag) > 2 * error.stated).any():  # a curve is of real values
        return np.full(slots.shape, error.stated)
    return error.stated_at(slots.real)
