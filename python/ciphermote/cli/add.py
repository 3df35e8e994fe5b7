# SPDX-License-Identifier: Apache-2.0
"""`ciphermote add`: the sum of ciphertexts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ciphermote.cli.console import say
from ciphermote.cli.files import (
    check_not_given,
    check_target,
    ciphertext_of,
    parameter_set,
    read_ciphertext,
    write,
)
from ciphermote.cli.options import BareOption, ModulusOption, SetOption
from ciphermote.errors import ParameterError, about
from ciphermote.words import count_of


def add(
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXT", help="Readings, or the scores of one model.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    params: SetOption = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
    repeated: Annotated[
        bool, typer.Option("--repeated", help="Add what is given more than once as often as it is given.")
    ] = False,
) -> None:
    """Add up ciphertexts, slot by slot, without any key.

    **In:** ciphertexts under one key: CKKS's of one scale, or BFV's of one modulus. **Out:** their encrypted
    sum, in Microsoft SEAL's bytes with a label, for the owner alone to read. BFV's sums are modulo T: take T
    above the largest sum, twice that if there are negative numbers (`advise`). If the parameter set is your
    own, name it (--params).

    Example:

        ciphermote add readings/*.ct -o total.ct
    """
    from ciphermote.ciphertexts import modulus_of, stated_parameters
    from ciphermote.computation import EvaluationKeys

    contents = [read_ciphertext(path) for path in ciphertexts]
    if not repeated:
        _refuse_repeated(ciphertexts, contents)
    with about(ciphertexts[0]):
        parameters = parameter_set(params) if params else stated_parameters(contents[0])
    for path, content in zip(ciphertexts, contents, strict=True):
        with about(path):
            modulus_of(content, parameters, plain_modulus)
    modulus = modulus_of(contents[0], parameters, plain_modulus)
    kind = ciphertext_of(parameters)
    check_target(output, kind)
    check_not_given(output, ciphertexts)
    with EvaluationKeys(parameters).engine(modulus, bare=bare) as engine:
        total = engine.add(contents, names=ciphertexts)
    write(output, total, kind)
    say(
        f"The encrypted sum of {count_of(len(contents), 'ciphertext')} is in {output}; only the owner can "
        "decrypt it."
    )


def _refuse_repeated(paths: Sequence[Path], contents: Sequence[bytes]) -> None:
    first: dict[bytes, Path] = {}
    for path, content in zip(paths, contents, strict=True):
        if (other := first.setdefault(content, path)) is not path:
            raise ParameterError(
                f"{path} is the same ciphertext as {other}, and would count twice: leave it out, or give "
                "--repeated if that is what you want."
            )
