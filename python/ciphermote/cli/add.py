# SPDX-License-Identifier: Apache-2.0
"""`ciphermote add`: the sum of ciphertexts."""

from __future__ import annotations

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


def add(
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXT", help="Readings, or the scores of one model.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    params: SetOption = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
) -> None:
    """Add up ciphertexts, slot by slot, without any key.

    **In:** ciphertexts under one key: CKKS's of one scale, or BFV's of one modulus. **Out:** their encrypted
    sum, in Microsoft SEAL's bytes with a label, for the owner alone to read. If the parameter set is your
    own, name it (--params).

    Example:

        ciphermote add readings/*.ct -o total.ct
    """
    from ciphermote.ciphertexts import stated_parameters
    from ciphermote.computation import Sum, compute

    contents = [read_ciphertext(path) for path in ciphertexts]
    parameters = parameter_set(params) if params else stated_parameters(contents[0])
    kind = ciphertext_of(parameters)
    check_target(output, kind)
    check_not_given(output, ciphertexts)
    total = compute(Sum(), contents, parameters, plain_modulus=plain_modulus, bare=bare)
    write(output, total, kind)
    say(f"The encrypted sum of {len(contents)} is in {output}, for the owner to decrypt.")
