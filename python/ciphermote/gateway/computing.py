# SPDX-License-Identifier: Apache-2.0
"""Compute jobs, from stored windows to the owner's ciphertexts, without any key that decrypts.

A job is cut into tasks (tasks.py), which an executor computes: how depends on the job alone, so that every
executor gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice, repeat
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from ciphermote.base.errors import EngineError, Error
from ciphermote.base.words import count_of
from ciphermote.compact import bounds as compact_bounds
from ciphermote.compact.scores import CompactScorer, CompactScores, ScorePlan
from ciphermote.compact.windows import most_windows
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.gateway import contributors, tasks
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.devices import signed, unsigned
from ciphermote.gateway.executors.interface import Call, Executor, Run
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.jobs import Job, Jobs
from ciphermote.gateway.key_path import Steps, objects_between
from ciphermote.gateway.logs import log
from ciphermote.gateway.mailbox import NO_ATTEMPT, Mailbox
from ciphermote.gateway.quotas import ROW_BYTES, room_for_bytes
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.sources import GivenSource, Source, StoreSource, UrlSource
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.stored import StoredWindow, WindowChecker
from ciphermote.gateway.switching import steps_of
from ciphermote.parameters.bounds import Known, KnownSum, check_room
from ciphermote.rest.grouping import groups_of
from ciphermote.rest.requests import AnswerForm, FullFleet

_T = TypeVar("_T")

Progress = Callable[[int, int], None]
"""(windows done, windows in all); raises Cancelled."""

_CHECKED_AT_ONCE = 128
"""Number of windows to read and check at a time: a few MB."""
_SUM_BYTES = 32 << 20
_SUM_WINDOWS = 2048
_PRODUCT_WINDOWS = 32
_CONVERTED = 64
"""What one task takes, for 50 ms or more with what it reads from an object store: the most bytes and windows
that are added up, windows that are multiplied or scored, and sums that become bytes or are converted to the
owner's key."""
_OF_DEVICE = 6
"""How many fields of an input, from the first one on, are its device's."""
_NAMED = 5
"""The most damaged windows that an error names."""


class Cancelled(Exception):
    """The job is now leased to another worker, or to none."""


class Input(NamedTuple):
    """A window that counts, with its fields in the database."""

    device: int
    epoch: int
    signed_key_id: int
    largest_value: float
    rekey: str | None
    keys: bytes
    number: int
    counter: int
    signed_random: int
    signed_tags: int
    extents: str
    signed_owner_key: int | None
    """The owner's key that the window was switched to; None if it is as its device sent it."""
    signed_device_owner_key: int | None
    """The owner's key of its device; None for the fleet's."""

    @property
    def stored(self) -> StoredWindow:
        place = self.device, self.epoch, self.keys, self.number
        return StoredWindow(*place, self.counter, self.signed_tags, self.extents, self.signed_owner_key)

    def owner_key(self, fleet: Fleet) -> int:
        """Return the owner's key that the window is under, or that its device's rekey key leads to."""
        found = self.signed_device_owner_key if self.signed_owner_key is None else self.signed_owner_key
        return fleet.key_id if found is None else unsigned(found)

    def can_answer(self, fleet: Fleet) -> bool:
        """Whether its device has keys of the fleet's present key."""
        return self.signed_device_owner_key in (None, signed(fleet.key_id))

    @property
    def largest(self) -> float | None:
        """The bound on values for which the device was enrolled; None for enrolments by older versions."""
        return self.largest_value or None

    def for_tasks(self, fleet: Fleet) -> tasks.Window:
        return tasks.Window(
            self.device,
            self.epoch,
            unsigned(self.signed_key_id),
            self.largest,
            self.rekey,
            self.number,
            self.counter,
            unsigned(self.signed_random).to_bytes(8, "little"),
            self.extents,
            self.owner_key(fleet),
            self.signed_owner_key is not None,
        )


def inputs_of(job: Job, database: Connection) -> list[Input]:
    """Return the job's windows by device: at most spec.per_device of each, with the lowest numbers. Devices
    that were in quarantine when the job was made are left out, and those that are deleted."""
    wanted = job.spec.wanted
    rows = database.execute(
        "SELECT d.number, d.epoch, d.key_id, d.largest_value, d.rekey, d.keys, w.number, w.counter, "
        "w.random, w.tags, w.extents, w.owner_key, d.owner_key "
        "FROM windows w JOIN devices d ON d.id = w.device "
        "WHERE d.fleet = ? AND d.deleted IS NULL "
        "AND w.sequence <= ? AND w.measured >= ? AND w.measured < ? "
        "AND d.id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) "
        "AND (CAST(? AS BIGINT) IS NULL OR d.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))) "
        "ORDER BY d.number, d.epoch, w.number",
        (
            *(job.fleet.id, job.cut, job.begins, job.ends, job.excluded),
            *(None if wanted is None else 1, json.dumps(list(wanted or ()))),
        ),
    )
    found: list[Input] = []
    for _, of_device in groupby(_sharing(map(Input._make, rows)), key=attrgetter("device")):
        found += islice(of_device, job.spec.per_device)
    return found


