# SPDX-License-Identifier: Apache-2.0
"""Describe a file for `ciphermote inspect`: keys, headers, frames, blobs, models, a fleet's files and SEAL's
objects.

Only public facts are shown: a secret is named as one, and never printed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ciphermote.base import json_text, number_text
from ciphermote.base.errors import FrameError, KeyFileError
from ciphermote.base.files import (
    MOST_FRAMES_BYTES,
    MOST_JSON_BYTES,
    MOST_KEYS_BYTES,
    MOST_NPZ_BYTES,
    MOST_OBJECT_BYTES,
    read_bounded,
)
from ciphermote.base.words import count_of
from ciphermote.compact import keys as compact_keys
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats import seal as sb
from ciphermote.formats import seeded_keys
from ciphermote.formats.declaration import split
from ciphermote.formats.frame_finder import HEADER_BYTES, MAGIC
from ciphermote.formats.frames import XOF_NAMES, FrameReader, FrameSet, parse_frame
from ciphermote.formats.key_directory import MANIFEST_FILE
from ciphermote.formats.labels import MOST_LABEL_BYTES, Kind, detach
from ciphermote.formats.ledger import is_ledger
from ciphermote.formats.seal import key_id_of
from ciphermote.formats.seeded_keys import KeyKind
from ciphermote.owner import provisioning as provision
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import PublicKeyPrime, blob_parameters_id, is_blob, parse_blob
from ciphermote.parameters import BUILTIN, CKKS, ParameterSet, Scheme, by_id
from ciphermote.parameters.files import parameters_from_dict

Rows = list[tuple[str, str]]

_SEAL_MAGIC = b"\x5e\xa1"
_ZIP_MAGIC = b"PK"
_HEADER_MAGIC = b"/*\n * "
_HEXADECIMAL = re.compile(rb"[0-9a-f]{20}")
_MOST_READINGS = 20
_MOST_LABELS = 100


def describe(path: Path, parameters: ParameterSet | None = None) -> Rows:
    """Return (field, value) rows about a file or a directory of keys.

    parameters: the set of a file that names a custom set only by its id. Raises KeyFileError or FrameError if
    the file is unknown or damaged.
    """
    if path.is_dir():
        return _store(KeyStore.open(path))
    try:
        data = read_bounded(path, _most_bytes)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise _unknown(path) from None
    if is_blob(data):
        return _blob(data, parameters or by_id(blob_parameters_id(data)))
    if seeded_keys.are_seeded(data):
        return _seeded_keys(data, parameters)
    if data[:4] in _COMPACT:
        return _COMPACT[data[:4]](data)
    if data[:2] == MAGIC:
        return _frames(data, parameters)
    if data[:2] == _SEAL_MAGIC:
        return _seal(data, parameters)
    if is_ledger(data):
        return [("what", "a ledger of readings taken in")]
    if data.startswith(_ZIP_MAGIC):
        return _model(LinearModel.from_npz(data))
    if data.startswith(_HEADER_MAGIC):
        return _header(path, data)
    if _HEXADECIMAL.match(data):
        return _packets(path, data)
    return _json(path, data)


def _most_bytes(head: bytes) -> int:
    """Return the largest size of a file with this beginning. Raises ValueError if its kind is unknown."""
    if seeded_keys.are_seeded(head):
        return min(seeded_keys.stated_bytes(head), MOST_KEYS_BYTES)
    if head[:2] == MAGIC or is_ledger(head):
        return MOST_FRAMES_BYTES
    if head[:2] == _SEAL_MAGIC:
        claimed = int.from_bytes(head[8:16], "little") + MOST_LABEL_BYTES
        return min(max(claimed, MOST_OBJECT_BYTES), MOST_KEYS_BYTES)
    if is_blob(head):
        return MOST_OBJECT_BYTES
    if head.startswith(_ZIP_MAGIC):
        return MOST_NPZ_BYTES
    if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        return MOST_JSON_BYTES
    if head.startswith(_HEADER_MAGIC) or _HEXADECIMAL.match(head):
        return MOST_FRAMES_BYTES
    raise ValueError


def _unknown(path: Path, reason: str = "") -> KeyFileError:
    return KeyFileError(
        f"{path} is not one of Ciphermote's files{reason}: give a directory of keys, or a file of keys, "
        "frames, a blob, a model, a parameter set or a SEAL object."
    )


def _set_row(parameters: ParameterSet) -> tuple[str, str]:
    return "parameter set", f"{parameters.name} (id 0x{parameters.id:08x}, {parameters.standard} table)"


def _store(store: KeyStore) -> Rows:
    manifest = store.manifest
    rotations = ", ".join(map(str, manifest.galois_steps)) or "none"
    store.public_key()
    for name in manifest.digests:
        store.public_bytes(name)
    return [
        ("what", "a directory of keys; its public files are as they were made"),
        _set_row(store.parameters),
        ("key id", f"{store.key_id:016x}"),
        ("made", manifest.created),
        ("secret key", "here: keep this directory to yourself" if store.has_secret else "not here"),
        ("public files", ", ".join(sorted(manifest.digests))),
        ("rotations", rotations + (" and conjugation" if manifest.conjugation else "")),
        *_chain(store),
    ]


def _chain(store: KeyStore) -> Rows:
    chain = store.seal_chain()
    return [] if chain is None else [("SEAL's chain", f"{chain.name}, {chain.scheme}")]


def _blob(data: bytes, parameters: ParameterSet) -> Rows:
    found = parse_blob(data, parameters)
    head = [_set_row(parameters), ("key id", f"{found.key_id:016x}")]
    if isinstance(found, PublicKeyPrime):
        return [("what", f"a provisioning blob: the public key at prime {found.prime}"), *head]
    kinds = [
        ("secret key", found.secret_key),
        ("public key", found.public_key),
        ("tag keys", found.identity),
    ]
    if found.identity is not None:
        head += [("device", str(found.identity.device)), ("epoch", str(found.identity.epoch))]
    head.append(("largest value", f"{found.largest:.6g}"))
    holds = ["device secret", *(name for name, key in kinds if key is not None)]
    return [("what", "a provisioning blob: secret, and for one device"), *head, ("holds", ", ".join(holds))]


def _compact_keys(data: bytes) -> Rows:
    from ciphermote.compact.keys import CompactKeys

    keys = CompactKeys.from_bytes(data)
    devices = sorted({enrolment.device for enrolment in keys.enrolments})
    return [
        ("what", "a compact fleet's keys: secret, and the owner's"),
        ("compact set", keys.set.name),
        ("key id", f"{keys.key_id:016x}"),
        ("devices", ", ".join(map(str, devices[:_MOST_LABELS])) or "none"),
    ]


def _compact_gateway(data: bytes) -> Rows:
    from ciphermote.compact.keys import GatewayKeys

    keys = GatewayKeys.from_bytes(data)
    return [
        ("what", "a compact fleet's gateway keys: they check tags, and decrypt nothing"),
        ("compact set", keys.set.name),
        ("key id", f"{keys.key_id:016x}"),
        ("devices", ", ".join(map(str, sorted(keys.by_device)[:_MOST_LABELS])) or "none"),
    ]


def _compact_sum(data: bytes) -> Rows:
    from ciphermote.compact.frames import spans
    from ciphermote.compact.sums import CompactResult

    found = CompactResult.from_bytes(data)
    return [
        ("what", "an encrypted sum of compact windows"),
        ("compact set", found.set.name),
        ("key id", f"{found.key_id:016x}"),
        ("positions", spans(found.positions.tolist())),
        ("windows", str(len(found.contributors))),
    ]


def _compact_scores(data: bytes) -> Rows:
    from ciphermote.compact.frames import spans
    from ciphermote.compact.scores import CompactScores

    found = CompactScores.from_bytes(data)
    return [
        ("what", "encrypted scores of compact windows"),
        ("compact set", found.set.name),
        ("key id", f"{found.key_id:016x}"),
        ("model id", f"{found.model_id:016x}"),
        ("bits of a weight", str(found.weight_bits)),
        ("positions", spans(found.positions.tolist())),
        ("windows", str(len(found.windows))),
    ]


def _waiting_window(data: bytes) -> Rows:
    from ciphermote.fleet.device import Waiting

    found = Waiting.from_bytes(data)
    return [
        ("what", "a window that a device keeps until it has a receipt"),
        ("window", str(found.counter)),
        ("parts", f"{len(found.parts)}, {len(found.data):,} bytes"),
    ]


_COMPACT = {
    b"CMCK": _compact_keys,
    b"CMCG": _compact_gateway,
    b"CMCR": _compact_sum,
    b"CMCS": _compact_scores,
    b"CMWN": _waiting_window,
}
"""Readers by the bytes that a file begins with."""


def _frames(data: bytes, parameters: ParameterSet | None) -> Rows:
    if len(data) < HEADER_BYTES:
        raise FrameError(
            f"{len(data)} bytes are fewer than a frame's header: the file was cut short, so have it sent "
            "again."
        )
    parameters = parameters or by_id(int.from_bytes(data[8:12], "little"))
    _, frames = split(data)
    first, _ = parse_frame(frames, parameters)
    reader = FrameReader(parameters, first.set.key_id, scheme=first.set.scheme or CKKS)
    receptions = [reader.feed(data), reader.finish()]
    sets = [found for reception in receptions for found in reception.sets]
    faults = [str(reception.fault) for reception in receptions if reception.fault]
    rows = [
        ("what", f"frames: {count_of(len(sets), 'whole reading')}"),
        _set_row(parameters),
        ("key id", f"{first.set.key_id:016x}"),
        *((f"reading {found.header.counter}", _reading(found)) for found in sets[:_MOST_READINGS]),
    ]
    if len(sets) > _MOST_READINGS:
        rows.append(("", f"and {len(sets) - _MOST_READINGS} more"))
    return rows + [("fault", fault) for fault in faults]


def _reading(frames: FrameSet) -> str:
    head = frames.header
    seed = f"symmetric, {XOF_NAMES[head.xof]} seed" if head.xof else "asymmetric"
    bound = "" if frames.largest is None else f", values up to {frames.largest:g}"
    primes = count_of(head.primes, "prime")
    return f"{seed}, {head.scale_or_modulus}{bound}, {primes}, {frames.frame_bytes:,} bytes"


def _seal(data: bytes, parameters: ParameterSet | None) -> Rows:
    claimed = int.from_bytes(data[8:16], "little")
    if len(data) < claimed:
        raise FrameError(
            f"The SEAL object is cut short: it has {len(data):,} bytes, and its header says {claimed:,}; "
            "have it sent again."
        )
    try:
        found = sb.read_parameters(data)
    except FrameError:
        pass
    else:
        primes = ", ".join(map(str, found.primes))
        return [
            ("what", f"SEAL encryption parameters ({found.scheme_name})"),
            ("n", str(found.n)),
            ("primes", primes),
        ]
    labelled = {
        Kind.CIPHERTEXT: _seal_ciphertext,
        Kind.RELIN_KEYS: _seal_relin_keys,
        Kind.GALOIS_KEYS: _seal_galois_keys,
    }
    _, label = detach(data)
    if label is not None:
        parameters = parameters or by_id(label.parameters_id)
        return _sized(labelled[label.kind](data, parameters), data, parameters)
    reasons: list[str] = []
    for candidate in [parameters] if parameters else BUILTIN:
        for describe_as in (_seal_public_key, _seal_secret_key, *labelled.values()):
            try:
                rows = describe_as(data, candidate)
            except FrameError as error:
                reasons.append(str(error))
            else:
                return _sized(rows, data, candidate)
    # The reader that got farthest knows best what is wrong.
    best = max(reasons, key=_byte_position)
    raise FrameError(
        "The SEAL object is damaged, or of a parameter set that is not built in: if the set is your own, "
        f"name its file with --params. ({best})"
    )


def _sized(rows: Rows, data: bytes, parameters: ParameterSet) -> Rows:
    return [*rows, _set_row(parameters), ("bytes", f"{len(data):,}")]


def _byte_position(reason: str) -> int:
    digits = reason.partition("byte ")[2].partition(":")[0]
    return int(digits) if number_text.is_natural(digits) else 0


def _seal_public_key(data: bytes, parameters: ParameterSet) -> Rows:
    sb.read_public_key(data, parameters)
    return [("what", "a public key in SEAL's bytes"), ("key id", f"{key_id_of(data):016x}")]


def _seal_secret_key(data: bytes, parameters: ParameterSet) -> Rows:
    sb.read_secret_key(data, parameters)
    return [("what", "a SECRET key in SEAL's bytes: keep it to yourself")]


def _seal_ciphertext(data: bytes, parameters: ParameterSet) -> Rows:
    found = sb.read_ciphertext(data, parameters, sizes=(2, 3), scheme=_scheme(data))
    return [
        ("what", "a ciphertext in SEAL's bytes" + (", seeded" if found.seed else "")),
        _key_row(found.key_id),
        ("polynomials", str(found.size)),
        ("primes", f"{found.primes} of {len(parameters.data_primes)} data primes"),
        ("scheme", str(found.scheme)),
        *([] if found.scheme.is_bfv else [("scale", f"{found.scale:.10g}")]),
        ("bound", found.known.bound_text),
        *([] if found.model_id is None else [("scores of model", f"{found.model_id:016x}")]),
    ]


def _seal_relin_keys(data: bytes, parameters: ParameterSet) -> Rows:
    found = sb.read_relin_keys(data, parameters, scheme=_scheme(data))
    return [("what", "relinearization keys in SEAL's bytes"), _key_row(found.key_id)]


def _seal_galois_keys(data: bytes, parameters: ParameterSet) -> Rows:
    found = sb.read_galois_keys(data, parameters, scheme=_scheme(data))
    return [
        ("what", "Galois keys in SEAL's bytes"),
        _key_row(found.key_id),
        _rotations_row(found.keys, parameters),
    ]


def _seeded_keys(data: bytes, parameters: ParameterSet | None) -> Rows:
    kind = seeded_keys.stated_kind(data)
    parameters = parameters or by_id(seeded_keys.stated_parameters_id(data))
    found = seeded_keys.read(data, parameters, kind)
    rows = [("what", f"{seeded_keys.NAMES[kind]} in seeded form: public")]
    if kind is KeyKind.REKEY:
        rows.append(("from key", f"{found.source_id:016x}, a device's"))
        rows.append(("to key", f"{found.key_id:016x}, the owner's"))
    else:
        rows.append(_key_row(found.key_id))
    if kind is KeyKind.GALOIS:
        rows.append(_rotations_row(found.keys, parameters))
    return _sized(rows, data, parameters)


def _rotations_row(elements: Iterable[int], parameters: ParameterSet) -> tuple[str, str]:
    """List the rotations of Galois keys in steps to the left, or as negative steps to the right if that is
    shorter."""
    slots = parameters.slots
    shorter = (step - slots if 2 * step > slots else step for step in range(slots))
    names = {sb.galois_element(parameters.n, step): step for step in shorter}
    steps = sorted((names[e] for e in elements if e in names), key=lambda step: (abs(step), step < 0))
    parts = [str(step) for step in steps]
    rest = sorted(set(elements) - set(names))
    parts += ["conjugation" if e == 2 * parameters.n - 1 else f"element {e}" for e in rest]
    return "rotations", ", ".join(parts) or "none"


def _scheme(data: bytes) -> Scheme:
    """Return the label's scheme, or CKKS without a label."""
    _, label = detach(data)
    return CKKS if label is None else label.scheme


