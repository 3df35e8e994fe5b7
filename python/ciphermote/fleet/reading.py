# SPDX-License-Identifier: Apache-2.0
"""Decrypt fetched results on the owner's machine, with an error bound for each number.

Counts come from the list of contributors, for which only the gateway vouches. Compact sums are checked
against that list and against the values that the owner enrolled each device for.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import MismatchError, ParameterError, about
from ciphermote.base.words import error_text, rounded
from ciphermote.ciphertext import Ciphertext
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.scores import CompactScores, decrypt_scores
from ciphermote.compact.sums import CompactResult, Contributor, decrypt_sum
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.fleet.attachments import Attachment, Keys
from ciphermote.fleet.checking import CheckedSum, Suspects, check_compact, check_full
from ciphermote.fleet.results import Fetched
from ciphermote.owner.decryption import Decrypted, decrypt_with_errors, variance_with_errors
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.places import Places
from ciphermote.parameters import Scheme


@dataclass(frozen=True, eq=False)
class Reading:
    """A decrypted result. columns: names of slots, positions or classes. rows: one, named "", or for a model
    one per window. values: float64 [rows, columns]; errors: how far each may be off (Decrypted), 0 for exact
    values, NaN for unknown errors, which why_unknown explains. assumes: as Decrypted.assumes. windows,
    devices: numbers of contributors. left_out: devices of a checked sum or mean whose windows it does not
    count, for they cannot be right. most_moved: how many times its largest value a hostile device can have
    moved the sum, in one window of each device; None if the result is not checked."""

    source: Fetched = field(repr=False)
    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    windows: int
    devices: int
    why_unknown: str = ""
    assumes: str = ""
    left_out: tuple[Suspects, ...] = ()
    most_moved: int | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval in which the windows were measured: begin and end (exclusive), in seconds since
        1970."""
        return self.source.job.begins, self.source.job.ends

    def when(self) -> str:
        """The interval in words."""
        return interval_text(*self.interval)

    def shown(self, row: int, column: int) -> str:
        """Write a value with its significant digits only."""
        return rounded(float(self.values[row, column]), float(self.errors[row, column]))

    def off(self, row: int, column: int | None = None) -> str:
        """Write how far a value may be off, or (None) any value of the row."""
        error = float(self.errors[row].max() if column is None else self.errors[row, column])
        return error_text(error, self.why_unknown)


_END_OF_TIME = 9e10
_MOST_LISTED = 5


def interval_text(begins: float, ends: float) -> str:
    """Write a job's interval in words."""
    if begins == 0 and ends >= _END_OF_TIME:
        return "all windows"
    if begins == 0:
        return f"before {time_text(ends)}"
    first, last = time_text(begins), time_text(ends)
    day, _, hour = last.partition(" ")
    return f"{first} to {hour if hour and first.startswith(day) else last}"


