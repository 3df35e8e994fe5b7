# SPDX-License-Identifier: Apache-2.0
"""`ciphermote operator`: look after a gateway, nouns first, then verbs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ciphermote.base.errors import Error, KeyFileError, ParameterError
from ciphermote.base.number_text import is_natural
from ciphermote.base.words import how_to_install
from ciphermote.cli.console import add_row, print_items, say
from ciphermote.cli.files import FileKind, check_target, read, write
from ciphermote.cli.options import JsonOption

if TYPE_CHECKING:
    from ciphermote.gateway.operator_client import OperatorClient
    from ciphermote.rest.answers import Answer
    from ciphermote.rest.operator import Deletion, Token

_DAY = 86_400.0
_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_TOKEN = FileKind("token", lambda data: data.startswith(b"cmt_"))

operator = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Administer a gateway: tenants, quotas, tokens, deletions, quarantine and the audit log.

On the gateway's machine, as its user or as root, its directory is all that is needed:

    ciphermote operator --data /var/lib/ciphermote tenant list

From elsewhere, an operator's token is, and the gateway's authority if it is its own:

    ciphermote operator --gateway https://gateway.example:8443 --ca ca.pem --token operator.token tenant list

What operators do after the first day:

    ciphermote operator tenant create acme -o acme.token
    ciphermote operator tenant quota set acme --devices 500 --bytes 50GB
    ciphermote operator token create --tenant acme --days 90 -o acme.token
    ciphermote operator token list --tenant acme
    ciphermote operator token revoke 3f9c2a7b1e5d8064
    ciphermote operator device delete acme meters 7
    ciphermote operator tenant delete acme
    ciphermote operator audit list

Lists change nothing. `--json` prints the gateway's answer as one JSON object; a list is an object with
`items`. **Deletions cannot be undone**: they ask first, unless told `--yes`.""",
)


def _group(parent: typer.Typer, name: str, help: str) -> typer.Typer:
    found = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help=help)
    parent.add_typer(found, name=name)
    return found


_tenant = _group(operator, "tenant", "The gateway's tenants and their quotas.")
_quota = _group(_tenant, "quota", "The most that a tenant may have.")
_fleet = _group(operator, "fleet", "The fleets of a tenant.")
_retention = _group(_fleet, "retention", "How long a fleet's windows and results are kept.")
_device = _group(operator, "device", "The devices of a fleet.")
_token = _group(operator, "token", "Tokens of owners, devices and operators.")
_quarantine = _group(operator, "quarantine", "Deliveries that await your decision.")
_deletion = _group(operator, "deletion", "Deletions, and how far each has got.")
_audit = _group(operator, "audit", "Who changed what, when, and from where.")

TenantArgument = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's name.")]
FleetArgument = Annotated[str, typer.Argument(metavar="FLEET", help="The fleet's name.")]
TokenArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The token's id, as listed: the middle part of the token.")
]
NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", min=0, help="Its number, as listed.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Delete without asking.")]
TokenFileOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The file to write the token to: **secret**, mode 0600."
    ),
]
DevicesOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="The most devices.")]
BytesOption = Annotated[
    str | None, typer.Option("--bytes", metavar="SIZE", help="The most bytes stored: 5000000, 500MB, 2TB.")
]
FleetsOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="The most fleets.")]
StreamsOption = Annotated[int | None, typer.Option(metavar="N", min=0, help="The most streams.")]
JobsOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="The most jobs.")]
NoteOption = Annotated[str, typer.Option(metavar="TEXT", help="A note, such as whom it is for.")]


@operator.callback()
def _door(
    context: typer.Context,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="The gateway's directory.", envvar="CIPHERMOTE_DATA")
    ] = Path("ciphermote-gateway"),
    gateway: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The gateway's address, if it runs elsewhere: https://HOST[:PORT]."),
    ] = None,
    token: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --gateway: an operator's token.")
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM",
            help="With --gateway: the authority of its certificate, if the system does not know it.",
        ),
    ] = None,
) -> None:
    def connect() -> OperatorClient:
        with _installed():
            from ciphermote.gateway.operator_client import OperatorClient
        if gateway is None:
            if token is not None or ca is not None:
                raise ParameterError("--token and --ca belong to a gateway elsewhere: give --gateway too.")
            return OperatorClient.local(data)
        if token is None:
            raise ParameterError("--gateway needs an operator's token: give its file (--token).")
        return OperatorClient.remote(
            gateway, read(token).decode(errors="replace"), ca=None if ca is None else read(ca).decode()
        )

    context.obj = connect


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"The gateway's packages are not installed ({error.name} is missing): "
            f"{how_to_install('gateway')}."
        ) from None


