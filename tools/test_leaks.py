#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plant leaks in a copy of the C library and of the hosted library's owner, one at a time: the constant-time
test must find each.

    tools/test_leaks.py             all of tests/constant_time/leaks.toml: a branch and an address each
    tools/test_leaks.py --sample    those that `make test` plants
    tools/test_leaks.py --table     none: only whether the table keeps up with the library
    tools/test_leaks.py flood       those whose call, file or secret contains this word

A leak counts as found if Memcheck reports exactly its line, and the behaviour fails for no other reason. The
table must keep up with the library: a place that no longer exists, a behaviour that finds no leak, and a
public function that is neither in the table nor in its list of functions without secrets are failures.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import test_matrix

REPOSITORY = Path(__file__).resolve().parent.parent
OUTPUT = REPOSITORY / "build" / "leaks"
TABLE = REPOSITORY / "tests" / "constant_time" / "leaks.toml"
HEADERS = REPOSITORY / "core" / "include" / "ciphermote"
OWNER_HEADER = REPOSITORY / "host" / "include" / "ciphermote" / "owner.h"
SUPPRESSIONS = REPOSITORY / "tests" / "constant_time" / "valgrind.supp"
COPIED = ("CMakeLists.txt", "cmake", "core", "host", "tests/core", "tests/constant_time")
PLANTED = "planted.c"
"""Its behaviours watch the test's own code."""
PROGRAM = Path("tests") / "constant_time" / "constant_time_tests"
MEMCHECK = ("valgrind", "--quiet", "--expensive-definedness-checks=yes", f"--suppressions={SUPPRESSIONS}")
TIMEOUT_SECONDS = 600

MACROS = """\
static volatile unsigned planted_seen;
static const volatile unsigned char planted_table[256] = {0};
#define PLANTED_BRANCH(x) do { if ((x) & 1u) { planted_seen = 1; } } while (0)
#define PLANTED_ADDRESS(x) (planted_seen = planted_table[(unsigned char)(x)])
"""


class Failure(Exception):
    """A leak was not found, or could not be planted: one sentence for the user."""


@dataclass(frozen=True)
class Leak:
    """An entry of the table, where its fields are explained."""

    call: str
    behaviour: str
    file: str
    after: str
    secret: str
    build: str = ""
    sample: bool = False
    library: str = "core"

    @property
    def path(self) -> Path:
        return Path(self.library) / self.file

    def planted(self, source: str, kind: str) -> tuple[str, int]:
        """The source with the leak in it, and the line where it is. Raises Failure."""
        found = source.count(self.after)
        if found != 1:
            raise Failure(f"{self.path} has `{self.after}` {found} times, not once: fix {TABLE.name}")
        before, behind = source.split(self.after)
        before = f"{MACROS}{before}{self.after}"
        return f"{before} PLANTED_{kind.upper()}({self.secret});{behind}", before.count("\n") + 1


def read_table() -> tuple[list[Leak], set[str]]:
    table = tomllib.loads(TABLE.read_text())
    return [Leak(**entry) for entry in table["leak"]], set(table["without_secrets"])


