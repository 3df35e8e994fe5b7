# SPDX-License-Identifier: Apache-2.0
"""Report of the fleet's demo: a table, a plot and a file of figures; and its judgement."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.rest.words import CheckedKind
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.rows import Row, timed, write_results
from demos.fleet.diary import Diary, Key

MAX_ABS_ERROR = 5e-3
"""What no mean of real numbers may miss the plain one by; sums of integers are exact."""


@dataclass(frozen=True)
class Result:
    """One of the gateway's, decrypted. windows: in it, as the gateway says. values: None if there are none.
    replay: 0, or how often the interval was computed anew."""

    fleet: str
    kind: CheckedKind
    begins: float
    ends: float
    replay: int
    windows: Sequence[Key] = field(repr=False)
    values: NDArray[np.float64] | None = field(repr=False)
    tolerance: float


@dataclass
class Outcome:
    """Everything the demo found. replays: results computed anew; times: step -> wall time;
    survivors: workers that outlived their gateway."""

    devices: int
    seconds: float
    diary: Diary
    kills: Counter[str]
    results: list[Result] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    linux_tries: int = 0
    replays: int = 0
    survivors: int = 0

    @property
    def windows(self) -> int:
        return len(self.diary.windows())

    @property
    def receipted(self) -> int:
        return sum(window.receipted for window in self.diary.windows())

    @property
    def resends(self) -> int:
        """Tries beyond each window's first."""
        linux = sum(1 for window in self.diary.windows() if window.fleet == "homes")
        others = sum(window.tries for window in self.diary.windows() if window.fleet != "homes")
        return others + self.linux_tries - (self.windows - linux) - linux

    def final(self) -> list[Result]:
        """The newest result of each interval."""
        newest: dict[tuple[str, float], Result] = {}
        for result in sorted(self.results, key=lambda each: each.replay):
            newest[result.fleet, result.begins] = result
        return sorted(newest.values(), key=lambda each: (each.fleet, each.begins))

    def counted(self) -> Counter[Key]:
        """Count how often each window is in the final results."""
        return Counter(key for result in self.final() for key in result.windows)

    def truth(self, result: Result) -> NDArray[np.float64] | None:
        """Return the right result; None if it names a window that no device has measured."""
        try:
            values = self.diary.values(result.windows)
        except KeyError:
            return None
        found: NDArray[np.float64] = values.sum(axis=0) if result.kind == "sum" else values.mean(axis=0)
        return found

    def error(self, result: Result) -> float:
        """The largest |decrypted - truth|; 0 if neither has any window."""
        if not result.windows or result.values is None:
            return 0.0 if not result.windows and result.values is None else float("inf")
        truth = self.truth(result)
        return float("inf") if truth is None else float(np.abs(result.values - truth).max())

    @property
    def started(self) -> float:
        """When the first interval began, in seconds since 1970."""
        return min((each.begins for each in self.results), default=0.0)

    def without_windows(self) -> list[Result]:
        """Return results without windows, which prove nothing although nothing in them is wrong."""
        return [each for each in self.final() if not each.windows]

    def that_differ(self) -> list[Result]:
        return [each for each in self.results if not self.error(each) <= each.tolerance]

    def lost(self) -> list[Key]:
        """Windows with a receipt that no final result has."""
        counted = self.counted()
        return [each.key for each in self.diary.windows() if each.receipted and not counted[each.key]]

    def doubled(self) -> list[Key]:
        return [key for key, count in self.counted().items() if count > 1]


def judge(outcome: Outcome) -> None:
    """Raises Error unless every result is right, and every window with a receipt counts once."""
    wrong = []
    if found := outcome.without_windows():
        first = found[0]
        begins, ends = first.begins - outcome.started, first.ends - outcome.started
        wrong.append(
            f"{len(found)} of {len(outcome.final())} results count no window, as {first.fleet} from "
            f"{begins:.0f} to {ends:.0f} s: the machine had too much else to do, or devices stopped"
        )
    if found := outcome.that_differ():
        wrong.append(f"{len(found)} of {len(outcome.results)} results differ from the plain truth")
    if lost := outcome.lost():
        wrong.append(f"{len(lost)} windows with a receipt are in no result, as {_named(lost[0])}")
    if doubled := outcome.doubled():
        wrong.append(f"{len(doubled)} windows count more than once, as {_named(doubled[0])}")
    if without := outcome.windows - outcome.receipted:
        wrong.append(f"{without} windows have no receipt")
    if outcome.survivors:
        wrong.append(f"{outcome.survivors} workers outlived their gateway")
    if not outcome.windows:
        wrong.append("no window was measured")
    if wrong:
        raise Error(f"{'; '.join(wrong).capitalize()}.")


def _named(key: Key) -> str:
    return f"{key[0]} {key[1]}'s window {key[2]}"


