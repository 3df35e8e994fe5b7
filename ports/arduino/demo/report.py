# SPDX-License-Identifier: Apache-2.0
"""Report of the Uno demo: a table, a plot and a file of figures; and its judgement."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.parameters import ParameterSet
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, write_results

FREQUENCY = 16_000_000


@dataclass
class Outcome:
    """Everything the demo found.

    readings: int64 [nodes, days, 24]; total: int64 [days, 24], as decrypted. cycles, waits, ram, sent: of
    each node. residues: c0 of the first node, as the engine has it. seconds: step -> wall time.
    """

    parameters: ParameterSet
    readings: NDArray[np.int64]
    total: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    cycles: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    ram: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    residues: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    seconds: dict[str, float] = field(default_factory=dict)


def that_differ(outcome: Outcome) -> int:
    """Hours whose decrypted total is not the sum of the readings."""
    return int((outcome.total != outcome.readings.sum(axis=0)).sum())


def judge(outcome: Outcome) -> None:
    """Raises Error unless every total is exact."""
    if differing := that_differ(outcome):
        raise Error(f"{differing} hours of the total differ from the readings' sum; none may.")


def show(outcome: Outcome, console: Console) -> None:
    """Show the demo's costs and results, and who knows what."""
    nodes, days, hours = outcome.readings.shape
    total = outcome.total
    peak = np.unravel_index(total.argmax(), total.shape)
    rows = (
        ("Unos, and readings of each", f"{nodes}, {days} days of {hours} hours"),
        ("hours whose total is exact", f"{total.size - that_differ(outcome)} of {total.size}"),
        ("highest total", f"{total.max():,} on day {peak[0] + 1} at {peak[1]}:00"),
        ("an encryption, the counter's write included, cycles", f"{max(outcome.cycles):,}"),
        ("which is, at 16 MHz", f"{max(outcome.cycles) / FREQUENCY:.2f} s"),
        ("waits for 115,200 bit/s besides", f"{max(outcome.waits) / FREQUENCY:.2f} s"),
        ("RAM, stack and Arduino core included", f"{max(outcome.ram):,} of 2,048 bytes"),
        ("bytes sent, a node", f"{max(outcome.sent):,}"),
    )
    table = Table(title="Encrypted demand, added up by an engine without a key", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for title, value in rows:
        table.add_row(title, value)
    console.print(table)
    console.print(
        "The engine saw ciphertexts alone, the owner the total alone. Readings are ItalyPowerDemand's "
        "normalised curves as whole numbers (500 + 150 x); each Uno is simulated cycle by cycle.",
        highlight=False,
    )


def plot(outcome: Outcome, path: Path) -> None:
    """Three panels: what each Uno has, what the engine sees of one, what the owner gets."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (has, sees, gets) = plt.subplots(1, 3, figsize=(14, 4.2), constrained_layout=True)
    hours = np.arange(outcome.readings.shape[2])
    for node, days in enumerate(outcome.readings):
        has.plot(hours, days[0], label=f"Uno {node + 1}", linewidth=1)
    has.set(title="What each Uno has (day 1)", xlabel="hour", ylabel="demand, whole numbers")
    has.legend(fontsize="x-small", ncols=2)
    sees.plot(outcome.residues, ".", color="tab:gray", markersize=2)
    sees.set(title="What the engine sees of one", xlabel="residue of c0", ylabel="value")
    gets.plot(hours, outcome.readings.sum(axis=0)[0], "o", color="tab:gray", label="sum of the readings")
    gets.plot(hours, outcome.total[0], color="tab:blue", label="decrypted total")
    gets.set(title="What the owner gets: the total (day 1)", xlabel="hour", ylim=(0, None))
    gets.legend(fontsize="small", loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(outcome: Outcome, path: Path) -> None:
    """The figures: `make bench-demos` keeps them in bench/results."""
    nodes, days, hours = outcome.readings.shape
    params = {
        "dataset": "ItalyPowerDemand",
        "rescaled": "500 + 150 x, to the nearest whole number",
        "nodes": nodes,
        "days": days,
        "hours": hours,
        "parameters": outcome.parameters.name,
        "mcu": "atmega328p",
        "kind": "measured",
    }
    rows = [
        Row("demo_uno.hours_that_differ", that_differ(outcome), "hours", params),
        Row(
            "demo_uno.encryption.cycles",
            max(outcome.cycles),
            "cycles",
            params | {"included": "the Arduino core's interrupts, the counter's write to EEPROM"},
        ),
        Row("demo_uno.encryption.uart_wait_cycles", max(outcome.waits), "cycles", params),
        Row("demo_uno.ram_bytes", max(outcome.ram), "bytes", params),
        Row("demo_uno.sent_bytes", max(outcome.sent), "bytes", params),
    ]
    write_results(path, "make demo-uno", compiler_version("avr-gcc"), rows)