# --- printing -----------------------------------------------------------------------------------------------


def _show(answer: Answer, *, as_json: bool, sentence: str) -> None:
    """Print the answer to a change as JSON, without the secret of a new token, or as a sentence."""
    if as_json:
        typer.echo(answer.model_dump_json(exclude={"token"}))
    else:
        say(sentence)


def _list(items: Iterable[Answer], *, as_json: bool, columns: dict[str, Callable[[Any], str]]) -> None:
    """Print all items as JSON, or as a table of these columns."""
    print_items(items, lambda item: item.model_dump(mode="json"), columns, as_json=as_json)


def _time(seconds: float | None, none: str = "") -> str:
    from ciphermote.fleet.reading import time_text

    return none if seconds is None else time_text(int(seconds))


def _size(count: int) -> str:
    unit = next(unit for unit in reversed(_UNITS) if count >= _UNITS[unit] or not unit)
    return f"{count / _UNITS[unit]:.3g} {unit or 'bytes'}"


def _bytes(text: str | None) -> int | None:
    """Convert a size, such as 50GB, to bytes. Raises ParameterError."""
    if text is None:
        return None
    digits = text.rstrip("kMGTB")
    unit = text[len(digits) :]
    if not is_natural(digits) or unit not in _UNITS:
        raise ParameterError(f"--bytes is {text!r}: give a whole number, or one with kB, MB, GB or TB.")
    return int(digits) * _UNITS[unit]


def _quotas(**given: int | None) -> dict[str, int]:
    return {name: most for name, most in given.items() if most is not None}


def _expiry(days: int | None) -> float | None:
    return None if days is None else time.time() + days * _DAY


def _confirm(what: str, *, yes: bool) -> None:
    """Ask before a deletion. Raises ParameterError if nobody is at the terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ParameterError(f"Deleting {what} cannot be undone: say --yes to do it without being asked.")
    typer.confirm(f"Delete {what}? This cannot be undone.", abort=True)


def _write_token(client: OperatorClient, token: str, path: Path) -> None:
    """Write a new token; revoke it if that fails."""
    try:
        write(path, f"{token}\n".encode(), _TOKEN, secret=True)
    except Error:
        client.revoke_token(token.split("_")[1])
        raise


def _deleted(found: Deletion, what: str, *, as_json: bool) -> None:
    _show(
        found,
        as_json=as_json,
        sentence=f"Deleted {what}: nothing of it is accepted any more. Its rows are being removed (deletion "
        f"{found.id}: `ciphermote operator deletion list`).",
    )


# --- tenants ------------------------------------------------------------------------------------------------


@_tenant.command("list")
def list_tenants(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the tenants, and how much of their quotas they use.

    Example:

        ciphermote operator tenant list
    """
    with context.obj() as client:
        _list(
            client.tenants(),
            as_json=as_json,
            columns={
                "tenant": lambda each: each.name,
                "since": lambda each: _time(each.created),
                "devices": lambda each: f"{each.used.devices:,} of {each.quotas.devices:,}",
                "stored": lambda each: f"{_size(each.used.bytes)} of {_size(each.quotas.bytes)}",
            },
        )


