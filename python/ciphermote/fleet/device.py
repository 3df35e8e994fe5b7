# SPDX-License-Identifier: Apache-2.0
"""A device in Python, for computers that measure: it encrypts values to tagged frames or packets, stores them
until the gateway has sent a receipt, and loses nothing if the process or the power fails at any moment.

A window is written to the device's directory, and synced, before put returns; every attempt sends the same
bytes, so that a gateway recognizes them; and it is removed only when a receipt under the device's own key
confirms that exactly these bytes are stored. A counter is on the disk before it is used. A window that no
later attempt can deliver is set aside, with the reason, and delays no other.

The directory belongs to one device in one epoch. Never restore it from a backup or copy it: its counter would
go back, and the gateway quarantines windows that reuse a counter.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import random
import struct
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike

from ciphermote import _core
from ciphermote.base import arguments, json_text, number_text
from ciphermote.base.errors import (
    Error,
    GatewayError,
    KeyFileError,
    MismatchError,
    ParameterError,
    ValueRangeError,
)
from ciphermote.base.files import read_bounded, sync_directory, write_atomically
from ciphermote.base.forks import Opener
from ciphermote.base.secret_files import read_secret_file
from ciphermote.compact import keys as compact_keys
from ciphermote.compact.device import NEW_WINDOW, CompactDevice
from ciphermote.compact.keys import CompactKeys
from ciphermote.fleet.attachments import about_writing, json_bytes, make_folder
from ciphermote.fleet.client import GatewayClient
from ciphermote.fleet.connections import Connection
from ciphermote.formats.receipts import Receipt, Verdict, tag_sum
from ciphermote.formats.tags import TAG_BYTES, TagKeys
from ciphermote.owner import provisioning as provisioning
from ciphermote.owner.encryption import PublicKey, encrypt_on
from ciphermote.owner.places import Places
from ciphermote.owner.provisioning import Provision
from ciphermote.parameters import BFV, ParameterSet
from ciphermote.parameters.files import parameters_from_dict
from ciphermote.parameters.native import core_params

STATE_FILE = "device.json"
WINDOWS = "windows"
REFUSED = "refused"
_FORMAT, _VERSION = "ciphermote-device", 1
_SUFFIX, _REASON = ".window", ".txt"
_MAGIC = b"CMWN"
_HEAD = struct.Struct("<4sHHQQd")
_PART = struct.Struct("<I")
_CRC_BYTES = 4
_MOST_BYTES = 1 << 26
_PACKET_BYTES = 2**16 - 1
_COUNTER = slice(20, 28)  # in a full frame
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 300.0
_LATEST = 1e11
"""The latest time that gateways accept."""
_OF_THE_WINDOW = (400, 409, 413, 422)
"""Statuses of refusals that concern only one window; and the name of another such refusal."""
_FORGED = "forged"
_FOR_GOOD = ("malformed", "invalid", "too-large", "mixed", "given-up")
"""Names of refusals that the same bytes always meet, however often they are sent."""


class _DamagedError(KeyFileError):
    """A stored window is damaged and can never be sent."""


@dataclass(frozen=True)
class Waiting:
    """A window without a receipt. measured: seconds since 1970. parts: its frames or packets."""

    counter: int
    measured: float
    parts: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)

    def to_bytes(self) -> bytes:
        head = _HEAD.pack(_MAGIC, _VERSION, len(self.parts), self.counter, 0, self.measured)
        body = head + b"".join(_PART.pack(len(part)) for part in self.parts) + self.data
        return body + _core.crc32c(body).to_bytes(_CRC_BYTES, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a stored window. Raises KeyFileError if it is damaged."""
        body, crc = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
        if len(body) < _HEAD.size or _core.crc32c(body).to_bytes(_CRC_BYTES, "little") != crc:
            raise _DamagedError("The window is damaged: see what happened to the device's disk.")
        _, _, count, counter, _, measured = _HEAD.unpack_from(body)
        at = _HEAD.size + count * _PART.size
        parts = []
        for (length,) in _PART.iter_unpack(body[_HEAD.size : at]):
            parts.append(body[at : at + length])
            at += length
        return cls(counter, measured, tuple(parts))


