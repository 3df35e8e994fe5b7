# SPDX-License-Identifier: Apache-2.0
"""The client engine's cycles: prints them as JSON after comparing what it gave with the C library's.

    build/rtl-venv/bin/python rtl/tools/client_bench.py

Latency is from the cycle in which a command is taken to that of the last word out, with random words and
values there from the start, a value a cycle at most. Pace is the longest time from last word to last word of
ciphertexts that follow each other. Keys and tables are resident.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import soc
from client import SILICON, Client, Key, Outcome, Shape, constants

from tools import ROOT, ToolError, library_python

SET = "n4096_q26x3_p27"
T = 40961
"""The smallest plain modulus for batching."""
CKKS = {"set": SET, "log2_scale": 22, "values_limit": 22, "out": "float32"}
"""Real slots, all of them, of floats below 1."""
SOC_LOG2_SCALE = 18
"""At which a device with 31 bits decrypts values up to 20."""
CIPHERTEXTS = 6
SHAKE256 = 2
"""cm_xof_kind."""
SHAPES = {
    "deep": Shape(),
    "shallow": Shape(DEEP=0),
    "silicon": Shape(DEEP=0, MULTIPLIER_WIDTH=SILICON),
}


def cases() -> list[dict[str, Any]]:
    """Symmetric and public-key encryptions; symmetric ones with a SHAKE256 seed; both with tags, and in
    coefficient form."""
    kinds: list[dict[str, Any]] = [
        {"public": False},
        {"public": True},
        {"xof": SHAKE256},
        {"tagged": "first"},
        {"public": True, "tagged": "first"},
        {"coefficients": True},
        {"public": True, "coefficients": True},
    ]
    wanted = [{"set": SET, "t": T, "ciphertexts": CIPHERTEXTS, **kind} for kind in kinds]
    return said("client_cases.py", wanted)


def ckks_cases() -> list[dict[str, Any]]:
    """Symmetric and public-key encryptions of CKKS."""
    kinds = [{**CKKS, "public": public, "ciphertexts": CIPHERTEXTS} for public in (False, True)]
    return said("client_ckks_cases.py", kinds)


def said(script: str, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cases from the C library. Raises ToolError with the reason if it refuses one."""
    command = [library_python(), ROOT / "rtl/tools" / script, json.dumps(wanted)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ToolError(f"{script}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def run(
    shape: Shape, case: dict[str, Any], command: str, *, record: bool = False, waves: Path | None = None
) -> Outcome:
    """All of the case's ciphertexts, back to back; waves: a VCD file of that."""
    key = Key.of(case)
    engine = Client(shape)
    engine.options = (case.get("xof") == SHAKE256) << constants()["SHAPE_SHAKE256"]
    engine.options |= bool(case.get("tag")) << constants()["SHAPE_TAGS"]
    engine.wait_for_wipe()
    if case.get("tag"):
        engine.tags(**{**case["tag"], "key": bytes.fromhex(case["tag"]["key"])})
    engine.load(key)
    if "t" in case:
        engine.message_space(
            key, case["t"], signed=case["signed"], coefficients=case.get("coefficients", False)
        )
    else:
        engine.ckks_space(key, case, results=command == "COMMAND_DECRYPT")
    engine.counter(case["counter"])
    for draw, message, frames in zip(case["draws"], case["messages"], case["frames"], strict=True):
        if command == "COMMAND_DECRYPT":
            engine.read(bytes.fromhex(frames))
        else:
            engine.entropy(bytes.fromhex(draw))
            engine.values(message)
    if waves:
        engine.waves(waves)
    for _ in case["messages"]:
        engine.command(command)
    engine.run(2_000_000)
    return engine.simulate(record=record)


def halves(message: list[int]) -> list[int]:
    """BFV's values as they leave, two a word."""
    return [low | high << 16 for low, high in zip(message[::2], message[1::2], strict=True)]


def check(case: dict[str, Any], command: str, outcome: Outcome) -> None:
    """Raises ToolError if a byte or a value of run() is not the C library's."""
    right = (
        outcome.results == (case["results"] if "results" in case else [halves(m) for m in case["messages"]])
        if command == "COMMAND_DECRYPT"
        else outcome.frames == [bytes.fromhex(frames) for frames in case["frames"]]
    )
    if not right:
        raise ToolError(f"{command}: the engine's outputs are not the C library's")


def times(shape: Shape, case: dict[str, Any], command: str) -> dict[str, int]:
    """Latency and pace, in cycles. Raises ToolError if a byte or a value is wrong."""
    outcome = run(shape, case, command)
    check(case, command, outcome)
    ends = outcome.last_words
    taken = outcome.taken[1]  # the first command loads the key
    return {
        "latency": ends[0] - taken + 1,
        "pace": max(later - earlier for earlier, later in pairwise(ends)),
    }


def soc_ckks_times() -> dict[str, int]:
    """Measure the chip's times with CKKS."""
    field = soc.field("bench-ckks", set=SET, log2_scale=SOC_LOG2_SCALE, ciphertexts=2, seed=1)
    engine, software = (soc.simulate(field, chip) for chip in (soc.Chip(), soc.SOFTWARE))
    if engine.code or software.code or engine.frames != software.frames or not engine.frames:
        raise ToolError("soc: CKKS's frames with the engine are not those of software")
    device, _ = soc.ckks_receiver(
        "bench-ckks-receiver", set=SET, log2_scale=SOC_LOG2_SCALE, ciphertexts=2, seed=1
    )
    back, slow = (soc.simulate(device, chip) for chip in (soc.Chip(), soc.SOFTWARE))
    if back.code or slow.code or back.frames != slow.frames or not back.frames:
        raise ToolError("soc: CKKS's values with the engine are not those of software")
    return {
        "ckks.engine": engine.encryptions[1],
        "ckks.software": software.encryptions[1],
        "ckks.decryption.engine": back.decryptions[1],
        "ckks.decryption.software": slow.decryptions[1],
    }


def soc_times() -> dict[str, int]:
    """Cycles of an encryption, and of the decryption of a ciphertext in full, by firmware on a RISC-V core,
    through the engine and in software.

    The first one through the engine also loads tables and key. Raises ToolError if a byte differs.
    """
    field = soc.field("bench", set=SET, t=T, ciphertexts=2, seed=1)
    engine, software = (soc.simulate(field, chip) for chip in (soc.Chip(), soc.SOFTWARE))
    if engine.code or software.code or engine.frames != software.frames or not engine.frames:
        raise ToolError("soc: the frames with the engine are not those of software")
    device, _ = soc.receiver(
        "bench-receiver", set=SET, t=T, kinds=["full", "full"], **soc.SIGNED_HALVES, seed=1
    )
    back, slow = (soc.simulate(device, chip) for chip in (soc.Chip(), soc.SOFTWARE))
    if back.code or slow.code or back.frames != slow.frames or not back.frames:
        raise ToolError("soc: the numbers with the engine are not those of software")
    return {
        **soc_ckks_times(),
        "decryption.engine": back.decryptions[1],
        "decryption.software": slow.decryptions[1],
        "engine": engine.encryptions[1],
        "first": engine.encryptions[0],
        "software": software.encryptions[1],
    }


COLD = {
    "": {"t": T},
    "public.": {"t": T, "public": True, "form": "engine"},
    "ckks.": {"log2_scale": SOC_LOG2_SCALE},
    "ckks.public.": {"log2_scale": SOC_LOG2_SCALE, "public": True, "form": "engine"},
}
"""What the chip encrypts first, by the name of its row."""
STAGES = {constants()[f"COMMAND_{name}"]: name for name in ("TABLES", "LOAD_KEY", "SYMMETRIC", "PUBLIC")}


def cold_times() -> dict[str, dict[str, Any]]:
    """Cycles from the reset of the chip to the last word of its first ciphertext that leaves it, those of the
    engine's commands, and the bytes of its program. Raises ToolError if a byte differs from software's."""
    found = {}
    for name, wanted in COLD.items():
        field = soc.field(f"bench-cold-{name or 'symmetric.'}"[:-1], set=SET, ciphertexts=1, seed=2, **wanted)
        engine, software = (soc.simulate(field, chip) for chip in (soc.Chip(), soc.SOFTWARE))
        if engine.code or software.code or engine.frames != software.frames or not engine.frames:
            raise ToolError(f"soc: the first {name or 'symmetric.'} frames are not those of software")
        found[name] = {
            "cycles": engine.last_word + 1,
            "taken": {STAGES[code]: cycle for code, cycle in engine.commands},
            "software": software.last_word + 1,
            "firmware_bytes": soc.firmware(field, engine=True).stat().st_size,
        }
    return found


def session_times() -> dict[str, Any]:
    """The device's cycles of a client-aided session, in all and by phase, with the engine and in software.
    Raises ToolError if a byte is not the simulated Cortex-M4's."""
    field, session = soc.aided("bench-aided")
    found: dict[str, Any] = {name: session[name] for name in ("layers", "rounds", "vectors", "result_bytes")}
    for name, chip in (("engine", soc.Chip()), ("software", soc.SOFTWARE)):
        outcome = soc.simulate(field, chip)
        if outcome.code or outcome.frames != session["sent"] or len(outcome.rounds) != session["rounds"]:
            raise ToolError("soc: the session's frames are not those of the Cortex-M4")
        found[name] = outcome.phases
    return {**found, "firmware_bytes": soc.firmware(field, engine=True).stat().st_size}


def measured() -> dict[str, Any]:
    symmetric, public, shake, tagged, tagged_public, coefficients, public_coefficients = cases()
    ckks_symmetric, ckks_public = ckks_cases()
    jobs = {
        "symmetric": (symmetric, "COMMAND_SYMMETRIC"),
        "public": (public, "COMMAND_PUBLIC"),
        "decrypt": (public, "COMMAND_DECRYPT"),
        "shake_symmetric": (shake, "COMMAND_SYMMETRIC"),
        "ckks_symmetric": (ckks_symmetric, "COMMAND_SYMMETRIC"),
        "ckks_public": (ckks_public, "COMMAND_PUBLIC"),
        "ckks_decrypt": (ckks_public, "COMMAND_DECRYPT"),
        "tagged_symmetric": (tagged, "COMMAND_SYMMETRIC"),
        "tagged_public": (tagged_public, "COMMAND_PUBLIC"),
        "coefficients_symmetric": (coefficients, "COMMAND_SYMMETRIC"),
        "coefficients_public": (public_coefficients, "COMMAND_PUBLIC"),
    }
    return {
        "set": SET,
        "t": T,
        "log2_scale": CKKS["log2_scale"],
        "soc_log2_scale": SOC_LOG2_SCALE,
        "ciphertexts": CIPHERTEXTS,
        "cycles": {
            pipeline: {job: times(shape, *of) for job, of in jobs.items()}
            for pipeline, shape in SHAPES.items()
        },
        "soc": soc_times(),
        "cold": cold_times(),
        "session": session_times(),
    }


def main() -> int:
    try:
        found = measured()
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
