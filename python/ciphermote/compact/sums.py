# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of compact windows: computed without any secret, and read by the owner.

A sum decrypts at a position only if every window in it sent that position: the second polynomial is the sum
of all windows', so c0 must be too. The positions of a sum are therefore fixed first, and a window that lacks
one is refused. The result holds only what the owner needs: c0 at those positions, the second polynomial, and
the contributors with their weights.

The owner judges a result only by its list of contributors and by what they were enrolled for. That finds
mistakes in the list. Values that are wrong in another way show by their noise, with a probability that grows
with the number of positions; a cheating engine can still compute another sum.

A result (integers little-endian; packed numbers low bits first, zero bits up to a byte):

    offset  bytes  field
    0       4      "CMCR"
    4       2      version, 1
    6       1      compact set id
    7       1      low bits that c0 is without, d
    8       8      key id
    16      4      contributors, k
    20      4      runs of positions, r
    24      4 r    first position (u16), positions (u16): ascending, and apart
    ..      ..     c0 >> d at the positions, in as many bits each as (Q - 1) >> d has
    ..      ..     second polynomial: at each prime n residues, in as many bits each as it has
    ..      18 k   device (u32), epoch (u16), window (u64), weight (i32), ascending by the first three
    ..      16     BLAKE2b-128 of all before
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core, _evaluator, _owner
from ciphermote.base import arguments
from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.compact import bounds, packing
from ciphermote.compact.frames import Window, check_positions, spans
from ciphermote.compact.keys import CompactKeys, lane_key
from ciphermote.compact.sets import CompactSet
from ciphermote.parameters.native import context_of

_MAGIC = b"CMCR"
_VERSION = 1
_HEAD = struct.Struct("<4sHBBQII")
_CONTRIBUTOR = struct.Struct("<IHQi")
_MOST_CONTRIBUTORS = 1 << 22


@dataclass(frozen=True, order=True)
class Contributor:
    """A window in a sum, and how many times it counts."""

    device: int
    epoch: int
    window: int
    weight: int


