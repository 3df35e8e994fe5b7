# SPDX-License-Identifier: Apache-2.0
"""The directory KEYS.fleets, beside the keys, with an owner's files about the keys' fleets.

    KEYS.fleets/FLEET/attachment.json   gateway, authority, token and definition: secret, for the token
    KEYS.fleets/FLEET/devices/7.json    a device's enrolment: its epoch and key, and whether it is complete
    KEYS.fleets/FLEET/models/ID.json    models whose scores were asked for

Only the owner may read them (mode 0600). They hold a key that decrypts only while a device is being enrolled
(enrolling.py).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ciphermote.base import json_text
from ciphermote.base.errors import KeyFileError, MismatchError, ParameterError
from ciphermote.base.files import lock, read_bounded, sync_directory, write_atomically
from ciphermote.base.secret_files import read_secret_file
from ciphermote.compact.keys import CompactKeys
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.fleet.client import GatewayClient
from ciphermote.formats.key_directory import GALOIS_FILE, RELIN_FILE
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import CKKS, Scheme
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.words import KeyKind

SUFFIX = ".fleets"
ATTACHMENT_FILE = "attachment.json"
_FORMAT, _VERSION = "ciphermote-attachment", 1
_TURN_SECONDS = 600.0
_MOST_BYTES = 1 << 20

Keys = KeyStore | CompactKeys


def load_keys(path: Path) -> Keys:
    """Load a directory of keys or a compact keys file. Raises KeyFileError if the path is neither."""
    if path.is_dir():
        return KeyStore.open(path)
    if not path.exists():
        raise KeyFileError(
            f"{path} is not there: give a directory of keys (`ciphermote keygen`) or a compact keys file "
            "(`ciphermote compact keygen`)."
        )
    return CompactKeys.load(path)


@dataclass(frozen=True)
class Attachment:
    """A fleet that keys are attached to. keys: their path. gateway: its URL; ca: PEM text, or None.
    definition: the fleet's, as the gateway stores it."""

    keys: Path
    fleet: str
    gateway: str
    token: str = field(repr=False)
    ca: str | None = field(repr=False)
    definition: Mapping[str, Any] = field(repr=False)

    @classmethod
    def load(cls, keys: str | Path, fleet: str | None = None) -> Attachment:
        """Load the attachment of keys to a fleet; None for the only one. Raises KeyFileError if there is
        none, or several for None."""
        keys = Path(keys)
        names = attached(keys)
        if fleet is None:
            if len(names) > 1:
                raise KeyFileError(f"{keys} is attached to {', '.join(names)}: say which (--fleet).")
            fleet = names[0] if names else ""
        if fleet not in names:
            what = f" to fleet {fleet}" if fleet else ""
            raise KeyFileError(f"{keys} is not attached{what}: do so with `ciphermote owner attach`.")
        path = _folder(keys) / fleet / ATTACHMENT_FILE
        try:
            fields = json_text.parse(read_secret_file(path, "attach the keys again"))
            if (fields["format"], fields["version"]) != (_FORMAT, _VERSION):
                raise ValueError
            ca = None if fields["ca"] is None else json_text.string(fields["ca"])
            url, token = json_text.string(fields["gateway"]), json_text.string(fields["token"])
            found = cls(keys, fleet, url, token, ca, dict(fields["definition"]))
            found.definition["key_id"]
        except (ValueError, KeyError, TypeError):
            raise KeyFileError(
                f"{path} is damaged: attach the keys again (`ciphermote owner attach`)."
            ) from None
        return found

    def save(self) -> None:
        """Save the attachment, which only the owner may read. Raises KeyFileError if it cannot be written."""
        fields = {
            "format": _FORMAT,
            "version": _VERSION,
            "gateway": self.gateway,
            "fleet": self.fleet,
            "ca": self.ca,
            "token": self.token,
            "definition": dict(self.definition),
        }
        with about_writing(self.folder):
            make_folder(self.folder)
            write_atomically(self.folder / ATTACHMENT_FILE, json_bytes(fields), 0o600)

    @property
    def folder(self) -> Path:
        return _folder(self.keys) / self.fleet

    @property
    def is_compact(self) -> bool:
        return bool(self.definition["lane"] == "compact")

    @property
    def scheme(self) -> Scheme:
        """The scheme of its devices' full frames; CKKS in the compact lane, which has none."""
        return Scheme(int(self.definition.get("plain_modulus", 0)))

    def load_keys(self) -> Keys:
        """Load the fleet's keys. Raises KeyFileError, or MismatchError if they are no longer the fleet's."""
        found = load_keys(self.keys)
        if f"{found.key_id:016x}" != self.definition["key_id"]:
            raise MismatchError(
                f"{self.keys} is key {found.key_id:016x}, and fleet {self.fleet} was attached with "
                f"{self.definition['key_id']}: give the keys that it was attached with."
            )
        return found

    def client(self) -> GatewayClient:
        return GatewayClient(self.gateway, self.token, ca=self.ca)

    def keep_model(self, model: LinearModel) -> None:
        """Store a model, so that its scores can be shown under its classes."""
        with about_writing(self.folder):
            make_folder(self.folder / "models")
            write_atomically(
                self.folder / "models" / f"{model.id:016x}.json", model.to_json().encode(), 0o600
            )

    def model(self, identifier: int) -> LinearModel | None:
        """Load a stored model."""
        path = self.folder / "models" / f"{identifier:016x}.json"
        return LinearModel.load(path) if path.exists() else None

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Let processes that change the fleet's files take turns. Raises KeyFileError after waiting too
        long."""
        try:
            with lock(self.folder / ".lock", _TURN_SECONDS):
                yield
        except TimeoutError:
            raise KeyFileError(
                f"Another process is enrolling devices of fleet {self.fleet}: wait until it has ended, then "
                "try again."
            ) from None


def attached(keys: str | Path) -> list[str]:
    """Return the names of the fleets that keys are attached to."""
    return sorted(path.parent.name for path in _folder(Path(keys)).glob(f"*/{ATTACHMENT_FILE}"))


def attach(
    keys: str | Path,
    gateway: str,
    token: str,
    fleet: str,
    *,
    ca: str | None = None,
    log2_scale: int | None = None,
    scheme: Scheme = CKKS,
    own_keys: bool = False,
    positions: list[tuple[int, int]] | None = None,
    windows_per_hour: int | None = None,
    moved: bool = False,
) -> Attachment:
    """Define a fleet at a gateway, send it the public evaluation keys, and remember it.

    keys: a directory of keys, or a compact keys file, which needs positions, the runs (first, number) that a
    window holds. log2_scale: CKKS's scale; None for the one that suits the readings that the keys declare.
    scheme: CKKS or BFV(t). own_keys: each device gets its own secret key. moved: the fleet was attached
    before, and its gateway has a new address. A repeated call with the same arguments sends keys made since
    the last one. Nothing secret is sent. Raises ParameterError, KeyFileError or GatewayError.
    """
    keys = Path(keys)
    found = load_keys(keys)
    if isinstance(found, CompactKeys):
        if log2_scale is not None or scheme.is_bfv or own_keys:
            raise ParameterError(
                "A compact fleet has neither scale nor modulus nor devices' own keys: leave them out."
            )
        if not positions:
            raise ParameterError("How many values a window has is missing: say it with --values.")
        definition: dict[str, Any] = {
            "lane": "compact",
            "set": found.set.name,
            "key_id": f"{found.key_id:016x}",
            "positions": [list(run) for run in positions],
        }
    else:
        if positions:
            raise ParameterError("--values is for compact keys: full frames have all their slots.")
        if scheme.is_bfv and log2_scale is not None:
            raise ParameterError("BFV's integers have no scale: give --plain-modulus or --log2-scale.")
        scale = {"log2_scale": log2_scale or found.readings.log2_scale(found.parameters)}
        definition = {
            "lane": "full",
            "parameters": parameters_to_dict(found.parameters),
            "key_id": f"{found.checked_key_id():016x}",
            "own_keys": own_keys,
            **({"plain_modulus": scheme.plain_modulus} if scheme.is_bfv else scale),
        }
    if windows_per_hour is not None:
        definition["windows_per_hour"] = windows_per_hour
    with GatewayClient(gateway, token, ca=ca) as client:
        if fleet in attached(keys):
            before = Attachment.load(keys, fleet).gateway
            if before != client.url and not moved:
                raise KeyFileError(
                    f"{keys} is attached to fleet {fleet} at {before}: name another fleet, or say --moved if "
                    "it is the same gateway at a new address."
                )
        client.define_fleet(fleet, definition)
        attachment = Attachment(keys, fleet, client.url, token.strip(), ca, client.definition(fleet))
        attachment.save()
        if isinstance(found, KeyStore):
            put_evaluation_keys(client, fleet, found)
    return attachment


def put_evaluation_keys(client: GatewayClient, fleet: str, keys: KeyStore) -> None:
    """Send a fleet's evaluation keys."""
    files: dict[KeyKind, str] = {"relin": RELIN_FILE, "galois": GALOIS_FILE}
    for kind, name in files.items():
        if name in keys.manifest.digests:
            client.put_keys(fleet, kind, keys.public_bytes(name))


def _folder(keys: Path) -> Path:
    path = keys if keys.name else keys.absolute()  # "." has no name
    return path.with_name(path.name + SUFFIX)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, which only the owner may read; they are on the disk on return. Raises
    OSError."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        sync_directory(path.parent)


def json_bytes(fields: object) -> bytes:
    return (json.dumps(fields, indent=1) + "\n").encode()


def read_json(path: Path, most: int = _MOST_BYTES) -> Any:
    """Read a JSON file. Raises ValueError if it is not JSON, or OSError."""
    return json_text.parse(read_bounded(path, most))


@contextlib.contextmanager
def about_writing(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a KeyFileError."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise KeyFileError(
            f"{where} cannot be written ({error.strerror or error}): see that its directory is there and "
            "that you may write to it."
        ) from None


__all__ = ["Attachment", "attach", "attached", "load_keys"]