@_tenant.command("create")
def create_tenant(
    context: typer.Context,
    tenant: TenantArgument,
    output: TokenFileOption,
    devices: DevicesOption = None,
    size: BytesOption = None,
    fleets: FleetsOption = None,
    streams: StreamsOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a tenant, and write its owner's first token.

    **Out:** a file for the tenant's owner, **secret** (mode 0600). The name becomes part of its devices' MQTT
    users, and can never be reused.

    Example:

        ciphermote operator tenant create acme -o acme.token --devices 500
    """
    check_target(output, _TOKEN)
    if output.exists():  # a new tenant's token replaces nobody's
        raise KeyFileError(f"{output} holds another token, which would be lost: name another file.")
    with context.obj() as client:
        quotas = _quotas(devices=devices, bytes=_bytes(size), fleets=fleets, streams=streams, jobs=jobs)
        made = client.create_tenant(tenant, quotas)
        _write_token(client, made.token, output)
        _show(
            made.tenant,
            as_json=as_json,
            sentence=f"Tenant {tenant} is created. Its owner's token is in {output}: secret.",
        )


@_tenant.command("delete")
def delete_tenant(
    context: typer.Context, tenant: TenantArgument, yes: YesOption = False, as_json: JsonOption = False
) -> None:
    """Delete a tenant, with its fleets, devices, windows, jobs, results and tokens.

    Its access ends at once, over HTTPS and MQTT; its data is removed in the background. The name can never be
    reused.

    Example:

        ciphermote operator tenant delete acme
    """
    with context.obj() as client:
        client.tenant(tenant)
        _confirm(f"tenant {tenant} with everything that it has", yes=yes)
        _deleted(client.delete_tenant(tenant), f"tenant {tenant}", as_json=as_json)


@_quota.command("show")
def show_quota(context: typer.Context, tenant: TenantArgument, as_json: JsonOption = False) -> None:
    """Show a tenant's quotas, and how much of each it uses.

    Example:

        ciphermote operator tenant quota show acme
    """
    with context.obj() as client:
        found = client.tenant(tenant)
    if as_json:
        typer.echo(found.model_dump_json())
        return
    table = Table("quota", "used", "most")
    for name in type(found.quotas).model_fields:
        text = _size if name == "bytes" else "{:,}".format
        add_row(table, name, text(getattr(found.used, name)), text(getattr(found.quotas, name)))
    Console().print(table)


@_quota.command("set")
def set_quota(
    context: typer.Context,
    tenant: TenantArgument,
    devices: DevicesOption = None,
    size: BytesOption = None,
    fleets: FleetsOption = None,
    streams: StreamsOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a tenant's quotas; those left out do not change.

    A quota below the current use deletes nothing, but nothing more is accepted until use falls below it.

    Example:

        ciphermote operator tenant quota set acme --devices 500 --bytes 50GB
    """
    given = _quotas(devices=devices, bytes=_bytes(size), fleets=fleets, streams=streams, jobs=jobs)
    if not given:
        raise ParameterError("No quota is given: give at least one, --devices for example.")
    with context.obj() as client:
        _show(
            client.set_quotas(tenant, given),
            as_json=as_json,
            sentence=f"The quotas of tenant {tenant} are changed.",
        )


# --- fleets and devices -------------------------------------------------------------------------------------


@_fleet.command("list")
def list_fleets(context: typer.Context, tenant: TenantArgument, as_json: JsonOption = False) -> None:
    """List a tenant's fleets.

    Example:

        ciphermote operator fleet list acme
    """
    with context.obj() as client:
        _list(
            client.fleets(tenant),
            as_json=as_json,
            columns={
                "fleet": lambda each: each.name,
                "lane": lambda each: each.lane,
                "since": lambda each: _time(each.created),
                "devices": lambda each: f"{each.devices:,}",
                "keeps windows": lambda each: f"{each.retain_days} days" if each.retain_days else "for ever",
            },
        )


@_fleet.command("delete")
def delete_fleet(
    context: typer.Context,
    tenant: TenantArgument,
    fleet: FleetArgument,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a fleet, with its devices, windows, jobs, results and tokens.

    From now on nothing is accepted for it; its data is removed in the background. Within the tenant, its name
    can never be reused.

    Example:

        ciphermote operator fleet delete acme meters
    """
    with context.obj() as client:
        client.tenant(tenant)
        _confirm(f"fleet {fleet} of tenant {tenant} with everything in it", yes=yes)
        _deleted(client.delete_fleet(tenant, fleet), f"fleet {fleet} of tenant {tenant}", as_json=as_json)


@_retention.command("set")
def set_retention(
    context: typer.Context,
    tenant: TenantArgument,
    fleet: FleetArgument,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="Delete windows and results after this many days.")
    ] = None,
    forever: Annotated[bool, typer.Option("--forever", help="Keep them.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Set how long a fleet's windows and results are stored.

    Example:

        ciphermote operator fleet retention set acme meters --days 90
    """
    if (days is None) != forever:
        raise ParameterError("Give either --days or --forever.")
    with context.obj() as client:
        found = client.set_retention(tenant, fleet, days)
    kept = "for ever" if days is None else f"for {days} days"
    _show(
        found, as_json=as_json, sentence=f"Fleet {fleet} of tenant {tenant} keeps windows and results {kept}."
    )


@_device.command("list")
def list_devices(
    context: typer.Context, tenant: TenantArgument, fleet: FleetArgument, as_json: JsonOption = False
) -> None:
    """List a fleet's devices, deleted ones too.

    Example:

        ciphermote operator device list acme meters
    """
    with context.obj() as client:
        _list(
            client.devices(tenant, fleet),
            as_json=as_json,
            columns={
                "device": lambda each: str(each.number),
                "epoch": lambda each: str(each.epoch),
                "state": lambda each: each.state,
                "since": lambda each: _time(each.created),
                "heard last": lambda each: _time(each.last_seen, "never"),
            },
        )


@_device.command("delete")
def delete_device(
    context: typer.Context,
    tenant: TenantArgument,
    fleet: FleetArgument,
    device: Annotated[int, typer.Argument(metavar="DEVICE", min=0, help="The device's number.")],
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Delete a device, with its windows, results and tokens.

    From now on nothing from it is accepted; its data is removed in the background. Results that include its
    windows stay. Its owner may enroll the number again (`ciphermote owner enroll --again`), in a later epoch.

    Example:

        ciphermote operator device delete acme meters 7
    """
    with context.obj() as client:
        client.tenant(tenant)
        what = f"device {device} of fleet {fleet} of tenant {tenant}"
        _confirm(f"{what} with everything that it sent", yes=yes)
        _deleted(client.delete_device(tenant, fleet, device), what, as_json=as_json)


# --- tokens -------------------------------------------------------------------------------------------------


@_token.command("list")
def list_tokens(
    context: typer.Context,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Whose tokens (default: the operators').")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the tokens of a tenant, or those of the operators. Their secrets are never shown.

    Example:

        ciphermote operator token list --tenant acme
    """
    with context.obj() as client:
        _list(
            client.tokens(tenant),
            as_json=as_json,
            columns={
                "id": lambda each: each.id,
                "scope": _place,
                "state": lambda each: each.state,
                "expires": lambda each: _time(each.expires, "never"),
                "note": lambda each: each.note,
            },
        )


def _place(token: Token) -> str:
    if token.scope != "device":
        return token.scope
    return f"{token.fleet}, {'uplink' if token.device is None else f'device {token.device}'}"


@_token.command("create")
def create_token(
    context: typer.Context,
    output: TokenFileOption,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="For an owner of this tenant (default: an operator).")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="It expires after this many days (default: never).")
    ] = None,
    note: NoteOption = "",
    as_json: JsonOption = False,
) -> None:
    """Create a token for an owner, who may have lost theirs, or for another operator.

    **Out:** a file, **secret** (mode 0600), which replaces an older token file. Earlier tokens stay valid:
    revoke them if they are lost.

    Example:

        ciphermote operator token create --tenant acme --days 90 -o acme.token
    """
    check_target(output, _TOKEN)
    with context.obj() as client:
        made = client.create_token(tenant, note=note, expires=_expiry(days))
        _write_token(client, made.token, output)
    whose = "an operator" if tenant is None else f"an owner of tenant {tenant}"
    _show(
        made, as_json=as_json, sentence=f"Token {made.id} of {whose} is in {output}: secret. It {_end(made)}."
    )


