# SPDX-License-Identifier: Apache-2.0
"""Open a gateway's store."""

from __future__ import annotations

from pathlib import Path

from ciphermote.gateway.store.folder import SEGMENT_BYTES, FolderStore
from ciphermote.gateway.store.interface import Store


def open_store(folder: Path, segment_bytes: int = SEGMENT_BYTES) -> Store:
    """Open the store of the gateway in a directory."""
    return FolderStore(folder, segment_bytes)
