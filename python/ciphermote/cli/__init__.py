# SPDX-License-Identifier: Apache-2.0
"""The command line: `ciphermote COMMAND`, a module here for each command, by its name.

Results go to standard output, progress and errors to standard error. A user's mistake ends in one sentence
and exit code 1 (2 for a wrong command line), never in a traceback. Modules that load slowly are imported
by the command that needs them.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ciphermote import __version__
from ciphermote.base.errors import Error
from ciphermote.cli import (
    adapt,
    add,
    advise,
    compact,
    decrypt,
    encrypt,
    export,
    extend,
    gateway,
    import_seal,
    infer,
    inspect,
    keygen,
    operator,
    owner,
    params,
    provision,
    rekey,
    serve,
)
from ciphermote.cli.ascii_numbers import take_ascii_numbers
from ciphermote.cli.console import fail


class _SentencesOnly(TyperGroup):
    """Turns the errors that users can cause into one sentence and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Error as error:
            fail(str(error))
        except BrokenPipeError:
            raise  # Whoever reads our output has seen enough; typer ends quietly.
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}; name a file or directory that you may read and write.")


app = typer.Typer(
    cls=_SentencesOnly,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="""Homomorphic encryption for the smallest clients: the owner's toolkit.

Two readings, end to end, one command per step; run them in an empty directory:

    ciphermote keygen keys --public-to keys-public
    printf '1 2\\n3 4\\n' | ciphermote encrypt keys-public - --rows -o frames.bin
    ciphermote adapt keys-public frames.bin -o readings
    ciphermote add readings/*.ct -o total.ct
    ciphermote decrypt keys total.ct --count 2

1. The owner makes keys. **keys/secret.key never leaves the owner's machine.**
2. Anyone with the public key encrypts. A device does so itself: `provision` writes the (**secret**) keys to
   compile into it, and `adapt --port` listens to it.
3. What arrives is checked and turned into ciphertexts.
4. A server computes on them without any secret: it adds them up, or scores each with a model (`infer`).
5. The owner reads the result: 4 and 6, give or take some noise.""",
)


def main() -> None:
    """The entry point of the `ciphermote` command."""
    if sys.stdout is None:  # closed by whoever started us; Python would drop what is printed without a word
        sys.exit("error: Standard output is closed: send it to a file, or to /dev/null if nobody reads it.")
    app()


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"ciphermote {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


for _command in (
    keygen.keygen,
    extend.extend,
    provision.provision,
    params.params,
    encrypt.encrypt,
    adapt.adapt,
    rekey.rekey,
    import_seal.import_seal,
    add.add,
    infer.infer,
    decrypt.decrypt,
    export.export,
    inspect.inspect,
    advise.advise,
):
    app.command("import" if _command is import_seal.import_seal else None)(_command)
app.command(context_settings={"auto_envvar_prefix": "CIPHERMOTE"})(serve.serve)
app.add_typer(compact.compact, name="compact")
app.add_typer(owner.owner, name="owner")
app.add_typer(operator.operator, name="operator")
app.add_typer(gateway.gateway, name="gateway")
take_ascii_numbers(app)
