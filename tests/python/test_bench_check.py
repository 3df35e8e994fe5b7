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


def results(compiler: str = "gcc 12", **values: float) -> dict:
    return {"compiler": compiler, "rows": [{"name": name, "value": value} for name, value in values.items()]}


def test_the_same_figures_are_no_difference(tool):
    assert list(tool.differences(results(a=1, b=2.5), results(b=2.5, a=1))) == []


@pytest.mark.parametrize(
    ("fresh", "said"),
    [
        (results(a=1001, b=2), "a: 1,001, but 1,000 is committed"),
        (results(b=2), "a: 1,000 is committed, but the bench no longer gives it"),
        (results(a=1000, b=2, c=3), "c: 3 is new, and not committed"),
        (results("gcc 13", a=1000, b=2), "the compiler is gcc 13, and was gcc 12"),
    ],
)
def test_each_difference_is_said(tool, fresh, said):
    assert list(tool.differences(results(a=1000, b=2), fresh)) == [said]


def test_a_summary_is_compared_figure_by_figure(tool):
    row = {"preset": "tiny", "choice": "-O3", "key": "symmetric", "own": False, "cycles": 9, "ram_bytes": 7}
    old, new = ({"compiler": "gcc 12", "rows": [{**row, "cycles": cycles}]} for cycles in (9, 10))
    assert list(tool.differences(old, old)) == []
    assert list(tool.differences(old, new)) == ["tiny.-O3.symmetric.cycles: 10, but 9 is committed"]


def test_a_bench_that_fails_is_a_difference(tool, tmp_path, monkeypatch):
    (tmp_path / "fails.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "FRESH", tmp_path)
    monkeypatch.setattr(tool, "BENCHES", {"some": "fails.py"})
    assert tool.check("some") == ["the bench failed: see some.log"]


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
    assert tool.check("some") == ["a: 2, but 1 is committed"]


def test_every_bench_of_exact_figures_is_checked(tool):
    times = {"demo", "demo-uno", "demo-client-aided", "demo-lorawan", "demo-fleet", "evaluator", "gateway"}
    times |= {"errors", "python"}  # of fresh keys, and of Python
    left_out = times | {
        "evaluator_armhf",
        "rtl-synth",
        "rtl-asic",
        "engine-asic",
    }  # SEAL built for ARM, and synthesis
    assert tool.BENCHES.keys() == {path.stem for path in (ROOT / "bench/results").glob("*.json")} - left_out
