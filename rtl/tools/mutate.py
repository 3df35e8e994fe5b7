# SPDX-License-Identifier: Apache-2.0
"""Plants faults in copies of the hardware, one at a time, and runs the test or proof that must find each.

    build/rtl-venv/bin/python rtl/tools/mutate.py               all faults of rtl/mutations.toml
    build/rtl-venv/bin/python rtl/tools/mutate.py WORD ...      those whose name contains one of the words

A fault is found if the check fails because of what the hardware does, not because the copy does not build.
Each check is first run on the hardware as it is, which must pass. Exits with 1 unless every fault is found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import BUILD, ROOT, RTL, VENV

LIST = RTL / "mutations.toml"
COPIES = BUILD / "mutation"
WORKERS = 2
BLAMES_THE_HARDWARE = re.compile(
    r"Failed \d+ of \d+ tests|Assert failed in|the hardware differs from the model"
    r"|test_client_\w+\.py:\d+: AssertionError|AssertionError: a command is not taken"
    r"|a crossing of clocks is not synchronized"
)


@dataclass(frozen=True)
class Mutation:
    """A fault: in `file`, `find`, which occurs once, becomes `replace`. `check` is a proof's name, or a test
    of rtl/tests, of which `only` selects one cocotb test."""

    name: str
    file: str
    find: str
    replace: str
    why: str
    check: str
    only: str = ""


def mutations() -> list[Mutation]:
    content = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Mutation(name=name, **of) for name, of in content.items()]


def copy_of_hardware(name: str) -> Path:
    """A directory with a copy of rtl/ in it, and the rest by reference."""
    directory = COPIES / name
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(RTL, directory / "rtl", ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "build").mkdir()
    (directory / "build" / VENV.name).symlink_to(VENV.resolve())
    for shared in ("core", "tests", "vectors", "tools", ".venv"):
        (directory / shared).symlink_to(ROOT / shared)
    return directory


def passes(directory: Path, check: str, only: str) -> tuple[bool, str]:
    """Whether a check passes on a copy, and what it says."""
    python = VENV / "bin/python"
    rtl = directory / "rtl"
    if ".py" in check:
        command = [python, "-m", "pytest", "-x", "-p", "no:cacheprovider", check]
        folder = rtl / "tests"
    else:
        command, folder = [python, "tools/prove.py", check], rtl
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "CIPHERMOTE_RTL_ONLY": only, "TMPDIR": str(directory)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    said = done.stdout + done.stderr
    logs = [log.read_text(encoding="utf-8") for log in directory.glob("build/rtl/formal/*/sby.log")]
    return done.returncode == 0, "\n".join([said, *logs])


def fault_in(mutation: Mutation) -> str:
    """Explain why a planted fault was not found properly; empty if it was."""
    directory = copy_of_hardware(mutation.name)
    path = directory / "rtl" / mutation.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutation.find) != 1:
        return f"its text occurs {text.count(mutation.find)} times in {mutation.file}, not once"
    path.write_text(text.replace(mutation.find, mutation.replace), encoding="utf-8")
    passed, said = passes(directory, mutation.check, mutation.only)
    if passed:
        return f"NOT FOUND by {mutation.check} {mutation.only}"
    if not BLAMES_THE_HARDWARE.search(said):
        return f"{mutation.check} fails for another reason:\n{said[-1500:]}"
    shutil.rmtree(directory)
    return ""


def baseline_of(check: tuple[str, str]) -> str:
    """Explain why the check fails on the unchanged hardware; empty if it passes."""
    directory = copy_of_hardware(f"none-{abs(hash(check))}")
    passed, said = passes(directory, *check)
    shutil.rmtree(directory)
    return "" if passed else f"fails on the hardware as it is:\n{said[-1500:]}"


def main() -> int:
    chosen = [m for m in mutations() if not sys.argv[1:] or any(word in m.name for word in sys.argv[1:])]
    if not chosen:
        names = ", ".join(m.name for m in mutations())
        words = " or ".join(sys.argv[1:])
        print(f"No fault of {LIST.name} has {words} in its name: {names}.", file=sys.stderr)
        return 2
    if not VENV.exists():
        print("The hardware tools are missing: run tools/setup.sh rtl.", file=sys.stderr)
        return 2
    checks = sorted({(m.check, m.only) for m in chosen})
    start = time.monotonic()
    bad = 0
    with ThreadPoolExecutor(WORKERS) as pool:
        for check, wrong in zip(checks, pool.map(baseline_of, checks), strict=True):
            bad += bool(wrong)
            print(f"[check] {' '.join(check).strip()}: {wrong or 'passes'}", flush=True)
        for mutation, wrong in zip(chosen, pool.map(fault_in, chosen), strict=True):
            bad += bool(wrong)
            print(f"[fault] {mutation.name}: {wrong or 'found'}", flush=True)
    print(f"{len(chosen)} faults, {bad} problems, {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