def _key_row(key_id: int | None) -> tuple[str, str]:
    return "key id", "unknown: the file has no label" if key_id is None else f"{key_id:016x}"


def _model(model: LinearModel) -> Rows:
    rows = [
        ("what", "a linear model"),
        ("model id", f"{model.id:016x}"),
        ("classes", str(model.classes)),
        ("features", str(model.features)),
    ]
    if not model.labels:
        return rows
    shown, more = model.labels[:_MOST_LABELS], len(model.labels) - _MOST_LABELS
    return [*rows, ("labels", ", ".join(shown) + (f" and {more} more" if more > 0 else ""))]


def _header(path: Path, data: bytes) -> Rows:
    """Describe a C header of keys by its first lines and its definitions."""
    text = data.decode("ascii", errors="replace")
    if compact_keys.is_header(data):
        found = re.search(r"device (\d+), epoch (\d+),\n \* set (\w+), values up to (\d+)\.", text)
        if found is None:
            raise _unknown(path, " (its first lines are damaged)")
        names = ("device", "epoch", "compact set", "largest value")
        return [
            ("what", "a C header with one device's compact keys: secret, and for its build"),
            *zip(names, found.groups(), strict=True),
        ]
    if not provision.is_header(data):
        raise _unknown(path)
    defined = dict(re.findall(r"^#define CM_PROVISIONED_(\w+) (\d+)", text, re.MULTILINE))
    name = re.match(r"/\*\n \* One device's keys for (\w+),", text)
    if name is None or "TAGGED" not in defined:
        raise _unknown(path, " (its first lines are damaged)")
    kinds = [("SECRET_KEY", "secret key"), ("PUBLIC_KEY", "public key"), ("TAGGED", "tag keys")]
    identity = [(field, defined[field.upper()]) for field in ("device", "epoch") if field.upper() in defined]
    holds = ["device secret", *(kind for field, kind in kinds if defined.get(field) == "1")]
    return [
        ("what", "a C header with one device's keys: secret, and for its build"),
        ("parameter set", name[1]),
        *identity,
        ("holds", ", ".join(holds)),
    ]


