# SPDX-License-Identifier: Apache-2.0
"""`ciphermote compact`: small packets for encrypted sums and scores, one command per step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ciphermote.base import number_text
from ciphermote.base.errors import Error, KeyFileError, ParameterError, about
from ciphermote.base.files import MOST_FRAMES_BYTES, lock
from ciphermote.base.words import count_of
from ciphermote.cli.console import add_row, note, say
from ciphermote.cli.files import FileKind, check_target, read, write
from ciphermote.cli.options import JsonOption

if TYPE_CHECKING:
    from ciphermote.compact.frames import CompactReader, Reception, Seen, Window
    from ciphermote.compact.keys import CompactKeys
    from ciphermote.compact.sums import Contributor

_SHOWN_FAULTS = 10
_SEEN_FORMAT = "ciphermote-compact-seen"
_TURN_SECONDS = 60.0

compact = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Small integers in packets of some 40 bytes, for encrypted sums and scores (docs/compact.md).

A command for each step; run them in an empty directory:

    ciphermote compact keygen fleet.key --set b
    ciphermote compact enroll fleet.key 7 -o device7.h
    ciphermote compact enroll fleet.key 8 -o device8.h
    ciphermote compact gateway fleet.key -o gateway.key
    ciphermote compact encrypt fleet.key 7 3 1000 0 -o packets.txt
    ciphermote compact encrypt fleet.key 8 4 23 1 -o packets.txt --append
    ciphermote compact sum gateway.key packets.txt --positions 0-2 -o total.sum
    ciphermote compact decrypt fleet.key total.sum

1. The owner makes a fleet's keys and enrolls each device. **fleet.key never leaves the owner's machine.**
2. A device is built with its header, and sends packets; `encrypt` stands in for one.
3. The gateway checks every packet with gateway.key and adds up what is sound, without any secret of the
   owner's.
4. The owner reads the sum, exact: 7, 1023 and 1.""",
)


class SetName(StrEnum):
    """A compact set."""

    A10 = "a10"
    A16 = "a16"
    B = "b"
    C = "c"
    D = "d"
    L = "l"


def _has(module: str, name: str) -> Any:
    def has(data: bytes) -> bool:
        from importlib import import_module

        return bool(getattr(import_module(f"ciphermote.compact.{module}"), name)(data))

    return has


def _is_packets(data: bytes) -> bool:
    from ciphermote.compact.frames import read_packets

    try:
        return bool(read_packets(data.decode("ascii")))
    except (Error, UnicodeDecodeError):
        return False


def _is_seen(data: bytes) -> bool:
    return data.startswith(b"{") and _SEEN_FORMAT.encode() in data


def _is_counter(data: bytes) -> bool:
    return data.strip().isdigit()


_HEADER = FileKind("device's compact keys", _has("keys", "is_header"))
_GATEWAY = FileKind("gateway's keys", _has("keys", "is_gateway_keys"))
_RESULT = FileKind("compact sum", _has("sums", "is_result"))
_SCORES = FileKind("file of compact scores", _has("scores", "is_scores"))
_PACKETS = FileKind("file of packets", _is_packets)
_SEEN = FileKind("file of windows", _is_seen)
_COUNTER = FileKind("device's counter", _is_counter)

FleetArgument = Annotated[
    Path, typer.Argument(metavar="KEYS", help="The fleet's keys, from `ciphermote compact keygen` (secret).")
]
GatewayArgument = Annotated[
    Path, typer.Argument(metavar="GATEWAY", help="The gateway's keys, from `ciphermote compact gateway`.")
]
DeviceArgument = Annotated[int, typer.Argument(metavar="DEVICE", help="The device's number.")]


@compact.command()
def keygen(
    keys: Annotated[Path, typer.Argument(metavar="KEYS", help="The file to write.")],
    name: Annotated[
        SetName, typer.Option("--set", help="The compact set; `ciphermote compact advise` proposes one.")
    ],
) -> None:
    """Make a fleet's keys: the owner's first step.

    **Out:** a file with the secret key that all devices of the fleet share, **secret** (mode 0600). Devices
    are enrolled in it; whoever has it, or takes a device apart, reads what every device of the fleet sends.

    Example:

        ciphermote compact keygen fleet.key --set b
    """
    from ciphermote.compact.keys import CompactKeys
    from ciphermote.compact.sets import compact_set

    CompactKeys.generate(compact_set(name.value)).save(keys)
    say(
        f"A fleet's keys are in {keys}: secret. For a gateway, attach them to it "
        "(`ciphermote owner attach`); without one, enroll devices with `ciphermote compact enroll`."
    )


