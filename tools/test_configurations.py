#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the C library with combinations of config.h's options: all must give the ciphertexts of vectors/.

    tools/test_configurations.py          pairwise coverage on this machine: any two values of any two options
                                          occur together in a build, in which all C tests pass
    tools/test_configurations.py --sample the same builds, but only the pinned vectors, each decrypted
    tools/test_configurations.py --all    every combination: the pinned vectors, each decrypted
    tools/test_configurations.py --qemu   some on simulated microcontrollers, with assembly and without; with
                                          --sample fewer

The vectors pin the bytes of CKKS for each XOF, precision and kind of key, and of BFV for batching and
coefficients in 16 and 32 bits, whatever the other options are (tiles are joined first). So all builds that
pass send the same bytes. What config.h refuses must be refused with its own sentences.
An object is compiled once for all combinations in which it is the same, and a program that has passed is not
run again.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from steps import REPOSITORY, StepFailed, run

OUTPUT = REPOSITORY / "build" / "configurations"
CONFIG = REPOSITORY / "core" / "include" / "ciphermote" / "config.h"
FOLDERS = ("core/include", "core/src", "tests/core", "tests")
COMPILE = (
    *("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes"),
    *("-Werror", *(f"-I{REPOSITORY / folder}" for folder in FOLDERS)),
)

Combination = Mapping[str, str]
"""The value of each option, by name."""


@dataclass(frozen=True)
class Option:
    """An option and the values to try; the first is used where it is not varied."""

    name: str
    values: tuple[str, ...]
    crossed: bool = True
    """Whether --all crosses it with the others. Pairwise coverage is enough for sizes."""


def option(name: str, *values: int | str, crossed: bool = True) -> Option:
    """Words are the ends of names: for CM_CONFIG_CRC_TABLE, WORD means CM_CONFIG_CRC_TABLE_WORD."""
    texts = (str(value) if isinstance(value, int) else f"{name}_{value}" for value in values)
    return Option(name, tuple(texts), crossed)


OPTIONS = (
    option("CM_CONFIG_NTT_ROOTS", 0, 1),
    option("CM_CONFIG_STORE_NOISE", 0, 1),
    option("CM_CONFIG_TRANSFORMED_SECRET", 0, 1),
    option("CM_CONFIG_SEAL_XOFS", 1, 0),
    option("CM_CONFIG_PRECISION_31", 1, 0),
    option("CM_CONFIG_PRECISION_63", 1, 0),
    option("CM_CONFIG_COMPLEX", 1, 0),
    option("CM_CONFIG_ENCODER_ROOTS", "FLASH", "COMPUTED"),
    option("CM_CONFIG_CRC_TABLE", "NIBBLE", "WORD"),
    option("CM_CONFIG_PRESET", "NONE", "FAST", crossed=False),
    option("CM_CONFIG_MAX_LOG2_N", 12, 10, 11, 13, 14, crossed=False),
    option("CM_CONFIG_COUNTER_RESERVE", 16, 1, 65536, crossed=False),
    option("CM_CONFIG_COMPACT_COUNTER_ONLY", 0, 1, crossed=False),
    option("CM_CONFIG_PRIME_BITS", 0, 20, 26, crossed=False),
    option("CM_CONFIG_COMPACT_SET", "ANY", "A10", crossed=False),
    option("CM_CONFIG_WIPE_STACK_BYTES", 4096, 64, crossed=False),
    option("CM_CONFIG_SMALL", 0, 1, crossed=False),
    option("CM_KEPT_NOISE", 0, 96, crossed=False),
    option("CM_TEST_LOG2_TILES", 0, 1, 2, 3, 4, crossed=False),
)
"""PRESET is among them because FAST also changes what no option does: it has a table of the slots' order.
CM_KEPT_NOISE is set only on AVR otherwise; CM_TEST_LOG2_TILES are the tiles that the tests encrypt in."""

NOT_OPTIONS = {
    "CM_CONFIG_ASM": "depends on the target: --qemu builds with it and without",
    "CM_CONFIG_ACCELERATOR": "needs an accelerator: rtl/tests/test_codesign.py builds with a simulated one",
}


@dataclass(frozen=True)
class Rule:
    """Combinations that config.h refuses. ``refuses`` takes the options' values in order."""

    options: tuple[str, ...]
    refuses: Callable[..., bool]
    sentence: str
    """Part of config.h's sentence."""