def public_functions() -> set[str]:
    """The functions that the C library's public headers declare, without macros and callbacks; and the
    owner's functions and classes."""
    text = "\n".join(path.read_text() for path in HEADERS.glob("*.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    owner = OWNER_HEADER.read_text()
    return {
        *re.findall(r"^[A-Za-z][\w \t*]*?\b(cm_\w+)\(", text, flags=re.MULTILINE),
        *re.findall(r"^[A-Za-z][\w:<>]* (\w+)\(", owner, flags=re.MULTILINE),
        *re.findall(r"^class (\w+)$", owner, flags=re.MULTILINE),
    }


def behaviours() -> set[str]:
    """The behaviours of the constant-time test."""
    sources = (path for pattern in ("*.c", "*/*.cpp") for path in TABLE.parent.glob(pattern))
    text = "\n".join(path.read_text() for path in sources if path.name != PLANTED)
    return set(re.findall(r"^[^#\n]*\bBEHAVIOUR_OF\((\w+)\)", text, flags=re.MULTILINE))


def check_table(leaks: Sequence[Leak], without_secrets: set[str]) -> list[str]:
    """Disagreements of the table with the library and its test."""
    functions = public_functions()
    calls = {leak.call for leak in leaks}
    named = {leak.behaviour for leak in leaks}
    neither = functions - calls - without_secrets
    return [
        *(f"{name} has no leak: plant one, or list it under without_secrets" for name in neither),
        *(f"{name} is not a public function" for name in (calls | without_secrets) - functions),
        *(f"{name} has a leak, but is listed under without_secrets" for name in calls & without_secrets),
        *(f"no leak is planted for {name}" for name in behaviours() - named),
        *(f"there is no behaviour {name}" for name in named - behaviours()),
        *(str(failure) for leak in leaks if (failure := misplaced(leak))),
    ]


def misplaced(leak: Leak) -> Failure | None:
    """Why the leak cannot be planted, or nothing."""
    source = REPOSITORY / leak.path
    if not source.exists():
        return Failure(f"there is no {leak.path}: fix {TABLE.name}")
    try:
        leak.planted(source.read_text(), "branch")
    except Failure as failure:
        return failure
    return None


def run(command: Sequence[str | Path]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


class Tree:
    """A copy of the library and its constant-time test, built."""

    def __init__(self, configuration: test_matrix.Configuration, name: str) -> None:
        self.source = OUTPUT / name / "source"
        self.build = OUTPUT / name / "build"
        self.copy()
        self.make(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", *self.options(configuration)])
        self.make(["cmake", "--build", self.build, "-j", "1"])

    @staticmethod
    def options(configuration: test_matrix.Configuration) -> list[str]:
        """The matrix's flags, without its folders, and with warnings not being errors."""
        words = configuration.configure_command()
        return [word for word in words if word.startswith("-D") and "WERROR" not in word]

    def copy(self) -> None:
        """Unchanged files keep their time stamps, so that they are not recompiled."""
        for path in self.originals():
            copy = self.source / path.relative_to(REPOSITORY)
            if not copy.is_file() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())

    @staticmethod
    def originals() -> Iterable[Path]:
        for name in COPIED:
            path = REPOSITORY / name
            yield from [path] if path.is_file() else (entry for entry in path.rglob("*") if entry.is_file())

    @staticmethod
    def make(command: Sequence[str | Path]) -> None:
        status, output = run(command)
        if status != 0:
            raise Failure(f"{' '.join(map(str, command))}: exit status {status}\n{output}")

    def behave(self, *behaviours: str) -> tuple[int, str]:
        return run([*MEMCHECK, self.build / PROGRAM, *behaviours])

    def check_unchanged(self, behaviours: set[str]) -> None:
        """Leaks show nothing if the unchanged library fails."""
        status, output = self.behave(*sorted(behaviours))
        if status != 0:
            raise Failure(f"the constant-time test fails even without a leak\n{output}")

    def plant(self, leak: Leak, kind: str) -> None:
        """Raises Failure unless the leak is found."""
        path = self.source / leak.path
        original = path.read_text()
        changed, line = leak.planted(original, kind)
        path.write_text(changed)
        try:
            self.make(["cmake", "--build", self.build, "-j", "1"])
            self.check_found(leak, f"{path.name}:{line})")
        finally:
            path.write_text(original)

    def check_found(self, leak: Leak, place: str) -> None:
        status, output = self.behave(leak.behaviour)
        reasons = set(re.findall(r"^FAILED .*\n.*?: (.*)$", output, flags=re.MULTILINE))
        if place not in output or status == 0:
            raise Failure(f"{leak.behaviour} does not find it")
        if reasons != {"new_errors() == 0"}:
            raise Failure(f"{leak.behaviour} fails for another reason: {', '.join(sorted(reasons))}")


def plant_all(configuration: test_matrix.Configuration, name: str, leaks: Sequence[Leak]) -> list[str]:
    """A line for each leak that is not found, each in a tree of its own."""
    try:
        tree = Tree(configuration, name)
        tree.check_unchanged({leak.behaviour for leak in leaks})
    except Failure as failure:
        return [f"{name}: {failure}"]
    survivors = []
    for leak in leaks:
        for kind in ("branch", "address"):
            try:
                tree.plant(leak, kind)
            except Failure as failure:
                survivors.append(f"{kind} by {leak.secret} in {leak.file} ({name}): {failure}")
    return survivors


def jobs_for(leaks: Sequence[Leak], compiler: str, level: str, trees: int) -> list[Callable[[], list[str]]]:
    """The leaks for each build; those of the level are dealt to several trees."""
    known = {configuration.title: configuration for configuration in test_matrix.watched_configurations()}
    jobs = []
    for build in dict.fromkeys(leak.build for leak in leaks):
        configuration = known[f"{compiler}-valgrind-{build or level}"]
        chosen = [leak for leak in leaks if leak.build == build]
        count = 1 if build else trees
        for i in range(count):
            name = f"{compiler}-{build or level}-{i}"
            if chosen[i::count]:
                jobs.append(partial(plant_all, configuration, name, chosen[i::count]))
    return jobs


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant leaks: the constant-time test must find each.")
    parser.add_argument("words", nargs="*", help="only leaks with one of these words in call, file or secret")
    parser.add_argument("--sample", action="store_true", help="only those that `make test` plants")
    parser.add_argument("--table", action="store_true", help="check the table, and plant nothing")
    parser.add_argument("--compiler", choices=test_matrix.COMPILERS, default="gcc")
    parser.add_argument("--level", choices=("O2", "O3", "Os"), default="O2")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many trees at a time")
    arguments = parser.parse_args()

    leaks, without_secrets = read_table()
    failures = check_table(leaks, without_secrets)
    if arguments.table:
        print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
        return 1 if failures else 0
    chosen = [leak for leak in leaks if leak.sample or not arguments.sample]
    if arguments.words:
        chosen = [k for k in chosen if any(w in f"{k.call} {k.file} {k.secret}" for w in arguments.words)]
    jobs = jobs_for(chosen, arguments.compiler, arguments.level, 1 if arguments.sample else arguments.jobs)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done in as_completed([pool.submit(job) for job in jobs]):
            failures += done.result()
    for failure in failures:
        print(f"FAILED {failure}", flush=True)
    planted = 2 * len(chosen)
    print(f"planted leaks: {planted}, {arguments.compiler} -{arguments.level}; failures: {len(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
