# SPDX-License-Identifier: Apache-2.0
"""Report of the client-aided demo: tables, a plot and a file of figures; and its judgement."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ciphermote.base.errors import Error
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, write_results
from demos.report import time_table

if TYPE_CHECKING:
    from demos.client_aided import Outcome, SchemeOutcome

PHASES = {0: "encrypt", 1: "decrypt", 2: "between"}
"""The regions that ports/app/phase.h marks. between: ReLU, and putting values into and out of blocks."""

MODELLED = {"kind": "modelled", "model_error_percent": {"assembly": 2, "C": 5}}


def cycles_a_round(counts: Path, rounds: int) -> dict[str, int]:
    """Phase -> modelled cycles of one round, the mean of all. Raises Error if nothing was counted."""
    total: Counter[str] = Counter()
    try:
        with counts.open(newline="", encoding="ascii") as file:
            for row in csv.DictReader(file):
                total[PHASES.get(int(row["region"]), "")] += int(row["cycles"])
    except OSError as error:
        raise Error(f"The cycle model left no counts ({error.strerror}): run the demo again.") from None
    if rounds == 0 or any(total[phase] == 0 for phase in PHASES.values()):
        raise Error("The cycle model counted nothing in a phase: build the firmware anew.")
    return {phase: round(total[phase] / rounds) for phase in PHASES.values()}


def accuracy(outcome: Outcome, classes: NDArray[np.int64]) -> float:
    return float(np.mean(classes == outcome.test.labels))


def that_differ(found: SchemeOutcome) -> int:
    """Classes under encryption that are not those in the clear."""
    return int((found.classes != found.plain).sum())


def judge(outcome: Outcome) -> None:
    """Raises Error unless every class is the plaintext network's."""
    for scheme, found in outcome.schemes.items():
        if differing := that_differ(found):
            raise Error(
                f"{differing} classes of {scheme.upper()} differ from the plaintext network's; none may."
            )


def show(outcome: Outcome, console: Console) -> None:
    """Accuracies, rounds, bytes, cycles, memory and times."""
    schemes = outcome.schemes
    rounds = len(outcome.network.layers)
    count = len(outcome.test.labels)
    title = f"{count} utterances, {rounds} rounds each"
    table = Table("", *(scheme.upper() for scheme in schemes), title=title)

    def row(title: str, value: Callable[[SchemeOutcome], str]) -> None:
        table.add_row(title, *(value(found) for found in schemes.values()))

    def cycles_of(phase: str) -> Callable[[SchemeOutcome], str]:
        return lambda found: f"{found.cycles[phase]:,}"

    row("accuracy under encryption", lambda found: f"{accuracy(outcome, found.classes):.2%}")
    row("accuracy in the clear", lambda found: f"{accuracy(outcome, found.plain):.2%}")
    row("classes that differ", lambda found: str(that_differ(found)))
    row("utterances a ciphertext", lambda found: str(found.blocks))
    row("bytes to the server, a round", lambda found: f"{max(found.sent):,}")
    row("bytes back, a round", lambda found: f"{max(found.returned):,}")
    row("bytes to the server, an utterance", lambda found: f"{sum(found.sent) / count:,.0f}")
    row("bytes back, an utterance", lambda found: f"{sum(found.returned) / count:,.0f}")
    for phase in PHASES.values():
        row(f"device cycles a round: {phase}", cycles_of(phase))
    row("RAM: arena", lambda found: f"{found.device.arena_bytes:,}")
    row("RAM: total", lambda found: f"{found.device.total_bytes:,}")
    console.print(table)
    console.print(time_table(outcome.seconds))
    console.print(
        "In the clear: BFV's network in integers, CKKS's in floats. Cycles are modelled (bench/m4: Cortex-M4 "
        "without wait states), the link's left out. Classes were read from the device's display, here the "
        "file ciphermote-display beside its firmware: they are the owner's alone, and none crosses the link.",
        highlight=False,
    )


def plot(outcome: Outcome, path: Path) -> None:
    """Four panels: what the device has, what the server sees, cycles, and bytes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ((has, sees), (cycles, traffic)) = plt.subplots(2, 2, figsize=(11, 8), constrained_layout=True)
    has.bar(np.arange(outcome.test.features.shape[1]), outcome.test.features[0], color="tab:blue")
    has.set(
        title="What the device has: an utterance's cepstrum", xlabel="coefficient, two halves", ylabel="value"
    )
    sees.plot(outcome.sample_residues, ",", color="tab:gray")
    sees.set(title="What the server sees of it", xlabel="residue of c0, first prime", ylabel="value")
    names = [scheme.upper() for scheme in outcome.schemes]
    found = list(outcome.schemes.values())
    bottom = np.zeros(len(found))
    for phase in PHASES.values():
        height = np.array([one.cycles[phase] for one in found]) / 1e6
        cycles.bar(names, height, bottom=bottom, label=phase)
        bottom += height
    cycles.set(title="A round on the Cortex-M4 (modelled)", ylabel="million cycles")
    cycles.legend(fontsize="small")
    places = np.arange(len(found))
    traffic.bar(places - 0.2, [max(one.sent) / 1000 for one in found], 0.4, label="to the server")
    traffic.bar(places + 0.2, [max(one.returned) / 1000 for one in found], 0.4, label="back")
    traffic.set_xticks(places, [f"{n}, {one.blocks} utterances" for n, one in zip(names, found, strict=True)])
    traffic.set(title="A round on the wire", ylabel="kB")
    traffic.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(outcome: Outcome, path: Path) -> None:
    """The figures: `make bench-demos` keeps them in bench/results."""
    layers = outcome.network.layers
    params = {
        "dataset": "JapaneseVowels",
        "utterances": len(outcome.test.labels),
        "parameters": outcome.parameters.name,
        "layers": [layers[0].features, *(layer.classes for layer in layers)],
    }
    rows = []
    for scheme, found in outcome.schemes.items():
        prefix = f"demo_client_aided.{scheme}"
        own = params | {"utterances_a_ciphertext": found.blocks}
        rows += [
            Row(
                f"{prefix}.accuracy_encrypted",
                accuracy(outcome, found.classes),
                "share",
                params | {"classes_read_from": "the device's display"},
            ),
            Row(
                f"{prefix}.accuracy_plain",
                accuracy(outcome, found.plain),
                "share",
                params | {"network": "integers" if scheme == "bfv" else "floats"},
            ),
            Row(f"{prefix}.classes_that_differ", that_differ(found), "utterances", params),
            Row(f"{prefix}.rounds", len(layers), "rounds", params),
            Row(f"{prefix}.round.sent_bytes", max(found.sent), "bytes", own),
            Row(f"{prefix}.round.returned_bytes", max(found.returned), "bytes", own),
            *(
                Row(f"{prefix}.round.{phase}.cycles", cycles, "cycles", own | MODELLED)
                for phase, cycles in found.cycles.items()
            ),
            Row(
                f"{prefix}.device_ram_bytes",
                found.device.total_bytes,
                "bytes",
                params
                | {
                    "machine": "mps2-an386",
                    "static": found.device.static_bytes,
                    "arena": found.device.arena_bytes,
                    "stack": found.device.stack_bytes,
                },
            ),
        ]
    write_results(path, "make demo-client-aided", compiler_version("arm-none-eabi-gcc"), rows)