@compact.command()
def enroll(
    keys: FleetArgument,
    device: DeviceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The C header to write (secret).")],
    largest_value: Annotated[
        int | None,
        typer.Option(help="The largest value that the device sends (default: the set's)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing header.")] = False,
) -> None:
    """Enroll a device, or enroll one anew, and write its C header.

    **In:** the fleet's keys, to which the device is added. **Out:** a C header for that one device,
    **secret** (mode 0600). Every enrolment draws a new device secret and raises the device's epoch: packets
    of earlier ones are refused once the gateway has new keys (`ciphermote compact gateway`).

    Example:

        ciphermote compact enroll fleet.key 7 -o device7.h --largest-value 1000
    """
    from ciphermote.compact.keys import CompactKeys, to_c_header

    check_target(output, _HEADER)
    if output.exists() and not force:
        raise KeyFileError(
            f"{output} exists, and may be all there is of a device's keys: name another file, or give "
            "--force to replace it."
        )
    fleet, enrolment = CompactKeys.enroll_in(keys, device, largest_value)
    write(output, to_c_header(fleet, enrolment).encode(), _HEADER, secret=True)
    say(
        f"Device {enrolment.device} is enrolled (epoch {enrolment.epoch}, values up to "
        f"{enrolment.largest_value}). Its keys are in {output}: secret, and for it alone."
    )


@compact.command()
def gateway(
    keys: FleetArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
) -> None:
    """Write the keys with which a gateway checks packets.

    **In:** the fleet's keys. **Out:** the tag keys of all devices (mode 0600). They decrypt nothing, but
    whoever has them can forge packets: give them only to the gateway, and again after every enrolment.

    Example:

        ciphermote compact gateway fleet.key -o gateway.key
    """
    from ciphermote.compact.keys import CompactKeys

    found = CompactKeys.load(keys).gateway()
    write(output, found.to_bytes(), _GATEWAY, secret=True)
    say(f"The gateway's keys for {len(found.entries)} devices are in {output}.")


@compact.command()
def encrypt(
    keys: FleetArgument,
    device: DeviceArgument,
    values: Annotated[list[int], typer.Argument(metavar="VALUE...", help="Whole numbers from 0 on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of packets to write.")],
    packet_bytes: Annotated[int, typer.Option(help="The most bytes in a packet.")] = 51,
    append: Annotated[
        bool, typer.Option("--append", help="Append to the packets already in the file.")
    ] = False,
) -> None:
    """Encrypt numbers to packets as a device does, one line of hexadecimal digits each, to try things out.

    **In:** the fleet's keys, and values for positions 0, 1, 2 ... **Out:** packets. The device's counter is
    stored beside the keys; a real device has its own, so let only one of the two send.

    Example:

        ciphermote compact encrypt fleet.key 7 3 1000 0 -o packets.txt
    """
    from ciphermote.compact.device import CompactDevice
    from ciphermote.compact.keys import CompactKeys

    fleet = CompactKeys.load(keys)
    enrolment = fleet.enrolment(device)
    counter = keys.with_name(f"{keys.name}.device{device}.{enrolment.epoch}.counter")
    check_target(output, _PACKETS)
    sender = CompactDevice(
        fleet,
        enrolment,
        packet_bytes=packet_bytes,
        counter_read=lambda: int(read(counter, 32)) if counter.exists() else 0,
        counter_write=lambda value: write(counter, f"{value}\n".encode(), _COUNTER),
    )
    packets, number = sender.encrypt(values)
    before = read(output, MOST_FRAMES_BYTES) if append and output.exists() else b""
    lines = "".join(f"{packet.hex()}\n" for packet in packets)
    write(output, before + lines.encode(), _PACKETS)
    sizes = ", ".join(str(len(packet)) for packet in packets)
    say(f"Window {number} of device {device} is in {output}: packets of {sizes} bytes.")


