# SPDX-License-Identifier: Apache-2.0
"""Drives cm_ntt_accelerator through its buses: AXI4-Lite registers, AXI4-Stream packets, random waits."""

from __future__ import annotations

import random
import re
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from simulation import RTL, cycles

from golden.hardware import Montgomery, Ring

CONSTANTS = {
    name: int(value)
    for name, value in re.findall(
        r"integer CM_NTT_(\w+) = (\d+);",
        Path(RTL / "accelerator/cm_registers.svh").read_text(encoding="utf-8"),
    )
}
ERRORS = {
    name.removeprefix("ERRORS_").removesuffix("_LOW"): 1 << low
    for name, low in CONSTANTS.items()
    if name.startswith("ERRORS_") and name.endswith("_LOW")
}


class Accelerator:
    """dut: cm_ntt_accelerator. patience: 0 for buses that never wait, else waits are as likely as not."""

    def __init__(self, dut: Any, parameters: dict[str, int], rng: random.Random, patience: int = 0) -> None:
        self.dut = dut
        self.rng = rng
        self.patience = patience
        self.two_clocks = hasattr(dut, "axis_aclk")
        self.holds = False  # the stream out waits as long as this is set
        self.log2_n = parameters["LOG2_N"]
        self.n = 1 << self.log2_n
        self.beat = 1 << parameters.get("LOG2_STREAM", parameters["LOG2_BEAT"])
        self.slot = 32 if parameters["WIDTH"] <= 32 else 64
        self.all_bytes = (1 << (self.beat * self.slot // 8)) - 1
        self.r = Montgomery(parameters["WIDTH"], self.log2_n).r
        self.packets: deque[list[int]] = deque()
        self.sent: deque[tuple[list[int], bool]] = deque()
        self.cycle = 0
        self.last_sent_at = 0
        self.first_received_at: list[int] = []

    async def reset(self) -> None:
        dut = self.dut
        for name in ("awaddr", "awvalid", "wdata", "wvalid", "bready", "araddr", "arvalid", "rready"):
            getattr(dut, f"s_axil_{name}").value = 0
        for name in ("s_axis_tdata", "s_axis_tvalid", "s_axis_tlast", "m_axis_tready"):
            getattr(dut, name).value = 0
        dut.s_axil_wstrb.value = 15
        dut.s_axis_tkeep.value = self.all_bytes
        resets = [dut.aresetn, dut.axis_aresetn] if self.two_clocks else [dut.aresetn]
        if not self.two_clocks:
            dut.hold.value = 0
        for reset in resets:
            reset.value = 0
        await cycles(dut, 8 if self.two_clocks else 2)
        for reset in resets:
            reset.value = 1
        cocotb.start_soon(self._count())
        self.pick_up()
        await self.idle()  # the memories are wiped

    def pick_up(self) -> None:
        """Serve the streams."""
        self.tasks = [cocotb.start_soon(way) for way in (self._send(), self._receive())]

    def hang_up(self) -> None:
        """Leave the streams as if the host had crashed: no packet goes on, nothing that waits is kept."""
        for task in self.tasks:
            task.cancel()
        for name in ("s_axis_tvalid", "s_axis_tlast", "m_axis_tready"):
            getattr(self.dut, name).value = 0
        self.sent.clear()
        self.packets.clear()

    def _waits(self) -> bool:
        return self.patience > 0 and self.rng.random() < 0.5

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.aclk)
            self.cycle += 1

    # --- registers -----------------------------------------------------------------------------

    async def write(self, register: str, value: int, strobe: int = 15) -> None:
        dut = self.dut
        dut.s_axil_wstrb.value = strobe
        dut.s_axil_awaddr.value = CONSTANTS[f"{register}_OFFSET"]
        dut.s_axil_wdata.value = value
        for channels in self.rng.choice(((("aw",), ("w",)), (("w",), ("aw",)), (("aw", "w"),))):
            for channel in channels:
                getattr(dut, f"s_axil_{channel}valid").value = 1
            await self._until(getattr(dut, f"s_axil_{channels[0]}ready"))
            for channel in channels:
                getattr(dut, f"s_axil_{channel}valid").value = 0
            while self._waits():
                await cycles(dut)
        dut.s_axil_bready.value = 1
        await self._until(dut.s_axil_bvalid)
        dut.s_axil_bready.value = 0

    async def read(self, register: str | int) -> int:
        dut = self.dut
        offset = register if isinstance(register, int) else CONSTANTS[f"{register}_OFFSET"]
        dut.s_axil_araddr.value = offset
        dut.s_axil_arvalid.value = 1
        await self._until(dut.s_axil_arready)
        dut.s_axil_arvalid.value = 0
        while self._waits():
            await cycles(dut)
        dut.s_axil_rready.value = 1
        value = 0
        while True:
            await ReadOnly()
            valid, value = int(dut.s_axil_rvalid.value), dut.s_axil_rdata.value
            await cycles(dut)
            if valid:
                break
        dut.s_axil_rready.value = 0
        return int(value)

    async def _until(self, ready: Any) -> None:
        """Wait for the edge at which `ready` is set."""
        for _ in range(100):
            await ReadOnly()
            now = int(ready.value)
            await cycles(self.dut)
            if now:
                return
        raise AssertionError(f"{ready} never comes")

    # --- streams -------------------------------------------------------------------------------

    def send(self, words: list[int], *, last: bool = True) -> None:
        """Queue a packet; without `last` the next one continues it."""
        self.sent.append((list(words), last))

    async def _beat(self) -> None:
        """Wait for the next cycle of the streams, which may have a clock of their own."""
        await RisingEdge(self.dut.axis_aclk if self.two_clocks else self.dut.aclk)

    async def _send(self) -> None:
        dut = self.dut
        while True:
            if not self.sent:
                await self._beat()
                continue
            words, ends = self.sent.popleft()
            for start in range(0, len(words), self.beat):
                while self._waits():
                    await self._beat()
                group = words[start : start + self.beat]
                dut.s_axis_tdata.value = sum(word << (self.slot * j) for j, word in enumerate(group))
                last = ends and start + self.beat >= len(words)
                dut.s_axis_tlast.value = int(last)
                dut.s_axis_tkeep.value = (1 << (len(group) * self.slot // 8)) - 1
                dut.s_axis_tvalid.value = 1
                while True:
                    await ReadOnly()
                    taken = int(dut.s_axis_tready.value)
                    now = self.cycle
                    await self._beat()
                    if taken:
                        break
                self.last_sent_at = now
                dut.s_axis_tvalid.value = 0

    async def _receive(self) -> None:
        dut = self.dut
        words: list[int] = []
        while True:
            dut.m_axis_tready.value = int(not self.holds and not self._waits())
            await ReadOnly()
            if int(dut.m_axis_tvalid.value) and int(dut.m_axis_tready.value):
                data = int(dut.m_axis_tdata.value)
                if not words:
                    self.first_received_at.append(self.cycle)
                words += [(data >> (self.slot * j)) & ((1 << self.slot) - 1) for j in range(self.beat)]
                if int(dut.m_axis_tlast.value):
                    self.packets.append(words)
                    words = []
            await self._beat()

    async def receive(self) -> list[int]:
        """The next packet out."""
        for _ in range(200 * self.n):
            if self.packets:
                return self.packets.popleft()
            await cycles(self.dut)
        raise AssertionError("no packet comes")

    # --- jobs ----------------------------------------------------------------------------------

    async def command(self, code: str, operand: int = 0, *, transformed: bool = False) -> None:
        word = CONSTANTS[f"CODE_{code}"] | operand << CONSTANTS["COMMAND_OPERAND_LOW"]
        await self.write("COMMAND", word | int(transformed) << CONSTANTS["COMMAND_TRANSFORMED_LOW"])

    async def idle(self) -> None:
        for _ in range(50 * self.n):
            if await self.read("STATUS") & 1:
                return
        raise AssertionError("the accelerator does not become idle")

    async def set_prime(self, q: int) -> None:
        await self.write("PRIME_HIGH", q >> 32)
        await self.write("PRIME", q & 0xFFFFFFFF)

    async def load_ring(self, ring: Ring) -> None:
        await self.idle()
        await self.set_prime(ring.q)
        await self.command("LOAD_TWIDDLES")
        self.send(ring.twiddles(self.r))

    async def load_operand(self, number: int, words: list[int]) -> None:
        await self.command("LOAD_OPERAND", number)
        self.send(words)

    async def errors(self) -> int:
        """The error flags, which are then cleared."""
        found = await self.read("ERRORS")
        await self.write("ERRORS", found)
        return found