class CompactSum:
    """A sum of windows, each times its weight, at the same positions.

    It holds no secret, and only its list of contributors grows. compact, key_id: those of all windows.
    positions: those of the sum; other coefficients are left out.
    """

    def __init__(self, compact: CompactSet, key_id: int, positions: Iterable[int]) -> None:
        self.set = compact
        self.key_id = key_id
        self.positions = check_positions(compact, positions)
        self._place = self.positions.tobytes()
        self._contributors: dict[tuple[int, int, int], int] = {}
        self._largest: list[bounds.Term] = []
        self._sum = _evaluator.CompactSum(context_of(compact.parameters))
        self._merged: NDArray[np.uint32] | None = None
        """Residues of the sums that were merged into this one."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sum": None, "_merged": self._residues()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._sum = _evaluator.CompactSum(context_of(self.set.parameters))

    @property
    def contributors(self) -> tuple[Contributor, ...]:
        """The contributors in ascending order."""
        return tuple(sorted(Contributor(*place, weight) for place, weight in self._contributors.items()))

    def add(self, window: Window, weight: int = 1) -> None:
        """Add a window times its weight. Raises MismatchError for a window of another set or key, one that
        lacks a position, or one already in the sum; ParameterError for a weight of 0 or beyond 2^20. After an
        error the sum is unchanged."""
        weight = arguments.whole(weight, "A weight", -bounds.LARGEST_WEIGHT, bounds.LARGEST_WEIGHT)
        bounds.weights_of([weight])
        payload = self._payload(window)
        place = window.device, window.epoch, window.number
        key = lane_key(self.set, self.key_id, window.device, window.epoch)
        seed = _core.compact_seed(key, window.counter, window.random)
        self._sum.add(seed, self.positions, payload, self.set.dropped_bits, weight)
        self._contributors[place] = weight
        self._largest.append(bounds.Term(weight, window.largest_value))

    def merge(self, other: CompactSum) -> None:
        """Add the windows of another sum. Raises MismatchError for a sum of another set or key, at other
        positions, or with a window that is in this one."""
        of = self.set, self.key_id, self._place
        if (other.set, other.key_id, other._place) != of or other._contributors.keys() & self._contributors:
            raise MismatchError(
                "The sums are of different fleets or positions, or have a window in common, and a window "
                "counts once: merge sums of different windows of one fleet."
            )
        added = other._residues()
        self._merged = added if self._merged is None else self._plus(self._merged, added)
        self._contributors.update(other._contributors)
        self._largest += other._largest

    def _residues(self) -> NDArray[np.uint32]:
        """Return uint32 [2, primes, n], coefficients."""
        found = self._sum.residues()
        return found if self._merged is None else self._plus(found, self._merged)

    def _plus(self, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> NDArray[np.uint32]:
        moduli = np.array(self.set.primes, dtype=np.uint64)[:, np.newaxis]
        return ((a.astype(np.uint64) + b) % moduli).astype(np.uint32)

    def _payload(self, window: Window) -> NDArray[np.uint64]:
        """Return a window's coefficients at the sum's positions."""
        who = f"Device {window.device}, window {window.number}"
        if window.set != self.set or window.key_id != self.key_id:
            raise MismatchError(
                f"{who}: it is of set {window.set.name} and key {window.key_id:016x}, and the sum of "
                f"{self.set.name} and {self.key_id:016x}: add windows of one fleet."
            )
        if (window.device, window.epoch, window.number) in self._contributors:
            raise MismatchError(
                f"{who}: it is in the sum already, and a window counts once: give it one weight."
            )
        if window.positions.tobytes() == self._place:
            return window.payload
        missing = np.setdiff1d(self.positions, window.positions)
        if len(missing):
            raise MismatchError(
                f"{who}: it has not sent positions {spans(missing.tolist())}, and a sum is of windows that "
                "have sent all of its positions: leave the window out, or add up fewer positions."
            )
        return window.payload[np.searchsorted(window.positions, self.positions)]

    def result(self, dropped: int | None = 0) -> CompactResult:
        """Return the sum so far.

        dropped: the number of low bits of c0 to leave out; None for as many as possible. Raises
        ParameterError if nothing was added, or if values or noise may exceed the set's bounds (bounds.check).
        """
        weights = bounds.weights_of(self._contributors.values())
        if dropped is None:
            dropped = bounds.most_dropped(self.set, weights) if weights else 0
        bounds.check(self.set, self._largest, dropped)
        residues = self._residues()
        c0 = composed(self.set, residues[0][:, self.positions])
        modulus = np.uint64(self.set.modulus)
        bias = np.uint64(bounds.bias(self.set, weights) % self.set.modulus)
        c0 = (c0 + modulus - bias) % modulus >> np.uint64(dropped)
        return CompactResult(
            self.set, self.key_id, dropped, self.positions, c0, residues[1].copy(), self.contributors
        )


def composed(compact: CompactSet, residues: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Compose residues [primes, k] to uint64 [k] modulo Q."""
    first: NDArray[np.uint64] = residues[0].astype(np.uint64)
    if len(compact.primes) == 1:
        return first
    q0, q1 = (np.uint64(q) for q in compact.primes)
    inverse = np.uint64(pow(compact.primes[0], -1, compact.primes[1]))
    second: NDArray[np.uint64] = (residues[1] + q1 - first % q1) % q1 * inverse % q1
    return first + q0 * second


