# SPDX-License-Identifier: Apache-2.0
"""Compact windows one by one, without the half that their seeds give: what the owner decrypts to check what
each device sent.

A window's c0 at the positions that it sent, its counter and its random bytes are all that decrypts it. For
sixteen values that is less than a sum takes, whose second polynomial has no seed.

A file (integers little-endian; packed numbers low bits first, zero bits up to a byte):

    offset  bytes  field
    0       4      "CMCW"
    4       2      version, 1
    6       1      compact set id
    7       1      0
    8       8      key id
    16      4      windows, k
    20      4      runs of positions, r
    24      4 r    first position (u16), positions (u16): ascending, and apart
    ..      30 k   device (u32), epoch (u16), window (u64), counter (u64), random (8): ascending by the first
                   three
    ..      ..     k times c0 at the positions as they were sent, in as many bits each as in a packet
    ..      16     BLAKE2b-128 of all before
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ciphermote import _core, _evaluator, _owner
from ciphermote.base.errors import FrameError, MismatchError, ParameterError
from ciphermote.base.files import MOST_OBJECT_BYTES
from ciphermote.compact import packing
from ciphermote.compact.frames import Window, check_positions
from ciphermote.compact.keys import CompactKeys, lane_key
from ciphermote.compact.packing import SentWindow
from ciphermote.compact.sets import CompactSet
from ciphermote.compact.sums import largest_noise
from ciphermote.parameters.native import context_of

_MAGIC = b"CMCW"
_VERSION = 1
_HEAD = struct.Struct("<4sHBBQII")
_MOST_WINDOWS = 1 << 20
_ONCE = {1: 1}
"""The weights of one window, whose bias (bounds.bias) is 0."""


def most_windows(compact: CompactSet, positions: int) -> int:
    """Return how many windows of so many values fit into one file."""
    size = packing.SENT_WINDOW_BYTES + positions * compact.wire_bits / 8
    room = MOST_OBJECT_BYTES - _HEAD.size - positions * packing.RUN.size - packing.DIGEST_BYTES - 1
    return min(_MOST_WINDOWS, int(room / size))


@dataclass(frozen=True, eq=False)
class CompactWindows:
    """Encrypted windows for the owner. windows: ascending by device, epoch and window; payload: uint64
    [windows, positions], their coefficients without the low bits."""

    set: CompactSet
    key_id: int
    positions: NDArray[np.uint32]
    windows: tuple[SentWindow, ...]
    payload: NDArray[np.uint64] = field(repr=False)

    @classmethod
    def of(
        cls, compact: CompactSet, key_id: int, positions: Iterable[int], windows: Sequence[Window]
    ) -> Self:
        """Put windows together. Raises MismatchError for a window at other positions, or of another set or
        key; ParameterError if there are none, or more than most_windows."""
        at = check_positions(compact, positions)
        if not 1 <= len(windows) <= most_windows(compact, len(at)):
            raise ParameterError(
                f"{len(windows):,} windows are given, and a file holds 1 to "
                f"{most_windows(compact, len(at)):,}: make several files."
            )
        for window in windows:
            if (window.set, window.key_id) != (compact, key_id) or not np.array_equal(window.positions, at):
                raise MismatchError(
                    f"Device {window.device}, window {window.number}: it is of another fleet, or has sent "
                    "other positions: leave it out."
                )
        ordered = sorted(windows, key=lambda window: (window.device, window.epoch, window.number))
        sent = tuple(SentWindow(w.device, w.epoch, w.number, w.counter, w.random) for w in ordered)
        return cls(compact, key_id, at, sent, np.stack([window.payload for window in ordered]))

    def to_bytes(self) -> bytes:
        runs = packing.runs(self.positions)
        head = _MAGIC, _VERSION, self.set.id, 0, self.key_id, len(self.windows), len(runs)
        body = b"".join(
            (
                _HEAD.pack(*head),
                packing.pack_runs(runs),
                packing.pack_sent_windows(self.windows),
                packing.packed(self.payload.reshape(-1), self.set.wire_bits),
            )
        )
        return body + packing.digest(body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what to_bytes wrote. Raises FrameError if it is damaged, or something else."""
        if not is_windows(data) or len(data) < _HEAD.size + packing.DIGEST_BYTES:
            raise FrameError("The bytes are no compact windows: give a part of a checked sum's result.")
        _, version, identifier, zero, key_id, count, runs = _HEAD.unpack_from(data)
        reader, compact = packing.open_result(
            data, _HEAD.size, version, _VERSION, identifier, "The file of compact windows"
        )
        if zero or not (1 <= count <= _MOST_WINDOWS and 1 <= runs <= compact.n):
            raise reader.hostile()
        positions = reader.positions(compact, runs)
        windows = reader.sent_windows(count)
        payload = reader.numbers(count * len(positions), compact.wire_bits, compact.largest_payload)
        if not reader.at_end:
            raise reader.hostile()
        return cls(compact, key_id, positions, windows, payload.reshape(count, len(positions)))


def is_windows(data: bytes) -> bool:
    """Whether data begin like compact windows."""
    return data.startswith(_MAGIC)


# --- the owner ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WindowDecryption:
    """Decrypted windows. values: int64 [windows, positions], from 0 to t - 1; in_range: which windows have no
    value above the largest that their devices are enrolled for; quiet: which have no more noise than a window
    that its device encrypted under these keys."""

    windows: tuple[SentWindow, ...]
    values: NDArray[np.int64] = field(repr=False)
    in_range: NDArray[np.bool_]
    quiet: NDArray[np.bool_]


def decrypt_windows(keys: CompactKeys, given: CompactWindows) -> WindowDecryption:
    """Decrypt windows, each by itself: a bad one changes nothing in another. Raises MismatchError for those
    of other keys, or of a device that is not enrolled."""
    if given.set != keys.set or given.key_id != keys.key_id:
        raise MismatchError(
            f"The windows are of set {given.set.name} and key {given.key_id:016x}, and the keys of "
            f"{keys.set.name} and {keys.key_id:016x}: use the keys that its devices were enrolled with."
        )
    compact, context = given.set, context_of(given.set.parameters)
    noise_limit = largest_noise(compact, _ONCE) * compact.plain_modulus / compact.modulus
    values = np.zeros(given.payload.shape, dtype=np.int64)
    in_range, quiet = (np.zeros(len(values), dtype=np.bool_) for _ in range(2))
    for i, window in enumerate(given.windows):
        largest = keys.enrolment(window.device, window.epoch).largest_value
        key = lane_key(compact, keys.key_id, window.device, window.epoch)
        seed = _core.compact_seed(key, window.counter, window.random)
        whole = _evaluator.CompactSum(context)
        whole.add(seed, given.positions, given.payload[i], compact.dropped_bits, 1)
        ciphertext = _evaluator.Ciphertext(context, whole.residues(), 1.0, _evaluator.Form.coefficients)
        found, noise = _owner.decrypt_bfv_at(
            ciphertext, keys.secret.hosted, compact.plain_modulus, given.positions
        )
        values[i] = found
        in_range[i] = (found <= largest).all()
        quiet[i] = np.abs(noise).max() <= noise_limit
    return WindowDecryption(given.windows, values, in_range, quiet)