RULES = (
    Rule(
        ("CM_CONFIG_SMALL", "CM_CONFIG_SEAL_XOFS"),
        lambda small, xofs: (small, xofs) == ("1", "1"),
        "CM_CONFIG_SMALL has no room",
    ),
    Rule(
        ("CM_CONFIG_PRECISION_31", "CM_CONFIG_PRECISION_63"),
        lambda *precisions: precisions == ("0", "0"),
        "Set CM_CONFIG_PRECISION_31 or CM_CONFIG_PRECISION_63",
    ),
    Rule(
        ("CM_CONFIG_PRIME_BITS", "CM_CONFIG_COMPACT_SET"),
        lambda bits, chosen: bits == "26" and chosen.endswith("_A10"),
        "CM_CONFIG_PRIME_BITS must be the bits of",
    ),
)

SWITCHES = (
    *(chosen.name for chosen in OPTIONS if set(chosen.values) == {"0", "1"}),
    *("CM_CONFIG_ASM", "CM_CONFIG_ACCELERATOR"),
)
NAMED = ("PRESET", "ENCODER_ROOTS", "CRC_TABLE", "COMPACT_SET")
"""Options whose values are names."""

REFUSED = (
    *((f"-D{name}={word}", f"{name} must be 0 or 1") for name in SWITCHES for word in ("ON", "2")),
    *((f"-DCM_CONFIG_{name}={word}", f"CM_CONFIG_{name} must be") for name in NAMED for word in ("RAN", "0")),
    ("-DCM_CONFIG_PRESET=5", "CM_CONFIG_PRESET must be"),
    ("-DCM_CONFIG_MAX_LOG2_N=9", "CM_CONFIG_MAX_LOG2_N must be"),
    ("-DCM_CONFIG_MAX_LOG2_N=15", "CM_CONFIG_MAX_LOG2_N must be"),
    ("-DCM_CONFIG_COUNTER_RESERVE=0", "CM_CONFIG_COUNTER_RESERVE must be"),
    ("-DCM_CONFIG_COUNTER_RESERVE=65537", "CM_CONFIG_COUNTER_RESERVE must be"),
    ("-DCM_CONFIG_PRIME_BITS=27", "CM_CONFIG_PRIME_BITS must be"),
    (
        "-DCM_CONFIG_COMPACT_SET=CM_CONFIG_COMPACT_SET_C -DCM_CONFIG_MAX_LOG2_N=10",
        "CM_CONFIG_COMPACT_SET names a set of n = 2048",
    ),
    ("-DCM_CONFIG_ENCODER_ROOTS=3", "CM_CONFIG_ENCODER_ROOTS must be"),
    ("-DCM_CONFIG_CRC_TABLE=4", "CM_CONFIG_CRC_TABLE must be"),
    ("-D__AVR__ -DCM_CONFIG_NTT_ROOTS=1", "CM_CONFIG_NTT_ROOTS must be 0 on AVR"),
)
"""Other flags that config.h refuses, and part of its sentence."""

