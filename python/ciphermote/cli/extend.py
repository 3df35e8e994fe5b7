# SPDX-License-Identifier: Apache-2.0
"""`ciphermote extend`: further evaluation keys for keys that are in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import ParameterError
from ciphermote.cli.console import note, progress_bar, say
from ciphermote.cli.options import (
    ConjugationOption,
    KeysArgument,
    ModelKeysOption,
    RotationsOption,
    numbers,
    steps_of,
)
from ciphermote.cli.precision import say_precision


def extend(
    keys: KeysArgument,
    model: ModelKeysOption = None,
    rotations: RotationsOption = "",
    conjugation: ConjugationOption = False,
    relin: Annotated[
        bool, typer.Option("--relin", help="Make a relinearization key, for products of ciphertexts.")
    ] = False,
    largest: Annotated[
        float | None,
        typer.Option(
            help="Declare a larger |value| that readings may hold. Devices that are there keep to theirs."
        ),
    ] = None,
    summed: Annotated[
        int | None, typer.Option(min=1, help="Declare how many readings a sum or a mean must have room for.")
    ] = None,
    public_to: Annotated[
        Path | None,
        typer.Option(help="Also write all but the secret key to this new directory, for whoever computes."),
    ] = None,
) -> None:
    """Add evaluation keys to KEYS, for another model or more rotations, or declare larger readings.

    **In:** a directory with `secret.key` (**secret**). **Out:** the same directory, with more in galois.keys
    or relin.keys (public). The key pair and its id stay, so no device is provisioned anew, except to send
    readings beyond what it was provisioned for.

    Example:

        ciphermote extend keys --rotations 1,2,4 --public-to keys-public-2
    """
    from ciphermote.owner.key_store import KeyStore, refuse_occupied

    store = KeyStore.open(keys)
    steps = [*numbers(rotations, "--rotations"), *steps_of(model, store.parameters)]
    readings = store.readings.declared(largest, summed)
    if not (steps or conjugation or relin or readings):
        raise ParameterError(
            "Nothing is asked for: give --model, --rotations, --conjugation, --relin, --largest or --summed."
        )
    if public_to is not None:
        refuse_occupied(public_to)
    with progress_bar("Making keys") as progress:
        store = store.extend(
            galois_steps=steps, conjugation=conjugation, relin=relin, readings=readings, progress=progress
        )
    say(f"Key {store.key_id:016x} in {keys} now has what you asked for.")
    if readings is None:
        say("Devices need no change.")
    else:
        say_precision(store)
        note(
            "devices that are provisioned already keep their largest value and scale, and readings of "
            "different scales cannot be added: provision them anew."
        )
    if public_to is not None:
        store.export_public(public_to)
        say(f"The public part is in {public_to}: give that to whoever computes.")
