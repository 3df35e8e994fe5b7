# SPDX-License-Identifier: Apache-2.0
"""`ciphermote owner`: manage a fleet at a gateway from the owner's machine, one command per step."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from ciphermote.base import json_text, number_text
from ciphermote.base.errors import GatewayError, KeyFileError, ParameterError
from ciphermote.base.words import count_of, how_to_install
from ciphermote.cli.console import add_row, note, plain, print_items, progress_bar, say, warnings_as_notes
from ciphermote.cli.files import FileKind, read, write
from ciphermote.cli.options import IntegerPlaces, JsonOption, SignedOption, numbers, places_of
from ciphermote.parameters.schemes import scheme_of_modulus
from ciphermote.rest.words import CHECKED_KINDS, ComputedKind, DeviceAction, JobAction

if TYPE_CHECKING:
    from ciphermote.fleet import Attachment, Computation, Fetched, GatewayClient
    from ciphermote.fleet.reading import Reading
    from ciphermote.rest.answers import (
        Answer,
        DeviceView,
        LeftOut,
        OwnerKeyList,
        OwnerKeyView,
        Progress,
    )

_RATE_SECONDS = 10.0
_RETRY_SECONDS = 2.0

owner = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""A fleet at a gateway, from the owner's machine (`pip install '.[owner]'` in a clone).

A command for each step, with a gateway that runs (`ciphermote serve`) and its owner's token:

    ciphermote keygen keys
    ciphermote owner attach keys --gateway https://localhost:8443 \\
        --ca ca.pem --token owner.token --fleet meters
    ciphermote owner enroll keys 7 -o device7.h
    ciphermote owner watch keys
    ciphermote owner compute keys mean -o results
    ciphermote owner decrypt keys results

1. The fleet is defined at the gateway, which gets the public keys that it computes with.
2. A device is enrolled: it is built with its keys, and sends with the token in its connection file.
3. Its windows arrive. The gateway keeps them; it cannot read them.
4. The gateway computes, without any secret, and the result is fetched.
5. The owner reads it. **Nothing that decrypts ever leaves the owner's machine.**""",
)
stream = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Computations that the gateway repeats for each interval, such as an hour.",
)
owner.add_typer(stream, name="stream")
device = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="The fleet's devices: list them, or stop one."
)
owner.add_typer(device, name="device")
job = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The fleet's computations: list them, cancel one or run one again.",
)
owner.add_typer(job, name="job")
key = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The fleet's owner key: what is under it, a new one, and the end of an old one.",
)
owner.add_typer(key, name="key")
DeviceArgument = Annotated[int, typer.Argument(metavar="DEVICE", min=0, help="The device's number.")]
JobArgument = Annotated[int, typer.Argument(metavar="JOB", min=0, help="The job's number.")]


