# SPDX-License-Identifier: Apache-2.0
"""Compute a LoRa packet's time on the air by Semtech's formula (SX1276 data sheet, 4.1.1.7). This is a model;
nothing was sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

LORAWAN_BYTES = 13
"""Around an application's bytes: header 8, port 1, integrity code 4."""
_BANDWIDTH = 125_000
_PREAMBLE_SYMBOLS = 8 + 4.25
_CODING = 5
"""Symbols for four of them: 4/5."""


@dataclass(frozen=True)
class DataRate:
    """A data rate of LoRaWAN in Europe (RP002-1.0.4, EU868). most_bytes: of an application's in a packet."""

    name: str
    spreading_factor: int
    most_bytes: int

    def seconds(self, payload_bytes: int) -> float:
        """On the air, for an application's packet of so many bytes, LoRaWAN's included."""
        if not 0 < payload_bytes <= self.most_bytes:
            raise ValueError(f"{self.name} takes 1 to {self.most_bytes} bytes a packet, not {payload_bytes}.")
        factor = self.spreading_factor
        slow = 2 if factor >= 11 else 0  # low data rate optimisation
        bits = 8 * (LORAWAN_BYTES + payload_bytes) - 4 * factor + 28 + 16
        symbols = 8 + max(math.ceil(bits / (4 * (factor - slow))), 0) * _CODING
        return float((_PREAMBLE_SYMBOLS + symbols) * 2**factor / _BANDWIDTH)

    def total_seconds(self, packets: Iterable[int]) -> float:
        """Airtime of packets with these bytes each."""
        return sum(self.seconds(size) for size in packets)

    def split(self, content_bytes: int) -> list[int]:
        """The packets that take content of so many bytes, as few as can be."""
        whole, rest = divmod(content_bytes, self.most_bytes)
        return [self.most_bytes] * whole + ([rest] if rest else [])


SLOW = DataRate("SF12", 12, 51)
FAST = DataRate("SF7", 7, 222)
