# SPDX-License-Identifier: Apache-2.0
"""The tables of rtl/README.md have the figures of the benches."""

import json

import pytest

from tools import ROOT, RTL, accelerators, accelerators_of_two_clocks, configurations, evaluators

PAGE = (RTL / "README.md").read_text(encoding="utf-8")


def published(file):
    rows = json.loads((ROOT / "bench/results" / file).read_text(encoding="utf-8"))["rows"]
    return {row["name"]: (row["value"], row["params"]) for row in rows}


CYCLES, SYNTHESIS = published("rtl.json"), published("rtl-synth.json")
SEAL = published("seal-offload.json")


def area(top, name):
    found = [SYNTHESIS.get(f"{top}.{name}.xc7.{kind}") for kind in ("lut", "ff", "dsp", "bram")]
    if None in found:
        return ""
    note = " (sum)" if "sum" in found[0][1]["kind"] else ""
    return " / ".join(f"{value:,.0f}" for value, _ in found) + note


SUFFIX = ("", ".deep", ".middle")


def engine_row(name, shape):
    width = "" if shape["WIDTH"] == 32 else f".w{shape['WIDTH']}"
    stem = f"n{1 << shape['LOG2_N']}.u{1 << shape['LOG2_UNITS']}{width}{SUFFIX[shape['DEEP']]}.cycles"
    kinds = ("ntt", "engine_product", "engine_double_product", "engine_product_pair")
    jobs = [CYCLES.get(f"{kind}.{stem}") for kind in kinds]
    assert CYCLES[f"ntt_inverse.{stem}"][0] == jobs[0][0]
    cells = [f"{job[0]:,}" if job else "-" for job in jobs]
    there = jobs[1][1]
    clock = ""
    if "ecp5_clock_mhz" in there:
        clock = f"{there['ecp5_clock_mhz']:.1f} MHz, {there['ecp5_time_us']:.2f} us"
    return f"| {' | '.join([name, *cells, clock, area('engine', name)])} |"


@pytest.mark.parametrize("name", configurations())
def test_row_of_the_engine(name):
    assert f"{engine_row(name, configurations()[name])}\n" in PAGE


def accelerator_row(name, shape):
    stem = f"n{1 << shape['LOG2_N']}.u{1 << shape['LOG2_UNITS']}{SUFFIX[shape['DEEP']]}"
    beats = f"{stem}.s{32 << shape['LOG2_BEAT']}"
    jobs = ("product", "double_product")
    latencies = [f"{CYCLES[f'{job}.{stem}.cycles'][0]:,}" for job in jobs]
    paces = [f"{CYCLES[f'{job}.{beats}.pace'][0]:,}".removesuffix(".0") for job in jobs]
    rate = f"{CYCLES[f'product.{beats}.rate'][0]:,}"
    loads = ", ".join(f"{CYCLES[f'load_{of}.{beats}.cycles'][0]:,}" for of in ("twiddles", "factor"))
    return f"| {' | '.join([name, *latencies, *paces, rate, loads, area('accelerator', name)])} |"


@pytest.mark.parametrize("name", accelerators())
def test_row_of_the_accelerator(name):
    assert f"{accelerator_row(name, accelerators()[name])}\n" in PAGE


def compared(top, name, target, kinds):
    return " | ".join(f"{SYNTHESIS[f'{top}.{name}.{target}.{kind}'][0]:,.0f}" for kind in kinds)


SPARTAN_CLOCK_NS, SPARTAN_CYCLES = 4.727, 6
"""The published period; and what a product takes there besides, for narrower multipliers."""


@pytest.mark.parametrize("units", [1, 2])
def test_row_beside_the_published_spartan(units):
    cycles = CYCLES[f"engine_product.n1024.u{units}.deep.cycles"][0] + SPARTAN_CYCLES
    name = f"n1024_u{units}_deep"
    counts = compared("engine", name, "xc6s", ("lut", "dsp", "bram"))
    time = f"{cycles * SPARTAN_CLOCK_NS / 1000:.1f} us"
    assert f"| {name} (Yosys; {cycles:,} cycles) | any, 32 bits | {counts} | - | {time} |\n" in PAGE


