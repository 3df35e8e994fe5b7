# SPDX-License-Identifier: Apache-2.0
"""`ciphermote inspect`: what a file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import about
from ciphermote.cli.console import print_rows
from ciphermote.cli.files import parameter_set
from ciphermote.cli.options import JsonOption, SetOption


def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file, or a directory of keys.")],
    params: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a file: keys, frames, a provisioning blob or header, a model, a fleet's file, a SEAL object.

    **In:** any of Ciphermote's own files; not files of numbers.
    **Out:** a table of what the file says about itself. Secrets are never shown.

    Example:

        ciphermote inspect frames.bin
    """
    from ciphermote.cli.inspection import describe

    parameters = parameter_set(params) if params else None
    with about(path):
        rows = describe(path, parameters)
    print_rows(rows, as_json=as_json)
