# SPDX-License-Identifier: Apache-2.0
"""Bits that the memories of a client engine hold, from its elaborated design: prints them as JSON.

Which macros they take is the flow's choice (client_asic.py).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from client import Shape

from tools import BUILD, CLIENT_INCLUDES, CLIENT_SOURCES, ENGINE_SOURCES, RTL, ToolError, run


def modules_of(
    top: str, name: str, sources: Sequence[Path], includes: Sequence[str], parameters: Mapping[str, int]
) -> tuple[dict[str, Any], str]:
    """The modules of an elaborated design, and the name of the top one. name: of its parameters."""
    netlist = BUILD / f"memory/{top}-{name}.json"
    netlist.parent.mkdir(parents=True, exist_ok=True)
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    run(
        [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer {' '.join(includes)} {' '.join(map(str, sources))}",
            f"chparam {values} {top}",
            f"hierarchy -check -top {top}",
            "proc",
            f"write_json {netlist}",
        ],
        netlist.with_suffix(".log"),
    )
    modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]
    (found,) = (module for module, of in modules.items() if int(of["attributes"].get("top", "0"), 2))
    return modules, found


def memories_of(modules: Mapping[str, Any], top: str) -> Counter[tuple[int, int]]:
    """Count a design's memories by number of words and width."""

    def of(name: str) -> Counter[tuple[int, int]]:
        module = modules[name]
        found = Counter((memory["size"], memory["width"]) for memory in module.get("memories", {}).values())
        for cell in module["cells"].values():
            if cell["type"] in modules:
                found += of(cell["type"])
        return found

    return of(top)


def bits(shape: Shape) -> dict[str, int]:
    sources = [*ENGINE_SOURCES, *CLIENT_SOURCES]
    found = memories_of(*modules_of("cm_client_engine", shape.name, sources, CLIENT_INCLUDES, vars(shape)))
    return {"used": sum(count * words * width for (words, width), count in found.items())}


def main() -> int:
    try:
        print(json.dumps(bits(Shape())))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
