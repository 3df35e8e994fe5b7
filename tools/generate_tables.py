#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the C library's generated tables; --check compares the committed ones with what would be written.

core/src/params/sets.c         the parameter sets (python/ciphermote/parameters/sets.py)
core/src/params/compact_constants.h the compact lane's sets (python/ciphermote/compact/sets.py)
core/src/encode/ckks_roots.c   the encoder's correctly rounded quarter wave, and the tables to compute it from
core/src/encode/slot_order.c   the permutation of the slots

Deterministic, and in integers throughout: nothing depends on the machine's floating point.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from ciphermote import parameters  # noqa: E402
from ciphermote.compact.sets import COMPACT_SETS, CompactSet  # noqa: E402
from ciphermote.parameters.c_source import c_source  # noqa: E402

MIN_LOG2_N, MAX_LOG2_N = 10, 14
ROW = 1 << (MAX_LOG2_N - MIN_LOG2_N)
"""Entries of the largest table for each one of the smallest."""

GUARD_BITS = 192
"""Fraction bits of the fixed-point arithmetic below; results are rounded to at most 63."""

COMPUTED_BITS = {31: 60, 63: 92}
"""By fraction bits of a root, b: what core/src/encode/ckks_computed_roots.c rounds errs by less than 2^-b."""

LOG2_COARSE = 6
"""Coarse roots are multiples of pi / 2^LOG2_COARSE; fine ones reach half as far."""

HIGH_BITS, LOW_BITS = 62, 32
"""Fraction bits of the upper word of a factor, and how many more its lower word adds."""


def arctangent_of_inverse(x: int, one: int) -> int:
    """atan(1/x) * one by its power series, each term rounded down: off by less than one unit per term."""
    total, power, k = 0, one // x, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= x * x
        k += 1
    return total


def pi_times(one: int) -> int:
    """pi * one, by Machin: pi = 16 atan(1/5) - 4 atan(1/239). 32 more bits absorb the series' roundings."""
    finer = one << 32
    return (16 * arctangent_of_inverse(5, finer) - 4 * arctangent_of_inverse(239, finer)) >> 32


def sine_times(angle: int, one: int) -> int:
    """sin(angle / one) * one for 0 <= angle/one < 2, by its power series: off by a few units a term."""
    total, term, k = 0, angle, 1
    square = angle * angle // one
    while term:
        total += term if k % 4 == 1 else -term
        term = term * square // one // ((k + 1) * (k + 2))
        k += 2
    return total


def exact_wave() -> list[int]:
    """sin(pi i / 2^MAX_LOG2_N) * 2^GUARD_BITS for i = 0 .. 2^(MAX_LOG2_N - 1), off by less than 2^16."""
    one = 1 << GUARD_BITS
    last = 1 << (MAX_LOG2_N - 1)
    pi = pi_times(one)
    return [*(sine_times((pi * i) >> MAX_LOG2_N, one) for i in range(last)), one]


def quarter_wave(bits: int) -> list[int]:
    """round(sin(pi i / 2^MAX_LOG2_N) * 2^bits) for i = 0 .. 2^(MAX_LOG2_N - 1)."""
    wave = exact_wave()
    return [0, *(round_correctly(value, bits) for value in wave[1:-1]), 1 << bits]


def round_correctly(value: int, bits: int) -> int:
    """value / 2^GUARD_BITS to `bits` fraction bits.

    Fails if an error could change the result: that of value, which is below 2^16 units because every series
    here has fewer than 2^8 terms, each off by a few units; or the far larger one of
    core/src/encode/ckks_computed_roots.c.
    """
    shift = GUARD_BITS - bits
    rounded = (value + (1 << (shift - 1))) >> shift
    to_tie = abs(value - (rounded << shift)) - (1 << (shift - 1))
    if abs(to_tie) < 1 << (GUARD_BITS - COMPUTED_BITS[bits]):
        raise ArithmeticError("a root is too close to a rounding tie to be computed: give factors more bits")
    return rounded


