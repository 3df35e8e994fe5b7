# SPDX-License-Identifier: Apache-2.0
"""The intake: deliveries are checked, judged, stored and only then answered, many at a time.

One thread takes all deliveries since its last round: the C library checks every byte without the
interpreter's lock, the rules of devices.py decide, the bytes are appended to the store, the rows are
committed, and then all are answered at once. So a round costs two syncs of a disk, however many deliveries it
has, and the next round gathers while the disk works, and for a millisecond more. A round takes deliveries
from each device in turn (turns.py): whatever others send, a device's delivery is in the next round, unless
more devices have one than fit a round.

A store that takes several rounds at a time gets them: the thread judges the next round, as if those in flight
were committed, while other threads append their bytes. Rounds are committed and answered in order. If one
fails, those after it fail too, since they were judged by states that never were; and a state is read from the
database only when no round in flight changes it.

A round is committed for devices that are as they were judged, by their versions in the database. Others,
which an operator or another gateway has changed meanwhile, are left out of it and of the rounds in flight,
and their deliveries are judged again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ciphermote import _evaluator
from ciphermote.formats.receipts import Verdict, receipt_bytes
from ciphermote.gateway import telemetry
from ciphermote.gateway.database.interface import ERRORS, Connection, Database, Row, fault_of, write_values
from ciphermote.gateway.devices import (
    MOST_ATTEMPTS,
    Attempt,
    Counted,
    DeviceState,
    deleted_parts,
    parts_text,
    signed,
)
from ciphermote.gateway.fleets import Fleet, Part, address
from ciphermote.gateway.metrics import Metrics
from ciphermote.gateway.quotas import WINDOW_ROW_BYTES, out_of_room
from ciphermote.gateway.refusals import Refusal, disk_full, of_storage, overloaded
from ciphermote.gateway.store.extents import Extent, extents_text, parse_extents
from ciphermote.gateway.store.interface import Store, StoreUnavailable
from ciphermote.gateway.turns import Turns
from ciphermote.gateway.wrapping import Wrapper

MOST_DELIVERY_BYTES = 4 << 20
"""A whole ciphertext at n = 16384 with 15 primes under a public key is 1.6 MB."""
MOST_PENDING_BYTES = 64 << 20
MOST_PENDING = 4096
MOST_QUARANTINED = 16
"""The most waiting deliveries of a device; more are refused."""
GATHERING_SECONDS = 0.001
"""The least time from the end of a round to the next one. Whoever was answered sends again within it, so that
all who wait for answers are in every round, and not half of them in every other one."""
_ROUND = 512
_ROUND_BYTES = 32 << 20
_MOST_DEVICES = 20_000
_MOST_SECONDS = 600.0
"""How long a round may be in flight: less than objects that no row refers to stay (retention.py)."""
_AHEAD_SECONDS = 300.0
_COUNTER_END = 1 << 63
_SLOW_SECONDS = 3.0
"""How long a round may be written to the database before further deliveries are refused."""
_MOST_REPEATS = 5
"""How often a delivery is judged, or a round written, again, because another gateway was in its way."""


class Outcome(NamedTuple):
    """The outcome of a delivery. receipt: bytes for the device, once its attempt is complete; missing: number
    of missing units, None if unknown."""

    receipt: bytes | None
    verdict: Verdict | None = None
    missing: int | None = None
    unit: Literal["frames", "values"] | None = None


_Place = tuple[int, int]
"""A device's fleet and number."""


@dataclass(eq=False)
class _Message:
    fleet: Fleet
    number: int
    epoch: int
    data: bytes
    measured: float | None
    future: asyncio.Future[Outcome]
    device: DeviceState | None = None
    answer: Outcome | Exception | None = None
    repeats: int = 0
    """How often it was judged by a state of its device that was not the newest."""

    @property
    def place(self) -> _Place:
        return self.fleet.id, self.number


@dataclass(eq=False)
class _Errand:
    """A task for the thread between two rounds."""

    action: Callable[[], None]
    done: Future[None] = field(default_factory=Future)


class _Appended:
    """Tells the thread that a round's bytes are stored, or that this failed."""


@dataclass(eq=False, slots=True)
class _Window:
    """A window that counts. parts: by place, (places, tag)."""

    device: DeviceState
    number: int
    counter: int
    random: int
    tags: int
    measured: float
    parts: dict[int, tuple[int, int]]
    extents: list[Extent]


