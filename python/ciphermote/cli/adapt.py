# SPDX-License-Identifier: Apache-2.0
"""`ciphermote adapt`: frames, from files or a serial port, to SEAL's ciphertexts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.cli.console import note, say
from ciphermote.cli.files import ciphertext_of, read, write
from ciphermote.cli.options import KeysArgument
from ciphermote.errors import FrameError, about
from ciphermote.files import MOST_FRAMES_BYTES, sync_directory
from ciphermote.words import count_of

if TYPE_CHECKING:
    from ciphermote.adapter import FrameReader, FrameSet


def adapt(
    keys: KeysArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write; a directory if there are several readings."),
    ],
    frames: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FRAMES",
            help="Files of frames, whole readings in any order, parts of one in theirs; none with --port.",
        ),
    ] = None,
    port: Annotated[
        str, typer.Option(metavar="DEVICE", help="Listen to this serial port instead, such as /dev/ttyUSB0.")
    ] = "",
    baud: Annotated[int, typer.Option(min=1, help="With --port: its speed in baud.")] = 115200,
    readings: Annotated[
        int, typer.Option("--readings", min=1, help="With --port: stop after this many whole readings.")
    ] = 1,
    seeded: Annotated[
        bool,
        typer.Option(
            help="Leave SHAKE256 and BLAKE2Xb seeds for SEAL to expand: half the size. SEAL has no ChaCha20, "
            "and public-key ciphertexts have no seed, so those stay whole."
        ),
    ] = False,
    plain_modulus: Annotated[
        int,
        typer.Option(
            metavar="T", min=0, help="The frames are BFV's, integers modulo T (0: CKKS's, real numbers)."
        ),
    ] = 0,
    coefficients: Annotated[
        bool,
        typer.Option(
            help="Bring BFV ciphertexts to coefficient form, which SEAL needs for all but addition."
        ),
    ] = False,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The device's name, if several share a key: each has its own counter."
        ),
    ] = "",
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="The ledger of accepted readings (default: readings.ledger in KEYS). Only the ledger that "
            "took a reading notices its replay, so let all who adapt a key's frames use the same one."
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Accept readings again that were accepted before, if they are identical."
        ),
    ] = False,
) -> None:
    """Check a device's frames and turn them into SEAL ciphertexts.

    **In:** frames as they came, and the directory of keys (its public part is enough). **Out:** a
    ciphertext for each reading, in Microsoft SEAL's bytes with a label that names its key. No secrets.
    Damaged, missing, duplicate or foreign frames are refused and named. So are readings that were taken in
    before: a ledger in KEYS remembers them once their ciphertexts are written. Their numbers rise, and may
    skip some. On a port, anything that is not a whole frame is reported and skipped.

    Examples, from a file and from a serial port:

        ciphermote adapt keys-public frames.bin -o reading.ct
        ciphermote adapt keys-public --port /dev/ttyUSB0 -o reading.ct
    """
    from ciphermote.adapter import FrameReader, read_sets
    from ciphermote.keys import KeyStore
    from ciphermote.ledger import LEDGER_FILE, CounterLedger, check_device
    from ciphermote.seal_bytes import write_ciphertext

    check_device(device)
    store = KeyStore.open(keys)
    if bool(frames) == bool(port):
        raise FrameError(
            "Give the files that hold the frames or the --port that they come from, one or the other."
        )
    if port:
        reader = FrameReader(store.parameters, store.checked_key_id(), plain_modulus=plain_modulus)
        sets = _listen(port, baud, reader, readings)
    else:
        pieces = (read(path, MOST_FRAMES_BYTES) for path in frames or ())
        with about(", ".join(map(str, frames or ()))):
            sets = read_sets(pieces, store.parameters, store.checked_key_id(), plain_modulus=plain_modulus)
    sets = sorted(sets, key=lambda found: found.header.counter)  # for the ledger forgets what is far behind
    if not sets:
        raise FrameError("The files hold no frames: give what the device sent.")
    counters = [frames.header.counter for frames in sets]
    if len(set(counters)) != len(counters):
        raise FrameError(
            "The files hold two readings with one counter: adapt each device's frames by itself (--device)."
        )
    prefix = f"{device}-" if device else ""
    before = 0
    kind = ciphertext_of(store.parameters)
    with (
        CounterLedger(ledger or keys / LEDGER_FILE) as taken,
        taken.taking(sets, device, again=again),
    ):
        several = len(sets) > 1 or output.is_dir()
        if several:
            output.mkdir(parents=True, exist_ok=True)
            before = len(set(output.glob("*.ct")) - {output / f"{prefix}reading{c}.ct" for c in counters})
            sync_directory(output.absolute().parent)
        targets = [output / f"{prefix}reading{counter}.ct" if several else output for counter in counters]
        whole: list[str] = []
        for frames_of_one, target in zip(sets, targets, strict=True):
            ciphertext = frames_of_one.seal_ciphertext(seeded=seeded, coefficients=coefficients)
            if ciphertext.seed is None:
                whole.append(str(frames_of_one.header.counter))
            write(target, write_ciphertext(ciphertext), kind)
    for found, target in zip(sets, targets, strict=True):
        say(f"{_describe_set(found)} Written to {target}.")
    if len(sets) > 1:
        say(f"There are {len(sets)} readings, so they are in the directory {output}.")
    if before:
        note(
            f"{output} held {count_of(before, 'other ciphertext')} before: {output}/*.ct names "
            f"{'it' if before == 1 else 'them'} too."
        )
    if seeded and whole:
        note(
            f"--seeded changed nothing for reading {', '.join(whole)}: SEAL expands only SHAKE256 and "
            "BLAKE2Xb seeds, and only in the form that the device sent."
        )


def _listen(port: str, baud: int, reader: FrameReader, count: int) -> list[FrameSet]:
    """The first whole readings that come from a serial port; what else comes is told."""
    from ciphermote.serial_port import pieces

    sets: list[FrameSet] = []
    for piece in pieces(port, baud):
        reception = reader.feed(piece)
        if reception.fault is not None:
            note(str(reception.fault))
        sets += reception.sets
        if len(sets) >= count:
            break
    return sets[:count]


def _describe_set(frames: FrameSet) -> str:
    from ciphermote.adapter import XOF_NAMES

    head = frames.header
    kind = "asymmetric" if head.xof == 0 else f"symmetric ({XOF_NAMES[head.xof]} seed)"
    return (
        f"Reading {head.counter}: {kind}, {head.parameters.name}, {head.scale_or_modulus}, "
        f"{count_of(head.primes, 'prime')}, {frames.frame_bytes:,} bytes of frames."
    )