def row_macros() -> Iterator[str]:
    """#defines of CM_ROW(16 entries): which of them a table for CM_CONFIG_MAX_LOG2_N has, in order."""
    names = [f"x{i}" for i in range(ROW)]
    for log2_n in range(MIN_LOG2_N, MAX_LOG2_N + 1):
        kept = names[:: 1 << (MAX_LOG2_N - log2_n)]
        yield f"#{'if' if log2_n == MIN_LOG2_N else 'elif'} CM_CONFIG_MAX_LOG2_N == {log2_n}"
        yield f"#define CM_ROW({', '.join(names)}) \\"
        yield f"    {', '.join(kept)},"
    yield "#endif"


def table_rows(wave: list[int], bits: int, per_line: int) -> Iterator[str]:
    """The body of the quarter wave's table."""
    yield from rows([f"0x{value:0{(bits + 1) // 4}x}" for value in wave], per_line)


def rows(entries: list[str], per_line: int) -> Iterator[str]:
    """CM_ROW(...) for each 16 entries, then the last entry alone."""
    for start in range(0, len(entries) - 1, ROW):
        row = entries[start : start + ROW]
        lines = [", ".join(row[i : i + per_line]) for i in range(0, ROW, per_line)]
        yield "CM_ROW(" + ",\n       ".join(lines) + ")"
    yield entries[-1]


