# SPDX-License-Identifier: Apache-2.0
"""The ciphertext as an object, which encrypt returns, operations take and return, and decrypt takes.

Inside a process a ciphertext is always this object. Bytes exist only at the border: a device's frames, and
SEAL's bytes with a label. Each reader here parses and checks them once, and each writer writes them once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote import _evaluator as native
from ciphermote.base.arguments import Bytes, array, check_bytes, instance
from ciphermote.base.errors import EngineError, FrameError, MismatchError, ParameterError
from ciphermote.base.words import count_of, scale_name
from ciphermote.formats.declaration import Declaration, split_view
from ciphermote.formats.frame_finder import are_frames
from ciphermote.formats.frames import read_stated_set, source_of, stated_header, stated_parameters
from ciphermote.formats.labels import check_key, other_scheme
from ciphermote.formats.residues import expand_second
from ciphermote.formats.seal import (
    MAX_SCALE,
    SealCiphertext,
    WideCiphertext,
    read_as_labelled,
    read_wide_ciphertext,
    write_ciphertext,
    write_wide_ciphertext,
)
from ciphermote.parameters import CKKS, ParameterSet, Scheme, batches
from ciphermote.parameters.bounds import (
    UNKNOWN,
    Knowledge,
    Known,
    check_digits,
    check_error,
    check_largest,
    check_room,
    room,
    sum_of,
    terms_of_product,
)
from ciphermote.parameters.native import context_of, core_params, wide_chain_of
from ciphermote.parameters.noise import Key, rounding_noise
from ciphermote.parameters.schemes import checked_scheme
from ciphermote.parameters.seal_chain import SealChain, level_in
from ciphermote.parameters.uncertainty import FLOAT_ROUNDING, Uncertainty

A_SET = "a ParameterSet (ciphermote.parameters.by_name, Owner.parameters)"
ANY_SIZE, RELINEARIZED = (2, 3), (2,)
"""Numbers of polynomials: a product has three until it is relinearized."""


@dataclass(frozen=True)
class SealResult:
    """A ciphertext under a chain of SEAL's own.

    data: SEAL's bytes. primes: the number of primes, its level in SEAL. scale: CKKS's; 1 for BFV. known: what
    is known about its values, with the error of the switch.
    """

    data: bytes = field(repr=False)
    primes: int
    scale: float
    known: Known = UNKNOWN


class Ciphertext:
    """An encrypted vector that supports arithmetic.

    Sums of two, and sums and products with numbers in the clear, need no key.

    x + y, x - y, -x; x + 2.5, x - [1, 2], 3 * x. A single number applies to all slots; a sequence has at most
    as many numbers as there are slots. If two ciphertexts are at different levels, the one with more primes
    is brought to the other's. In CKKS a product with an int keeps the scale; any other product multiplies it
    by the last prime, and rescale brings it back. match brings a ciphertext to the scale and level of
    another. Every operation computes the largest |value| that its result may have, and refuses a result that
    may exceed the modulus. In BFV, if t has no slots, products are those of polynomials modulo X^n + 1 or
    with an int, and numbers cannot be added.

    from_frames, from_seal and from_bytes read it; to_seal writes it, and so does to_frames, if it was
    encrypted here or read from frames. It pickles as those bytes. parameters: its set. scheme: CKKS or
    BFV(t). model_id: ID of the model whose scores it holds (LinearModel.id), or None. Raises ValueRangeError
    if values may outgrow the modulus; EngineError if scales, parameters or schemes differ; MismatchError for
    two keys.
    """

    __slots__ = ("_frames", "_key_id", "_knowledge", "_native", "model_id", "parameters", "scheme")

    def __init__(
        self,
        parameters: ParameterSet,
        scheme: Scheme,
        key_id: int | None,
        content: native.Ciphertext,
        known: Known | Knowledge = UNKNOWN,
        *,
        model_id: int | None = None,
    ) -> None:
        """Make a ciphertext; use encrypt or a reader instead."""
        self.parameters = parameters
        self.scheme = scheme
        self._key_id = key_id
        self._native = content
        self._knowledge = known if isinstance(known, Knowledge) else Knowledge.of(known)
        self.model_id = model_id
        self._frames: bytes | None = None

    @classmethod
    def from_bytes(
        cls,
        data: Bytes,
        parameters: ParameterSet | None = None,
        scheme: Scheme | None = None,
        *,
        sizes: Collection[int] = ANY_SIZE,
    ) -> Ciphertext:
        """Read frames or SEAL's bytes, whichever data holds, as from_frames and from_seal do.

        sizes: the numbers of polynomials to accept.
        """
        check_bytes(data, "The ciphertext")
        if are_frames(data):
            return cls.from_frames(data, parameters, scheme)
        return cls.from_seal(data, parameters, scheme, sizes=sizes)

    @classmethod
    def from_seal(
        cls,
        data: Bytes,
        parameters: ParameterSet | None = None,
        scheme: Scheme | None = None,
        *,
        sizes: Collection[int] = ANY_SIZE,
    ) -> Ciphertext:
        """Read SEAL's bytes, with a label or without.

        parameters: the set; None for the built-in one that the label names. scheme: None for the label's, or
        CKKS without a label. sizes: the numbers of polynomials to accept. Raises FrameError or MismatchError;
        ParameterError if nothing names the set.
        """
        check_bytes(data, "The ciphertext")
        if parameters is not None:
            instance(parameters, ParameterSet, "parameters", A_SET)
        if scheme is not None:
            checked_scheme(scheme)
        return cls.of_seal(read_as_labelled(data, parameters, scheme, sizes=sizes))

    @classmethod
    def from_frames(
        cls,
        data: Bytes,
        parameters: ParameterSet | None = None,
        scheme: Scheme | None = None,
        *,
        largest: float | None = None,
    ) -> Ciphertext:
        """Read the frames of one ciphertext, in any order, after their declaration if they have one.

        parameters: the set; None for the built-in one that the frames name. scheme: None for the frames'
        scheme. largest: the bound on |value| that the device was provisioned with (the keys'
        Readings.largest), for frames without a declaration; None if unknown. Raises FrameError, which says
        what is wrong; MismatchError for another scheme.
        """
        check_bytes(data, "The frames")
        if not are_frames(data):
            raise FrameError("These bytes are no frames: give what a device sent, or encrypt gave.")
        of = stated_parameters(data) if parameters is None else parameters
        instance(of, ParameterSet, "parameters", A_SET)
        wanted = _stated_scheme(data, of) if scheme is None else checked_scheme(scheme)
        if largest is not None:
            data = _declared(data, of, check_largest(largest))
        found = cls._from_sound_frames(data, of, wanted)
        if found is None:  # the reader of frames says what is wrong
            stated = _stated_scheme(data, of)
            if stated != wanted:
                raise other_scheme(stated, wanted)
            found = cls.of_seal(read_stated_set(data, of).seal_ciphertext())
        found._frames = bytes(data)
        return found

    @classmethod
    def of_seal(cls, found: SealCiphertext) -> Ciphertext:
        """Make a ciphertext from the object that read_ciphertext returns."""
        residues = np.ascontiguousarray(expand_second(found), dtype=np.uint32)
        form = native.Form.values if found.ntt_form else native.Form.coefficients
        content = native.Ciphertext(context_of(found.parms, found.scheme), residues, found.scale, form)
        return cls(found.parms, found.scheme, found.key_id, content, found.known, model_id=found.model_id)

    @classmethod
    def _from_sound_frames(cls, data: Bytes, parameters: ParameterSet, scheme: Scheme) -> Ciphertext | None:
        """Read frames in one pass; None if anything is wrong with them, or they have another set or
        modulus."""
        declared, frames = split_view(data)
        content, sent, _ = native.Ciphertext.from_frames(
            context_of(parameters, scheme), core_params(parameters), frames
        )
        if content is None or content.components != 2:
            return None
        largest = None
        if declared is not None:
            of = parameters.id, sent.key_id, sent.counter
            if (declared.parameters_id, declared.key_id, declared.counter) != of:
                return None
            largest = declared.largest
        known = Known(largest)
        if not scheme.is_bfv and largest is not None:
            key: Key = "symmetric" if sent.seeded else "asymmetric"
            source = source_of(content.first_residues())
            known = Known.encrypted(largest, parameters, key, content.scale, source)
        return cls(parameters, scheme, sent.key_id, content, known)

    def to_frames(self) -> bytes:
        """Write the declaration and frames as they were encrypted or read.

        Raises EngineError for a computed ciphertext or one read from SEAL's bytes: only fresh encryptions
        have frames.
        """
        if self._frames is None:
            raise EngineError(
                "This ciphertext was computed, or came in SEAL's bytes, and has no frames, which are what a "
                "sender encrypts: write SEAL's bytes (Ciphertext.to_seal)."
            )
        return self._frames

    @classmethod
    def from_seal_chain(
        cls,
        data: Bytes,
        chain: SealChain,
        parameters: ParameterSet | None = None,
        *,
        key_id: int | None = None,
        primes: int | None = None,
        largest: float | None = None,
        error: float | Key | None = None,
        sizes: Collection[int] = ANY_SIZE,
    ) -> Ciphertext:
        """Read bytes that SEAL saved under a chain of its own, and switch their modulus to a set's.

        Each coefficient is multiplied by Q / P and rounded to the nearest integer, exactly: P is SEAL's
        modulus at the ciphertext's level, Q the set's. The key does not change. BFV: t does not change, and
        at most log2(P / Q) + 1 bits of noise budget are lost, or 1 bit if Q is larger. CKKS: the scale
        becomes Q / P times as large.

        parameters: a set of the same n; by default the chain's nearest_set. key_id: ID of the set's keys that
        were made for SEAL's secret key (Owner.from_seal), for which the caller vouches, because SEAL's bytes
        name no key. primes: the level to come to; by default the one with the fewest primes of which Q is not
        below P. largest: a bound on |value|, if one is known. error (CKKS): how far each value may be off
        already, or the key that freshly encrypted it; a seeded ciphertext is known to be fresh. With largest
        and error, the result's stated error is known, this rounding included. Raises FrameError or
        MismatchError; ParameterError for another n, a level that there is not, or one without room for the
        scale; ValueRangeError if values up to largest have no room.
        """
        check_bytes(data, "The ciphertext")
        instance(chain, SealChain, "chain", "a SealChain (ciphermote.SealChain)")
        of = chain.nearest_set if parameters is None else parameters
        instance(of, ParameterSet, "parameters", A_SET)
        chain.check_set(of)
        found = read_wide_ciphertext(data, chain, sizes=sizes)
        count = level_in(chain.moduli[found.primes], of.moduli, len(of.data_primes), primes)
        scale = _switched_scale(found.scale, chain.moduli[found.primes], of.moduli[count], chain.scheme)
        residues = wide_chain_of(chain).switched(_coefficients_of(found), wide_chain_of(of), count)
        content = native.Ciphertext(
            context_of(of, chain.scheme), residues.astype(np.uint32), scale, native.Form.coefficients
        )
        known = UNKNOWN if largest is None else Known(check_largest(largest))
        if not chain.scheme.is_bfv and known.largest is not None:
            already = "symmetric" if found.seed is not None and error is None else error
            if isinstance(already, str):
                fresh = Uncertainty.of(chain.encryption_noise(already), of.n, found.scale)
                known = Known(
                    known.largest,
                    fresh.plus_noise(Uncertainty.encoding(of, found.scale)),
                    sources=frozenset((source_of(content.first_residues()),)),
                    slots_independent=True,
                )
            elif already is not None:
                known = replace(known, error=Uncertainty((0.0,), bias=check_error(already)))
            known = _after_switch(known, of.n, scale, len(residues))
        check_room("The ciphertext from SEAL", known.largest, of, count, scale, chain.scheme)
        return cls(of, chain.scheme, key_id, content, known)

    def to_seal_chain(self, chain: SealChain, *, primes: int | None = None) -> SealResult:
        """Switch the modulus to that of a chain of SEAL's own, the reverse of from_seal_chain, and write
        SEAL's bytes, which SEAL decrypts with the same key.

        primes: the level to come to; by default the one with the fewest primes whose modulus is not below the
        ciphertext's, or all data primes. Raises MismatchError for another scheme or plain modulus;
        ParameterError for another n, a level that there is not, or one without room for the scale;
        EngineError if the result is in the clear.
        """
        instance(chain, SealChain, "chain", "a SealChain (ciphermote.SealChain)")
        chain.check_set(self.parameters)
        if chain.scheme != self.scheme:
            raise MismatchError(
                f"The ciphertext is {self.scheme}'s and SEAL's chain {chain.scheme}'s: export it to a chain "
                "of its own scheme and plain modulus."
            )
        modulus = self.parameters.moduli[self.primes]
        count = level_in(modulus, chain.moduli, len(chain.data_primes), primes)
        scale = _switched_scale(self.scale, modulus, chain.moduli[count], self.scheme)
        wide = wide_chain_of(chain)
        coefficients = self._native.coefficients().astype(np.uint64)
        residues = wide_chain_of(self.parameters).switched(coefficients, wide, count)
        if not residues[1].any(axis=-1).all():
            raise EngineError(
                "The result is in the clear, for its second polynomial is zero at a prime of SEAL's chain: "
                "there is nothing to decrypt."
            )
        if not self.scheme.is_bfv:
            residues = wide.to_values(residues)
        data = write_wide_ciphertext(WideCiphertext(chain, count, not self.scheme.is_bfv, scale, residues))
        known = self.known
        if not self.scheme.is_bfv:
            known = _after_switch(known, chain.n, scale, len(residues))
        return SealResult(data, count, scale, known)

    def to_seal(self) -> bytes:
        """Write SEAL's bytes with a label, in the form that SEAL computes in: NTT form for CKKS, coefficients
        for BFV. Raises EngineError if the second polynomial is zero at a prime, because SEAL takes no such
        ciphertext: the result is in the clear, or a multiple of the prime.
        """
        return write_ciphertext(self.as_seal())

    def as_seal(self) -> SealCiphertext:
        """Return the SEAL object that to_seal writes."""
        is_bfv = self.scheme.is_bfv
        residues = self._native.coefficients() if is_bfv else self._native.residues()
        if not residues[1].any(axis=-1).all():
            if residues[1].any() and not residues[0].any(axis=-1).all():
                raise EngineError(
                    "The result is a multiple of a prime of the modulus, as a sum of products is whose "
                    "factors add up to a whole number, and no bytes hold such a ciphertext: rescale it first "
                    "(Evaluator.rescale)."
                )
            raise EngineError(
                "The result is in the clear, for its second polynomial is zero at a prime, as when a "
                "ciphertext is subtracted from itself: there is nothing to decrypt."
            )
        return SealCiphertext(
            self.parameters,
            self.primes,
            not is_bfv,
            self.scale,
            residues,
            scheme=self.scheme,
            key_id=self._key_id,
            model_id=self.model_id,
            known=self.known,
        )

    def __reduce__(self) -> tuple[Callable[..., Ciphertext], tuple[Any, ...]]:
        data = self.to_seal() if self._frames is None else self._frames
        return Ciphertext.from_bytes, (data, self.parameters, self.scheme)

    @property
    def hosted(self) -> native.Ciphertext:
        """The ciphertext as an object of the C++ library."""
        return self._native

    @property
    def scale(self) -> float:
        """The CKKS scale; 1 for BFV."""
        return self._native.scale

    @property
    def primes(self) -> int:
        """Number of primes in the current modulus, which is the level."""
        return self._native.primes

    @property
    def known(self) -> Known:
        """Public knowledge about the values, without decrypting them."""
        return self._knowledge.known

    @property
    def largest(self) -> float | None:
        """The largest |value| that it may hold, derived from the declarations at encryption; None if an input
        had none."""
        return self._knowledge.largest

    def without_key(self) -> Ciphertext:
        """Return a copy that names no key."""
        return Ciphertext(
            self.parameters, self.scheme, None, self._native, self._knowledge, model_id=self.model_id
        )

    def without_bound(self) -> Ciphertext:
        """Return a copy without declarations, for sums and products modulo t that are meant to wrap. Results
        are then no longer refused if they may exceed the modulus, and they are shown without an error."""
        return self._made(self._native, UNKNOWN)

    @property
    def bound(self) -> float:
        """The largest |value| that fits its modulus. CKKS: a quarter of the modulus, over the scale; BFV: t -
        1."""
        return room(self.parameters, self.primes, self.scale, self.scheme)

    @property
    def key_id(self) -> int | None:
        """ID of the encrypting key, or None if unknown."""
        return self._key_id

    def __repr__(self) -> str:
        scale = "" if self.scheme.is_bfv else f" at scale 2^{np.log2(self.scale):.4g}"
        primes = count_of(self.primes, "prime")
        return f"<Ciphertext of {self.parameters.name}, {self.scheme}{scale}, {primes}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        rows = {
            "parameters": self.parameters.name,
            "scheme": str(self.scheme),
            **({} if self.scheme.is_bfv else {"scale": scale_name(self.scale)}),
            "primes": f"{self.primes} of {len(self.parameters.data_primes)}",
            "key": "not known" if self._key_id is None else f"{self._key_id:016x}",
            "bound": self.known.bound_text,
            **({} if self.model_id is None else {"scores of model": f"{self.model_id:016x}"}),
        }
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table><caption>Ciphertext</caption>{cells}</table>"

    def match(self, other: Ciphertext) -> Ciphertext:
        """Bring the ciphertext to the scale and level of another, so that they can be added. CKKS needs one
        prime more than the other has; BFV ciphertexts match anyway. Raises EngineError."""
        instance(other, Ciphertext, "What is to be matched", "a Ciphertext (Evaluator.load)")
        if self.scheme.is_bfv or (self.scale, self.primes) == (other.scale, other.primes):
            return self
        if self.primes <= other.primes:
            raise EngineError(
                f"A ciphertext of {count_of(self.primes, 'prime')} is to match one of {other.primes}, and "
                "that takes a prime more: compute the other one further, or match that one to this."
            )
        above = self._native
        if self.primes > other.primes + 1:
            above = native.mod_switch(above, self.primes - other.primes - 1)
        scale = other.scale * self.parameters.primes[other.primes] / self.scale
        one = native.Plaintext.constant(context_of(self.parameters), 1.0, scale, above.primes)
        self._check("The match", self._knowledge, other.primes, other.scale)
        known = self.known.times_rounded(1.0, scale)
        if scale != self.parameters.primes[other.primes]:  # what is a multiple of the prime is not rounded
            known = self._rescaled(known, other.scale)
        return self._made(native.rescale(native.multiply_plain(above, one)), known)

    def _rescaled(self, known: Known, scale: float) -> Known:
        return known.plus_noise(Uncertainty.rescaling(self.parameters, scale))

    def _switched(self) -> Known:
        """Return what is known after a key switch."""
        return switched(self.known, self.parameters, self.primes, self.scale)

    def _product(self, other: Ciphertext) -> Knowledge:
        """Return what is known of the slot-wise product, relinearized; if t has no slots, of the product of
        polynomials, in which n products add up."""
        terms = terms_of_product(self.parameters, self.scheme)
        mine, others = self._knowledge, other._knowledge
        for each in (mine, others):
            check_digits("A factor", each.known, self.parameters)
        largest = None
        if mine.largest is not None and others.largest is not None:
            largest = mine.largest * others.largest * terms
        of = self.parameters, min(self.primes, other.primes), self.scale * other.scale
        is_square = other is self
        return Knowledge(
            largest,
            lambda: switched(
                (mine.known.square() if is_square else mine.known.product(others.known)).times(terms), *of
            ),
            mine,
            others,
        )

    def _made(self, content: native.Ciphertext, known: Known | Knowledge, *others: Ciphertext) -> Ciphertext:
        key_id = self._key_id
        for other in others:
            key_id = None if other._key_id is None else key_id
        return Ciphertext(self.parameters, self.scheme, key_id, content, known)

    def _check(self, what: str, known: Known | Knowledge, primes: int, scale: float) -> None:
        """Raises ValueRangeError if values as large as `known` allows do not fit a result of so many primes.
        A scale that does not fit is left to the evaluator, whose message tells what to do.
        """
        if scale >= self.parameters.moduli[primes]:
            return
        check_room(what, known.largest, self.parameters, primes, scale, self.scheme)

    def _level_with(self, other: Ciphertext) -> tuple[native.Ciphertext, native.Ciphertext]:
        """Bring two ciphertexts to the lower of their levels."""
        if (self.parameters, self.scheme) != (other.parameters, other.scheme):
            raise EngineError(
                f"{self!r} and {other!r} do not go together: take ciphertexts of one set and scheme."
            )
        check_key("the first ciphertext", self._key_id, "the second one", other._key_id, bare=True)
        mine, others = self._native.primes, other._native.primes
        if mine == others:
            return self._native, other._native
        primes = min(mine, others)
        return self._at_level(primes), other._at_level(primes)

    def _at_level(self, primes: int) -> native.Ciphertext:
        if self.primes == primes:
            return self._native
        self._check("An operand, at the level of the other one,", self._knowledge, primes, self.scale)
        return native.mod_switch(self._native, self.primes - primes)

    def _plain(self, numbers: ArrayLike, scale: float) -> native.Plaintext:
        return encoded(self.parameters, self.scheme, numbers, scale, self.primes)

    def _factor(self, numbers: ArrayLike) -> tuple[native.Plaintext, float]:
        """Encode factors, and return by how much each of them is off: 0 except for multiples of a prime."""
        integer = isinstance(numbers, int | np.integer) and not isinstance(numbers, bool)
        scale = 1.0 if integer else self._last_prime()
        plain = self._plain(numbers, scale)
        present = plain.residues().any(axis=1)
        if not present.any():
            raise EngineError(
                f"The product would be zero in the clear, because at scale {scale_name(scale)} these numbers "
                "are 0: multiply by larger ones."
            )
        if present.all() or self.scheme.is_bfv:
            return plain, 0.0
        if integer:
            raise EngineError(
                f"{array(numbers)} is a multiple of a prime of the modulus, at which the product would be "
                "nothing: multiply by another number."
            )
        # A multiple of a prime would leave nothing at it, which no ciphertext may be: the next integer.
        return self._plain(array(numbers) + 1 / scale, scale), 1 / scale

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            operands = self._level_with(other)
            return self._made(native.add(*operands), self._joined("The sum", other, operands), other)
        if self.scheme.is_bfv and not batches(self.scheme.plain_modulus, self.parameters.n):
            raise EngineError(
                f"The plain modulus {self.scheme.plain_modulus} has no slots at n = {self.parameters.n}, to "
                f"which numbers are added: take a prime that is 1 modulo {2 * self.parameters.n}."
            )
        plain = self._plain(other, self.scale)
        if is_one_real(other):
            known = self.known.plus_number(float(array(other).real))
            rounding = Uncertainty.of_constant(self.scale)
        else:
            known = self.known.plus_slots(largest_of(other))
            rounding = Uncertainty.encoding(self.parameters, self.scale)
        known = known.plus_noise(rounding.biased(FLOAT_ROUNDING * largest_of(other)))
        self._check("The sum", known, self.primes, self.scale)
        return self._made(native.add_plain(self._native, plain), known)

    def _joined(
        self, what: str, other: Ciphertext, operands: tuple[native.Ciphertext, native.Ciphertext]
    ) -> Knowledge:
        """Return what is known of the sum or difference of two operands at one level."""
        mine, others = self._knowledge, other._knowledge
        largest = sum_of((mine.largest, others.largest))
        found = Knowledge(largest, lambda: mine.known.plus(others.known), mine, others)
        self._check(what, found, operands[0].primes, self.scale)
        return found

    def __radd__(self, other: ArrayLike) -> Ciphertext:
        return self + other

    def __neg__(self) -> Ciphertext:
        return self._made(native.negate(self._native), self.known.times(-1))

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            operands = self._level_with(other)
            known = self._joined("The difference", -other, operands)
            return self._made(native.subtract(*operands), known, other)
        return -(-self + other)  # numbers of unsigned types cannot be negated

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return -self + other

    def __mul__(self, other: ArrayLike) -> Ciphertext:
        if isinstance(other, Ciphertext):
            raise EngineError(
                "A product of ciphertexts takes evaluation keys: use Evaluator.multiply, or square."
            )
        factor, off = self._factor(other)
        known = self._times(other, factor.scale)
        if off and known.error is not None and self.largest is not None:
            known = replace(known, error=known.error.biased(off * self.largest))
        self._check("The product", known, self.primes, self.scale * factor.scale)
        return self._made(native.multiply_plain(self._native, factor), known)

    def _times(self, numbers: ArrayLike, scale: float) -> Known:
        """Return what is known of the product with numbers in the clear at this scale."""
        if is_one_real(numbers):
            return self.known.times_rounded(float(array(numbers).real), scale)
        known = self.known.times_slots(largest_of(numbers))
        if self.largest is None or known.error is None:
            return known
        rounding = Uncertainty.of_weights(self.parameters, scale, self.largest)
        return known.plus_noise(rounding.biased(FLOAT_ROUNDING * self.largest * largest_of(numbers)))

    def __rmul__(self, other: ArrayLike) -> Ciphertext:
        return self * other

    __array_ufunc__ = None  # so that numpy leaves array * ciphertext to __rmul__

    def _last_prime(self) -> float:
        return 1.0 if self.scheme.is_bfv else float(self.parameters.primes[self.primes - 1])


def _coefficients_of(found: WideCiphertext) -> NDArray[np.uint64]:
    """Return uint64 [size, primes, n], with a seed expanded."""
    chain = wide_chain_of(found.chain)
    residues = found.residues
    if found.seed is not None:
        kind, seed = found.seed
        residues = np.concatenate([residues, chain.expand(int(kind), seed, found.primes)])
    return chain.to_coefficients(np.ascontiguousarray(residues)) if found.ntt_form else residues


def _switched_scale(scale: float, before: int, after: int, scheme: Scheme) -> float:
    """Return the scale after a switch of the modulus. Raises ParameterError if it has no room."""
    if scheme.is_bfv:
        return 1.0
    found = float(Fraction(scale) * after / before)
    if not 1 <= found < min(after, MAX_SCALE):
        raise ParameterError(
            f"The scale {scale_name(scale)} would become 2^{np.log2(found):.4g} in a modulus of "
            f"{np.log2(float(after)):.0f} bits, which has no room for it: take another level (--primes; in "
            "Python, primes), or a smaller scale in SEAL."
        )
    return found


def _after_switch(known: Known, n: int, scale: float, components: int) -> Known:
    """Add the rounding of a switch of the modulus, and that of the scale to a float64."""
    noise = Uncertainty.of(rounding_noise(n, components), n, scale)
    return known.plus_noise(noise.biased(FLOAT_ROUNDING * (known.largest or 0.0)))


def _declared(frames: Bytes, parameters: ParameterSet, largest: float) -> Bytes:
    """Return frames after a declaration of this bound, unless they have one. Raises FrameError."""
    if split_view(frames)[0] is not None:
        return frames
    head = stated_header(frames, parameters)
    return Declaration(parameters.id, head.key_id, head.counter, largest).to_bytes() + bytes(frames)


def _stated_scheme(frames: Bytes, parameters: ParameterSet) -> Scheme:
    """The scheme that the first frame names; CKKS for a public key's frames, which every reader of
    ciphertexts refuses. Raises FrameError."""
    return stated_header(frames, parameters).scheme or CKKS


def switched(known: Known, parameters: ParameterSet, primes: int, scale: float) -> Known:
    """Add the error of a key switch, if the set has a key prime. BFV's integers have no error to follow."""
    if known.error is None or not parameters.special_primes:
        return known
    return known.plus_noise(Uncertainty.switching(parameters, primes, scale))


