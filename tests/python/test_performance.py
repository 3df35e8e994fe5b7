# SPDX-License-Identifier: Apache-2.0
"""The figures in documents are those of bench/results, and any that are not are found."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import generate_performance
import options  # which that puts in the path: bench/m4/options.py
import pytest

ROOT = Path(__file__).resolve().parents[2]

FILES = (
    "README.md",
    "docs/performance.md",
    "docs/compact.md",
    "docs/evaluator.md",
    "docs/gateway.md",
    "docs/operations.md",
    "docs/security.md",
    "docs/images/evaluator_memory.svg",
    "docs/images/evaluator_speed_up.svg",
    "docs/images/ntt14.svg",
    "docs/images/profile.svg",
    "docs/images/ram_against_time.svg",
    "ports/README.md",
    "ports/netfirmware/README.md",
    "ports/arduino/README.md",
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the documents and results, which the generator takes for the project's."""
    for name in (*FILES, *(f"bench/results/{name}.json" for name in generate_performance.RESULTS)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(generate_performance, "ROOT", tmp_path)
    return tmp_path


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def row(name: str, results: str = "m4") -> dict:
    content = json.loads((ROOT / f"bench/results/{results}.json").read_text())
    return next(row for row in content["rows"] if row["name"] == name)


def test_documents_and_plots_show_what_the_benches_measured(tree: Path) -> None:
    assert generate_performance.main(["--check"]) == 0


@pytest.mark.parametrize("document", ["docs/performance.md", "docs/evaluator.md", "ports/README.md"])
def test_a_figure_changed_by_hand_is_found_and_written_anew(
    document: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relinearization = row("ckks.n4096.relinearize.avx2.ratio_to_seal", "evaluator")
    figures = {
        "docs/performance.md": f"{row('ckks_encrypt_symmetric.fast.cycles')['value']:,}",
        "docs/evaluator.md": f"{relinearization['params']['us'] / 1000:.3g}, 1.1, 16.3",
        "ports/README.md": f"{row('microbit.symmetric.chacha20.ram_bytes', 'microbit')['value']:,}",
    }
    figure = figures[document]
    rewrite(tree / document, figure, "1,234")
    assert generate_performance.main(["--check"]) == 1
    assert document in capsys.readouterr().err
    assert generate_performance.main([]) == 0
    assert (tree / document).read_text() == (ROOT / document).read_text()


def test_the_evaluators_sentences_say_what_the_rows_say() -> None:
    text = (ROOT / "docs/evaluator.md").read_text(encoding="utf-8")
    rows = json.loads((ROOT / "bench/results/evaluator.json").read_text())["rows"]
    spreads = [row["params"]["spread"] for row in rows if "spread" in row["params"]]
    large = sum(spread > 0.3 for spread in spreads)
    assert f"{large} of {len(spreads)} rows, and at most {100 * max(spreads):.0f} %" in text
    (summed,) = (row for row in rows if row["name"] == "sum1000.avx2.ratio_to_seal")
    assert f"{summed['value']:.1f} times as long" in text
    for scheme in ("ckks", "bfv"):
        peak = row(f"{scheme}.n32768.peak_bytes", "evaluator")
        assert f"{peak['value'] / 1e6:,.0f} MB for {scheme.upper()}" in text


@pytest.mark.parametrize("document", ["docs/evaluator.md", "docs/papers.md"])
def test_the_share_of_seals_instructions_on_32_bit_arm_is_that_of_the_rows(document: str) -> None:
    rows = json.loads((ROOT / "bench/results/evaluator_arm.json").read_text())["rows"]
    shares = [100 * row["value"] for row in rows if row["name"].startswith("arm.armhf.")]
    assert f" {min(shares):.1f} to {max(shares):.0f} % of " in (ROOT / document).read_text(encoding="utf-8")


@pytest.mark.parametrize("way", ["http", "mqtt", "compact"])
def test_a_gateways_ratios_follow_from_the_columns_beside_them(way: str) -> None:
    titles = {
        "http": "full sets over HTTPS",
        "mqtt": "full sets over MQTT, and a receipt back",
        "compact": "compact windows over HTTPS",
    }
    lines = (ROOT / "docs/gateway.md").read_text(encoding="utf-8").splitlines()
    (shown,) = (line.split("|")[2:-1] for line in lines if line.startswith(f"| {titles[way]} |"))
    _, rate, raw_rate, ratio, _, _, cpu, raw_cpu, cpu_ratio = (float(each.replace(",", "")) for each in shown)
    assert (ratio, cpu_ratio) == (round(rate / raw_rate, 2), round(raw_cpu / cpu, 2))
    rows = (f"ingest.{way}.{name}" for name in ("ratio_to_raw", "cpu_ratio_to_raw"))
    values = [row(name, "gateway")["value"] for name in rows]
    assert values == pytest.approx([rate / raw_rate, raw_cpu / cpu], abs=0.0006)


def test_a_jobs_ratios_follow_from_its_rates() -> None:
    text = " ".join((ROOT / "docs/gateway.md").read_text(encoding="utf-8").split())
    found = re.search(
        r"adds ([\d,]+) a second on \d+ cores, and ([\d,]+) on one.*? adds ([\d,]+) "
        r"\(ratios ([\d.]+) and ([\d.]+)\)",
        text,
    )
    assert found
    *rates, ratio, one_core_ratio = (float(each.replace(",", "")) for each in found.groups())
    rate, one_core, alone = rates
    assert (ratio, one_core_ratio) == (round(rate / alone, 2), round(one_core / alone, 2))
    names = ("jobs.sum.ratio_to_evaluator", "jobs.sum.one_core.ratio_to_evaluator")
    values = [row(name, "gateway")["value"] for name in names]
    assert values == pytest.approx([rate / alone, one_core / alone], abs=0.0006)


def test_plots_are_the_same_bytes_each_time(tree: Path) -> None:
    for plot in (name for name in FILES if name.endswith(".svg")):
        (tree / plot).unlink()
        assert generate_performance.main([]) == 0
        assert (tree / plot).read_bytes() == (ROOT / plot).read_bytes()


def test_results_of_different_code_are_not_shown_together(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cycles = row("ckks_encrypt_symmetric.tiny.cycles")["value"]
    rewrite(tree / "bench/results/m4.json", f'"value": {cycles},', f'"value": {cycles + 1},')
    assert generate_performance.main(["--check"]) == 1
    assert "different code (tiny, symmetric)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("results", "goal"), [("m4", "make bench-m4"), ("m4-options", "make bench-m4-options")]
)
def test_missing_results_are_asked_for_by_their_goal(
    results: str, goal: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / f"bench/results/{results}.json").unlink()
    assert generate_performance.main([]) == 1
    assert capsys.readouterr().err.strip().endswith(f"run {goal}.")


def test_a_document_that_lost_its_markers_is_refused(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite(tree / "README.md", "<!-- end summary -->", "")
    assert generate_performance.main([]) == 1
    assert "markers of summary" in capsys.readouterr().err


def test_the_sweep_of_options_is_committed_as_a_line_for_each_choice_and_key(tmp_path: Path) -> None:
    params = {"preset": "tiny", "choice": "-O3", "own": False, "flags": "-O3 -DCM_CONFIG_COMPLEX=0"}
    figures = {"cycles": 9, "ram_bytes": 7, "code_bytes": 5, "table_bytes": 3}
    rows = [
        {"name": f"ckks_encrypt_{key}.tiny.-O3.{name}", "value": value, "unit": "", "params": params}
        for key in ("symmetric", "asymmetric")
        for name, value in figures.items()
    ]
    sweep, summary = tmp_path / "sweep.json", tmp_path / "summary.json"
    sweep.write_text(json.dumps({"command": "make bench", "compiler": "gcc", "rows": rows}))
    options.write_summary(summary, sweep)
    text = summary.read_text()
    assert json.loads(text)["compiler"] == "gcc"
    assert json.loads(text)["rows"] == [
        {"preset": "tiny", "choice": "-O3", "key": key, "own": False, **figures}
        for key in ("symmetric", "asymmetric")
    ]
    assert sum("cycles" in line for line in text.splitlines()) == 2


@pytest.mark.parametrize("kind", generate_performance.KINDS)
@pytest.mark.parametrize("configuration", ["default", "portable", "tiny", "balanced", "fast", "n8192.tiny"])
def test_a_profile_adds_up_to_the_encryption(kind: str, configuration: str) -> None:
    prefix = f"ckks_encrypt_{kind}.{configuration}"
    parts = [row(f"{prefix}.profile.{part}.cycles")["value"] for part in generate_performance.PARTS]
    assert sum(parts) == row(f"{prefix}.cycles")["value"]
    assert min(parts) >= 0
    assert parts[-1] < 0.1 * sum(parts), "too much is called the rest"


# ---- figures in docs/performance.md's sentences ----


def changes(option: str) -> list[float]:
    """Return by how many per cent an option changes cycles, in both tables, unless it is the preset's own."""
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| `{re.escape(option)}` \|(.*)\|$", page, re.MULTILINE)
    cells = [cell.strip() for row in rows for cell in row.split(" | ")[::3]]
    return [float(cell.removesuffix(" %").replace("−", "-")) for cell in cells if cell.endswith("%")]


@pytest.mark.parametrize(
    ("sentence", "option", "shown"),
    [
        (r"Assembly is worth a factor of ([\d.]+) to ([\d.]+):", "CM_CONFIG_ASM=0", "{:.1f}"),
        (r"by itself, at ([\d.]+) \(`TINY`\) to ([\d.]+) times \(`FAST`\)", "CM_XOF_SHAKE256", "{:.1f}"),
        (r"100 KB of roots for (\d+) to (\d+) % more", "CM_CONFIG_NTT_ROOTS=0", "percent"),
    ],
)
def test_sentences_say_what_the_options_tables_show(sentence: str, option: str, shown: str) -> None:
    page = " ".join((ROOT / "docs/performance.md").read_text(encoding="utf-8").split())
    (said,) = re.findall(sentence, page)
    for figure, change in zip(said, (min(changes(option)), max(changes(option))), strict=True):
        expected = f"{change:.0f}" if shown == "percent" else shown.format(1 + change / 100)
        assert figure == expected
