# SPDX-License-Identifier: Apache-2.0
"""`ciphermote encrypt`: numbers to frames."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import about
from ciphermote.base.words import count_of
from ciphermote.cli.console import say, warnings_as_notes
from ciphermote.cli.files import FileKind, check_target, write
from ciphermote.cli.options import IntegerPlaces, KeyKind, KeysArgument, places_of
from ciphermote.parameters.schemes import scheme_of_modulus

if TYPE_CHECKING:
    from ciphermote.owner.keys import SecretKey


class Xof(StrEnum):
    """The function that expands a public seed."""

    BLAKE2XB = "blake2xb"
    SHAKE256 = "shake256"
    CHACHA20 = "chacha20"


def _are_frames(data: bytes) -> bool:
    from ciphermote.formats.frame_finder import are_frames

    return are_frames(data)


_FRAMES = FileKind("file of frames", _are_frames)


def encrypt(
    keys: KeysArgument,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="VALUES",
            help="Numbers: a .npy file, or text, separated by commas, spaces or newlines (-: standard "
            "input).",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of frames to write.")],
    rows: Annotated[bool, typer.Option("--rows", help="Make each row a reading of its own.")] = False,
    key: Annotated[
        KeyKind,
        typer.Option(help="asymmetric: the public key; symmetric: the secret key, half the bytes."),
    ] = KeyKind.ASYMMETRIC,
    largest: Annotated[
        float | None,
        typer.Option(
            help="The largest |value| that is declared, which is public: choose it without looking at the "
            "values (default and most: the keys', `ciphermote keygen --largest`)."
        ),
    ] = None,
    log2_scale: Annotated[
        int | None,
        typer.Option(
            help="CKKS: log2 of the scale (default: what suits the largest value and the sums that the keys "
            "are made for)."
        ),
    ] = None,
    plain_modulus: Annotated[
        int,
        typer.Option(metavar="T", min=0, help="Use BFV, integers modulo T (0: CKKS, real numbers)."),
    ] = 0,
    places: Annotated[
        IntegerPlaces | None,
        typer.Option("--as", help="BFV: put integers in slots (default, if T has any), or in coefficients."),
    ] = None,
    xof: Annotated[
        Xof,
        typer.Option(help="With --key symmetric: what expands the seed. SEAL itself knows all but chacha20."),
    ] = Xof.CHACHA20,
) -> None:
    """Encrypt numbers to frames, as a device does.

    **In:** numbers, and the directory of keys (its public part is enough, except with --key symmetric).
    **Out:** the frames of one reading, or with --rows of one for each row, in a file: public. Each reading
    is numbered by the clock. `adapt` accepts them like a device's frames. If several senders share these
    keys, give each its own --device name there: a week behind the newest, readings are too old to accept.

    Example:

        echo 21.4 -27 3.5 | ciphermote encrypt keys-public - -o frames.bin
    """
    import numpy as np

    from ciphermote.cli.numbers_in_files import name_of, read_values
    from ciphermote.owner import encryption
    from ciphermote.owner.key_store import KeyStore

    check_target(output, _FRAMES)
    store = KeyStore.open(keys)
    store.readings.checked_largest(largest)
    given: SecretKey | encryption.PublicKey
    given = store.secret() if key is KeyKind.SYMMETRIC else encryption.PublicKey.load(keys)
    lines = read_values(values, rows=rows)
    readings = lines if rows else [np.concatenate(lines)]
    frames = []
    with warnings_as_notes():
        for row, reading in enumerate(readings, 1):
            with about(f"{name_of(values)}, row {row}" if rows else name_of(values)):
                frames.append(
                    encryption.encrypt(
                        reading,
                        given,
                        largest=largest,
                        log2_scale=log2_scale,
                        scheme=scheme_of_modulus(plain_modulus),
                        places=places_of(places),
                        xof=xof.value,
                    ).to_frames()
                )
    write(output, b"".join(frames), _FRAMES)
    what = f"{count_of(len(readings), 'reading')} of {count_of(len(readings[0]), 'number')}"
    if len(lines) > len(readings):
        what += f" ({len(lines)} lines: --rows makes each line a reading)"
    say(f"{what} {'is' if len(readings) == 1 else 'are'} encrypted in {output}, for `ciphermote adapt`.")
