# SPDX-License-Identifier: Apache-2.0
"""`make demo-fleet`: a short run with a device of each kind loses nothing and leaves no process behind, and
its judgement sees every way in which a run can be wrong."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ciphermote.base.errors import Error
from demos import __main__ as command
from demos.fleet import report, run
from demos.fleet.diary import Diary, Key, Window
from demos.fleet.report import Outcome, Result
from rich.console import Console

SHORT = run.Plan(
    seconds=12,
    boards=1,
    unos=1,
    linux=2,
    kills=((0.2, "gateway"), (0.45, "worker"), (0.55, "broker"), (0.7, "gateway and broker")),
)


def children() -> set[int]:
    found: set[int] = set()
    for entry in Path("/proc/self/task").glob("*/children"):
        found.update(int(number) for number in entry.read_text().split())
    return found


def test_a_short_run_counts_every_window_once_and_leaves_nothing_running(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = children()
    outcome = run.run(Console(width=120), SHORT, tmp_path / "demo")
    assert children() <= before
    assert outcome.kills == {"gateway": 2, "worker": 1, "broker": 2}
    kinds = Counter(window.fleet for window in outcome.diary.windows())
    assert kinds.keys() == {"watches", "meters", "homes"} and min(kinds.values()) >= 3, kinds
    assert {key[0] for key in outcome.counted()} == kinds.keys()
    shown = capsys.readouterr().out
    assert "What the owner decrypted" in shown and "DIFFERS" not in shown
    assert (tmp_path / "demo/demo.png").stat().st_size > 10_000
    rows = json.loads((tmp_path / "demo/demo.json").read_text())["rows"]
    values = {row["name"]: row["value"] for row in rows}
    windows = values["demo_fleet.windows"]
    assert values["demo_fleet.receipted"] == values["demo_fleet.counted"] == windows == kinds.total()
    assert values["demo_fleet.worst_error.meters"] == values["demo_fleet.results_that_differ"] == 0
    assert 0 < values["demo_fleet.worst_error.watches"] < report.MAX_ABS_ERROR


def test_a_run_that_fails_leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise Error("The power is out.")

    before, mask = children(), os.umask(0o022)
    monkeypatch.setattr(run, "await_streams", broken)
    plan = run.Plan(seconds=3, boards=0, unos=0, linux=1, kills=())
    with pytest.raises(Error, match="The power is out"):
        run.run(Console(quiet=True), plan, tmp_path / "demo")
    assert children() <= before
    assert os.umask(mask) == 0o022


# --- the judgement ------------------------------------------------------------------------------------------


def outcome(*results: tuple[Sequence[Key], Sequence[float] | None]) -> Outcome:
    """An outcome of two windows, with 1 and 10 in them, and results over an interval each."""
    diary = Diary()
    for number, value in ((0, 1.0), (1, 10.0)):
        diary.note(Window("meters", 7, number, 100.0 + number, np.array([value]), 1, True))
    found = Outcome(1, 10.0, diary, Counter(gateway=1))
    for i, (keys, values) in enumerate(results):
        array = None if values is None else np.array(values)
        found.results.append(Result("meters", "sum", 100.0 + 10 * i, 110.0 + 10 * i, 0, keys, array, 0))
    return found


ONE, TWO = ("meters", 7, 0), ("meters", 7, 1)


def test_what_is_right_passes() -> None:
    report.judge(outcome(([ONE, TWO], [11.0])))
    report.judge(outcome(([ONE], [1.0]), ([TWO], [10.0])))


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        ([([ONE, TWO], [12.0])], "1 of 1 results differ from the plain truth"),
        ([([ONE, TWO], [np.nan])], "1 of 1 results differ"),
        ([([ONE, TWO], None)], "1 of 1 results differ"),
        ([([ONE, TWO], [11.0]), ([], [0.0])], "1 of 2 results differ"),
        ([([ONE, TWO, ("meters", 9, 4)], [11.0])], "1 of 1 results differ"),
        ([([ONE], [1.0])], "1 windows with a receipt are in no result, as meters 7's window 1"),
        ([([ONE, TWO, TWO], [21.0])], "1 windows count more than once, as meters 7's window 1"),
        ([([ONE, TWO], [11.0]), ([TWO], [10.0])], "1 windows count more than once"),
        (
            [([ONE, TWO], [11.0]), ([], None)],
            "1 of 2 results count no window, as meters from 10 to 20 s: the machine had too much else to do",
        ),
    ],
)
def test_what_is_wrong_is_an_error(
    results: list[tuple[Sequence[Key], Sequence[float] | None]], sentence: str
) -> None:
    with pytest.raises(Error, match=sentence):
        report.judge(outcome(*results))


def test_the_table_shows_how_many_windows_each_row_counts(capsys: pytest.CaptureFixture[str]) -> None:
    report.show(outcome(([ONE, TWO], [11.0]), ([], None)), Console(width=120))
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " meters " in line]
    assert [row[row.index("s") + 2] for row in rows] == ["2", "0"]
    assert "exact" in rows[0] and "exact" not in rows[1] and rows[1][-3:-1] == ["NO", "WINDOW"]


def test_slow_devices_are_given_more_time_within_bounds() -> None:
    plan = run.Plan()
    assert (plan.interval, plan.stretched(0.9)) == (10, plan)
    slow = plan.stretched(2.5)
    assert (slow.seconds, slow.every, slow.interval) == (180, 6, 30)
    with pytest.raises(Error, match="takes 11 s to encrypt a window"):
        plan.stretched(11)


@pytest.mark.parametrize(("seconds", "interval"), [(10, 10), (12, 12), (25, 12.5), (60, 10), (300, 10)])
def test_each_device_measures_five_times_in_an_interval(seconds: float, interval: float) -> None:
    assert run.Plan(seconds).interval == interval


def test_windows_without_a_receipt_and_survivors_are_errors() -> None:
    found = outcome(([ONE, TWO], [11.0]))
    found.diary.note(Window("meters", 7, 2, 105.0, np.array([1.0])))
    found.survivors = 1
    with pytest.raises(Error, match=r"1 windows have no receipt; 1 workers outlived their gateway\."):
        report.judge(found)


def test_an_interval_that_is_computed_anew_counts_as_its_newest_result() -> None:
    found = outcome(([ONE], [1.0]))
    first = found.results[0]
    found.results.append(
        Result("meters", "sum", first.begins, first.ends, 1, [ONE, TWO], np.array([11.0]), 0)
    )
    report.judge(found)


def test_resends_are_tries_beyond_the_first() -> None:
    found = outcome(([ONE, TWO], [11.0]))
    assert found.resends == 0
    found.diary.windows()[0].tries = 3
    found.diary.note(Window("homes", 1, 0, 100.0, np.array([1.0]), 1, True))
    found.linux_tries = 5
    assert found.resends == 2 + 4


@pytest.mark.parametrize(
    "arguments", [["fleet", "x"], ["fleet", "60", "60"], ["fleets"], [], ["smartwatch", "1"]]
)
def test_other_arguments_are_answered_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert "usage: python -m demos" in capsys.readouterr().err


def test_a_time_that_is_too_short_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["fleet", "9"]) == 1
    assert "give 10 to 3600" in capsys.readouterr().err
