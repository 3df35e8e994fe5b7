# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base import number_text
from ciphermote.base.errors import ParameterError
from ciphermote.evaluate.engine_names import EngineName
from ciphermote.parameters import ParameterSet, Scheme
from ciphermote.parameters.schemes import scheme_of_modulus

if TYPE_CHECKING:
    from ciphermote.owner.places import Places

KeysArgument = Annotated[
    Path, typer.Argument(metavar="KEYS", help="A directory of keys, made by `ciphermote keygen`.")
]
SetOption = Annotated[
    str | None,
    typer.Option(
        "--params", help="A parameter set: a built-in name, or a .json file from `ciphermote params -o`."
    ),
]
BareOption = Annotated[
    bool,
    typer.Option(
        "--bare",
        help="Accept ciphertexts without a label, as SEAL itself saves them. The label names their key and "
        "model; without it, you vouch for both.",
    ),
]
ModulusOption = Annotated[
    int,
    typer.Option(
        "--plain-modulus",
        metavar="T",
        min=0,
        help="The ciphertexts are BFV's, integers modulo T; say so if they have no label.",
    ),
]
SignedOption = Annotated[
    bool | None,
    typer.Option(
        "--signed/--unsigned",
        help="BFV: show integers from -T/2 to T/2, or from 0 to T - 1.",
        show_default="with a sign, if the declared bound is below T/2; refused if either could be meant",
    ),
]
LargestOption = Annotated[
    float,
    typer.Option(
        "--largest",
        help="The largest |value| that any reading may hold, such as the sensor's full range. It is public.",
    ),
]
ModelKeysOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        help="Make the rotation keys that this model needs (`ciphermote infer --help` shows a model).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text and tables.")]
LevelOption = Annotated[
    int | None,
    typer.Option(
        "--primes",
        min=1,
        help="The level to bring it to, as a number of primes.",
        show_default="the fewest whose product is not below its modulus, or all",
    ),
]
RotationsOption = Annotated[
    str,
    typer.Option(
        "--rotations",
        help="Make keys for these rotations too: 1,2,4 turn slots to the left, -1 to the right.",
    ),
]
ConjugationOption = Annotated[
    bool, typer.Option("--conjugation", help="Make the key that conjugates complex slots.")
]


EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="What computes: Ciphermote's own evaluator, or Microsoft SEAL (package tenseal)."
    ),
]


class KeyKind(StrEnum):
    """The key that a device encrypts with."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"


class IntegerPlaces(StrEnum):
    """The sender's places of BFV's integers, which a ciphertext does not reveal."""

    SLOTS = "slots"
    COEFFICIENTS = "coefficients"


def stated_scheme(plain_modulus: int) -> Scheme | None:
    """Return the scheme of --plain-modulus; None if it was left out, so that the ciphertext's own scheme is
    used."""
    return scheme_of_modulus(plain_modulus) if plain_modulus else None


def places_of(places: IntegerPlaces | None) -> Places | None:
    if places is None:
        return None
    return "slots" if places is IntegerPlaces.SLOTS else "coefficients"


def numbers(text: str, what: str) -> list[int]:
    try:
        return [number_text.integer(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(
            f"{what} is {text!r}: give whole numbers with commas between, such as 1,2,4."
        ) from None


def steps_of(model: Path | None, parameters: ParameterSet) -> tuple[int, ...]:
    """Return the rotations that a model's scores need; none without a model."""
    if model is None:
        return ()
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.evaluate.linear_plans import rotation_steps

    return rotation_steps(LinearModel.load(model), parameters)
