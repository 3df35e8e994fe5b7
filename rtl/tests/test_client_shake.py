# SPDX-License-Identifier: Apache-2.0
"""Keccak by FIPS 202, and the residues that SEAL draws with it."""

import hashlib
import random

import cocotb
import pytest
import shake
from client import Client, constants
from cocotb.triggers import ReadOnly
from simulation import cycles, settings, simulate, start_clock
from test_client_engine import (
    MEDIUM,
    SHAPES,
    SMALL,
    case_of,
    decrypted,
    encrypt,
    frames_of,
    key_of,
    messages_of,
    offer,
    options_of,
    prepared,
    states_after,
)
from test_client_engine import fault as wipe_by_fault
from test_client_engine import reset as wipe_by_reset

from golden.hardware import random_prime

SHA3_RATE = SHAKE_RATE = 136
SHA3_SUFFIX, SHAKE_SUFFIX = 0x06, 0x1F
FIPS_202 = {
    (SHA3_SUFFIX, b""): "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
    (SHA3_SUFFIX, b"\xa3" * 200): "79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787",
    (SHAKE_SUFFIX, b""): "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f",
    (SHAKE_SUFFIX, b"\xa3" * 200): "cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d",
}
"""NIST's examples, of 0 and 1600 bits."""


async def reset(dut, **inputs):
    start_clock(dut)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0
    await cycles(dut)


# ---- Keccak-f[1600] ----


async def permuted(dut, state, load):
    """The state after a permutation of 24 cycles, of what the core holds or of what it is to load."""
    if load:
        dut.load_i.value, dut.state_i.value = 1, state
        await cycles(dut)
        dut.load_i.value, dut.state_i.value = 0, 0
    dut.start_i.value = 1
    await cycles(dut)
    dut.start_i.value = 0
    for _ in range(23):
        await ReadOnly()
        assert not int(dut.ready_o.value)
        await cycles(dut)
    await ReadOnly()
    assert int(dut.ready_o.value), "a permutation takes 24 cycles"
    after = int(dut.state_o.value)
    await cycles(dut)
    return after


async def sponge(dut, message, suffix, rate, length):
    padded = bytearray(message) + bytes([suffix])
    padded += bytes(-len(padded) % rate)
    padded[-1] |= 0x80
    state, out = 0, b""
    for at in range(0, len(padded), rate):
        state = await permuted(dut, state ^ int.from_bytes(padded[at : at + rate], "little"), load=True)
    while True:
        out += state.to_bytes(200, "little")[:rate]
        if len(out) >= length:
            return out[:length]
        state = await permuted(dut, state, load=False)


@cocotb.test()
async def hashes_as_fips_202_does(dut):
    await reset(dut, load_i=0, start_i=0, state_i=0)
    for (suffix, message), digest in FIPS_202.items():
        assert (await sponge(dut, message, suffix, SHA3_RATE, 32)).hex() == digest
    rng = random.Random(1)
    for length in (135, 136):
        message = rng.randbytes(length)
        assert await sponge(dut, message, SHA3_SUFFIX, SHA3_RATE, 32) == hashlib.sha3_256(message).digest()
        long = await sponge(dut, message, SHAKE_SUFFIX, SHAKE_RATE, 300)
        assert long == hashlib.shake_256(message).digest(300)


@cocotb.test()
async def a_reset_ends_a_permutation(dut):
    await reset(dut, load_i=0, start_i=1, state_i=0)
    dut.start_i.value = 0
    await cycles(dut, 5)
    dut.rst_i.value = 1
    await cycles(dut)
    dut.rst_i.value = 0
    digest = await sponge(dut, b"", SHAKE_SUFFIX, SHAKE_RATE, 32)
    assert digest.hex() == FIPS_202[SHAKE_SUFFIX, b""]


def test_keccak():
    simulate("cm_keccak", {}, ["hashes_as_fips_202_does", "a_reset_ends_a_permutation"])


