# SPDX-License-Identifier: Apache-2.0
"""Check the groups of a sum, and add up those that can be right.

A device encrypts what it likes, and its values cannot be seen in a ciphertext. But a group's sum is
decrypted, and is within what its devices are enrolled for if all of them keep to that. A group whose sum is
not is left out, with all its devices; every other one could have been sent by devices that keep to their
bounds. So a hostile device moves the result by no more than its group's range, and in a group of its own by
no more than its bound (most_moved), whatever it encrypts: the values that are added up are those that were
checked.

The owner asks for all groups before anything is decrypted, and tells the gateway nothing about them after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import Error, MismatchError, ValueRangeError
from ciphermote.ciphertext import Ciphertext
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sums import CompactResult, Contributor, decrypt_sum
from ciphermote.compact.windows import CompactWindows, decrypt_windows, is_windows
from ciphermote.fleet.results import Fetched
from ciphermote.formats.labels import check_key
from ciphermote.owner.decryption import (
    Decrypted,
    decrypt_with_errors,
    is_within_bound,
    sum_with_errors,
)
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.places import Places
from ciphermote.rest.grouping import groups_of

BEYOND = "what it sent is beyond what it is enrolled for"
NOISE = "what it sent decrypts to noise"
EITHER = "their sum is beyond what they are enrolled for, or decrypts to noise"
_OTHER_WINDOWS = "The result's contributors are not the windows that are in it: fetch it again."
_OF_GROUP = {
    BEYOND: "their sum is beyond what they are enrolled for",
    NOISE: "their sum decrypts to noise",
}


@dataclass(frozen=True)
class Suspects:
    """Devices that a result leaves out, because the sum of their windows cannot be right; at least one of
    them is to blame. devices: their numbers; why: a clause."""

    devices: tuple[int, ...]
    why: str

    @classmethod
    def of(cls, devices: Iterable[int], why: str) -> Suspects:
        found = tuple(devices)
        return cls(found, why if len(found) == 1 else _OF_GROUP[why])


@dataclass(frozen=True, eq=False)
class CheckedSum:
    """The sum of the groups that can be right. counted: [device, epoch, window] of each window in it;
    group_devices: the most devices of a group in it; most_moved: how many times its largest value a hostile
    device in it can have moved the sum, at most."""

    total: Decrypted
    positions: NDArray[np.uint32] | None
    counted: list[Sequence[int]]
    left_out: tuple[Suspects, ...]
    group_devices: int
    most_moved: int


class _Groups:
    """The groups of a result, in order, each with its windows."""

    def __init__(self, fetched: Fetched, *, is_compact: bool) -> None:
        spec = fetched.job.spec.groups
        assert spec is not None
        self.windows: dict[int, list[Sequence[int]]] = {}
        for entry in fetched.contributors:
            self.windows.setdefault(entry[0], []).append(entry)
        self.devices = groups_of(self.windows, spec, fetched.job.id, is_compact=is_compact)

    def windows_of(self, group: Iterable[int]) -> list[Sequence[int]]:
        return [entry for device in group for entry in self.windows[device]]

    def check_parts(self, parts: int) -> None:
        if parts != len(self.devices):
            raise MismatchError(
                f"The result has {parts} parts and its contributors make {len(self.devices)} groups: fetch "
                "it again."
            )

    def result(
        self,
        terms: Sequence[Decrypted],
        good: Sequence[Sequence[int]],
        left_out: Iterable[Suspects],
        positions: NDArray[np.uint32] | None = None,
        *,
        signed: bool,
    ) -> CheckedSum:
        """Add up the good groups. Raises MismatchError if there are none."""
        suspects = tuple(left_out)
        if not good:
            raise MismatchError(
                f"No sum of the result can be right, of {len(self.windows)} devices; of the first ones "
                f"{suspects[0].why}: see that the keys, and of BFV the places and signs, are those that its "
                "devices encrypt with."
            )
        most = max(map(len, good))
        counted = self.windows_of(sorted(device for group in good for device in group))
        moved = 2 * most - 1 if signed else most
        return CheckedSum(sum_with_errors(terms), positions, counted, suspects, most, moved)


def check_compact(fetched: Fetched, keys: CompactKeys) -> CheckedSum:
    """Check a compact fleet's result. Raises MismatchError if it contradicts itself, or no group is right."""
    groups = _Groups(fetched, is_compact=True)
    parts = list(fetched.parts())
    return (_windows if is_windows(parts[0]) else _sums)(groups, parts, keys)


