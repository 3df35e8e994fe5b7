# SPDX-License-Identifier: Apache-2.0
"""Write rtl/client/cm_client_root_table.sv, for the client engine's CKKS encoder and decoder.

C(t) and S(t) of docs/encoding.md, section 3, for 31 bits and angles up to pi/4. A word's address is its angle
backwards, bit by bit, so that the table of a smaller ring is the start of that of a larger one; address 0 has
the angle pi/4.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import golden  # noqa: E402

TABLE = ROOT / "rtl/client/cm_client_root_table.sv"
SMALLEST, LARGEST = 10, 13
"""log2 of the ring degrees."""
FRACTION = 31


def words() -> list[int]:
    """{C, S} of each address, for the largest ring."""
    n, bits = 1 << LARGEST, LARGEST - 2
    cosines = golden.cosines(n, FRACTION)
    angles = [n // 4, *(golden.bit_reversed(address, bits) for address in range(1, 1 << bits))]
    return [cosines[t] << FRACTION | cosines[n // 2 - t] for t in angles]


MODULE = """\
// SPDX-License-Identifier: Apache-2.0
// Written by tools/client_roots.py: {C(t), S(t)} of docs/encoding.md at 31 bits, for angles t up to n / 4.
// The bits of an angle are reversed in its address; address 0 has n / 4.
`default_nettype none
module cm_client_root_table #(
    parameter integer LOG2_N = 12 // 10 .. 13
) (
    input  wire              clk_i,
    input  wire              enable_i, // else nothing moves
    input  wire [LOG2_N-3:0] address_i,
    output reg  [61:0]       word_o
);
    reg [61:0] words [0:(1 << (LOG2_N - 2))-1];
    always_ff @(posedge clk_i) if (enable_i) word_o <= words[address_i];
    generate
ROOTS
    endgenerate
endmodule
`default_nettype wire
"""


def text() -> str:
    table, lines, start = words(), [], 0
    for log2_n in range(SMALLEST, LARGEST + 1):
        end = 1 << (log2_n - 2)
        lines.append(f"        if (LOG2_N >= {log2_n}) begin : g_{log2_n}")
        lines.append("            initial begin")
        lines += [f"                words[{i}] = 62'h{table[i]:016x};" for i in range(start, end)]
        lines += ["            end", "        end"]
        start = end
    return MODULE.replace("ROOTS", "\n".join(lines), 1)


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