def _sharing(inputs: Iterable[Input]) -> Iterator[Input]:
    """Have windows of one device share what is the device's: jobs may have a million of them."""
    device: tuple[Any, ...] = ()
    for found in inputs:
        if found[:_OF_DEVICE] == device:
            yield Input(*device, *found[_OF_DEVICE:])
        else:
            device = found[:_OF_DEVICE]
            yield found


class Result(NamedTuple):
    """A job's result. fields: those of its row in the database; parts: digests of the ciphertexts."""

    fields: dict[str, Any]
    parts: list[str]


class _Output:
    """Stores the objects of a result, within the tenant's quota."""

    def __init__(self, store: Store, room: int) -> None:
        self._store = store
        self._room = room

    def put(self, content: bytes) -> str:
        """Store an object, and return its digest. Raises EngineError if there is no room."""
        self._room -= len(content) + ROW_BYTES
        if self._room < 0:
            raise EngineError(
                "The tenant has no room for the result: remove something, or have the operator raise its "
                "quota of bytes, and retry."
            )
        return self._store.put(content)


@dataclass(frozen=True)
class Site:
    """The parts of a gateway that computing its jobs takes."""

    jobs: Jobs
    mailbox: Mailbox
    database: Connection
    store: Store
    checker: WindowChecker


def compute(job: Job, site: Site, executor: Executor, progress: Progress) -> Result:
    """Compute a job's result, and store its ciphertexts as objects. Raises Error if it cannot be computed;
    ExecutorUnavailable or TaskLost if its executor fails."""
    checker = site.checker
    inputs = inputs_of(job, site.database)
    asked = len(inputs)
    if any(not found.extents for found in inputs):
        raise EngineError(
            "Windows of its interval are deleted, for the fleet keeps them no longer: ask for a later one."
        )
    progress(0, len(inputs))
    output = _Output(site.store, room_for_bytes(site.database, job.fleet.tenant))

    def compute_parts() -> tuple[list[str], int]:
        """Return digests of the ciphertexts, and the number of windows whose devices cannot fetch an
        answer."""
        if not inputs:
            return [], 0
        source = StoreSource(site.store)
        try:
            with Run(executor, lambda done: progress(done, len(inputs))) as run:
                if job.fleet.is_compact:
                    return [
                        output.put(part) for part in _CompactComputation(job, source, run).parts(inputs)
                    ], 0
                computation = _FullComputation(job, site, source, run)
                return [output.put(part) for part in computation.parts(inputs)], computation.unanswered
        finally:
            source.close()

    if job.fleet.is_compact:  # packets have tags alone; frames have checksums, which the evaluator looks at
        inputs = _undamaged(job, inputs, checker, progress)
    try:
        parts, unanswered = compute_parts()
    except Error:
        inputs = _undamaged(job, inputs, checker, progress)
        if len(inputs) == asked:
            raise
        parts, unanswered = compute_parts()
    if unanswered:
        log.warning("devices unanswered", job=job.id, windows=unanswered)
    fields = {
        "kind": job.spec.kind,
        "windows": len(inputs),
        "devices": len({i.device for i in inputs}),
        "parts": len(parts),
        "contributors": output.put(contributors.to_bytes((i.device, i.epoch, i.number) for i in inputs)),
        **({} if job.spec.answer is None else {"unanswered": unanswered}),
        **({} if len(inputs) == asked else {"damaged": asked - len(inputs)}),
    }
    return Result(fields, parts)


def _undamaged(job: Job, inputs: list[Input], checker: WindowChecker, progress: Progress) -> list[Input]:
    """Return the undamaged windows. Raises EngineError that names the others, unless the job leaves them
    out."""
    damaged: dict[Input, str] = {}
    for batch in _packs(_by_place(inputs), _CHECKED_AT_ONCE):
        faults = checker.faults(job.fleet, [found.stored for found in batch])
        for found, fault in zip(batch, faults, strict=True):
            if fault is not None:
                damaged[found] = f"{found.stored} ({fault.rstrip('.')})"
        progress(0, len(inputs))
    if damaged and not job.spec.leave_out_damaged:
        raise damage_error([damaged[found] for found in inputs if found in damaged], len(damaged))
    if damaged:
        log.warning("damaged windows left out", job=job.id, windows=len(damaged))
    return [found for found in inputs if found not in damaged]


