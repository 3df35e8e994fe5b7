# SPDX-License-Identifier: Apache-2.0
"""The client engine's bus: what is written is never read, writes come in any order, events interrupt."""

import random
import re

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from simulation import RTL, cycles, settings, simulate, start_clock

CONSTANTS = {
    name: int(value)
    for name, value in re.findall(
        r"integer CM_CLIENT_(\w+) = (\d+);",
        (RTL / "client/cm_client_registers.svh").read_text(encoding="utf-8"),
    )
}
PARAMETERS = {"LOG2_N": 10, "LOG2_UNITS": 1, "PRIMES": 2, "DEEP": 0}
BUS_INPUTS = ("awaddr", "awvalid", "wdata", "wstrb", "wvalid", "bready", "araddr", "arvalid", "rready")
STREAMS = ("entropy", "value", "read")
UNKNOWN_COMMAND, SETTING_T = 15, 10
FAULT_COMMAND, FAULT_BUSY, FAULT_SETTINGS = 1, 7, 10
IDLE, FAULT, LOST = (1 << CONSTANTS[f"EVENTS_{name}_LOW"] for name in ("IDLE", "FAULT", "LOST"))


class Bus:
    """dut: cm_client_axi; every wait is random."""

    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng

    async def start(self):
        start_clock(self.dut)
        for name in BUS_INPUTS:
            getattr(self.dut, f"s_axil_{name}").value = 0
        for name in STREAMS:
            getattr(self.dut, f"s_axis_{name}_tdata").value = 0
            getattr(self.dut, f"s_axis_{name}_tvalid").value = 0
        self.dut.s_axis_value_tlast.value = 0
        self.dut.m_axis_frame_tready.value = 0
        self.dut.m_axis_result_tready.value = 0
        self.dut.aresetn.value = 0
        await cycles(self.dut, 3)
        self.dut.aresetn.value = 1

    async def _offer(self, channel, **values):
        """Hold a channel's values until they are taken."""
        await cycles(self.dut, self.rng.randrange(3) + 1)
        for name, value in values.items():
            getattr(self.dut, f"s_axil_{name}").value = value
        getattr(self.dut, f"s_axil_{channel}valid").value = 1
        await self._until(f"s_axil_{channel}ready")
        getattr(self.dut, f"s_axil_{channel}valid").value = 0
        for name in values:  # what comes later must not matter
            getattr(self.dut, f"s_axil_{name}").value = self.rng.getrandbits(3)

    async def _until(self, name):
        while True:
            await ReadOnly()
            there = int(getattr(self.dut, name).value)
            await RisingEdge(self.dut.aclk)
            if there:
                return

    async def write(self, offset, value, strobe=15):
        address = cocotb.start_soon(self._offer("aw", awaddr=offset))
        data = cocotb.start_soon(self._offer("w", wdata=value, wstrb=strobe))
        await address
        await data
        await cycles(self.dut, self.rng.randrange(3))
        self.dut.s_axil_bready.value = 1
        await self._until("s_axil_bvalid")
        self.dut.s_axil_bready.value = 0

    async def read(self, offset):
        await self._offer("ar", araddr=offset)
        await cycles(self.dut, self.rng.randrange(3))
        await ReadOnly()
        while not int(self.dut.s_axil_rvalid.value):
            await RisingEdge(self.dut.aclk)
            await ReadOnly()
        value = int(self.dut.s_axil_rdata.value)
        await RisingEdge(self.dut.aclk)
        self.dut.s_axil_rready.value = 1
        await RisingEdge(self.dut.aclk)
        self.dut.s_axil_rready.value = 0
        return value

    async def idle(self):
        while not await self.read(CONSTANTS["STATUS_OFFSET"]) & 1:
            pass


async def started(dut):
    bus = Bus(dut, random.Random(settings()["seed"]))
    await bus.start()
    await bus.idle()
    return bus


async def set_secret(bus):
    """The device's secret, in settings 16 to 23; its words."""
    words = [bus.rng.getrandbits(32) | 1 for _ in range(8)]
    for i, word in enumerate(words):
        await bus.write(CONSTANTS["SETTINGS_OFFSET"] + 4 * (16 + i), word)
    return words


def secret_of(dut):
    value = int(dut.u_engine.device_secret.value)
    return [value >> 32 * i & 0xFFFFFFFF for i in range(8)]


@cocotb.test()
async def settings_are_written_and_never_read(dut):
    bus = await started(dut)
    words = await set_secret(bus)
    await cycles(dut, 2)
    assert secret_of(dut) == words
    known = {CONSTANTS[f"{name}_OFFSET"] for name in ("ID", "SHAPE", "STATUS", "EVENTS", "INTERRUPTS")}
    for offset in [*range(0, 0x100, 4), *range(CONSTANTS["SETTINGS_OFFSET"], 0x4100, 4), 0x4420, 0x7FFC]:
        value = await bus.read(offset)
        assert value not in words and (value == 0 or offset in known), hex(offset)
    assert await bus.read(0) == 0x434D4345
    shape = await bus.read(CONSTANTS["SHAPE_OFFSET"])
    for name, value in {**PARAMETERS, "WIDTH": 27, "LOG2_R": 27, "LOG2_SCALE_R": 33}.items():
        if name != "DEEP":
            low, bits = CONSTANTS[f"SHAPE_{name}_LOW"], CONSTANTS[f"SHAPE_{name}_BITS"]
            assert shape >> low & (1 << bits) - 1 == value, name