@pytest.mark.parametrize(
    ("top", "name", "said"),
    [
        ("engine", "n1024_u64_deep", "Yosys, engine"),
        ("engine", "n1024_u64", "Yosys, engine, shallow"),
        ("accelerator", "n1024_u64_s128", "Yosys, the same with AXI4 streams"),
    ],
)
def test_row_beside_the_published_virtex(top, name, said):
    counts = compared(top, name, "xc7", ("lut", "ff", "dsp", "bram"))
    assert f"| {name} ({said}) | {counts} | - | " in PAGE


@pytest.mark.parametrize("name", ["n1024_u1_deep", "n1024_u8_deep", "n4096_u2_w40_deep"])
def test_row_of_the_cyclone(name):
    counts = compared("engine", name, "cyclonev", ("lut", "ff", "dsp", "bram"))
    assert f"| {name} (Yosys) | {counts} |\n" in PAGE


@pytest.mark.parametrize(
    ("family", "target", "kbit"), [("Xilinx 7", "xc7", 36), ("Cyclone V", "cyclonev", 10)]
)
def test_row_of_the_client_engine(family, target, kbit):
    page = (ROOT / "docs/client-engine.md").read_text(encoding="utf-8")
    counts = compared("client_engine", "n4096_u8_p3_deep", target, ("lut", "ff", "dsp", "bram"))
    assert f"| {family} | {counts} of {kbit} Kbit |\n" in page


@pytest.mark.parametrize("name", accelerators_of_two_clocks())
def test_row_of_the_published_experiment(name):
    rows = [row for row in CYCLES.items() if row[1][1]["configuration"] == name]
    (time,) = (value for row, (value, _) in rows if row.startswith("seal.double_multiply."))
    rates = [f"{value:,}" for row, (value, _) in rows if ".paper." in row]
    bits = rows[0][1][1]["stream_bits"]
    assert f"| {name} | {bits} bits | {time:.3f} us | {(rates or ['-'])[0]} |\n" in PAGE


def evaluator_row(name, shape):
    stem = f"n{1 << shape['LOG2_N']}.u{1 << shape['LOG2_UNITS']}{SUFFIX[shape['DEEP']]}"
    taken = {
        what: f"{CYCLES[f'evaluator.{what}.{stem}.cycles'][0]:,}"
        for what in ("sum_of_1", "sum_of_3", "transform", "products", "products_in_a_row", "conversion")
    }
    sums = f"{taken.pop('sum_of_1')}, {taken.pop('sum_of_3')}"
    return f"| {' | '.join([name, sums, *taken.values(), area('evaluator', name)])} |"


@pytest.mark.parametrize("name", evaluators())
def test_row_of_the_evaluator(name):
    assert f"{evaluator_row(name, evaluators()[name])}\n" in PAGE


OFFLOADED = {
    "u p0, u p1 of an encryption: five calls": ("offloaded", "accelerator_us"),
    "c1 s of a decryption: three calls": ("offloaded_decryption", "accelerator_us"),
    "a whole encryption": ("encryption", "with_us"),
    "a whole decryption": ("decryption", "with_us"),
}


@pytest.mark.parametrize("said", OFFLOADED)
def test_row_under_seal(said):
    kind, of = OFFLOADED[said]
    rows = [SEAL[f"seal.{kind}.{stream}.speed_up"] for stream in ("s512", "s128", "s128.deep")]
    digits = 3 if of == "accelerator_us" else 2
    cells = [f"{params[of]:.{digits}f} us, {times:.2f} times" for times, params in rows]
    assert f"| {said} | {rows[0][1]['seal_us']:.2f} us | {' | '.join(cells)} |\n" in PAGE
