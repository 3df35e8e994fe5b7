# SPDX-License-Identifier: Apache-2.0
"""Report of the demo: a table, a plot and a file of figures; and its judgement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.formats import seal as seal_bytes
from ciphermote.parameters import ParameterSet
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.rows import Row, compiler_version, write_results

if TYPE_CHECKING:
    from demos.run import Outcome

MAX_ABS_ERROR = 0.01
"""What no encrypted score may miss its plain one by."""

SAMPLE_WINDOW = 20
"""The window that the plot shows."""


def first_residues(ciphertext: bytes, parameters: ParameterSet) -> NDArray[np.uint32]:
    """uint32 [n]: what travels of a ciphertext at its first prime."""
    residues: NDArray[np.uint32] = seal_bytes.read_ciphertext(ciphertext, parameters).residues[0, 0]
    return residues


def worst_error(outcome: Outcome) -> float:
    return max(float(np.abs(kind.scores - outcome.plain_scores).max()) for kind in outcome.kinds.values())


def accuracy(outcome: Outcome, scores: NDArray[np.float64]) -> float:
    return float(np.mean(scores.argmax(axis=1) == outcome.test.labels))


def predictions_that_differ(outcome: Outcome) -> int:
    plain = outcome.plain_scores.argmax(axis=1)
    return sum(int((kind.scores.argmax(axis=1) != plain).sum()) for kind in outcome.kinds.values())


def judge(outcome: Outcome) -> None:
    """Raises Error unless every encrypted prediction equals the plain one, within MAX_ABS_ERROR."""
    if differing := predictions_that_differ(outcome):
        raise Error(f"{differing} encrypted predictions differ from the plain classifier's; they must not.")
    if (error := worst_error(outcome)) > MAX_ABS_ERROR:
        raise Error(
            f"An encrypted score misses its plain one by {error:.4f}; at most {MAX_ABS_ERROR} is allowed."
        )


def show(outcome: Outcome, console: Console) -> None:
    """Predictions, errors, bytes, memory and times."""
    console.print(_prediction_table(outcome))
    console.print(_kind_table(outcome))
    console.print(time_table(outcome.seconds))
    console.print(
        f"Plain accuracy {accuracy(outcome, outcome.plain_scores):.1%}; encrypted predictions that differ "
        f"from plain ones: {predictions_that_differ(outcome)}; worst |encrypted - plain| score "
        f"{worst_error(outcome):.2e}.",
        highlight=False,
    )


def _prediction_table(outcome: Outcome) -> Table:
    names = outcome.test.names
    title = "Predictions: in the clear, and under encryption with either kind of key"
    table = Table("window", "truth", "plain", title=title)
    for kind in outcome.kinds:
        table.add_column(kind)
        table.add_column("error", justify="right")
    for i, label in enumerate(outcome.test.labels):
        row = [str(i), names[label], names[outcome.plain_scores[i].argmax()]]
        for found in outcome.kinds.values():
            same = found.scores[i].argmax() == outcome.plain_scores[i].argmax()
            error = np.abs(found.scores[i] - outcome.plain_scores[i]).max()
            row += [names[found.scores[i].argmax()] + ("" if same else "  DIFFERS"), f"{error:.1e}"]
        table.add_row(*row)
    return table


def _kind_table(outcome: Outcome) -> Table:
    table = Table("", *outcome.kinds, title="Two devices, Cortex-M4 with 256 KB of RAM (QEMU)")
    kinds = outcome.kinds.values()

    def row(title: str, values: list[str]) -> None:
        table.add_row(title, *values)

    row("accuracy", [f"{accuracy(outcome, kind.scores):.1%}" for kind in kinds])
    row("worst score error", [f"{np.abs(kind.scores - outcome.plain_scores).max():.2e}" for kind in kinds])
    row("bytes on the wire, a window", [f"{max(kind.frame_bytes):,}" for kind in kinds])
    row("RAM: arena, values included", [f"{kind.device.arena_bytes:,}" for kind in kinds])
    row("RAM: all static data", [f"{kind.device.static_bytes:,}" for kind in kinds])
    row("RAM: deepest stack", [f"{kind.device.stack_bytes:,}" for kind in kinds])
    row("RAM: total", [f"{kind.device.total_bytes:,}" for kind in kinds])
    return table


def time_table(seconds: Mapping[str, float]) -> Table:
    table = Table("step", "seconds", title="Time on this machine (QEMU's time is no microcontroller's)")
    table.columns[1].justify = "right"
    for step, taken in seconds.items():
        table.add_row(step, f"{taken:.2f}")
    return table


def plot(outcome: Outcome, path: Path) -> None:
    """Four panels: what the sensor saw, what the cloud sees, scores against scores, and the errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ((sensor, cloud), (scores, errors)) = plt.subplots(2, 2, figsize=(11, 8), constrained_layout=True)
    window, label = outcome.test.windows[SAMPLE_WINDOW], outcome.test.labels[SAMPLE_WINDOW]
    for channel, samples in enumerate(window):
        sensor.plot(
            np.arange(samples.size) / 10,
            samples,
            lw=1,
            label=f"{'accel' if channel < 3 else 'gyro'} {'xyz'[channel % 3]}",
        )
    sensor.set(
        title=f"What the sensor sees: a window of '{outcome.test.names[label]}'",
        xlabel="seconds",
        ylabel="reading",
    )
    sensor.legend(fontsize="x-small", ncols=2)

    cloud.plot(outcome.sample_residues, ",", color="tab:gray")
    cloud.set(
        title="What the cloud sees: the same window, encrypted",
        xlabel="residue of c0, first prime",
        ylabel="value",
    )

    low, high = outcome.plain_scores.min(), outcome.plain_scores.max()
    scores.plot([low, high], [low, high], color="lightgray", lw=1)
    markers = dict(zip(outcome.kinds, "ox", strict=True))
    for kind, found in outcome.kinds.items():
        scores.plot(
            outcome.plain_scores.ravel(), found.scores.ravel(), markers[kind], ms=4, mfc="none", label=kind
        )
    scores.set(
        title="Scores: computed under encryption and in the clear",
        xlabel="plain score",
        ylabel="decrypted score",
    )
    scores.legend(fontsize="small")

    for kind, found in outcome.kinds.items():
        size = np.sort(np.abs(found.scores - outcome.plain_scores).ravel())
        errors.semilogx(size, np.arange(1, size.size + 1) / size.size, label=kind)
    errors.axvline(MAX_ABS_ERROR, color="tab:red", ls="--", lw=1, label="allowed")
    errors.set(title="Errors of the scores", xlabel="|encrypted - plain|", ylabel="share of scores below")
    errors.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def write(outcome: Outcome, path: Path) -> None:
    """The figures: `make bench-demos` keeps them in bench/results."""
    params = {
        "dataset": "BasicMotions",
        "windows": len(outcome.test.labels),
        "parameters": outcome.parameters.name,
        "log2_scale": outcome.log2_scale,
    }
    encrypted = np.concatenate(
        [kind.scores.argmax(axis=1) == outcome.test.labels for kind in outcome.kinds.values()]
    )
    rows = [
        Row("demo.accuracy_encrypted", float(encrypted.mean()), "share", params),
        Row("demo.accuracy_plain", accuracy(outcome, outcome.plain_scores), "share", params),
        Row("demo.max_abs_error", worst_error(outcome), "score", params),
    ]
    for kind, found in outcome.kinds.items():
        # A frame set has room for every slot, however many values are given.
        sizes = {"slots": outcome.parameters.slots, "values": outcome.model.features}
        rows.append(Row(f"demo.frame_bytes.{kind}", max(found.frame_bytes), "bytes", params | sizes))
    for kind, found in outcome.kinds.items():
        device = found.device
        parts = {"static": device.static_bytes, "arena": device.arena_bytes, "stack": device.stack_bytes}
        rows.append(
            Row(
                f"demo.device_ram_bytes.{kind}",
                device.total_bytes,
                "bytes",
                params | {"machine": "mps2-an386"} | parts,
            )
        )
    write_results(path, "make demo", compiler_version("arm-none-eabi-gcc"), rows)