class GivenKey(StrEnum):
    """The owner's key with which a device encrypts."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"


KeysArgument = Annotated[
    Path,
    typer.Argument(
        metavar="KEYS",
        help="A directory of keys (`ciphermote keygen`), or a compact keys file (`ciphermote compact "
        "keygen`).",
    ),
]
FleetOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The fleet, if KEYS is attached to several.")
]
KindArgument = Annotated[ComputedKind, typer.Argument(metavar="KIND", help="What to compute.")]
DevicesOption = Annotated[
    str | None, typer.Option(metavar="7,8,9", help="Windows of these devices alone (default: all).")
]
LeaveOutDamagedOption = Annotated[
    bool,
    typer.Option(
        "--leave-out-damaged",
        help="Leave out windows that are damaged in the gateway's store; without it, the computation fails.",
    ),
]
GroupsOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Sums and means: check them in so many groups of devices (default: 32; compact fleets: every "
        "device by itself; 0: one sum, unchecked).",
    ),
]
PerDeviceOption = Annotated[
    int, typer.Option(min=1, help="Count at most this many windows of each device, to limit its share.")
]
WeightOption = Annotated[
    list[str] | None,
    typer.Option(metavar="DEVICE=W", help="weighted-sum: a device and its weight. May be repeated."),
]
BoundOption = Annotated[
    float | None,
    typer.Option(
        help="weighted-sum and linear, full fleets: the largest |value| of a window, if it is less than what "
        "the devices were enrolled for."
    ),
]
ModelOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="linear: the model (`ciphermote infer --help` shows one).")
]


@contextmanager
def _installed() -> Iterator[None]:
    try:
        import httpx  # noqa: F401
    except ModuleNotFoundError:
        raise ParameterError(
            f"The owner's packages are not installed (httpx is missing): {how_to_install('owner')}."
        ) from None
    yield


def _attachment(keys: Path, fleet: str | None) -> Attachment:
    with _installed():
        from ciphermote.fleet import Attachment

        return Attachment.load(keys, fleet)


# --- attach and enroll --------------------------------------------------------------------------------------


@owner.command()
def attach(
    keys: KeysArgument,
    gateway: Annotated[str, typer.Option(metavar="URL", help="The gateway: https://HOST[:PORT].")],
    token: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The file with the owner's token."),
    ],
    fleet: Annotated[
        str, typer.Option(metavar="NAME", help="The fleet: lowercase letters, digits, hyphens.")
    ],
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM",
            help="The authority of the gateway's certificate, if the system does not know it: of a gateway's "
            "own, tls/ca.pem in its directory.",
        ),
    ] = None,
    log2_scale: Annotated[
        int | None,
        typer.Option(
            help="CKKS: log2 of the scale of all windows (default: what suits the largest value and the sums "
            "that the keys are made for)."
        ),
    ] = None,
    plain_modulus: Annotated[
        int, typer.Option(metavar="T", min=0, help="BFV: all windows are integers modulo T.")
    ] = 0,
    own_keys: Annotated[
        bool,
        typer.Option(
            "--own-keys",
            help="Each device gets a secret key of its own, so that a captured one reads only itself "
            "(n = 2048 and up).",
        ),
    ] = False,
    values: Annotated[
        int | None, typer.Option(min=1, help="Compact keys: a window has so many values, from position 0 on.")
    ] = None,
    windows_per_hour: Annotated[
        int | None, typer.Option(min=1, help="The most that a device may send in an hour.")
    ] = None,
    moved: Annotated[
        bool,
        typer.Option("--moved", help="The fleet is attached already, and its gateway has a new address."),
    ] = False,
) -> None:
    """Define a fleet at a gateway and remember it here: the first step.

    **In:** keys, and the token that the gateway's operator gave you. **Out:** the fleet at the gateway, with
    the public keys that variances and models need; and, beside the keys, the directory KEYS.fleets,
    **secret** for the token in it (mode 0700). Keys may be attached to several fleets. Run it again after
    `ciphermote extend`, to send the new keys. What a fleet's windows hold is defined once and cannot change.

    Examples:

        ciphermote owner attach keys --gateway https://localhost:8443 \\
            --ca ca.pem --token owner.token --fleet meters

        ciphermote owner attach fleet.key --gateway https://localhost:8443 \\
            --ca ca.pem --token owner.token --fleet small --values 8
    """
    with _installed():
        from ciphermote.fleet import attach as attach_keys
    from ciphermote.cli.precision import say_precision
    from ciphermote.owner.key_store import KeyStore

    found = attach_keys(
        keys,
        gateway,
        _text(token),
        fleet,
        ca=None if ca is None else _text(ca),
        log2_scale=log2_scale,
        scheme=scheme_of_modulus(plain_modulus),
        own_keys=own_keys,
        positions=None if values is None else [(0, values)],
        windows_per_hour=windows_per_hour,
        moved=moved,
    )
    say(f"{keys} is attached to fleet {fleet} at {found.gateway}; {found.folder} remembers it: secret.")
    if not found.is_compact and not plain_modulus:
        say_precision(KeyStore.open(keys), int(found.definition["log2_scale"]))
    say(f"Enroll its devices: ciphermote owner enroll {keys} 1 -o device1.h")


@owner.command()
def enroll(
    keys: KeysArgument,
    device: Annotated[int, typer.Argument(metavar="DEVICE", help="The device's number.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the device's keys: a C header to compile in (.h), or else a binary file.",
        ),
    ],
    connection: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write its connection file (default: beside its keys, with the ending .json).",
        ),
    ] = None,
    fleet: FleetOption = None,
    key: Annotated[
        GivenKey,
        typer.Option(help="symmetric: the secret key, for the smallest frames; asymmetric: the public key."),
    ] = GivenKey.SYMMETRIC,
    stream_public_key: Annotated[
        bool,
        typer.Option(
            "--stream-public-key",
            help="With --key asymmetric: write digests of the public key into the header instead of the key, "
            "for a device whose host sends it the key while it encrypts (as `ciphermote provision` does).",
        ),
    ] = False,
    largest_value: Annotated[
        int | None, typer.Option(help="Compact fleets: the largest value it sends (default: the set's).")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Enroll a device anew: its old keys and tokens end.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Enroll a device: draw its secret, write its keys, and register what authenticates its frames.

    **In:** keys that are attached. **Out:** the device's keys and its connection file (JSON: the gateway, the
    device's token, its MQTT user), both **secret** (mode 0600) and for that one device. The gateway gets keys
    that check frames, and none that decrypts. If the command fails, run it again: it resumes with the same
    keys.

    Example:

        ciphermote owner enroll keys 7 -o device7.h
    """
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet import enroll as enroll_device

    found = enroll_device(
        attachment,
        device,
        output,
        connection or output.with_suffix(".json"),
        key=key.value,
        stream_public_key=stream_public_key,
        largest_value=largest_value,
        again=again,
        replace_files=force,
    )
    if found.resumed:
        note("an earlier run had not ended, and this one went on with the same keys.")
    say(
        f"Device {found.device} of fleet {attachment.fleet} is enrolled (epoch {found.epoch}). Its keys are "
        f"in {found.keys_file}, its connection in {found.connection_file}: secret, and for it alone."
    )


# --- watching -----------------------------------------------------------------------------------------------


