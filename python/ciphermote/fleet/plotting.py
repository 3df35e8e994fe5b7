# SPDX-License-Identifier: Apache-2.0
"""Pictures of results: bars over the slots of one, lines over the intervals of several."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from ciphermote.errors import ParameterError
from ciphermote.fleet.attachments import about_writing
from ciphermote.fleet.reading import Reading

SUFFIXES = (".png", ".svg", ".pdf")
_INCHES, _DOTS = (8.0, 4.5), 150


def plot(readings: Sequence[Reading], path: str | Path) -> None:
    """To a .png, .svg or .pdf. ParameterError for another name, and if matplotlib is not installed."""
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
            "Pictures are drawn with matplotlib, which is not installed: run `pip install "
            "'ciphermote[owner]'`."
        ) from None
    figure = Figure(figsize=_INCHES, dpi=_DOTS, layout="constrained")
    axes = figure.add_subplot()
    first = readings[0]
    if len(readings) == 1:
        places = list(range(len(first.columns)))
        width = 0.8 / len(first.rows)
        for i, row in enumerate(first.rows):
            at = [place + (i - (len(first.rows) - 1) / 2) * width for place in places]
            axes.bar(at, first.values[i], width, yerr=first.errors[i], capsize=2, label=row)
        axes.set_xticks(places, first.columns, rotation=45 if len(places) > 6 else 0)
        axes.set_title(f"{first.source.fleet}: {first.kind}, {first.windows} windows")
    else:
        times = [datetime.datetime.fromtimestamp(reading.interval[0]) for reading in readings]
        for j, column in enumerate(first.columns):
            values = [reading.values[0, j] for reading in readings]
            errors = [reading.errors[0, j] for reading in readings]
            axes.errorbar(times, values, errors, marker="o", markersize=3, capsize=2, label=column)  # type: ignore[arg-type]
        figure.autofmt_xdate()
        axes.set_title(f"{first.source.fleet}: {first.source.job.stream or first.kind}")
    if len(readings) > 1 or len(first.rows) > 1:
        axes.legend(fontsize="small")
    axes.set_ylabel(first.kind)
    axes.grid(axis="y", alpha=0.3)
    with about_writing(path):
        figure.savefig(path)


__all__ = ["plot"]
