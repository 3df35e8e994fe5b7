# SPDX-License-Identifier: Apache-2.0
"""Pictures of results: bars over the slots of one, lines over the intervals of several of a kind."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import count_of, how_to_install
from ciphermote.fleet.attachments import about_writing
from ciphermote.fleet.reading import Reading, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg", ".pdf")
_INCHES, _DOTS = (8.0, 4.5), 150


def plot(readings: Sequence[Reading], path: str | Path) -> None:
    """Plot results to a .png, .svg or .pdf. Raises ParameterError for another suffix, and if matplotlib is
    not installed."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ParameterError(
            f"{path} is named for a picture (--plot): end its name in {', '.join(SUFFIXES)}."
        )
    if not readings:
        raise ParameterError("There are no values to draw: no window is in the results.")
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ParameterError(
            f"Pictures are drawn with matplotlib, which is not installed: {how_to_install('owner')}."
        ) from None
    groups = grouped(readings)
    width, height = _INCHES
    figure = Figure(figsize=(width, height * len(groups)), dpi=_DOTS, layout="constrained")
    for number, group in enumerate(groups, 1):
        axes = figure.add_subplot(len(groups), 1, number)
        if len(group) == 1:
            _bars(axes, group[0])
        else:
            _lines(axes, group)
        axes.set_ylabel(group[0].kind)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
    with about_writing(path):
        figure.savefig(path)


def _bars(axes: Axes, reading: Reading) -> None:
    """Draw bars over the columns, side by side for the rows."""
    count = len(reading.rows)
    width = 0.8 / count
    for i, row in enumerate(reading.rows):
        at = [place + (i - (count - 1) / 2) * width for place in range(len(reading.columns))]
        axes.bar(at, reading.values[i], width, yerr=_bar_lengths(reading.errors[i]), capsize=2, label=row)
    axes.set_xticks(
        range(len(reading.columns)), reading.columns, rotation=45 if len(reading.columns) > 6 else 0
    )
    axes.set_title(f"{reading.source.fleet}, {reading.when()} ({count_of(reading.windows, 'window')})")
    if count > 1:
        axes.legend(fontsize="small")


def _bar_lengths(errors: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the lengths of error bars; None if an error is unknown, so that no bar is drawn."""
    return None if np.isnan(errors).any() else errors


def _lines(axes: Axes, readings: Sequence[Reading]) -> None:
    """Draw lines over the beginnings of intervals, or over the numbers of jobs if one has no interval: one
    line for each column (and row, for a model's scores)."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    first = readings[0]
    have_times = all(reading.interval[0] for reading in readings)
    lines: dict[str, list[tuple[datetime.datetime | int, float, float]]] = {}
    for reading in sorted(
        readings, key=lambda each: (each.interval[0] if have_times else 0, each.source.job.id)
    ):
        at = datetime.datetime.fromtimestamp(reading.interval[0]) if have_times else reading.source.job.id
        for i, row in enumerate(reading.rows):
            for j, column in enumerate(reading.columns):
                device = row.partition(",")[0]  # its windows are one line
                name = f"{device}: {column}" if row else column
                point = at, float(reading.values[i, j]), float(reading.errors[i, j])
                lines.setdefault(name, []).append(point)
    for name, points in lines.items():
        places, values, errors = zip(*points, strict=True)
        axes.errorbar(
            places, values, _bar_lengths(np.array(errors)), marker="o", markersize=3, capsize=2, label=name
        )
    if have_times:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("job")
    axes.set_title(f"{first.source.fleet}: {first.source.job.stream or first.kind}")
    axes.legend(fontsize="small")


__all__ = ["plot"]
