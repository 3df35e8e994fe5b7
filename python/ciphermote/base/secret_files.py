# SPDX-License-Identifier: Apache-2.0
"""Files that hold secrets, which only their owner may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import MOST_OBJECT_BYTES


def read_secret_file(
    path: Path,
    absent: str = "the secret key stays with the owner, so run this on the owner's machine",
) -> bytes:
    """Read a file that only its owner may read. It is opened once, so that the file checked is the file read,
    and a pipe without a writer is not waited for. absent: the message for a missing file. Raises
    KeyFileError."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyFileError(f"{path} is not an ordinary file: put the secret key's file there.")
            mode = stat.S_IMODE(status.st_mode)
            if mode & 0o077:
                raise KeyFileError(
                    f"{path} is open to others (mode {mode:04o}): run `chmod 600 {path}` and try again."
                )
            return file.read(MOST_OBJECT_BYTES)
    except FileNotFoundError:
        raise KeyFileError(f"{path} is not here: {absent}.") from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None
