# SPDX-License-Identifier: Apache-2.0
"""Compute jobs, from stored windows to the owner's ciphertexts, without any key that decrypts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ciphermote import _core
from ciphermote import _evaluator as native
from ciphermote.base.errors import EngineError, Error
from ciphermote.base.words import count_of
from ciphermote.ciphertext import Ciphertext
from ciphermote.compact import bounds as compact_bounds
from ciphermote.compact.frames import Window
from ciphermote.compact.scores import CompactScorer, ScorePlan
from ciphermote.compact.sums import CompactSum
from ciphermote.compact.windows import CompactWindows, most_windows
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.evaluate.evaluator import Evaluator
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats import frame_finder
from ciphermote.gateway import contributors, rekeyed
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.devices import signed, unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.jobs import Job, Jobs
from ciphermote.gateway.logs import log
from ciphermote.gateway.mailbox import NO_ATTEMPT, Mailbox
from ciphermote.gateway.quotas import ROW_BYTES, room_for_bytes
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.interface import Reader, Store
from ciphermote.gateway.stored import StoredWindow, WindowChecker
from ciphermote.gateway.switching import KeyPath
from ciphermote.parameters.bounds import Known, KnownSum, check_room
from ciphermote.parameters.native import context_of
from ciphermote.parameters.noise import Key
from ciphermote.rest.grouping import groups_of
from ciphermote.rest.requests import AnswerForm, FullFleet

Progress = Callable[[int, int], None]
"""(windows done, windows in all); raises Cancelled."""

_THREADS = len(os.sched_getaffinity(0))
_AT_ONCE = 128
"""Number of windows to read and add at a time: a few MB."""
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

    def is_as_sent(self, fleet: Fleet) -> bool:
        """Whether the window is as its device sent it, for the fleet's present key."""
        return self.signed_owner_key is None and self.owner_key(fleet) == fleet.key_id

    def can_answer(self, fleet: Fleet) -> bool:
        """Whether its device has keys of the fleet's present key."""
        return self.signed_device_owner_key in (None, signed(fleet.key_id))

    @property
    def key_id(self) -> int:
        return unsigned(self.signed_key_id)

    @property
    def largest(self) -> float | None:
        """The bound on values for which the device was enrolled; None for enrolments by older versions."""
        return self.largest_value or None

    @property
    def random(self) -> bytes:
        return unsigned(self.signed_random).to_bytes(8, "little")


def inputs_of(job: Job, database: Connection) -> list[Input]:
    """Return the job's windows by device: at most spec.per_device of each, with the lowest numbers. Devices
    that were in quarantine when the job was made are left out."""
    wanted = job.spec.wanted
    rows = database.execute(
        "SELECT d.number, d.epoch, d.key_id, d.largest_value, d.rekey, d.keys, w.number, w.counter, "
        "w.random, w.tags, w.extents, w.owner_key, d.owner_key "
        "FROM windows w JOIN devices d ON d.id = w.device "
        "WHERE d.fleet = ? AND w.sequence <= ? AND w.measured >= ? AND w.measured < ? "
        "AND d.id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) "
        "AND (CAST(? AS BIGINT) IS NULL OR d.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))) "
        "ORDER BY d.number, d.epoch, w.number",
        (
            *(job.fleet.id, job.cut, job.begins, job.ends, job.excluded),
            *(None if wanted is None else 1, json.dumps(list(wanted or ()))),
        ),
    )
    found: list[Input] = []
    for _, of_device in groupby(map(Input._make, rows), key=attrgetter("device")):
        found += islice(of_device, job.spec.per_device)
    return found


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


