# SPDX-License-Identifier: Apache-2.0
"""`make bench-check`: differences from the committed figures are reported figure by figure."""

import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import check_benches

    return check_benches


def results(compiler: str = "gcc 12", *, timed: bool = False, better: str = "less", **values: float) -> dict:
    more = {"timed": timed, "better": better}
    rows = [{"name": name, "value": value, **more} for name, value in values.items()]
    return {"compiler": compiler, "rows": rows}


def test_the_same_figures_are_no_difference(tool):
    assert tool.compared(results(a=1, b=2.5), results(b=2.5, a=1)) == tool.Comparison([], [])


@pytest.mark.parametrize(
    ("fresh", "faults", "others"),
    [
        (results(a=1001, b=2), ["a: 1,001 is worse than 1,000, which is committed"], []),
        (results(a=999, b=2), [], ["a: 999 is better than 1,000, which is committed"]),
        (results(b=2), ["a: 1,000 is committed, but the bench no longer gives it"], []),
        (results(a=1000, b=2, c=3), [], ["c: 3 is new, and not committed"]),
        (results("gcc 13", a=1000, b=2), ["the compiler is gcc 13, and was gcc 12"], []),
        (results(better="more", a=999, b=2), ["a: 999 is worse than 1,000, which is committed"], []),
        (results(timed=True, a=1500, b=2), [], []),
    ],
)
def test_each_difference_is_said_and_a_worse_figure_is_a_fault(tool, fresh, faults, others):
    assert tool.compared(results(a=1000, b=2), fresh) == tool.Comparison(faults, others)


def test_a_summary_is_compared_figure_by_figure(tool):
    row = {"preset": "tiny", "choice": "-O3", "key": "symmetric", "own": False, "cycles": 9, "ram_bytes": 7}
    old, new = ({"compiler": "gcc 12", "rows": [{**row, "cycles": cycles}]} for cycles in (9, 10))
    assert tool.compared(old, old) == tool.Comparison([], [])
    assert tool.compared(old, new).faults == [
        "tiny.-O3.symmetric.cycles: 10 is worse than 9, which is committed"
    ]


def test_a_timed_figure_may_be_five_percent_worse_in_the_median(tool):
    old = [results(timed=True, a=value) for value in (100, 101, 99)]
    assert list(tool.slower(old, [results(timed=True, a=value) for value in (104, 500, 90)])) == []
    (said,) = tool.slower(old, [results(timed=True, a=value) for value in (106, 500, 90)])
    assert said == "a: 106 is more than 5 % worse than 100, measured in turns"
    rates = [results(timed=True, better="more", a=value) for value in (94, 94, 94)]
    assert len(list(tool.slower(old, rates))) == 1
    assert list(tool.slower(old, [results(timed=True, b=1)])) == ["a: the bench no longer gives it"]


def test_a_bench_that_fails_is_a_fault(tool, tmp_path, monkeypatch):
    (tmp_path / "fails.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "FRESH", tmp_path)
    monkeypatch.setattr(tool, "BENCHES", {"some": "fails.py"})
    assert tool.check("some").faults == ["the bench failed: see some.log"]


def test_a_fresh_run_is_compared_with_the_committed_file(tool, tmp_path, monkeypatch):
    (tmp_path / "bench.py").write_text(
        "import json, sys\n"
        "rows = [{'name': 'a', 'value': 2}]\n"
        "open(sys.argv[2], 'w').write(json.dumps({'compiler': 'gcc 12', 'rows': rows}))\n"
    )
    (tmp_path / "some.json").write_text(json.dumps(results(a=1)))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "COMMITTED", tmp_path)
    monkeypatch.setattr(tool, "FRESH", fresh)
    monkeypatch.setattr(tool, "BENCHES", {"some": "bench.py"})
    assert tool.check("some").faults == ["a: 2 is worse than 1, which is committed"]


def test_every_committed_row_says_how_it_is_compared():
    for path in (ROOT / "bench/results").glob("*.json"):
        for row in json.loads(path.read_text())["rows"]:
            if "value" in row:
                assert type(row["timed"]) is bool and row["better"] in ("less", "more"), (path, row["name"])


def test_every_bench_of_exact_figures_is_checked(tool):
    times = {
        "demo",
        "demo-uno",
        "demo-client-aided",
        "demo-lorawan",
        "demo-fleet",
        "evaluator",
        "gateway",
        "capacity",
    }
    times |= {"errors", "python", "netfirmware"}  # of fresh keys, of Python, and over a network
    times |= {"rtl-evaluator", "break-even"}  # of the processor, beside simulated ones
    left_out = times | {
        "evaluator_arm",
        "seal-offload",
        "rtl-synth",
        "rtl-asic",
        "engine-asic",
    }  # what needs a SEAL of one's own, and synthesis
    assert tool.BENCHES.keys() == {path.stem for path in (ROOT / "bench/results").glob("*.json")} - left_out
