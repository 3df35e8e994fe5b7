# SPDX-License-Identifier: Apache-2.0
"""`ciphermote adapt`: frames, from files or a serial port, to SEAL's ciphertexts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import FrameError
from ciphermote.cli.console import note
from ciphermote.cli.files import ciphertext_of
from ciphermote.cli.options import KeysArgument
from ciphermote.cli.readings import (
    AgainOption,
    AheadOption,
    LedgerOption,
    OutputOption,
    in_order,
    sets_of,
    take_in,
)
from ciphermote.parameters.schemes import scheme_of_modulus

if TYPE_CHECKING:
    from ciphermote.formats.frames import FrameReader, FrameSet


def adapt(
    keys: KeysArgument,
    output: OutputOption,
    frames: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FRAMES",
            help="Files of frames: readings in any order, the parts of each in theirs; none with --port.",
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
    ledger: LedgerOption = None,
    again: AgainOption = False,
    ahead: AheadOption = False,
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
    from ciphermote.formats.frames import FrameReader
    from ciphermote.formats.ledger import LEDGER_FILE, check_device
    from ciphermote.formats.seal import write_ciphertext
    from ciphermote.owner.key_store import KeyStore

    check_device(device)
    store = KeyStore.open(keys)
    if bool(frames) == bool(port):
        raise FrameError(
            "Give the files that hold the frames or the --port that they come from, one or the other."
        )
    largest, scheme = store.readings.largest, scheme_of_modulus(plain_modulus)
    if port:
        reader = FrameReader(store.parameters, store.checked_key_id(), scheme=scheme, largest=largest)
        sets = _listen(port, baud, reader, readings)
    else:
        sets = sets_of(frames or (), store.parameters, store.checked_key_id(), scheme, largest)
    whole: list[str] = []

    def content(found: FrameSet) -> bytes:
        ciphertext = found.seal_ciphertext(seeded=seeded, coefficients=coefficients)
        if ciphertext.seed is None:
            whole.append(str(found.header.counter))
        return write_ciphertext(ciphertext)

    take_in(
        in_order(sets),
        ledger or keys / LEDGER_FILE,
        device,
        again=again,
        ahead=ahead,
        to=output,
        prefix=f"{device}-" if device else "",
        kind=ciphertext_of(store.parameters),
        content=content,
    )
    if seeded and whole:
        note(
            f"--seeded changed nothing for reading {', '.join(whole)}: SEAL expands only SHAKE256 and "
            "BLAKE2Xb seeds, and only in the form that the device sent."
        )


def _listen(port: str, baud: int, reader: FrameReader, count: int) -> list[FrameSet]:
    """Return the first whole readings that arrive on a serial port, and report everything else."""
    from ciphermote.cli.serial_port import pieces

    sets: list[FrameSet] = []
    for piece in pieces(port, baud):
        reception = reader.feed(piece)
        if reception.fault is not None:
            note(str(reception.fault))
        sets += reception.sets
        if len(sets) >= count:
            break
    return sets[:count]
