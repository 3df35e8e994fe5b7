# SPDX-License-Identifier: Apache-2.0
"""The number-theoretic transform's roots of unity as C tables, which CM_CONFIG_NTT_ROOTS takes from a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ciphermote.parameters import ParameterSet, prime_constants

_WORD = 1 << 32


def twiddles(q: int, psi: int, log2_n: int) -> list[int]:
    """Return psi^bitrev(i) mod q for i = 0 .. n - 1: block i of level l has entry 2^l + i, and entry 0 is
    unused."""
    powers = [1]
    for _ in range((1 << log2_n) - 1):
        powers.append(powers[-1] * psi % q)
    return [powers[_bit_reversed(i, log2_n)] for i in range(1 << log2_n)]


def c_root_tables(parameters: ParameterSet, symbol: str, plain_moduli: Sequence[int] = ()) -> str:
    """Return C that defines ``symbol``, a cm_root_table array (core/include/ciphermote/params.h) for each
    data prime of the set and each of these plain moduli, with which BFV batches."""
    psi = {q: prime_constants(parameters.n, q).psi for q in (*parameters.data_primes, *plain_moduli)}
    lines = []
    for q, root in psi.items():
        lines += [f"static const cm_root {symbol}_{q}[{parameters.n}] = {{"]
        lines += _rows([_entry(power, q) for power in twiddles(q, root, parameters.log2_n)])
        lines += ["};"]
    lines += [f"static const cm_root_table {symbol}[] = {{"]
    lines += [f"    {{{q}u, {root}u, {symbol}_{q}}}," for q, root in psi.items()]
    return "\n".join([*lines, "    {0, 0, 0},", "};"])


def _bit_reversed(x: int, bits: int) -> int:
    """Return x with its low bits in reverse order; 0 <= x < 2^bits."""
    return int(f"{x:0{bits}b}"[::-1], 2)


def _entry(root: int, q: int) -> str:
    """Return the root, below q/2 in magnitude (q is odd), and round(root 2^32 / q), signed 32 bits."""
    centred = root - q if root > q // 2 else root
    return f"{{{centred}, {(2 * centred * _WORD + q) // (2 * q)}}}"


def _rows(entries: list[str]) -> Iterator[str]:
    for start in range(0, len(entries), 4):
        yield "    " + ", ".join(entries[start : start + 4]) + ","