def _end(token: Token) -> str:
    if token.expires is None:
        return "never expires"
    return f"expires at {_time(token.expires)}, local time"


@_token.command("renew")
def renew_token(
    context: typer.Context,
    token: TokenArgument,
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="It expires this many days from now.")
    ] = None,
    never: Annotated[bool, typer.Option("--never", help="It never expires.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Change when a token expires, even after it has. Its secret does not change, so its holder needs no new
    one. Revoked tokens stay revoked.

    Example:

        ciphermote operator token renew 3f9c2a7b1e5d8064 --days 90
    """
    if (days is None) != never:
        raise ParameterError("Give either --days or --never.")
    with context.obj() as client:
        found = client.renew_token(token, _expiry(days))
    _show(found, as_json=as_json, sentence=f"Token {token} {_end(found)}.")


@_token.command("revoke")
def revoke_token(context: typer.Context, token: TokenArgument, as_json: JsonOption = False) -> None:
    """Revoke a token of an owner, a device or an operator, at once and for good.

    Example:

        ciphermote operator token revoke 3f9c2a7b1e5d8064
    """
    with context.obj() as client:
        _show(client.revoke_token(token), as_json=as_json, sentence=f"Token {token} is revoked.")


# --- what is quarantined, deletions, the audit log ----------------------------------------------------------


@_quarantine.command("list")
def list_quarantine(context: typer.Context, as_json: JsonOption = False) -> None:
    """List deliveries in quarantine: counters that jumped ahead, and bytes that contradict stored ones.

    Example:

        ciphermote operator quarantine list
    """
    with context.obj() as client:
        _list(
            client.quarantined(),
            as_json=as_json,
            columns={
                "number": lambda each: str(each.id),
                "tenant": lambda each: each.tenant,
                "fleet": lambda each: each.fleet,
                "device": lambda each: str(each.device),
                "kind": lambda each: each.kind,
                "reason": lambda each: each.reason,
            },
        )


@_quarantine.command("accept")
def accept(context: typer.Context, number: NumberArgument, as_json: JsonOption = False) -> None:
    """Accept a counter's jump, so that the device's next attempt succeeds. Ask its owner first.

    Example:

        ciphermote operator quarantine accept 3
    """
    with context.obj() as client:
        found = client.accept(number)
    _show(
        found,
        as_json=as_json,
        sentence=f"Device {found.device} of fleet {found.fleet} goes on from {found.counter}.",
    )


@_quarantine.command("discard")
def discard(context: typer.Context, number: NumberArgument, as_json: JsonOption = False) -> None:
    """Discard a delivery that is in quarantine.

    Example:

        ciphermote operator quarantine discard 3
    """
    with context.obj() as client:
        found = client.discard(number)
    _show(
        found,
        as_json=as_json,
        sentence=f"Dropped what device {found.device} of fleet {found.fleet} had sent.",
    )


@_deletion.command("list")
def list_deletions(context: typer.Context, as_json: JsonOption = False) -> None:
    """List deletions and their progress, newest first.

    Example:

        ciphermote operator deletion list
    """
    with context.obj() as client:
        _list(
            client.deletions(),
            as_json=as_json,
            columns={
                "number": lambda each: str(each.id),
                "tenant": lambda each: each.tenant,
                "fleet": lambda each: each.fleet or "all",
                "device": lambda each: "all" if each.device is None else str(each.device),
                "requested": lambda each: _time(each.requested),
                "rows removed": lambda each: f"{each.rows:,}" + ("" if each.finished else " so far"),
            },
        )


@_audit.command("list")
def list_audit(
    context: typer.Context,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Entries about this tenant (default: all).")
    ] = None,
    most: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="How many entries.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List who changed what, when, and from where, newest first.

    Example:

        ciphermote operator audit list --tenant acme
    """
    with context.obj() as client:
        _list(
            islice(client.audit(tenant), most),
            as_json=as_json,
            columns={
                "when": lambda each: _time(each.time),
                "who": lambda each: each.actor,
                "from": lambda each: each.address,
                "what": lambda each: each.action,
                "about": lambda each: _details(each.details),
                "outcome": lambda each: each.outcome,
            },
        )


def _details(details: dict[str, Any]) -> str:
    found = {**details}
    if found.get("expires") is not None:
        found["expires"] = _time(found["expires"])
    return ", ".join(f"{name} {value}" for name, value in found.items() if value not in (None, ""))
