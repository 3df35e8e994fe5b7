# SPDX-License-Identifier: Apache-2.0
"""cm_ntt_control alone, for many numbers of units: no row is read while its last result is under way, every
pass reads every row once, and jobs take the cycles that the architecture promises."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly
from simulation import cycles, settings, simulate, slow, start_clock

JOBS = [(1, 0, 0), (0, 0, 1), (0, 1, 0), (1, 1, 1), (1, 0, 1), (1, 2, 1), (0, 2, 1), (1, 2, 0)]
PAIRS = [(*job, 1) for job in JOBS if job[1] < 2]


async def reset(dut):
    inputs = ("start", "forward", "first_done", "products", "operand", "inverse", "pair", "page")
    for name in inputs:
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0


def latency():
    """Return the cycles from a row's read to the one after its write."""
    return settings()["INPUT_LATENCY"] + settings()["ADD_LATENCY"] + settings()["MULTIPLY_LATENCY"] + 3


def forwarded():
    """Return how many cycles earlier a row may be read again."""
    return 2 * settings().get("FORWARDED", 0)


async def run(dut, forward, products, inverse, pair=0, first_done=0):
    """The reads and writes of a job, as (cycle, address) each, and cycles from the first to the last."""
    dut.forward_i.value, dut.products_i.value, dut.inverse_i.value = forward, products, inverse
    dut.pair_i.value, dut.first_done_i.value = pair, first_done
    dut.start_i.value = 1
    await cycles(dut)
    dut.start_i.value = 0
    reads, writes = [], []
    cycle = 0
    while True:
        await ReadOnly()
        if int(dut.read_o.value):
            reads.append((cycle, int(dut.read_address_o.value)))
        if int(dut.write_o.value):
            writes.append((cycle, int(dut.write_address_o.value)))
        done = int(dut.done_o.value)
        await cycles(dut)
        if done:
            return reads, writes, writes[-1][0] - reads[0][0] + 1
        cycle += 1
        assert cycle < 100 << settings()["LOG2_N"], "the job does not end"


@cocotb.test()
async def reads_no_row_whose_result_is_under_way(dut):
    start_clock(dut)
    await reset(dut)
    for job in JOBS + PAIRS + [(1, 2, 1, 0, 1)]:
        if job[1] == 2 and settings()["LOG2_PAGES"] == 0:
            continue
        reads, writes, _ = await run(dut, *job)
        written_at = {}
        for cycle, address in writes:
            written_at.setdefault(address, []).append(cycle)
        # A product reads a row twice, for the halves of its pairs, and the first read begins the write.
        again = 1 if job[1] else 0
        for cycle, address in reads:
            begun = {c: c - latency() + 1 for c in written_at.get(address, ())}
            under_way = [c for c, start in begun.items() if start + again < cycle <= c - forwarded()]
            assert not under_way, f"row {address} read in cycle {cycle}, written in {under_way}"


@cocotb.test()
async def every_pass_reads_every_row_once(dut):
    start_clock(dut)
    await reset(dut)
    rows = 1 << (settings()["LOG2_N"] - settings()["LOG2_UNITS"] - 1)
    for job in ((1, 0, 0), (0, 0, 1), (1, 0, 0, 1), (0, 0, 1, 1), (1, 0, 0, 0, 1)):
        reads, writes, _ = await run(dut, *job)
        length = 2 * rows if job[3:4] == (1,) else rows
        for sequence in (reads, writes):
            assert len(sequence) == length * (settings()["LOG2_N"] - sum(job[4:]))
            for start in range(0, len(sequence), length):
                addresses = [address for _, address in sequence[start : start + length]]
                assert sorted(addresses) == list(range(length))
        assert [a for _, a in reads] == [a for _, a in writes]


@cocotb.test()
async def takes_the_promised_cycles_every_time(dut):
    start_clock(dut)
    await reset(dut)
    shape = settings()
    rows = 1 << (shape["LOG2_N"] - shape["LOG2_UNITS"] - 1)
    promised = shape["LOG2_N"] * rows + latency() - 1
    wait = latency() - forwarded()
    if rows >= 2 * wait:
        gaps = 0
    else:
        row_bits = rows.bit_length() - 1
        moved = [2**place - 1 for place in range(1, row_bits)] + [0] * (shape["LOG2_N"] - row_bits)
        gaps = sum(max(0, wait + stall - rows) for stall in moved)
    for _ in range(3):
        for job in ((1, 0, 0), (0, 0, 1)):
            _, _, taken = await run(dut, *job)
            assert taken == promised + gaps
            await cycles(dut, random.randrange(5))


@cocotb.test()
async def a_reset_stops_a_job_and_the_next_one_runs(dut):
    start_clock(dut)
    rng = random.Random(settings()["seed"])
    await reset(dut)
    _, _, whole = await run(dut, 1, 0, 0)
    for _ in range(5):
        dut.forward_i.value, dut.products_i.value, dut.inverse_i.value = 1, 0, 1
        dut.start_i.value = 1
        await cycles(dut)
        dut.start_i.value = 0
        await cycles(dut, rng.randrange(whole))
        dut.rst_i.value = 1
        await cycles(dut)
        dut.rst_i.value = 0
        await ReadOnly()
        assert not int(dut.busy_o.value)
        for _ in range(latency() + 4):
            await cycles(dut)
            await ReadOnly()
            assert not int(dut.write_o.value) and not int(dut.read_o.value)
        await cycles(dut)
        assert (await run(dut, 1, 0, 0))[2] == whole


SHALLOW = {"INPUT_LATENCY": 0, "ADD_LATENCY": 1, "MULTIPLY_LATENCY": 6}
DEEP = {"INPUT_LATENCY": 1, "ADD_LATENCY": 2, "MULTIPLY_LATENCY": 15}
MIDDLE = {"INPUT_LATENCY": 1, "ADD_LATENCY": 1, "MULTIPLY_LATENCY": 6, "FORWARDED": 1}


@pytest.mark.parametrize("pipeline", (SHALLOW, DEEP, MIDDLE), ids=("shallow", "deep", "middle"))
@pytest.mark.parametrize(
    "log2_n, units", [slow(7, 0), (7, 2), (8, 4), slow(8, 6), slow(10, 3), slow(10, 5), slow(10, 6)]
)
def test_control(log2_n, units, pipeline):
    rows = log2_n - units - 1
    shape = {"LOG2_N": log2_n, "LOG2_UNITS": units, "LOG2_PAGES": 1, "TABLE_BITS": rows + 4, **pipeline}
    simulate("cm_ntt_control", shape, seed=1)
