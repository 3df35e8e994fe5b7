# SPDX-License-Identifier: Apache-2.0
"""`ciphermote decrypt`: what a ciphertext holds, for its owner."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ciphermote.base.errors import ParameterError, about
from ciphermote.base.words import scale_name
from ciphermote.cli.console import add_row, note, say, warnings_as_notes
from ciphermote.cli.files import read_ciphertext
from ciphermote.cli.options import (
    BareOption,
    IntegerPlaces,
    JsonOption,
    KeysArgument,
    ModulusOption,
    SignedOption,
    places_of,
    stated_scheme,
)

if TYPE_CHECKING:
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.owner.decryption import Decrypted
    from ciphermote.owner.keys import SecretKey


def decrypt(
    keys: KeysArgument,
    ciphertext: Annotated[
        Path,
        typer.Argument(metavar="CIPHERTEXT", help="A ciphertext from `ciphermote adapt`, `add` or `infer`."),
    ],
    count: Annotated[
        int, typer.Option(min=0, help="How many slots to show, from the first on (0: all).")
    ] = 8,
    complex_slots: Annotated[bool, typer.Option("--complex", help="Show real and imaginary parts.")] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="Show the scores of this model's classes; `infer` was given it."),
    ] = None,
    as_json: JsonOption = False,
    plain_modulus: ModulusOption = 0,
    places: Annotated[
        IntegerPlaces | None,
        typer.Option(
            "--as",
            help="BFV: where the sender put its integers, in slots (batching) or in coefficients, as an "
            "Arduino Uno does. The ciphertext does not say which; the wrong choice shows wrong numbers.",
        ),
    ] = None,
    signed: SignedOption = None,
    bare: BareOption = False,
) -> None:
    """Decrypt and decode a ciphertext: the owner's step.

    **In:** the directory with `secret.key` (**secret**), and a ciphertext. **Out:** numbers, and how far each
    may be off (±: at most one in 1,000 is off by more), as confidential as the readings; give others no more
    digits than they need. A ciphertext under another key is refused,
    and so is one that decrypts to noise: tell nobody whether it did: that reveals information about the key.

    Example:

        ciphermote decrypt keys score.ct --model model.json
    """
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.owner.decryption import decrypt_with_errors
    from ciphermote.owner.key_store import KeyStore

    if model is not None and complex_slots:
        raise ParameterError("A model's scores are real numbers: leave --complex or --model out.")
    secret = KeyStore.open(keys).secret()
    data = read_ciphertext(ciphertext)
    loaded = None if model is None else LinearModel.load(model)
    with about(ciphertext), warnings_as_notes():
        given = Ciphertext.from_bytes(data, secret.parameters, stated_scheme(plain_modulus))
        origin = _origin(given, secret)
        found = decrypt_with_errors(
            given,
            secret,
            model=loaded,
            complex_slots=complex_slots,
            places=places_of(places),
            signed=signed,
            bare=bare,
        )
    if loaded is not None:
        _print_scores(loaded, found, origin, as_json=as_json)
        return
    _note_count(count, len(found.values))
    shown = found.values[: count or None].tolist()
    errors = [None] * len(shown) if found.errors is None else found.errors[: count or None].tolist()
    if as_json:
        values = [[z.real, z.imag] for z in shown] if complex_slots else shown
        typer.echo(json.dumps(origin | {"values": values, "errors": errors, "assumes": found.assumes}))
        return
    numbers = ("real", "imaginary") if complex_slots else ("value",)
    table = Table("coefficient" if places is IntegerPlaces.COEFFICIENTS else "slot", *numbers, "±")
    for j, (value, error) in enumerate(zip(shown, errors, strict=True)):
        parts = (value.real, value.imag) if complex_slots else (value,)
        add_row(table, str(j), *(_rounded(part, error) for part in parts), _off(error, found))
    _print_of(origin, table)


def _rounded(value: float, error: float | None) -> str:
    from ciphermote.base.words import rounded

    return rounded(value, math.nan if error is None else error)


def _off(error: float | None, found: Decrypted) -> str:
    from ciphermote.base.words import error_text

    return error_text(math.nan if error is None else error, found.why_unknown)


def _note_count(count: int, most: int) -> None:
    if count > most:
        note(f"--count asks for {count}, and the ciphertext holds {most}: all are shown.")


def _origin(given: Ciphertext, secret: SecretKey) -> dict[str, object]:
    """Describe a ciphertext's origin; the key id is null if unknown."""
    scheme = given.scheme
    key_id = None if given.key_id is None else secret.key_id
    return {
        "key_id": None if key_id is None else f"{key_id:016x}",
        "parameters": secret.parameters.name,
        "scheme": scheme.name,
        **({"plain_modulus": scheme.plain_modulus} if scheme.is_bfv else {"scale": given.scale}),
    }


def _print_of(origin: dict[str, object], table: Table) -> None:
    """Print a table and the ciphertext's origin."""
    Console().print(table)
    modulus = origin.get("plain_modulus")
    value = f"modulo {modulus}" if modulus else f"scale {scale_name(float(str(origin['scale'])))}"
    key = "a key that nothing names" if origin["key_id"] is None else f"key {origin['key_id']}"
    say(f"Of {key}, {origin['parameters']}, {origin['scheme']}, {value}.")


def _print_scores(model: LinearModel, found: Decrypted, origin: dict[str, object], *, as_json: bool) -> None:
    scores = found.values.tolist()
    labels = list(model.labels) or [str(i) for i in range(model.classes)]
    errors = [None] * len(scores) if found.errors is None else found.errors.tolist()
    best = max(range(len(scores)), key=scores.__getitem__)
    if as_json:
        named = {"scores": scores, "errors": errors}
        of_classes = {name: dict(zip(labels, numbers, strict=True)) for name, numbers in named.items()}
        whole = origin | {"label": labels[best]} | of_classes | {"assumes": found.assumes}
        typer.echo(json.dumps(whole))
        return
    table = Table("class", "score", "±", "")
    for i, (label, score, error) in enumerate(zip(labels, scores, errors, strict=True)):
        mark = "<- highest" if i == best else ""
        add_row(table, label, _rounded(score, error), _off(error, found), mark)
    _print_of(origin, table)