@cocotb.test()
async def parts_of_words_change_nothing(dut):
    bus = await started(dut)
    words = await set_secret(bus)
    for strobe in (0, 1, 3, 7, 14):
        await bus.write(CONSTANTS["SETTINGS_OFFSET"] + 64, 0, strobe)
    await cycles(dut, 2)
    assert secret_of(dut) == words


@cocotb.test()
async def faults_interrupt_and_wipe(dut):
    bus = await started(dut)
    await set_secret(bus)
    await bus.write(CONSTANTS["EVENTS_OFFSET"], 7)
    await bus.write(CONSTANTS["INTERRUPTS_OFFSET"], FAULT)
    assert not int(dut.irq.value)
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)
    await bus.idle()
    assert int(dut.irq.value)
    assert await bus.read(CONSTANTS["EVENTS_OFFSET"]) == FAULT | IDLE
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) >> CONSTANTS["STATUS_FAULT_LOW"] == FAULT_COMMAND
    assert secret_of(dut) == [0] * 8
    await bus.write(CONSTANTS["EVENTS_OFFSET"], FAULT)
    assert not int(dut.irq.value)
    assert await bus.read(CONSTANTS["EVENTS_OFFSET"]) == IDLE


async def faulted(bus):
    """An engine with a fault whose events are cleared, and that says those of the next one."""
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)
    await bus.idle()
    await bus.write(CONSTANTS["EVENTS_OFFSET"], 7)
    await bus.write(CONSTANTS["INTERRUPTS_OFFSET"], FAULT)
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) >> CONSTANTS["STATUS_FAULT_LOW"] == FAULT_COMMAND


@cocotb.test()
async def a_fault_behind_a_fault_interrupts(dut):
    """Raise two faults without a command in between, which would clear the first one; also two of the same
    number."""
    bus = await started(dut)
    await faulted(bus)
    for _ in range(2):
        assert not int(dut.irq.value)
        await bus.write(CONSTANTS["SETTINGS_OFFSET"] + 4 * SETTING_T, 1)
        await cycles(dut, 3)
        assert int(dut.irq.value)
        assert await bus.read(CONSTANTS["EVENTS_OFFSET"]) & FAULT
        assert await bus.read(CONSTANTS["STATUS_OFFSET"]) >> CONSTANTS["STATUS_FAULT_LOW"] == FAULT_SETTINGS
        await bus.idle()
        await bus.write(CONSTANTS["EVENTS_OFFSET"], 7)


@cocotb.test()
async def a_fault_while_one_is_wiped_interrupts(dut):
    bus = await started(dut)
    await faulted(bus)
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)
    await bus.write(CONSTANTS["EVENTS_OFFSET"], 7)
    assert not int(dut.irq.value)
    await bus.write(CONSTANTS["SETTINGS_OFFSET"] + 4 * SETTING_T, 7)
    await cycles(dut, 3)
    assert int(dut.irq.value)
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) >> CONSTANTS["STATUS_FAULT_LOW"] == FAULT_BUSY


@cocotb.test()
async def an_abort_is_no_fault_and_keeps_secrets(dut):
    bus = await started(dut)
    words = await set_secret(bus)
    await bus.write(CONSTANTS["EVENTS_OFFSET"], 7)
    await bus.write(CONSTANTS["CONTROL_OFFSET"], 1 << CONSTANTS["CONTROL_ABORT_LOW"])
    assert not await bus.read(CONSTANTS["STATUS_OFFSET"]) & 1
    await bus.idle()
    assert secret_of(dut) == words
    assert await bus.read(CONSTANTS["EVENTS_OFFSET"]) == IDLE
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) == 1


@cocotb.test()
async def an_abort_drops_a_command_that_waits(dut):
    bus = await started(dut)
    await bus.write(CONSTANTS["CONTROL_OFFSET"], 1 << CONSTANTS["CONTROL_ABORT_LOW"])
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)
    await bus.write(CONSTANTS["CONTROL_OFFSET"], 1 << CONSTANTS["CONTROL_ABORT_LOW"])
    await bus.idle()
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) == 1


@cocotb.test()
async def a_second_command_that_waits_is_lost_and_said(dut):
    bus = await started(dut)
    await bus.write(CONSTANTS["CONTROL_OFFSET"], 1)
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)  # it waits until all is wiped
    await bus.write(CONSTANTS["COMMAND_OFFSET"], UNKNOWN_COMMAND)
    assert await bus.read(CONSTANTS["EVENTS_OFFSET"]) & LOST


@cocotb.test()
async def a_reset_by_register_wipes(dut):
    bus = await started(dut)
    await set_secret(bus)
    await bus.write(CONSTANTS["CONTROL_OFFSET"], 1)
    await bus.idle()
    assert secret_of(dut) == [0] * 8
    assert await bus.read(CONSTANTS["STATUS_OFFSET"]) == 1


def test_bus():
    simulate("cm_client_axi", PARAMETERS, seed=5)