@compact.command(name="sum")
def add_up(
    gateway_keys: GatewayArgument,
    packets: Annotated[
        list[Path],
        typer.Argument(metavar="PACKETS...", help="Files of packets, a line of hexadecimal digits each."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    positions: Annotated[
        str, typer.Option(help="The positions that every window has, and the sum too: 0-7, or 0-2,5.")
    ],
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DEVICE=W", help="A device's weight (default: 1; -1 subtracts). May be repeated."
        ),
    ] = None,
    cut: Annotated[
        bool, typer.Option("--cut", help="Drop the low bits that hold only noise, for a shorter result.")
    ] = False,
    seen: Annotated[
        Path | None,
        typer.Option(help="Remember in this file which windows were complete: later sums leave them out."),
    ] = None,
) -> None:
    """Check packets, assemble their windows, and add up those that are complete, without the owner's keys.

    **In:** the gateway's keys, and packets in any order. **Out:** the encrypted sum, with the list of windows
    in it. Lost, repeated, reordered, mixed, damaged and foreign packets are named on standard error; a window
    that is not complete is left out of the sum, at all positions.

    Examples:

        ciphermote compact sum gateway.key packets.txt --positions 0-2 -o total.sum
        ciphermote compact sum gateway.key packets.txt --positions 0-2 \\
            --weight 8=-1 -o difference.sum
    """
    from ciphermote.compact.frames import CompactReader
    from ciphermote.compact.keys import GatewayKeys
    from ciphermote.compact.sums import CompactSum

    found = GatewayKeys.load(gateway_keys)
    wanted, weights = _positions(positions), _weights(weight or [])
    if unknown := sorted(weights.keys() - found.by_device.keys()):
        raise ParameterError(f"--weight names device {unknown[0]}, which is not enrolled: leave it out.")
    check_target(output, _RESULT)
    with _turn(seen):
        reader = CompactReader(found, wanted, seen=_read_seen(seen, found.key_id), max_open=64)
        total = CompactSum(found.set, found.key_id, wanted)
        for window in _windows(reader, packets):
            total.add(window, weights.get(window.device, 1))
        result = total.result(None if cut else 0)
        content = result.to_bytes()
        write(output, content, _RESULT)
        if seen is not None:
            _write_seen(seen, found.key_id, reader)
    devices = len({c.device for c in result.contributors})
    say(
        f"{count_of(len(result.contributors), 'window')} of {count_of(devices, 'device')} added up in "
        f"{output} ({len(content):,} bytes)."
    )


