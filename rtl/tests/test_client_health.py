# SPDX-License-Identifier: Apache-2.0
"""The entropy port's health tests: cut-offs by NIST SP 800-90B; sources that are stuck, biased, repeat, and
good."""

import itertools
import math
import random
from decimal import Decimal, getcontext

import cocotb
import pytest
from client import START_WORDS, Client, constants
from cocotb.triggers import ReadOnly
from simulation import cycles, simulate, start_clock
from test_client_engine import SMALL, case_of, frames_of, key_of, offer, prepared

BIT_WINDOW, WORD_WINDOW, CHANGE_WINDOW, WORD = 1024, 256, 64, 32
MIN_ENTROPY = Decimal("0.8")
"""Assumed min-entropy of a bit."""
FALSE_POSITIVE = Decimal(2) ** -40
CIPHERTEXTS, DRAW = 64, 8
"""Within which a source must be found, and words that each of them takes."""


def repetitions(entropy):
    return 1 + math.ceil(-(FALSE_POSITIVE.ln() / Decimal(2).ln()) / entropy)


def proportion(window, entropy):
    """One more than the least k that a binomial variable exceeds with at most that probability."""
    getcontext().prec = 60
    p = Decimal(2) ** -entropy
    tail, k = Decimal(0), window
    while True:
        tail += math.comb(window, k) * p**k * (1 - p) ** (window - k)
        if tail > FALSE_POSITIVE:
            return 1 + k
        k -= 1


def words_of(bits):
    return [sum(bit << i for i, bit in enumerate(bits[at : at + WORD])) for at in range(0, len(bits), WORD)]


def window(first, count, rng):
    """The words of a window whose first bit is met so many times."""
    rest = [first] * (count - 1) + [1 - first] * (BIT_WINDOW - count)
    rng.shuffle(rest)
    return words_of([first, *rest])


# ---- sources ----


def fair(rng):
    while True:
        yield rng.getrandbits(WORD)


def ones(share):
    def source(rng):
        while True:
            yield sum((rng.random() < share) << bit for bit in range(WORD))

    return source


def every_word_twice(rng):
    for word in fair(rng):
        yield from (word, word)


def stuck(count):
    """So many bits of a word, wherever and whatever they are."""

    def source(rng):
        mask = sum(1 << bit for bit in rng.sample(range(WORD), count))
        held = rng.getrandbits(WORD) & mask
        for word in fair(rng):
            yield word & ~mask | held

    return source


def a_period(words):
    def source(rng):
        yield from itertools.cycle([rng.getrandbits(WORD) for _ in range(words)])

    return source


WEAK = {
    "ones at 0.75": ones(0.75),
    "ones at 0.25": ones(0.25),
    "every word twice": every_word_twice,
    "24 bits stuck": stuck(24),
    "a bit stuck": stuck(1),
    "a period of a draw": a_period(DRAW),
    "a period of two draws": a_period(2 * DRAW),
}


def taken(source, count, rng):
    return list(itertools.islice(source(rng), count))


# ---- the tests by themselves ----


async def reset(dut):
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0


