"""Static checks of the hardware: Verible's style rules, Verilator's warnings, and that Yosys' own parser
reads all of it."""

from __future__ import annotations

import sys
from pathlib import Path

from tools import BUILD, ENGINE_SOURCES, RTL, ToolError, configurations, run

# Zero-extension is what is meant where widths differ; constants of one module serve others too; a part that a
# configuration does not use stays unconnected.
ALLOWED = ("WIDTHEXPAND", "VARHIDDEN", "UNUSEDSIGNAL", "UNSIGNED")
STYLE = ",".join(
    (
        "line-length=length:120",
        "-no-tabs",
        "no-trailing-spaces",
        "-explicit-parameter-storage-type",
        "-parameter-name-style",
        "-always-comb",
        "-generate-label",
        "-unpacked-dimensions-range-ordering",
        "-explicit-function-task-parameter-type",
    )
)


def shapes() -> dict[str, dict[str, int]]:
    """The smaller named configurations, and one with every option; more units are more of the same."""
    small = {name: of for name, of in configurations().items() if of["LOG2_UNITS"] <= 3}
    return {**small, "all options": {**small["n1024_u8"], "LOG2_PAGES": 1, "LOG2_SETS": 1, "OPERANDS": 2}}


def main() -> int:
    failures = 0
    sources = [str(source) for source in ENGINE_SOURCES]
    checks: dict[str, list[str | Path]] = {
        "verible": ["verible-verilog-lint", f"--rules={STYLE}", *sources, RTL / "engine/cm_latency.svh"],
        "yosys": [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer -I{RTL / 'engine'} {' '.join(sources)}",
            "hierarchy -check -top cm_ntt_engine",
        ],
    }
    for name, parameters in shapes().items():
        values = [f"-G{key}={value}" for key, value in parameters.items()]
        warnings = ["-Wall", *(f"-Wno-{warning}" for warning in ALLOWED)]
        checks[f"verilator {name}"] = [
            *("verilator", "--lint-only", *warnings, f"-I{RTL / 'engine'}", "--top", "cm_ntt_engine"),
            *values,
            *sources,
        ]
    for name, command in checks.items():
        print(f"[lint] {name}", flush=True)
        try:
            run(command, BUILD / f"lint/{name.replace(' ', '-')}.log", cwd=RTL)
        except ToolError as error:
            failures += 1
            print(error, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
