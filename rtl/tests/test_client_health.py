# SPDX-License-Identifier: Apache-2.0
"""The entropy port's health tests: cut-offs by NIST SP 800-90B, sources that are stuck, biased and good."""

import math
import random
from decimal import Decimal, getcontext

import cocotb
import pytest
from client import constants
from cocotb.triggers import ReadOnly
from simulation import cycles, simulate, start_clock
from test_client_engine import SMALL, case_of, frames_of, offer, prepared

WINDOW, WORD = 1024, 32
MIN_ENTROPY = Decimal(1) / 2
"""Of a bit, as it is assumed."""
FALSE_POSITIVE = Decimal(2) ** -40


def repetitions():
    return 1 + math.ceil(-(FALSE_POSITIVE.ln() / Decimal(2).ln()) / (WORD * MIN_ENTROPY))


def proportion():
    """One more than the least k that a binomial variable exceeds with at most that probability."""
    getcontext().prec = 60
    p = Decimal(2) ** -MIN_ENTROPY
    tail, k = Decimal(0), WINDOW
    while True:
        tail += math.comb(WINDOW, k) * p**k * (1 - p) ** (WINDOW - k)
        if tail > FALSE_POSITIVE:
            return 1 + k
        k -= 1


def window(first, count, rng):
    """The words of a window whose first bit is met so many times."""
    rest = [first] * (count - 1) + [1 - first] * (WINDOW - count)
    rng.shuffle(rest)
    bits = [first, *rest]
    return [sum(bit << i for i, bit in enumerate(bits[at : at + WORD])) for at in range(0, WINDOW, WORD)]


async def reset(dut):
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0


async def failures(dut, words, rng):
    """The numbers of the words at which a test fails."""
    found = []
    for number, word in enumerate(words):
        dut.valid_i.value, dut.word_i.value = 1, word
        await cycles(dut)
        dut.valid_i.value, dut.word_i.value = 0, rng.getrandbits(32)
        await ReadOnly()
        if int(dut.failed_o.value):
            found.append(number)
        for _ in range(1 + rng.randrange(2)):
            await cycles(dut)
            await ReadOnly()
            assert not int(dut.failed_o.value), "no word, no failure"
        await cycles(dut)
    return found


@cocotb.test()
async def finds_failures(dut):
    rng = random.Random(5)
    start_clock(dut)
    dut.valid_i.value = dut.word_i.value = 0
    await reset(dut)
    cutoff = repetitions()
    word, other = 0x5A5A3C3C, 0x3C3C5A5A
    assert await failures(dut, [word] * (cutoff - 1) + [other] * (cutoff - 1), rng) == []
    assert await failures(dut, [word, *[other] * cutoff], rng) == [cutoff]
    await reset(dut)
    assert await failures(dut, [0] * (cutoff - 1), rng) == [], "nothing counts that came before the reset"
    await reset(dut)
    cutoff = proportion()
    for first in (0, 1):
        good, bad = (window(first, count, rng) for count in (cutoff - 1, cutoff))
        assert await failures(dut, [*good, *good], rng) == [], "each window counts anew"
        assert (await failures(dut, bad, rng))[-1:] == [len(bad) - 1]
    await reset(dut)
    biased = [sum((rng.random() < 0.9) << bit for bit in range(WORD)) for _ in range(64)]
    assert await failures(dut, biased, rng)
    await reset(dut)
    fair = [rng.getrandbits(32) for _ in range(2000)]
    assert await failures(dut, fair, rng) == []


def test_health():
    simulate("cm_client_health", {}, ["finds_failures"])


# ---- the engine ----


def run(draws, case):
    """Encryptions with these draws, one after another."""
    engine = prepared(case, SMALL)
    for draw in draws:
        engine.entropy(draw)
        engine.values(case["messages"][0])
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
    return engine.simulate()


def test_a_source_that_sticks():
    """On the way from one draw to the next, which differ."""
    case = case_of(set="n1024_q26", t=12289, seed=130)
    rng = random.Random(6)
    stuck = rng.randbytes(4)
    outcome = run([rng.randbytes(24) + 2 * stuck, 2 * stuck + rng.randbytes(24)], case)
    assert len(outcome.frames) == 1 and outcome.faults == [constants()["FAULT_ENTROPY"]]


@pytest.mark.parametrize("ones", [0.1, 0.9])
def test_a_biased_source(ones):
    """No two draws are alike."""
    case = case_of(set="n1024_q26", t=12289, seed=131)
    rng = random.Random(7)
    draws = [
        bytes(sum((rng.random() < ones) << bit for bit in range(8)) for _ in range(32)) for _ in range(4)
    ]
    outcome = run(draws, case)
    assert len(outcome.frames) < 4 and outcome.fault == constants()["FAULT_ENTROPY"]


def test_a_good_source():
    case = case_of(set="n1024_q26", t=12289, ciphertexts=9, seed=132)
    engine = prepared(case, SMALL)
    offer(engine, case)
    for _ in case["draws"]:
        engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)
