# SPDX-License-Identifier: Apache-2.0
"""Bits that the memories of a client engine hold, from its elaborated design: prints them as JSON.

Which macros they take is the flow's choice (client_asic.py).
"""

from __future__ import annotations

import json
import sys
from collections import Counter

from client import Shape

from tools import BUILD, CLIENT_INCLUDES, CLIENT_SOURCES, ENGINE_SOURCES, RTL, ToolError, run


def memories(shape: Shape) -> Counter[tuple[int, int]]:
    """How many memories there are of each number of words and width."""
    netlist = BUILD / f"memory/{shape.name}.json"
    netlist.parent.mkdir(parents=True, exist_ok=True)
    values = " ".join(f"-set {key} {value}" for key, value in vars(shape).items())
    run(
        [
            *(sys.executable, RTL / "tools/yosys.py"),
            f"read_verilog -sv -defer {' '.join(CLIENT_INCLUDES)} "
            + " ".join(map(str, [*ENGINE_SOURCES, *CLIENT_SOURCES])),
            f"chparam {values} cm_client_engine",
            "hierarchy -check -top cm_client_engine",
            "proc",
            f"write_json {netlist}",
        ],
        netlist.with_suffix(".log"),
    )
    modules = json.loads(netlist.read_text(encoding="utf-8"))["modules"]

    def of(name: str) -> Counter[tuple[int, int]]:
        module = modules[name]
        found = Counter((memory["size"], memory["width"]) for memory in module.get("memories", {}).values())
        for cell in module["cells"].values():
            if cell["type"] in modules:
                found += of(cell["type"])
        return found

    (top,) = (name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2))
    return of(top)


def bits(shape: Shape) -> dict[str, int]:
    return {"used": sum(count * words * width for (words, width), count in memories(shape).items())}


def main() -> int:
    try:
        print(json.dumps(bits(Shape())))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
