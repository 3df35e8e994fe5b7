# SPDX-License-Identifier: Apache-2.0
"""The tasks of jobs: what is computed over some windows, and how results are combined.

A task gets public keys, and ciphertexts or where they lie. It never has a key that decrypts, one that tags,
one that wraps, or a database.
"""

from __future__ import annotations

import threading
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
from ciphermote.gateway import rekeyed
from ciphermote.gateway.executors.interface import Shared
from ciphermote.gateway.key_path import KeyPath, RekeyKeys, Steps
from ciphermote.gateway.sources import Source
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.parameters import ParameterSet, Scheme
from ciphermote.parameters.bounds import Known, KnownSum
from ciphermote.parameters.native import context_of, core_params
from ciphermote.parameters.noise import Key

_AT_ONCE = 128
"""Number of windows to read and add at a time: a few MB."""


class Window(NamedTuple):
    """A window that counts. largest: the bound on values for which its device was enrolled; None for
    enrolments by older versions. rekey: the digest of its device's rekey key. owner_key: the owner's key that
    it is under, or that its device's rekey key leads to. is_switched: whether it was switched to that key
    where it is stored, and is no frames any longer."""

    device: int
    epoch: int
    key_id: int
    largest: float | None
    rekey: str | None
    number: int
    counter: int
    random: bytes
    extents: str
    owner_key: int
    is_switched: bool


# --- full frames --------------------------------------------------------------------------------------------


class Computer:
    """A fleet's evaluation keys, which the first task of a process that needs them expands."""

    def __init__(self, keys: EvaluationKeys, scheme: Scheme) -> None:
        self._given = keys, scheme
        self._lock = threading.Lock()
        self._evaluator: Evaluator | None = None
        self._switcher: Evaluator | None = None
        self._rekey_keys = RekeyKeys(lambda: self.switcher)

    def __reduce__(self) -> tuple[type[Computer], tuple[EvaluationKeys, Scheme]]:
        return Computer, self._given

    @property
    def evaluator(self) -> Evaluator:
        with self._lock:
            if self._evaluator is None:
                self._evaluator = Evaluator(*self._given)
            return self._evaluator

    @property
    def switcher(self) -> Evaluator:
        """An evaluator without evaluation keys, which switches to any key."""
        with self._lock:
            if self._switcher is None:
                keys, scheme = self._given
                self._switcher = Evaluator(keys.parameters, scheme)
            return self._switcher

    def rekey_key(self, digest: str, source: Source, owner_id: int) -> RekeyKey:
        return self._rekey_keys.get(digest, owner_id, source.get)


@dataclass(frozen=True)
class FullPlan:
    """The fields that all tasks of a job over full frames share. key_id: the owner's. own_keys: whether each
    device has a key of its own. grouped: whether the job asks for groups' sums. steps: from the owner's
    earlier keys."""

    parameters: ParameterSet
    scheme: Scheme
    scale: float
    key_id: int
    own_keys: bool
    grouped: bool
    bound: float | None
    computer: Shared[Computer] = field(repr=False)
    model: LinearModel | None = field(default=None, repr=False)
    steps: Steps = field(default_factory=dict, repr=False)

    @property
    def evaluator(self) -> Evaluator:
        return self.computer.get().evaluator

    def path(self, source: Source) -> KeyPath:
        """Return the way to the owner's present key."""
        computer = self.computer.get()

        def rekey_key(digest: str, owner_id: int) -> RekeyKey:
            return computer.rekey_key(digest, source, owner_id)

        return KeyPath(self.key_id, self.steps, computer.switcher, rekey_key)


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
    if plan.grouped and len(group) == 1 and not plan.own_keys and _is_as_sent(plan, group[0]):
        (found,) = group
        data = source.reader().read(parse_extents(found.extents))
        whole = Ciphertext.from_frames(data, plan.parameters, plan.scheme, largest=found.largest)
        return whole.to_frames()
    return part_bytes(plan, _sum(plan, source, group))


def _is_as_sent(plan: FullPlan, window: Window) -> bool:
    return window.owner_key == plan.key_id and not window.is_switched


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
    """Add up windows under the owner's present key. Those of one key are added up under it, each device's own
    sum is converted to its owner's key once, and what is under an earlier one is switched once."""
    terms: list[Partial] = []
    for (key_id, is_switched), group in _by_key(windows).items():
        if is_switched:
            found = _switched_sum(plan, source, group)
        elif plan.own_keys:
            found = _own_sum(plan, source, group)
        else:
            found = _plain_sum(plan, source, group)
        if key_id != plan.key_id:
            whole = plan.path(source).switched(_under(plan, key_id, found), key_id)
            found = Partial(plan, whole.hosted, whole.known)
        terms.append(found)
    if len(terms) == 1:
        return terms[0]
    total = _Total(plan)
    for term in terms:
        total.add(term.content, term.known)
    return total.partial


def _by_key(windows: Iterable[Window]) -> dict[tuple[int, bool], list[Window]]:
    """Group windows by the owner's key that they are under, and whether they were switched to it."""
    groups: dict[tuple[int, bool], list[Window]] = {}
    for window in windows:
        groups.setdefault((window.owner_key, window.is_switched), []).append(window)
    return groups


def _under(plan: FullPlan, key_id: int, found: Partial) -> Ciphertext:
    return Ciphertext(plan.parameters, plan.scheme, key_id, found.content, found.known)


def _own_sum(plan: FullPlan, source: Source, windows: Sequence[Window]) -> Partial:
    """Add up windows of devices that have keys of their own, under an owner's key."""
    total, path = _Total(plan), plan.path(source)
    for _, of_device in groupby(windows, key=lambda window: (window.device, window.epoch)):
        group = list(of_device)
        first = group[0]
        whole = _under(plan, first.key_id, _plain_sum(plan, source, group))
        found = path.from_device(whole, first.device, first.rekey, first.owner_key)
        total.add(found.hosted, found.known)
    return total.partial


def _switched_sum(plan: FullPlan, source: Source, windows: Sequence[Window]) -> Partial:
    """Add up windows that were switched where they are stored."""
    reader, total = source.reader(), _Total(plan)
    for batch in _batches(windows):
        places = [parse_extents(window.extents) for window in batch]
        reader.prefetch(places)
        for window, extents in zip(batch, places, strict=True):
            data = reader.read(extents)
            found = rekeyed.from_bytes(window, window.owner_key, plan.parameters, plan.scheme, data)
            total.add(found.hosted, found.known)
    return total.partial


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
            known.add(known_of(plan.parameters, plan.scheme, plan.scale, window.largest, data))
        total.add_attempts(params, attempts)
    return Partial(plan, total.total(), known.known)


def known_of(
    parameters: ParameterSet, scheme: Scheme, scale: float, largest: float | None, data: bytes | memoryview
) -> Known:
    """Return what is known about a window's values. largest: that of Window; data: its frames."""
    if scheme.is_bfv or largest is None:
        return Known(largest)
    key: Key = "symmetric" if frame_finder.is_seeded(data) else "asymmetric"
    return Known.encrypted(largest, parameters, key, scale)


def _batches(windows: Iterable[Window]) -> Iterator[list[Window]]:
    given = iter(windows)
    while batch := list(islice(given, _AT_ONCE)):
        yield batch


# --- the compact lane ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompactPlan:
    """The fields that all tasks of a job over compact windows share. positions: those of its result,
    ascending."""

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
