#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the C library and its tests in every configuration that must work, and run them: one line each.

    tools/test_matrix.py             all
    tools/test_matrix.py --sample    those of `make test`: each compiler, level and kind of build once
    tools/test_matrix.py gcc-O2      those named

Two configurations run at a time. A test program that has passed is not run again until it changes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from steps import REPOSITORY, StepFailed, run

MATRIX = REPOSITORY / "build" / "matrix"
COMPILERS = ("gcc", "clang")
LEVELS = ("O0", "O2", "O3", "Os")
SAMPLE = (
    *("clang-sanitizers", "gcc-O2", "clang-O3", "gcc-Os", "clang-one-file"),
    *("gcc-products", "gcc-tiny", "gcc-fast", "gcc-computed-roots"),
    *("clang-valgrind-O2", "gcc-valgrind-O3", "clang-valgrind-tiny", "gcc-valgrind-fast"),
    "gcc-valgrind-products",
    "gcc-valgrind-host-O3",
    *("clang-host-sanitizers", "gcc-host-threads"),
    *("s390x-O2", "armhf-a7"),
)
EMULATORS = {
    "s390x": ("qemu-s390x", "-L", "/usr/s390x-linux-gnu"),
    "armhf": ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf"),
}
"""Emulators of other machines, by the name of their file in cmake/. IBM Z's words are big-endian."""


@dataclass(frozen=True)
class Configuration:
    """A compiler (or an emulated machine), its flags, and the options of CMakeLists.txt."""

    compiler: str
    name: str
    flags: str
    options: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.compiler}-{self.name}"

    @property
    def folder(self) -> Path:
        return MATRIX / self.title

    @property
    def program(self) -> Path:
        if self.hosted:
            name = "host/host_threads" if self.threaded else "host/host_misuse"
        else:
            name = "constant_time/constant_time_tests" if self.watched else "core/core_tests"
        return self.folder / "tests" / name

    @property
    def watched(self) -> bool:
        """Whether the program runs under Valgrind: the constant-time test."""
        return "CIPHERMOTE_CONSTANT_TIME" in self.options

    @property
    def threaded(self) -> bool:
        """Whether ThreadSanitizer watches threads that share what the hosted library makes."""
        return "CIPHERMOTE_SANITIZE_THREADS" in self.options

    @property
    def hosted(self) -> bool:
        """Whether the hosted library is tested instead of the device's."""
        return "CIPHERMOTE_BUILD_HOST" in self.options and not self.watched

    def build_command(self) -> list[str]:
        target = ("--target", self.program.name) if self.hosted else ()
        return ["cmake", "--build", str(self.folder), "-j", "1", *target]

    def configure_command(self) -> list[str]:
        compiler = f"CMAKE_C_COMPILER={self.compiler}"
        if self.compiler in EMULATORS:
            compiler = f"CMAKE_TOOLCHAIN_FILE={REPOSITORY / 'cmake' / self.compiler}.cmake"
        return [
            *("cmake", "-S", str(REPOSITORY), "-B", str(self.folder), "-G", "Ninja"),
            *(f"-D{compiler}", "-DCMAKE_BUILD_TYPE=None"),
            *(f"-DCMAKE_C_FLAGS={self.flags}", "-DCIPHERMOTE_WERROR=ON"),
            *(f"-D{option}=ON" for option in self.options),
            *(self._cxx() if "CIPHERMOTE_BUILD_HOST" in self.options else ()),
        ]

    def _cxx(self) -> tuple[str, str]:
        compiler = {"gcc": "g++", "clang": "clang++"}[self.compiler]
        return f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={self.flags}"

    def test_command(self) -> list[str]:
        if self.watched or self.threaded:
            names = ("-R", "^host_(threads|planted_race)$") if self.threaded else ()
            return ["ctest", "--test-dir", str(self.folder), "--output-on-failure", *names]
        return [*EMULATORS.get(self.compiler, ()), str(self.program)]


