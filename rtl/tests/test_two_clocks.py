# SPDX-License-Identifier: Apache-2.0
"""cm_ntt_accelerator_two_clocks: what its streams carry does not depend on the clocks, and a reset leaves
nothing in the queues between them."""

import random

import cocotb
import pytest
from accelerator_driver import ERRORS, Accelerator
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from simulation import cycles, settings, simulate, slow

from golden.hardware import Ring, random_prime


async def started(dut, seed, patience):
    Clock(dut.aclk, 10_000, unit="ps").start()
    Clock(dut.axis_aclk, settings()["period"], unit="ps").start()
    rng = random.Random(settings()["seed"] + seed)
    accelerator = Accelerator(dut, settings(), rng, patience)
    await accelerator.reset()
    ring = Ring(random_prime(rng, accelerator.log2_n, settings()["WIDTH"]), accelerator.log2_n)
    await accelerator.load_ring(ring)
    return accelerator, ring, rng


def polynomial(rng, ring):
    return [rng.randrange(ring.q) for _ in range(ring.n)]


@cocotb.test()
async def packets_cross_whole_whatever_the_streams_wait(dut):
    for patience in (0, 1):
        accelerator, ring, rng = await started(dut, patience, patience)
        packets = [polynomial(rng, ring) for _ in range(6)]
        for packet in packets:
            await accelerator.command("FORWARD")
            accelerator.send(packet)
        for packet in packets:
            assert await accelerator.receive() == ring.forward(packet)
        for missing in (1, accelerator.beat):
            await accelerator.command("FORWARD")
            accelerator.send(packets[0][:-missing])
            assert await accelerator.receive() == [0] * ring.n
        await accelerator.idle()
        assert await accelerator.errors() == ERRORS["LENGTH"]


@cocotb.test()
async def a_reset_empties_and_wipes_the_queues(dut):
    accelerator, ring, rng = await started(dut, 2, 0)
    widens = "LOG2_STREAM" in settings()
    gathered = False
    for wait in (0, 3, ring.n, 2 * ring.n, 5 * ring.n):
        accelerator.holds = True
        for _ in range(3):
            await accelerator.command("FORWARD")
            accelerator.send(polynomial(rng, ring))
        accelerator.send([ring.q - 1] * accelerator.beat, last=False)
        await cycles(dut, 2 * ring.n + wait)
        await FallingEdge(dut.aclk)
        queues = [queue.beats[i] for queue in (dut.u_clocks.u_in, dut.u_clocks.u_out) for i in range(16)]
        assert any(int(beat.value) for beat in queues)
        gathered = gathered or (widens and "1" in str(dut.u_clocks.g_wider.u_widen.earlier.value))
        await cycles(dut)
        accelerator.hang_up()
        await accelerator.write("CONTROL", 1)
        await accelerator.idle()
        await FallingEdge(dut.aclk)
        assert not any(int(beat.value) for beat in queues)
        if widens:
            assert not int(dut.u_clocks.g_wider.u_widen.earlier.value)
        assert not int(dut.m_axis_tvalid.value)
        await cycles(dut)
        accelerator.holds = False
        accelerator.pick_up()
        await accelerator.load_ring(ring)
        packet = polynomial(rng, ring)
        await accelerator.command("FORWARD")
        accelerator.send(packet)
        assert await accelerator.receive() == ring.forward(packet)
    assert gathered == widens


@pytest.mark.parametrize("period", [8_002, slow(3_334), slow(10_000), slow(27_018)])
def test_two_clocks(period):
    """The period of the streams' clock in ps; the other one's is 10,000."""
    shape = {"LOG2_N": 6, "WIDTH": 27, "LOG2_UNITS": 2, "LOG2_BEAT": 2, "DEEP": 1}
    simulate("cm_ntt_accelerator_two_clocks", shape, seed=1, period=period)


@pytest.mark.parametrize("period", [8_002, slow(3_334), slow(27_018)])
@pytest.mark.parametrize("log2_ratio", [1, slow(2)])
def test_streams_narrower_than_the_accelerator_s_beats(period, log2_ratio):
    shape = {"LOG2_N": 6, "WIDTH": 27, "LOG2_UNITS": 3, "LOG2_BEAT": 3, "DEEP": 2}
    shape["LOG2_STREAM"] = shape["LOG2_BEAT"] - log2_ratio
    simulate("cm_ntt_accelerator_two_clocks", shape, seed=2, period=period)