def show(outcome: Outcome, console: Console) -> None:
    """Results beside the truth, then the counts."""
    results = Table(title="What the owner decrypted, beside what the devices measured")
    for name in ("fleet", "interval", "windows", "result", "first", "plain", "worst error"):
        results.add_column(name, justify="left" if name in ("fleet", "interval", "result") else "right")
    start = outcome.started
    for result in outcome.final():
        error, truth = outcome.error(result), outcome.truth(result) if result.windows else None
        shown = [f"{each[0]:.5g}" if each is not None else "-" for each in (result.values, truth)]
        interval = f"{result.begins - start:.0f} to {result.ends - start:.0f} s"
        results.add_row(
            result.fleet,
            interval + (", anew" if result.replay else ""),
            str(len(result.windows)),
            result.kind,
            *shown,
            _judged(result, error),
        )
    console.print(results)
    counts = Table(title="Counts", show_header=False)
    counts.add_column()
    counts.add_column(justify="right")
    kills = ", ".join(f"{count} {what}" for what, count in sorted(outcome.kills.items()))
    for title, value in (
        ("devices", str(outcome.devices)),
        ("windows sent", str(outcome.windows)),
        ("windows with a receipt", str(outcome.receipted)),
        ("windows counted", str(sum(outcome.counted().values()))),
        ("lost, counted twice", f"{len(outcome.lost())}, {len(outcome.doubled())}"),
        ("kills", f"{sum(outcome.kills.values())} ({kills})"),
        ("sent again", str(outcome.resends)),
        ("results made anew, for late windows", str(outcome.replays)),
        ("results that differ", f"{len(outcome.that_differ())} of {len(outcome.results)}"),
    ):
        counts.add_row(title, value)
    console.print(counts)


def _judged(result: Result, error: float) -> str:
    if not error <= result.tolerance:
        return f"{error:.1e}  DIFFERS"
    if not result.windows:
        return "NO WINDOW"
    return "exact" if error == 0 else f"{error:.1e}"


def plot(outcome: Outcome, path: Path) -> None:
    """A panel for each fleet: the truth of each interval, and what was decrypted."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    final = [each for each in outcome.final() if each.windows and each.values is not None]
    fleets = sorted({each.fleet for each in final})
    figure, axes = plt.subplots(
        1, max(1, len(fleets)), figsize=(14, 4.2), squeeze=False, layout="constrained"
    )
    start = min((each.begins for each in final), default=0.0)
    for panel, fleet in zip(axes[0], fleets, strict=False):
        mine = [each for each in final if each.fleet == fleet]
        for at, result in enumerate(mine):
            truth = outcome.truth(result)
            assert result.values is not None
            columns = np.arange(min(24, len(result.values)))
            color = f"C{at}"
            if truth is not None:
                panel.plot(columns, truth[: len(columns)], "o", color=color, markersize=4, mfc="none")
            label = (
                f"{result.begins - start:.0f} to {result.ends - start:.0f} s, {len(result.windows)} windows"
            )
            panel.plot(columns, result.values[: len(columns)], color=color, lw=1, label=label)
        what = "feature (first 24)" if fleet == "watches" else "hour"
        panel.set(title=f"{fleet}: {mine[0].kind}; lines decrypted, circles plain", xlabel=what)
        panel.legend(fontsize="x-small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(
    outcome: Outcome, path: Path, demo: str = "fleet", datasets: str = "ItalyPowerDemand, BasicMotions"
) -> None:
    """The figures: `make bench-demos` keeps them in bench/results."""
    params = {
        "datasets": datasets,
        "devices": outcome.devices,
        "seconds": outcome.seconds,
        "kind": "measured",
        **{f"{what}_kills": count for what, count in sorted(outcome.kills.items())},
    }
    counts = {
        "windows": (outcome.windows, "windows"),
        "receipted": (outcome.receipted, "windows"),
        "counted": (sum(outcome.counted().values()), "windows"),
        "lost": (len(outcome.lost()), "windows"),
        "doubled": (len(outcome.doubled()), "windows"),
        "kills": (sum(outcome.kills.values()), "kills"),
        "resends": (outcome.resends, "deliveries"),
        "replays": (outcome.replays, "results"),
        "results": (len(outcome.results), "results"),
        "results_that_differ": (len(outcome.that_differ()), "results"),
    }
    rows = [Row(f"demo_{demo}.{name}", value, unit, params) for name, (value, unit) in counts.items()]
    for fleet in sorted({each.fleet for each in outcome.results}):
        mine = [each for each in outcome.results if each.fleet == fleet]
        worst = max(outcome.error(each) for each in mine)
        more = {"result": mine[0].kind, "allowed": mine[0].tolerance}
        rows.append(Row(f"demo_{demo}.worst_error.{fleet}", worst, "1", params | more))
    write_results(path, f"make demo-{demo}", f"Python {platform.python_version()}", timed(rows))
