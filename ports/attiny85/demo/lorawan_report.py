# SPDX-License-Identifier: Apache-2.0
"""Report of the LoRaWAN demo: tables, a plot and a file of figures; and its judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from airtime import FAST, SLOW, DataRate
from ciphermote.base.errors import Error
from ciphermote.compact.frames import spans
from meters import TINY_FREQUENCY, Sent
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, write_results

UNO_FREQUENCY = 16_000_000
READING_BITS = 10


@dataclass
class Sum:
    """The sum of some hours: who is in it, what it decrypts to, and the bytes that the owner was sent."""

    hours: range
    meters: list[int]
    values: NDArray[np.int64]
    result_bytes: int


@dataclass
class Outcome:
    """Everything the demo found. readings: int64 [meters, 24], of which the first `tinies` meters are
    ATtiny85s; sent: by meter; heard: packets that came at all; faults: by kind; seconds: step -> wall
    time."""

    readings: NDArray[np.int64]
    tinies: int
    sent: list[Sent] = field(default_factory=list)
    heard: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    full_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def packets(self, *, tiny: bool) -> list[bytes]:
        """Return the packets that the ATtiny85s sent, or the Unos."""
        chosen = self.sent[: self.tinies] if tiny else self.sent[self.tinies :]
        return [packet for sent in chosen for packet in sent.packets]


def that_differ(outcome: Outcome) -> int:
    """Hours whose sum is not that of the readings of the meters in it."""
    wrong = 0
    for found in outcome.sums:
        expected = outcome.readings[found.meters][:, found.hours.start : found.hours.stop].sum(axis=0)
        wrong += int((found.values != expected).sum())
    return wrong


def judge(outcome: Outcome) -> None:
    """Raises Error unless every hour has its sum, and every sum is exact."""
    hours = sum(len(found.hours) for found in outcome.sums)
    if hours != outcome.readings.shape[1]:
        raise Error(f"{hours} of {outcome.readings.shape[1]} hours have a sum; all must.")
    if differing := that_differ(outcome):
        raise Error(f"{differing} hours of the sums differ from their meters' readings; none may.")


@dataclass(frozen=True)
class Way:
    """A way to send a day at a data rate: the packets of a meter."""

    name: str
    rate: DataRate
    packets: tuple[int, ...]

    @property
    def seconds(self) -> float:
        return self.rate.total_seconds(self.packets)


def ways(outcome: Outcome) -> list[Way]:
    """A meter's day in plaintext, in compact packets and in a whole ciphertext, at both rates.

    Plaintext is sent as often as the packets are: readings of ten bits, without a gap."""
    compact = {
        SLOW: tuple(len(packet) for packet in outcome.sent[0].packets),
        FAST: tuple(len(packet) for packet in outcome.sent[-1].packets),
    }
    readings = {SLOW: [len(found.hours) for found in outcome.sums], FAST: [outcome.readings.shape[1]]}
    found = []
    for rate in (SLOW, FAST):
        plain = tuple((count * READING_BITS + 7) // 8 for count in readings[rate])
        found += [
            Way("plaintext", rate, plain),
            Way("compact", rate, compact[rate]),
            Way("whole ciphertext", rate, tuple(rate.split(outcome.full_bytes))),
        ]
    return found


def show(outcome: Outcome, console: Console) -> None:
    """Show the packets received, the sums, and the costs."""
    meters, sent = len(outcome.readings), sum(len(sent.packets) for sent in outcome.sent)
    table = Table(title=f"A day of {meters} meters, added up by an engine without a key")
    for title in ("hours", "meters in the sum", "without", "exact", "result, bytes"):
        table.add_column(title, justify="left" if title == "without" else "right")
    for found in outcome.sums:
        missing = sorted(set(range(meters)) - set(found.meters))
        expected = outcome.readings[found.meters][:, found.hours.start : found.hours.stop].sum(axis=0)
        exact = int((found.values == expected).sum())
        table.add_row(
            f"{found.hours.start}-{found.hours.stop - 1}",
            f"{len(found.meters)}",
            spans(missing) or "none",
            f"{exact} of {len(found.hours)}",
            f"{found.result_bytes:,}",
        )
    console.print(table)
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.faults.items())) or "none"
    console.print(
        f"{sent} packets were sent and {outcome.heard} heard. What the gateway dropped: {faults}.\n",
        highlight=False,
    )
    air = Table(title="A meter's day on the air (modelled)")
    for title in ("", "rate", "packets", "bytes", "s on the air"):
        air.add_column(title, justify="left" if title in ("", "rate") else "right")
    for way in ways(outcome):
        air.add_row(
            way.name, way.rate.name, f"{len(way.packets)}", f"{sum(way.packets):,}", f"{way.seconds:.2f}"
        )
    console.print(air)
    tiny, uno = _cycles(outcome)
    console.print(
        f"An encryption takes an ATtiny85 at 8 MHz {tiny / TINY_FREQUENCY:.2f} s, and an Uno at 16 MHz "
        f"{uno / UNO_FREQUENCY:.2f} s, the counter's write included (both simulated cycle by cycle).\n"
        "Readings are ItalyPowerDemand's normalised curves, brought to ten bits as 500 + 150 x.",
        highlight=False,
    )


def _cycles(outcome: Outcome) -> tuple[int, int]:
    """The longest encryption of an ATtiny85, and of an Uno."""
    tinies, unos = outcome.sent[: outcome.tinies], outcome.sent[outcome.tinies :]
    return max(sent.cycles for sent in tinies), max(sent.cycles for sent in unos)


def plot(outcome: Outcome, path: Path) -> None:
    """Two panels: the sums beside what their meters read, and airtime by way of sending."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (demand, air) = plt.subplots(1, 2, figsize=(12, 4.2), constrained_layout=True)
    everybody = outcome.readings.sum(axis=0)
    demand.plot(everybody, color="tab:gray", linestyle="--", label="all meters, had nothing been lost")
    for i, found in enumerate(outcome.sums):
        expected = outcome.readings[found.meters][:, found.hours.start : found.hours.stop].sum(axis=0)
        label = "readings of the meters in it" if i == 0 else None
        demand.plot(found.hours, expected, "o", color="tab:gray", label=label)
        demand.plot(found.hours, found.values, color="tab:blue", label="decrypted sum" if i == 0 else None)
        middle = (found.hours.start + found.hours.stop - 1) / 2
        demand.annotate(f"{len(found.meters)} meters", (middle, found.values.min() * 0.9), ha="center")
    demand.set(title="What the owner gets", xlabel="hour", ylabel="demand", ylim=(0, None))
    demand.legend(fontsize="small", loc="lower right")
    found_ways = ways(outcome)
    names = [f"{way.name}\n{way.rate.name}" for way in found_ways]
    colors = {"plaintext": "tab:gray", "compact": "tab:blue", "whole ciphertext": "tab:orange"}
    bars = air.barh(names, [way.seconds for way in found_ways], color=[colors[w.name] for w in found_ways])
    air.bar_label(bars, [f" {way.seconds:.2f} s" for way in found_ways])
    air.set(title="A meter's day on the air (modelled)", xlabel="seconds", xscale="log")
    air.margins(x=0.25)
    air.invert_yaxis()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(outcome: Outcome, path: Path) -> None:
    """The figures: `make bench-demos` keeps them in bench/results."""
    params = {
        "dataset": "ItalyPowerDemand",
        "rescaled": "500 + 150 x, to the nearest whole number",
        "set": "b",
        "meters": len(outcome.readings),
        "kind": "measured",
    }
    modelled = {
        "kind": "modelled",
        "model": "SX1276 data sheet 4.1.1.7: 125 kHz, 4/5, 8 symbols of preamble; 13 bytes of LoRaWAN",
    }
    tiny, uno = _cycles(outcome)
    inside = {"included": "the counter's write to EEPROM"}
    rows = [
        Row("demo_lorawan.hours_that_differ", that_differ(outcome), "hours", params),
        Row("demo_lorawan.packets_sent", sum(len(s.packets) for s in outcome.sent), "packets", params),
        Row("demo_lorawan.packets_heard", outcome.heard, "packets", params),
        *(_sum_row(found, params) for found in outcome.sums),
        Row("demo_lorawan.attiny85.cycles", tiny, "cycles", {**params, **inside, "values": 5}),
        Row("demo_lorawan.uno.cycles", uno, "cycles", {**params, **inside, "values": 24}),
    ]
    for way in ways(outcome):
        name = f"demo_lorawan.{way.rate.name.lower()}.{way.name.replace(' ', '_')}"
        rows.append(Row(f"{name}.bytes", sum(way.packets), "bytes", {"packets": len(way.packets)}))
        rows.append(Row(f"{name}.airtime", round(way.seconds, 4), "s", modelled))
    write_results(path, "make demo-lorawan", compiler_version("avr-gcc"), rows)


def _sum_row(found: Sum, params: dict[str, object]) -> Row:
    hours: Sequence[int] = found.hours
    return Row(f"demo_lorawan.hours_{hours[0]}_to_{hours[-1]}.meters", len(found.meters), "meters", params)
