# SPDX-License-Identifier: Apache-2.0
"""cm_ntt_engine against the golden model, for every kind of job and several shapes of hardware."""

import random

import cocotb
import pytest
from engine_driver import Engine
from simulation import settings, simulate, slow, start_clock

from golden.hardware import Ring, random_prime

DEFAULTS = {
    "LOG2_N": 8,
    "WIDTH": 32,
    "LOG2_UNITS": 0,
    "LOG2_LANES": 0,
    "LOG2_PAGES": 0,
    "LOG2_SETS": 0,
    "OPERANDS": 1,
    "GENERATE": 0,
    "DEEP": 1,
    "MULTIPLIER_WIDTH": 24,
    "BLOCK": 1,
    "FORWARD": 0,
    "COPIES": 0,
}


def polynomial(rng, ring):
    """Random residues, the extreme ones among them."""
    return [
        rng.choice((0, 1, ring.q - 1, rng.randrange(ring.q), rng.randrange(ring.q))) for _ in range(ring.n)
    ]


async def prepared(dut, rng):
    start_clock(dut)
    engine = Engine(dut, settings())
    ring = Ring(random_prime(rng, engine.log2_n, settings()["bits"]), engine.log2_n)
    await engine.reset()
    await engine.load_ring(ring)
    return engine, ring


@cocotb.test()
async def transforms_there_and_back(dut):
    rng = random.Random(settings()["seed"])
    engine, ring = await prepared(dut, rng)
    a = polynomial(rng, ring)
    await engine.write(a)
    cycles_forward = await engine.run(forward=True)
    assert await engine.read(transformed=True) == ring.forward(a)
    values = polynomial(rng, ring)
    await engine.write(values, transformed=True)
    cycles_inverse = await engine.run(inverse=True)
    assert await engine.read() == ring.inverse(values)
    dut._log.info(f"forward {cycles_forward} cycles, inverse {cycles_inverse}")


@cocotb.test()
async def multiplies_polynomials(dut):
    rng = random.Random(settings()["seed"] + 1)
    engine, ring = await prepared(dut, rng)
    a, b = polynomial(rng, ring), polynomial(rng, ring)
    operand = settings()["OPERANDS"] - 1
    await engine.load_operand(operand, ring.forward(b))
    await engine.write([x * engine.r % ring.q for x in a])
    count = await engine.run(forward=True, products=1, operand=operand, inverse=True)
    assert await engine.read() == ring.multiply(a, b)
    dut._log.info(f"product {count} cycles")


@cocotb.test()
async def multiplies_pointwise(dut):
    rng = random.Random(settings()["seed"] + 2)
    engine, ring = await prepared(dut, rng)
    a, b = polynomial(rng, ring), polynomial(rng, ring)
    await engine.load_operand(0, [x * engine.r % ring.q for x in b])
    await engine.write(a, transformed=True)
    await engine.run(products=1, operand=0)
    assert await engine.read(transformed=True) == [x * y % ring.q for x, y in zip(a, b, strict=True)]


@cocotb.test()
async def multiplies_by_two_at_once(dut):
    if settings()["LOG2_PAGES"] == 0:
        return
    rng = random.Random(settings()["seed"] + 3)
    engine, ring = await prepared(dut, rng)
    u, p0, p1 = (polynomial(rng, ring) for _ in range(3))
    await engine.load_operand(0, ring.forward(p0))
    await engine.load_operand(1, ring.forward(p1))
    for set_ in range(1 << settings()["LOG2_SETS"]):
        await engine.write([x * engine.r % ring.q for x in u], set_=set_)
        count = await engine.run(forward=True, products=2, inverse=True, set_=set_)
        assert await engine.read(set_=set_) == ring.multiply(u, p0)
        assert await engine.read(page=1, set_=set_) == ring.multiply(u, p1)
        dut._log.info(f"double product {count} cycles")
        u = polynomial(rng, ring)


@cocotb.test()
async def computes_a_pair_as_it_does_each(dut):
    if settings()["LOG2_PAGES"] == 0:
        return
    rng = random.Random(settings()["seed"] + 4)
    engine, ring = await prepared(dut, rng)
    b, operand = polynomial(rng, ring), settings()["OPERANDS"] - 1
    await engine.load_operand(operand, ring.forward(b))
    for set_ in range(1 << settings()["LOG2_SETS"]):
        pair = [polynomial(rng, ring) for _ in range(2)]
        for page, a in enumerate(pair):
            await engine.write([x * engine.r % ring.q for x in a], page=page, set_=set_)
        product = {"forward": True, "products": 1, "operand": operand, "inverse": True, "set_": set_}
        count = await engine.run(pair=True, **product)
        for page, a in enumerate(pair):
            assert await engine.read(page=page, set_=set_) == ring.multiply(a, b)
        dut._log.info(f"pair of products {count} cycles")
        for job, back in ({"forward": True}, ring.forward), ({"inverse": True}, ring.inverse):
            for page, a in enumerate(pair):
                await engine.write(a, transformed="inverse" in job, page=page, set_=set_)
            await engine.run(pair=True, set_=set_, **job)
            for page, a in enumerate(pair):
                assert await engine.read(transformed="forward" in job, page=page, set_=set_) == back(a)


SHAPES = [
    {},
    {"DEEP": 0},
    {"DEEP": 2, "FORWARD": 1, "LOG2_UNITS": 4, "WIDTH": 27, "LOG2_LANES": 2, "LOG2_PAGES": 1, "OPERANDS": 2},
    slow({"DEEP": 1, "FORWARD": 1, "LOG2_UNITS": 4, "WIDTH": 27, "LOG2_PAGES": 1, "OPERANDS": 2}),
    slow({"DEEP": 2, "GENERATE": 1}),
    {"LOG2_N": 5, "WIDTH": 16, "LOG2_UNITS": 2, "LOG2_LANES": 1, "LOG2_PAGES": 1, "OPERANDS": 2},
    {"MULTIPLIER_WIDTH": 17},
    {"WIDTH": 22, "LOG2_UNITS": 1},
    slow({"WIDTH": 40, "LOG2_UNITS": 1, "DEEP": 0, "LOG2_LANES": 1}),
    {"WIDTH": 40, "MULTIPLIER_WIDTH": 17, "LOG2_UNITS": 2},
    {"WIDTH": 27, "LOG2_UNITS": 3, "LOG2_LANES": 2, "LOG2_PAGES": 1, "OPERANDS": 2},
    slow(
        {
            "LOG2_UNITS": 3,
            "LOG2_LANES": 3,
            "LOG2_PAGES": 1,
            "LOG2_SETS": 1,
            "OPERANDS": 2,
            "DEEP": 0,
            "BLOCK": 0,
        }
    ),
    {"GENERATE": 1},
    slow(
        {
            "GENERATE": 1,
            "WIDTH": 27,
            "LOG2_UNITS": 3,
            "LOG2_LANES": 2,
            "LOG2_PAGES": 1,
            "OPERANDS": 2,
            "DEEP": 0,
        }
    ),
]
# Larger shapes run under Verilator (test_verilated.py).


@pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: "-".join(f"{k}{v}" for k, v in s.items()) or "default"
)
def test_engine(shape):
    parameters = {**DEFAULTS, **shape}
    simulate("cm_ntt_engine", parameters, bits=parameters["WIDTH"], seed=1)