def damage_error(faults: Sequence[str], count: int) -> EngineError:
    """Return the error that names the first of `count` damaged windows."""
    more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
    return EngineError(
        f"Damaged in the gateway's store: {'; '.join(faults[:_NAMED])}{more}. Have the operator restore "
        "it from a backup and retry, or ask anew and leave damaged windows out (--leave-out-damaged)."
    )


def _in_groups(job: Job, inputs: list[Input]) -> list[list[Input]]:
    """Return the windows of each group of devices (rest/grouping.py); one group if the job names none."""
    if job.spec.groups is None:
        return [inputs]
    of_devices: dict[int, list[Input]] = {}
    for found in inputs:
        of_devices.setdefault(found.device, []).append(found)
    groups = groups_of(of_devices, job.spec.groups, job.id, is_compact=job.fleet.is_compact)
    return [[found for device in group for found in of_devices[device]] for group in groups]


def _by_place(inputs: Iterable[Input]) -> list[Input]:
    """Order windows as they lie in the store, for computations that need no other order."""

    def place(found: Input) -> tuple[str, int]:
        name, offset, _ = found.extents.split(":", 2)
        return name, int(offset)

    return sorted(inputs, key=place)


def _packs(given: Iterable[_T], most: int) -> Iterator[list[_T]]:
    left = iter(given)
    while pack := list(islice(left, most)):
        yield pack


def _group_packs(groups: Iterable[list[_T]], most_windows: int) -> Iterator[list[list[_T]]]:
    """Put groups together, of which each task converts or writes a limited number."""
    pack: list[list[_T]] = []
    windows = 0
    for group in groups:
        if pack and (len(pack) == _CONVERTED or windows + len(group) > most_windows):
            yield pack
            pack, windows = [], 0
        pack.append(group)
        windows += len(group)
    if pack:
        yield pack


class _Computation:
    """A computation in either lane."""

    def __init__(self, job: Job, source: StoreSource, run: Run) -> None:
        self._job, self._spec, self._fleet = job, job.spec, job.fleet
        self._run = run
        self._source = source
        self._reader = source.store.reader()
        self._steps: Steps = {}
        """From earlier owner keys."""

    def _source_of(self, windows: Iterable[tasks.Window]) -> Source:
        """Return what a task over these windows reads from."""
        store = self._source.store
        if self._run.executor.reads == "directory":
            return self._source
        if store.url is not None:
            return UrlSource(store.url)
        given = list(windows)
        rekeys = (window.rekey for window in given if window.rekey is not None)
        digests = chain(objects_between(self._steps, (window.owner_key for window in given)), rekeys)
        try:
            return GivenSource.of(store, self._reader, (window.extents for window in given), digests)
        finally:
            self._reader.close()

    def _call(self, task: Any, plan: Any, windows: list[tasks.Window]) -> Call:
        return Call(task, (plan, self._source_of(windows), windows), len(windows))

    def _group_call(self, task: Any, plan: Any, groups: list[list[tasks.Window]]) -> Call:
        windows = list(chain.from_iterable(groups))
        return Call(task, (plan, self._source_of(windows), groups), len(windows))


