# SPDX-License-Identifier: Apache-2.0
"""Drives cm_ntt_engine as its accelerator shell does: tables, words of a page, jobs."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import ReadOnly, RisingEdge
from simulation import cycles

from golden.hardware import Montgomery, Ring

HOST_WORD = ("set", "page", "transformed", "index")
INPUTS = [
    *("q_i", "start_i", "set_i", "forward_i", "products_i", "operand_i", "inverse_i", "pair_i", "page_i"),
    *(f"host_{way}_{of}_i" for way in ("read", "write") for of in HOST_WORD),
    *("host_write_i", "host_write_data_i"),
    *(f"table_{of}_i" for of in ("write", "is_operand", "operand", "index", "data")),
    *("wipe_i", "wipe_row_i"),
]
"""All but the clock and the reset."""


class Engine:
    """dut: cm_ntt_engine. parameters: its own, with every default spelt out."""

    def __init__(self, dut: Any, parameters: dict[str, int]) -> None:
        self.dut = dut
        self.log2_n = parameters["LOG2_N"]
        self.n = 1 << self.log2_n
        self.width = parameters["WIDTH"]
        self.lanes = 1 << parameters["LOG2_LANES"]
        self.r = Montgomery(self.width, self.log2_n).r

    async def reset(self) -> None:
        for name in INPUTS:
            getattr(self.dut, name).value = 0
        self.dut.rst_i.value = 1
        await cycles(self.dut, 2)
        self.dut.rst_i.value = 0
        await cycles(self.dut)

    async def load_ring(self, ring: Ring) -> None:
        self.dut.q_i.value = ring.q
        await self._table(ring.twiddles(self.r))

    async def load_operand(self, number: int, words: list[int]) -> None:
        self.dut.table_is_operand_i.value = 1
        self.dut.table_operand_i.value = number
        await self._table(words)
        self.dut.table_is_operand_i.value = 0

    async def _table(self, words: list[int]) -> None:
        self.dut.table_write_i.value = 1
        index = 0
        while index < len(words):
            group = words[index : index + self.lanes]
            self.dut.table_index_i.value = index
            self.dut.table_data_i.value = sum(word << (j * self.width) for j, word in enumerate(group))
            await ReadOnly()
            index += int(self.dut.table_step_o.value)
            await cycles(self.dut)
        self.dut.table_write_i.value = 0
        await cycles(self.dut, 2)

    async def write(
        self, words: list[int], *, transformed: bool = False, page: int = 0, set_: int = 0
    ) -> None:
        dut = self.dut
        self._address("write", transformed=transformed, page=page, set_=set_)
        dut.host_write_i.value = 1
        for index in range(0, self.n, self.lanes):
            dut.host_write_index_i.value = index
            dut.host_write_data_i.value = sum(words[index + j] << (j * self.width) for j in range(self.lanes))
            await cycles(dut)
        dut.host_write_i.value = 0
        await cycles(dut)

    async def read(self, *, transformed: bool = False, page: int = 0, set_: int = 0) -> list[int]:
        dut = self.dut
        self._address("read", transformed=transformed, page=page, set_=set_)
        words: list[int] = []
        for index in range(0, self.n, self.lanes):
            dut.host_read_index_i.value = index
            await cycles(dut, 2)
            await ReadOnly()
            data = int(dut.host_read_data_o.value)
            words += [(data >> (j * self.width)) & ((1 << self.width) - 1) for j in range(self.lanes)]
            await cycles(dut)
        return words

    def _address(self, way: str, *, transformed: bool, page: int, set_: int) -> None:
        for name, value in {"transformed": int(transformed), "page": page, "set": set_}.items():
            getattr(self.dut, f"host_{way}_{name}_i").value = value

    async def start(self, forward=False, products=0, operand=0, inverse=False, pair=False, set_=0) -> None:
        dut = self.dut
        dut.forward_i.value, dut.inverse_i.value = int(forward), int(inverse)
        dut.products_i.value, dut.operand_i.value, dut.set_i.value = products, operand, set_
        dut.pair_i.value = int(pair)
        dut.start_i.value = 1
        await cycles(dut)
        dut.start_i.value = 0

    async def finish(self) -> int:
        """Wait for the end of the job; the cycles from its first read of the banks to its last write."""
        dut, control = self.dut, self.dut.u_control
        cycle, first, last = 0, None, 0
        while True:
            await RisingEdge(dut.clk_i)
            await ReadOnly()
            if int(control.read_o.value) and first is None:
                first = cycle
            if int(control.write_o.value):
                last = cycle
            if int(dut.done_o.value):
                break
            cycle += 1
            assert cycle < 60 * self.n, "the job does not end"
        await cycles(dut)
        assert first is not None
        return last - first + 1

    async def run(self, **job: Any) -> int:
        await self.start(**job)
        return await self.finish()