def time_text(seconds: float) -> str:
    """Write a time of the gateway in this machine's time zone."""
    if seconds >= _END_OF_TIME:
        return "now"
    return datetime.datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def windows_text(windows: Sequence[Sequence[int]], total: int) -> str:
    """Name the first of many windows, given in order as [device, epoch, window]."""
    listed, shown = [], 0
    devices = groupby(windows, key=lambda each: tuple(each[:2]))
    for (device, epoch), group in islice(devices, _MOST_LISTED):
        runs = list(_runs([window for _, _, window in group]))[:_MOST_LISTED]
        shown += sum(last - first + 1 for first, last in runs)
        text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
        noun = "window" if len(runs) == 1 and runs[0][0] == runs[0][1] else "windows"
        listed.append(f"device {device}{f' (epoch {epoch})' if epoch > 1 else ''}, {noun} {text}")
    return "; ".join(listed) + (f"; and {total - shown:,} more" if shown < total else "")


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers."""
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        found = [number for _, number in run]
        yield found[0], found[-1]


def decrypt(
    fetched: Fetched,
    keys: Keys | SecretKey,
    *,
    count: int = 8,
    places: Places | None = None,
    signed: bool | None = None,
    model: LinearModel | None = None,
    attachment: Attachment | None = None,
) -> Reading | None:
    """Decrypt a result; None if it counts no window.

    keys: an opened directory of keys (or its secret key), or compact keys. count: number of slots from the
    first on; 0 for all. places, signed: BFV's, as for ciphermote.decrypt. model: the model of the scores;
    None for the one that the attachment stored. variance is of the population: E[x^2] - E[x]^2 over the
    windows. Raises FrameError or MismatchError for a result of other keys or one that contradicts itself, or
    ParameterError.
    """
    if not fetched.files:
        return None
    with about(fetched.path):
        lane = "compact" if isinstance(keys, CompactKeys) else "full"
        definition = fetched.definition
        if (definition["lane"], definition["key_id"]) != (lane, f"{keys.key_id or 0:016x}"):
            raise MismatchError(
                f"The result is of fleet {fetched.fleet}, whose {definition['lane']} keys are "
                f"{definition['key_id']}, and these are other keys, {lane} ones: give those that the fleet "
                "is attached with."
            )
        if isinstance(keys, CompactKeys):
            if fetched.job.kind == "linear":
                return _compact_scores(fetched, keys, model, attachment)
            return _compact(fetched, keys)
        secret = keys.secret() if isinstance(keys, KeyStore) else keys
        plain = _Plain(secret, Scheme(int(fetched.definition.get("plain_modulus", 0))), count, places, signed)
        if fetched.job.kind == "linear":
            return _scores(fetched, plain, model, attachment)
        return _slots(fetched, plain)


# --- the compact lane ---------------------------------------------------------------------------------------


def _compact(fetched: Fetched, keys: CompactKeys) -> Reading:
    if fetched.job.spec.groups is not None:
        checked = check_compact(fetched, keys)
        assert checked.positions is not None
        return _checked_reading(fetched, [f"position {p}" for p in checked.positions.tolist()], checked)
    (data,) = fetched.parts()
    weights = fetched.job.spec.weights
    contributors = []
    for device, epoch, window in fetched.contributors:
        weight = 1 if weights is None else int(weights.get(str(device), 0))
        if weight:
            contributors.append(Contributor(device, epoch, window, weight))
    found = decrypt_sum(keys, CompactResult.from_bytes(data), contributors)
    values = found.values.astype(np.float64)
    if fetched.job.kind == "mean":
        values = values / len(contributors)
    columns = tuple(f"position {p}" for p in found.positions.tolist())
    return _reading(fetched, columns, [Decrypted(values, np.zeros_like(values))])


def _compact_scores(
    fetched: Fetched, keys: CompactKeys, model: LinearModel | None, attachment: Attachment | None
) -> Reading:
    (data,) = fetched.parts()
    scores = CompactScores.from_bytes(data)
    model = _model_of(scores.model_id, model, attachment)
    windows = [(device, epoch, window) for device, epoch, window in fetched.contributors]
    found = decrypt_scores(keys, scores, model, windows)
    return _score_reading(fetched, model, [Decrypted(row, found.errors) for row in found.scores])


# --- full fleets --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """Reads the ciphertexts of one result."""

    secret: SecretKey
    scheme: Scheme
    count: int
    places: Places | None
    signed: bool | None

    def open(self, data: bytes) -> Ciphertext:
        """Read a ciphertext. Raises FrameError or MismatchError unless it has the fleet's set and scheme."""
        return Ciphertext.from_bytes(data, self.secret.parameters, self.scheme)

    def read(self, data: bytes) -> Decrypted:
        """Decrypt the first `count` slots."""
        given = self.open(data)
        found = decrypt_with_errors(given, self.secret, places=self.places, signed=self.signed)
        most = self.count or None
        errors = None if found.errors is None else found.errors[:most]
        return replace(found, values=found.values[:most], errors=errors)

    @property
    def name(self) -> str:
        return "coefficient" if self.scheme.is_bfv and self.places != "slots" else "slot"


def _checked_slots(fetched: Fetched, plain: _Plain) -> Reading:
    given = (plain.open(data) if data else None for data in fetched.parts())
    checked = check_full(fetched, plain.secret, given, plain.places, signed=plain.signed)
    total, most = checked.total, plain.count or None
    errors = None if total.errors is None else total.errors[:most]
    checked = replace(checked, total=replace(total, values=total.values[:most], errors=errors))
    columns = [f"{plain.name} {i}" for i in range(len(checked.total.values))]
    return _checked_reading(fetched, columns, checked)


def _checked_reading(fetched: Fetched, columns: Sequence[str], checked: CheckedSum) -> Reading:
    total, windows = checked.total, len(checked.counted)
    if fetched.job.kind == "mean":
        errors = None if total.errors is None else total.errors / windows
        total = replace(total, values=total.values / windows, errors=errors)
    return replace(
        _reading(fetched, columns, [total]),
        windows=windows,
        devices=len({entry[0] for entry in checked.counted}),
        left_out=checked.left_out,
        most_moved=checked.most_moved,
    )


