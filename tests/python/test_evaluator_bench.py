# SPDX-License-Identifier: Apache-2.0
"""The evaluator's benches: which of several measurements a row shows, and that every row is there."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RATIO = "ckks.n4096.add.avx2.ratio_to_seal"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluator_bench", ROOT / "bench/evaluator/run.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, Any]]:
    content = json.loads((ROOT / "bench/results/evaluator.json").read_text())
    return {row["name"]: row for row in content["rows"]}


def row(value: float, name: str = RATIO) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": "", "params": {"us": 1 / value}}


def test_a_row_shows_the_median_round_of_the_build_that_makes_seal_fastest(bench: ModuleType) -> None:
    measured = [("gcc", row(6)), ("clang", row(5.5)), ("gcc", row(7)), ("clang", row(5))]
    measured += [("gcc", row(6.5)), ("clang", row(9))]  # disturbed
    (found,) = bench.combined(measured)
    assert found["value"] == 5.5
    assert found["params"] == {"us": 1 / 5.5, "seal": "clang", "spread": round(4 / 5.5, 3)}


def test_seal_with_hexl_has_rows_of_its_own(bench: ModuleType) -> None:
    hexl = RATIO.replace("seal", "hexl")
    found = bench.combined([("4.4.3", row(6)), ("4.4.3 with HEXL", row(2, hexl))])
    assert [(of["name"], of["value"]) for of in found] == [(RATIO, 6), (hexl, 2)]


def test_every_operation_of_the_paper_is_measured_at_every_degree_that_has_it(
    rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench/evaluator"))
    import paper

    for scheme, times in paper.PI_4.items():
        for machine in paper.MACHINES.values():
            assert {of: len(quoted) for of, quoted in machine[scheme].items()} == dict.fromkeys(times, 5)
        for operation, quoted in times.items():
            if scheme == "ckks" and operation in ("decrypt", "unbatch"):
                operation = "decrypt_unbatch"
            degrees = [n for n, ms in zip(paper.DEGREES, quoted, strict=True) if ms is not None]
            for n in (*degrees, 32768):
                assert f"{scheme}.n{n}.{operation}.avx2.ratio_to_seal" in rows
        for n in (*paper.DEGREES, 32768):
            assert f"{scheme}.n{n}.cpu_share.avx2" in rows
            assert f"{scheme}.n{n}.peak_bytes" in rows


@pytest.mark.parametrize("machine", ["armhf", "aarch64"])
def test_every_operation_is_counted_on_arm_at_every_degree_of_the_paper(
    machine: str, rows: dict[str, Any]
) -> None:
    content = json.loads((ROOT / "bench/results/evaluator_arm.json").read_text())
    counted = {row["name"]: row for row in content["rows"]}
    timed = [name.split(".") for name in rows if name.endswith(".avx2.ratio_to_seal")]
    wanted = [words[:3] for words in timed if len(words) == 5 and words[1] != "n32768"]
    assert len(wanted) == 128
    for words in wanted:
        row = counted[f"arm.{machine}.{'.'.join(words)}.instructions_ratio_to_seal"]
        params = row["params"]
        assert row["value"] == round(params["instructions"] / params["seal_instructions"], 4)
        assert row["better"] == "less" and not row["timed"]
        assert params["instructions"] < params["portable_instructions"]
    assert len(counted) == 2 * len(wanted)


def test_chains_are_inside_the_2024_bound_and_ours_has_as_many_bits(rows: dict[str, Any]) -> None:
    bounds = {1024: 26, 2048: 53, 4096: 106, 8192: 214, 16384: 430, 32768: 868}
    for scheme in ("ckks", "bfv"):
        for n, bound in bounds.items():
            ours, seal = rows[f"{scheme}.n{n}.data_bits"], rows[f"{scheme}.n{n}.seal_data_bits"]
            assert max(ours["params"]["total_bits"], seal["params"]["total_bits"]) <= bound
            assert ours["value"] >= 0.95 * seal["value"]


def test_the_largest_degree_fits_a_small_machine(rows: dict[str, Any]) -> None:
    assert rows["n32768.peak_bytes"]["value"] < 1.5e9
    assert rows["n32768.peak_bytes"]["params"]["rotation_keys"] == 15
