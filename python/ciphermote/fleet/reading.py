# SPDX-License-Identifier: Apache-2.0
"""What fetched results hold: decrypted on the owner's machine, with how far each number can be trusted.

Counts come from the list of contributors, which is the gateway's word. Of compact sums it decides what is
decrypted at all: they are checked against it and against what the owner enrolled each device for.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciphermote import bfv, ckks
from ciphermote.bfv import Places
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sums import CompactResult, Contributor, decrypt_sum
from ciphermote.errors import MismatchError, ParameterError, about
from ciphermote.fleet.attachments import Attachment, Keys
from ciphermote.fleet.results import Fetched
from ciphermote.keys import KeyStore, SecretKey
from ciphermote.labels import detach
from ciphermote.linear_model import LinearModel

DEVIATIONS = 4.0
"""Errors are so many standard deviations: one value in 16,000 is off by more."""
_FLOAT_STEP = 2.0**-24


@dataclass(frozen=True, eq=False)
class Reading:
    """A decrypted result. columns: slots, positions or classes, by name. rows: one, named "", or for a model
    one a window. values: float64 [rows, columns]; errors: how far each may be off (DEVIATIONS), 0 where it is
    exact. windows, devices: in it."""

    source: Fetched = field(repr=False)
    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    windows: int
    devices: int

    @property
    def interval(self) -> tuple[float, float]:
        """Of the windows, in seconds since 1970: from the first to before the second."""
        return self.source.job.begins, self.source.job.ends

    def when(self) -> str:
        """The interval, for people."""
        return interval_text(*self.interval)

    def shown(self, row: int, column: int) -> str:
        """A value with no more digits than it has."""
        return rounded(float(self.values[row, column]), float(self.errors[row, column]))


_END_OF_TIME = 9e10
_MOST_LISTED = 5


def interval_text(begins: float, ends: float) -> str:
    """An interval of a job, for people."""
    if begins == 0 and ends >= _END_OF_TIME:
        return "all windows"
    if begins == 0:
        return f"before {time_text(ends)}"
    first, last = time_text(begins), time_text(ends)
    day, _, hour = last.partition(" ")
    return f"{first} to {hour if hour and first.startswith(day) else last}"


def time_text(seconds: float) -> str:
    """A time of the gateway's, in this machine's time zone."""
    if seconds >= _END_OF_TIME:
        return "now"
    return datetime.datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def windows_text(windows: Sequence[Sequence[int]], total: int) -> str:
    """The first of so many windows, [device, epoch, window] each in order, for people."""
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
    """(first, last) of each run of ascending numbers."""
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        found = [number for _, number in run]
        yield found[0], found[-1]


def rounded(value: float, error: float) -> str:
    """A value with digits down to its error's first one; exact if there is none."""
    if error == 0:
        return str(int(value)) if value == int(value) else repr(value)
    places = -math.floor(math.log10(error))
    if places > 0:
        return f"{value:z.{min(places, 12)}f}"
    step = 10.0**-places
    return f"{round(value / step) * step:z.0f}"


def decrypt(
    fetched: Fetched,
    keys: Keys | SecretKey,
    *,
    count: int = 8,
    places: Places | None = None,
    signed: bool = False,
    model: LinearModel | None = None,
    attachment: Attachment | None = None,
) -> Reading | None:
    """What a result holds; None if there was no window in it.

    keys: a directory of keys, opened (or its secret key), or compact keys. count: of slots from the first on;
    0: all. places, signed: BFV's, as ciphermote.decrypt takes them. model: whose scores they are; None: the
    one that attachment has kept. variance is of the population: E[x^2] - E[x]^2 over the windows. FrameError,
    MismatchError for what is not these keys' or contradicts itself; ParameterError.
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
            return _compact(fetched, keys)
        secret = keys.secret() if isinstance(keys, KeyStore) else keys
        plain = _Plain(secret, int(fetched.definition.get("plain_modulus", 0)), count, places, signed)
        if fetched.job.kind == "linear":
            return _scores(fetched, plain, model, attachment)
        return _slots(fetched, plain)


# --- the compact lane ---------------------------------------------------------------------------------------


def _compact(fetched: Fetched, keys: CompactKeys) -> Reading:
    (data,) = fetched.parts()
    weights = fetched.job.fields["spec"].get("weights")
    contributors = []
    for device, epoch, window in fetched.contributors:
        weight = 1 if weights is None else int(weights.get(str(device), 0))
        if weight:
            contributors.append(Contributor(device, epoch, window, weight))
    found = decrypt_sum(keys, CompactResult.from_bytes(data), contributors)
    values = found.values.astype(np.float64)
    if fetched.job.kind == "mean":
        values = values / len(contributors)
    return _reading(
        fetched, tuple(f"position {p}" for p in found.positions.tolist()), values, np.zeros_like(values)
    )


# --- full fleets --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """How ciphertexts are read."""

    secret: SecretKey
    plain_modulus: int
    count: int
    places: Places | None
    signed: bool

    def values(
        self, data: bytes, scores: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(values, errors), of the first `count` slots, or of so many scores.

        CKKS: readings are real, so what decrypts to imaginary parts is noise, and as large as that in the
        real parts. Scores may have more of it than the slots beside them.
        """
        most = (self.count if scores is None else scores) or None
        if self.plain_modulus:
            integers = bfv.decrypt(data, self.secret, self.plain_modulus).integers(
                self.places, signed=self.signed
            )
            exact = integers[:most].astype(np.float64)
            return exact, np.zeros_like(exact)
        slots = ckks.decrypt(data, self.secret).complex_slots()
        shown = slots[:most]
        noise = max(float(np.sqrt(np.mean(part.imag**2))) for part in (slots, slots[:scores]))
        return shown.real.copy(), np.maximum(DEVIATIONS * noise, np.abs(shown.real) * _FLOAT_STEP)

    @property
    def name(self) -> str:
        return "coefficient" if self.plain_modulus and self.places != "slots" else "slot"