@dataclass(eq=False)
class _Round:
    """The writes of a round, and its messages. pieces: bytes to append, their devices, and functions that get
    their extents."""

    now: float
    messages: list[_Message]
    started: float = field(default_factory=time.perf_counter)
    span: telemetry.Span = telemetry.NOTHING
    appended: Future[list[Extent]] | None = None
    """Extents of a round in flight, once its bytes are stored."""
    pieces: list[bytes] = field(default_factory=list)
    senders: list[DeviceState] = field(default_factory=list)
    placed: list[Callable[[Extent], None]] = field(default_factory=list)
    counted: list[_Window] = field(default_factory=list)
    changed: dict[tuple[int, int], tuple[DeviceState, Attempt | None]] = field(default_factory=dict)
    quarantined: list[tuple[DeviceState, int, str, str, list[Extent]]] = field(default_factory=list)
    devices: dict[int, DeviceState] = field(default_factory=dict)
    bytes_by_tenant: dict[int, int] = field(default_factory=dict)
    extents: list[Extent] = field(default_factory=list)
    """Where the pieces are, once they are stored."""
    quotas: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By tenant: its quota of bytes, and its bytes before the round."""
    room: dict[int, int] = field(default_factory=dict)
    """By tenant: the bytes for which there was room when an attempt was admitted."""
    attempts: list[tuple[tuple[Any, ...], list[Extent]]] = field(default_factory=list)
    """The rows of changed attempts, and their extents."""
    seen: list[tuple[Any, ...]] = field(default_factory=list)
    """The rows of devices in the order of their ids, each with the version by which it was judged."""
    places: set[_Place] = field(default_factory=set)
    """Devices of a round in flight."""
    outdated: set[int] = field(default_factory=set)
    """Devices that were not as they were judged, whose deliveries are judged again."""

    def keep(self, device: DeviceState, data: bytes, placed: Callable[[Extent], None]) -> None:
        tenant = device.fleet.tenant
        self.pieces.append(data)
        self.senders.append(device)
        self.placed.append(placed)
        self.bytes_by_tenant[tenant] = self.bytes_by_tenant.get(tenant, 0) + len(data)

    def forget(self, device: DeviceState, counter: int) -> None:
        """Drop an attempt; this round removes it from the database."""
        if device.attempts.pop(counter).is_stored:
            self.changed[device.id, counter] = device, None
            self.devices[device.id] = device
        else:
            self.changed.pop((device.id, counter), None)

    def freeze(self) -> None:
        """Fix the rows, because later rounds change the states. The devices' versions are those that they
        have once the round is committed."""
        for (device, counter), (_, attempt) in self.changed.items():
            if attempt is not None:
                row = (
                    *(device, counter, attempt.number, signed(attempt.random), attempt.agreed.hex()),
                    *(parts_text(attempt.parts, attempt.places), attempt.measured, attempt.state, self.now),
                )
                self.attempts.append((row, attempt.extents))
                attempt.is_stored = True
        counted = Counter(window.device.id for window in self.counted)
        heard = self.heard
        for number, state in sorted(self.devices.items()):
            at = self.now if number in heard else -1.0
            self.seen.append(
                (
                    *(number, state.version, state.newest, state.newest_window, counted[number]),
                    *(at, state.allowance, state.allowed_at),
                )
            )
            state.version += 1

    @property
    def heard(self) -> set[int]:
        """Devices that sent something new which was not refused."""
        return {window.device.id for window in self.counted} | {device for device, _ in self.changed}

    @property
    def bytes_by_place(self) -> dict[tuple[str, int], int]:
        """The bytes of each place and tenant."""
        found: dict[tuple[str, int], int] = {}
        for sender, extent in zip(self.senders, self.extents, strict=True):
            if sender.id not in self.outdated:
                key = extent.place, sender.fleet.tenant
                found[key] = found.get(key, 0) + extent.size
        return found

    def drop(self, devices: set[int]) -> None:
        """Leave out everything of these devices."""
        gone = devices - self.outdated
        self.outdated |= gone
        self.devices = {device: state for device, state in self.devices.items() if device not in gone}
        self.seen = [row for row in self.seen if row[0] not in gone]
        self.counted = [window for window in self.counted if window.device.id not in gone]
        self.changed = {key: value for key, value in self.changed.items() if key[0] not in gone}
        self.attempts = [found for found in self.attempts if found[0][0] not in gone]
        self.quarantined = [found for found in self.quarantined if found[0].id not in gone]
        self.places &= {(device.fleet.id, device.number) for device in self.devices.values()}
        for sender, piece in zip(self.senders, self.pieces, strict=True):
            if sender.id in gone:
                self.bytes_by_tenant[sender.fleet.tenant] -= len(piece)

    def new_bytes(self, tenant: int) -> int:
        """Return the bytes that the round adds to a tenant's."""
        rows = sum(window.device.fleet.tenant == tenant for window in self.counted)
        return self.bytes_by_tenant.get(tenant, 0) + rows * WINDOW_ROW_BYTES

    def saw(self, device: DeviceState, counter: int, number: int) -> None:
        """Record authentic frames of a device with this counter and window."""
        device.newest = max(device.newest, counter)
        device.newest_window = max(device.newest_window, number)
        self.devices[device.id] = device


class Shares:
    """Divides a fixed amount: each holder may have as much as is free for the others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[Hashable, int] = {}
        self.total = 0

    def add(self, who: Hashable, count: int) -> None:
        """Add to a holder's share. Raises Refusal if it would exceed what is free."""
        has, total = self._of.get(who, 0) + count, self.total + count
        if has > self._most - total:
            raise overloaded("The gateway has as much to do as it can take")
        self._of[who], self.total = has, total

    def remove(self, who: Hashable, count: int) -> None:
        self.total -= count
        self._of[who] = self._of.get(who, 0) - count
        if not self._of[who]:
            del self._of[who]