class _Lane(Protocol):
    """The encryption of one kind of device. trailer: bytes of a part after its tag."""

    tag_keys: TagKeys
    trailer: int

    def encrypt(self, values: ArrayLike) -> tuple[int, list[bytes]]:
        """Encrypt values, and return (counter, frames or packets)."""


class FleetDevice:
    """One device of a fleet, with its own directory.

    Several threads may use it, but only in the process that opened it. Close it, or use it in a with block.

        with FleetDevice("state", "device7.blob", "device7.json") as device:
            device.put([21.5, 40.2])
            device.deliver(seconds=60)

    waiting: windows without a receipt that are sent again. refused: by number, windows that were set aside,
    with the reason: damaged ones, and those that the gateway will never accept. Their files are in the
    directory's folder refused; to send one again, move it back to windows and reopen the directory.
    last_error: why the last delivery did not get a receipt for each window; None if it did. tries: how often
    windows have been sent since the directory was opened.
    """

    def __init__(
        self,
        directory: str | Path,
        keys_file: str | Path,
        connection_file: str | Path,
        *,
        places: Places | None = None,
    ) -> None:
        """Open a device's directory, which is created if needed. keys_file, connection_file: from `ciphermote
        owner enroll`. places: those of BFV's integers; None for slots if the modulus has them. Raises
        KeyFileError, MismatchError or ParameterError."""
        self._opener = Opener("The device")
        self._connection = Connection.load(connection_file)
        self._folder = Path(directory)
        self._lock = threading.RLock()
        self._delivering = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._client: GatewayClient | None = None
        self._pauses = _Pauses()
        self.last_error: Error | None = None
        self.tries = 0
        with about_writing(self._folder):
            make_folder(self._folder / WINDOWS)
            self._held = self._hold()
        try:
            self._counter = self._open_state()
            self._lane = self._lane_of(Path(keys_file), places)
            self._waiting = self._find_waiting()
            self._refused = self._find_refused()
        except BaseException:
            os.close(self._held)
            raise
        _opened.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop delivering; waiting windows are sent when the directory is opened again."""
        if not self._opener.is_here:
            return
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._delivering, self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    @property
    def waiting(self) -> int:
        """Windows without a receipt, which will be sent again."""
        self._opener.check()
        with self._lock:
            return len(self._waiting)

    @property
    def refused(self) -> Mapping[int, str]:
        """Windows that were set aside, by number, with the reason."""
        self._opener.check()
        with self._lock:
            return dict(self._refused)

    def put(self, values: ArrayLike, *, measured: float | None = None) -> int:
        """Encrypt and store a window's values until there is a receipt, and return the window's number.

        They are on the disk on return, but not sent yet. values: as for ciphermote.encrypt; for a compact
        fleet integers, as many as its windows have. measured: the time in seconds since 1970; None for now.
        Raises ValueRangeError, or KeyFileError if they cannot be written; nothing is stored then.
        """
        self._opener.check()
        when = time.time() if measured is None else _time(measured)
        with self._lock:
            if self._held < 0:
                raise ParameterError("The device is closed: open its directory again.")
            counter, parts = self._lane.encrypt(values)
            found = Waiting(counter, when, tuple(parts))
            path = self._path(counter)
            with about_writing(path):
                write_atomically(path, found.to_bytes(), 0o600)
            self._waiting.append(counter)
        self._wake.set()
        return counter

    def deliver(self, seconds: float = 0.0) -> int:
        """Send waiting windows, oldest first, and again after growing pauses, for `seconds` (0: once). Return
        how many windows still wait; last_error tells why."""
        self._opener.check()
        deadline = time.monotonic() + seconds
        pause = self._round(at_once=True)
        while pause is not None and (left := deadline - time.monotonic()) > 0:
            if self._stopping.wait(min(left, pause)):
                break
            pause = self._round()
        return self.waiting

    def start(self) -> None:
        """Deliver from a background thread until close."""
        self._opener.check()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="delivering", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            self._wake.wait(self._round())

    # --- sending --------------------------------------------------------------------------------------------

    def _round(self, *, at_once: bool = False) -> float | None:
        """Send each window whose pause is over, or all. Return the seconds until the next pause ends; None if
        no window waits."""
        first: Error | None = None
        with self._delivering:
            if at_once:
                self._pauses.clear()
            due = self._due()
            for counter in due:
                if self._stopping.is_set():
                    break
                try:
                    self._send(counter)
                    self._pauses.end(counter, _GATEWAY)
                except Error as error:
                    reason = self._failed(counter, error)
                    first = first or reason
                    if self._pauses.left(_GATEWAY):
                        break
            with self._lock:
                waiting = list(self._waiting)
            if first is not None or (not waiting and (due or at_once)):
                self.last_error = first
            if not waiting:
                return None
            return max(self._pauses.left(_GATEWAY), min(map(self._pauses.left, waiting)))

    def _due(self) -> list[int]:
        if self._pauses.left(_GATEWAY):
            return []
        with self._lock:
            return [counter for counter in self._waiting if not self._pauses.left(counter)]

    def _failed(self, counter: int, error: Error) -> Error:
        """Set the window aside, or pause it or all windows. Return the error, or one of setting it aside."""
        refusal = error if isinstance(error, GatewayError) else None
        if isinstance(error, _DamagedError) or (refusal is not None and refusal.name in _FOR_GOOD):
            try:
                self._set_aside(counter, str(error))
            except KeyFileError as failure:
                error = failure
            else:
                return error
        of_all = refusal is not None and refusal.http_status not in _OF_THE_WINDOW and refusal.name != _FORGED
        if not of_all:
            self._pauses.end(_GATEWAY)  # which answers
        self._pauses.begin(_GATEWAY if of_all else counter, error)
        return error

    def _set_aside(self, counter: int, reason: str) -> None:
        source = self._path(counter)
        target = self._folder / REFUSED / source.name
        with about_writing(target):
            make_folder(target.parent)
            write_atomically(target.with_suffix(_REASON), f"{reason}\n".encode(), 0o600)
            with contextlib.suppress(FileNotFoundError):
                source.replace(target)
            sync_directory(target.parent)
            sync_directory(source.parent)
        self._pauses.end(counter)
        with self._lock:
            self._waiting.remove(counter)
            self._refused[counter] = reason

    def _send(self, counter: int) -> None:
        try:
            window = Waiting.from_bytes(read_bounded(self._path(counter), _MOST_BYTES))
        except FileNotFoundError:
            raise _DamagedError(f"{self._path(counter)} is gone: see who deletes windows.") from None
        except OSError as error:
            raise KeyFileError(f"{self._path(counter)} cannot be read: {error.strerror}.") from None
        self.tries += 1
        answer = self._gateway().deliver(self._connection.fleet, window.data, window.measured)
        if answer is None:
            raise MismatchError(
                f"The gateway says that window {counter} is not complete: the fleet is not defined as the "
                "device's connection file says; have the device enrolled anew."
            )
        self._check(window, Receipt.from_bytes(answer, self._lane.tag_keys.receipts))
        with self._lock:
            if self._held < 0:
                return
            with about_writing(self._path(counter)):
                self._path(counter).unlink(missing_ok=True)
                sync_directory(self._folder / WINDOWS)
            self._waiting.remove(counter)

    def _check(self, window: Waiting, receipt: Receipt) -> None:
        """Raises MismatchError unless the receipt is for these bytes."""
        end = -self._lane.trailer or None
        tags = [part[:end][-TAG_BYTES:] for part in window.parts]
        connection = self._connection
        # The verdict is the gateway's to say, and each ends the window: another attempt of it may count.
        expected = Receipt(
            *(receipt.verdict, connection.device, connection.epoch),
            *(window.counter, window.counter, tag_sum(tags)),
        )
        if receipt != expected or receipt.verdict not in Verdict:
            raise MismatchError(f"The receipt is not for window {window.counter} as it was sent: it is kept.")

    def _gateway(self) -> GatewayClient:
        if self._client is None:
            found = self._connection
            self._client = GatewayClient(found.gateway, found.token, ca=found.ca)
        return self._client

    # --- the directory --------------------------------------------------------------------------------------

    def _path(self, counter: int) -> Path:
        return self._folder / WINDOWS / f"{counter:020d}{_SUFFIX}"

    def _hold(self) -> int:
        """Take the directory's lock, which the system releases when the process ends."""
        descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise KeyFileError(
                f"{self._folder} is in use by another process or FleetDevice: close that one first."
            ) from None
        return descriptor

    def _open_state(self) -> int:
        """Read the state of a directory, and return the next counter."""
        path = self._folder / STATE_FILE
        for scratch in (*self._folder.glob(f".{STATE_FILE}.*"), *(self._folder / WINDOWS).glob(".*")):
            scratch.unlink(missing_ok=True)  # a process that was killed left it
        kept = any((self._folder / WINDOWS).glob(f"*{_SUFFIX}"))
        if not path.exists():
            if kept:
                raise KeyFileError(
                    f"{path} is gone, and with it the device's counter: have the device enrolled anew, and "
                    "give it a new directory."
                )
            return 0
        found = self._connection
        try:
            fields = json_text.parse(read_secret_file(path, "restore nothing: have the device enrolled anew"))
            if (fields["format"], fields["version"]) != (_FORMAT, _VERSION):
                raise ValueError
            counter = json_text.integer(fields["counter"], 0, json_text.U64_MAX)
            whose = fields["fleet"], fields["device"]
            epoch = json_text.integer(fields["epoch"], 1, 2**16 - 1)
        except (ValueError, KeyError, TypeError):
            raise KeyFileError(
                f"{path} is damaged, and with it the device's counter: have the device enrolled anew, and "
                "give it a new directory."
            ) from None
        if whose != (found.fleet, found.device):
            raise MismatchError(
                f"{self._folder} belongs to device {whose[1]} of fleet {whose[0]}: give each device a "
                "directory of its own."
            )
        if epoch != found.epoch and kept:
            raise MismatchError(
                f"{self._folder} holds windows of epoch {epoch} without a receipt, which the gateway takes "
                f"no more from a device in epoch {found.epoch}: give the device another directory."
            )
        return counter

    def _find_waiting(self) -> list[int]:
        paths = (self._folder / WINDOWS).glob(f"*{_SUFFIX}")
        return sorted(int(path.stem) for path in paths if number_text.is_natural(path.stem))

    def _find_refused(self) -> dict[int, str]:
        found = {}
        for path in sorted((self._folder / REFUSED).glob(f"*{_REASON}")):
            if number_text.is_natural(path.stem) and path.with_suffix(_SUFFIX).exists():
                found[int(path.stem)] = path.read_text(encoding="utf-8", errors="replace").strip()
        return found

    def _write_counter(self, counter: int) -> None:
        found = self._connection
        fields = {
            "format": _FORMAT,
            "version": _VERSION,
            "fleet": found.fleet,
            "device": found.device,
            "epoch": found.epoch,
            "counter": counter,
        }
        with about_writing(self._folder / STATE_FILE):
            write_atomically(self._folder / STATE_FILE, json_bytes(fields), 0o600)
        self._counter = counter

    # --- the lanes ------------------------------------------------------------------------------------------

    def _lane_of(self, path: Path, places: Places | None) -> _Lane:
        content = read_secret_file(path, "have it from the owner (`ciphermote owner enroll`)")
        connection = self._connection
        if provisioning.is_header(content) or compact_keys.is_header(content):
            raise KeyFileError(
                f"{path} is a C header, to be compiled in: have the device enrolled anew with a binary file "
                f"(`ciphermote owner enroll KEYS {connection.device} -o device{connection.device}.blob "
                "--again --force`)."
            )
        if connection.definition["lane"] == "compact":
            return _CompactLane(CompactKeys.from_bytes(content), connection, self._counters())
        parameters = parameters_from_dict(connection.definition["parameters"], str(path))
        found = provisioning.parse_blob(content, parameters)
        if not isinstance(found, Provision) or found.identity is None or found.tag_keys is None:
            raise KeyFileError(f"{path} names no device: have it from `ciphermote owner enroll`.")
        if (found.identity.device, found.identity.epoch) != (connection.device, connection.epoch):
            raise MismatchError(
                f"{path} is of device {found.identity.device} in epoch {found.identity.epoch}, and the "
                f"connection file of device {connection.device} in epoch {connection.epoch}: give the two "
                "that were written together."
            )
        return _FullLane(found, found.tag_keys, connection.definition, places, self._counters())

    def _counters(self) -> tuple[Any, Any]:
        return (lambda: self._counter), self._write_counter


