# SPDX-License-Identifier: Apache-2.0
"""Drives a simulated client engine (rtl/client) as firmware would: settings, keys, commands, streams."""

from __future__ import annotations

import fcntl
import random
import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from tools import BUILD, CLIENT_INCLUDES, CLIENT_SOURCES, ENGINE_SOURCES, RTL, run

MAP = RTL / "client/cm_client_map.svh"
HARNESS = RTL / "harness/client.cpp"
STATE = RTL / "harness/state.vlt"
TOP = "cm_client_engine"
SILICON = 64
"""MULTIPLIER_WIDTH of a design for standard cells."""
INPUTS = (
    *("rst_i", "abort_i", "write_i", "write_address_i", "write_data_i", "command_i", "command_code_i"),
    *("entropy_valid_i", "entropy_i", "value_valid_i", "value_i", "value_last_i", "frame_ready_i"),
    *("read_valid_i", "read_i", "result_ready_i"),
)
"""The engine's inputs, in the order of its ports."""
START_WORDS = 1024
"""Random words that are tested before any is used."""
LARGEST_FLOAT, LARGEST_INTEGER = 0x7F7FFFFF, 1 << 31
"""As MAP_LARGEST: any number is within it."""
MOST_CYCLES = 1_000_000
"""No command takes longer; a job that hangs is stopped here."""


@cache
def constants() -> dict[str, int]:
    """The settings, commands and faults that the hardware names, by name."""
    text = re.sub(r"//.*", "", MAP.read_text(encoding="utf-8"))
    bases = {"d": 10, "h": 16}
    found = re.findall(r"(\w+) = \d+'([dh])(\w+)[,;]", text)
    return {name: int(digits, bases[base]) for name, base, digits in found}