def _slots(fetched: Fetched, plain: _Plain) -> Reading:
    parts = list(fetched.parts())
    windows = len(fetched.contributors)
    if len(parts) != (2 if fetched.job.kind == "variance" else 1) or not windows:
        raise MismatchError(f"The result has {len(parts)} parts, which a {fetched.job.kind} has not.")
    values, errors = plain.values(parts[0])
    if fetched.job.kind == "mean":
        values, errors = values / windows, errors / windows
    if fetched.job.kind == "variance":
        if plain.plain_modulus and plain.places == "coefficients":
            raise ParameterError("Squares of integers in coefficients mix them: a variance takes slots.")
        squares, square_errors = plain.values(parts[1])
        # Squared, a window's noise is multiplied by what is in its slot, twice.
        own_errors = 2 * errors * np.sqrt(np.maximum(squares, 0) / windows)
        square_errors = np.hypot(square_errors, own_errors)
        mean, off = values / windows, errors / windows
        values = squares / windows - mean**2
        errors = np.hypot(square_errors / windows, 2 * np.abs(mean) * off)
    return _reading(fetched, tuple(f"{plain.name} {i}" for i in range(len(values))), values, errors)


def _scores(
    fetched: Fetched, plain: _Plain, model: LinearModel | None, attachment: Attachment | None
) -> Reading:
    parts = list(fetched.parts())
    if len(parts) != len(fetched.contributors):
        raise MismatchError(
            f"The result has scores of {len(parts)} windows and names {len(fetched.contributors)}: fetch it "
            "again."
        )
    _, label = detach(parts[0])
    identifier = None if label is None else label.model_id
    if model is None and identifier is not None and attachment is not None:
        model = attachment.model(identifier)
    if model is None:
        raise ParameterError("Whose scores these are is not known here: name the model's file (--model).")
    found = []
    for data in parts:
        _, label = detach(data)
        if label is None or label.model_id != model.id:
            raise MismatchError(
                f"The scores are not those of model {model.id:016x}: give the model that was asked for."
            )
        reading = (
            plain if not plain.plain_modulus else _Plain(plain.secret, plain.plain_modulus, 0, "slots", True)
        )
        found.append(reading.values(data, model.classes))
    columns = model.labels or tuple(str(i) for i in range(model.classes))
    rows = tuple(f"device {device}, window {window}" for device, _, window in fetched.contributors)
    values, errors = (np.stack(each) for each in zip(*found, strict=True))
    return _reading(fetched, columns, values, errors, rows)


def _reading(
    fetched: Fetched,
    columns: Sequence[str],
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    rows: Sequence[str] = ("",),
) -> Reading:
    return Reading(
        fetched,
        fetched.job.kind,
        tuple(columns),
        tuple(rows),
        values.reshape(len(rows), -1),
        errors.reshape(len(rows), -1),
        len(fetched.contributors),
        len({entry[0] for entry in fetched.contributors}),
    )


def grouped(readings: Sequence[Reading]) -> list[list[Reading]]:
    """Those of one fleet, stream and kind together, with the same columns."""
    groups: dict[object, list[Reading]] = {}
    for found in readings:
        source = found.source
        groups.setdefault((source.fleet, source.job.stream, found.kind, found.columns), []).append(found)
    return list(groups.values())


COLUMNS = (
    *("fleet", "job", "stream", "kind", "begins", "ends"),
    *("windows", "devices", "row", "column", "value", "error"),
)


def table(readings: Sequence[Reading]) -> list[dict[str, Any]]:
    """A row for each number, with COLUMNS: for files and programs."""
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
                )
                found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


__all__ = ["Reading", "decrypt", "grouped", "rounded", "table"]
