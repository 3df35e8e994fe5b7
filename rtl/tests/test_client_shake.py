# SPDX-License-Identifier: Apache-2.0
"""Keccak by FIPS 202, and the residues that SEAL draws with it."""

import hashlib
import random

import cocotb
import pytest
import shake
from cocotb.triggers import ReadOnly
from golden import random_prime
from simulation import cycles, simulate, start_clock

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
    """The state after a permutation, which takes 24 cycles; what the core holds is loaded only if asked for."""
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


def test_the_pace_of_seals_residues():
    """31 permutations of 24 cycles give 512 of them."""
    rng = random.Random(4)
    primes = [random_prime(rng, 12, 26) for _ in range(3)]
    ((taken, _),) = shake.made(27, 12, [(rng.randbytes(64), 0, primes)])
    assert 17_856 <= taken <= 17_856 + 24 + 3 * 48