# ---- SEAL's residues ----


@pytest.mark.parametrize("stall", [0, 200], ids=["steady", "stalls"])
def test_residues_are_seals(stall):
    """Primes of the most and of the least bits, one ciphertext behind the other."""
    rng = random.Random(2)
    jobs = [
        (rng.randbytes(64), stall, [random_prime(rng, 10, bits) for bits in widths])
        for widths in ((27, 22, 26), (24,))
    ]
    for (seed, _, primes), (_, residues) in zip(jobs, shake.made(27, 10, jobs), strict=True):
        assert residues == shake.expected(seed, primes, 1024)[0]


@pytest.mark.parametrize("stall", [0, 200], ids=["steady", "stalls"])
def test_rejected_words_are_replaced(stall):
    """With moduli so wide that many words are rejected; of the engine's, one word in 2^37 is."""
    rng = random.Random(3)
    n, moduli = 512, [2**64 // parts + 1 for parts in (5, 6, 7)]
    jobs = [(rng.randbytes(64), stall, moduli) for _ in range(3)]
    numbers: list[int] = []
    for (seed, _, primes), (_, residues) in zip(jobs, shake.made(62, 9, jobs), strict=True):
        right, rejected = shake.expected(seed, primes, n)
        assert residues == right
        assert len(rejected) > 136 // 8, "replacements of more than one squeeze"
        numbers += rejected
    assert len(numbers) > len({*numbers}), "a replacement was rejected, too"
    assert any(number % n == n - 1 for number in numbers), "the last word of a prime was rejected"


@pytest.mark.parametrize("bound", [0, 1], ids=["at the bound", "below it"])
def test_the_bound_is_exact(bound):
    """Moduli for which a word of the stream is the least that is rejected, or the greatest that is not: with
    4 q = x + 1 + bound, SEAL's bound is x + bound."""
    seed, n = random.Random(8).randbytes(64), 512
    first = zip(range(n), shake.words(seed, 0), strict=False)
    number, q = next(
        (i, (x + 1 + bound) // 4) for i, x in first if x > 2**64 * 9 // 10 and (x + 1 + bound) % 4 == 0
    )
    right, rejected = shake.expected(seed, [q], n)
    assert (number in rejected) == (bound == 0)
    ((_, residues),) = shake.made(62, 9, [(seed, 0, [q])])
    assert residues == right


def test_the_pace_of_seals_residues():
    """31 permutations of 24 cycles give 512 words, and all but the last of each take six cycles more."""
    rng = random.Random(4)
    primes = [random_prime(rng, 12, 26) for _ in range(3)]
    ((taken, _),) = shake.made(27, 12, [(rng.randbytes(64), 0, primes)])
    least = 3 * 8 * (31 * 24 + 6 * 512 - 6 * 31)
    assert least <= taken <= least + 24 + 3 * 54


@cocotb.test()
async def divides_words(dut):
    """Multiples of q and their neighbours, also shifted, so each digit leaves 0 or q - 1 once."""
    rng = random.Random(5)
    width = settings()["WIDTH"]
    for bits in (width, 26, 22):
        q = random_prime(rng, 10, bits)
        await reset(dut, valid_i=0, x_i=0, q_i=q)
        multiples = [q << shift for shift in range(64 - bits)] + [2**64 // q * q, 2**63 // q * q]
        words = [(x + d) % 2**64 for x in multiples for d in (-1, 0, 1)] + [0, q // 2, 2**64 - 1]
        words += [rng.getrandbits(64) for _ in range(50)]
        expected, got = [], []
        while words or len(got) < len(expected):
            given = bool(words) and rng.random() < 0.8
            dut.valid_i.value, dut.x_i.value = int(given), words[-1] if given else rng.getrandbits(64)
            await ReadOnly()
            if given and int(dut.ready_o.value):
                expected.append(words.pop() % q)
            if int(dut.valid_o.value):
                got.append(int(dut.residue_o.value))
            await cycles(dut)
        assert got == expected


def test_modulo():
    simulate("cm_client_modulo", {"WIDTH": 27}, ["divides_words"])


# ---- the engine ----

BLAKE2XB, SHAKE256, CHACHA20 = 1, 2, 3
"""cm_xof_kind."""


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("coefficients", [False, True], ids=["ntt", "coefficients"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_symmetric_encryption(name, coefficients, stalls):
    case = case_of(
        set=name, t=12289, xof=SHAKE256, coefficients=coefficients, signed=stalls, ciphertexts=3, seed=stalls
    )
    engine = prepared(case, SHAPES[name])
    offer(engine, case)
    if stalls:
        engine.stall(enter=100, leave=128, seed=7)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_a_public_key(stalls):
    case = case_of(set="n2048_q26_p27", key_pair=True, xof=SHAKE256, seed=91)
    engine = Client(MEDIUM)
    if stalls:
        engine.stall(enter=100, leave=128, seed=9)
    engine.options = options_of(case)
    engine.wait_for_wipe()
    engine.load(key_of({**case, "public": []}), secret=False)
    engine.counter(case["counter"])
    engine.entropy(bytes.fromhex(case["key_draw"]))
    engine.command("COMMAND_GENERATE")
    engine.run()
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.command("COMMAND_PUBLISH")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_decryption_of_either_seed(name, stalls):
    """The frames say which it is, whatever is set for encryption; sets follow each other."""
    of = {"set": name, "t": 1000, "ciphertexts": 2, "seed": 35}
    case, other = case_of(**of, xof=SHAKE256), case_of(**of, xof=CHACHA20)
    engine = prepared(other, SHAPES[name])
    if stalls:
        engine.stall(enter=60, leave=90, seed=8)
    for frames in (*frames_of(case), *frames_of(other), frames_of(case)[0]):
        engine.read(frames)
        engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    messages = messages_of(case)
    assert [decrypted(case, words) for words in outcome.results] == [*messages, *messages, messages[0]]


def test_other_xofs_are_refused():
    """And a seed whose length is the other one's."""
    case = case_of(set="n1024_q26", t=1000, xof=BLAKE2XB, seed=36)
    good = frames_of(case_of(set="n1024_q26", t=1000, xof=SHAKE256, seed=36))[0]
    at_xof = 36
    changed = bytearray(good)
    changed[at_xof] = CHACHA20
    for frames in (frames_of(case)[0], bytes(changed)):
        engine = prepared(case, SMALL)
        engine.read(frames)
        engine.command("COMMAND_DECRYPT")
        engine.run(20_000)
        outcome = engine.simulate()
        assert outcome.faults == [constants()["FAULT_FRAME"]] and not outcome.results


def test_reset_in_the_middle_of_a_ciphertext():
    case = case_of(set="n1024_q26", t=12289, xof=SHAKE256, ciphertexts=2, seed=21)
    engine = prepared(case, SMALL)
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run(2500)
    engine.script.append("reset")
    engine.script += prepared(case, SMALL).script
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


@pytest.mark.parametrize("wipe", [wipe_by_reset, wipe_by_fault])
def test_nothing_secret_is_left(wipe):
    """Public halves come from secrets, and they go with them."""
    for cycles_before in (900, 1700, 2500):
        first, second = states_after(wipe, "COMMAND_SYMMETRIC", cycles_before, xof=SHAKE256)
        assert [name for name in first if first[name] != second[name]] == [], cycles_before
    first, second = states_after(lambda engine: None, "COMMAND_SYMMETRIC", 2000, xof=SHAKE256)
    different = {name for name in first if first[name] != second[name]}
    for name in ("public_seed", "u_shake.u_keccak.state_o", "u_shake.u_modulo.g_stage[1].rest"):
        assert f"TOP.cm_client_engine.{name}" in different