class DeviceShares:
    """Divides a fixed amount among tenants, and a tenant's half, the most that it can have, among its
    devices."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tenants = Shares(most)
        self._devices: dict[int, Shares] = {}

    def add(self, tenant: int, device: Hashable, count: int) -> None:
        """Add to a device's share. Raises Refusal if the device or its tenant would exceed what is free."""
        devices = self._devices.get(tenant) or Shares(self._most // 2)
        devices.add(device, count)
        try:
            self._tenants.add(tenant, count)
        except Refusal:
            devices.remove(device, count)
            raise
        self._devices[tenant] = devices

    def remove(self, tenant: int, device: Hashable, count: int) -> None:
        self._tenants.remove(tenant, count)
        devices = self._devices[tenant]
        devices.remove(device, count)
        if not devices.total:
            del self._devices[tenant]


class _Room:
    """A context that accounts for one delivery of a sender, and gives a function to account for its bytes. (A
    generator would take longer than the accounts.)"""

    __slots__ = ("_bytes", "_deliveries", "_refused", "_sender", "_size", "_tenant")

    def __init__(
        self,
        deliveries: DeviceShares,
        bytes_: DeviceShares,
        refused: Callable[[], None],
        tenant: int,
        sender: Hashable,
    ) -> None:
        self._deliveries = deliveries
        self._bytes = bytes_
        self._refused = refused
        self._tenant = tenant
        self._sender = sender
        self._size = 0

    def __enter__(self) -> Callable[[int], None]:
        self._add(self._deliveries, 1)
        return self._take

    def __exit__(self, *_: object) -> None:
        self._deliveries.remove(self._tenant, self._sender, 1)
        if self._size:
            self._bytes.remove(self._tenant, self._sender, self._size)

    def _take(self, more: int) -> None:
        if self._size + more > MOST_DELIVERY_BYTES:
            raise Refusal(
                413,
                "too-large",
                f"The delivery is over {MOST_DELIVERY_BYTES} bytes: send an attempt at a time.",
            )
        self._add(self._bytes, more)
        self._size += more

    def _add(self, shares: DeviceShares, count: int) -> None:
        try:
            shares.add(self._tenant, self._sender, count)
        except Refusal:
            self._refused()
            raise


class Intake:
    """Takes deliveries from tasks of one event loop, in which it is started and stopped."""

    def __init__(
        self,
        database: Database,
        store: Store,
        wrapper: Wrapper,
        metrics: Metrics,
        *,
        reserve_bytes: int,
    ) -> None:
        self._database = database
        self._store = store
        self._reader = store.reader()
        self._wrapper = wrapper
        self._metrics = metrics
        self._overloaded = metrics.refused.labels("overloaded")
        self._reserve_bytes = reserve_bytes
        self._queue: queue.SimpleQueue[_Message | _Errand | _Appended | None] = queue.SimpleQueue()
        self._in_flight: deque[_Round] = deque()
        """Rounds that are judged and not yet committed, the oldest first."""
        self._pool: ThreadPoolExecutor | None = None
        """Appends to a store that takes several rounds at a time."""
        if store.most_in_flight > 1:
            self._pool = ThreadPoolExecutor(store.most_in_flight, "append")
        self._turns: Turns[_Message] = Turns()
        self._devices: OrderedDict[_Place, DeviceState] = OrderedDict()
        self._unfit: dict[_Place, Refusal | None] = {}
        """Why deliveries of this round's devices are refused that could not be loaded."""
        self._stale: queue.SimpleQueue[_Place] = queue.SimpleQueue()
        self._pending = DeviceShares(MOST_PENDING)
        self._pending_bytes = DeviceShares(MOST_PENDING_BYTES)
        self._writing_since: float | None = None
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Answer pending deliveries, and accept no more."""
        self._stopping = True
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._pool is not None:
            self._pool.shutdown()
        self._store.close()
        self._reader.close()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def slowness(self) -> str | None:
        """Return None, or why deliveries are refused now: answers to them would take too long."""
        since = self._writing_since
        if since is None or time.monotonic() - since < _SLOW_SECONDS:
            return None
        return "the database is slow"

    def forget(self, fleet: int, number: int) -> None:
        """Drop the cached state of a device, which has changed in the database."""
        self._stale.put((fleet, number))

    def drop_attempts(self, fleet: int, before: float) -> Future[None]:
        """Drop a fleet's incomplete attempts without a delivery since then; of quarantined ones only the
        bytes."""

        def drop() -> None:
            with self._database.writing() as database:
                where = "arrived < ? AND extents != '' AND device IN (SELECT id FROM devices WHERE fleet = ?)"
                database.execute(
                    "UPDATE devices SET version = version + 1 "
                    f"WHERE id IN (SELECT device FROM attempts WHERE state = 'open' AND {where})",
                    (before, fleet),
                )
                gone = database.execute(
                    f"DELETE FROM attempts WHERE state = 'open' AND {where} RETURNING device", (before, fleet)
                ).fetchall()
                database.execute(f"UPDATE attempts SET extents = '' WHERE {where}", (before, fleet))
            devices = {row["device"] for row in gone}
            for place in [place for place, state in self._devices.items() if state.id in devices]:
                del self._devices[place]
            self._reader.close()

        return self._between_rounds(drop)

    def forget_devices(self, fleet: int, number: int | None) -> Future[None]:
        """Drop the cached state of a device, or (None) of a whole fleet, and wait for rounds that used it."""

        def forget() -> None:
            for place in [
                place for place in self._devices if place[0] == fleet and number in (None, place[1])
            ]:
                del self._devices[place]

        return self._between_rounds(forget)

    def _between_rounds(self, action: Callable[[], None]) -> Future[None]:
        errand = _Errand(action)
        self._queue.put(errand)
        return errand.done

    def room_for(self, fleet: Fleet, device: int | None) -> _Room:
        """Account for a delivery that is being received from a device, or from an uplink (None), while in the
        context, which gives a function to account for its bytes. Raises Refusal if there are too many at
        once. A tenant may have as many as are free, and a device as many as are free of its tenant's, so
        unfinished deliveries always leave room for others."""
        if self._stopping or (self._writing_since is not None and self.slowness is not None):
            self._overloaded.inc()
            raise overloaded(
                "The gateway is stopping" if self._stopping else "The gateway's database is slow"
            )
        who = fleet.tenant, (fleet.id, device)
        return _Room(self._pending, self._pending_bytes, self._overloaded.inc, *who)

    async def take(
        self, fleet: Fleet, device: int | None, data: bytes, measured: float | None = None
    ) -> Outcome:
        """Take one delivery, within room_for, and return once it is on the disk. device: that of the sender's
        token; None for any device of the fleet. Raises Refusal."""
        try:
            is_compact, number, epoch = address(data)
            if is_compact != fleet.is_compact:
                sends = "compact packets" if fleet.is_compact else "full frames"
                raise Refusal(
                    422, "foreign", f"Fleet {fleet.name} sends {sends}: send these to their own fleet."
                )
            if device is not None and number != device:
                raise Refusal(
                    403,
                    "other-device",
                    f"The frames are of device {number}, and the token is of device {device}: use each "
                    "device's own.",
                )
            assert self._loop is not None
            message = _Message(fleet, number, epoch, data, measured, self._loop.create_future())
            self._queue.put(message)
            return await message.future
        except Refusal as refusal:
            self._metrics.refused.labels(refusal.name).inc()
            raise

    # --- the thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._database.keep_undo_in_memory()
        turns = self._turns
        ends = False
        while turns or self._in_flight or not ends:
            ends = self._gather(ends)
            self._settle()
            messages: list[_Message] = []
            size = 0
            is_free = self._is_free
            while is_free and turns and len(messages) < _ROUND and size < _ROUND_BYTES:
                messages.append(turns.take())
                size += len(messages[-1].data)
            if messages:
                self._round(messages)
                time.sleep(GATHERING_SECONDS)

    @property
    def _is_free(self) -> bool:
        """Whether another round may begin."""
        return len(self._in_flight) < self._store.most_in_flight

    def _gather(self, ends: bool) -> bool:  # noqa: FBT001
        """Gather deliveries, waiting if there is nothing to do, and return whether the intake ends."""
        turns = self._turns
        with contextlib.suppress(queue.Empty):
            while True:
                is_idle = not turns or not self._is_free if self._in_flight else not turns and not ends
                more = self._queue.get(block=is_idle)
                if more is None:
                    ends = True
                elif isinstance(more, _Appended):
                    break
                elif isinstance(more, _Errand):
                    self._drain()
                    _run_errand(more)
                else:
                    turns.add(more.fleet.tenant, more.place, more)
        return ends

    # --- rounds ---------------------------------------------------------------------------------------------

    def _round(self, messages: list[_Message]) -> None:
        this = _Round(time.time(), messages)
        this.span = telemetry.begin("round", deliveries=len(messages))
        try:
            with this.span.current():
                self._judge_round(this)
        except Exception as error:
            self._fail([this], error)
            return
        if self._pool is not None:
            this.places = {(device.fleet.id, device.number) for device in this.devices.values()}
            this.appended = self._pool.submit(self._append, this)
            this.appended.add_done_callback(lambda _: self._queue.put(_Appended()))
            self._in_flight.append(this)
            return
        try:
            self._commit(this, self._append(this))
        except Exception as error:
            self._fail([this], error)
        else:
            self._end(this)

    def _append(self, this: _Round) -> list[Extent]:
        if not this.pieces:
            return []
        with this.span.current():
            return self._store.append(this.pieces, [sender.fleet for sender in this.senders], this.now)

    def _settle(self) -> Exception | None:
        """Commit and answer rounds whose bytes are stored, in order. Return why one failed, if one did."""
        while self._in_flight and (appended := self._in_flight[0].appended) and appended.done():
            try:
                self._commit(self._in_flight[0], appended.result())
            except Exception as error:
                failed = list(self._in_flight)
                self._in_flight.clear()
                self._fail(failed, error)
                return error
            self._end(self._in_flight.popleft())
        return None

    def _drain(self) -> Exception | None:
        """Wait for the rounds in flight. Return why one failed, if one did."""
        while self._in_flight:
            assert self._in_flight[0].appended is not None
            wait([self._in_flight[0].appended])
            failure = self._settle()
            if failure is not None:
                return failure
        return None

    def _fail(self, rounds: list[_Round], error: Exception) -> None:
        self._database.notice(error)
        # What was judged may not be kept: forget it all, and have everything sent again.
        self._devices.clear()
        stopped = isinstance(error, OSError) or fault_of(error) not in (None, "integrity")
        failure: Exception = of_storage(error) or (disk_full(error) if stopped else error)
        for this in rounds:
            for message in this.messages:
                if not isinstance(message.answer, Refusal):
                    message.answer = failure
            self._metrics.storage_failures.inc()
            this.span.fail(error)
            self._end(this)

    def _end(self, this: _Round) -> None:
        """Answer a round, but for what is judged again."""
        self._metrics.rounds.observe(len(this.messages))
        self._metrics.round_seconds.observe(time.perf_counter() - this.started)
        this.span.end()
        answered = this.messages
        if this.outdated:
            answered = [message for message in this.messages if message.answer is not None]
            for message in this.messages:
                if message.answer is None:
                    self._turns.add(message.fleet.tenant, message.place, message)
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(_answer, answered)

    def _judge_round(self, this: _Round) -> None:
        self._drop_stale()
        self._check_space()
        self._load(this.messages)
        known = []
        for message in this.messages:
            try:
                message.device = self._device(message)
                known.append(message)
            except Refusal as refusal:
                message.answer = refusal
        deliveries = _evaluator.check_deliveries(
            [
                (m.fleet.params, m.device.keys.frames, max(m.device.newest, 0), m.data)
                for m in known
                if m.device is not None
            ]
        )
        for message, delivery in zip(known, deliveries, strict=True):
            assert message.device is not None
            try:
                message.answer = self._judge(message, message.device, delivery, this)
            except Refusal as refusal:
                message.answer = refusal
        this.freeze()

    def _commit(self, this: _Round, extents: list[Extent]) -> None:
        if self._pool is not None and time.perf_counter() - this.started > _MOST_SECONDS:
            raise StoreUnavailable("A round took so long that its bytes may have been collected as orphans.")
        this.extents = extents
        for extent, placed in zip(extents, this.placed, strict=True):
            placed(extent)
        known = set(this.outdated)
        self._writing_since = time.monotonic()
        try:
            with this.span.current():
                self._write(this)
        finally:
            self._writing_since = None
        later = [other for other in self._in_flight if other is not this]
        if this.outdated:
            for other in later:
                other.drop(this.outdated - known)
            self._judge_again(this)
        changing = {number for other in later for number in other.devices}
        for number, device in this.devices.items():
            if number not in changing:
                device.trim()
        self._metrics.bytes_kept.inc(sum(this.bytes_by_tenant.values()))
        self._metrics.windows.inc(len(this.counted))

    def _drop_stale(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._devices.pop(self._stale.get_nowait(), None)
        while len(self._devices) > _MOST_DEVICES:
            self._devices.popitem(last=False)

    def _check_space(self) -> None:
        room = os.statvfs(self._store.disk)
        if room.f_bavail * room.f_frsize < self._reserve_bytes:
            raise OSError(28, "the disk is almost full")

    def _judge_again(self, this: _Round) -> None:
        """Have deliveries of outdated devices judged in a later round, by what the database has then."""
        for message in this.messages:
            device = message.device
            if device is not None and device.id in this.outdated:
                if self._devices.get(message.place) is device:
                    del self._devices[message.place]
                message.device = None
                message.repeats += 1
                message.answer = None
                if message.repeats > _MOST_REPEATS:
                    message.answer = overloaded("Another gateway takes deliveries of this device")

    def _load(self, messages: list[_Message]) -> None:
        """Load the states of devices that are not remembered, or that another gateway has changed."""
        fleets = {message.place: message.fleet for message in messages}
        if self._database.is_shared:
            self._drop_outdated(fleets)
        unknown = [(place, fleet) for place, fleet in fleets.items() if place not in self._devices]
        if any(place in each.places for each in self._in_flight for place, _ in unknown):
            failure = self._drain()
            if failure is not None:
                raise failure
            unknown = [(place, fleet) for place, fleet in fleets.items() if place not in self._devices]
        if not unknown:
            return
        rows = write_values(
            self._database.connection,
            "SELECT d.*, f.deleted AS fleet_deleted FROM devices d JOIN fleets f ON f.id = d.fleet "
            "WHERE (d.fleet, d.number) IN (VALUES",
            [place for place, _ in unknown],
            ") ORDER BY d.epoch",
        )
        self._unfit = {}
        latest = {(row["fleet"], row["number"]): row for row in rows}
        loaded = {}
        for place, fleet in unknown:
            row = latest.get(place)
            refusal = _unfit(row, fleet, place[1])
            if refusal is not None or row is None:
                self._unfit[place] = refusal
                continue
            keys = self._wrapper.unwrap(row["keys"], row["fleet"], row["number"], row["epoch"])
            loaded[row["id"]] = self._devices[place] = DeviceState.load(row, fleet, keys)
        attempts = write_values(
            self._database.connection,
            "SELECT * FROM attempts WHERE device IN (VALUES",
            [(device,) for device in loaded],
            ")",
        )
        for found in attempts:
            loaded[found["device"]].add_attempt(found)

    def _drop_outdated(self, places: Iterable[_Place]) -> None:
        """Drop the states of devices that another gateway has changed, or whose fleet is deleted."""
        known = {state.id: place for place in places if (state := self._devices.get(place)) is not None}
        rows = write_values(
            self._database.connection,
            "SELECT d.id, d.version FROM devices d JOIN fleets f ON f.id = d.fleet "
            "WHERE f.deleted IS NULL AND d.id IN (VALUES",
            [(device,) for device in known],
            ")",
        )
        changing = Counter(device for each in self._in_flight for device in each.devices)
        versions = {row["id"]: row["version"] + changing[row["id"]] for row in rows}
        for device, place in known.items():
            if versions.get(device) != self._devices[place].version:
                del self._devices[place]

    def _device(self, message: _Message) -> DeviceState:
        state = self._devices.get(message.place)
        if state is None:
            refusal = self._unfit[message.place]
            assert refusal is not None
            raise refusal
        self._devices.move_to_end(message.place)
        if state.epoch != message.epoch:
            raise Refusal(
                403,
                "foreign-epoch",
                f"The frames are of epoch {message.epoch} and device {message.number} is in epoch "
                f"{state.epoch}: provision it with its newest keys, or have the owner enroll it here.",
            )
        return state

    # --- the rules ------------------------------------------------------------------------------------------

    def _judge(
        self, message: _Message, device: DeviceState, delivery: _evaluator.Delivery, this: _Round
    ) -> Outcome:
        if delivery.status != "CM_OK":
            forged = delivery.status == "CM_ERR_FRAME_TAG"
            raise Refusal(
                403 if forged else 400,
                "forged" if forged else "malformed",
                f"Device {device.number}, byte {delivery.failed_at}: {delivery.fault}",
            )
        parts = delivery.parts
        device.fleet.check_content(delivery, parts, device.key_id)
        counter, number = delivery.counter, delivery.window
        if counter >= _COUNTER_END:
            raise Refusal(
                422, "counter", "The counter is 2^63 or more, which no device comes to: enroll it anew."
            )
        random = int.from_bytes(delivery.random, "little")
        if device.jumps(counter):
            self._quarantine(
                this, message, device, counter, "jump", f"counter {counter} after {device.newest}"
            )
            raise Refusal(
                409,
                "held",
                f"Counter {counter} is more than 2^31 ahead of device {device.number}'s newest "
                f"({device.newest}): it is held until the operator accepts it.",
            )
        counted = device.find_counted(number, self._database.connection)
        if counted is not None and counted.counter == counter:
            return self._again(this, message, device, delivery, parts, counted, random)
        attempt = device.attempts.get(counter)
        if attempt is None:
            places = device.fleet.places(delivery, parts)
            if delivery.covered == places and counted is None and number >= device.oldest:
                return self._take_whole(this, message, device, delivery, parts, random)
            attempt = self._begin(device, delivery, random, message, this)
        elif (
            attempt.state == "quarantined"
            or not attempt.agrees(delivery, parts, random)
            or attempt.contradicts(parts)
        ):
            raise self._mixed(this, message, device, counter, attempt)
        return self._add(this, message, device, delivery, parts, attempt, counted)

    def _check_quota(self, tenant: int, size: int, this: _Round) -> None:
        """Raises Refusal for a new attempt that exceeds the tenant's quota."""
        if tenant not in this.quotas:
            most, kept = self._database.connection.execute(
                "SELECT most_bytes, bytes FROM tenants WHERE id = ?", (tenant,)
            ).fetchone()
            this.quotas[tenant] = most, kept + sum(each.new_bytes(tenant) for each in self._in_flight)
        most, kept = this.quotas[tenant]
        needed = this.bytes_by_tenant.get(tenant, 0) + size + WINDOW_ROW_BYTES
        if kept + needed > most:
            raise out_of_room(kept, most)
        this.room[tenant] = needed

    def _admit(self, device: DeviceState, message: _Message, this: _Round) -> float:
        """Admit a new attempt, and return when its window was measured. Raises Refusal if its tenant or its
        device has sent too much."""
        self._check_quota(device.fleet.tenant, len(message.data), this)
        wait = device.spend(this.now)
        if wait:
            raise Refusal(
                429,
                "too-many-windows",
                f"Device {device.number} has sent all the windows that it may in an hour: send this one "
                f"again in {wait:.0f} s.",
                retry_after=max(1.0, wait),
            )
        measured = this.now if message.measured is None else message.measured
        return this.now if measured > this.now + _AHEAD_SECONDS else measured

    def _take_whole(
        self,
        this: _Round,
        message: _Message,
        device: DeviceState,
        delivery: _evaluator.Delivery,
        parts: list[Part],
        random: int,
    ) -> Outcome:
        """Take an attempt that arrived in one delivery, and by which its window counts."""
        measured = self._admit(device, message, this)
        number, counter, tags = delivery.window, delivery.counter, delivery.tags
        known = {place: (count, tag) for place, count, tag, _, _ in parts}
        this.saw(device, counter, number)
        window = _Window(device, number, counter, random, tags, measured, known, [])
        this.keep(device, message.data, window.extents.append)
        return self._count(this, window)

    def _begin(
        self, device: DeviceState, delivery: _evaluator.Delivery, random: int, message: _Message, this: _Round
    ) -> Attempt:
        measured = self._admit(device, message, this)
        attempt = Attempt(delivery.window, random, delivery.agreed, measured)
        device.attempts[delivery.counter] = attempt
        if len(device.attempts) > MOST_ATTEMPTS:
            oldest = min(device.attempts)
            this.forget(device, oldest)
            if oldest == delivery.counter:
                raise Refusal(
                    409,
                    "given-up",
                    f"Device {device.number} has {MOST_ATTEMPTS} newer attempts: send this window again in a "
                    "new one.",
                )
        return attempt

    def _add(
        self,
        this: _Round,
        message: _Message,
        device: DeviceState,
        delivery: _evaluator.Delivery,
        parts: list[Part],
        attempt: Attempt,
        counted: Counted | None,
    ) -> Outcome:
        counter = delivery.counter
        fresh = [part for part in parts if part[0] not in attempt.parts]
        if fresh and attempt.state == "open":
            if not attempt.has_residues:
                attempt.agreed = delivery.agreed
            places = device.fleet.places(delivery, parts)
            attempt.places = attempt.places if places is None else places
            for place, count, tag, _, _ in fresh:
                attempt.parts[place] = count, tag
            this.saw(device, counter, attempt.number)
            this.changed[device.id, counter] = device, attempt
            dropped = counted is not None or attempt.number < device.oldest
            if attempt.complete and dropped:
                attempt.state, attempt.extents = "surplus", []
            elif len(fresh) == len(parts):
                this.keep(device, message.data, attempt.extents.append)
            else:
                for _, _, _, at, size in fresh:
                    this.keep(device, message.data[at : at + size], attempt.extents.append)
            if attempt.complete and not dropped:
                this.forget(device, counter)
                window = _Window(
                    *(device, attempt.number, counter, attempt.random, attempt.tags),
                    *(attempt.measured, attempt.parts, attempt.extents),
                )
                return self._count(this, window)
        if not attempt.complete:
            return Outcome(
                None, missing=_missing(attempt), unit="values" if device.fleet.is_compact else "frames"
            )
        verdict = Verdict.SURPLUS if counted is not None else Verdict.TOO_OLD
        return self._receipt(device, verdict, attempt.number, counter, attempt.tags)

    def _count(self, this: _Round, window: _Window) -> Outcome:
        device = window.device
        this.counted.append(window)
        device.counted[window.number] = Counted(window.counter, window.random, window.tags, "")
        return self._receipt(device, Verdict.COUNTS, window.number, window.counter, window.tags)

    def _again(
        self,
        this: _Round,
        message: _Message,
        device: DeviceState,
        delivery: _evaluator.Delivery,
        parts: list[Part],
        counted: Counted,
        random: int,
    ) -> Outcome:
        """Answer a repeated attempt by which its window counts, with the same receipt if it is identical."""
        same = counted.random == random
        if same and counted.tags != delivery.tags:
            stored = self._stored_parts(device, counted, this)
            same = stored is None or all(
                stored.get(place) == (count, tag) for place, count, tag, _, _ in parts
            )
        if not same:
            raise self._mixed(this, message, device, delivery.counter, None)
        return self._receipt(device, Verdict.COUNTS, delivery.window, counted.counter, counted.tags)

    def _stored_parts(
        self, device: DeviceState, counted: Counted, this: _Round
    ) -> dict[int, tuple[int, int]] | None:
        """Return the parts of a stored window; None if unknown, because its bytes are deleted and a backup
        without them was restored before."""
        for each in (*self._in_flight, this):
            for window in each.counted:
                if window.device is device and window.counter == counted.counter:
                    return window.parts
        row = self._database.connection.execute(
            "SELECT extents, parts, owner_key FROM windows WHERE device = ? AND counter = ?",
            (device.id, counted.counter),
        ).fetchone()
        if not row["extents"] or row["owner_key"] is not None:
            return deleted_parts(row["parts"])
        data = self._reader.read(parse_extents(row["extents"]))
        fleet = device.fleet
        (found,) = _evaluator.check_deliveries([(fleet.params, device.keys.frames, counted.counter, data)])
        return {place: (count, tag) for place, count, tag, _, _ in found.parts}

    def _mixed(
        self,
        this: _Round,
        message: _Message,
        device: DeviceState,
        counter: int,
        attempt: Attempt | None,
    ) -> Refusal:
        self._quarantine(this, message, device, counter, "mixed", f"counter {counter} came with other bytes")
        if attempt is not None and attempt.state == "open":
            attempt.state = "quarantined"
            this.changed[device.id, counter] = device, attempt
            this.devices[device.id] = device
        return Refusal(
            409,
            "mixed",
            f"Device {device.number} has used counter {counter} before, with other bytes, so it has lost its "
            "counter: these are quarantined; enroll the device anew.",
        )

    def _quarantine(
        self, this: _Round, message: _Message, device: DeviceState, counter: int, kind: str, reason: str
    ) -> None:
        """Store the bytes for the operator, once, and at most MOST_QUARANTINED for a device."""
        (kept,) = self._database.connection.execute(
            "SELECT count(*) FROM quarantine WHERE device = ?", (device.id,)
        ).fetchone()
        same = self._database.connection.execute(
            "SELECT 1 FROM quarantine WHERE device = ? AND counter = ? AND kind = ?",
            (device.id, counter, kind),
        ).fetchone()
        rounds = (*self._in_flight, this)
        now = [other[1:3] for each in rounds for other in each.quarantined if other[0].id == device.id]
        if same or (counter, kind) in now or kept + len(now) >= MOST_QUARANTINED:
            return
        extents: list[Extent] = []
        this.keep(device, message.data, extents.append)
        this.quarantined.append((device, counter, kind, reason, extents))
        this.devices[device.id] = device
        self._metrics.quarantined.labels(kind).inc()

    @staticmethod
    def _receipt(device: DeviceState, verdict: Verdict, number: int, counter: int, tags: int) -> Outcome:
        place = device.number, device.epoch, number, counter, tags
        return Outcome(receipt_bytes(device.keys.receipts, verdict, *place), verdict, 0)

    # --- the database ---------------------------------------------------------------------------------------

    def _write(self, this: _Round) -> None:
        """Commit a round, without the devices that are not as they were judged."""
        repeats = 0
        while this.devices:
            try:
                with self._database.writing(beside=True) as database:
                    self._write_rows(database, this)
                break
            except _Outdated as outdated:
                this.drop(outdated.devices)
            except ERRORS as error:
                fault = fault_of(error)
                if fault == "integrity" and self._database.is_shared:
                    this.drop(set(this.devices))
                elif fault != "conflict" or repeats == _MOST_REPEATS:
                    raise
                repeats += 1

    def _write_devices(self, database: Connection, this: _Round) -> None:
        """Store the devices' states. Raises _Outdated for those that another gateway has changed since they
        were read, or whose fleet is deleted."""
        stored = write_values(
            database,
            "WITH seen (id, version, newest, newest_window, windows, at, allowance, allowed_at) AS (VALUES",
            this.seen,
            ") UPDATE devices SET newest = seen.newest, newest_window = seen.newest_window, "
            "windows = devices.windows + seen.windows, version = seen.version + 1, "
            "last_seen = CASE WHEN seen.at < 0 THEN devices.last_seen ELSE seen.at END, "
            "allowance = seen.allowance, allowed_at = seen.allowed_at "
            "FROM seen WHERE devices.id = seen.id AND devices.version = seen.version RETURNING devices.id",
        )
        if len(stored) < len(this.seen):
            raise _Outdated(this.devices.keys() - {row["id"] for row in stored})
        if self._database.is_shared:
            fleets = {device.fleet.id for device in this.devices.values()}
            gone = write_values(
                database,
                "SELECT id FROM fleets WHERE deleted IS NOT NULL AND id IN (VALUES",
                [(fleet,) for fleet in sorted(fleets)],
                ")",
            )
            deleted = {row["id"] for row in gone}
            if deleted:
                raise _Outdated({i for i, device in this.devices.items() if device.fleet.id in deleted})

    def _write_bytes(self, database: Connection, this: _Round) -> None:
        """Count the tenants' bytes. Raises _Outdated for the devices of those that have no room any more."""
        stored = Counter(this.bytes_by_tenant)
        for window in this.counted:
            stored[window.device.fleet.tenant] += WINDOW_ROW_BYTES
        for tenant, size in sorted(stored.items()):
            needed = this.room.get(tenant, 0)
            done = database.execute(
                "UPDATE tenants SET bytes = bytes + ? WHERE id = ? AND (? = 0 OR bytes + ? <= most_bytes)",
                (size, tenant, needed, needed),
            )
            if done.rowcount == 0:
                raise _Outdated({i for i, device in this.devices.items() if device.fleet.tenant == tenant})
        database.executemany(
            "INSERT INTO place_bytes (place, tenant, bytes) VALUES (?, ?, ?) "
            "ON CONFLICT (place, tenant) DO UPDATE SET bytes = place_bytes.bytes + excluded.bytes",
            [(*key, size) for key, size in sorted(this.bytes_by_place.items())],
        )

    def _write_rows(self, database: Connection, this: _Round) -> None:
        now = this.now
        self._write_devices(database, this)
        self._write_bytes(database, this)
        # Before the windows: rounds of a fleet take turns from here on, so that its sequences are in the
        # order of their commits.
        of_fleets = Counter({this.devices[device].fleet.id: 0 for device in this.heard})
        of_fleets.update(window.device.fleet.id for window in this.counted)
        database.executemany(
            "UPDATE fleet_counts SET windows = windows + ?, last_seen = ? WHERE fleet = ?",
            [(number, now, fleet) for fleet, number in sorted(of_fleets.items())],
        )
        write_values(
            database,
            "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) VALUES",
            [
                (
                    *(window.device.id, window.number, window.counter, signed(window.random)),
                    *(signed(window.tags), window.measured, now, extents_text(window.extents)),
                )
                for window in this.counted
            ],
        )
        write_values(
            database,
            "DELETE FROM attempts WHERE (device, counter) IN (VALUES",
            [key for key, (_, attempt) in this.changed.items() if attempt is None],
            ")",
        )
        write_values(
            database,
            "INSERT INTO attempts "
            "(device, counter, number, random, agreed, parts, measured, state, arrived, extents) VALUES",
            [(*row, extents_text(extents)) for row, extents in this.attempts],
            " ON CONFLICT (device, counter) DO UPDATE SET number = excluded.number, "
            "random = excluded.random, agreed = excluded.agreed, parts = excluded.parts, "
            "measured = excluded.measured, extents = excluded.extents, state = excluded.state, "
            "arrived = excluded.arrived",
        )
        write_values(
            database,
            "INSERT INTO quarantine (device, counter, kind, reason, extents, arrived) VALUES",
            [
                (device.id, counter, kind, reason, extents_text(extents), now)
                for device, counter, kind, reason, extents in this.quarantined
            ],
        )


class _Outdated(Exception):
    """Devices that are not as a round had read them, or whose tenants are not."""

    def __init__(self, devices: set[int]) -> None:
        super().__init__()
        self.devices = devices


def _unfit(row: Row | None, fleet: Fleet, number: int) -> Refusal | None:
    """Return why nothing is taken from a device; None if it is active."""
    if row is None or row["deleted"] is not None or row["fleet_deleted"] is not None:
        return Refusal(
            404,
            "unknown-device",
            f"Device {number} is not enrolled in fleet {fleet.name}: have its owner do it "
            "(`ciphermote owner enroll`).",
        )
    if row["state"] != "active":
        return Refusal(
            403,
            "device-stopped",
            f"Device {number} is {row['state']}: its owner or the operator has stopped it.",
        )
    return None


def _run_errand(errand: _Errand) -> None:
    try:
        errand.action()
    except Exception as error:  # whoever waits for it is told
        errand.done.set_exception(error)
    else:
        errand.done.set_result(None)


def _missing(attempt: Attempt) -> int | None:
    if attempt.places is None:
        return None
    return attempt.places - sum(count for count, _ in attempt.parts.values())


def _answer(messages: list[_Message]) -> None:
    for message in messages:
        if message.future.done():  # whoever asked has gone
            continue
        if isinstance(message.answer, Outcome):
            message.future.set_result(message.answer)
        else:
            message.future.set_exception(message.answer or RuntimeError("a delivery was not judged"))
