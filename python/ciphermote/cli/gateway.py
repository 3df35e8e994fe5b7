# SPDX-License-Identifier: Apache-2.0
"""`ciphermote gateway`: back up, restore, verify and move what a gateway has stored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import ParameterError
from ciphermote.cli.console import fail, progress_bar, say

if TYPE_CHECKING:
    from ciphermote.gateway.moving.ends import Place

gateway = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Back up, restore, verify and move what a gateway has stored, on its machine.",
)

DataOption = Annotated[
    Path, typer.Option(metavar="DIR", help="The gateway's directory.", envvar="CIPHERMOTE_DATA")
]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The database, if it is not in the directory: postgresql://USER@HOST/NAME.",
        envvar="CIPHERMOTE_DATABASE",
    ),
]


@gateway.command()
def backup(
    target: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to: a new directory, or the one of earlier backups.")
    ],
    secrets: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where keys, tokens and certificates go: **secret**."),
    ] = None,
    data: DataOption = Path("ciphermote-gateway"),
) -> None:
    """Back up a gateway's directory while the gateway runs, under any load.

    **Out:** a directory of mode 0700, with files of mode 0600. What an earlier backup has is not copied
    again, and it stays whole until the new one is. Without --secrets no secret is copied: whoever has both
    can forge frames.

    Example:

        ciphermote gateway backup /backup --secrets /backup-elsewhere --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.backup import back_up
    copied = back_up(data, target, secrets)
    say(
        f"The database ({copied.database:,} bytes) and {copied.files:,} new files ({copied.size:,} bytes) "
        f"are in {target}."
    )
    if secrets is None:
        say("No secrets were copied: without wrap.key and tls/ it cannot be restored (--secrets).")


@gateway.command()
def backups(data: DataOption = Path("ciphermote-gateway")) -> None:
    """List the backups of a gateway whose bytes are in an object store. What they refer to stays there.

    **Out:** a line for each: its name, and the time at which it was whole.

    Example:

        ciphermote gateway backups --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.backup import kept_backups
    for found in kept_backups(data):
        when = datetime.fromtimestamp(found.modified, UTC)
        unfinished = "" if found.size else "  unfinished: everything stays in the store meanwhile"
        typer.echo(f"{found.name}  {when:%Y-%m-%dT%H:%M:%SZ}{unfinished}")


@gateway.command()
def forget(
    name: Annotated[str, typer.Argument(metavar="BACKUP", help="Its name, as `backups` lists it.")],
    data: DataOption = Path("ciphermote-gateway"),
) -> None:
    """Let objects go that only this backup refers to: it cannot be restored any more.

    **Out:** the gateway's next sweep deletes those objects from its object store.

    Example:

        ciphermote gateway forget 20260401T120000.000Z-1f00c0de --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.backup import forget_backup
    forget_backup(data, name)
    say(f"Backup {name} is forgotten: what only it refers to goes with the gateway's next sweep.")


@gateway.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A backup.")],
    secrets: Annotated[Path, typer.Option(metavar="DIR", help="The place of its keys and certificates.")],
    data: DataOption = Path("ciphermote-gateway"),
) -> None:
    """Restore a gateway's directory from a backup and its secrets.

    **Out:** a directory that is empty or not there yet; start a gateway with it.

    Example:

        ciphermote gateway restore /backup --secrets /backup-elsewhere --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.backup import restore as run
    run(source, secrets, data)
    say(
        f"The backup is restored to {data}. Check it (`ciphermote gateway verify --data {data}`), and start "
        "the gateway."
    )


@gateway.command()
def verify(data: DataOption = Path("ciphermote-gateway"), database: DatabaseOption = None) -> None:
    """Check everything that a gateway has stored for damage. The gateway may be running.

    **Out:** a line for each damaged window or file, and for the database; exit code 1 if there is any.

    Example:

        ciphermote gateway verify --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.database.interface import ERRORS
        from ciphermote.gateway.database.opening import check_url
        from ciphermote.gateway.store.interface import StoreUnavailable
        from ciphermote.gateway.verifying import verify as run
    if database is not None:
        check_url(database)
    read = count = 0

    def account(size: int) -> None:
        nonlocal read
        read += size

    try:
        for found in run(data, database, account):
            typer.echo(found.sentence)
            count += 1
    except ERRORS as error:
        fail(f"The database of {data} cannot be read ({error}): restore a backup.")
    except StoreUnavailable as error:
        fail(str(error))
    if count:
        fail(f"{count:,} damaged: restore a backup, or have jobs leave damaged windows out.")
    say(f"No damage: the database and {read:,} bytes of windows and files are as they were stored.")


SourceDatabaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The database to move from, if it is not in the directory: postgresql://USER@HOST/NAME.",
    ),
]


@gateway.command()
def migrate(
    to: Annotated[
        str,
        typer.Option(
            metavar="URL or DIR",
            help="Where to: a database, postgresql://USER@HOST/NAME, or a new directory.",
        ),
    ],
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The object store that the bytes go to: s3://BUCKET/PREFIX, or gs:// or az://. Without it "
            "they go to the new directory, or stay where they are if --to names a database.",
        ),
    ] = None,
    data: DataOption = Path("ciphermote-gateway"),
    database: SourceDatabaseOption = None,
    leave_out_damaged: Annotated[
        bool,
        typer.Option(
            "--leave-out-damaged",
            help="Move the rest if bytes are damaged, which count as deleted from then on.",
        ),
    ] = False,
) -> None:
    """Move all of a stopped gateway's data to another database and another store, or back to a directory.

    Everything is copied and compared before the target can be served. A run that was stopped goes on when the
    command is given again. The gateway that was moved does not start any more; what it has stays as it is.

    Example:

        ciphermote gateway migrate --data /var/lib/ciphermote --to postgresql://ciphermote@db.example/gateway
        --store s3://BUCKET/PREFIX
    """
    with _Packages():
        from ciphermote.gateway.database.interface import ERRORS, fault_of
        from ciphermote.gateway.moving.ends import Place
        from ciphermote.gateway.moving.move import move
    target = Place.of_target(to, data, store)
    try:
        found = move(
            _source(data, database),
            target,
            progress_bar,
            typer.echo,
            leave_out=leave_out_damaged,
        )
    except (OSError, *ERRORS) as error:
        if fault_of(error) == "damage":
            fail(f"A database is damaged ({error}): restore a backup, and move that.")
        fail(f"The move has stopped ({error}): give the command again, and it goes on where it stopped.")
    if found.was_done:
        say(f"The data of {data} are in {target} already.")
        return
    say(
        f"{found.rows:,} rows and {found.size:,} bytes are the same in {target}; {found.copied:,} bytes were "
        f"copied by this run, in {found.seconds:,.0f} s. Start the gateway there."
    )


@gateway.command()
def reopen(
    data: DataOption = Path("ciphermote-gateway"),
    database: SourceDatabaseOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Let a gateway start again whose data were moved elsewhere, or were being moved.

    It has what it had before the move. What the other one has received since is not here, and devices do not
    send it again: never serve both.

    Example:

        ciphermote gateway reopen --data /var/lib/ciphermote
    """
    with _Packages():
        from ciphermote.gateway.moving.move import reopen as run
    source = _source(data, database)
    if not yes:
        typer.confirm(f"Is the gateway stopped that the data of {source} were moved to?", abort=True)
    say(f"{source} starts again. Remove what is in {run(data, database)}: a new move needs it empty.")


def _source(data: Path, database: str | None) -> Place:
    from ciphermote.gateway.database.opening import check_url
    from ciphermote.gateway.moving.ends import Place

    if database is not None:
        check_url(database)
    return Place(data, database, None)


class _Packages:
    """Raises ParameterError if the gateway's packages are not installed."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ModuleNotFoundError):
            raise ParameterError(
                f"The gateway's packages are not installed ({error.name} is missing): install its extra, "
                "gateway."
            ) from None