@dataclass(frozen=True, eq=False)
class CompactResult:
    """A sum for the owner. positions: uint32, ascending; c0: uint64 at the positions, without its ``dropped``
    low bits and less the contributors' bias (bounds.bias); c1: uint32 [primes, n], coefficients."""

    set: CompactSet
    key_id: int
    dropped: int
    positions: NDArray[np.uint32]
    c0: NDArray[np.uint64] = field(repr=False)
    c1: NDArray[np.uint32] = field(repr=False)
    contributors: tuple[Contributor, ...]

    def residues(self) -> NDArray[np.uint32]:
        """Return coefficients as uint32 [2, primes, n]: c0's are zero where nothing was sent, and dropped
        bits are restored."""
        restored = (self.c0 << np.uint64(self.dropped)) + np.uint64(1 << self.dropped >> 1)
        restored %= np.uint64(self.set.modulus)
        found = np.zeros((2, len(self.set.primes), self.set.n), dtype=np.uint32)
        for i, q in enumerate(self.set.primes):
            found[0, i, self.positions] = restored % np.uint64(q)
        found[1] = self.c1
        return found

    def to_bytes(self) -> bytes:
        runs = packing.runs(self.positions)
        body = b"".join(
            (
                _HEAD.pack(
                    *(_MAGIC, _VERSION, self.set.id, self.dropped),
                    *(self.key_id, len(self.contributors), len(runs)),
                ),
                packing.pack_runs(runs),
                packing.packed(self.c0, _c0_bits(self.set, self.dropped)),
                *(
                    packing.packed(row, q.bit_length())
                    for row, q in zip(self.c1, self.set.primes, strict=True)
                ),
                *(_CONTRIBUTOR.pack(c.device, c.epoch, c.window, c.weight) for c in self.contributors),
            )
        )
        return body + packing.digest(body)

    @classmethod
    def from_bytes(cls, data: bytes) -> CompactResult:
        """Read what to_bytes wrote. Raises FrameError if it is damaged, or something else."""
        if not is_result(data) or len(data) < _HEAD.size + packing.DIGEST_BYTES:
            raise FrameError(
                "The bytes are no compact sum: give what `ciphermote compact sum` (CompactSum.result) wrote."
            )
        _, version, identifier, dropped, key_id, count, runs = _HEAD.unpack_from(data)
        reader, compact = packing.open_result(
            data, _HEAD.size, version, _VERSION, identifier, "The compact sum"
        )
        if dropped >= compact.modulus.bit_length() or count > _MOST_CONTRIBUTORS or runs > compact.n:
            raise reader.hostile()
        positions = reader.positions(compact, runs)
        c0 = reader.numbers(len(positions), _c0_bits(compact, dropped), (compact.modulus - 1) >> dropped)
        c1 = [reader.numbers(compact.n, q.bit_length(), q - 1) for q in compact.primes]
        entries = reader.take(count * _CONTRIBUTOR.size)
        if not reader.at_end:
            raise reader.hostile()
        contributors = tuple(Contributor(*values) for values in _CONTRIBUTOR.iter_unpack(entries))
        places = [(c.device, c.epoch, c.window) for c in contributors]
        if any(a >= b for a, b in pairwise(places)):
            raise reader.hostile()
        return cls(compact, key_id, dropped, positions, c0, np.stack(c1).astype(np.uint32), contributors)


def is_result(data: bytes) -> bool:
    """Whether data begin like a result."""
    return data.startswith(_MAGIC)


# --- the owner ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CompactDecryption:
    """The content of a sum. values: int64 at the positions; failure_log2: log2 of the chance that one is
    wrong; margin_bits: log2 of the ratio of allowed noise to the largest noise found, which only the owner
    may know."""

    positions: NDArray[np.uint32]
    values: NDArray[np.int64]
    contributors: tuple[Contributor, ...]
    failure_log2: float
    margin_bits: float = field(repr=False)


