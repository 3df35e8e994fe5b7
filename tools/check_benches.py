#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the benches again, and name each figure that became worse.

    tools/check_benches.py                    those with exact figures: counted, modelled or simulated
    tools/check_benches.py m4 avr             only these
    tools/check_benches.py --against COMMIT   the committed figures beside that commit's, and those of Python
                                              measured on both trees in turns (10 minutes)

A row says whether a lower or a higher value is better, and whether it is exact or timed (bench/rows.py).
An exact row fails if it is worse or is no longer there; a timed one if it is more than 5 % worse, as the
median of turns on both trees. Better figures are shown and are no failure, but a different compiler is. New
results go to build/bench-check. Times of other benches (the demos, the evaluator and the simulated one, the
gateway, firmware with a network), what needs a SEAL of one's own (make bench-evaluator-arm, make
bench-seal-offload) and synthesis (make rtl-synth, make bench-asic) are not run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "bench/results"
FRESH = ROOT / "build/bench-check"
BENCHES = {
    "m4": "bench/m4/run.py",
    "m4-options": "bench/m4/options.py",
    "client": "bench/m4/client.py",
    "cores": "bench/m4/cores.py",
    "compact": "bench/compact.py",
    "microbit": "bench/microbit.py",
    "avr": "bench/avr/run.py",
    "rtl": "bench/rtl/cycles.py",
    "engine": "bench/rtl/client.py",
}
TIMED = {"python": "bench/python.py"}
"""Timed on two trees in turns by --against."""
TURNS = 3
SLOWER = 1.05
"""How much worse a timed figure may be."""


@dataclass(frozen=True)
class Figure:
    """A row's figure. is_timed, more_is_better: as the row says."""

    value: float
    is_timed: bool
    more_is_better: bool

    def is_worse_than(self, old: Figure, factor: float = 1.0) -> bool:
        """Whether the figure is worse than an old one by more than a factor of at least 1."""
        if self.more_is_better:
            return self.value * factor < old.value
        return self.value > old.value * factor


def figures(content: Mapping[str, Any]) -> dict[str, Figure]:
    """Each figure of a file, by name: a row has one value; a line of a summary has several, all exact."""
    found = {}
    for row in content["rows"]:
        if "value" in row:
            is_timed, better = row.get("timed", False), row.get("better", "less")
            found[row["name"]] = Figure(row["value"], is_timed, better == "more")
        else:
            name = ".".join(row[part] for part in ("preset", "choice", "key"))
            found |= {
                f"{name}.{figure}": Figure(value, False, False)
                for figure, value in row.items()
                if type(value) is int
            }
    return found


@dataclass(frozen=True)
class Comparison:
    """faults: what became worse. others: what else differs. A line for each figure."""

    faults: list[str]
    others: list[str]


def compared(old: Mapping[str, Any], new: Mapping[str, Any]) -> Comparison:
    """Two files of exact figures; timed ones are left out."""
    faults, others = [], []
    if old["compiler"] != new["compiler"]:
        faults.append(f"the compiler is {new['compiler']}, and was {old['compiler']}")
    before, after = figures(old), figures(new)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if now is None:
            faults.append(f"{name}: {before[name].value:,} is committed, but the bench no longer gives it")
        elif was is None:
            others.append(f"{name}: {now.value:,} is new, and not committed")
        elif now.is_timed or was.value == now.value:
            continue
        elif now.is_worse_than(was):
            faults.append(f"{name}: {now.value:,} is worse than {was.value:,}, which is committed")
        else:
            others.append(f"{name}: {now.value:,} is better than {was.value:,}, which is committed")
    return Comparison(faults, others)


def slower(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each timed figure that is worse by more than SLOWER, in the median of several runs."""
    before, after = [figures(run) for run in old], [figures(run) for run in new]
    for name in before[0]:
        if any(name not in run for run in after):
            yield f"{name}: the bench no longer gives it"
            continue
        now = after[0][name]
        values = [median(run[name].value for run in runs) for runs in (before, after)]
        pair = [Figure(value, True, now.more_is_better) for value in values]
        if pair[1].is_worse_than(pair[0], SLOWER):
            yield f"{name}: {values[1]:,} is more than 5 % worse than {values[0]:,}, measured in turns"


def run(bench: str, results: Path, tree: Path, python: str = sys.executable) -> bool:
    """Run a bench of a tree. Whether it ended well; what it printed stands beside the results."""
    command = [python, tree / bench, "--results", results]
    with results.with_suffix(".log").open("w", encoding="utf-8") as output:
        done = subprocess.run(command, cwd=tree, stdout=output, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0


def check(name: str) -> Comparison:
    """Run a bench, and compare it with the committed file."""
    fresh = FRESH / f"{name}.json"
    if not run(BENCHES[name], fresh, ROOT):
        return Comparison([f"the bench failed: see {fresh.with_suffix('.log').relative_to(ROOT)}"], [])
    committed = COMMITTED / f"{name}.json"
    return compared(json.loads(committed.read_text()), json.loads(fresh.read_text()))


def check_against(commit: str) -> Iterator[str]:
    """A line for each figure that is worse than the commit's."""
    for path in sorted(COMMITTED.glob("*.json")):
        if path.stem in TIMED:
            continue
        old = subprocess.run(
            ["git", "show", f"{commit}:{path.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, check=False
        )
        if old.returncode == 0:
            found = compared(json.loads(old.stdout), json.loads(path.read_text()))
            yield from (f"{path.stem}: {line}" for line in found.faults)
    yield from _timed_against(commit)


def _timed_against(commit: str) -> Iterator[str]:
    tree = FRESH / "tree"
    subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, capture_output=True, check=False)
    subprocess.run(["git", "worktree", "add", "--detach", tree, commit], cwd=ROOT, check=True)
    try:
        subprocess.run([tree / "tools/setup.sh", "test"], cwd=tree, check=True)
        for name, bench in TIMED.items():
            old, new = [], []
            for turn in range(TURNS):
                for where, python, runs in (
                    (tree, str(tree / ".venv/bin/python"), old),
                    (ROOT, sys.executable, new),
                ):
                    results = FRESH / f"{name}-{turn}-{'old' if runs is old else 'new'}.json"
                    print(f"[bench-check] {results.stem} ...", flush=True)
                    if not run(bench, results, where, python):
                        yield f"{name}: the bench failed: see {results.with_suffix('.log')}"
                        return
                    runs.append(json.loads(results.read_text()))
            yield from (f"{name}: {line}" for line in slower(old, new))
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare new runs of the benches with the committed figures, and name what became worse."
    )
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="BENCH", help=", ".join(BENCHES))
    parser.add_argument("--against", metavar="COMMIT", help="compare with a commit's figures instead")
    options = parser.parse_args()
    FRESH.mkdir(parents=True, exist_ok=True)
    if options.against:
        worse = list(check_against(options.against))
        print("".join(f"[bench-check] {line}\n" for line in worse), end="", flush=True)
        return 1 if worse else 0
    failed = False
    for name in options.names or list(BENCHES):
        print(f"[bench-check] {name} ...", flush=True)
        found = check(name)
        failed = failed or bool(found.faults)
        for line in [*found.faults, *found.others] or ["the same"]:
            print(f"[bench-check] {name}: {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
