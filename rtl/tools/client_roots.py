# SPDX-License-Identifier: Apache-2.0
"""Write rtl/client/cm_client_roots.svh, the roots of the client engine's CKKS encoder and decoder.

C(t) and S(t) of docs/encoding.md, section 3, for 31 bits and angles below a quarter of pi. A word's address is
its angle backwards, bit by bit, so that the table of a smaller ring is the start of that of a larger one;
address 0 has the angle pi/4.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import golden  # noqa: E402

TABLE = ROOT / "rtl/client/cm_client_roots.svh"
SMALLEST, LARGEST = 10, 13
"""log2 of the ring degrees."""
FRACTION = 31


def words() -> list[int]:
    """{C, S} of each address, for the largest ring."""
    n, bits = 1 << LARGEST, LARGEST - 2
    cosines = golden.cosines(n, FRACTION)
    angles = [n // 4, *(golden.bit_reversed(address, bits) for address in range(1, 1 << bits))]
    return [cosines[t] << FRACTION | cosines[n // 2 - t] for t in angles]


def text() -> str:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Written by tools/client_roots.py: what cm_client_roots holds, {C, S} of each address.",
    ]
    table = words()
    start = 0
    for log2_n in range(SMALLEST, LARGEST + 1):
        end = 1 << (log2_n - 2)
        lines.append(f"if (LOG2_N >= {log2_n}) begin : g_{log2_n}")
        lines.append("    initial begin")
        lines += [f"        words[{i}] = 62'h{table[i]:016x};" for i in range(start, end)]
        lines += ["    end", "end"]
        start = end
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
