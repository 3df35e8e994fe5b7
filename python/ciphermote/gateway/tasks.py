# SPDX-License-Identifier: Apache-2.0
"""The tasks of jobs: what is computed over some windows, and how results are combined.

A task gets public keys, and ciphertexts or where they lie. It never has a key that decrypts, one that tags,
one that wraps, or a database.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core
from ciphermote import _evaluator as native
from ciphermote.base.errors import EngineError
from ciphermote.ciphertext import Ciphertext
from ciphermote.compact import frames
from ciphermote.compact.scores import CompactScorer, CompactScores, ScorePlan
from ciphermote.compact.sets import CompactSet
from ciphermote.compact.sums import CompactSum
from ciphermote.compact.windows import CompactWindows
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.evaluator import Evaluator, RekeyKey
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats import frame_finder
from ciphermote.gateway.executors.interface import Shared
from ciphermote.gateway.sources import Source
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.parameters import ParameterSet, Scheme
from ciphermote.parameters.bounds import Known, KnownSum
from ciphermote.parameters.native import context_of, core_params
from ciphermote.parameters.noise import Key

_AT_ONCE = 128
"""Number of windows to read and add at a time: a few MB."""
_MOST_REKEY_KEYS = 64


class Window(NamedTuple):
    """A window that counts. largest: the bound on values for which its device was enrolled; None for
    enrolments by older versions. rekey: the digest of its device's rekey key."""

    device: int
    epoch: int
    key_id: int
    largest: float | None
    rekey: str | None
    number: int
    counter: int
    random: bytes
    extents: str


# --- full frames --------------------------------------------------------------------------------------------


class Computer:
    """A fleet's evaluation keys, which the first task of a process that needs them expands."""

    def __init__(self, keys: EvaluationKeys, scheme: Scheme) -> None:
        self._given = keys, scheme
        self._lock = threading.Lock()
        self._evaluator: Evaluator | None = None
        self._rekey_keys: OrderedDict[str, RekeyKey] = OrderedDict()

    def __reduce__(self) -> tuple[type[Computer], tuple[EvaluationKeys, Scheme]]:
        return Computer, self._given

    @property
    def evaluator(self) -> Evaluator:
        with self._lock:
            if self._evaluator is None:
                self._evaluator = Evaluator(*self._given)
            return self._evaluator

    def rekey_key(self, digest: str, source: Source, owner_id: int) -> RekeyKey:
        with self._lock:
            found = self._rekey_keys.pop(digest, None)
        if found is None:
            found = self.evaluator.rekey_key(source.get(digest), owner_id=owner_id)
        with self._lock:
            self._rekey_keys[digest] = found
            while len(self._rekey_keys) > _MOST_REKEY_KEYS:
                self._rekey_keys.popitem(last=False)
        return found


@dataclass(frozen=True)
class FullPlan:
    """What all tasks of a job over full frames share. key_id: the owner's. own_keys: whether each device has
    a key of its own. grouped: whether the job asks for groups' sums."""

    parameters: ParameterSet
    scheme: Scheme
    scale: float
    key_id: int
    own_keys: bool
    grouped: bool
    bound: float | None
    computer: Shared[Computer] = field(repr=False)
    model: LinearModel | None = field(default=None, repr=False)

    @property
    def evaluator(self) -> Evaluator:
        return self.computer.get().evaluator


class Partial:
    """A sum of some windows under the owner's key. Pickles as its residues: some of a job's windows may add
    up to what SEAL's bytes cannot hold."""

    def __init__(self, plan: FullPlan, content: native.Ciphertext, known: Known) -> None:
        self.content, self.known = content, known
        self._of = plan.parameters, plan.scheme

    def __reduce__(self) -> tuple[Callable[..., Partial], tuple[Any, ...]]:
        return _loaded, (*self._of, self.content.residues(), self.content.scale, self.known)

    def ciphertext(self, plan: FullPlan) -> Ciphertext:
        return Ciphertext(plan.parameters, plan.scheme, plan.key_id, self.content, self.known)


def _loaded(
    parameters: ParameterSet, scheme: Scheme, residues: NDArray[np.uint32], scale: float, known: Known
) -> Partial:
    found = Partial.__new__(Partial)
    found._of = parameters, scheme
    found.content = native.Ciphertext(context_of(parameters, scheme), residues, scale)
    found.known = known
    return found