class _CompactComputation(_Computation):
    """A computation over compact packets."""

    def parts(self, inputs: list[Input]) -> Iterator[bytes]:
        """Yield the files of the result."""
        spec, fleet = self._spec, self._fleet
        plan = tasks.CompactPlan(fleet.compact_set, fleet.key_id, tuple(sorted(fleet.positions)))
        groups = _in_groups(self._job, inputs)
        if spec.kind == "linear":
            yield self._scores(plan, inputs)
        elif spec.groups is not None and len(groups) == len({found.device for found in inputs}):
            yield from self._windows(plan, inputs)
        else:
            yield from self._sums(plan, groups)

    def _windows(self, plan: tasks.CompactPlan, inputs: list[Input]) -> Iterator[bytes]:
        """Yield files of the windows themselves, for groups of one device."""
        windows = (found.for_tasks(self._fleet) for found in inputs)
        packs = _packs(windows, most_windows(plan.set, len(plan.positions)))
        return self._run.results(self._call(tasks.compact_windows, plan, pack) for pack in packs)

    def _sums(self, plan: tasks.CompactPlan, groups: list[list[Input]]) -> Iterator[bytes]:
        for group in groups:
            self._check(group)
        weighted = map(self._weighted, groups)
        if len(groups) == 1:
            packs = _packs(next(weighted), _SUM_WINDOWS)
            calls = (self._weighted_call(tasks.compact_sum, plan, pack, [pack]) for pack in packs)
            yield self._run.combined(calls, tasks.compact_added).result(None).to_bytes()
            return
        calls = (
            self._weighted_call(tasks.compact_group_sums, plan, pack, pack)
            for pack in _group_packs(weighted, _SUM_WINDOWS)
        )
        for found in self._run.results(calls):
            yield from found

    def _weighted_call(
        self, task: Any, plan: tasks.CompactPlan, given: Any, groups: list[list[tasks.Weighted]]
    ) -> Call:
        windows = [window for group in groups for window, _ in group]
        return Call(task, (plan, self._source_of(windows), given), len(windows))

    def _check(self, inputs: list[Input]) -> None:
        """Raises ParameterError, by what was declared, before anything is added."""
        terms = (
            compact_bounds.Term(weight, int(found.largest_value))
            for found, weight in self._with_weights(inputs)
        )
        compact_bounds.check(self._fleet.compact_set, terms)

    def _weighted(self, inputs: list[Input]) -> list[tasks.Weighted]:
        """Return a group's windows with their weights, in the store's order."""
        weighted = dict(self._with_weights(inputs))
        return [(found.for_tasks(self._fleet), weighted[found]) for found in _by_place(weighted)]

    def _with_weights(self, inputs: list[Input]) -> Iterator[tuple[Input, int]]:
        given = self._spec.weights
        for found in inputs:
            weight = 1 if given is None else int(given[found.device])
            if weight:
                yield found, weight

    def _scores(self, plan: tasks.CompactPlan, inputs: list[Input]) -> bytes:
        fields = self._spec.model
        assert fields is not None
        # Refused by what was declared, before anything is computed.
        largest = max(int(found.largest_value) for found in inputs)
        scores = ScorePlan.of(plan.set, LinearModel.from_fields(fields), largest)
        CompactScorer(scores, plan.key_id, plan.positions).check_size(len(inputs))
        plan = replace(plan, scores=scores)
        windows = (found.for_tasks(self._fleet) for found in inputs)
        calls = (self._call(tasks.compact_scores, plan, pack) for pack in _packs(windows, _SUM_WINDOWS))
        return CompactScores.joined(list(self._run.results(calls))).to_bytes()


