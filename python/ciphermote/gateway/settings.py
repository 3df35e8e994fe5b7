# SPDX-License-Identifier: Apache-2.0
"""Settings of a gateway. Every setting has a default; `ciphermote serve` has an option for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ciphermote.gateway.store.folder import SEGMENT_BYTES


@dataclass(frozen=True)
class Broker:
    """The MQTT broker that devices publish to. ca: the authority of its certificate; None if it has the
    gateway's certificate. password: a file with the password that its gateways share; None for the one in the
    gateway's directory."""

    host: str
    port: int = 8883
    ca: Path | None = None
    password: Path | None = None


@dataclass(frozen=True)
class Settings:
    """The settings of a gateway. data: its directory. certificate, key: PEM files; None to make them.
    reserve_bytes: bytes of the disk that ciphertexts leave free. segment_bytes: the size after which a new
    segment begins. workers: number of processes that compute. store: the URL of an object store; None for the
    one that the gateway has, or its directory. database: a URL of PostgreSQL, without a password; None for
    SQLite in the directory. compute: HOST:PORT of a Ray cluster's head; None to compute on this machine."""

    data: Path = Path("ciphermote-gateway")
    host: str = "127.0.0.1"
    port: int = 8443
    certificate: Path | None = None
    key: Path | None = None
    broker: Broker | None = field(default=None)
    workers: int = 1
    reserve_bytes: int = 256 << 20
    segment_bytes: int = SEGMENT_BYTES
    store: str | None = None
    database: str | None = None
    compute: str | None = None
