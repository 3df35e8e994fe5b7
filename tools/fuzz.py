#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzz every parser of bytes from outside: the C library's, its application's and the Python package's.

    tools/fuzz.py                       10 seconds each, two at a time
    tools/fuzz.py --minutes 60          an hour of each core's time, shared by all targets or those named
    tools/fuzz.py --planted             plants bugs in copies, and fails unless the targets find them;
                                        --sample: two of them, one in C and one in Python
    tools/fuzz.py --keep                adds the fewest inputs that reach new code to tests/fuzz/corpus

Inputs start from tests/fuzz/corpus and accumulate in build/fuzz/corpus. Findings go to build/fuzz/findings;
to reproduce one, give it to its target in place of a directory.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUZZ, BUILD = ROOT / "tests/fuzz", ROOT / "build/fuzz"
KEPT, PLANTED = FUZZ / "corpus", BUILD / "planted"
PYTHON = ROOT / ".venv/bin/python"
C_TARGETS = ("frames", "compact", "receipt", "decrypt", "aided", "device", "network", "accelerator")
PYTHON_TARGETS = (
    *("py-frames", "py-public-key", "py-seal", "py-label", "py-blob", "py-json", "py-model", "py-ledger"),
    *("py-inspect", "py-reply", "py-link", "py-values", "py-seeded-keys", "py-seal-chain"),
)
AT_ONCE = 2
MOST_INPUT_BYTES = 1 << 15
MOST_KEPT_BYTES = 1 << 15
"""Limit of a target's corpus in the repository; the smallest inputs are kept."""
PLANTED_SECONDS = 120
OPTIONS = (f"-max_len={MOST_INPUT_BYTES}", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1")


@dataclass(frozen=True)
class Bug:
    """A check that is removed from a file, and the target that must notice."""

    name: str
    target: str
    file: str
    check: str
    dropped: str
    sample: bool = False


BUGS = (
    Bug("length", "frames", "core/src/wire/frame.c", "length < frame->frame_bytes", "false", sample=True),
    Bug(
        *("residue", "frames", "core/src/wire/frame_reader.c"),
        *("return borrows >> 31 != 0;", "return borrows != 1u;"),
    ),
    Bug(
        *("positions", "compact", "core/src/wire/packet.c"),
        *("(uint32_t)found.first + found.count > (uint32_t)1 << found.set->log2_n", "false"),
        sample=True,
    ),
    Bug(
        *("tag", "frames", "core/src/wire/frame_reader.c"),
        *("const cm_status status = expected->end(expected, bytes);", "const cm_status status = CM_OK;"),
    ),
    Bug(
        *("attempt", "receipt", "core/src/wire/receipt.c"),
        *("!receipt_is_of(bytes, sent)", "receipt_is_of(bytes, sent) && false"),
    ),
    Bug(
        "order",
        "decrypt",
        "core/src/scheme/decryption.c",
        "number_of(decryption, component, prime, tile) != decryption->next",
        "number_of(decryption, component, prime, tile) > 999u",
    ),
    Bug(
        *("packet", "network", "ports/netfirmware/mqtt.c"),
        *("wanted > sizeof mqtt.packet - mqtt.filled", "wanted == SIZE_MAX"),
    ),
    Bug(
        *("digest", "device", "core/src/scheme/streamed_key.c"),
        *("return differs == 0;", "return differs != 1;"),
    ),
    Bug("payload", "device", "ports/app/protocol.c", "length <= capacity", "capacity > 0"),
    Bug(
        "keys",
        "py-seeded-keys",
        "python/ciphermote/formats/seeded_keys.py",
        "if count > MOST_KEYS or len(view)",
        "if False and len(view)",
    ),
    Bug(
        *("residue", "py-seal-chain", "python/ciphermote/formats/seal.py"),
        *("if (shaped >= bound).any():", "if False:"),
    ),
    Bug("count", "py-seal", "python/ciphermote/formats/seal.py", "if count > self.left:", "if False:"),
    Bug(
        *("end", "py-link", "ports/host/link.py", "if len(payload) != _END.size:", "if False:"),
        sample=True,
    ),
)


def command(target: str, programs: Path) -> list[str]:
    """The command that runs a target; programs: where the C ones are."""
    if target in PYTHON_TARGETS:
        return [str(PYTHON), str(FUZZ / "python_targets.py"), target]
    return [str(programs / target)]


def run(arguments: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        **options,  # type: ignore[call-overload]
    )


def build(targets: list[str], programs: Path, *definitions: str) -> None:
    """Compile C targets and the writers of their first inputs. SystemExit with the compiler's output."""
    if not targets:
        return
    names = [name for target in targets for name in (target, f"{target}_first_inputs")]
    configure = ["cmake", "-S", str(FUZZ), "-B", str(programs), "-G", "Ninja", "-DCMAKE_C_COMPILER=clang"]
    for step in (
        [*configure, "-DCMAKE_BUILD_TYPE=None", *definitions],
        ["ninja", "-C", str(programs), f"-j{AT_ONCE}", *names],
    ):
        done = run(step)
        if done.returncode:
            sys.exit(f"{done.stdout}\n[fuzz] error: {' '.join(step)}: exit status {done.returncode}")


def first_inputs(target: str, programs: Path) -> Path:
    """A directory with the target's first inputs, regenerated so that they follow changes of the formats."""
    folder = BUILD / "first" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    writer = command(target, programs)
    writer = [*writer, "--first-inputs"] if target in PYTHON_TARGETS else [f"{writer[0]}_first_inputs"]
    done = run([*writer, str(folder)])
    if done.returncode:
        sys.exit(f"{done.stdout}\n[fuzz] error: {target}: its first inputs could not be written")
    return folder


@dataclass(frozen=True)
class Outcome:
    target: str
    executions: int
    inputs: int
    found: bool
    log: str


def fuzz(target: str, seconds: float, programs: Path, place: Path) -> Outcome:
    """Run a target. place: for inputs and findings, and for a package with a planted bug, if any."""
    gathered, findings = place / "corpus" / target, place / "findings"
    for folder in (gathered, KEPT / target, findings):
        folder.mkdir(parents=True, exist_ok=True)
    package = place / "python/ciphermote"
    corpus = [gathered, KEPT / target, first_inputs(target, programs)]
    limit = [f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={findings}/{target}-"]
    done = run(
        [*command(target, programs), *OPTIONS, *limit, *map(str, corpus)],
        env={**os.environ, "CIPHERMOTE_PLANTED": str(package) if package.is_dir() else ""},
    )
    count = re.search(r"number_of_executed_units:\s*(\d+)", done.stdout)
    return Outcome(
        target,
        int(count[1]) if count else 0,
        len(list(gathered.iterdir())),
        done.returncode != 0,
        done.stdout,
    )


def fuzz_all(targets: list[str], seconds: float) -> bool:
    """Whether none of them found anything; prints a line for each."""
    programs = BUILD / "c"
    build([target for target in targets if target in C_TARGETS], programs)
    total = 0
    sound = True
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in pool.map(lambda target: fuzz(target, seconds, programs, BUILD), targets):
            total += outcome.executions
            said = "FOUND" if outcome.found else "ok"
            print(f"[fuzz] {outcome.target:14} {said:5} {outcome.executions:>10,} executions", flush=True)
            if outcome.found:
                sound = False
                print("\n".join(outcome.log.splitlines()[-40:]))
    print(f"[fuzz] {len(targets)} targets, {total:,} executions")
    return sound


# --- planted bugs -----------------------------------------------------------------------------------


def copy_tree() -> None:
    """A copy of the sources to plant bugs in; writes only files that differ, so that few are recompiled."""
    for top in ("core", "ports/app", "ports/host", "ports/netfirmware", "python/ciphermote"):
        for source in (ROOT / top).rglob("*"):
            copy = PLANTED / source.relative_to(ROOT)
            if source.suffix == ".pyc" or not source.is_file():
                continue
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(source.read_bytes())


def is_found(bug: Bug) -> bool:
    copy_tree()
    path = PLANTED / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.check) != 1:
        sys.exit(f"[fuzz] error: {bug.check!r} does not occur exactly once in {bug.file}: name another check")
    path.write_text(text.replace(bug.check, bug.dropped), encoding="utf-8")
    programs = PLANTED / "c"
    if bug.target in C_TARGETS:
        network = f"-DNETWORK={PLANTED}/ports/netfirmware"
        build([bug.target], programs, f"-DCORE={PLANTED}/core", f"-DAPP={PLANTED}/ports/app", network)
    start = time.monotonic()
    outcome = fuzz(bug.target, PLANTED_SECONDS, programs, PLANTED)
    took = time.monotonic() - start
    said = f"found after {took:.0f} s" if outcome.found else f"NOT found in {took:.0f} s"
    print(f"[fuzz] {bug.target:14} {bug.name}, planted in {bug.file}: {said}", flush=True)
    return outcome.found


# --- the corpus in the repository -------------------------------------------------------------------


def keep(target: str) -> None:
    """Merge new inputs into the kept corpus by what they reach; the largest beyond the limit are dropped."""
    programs = BUILD / "c"
    merged = BUILD / "merged" / target
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    sources = [folder for folder in (KEPT / target, BUILD / "corpus" / target) if folder.is_dir()]
    run([*command(target, programs), "-merge=1", *OPTIONS, str(merged), *map(str, sources)])
    inputs = sorted(merged.iterdir(), key=lambda path: path.stat().st_size)
    shutil.rmtree(KEPT / target, ignore_errors=True)
    (KEPT / target).mkdir(parents=True)
    total = 0
    for path in inputs:
        total += path.stat().st_size
        if total > MOST_KEPT_BYTES:
            break
        shutil.copy(path, KEPT / target / path.name)
    kept = len(list((KEPT / target).iterdir()))
    print(f"[fuzz] {target:14} keeps {kept} of {len(inputs)} inputs", flush=True)


def main() -> None:
    every = (*C_TARGETS, *PYTHON_TARGETS)
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(every))
    parser.add_argument("--seconds", type=float, default=10, help="for each target")
    parser.add_argument("--minutes", type=float, help="for all targets together")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--sample", action="store_true", help="of the planted bugs")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    targets = options.targets or list(every)
    if unknown := set(targets).difference(every):
        parser.error(f"there are no targets {', '.join(sorted(unknown))}")
    if options.planted:
        chosen = [bug for bug in BUGS if bug.sample or not options.sample]
        missed = [bug for bug in chosen if not is_found(bug)]
        sys.exit(1 if missed else 0)
    if options.keep:
        build([target for target in targets if target in C_TARGETS], BUILD / "c")
        for target in targets:
            keep(target)
        return
    seconds = options.seconds
    if options.minutes is not None:
        seconds = options.minutes * 60 * AT_ONCE / len(targets)
    sys.exit(0 if fuzz_all(targets, seconds) else 1)


if __name__ == "__main__":
    main()
