# SPDX-License-Identifier: Apache-2.0
"""How a gateway is run. Every setting has a default; `ciphermote serve` has an option for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ciphermote.gateway.blobs import SEGMENT_BYTES


@dataclass(frozen=True)
class Broker:
    """The MQTT broker that devices publish to. ca: the authority of its certificate; None: its certificate is
    the gateway's own."""

    host: str
    port: int = 8883
    ca: Path | None = None


@dataclass(frozen=True)
class Settings:
    """data: the gateway's directory. certificate, key: PEM files; None: one of its own making. reserve_bytes:
    of the disk, that ciphertexts leave free. segment_bytes: after which they go to another file. workers:
    processes that compute."""

    data: Path = Path("ciphermote-gateway")
    host: str = "127.0.0.1"
    port: int = 8443
    certificate: Path | None = None
    key: Path | None = None
    broker: Broker | None = field(default=None)
    workers: int = 1
    reserve_bytes: int = 256 << 20
    segment_bytes: int = SEGMENT_BYTES
