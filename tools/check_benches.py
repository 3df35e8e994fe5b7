#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the benches again, and compare each figure with the committed one.

    tools/check_benches.py             those with exact figures: counted, or modelled by instruction
    tools/check_benches.py m4 avr      only these

New results go to build/bench-check. Any difference is shown and is a failure; so is a different compiler.
Wall-clock times (the demos, the evaluator), what needs a SEAL built for ARM (make bench-evaluator-armhf) and
synthesis (make rtl-synth, make bench-asic) are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
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


def figures(content: Mapping[str, Any]) -> dict[str, Any]:
    """Each figure of a file, by name: a row has one value; a line of a summary has several."""
    found = {}
    for row in content["rows"]:
        if "value" in row:
            found[row["name"]] = row["value"]
        else:
            name = ".".join(row[part] for part in ("preset", "choice", "key"))
            found |= {f"{name}.{figure}": value for figure, value in row.items() if type(value) is int}
    return found


def differences(committed: dict[str, Any], fresh: dict[str, Any]) -> Iterator[str]:
    """A line for each figure that differs, and for each that one of them lacks."""
    if committed["compiler"] != fresh["compiler"]:
        yield f"the compiler is {fresh['compiler']}, and was {committed['compiler']}"
    old, new = figures(committed), figures(fresh)
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"{name}: {old[name]:,} is committed, but the bench no longer gives it"
        elif name not in old:
            yield f"{name}: {new[name]:,} is new, and not committed"
        elif old[name] != new[name]:
            yield f"{name}: {new[name]:,}, but {old[name]:,} is committed"


def check(name: str) -> list[str]:
    """Run a bench, and return the differences."""
    fresh = FRESH / f"{name}.json"
    log = FRESH / f"{name}.log"
    command = [sys.executable, ROOT / BENCHES[name], "--results", fresh]
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        return [f"the bench failed: see {log.relative_to(ROOT)}"]
    committed = COMMITTED / f"{name}.json"
    return list(differences(json.loads(committed.read_text()), json.loads(fresh.read_text())))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Compare new runs of the benches with the committed figures."
    )
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], metavar="BENCH", help=", ".join(BENCHES))
    names = parser.parse_args().names or list(BENCHES)
    FRESH.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in names:
        print(f"[bench-check] {name} ...", flush=True)
        found = check(name)
        failed = failed or bool(found)
        print(
            "".join(f"[bench-check] {name}: {line}\n" for line in found or ["the same"]), end="", flush=True
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