@owner.command()
def watch(
    keys: KeysArgument,
    fleet: FleetOption = None,
    once: Annotated[bool, typer.Option("--once", help="Print the present state once.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Follow a fleet live: its devices, windows and jobs. Ctrl-C ends it.

    **In:** keys that are attached. **Out:** the gateway's counts; with --json, one line per update.

    Example:

        ciphermote owner watch keys --once
    """
    attachment = _attachment(keys, fleet)
    with attachment.client() as client:
        if once:
            found = client.progress(attachment.fleet)
            if as_json:
                typer.echo(json.dumps(_progress_fields(found)))
            else:
                Console().print(_progress_table(found, None))
            return
        try:
            _watch(client, attachment.fleet, as_json=as_json)
        except KeyboardInterrupt:
            return


def _watch(client: GatewayClient, fleet: str, *, as_json: bool) -> None:
    seen: list[Progress] = []
    with Live(console=Console(), auto_refresh=False, transient=False) as live:
        while True:
            try:
                for found in client.watch(fleet):
                    if as_json:
                        typer.echo(json.dumps(_progress_fields(found)))
                        sys.stdout.flush()
                        continue
                    seen = [p for p in (*seen, found) if p.time > found.time - _RATE_SECONDS]
                    span = found.time - seen[0].time
                    rate = (found.windows - seen[0].windows) / span if span > 0 else None
                    live.update(_progress_table(found, rate), refresh=True)
            except GatewayError as error:
                if error.name != "unreachable":
                    raise
                live.update(plain(f"{error} Trying again ..."), refresh=True)
            time.sleep(_RETRY_SECONDS)


def _progress_fields(found: Progress) -> dict[str, Any]:
    return found.model_dump()


def _progress_table(found: Progress, rate: float | None) -> Table:
    from ciphermote.fleet.reading import time_text

    table = Table("field", "value", show_header=False, title=f"fleet {found.fleet}")
    last = "nothing yet" if found.last_seen is None else time_text(found.last_seen)
    rows = [
        ("devices", f"{found.devices:,}, of which {found.heard:,} have sent something"),
        ("heard last, local time", last),
        ("windows", f"{found.windows:,}"),
        *([] if rate is None else [("windows a second", f"{rate:.1f}")]),
        *([("wait for the operator", f"{found.quarantined:,}")] if found.quarantined else []),
        *((f"jobs {state}", f"{count:,}") for state, count in sorted(found.jobs.items())),
    ]
    for name, value in rows:
        add_row(table, name, value)
    return table


@device.command(name="list")
def list_devices(keys: KeysArgument, fleet: FleetOption = None, as_json: JsonOption = False) -> None:
    """List the fleet's devices.

    **In:** keys that are attached. **Out:** a table.

    Example:

        ciphermote owner device list keys
    """
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet.reading import time_text

    with attachment.client() as client:
        found = list(client.devices(attachment.fleet))

    def state(each: DeviceView) -> str:
        return f"{each.state}, quarantined" if each.excluded and each.state != "quarantined" else each.state

    _print_answers(
        found,
        {
            "device": lambda each: str(each.number),
            "epoch": lambda each: str(each.epoch),
            "state": state,
            "windows": lambda each: f"{each.windows:,}",
            "heard last, local time": lambda each: (
                "nothing yet" if each.last_seen is None else time_text(each.last_seen)
            ),
        },
        as_json=as_json,
    )


def _print_answers(
    found: Iterable[Answer], columns: Mapping[str, Callable[[Any], str]], *, as_json: bool
) -> None:
    print_items(found, lambda each: each.model_dump(mode="json"), columns, as_json=as_json)


@device.command()
def quarantine(keys: KeysArgument, number: DeviceArgument, fleet: FleetOption = None) -> None:
    """Refuse everything from a device until it is activated again.

    **In:** keys that are attached. **Out:** a sentence. New jobs leave out its windows.

    Example:

        ciphermote owner device quarantine keys 7
    """
    _set_state(keys, fleet, number, "quarantine")
    say(f"Device {number} is quarantined: its frames are refused, and new jobs leave out its windows.")


@device.command()
def activate(keys: KeysArgument, number: DeviceArgument, fleet: FleetOption = None) -> None:
    """Accept frames from a quarantined device again.

    **In:** keys that are attached. **Out:** a sentence.

    Example:

        ciphermote owner device activate keys 7
    """
    _set_state(keys, fleet, number, "activate")
    say(f"Device {number} is active: its frames are accepted, and its windows count again.")


@device.command()
def revoke(keys: KeysArgument, number: DeviceArgument, fleet: FleetOption = None) -> None:
    """Stop a device for good, for instance one that was lost.

    **In:** keys that are attached. **Out:** a sentence. Windows that it sent before still count, unless it is
    also quarantined. `owner enroll` gives the device new keys if it is found.

    Example:

        ciphermote owner device revoke keys 7
    """
    _set_state(keys, fleet, number, "revoke")
    say(f"Device {number} is revoked: its frames and its token are refused for good.")


def _set_state(keys: Path, fleet: str | None, number: int, action: DeviceAction) -> None:
    attachment = _attachment(keys, fleet)
    with attachment.client() as client:
        client.set_device_state(attachment.fleet, number, action)


@owner.command()
def retention(
    keys: KeysArgument,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=36_500, help="Delete windows and results so many days after they came."),
    ] = None,
    forever: Annotated[bool, typer.Option("--forever", help="Delete nothing more.")] = False,
    fleet: FleetOption = None,
) -> None:
    """Show or set how long the gateway keeps the fleet's windows and results (default: indefinitely).

    **In:** keys that are attached. **Out:** a sentence. Deleted windows cannot be recovered. The gateway
    remembers which windows counted, so that none counts twice, and computes only over later ones.

    Example:

        ciphermote owner retention keys --days 90
    """
    if days is not None and forever:
        raise ParameterError("--days and --forever exclude each other: give one, or neither to be shown.")
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet.reading import time_text

    with attachment.client() as client:
        if days is not None or forever:
            client.set_retention(attachment.fleet, days)
        found = client.retention(attachment.fleet)
    kept, gone = found.retain_days, found.deleted_to
    for_so_long = "for ever" if kept is None else f"for {count_of(kept, 'day')}"
    say(f"Fleet {attachment.fleet} keeps its windows and results {for_so_long}.")
    if gone is not None:
        say(f"Windows measured up to {time_text(gone)} (local time) are deleted.")


# --- the owner's key ----------------------------------------------------------------------------------------


@key.command(name="list")
def list_keys(keys: KeysArgument, fleet: FleetOption = None, as_json: JsonOption = False) -> None:
    """List the tenant's fleets with their owner keys, and what is under each.

    **In:** keys that are attached. **Out:** a table of all fleets that the token is for, or of one (--fleet).
    An old key can be retired once no window, device or quarantined attempt is under it. Windows of compact
    fleets, and of sets with one prime (n = 1024), cannot be switched to another key: compute what you need of
    them while you have their key, and have the retention delete them (`ciphermote owner retention`).

    Example:

        ciphermote owner key list keys
    """
    from ciphermote.fleet import attached

    attachment = _attachment(keys, fleet or next(iter(attached(keys)), None))
    with attachment.client() as client:
        names = [fleet] if fleet else [each.name for each in client.fleets()]
        found = [client.owner_keys(name) for name in names]
    rows = [_KeyRow(each, at) for each in found for at in range(len(each.keys))]
    print_items(
        rows,
        _KeyRow.fields,
        {
            "fleet": lambda row: row.of.fleet,
            "key": lambda row: row.key.key_id,
            "windows": lambda row: f"{row.key.windows:,}",
            "devices": lambda row: f"{row.key.devices:,}",
            "quarantined": lambda row: f"{row.key.waiting:,}",
            "state": lambda row: row.state,
        },
        as_json=as_json,
    )
    if not as_json:
        for each in found:
            if each.fixed is not None:
                note(
                    f"fleet {each.fleet} cannot be switched to another key ({each.fixed[:1].lower()}"
                    f"{each.fixed[1:]}): sum what it has while its key is there, or have it deleted."
                )


@dataclass(frozen=True)
class _KeyRow:
    """A key of a fleet, for a table."""

    of: OwnerKeyList
    at: int

    @property
    def key(self) -> OwnerKeyView:
        return self.of.keys[self.at]

    @property
    def state(self) -> str:
        if self.key.retired is not None:
            return "retired"
        if self.key.replaced is None:
            return "present"
        in_use = self.key.windows or self.key.devices or self.key.waiting
        return "replaced, in use" if in_use else "replaced, can be retired"

    def fields(self) -> dict[str, Any]:
        return {"fleet": self.of.fleet, "fixed": self.of.fixed, **self.key.model_dump(mode="json")}


@key.command()
def rotate(
    keys: KeysArgument,
    new_keys: Annotated[
        Path,
        typer.Argument(
            metavar="NEW_KEYS",
            help="Another directory of keys, of the same set (`ciphermote keygen`).",
        ),
    ],
    fleet: FleetOption = None,
    leave_out_damaged: LeaveOutDamagedOption = False,
) -> None:
    """Give the fleet a new owner key, and have the gateway switch what it stores to it.

    **In:** keys that are attached, and new ones (**secret**, both of them). **Out:** the new keys are
    attached to the fleet; the gateway gets a public key that switches from the old key to the new one, and
    the job that switches the stored windows, whose progress is shown. Ctrl-C leaves it running; it can be
    cancelled and retried (`ciphermote owner job`), and goes on where it was. Run the command again to switch
    what has come since.

    Every result is under the new key at once. Devices encrypt under the old one until they are enrolled anew
    with NEW_KEYS (`ciphermote owner enroll NEW_KEYS 7 --again`), and what they send still counts. **Who has
    copied windows and the old key reads those copies for ever**: a rotation protects what is stored from now
    on.

    Example:

        ciphermote owner key rotate keys keys-2027
    """
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet import Computation, attached
    from ciphermote.fleet import rotate as rotate_keys
    from ciphermote.fleet.results import wait

    found = rotate_keys(attachment, new_keys)
    say(f"Fleet {found.fleet} is under the key of {new_keys} from now on, which is attached to it.")
    with found.client() as client:
        number = client.add_job(found.fleet, Computation("rekey", leave_out_damaged=leave_out_damaged))
        try:
            with progress_bar(f"Job {number}") as progress:
                done = wait(client, found.fleet, number, progress)
        except KeyboardInterrupt:
            note(f"job {number} goes on at the gateway (`ciphermote owner job list {new_keys}`).")
            return
        under = {each.key_id: each for each in client.owner_keys(found.fleet).keys}
    old = under[str(attachment.definition["key_id"])]
    say(
        f"Job {number}: {count_of(done.windows, 'window')} under the new key, {old.windows:,} under the old "
        "one."
    )
    if old.devices:
        say(
            f"Under the old key, {count_of(old.devices, 'device')} may still send: ciphermote owner enroll "
            f"{new_keys} DEVICE --again -o ..."
        )
    others = [name for name in attached(keys) if name != found.fleet]
    if others:
        note(f"{keys} is attached to {', '.join(others)} too, whose key stays: rotate each (--fleet).")


@key.command()
def retire(
    keys: KeysArgument,
    key_id: Annotated[
        str, typer.Argument(metavar="KEY", help="The old key's id (`ciphermote owner key list`).")
    ],
    fleet: FleetOption = None,
) -> None:
    """Retire an old owner key, under which nothing is any longer.

    **In:** the new keys, attached. **Out:** a sentence; the gateway forgets what switches from the old key.
    It refuses while windows, devices or quarantined attempts are under it, and says how many. Results that
    were computed before the rotation stay under the old key: decrypt them, or replay their jobs, before you
    destroy it.

    Example:

        ciphermote owner key retire keys-2027 0123456789abcdef
    """
    try:
        number = json_text.hexadecimal_u64(key_id)
    except ValueError:
        raise ParameterError(f"{key_id[:40]!r} is no key's id: give 16 hexadecimal digits.") from None
    attachment = _attachment(keys, fleet)
    with attachment.client() as client:
        client.retire_owner_key(attachment.fleet, number)
    say(f"Key {key_id} of fleet {attachment.fleet} is retired: nothing at the gateway is under it.")


# --- asking -------------------------------------------------------------------------------------------------


@owner.command()
def compute(
    keys: KeysArgument,
    kind: KindArgument,
    begins: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Windows measured from then on: 2026-03-01T12:00, or seconds."
        ),
    ] = None,
    ends: Annotated[str | None, typer.Option("--to", metavar="TIME", help="And before then.")] = None,
    devices: DevicesOption = None,
    per_device: PerDeviceOption = 1,
    leave_out_damaged: LeaveOutDamagedOption = False,
    groups: GroupsOption = None,
    weight: WeightOption = None,
    bound: BoundOption = None,
    model: ModelOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Wait for the result, and fetch it.")
    ] = None,
    fleet: FleetOption = None,
) -> None:
    """Run a computation at the gateway, over the windows received so far.

    **In:** keys that are attached. **Out:** the job's number; with -o its encrypted result, as `ciphermote
    owner fetch` writes it. The gateway adds up; `ciphermote owner decrypt` divides means and variances (of
    the population) by the number of windows. variance needs a full fleet and keys for products, linear a
    compact fleet, or a full one and keys for rotations (`ciphermote extend`). Times without a zone are this
    machine's.

    Examples:

        ciphermote owner compute keys mean -o results

        ciphermote owner compute keys weighted-sum --weight 7=0.5 --weight 8=2 \\
            --bound 100 -o results
    """
    attachment = _attachment(keys, fleet)
    asked = _computation(
        *(attachment, kind, devices, per_device, weight, bound, model),
        leave_out_damaged=leave_out_damaged,
        groups=groups,
    )
    with attachment.client() as client:
        job = client.add_job(
            attachment.fleet, asked, begins=_time(begins, "--from"), ends=_time(ends, "--to")
        )
        if output is None:
            say(f"Job {job}. Fetch its result: ciphermote owner fetch {keys} --job {job} -o results")
            return
        _fetch(attachment, client, [job], output)


@job.command(name="list")
def list_jobs(keys: KeysArgument, fleet: FleetOption = None, as_json: JsonOption = False) -> None:
    """List the fleet's computations.

    **In:** keys that are attached. **Out:** a table, with the reason where one failed.

    Example:

        ciphermote owner job list keys
    """
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet.reading import interval_text

    with attachment.client() as client:
        found = list(client.jobs(attachment.fleet))
    _print_answers(
        found,
        {
            "job": lambda each: str(each.id),
            "stream": lambda each: each.stream or "",
            "kind": lambda each: each.kind,
            "interval, local time": lambda each: interval_text(each.begins, each.ends),
            "state": lambda each: each.state,
            "windows": lambda each: f"{each.done:,} of {each.total:,}",
            "": lambda each: each.error or "",
        },
        as_json=as_json,
    )


@job.command()
def cancel(keys: KeysArgument, number: JobArgument, fleet: FleetOption = None) -> None:
    """Stop a job that is queued or running.

    **In:** keys that are attached. **Out:** a sentence.

    Example:

        ciphermote owner job cancel keys 1
    """
    _change_job(keys, fleet, number, "cancel")
    say(f"Job {number} is cancelled.")


@job.command()
def retry(keys: KeysArgument, number: JobArgument, fleet: FleetOption = None) -> None:
    """Run a job again that failed or was cancelled, over the same windows.

    **In:** keys that are attached. **Out:** a sentence.

    Example:

        ciphermote owner job retry keys 1
    """
    _change_job(keys, fleet, number, "retry")
    say(f"Job {number} is queued again.")


@job.command()
def replay(keys: KeysArgument, number: JobArgument, fleet: FleetOption = None) -> None:
    """Compute a job anew, with the windows that came since.

    **In:** keys that are attached. **Out:** a sentence with the number of the new job.

    Example:

        ciphermote owner job replay keys 1
    """
    say(f"Job {_change_job(keys, fleet, number, 'replay')} computes job {number} anew.")


def _change_job(keys: Path, fleet: str | None, number: int, action: JobAction) -> int:
    """Change a job, and return the number of the job that continues."""
    attachment = _attachment(keys, fleet)
    with attachment.client() as client:
        return client.change_job(attachment.fleet, number, action)


@stream.command()
def add(
    keys: KeysArgument,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The stream's: lowercase letters, digits, hyphens.")
    ],
    kind: KindArgument,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="From one interval's beginning to the next one's.")
    ],
    span: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="An interval's length, if they overlap.")
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", help="So long after its end an interval is computed.")
    ] = 0,
    begins: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="The first interval's beginning (default: now's)."),
    ] = None,
    devices: DevicesOption = None,
    per_device: PerDeviceOption = 1,
    leave_out_damaged: LeaveOutDamagedOption = False,
    groups: GroupsOption = None,
    weight: WeightOption = None,
    bound: BoundOption = None,
    model: ModelOption = None,
    fleet: FleetOption = None,
) -> None:
    """Run a computation at the gateway for each interval from now on.

    **In:** keys that are attached. **Out:** a job for each interval, once it and its grace are over; fetch
    them with `ciphermote owner fetch --stream NAME`. Windows that arrive later are stored, and count when the
    job is replayed.

    Example:

        ciphermote owner stream add keys hourly mean --every 3600 --grace 60
    """
    attachment = _attachment(keys, fleet)
    asked = _computation(
        *(attachment, kind, devices, per_device, weight, bound, model),
        leave_out_damaged=leave_out_damaged,
        groups=groups,
    )
    with attachment.client() as client:
        client.add_stream(
            attachment.fleet, name, asked, every=every, span=span, grace=grace, begins=_time(begins, "--from")
        )
    say(f"Stream {name}. Fetch what is done: ciphermote owner fetch {keys} --stream {name} -o results")


@stream.command(name="list")
def list_streams(keys: KeysArgument, fleet: FleetOption = None, as_json: JsonOption = False) -> None:
    """List the fleet's streams.

    **In:** keys that are attached. **Out:** a table.

    Example:

        ciphermote owner stream list keys
    """
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet.reading import time_text

    with attachment.client() as client:
        found = client.streams(attachment.fleet)
    _print_answers(
        found,
        {
            "stream": lambda each: each.name,
            "kind": lambda each: each.spec.job.kind,
            "every, s": lambda each: f"{each.spec.every:g}",
            "span, s": lambda each: f"{each.spec.span or each.spec.every:g}",
            "grace, s": lambda each: f"{each.spec.grace:g}",
            "computed to, local time": lambda each: time_text(each.next),
        },
        as_json=as_json,
    )


@stream.command()
def end(
    keys: KeysArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The stream's name.")],
    fleet: FleetOption = None,
) -> None:
    """End a stream: it makes no more jobs. Its earlier jobs stay.

    **In:** keys that are attached. **Out:** nothing.

    Example:

        ciphermote owner stream end keys hourly
    """
    attachment = _attachment(keys, fleet)
    with attachment.client() as client:
        client.end_stream(attachment.fleet, name)
    say(f"Stream {name} has ended.")


# --- fetching and reading -----------------------------------------------------------------------------------


@owner.command()
def fetch(
    keys: KeysArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The directory to write to.")],
    job: Annotated[
        list[int] | None, typer.Option(min=0, help="This job, once it is done. May be repeated.")
    ] = None,
    stream_name: Annotated[
        str | None, typer.Option("--stream", metavar="NAME", help="The jobs of this stream that are done.")
    ] = None,
    fleet: FleetOption = None,
) -> None:
    """Fetch encrypted results: by default those of all jobs that are done and not in DIR yet.

    **In:** keys that are attached. **Out:** for each job its description (FLEET-jobN.json) with the list of
    contributors, and its ciphertexts. With --job, wait until that job is done.

    Example:

        ciphermote owner fetch keys -o results
    """
    if job and stream_name is not None:
        raise ParameterError("Jobs and a stream are named: give --job or --stream.")
    attachment = _attachment(keys, fleet)
    from ciphermote.fleet.results import is_here

    with attachment.client() as client:
        if job:
            _fetch(attachment, client, job, output)
            return
        every = (j for j in client.jobs(attachment.fleet) if j.kind != "rekey")
        asked = [j for j in every if stream_name in (None, j.stream)]
        if stream_name is not None and not asked:
            _check_stream(client, attachment.fleet, stream_name)
        done = [found for found in asked if found.state == "done"]
        new = [found.id for found in done if not is_here(output, attachment.fleet, found)]
        _fetch(attachment, client, new, output)
        if not new:
            whose = "" if stream_name is None else f" of stream {stream_name}"
            all_there = f"Nothing new: {output} has all {len(done)} results."
            say(all_there if done else f"No job{whose} is done yet.")


def _check_stream(client: GatewayClient, fleet: str, name: str) -> None:
    """Raises ParameterError if the fleet has no such stream."""
    if all(each.name != name for each in client.streams(fleet)):
        raise ParameterError(
            f"Fleet {fleet} has no stream {name!r}, and no job of one: see its streams (`ciphermote owner "
            "stream list`)."
        )


def _fetch(attachment: Attachment, client: GatewayClient, jobs: list[int], folder: Path) -> None:
    empty = [str(job) for job in jobs if not _fetch_one(attachment, client, job, folder)]
    if empty:
        whose = f"job {empty[0]}" if len(empty) == 1 else f"jobs {', '.join(empty)}"
        note(
            f"{whose}: no window from that time and those devices was complete when the job was created. See "
            "what has arrived (`ciphermote owner watch`), and replay the job to count it (`ciphermote owner "
            "job replay`)."
        )


def _fetch_one(attachment: Attachment, client: GatewayClient, job: int, folder: Path) -> bool:
    """Fetch one result; False if it counts no window."""
    from ciphermote.fleet import fetch as fetch_job

    with progress_bar(f"Job {job}") as progress:
        found = fetch_job(attachment, client, job, folder, progress=progress)
    late = f"; {count_of(found.job.late, 'window')} came too late" if found.job.late else ""
    say(
        f"{found.path}: {found.job.kind} of {count_of(found.job.windows, 'window')} of "
        f"{count_of(found.job.devices, 'device')}{late}."
    )
    left_out = client.left_out(attachment.fleet, job)
    if left_out.windows:
        _note_left_out(found, left_out)
    return bool(found.job.windows or left_out.windows)


def _note_left_out(found: Fetched, left_out: LeftOut) -> None:
    from ciphermote.fleet.reading import windows_text

    counted = {device for device, _, _ in found.contributors}
    others = {device for device, _, _ in left_out.first}
    most = found.job.spec.per_device
    reasons = []
    damaged = 0 if found.job.result is None else found.job.result.damaged or 0
    if others & counted and left_out.windows > damaged:
        reasons.append(f"at most {most} of a device {'counts' if most == 1 else 'count'} (--per-device)")
    if others - counted and left_out.windows > damaged:
        reasons.append("none counts of a device in quarantine")
    if damaged:
        reasons.append(f"{count_of(damaged, 'window')} of them {'is' if damaged == 1 else 'are'} damaged")
    note(
        f"{count_of(left_out.windows, 'window')} of {count_of(left_out.devices, 'device')} did not count, "
        f"for {', and '.join(reasons)}: {windows_text(left_out.first, left_out.windows)}."
    )


def _is_table(data: bytes) -> bool:
    return data.startswith(b"fleet,job,stream,kind,")


_CSV = FileKind("table of results", _is_table)


@owner.command()
def decrypt(
    keys: KeysArgument,
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS...", help="Descriptions (.json) from `ciphermote owner fetch`, or directories."
        ),
    ],
    count: Annotated[
        int, typer.Option(min=0, help="Full fleets: how many slots to show, from the first on (0: all).")
    ] = 8,
    as_json: JsonOption = False,
    to_csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write these values to a file, too; --count 0: all."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw them (.png, .svg): one result's slots, or intervals of several."
        ),
    ] = None,
    places: Annotated[
        IntegerPlaces | None, typer.Option("--as", help="BFV: where devices put their integers.")
    ] = None,
    signed: SignedOption = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Scores: the model, if they were not asked for here.")
    ] = None,
) -> None:
    """Decrypt fetched results: the owner's step, on the owner's machine, without a gateway.

    **In:** the keys (**secret**), and results. **Out:** numbers, as confidential as the readings. After ±
    stands how far a number may be off because of noise, for the least certain number if a row has several;
    integers and compact sums are exact. Means and variances (of the population: E[x²] - E[x]²) are divided
    here by the number of windows that the gateway names. Compact sums are checked against the list of
    contributors and the largest values that you enrolled them for.

    Example:

        ciphermote owner decrypt keys results --plot results.png
    """
    with _installed():
        from ciphermote.evaluate.linear_model import LinearModel
        from ciphermote.fleet import Attachment, attached, find
        from ciphermote.fleet import decrypt as decrypt_result
        from ciphermote.fleet import read as read_result
        from ciphermote.fleet.attachments import load_keys
        from ciphermote.fleet.plotting import plot as draw
        from ciphermote.fleet.reading import COLUMNS
        from ciphermote.fleet.reading import table as rows_of
        from ciphermote.owner.key_store import KeyStore
    loaded = load_keys(keys)
    secret = loaded.secret() if isinstance(loaded, KeyStore) else loaded
    given = None if model is None else LinearModel.load(model)
    names = attached(keys)
    readings: list[Reading] = []
    empty: list[int] = []
    with warnings_as_notes():
        for path in find(results):
            found = read_result(path)
            reading = decrypt_result(
                found,
                secret,
                count=count,
                places=places_of(places),
                signed=signed,
                model=given,
                attachment=Attachment.load(keys, found.fleet) if found.fleet in names else None,
            )
            if reading is None:
                empty.append(found.job.id)
            else:
                readings.append(reading)
    if empty:
        listed = ", ".join(map(str, empty))
        note(f"jobs {listed} hold no window." if len(empty) > 1 else f"job {listed} holds no window.")
    rows = rows_of(readings)
    if as_json:
        typer.echo(json.dumps(rows))
    else:
        _print(readings)
    _note_checks(readings)
    if to_csv is not None:
        content = io.StringIO()
        writer = csv.DictWriter(content, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write(to_csv, content.getvalue().encode(), _CSV)
        note(f"{count_of(len(rows), 'value')} are in {to_csv}.")
    if plot is not None and readings:
        draw(readings, plot)
        note(f"the picture is in {plot}.")
    elif plot is not None:
        note(f"no picture is drawn to {plot}: the results hold no window.")


def _print(readings: list[Reading]) -> None:
    """Print results with the same columns in one table: a row for each, or a line for each slot of a single
    result."""
    console = Console()
    from ciphermote.fleet.reading import grouped

    for group in grouped(readings):
        kind, columns = group[0].kind, group[0].columns
        if len(group) == 1 and len(group[0].rows) == 1:
            reading = group[0]
            head = f"job {reading.source.job.id}, {reading.when()}, {count_of(reading.windows, 'window')}"
            say(f"The {kind} of {head} of {count_of(reading.devices, 'device')}:")
            table = Table("", kind, "±")
            for j, column in enumerate(columns):
                add_row(table, column, reading.shown(0, j), reading.off(0, j))
        else:
            say(f"Each {kind}:")
            table = Table("job", "interval, local time", "windows", *columns, "±")
            for reading in group:
                for i, row in enumerate(reading.rows):
                    where = row or reading.when()
                    cells = (reading.shown(i, j) for j in range(len(columns)))
                    job = str(reading.source.job.id)
                    add_row(table, job, where, str(reading.windows), *cells, reading.off(i))
        console.print(table)


def _note_checks(readings: list[Reading]) -> None:
    """Say which devices were left out, which of them each time, and how far a device can have moved the
    result."""
    from ciphermote.compact.frames import spans

    suspected: dict[str, list[set[int]]] = {}
    for reading in readings:
        job = reading.source.job.id
        for each in reading.left_out:
            listed = spans(each.devices)
            whose = f"device {listed} is" if len(each.devices) == 1 else f"devices {listed} are"
            note(f"job {job}: {whose} left out, for {each.why}.")
        if reading.left_out:
            devices = {device for each in reading.left_out for device in each.devices}
            suspected.setdefault(reading.source.fleet, []).append(devices)
        if reading.most_moved is not None and len(readings) == 1:
            times = "" if reading.most_moved == 1 else f"{reading.most_moved:,} times "
            note(
                f"job {job}: a hostile device that is counted can have moved the sum by at most {times}its "
                "largest value."
            )
        elif reading.kind in CHECKED_KINDS and reading.most_moved is None and len(readings) == 1:
            note(
                f"job {job}: the sum is not checked in groups (--groups 0), so a hostile device can have "
                "moved it by as much as all devices can send."
            )
    for fleet, found in suspected.items():
        always = sorted(set.intersection(*found))
        if len(found) > 1 and always:
            jobs = count_of(len(found), "result")
            note(f"fleet {fleet}: left out of {jobs}, which is all that leave any out: {spans(always)}.")


# --- parts --------------------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    try:
        return read(path, 1 << 20).decode("ascii").strip()
    except UnicodeDecodeError:
        raise KeyFileError(
            f"{path} is no text: give the file that the gateway's operator gave you."
        ) from None


def _time(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        return (
            float(text)
            if number_text.is_natural(text.replace(".", "", 1))
            else datetime.fromisoformat(text).timestamp()
        )
    except (ValueError, OverflowError):
        raise ParameterError(
            f"{option} is {text!r}: give a time such as 2026-03-01T12:00, or seconds since 1970."
        ) from None


def _computation(
    attachment: Attachment,
    kind: ComputedKind,
    devices: str | None,
    per_device: int,
    weights: list[str] | None,
    bound: float | None,
    model: Path | None,
    *,
    leave_out_damaged: bool,
    groups: int | None,
) -> Computation:
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.fleet import Computation

    _check_belongs("--weight DEVICE=W", "weighted-sum", kind, is_given=bool(weights))
    _check_belongs("--model FILE", "linear", kind, is_given=model is not None)
    loaded = None if model is None else LinearModel.load(model)
    if loaded is not None:
        attachment.keep_model(loaded)
    return Computation(
        kind,
        devices=None if devices is None else tuple(numbers(devices, "--devices")),
        per_device=per_device,
        weights=_weights(weights) if weights else None,
        bound=bound,
        model=None if loaded is None else json_text.parse_large(loaded.to_json()),
        leave_out_damaged=leave_out_damaged,
        groups=groups,
    )


def _check_belongs(option: str, to: ComputedKind, kind: ComputedKind, *, is_given: bool) -> None:
    if kind == to and not is_given:
        raise ParameterError(f"{to} needs {option}.")
    if kind != to and is_given:
        raise ParameterError(f"{option.split()[0]} is for {to} alone: leave it out, or compute that.")


def _weights(options: list[str]) -> dict[int, float]:
    found: dict[int, float] = {}
    for option in options:
        device, _, weight = option.partition("=")
        try:
            number, factor = number_text.integer(device), number_text.real(weight)
        except ValueError:
            raise ParameterError(
                f"--weight is {option!r}: give a device and its weight, such as 7=0.5."
            ) from None
        if number in found:
            raise ParameterError(f"--weight names device {number} twice: give each device one weight.")
        found[number] = factor
    return found