def compute(
    job: Job,
    jobs: Jobs,
    mailbox: Mailbox,
    database: Connection,
    reader: Reader,
    checker: WindowChecker,
    store: Store,
    progress: Progress,
) -> Result:
    """Compute a job's result, and store its ciphertexts as objects. Raises Error if it cannot be computed."""
    inputs = inputs_of(job, database)
    asked = len(inputs)
    if any(not found.extents for found in inputs):
        raise EngineError(
            "Windows of its interval are deleted, for the fleet keeps them no longer: ask for a later one."
        )
    progress(0, len(inputs))
    output = _Output(store, room_for_bytes(database, job.fleet.tenant))

    def compute_parts() -> tuple[list[str], int]:
        """Return digests of the ciphertexts, and the number of windows whose devices cannot fetch an
        answer."""
        if not inputs:
            return [], 0
        if job.fleet.is_compact:
            return [output.put(part) for part in _compact_parts(job, inputs, reader, progress)], 0
        computation = _FullComputation(job, jobs, mailbox, database, reader, store, progress)
        return [output.put(part) for part in computation.parts(inputs)], computation.unanswered

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
    for batch in _batches(_by_place(inputs)):
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


def known_of(found: Input, data: bytes | memoryview, fleet: Fleet) -> Known:
    """Return what is known about a window's values. data: its frames."""
    definition = fleet.definition
    assert isinstance(definition, FullFleet)
    if definition.log2_scale is None or found.largest is None:
        return Known(found.largest)
    key: Key = "symmetric" if frame_finder.is_seeded(data) else "asymmetric"
    return Known.encrypted(found.largest, fleet.parameters, key, 2.0**definition.log2_scale)


def _in_groups(job: Job, inputs: list[Input]) -> list[list[Input]]:
    """Return the windows of each group of devices (rest/grouping.py); one group if the job names none."""
    if job.spec.groups is None:
        return [inputs]
    of_devices: dict[int, list[Input]] = {}
    for found in inputs:
        of_devices.setdefault(found.device, []).append(found)
    groups = groups_of(of_devices, job.spec.groups, job.id, is_compact=job.fleet.is_compact)
    return [[found for device in group for found in of_devices[device]] for group in groups]


def _compact_parts(job: Job, inputs: list[Input], reader: Reader, progress: Progress) -> Iterator[bytes]:
    """Yield the files of a compact fleet's result."""
    groups = _in_groups(job, inputs)
    if job.spec.kind == "linear":
        yield _compact_scores(job, inputs, reader, progress)
    elif job.spec.groups is not None and len(groups) == len({found.device for found in inputs}):
        yield from _compact_windows(job, inputs, reader, progress)
    else:
        done = 0
        for group in groups:
            yield _compact_sum(job, group, reader, partial(_progress_from, progress, done, len(inputs)))
            done += len(group)


def _progress_from(progress: Progress, before: int, whole: int, done: int, _: int) -> None:
    """Report progress of a part, of which `before` windows came before."""
    progress(before + done, whole)


def _compact_windows(job: Job, inputs: list[Input], reader: Reader, progress: Progress) -> Iterator[bytes]:
    """Yield files of the windows themselves, for groups of one device."""
    fleet, positions = job.fleet, sorted(job.fleet.positions)
    given = iter(enumerate(inputs, 1))
    while batch := list(islice(given, most_windows(fleet.compact_set, len(positions)))):
        windows = []
        for done, found in batch:
            windows.append(_compact_window(fleet, found, reader.read(parse_extents(found.extents))))
            progress(done, len(inputs))
        yield CompactWindows.of(fleet.compact_set, fleet.key_id, positions, windows).to_bytes()


def _compact_sum(job: Job, inputs: list[Input], reader: Reader, progress: Progress) -> bytes:
    fleet, given = job.fleet, job.spec.weights
    weights = [1 if given is None else int(given[found.device]) for found in inputs]
    # Refused by what was declared, before anything is added.
    terms = [
        compact_bounds.Term(w, int(found.largest_value))
        for w, found in zip(weights, inputs, strict=True)
        if w
    ]
    compact_bounds.check(fleet.compact_set, terms)
    total = CompactSum(fleet.compact_set, fleet.key_id, sorted(fleet.positions))
    weighted = {found: weight for found, weight in zip(inputs, weights, strict=True) if weight}
    ordered = _by_place(weighted)
    for done, (found, data) in enumerate(zip(ordered, _read(reader, ordered), strict=True), 1):
        total.add(_compact_window(fleet, found, data), weighted[found])
        progress(done, len(inputs))
    return total.result(None).to_bytes()