def _packets(path: Path, data: bytes) -> Rows:
    from ciphermote.compact.frames import read_packets

    try:
        packets = read_packets(data.decode("ascii"))
    except (FrameError, UnicodeDecodeError) as error:
        raise _unknown(path, f" ({error})") from None
    sizes = sorted({len(packet) for packet in packets})
    return [
        ("what", f"compact packets, in hexadecimal digits: {count_of(len(packets), 'packet')}"),
        ("bytes of a packet", str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"),
    ]


def _json(path: Path, data: bytes) -> Rows:
    try:
        fields: Any = json_text.parse(data)
    except ValueError as error:
        raise _unknown(path, f" ({error})") from None
    try:
        kind = json_text.string(fields["format"])
    except (ValueError, TypeError, KeyError):
        raise _unknown(path) from None
    kinds: dict[str, Callable[[], Rows]] = {
        "ciphermote-linear-model": lambda: _model(LinearModel.from_fields(fields)),
        "ciphermote-parameters": lambda: [
            ("what", "a parameter set"),
            _set_row(parameters_from_dict(fields, str(path))),
        ],
        "ciphermote-keys": lambda: [
            ("what", f"{MANIFEST_FILE} of a directory of keys"),
            *_store(KeyStore.open(path.parent)),
        ],
    }
    if kind in kinds:
        return kinds[kind]()
    if kind not in _FLEET_FILES:
        raise _unknown(path)
    what, names = _FLEET_FILES[kind]
    shown = ((name.replace("_", " "), str(fields[name])) for name in names if name in fields)
    return [("what", what), *shown]


_FLEET_FILES = {
    "ciphermote-attachment": (
        "where a fleet is attached to a gateway, with the owner's token: secret",
        ("gateway", "fleet"),
    ),
    "ciphermote-connection": (
        "a device's connection to its gateway, with its token: secret",
        ("gateway", "fleet", "device", "epoch"),
    ),
    "ciphermote-device": ("the state of a device in Python", ("fleet", "device", "epoch", "counter")),
    "ciphermote-enrolment": ("the record of a device's enrolment", ("device", "epoch", "key_id")),
    "ciphermote-result": ("the description of a result", ("fleet", "gateway")),
    "ciphermote-compact-seen": ("the windows that compact sums have counted", ("key_id",)),
}
"""Formats of JSON: their descriptions and the names shown of them, none of which is secret."""
