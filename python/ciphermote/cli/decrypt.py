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

from ciphermote.cli.console import add_row, note, say
from ciphermote.cli.files import read_ciphertext
from ciphermote.cli.options import (
    BareOption,
    IntegerPlaces,
    KeysArgument,
    ModulusOption,
    places_of,
)
from ciphermote.errors import MismatchError, ParameterError, about
from ciphermote.words import scale_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ciphermote.bfv import Plain as BfvPlain
    from ciphermote.ckks import Plain as CkksPlain
    from ciphermote.keys import SecretKey
    from ciphermote.labels import Label
    from ciphermote.linear_model import LinearModel


_SCORE_DIGITS = 6
"""Of the largest score: noise takes the places behind them, and often one or two of these."""


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plain_modulus: ModulusOption = 0,
    places: Annotated[
        IntegerPlaces | None,
        typer.Option(
            "--as",
            help="BFV: where the sender put its integers, in slots (batching) or in coefficients, as an "
            "Arduino Uno does. The ciphertext does not say which; the wrong choice shows wrong numbers.",
        ),
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="BFV: show integers above T/2 as negative ones.")
    ] = False,
    bare: BareOption = False,
) -> None:
    """Decrypt and decode a ciphertext: the owner's step.

    **In:** the directory with `secret.key` (**secret**), and a ciphertext. **Out:** numbers, as confidential
    as the readings; give others no more digits than they need. A ciphertext under another key is refused,
    and so is one that decrypts to noise: tell nobody whether it did: that reveals information about the key.

    Example:

        ciphermote decrypt keys score.ct --model model.json
    """
    from ciphermote.ciphertexts import modulus_of
    from ciphermote.keys import KeyStore
    from ciphermote.labels import detach

    if model is not None and complex_slots:
        raise ParameterError("A model's scores are real numbers: leave --complex or --model out.")
    secret = KeyStore.open(keys).secret()
    data = read_ciphertext(ciphertext)
    with about(ciphertext):
        plain_modulus = modulus_of(data, secret.parameters, plain_modulus)
        _, label = detach(data)
    if plain_modulus:
        if complex_slots:
            raise ParameterError("The ciphertext is BFV's, and --complex is for CKKS: leave it out.")
        with about(ciphertext):
            _print_integers(data, secret, plain_modulus, model, places, signed, bare, count, as_json)
        return
    if places is not None or signed:
        raise ParameterError(
            "--as and --signed are for BFV, and the ciphertext is not said to be: leave them out."
        )
    from ciphermote import ckks

    with about(ciphertext):
        plain = ckks.decrypt(data, secret, bare=bare)
    origin = _origin(plain) | {"scheme": "CKKS", "scale": plain.scale}
    if model is not None:
        _print_scores(_scored(model, label), plain.slots(), origin, as_json)
        return
    _note_count(count, plain.parameters.slots)
    slots = plain.complex_slots()[: count or None]
    if as_json:
        values = [[z.real, z.imag] for z in slots.tolist()] if complex_slots else slots.real.tolist()
        typer.echo(json.dumps(origin | {"values": values}))
        return
    table = Table("slot", "real", "imaginary") if complex_slots else Table("slot", "value")
    for j, z in enumerate(slots.tolist()):
        add_row(table, str(j), f"{z.real:.6g}", *([f"{z.imag:.6g}"] if complex_slots else []))
    _print_of(origin, table)


def _note_count(count: int, most: int) -> None:
    if count > most:
        note(f"--count asks for {count}, and the ciphertext holds {most}: all are shown.")


def _print_integers(
    data: bytes,
    secret: SecretKey,
    plain_modulus: int,
    model: Path | None,
    places: IntegerPlaces | None,
    signed: bool,
    bare: bool,
    count: int,
    as_json: bool,
) -> None:
    """A BFV ciphertext's slots or coefficients, or a model's scores, which lie in slots and have signs."""
    from ciphermote import bfv
    from ciphermote.labels import detach

    plain = bfv.decrypt(data, secret, plain_modulus, bare=bare)
    origin = _origin(plain) | {"scheme": "BFV", "plain_modulus": plain_modulus}
    if model is not None:
        loaded = _scored(model, detach(data)[1])
        _print_scores(loaded, plain.integers("slots", signed=True).astype(float), origin, as_json)
        return
    _note_count(count, plain.parameters.n)
    values = plain.integers(places_of(places), signed=signed)[: count or None].tolist()
    if as_json:
        typer.echo(json.dumps(origin | {"values": values}))
        return
    table = Table("slot" if places is IntegerPlaces.SLOTS else "coefficient", "value")
    for j, value in enumerate(values):
        add_row(table, str(j), str(value))
    _print_of(origin, table)


def _scored(path: Path, label: Label | None) -> LinearModel:
    """The model in a file, of whose scores a ciphertext's label does not say that they are another's."""
    from ciphermote.linear_model import LinearModel

    loaded = LinearModel.load(path)
    if label is not None:
        _check_model(loaded, path, label.model_id)
    return loaded


def _check_model(model: LinearModel, path: Path, model_id: int | None) -> None:
    """MismatchError unless the label of a ciphertext says that it holds this model's scores."""
    if model_id is None:
        raise MismatchError(
            "By its label the ciphertext holds no model's scores: score it with `ciphermote infer` first, or "
            "leave --model out to see its slots."
        )
    if model_id != model.id:
        raise MismatchError(
            f"The ciphertext holds the scores of model {model_id:016x}, and {path} is model {model.id:016x}: "
            "give the model that `ciphermote infer` was given."
        )


def _origin(plain: BfvPlain | CkksPlain) -> dict[str, object]:
    """What a result is of; the key id is null where nothing named it."""
    key_id = None if plain.key_id is None else f"{plain.key_id:016x}"
    return {"key_id": key_id, "parameters": plain.parameters.name}


def _print_of(origin: dict[str, object], table: Table) -> None:
    """A table, and what it is of."""
    Console().print(table)
    modulus = origin.get("plain_modulus")
    value = f"modulo {modulus}" if modulus else f"scale {scale_name(float(str(origin['scale'])))}"
    key = "a key that nothing names" if origin["key_id"] is None else f"key {origin['key_id']}"
    say(f"Of {key}, {origin['parameters']}, {origin['scheme']}, {value}.")


def _print_scores(
    model: LinearModel, slots: NDArray[np.float64], origin: dict[str, object], as_json: bool
) -> None:
    if len(slots) < model.classes:
        raise ParameterError(
            f"The model has {model.classes} classes and the ciphertext {len(slots)} slots: give its own "
            "model."
        )
    scores = slots[: model.classes].tolist()
    labels = list(model.labels) or [str(i) for i in range(model.classes)]
    best = max(range(len(scores)), key=scores.__getitem__)
    if as_json:
        found = {"label": labels[best], "scores": dict(zip(labels, scores, strict=True))}
        typer.echo(json.dumps(origin | found))
        return
    largest = max(abs(score) for score in scores)
    places = max(0, _SCORE_DIGITS - 1 - math.floor(math.log10(max(largest, 1))))
    table = Table("class", "score", "")
    for i, (label, score) in enumerate(zip(labels, scores, strict=True)):
        add_row(table, label, f"{score:.{places}f}", "<- highest" if i == best else "")
    _print_of(origin, table)
