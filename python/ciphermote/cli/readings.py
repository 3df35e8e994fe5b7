# SPDX-License-Identifier: Apache-2.0
"""Take in readings from frames: in order, each once, and one file for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import FrameError, about
from ciphermote.base.files import MOST_FRAMES_BYTES, sync_directory
from ciphermote.base.words import count_of
from ciphermote.cli.console import note, say
from ciphermote.cli.files import FileKind, read, write
from ciphermote.parameters import ParameterSet, Scheme

if TYPE_CHECKING:
    from ciphermote.formats.frames import FrameSet

OutputOption = Annotated[
    Path,
    typer.Option("--output", "-o", help="The file to write; a directory if there are several readings."),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option(
        help="The ledger of accepted readings (default: readings.ledger in KEYS). Only the ledger that "
        "took a reading notices its replay, so let all who take in a key's frames use the same one."
    ),
]
AgainOption = Annotated[
    bool,
    typer.Option("--again", help="Accept readings again that were accepted before, if they are identical."),
]
AheadOption = Annotated[
    bool,
    typer.Option(
        "--ahead",
        help="Accept readings numbered far ahead of this computer's clock, or of the device's newest.",
    ),
]


def sets_of(
    files: Sequence[Path],
    parameters: ParameterSet,
    key_id: int,
    scheme: Scheme,
    largest: float | None = None,
) -> list[FrameSet]:
    """Read the readings in these files. largest: the bound for those that declare none. Raises FrameError,
    which names the file."""
    from ciphermote.formats.frames import read_sets

    pieces = (read(path, MOST_FRAMES_BYTES) for path in files)
    with about(", ".join(map(str, files))):
        return read_sets(pieces, parameters, key_id, scheme=scheme, largest=largest)


def in_order(sets: Iterable[FrameSet]) -> list[FrameSet]:
    """Sort readings by their counters, because a ledger forgets old ones. Raises FrameError for no reading,
    or for two with one counter."""
    ordered = sorted(sets, key=lambda found: found.header.counter)
    if not ordered:
        raise FrameError("The files hold no frames: give what the device sent.")
    if len({found.header.counter for found in ordered}) != len(ordered):
        raise FrameError(
            "The files hold two readings with one counter: give each device's frames by themselves "
            "(--device)."
        )
    return ordered


def take_in(
    sets: Sequence[FrameSet],
    ledger: Path,
    device: str,
    *,
    again: bool,
    ahead: bool,
    to: Path,
    prefix: str,
    kind: FileKind,
    content: Callable[[FrameSet], bytes],
) -> None:
    """Write the content of each reading and report it; the ledger records them once all are on the disk. A
    single one goes to the file `to`, several to files in this directory whose names begin with the prefix.
    Raises ReplayError."""
    from ciphermote.formats.ledger import CounterLedger

    names = [f"{prefix}reading{found.header.counter}.ct" for found in sets]
    before = 0
    with CounterLedger(ledger) as taken, taken.taking(sets, device, again=again, ahead=ahead):
        several = len(sets) > 1 or to.is_dir()
        if several:
            to.mkdir(parents=True, exist_ok=True)
            before = len({path.name for path in to.glob("*.ct")} - set(names))
            sync_directory(to.absolute().parent)
        targets = [to / name if several else to for name in names]
        for found, target in zip(sets, targets, strict=True):
            write(target, content(found), kind)
    for found, target in zip(sets, targets, strict=True):
        say(f"{_describe(found)} Written to {target}.")
    if len(sets) > 1:
        say(f"There are {len(sets)} readings, so they are in the directory {to}.")
    if before:
        note(
            f"{to} held {count_of(before, 'other ciphertext')} before: {to}/*.ct names "
            f"{'it' if before == 1 else 'them'} too."
        )


def _describe(frames: FrameSet) -> str:
    from ciphermote.formats.frames import XOF_NAMES

    head = frames.header
    kind = "asymmetric" if head.xof == 0 else f"symmetric ({XOF_NAMES[head.xof]} seed)"
    return (
        f"Reading {head.counter}: {kind}, {head.parameters.name}, {head.scale_or_modulus}, "
        f"{count_of(head.primes, 'prime')}, {frames.frame_bytes:,} bytes of frames."
    )