def decrypt_sum(
    keys: CompactKeys,
    result: CompactResult,
    contributors: Iterable[Contributor] | None = None,
    positions: Iterable[int] | None = None,
) -> CompactDecryption:
    """Decrypt a sum to its exact values, which may be negative.

    contributors: those that the owner expects, in any order; None for the result's own list. positions: some
    of the result's; None for all. The bounds are computed anew from the contributors and the values that they
    were enrolled for. Raises ParameterError if values or noise may exceed the set's bounds; MismatchError for
    a result of other keys or other contributors, with a repeated or unknown one, and for one that decrypts to
    noise or to more than its contributors can have sent.
    """
    listed = result.contributors if contributors is None else tuple(sorted(contributors))
    if listed != result.contributors:
        raise MismatchError(
            f"The result names {len(result.contributors)} contributors, and not the {len(listed)} that are "
            "expected, each with its window and weight: give the list of the windows that were added."
        )
    if result.set != keys.set or result.key_id != keys.key_id:
        raise MismatchError(
            f"The result is of set {result.set.name} and key {result.key_id:016x}, and the keys of "
            f"{keys.set.name} and {keys.key_id:016x}: use the keys that its devices were enrolled with."
        )
    terms = _terms(keys, listed)
    failure = bounds.check(result.set, terms, result.dropped)
    wanted = result.positions if positions is None else check_positions(keys.set, positions)
    if missing := sorted(set(wanted.tolist()) - set(result.positions.tolist())):
        raise MismatchError(f"Positions {spans(missing)} are not in the result: ask for those that are.")
    ciphertext = _evaluator.Ciphertext(
        context_of(keys.set.parameters), result.residues(), 1.0, _evaluator.Form.coefficients
    )
    residues, noise = _owner.decrypt_bfv_at(ciphertext, keys.secret.hosted, keys.set.plain_modulus, wanted)
    margin = check_noise(keys.set, bounds.weights_of(term.weight for term in terms), noise, result.dropped)
    return CompactDecryption(wanted, signed(keys.set, terms, residues), listed, failure, margin)


def _terms(keys: CompactKeys, contributors: Sequence[Contributor]) -> list[bounds.Term]:
    places = [(c.device, c.epoch, c.window) for c in contributors]
    if len(set(places)) != len(places):
        raise MismatchError("A window is in the sum twice, and counts once: have it computed again.")
    return [bounds.Term(c.weight, keys.enrolment(c.device, c.epoch).largest_value) for c in contributors]


def check_noise(
    compact: CompactSet, weights: bounds.Weights, noise: NDArray[np.float64], dropped: int = 0
) -> float:
    """Return the margin in bits. noise: in units of Q / t. Raises MismatchError for noise that the weights
    exceed at most once in 2^40: under another key, or with a wrong contributor, noise fills the whole range,
    and k values pass with a probability of (likely / allowed)^k."""
    step = compact.modulus / compact.plain_modulus
    largest = float(np.abs(noise).max()) * step
    if largest > largest_noise(compact, weights, dropped):
        raise MismatchError(
            "The result decrypts to noise: a window in it is not of these keys, or was altered, or the list "
            "of windows is not the one that it was computed from; have it computed again from what the "
            "devices sent."
        )
    return math.log2(step / 2 / max(largest, 0.5))


def largest_noise(compact: CompactSet, weights: bounds.Weights, dropped: int = 0) -> float:
    """Return the magnitude, in units of a coefficient, that a sum's noise exceeds at most once in 2^40."""
    step = compact.modulus / compact.plain_modulus
    coherent = step / 2 - bounds.noise_room(compact, weights, dropped)
    return bounds.likely_noise(compact, weights) + coherent


def signed(
    compact: CompactSet, terms: Sequence[bounds.Term], residues: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """Return residues modulo t as the values that the terms can have. Raises MismatchError for others."""
    low, high = bounds.value_range(terms)
    values = residues.astype(np.int64)
    values = np.where(values > high, values - compact.plain_modulus, values)
    if (values < low).any():
        raise MismatchError(
            f"The result has a value that is not from {low} to {high}, which is all that its windows can "
            "come to: a device was provisioned for larger values, or the result is not of these windows."
        )
    return values


# --- bytes --------------------------------------------------------------------------------------------------


def _c0_bits(compact: CompactSet, dropped: int) -> int:
    return ((compact.modulus - 1) >> dropped).bit_length()
