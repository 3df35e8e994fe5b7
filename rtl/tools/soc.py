# SPDX-License-Identifier: Apache-2.0
"""The chip of rtl/soc in simulation: builds it and its firmware, and runs the one on the other."""

from __future__ import annotations

import fcntl
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools import (
    BUILD,
    CLIENT_INCLUDES,
    CLIENT_SOURCES,
    ENGINE_SOURCES,
    ROOT,
    RTL,
    SOC_SOURCES,
    ToolError,
    environment,
    library_python,
    picorv32,
    run,
)

TOP = "cm_soc"
HARNESS = [RTL / "harness/soc.vlt", RTL / "harness/soc.cpp"]
UART_DIVISOR = 16
MOST_CYCLES = 4_000_000_000
"""No run takes longer; a program that hangs is stopped here."""


@dataclass(frozen=True)
class Chip:
    """Parameters of cm_soc. Without ENGINE those after it do not matter."""

    ENGINE: int = 1
    LOG2_N: int = 12
    LOG2_UNITS: int = 3
    PRIMES: int = 3
    DEEP: int = 1

    @property
    def name(self) -> str:
        if not self.ENGINE:
            return "software"
        return f"n{1 << self.LOG2_N}-u{1 << self.LOG2_UNITS}-p{self.PRIMES}-d{self.DEEP}"


SOFTWARE = Chip(ENGINE=0, LOG2_N=10, PRIMES=2)


@cache
def build(chip: Chip) -> Path:
    """The program that simulates this chip."""
    directory = BUILD / "verilated" / f"soc-{chip.name}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run at the same time share it
        run(
            [
                *("verilator", "--cc", "--exe", "--build", "-j", "1", "-O3", "-Wno-fatal", "-Wno-lint"),
                *("--top", TOP, "--Mdir", directory, *CLIENT_INCLUDES),
                *(f"-G{key}={value}" for key, value in vars(chip).items()),
                f"-GUART_DIVISOR={UART_DIVISOR}",
                *("-CFLAGS", f"-O1 -std=c++17 -DUART_DIVISOR={UART_DIVISOR} -DENGINE={chip.ENGINE}"),
                *("-MAKEFLAGS", f"VM_PARALLEL_BUILDS=0 OPT_FAST={'-O1' if chip.ENGINE else '-O3'}"),
                *(*ENGINE_SOURCES, *CLIENT_SOURCES, *SOC_SOURCES, picorv32(), *HARNESS),
            ],
            log=directory.with_suffix(".log"),
        )
    return directory / f"V{TOP}"


@dataclass(frozen=True)
class Field:
    """A device's inputs, which soc_owner.py makes. directory: its keys, readings and random words."""

    directory: Path
    n: int
    primes: int
    flags: tuple[tuple[str, str], ...]
    ciphertexts: int
    program: str = "main"

    @property
    def name(self) -> str:
        return self.directory.name


def answer_of(script: str, *arguments: str | Path) -> dict[str, Any]:
    """Run a script with the owner's toolkit in .venv, and return its answer."""
    said = subprocess.run(
        [library_python(), RTL / "tools" / script, *arguments], check=False, capture_output=True, text=True
    )
    if said.returncode:
        raise ToolError(f"{script}: {said.stderr.strip()[-800:]}")
    return json.loads(said.stdout)


def owner(command: str, directory: Path, **wanted: Any) -> dict[str, Any]:
    return answer_of("soc_owner.py", command, directory, json.dumps(wanted))


def field(name: str, **wanted: Any) -> Field:
    """A device's keys, readings and random words. wanted: set, t or log2_scale (CKKS), ciphertexts, public,
    seed."""
    directory = BUILD / "soc" / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = owner("prepare", directory, **wanted)
    flags: tuple[tuple[str, str], ...] = (("APP_PLAIN_MODULUS", f"{wanted.get('t')}u"),)
    if "log2_scale" in wanted:
        flags = (("APP_LOG2_SCALE", str(wanted["log2_scale"])), ("APP_EXPONENT", str(answer["exponent"])))
    return Field(directory, answer["n"], answer["primes"], flags, wanted["ciphertexts"])


SIGNED_HALVES = {"signed": True, "wide": False, "batch": False, "seeds": True}
"""What a device that decrypts gives and takes: int16, in coefficients, of any ciphertext."""


def receiver(name: str, **wanted: Any) -> tuple[Field, dict[str, Any]]:
    """A device that decrypts, and what soc_owner.py says of the ciphertexts that it is sent. wanted: set, t,
    kinds, signed, wide (numbers of 32 bits), batch, seeds (it takes seeded ciphertexts), flags
    (more of its program's), seed."""
    directory = BUILD / "soc" / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = owner("send", directory, **wanted)
    flags = (
        ("APP_DECRYPTS", "1"),
        ("APP_PLAIN_MODULUS", f"{wanted['t']}u"),
        ("APP_NUMBER", f"CM_{'' if wanted['signed'] else 'U'}INT{32 if wanted['wide'] else 16}"),
        ("APP_BATCH", str(int(wanted["batch"]))),
        ("APP_SEEDS", str(int(wanted["seeds"]))),
        *wanted.get("flags", {}).items(),
    )
    of = Field(directory, answer["n"], answer["primes"], flags, len(wanted["kinds"]), "receiver")
    return of, answer


def ckks_receiver(name: str, **wanted: Any) -> tuple[Field, dict[str, Any]]:
    """Make a device that decrypts CKKS. wanted: set, log2_scale, ciphertexts, seed."""
    directory = BUILD / "soc" / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = owner("send_ckks", directory, **wanted)
    flags = (("APP_DECRYPTS", "1"), ("APP_LARGEST", f"{answer['largest']}u"), ("APP_SEEDS", "0"))
    return Field(directory, answer["n"], answer["primes"], flags, wanted["ciphertexts"], "receiver"), answer


