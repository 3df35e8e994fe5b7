# SPDX-License-Identifier: Apache-2.0
"""Adder, wide product, Montgomery multiplier and butterfly, at random primes of every width."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ReadOnly
from simulation import cycles, settings, simulate, slow, start_clock

from golden.hardware import Montgomery, random_prime

SILICON = 64
SAMPLES = 150
"""Operands at each prime: the extreme ones and their neighbours, then random ones."""


def operands(rng, q):
    edges = (0, 1, 2, q // 2, q // 2 + 1, q - 2, q - 1)
    pairs = [(a, b) for a in edges for b in edges]
    return pairs + [(rng.randrange(q), rng.randrange(q)) for _ in range(SAMPLES - len(pairs))]


def longer_operands(rng, q, lengths):
    for bits in lengths:
        for a in (1 << bits - 1, (1 << bits) - 1, *(rng.getrandbits(bits) for _ in range(20))):
            yield from ((a, b) for b in (0, 1, q - 1, rng.randrange(q)))


def wide_latency(width, deep):
    digits = -(-width // 17)
    return digits * digits + 1 if deep else 2


def multiply_latency(width, log2_n, multiplier_width, deep):
    words = -(-width // (log2_n + 1))
    if multiplier_width == SILICON:
        first = words * -(-width // words) - (words - 1) * (log2_n + 1)
        return 1 + words - (first == 1)
    parts = -(-(width - -(-width // words)) // multiplier_width)
    return wide_latency(width, deep) + words * (1 + parts if deep else 1) + 1


def primes(rng, width, log2_n):
    """Primes of the full width and of the least, 22 bits."""
    return [random_prime(rng, log2_n, bits) for bits in (width, width, 22)]


async def stream(dut, latency, inputs, output, expected):
    """Feed one input a cycle; hold every output to what is expected `latency` cycles later."""
    waiting = deque()
    for item in [*inputs, *[None] * (latency + 1)]:
        await ReadOnly()
        if len(waiting) > latency:
            last = waiting.popleft()
            if last is not None:
                assert output() == expected(last), f"of {last}"
        await cycles(dut)
        if item is not None:
            for name, value in item.items():
                getattr(dut, name).value = value
        waiting.append(item)


@cocotb.test()
async def adds_and_subtracts(dut):
    rng = random.Random(settings()["seed"])
    start_clock(dut)
    for q in primes(rng, settings()["WIDTH"], 10):
        dut.q_i.value = q
        await stream(
            dut,
            2 if settings()["DEEP"] else 1,
            [{"a_i": a, "b_i": b} for a, b in operands(rng, q)],
            lambda: (int(dut.sum_o.value), int(dut.difference_o.value)),
            lambda of, q=q: ((of["a_i"] + of["b_i"]) % q, (of["a_i"] - of["b_i"]) % q),
        )


@cocotb.test()
async def multiplies_widely(dut):
    rng = random.Random(settings()["seed"])
    start_clock(dut)
    width = settings()["WIDTH"]
    await stream(
        dut,
        wide_latency(width, settings()["DEEP"]),
        [{"a_i": a, "b_i": b} for a, b in operands(rng, 1 << width)],
        lambda: int(dut.product_o.value),
        lambda of: of["a_i"] * of["b_i"],
    )


@cocotb.test()
async def multiplies_modulo_q_and_halves(dut):
    rng = random.Random(settings()["seed"])
    start_clock(dut)
    width, log2_n = settings()["WIDTH"], settings()["LOG2_N"]
    q_width = settings().get("Q_WIDTH", width)
    longer = (q_width + 1, width) if q_width < width else ()  # bits of operands that are no residues
    r = Montgomery(width, log2_n).r
    latency = multiply_latency(width, log2_n, settings()["MULTIPLIER_WIDTH"], settings()["DEEP"])
    for halve in (0, 1):
        dut.halve_i.value = halve
        for q in primes(rng, q_width, log2_n):
            dut.q_i.value = q
            await cycles(dut, 2)  # for what is derived from q
            factor = pow(r << halve, -1, q)
            await stream(
                dut,
                latency,
                [{"a_i": a, "b_i": b} for a, b in (*operands(rng, q), *longer_operands(rng, q, longer))],
                lambda halve=halve: int(dut.product_o.value) >> halve,
                lambda of, q=q, factor=factor: of["a_i"] * of["b_i"] * factor % q,
            )


@cocotb.test()
async def computes_every_kind_of_butterfly(dut):
    rng = random.Random(settings()["seed"])
    start_clock(dut)
    width, log2_n, deep = settings()["WIDTH"], settings()["LOG2_N"], settings()["DEEP"]
    r = Montgomery(width, log2_n).r
    multiply = multiply_latency(width, log2_n, settings()["MULTIPLIER_WIDTH"], deep)
    add = 2 if deep else 1
    controls = ("sande_i", "product_i", "product_of_a_i")
    for q in primes(rng, width, log2_n):
        dut.q_i.value = q
        for kind in ("tukey", "sande", "product of a", "product of b"):
            # Kinds do not overlap here; how far apart they must be is cm_ntt_control's business.
            sande = kind == "sande"
            for name in (*controls, "sande_multiply_i", "sande_halve_i", "sande_leave_i"):
                getattr(dut, name).value = 0
            dut.product_i.value = int(kind.startswith("product"))
            dut.product_of_a_i.value = int(kind == "product of a")
            for name in ("sande_i", "sande_multiply_i", "sande_halve_i", "sande_leave_i"):
                getattr(dut, name).value = int(sande)
            await cycles(dut, 2)
            w = rng.randrange(q)
            dut.w_i.value = w * r % q

            def expected(of, kind=kind, w=w, q=q):
                a, b, half = of["a_i"], of["b_i"], (q + 1) // 2
                return {
                    "tukey": ((a + w * b) % q, (a - w * b) % q),
                    "sande": ((a + b) * half % q, (b - a) * w * half % q),
                    "product of a": (w * a % q, -w * a % q),
                    "product of b": (w * b % q, -w * b % q),
                }[kind]

            await stream(
                dut,
                multiply + add,
                [{"a_i": a, "b_i": b} for a, b in operands(rng, q)],
                lambda: (int(dut.a_o.value), int(dut.b_o.value)),
                expected,
            )


WIDTHS = (22, 27, 32, 34, 35, 40)


@pytest.mark.parametrize("deep", (0, 1))
@pytest.mark.parametrize("width", (22, 32, 40))
def test_modular_adder(width, deep):
    simulate("cm_modular_add_subtract", {"WIDTH": width, "DEEP": deep}, ["adds_and_subtracts"], seed=1)


@pytest.mark.parametrize("deep", (0, 1))
@pytest.mark.parametrize("width", (16, *WIDTHS))
def test_wide_product(width, deep):
    simulate("cm_wide_multiply", {"WIDTH": width, "DEEP": deep}, ["multiplies_widely"], seed=2)


@pytest.mark.parametrize("multiplier_width, deep", [(24, 0), (24, 1), (17, 1), (SILICON, 0)])
@pytest.mark.parametrize(
    "width, log2_n", [(22, 8), slow(27, 10), (27, 12), (32, 10), slow(35, 14), slow(40, 12), (40, 8)]
)
def test_multiplier(width, log2_n, multiplier_width, deep):
    shape = {"WIDTH": width, "LOG2_N": log2_n, "DEEP": deep, "MULTIPLIER_WIDTH": multiplier_width}
    simulate("cm_montgomery_multiply", shape, ["multiplies_modulo_q_and_halves"], seed=3)


@pytest.mark.parametrize("multiplier_width, deep", [(24, 0), (17, 1), (SILICON, 0)])
@pytest.mark.parametrize("q_width, log2_n", [(27, 12), slow(22, 10), (26, 11), slow(27, 13)])
def test_multiplier_of_messages(q_width, log2_n, multiplier_width, deep):
    """CKKS's have 32 bits, whatever the prime has."""
    shape = {"WIDTH": 32, "Q_WIDTH": q_width, "LOG2_N": log2_n, "DEEP": deep}
    shape["MULTIPLIER_WIDTH"] = multiplier_width
    simulate("cm_montgomery_multiply", shape, ["multiplies_modulo_q_and_halves"], seed=9)


@pytest.mark.parametrize("width", [slow(width) for width in range(22, 41)])
def test_multiplier_at_every_width(width):
    shape = {"WIDTH": width, "LOG2_N": 10, "DEEP": 1, "MULTIPLIER_WIDTH": 24}
    simulate("cm_montgomery_multiply", shape, ["multiplies_modulo_q_and_halves"], seed=4)


@pytest.mark.parametrize(
    "width, deep, multiplier_width", [(32, 0, 24), (32, 1, 24), (40, 0, 24), (22, 1, 24), (27, 0, 64)]
)
def test_butterfly(width, deep, multiplier_width):
    shape = {"WIDTH": width, "LOG2_N": 10, "DEEP": deep, "MULTIPLIER_WIDTH": multiplier_width}
    simulate("cm_butterfly", shape, ["computes_every_kind_of_butterfly"], seed=5)
