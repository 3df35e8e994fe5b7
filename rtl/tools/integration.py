# SPDX-License-Identifier: Apache-2.0
"""Writes the script of the integrators' bench (rtl/integration/client_bench.txt): what goes into the engine,
and the bytes and values of the C library that must come out.

    build/rtl-venv/bin/python rtl/tools/integration.py

The first lines load a key, with tables that the engine makes; then it encrypts a message, decrypts the
frames, and refuses to change its key's policy.
"""

from __future__ import annotations

import struct
import sys
from typing import Any

import client_bench
from client import Client, Key, Shape, constants
from client_bench import halves

from tools import RTL, ToolError

SCRIPT = RTL / "integration/client_bench.txt"
SHAPE = Shape(LOG2_N=10, LOG2_UNITS=2, PRIMES=2, DEEP=0)
CASE: dict[str, Any] = {"set": "n1024_q26", "t": 1000, "seed": 1}
SETTINGS, COMMAND, STATUS, FAULT_LOW = 0x4000, 0x14, 0x8, 8


def lines_of(script: list[str]) -> list[str]:
    """A script for the harness (harness/client.cpp) as one for the bench."""
    lines: list[str] = []
    for line in script:
        kind, *rest = line.split()
        numbers = [int(number) for number in rest]
        if kind == "set":
            lines.append(f"w {SETTINGS + 4 * numbers[0]:x} {numbers[1]:x}")
        elif kind == "command":
            lines.append(f"w {COMMAND:x} {numbers[0]:x}")
        elif kind in ("run", "cycles"):
            lines.append("i")
        elif kind in ("entropy", "read"):
            lines += [f"{'e' if kind == 'entropy' else 'd'} {word:x}" for word in numbers[1:]]
        elif kind == "values":
            ends = [0] * (len(numbers) - 3) + [numbers[1]]
            lines += [f"v {word:x} {end}" for word, end in zip(numbers[2:], ends, strict=True)]
        else:
            raise ValueError(f"The bench has no step for {kind}.")
    return lines


def words_of(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data)


def expected(kind: str, words: tuple[int, ...] | list[int]) -> list[str]:
    return [f"{kind} {word:x} {int(i == len(words) - 1)}" for i, word in enumerate(words)]


def script() -> str:
    (case,) = client_bench.said("client_cases.py", [CASE])
    frames = bytes.fromhex(case["frames"][0])
    key = Key(
        case["params_id"],
        case["key_id"],
        case["primes"],
        case["roots"],
        bytes.fromhex(case["device_secret"]),
        bytes.fromhex(case["ternary"]),
    )
    engine = Client(SHAPE)
    engine.wait_for_wipe()
    # Before the key: a simulator that knows unknown values takes zero times one for unknown.
    engine.message_space(key, case["t"], signed=case["signed"], coefficients=False)
    engine.load(key, makes_tables=True)
    engine.counter(case["counter"])
    loaded = lines_of(engine.script)
    engine.script = []
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.values(case["messages"][0])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    encrypts = lines_of(engine.script)
    engine.script = []
    engine.read(frames)
    engine.command("COMMAND_DECRYPT")
    engine.run()
    decrypts = lines_of(engine.script)
    status = f"r {STATUS:x} {0xF << FAULT_LOW:x}"
    engine.script = []
    engine.set("MAP_POLICY", 0)
    refused = [*lines_of(engine.script), "i", f"{status} {constants()['FAULT_POLICY'] << FAULT_LOW:x}"]
    refused.append(f"r {SETTINGS + 4 * constants()['MAP_DEVICE_SECRET']:x} ffffffff 0")
    lines = ["r 0 ffffffff 434d4345", *loaded, *expected("f", words_of(frames)), *encrypts, "q"]
    lines += [
        f"{status} 0",
        *expected("m", halves(case["messages"][0])),
        *decrypts,
        "q",
        f"{status} 0",
        *refused,
    ]
    return "\n".join([*lines, ""])


def main() -> int:
    try:
        SCRIPT.write_text(script(), encoding="utf-8")
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
