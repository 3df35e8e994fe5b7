# SPDX-License-Identifier: Apache-2.0
"""Tag keys at rest: encrypted and bound to their device, under a key that lies beside the database.

Anyone with both the database and that key can forge frames and receipts, but decrypt nothing. A backup
without the key is useless to a thief, and cannot be restored without it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import write_atomically
from ciphermote.base.secret_files import read_secret_file
from ciphermote.formats.tags import TAG_KEY_BYTES, TagKeys
from ciphermote.gateway.database.interface import Database

_KEY_BYTES = 32
_NONCE_BYTES = 12


def make_wrap_key(path: Path) -> None:
    """Write a new key, unless one exists."""
    if not path.exists():
        write_atomically(path, os.urandom(_KEY_BYTES), 0o600)


class Wrapper:
    """Wraps and unwraps keys under the key in a file. Raises KeyFileError if it cannot be read: only a
    gateway's first start makes one (make_wrap_key), because a new key cannot replace a lost one."""

    def __init__(self, path: Path) -> None:
        key = read_secret_file(path, "restore it from a backup: without it no frame can be checked")
        if len(key) != _KEY_BYTES:
            raise KeyFileError(f"{path} has {len(key)} bytes instead of {_KEY_BYTES}: restore a backup.")
        self._cipher = AESGCM(key)
        self.check = hashlib.blake2b(key=key, digest_size=16, person=b"wrapping key").hexdigest()
        """Tells this key from others, and nothing of it."""

    def wrap(self, keys: TagKeys, fleet: int, device: int, epoch: int) -> bytes:
        """Encrypt the keys of one device in its epoch."""
        nonce = os.urandom(_NONCE_BYTES)
        plain = keys.frames + keys.receipts + keys.results
        return nonce + self._cipher.encrypt(nonce, plain, _place(fleet, device, epoch))

    def unwrap(self, wrapped: bytes, fleet: int, device: int, epoch: int) -> TagKeys:
        """Decrypt a device's keys. Raises KeyFileError if they were not wrapped under this key for this
        device."""
        nonce, rest = wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:]
        try:
            plain = self._cipher.decrypt(nonce, rest, _place(fleet, device, epoch))
        except InvalidTag:
            raise KeyFileError(
                f"The tag keys of device {device} cannot be unwrapped: restore the wrapping key that belongs "
                "to this database."
            ) from None
        one, two = TAG_KEY_BYTES, 2 * TAG_KEY_BYTES
        return TagKeys(plain[:one], plain[one:two], plain[two:])


def settle_wrap_key(path: Path, database: Database) -> Wrapper:
    """Make the wrapping key of a new database, or check that this is its key. Raises KeyFileError if it is
    missing, or another: that could not open any device's tag keys, and no other gateway could open those that
    it wraps."""
    with database.writing() as connection:  # only one of several new gateways makes one
        row = connection.execute("SELECT key_check FROM wrapping").fetchone()
        if not path.exists():
            (has_devices,) = connection.execute("SELECT EXISTS (SELECT 1 FROM devices)").fetchone()
            if row is not None or has_devices:
                raise KeyFileError(
                    f"{path} is missing, and opens the tag keys of the devices in the database: restore it "
                    "from a backup, or copy it from another gateway of this database."
                )
        make_wrap_key(path)
        wrapper = Wrapper(path)
        if row is None:
            connection.execute("INSERT INTO wrapping (key_check) VALUES (?)", (wrapper.check,))
        elif row["key_check"] != wrapper.check:
            raise KeyFileError(
                f"{path} is not the wrapping key of this database: restore that from a backup, or copy "
                "it from another gateway of this database."
            )
    return wrapper


def _place(fleet: int, device: int, epoch: int) -> bytes:
    return f"ciphermote tag keys {fleet} {device} {epoch}".encode()