def _compact_scores(job: Job, inputs: list[Input], reader: Reader, progress: Progress) -> bytes:
    fleet, fields = job.fleet, job.spec.model
    assert fields is not None
    # Refused by what was declared, before anything is computed.
    largest = max(int(found.largest_value) for found in inputs)
    plan = ScorePlan.of(fleet.compact_set, LinearModel.from_fields(fields), largest)
    scorer = CompactScorer(plan, fleet.key_id, sorted(fleet.positions))
    scorer.check_size(len(inputs))
    for done, (found, data) in enumerate(zip(inputs, _read(reader, inputs), strict=True), 1):
        scorer.add(_compact_window(fleet, found, data))
        progress(done, len(inputs))
    return scorer.result().to_bytes()


def _read(reader: Reader, inputs: list[Input]) -> Iterator[bytes]:
    """Yield the bytes of each window."""
    for batch in _batches(inputs):
        places = [parse_extents(found.extents) for found in batch]
        reader.prefetch(places)
        yield from map(reader.read, places)


def _by_place(inputs: Iterable[Input]) -> list[Input]:
    """Order windows as they lie in the store, for computations that need no other order."""

    def place(found: Input) -> tuple[str, int]:
        name, offset, _ = found.extents.split(":", 2)
        return name, int(offset)

    return sorted(inputs, key=place)


def _batches(inputs: Iterable[Input]) -> Iterator[list[Input]]:
    given = iter(inputs)
    while batch := list(islice(given, _AT_ONCE)):
        yield batch


def _compact_window(fleet: Fleet, found: Input, data: bytes) -> Window:
    stored = native.read_stored(None, found.counter, data)
    places = sorted((place, at, size) for place, _, _, at, size in stored.parts)
    packets = [(place, _core.CompactPacket(data[at : at + size]).values()) for place, at, size in places]
    positions = [np.arange(place, place + len(values), dtype=np.uint32) for place, values in packets]
    return Window(
        fleet.compact_set,
        fleet.key_id,
        found.device,
        found.epoch,
        found.number,
        found.counter,
        found.random,
        int(found.largest_value),
        np.concatenate(positions),
        np.concatenate([values for _, values in packets]),
    )


