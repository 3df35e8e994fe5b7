# SPDX-License-Identifier: Apache-2.0
"""The client engine's CKKS encoder and decoder and its parts, bit by bit as docs/encoding.md has them: the
cases are the golden model's (codec_cases.py)."""

import json
import math
import random
import re
import subprocess

import cocotb
import pytest
from cocotb.handle import ArrayObject, HierarchyArrayObject, HierarchyObject
from cocotb.triggers import FallingEdge, ReadOnly
from simulation import ROOT, cycles, settings, simulate, slow, start_clock


def cases_of(**wanted):
    """A file with the cases, which .venv's Python computes."""
    command = [ROOT / ".venv/bin/python", ROOT / "rtl/tools/codec_cases.py", json.dumps(wanted)]
    file = ROOT / "build/rtl-tests/codec-cases" / ("-".join(str(x) for x in wanted.values()) + ".json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return str(file)


def given_cases():
    with open(settings()["cases"]) as file:
        return json.load(file)


def signed(x, bits):
    return x - (x >> bits - 1 << bits)


def set_all(dut, chosen):
    for name, value in chosen.items():
        if hasattr(dut, f"{name}_i"):
            getattr(dut, f"{name}_i").value = value


async def reset(dut, **inputs):
    start_clock(dut)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0
    await cycles(dut)


# ---- parts ----


@cocotb.test()
async def has_every_root(dut):
    await reset_roots(dut)
    roots = given_cases()
    got = []
    for angle in range(len(roots) + 4):
        dut.angle_i.value = angle % len(roots)
        await ReadOnly()
        if angle >= 4:
            got.append({"cosine": dut.cosine_o.value.to_signed(), "sine": dut.sine_o.value.to_signed()})
        await cycles(dut)
        dut.enable_i.value = 0
        await cycles(dut)
        dut.enable_i.value = 1
    assert got == roots


async def reset_roots(dut):
    await reset(dut, enable_i=1)


@pytest.mark.parametrize("log2_n", [10, 11, 12, 13])
def test_roots(log2_n):
    simulate(
        "roots_bench",
        {"LOG2_N": log2_n},
        ["has_every_root"],
        cases=cases_of(kind="roots", log2_n=log2_n),
    )


@cocotb.test()
async def rotates_exactly(dut):
    rng = random.Random(5)
    start_clock(dut)
    most, one = 1 << 32, 1 << 31
    edges = [-most, 1 - most, -one, -1, 0, 1, one, most - 1]
    part = lambda: rng.choice((rng.choice(edges), rng.randrange(-most, most)))  # noqa: E731
    angles = [*(i * math.pi / 4 for i in range(8)), *(rng.uniform(0, 2 * math.pi) for _ in range(100))]
    roots = [(round(math.cos(t) * one), round(math.sin(t) * one)) for t in angles]
    cases = [(part(), part(), *rng.choice(roots)) for _ in range(2000)]
    await FallingEdge(dut.clk_i)
    # A step that waits repeats its first cycle. Another's products are between its own.
    for x, y, c, s in cases:
        dut.x_i.value, dut.y_i.value, dut.cosine_i.value, dut.sine_i.value = x, y, c, s
        dut.first_i.value, dut.last_i.value = 1, 0
        await cycles(dut, rng.choice((1, 1, 1, 3)))
        dut.first_i.value = 0
        dut.plus_i.value = plus = rng.choice((0, rng.randrange(-(2**66), 2**66)))
        await ReadOnly()
        assert dut.sum_o.value.to_signed() == plus + x * c - y * s
        await cycles(dut)
        dut.last_i.value = 1
        await cycles(dut)
        await ReadOnly()
        assert dut.sum_o.value.to_signed() == plus + x * s + y * c
        await FallingEdge(dut.clk_i)


def test_rotation():
    simulate("rotate_bench", {}, ["rotates_exactly"])


@cocotb.test()
async def converts_values(dut):
    await reset(dut, valid_i=0)
    for case in given_cases():
        set_all(dut, case["settings"])
        dut.valid_i.value, dut.value_i.value, dut.negate_i.value = 1, case["word"], case["negate"]
        await cycles(dut)
        dut.valid_i.value = 0
        await cycles(dut, 2)
        await ReadOnly()
        assert int(dut.valid_o.value) and int(dut.wrong_o.value) == (case["x"] is None), case
        if case["x"] is not None:
            assert dut.x_o.value.to_signed() == (-case["x"] if case["negate"] else case["x"]), case
        await cycles(dut)


def test_values():
    simulate("cm_client_value", {}, ["converts_values"], cases=cases_of(kind="values", seed=6))


@cocotb.test()
async def converts_results(dut):
    await reset(dut, valid_i=0, enable_i=1)
    for case in given_cases():
        set_all(dut, case["settings"])
        dut.valid_i.value, dut.x_i.value, dut.negate_i.value = 1, case["x"], case["negate"]
        await cycles(dut)
        dut.valid_i.value = 0
        await cycles(dut, 3)
        await ReadOnly()
        assert int(dut.valid_o.value) and int(dut.wrong_o.value) == (case["word"] is None), case
        if case["word"] is not None:
            assert int(dut.result_o.value) == case["word"], case
        await cycles(dut)


def test_results():
    simulate("cm_client_result", {}, ["converts_results"], cases=cases_of(kind="results", seed=7))


# ---- the block ----


async def prepared(dut):
    await reset(dut, encode_i=0, decode_i=0, value_valid_i=0, pair_ready_i=0, result_ready_i=0)
    await idle(dut)


async def idle(dut):
    for _ in range(3000):
        await ReadOnly()
        busy = int(dut.busy_o.value)
        await cycles(dut)
        if not busy:
            return
    raise AssertionError("it stays busy")


async def run(dut, case, rng, stalls, stop_after=None):
    """Do a case; returns what came out, and after how many cycles it was idle again."""
    is_encoding = case["operation"] == "encode"
    set_all(dut, case["settings"])
    words, memory = case.get("words", []), case.get("pairs", [])
    count = 1 << settings()["LOG2_N"]
    outcome = {"pairs": {}, "results": [], "events": []}
    dut.encode_i.value, dut.decode_i.value = int(is_encoding), int(not is_encoding)
    at, asked, cycle = 0, None, 0
    while True:
        offered = is_encoding and at < len(words) and not (stalls and rng.random() < 0.3)
        takes = not (stalls and rng.random() < 0.4)
        dut.value_valid_i.value = int(offered)
        dut.value_i.value = words[at] if offered else rng.getrandbits(32)
        dut.value_last_i.value = int(at == len(words) - 1) if offered else rng.getrandbits(1)
        dut.pair_ready_i.value = dut.result_ready_i.value = int(takes)
        dut.read_pair_i.value = rng.getrandbits(64) if asked is None else memory[asked]
        await ReadOnly()
        at += offered and bool(int(dut.value_ready_o.value))
        asked = int(dut.read_index_o.value) if int(dut.read_valid_o.value) else None
        if takes and int(dut.pair_valid_o.value):
            index = int(dut.pair_index_o.value)
            assert index not in outcome["pairs"], "each pair once"
            outcome["pairs"][index] = int(dut.pair_o.value)
        if takes and int(dut.result_valid_o.value):
            outcome["results"].append(int(dut.result_o.value))
            if int(dut.result_last_o.value):
                outcome["events"].append("last")
        for event in ("too_many", "wrong", "result_wrong", "done"):
            if int(getattr(dut, f"{event}_o").value):
                outcome["events"].append(event)
        busy = int(dut.busy_o.value)
        assert not busy or cycle > 0
        await cycles(dut)
        dut.encode_i.value = dut.decode_i.value = 0
        cycle += 1
        if (cycle > 1 and not busy) or cycle == stop_after:
            return outcome, cycle - 1
        assert cycle < 40 * count, "it ends"


def check(case, outcome):
    if case["operation"] == "encode":
        assert outcome["results"] == []
        if case["wrong"] or case["too_many"]:
            assert outcome["events"] == ["wrong" if case["wrong"] else "too_many"] and outcome["pairs"] == {}
        else:
            assert outcome["pairs"] == dict(enumerate(case["pairs"]))
            assert outcome["events"] == ["done"]
    else:
        assert outcome["pairs"] == {}
        assert outcome["events"] == (["result_wrong"] if case["wrong"] else ["last"])
        assert outcome["results"] == case["results"]


@cocotb.test()
async def does_every_case(dut):
    """One after another, so that each follows another kind: with pauses on both sides, or without. The
    fastest of each kind takes the cycles that are stated, if any are.
    """
    rng = random.Random(settings()["seed"])
    stated, fastest = settings().get("cycles", {}), {}
    await prepared(dut)
    for number, case in enumerate(given_cases()):
        outcome, taken = await run(dut, case, rng, stalls=number % 2)
        check(case, outcome)
        if "done" in outcome["events"] or "last" in outcome["events"]:
            fastest[case["operation"]] = min(taken, fastest.get(case["operation"], taken))
    assert {**fastest, **stated} == fastest


def test_edges_of_real_slots():
    cases = cases_of(kind="operations", log2_n=10, complex=False, seed=8, few=False)
    simulate("codec_bench", {"LOG2_N": 10}, ["does_every_case"], cases=cases, seed=9)


def test_edges_of_complex_slots():
    cases = cases_of(kind="operations", log2_n=10, complex=True, seed=10, few=False)
    simulate("codec_bench", {"LOG2_N": 10}, ["does_every_case"], cases=cases, seed=11)


def stated_cycles(slots, log2_n):
    """The page's, of n = 4096."""
    if log2_n != 12:
        return {}
    page = (ROOT / "docs/client-codec.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| (enc|dec)oding, {slots} slots .* ([\d,]+) \|$", page, re.MULTILINE)
    return {f"{kind}ode": int(figure.replace(",", "")) for kind, figure in rows}


def test_the_page_states_cycles():
    assert (len(stated_cycles("real", 12)), len(stated_cycles("complex", 12))) == (2, 1)


@pytest.mark.parametrize("log2_n", [11, 12, slow(13)])
def test_real_slots(log2_n):
    cases = cases_of(kind="operations", log2_n=log2_n, complex=False, seed=12, few=True)
    stated = stated_cycles("real", log2_n)
    simulate("codec_bench", {"LOG2_N": log2_n}, ["does_every_case"], cases=cases, cycles=stated, seed=13)


@pytest.mark.parametrize("log2_n", [11, slow(12), slow(13)])
def test_complex_slots(log2_n):
    cases = cases_of(kind="operations", log2_n=log2_n, complex=True, seed=14, few=True)
    stated = stated_cycles("complex", log2_n)
    simulate("codec_bench", {"LOG2_N": log2_n}, ["does_every_case"], cases=cases, cycles=stated, seed=15)


@pytest.mark.parametrize("log2_n", [10, slow(11), slow(12), slow(13)])
def test_pinned_vectors(log2_n):
    cases = cases_of(kind="vectors", log2_n=log2_n)
    simulate("codec_bench", {"LOG2_N": log2_n}, ["does_every_case"], cases=cases, seed=16)


@cocotb.test()
async def takes_the_same_time_for_all_values(dut):
    await prepared(dut)
    times = {}
    for case in given_cases():
        outcome, taken = await run(dut, case, random.Random(1), stalls=False)
        check(case, outcome)
        times.setdefault(case["operation"], set()).add((taken, tuple(outcome["pairs"])))
    assert {operation: len(found) for operation, found in times.items()} == {"encode": 1, "decode": 1}


def test_time():
    cases = cases_of(kind="times", log2_n=10)
    simulate("codec_bench", {"LOG2_N": 10}, ["takes_the_same_time_for_all_values"], cases=cases)


# ---- wiping ----


def state_of(handle, path=""):
    """Return the value of every variable below a handle, by its path."""
    if isinstance(handle, HierarchyObject | HierarchyArrayObject | ArrayObject):
        found = {}
        for child in handle:
            found |= state_of(child, f"{path}/{child._name}")
        return found
    return {path: str(handle.value)}


async def reset_once(dut):
    dut.rst_i.value = 1
    await cycles(dut)
    dut.rst_i.value = 0


async def still(dut):
    """No input tells one message from another."""
    for name in (
        "value_valid",
        "value",
        "value_last",
        "read_pair",
        "pair_ready",
        "result_ready",
        "encode",
        "decode",
    ):
        getattr(dut, f"{name}_i").value = 0
    await cycles(dut, 4)


@cocotb.test()
async def forgets_everything(dut):
    """A reset in the middle of an operation, or a refusal, leaves the same state whatever the message was."""
    await prepared(dut)
    cases, lengths = given_cases(), settings()["lengths"]
    for of_kind in zip(cases[::2], cases[1::2], strict=True):
        refused, length = of_kind[0]["wrong"], lengths[of_kind[0]["operation"]]
        for part in [None] if refused else settings()["parts"]:
            states = []
            for case in of_kind:
                await run(dut, case, random.Random(2), stalls=False, stop_after=part and int(length * part))
                if not refused:
                    await reset_once(dut)
                await still(dut)
                await idle(dut)
                await ReadOnly()
                states.append(state_of(dut))
                await cycles(dut)
            assert sum("words" in name for name in states[0]) >= 4
            assert [name for name, held in states[0].items() if held != states[1][name]] == [], part
    # It works as before.
    outcome, _ = await run(dut, cases[-1], random.Random(3), stalls=True)
    check(cases[-1], outcome)


@cocotb.test()
async def would_remember_otherwise(dut):
    """Check that the same comparison finds the messages if nothing is reset."""
    await prepared(dut)
    states = []
    for case in given_cases()[:2]:
        await run(dut, case, random.Random(2), stalls=False, stop_after=settings()["lengths"]["encode"] // 2)
        await ReadOnly()
        states.append(state_of(dut))
        await cycles(dut)
        await reset_once(dut)
        await idle(dut)
    different = [name for name, held in states[0].items() if held != states[1][name]]
    for part in ("g_bank[0]", "g_bank[1]", "g_bank[2]", "g_bank[3]", "u_products", "newest", "beside"):
        assert any(part in name for name in different), part


def test_wiping():
    cases = cases_of(kind="pairs", log2_n=10)
    simulate(
        "codec_bench",
        {"LOG2_N": 10},
        ["forgets_everything", "would_remember_otherwise"],
        cases=cases,
        lengths={"encode": 2650, "decode": 2400},
        parts=[0.1, 0.5, 0.95],
    )


def test_the_table_is_generated():
    command = [ROOT / ".venv/bin/python", "-c", "import client_roots; print(client_roots.text(), end='')"]
    text = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT / "rtl/tools", timeout=120
    ).stdout
    assert text == (ROOT / "rtl/client/cm_client_root_table.sv").read_text()