class _FullLane:
    trailer = 4  # the CRC

    def __init__(
        self,
        given: Provision,
        tag_keys: TagKeys,
        definition: Any,
        places: Places | None,
        counters: tuple[Any, Any],
    ) -> None:
        assert given.identity is not None
        self.tag_keys = tag_keys
        self._params = core_params(given.parameters)
        self._key = given.secret_key or _public_key(given.parameters, given)
        self._options: dict[str, Any] = (
            {"scheme": BFV(definition["plain_modulus"]), "places": places}
            if definition.get("plain_modulus")
            else {"log2_scale": definition["log2_scale"]}
        ) | {"largest": given.largest}
        self._device = _core.Device(given.device_secret, os.urandom, *counters)
        self._device.tag_as(tag_keys.frames, given.identity.device, given.identity.epoch)

    def encrypt(self, values: ArrayLike) -> tuple[int, list[bytes]]:
        self._device.window = NEW_WINDOW
        frames = list(self._frames(encrypt_on(self._device, values, self._key, **self._options)))
        return int.from_bytes(frames[0][_COUNTER], "little"), frames

    def _frames(self, data: bytes) -> Iterator[bytes]:
        while data:
            length = _core.frame_length(self._params, data)
            yield data[:length]
            data = data[length:]


def _public_key(parameters: ParameterSet, given: Provision) -> PublicKey:
    if given.public_key is None:
        raise KeyFileError("The device's keys hold none to encrypt with: have the device enrolled anew.")
    return PublicKey(parameters, given.key_id, given.public_key)


