# SPDX-License-Identifier: Apache-2.0
"""What manifest.json says of a directory of keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ciphermote import json_text
from ciphermote.bounds import DEFAULT_LARGEST, DEFAULT_READINGS, DEFAULT_SUMMED, Readings
from ciphermote.errors import KeyFileError, ParameterError
from ciphermote.parameter_files import parameters_from_dict, parameters_to_dict
from ciphermote.parameters import ParameterSet

PUBLIC_FILE = "public.key"
RELIN_FILE = "relin.keys"
GALOIS_FILE = "galois.keys"
PARAMETERS_FILE = "parameters.seal"
_FORMAT = "ciphermote-keys"
_FORMAT_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What manifest.json says. digests: file name -> BLAKE2b-256 of the public files, in hexadecimal.
    readings: what the owner declares of all that is encrypted under the keys."""

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
        """KeyFileError if it is none, or of another version."""
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
            not set(digests) <= {PUBLIC_FILE, RELIN_FILE, GALOIS_FILE, PARAMETERS_FILE}
            or PUBLIC_FILE not in digests
        ):
            raise damaged
        return found
