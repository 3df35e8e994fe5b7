# SPDX-License-Identifier: Apache-2.0
"""The command line: `ciphermote keygen | extend | provision | params | encrypt | adapt | add | infer |
decrypt | inspect | advise`.

Results go to standard output, progress and errors to standard error. A user's mistake ends in one sentence
and exit code 1 (2 for a wrong command line), never in a traceback. Modules that load slowly are imported
by the command that needs them.
"""

from __future__ import annotations

import contextlib
import json
import stat
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text
from typer.core import TyperGroup

from ciphermote import __version__, json_text
from ciphermote.errors import Error, FrameError, KeyFileError, MismatchError, ParameterError
from ciphermote.files import MOST_FRAMES_BYTES, MOST_OBJECT_BYTES, read_bounded
from ciphermote.parameters import (
    BUILTIN,
    DEFAULT_SET,
    SECURITY_BOUNDS,
    ParameterSet,
    by_name,
    c_header,
    from_primes,
    generate,
    is_c_header,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ciphermote.adapter import FrameReader, FrameSet
    from ciphermote.bfv import Places
    from ciphermote.bfv import Plain as BfvPlain
    from ciphermote.ckks import Plain as CkksPlain
    from ciphermote.inference import LinearModel
    from ciphermote.keys import SecretKey
    from ciphermote.labels import Label


class _SentencesOnly(TyperGroup):
    """Turns the errors that users can cause into one sentence and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Error as error:
            _fail(str(error))
        except BrokenPipeError:
            raise  # Whoever reads our output has seen enough; typer ends quietly.
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _fail(f"{where}{error.strerror or error}.")


def _fail(sentence: str) -> None:
    errors = Console(stderr=True)
    errors.print("error:", style="bold red", end=" ", highlight=False)
    errors.print(_printable(sentence), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)


app = typer.Typer(
    cls=_SentencesOnly,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="""Homomorphic encryption for the smallest clients: the owner's toolkit.

The path of two readings, a command for each step, to be run as they stand:

    ciphermote keygen keys --public-to keys-public
    printf '1 2\\n3 4\\n' | ciphermote encrypt keys-public - --rows -o frames.bin
    ciphermote adapt keys-public frames.bin -o readings
    ciphermote add readings/*.ct -o total.ct
    ciphermote decrypt keys total.ct --count 2

1. The owner makes keys. **keys/secret.key never leaves the owner's machine.**
2. Whoever has the public key encrypts. A device does so by itself: `provision` writes the keys that it
   compiles in, **secret**, and `adapt --port` listens to it.
3. What came is checked, and made ciphertexts of.
4. A server computes on them without any secret: adds them up, or scores each with a model (`infer`).
5. The owner reads the result: 4 and 6, and some noise.""",
)


def main() -> None:
    """The entry point of the `ciphermote` command."""
    app()


def _print_version(wanted: bool) -> None:
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


# --- shared ---------------------------------------------------------------------------------------

KeysArgument = Annotated[
    Path, typer.Argument(metavar="KEYS", help="A directory of keys, made by `ciphermote keygen`.")
]
BareOption = Annotated[
    bool,
    typer.Option(
        "--bare",
        help="Accept ciphertexts without a label, as SEAL itself saves them. The label names key and model: "
        "without it, you vouch for both.",
    ),
]
ModelKeysOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        help="Make the rotation keys that this model needs (`ciphermote infer --help` shows one).",
    ),
]
RotationsOption = Annotated[
    str,
    typer.Option(
        "--rotations",
        help="Make keys for these rotations too, such as 1,2,4 (to the left; negative: to the right).",
    ),
]
ConjugationOption = Annotated[
    bool, typer.Option("--conjugation", help="Make the key that conjugates complex slots.")
]
ModulusOption = Annotated[
    int,
    typer.Option(
        "--plain-modulus",
        metavar="T",
        min=0,
        help="The ciphertexts are of BFV, integers modulo T; needed if they have no label.",
    ),
]
SignedOption = Annotated[
    bool, typer.Option("--signed", help="BFV: show integers above T/2 as negative ones.")
]
SetOption = Annotated[
    str | None,
    typer.Option(
        "--params", help="A parameter set: a built-in name, or a .json file of `ciphermote params --json`."
    ),
]


def _printable(text: str) -> str:
    """The text without control characters, which in a file's words or name could command a terminal."""
    return "".join(character for character in text if character.isprintable())


def _say(text: str) -> None:
    Console().print(_printable(text), markup=False, highlight=False, soft_wrap=True)


def _note(text: str) -> None:
    errors = Console(stderr=True)
    errors.print(f"note: {_printable(text)}", markup=False, highlight=False, soft_wrap=True)


def _add_row(table: Table, *cells: str) -> None:
    """A row of plain text: brackets in it are no markup."""
    table.add_row(*(Text(_printable(cell)) for cell in cells))


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, fed with (done, total)."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _parameter_set(name: str) -> ParameterSet:
    """A built-in set by name, or a user's own from a file."""
    if not name.endswith(".json"):
        return by_name(name)
    from ciphermote.keys import parameters_from_dict

    try:
        fields = json_text.parse(_read(Path(name)))
    except ValueError:
        raise KeyFileError(f"{name} is no JSON: write it with `ciphermote params --json`.") from None
    return parameters_from_dict(fields, name)


def _read(path: Path, most: int = MOST_OBJECT_BYTES) -> bytes:
    try:
        return read_bounded(path, most)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None


def _read_ciphertext(path: Path) -> bytes:
    from ciphermote.framing import MAGIC

    if path.is_dir():
        raise FrameError(f"{path} is a directory: give its files, {path}/*.ct (to `decrypt`, one of them).")
    data = _read(path)
    if data.startswith(MAGIC):
        raise FrameError(
            f"{path} holds frames as a device sends them: turn them into ciphertexts with `ciphermote adapt` "
            "first."
        )
    return data


class _Kind(NamedTuple):
    """A kind of file that a command writes: its name for people, and whether bytes are of it."""

    name: str
    has: Callable[[bytes], bool]


def _ciphertext_of(parameters: ParameterSet) -> _Kind:
    """Ciphertexts with a label, and bare ones of these parameters."""

    def has(data: bytes) -> bool:
        from ciphermote.labels import Kind, detach
        from ciphermote.seal_bytes import read_ciphertext

        try:
            _, label = detach(data)
            if label is None:
                read_ciphertext(data, parameters, sizes=(2, 3))
        except FrameError:
            return False
        return label is None or label.kind == Kind.CIPHERTEXT

    return _Kind("ciphertext", has)


def _write(path: Path, content: bytes, kind: _Kind, *, secret: bool = False) -> None:
    from ciphermote.keys import write_atomically

    _check_target(path, kind)
    try:
        write_atomically(path, content, 0o600 if secret else 0o644)
    except OSError as error:
        raise KeyFileError(
            f"{path} cannot be written: {error.strerror}; check that its directory exists."
        ) from None


def _check_target(path: Path, kind: _Kind) -> None:
    """KeyFileError unless a file of this kind may be written to path: not among keys, and in place of nothing
    but such a file. A pipe or a device would be replaced by an ordinary file."""
    from ciphermote.keys import holds_keys

    if holds_keys(path.parent):
        raise KeyFileError(
            f"{path} would be among the keys in {path.parent}, where nothing else belongs: name a file "
            "elsewhere."
        )
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # Not there yet, or not reachable: writing it says so.
    if not stat.S_ISREG(mode):
        raise KeyFileError(
            f"{path} exists and is no ordinary file (a directory, link, pipe or device): name another file."
        )
    try:
        own = kind.has(read_bounded(path, MOST_OBJECT_BYTES))
    except OSError:
        own = False
    if not own:
        raise KeyFileError(
            f"{path} exists and is no {kind.name}, which would replace it: name another file, or move that "
            "one away."
        )


def _numbers(text: str, what: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ParameterError(
            f"{what} is {text!r}: give whole numbers with commas between, such as 1,2,4."
        ) from None


# --- keys -----------------------------------------------------------------------------------------


def _steps_of(model: Path | None, parameters: ParameterSet) -> tuple[int, ...]:
    """The rotations that a model's scores take; none without a model."""
    if model is None:
        return ()
    from ciphermote.inference import LinearModel, rotation_steps

    return rotation_steps(LinearModel.load(model), parameters)


@app.command()
def keygen(
    keys: Annotated[
        Path,
        typer.Argument(metavar="KEYS", help="The directory to make; it must not exist yet, or be empty."),
    ],
    params: Annotated[
        str,
        typer.Option(
            "--params", help="A built-in set's name, or a .json file of `ciphermote params --json`."
        ),
    ] = DEFAULT_SET,
    model: ModelKeysOption = None,
    rotations: RotationsOption = "",
    conjugation: ConjugationOption = False,
    relin: Annotated[
        bool | None,
        typer.Option(
            help="Make a relinearization key, for products of ciphertexts (default: if the set can)."
        ),
    ] = None,
    import_secret: Annotated[
        Path | None,
        typer.Option(
            help="Use this secret key, saved by SEAL for the same parameters, instead of drawing one."
        ),
    ] = None,
    public_to: Annotated[
        Path | None,
        typer.Option(help="Also write all but the secret to this directory, for an engine's machine."),
    ] = None,
) -> None:
    """Make the owner's keys.

    **In:** nothing but the system's randomness. **Out:** a directory with `secret.key` (**secret**: mode
    0600, never overwritten) and public.key, relin.keys, galois.keys, parameters.seal (public, in Microsoft
    SEAL's bytes) and manifest.json.

    Example: `ciphermote keygen keys --model model.json --public-to keys-public`
    """
    from ciphermote.keys import KeyStore, SecretKey, refuse_occupied

    parameters = _parameter_set(params)
    steps = [*_numbers(rotations, "--rotations"), *_steps_of(model, parameters)]
    secret = SecretKey.from_seal(_read(import_secret), parameters) if import_secret else None
    if public_to is not None:
        if public_to.absolute() == keys.absolute():
            raise ParameterError(f"{keys} cannot be both KEYS and --public-to: name two directories.")
        refuse_occupied(public_to)
    with _progress("Making keys") as progress:
        store = KeyStore.create(
            keys,
            parameters,
            galois_steps=steps,
            conjugation=conjugation,
            relin=relin,
            secret=secret,
            progress=progress,
        )
    _say(
        f"Key {store.key_id:016x} of {parameters.name} is in {keys}; keep {keys / 'secret.key'} to yourself."
    )
    if public_to is not None:
        store.export_public(public_to)
        _say(f"The public part is in {public_to}: give that to the engine.")
    if model is None and not steps:
        _note("no rotation keys: `infer` needs --model, here or in `extend`.")


@app.command()
def extend(
    keys: KeysArgument,
    model: ModelKeysOption = None,
    rotations: RotationsOption = "",
    conjugation: ConjugationOption = False,
    relin: Annotated[
        bool, typer.Option("--relin", help="Make a relinearization key, for products of ciphertexts.")
    ] = False,
    public_to: Annotated[
        Path | None,
        typer.Option(help="Also write all but the secret to this new directory, for an engine's machine."),
    ] = None,
) -> None:
    """Make further evaluation keys for the pair in KEYS: another model's, more rotations.

    **In:** a directory with `secret.key` (**secret**). **Out:** the same directory with more in galois.keys
    or relin.keys (public). The pair and its key id stay, so nothing is provisioned anew.

    Example: `ciphermote extend keys --rotations 1,2,4 --public-to keys-public-2`
    """
    from ciphermote.keys import KeyStore, refuse_occupied

    store = KeyStore.open(keys)
    steps = [*_numbers(rotations, "--rotations"), *_steps_of(model, store.parameters)]
    if not (steps or conjugation or relin):
        raise ParameterError("No key is asked for: give --model, --rotations, --conjugation or --relin.")
    if public_to is not None:
        refuse_occupied(public_to)
    with _progress("Making keys") as progress:
        store = store.extend(galois_steps=steps, conjugation=conjugation, relin=relin, progress=progress)
    _say(f"Key {store.key_id:016x} in {keys} has the keys for what you asked; devices keep what they have.")
    if public_to is not None:
        store.export_public(public_to)
        _say(f"The public part is in {public_to}: give that to the engine.")


class BlobFormat(StrEnum):
    """What provision writes."""

    HEADER = "header"
    BLOB = "blob"
    PRIMES = "primes"


class KeyKind(StrEnum):
    """Which key a device encrypts with."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"


class DeviceKey(StrEnum):
    """Which keys a device is given."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"
    BOTH = "both"


class IntegerPlaces(StrEnum):
    """Where the sender put BFV's integers: nothing in a ciphertext tells."""

    SLOTS = "slots"
    COEFFICIENTS = "coefficients"


def _places(places: IntegerPlaces | None) -> Places | None:
    if places is None:
        return None
    return "slots" if places is IntegerPlaces.SLOTS else "coefficients"


def _is_provision(data: bytes) -> bool:
    from ciphermote.provision import is_blob, is_header

    return is_blob(data) or is_header(data)


_PROVISION = _Kind("device's keys", _is_provision)


@app.command()
def provision(
    keys: KeysArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write (format primes: a directory).")
    ],
    key: Annotated[
        DeviceKey,
        typer.Option(help="symmetric: the secret key, smallest frames; asymmetric: the public key; or both."),
    ] = DeviceKey.SYMMETRIC,
    form: Annotated[
        BlobFormat,
        typer.Option(
            "--format",
            help="header: C to compile in; blob: one binary file; primes: the public key, one file for each "
            "prime.",
        ),
    ] = BlobFormat.HEADER,
    plain_modulus: Annotated[
        list[int] | None,
        typer.Option(
            metavar="T",
            min=2,
            help="A modulus of BFV that the device batches with: its roots go into the header too, for "
            "CM_CONFIG_NTT_ROOTS. May be repeated.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace what an earlier run wrote; that device's secret is then lost."),
    ] = False,
) -> None:
    """Write one device's keys. Run it once for each device: every run draws a new device secret.

    **In:** a directory of keys. **Out:** a C header or a binary blob, **secret** (mode 0600): it holds the
    device's own secret, and with a symmetric key everything that is needed to decrypt. With --format primes a
    directory: device.blob is that secret, prime0.blob and so on hold the public key and are public. What an
    earlier run wrote is kept unless you say --force.

    Example: `ciphermote provision keys -o provisioned_keys.h`
    """
    from dataclasses import replace

    from ciphermote import provision as p
    from ciphermote.keys import KeyStore

    if plain_modulus and form is not BlobFormat.HEADER:
        raise ParameterError("--plain-modulus is for --format header: blobs hold no roots.")
    if form is BlobFormat.PRIMES and key is DeviceKey.SYMMETRIC:
        raise ParameterError("Only a public key is split into primes: give --key asymmetric or both.")
    primes = form is BlobFormat.PRIMES
    store = KeyStore.open(keys)
    count = len(store.parameters.data_primes)
    parts = [output / "device.blob", *(output / f"prime{i}.blob" for i in range(count))]
    for path in parts if primes else [output]:
        _check_target(path, _PROVISION)
        if path.exists() and not force:
            raise KeyFileError(
                f"{path} exists, and may be all there is of a device's keys: name another file for this "
                "device, or say --force to replace it."
            )
    given = p.provision(
        store,
        secret=key is not DeviceKey.ASYMMETRIC,
        public=key is not DeviceKey.SYMMETRIC,
        plain_moduli=plain_modulus or (),
    )
    if primes:
        output.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(parts[0], p.to_blob(replace(given, public_key=None)), _PROVISION, secret=True)
        for path, blob in zip(parts[1:], p.to_prime_blobs(given), strict=True):
            _write(path, blob, _PROVISION)
    else:
        content = p.to_c_header(given).encode() if form is BlobFormat.HEADER else p.to_blob(given)
        _write(output, content, _PROVISION, secret=True)
    _say(f"A new device's keys are in {output}: secret, and for one device only.")


def _is_set(data: bytes) -> bool:
    from ciphermote.keys import parameters_from_dict

    try:
        parameters_from_dict(json_text.parse(data), "")
    except (ValueError, Error):
        return False
    return True


_SET_HEADER = _Kind("C header of a parameter set", is_c_header)
_SET_JSON = _Kind("parameter set", _is_set)


@app.command()
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
        typer.Option(help="The security table to hold it to: 2024 (default), or 2018 for older sets."),
    ] = None,
    header: Annotated[Path | None, typer.Option(help="Write a C header that defines it.")] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write a .json file for --params of other commands.")
    ] = None,
) -> None:
    """List the parameter sets, or make and check one of your own.

    **In:** nothing, or a ring degree and primes. **Out:** a table; a C header and a .json file if asked
    for. All public. A set that is insecure or invalid is refused with the reason.

    Example: `ciphermote params --n 4096 --bits 25,26,27 --header my_set.h --json my_set.json`
    """
    if n is None:
        if bits or primes or header or json_file or name is not None or standard is not None:
            raise ParameterError(
                "Without --n the built-in sets are listed, and no other option counts: a set of your own "
                "begins with its ring degree, --n 1024, 2048, 4096, 8192 or 16384."
            )
        _print_sets(BUILTIN)
        return
    if bool(bits) == bool(primes):
        raise ParameterError(
            "A set of your own needs its primes: give --bits 26,26,27 or --primes, and not both."
        )
    standard = standard or "2024"
    if bits:
        own = generate(n, _numbers(bits, "--bits"), standard, name)
    else:
        own = from_primes(n, _numbers(primes, "--primes"), standard, name)
    wanted: list[tuple[Path, bytes, _Kind]] = []
    if header is not None:
        wanted.append((header, c_header(own).encode(), _SET_HEADER))
    if json_file is not None:
        from ciphermote.keys import parameters_to_dict

        text = json.dumps(parameters_to_dict(own), indent=2) + "\n"
        wanted.append((json_file, text.encode(), _SET_JSON))
    for path, _, kind in wanted:
        _check_target(path, kind)
    _print_sets([own])
    for path, content, kind in wanted:
        _write(path, content, kind)


def _print_sets(sets: Sequence[ParameterSet]) -> None:
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
        _add_row(table, *cells, f"{p.id:08x}")
    Console().print(table)


# --- readings -------------------------------------------------------------------------------------


class Xof(StrEnum):
    """What expands a public seed."""

    BLAKE2XB = "blake2xb"
    SHAKE256 = "shake256"
    CHACHA20 = "chacha20"


def _are_frames(data: bytes) -> bool:
    from ciphermote.ciphertexts import are_frames

    return are_frames(data)


_FRAMES = _Kind("file of frames", _are_frames)


@app.command()
def encrypt(
    keys: KeysArgument,
    values: Annotated[
        Path,
        typer.Argument(
            metavar="VALUES",
            help="Numbers: .npy, or text with commas, spaces or lines between (-: stdin).",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of frames to write.")],
    rows: Annotated[bool, typer.Option("--rows", help="Each row is a reading of its own.")] = False,
    key: Annotated[
        KeyKind,
        typer.Option(help="asymmetric: the public key; symmetric: the secret key, half the bytes."),
    ] = KeyKind.ASYMMETRIC,
    log2_scale: Annotated[
        int | None,
        typer.Option(help="CKKS: log2 of the scale (default: 25, or what has room for values to 127)."),
    ] = None,
    plain_modulus: Annotated[
        int,
        typer.Option(metavar="T", min=0, help="Use BFV, integers modulo T (0: CKKS, real numbers)."),
    ] = 0,
    places: Annotated[
        IntegerPlaces | None,
        typer.Option("--as", help="BFV: put integers in slots (default, if T has them), or in coefficients."),
    ] = None,
    xof: Annotated[
        Xof, typer.Option(help="symmetric: what expands the seed; SEAL itself knows all but chacha20.")
    ] = Xof.CHACHA20,
) -> None:
    """Encrypt numbers to frames, as a device does.

    **In:** numbers, and the directory of keys (its public part is enough, but for --key symmetric). **Out:**
    the frames of one reading, or with --rows of each row, in one file: public. Each reading is numbered by
    the clock. `adapt` takes them, as it takes a device's: where devices have the same keys, with a --device
    name of their own, for a ledger takes lower numbers for old.

    Example: `echo 21.4 -27 | ciphermote encrypt keys-public - -o frames.bin`
    """
    from ciphermote import encryption
    from ciphermote.keys import KeyStore
    from ciphermote.values import read_values

    _check_target(output, _FRAMES)
    store = KeyStore.open(keys)
    given: SecretKey | encryption.PublicKey
    given = store.secret() if key is KeyKind.SYMMETRIC else encryption.PublicKey.load(keys)
    frames = [
        encryption.encrypt(
            row,
            given,
            log2_scale=log2_scale,
            plain_modulus=plain_modulus,
            places=_places(places),
            xof=xof.value,
        )
        for row in read_values(values, rows=rows)
    ]
    _write(output, b"".join(frames), _FRAMES)
    one = len(frames) == 1
    _say(f"{len(frames)} reading{' is' if one else 's are'} in {output}: encrypted, for `ciphermote adapt`.")


@app.command()
def adapt(
    keys: KeysArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write; a directory if there are several readings."),
    ],
    frames: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FRAMES...]", help="Files of frames, in any order; or none, and --port."),
    ] = None,
    port: Annotated[
        str, typer.Option(metavar="DEVICE", help="Listen to this serial port instead, such as /dev/ttyUSB0.")
    ] = "",
    baud: Annotated[int, typer.Option(min=1, help="With --port: its speed.")] = 115200,
    readings: Annotated[
        int, typer.Option("--readings", min=1, help="With --port: end after so many whole readings.")
    ] = 1,
    seeded: Annotated[
        bool,
        typer.Option(
            help="Keep SHAKE256 and BLAKE2Xb seeds for SEAL to expand: half the size. SEAL has no "
            "ChaCha20 and public-key ciphertexts no seed, so those stay whole."
        ),
    ] = False,
    plain_modulus: Annotated[
        int,
        typer.Option(
            metavar="T", min=0, help="The frames are of BFV, integers modulo T (0: of CKKS, real numbers)."
        ),
    ] = 0,
    coefficients: Annotated[
        bool,
        typer.Option(
            help="Bring BFV ciphertexts to coefficient form, which SEAL needs for all but additions."
        ),
    ] = False,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The device's name, if several share a key: each has a counter of its own."
        ),
    ] = "",
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="The ledger of readings taken in (default: readings.ledger in KEYS). A replay is noticed "
            "only by the ledger that took the first copy, so give all who adapt a key's frames the same one."
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Accept readings that were taken in before, if they are identical."),
    ] = False,
) -> None:
    """Check a device's frames and turn them into SEAL ciphertexts.

    **In:** frames as they came, and the directory of keys (its public part is enough). **Out:** one
    ciphertext per reading in Microsoft SEAL's bytes, with a label that names its key. No secrets. Damaged,
    missing, doubled or foreign frames are refused, and named; so are readings that came before, which a
    ledger remembers once the ciphertexts are written. From a port, what is no whole frame is told and
    passed over.

    Example: `ciphermote adapt keys-public frames.bin -o reading.ct`

    Example: `ciphermote adapt keys-public --port /dev/ttyUSB0 --baud 115200 -o reading.ct`
    """
    from ciphermote.adapter import FrameReader, read_sets
    from ciphermote.keys import KeyStore, sync_directory
    from ciphermote.ledger import LEDGER_FILE, CounterLedger, check_device
    from ciphermote.seal_bytes import write_ciphertext

    check_device(device)
    store = KeyStore.open(keys)
    if bool(frames) == bool(port):
        raise FrameError(
            "Give the files that hold the frames, or the --port that they come from: one of both."
        )
    if port:
        reader = FrameReader(store.parameters, store.checked_key_id(), plain_modulus=plain_modulus)
        sets = _listen(port, baud, reader, readings)
    else:
        pieces = (_read(path, MOST_FRAMES_BYTES) for path in frames or ())
        sets = read_sets(pieces, store.parameters, store.checked_key_id(), plain_modulus=plain_modulus)
    if not sets:
        raise FrameError("The files hold no frames: give what the device sent.")
    counters = [frames.header.counter for frames in sets]
    if len(set(counters)) != len(counters):
        raise FrameError("The files hold two readings of one counter: adapt each device's frames apart.")
    prefix = f"{device}-" if device else ""
    kind = _ciphertext_of(store.parameters)
    with (
        CounterLedger(ledger or keys / LEDGER_FILE) as taken,
        taken.taking(sets, device, again=again),
    ):
        several = len(sets) > 1 or output.is_dir()
        if several:
            output.mkdir(parents=True, exist_ok=True)
            sync_directory(output.absolute().parent)
        targets = [output / f"{prefix}reading{counter}.ct" if several else output for counter in counters]
        whole: list[str] = []
        for frames_of_one, target in zip(sets, targets, strict=True):
            ciphertext = frames_of_one.seal_ciphertext(seeded=seeded, coefficients=coefficients)
            if ciphertext.seed is None:
                whole.append(str(frames_of_one.header.counter))
            _write(target, write_ciphertext(ciphertext), kind)
    for found, target in zip(sets, targets, strict=True):
        _say(f"{_describe_set(found)} Written to {target}.")
    if len(sets) > 1:
        _say(f"{len(sets)} readings, so {output} is a directory.")
    if seeded and whole:
        _note(
            f"--seeded changed nothing for reading {', '.join(whole)}: SEAL can expand SHAKE256 and BLAKE2Xb "
            "seeds alone, in the form that the device sent."
        )


def _listen(port: str, baud: int, reader: FrameReader, count: int) -> list[FrameSet]:
    """The first whole readings that come from a serial port; what else comes is told."""
    from ciphermote.serial_port import pieces

    sets: list[FrameSet] = []
    for piece in pieces(port, baud):
        reception = reader.feed(piece)
        if reception.fault is not None:
            _note(str(reception.fault))
        sets += reception.sets
        if len(sets) >= count:
            break
    return sets[:count]


def _describe_set(frames: FrameSet) -> str:
    from ciphermote.adapter import XOF_NAMES

    head = frames.header
    kind = "asymmetric" if head.xof == 0 else f"symmetric ({XOF_NAMES[head.xof]} seed)"
    return (
        f"Reading {head.counter}: {kind}, {head.parameters.name}, {head.scale_or_modulus}, {head.primes} "
        f"primes, {frames.frame_bytes:,} bytes of frames."
    )


@app.command()
def add(
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXTS...", help="Readings, or the scores of one model.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    params: SetOption = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
) -> None:
    """Add up ciphertexts, slot by slot. It takes no key at all.

    **In:** ciphertexts of one key, CKKS's of one scale or BFV's of one modulus. **Out:** their encrypted sum
    in Microsoft SEAL's bytes with its label, which only the owner can read. A set of your own takes --params.

    Example: `ciphermote add readings/*.ct -o total.ct`
    """
    from ciphermote.ciphertexts import stated_parameters
    from ciphermote.computation import Sum, compute

    contents = [_read_ciphertext(path) for path in ciphertexts]
    parameters = _parameter_set(params) if params else stated_parameters(contents[0])
    kind = _ciphertext_of(parameters)
    _check_target(output, kind)
    _check_not_given(output, ciphertexts)
    total = compute(Sum(), contents, parameters, plain_modulus=plain_modulus, bare=bare)
    _write(output, total, kind)
    _say(f"The encrypted sum of {len(contents)} is in {output}: the owner's to decrypt.")


def _check_not_given(target: Path, given: Sequence[Path]) -> None:
    """ParameterError if a result would replace one of the ciphertexts that it is made of."""
    if any(target.exists() and target.samefile(path) for path in given):
        raise ParameterError(f"The result would replace {target}, which it is made of: name another file.")


@app.command()
def infer(
    keys: KeysArgument,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A linear model, .json (as above) or .npz.")],
    ciphertexts: Annotated[
        list[Path], typer.Argument(metavar="CIPHERTEXTS...", help="Readings from `ciphermote adapt`.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file to write; a directory if there are several readings."),
    ],
    workers: Annotated[int, typer.Option(min=1, help="Processes that compute.")] = 1,
    feature_bound: Annotated[
        float | None,
        typer.Option(
            help="The largest |feature| of any reading: set it to your readings' range, for beyond it scores "
            "may come out wrong (default: 16; needed for BFV)."
        ),
    ] = None,
    plain_modulus: ModulusOption = 0,
    bare: BareOption = False,
) -> None:
    """Score encrypted readings with a linear model, on ciphertexts only.

    **In:** the *public* part of the keys, a model, ciphertexts. **Out:** encrypted scores in Microsoft
    SEAL's bytes with their label, which only the owner can read. The secret key is neither needed nor read.
    Ciphertexts of another key are refused; scores of bare ones are bare.

    A model of 2 classes over 3 features, as .json (labels may be []; .npz: LinearModel.save in Python):

    `{"format": "ciphermote-linear-model", "version": 1, "labels": ["rest", "walk"],
    "weights": [[0.5, -1.25, 2], [1, 0, -0.75]], "bias": [0.25, -0.5]}`

    Score c is the sum of weights[c][i] * slot i of the reading, and bias[c]. BFV's readings, in slots, take
    models of integers.

    Example: `ciphermote infer keys-public model.json reading.ct -o score.ct`
    """
    from ciphermote.ciphertexts import stated_modulus
    from ciphermote.computation import EvaluationKeys
    from ciphermote.inference import LinearModel
    from ciphermote.keys import GALOIS_FILE, KeyStore

    store = KeyStore.open(keys)
    if store.has_secret:
        _note(
            f"{keys} holds the secret key; an engine's machine should have the public part only (`ciphermote "
            "keygen --public-to`)."
        )
    loaded = LinearModel.load(model)
    contents = [_read_ciphertext(path) for path in ciphertexts]
    several = len(contents) > 1 or output.is_dir()
    names = [path.with_suffix(".ct").name for path in ciphertexts]
    if several and len(set(names)) != len(names):
        raise ParameterError(
            "Two readings have the same file name, so their scores would too: score them apart."
        )
    kind = _ciphertext_of(store.parameters)
    targets = [output / name if several else output for name in names]
    for target in targets:
        _check_target(target, kind)
        _check_not_given(target, ciphertexts)
    evaluation = EvaluationKeys(store.parameters, store.public_bytes(GALOIS_FILE))
    plain_modulus = stated_modulus(contents[0], store.parameters) or plain_modulus
    with (
        _progress("Scoring") as progress,
        evaluation.engine(plain_modulus, bare=bare, workers=workers) as engine,
    ):
        if store.has_secret and "files" not in engine.confined:
            _note(
                "this system has no Landlock, so nothing keeps the engine's processes from the secret key: a "
                "ciphertext that takes over SEAL could read it."
            )
        results = engine.linear_all(contents, loaded, progress, feature_bound=feature_bound)
    if several:
        output.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    for path, target, result in zip(ciphertexts, targets, results, strict=True):
        if isinstance(result, Error):
            failed.append(f"{path}: {result}")
        else:
            _write(target, result, kind)
    if failed:
        more = f" ({len(failed) - 1} more failed.)" if len(failed) > 1 else ""
        raise Error(failed[0] + more)
    _say(
        f"{len(results)} encrypted score{'s are' if len(results) > 1 else ' is'} in {output}: the owner's "
        "to decrypt."
    )


@app.command()
def decrypt(
    keys: KeysArgument,
    ciphertext: Annotated[
        Path, typer.Argument(metavar="CIPHERTEXT", help="A ciphertext from `ciphermote infer` or `adapt`.")
    ],
    count: Annotated[int, typer.Option(min=0, help="How many slots to show, from the first; 0 for all.")] = 8,
    complex_slots: Annotated[bool, typer.Option("--complex", help="Show real and imaginary parts.")] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="Show the scores of this model's classes, the model that `infer` was given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    plain_modulus: ModulusOption = 0,
    places: Annotated[
        IntegerPlaces | None,
        typer.Option(
            "--as",
            help="Where a BFV sender put its integers: in slots (batching), or in coefficients, as an "
            "Arduino Uno does. Nothing in a ciphertext tells, and the other gives other numbers.",
        ),
    ] = None,
    signed: SignedOption = False,
    bare: BareOption = False,
) -> None:
    """Decrypt and decode a ciphertext: the owner's step.

    **In:** the directory with `secret.key` (**secret**), a ciphertext. **Out:** numbers, which are as
    confidential as the readings; give others no more digits than they need. A ciphertext of another key is
    refused, and so is one that decrypts to noise: tell nobody whether it did, for that tells about the key.

    Example: `ciphermote decrypt keys score.ct --model model.json`
    """
    from ciphermote.keys import KeyStore
    from ciphermote.labels import detach

    if model is not None and complex_slots:
        raise ParameterError("A model's scores are real numbers: leave --complex or --model out.")
    secret = KeyStore.open(keys).secret()
    data = _read_ciphertext(ciphertext)
    _, label = detach(data)
    if label is not None and not plain_modulus:
        plain_modulus = label.plain_modulus
    if plain_modulus:
        if complex_slots:
            raise ParameterError("The ciphertext is BFV's, and --complex is for CKKS: leave it out.")
        _print_integers(data, secret, plain_modulus, model, places, signed, bare, count, as_json)
        return
    if places is not None or signed:
        raise ParameterError(
            "--as and --signed are for BFV, and the ciphertext is not said to be: leave them out."
        )
    from ciphermote import ckks

    plain = ckks.decrypt(data, secret, bare=bare)
    origin = _origin(plain) | {"scheme": "CKKS", "scale": plain.scale}
    if model is not None:
        _print_scores(_scored(model, label), plain.slots(), origin, as_json)
        return
    slots = plain.complex_slots()[: count or None]
    if as_json:
        values = [[z.real, z.imag] for z in slots.tolist()] if complex_slots else slots.real.tolist()
        typer.echo(json.dumps(origin | {"values": values}))
        return
    table = Table("slot", "real", "imaginary") if complex_slots else Table("slot", "value")
    for j, z in enumerate(slots.tolist()):
        _add_row(table, str(j), f"{z.real:.6g}", *([f"{z.imag:.6g}"] if complex_slots else []))
    _print_of(origin, table)


def _print_integers(
    data: bytes,
    secret: SecretKey,
    plain_modulus: int,
    model: Path | None,
    places: IntegerPlaces | None,
    signed: bool,
    bare: bool,
    count: int,
    as_json: bool,
) -> None:
    """A BFV ciphertext's slots or coefficients, or a model's scores, which lie in slots and have signs."""
    from ciphermote import bfv
    from ciphermote.labels import detach

    plain = bfv.decrypt(data, secret, plain_modulus, bare=bare)
    origin = _origin(plain) | {"scheme": "BFV", "plain_modulus": plain_modulus}
    if model is not None:
        loaded = _scored(model, detach(data)[1])
        _print_scores(loaded, plain.integers("slots", signed=True).astype(float), origin, as_json)
        return
    values = plain.integers(_places(places), signed=signed)[: count or None].tolist()
    if as_json:
        typer.echo(json.dumps(origin | {"values": values}))
        return
    table = Table("slot" if places is IntegerPlaces.SLOTS else "coefficient", "value")
    for j, value in enumerate(values):
        _add_row(table, str(j), str(value))
    _print_of(origin, table)


def _scored(path: Path, label: Label | None) -> LinearModel:
    """The model in a file, of whose scores a ciphertext's label does not say that they are another's."""
    from ciphermote.inference import LinearModel

    loaded = LinearModel.load(path)
    if label is not None:
        _check_model(loaded, path, label.model_id)
    return loaded


def _origin(plain: BfvPlain | CkksPlain) -> dict[str, object]:
    """What a result is of; the key id is null where nothing named it."""
    key_id = None if plain.key_id is None else f"{plain.key_id:016x}"
    return {"key_id": key_id, "parameters": plain.parameters.name}


def _print_of(origin: dict[str, object], table: Table) -> None:
    """A table, and what it is of."""
    Console().print(table)
    modulus = origin.get("plain_modulus")
    value = f"modulo {modulus}" if modulus else f"scale {origin['scale']:.6g}"
    key = "a key that nothing names" if origin["key_id"] is None else f"key {origin['key_id']}"
    _say(f"Of {key}, {origin['parameters']}, {origin['scheme']}, {value}.")


def _check_model(model: LinearModel, path: Path, model_id: int | None) -> None:
    """MismatchError unless the label of a ciphertext says that it holds this model's scores."""
    if model_id is None:
        raise MismatchError(
            "By its label the ciphertext holds no model's scores: score it with `ciphermote infer` first, or "
            "leave --model out to see its slots."
        )
    if model_id != model.id:
        raise MismatchError(
            f"The ciphertext holds the scores of model {model_id:016x}, and {path} is model {model.id:016x}: "
            "give the model that `ciphermote infer` was given."
        )


def _print_scores(
    model: LinearModel, slots: NDArray[np.float64], origin: dict[str, object], as_json: bool
) -> None:
    if len(slots) < model.classes:
        raise ParameterError(
            f"The model has {model.classes} classes and the ciphertext {len(slots)} slots: give its own "
            "model."
        )
    scores = slots[: model.classes].tolist()
    labels = list(model.labels) or [str(i) for i in range(model.classes)]
    best = max(range(len(scores)), key=scores.__getitem__)
    if as_json:
        found = {"label": labels[best], "scores": dict(zip(labels, scores, strict=True))}
        typer.echo(json.dumps(origin | found))
        return
    table = Table("class", "score", "")
    for i, (label, score) in enumerate(zip(labels, scores, strict=True)):
        _add_row(table, label, f"{score:.4f}", "<- highest" if i == best else "")
    _print_of(origin, table)


# --- looking --------------------------------------------------------------------------------------


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or a directory of keys.")],
    params: SetOption = None,
) -> None:
    """Say what a file is: keys, frames, a provisioning blob, a model, a parameter set, or an object of SEAL.

    **In:** any file that a command reads or writes, but not C headers. **Out:** a table of what it
    says of itself. Secrets are never shown.

    Example: `ciphermote inspect frames.bin`
    """
    from ciphermote.inspection import describe

    rows = describe(path, _parameter_set(params) if params else None)
    table = Table("field", "value", show_header=False)
    for name, value in rows:
        _add_row(table, name, value)
    Console().print(table)


@app.command()
def advise(
    magnitude: Annotated[float, typer.Option(help="The largest |value| that a device encrypts.")],
    max_error: Annotated[float, typer.Option(help="The absolute error the result may have.")],
    slots: Annotated[int, typer.Option(help="Numbers in one ciphertext.")] = 1,
    plain_products: Annotated[
        int, typer.Option(help="Products with plaintexts, one after the other (a linear layer: 1).")
    ] = 0,
    ciphertext_products: Annotated[
        int, typer.Option(help="Products of ciphertexts, one after the other (a square: 1).")
    ] = 0,
    rotations: Annotated[bool, typer.Option(help="Slots are moved or added up.")] = False,
    summed: Annotated[int, typer.Option(help="How many fresh ciphertexts are added up.")] = 1,
    key: Annotated[
        KeyKind, typer.Option(help="What devices encrypt with: symmetric or asymmetric.")
    ] = KeyKind.SYMMETRIC,
    weight_norm: Annotated[
        float | None, typer.Option(help="The l2 norm (Euclidean length) of the last product's weights.")
    ] = None,
    standard: Annotated[str, typer.Option(help="The security table: 2024 or 2018.")] = "2024",
) -> None:
    """Say which parameter set, scale and precision a computation needs.

    **In:** what is to be computed, in numbers. **Out:** the smallest set that can, the error to expect,
    and sizes. No keys.

    Example: `ciphermote advise --magnitude 8 --max-error 0.01 --slots 1200 --plain-products 1 --rotations`
    """
    from ciphermote import adviser

    advice = adviser.advise(
        adviser.Computation(
            magnitude=magnitude,
            max_error=max_error,
            slots=slots,
            plain_products=plain_products,
            ciphertext_products=ciphertext_products,
            rotations=rotations,
            summed=summed,
            key="asymmetric" if key is KeyKind.ASYMMETRIC else "symmetric",
            weight_norm=weight_norm,
            standard=standard,
        )
    )
    table = Table("field", "value", show_header=False)
    for name, value in (
        ("parameter set", advice.parameters.name),
        ("scale", f"2^{advice.log2_scale}"),
        ("precision", f"{advice.precision} bits"),
        ("levels used", str(advice.levels_used)),
        ("error to expect", f"{advice.predicted_error:.2g}"),
        ("bytes per reading on the wire", f"{advice.frame_bytes:,}"),
        ("bytes of arena on the device", f"{advice.arena_bytes:,}"),
    ):
        _add_row(table, name, value)
    Console().print(table)
    for sentence in advice.explanation:
        _say(f"- {sentence}")


if __name__ == "__main__":
    main()
