# SPDX-License-Identifier: Apache-2.0
"""Configuration of the gateway's Mosquitto broker.

A device's user is TENANT.FLEET.NUMBER (TENANT.FLEET.uplink for an uplink), and its password is its token. It
publishes to ciphermote/USER/up, and gets answers under ciphermote/USER/down. The gateway decides who may
connect (broker_gate.py), so no file lists users.

Several gateways may share a broker: they have one password there, and each a user without a dot, which is its
client id too.
"""

from __future__ import annotations

import os
import pwd
import secrets
from contextlib import suppress
from pathlib import Path

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import write_atomically

USER_BEGINNING = "gateway-"
USER_FILE = "gateway.user"
PASSWORD_FILE = "gateway.password"
SOCKET_FILE = "gate"
CONFIGURATION_FILE = "mosquitto.conf"
_LEAST_PASSWORD = 16
_FORMER_FILES = ("passwords", "rules")

_CONFIGURATION = """\
# For a Mosquitto of this gateway alone: mosquitto -c THIS FILE. Written by `ciphermote serve --broker`.
per_listener_settings false
allow_anonymous false
plugin {plugin}
plugin_opt_gateway {folder}/{socket}
listener {port}
certfile {certificate}
keyfile {key}
# A connection, and a session, for each user: nobody takes another's.
use_username_as_clientid true
persistent_client_expiration 1h
retain_available false
max_packet_size 4194304
message_size_limit 4194304
max_inflight_messages 100
# A flood is bounded for each device and tenant before this (python/src/broker.c).
max_queued_messages 20000
max_queued_bytes 536870912
persistence false
"""
_USER = """\
# Started by root, Mosquitto becomes the gateway's user, who may read these files.
user {user}
"""


class BrokerFiles:
    """A gateway's files for its broker, in a separate folder. user, password: its own at the broker."""

    def __init__(self, folder: Path, password: Path | None = None) -> None:
        """password: a file with the one that several gateways share; None for the one in the folder."""
        self._folder = folder.absolute()
        self._folder.mkdir(parents=True, exist_ok=True)
        for name in _FORMER_FILES:
            (self._folder / name).unlink(missing_ok=True)
        path = self._folder / PASSWORD_FILE
        if password is None and not path.exists():
            write_atomically(path, secrets.token_hex(32).encode(), 0o600)
        self.password = _read_password(password or path)
        path = self._folder / USER_FILE
        if not path.exists():
            write_atomically(path, f"{USER_BEGINNING}{secrets.token_hex(8)}".encode(), 0o600)
        self.user = path.read_text().strip()
        self.socket = self._folder / SOCKET_FILE

    def write(self, plugin: Path, port: int, certificate: Path, key: Path) -> None:
        """Write the configuration. certificate, key: the gateway's own, which also authenticate the broker to
        devices."""
        text = _CONFIGURATION.format(
            plugin=plugin,
            folder=self._folder,
            socket=SOCKET_FILE,
            port=port,
            certificate=certificate.absolute(),
            key=key.absolute(),
        )
        with suppress(KeyError):  # a container's user may have no name: then root does not start Mosquitto
            text += _USER.format(user=pwd.getpwuid(os.geteuid()).pw_name)
        write_atomically(self._folder / CONFIGURATION_FILE, text.encode(), 0o600)


def is_gateway(user: str) -> bool:
    """Whether a user of the broker is a gateway's: names of tenants, with which others begin, end with a
    dot."""
    return user.startswith(USER_BEGINNING) and "." not in user


def _read_password(path: Path) -> str:
    try:
        found = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        found = ""
    if len(found) < _LEAST_PASSWORD:
        raise KeyFileError(
            f"{path} has no password for the broker: it needs at least {_LEAST_PASSWORD} characters, and the "
            "same on every gateway of the broker."
        )
    return found