class _FullComputation(_Computation):
    """A computation over full frames. unanswered: number of windows whose devices cannot fetch an answer."""

    def __init__(self, job: Job, site: Site, source: StoreSource, run: Run) -> None:
        super().__init__(job, source, run)
        definition = job.fleet.definition
        assert isinstance(definition, FullFleet)
        self._mailbox = site.mailbox
        self.unanswered = 0
        parameters, scheme = job.fleet.parameters, definition.scheme
        digests = site.jobs.keys(job.fleet.id)

        def computer() -> tasks.Computer:
            found = {kind: site.store.get(digest) for kind, digest in digests.items()}
            keys = EvaluationKeys(parameters, found.get("galois"), found.get("relin"))
            return tasks.Computer(keys, scheme)

        name = f"{parameters.id:016x} {scheme} {sorted(digests.items())}"
        model = self._spec.model
        self._steps = steps_of(job.fleet, site.database)
        self._plan = tasks.FullPlan(
            parameters,
            scheme,
            1.0 if definition.log2_scale is None else 2.0**definition.log2_scale,
            job.fleet.key_id,
            definition.own_keys,
            self._spec.groups is not None,
            self._spec.bound,
            run.executor.share(name, computer),
            None if model is None else LinearModel.from_fields(model),
            self._steps,
        )

    def parts(self, inputs: list[Input]) -> Iterator[bytes]:
        """Yield the result's ciphertexts, each as soon as it is computed."""
        windows = count_of(len(inputs), "window")
        match self._spec.kind:
            case "sum" | "mean":
                yield from self._sums(_in_groups(self._job, inputs))
            case "weighted-sum":
                yield self._weighted_sum(inputs)
            case "variance":
                self._check_room(f"The sum of {windows}", inputs)
                self._check_room(f"The sum of the squares of {windows}", inputs, power=2)
                given = (found.for_tasks(self._fleet) for found in _by_place(inputs))
                packs = _packs(given, _PRODUCT_WINDOWS)
                calls = (self._call(tasks.sum_and_squares, self._plan, pack) for pack in packs)
                for partial in self._run.combined(calls, tasks.add, self._plan):
                    yield partial.ciphertext(self._plan).to_seal()
            case "linear":
                yield from self._scores(inputs)

    def _sums(self, groups: list[list[Input]]) -> Iterator[bytes]:
        """Yield each group's sum. Groups that one task can add up go together; others are split."""
        for group in groups:
            self._check_room(f"The {self._spec.kind} of {count_of(len(group), 'window')}", group)
        most = self._most_windows(groups[0])
        for is_small, of_size in groupby(groups, key=lambda group: len(group) <= most):
            given = (self._ordered(group) for group in of_size)
            if is_small:
                packs = _group_packs(given, most)
                calls = (self._group_call(tasks.group_sums, self._plan, pack) for pack in packs)
                yield from chain.from_iterable(self._run.results(calls))
            else:
                yield from map(self._split_sum, given, repeat(most))

    def _ordered(self, group: list[Input]) -> list[tasks.Window]:
        """Return a group's windows by device, if each has its own key, or as they lie in the store."""
        return [
            found.for_tasks(self._fleet) for found in (group if self._plan.own_keys else _by_place(group))
        ]

    def _most_windows(self, group: list[Input]) -> int:
        """Return how many windows one task adds up, by the first one's size: all of a fleet are about as
        large."""
        size = sum(extent.size for extent in parse_extents(group[0].extents))
        return max(1, min(_SUM_WINDOWS, _SUM_BYTES // max(1, size)))

    def _split_sum(self, windows: list[tasks.Window], most: int) -> bytes:
        plan = self._plan
        packs: Iterable[list[tasks.Window]]
        if plan.own_keys:  # each device's own sum is converted once
            packs = map(_flat, _group_packs(_of_devices(windows), most))
        else:
            packs = _packs(windows, most)
        calls = (self._call(tasks.part_sum, plan, pack) for pack in packs)
        (whole,) = self._run.combined(calls, tasks.add, plan)
        return tasks.part_bytes(plan, whole)

    def _check_room(self, what: str, inputs: list[Input], power: int = 1) -> None:
        """Raises ValueRangeError, before anything is added up, if the sum of the windows' values, or of their
        squares, may exceed the modulus."""
        known = KnownSum()
        for found in inputs:
            known.add(Known(None if found.largest is None else found.largest**power))
        parameters, scale = self._plan.parameters, self._plan.scale**power
        check_room(what, known.largest, parameters, len(parameters.data_primes), scale, self._plan.scheme)

    def _weighted_sum(self, inputs: list[Input]) -> bytes:
        given = self._spec.weights
        assert given is not None
        devices = [list(group) for _, group in groupby(inputs, key=attrgetter("device"))]
        for group in devices:
            self._check_room(f"The sum of the windows of device {group[0].device}", group)
        weights = [given[group[0].device] for group in devices]
        most = max(map(len, devices))
        bound = None if self._spec.bound is None else self._spec.bound * most
        windows = ([found.for_tasks(self._fleet) for found in group] for group in devices)
        packs = _group_packs(windows, self._most_windows(devices[0]))
        calls = (self._group_call(tasks.device_sums, self._plan, pack) for pack in packs)
        terms = self._run.handles(calls)
        whole: bytes = self._run.one(Call(tasks.weighted_sum, (self._plan, weights, bound, *terms)))
        return whole

    def _scores(self, inputs: list[Input]) -> Iterator[bytes]:
        windows = (found.for_tasks(self._fleet) for found in inputs)
        calls = (self._call(tasks.scores, self._plan, pack) for pack in _packs(windows, _PRODUCT_WINDOWS))
        found = chain.from_iterable(self._run.results(calls))
        for window, score in zip(inputs, found, strict=True):
            if self._spec.answer is not None:
                self._answer(window, score, self._spec.answer)
            yield score

    def _answer(self, found: Input, score: bytes, form: AnswerForm) -> None:
        if not found.can_answer(self._fleet):  # the score is under a key that the device has not
            self.unanswered += 1
            return
        try:
            self._mailbox.put(self._fleet, found.device, found.counter, score, form, epoch=found.epoch)
        except Refusal as refusal:
            # Its device was revoked, quarantined or enrolled anew since: the others are still answered.
            if refusal.name != NO_ATTEMPT:
                raise
            self.unanswered += 1


def _of_devices(windows: Sequence[tasks.Window]) -> Iterator[list[tasks.Window]]:
    for _, group in groupby(windows, key=lambda window: (window.device, window.epoch)):
        yield list(group)


def _flat(groups: list[list[tasks.Window]]) -> list[tasks.Window]:
    return list(chain.from_iterable(groups))