class _CompactLane:
    trailer = 0

    def __init__(self, keys: CompactKeys, connection: Connection, counters: tuple[Any, Any]) -> None:
        enrolment = keys.enrolment(connection.device, connection.epoch)
        runs = connection.definition["positions"]
        if len(runs) != 1:
            raise ParameterError("The fleet's positions are apart, and a FleetDevice sends one run of them.")
        self._first, self._count = runs[0]
        self.tag_keys = TagKeys.derive(enrolment.secret, keys.key_id, enrolment.device, enrolment.epoch)
        read, write = counters
        self._device = CompactDevice(
            keys, enrolment, packet_bytes=_PACKET_BYTES, counter_read=read, counter_write=write
        )

    def encrypt(self, values: ArrayLike) -> tuple[int, list[bytes]]:
        count = arguments.array(values, ValueRangeError).size
        if count != self._count:
            raise ValueRangeError(
                f"A window of the fleet has {self._count} values, and {count} are given: give as many."
            )
        packets, number = self._device.encrypt(values, self._first)
        return number, packets


def _time(measured: Any) -> float:
    """Raises ValueRangeError for a time that no gateway accepts."""
    try:
        seconds = math.nan if isinstance(measured, bool | str) else float(measured)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= _LATEST:
        raise ValueRangeError(
            f"measured is {arguments.shown(measured)}: give seconds since 1970, from 0 to {_LATEST:g}."
        )
    return seconds