def montgomery_r(width: int, log2_n: int) -> int:
    """R of cm_montgomery_multiply for operands of so many bits."""
    words = -(-width // (log2_n + 1))
    return 1 << (words * -(-width // words))


def bit_reverse(i: int, bits: int) -> int:
    return int(f"{i:0{bits}b}"[::-1], 2)


@dataclass(frozen=True)
class Shape:
    """Parameters of cm_client_engine."""

    LOG2_N: int = 12
    WIDTH: int = 27
    LOG2_UNITS: int = 3
    PRIMES: int = 3
    DEEP: int = 1
    MULTIPLIER_WIDTH: int = 24

    @property
    def name(self) -> str:
        pipeline = "silicon" if self.MULTIPLIER_WIDTH == SILICON else f"d{self.DEEP}"
        return f"n{1 << self.LOG2_N}-w{self.WIDTH}-u{1 << self.LOG2_UNITS}-p{self.PRIMES}-{pipeline}"


@cache
def build(shape: Shape, *, state: bool = False, waves: bool = False) -> Path:
    """The program that simulates this shape; state: one that can say what every variable holds; waves: one
    that can write a VCD file."""
    suffix = ("-state" if state else "") + ("-waves" if waves else "")
    directory = BUILD / "verilated" / f"client-{shape.name}{suffix}"
    flags = [*([STATE] if state else []), *(["--trace"] if waves else [])]
    defines = (" -DSTATE" if state else "") + (" -DWAVES" if waves else "")
    # With every variable in sight, optimizing takes minutes and saves little.
    level = "-O0" if state else "-O1"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run at the same time share it
        run(
            [
                *("verilator", "--cc", "--exe", "--build", "-j", "1", "-O3", "-Wno-fatal", "-Wno-lint"),
                *("--top", TOP, "--Mdir", directory, *CLIENT_INCLUDES),
                *(f"-G{key}={value}" for key, value in vars(shape).items()),
                *flags,
                *("-CFLAGS", f"{level} -std=c++17{defines}"),
                *("-MAKEFLAGS", f"VM_PARALLEL_BUILDS=0 OPT_FAST={level}"),
                *(*ENGINE_SOURCES, *CLIENT_SOURCES, HARNESS),
            ],
            log=directory.with_suffix(".log"),
        )
    return directory / f"V{TOP}"


@dataclass(frozen=True)
class Key:
    """The keys of a device that the engine needs, as in a case (client_cases.py)."""

    params_id: int
    key_id: int
    primes: Sequence[int]
    roots: Sequence[int]
    """The primitive 2n-th roots of unity of the transforms, by prime."""
    device_secret: bytes
    ternary: bytes
    """The secret key, packed: four coefficients a byte, each as its value plus one."""
    public: Sequence[Sequence[Sequence[int]]] = ()
    """Residues of the public key by prime and component, in NTT form."""

    @classmethod
    def of(cls, case: Mapping[str, Any]) -> Key:
        """A case's."""
        return cls(
            case["params_id"],
            case["key_id"],
            case["primes"],
            case["roots"],
            bytes.fromhex(case["device_secret"]),
            bytes.fromhex(case["ternary"]),
            case["public"],
        )


@dataclass
class Outcome:
    """The outcome of a run of the engine."""

    frames: list[bytes]
    """By ciphertext."""
    taken: list[int]
    """The cycle in which each command was taken."""
    last_words: list[int]
    """The cycle of each ciphertext's last word."""
    fault: int
    """At the end."""
    idle: bool
    results: list[list[int]]
    """Words of the messages, by ciphertext that was decrypted."""
    words: int = 0
    faults: list[int] = field(default_factory=list)
    """Those at the end of a run, in order."""
    first_words: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    """Words of a message that did not end."""
    state: dict[str, str] = field(default_factory=dict)
    """A hash of each variable, when the script asked last."""
    inputs: list[list[int]] = field(default_factory=list)
    """By cycle, if they were recorded: those of INPUTS."""


class Client:
    """A script for one simulation: settings and commands are kept until run()."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.script: list[str] = []
        self.options = 0
        """More bits of MAP_SHAPE, for settings that follow."""
        self.policy = constants()["DECRYPT_ALWAYS"] | 1 << constants()["POLICY_ENCRYPT"]
        """What the secret key may do, for load()."""
        self.has_waves = False
        self.start_up()

    def start_up(self) -> None:
        """The random words that the first command behind a reset, or a fault that wipes keys, has tested."""
        self.entropy(random.Random(800_90).randbytes(4 * START_WORDS))

    def set(self, name: str, value: int, place: int = 0, words: int = 1) -> None:
        """Write a global setting of one or more words."""
        for i in range(words):
            self._write(
                constants()["MAP_GLOBAL"] << 8, constants()[name] + place + i, value >> 32 * i & 0xFFFFFFFF
            )

    def _write(self, base: int, at: int, value: int) -> None:
        self.script.append(f"set {base + at} {value}")

    def set_prime(self, prime: int, name: str, value: int, word: int = 0) -> None:
        self._write(constants()["MAP_PRIMES"] << 8, prime * 8 + constants()[name] + word, value)

    def wait_for_wipe(self) -> None:
        """After a reset: until every memory is cleared."""
        self.script.append(f"cycles {(self.shape.PRIMES << (self.shape.LOG2_N - 1)) + 16}")

    def load(self, key: Key, *, secret: bool = True, fixes: bool = True, makes_tables: bool = False) -> None:
        """The tables and the keys; the secret key is transformed. fixes: with the policy and the device's
        secret, which stay until they are wiped. makes_tables: the engine makes the tables from two words of
        each; otherwise all are entered."""
        log2_n, n = self.shape.LOG2_N, 1 << self.shape.LOG2_N
        r = montgomery_r(self.shape.WIDTH, log2_n)
        self.set("MAP_PARAMS", key.params_id)
        self.set("MAP_KEY_ID", key.key_id, words=2)
        if fixes:
            self.set("MAP_POLICY", self.policy)
            self.set("MAP_DEVICE_SECRET", int.from_bytes(key.device_secret, "little"), words=8)
        self.set("MAP_SHAPE", len(key.primes) - 1 | self.options)
        for i, (q, psi) in enumerate(zip(key.primes, key.roots, strict=True)):
            self.set_prime(i, "MAP_PRIME_Q", q)
            self.set_prime(i, "MAP_PRIME_KEY_FACTOR", -r * r % q)
            powers = [r % q]
            for _ in range(n - 1):
                powers.append(powers[-1] * psi % q)
            for j in (0, n // 2) if makes_tables else range(n):
                if makes_tables or j == 0:
                    self.set("MAP_TABLE_PLACE", i << 16 | j)
                self.set("MAP_TABLE_DATA", powers[bit_reverse(j, log2_n)])
        if makes_tables:
            self.script.append("cycles 4")
            self.command("COMMAND_TABLES")
            self.run()
        for i, components in enumerate(key.public):
            for component, residues in enumerate(components):
                self.set("MAP_TABLE_PLACE", i << 16 | component << 24)
                for x in residues:
                    self.set("MAP_PUBLIC_KEY_DATA", x * r % key.primes[i])
        if not secret:
            return
        self.set("MAP_TABLE_PLACE", 0)
        for (trits,) in struct.iter_unpack("<H", key.ternary):
            self.set("MAP_TRITS", trits)
        self.script.append("cycles 4")
        self.command("COMMAND_LOAD_KEY")
        self.run()

    def fractions(self, key: Key) -> None:
        """Set the fractions with which BFV decrypts. A key that decrypts only tagged frames needs them
        first."""
        modulus = prod(key.primes)
        for i, q in enumerate(key.primes):
            fraction = (pow(modulus // q, -1, q) << 64) // q
            for word in range(2):
                self.set_prime(i, "MAP_PRIME_FRACTION", fraction >> 32 * word & 0xFFFFFFFF, word)

    def message_space(
        self, key: Key, t: int, *, signed: bool, coefficients: bool, fractions: bool = True
    ) -> None:
        """BFV's plain modulus, and the form of the ciphertexts."""
        log2_n = self.shape.LOG2_N
        r = montgomery_r(32, log2_n)
        modulus = prod(key.primes)
        half = (t + 1) // 2
        self.set("MAP_SHAPE", len(key.primes) - 1 | signed << 8 | coefficients << 9 | self.options)
        self.set("MAP_SCALE", t, words=2)
        self.set("MAP_T", t)
        self.set("MAP_T_FACTOR", modulus % t)
        self.set("MAP_T_RATIO", (modulus % t << 32) // t)
        self.set("MAP_T_HALF", half)
        self.set("MAP_LARGEST", t - 1)
        for i, q in enumerate(key.primes):
            inverse = pow(t, -1, q)
            self.set_prime(i, "MAP_PRIME_FACTOR", -inverse * r % q)
            self.set_prime(i, "MAP_PRIME_OFFSET", half * inverse % q)
        if fractions:
            self.fractions(key)

    def ckks_space(self, key: Key, of: dict[str, Any], *, results: bool = False) -> None:
        """CKKS's scale, limit and slots, as a case has them, and the numbers that go in, or come out."""
        r = montgomery_r(32, self.shape.LOG2_N)
        is_float, exponent = (
            (of["out_float"], of["out_exponent"]) if results else (of["float"], of["exponent"])
        )
        shape = 1 << 16 | of["complex"] << 17 | is_float << 18
        self.set("MAP_SHAPE", len(key.primes) - 1 | shape | self.options)
        self.set("MAP_CKKS", exponent & 0x3FF | of["log2_scale"] << 16 | of["limit"] << 24)
        self.set("MAP_LARGEST", LARGEST_FLOAT if is_float else LARGEST_INTEGER)
        for i, q in enumerate(key.primes):
            self.set_prime(i, "MAP_PRIME_FACTOR", r % q)
            self.set_prime(i, "MAP_PRIME_OFFSET", -(1 << 31) % q)

    def counter(self, first: int, end: int = (1 << 64) - 1) -> None:
        self.set("MAP_COUNTER", first, words=2)
        self.set("MAP_COUNTER_END", end, words=2)

    def tags(self, key: bytes, device: int, epoch: int, window: int) -> None:
        """Frames of version 2: the key is K and r, of the results that are decrypted as well."""
        self.set("MAP_TAG_KEY", int.from_bytes(key, "little"), words=12)
        self.set("MAP_RESULT_KEY", int.from_bytes(key, "little"), words=12)
        self.set("MAP_DEVICE", device)
        self.set("MAP_EPOCH", epoch)
        self.set("MAP_WINDOW", window, words=2)

    def answer(self, counter: int, random_bytes: bytes) -> None:
        """The attempt that tagged frames must answer."""
        self.set("MAP_ANSWER_COUNTER", counter, words=2)
        self.set("MAP_ANSWER_RANDOM", int.from_bytes(random_bytes, "little"), words=2)

    def entropy(self, draw: bytes) -> None:
        words = struct.unpack(f"<{len(draw) // 4}I", draw)
        self.script.append(f"entropy {len(words)} " + " ".join(map(str, words)))

    def values(self, numbers: Sequence[int], *, last: bool = True) -> None:
        words = [x & 0xFFFFFFFF for x in numbers]
        self.script.append(f"values {len(words)} {int(last)} " + " ".join(map(str, words)))

    def read(self, frames: bytes) -> None:
        """Frames to decrypt."""
        words = struct.unpack(f"<{len(frames) // 4}I", frames)
        self.script.append(f"read {len(words)} " + " ".join(map(str, words)))

    def stall(self, enter: int, leave: int, seed: int) -> None:
        """Set in how many of 256 cycles the streams in and out pause."""
        self.script.append(f"stall {enter} {leave} {seed}")

    def waves(self, path: Path) -> None:
        """Every signal from here on, as a VCD file."""
        self.has_waves = True
        self.script.append(f"waves {path.resolve()}")

    def command(self, name: str) -> None:
        self.script.append(f"command {constants()[name]}")

    def run(self, cycles: int = MOST_CYCLES) -> None:
        """Run until nothing is left to do."""
        self.script.append(f"run {cycles}")

    def simulate(self, *, state: bool = False, record: bool = False) -> Outcome:
        """Run the whole script. state: the script asks for it. record: the inputs of every cycle, too."""
        done = subprocess.run(
            [build(self.shape, state=state, waves=self.has_waves), *(["record"] if record else [])],
            input="\n".join([*self.script, "quit"]) + "\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        outcome = Outcome([], [], [], 0, True, [])
        words, message = bytearray(), []
        for line in done.stdout.splitlines():
            what, cycle, *rest = line.split()
            if what == "taken":
                outcome.taken.append(int(cycle))
            elif what == "frame":
                if not words:
                    outcome.first_words.append(int(cycle))
                words += int(rest[0], 16).to_bytes(4, "little")
                outcome.words += 1
                if rest[1] == "1":
                    outcome.frames.append(bytes(words))
                    outcome.last_words.append(int(cycle))
                    words.clear()
            elif what == "in":
                outcome.inputs.append([int(value, 16) for value in rest])
            elif what == "state":
                outcome.state[rest[0]] = rest[1]
            elif what == "result":
                message.append(int(rest[0]))
                if rest[1] == "1":
                    outcome.results.append(message)
                    outcome.last_words.append(int(cycle))
                    message = []
            elif what == "reset":
                words.clear()
                message = []
            else:
                outcome.fault, outcome.idle = int(rest[0]), rest[1] == "1"
                outcome.faults += [outcome.fault] if outcome.fault else []
        outcome.rest = message
        return outcome
