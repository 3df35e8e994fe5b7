# SPDX-License-Identifier: Apache-2.0
"""Drives cm_evaluator through its buses, as accelerator_driver does the accelerator: their registers have the
same offsets."""

from __future__ import annotations

import random
import re
from typing import Any

from accelerator_driver import CONSTANTS as SHARED
from accelerator_driver import Accelerator
from simulation import RTL, cycles

from golden.hardware import Ring

CONSTANTS = {
    name: int(value)
    for name, value in re.findall(
        r"integer CM_EVALUATOR_(\w+) = (\d+);",
        (RTL / "evaluator/cm_evaluator_registers.svh").read_text(encoding="utf-8"),
    )
}
ERRORS = {
    name.removeprefix("ERRORS_").removesuffix("_LOW"): 1 << low
    for name, low in CONSTANTS.items()
    if name.startswith("ERRORS_") and name.endswith("_LOW")
}
assert all(CONSTANTS[name] == SHARED[name] for name in SHARED if name.endswith("_OFFSET"))


class Evaluator(Accelerator):
    def __init__(self, dut: Any, parameters: dict[str, int], rng: random.Random, patience: int = 0) -> None:
        super().__init__(dut, parameters, rng, patience)
        self.weights = [0] * max(1 << parameters["LOG2_WEIGHTS"], self.n)
        self.program = [0] * max(2 << parameters["LOG2_PROGRAM"], self.n)

    async def order(self, code: str, argument: int = 0, memory: int = 0) -> None:
        """Write a command."""
        word = CONSTANTS[f"CODE_{code}"] | memory << CONSTANTS["COMMAND_MEMORY_LOW"]
        await self.write("COMMAND", word | argument << CONSTANTS["COMMAND_ARGUMENT_LOW"])

    async def queue_room(self) -> None:
        while not await self.read("STATUS") >> CONSTANTS["STATUS_FREE_LOW"] & 15:
            await cycles(self.dut)

    async def load_modulus(self, modulus: int, ring: Ring) -> None:
        await self.idle()
        await self.set_prime(ring.q)
        await self.order("LOAD_MODULUS", modulus)
        self.send(ring.twiddles(self.r))

    async def load_polynomial(self, memory: int, slot: int, words: list[int]) -> None:
        await self.order("LOAD_POLYNOMIAL", slot, memory)
        self.send(words)
        await self.idle()

    async def load_weights(self, first: int, words: list[int]) -> None:
        await self._load_blocks("LOAD_WEIGHTS", self.weights, first, words)

    async def load_program(self, first: int, words: list[int]) -> None:
        halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
        await self._load_blocks("LOAD_PROGRAM", self.program, 2 * first, halves)

    async def _load_blocks(self, code: str, mirror: list[int], first: int, words: list[int]) -> None:
        """Blocks of n words are loaded whole."""
        mirror[first : first + len(words)] = words
        for block in range(first // self.n, -(-(first + len(words)) // self.n)):
            await self.order(code, block)
            self.send(mirror[block * self.n : (block + 1) * self.n])
            await self.idle()

    async def run(self, address: int, operands: list[list[int]]) -> None:
        await self.queue_room()
        await self.order("RUN", address)
        for operand in operands:
            self.send(operand)
