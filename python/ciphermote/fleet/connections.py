# SPDX-License-Identifier: Apache-2.0
"""A device's connection file: its gateway's address and its token. The file is secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from ciphermote.base import json_text
from ciphermote.base.errors import KeyFileError
from ciphermote.base.secret_files import read_secret_file
from ciphermote.fleet.attachments import json_bytes
from ciphermote.formats.tags import LARGEST_DEVICE, LARGEST_EPOCH

_FORMAT, _VERSION = "ciphermote-connection", 1


@dataclass(frozen=True)
class Connection:
    """The connection of one device in an epoch. ca: PEM text of the gateway's authority, or None. mqtt_user:
    its name at the gateway's broker, where the token is its password. definition: the fleet's definition."""

    gateway: str
    fleet: str
    device: int
    epoch: int
    mqtt_user: str
    token: str = field(repr=False)
    ca: str | None = field(repr=False)
    definition: Mapping[str, Any] = field(repr=False)

    def to_bytes(self) -> bytes:
        return json_bytes({"format": _FORMAT, "version": _VERSION, **asdict(self)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Raises KeyFileError if the file is missing, open to others, damaged, or none."""
        path = Path(path)
        content = read_secret_file(path, "have it from the owner (`ciphermote owner enroll`)")
        try:
            fields = json_text.parse(content)
            if not is_connection(content) or fields["version"] != _VERSION:
                raise ValueError
            return cls(
                json_text.string(fields["gateway"]),
                json_text.string(fields["fleet"]),
                json_text.integer(fields["device"], 0, LARGEST_DEVICE),
                json_text.integer(fields["epoch"], 1, LARGEST_EPOCH),
                json_text.string(fields["mqtt_user"]),
                json_text.string(fields["token"]),
                None if fields["ca"] is None else json_text.string(fields["ca"]),
                dict(fields["definition"]),
            )
        except (ValueError, KeyError, TypeError):
            raise KeyFileError(
                f"{path} is no connection file, or is damaged: give what `ciphermote owner enroll` wrote."
            ) from None


def is_connection(data: bytes) -> bool:
    """Whether data begin like a connection file."""
    return data.startswith(b"{") and _FORMAT.encode() in data[:200]
