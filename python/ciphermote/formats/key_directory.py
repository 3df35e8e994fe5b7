# SPDX-License-Identifier: Apache-2.0
"""The public part of a directory of keys: manifest.json, and the files of public and evaluation keys that it
names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ciphermote.base import json_text
from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.base.files import MOST_KEYS_BYTES, read_bounded
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.bounds import DEFAULT_LARGEST, DEFAULT_READINGS, DEFAULT_SUMMED, Readings
from ciphermote.parameters.files import parameters_from_dict, parameters_to_dict

PUBLIC_FILE = "public.key"
RELIN_FILE = "relin.keys"
GALOIS_FILE = "galois.keys"
PARAMETERS_FILE = "parameters.seal"
SEAL_CHAIN_FILE = "seal-chain.seal"
"""The parameters of an application of SEAL whose secret key this is, if they are not the keys' own set."""
MANIFEST_FILE = "manifest.json"
NEW = ".new"
"""The suffix of a file that is about to replace another."""
_MAX_MANIFEST_BYTES = 1 << 20
_FORMAT = "ciphermote-keys"
_FORMAT_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json. digests: file name -> BLAKE2b-256 of the public files, in hexadecimal.
    readings: the owner's declarations about everything encrypted under the keys."""

    parameters: ParameterSet
    key_id: int
    created: str
    galois_steps: tuple[int, ...]
    conjugation: bool
    digests: Mapping[str, str]
    readings: Readings = DEFAULT_READINGS

    def to_json(self) -> str:
        fields = {
            "format": _FORMAT,
            "version": _FORMAT_VERSION,
            "parameters": parameters_to_dict(self.parameters),
            "key_id": f"{self.key_id:016x}",
            "created": self.created,
            "galois_steps": list(self.galois_steps),
            "conjugation": self.conjugation,
            "largest": self.readings.largest,
            "summed": self.readings.summed,
            "blake2b_256": dict(self.digests),
        }
        return json.dumps(fields, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: bytes, where: str) -> Manifest:
        """Parse a manifest. Raises KeyFileError if it is invalid, or of another version."""
        damaged = KeyFileError(
            f"{where} is damaged, or is not a manifest of keys: restore the directory from a copy."
        )
        try:
            fields = json_text.parse(text)
        except ValueError:
            raise damaged from None
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise damaged
        if fields.get("version") != _FORMAT_VERSION:
            raise KeyFileError(
                f"{where} is of another version than {_FORMAT_VERSION}, which this package reads: update the "
                "package."
            )
        parameters = parameters_from_dict(fields.get("parameters"), where)
        try:
            most = parameters.slots - 1
            steps = tuple(json_text.integer(step, -most, most) for step in fields["galois_steps"])
            digests = {name: json_text.string(digest) for name, digest in fields["blake2b_256"].items()}
            found = cls(
                parameters,
                json_text.hexadecimal_u64(fields["key_id"]),
                json_text.string(fields["created"]),
                steps,
                json_text.boolean(fields["conjugation"]),
                digests,
                # Older manifests declare nothing, and their keys were used with the defaults.
                Readings(fields.get("largest", DEFAULT_LARGEST), fields.get("summed", DEFAULT_SUMMED)),
            )
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
            raise damaged from None
        if (
            not set(digests) <= {PUBLIC_FILE, RELIN_FILE, GALOIS_FILE, PARAMETERS_FILE, SEAL_CHAIN_FILE}
            or PUBLIC_FILE not in digests
        ):
            raise damaged
        return found


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a directory of keys, with or without its secret. Raises KeyFileError if it is
    none."""
    where = path / MANIFEST_FILE
    if not where.is_file():
        raise KeyFileError(
            f"{path} holds no keys ({MANIFEST_FILE} is not there): make some with `ciphermote keygen`."
        )
    return Manifest.from_json(_read_file(where, _MAX_MANIFEST_BYTES), str(where))


def read_public_file(path: Path, manifest: Manifest, name: str) -> bytes:
    """Read PUBLIC_FILE or another public file. Raises KeyFileError if it is missing or its digest differs."""
    digest = manifest.digests.get(name)
    file = path / name
    if digest is None:
        option = "--relin`" if name == RELIN_FILE else "--model` (or `--rotations`)"
        raise KeyFileError(
            f"These keys were made without {name}: have their owner make it with `ciphermote extend "
            f"{option}; devices keep what they have."
        )
    cut_short = file.with_name(name + NEW)  # extend left it
    for candidate in (cut_short, file) if cut_short.exists() else (file,):
        content = _read_file(candidate)
        if digest_of(content) == digest:
            return content
    raise KeyFileError(
        f"{file} is damaged or was replaced (it is not what {MANIFEST_FILE} names): restore it from a copy."
    )


def digest_of(content: bytes) -> str:
    """Return a file's digest as manifests list it."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def _read_file(path: Path, limit: int = MOST_KEYS_BYTES) -> bytes:
    try:
        return read_bounded(path, limit)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None