def _slots(fetched: Fetched, plain: _Plain) -> Reading:
    if fetched.job.spec.groups is not None:
        return _checked_slots(fetched, plain)
    parts = list(fetched.parts())
    windows = len(fetched.contributors)
    if len(parts) != (2 if fetched.job.kind == "variance" else 1) or not windows:
        raise MismatchError(f"The result has {len(parts)} parts, which a {fetched.job.kind} has not.")
    found = plain.read(parts[0])
    if fetched.job.kind == "mean":
        errors = None if found.errors is None else found.errors / windows
        found = replace(found, values=found.values / windows, errors=errors)
    if fetched.job.kind == "variance":
        if plain.scheme.is_bfv and plain.places == "coefficients":
            raise ParameterError("Squares of integers in coefficients mix them: a variance takes slots.")
        found = variance_with_errors(found, plain.read(parts[1]), windows)
    columns = tuple(f"{plain.name} {i}" for i in range(len(found.values)))
    return _reading(fetched, columns, [found])


def _scores(
    fetched: Fetched, plain: _Plain, model: LinearModel | None, attachment: Attachment | None
) -> Reading:
    parts = [plain.open(data) for data in fetched.parts()]
    if len(parts) != len(fetched.contributors):
        raise MismatchError(
            f"The result has scores of {len(parts)} windows and names {len(fetched.contributors)}: fetch it "
            "again."
        )
    model = _model_of(parts[0].model_id, model, attachment)
    found = [decrypt_with_errors(given, plain.secret, model=model) for given in parts]
    return _score_reading(fetched, model, found)


def _model_of(
    identifier: int | None, model: LinearModel | None, attachment: Attachment | None
) -> LinearModel:
    """Return the model of scores: the one given, or the one that was stored when they were asked for."""
    if model is None and identifier is not None and attachment is not None:
        model = attachment.model(identifier)
    if model is None:
        raise ParameterError("Whose scores these are is not known here: name the model's file (--model).")
    return model


def _score_reading(fetched: Fetched, model: LinearModel, found: Sequence[Decrypted]) -> Reading:
    columns = model.labels or tuple(str(i) for i in range(model.classes))
    rows = tuple(f"device {device}, window {window}" for device, _, window in fetched.contributors)
    return _reading(fetched, columns, found, rows)


def _reading(
    fetched: Fetched, columns: Sequence[str], found: Sequence[Decrypted], rows: Sequence[str] = ("",)
) -> Reading:
    values = [each.values.astype(np.float64) for each in found]
    errors = [np.full(each.values.shape, math.nan) if each.errors is None else each.errors for each in found]
    return Reading(
        fetched,
        fetched.job.kind,
        tuple(columns),
        tuple(rows),
        np.stack(values),
        np.stack(errors),
        len(fetched.contributors),
        len({entry[0] for entry in fetched.contributors}),
        next((each.why_unknown for each in found if each.errors is None), ""),
        next((each.assumes for each in found if each.assumes), ""),
    )


def grouped(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Group results of one fleet, stream and kind with the same columns."""
    groups: dict[object, list[Reading]] = {}
    for found in readings:
        source = found.source
        groups.setdefault((source.fleet, source.job.stream, found.kind, found.columns), []).append(found)
    return list(groups.values())


COLUMNS = (
    *("fleet", "job", "stream", "kind", "begins", "ends"),
    *("windows", "devices", "row", "column", "value", "error", "assumes", "left_out"),
)


def table(readings: Sequence[Reading]) -> list[dict[str, Any]]:
    """Return a row for each number, with COLUMNS, for files and programs."""
    found = []
    for reading in readings:
        begins, ends = reading.interval
        for i, row in enumerate(reading.rows):
            for j, column in enumerate(reading.columns):
                source = reading.source
                cells = (
                    *(source.fleet, source.job.id, source.job.stream, reading.kind, begins, ends),
                    *(reading.windows, reading.devices, row, column),
                    *(_number(float(each[i, j])) for each in (reading.values, reading.errors)),
                    reading.assumes,
                    " ".join(str(device) for each in reading.left_out for device in each.devices),
                )
                found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def _number(value: float) -> int | float | None:
    """Return a number, or None if it is unknown."""
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else value


__all__ = ["Reading", "decrypt", "grouped", "rounded", "table"]
