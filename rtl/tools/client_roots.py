# SPDX-License-Identifier: Apache-2.0
"""Write rtl/client/cm_client_root_table.sv, for the client engine's CKKS encoder and decoder.

C(t) and S(t) of docs/encoding.md, section 3, for 31 bits and angles up to pi/4, from C and S of 65 coarse
angles and of the fine angle between, by the formulas for sums of angles, with a bit for each that corrects
what rounding leaves. Made for the largest ring, whose angles are all that smaller ones have.
"""

from __future__ import annotations

from pathlib import Path

from golden import device as golden

ROOT = Path(__file__).resolve().parents[2]

TABLE = ROOT / "rtl/client/cm_client_root_table.sv"
LARGEST = 13
"""log2 of the largest ring's degree."""
FRACTION = 31
GUARD = 4
"""Bits of a coarse word below those of the result."""
FINE_FRACTION, VERSED_FRACTION = 34, 32
"""Fraction bits of the fine angle's sine, and of 1 less its cosine."""
LOG2_COARSE = 6
EXACT = 64
"""Bits of the fraction of what is taken for exact."""

N = 1 << LARGEST
EIGHTH = N >> 2
STEP = EIGHTH >> LOG2_COARSE
"""Fine angles in a coarse one."""


def fine_words() -> list[tuple[int, int]]:
    """The sine, and 1 less the cosine, of the fine angles 0 .. STEP / 2."""
    cosines = golden.cosines(N, EXACT)

    def rounded(x: int, fraction: int) -> int:
        return (x + (1 << (EXACT - fraction - 1))) >> (EXACT - fraction)

    return [
        (rounded(cosines[N // 2 - t], FINE_FRACTION), rounded((1 << EXACT) - cosines[t], VERSED_FRACTION))
        for t in range(STEP // 2 + 1)
    ]


def sums(own: int, other: int, fine: int, sign: int, words: list[tuple[int, int]]) -> int:
    """C or S of a coarse angle plus a fine one, as cm_client_roots has it, before it is corrected. own: the
    coarse word; other: the other one's; sign: of the sine's product.
    """
    sine, versed = words[abs(fine)]
    product = (other >> GUARD) * sine >> (FINE_FRACTION - GUARD)
    if (sign < 0) != (fine < 0):
        product = -product
    return (own - ((own >> GUARD) * versed >> (VERSED_FRACTION - GUARD)) + product) >> GUARD


def tables() -> tuple[list[tuple[int, int]], list[int]]:
    """The coarse words, and the corrections of each angle 1 .. EIGHTH: 1 is the cosine's, 2 the sine's.

    A coarse word is moved by less than a unit of the result, so that corrections are 0 or 1, and few.
    """
    words = fine_words()
    right = golden.cosines(N, FRACTION)
    cosines = golden.cosines(N, FRACTION + GUARD)
    coarse, corrections = [], [0] * (EIGHTH + 1)
    for angle in range(0, EIGHTH + 1, STEP):
        fines = [f for f in range(-STEP // 2, STEP // 2) if 0 < angle + f <= EIGHTH]
        pair = [cosines[angle], cosines[N // 2 - angle]]
        wanted = [
            [right[angle + f] for f in fines],
            [right[N // 2 - angle - f] for f in fines],
        ]
        moved = []
        for which, sign in ((0, -1), (1, 1)):
            choices = []
            for move in range(-(1 << GUARD), 1 << GUARD):
                own = pair[which] + move
                if own < 0:
                    continue
                found = [sums(own, pair[1 - which], f, sign, words) for f in fines]
                missing = [w - x for w, x in zip(wanted[which], found, strict=True)]
                if set(missing) <= {0, 1}:
                    choices.append((sum(missing), abs(move), own))
            moved.append(min(choices)[2])
        for which, sign in ((0, -1), (1, 1)):
            for f, w in zip(fines, wanted[which], strict=True):
                missing = w - sums(moved[which], moved[1 - which], f, sign, words)
                assert missing in (0, 1)
                corrections[angle + f] |= missing << which
        coarse.append((moved[0], moved[1]))
    return coarse, corrections[1:]


MODULE = """\
// SPDX-License-Identifier: Apache-2.0
// The table of cm_client_roots, written by rtl/tools/client_roots.py. Angles are those of the largest ring,
// 2^13. The module is combinational.
`default_nettype none
module cm_client_root_table (
    input  wire [6:0]  coarse_i,   // a multiple of pi / 256, up to 64
    input  wire [4:0]  fine_i,     // a multiple of pi / 8192, up to 16
    input  wire [10:0] angle_i,    // the sum of both, at least 1, modulo 2^11
    output reg  [35:0] cosine_o,   // cosine of the coarse angle, times 2^35
    output reg  [35:0] sine_o,     // its sine, likewise
    output reg  [26:0] fine_o,     // sine of the fine angle, times 2^34
    output reg  [16:0] versed_o,   // 1 less the cosine of the fine angle, times 2^32
    output wire [1:0]  missing_o   // units of 2^-31 missing in the sine and in the cosine
);
    always_comb begin
        case (coarse_i)
COARSE
            default: {cosine_o, sine_o} = 72'd0;
        endcase
        case (fine_i)
FINE
            default: {fine_o, versed_o} = 44'd0;
        endcase
    end
    localparam [2047:0] COSINES = {
COSINES
    };
    localparam [2047:0] SINES = {
SINES
    };
    assign missing_o = {SINES[angle_i], COSINES[angle_i]};
endmodule
`default_nettype wire
"""


def _bits(corrections: list[int], which: int) -> str:
    """Join the bits of all angles; those of angle EIGHTH are the lowest."""
    by_place = [corrections[-1], *corrections[:-1]]
    number = sum((c >> which & 1) << place for place, c in enumerate(by_place))
    return ",\n".join(f"        256'h{number >> 256 * i & (1 << 256) - 1:064x}" for i in reversed(range(8)))


def text() -> str:
    coarse, corrections = tables()
    of_coarse = [
        f"            7'd{h}: {{cosine_o, sine_o}} = {{36'h{c:09x}, 36'h{s:09x}}};"
        for h, (c, s) in enumerate(coarse)
    ]
    of_fine = [
        f"            5'd{t}: {{fine_o, versed_o}} = {{27'h{sine:07x}, 17'h{versed:05x}}};"
        for t, (sine, versed) in enumerate(fine_words())
    ]
    replaced = MODULE.replace("COARSE", "\n".join(of_coarse), 1).replace("FINE", "\n".join(of_fine), 1)
    return replaced.replace("= {\nCOSINES", "= {\n" + _bits(corrections, 0), 1).replace(
        "= {\nSINES", "= {\n" + _bits(corrections, 1), 1
    )


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
