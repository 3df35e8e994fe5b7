# SPDX-License-Identifier: Apache-2.0
"""Support for the tests of the owner's side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ciphermote.fleet import Attachment, FleetDevice, attach
from gateway_support import Server


def attached(server: Server, keys: Path, fleet: str, **more: Any) -> Attachment:
    """Keys, attached with the first owner's token."""
    token = (server.data / "owner.token").read_text()
    ca = (server.data / "tls" / "ca.pem").read_text()
    return attach(keys, f"https://localhost:{server.port}", token, fleet, ca=ca, **more)


def opened(folder: Path, name: str = "d") -> FleetDevice:
    """The device whose files in the folder are named so."""
    return FleetDevice(folder / f"{name}.state", folder / f"{name}.blob", folder / f"{name}.json")


def put(folder: Path, name: str, *windows: Any, measured: float | None = None) -> None:
    """Have an enrolled device send these windows."""
    with opened(folder, name) as device:
        for values in windows:
            device.put(values, measured=measured)
        assert device.deliver(seconds=10) == 0, device.last_error
