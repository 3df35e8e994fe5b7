# SPDX-License-Identifier: Apache-2.0
"""Choose the compact set with the shortest packets for a sum, and explain the choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ciphermote.base import arguments
from ciphermote.base.errors import ParameterError
from ciphermote.compact import bounds
from ciphermote.compact.bounds import LARGEST_WEIGHT
from ciphermote.compact.sets import COMPACT_SETS, OVERHEAD_BYTES, CompactSet

MOST_WINDOWS = 1 << 20
QUANTUM_BITS = {1024: 20, 2048: 40}
"""Maps n to the largest log2 Q with 128 bits of security against quantum attackers too (ePrint 2024/463)."""


@dataclass(frozen=True)
class CompactAdvice:
    """A recommended set and its figures. packets, bytes: of a window on the wire, with headers and tags;
    failure_log2: log2 of the chance that a value of the sum is wrong; most_windows: the most that can be
    added up; explanation: sentences for people."""

    set: CompactSet
    packets: int
    bytes: int
    failure_log2: float
    most_windows: int
    explanation: list[str] = field(compare=False)


def advise_compact(
    largest_value: int,
    windows: int,
    *,
    values: int = 1,
    largest_weight: int = 1,
    packet_bytes: int = 222,
) -> CompactAdvice:
    """Recommend the set with the shortest packets for sums of `windows` windows (devices times readings),
    with values up to largest_value and weights up to largest_weight in magnitude.

    values: number in a window; packet_bytes: the most in a packet. Raises ParameterError, which says what to
    give up, if no set serves.
    """
    largest_value = arguments.whole(largest_value, "The largest value (--largest-value)", 1, 2**32)
    windows = arguments.whole(windows, "The windows (--windows)", 1, MOST_WINDOWS)
    values = arguments.whole(values, "The values (--values)", 1, max(s.n for s in COMPACT_SETS))
    weight = arguments.whole(largest_weight, "The largest weight (--largest-weight)", 1, LARGEST_WEIGHT)
    packet_bytes = arguments.whole(packet_bytes, "packet_bytes (--packet-bytes)", 1, 2**16 - 1)
    found = [
        compact
        for compact in COMPACT_SETS
        if compact.n >= values
        and compact.packet_values(packet_bytes) >= 1
        and _holds(compact, largest_value, windows, weight)
    ]
    if not found:
        raise ParameterError(_refusal(largest_value, windows, values, weight, packet_bytes))
    best = min(found, key=lambda compact: (_window_bytes(compact, values, packet_bytes)[1], compact.id))
    return _advice(best, largest_value, windows, values, weight, packet_bytes)


def _holds(compact: CompactSet, largest_value: int, windows: int, weight: int) -> bool:
    fits = largest_value <= compact.largest_value and windows * weight * largest_value < compact.plain_modulus
    return fits and bounds.failure_log2(compact, {weight: windows}) <= bounds.LOG2_FAILURE


def _window_bytes(compact: CompactSet, values: int, packet_bytes: int) -> tuple[int, int]:
    """Return (packets, bytes) of a window."""
    each = compact.packet_values(packet_bytes)
    whole, rest = divmod(values, each)
    size = whole * compact.packet_bytes(each) + (compact.packet_bytes(rest) if rest else 0)
    return whole + bool(rest), size


def _most_windows(compact: CompactSet, largest_value: int, windows: int, weight: int) -> int:
    low, high = windows, (compact.plain_modulus - 1) // (weight * largest_value)
    while low < high:
        middle = (low + high + 1) // 2
        if _holds(compact, largest_value, middle, weight):
            low = middle
        else:
            high = middle - 1
    return low


def _advice(
    compact: CompactSet, largest_value: int, windows: int, values: int, weight: int, packet_bytes: int
) -> CompactAdvice:
    packets, size = _window_bytes(compact, values, packet_bytes)
    failure = bounds.failure_log2(compact, {weight: windows})
    most = _most_windows(compact, largest_value, windows, weight)
    times = f" times weights up to {weight} in magnitude" if weight > 1 else ""
    chance = "cannot be wrong" if failure == -math.inf else f"is wrong with a chance of 2^{failure:.0f}"
    quantum = math.log2(compact.modulus) <= QUANTUM_BITS[compact.n]
    explanation = [
        f"Use set {compact.name}: {windows} windows of values up to {largest_value}{times} add up to at most "
        f"{windows * weight * largest_value}, and it tells {compact.plain_modulus} values apart.",
        f"A value of the sum {chance}, and 2^{bounds.LOG2_FAILURE:.0f} is allowed; up to {most} such windows "
        "could be added. Differences cost as much room as sums.",
        f"A value takes {compact.wire_bits} bits ({compact.dropped_bits} low bits are dropped), and a packet "
        f"{OVERHEAD_BYTES} bytes besides: a window of {values} is {size:,} bytes in {packets} "
        f"packet{'s' if packets > 1 else ''} of at most {packet_bytes}.",
        f"n = {compact.n} and {math.log2(compact.modulus):.1f} bits of primes hold 128-bit security by the "
        "2024 guidelines, " + ("against quantum attackers too." if quantum else "not against quantum ones."),
        "Sums, differences, means, weighted sums and scores of each window by a linear model are all that it "
        "computes; all devices share a secret key.",
    ]
    return CompactAdvice(compact, packets, size, failure, most, explanation)


def _refusal(largest_value: int, windows: int, values: int, weight: int, packet_bytes: int) -> str:
    least = min(compact.packet_bytes(1) for compact in COMPACT_SETS)
    if packet_bytes < least:
        return f"A packet of {packet_bytes} bytes has no room for a value: allow {least} or more."
    widest = max(compact.largest_value for compact in COMPACT_SETS)
    if largest_value > widest:
        return f"No compact set takes values of {largest_value}: count in a larger unit, up to {widest}."
    return (
        f"No compact set adds up {windows} windows of {values} values up to {largest_value} with weights up "
        f"to {weight}: add fewer, take smaller weights, or count in a larger unit."
    )