def configurations(name: str, message: int, **wanted: Any) -> Field:
    """A device that encrypts and decrypts one message in every configuration, as
    ports/picorv32/configurations.c says. wanted: set, ciphertexts, seed."""
    directory = BUILD / "soc" / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = owner("provide", directory, **wanted)
    flags = (("APP_DECRYPTS", "1"), ("APP_MESSAGE", f"{message}u"))
    return Field(directory, answer["n"], answer["primes"], flags, wanted["ciphertexts"], "configurations")


def key_pair(
    name: str, *, makes: bool, xof: str = "SHAKE256", batch: bool = False, fails: bool = False, **wanted: Any
) -> Field:
    """A device that publishes a key of its own, as ports/picorv32/keys.c says; the second time with this
    XOF. fails: its engine refuses every encryption. wanted: set, t, seed."""
    directory = BUILD / "soc" / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    answer = owner("provide", directory, ciphertexts=5, **wanted)
    flags = (
        ("APP_DECRYPTS", "1"),
        ("APP_MAKES", str(int(makes))),
        ("APP_BATCH", str(int(batch))),
        ("APP_XOF", f"CM_XOF_{xof}"),
        ("APP_LOSES_A_SETTING", str(int(fails))),
        ("APP_PLAIN_MODULUS", f"{wanted['t']}u"),
    )
    return Field(directory, answer["n"], answer["primes"], flags, 1, "keys")


def aided(name: str) -> tuple[Field, dict[str, Any]]:
    """A device in the client-aided session that the simulated Cortex-M4 has held: soc_aided.py's answer, and
    what the Cortex-M4 sent as "sent"."""
    directory = BUILD / "soc" / name
    answer = answer_of("soc_aided.py", directory)
    flags = (("APP_DECRYPTS", "1"), ("APP_RESULT_BYTES", f"{answer['result_bytes']}u"))
    of = Field(directory, answer["n"], answer["primes"], flags, answer["rounds"], "aided")
    return of, answer | {"sent": (directory / "sent").read_bytes()}


def firmware(of: Field, *, engine: bool) -> Path:
    """The device's program, in software alone or with the engine."""
    shape = {"APP_N": of.n, "APP_PRIMES": of.primes, "APP_CIPHERTEXTS": of.ciphertexts}
    flags = [*of.flags, *((name, f"{value}u") for name, value in shape.items())]
    library = BUILD / "soc/library"
    library.mkdir(parents=True, exist_ok=True)
    with (library / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(
            [
                *("make", "--no-print-directory", "-C", ROOT / "ports", "picorv32", f"BUILD={library}"),
                *(f"GENERATED={of.directory}", *(["ENGINE=1"] if engine else [])),
                "SOC_FLAGS=" + " ".join(f"-D{name}={value}" for name, value in flags),
                f"PROGRAM={of.program}",
                f"OBJCACHE={environment().get('OBJCACHE', '')}",
            ],
            log=of.directory / f"firmware-{'engine' if engine else 'software'}.log",
        )
    return of.directory / ("picorv32-engine" if engine else "picorv32") / "ciphermote.bin"


def frames_file(of: Field, chip: Chip) -> Path:
    """The file for the device's frames."""
    return of.directory / f"{chip.name}.frames"


def decrypted(of: Field, chip: Chip) -> int:
    """Count the chip's ciphertexts that the owner decrypts to the device's readings."""
    right: int = owner("check", of.directory, frames=str(frames_file(of, chip)))["right"]
    return right


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run. encryptions, decryptions: cycles of each; rounds: of each answer in a session;
    phases: of all of a session's, by name; frames: all frames sent, in order; last_word: the cycle, from the
    reset on, in which their last word left; commands: code and cycle of those that the engine took."""

    code: int
    said: str
    encryptions: list[int]
    decryptions: list[int]
    rounds: list[int]
    phases: dict[str, int]
    cycles: int
    frames: bytes
    last_word: int
    commands: list[tuple[int, int]]


def simulate(of: Field, chip: Chip) -> Outcome:
    """The device's program for this chip, on it."""
    return run_program(of, firmware(of, engine=bool(chip.ENGINE)), chip)


def run_program(of: Field, program: Path, chip: Chip, record: Path | None = None) -> Outcome:
    """A program on this chip. Raises ToolError if it is not over in time, or the core traps. record: takes
    the core's ports, as rtl/harness/soc.cpp says."""
    frames = frames_file(of, chip)
    inputs = (program, of.directory / "samples", of.directory / "entropy")
    command = [build(chip), *inputs, frames, str(MOST_CYCLES), *([record] if record else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.stderr:
        raise ToolError(f"{of.name} on {chip.name}: {done.stderr.strip()} {done.stdout[-200:]}")
    lines = [line.split() for line in done.stdout.splitlines()]
    taken = {
        wanted: [int(number) for what, number in lines if what == wanted]
        for wanted in ("encryption", "decryption", "round", "cycles", "last_word")
    }
    return Outcome(
        done.returncode,
        done.stdout,
        taken["encryption"],
        taken["decryption"],
        taken["round"],
        {what: int(number) for what, number in lines if what in ("encrypt", "decrypt", "between")},
        taken["cycles"][0],
        frames.read_bytes(),
        taken["last_word"][0],
        [(int(what[8:]), int(cycle)) for what, cycle in lines if what.startswith("command_")],
    )