class _Total:
    """Adds up partial sums of different windows."""

    def __init__(self, plan: FullPlan) -> None:
        self._plan = plan
        self._sum, self._known = native.Sum(context_of(plan.parameters, plan.scheme)), KnownSum(distinct=True)

    def add(self, content: native.Ciphertext, known: Known) -> None:
        self._sum.add(content)
        self._known.add(known)

    @property
    def partial(self) -> Partial:
        return Partial(self._plan, self._sum.total(), self._known.known)


def add(plan: FullPlan, *given: tuple[Partial, ...]) -> tuple[Partial, ...]:
    """Add up what several tasks of a kind returned."""
    totals = [_Total(plan) for _ in given[0]]
    for partials in given:
        for total, partial in zip(totals, partials, strict=True):
            total.add(partial.content, partial.known)
    return tuple(total.partial for total in totals)


def part_sum(plan: FullPlan, source: Source, windows: Sequence[Window]) -> tuple[Partial]:
    """Return the sum of some of a job's windows."""
    return (_sum(plan, source, windows),)


def group_sums(plan: FullPlan, source: Source, groups: Sequence[Sequence[Window]]) -> list[bytes]:
    """Return the parts of a result for whole groups."""
    return [_group_part(plan, source, group) for group in groups]


def _group_part(plan: FullPlan, source: Source, group: Sequence[Window]) -> bytes:
    """Return a group's sum as bytes, or a single window's frames, which are a fifth as long."""
    if plan.grouped and len(group) == 1 and not plan.own_keys:
        (found,) = group
        data = source.reader().read(parse_extents(found.extents))
        whole = Ciphertext.from_frames(data, plan.parameters, plan.scheme, largest=found.largest)
        return whole.to_frames()
    return part_bytes(plan, _sum(plan, source, group))


def part_bytes(plan: FullPlan, partial: Partial) -> bytes:
    """Return a group's sum as bytes; none, which the owner takes for a bad group's, if devices have made it
    one that is in the clear and has no bytes. A whole sum's failure is the job's."""
    try:
        return partial.ciphertext(plan).to_seal()
    except EngineError:
        if not plan.grouped:
            raise
        return b""


def device_sums(plan: FullPlan, source: Source, devices: Sequence[Sequence[Window]]) -> list[Partial]:
    """Return the sum of each device's windows."""
    return [_sum(plan, source, windows) for windows in devices]


def weighted_sum(
    plan: FullPlan, weights: Sequence[float], bound: float | None, *given: Sequence[Partial]
) -> bytes:
    """Return the sum of what device_sums returned, each times its weight."""
    terms = [partial.ciphertext(plan) for partials in given for partial in partials]
    return plan.evaluator.weighted_sum(terms, weights, bound=bound, distinct=True).to_seal()


def sum_and_squares(plan: FullPlan, source: Source, windows: Sequence[Window]) -> tuple[Partial, Partial]:
    """Return the sum of some windows, and of their squares."""
    total, squares = _Total(plan), _Total(plan)
    for window in _each(plan, source, windows):
        square = plan.evaluator.square(window)
        total.add(window.hosted, window.known)
        squares.add(square.hosted, square.known)
    return total.partial, squares.partial


def scores(plan: FullPlan, source: Source, windows: Sequence[Window]) -> list[bytes]:
    """Return the scores of each window."""
    assert plan.model is not None
    return [
        plan.evaluator.linear(window, plan.model, feature_bound=plan.bound).to_seal()
        for window in _each(plan, source, windows)
    ]


def _each(plan: FullPlan, source: Source, windows: Sequence[Window]) -> Iterator[Ciphertext]:
    """Yield windows one by one, under the owner's key."""
    source.reader().prefetch([parse_extents(window.extents) for window in windows])
    for window in windows:
        yield _sum(plan, source, [window]).ciphertext(plan)


def _sum(plan: FullPlan, source: Source, windows: Sequence[Window]) -> Partial:
    """Add up windows under the owner's key: each device's own sum is converted to it once."""
    if not plan.own_keys:
        return _plain_sum(plan, source, windows)
    total = _Total(plan)
    for _, of_device in groupby(windows, key=lambda window: (window.device, window.epoch)):
        group = list(of_device)
        found = _plain_sum(plan, source, group)
        whole = Ciphertext(plan.parameters, plan.scheme, group[0].key_id, found.content, found.known)
        rekeyed = _rekeyed(plan, source, whole, group[0])
        total.add(rekeyed.hosted, rekeyed.known)
    return total.partial