def factor_tables() -> dict[str, list[int]]:
    """The factors that ckks_computed_roots.c multiplies, times 2^GUARD_BITS, by the names of its tables."""
    wave = exact_wave()
    step = 1 << (MAX_LOG2_N - LOG2_COARSE)
    nearest = slice(0, step // 2 + 1)
    return {"coarse_sine": wave[::step], "fine_sine": wave[nearest], "fine_cosine": wave[::-1][nearest]}


def factor_words(value: int) -> tuple[int, int]:
    """The two words of value / 2^GUARD_BITS: high / 2^62 + low / 2^94, both rounded to the nearest."""
    shift = GUARD_BITS - HIGH_BITS - LOW_BITS
    whole = (value + (1 << (shift - 1))) >> shift
    high = (whole + (1 << (LOW_BITS - 1))) >> LOW_BITS
    return high, whole - (high << LOW_BITS)


def factor_rows(name: str, entries: list[str]) -> Iterator[str]:
    """The body of a table: the fine ones have as many entries as CM_CONFIG_MAX_LOG2_N needs."""
    if name.startswith("coarse"):
        yield from (", ".join(entries[i : i + 4]) + "," for i in range(0, len(entries), 4))
    else:
        yield from rows(entries, 4)


def factors_source() -> Iterator[str]:
    """The tables of CM_CONFIG_ENCODER_ROOTS_COMPUTED."""
    tables = {name: [factor_words(value) for value in table] for name, table in factor_tables().items()}
    size = {name: f"CM_{name.split('_')[0].upper()}_ROOTS" for name in tables}
    for name, words in tables.items():
        yield f"const int64_t cmi_{name}[{size[name]}] = {{"
        yield from factor_rows(name, [f"0x{high:016x}" for high, _ in words])
        yield "};"
    yield "#if CM_CONFIG_PRECISION_63"
    for name, words in tables.items():
        yield f"const int32_t cmi_{name}_low[{size[name]}] = {{"
        yield from factor_rows(name, [str(low) for _, low in words])
        yield "};"
    yield "#endif"


def roots_source() -> str:
    """core/src/encode/ckks_roots.c."""
    return "\n".join(
        [
            "/*",
            " * The encoder's quarter wave, or what computes it (encode/ckks_roots.h).",
            " * Generated by tools/generate_tables.py.",
            " *",
            " * Every size is a part of the largest: sin(pi i / 2^k) is its entry i * 2^(14 - k). CM_ROW",
            " * keeps the entries of 16 that a smaller build needs: a small table, in natural order too.",
            " */",
            '#include "encode/ckks_roots.h"',
            "",
            "/* clang-format off */",
            *row_macros(),
            "",
            "#if CM_CONFIG_ENCODER_ROOTS == CM_CONFIG_ENCODER_ROOTS_FLASH",
            "",
            "#if CM_CONFIG_PRECISION_31",
            "const uint32_t cmi_sine_31[CM_ROOTS] = {",
            *table_rows(quarter_wave(31), 31, 8),
            "};",
            "#endif",
            "",
            "#if CM_CONFIG_PRECISION_63",
            "const uint64_t cmi_sine_63[CM_ROOTS] = {",
            *table_rows(quarter_wave(63), 63, 4),
            "};",
            "#endif",
            "",
            "#else",
            "",
            *factors_source(),
            "",
            "#endif",
            "",
            "#undef CM_ROW",
            "/* clang-format on */",
            "",
        ]
    )


def reversed_bits(x: int, bits: int) -> int:
    """x with its lowest `bits` bits reversed."""
    return sum((x >> i & 1) << (bits - 1 - i) for i in range(bits))


def slot_positions(log2_n: int, *, complex_slots: bool) -> list[int]:
    """Return the position of each slot j = 0 .. n/2 - 1 (docs/encoding.md, Order)."""
    positions, n = [], 1 << log2_n
    for j in range(n // 2):
        power = pow(3, j, 2 * n)
        sample = (power if power % 4 == 1 else 2 * n - power) // 4
        pair = reversed_bits(sample // 2, log2_n - 2)
        positions.append(reversed_bits(sample, log2_n - 1) if complex_slots else 2 * pair + sample % 2)
    return positions


def cycle_starts(positions: list[int]) -> list[int]:
    """The least member of every cycle longer than one."""
    starts, seen = [], [False] * len(positions)
    for start, position in enumerate(positions):
        if not seen[start] and position != start:
            starts.append(start)
        while not seen[position]:
            seen[position] = True
            position = positions[position]
    return starts


def slot_order_source() -> str:
    """core/src/encode/slot_order.c."""
    lines = [
        "/*",
        " * The permutation of the slots (encode/slot_order.h). Generated by tools/generate_tables.py.",
        " *",
        " * The slots of smaller rings come first in the largest ring, with fewer bits of position: CM_P.",
        " * CM_FROM_<log2 n> keeps what only builds for that n, or a larger one, need.",
        " */",
        '#include "encode/slot_order.h"',
        "",
        "/* clang-format off */",
    ]
    degrees = range(MIN_LOG2_N, MAX_LOG2_N + 1)
    for log2_n in degrees:
        lines += [
            f"#if CM_CONFIG_MAX_LOG2_N >= {log2_n}",
            f"#define CM_FROM_{log2_n}(...) __VA_ARGS__",
            "#else",
        ]
        lines += [f"#define CM_FROM_{log2_n}(...)", "#endif"]
    lines += ["", "const uint16_t cmi_slot_cycles[] = {"]
    for log2_n in degrees:
        for complex_slots in (False, True):
            starts = cycle_starts(slot_positions(log2_n, complex_slots=complex_slots))
            lines.append(f"CM_FROM_{log2_n}({', '.join(map(str, [*starts, 0]))},)")
    lines += [
        "};",
        "",
        "#if CM_SLOT_ORDER_TABLE",
        f"#define CM_P(x) ((x) >> ({MAX_LOG2_N + 1} - CM_CONFIG_MAX_LOG2_N) << 1 | ((x) & 1))",
        "#define CM_ROW(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15) \\",
        "    " + ", ".join(f"CM_P(x{i})" for i in range(8)) + ", \\",
        "    " + ", ".join(f"CM_P(x{i})" for i in range(8, 16)) + ",",
        "const uint16_t cmi_slot_positions[(uint32_t)1 << (CM_CONFIG_MAX_LOG2_N - 1)] = {",
    ]
    positions = slot_positions(MAX_LOG2_N, complex_slots=False)
    for start in range(0, len(positions), 16):
        log2_n = max(MIN_LOG2_N, start.bit_length() + 1)
        row = ", ".join(map(str, positions[start : start + 16]))
        lines.append(f"CM_FROM_{log2_n}(CM_ROW({row}))")
    lines += ["};", "#undef CM_P", "#undef CM_ROW", "#endif", ""]
    lines += [*(f"#undef CM_FROM_{log2_n}" for log2_n in degrees), "/* clang-format on */", ""]
    return "\n".join(lines)


def compact_set_constants(given: CompactSet) -> list[str]:
    """The initializers of a cm_compact_set and its primes."""
    t, q, name = given.plain_modulus, given.modulus, given.name.upper()
    radix = 0
    if len(given.primes) == 2:
        radix = pow(given.primes[0], -1, given.primes[1]) * 2**32 % given.primes[1]
    rows = []
    for prime in given.primes:
        c = parameters.prime_constants(given.n, prime)
        fields = (c.q, c.neg_q_inv, c.r1, c.r2, c.psi, c.n_inv)
        rows.append("{" + ", ".join(f"{x}u" for x in fields) + "}")
    lines = [
        "",
        f"#define CM_COMPACT_{name}_PRIMES",
        "    {",
        *(f"        {row}," for row in rows),
        "    }",
        f"#define CM_COMPACT_{name}(primes)",
        "    {",
        "        primes,",
        f"        {t}u, /* t */",
        f"        {q // t}u, /* floor(Q / t) */",
        f"        {q % t}u, /* Q mod t */",
        f"        {(q % t << 32) // t}u, /* floor(2^32 (Q mod t) / t) */",
        f"        {radix}u, /* 2^32 / q_0 mod q_1 */",
        f"        {given.largest_value}u, /* largest value */",
        f"        {given.id}u, /* id */",
        f"        {given.log2_n}u, /* log2 n */",
        f"        {len(given.primes)}u, /* primes */",
        f"        {given.dropped_bits}u, /* dropped bits */",
        f"        {given.wire_bits}u, /* bits on the wire */",
        "    }",
    ]
    return [line if line in ("", "    }") else f"{line} \\" for line in lines]


def compact_constants_source() -> str:
    """core/src/params/compact_constants.h."""
    return "\n".join(
        [
            "/*",
            " * The constants of the compact sets, and of their primes: q, -q^-1 mod 2^32, 2^32 mod q,",
            " * 2^64 mod q, psi, n^-1 mod q.",
            " * Generated by tools/generate_tables.py from python/ciphermote/compact/sets.py.",
            " */",
            "#ifndef CM_PARAMS_COMPACT_CONSTANTS_H",
            "#define CM_PARAMS_COMPACT_CONSTANTS_H",
            "",
            "/* clang-format off */",
            *(line for given in COMPACT_SETS for line in compact_set_constants(given)),
            "",
            "/* clang-format on */",
            "#endif",
            "",
        ]
    )


def generated_files() -> dict[Path, str]:
    """Every generated file, and what it should contain."""
    texts = {
        "core/src/params/sets.c": c_source(parameters.BUILTIN),
        "core/src/params/compact_constants.h": compact_constants_source(),
        "core/src/encode/ckks_roots.c": roots_source(),
        "core/src/encode/slot_order.c": slot_order_source(),
    }
    licence = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    return {ROOT / name: licence + text for name, text in texts.items()}


def differing(files: dict[Path, str]) -> list[Path]:
    """The files that are missing or differ."""
    return [path for path, text in files.items() if not path.exists() or path.read_text() != text]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the C library's generated tables.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a committed file differs"
    )
    options = parser.parse_args(arguments)
    files = generated_files()
    stale = differing(files)
    if options.check and stale:
        names = " and ".join(str(path.relative_to(ROOT)) for path in stale)
        print(
            f"{names}: differs from what tools/generate_tables.py writes; run it and commit the result.",
            file=sys.stderr,
        )
        return 1
    if not options.check:
        for path in stale:
            path.write_text(files[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