@compact.command()
def score(
    gateway_keys: GatewayArgument,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A linear model, .json or .npz.")],
    packets: Annotated[
        list[Path],
        typer.Argument(metavar="PACKETS...", help="Files of packets, a line of hexadecimal digits each."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    positions: Annotated[
        str,
        typer.Option(help="The positions that every window has, one for each feature: 0-15, or 0-2,5."),
    ],
    weight_bits: Annotated[
        int,
        typer.Option(help="Bits of the whole numbers that weights are rounded to, the sign included."),
    ] = 8,
) -> None:
    """Check packets, assemble their windows, and score each with a linear model, without the owner's keys.

    **In:** the gateway's keys, a model as for `ciphermote infer`, and packets in any order. **Out:** the
    encrypted scores of every complete window, for the owner alone to read. Faults of packets are named on
    standard error, as by `ciphermote compact sum`. Whole weights that fit stay as they are, and the score is
    exact; others are rounded, and the owner is told how far off that can be. A model for which the set has no
    room is refused. Whoever computes sees the model, and which window of which device it scores.

    Example: a model of 3 features

        ciphermote compact score gateway.key model.json packets.txt \\
            --positions 0-2 -o scores
    """
    from ciphermote.compact.frames import CompactReader
    from ciphermote.compact.keys import GatewayKeys
    from ciphermote.compact.scores import CompactScorer, ScorePlan
    from ciphermote.evaluate.linear_model import LinearModel

    found, wanted = GatewayKeys.load(gateway_keys), _positions(positions)
    check_target(output, _SCORES)
    largest = max((entry.largest_value for entry in found.entries), default=found.set.usual_value)
    loaded = LinearModel.load(model)
    with about(model):
        plan = ScorePlan.of(found.set, loaded, largest, weight_bits)
        scorer = CompactScorer(plan, found.key_id, wanted)
    for window in _windows(CompactReader(found, wanted, max_open=64), packets):
        scorer.add(window)
    result = scorer.result()
    content = result.to_bytes()
    write(output, content, _SCORES)
    devices = len({window.device for window in result.windows})
    say(
        f"{count_of(len(result.windows), 'window')} of {count_of(devices, 'device')} scored in {output} "
        f"({len(content):,} bytes), for the owner to decrypt."
    )


@compact.command()
def decrypt(
    keys: FleetArgument,
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="From `ciphermote compact sum` or `ciphermote compact score`."),
    ],
    contributors: Annotated[
        Path | None,
        typer.Option(
            help="The windows that you know to be in it, as `--json` prints them: JSON, [[device, epoch, "
            "window, weight], ...]. A sum of others is refused, and so are scores."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Scores: the model that they were asked for.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Decrypt a sum, or scores: the owner's step.

    **In:** the fleet's keys (**secret**), and a sum, or scores and their model. **Out:** the sum at each
    position, exact and with its sign, and which windows are in it, with which weights; or the scores of each
    window, and how far rounded weights may have moved them. Whether the values can be right is computed anew
    from that list and from what each device was enrolled for; a result that could be wrong is refused, and so
    is one that decrypts to noise: tell nobody whether it did.

    Examples:

        ciphermote compact decrypt fleet.key total.sum

        ciphermote compact decrypt fleet.key scores --model model.json
    """
    from ciphermote.compact.keys import CompactKeys
    from ciphermote.compact.scores import is_scores
    from ciphermote.compact.sums import CompactResult, decrypt_sum

    fleet, content = CompactKeys.load(keys), read(result)
    known = None if contributors is None else _read_contributors(contributors)
    if is_scores(content):
        _decrypt_scores(fleet, result, content, model, known, as_json=as_json)
        return
    if model is not None:
        raise ParameterError(f"--model is for scores, and {result} is a sum: leave it out.")
    with about(result):
        found = decrypt_sum(fleet, CompactResult.from_bytes(content), known)
    rows = list(zip(found.positions.tolist(), found.values.tolist(), strict=True))
    if as_json:
        listed = [[c.device, c.epoch, c.window, c.weight] for c in found.contributors]
        typer.echo(json.dumps({"values": {str(p): v for p, v in rows}, "contributors": listed}))
        return
    table = Table("position", "sum")
    for position, value in rows:
        add_row(table, str(position), str(value))
    Console().print(table)
    parts = Table("device", "windows", "weights")
    for device in dict.fromkeys(c.device for c in found.contributors):
        own = [c for c in found.contributors if c.device == device]
        weights = ", ".join(str(w) for w in sorted({c.weight for c in own}))
        add_row(parts, str(device), str(len(own)), weights)
    Console().print(parts)


def _decrypt_scores(
    fleet: CompactKeys,
    path: Path,
    content: bytes,
    model: Path | None,
    contributors: list[Contributor] | None,
    *,
    as_json: bool,
) -> None:
    from ciphermote.base.words import error_text, rounded
    from ciphermote.compact.scores import CompactScores, decrypt_scores
    from ciphermote.evaluate.linear_model import LinearModel

    if model is None:
        raise ParameterError(f"{path} holds scores: name the model's file (--model).")
    loaded = LinearModel.load(model)
    expected = None if contributors is None else [(c.device, c.epoch, c.window) for c in contributors]
    with about(path):
        found = decrypt_scores(fleet, CompactScores.from_bytes(content), loaded, expected)
    names, errors = loaded.labels or tuple(str(i) for i in range(loaded.classes)), found.errors.tolist()
    if as_json:
        listed = [[*window.place, 1] for window in found.windows]
        fields = {"scores": found.scores.tolist(), "errors": errors, "labels": names, "contributors": listed}
        typer.echo(json.dumps(fields))
        return
    table = Table("device", "window", *names)
    for window, row in zip(found.windows, found.scores.tolist(), strict=True):
        cells = (rounded(score, error) for score, error in zip(row, errors, strict=True))
        add_row(table, str(window.device), str(window.window), *cells)
    add_row(table, "", "±", *(error_text(error) for error in errors))
    Console().print(table)


@compact.command()
def adapt(
    result: Annotated[Path, typer.Argument(metavar="SUM", help="From `ciphermote compact sum`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    parameters: Annotated[
        Path | None, typer.Option(help="Write SEAL's encryption parameters of the set to this file too.")
    ] = None,
) -> None:
    """Turn a sum into a Microsoft SEAL ciphertext, with zeros where nothing was sent, without any key.

    **In:** a sum, which may be of a single window. **Out:** SEAL's bytes of a BFV ciphertext in coefficient
    form, with a label. SEAL adds and decrypts such ciphertexts exactly at the positions that were sent; it
    reports a noise budget of 0, for the others are noise.

    Example:

        ciphermote compact adapt total.sum -o total.ct
    """
    from ciphermote.cli.files import ciphertext_of
    from ciphermote.compact.seal import parameters_to_seal, to_seal
    from ciphermote.compact.sums import CompactResult

    with about(result):
        found = CompactResult.from_bytes(read(result))
    write(output, to_seal(found), ciphertext_of(found.set.parameters))
    if parameters is not None:
        content = parameters_to_seal(found.set)
        write(parameters, content, FileKind("file of the set's parameters", lambda data: data == content))
    say(f"SEAL's ciphertext is in {output}: BFV modulo {found.set.plain_modulus}, set {found.set.name}.")


@compact.command()
def advise(
    largest_value: Annotated[int, typer.Option(help="The most that a device sends.")],
    windows: Annotated[int, typer.Option(help="How many windows are added up, of all devices.")],
    values: Annotated[int, typer.Option(help="How many values a window has.")] = 1,
    largest_weight: Annotated[int, typer.Option(help="The largest |weight|.")] = 1,
    packet_bytes: Annotated[int, typer.Option(help="The most bytes in a packet.")] = 222,
) -> None:
    """Recommend a compact set for a sum, with the reasons.

    **In:** what is to be added up, in numbers. **Out:** the set whose packets are shortest, and what it can
    do. No keys.

    Example: 64 meters with 8 readings up to 1000 each, in packets of at most 51 bytes:

        ciphermote compact advise --largest-value 1000 --windows 64 \\
            --values 8 --packet-bytes 51
    """
    from ciphermote.compact.adviser import advise_compact

    found = advise_compact(
        largest_value, windows, values=values, largest_weight=largest_weight, packet_bytes=packet_bytes
    )
    table = Table("field", "value", show_header=False)
    for name, value in (
        ("compact set", found.set.name),
        ("bytes of a window", f"{found.bytes:,}"),
        ("packets of a window", str(found.packets)),
        ("most windows in a sum", f"{found.most_windows:,}"),
    ):
        add_row(table, name, value)
    Console().print(table)
    for sentence in found.explanation:
        say(f"- {sentence}")
    say("The owner makes keys:")
    say(f"    ciphermote compact keygen fleet.key --set {found.set.name}")


# --- parts --------------------------------------------------------------------------------------------------


def _positions(text: str) -> list[int]:
    found: list[int] = []
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            begin = number_text.integer(first)
            end = number_text.integer(last) if dash else begin
            if not 0 <= begin <= end < 1 << 12:
                raise ValueError
            found += range(begin, end + 1)
    except ValueError:
        raise ParameterError(
            f"--positions is {text!r}: give positions and ranges with commas between, such as 0-7 or 0-2,5."
        ) from None
    return found


def _weights(options: list[str]) -> dict[int, int]:
    weights: dict[int, int] = {}
    for option in options:
        device, _, weight = option.partition("=")
        try:
            number, factor = number_text.integer(device), number_text.integer(weight)
        except ValueError:
            raise ParameterError(
                f"--weight is {option!r}: give a device and its weight, such as 7=-1."
            ) from None
        if number in weights:
            raise ParameterError(f"--weight names device {number} twice: give each device one weight.")
        weights[number] = factor
    return weights


def _noted(reader: CompactReader, reception: Reception) -> tuple[Window, ...]:
    """Return the windows of packets, and name the first few faults."""
    faults = sum(count for kind, count in reader.counts.items() if kind != "window")
    for fault in reception.faults:
        if faults <= _SHOWN_FAULTS:
            note(f"{fault.kind}: {fault.sentence}")
    return reception.windows


def _windows(reader: CompactReader, packets: list[Path]) -> Iterator[Window]:
    """Yield the complete windows of files of packets, and name the faults."""
    from ciphermote.compact.frames import read_packets

    for path in packets:
        data = read(path, MOST_FRAMES_BYTES)
        with about(path):
            for packet in read_packets(data.decode("ascii", errors="replace")):
                yield from _noted(reader, reader.feed(packet))
    _noted(reader, reader.finish())
    _note_more(reader)


def _note_more(reader: CompactReader) -> None:
    faults = {kind: count for kind, count in sorted(reader.counts.items()) if kind != "window"}
    if faults:
        note("in all: " + ", ".join(f"{count} {kind}" for kind, count in faults.items()) + ".")


@contextmanager
def _turn(seen: Path | None) -> Iterator[None]:
    """Let sums that share a file of windows take turns, so that no window counts in two of them."""
    if seen is None:
        yield
        return
    try:
        with lock(seen.with_name(f".{seen.name}.lock"), _TURN_SECONDS):
            yield
    except TimeoutError:
        raise KeyFileError(
            f"Another sum has used {seen} for {_TURN_SECONDS:g} s: wait until it has ended, then try again."
        ) from None


def _read_contributors(path: Path) -> list[Contributor]:
    from ciphermote.base import json_text
    from ciphermote.compact.bounds import LARGEST_WEIGHT
    from ciphermote.compact.sums import Contributor

    try:
        return [
            Contributor(
                json_text.integer(device, 0, 2**32 - 1),
                json_text.integer(epoch, 1, 2**16 - 1),
                json_text.integer(window, 0, json_text.U64_MAX),
                json_text.integer(weight, -LARGEST_WEIGHT, LARGEST_WEIGHT),
            )
            for device, epoch, window, weight in map(json_text.array, json_text.array(_listed(path)))
        ]
    except (ValueError, KeyError, TypeError):
        raise KeyFileError(
            f"{path} lists no windows: give JSON, [[device, epoch, window, weight], ...], or what `decrypt "
            "--json` prints."
        ) from None


def _listed(path: Path) -> Any:
    from ciphermote.base import json_text

    content = json_text.parse(read(path))
    return content["contributors"] if isinstance(content, dict) else content


def _read_seen(path: Path | None, key_id: int) -> dict[int, Seen]:
    from ciphermote.base import json_text
    from ciphermote.compact.frames import Seen

    if path is None or not path.exists():
        return {}
    try:
        fields = json_text.parse(read(path))
        if json_text.string(fields["format"]) != _SEEN_FORMAT:
            raise ValueError
        if json_text.hexadecimal_u64(fields["key_id"]) != key_id:
            raise KeyFileError(f"{path} is of another fleet: name a file for each.")
        found = {}
        for device, epoch, newest, oldest, done in map(json_text.array, json_text.array(fields["devices"])):
            found[json_text.integer(device, 0, 2**32 - 1)] = Seen(
                json_text.integer(epoch, 1, 2**16 - 1),
                json_text.integer(newest, 0, json_text.U64_MAX),
                json_text.integer(oldest, 0, json_text.U64_MAX),
                tuple(json_text.integer(number, 0, json_text.U64_MAX) for number in json_text.array(done)),
            )
        return found
    except (ValueError, KeyError, TypeError):
        raise KeyFileError(f"{path} holds no windows: name the file that an earlier sum wrote.") from None


def _write_seen(path: Path, key_id: int, reader: CompactReader) -> None:
    devices = [[number, s.epoch, s.newest, s.oldest, s.done] for number, s in sorted(reader.seen.items())]
    fields = {"format": _SEEN_FORMAT, "key_id": f"{key_id:016x}", "devices": devices}
    write(path, (json.dumps(fields) + "\n").encode(), _SEEN)
