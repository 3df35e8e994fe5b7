# SPDX-License-Identifier: Apache-2.0
"""`ciphermote params`: built-in and custom parameter sets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from ciphermote.base import json_text
from ciphermote.base.errors import Error, ParameterError
from ciphermote.cli.console import add_row
from ciphermote.cli.files import FileKind, check_target, write
from ciphermote.cli.options import JsonOption, numbers
from ciphermote.parameters import (
    BUILTIN,
    EVALUATOR_SETS,
    SECURITY_BOUNDS,
    ParameterSet,
    from_primes,
    generate,
)
from ciphermote.parameters.c_source import c_header, is_c_header
from ciphermote.parameters.files import parameters_from_dict, parameters_to_dict


def _is_set(data: bytes) -> bool:
    try:
        parameters_from_dict(json_text.parse(data), "")
    except (ValueError, Error):
        return False
    return True


_SET_HEADER = FileKind("C header of a parameter set", is_c_header)
_SET_JSON = FileKind("parameter set", _is_set)


def params(
    n: Annotated[
        int | None, typer.Option(help="Ring degree of your own set: 1024, 2048, 4096, 8192 or 16384.")
    ] = None,
    bits: Annotated[str, typer.Option(help="Bits of its primes, the special one last: 26,26,27.")] = "",
    primes: Annotated[
        str, typer.Option(help="The primes themselves, the special one last, instead of --bits.")
    ] = "",
    name: Annotated[
        str | None, typer.Option(help="Its name (default: made from n and the primes' bits).")
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option(help="The security table it must meet: 2024 (default), or 2018 for older sets."),
    ] = None,
    header: Annotated[Path | None, typer.Option(help="Write a C header that defines it.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a .json file, for --params of other commands."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the parameter sets, or make and check one of your own.

    **In:** nothing, or a ring degree and primes. **Out:** a table, and a C header and a .json file if you
    ask for them. All of them are public. A set that is insecure or invalid is refused, with the reason.

    Example:

        ciphermote params --n 4096 --bits 25,26,27 --header own.h -o own.json
    """
    if n is None:
        if bits or primes or header or output or name is not None or standard is not None:
            raise ParameterError(
                "Without --n the built-in sets are listed, and no other option applies: a set of your own "
                "begins with its ring degree, --n 1024, 2048, 4096, 8192 or 16384."
            )
        _print_sets((*BUILTIN, *EVALUATOR_SETS), as_json=as_json)
        return
    if bool(bits) == bool(primes):
        raise ParameterError(
            "A set of your own needs its primes: give --bits 26,26,27 or --primes, and not both."
        )
    standard = standard or "2024"
    if bits:
        own = generate(n, numbers(bits, "--bits"), standard, name)
    else:
        own = from_primes(n, numbers(primes, "--primes"), standard, name)
    wanted: list[tuple[Path, bytes, FileKind]] = []
    if header is not None:
        wanted.append((header, c_header(own).encode(), _SET_HEADER))
    if output is not None:
        text = json.dumps(parameters_to_dict(own), indent=2) + "\n"
        wanted.append((output, text.encode(), _SET_JSON))
    for path, _, kind in wanted:
        check_target(path, kind)
    _print_sets([own], as_json=as_json)
    for path, content, kind in wanted:
        write(path, content, kind)


def _print_sets(sets: Sequence[ParameterSet], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"items": [parameters_to_dict(p) for p in sets], "next": None}))
        return
    table = Table(
        Column("name", no_wrap=True, min_width=max(len(p.name) for p in sets)),
        "n",
        "slots",
        "data primes",
        "bits in all",
        "bound",
        "id",
    )
    for p in sets:
        bound = f"{SECURITY_BOUNDS[p.standard][p.n]} ({p.standard})"
        cells = p.name, str(p.n), str(p.slots), str(len(p.data_primes)), f"{p.log2_q:.2f}", bound
        add_row(table, *cells, f"{p.id:08x}")
    Console().print(table)