def _windows(groups: _Groups, parts: Sequence[bytes], keys: CompactKeys) -> CheckedSum:
    files = [CompactWindows.from_bytes(part) for part in parts]
    named = [window.place for file in files for window in file.windows]
    if named != [tuple(entry) for entry in groups.windows_of(sorted(groups.windows))]:
        raise MismatchError(_OTHER_WINDOWS)
    why: dict[int, str] = {}
    read = [decrypt_windows(keys, file) for file in files]
    for found in read:
        for window, in_range, quiet in zip(found.windows, found.in_range, found.quiet, strict=True):
            if not quiet:
                why[window.device] = NOISE
            elif not in_range:
                why.setdefault(window.device, BEYOND)
    terms = []
    for found in read:
        kept = np.array([window.device not in why for window in found.windows])
        terms.append(_exact(found.values[kept].sum(axis=0)))
    good = [[device] for device in groups.windows if device not in why]
    suspects = (Suspects.of([device], why[device]) for device in sorted(why))
    return groups.result(terms, good, suspects, files[0].positions, signed=False)


def _sums(groups: _Groups, parts: Sequence[bytes], keys: CompactKeys) -> CheckedSum:
    groups.check_parts(len(parts))
    terms, good, suspects = [], [], []
    positions = None
    for group, part in zip(groups.devices, parts, strict=True):
        result = CompactResult.from_bytes(part)
        named = [(c.device, c.epoch, c.window, c.weight) for c in result.contributors]
        if named != [(*entry, 1) for entry in groups.windows_of(group)] or result.key_id != keys.key_id:
            raise MismatchError(_OTHER_WINDOWS)
        positions = result.positions
        try:
            found = decrypt_sum(keys, result, [Contributor(*each) for each in named])
        except MismatchError:
            suspects.append(Suspects(tuple(group), EITHER))
        else:
            terms.append(_exact(found.values))
            good.append(group)
    return groups.result(terms, good, suspects, positions, signed=False)


def _exact(values: NDArray[np.int64]) -> Decrypted:
    return Decrypted(values, np.zeros(values.shape))


def check_full(
    fetched: Fetched,
    secret: SecretKey,
    opened: Iterator[Ciphertext | None],
    places: Places | None,
    *,
    signed: bool | None,
) -> CheckedSum:
    """Check the result of a full fleet. opened: a ciphertext for each group, or None where the gateway could
    not make one. places, signed: BFV's. Raises MismatchError if it contradicts itself, or no group is right;
    ParameterError if its devices have declared no bound."""
    groups = _Groups(fetched, is_compact=False)
    given = list(opened)
    groups.check_parts(len(given))
    terms, good, suspects = [], [], []
    for group, ciphertext in zip(groups.devices, given, strict=True):
        found = None if ciphertext is None else _decrypted(ciphertext, secret, places, signed=signed)
        if found is None:
            suspects.append(Suspects.of(group, NOISE))
        elif isinstance(found, Error) or not is_within_bound(found):
            suspects.append(Suspects.of(group, BEYOND))
        else:
            terms.append(found)
            good.append(group)
    return groups.result(terms, good, suspects, signed=signed is not False)


def _decrypted(
    given: Ciphertext, secret: SecretKey, places: Places | None, *, signed: bool | None
) -> Decrypted | ValueRangeError | None:
    """Decrypt a group's sum; None for noise, and the error for a value beyond the bound."""
    check_key("a group's sum", given.key_id, "the secret key", secret.key_id)
    is_ckks = not given.scheme.is_bfv
    try:
        return decrypt_with_errors(given, secret, complex_slots=is_ckks, places=places, signed=signed)
    except ValueRangeError as error:
        return error
    except MismatchError:
        return None