def _rekeyed(plan: FullPlan, source: Source, ciphertext: Ciphertext, found: Window) -> Ciphertext:
    if found.rekey is None:
        raise EngineError(
            f"Device {found.device} has a key of its own and no rekey key is here: send the one that was "
            "made with it (`ciphermote owner enroll`)."
        )
    key = plan.computer.get().rekey_key(found.rekey, source, plan.key_id)
    return plan.evaluator.rekey(ciphertext, key)


def _plain_sum(plan: FullPlan, source: Source, windows: Sequence[Window]) -> Partial:
    """Add up windows under one key, without the interpreter's lock. No window repeats, so each is a separate,
    unnamed source."""
    reader, params = source.reader(), core_params(plan.parameters)
    total, known = native.Sum(context_of(plan.parameters, plan.scheme)), KnownSum(distinct=True)
    for batch in _batches(windows):
        places = [parse_extents(window.extents) for window in batch]
        reader.prefetch(places)
        attempts = [reader.view(extents) for extents in places]
        for window, data in zip(batch, attempts, strict=True):
            known.add(_known(plan, window, data))
        total.add_attempts(params, attempts)
    return Partial(plan, total.total(), known.known)


def _known(plan: FullPlan, window: Window, data: bytes | memoryview) -> Known:
    """Return what is known about a window's values."""
    if plan.scheme.is_bfv or window.largest is None:
        return Known(window.largest)
    key: Key = "symmetric" if frame_finder.is_seeded(data) else "asymmetric"
    return Known.encrypted(window.largest, plan.parameters, key, plan.scale)


def _batches(windows: Iterable[Window]) -> Iterator[list[Window]]:
    given = iter(windows)
    while batch := list(islice(given, _AT_ONCE)):
        yield batch


# --- the compact lane ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompactPlan:
    """What all tasks of a job over compact windows share. positions: those of its result, ascending."""

    set: CompactSet
    key_id: int
    positions: tuple[int, ...]
    scores: ScorePlan | None = field(default=None, repr=False)


Weighted = tuple[Window, int]


def compact_sum(plan: CompactPlan, source: Source, given: Sequence[Weighted]) -> CompactSum:
    """Return the sum of some windows, each times its weight."""
    total = CompactSum(plan.set, plan.key_id, plan.positions)
    weights = (weight for _, weight in given)
    for window, weight in zip(_compact(plan, source, [found for found, _ in given]), weights, strict=True):
        total.add(window, weight)
    return total


def compact_added(*sums: CompactSum) -> CompactSum:
    """Add up sums of different windows."""
    first, *others = sums
    total = CompactSum(first.set, first.key_id, first.positions)
    for each in (first, *others):
        total.merge(each)
    return total


def compact_group_sums(
    plan: CompactPlan, source: Source, groups: Sequence[Sequence[Weighted]]
) -> list[bytes]:
    """Return the parts of a result for whole groups."""
    return [compact_sum(plan, source, group).result(None).to_bytes() for group in groups]


def compact_windows(plan: CompactPlan, source: Source, windows: Sequence[Window]) -> bytes:
    """Return a file of the windows themselves."""
    found = list(_compact(plan, source, windows))
    return CompactWindows.of(plan.set, plan.key_id, plan.positions, found).to_bytes()


def compact_scores(plan: CompactPlan, source: Source, windows: Sequence[Window]) -> CompactScores:
    """Return the scores of some windows."""
    assert plan.scores is not None
    scorer = CompactScorer(plan.scores, plan.key_id, plan.positions)
    for window in _compact(plan, source, windows):
        scorer.add(window)
    return scorer.result()


def _compact(plan: CompactPlan, source: Source, windows: Iterable[Window]) -> Iterator[frames.Window]:
    reader = source.reader()
    for batch in _batches(windows):
        places = [parse_extents(window.extents) for window in batch]
        reader.prefetch(places)
        for window, extents in zip(batch, places, strict=True):
            yield _compact_window(plan, window, reader.read(extents))


def _compact_window(plan: CompactPlan, found: Window, data: bytes) -> frames.Window:
    stored = native.read_stored(None, found.counter, data)
    places = sorted((place, at, size) for place, _, _, at, size in stored.parts)
    packets = [(place, _core.CompactPacket(data[at : at + size]).values()) for place, at, size in places]
    positions = [np.arange(place, place + len(values), dtype=np.uint32) for place, values in packets]
    return frames.Window(
        plan.set,
        plan.key_id,
        found.device,
        found.epoch,
        found.number,
        found.counter,
        found.random,
        int(found.largest or 0),
        np.concatenate(positions),
        np.concatenate([values for _, values in packets]),
    )
