# SPDX-License-Identifier: Apache-2.0
"""The files in a gateway's directory.

gateway.db      tenants, fleets, devices, windows and jobs
store.identity  which directory has the bytes, if the database is a server's
segments/       deliveries of devices, and batches of windows that were switched to another key
objects/        uploaded public keys, and results
backup.lock     held by a backup or a sweep, so that no file disappears while it is copied
lock            held by the one gateway that uses the directory
wrap.key        the key that encrypts tag keys
operator.sock   local access for operators, while the gateway runs
operator.token, owner.token    made at the first start, the second for the first tenant
tls/            the gateway's own certificate authority and certificate, if none is given
mosquitto/      configuration of a broker, and its access to the gateway
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

DATABASE_FILE = "gateway.db"
LOCK_FILE = "lock"
BACKUP_LOCK_FILE = "backup.lock"
BACKUP_NAME_FILE = "backup.name"
"""In a backup: its name in the object store that has the bytes."""
STORE_IDENTITY_FILE = "store.identity"
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
    """Provide a short path of the operator's socket within the block, because addresses of sockets have at
    most 107 bytes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{OPERATOR_SOCKET}"
    finally:
        os.close(descriptor)