MACHINES = (
    ("m4", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY"),
    ("m0", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST"),
    ("m33", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST"),
    ("riscv32", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -DCM_TEST_FEW_RESIDUES=1"),
    ("m55", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -DCM_TEST_FEW_RESIDUES=1"),
    ("m55", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED -DCM_TEST_FEW_RESIDUES=1"),
    (
        "riscv32",
        "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED -DCM_TEST_FEW_RESIDUES=1 -march=rv32imac_zba_zbb",
    ),
    ("riscv32", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -march=rv32imac_zba_zbb"),
    ("riscv32", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY"),
    ("riscv32", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY -DCM_CONFIG_PRECISION_63=0"),
    ("m0", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY"),
    ("riscv32", "-DCM_TEST_LOG2_TILES=3 -DCM_CONFIG_PRECISION_63=0 -DCM_CONFIG_WIPE_STACK_BYTES=744"),
    ("riscv32", "-DCM_CONFIG_ASM=0 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST"),
    ("m4", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED"),
    ("m4", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST"),
    ("m4", "-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -DCM_CONFIG_NTT_ROOTS=0"),
    ("m4", "-DCM_CONFIG_STORE_NOISE=1 -DCM_CONFIG_CRC_TABLE=CM_CONFIG_CRC_TABLE_WORD"),
    ("m4", "-DCM_CONFIG_ASM=0 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -DCM_TEST_LOG2_TILES=4"),
)
"""Machines of ports/test_machines.mk and options; back-ends are used unless they are
turned off."""
MACHINES_IN_SAMPLE = 5
"""The first ones."""


# ---- combinations ----


def allowed(combination: Combination) -> bool:
    """Whether no rule refuses the options so far."""
    return not any(
        rule.refuses(*(combination[name] for name in rule.options))
        for rule in RULES
        if combination.keys() >= set(rule.options)
    )


def every_combination() -> list[Combination]:
    """All combinations of crossed options that config.h allows; other options keep their first value.

    Neighbours would fail together, so the order is shuffled, always in the same way: faults show early.
    """
    choices = [chosen.values if chosen.crossed else chosen.values[:1] for chosen in OPTIONS]
    names = [chosen.name for chosen in OPTIONS]
    every = [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]
    combinations = [combination for combination in every if allowed(combination)]
    random.Random(1).shuffle(combinations)
    return combinations


def pairwise_cover() -> Iterator[Combination]:
    """Combinations in which each allowed pair of values of two options occurs; greedy and deterministic."""
    settings = [(chosen.name, value) for chosen in OPTIONS for value in chosen.values]
    missing = {
        frozenset(pair): None
        for pair in itertools.combinations(settings, 2)
        if pair[0][0] != pair[1][0] and allowed(dict(pair))
    }
    while missing:
        combination = dict(sorted(next(iter(missing))))
        for chosen in OPTIONS:
            if chosen.name in combination:
                continue
            possible = [value for value in chosen.values if allowed({**combination, chosen.name: value})]
            combination[chosen.name] = max(
                possible,
                key=lambda value: sum(
                    frozenset((earlier, (chosen.name, value))) in missing for earlier in combination.items()
                ),
            )
        for pair in itertools.combinations(combination.items(), 2):
            missing.pop(frozenset(pair), None)
        yield combination


def flags(combination: Combination) -> list[str]:
    """The compiler's flags."""
    return [f"-D{name}={value}" for name, value in combination.items()]


# ---- what config.h refuses ----


def complaints(given: Iterable[str]) -> list[str]:
    """The sentences with which config.h stops a build with these flags."""
    done = subprocess.run(
        ["gcc", "-fsyntax-only", f"-I{CONFIG.parents[1]}", "-x", "c", *given, CONFIG],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
    )
    return re.findall(r'error: #error\s+"(.*)"', done.stderr)


def check_refusals() -> Iterator[str]:
    """A line for each disagreement between what config.h refuses and what this file expects."""
    text = CONFIG.read_text()
    unheard = set(re.findall(r'#error\s*(?:\\\s*)?"(.*)"', text))
    values = {chosen.name: chosen.values for chosen in OPTIONS}
    cases = [(shlex.split(given), part) for given, part in REFUSED]
    for rule in RULES:
        for chosen in itertools.product(*(values[name] for name in rule.options)):
            given = flags(dict(zip(rule.options, chosen, strict=True)))
            if rule.refuses(*chosen):
                cases.append((given, rule.sentence))
            elif heard := complaints(given):
                yield f"{shlex.join(given)}: refused, but no rule here expects it: {heard[0]}"
    for given, part in cases:
        heard = complaints(given)
        unheard -= set(heard)
        if not any(part in sentence for sentence in heard):
            yield f"{shlex.join(given)}: config.h does not say '{part}', but: {heard or 'nothing'}"
    yield from (f"no case here makes config.h say: {sentence}" for sentence in sorted(unheard))
    for name in re.findall(r"^#(?:ifndef|if !defined\() ?(CM_\w+)", text, re.MULTILINE):
        if name not in values and name not in NOT_OPTIONS:
            yield f"{name}: no combination tries this option; add it to OPTIONS in {__file__}"


# ---- objects ----


DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:.*\\\n)*.*)$", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Source:
    """A C file: what it includes, and hence which options can change its object."""

    path: Path

    @cached_property
    def files(self) -> dict[Path, str]:
        """The texts of the file and of every header that it may include, without comments."""
        found: dict[Path, str] = {}
        waiting = [self.path]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found[path] = COMMENT.sub(" ", path.read_text())
            folders = [path.parent, *(REPOSITORY / folder for folder in FOLDERS)]
            for name in INCLUDE.findall(found[path]):
                waiting += [(folder / name).resolve() for folder in folders if (folder / name).is_file()][:1]
        return found

    @cached_property
    def relevant(self) -> frozenset[str]:
        """The options that the text uses, directly or through macros, regardless of conditionals."""
        macros: dict[str, set[str]] = {}
        words: set[str] = set()
        for path, text in self.files.items():
            for name, body in DEFINE.findall(text):
                macros.setdefault(name, set()).update(WORD.findall(body))
            if path != CONFIG:
                words.update(WORD.findall(DEFINE.sub("", text)))
        waiting = list(words)
        while waiting:
            added = macros.get(waiting.pop(), set()) - words
            words |= added
            waiting += added
        return frozenset(words & {chosen.name for chosen in OPTIONS})

    @cached_property
    def digest(self) -> str:
        texts = (text for _, text in sorted(self.files.items()))
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    def flags(self, combination: Combination) -> list[str]:
        """Only the relevant ones: no others change the object."""
        return flags({name: value for name, value in combination.items() if name in self.relevant})

    def preprocessed(self, combination: Combination, extra: Sequence[str]) -> str:
        return run([*COMPILE, *extra, *flags(combination), "-E", "-P", self.path])


class Builder:
    """Compiles each distinct object once, links programs, and remembers those that passed."""

    def __init__(self, sources: Iterable[Path], extra: Sequence[str], *, rerun: bool) -> None:
        self.sources = [Source(path) for path in sources]
        self.extra = tuple(extra)
        self.lock = threading.Lock()
        self.objects: dict[Path, Future[None]] = {}
        self.record = OUTPUT / "passed.txt"
        self.passed = set(self.record.read_text().split()) if self.record.is_file() and not rerun else set()
        (OUTPUT / "objects").mkdir(parents=True, exist_ok=True)

    def object_of(self, source: Source, combination: Combination) -> Path:
        """Return the path of compile's object."""
        key = repr((COMPILE, self.extra, source.flags(combination), source.path.name, source.digest))
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        return OUTPUT / "objects" / f"{source.path.stem}-{name}.o"

    def compile(self, source: Source, combination: Combination) -> Path:
        """The object, compiled if necessary. Raises StepFailed."""
        path = self.object_of(source, combination)
        with self.lock:
            mine = path not in self.objects
            outcome = self.objects.setdefault(path, Future())
        if mine:
            try:
                if not path.is_file():
                    unfinished = path.with_suffix(".unfinished")
                    run(
                        [
                            *COMPILE,
                            *self.extra,
                            *source.flags(combination),
                            "-c",
                            source.path,
                            "-o",
                            unfinished,
                        ]
                    )
                    unfinished.rename(path)
                outcome.set_result(None)
            except StepFailed as failure:
                outcome.set_exception(failure)
        outcome.result()
        return path

    def test(self, combination: Combination) -> None:
        """Build the program with these options and run it. Raises StepFailed."""
        objects = [self.compile(source, combination) for source in self.sources]
        key = hashlib.sha256("".join(path.name for path in objects).encode()).hexdigest()[:32]
        if key in self.passed:
            return
        program = OUTPUT / f"program-{key}"
        run(["gcc", *objects, "-o", program])
        run([program])
        program.unlink()
        with self.lock, self.record.open("a") as record:
            self.passed.add(key)
            record.write(f"{key}\n")

    def check_relevance(self, source: Source) -> Iterator[str]:
        """A line for each option that changes the preprocessed file although it was considered irrelevant."""
        first = {chosen.name: chosen.values[0] for chosen in OPTIONS}
        expected = source.preprocessed(first, self.extra)
        for chosen in OPTIONS:
            if chosen.name not in source.relevant:
                for value in chosen.values[1:]:
                    changed = {**first, chosen.name: value}
                    if allowed(changed) and source.preprocessed(changed, self.extra) != expected:
                        yield f"{source.path}: {chosen.name} changes it, which Source.relevant missed"


# ---- running ----


@dataclass
class Progress:
    """Counts results; prints progress now and then, and a line for each failure."""

    what: str
    total: int
    done: int = 0
    failures: int = 0
    started: float = field(default_factory=time.monotonic)
    shown: float = field(default_factory=time.monotonic)

    def step(self, title: str, failure: StepFailed | None) -> None:
        self.done += 1
        if failure is not None:
            self.failures += 1
            print(f"{self.erase}FAILED {title}\n{failure.brief}", flush=True)
        now = time.monotonic()
        if now - self.shown > (1 if sys.stdout.isatty() else 30) and self.done < self.total:
            self.shown = now
            left = (now - self.started) / self.done * (self.total - self.done)
            line = (
                f"{self.done} of {self.total} {self.what}, {self.failures} failed, about {left:.0f} s to go"
            )
            print(f"{self.erase}{line}", end="" if sys.stdout.isatty() else "\n", flush=True)

    @property
    def erase(self) -> str:
        return "\r\033[K" if sys.stdout.isatty() else ""

    def finish(self) -> int:
        """Print the last line; returns the exit code."""
        seconds = time.monotonic() - self.started
        passed = self.done - self.failures
        print(f"{self.erase}{passed} of {self.total} {self.what} passed ({seconds:.0f} s)", flush=True)
        return 1 if self.failures else 0


def each(progress: Progress, jobs: int, titled: Iterator[tuple[str, Callable[[], object]]]) -> int:
    """Do them all, some at a time; returns the exit code."""
    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[object], str] = {}
        exhausted = False
        while running or not exhausted:
            for title, action in itertools.islice(titled, 2 * jobs - len(running)):
                running[pool.submit(action)] = title
            exhausted = len(running) < 2 * jobs
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                failure = future.exception()
                if failure is not None and not isinstance(failure, StepFailed):
                    raise failure
                progress.step(running.pop(future), failure)
    return progress.finish()


def test_refusals() -> int:
    faults = list(check_refusals())
    for fault in faults:
        print(f"FAILED {fault}")
    print(f"config.h refuses what it must, with its own sentences: {'no' if faults else 'yes'}", flush=True)
    return 1 if faults else 0


def core_sources() -> list[Path]:
    return sorted((REPOSITORY / "core" / "src").glob("*/*.c"))


def vector_sources() -> list[Path]:
    """The program that only runs the pinned vectors."""
    names = ("test_vectors.c", "build.c", "decrypt.c", "encrypting.c", "roots.c", "secret_key.c")
    return [REPOSITORY / "tests/configurations/main.c", *(REPOSITORY / "tests/core" / name for name in names)]


def test_host(builder: Builder, combinations: Sequence[Combination], jobs: int) -> int:
    titled = (
        (shlex.join(flags(combination)), lambda combination=combination: builder.test(combination))
        for combination in combinations
    )
    return each(Progress("combinations", len(combinations)), jobs, titled)


def test_relevance(builder: Builder, jobs: int) -> int:
    def check(source: Source) -> None:
        if faults := list(builder.check_relevance(source)):
            raise StepFailed("\n".join(faults))

    titled = ((str(source.path), lambda source=source: check(source)) for source in builder.sources)
    return each(Progress("files whose options are known", len(builder.sources)), jobs, titled)


def test_machines(machines: Sequence[tuple[str, str]], jobs: int) -> int:
    names = [str(path.relative_to(REPOSITORY).with_suffix("")) for path in vector_sources()]

    def build_and_run(machine: str, given: str) -> None:
        words = shlex.split(given)
        words += ["-DCM_CONFIG_MAX_LOG2_N=12"]
        folder = OUTPUT / f"{machine}-{hashlib.sha256(shlex.join(words).encode()).hexdigest()[:16]}"
        command = ["make", "--no-print-directory", "-C", "ports", f"test-qemu-{machine}", f"BUILD={folder}"]
        run([*command, f"CONFIG={shlex.join(words)}", f"test_names={' '.join(names)}"])

    titled = (
        (f"{machine}: {given}", lambda machine=machine, given=given: build_and_run(machine, given))
        for machine, given in machines
    )
    return each(Progress("combinations in QEMU", len(machines)), jobs, titled)


def main() -> int:
    parser = argparse.ArgumentParser(description="Test combinations of the C library's options.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="every combination, not only pairwise coverage")
    what.add_argument("--qemu", action="store_true", help="some on simulated microcontrollers")
    what.add_argument("--list", action="store_true", help="print the builds for pairwise coverage, and exit")
    parser.add_argument("--sample", action="store_true", help="pairwise coverage, pinned vectors only")
    parser.add_argument("--rerun", action="store_true", help="also run unchanged programs that have passed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    arguments = parser.parse_args()

    OUTPUT.mkdir(parents=True, exist_ok=True)
    if arguments.list:
        print("\n".join(shlex.join(flags(combination)) for combination in pairwise_cover()))
        return 0
    if arguments.qemu:
        return test_machines(MACHINES[: MACHINES_IN_SAMPLE if arguments.sample else None], arguments.jobs)
    status = test_refusals()
    if arguments.all or arguments.sample:
        sources = [*core_sources(), *vector_sources()]
        builder = Builder(sources, ("-DCM_TEST_EVERY=6",), rerun=arguments.rerun)
        if arguments.sample:
            return status | test_host(builder, list(pairwise_cover()), arguments.jobs)
        status |= test_relevance(builder, arguments.jobs)
        return status | test_host(builder, every_combination(), arguments.jobs)
    tests = sorted((REPOSITORY / "tests" / "core").glob("*.c"))
    builder = Builder([*core_sources(), *tests], ("-DCM_TEST_EVERY=3",), rerun=arguments.rerun)
    return status | test_host(builder, list(pairwise_cover()), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