_GATEWAY = -1
"""Stands for the gateway, and so for all windows, in place of a window's number."""


class _Pauses:
    """Pauses of each window, or of the gateway, after failures, which grow each time."""

    def __init__(self) -> None:
        self._pauses: dict[int, tuple[float, float]] = {}

    def begin(self, what: int, error: Error) -> None:
        """Begin a pause as long as the gateway asked for; without that, a random one, so that devices do not
        return all at once."""
        pause, _ = self._pauses.get(what, (_FIRST_WAIT, 0.0))
        asked = error.retry_after if isinstance(error, GatewayError) and error.retry_after else 0.0
        until = time.monotonic() + max(asked, pause) * random.uniform(0.75, 1.25)
        self._pauses[what] = min(2 * pause, _LONGEST_WAIT), until

    def end(self, *what: int) -> None:
        for each in what:
            self._pauses.pop(each, None)

    def clear(self) -> None:
        self._pauses.clear()

    def left(self, what: int) -> float:
        """Return the seconds left, 0 without a pause."""
        _, until = self._pauses.get(what, (0.0, 0.0))
        return max(0.0, until - time.monotonic())


_opened: weakref.WeakSet[FleetDevice] = weakref.WeakSet()


def _release() -> None:
    """Release the lock in a forked process: it belongs to the opener, and must end with it."""
    for device in list(_opened):
        if device._held >= 0:
            os.close(device._held)
            device._held = -1


os.register_at_fork(after_in_child=_release)


__all__ = ["FleetDevice", "Waiting"]