def configurations() -> list[Configuration]:
    """Every configuration, the slowest first, so that none of them runs alone at the end."""
    sanitized = [Configuration(c, "sanitizers", "-O1 -g", ("CIPHERMOTE_SANITIZE",)) for c in COMPILERS]
    levels = [Configuration(c, level, f"-{level}") for level in LEVELS for c in COMPILERS]
    one_file = [Configuration(c, "one-file", "-O2", ("CIPHERMOTE_ONE_FILE",)) for c in COMPILERS]
    back_end = f"-O2 {arch_flags('recording')}"
    options = {
        "back-end": back_end,
        "no-int128": "-O2 -DCM_NO_INT128",
        "sixteenths": "-O2 -DCM_TEST_LOG2_TILES=4 -DCM_CONFIG_STORE_NOISE=1",
        "tiny": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY",
        "balanced": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED",
        "fast": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST",
        "computed-roots": "-O2 -DCM_CONFIG_ENCODER_ROOTS=CM_CONFIG_ENCODER_ROOTS_COMPUTED -DCM_NO_INT128",
        "products": f"{back_end} -DCM_CONFIG_ACCELERATOR=1",
    }
    variants = [Configuration("gcc", name, flags) for name, flags in options.items()]
    presets = ("tiny", "balanced", "fast", "sixteenths")
    emulated = [
        Configuration("s390x", "O2", "-O2"),
        *(Configuration("s390x", p, options[p]) for p in presets),
    ]
    a7 = "-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mthumb -fno-pie -no-pie"
    emulated += [
        Configuration("armhf", name, f"{flags} {a7}")
        for name, flags in (("a7", "-O2"), ("a7-fast", options["fast"]))
    ]
    host = "CIPHERMOTE_BUILD_HOST"
    hosted = [
        Configuration(c, f"host-{name}", f"{level} -g", (host, option))
        for name, level, option in (
            ("sanitizers", "-O1", "CIPHERMOTE_SANITIZE"),
            ("threads", "-O2", "CIPHERMOTE_SANITIZE_THREADS"),
        )
        for c in COMPILERS
    ]
    return sanitized + hosted + emulated + levels + one_file + variants + watched_configurations()


def arch_flags(name: str) -> str:
    """For one of the tests' own back-ends."""
    return f"-I{REPOSITORY / 'tests' / 'core'} -DCM_ARCH_HEADER='\"{name}_arch.h\"'"


def watched_configurations() -> list[Configuration]:
    """For the constant-time test, up to the largest ring degree that it encrypts with."""
    flags = {level: f"-{level}" for level in ("O2", "O3", "Os")}
    flags |= {
        "tiny": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY -DCM_CONFIG_SMALL=0 -DCM_NO_INT128",
        "balanced": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED",
        "fast": "-O2 -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST",
        "sixteenths": "-O2 -DCM_TEST_LOG2_TILES=4",
        "products": f"-O2 {arch_flags('declining')} -DCM_CONFIG_ACCELERATOR=1",
    }
    option = "CIPHERMOTE_CONSTANT_TIME"
    watched = [
        Configuration(compiler, f"valgrind-{name}", f"{flags[name]} -DCM_CONFIG_MAX_LOG2_N=12", (option,))
        for name in flags
        for compiler in COMPILERS
    ]
    host = (option, "CIPHERMOTE_BUILD_HOST")
    return watched + [
        Configuration(compiler, f"valgrind-host-{level}", f"-{level}", host)
        for level in ("O2", "O3")
        for compiler in COMPILERS
    ]


def configure_once(configuration: Configuration) -> None:
    """Let CMake write the build files, unless it already has with the same command. Raises StepFailed."""
    command = configuration.configure_command()
    stamp = configuration.folder / "configured.txt"
    if stamp.is_file() and stamp.read_text() == repr(command):
        return
    run(command)
    stamp.write_text(repr(command))


def build_and_test(configuration: Configuration, *, rerun: bool) -> str:
    """One line about the configuration's outcome. Raises StepFailed."""
    folder = configuration.folder
    started = time.monotonic()
    configure_once(configuration)
    run(configuration.build_command())
    built = time.monotonic()
    passed = folder / "passed.sha256"
    digest = hashlib.sha256(configuration.program.read_bytes()).hexdigest()
    if not rerun and passed.is_file() and passed.read_text() == digest:
        return "unchanged since it passed"
    output = run(configuration.test_command())
    passed.write_text(digest)
    summary = next((line for line in reversed(output.splitlines()) if "passed" in line), "passed")
    return f"build {built - started:5.1f} s  tests {time.monotonic() - built:5.1f} s  {summary}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Build and run the C tests in every configuration.")
    parser.add_argument("names", nargs="*", help="only these, such as gcc-O2 (default: all)")
    parser.add_argument("--sample", action="store_true", help="those that `make test` runs")
    parser.add_argument("--rerun", action="store_true", help="also run unchanged programs that have passed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    arguments = parser.parse_args()
    known = {configuration.title: configuration for configuration in configurations()}
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no configuration {unknown[0]}; there are: {', '.join(known)}")
    chosen = [known[name] for name in arguments.names or (SAMPLE if arguments.sample else known)]

    failures = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(build_and_test, c, rerun=arguments.rerun): c for c in chosen}
        for future in as_completed(running):
            title = running[future].title
            try:
                print(f"{title:<24}ok      {future.result()}", flush=True)
            except StepFailed as failure:
                failures += 1
                print(f"{title:<24}FAILED\n{failure}", flush=True)
    print(f"C matrix: {len(chosen) - failures} of {len(chosen)} configurations passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