class _FullComputation:
    """A computation over full frames. unanswered: number of windows whose devices cannot fetch an answer."""

    def __init__(
        self,
        job: Job,
        jobs: Jobs,
        mailbox: Mailbox,
        database: Connection,
        reader: Reader,
        store: Store,
        progress: Progress,
    ) -> None:
        definition = job.fleet.definition
        assert isinstance(definition, FullFleet)
        self._job = job
        self._spec = job.spec
        self._mailbox = mailbox
        self.unanswered = 0
        self._fleet = job.fleet
        self._own_keys = definition.own_keys
        self._reader = reader
        self._store = store
        self._progress = progress
        self._parameters = job.fleet.parameters
        self._scheme = definition.scheme
        self._scale = 1.0 if definition.log2_scale is None else 2.0**definition.log2_scale
        self._context = context_of(self._parameters, self._scheme)
        found = {kind: store.get(digest) for kind, digest in jobs.keys(job.fleet.id).items()}
        keys = EvaluationKeys(self._parameters, found.get("galois"), found.get("relin"))
        self._evaluator = Evaluator(keys, self._scheme)
        self._path = KeyPath(job.fleet, database, store)

    def parts(self, inputs: list[Input]) -> Iterator[bytes]:
        """Yield the result's ciphertexts, each as soon as it is computed."""
        windows = count_of(len(inputs), "window")
        match self._spec.kind:
            case "sum" | "mean":
                groups = [
                    group if self._own_keys else _by_place(group) for group in _in_groups(self._job, inputs)
                ]
                for group in groups:
                    windows = count_of(len(group), "window")
                    self._check_room(f"The {self._spec.kind} of {windows}", group)
                counted = self._counted([found for group in groups for found in group])
                for group in groups:
                    yield self._group_part(list(islice(counted, len(group))))
            case "weighted-sum":
                yield self._weighted_sum(inputs)
            case "variance":
                self._check_room(f"The sum of {windows}", inputs)
                self._check_room(f"The sum of the squares of {windows}", inputs, power=2)
                yield from self._sum_and_squares(inputs)
            case "linear":
                yield from self._scores(inputs)

    def _group_part(self, group: list[Input]) -> bytes:
        """Return the sum of a group's windows as bytes, or a single one's frames, which are a fifth as long.
        None, which the owner takes for a bad group's, if devices have made it one that is in the clear and
        has no bytes. A whole sum's failure is the job's."""
        if self._spec.groups is not None and len(group) == 1 and not self._own_keys:
            (found,) = group
            if found.is_as_sent(self._fleet):
                return self._frames(found)
        try:
            return self._sum(group).to_seal()
        except EngineError:
            if self._spec.groups is None:
                raise
            return b""

    def _frames(self, found: Input) -> bytes:
        """Return a window's frames after a declaration of what its device is enrolled for."""
        data = self._reader.read(parse_extents(found.extents))
        whole = Ciphertext.from_frames(data, self._parameters, self._scheme, largest=found.largest)
        return whole.to_frames()

    def _counted(self, inputs: list[Input]) -> Iterator[Input]:
        for done, found in enumerate(inputs, 1):
            yield found
            self._progress(done, len(inputs))

    def _sum(self, inputs: Iterable[Input]) -> Ciphertext:
        """Add up windows under the owner's present key. Those of one key are added up under it, each device's
        own sum is converted to its owner's key once, and what is under an earlier one is switched once."""
        terms: list[Ciphertext] = []
        for (key_id, is_as_sent), group in self._by_key(inputs).items():
            if not is_as_sent:
                summed = self._switched_sum(group, key_id)
            elif self._own_keys:
                summed = self._own_sum(group, key_id)
            else:
                summed = self._plain_sum(group, key_id)
            terms.append(self._path.switched(summed, key_id))
        return terms[0] if len(terms) == 1 else self._total(terms, self._fleet.key_id)

    def _by_key(self, inputs: Iterable[Input]) -> dict[tuple[int, bool], Iterable[Input]]:
        """Group windows by the owner's key that they are under, and whether they are as their devices sent
        them."""
        groups: dict[tuple[int, bool], list[Input]] = {}
        for found in inputs:
            place = found.owner_key(self._fleet), found.signed_owner_key is None
            groups.setdefault(place, []).append(found)
        return dict(groups)

    def _total(self, terms: Iterable[Ciphertext], key_id: int) -> Ciphertext:
        """Add up ciphertexts under one key, no two of which have a window in common."""
        total, known = native.Sum(self._context), KnownSum(distinct=True)
        for term in terms:
            known.add(term.known)
            total.add(term.hosted)
        return self._ciphertext(total.total(), key_id, known.known)

    def _own_sum(self, inputs: Iterable[Input], key_id: int) -> Ciphertext:
        """Add up windows of devices that have keys of their own, under an owner's key."""
        return self._total(self._own_sums(inputs, key_id), key_id)

    def _own_sums(self, inputs: Iterable[Input], key_id: int) -> Iterator[Ciphertext]:
        for _, of_device in groupby(inputs, key=lambda found: (found.device, found.epoch)):
            group = iter(of_device)
            first = next(group)
            summed = self._plain_sum(_chain(first, group), first.key_id)
            yield self._path.from_device(summed, first.device, first.rekey, key_id)

    def _switched_sum(self, inputs: Iterable[Input], key_id: int) -> Ciphertext:
        """Add up windows that were switched to a key of the owner's."""
        return self._total(self._switched(inputs), key_id)

    def _switched(self, inputs: Iterable[Input]) -> Iterator[Ciphertext]:
        for batch in _batches(inputs):
            places = [parse_extents(found.extents) for found in batch]
            self._reader.prefetch(places)
            for found, extents in zip(batch, places, strict=True):
                yield rekeyed.from_bytes(found.stored, self._fleet, self._reader.read(extents))

    def _plain_sum(self, inputs: Iterable[Input], key_id: int) -> Ciphertext:
        """Add up windows under one key. Each core adds up a part, without the interpreter's lock."""
        assert self._fleet.params is not None
        given = self._viewed(inputs, known := KnownSum(distinct=True))
        totals = [native.Sum(self._context)]
        with ThreadPoolExecutor(_THREADS) as pool:
            running: dict[Future[None], native.Sum] = {}
            while attempts := list(islice(given, _AT_ONCE)):
                if len(running) == _THREADS:
                    free = self._first_done(running)
                elif len(totals) == len(running):
                    totals.append(free := native.Sum(self._context))
                else:
                    free = next(total for total in totals if total not in running.values())
                running[pool.submit(free.add_attempts, self._fleet.params, attempts)] = free
            while running:
                self._first_done(running)
        whole = totals[0]
        for part in totals[1:]:
            whole.add(part.total())
        return self._ciphertext(whole.total(), key_id, known.known)

    def _viewed(self, inputs: Iterable[Input], known: KnownSum) -> Iterator[bytes | memoryview]:
        """Yield the frames of each window, which name the key. No window repeats, so each is a separate,
        unnamed source."""
        for batch in _batches(inputs):
            places = [parse_extents(found.extents) for found in batch]
            self._reader.prefetch(places)
            for found, extents in zip(batch, places, strict=True):
                data = self._reader.view(extents)
                known.add(known_of(found, data, self._fleet))
                yield data

    @staticmethod
    def _first_done(running: dict[Future[None], native.Sum]) -> native.Sum:
        done = next(iter(wait(running, return_when=FIRST_COMPLETED).done))
        total = running.pop(done)
        done.result()
        return total

    def _ciphertext(self, content: native.Ciphertext, key_id: int, known: Known) -> Ciphertext:
        return Ciphertext(self._parameters, self._scheme, key_id, content, known)

    def _check_room(self, what: str, inputs: list[Input], power: int = 1) -> None:
        """Raises ValueRangeError, before anything is added up, if the sum of the windows' values, or of their
        squares, may exceed the modulus."""
        known = KnownSum()
        for found in inputs:
            known.add(Known(None if found.largest is None else found.largest**power))
        primes, scale = len(self._parameters.data_primes), self._scale**power
        check_room(what, known.largest, self._parameters, primes, scale, self._scheme)

    def _windows(self, inputs: list[Input]) -> Iterator[Ciphertext]:
        """Yield the windows one by one, under the owner's key."""
        counted = self._counted(inputs)
        for batch in _batches(inputs):
            self._reader.prefetch([parse_extents(found.extents) for found in batch])
            for found in islice(counted, len(batch)):
                yield self._sum([found])

    def _weighted_sum(self, inputs: list[Input]) -> bytes:
        assert self._spec.weights is not None
        terms, weights, most = [], [], 1
        for device, of_device in groupby(self._counted(inputs), key=lambda found: found.device):
            group = list(of_device)
            most = max(most, len(group))
            self._check_room(f"The sum of the windows of device {device}", group)
            terms.append(self._sum(group))
            weights.append(self._spec.weights[device])
        bound = None if self._spec.bound is None else self._spec.bound * most
        return self._evaluator.weighted_sum(terms, weights, bound=bound, distinct=True).to_seal()

    def _sum_and_squares(self, inputs: list[Input]) -> list[bytes]:
        sums = [(native.Sum(self._context), KnownSum(distinct=True)) for _ in range(2)]
        for window in self._windows(_by_place(inputs)):
            for (total, known), term in zip(sums, (window, self._evaluator.square(window)), strict=True):
                total.add(term.hosted)
                known.add(term.known)
        found = (self._ciphertext(total.total(), self._fleet.key_id, known.known) for total, known in sums)
        return [each.to_seal() for each in found]

    def _scores(self, inputs: list[Input]) -> Iterator[bytes]:
        assert self._spec.model is not None
        model = LinearModel.from_fields(self._spec.model)
        for found, window in zip(inputs, self._windows(inputs), strict=True):
            score = self._evaluator.linear(window, model, feature_bound=self._spec.bound).to_seal()
            if self._spec.answer is not None:
                self._answer(found, score, self._spec.answer)
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


def _chain(first: Input, rest: Iterator[Input]) -> Iterator[Input]:
    yield first
    yield from rest