async def start(dut):
    start_clock(dut)
    dut.begin_i.value = dut.valid_i.value = dut.word_i.value = 0
    await reset(dut)


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
async def counts_repetitions(dut):
    rng = random.Random(5)
    await start(dut)
    cutoff = repetitions(WORD * MIN_ENTROPY)
    word, other = 0x5A5A3C3C, 0x3C3C5A5A
    assert await failures(dut, [word] * (cutoff - 1) + [other] * (cutoff - 1), rng) == []
    await reset(dut)
    assert await failures(dut, [word, *[other] * cutoff], rng) == [cutoff]
    await reset(dut)
    assert await failures(dut, [0] * (cutoff - 2), rng) == [], "nothing counts that came before the reset"
    cutoff = repetitions(MIN_ENTROPY)
    for bit in (0, 1):
        for before in range(0, WORD, 3):
            bits = [*(rng.getrandbits(1) for _ in range(before)), 1 - bit, *[bit] * cutoff, 1 - bit]
            bits += [rng.getrandbits(1) for _ in range(-len(bits) % WORD)]
            short = [*bits[: before + 1], 1 - bit, *bits[before + 2 :]]
            await reset(dut)
            assert await failures(dut, words_of(short), rng) == [], (bit, before)
            await reset(dut)
            found = await failures(dut, words_of(bits), rng)
            assert found[:1] == [(before + cutoff) // WORD], (bit, before)


@cocotb.test()
async def counts_proportions(dut):
    rng = random.Random(6)
    await start(dut)
    cutoff = proportion(BIT_WINDOW, MIN_ENTROPY)
    for first in (0, 1):
        good, bad = (window(first, count, rng) for count in (cutoff - 1, cutoff))
        await reset(dut)
        assert await failures(dut, [*good, *good], rng) == [], "each window counts anew"
        await reset(dut)
        assert (await failures(dut, bad, rng))[-1:] == [len(bad) - 1]
    await reset(dut)
    cutoff = proportion(WORD_WINDOW, WORD * MIN_ENTROPY)
    words = taken(fair, 2 * WORD_WINDOW, rng)
    for at in (WORD_WINDOW - 2, WORD_WINDOW - 1)[-(cutoff - 2) :]:
        words[at] = words[0]
    words[WORD_WINDOW + 7] = words[0]  # the next window counts its own first word
    assert await failures(dut, words, rng) == []
    await reset(dut)
    for at in range(2, 2 * cutoff, 2):
        words[at] = words[0]
    assert (await failures(dut, words, rng))[:1] == [2 * (cutoff - 1)]


@cocotb.test()
async def finds_bits_that_do_not_change(dut):
    rng = random.Random(7)
    await start(dut)
    for bit in (0, 17, 31):
        good = taken(fair, CHANGE_WINDOW, rng)
        held = [word & ~(1 << bit) | good[0] & (1 << bit) for word in good]
        assert await failures(dut, [*good, *held], rng) == [2 * CHANGE_WINDOW - 1], bit
        held[-1] ^= 1 << bit
        await reset(dut)
        assert await failures(dut, held, rng) == [], "a bit that changes with the last word of the window"
        await reset(dut)


@cocotb.test()
async def finds_words_that_often_come_twice(dut):
    rng = random.Random(8)
    await start(dut)
    for first in range(1, 70, 17):
        for length, fails in ((CHANGE_WINDOW, True), (CHANGE_WINDOW + 1, False)):
            await reset(dut)
            words = taken(fair, 200, rng)
            last = first + length - 1
            for at in (first, first + 20, last):
                words[at] = words[at - 1]
            assert await failures(dut, words, rng) == ([last] if fails else []), (first, length)


@cocotb.test()
async def finds_weak_sources(dut):
    """Wherever they begin."""
    rng = random.Random(9)
    await start(dut)
    for name, source in WEAK.items():
        for before in (1, rng.randrange(64), 255):
            await reset(dut)
            words = taken(fair, before, rng) + taken(source, CIPHERTEXTS * DRAW, rng)
            assert await failures(dut, words, rng), (name, before)


@cocotb.test()
async def passes_a_good_source(dut):
    rng = random.Random(10)
    await start(dut)
    assert await failures(dut, taken(fair, 4000, rng), rng) == []


@cocotb.test()
async def tests_1024_words_at_start_up(dut):
    rng = random.Random(11)
    await start(dut)
    assert not int(dut.starting_o.value) and not int(dut.tested_o.value)
    dut.begin_i.value = 1
    await cycles(dut)
    dut.begin_i.value = 0
    for _ in range(START_WORDS):
        await cycles(dut)
        await ReadOnly()
        assert int(dut.starting_o.value) and not int(dut.tested_o.value)
        await cycles(dut)
        await failures(dut, taken(fair, 1, rng), rng)
    assert not int(dut.starting_o.value) and int(dut.tested_o.value)


def test_health():
    simulate("cm_client_health", {})


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
    stuck_word = rng.randbytes(4)
    outcome = run([rng.randbytes(28) + stuck_word, 2 * stuck_word + rng.randbytes(24)], case)
    assert len(outcome.frames) == 1 and outcome.faults == [constants()["FAULT_ENTROPY"]]


def bytes_of(words):
    return b"".join(word.to_bytes(4, "little") for word in words)


@pytest.mark.parametrize("name", WEAK)
def test_a_source_that_turns_weak(name):
    """It is found within 64 ciphertexts."""
    case = case_of(set="n1024_q26", t=12289, count=1, seed=131)
    rng = random.Random(7)
    words = taken(WEAK[name], CIPHERTEXTS * DRAW, rng)
    draws = [bytes_of(words[at : at + DRAW]) for at in range(0, len(words), DRAW)]
    outcome = run([rng.randbytes(32), *draws], case)
    assert 1 <= len(outcome.frames) < 1 + CIPHERTEXTS
    assert outcome.faults[0] == constants()["FAULT_ENTROPY"]


@pytest.mark.parametrize("name", WEAK)
def test_a_source_that_is_weak_at_start_up(name):
    """Nothing is made of it."""
    case = case_of(set="n1024_q26", t=12289, count=1, seed=132)
    good = prepared(case, SMALL)
    engine = Client(SMALL)
    engine.script.clear()
    engine.entropy(bytes_of(taken(WEAK[name], START_WORDS, random.Random(8))))
    engine.script += good.script[1:]
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.words == 0 and outcome.faults[0] == constants()["FAULT_ENTROPY"]


@pytest.mark.parametrize("missing", [1, START_WORDS])
def test_nothing_is_drawn_before_the_words_of_start_up_are_there(missing):
    """A command waits for them, as it does for its draw."""
    case = case_of(set="n1024_q26", t=12289, seed=133)
    engine = prepared(case, SMALL)
    words = engine.script[0].split()[2:]
    engine.script[0] = " ".join(["entropy", str(START_WORDS - missing), *words[: START_WORDS - missing]])
    engine.values(case["messages"][0])
    engine.command("COMMAND_SYMMETRIC")
    engine.run(20_000)
    engine.entropy(random.Random(9).randbytes(4 * missing))
    engine.run(20_000)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)
    assert outcome.first_words[0] > 40_000


def test_a_source_is_tested_anew_behind_a_fault():
    """That wiped the keys."""
    case = case_of(set="n1024_q26", t=12289, seed=134)
    engine = prepared(case, SMALL)
    engine.script.append("command 15")
    engine.run()
    engine.wait_for_wipe()
    engine.start_up()
    engine.load(key_of(case))
    engine.counter(case["counter"])
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_COMMAND"]] and outcome.frames == frames_of(case)


def test_a_good_source():
    case = case_of(set="n1024_q26", t=12289, ciphertexts=9, seed=132)
    engine = prepared(case, SMALL)
    offer(engine, case)
    for _ in case["draws"]:
        engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)
