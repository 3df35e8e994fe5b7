# SPDX-License-Identifier: Apache-2.0
"""The names in a gateway's directory.

gateway.db      who and what there is, every window and job
segments/       what devices sent
objects/        public keys that were uploaded, results
backup.lock     held by a backup or a sweep, so that nothing goes that is being copied
lock            held by the one gateway that uses the directory
wrap.key        what tag keys are encrypted under
operator.sock   the operator's door on this machine, while the gateway runs
operator.token, owner.token    made at the first start, the second for the one tenant that there is then
tls/            a certificate authority and certificate of its own, if none is given
mosquitto/      configuration of a broker, and how it reaches the gateway
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

DATABASE_FILE = "gateway.db"
LOCK_FILE = "lock"
BACKUP_LOCK_FILE = "backup.lock"
SEGMENTS = "segments"
OBJECTS = "objects"
WRAP_KEY_FILE = "wrap.key"
OPERATOR_SOCKET = "operator.sock"
OPERATOR_TOKEN_FILE = "operator.token"
OWNER_TOKEN_FILE = "owner.token"
TLS = "tls"
BROKER = "mosquitto"


@contextlib.contextmanager
def operator_socket(folder: Path) -> Iterator[str]:
    """A path of the operator's socket within the block: addresses of sockets are at most 107 bytes long, and
    paths of directories are not."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{OPERATOR_SOCKET}"
    finally:
        os.close(descriptor)
