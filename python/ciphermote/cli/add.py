# SPDX-License-Identifier: Apache-2.0
"""`ciphermote add`: the sum of ciphertexts."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import ParameterError, about
from ciphermote.base.words import count_of
from ciphermote.cli.console import say
from ciphermote.cli.files import (
    check_not_given,
    check_target,
    ciphertext_of,
    parameter_set,
    read_ciphertext,
    write,
)
from ciphermote.cli.options import BareOption, EngineOption, ModulusOption, SetOption, stated_scheme


def add(
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXT", help="Readings, or the scores of one model.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    params: SetOption = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
    engine_name: EngineOption = "native",
    repeated: Annotated[
        bool, typer.Option("--repeated", help="Add a ciphertext as many times as it is given.")
    ] = False,
) -> None:
    """Add up ciphertexts, slot by slot, without any key.

    **In:** ciphertexts under one key: CKKS's of one scale, or BFV's of one modulus. **Out:** their encrypted
    sum, in Microsoft SEAL's bytes with a label, which only the owner can read; the mean is that
    sum divided by the count, after decryption. BFV's sums are modulo T. A sum that could outgrow the modulus,
    by the largest values that its readings declare, is refused. If the parameter set is your own, name it
    (--params).

    Example:

        ciphermote add readings/*.ct -o total.ct
    """
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.evaluate.evaluation_keys import EvaluationKeys

    with about(ciphertexts[0]):
        of = parameter_set(params) if params else None
        first = Ciphertext.from_bytes(read_ciphertext(ciphertexts[0]), of, stated_scheme(plain_modulus))
    kind = ciphertext_of(first.parameters)
    check_target(output, kind)
    check_not_given(output, ciphertexts)

    def contents() -> Iterator[bytes]:
        seen: dict[bytes, Path] = {}
        for path in ciphertexts:
            content = read_ciphertext(path)
            if not repeated:
                _refuse_repeated(path, content, seen)
            yield content

    keys = EvaluationKeys(first.parameters)
    with keys.engine(first.scheme, bare=bare, name=engine_name) as engine:
        total = engine.sum(contents(), names=ciphertexts).to_seal()
    write(output, total, kind)
    say(
        f"The encrypted sum of {count_of(len(ciphertexts), 'ciphertext')} is in {output}; only the owner can "
        "decrypt it."
    )


def _refuse_repeated(path: Path, content: bytes, seen: dict[bytes, Path]) -> None:
    """Refuse a file that was given before. seen: the file of each digest."""
    if (other := seen.setdefault(blake2b(content).digest(), path)) is not path:
        raise ParameterError(
            f"{path} is the same ciphertext as {other}, and would count twice: leave it out, or give "
            "--repeated if that is what you want."
        )