def is_one_real(numbers: ArrayLike) -> bool:
    """Whether the operand is a single real number, which applies to all slots."""
    given = array(numbers)
    return given.ndim == 0 and given.dtype.kind != "c"


def largest_of(numbers: ArrayLike) -> float:
    """Return the largest magnitude among numbers in the clear."""
    return max((abs(complex(each)) for each in array(numbers).ravel().tolist()), default=0.0)


def encoded(
    parameters: ParameterSet, scheme: Scheme, numbers: ArrayLike, scale: float, primes: int
) -> native.Plaintext:
    """Encode one number for all slots, or at most one for each slot. Raises ParameterError or EngineError."""
    given = array(numbers)
    context = context_of(parameters, scheme)
    if given.ndim > 1 or given.dtype.kind not in ("biu" if scheme.is_bfv else "biufc") or not given.size:
        kind = "integers" if scheme.is_bfv else "real or complex numbers"
        odd = "Integers beyond 64 bits, or what are no numbers," if given.dtype == object else "Numbers"
        raise ParameterError(
            f"{odd} of type {given.dtype} and shape {list(given.shape)} are given: give one of {kind}, or "
            "several in one dimension."
        )
    if scheme.is_bfv:
        reduced = np.array(given.astype(object) % scheme.plain_modulus, dtype=np.int64)
        if given.ndim == 0:
            return native.Plaintext.constant_integer(context, int(reduced), primes)
        return native.Plaintext(context, reduced, native.Places.slots, primes)
    if given.ndim == 0 and given.dtype.kind != "c":
        return native.Plaintext.constant(context, float(given), scale, primes)
    slots = np.full(parameters.slots, given) if given.ndim == 0 else given
    return native.Plaintext(context, slots.astype(complex), scale, primes)
