# SPDX-License-Identifier: Apache-2.0
"""What a Mosquitto broker is configured with: every device's credentials, and who may use which topic.

A device's user is TENANT.FLEET.NUMBER (TENANT.FLEET.uplink for an uplink), its password its token. It
publishes to ciphermote/USER/up, and is answered under ciphermote/USER/down. The files are written anew when
tokens change; Mosquitto reads them on SIGHUP.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import threading
from pathlib import Path

from ciphermote.files import write_atomically
from ciphermote.gateway.database import Database

GATEWAY_USER = "gateway"
PASSWORD_FILE = "gateway.password"
UPLINK = "uplink"
_ITERATIONS = 101  # Mosquitto's own; the passwords are 256 random bits, which no guessing finds
_SALT_BYTES = 12

RULES = f"""\
# Who may use which topic. Written by `ciphermote serve`.
user {GATEWAY_USER}
topic read ciphermote/+/up
topic write ciphermote/+/down/#

pattern write ciphermote/%u/up
pattern read ciphermote/%u/down/#
"""

CONFIGURATION = """\
# For a Mosquitto of this gateway alone: mosquitto -c THIS FILE. Written by `ciphermote serve`.
per_listener_settings false
allow_anonymous false
listener {port}
cafile {tls}/ca.pem
certfile {tls}/server.pem
keyfile {tls}/server.key
password_file {folder}/passwords
acl_file {folder}/rules
max_packet_size 4194304
message_size_limit 4194304
max_queued_messages 1000
persistence false
"""


def mosquitto_hash(password: str) -> str:
    """As a line of a password file has it: PBKDF2 with SHA-512."""
    salt = os.urandom(_SALT_BYTES)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    encoded = (base64.b64encode(part).decode() for part in (salt, digest))
    return f"$7${_ITERATIONS}$" + "$".join(encoded)


class BrokerFiles:
    """Of one gateway. stale: set when tokens have changed; whoever serves calls write then."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.stale = threading.Event()
        self.stale.set()
        path = folder / PASSWORD_FILE
        if not path.exists():
            write_atomically(path, secrets.token_hex(32).encode(), 0o600)
        self._own = mosquitto_hash(path.read_text())

    def write(self, tls: Path, port: int) -> None:
        """All of them. OSError: they are stale still."""
        self.stale.clear()  # before the tokens are read, so that no later change is lost
        try:
            self._write(tls, port)
        except BaseException:
            self.stale.set()
            raise

    def _write(self, tls: Path, port: int) -> None:
        rows = self._database.connection.execute(
            "SELECT t.name AS tenant, f.name AS fleet, k.device, k.broker FROM tokens k "
            "JOIN fleets f ON f.id = k.fleet JOIN tenants t ON t.id = k.tenant "
            "WHERE k.scope = 'device' AND k.revoked IS NULL ORDER BY k.created"
        )
        users = {GATEWAY_USER: self._own}
        for row in rows:
            number = UPLINK if row["device"] is None else row["device"]
            users[f"{row['tenant']}.{row['fleet']}.{number}"] = row["broker"]
        lines = "".join(f"{user}:{password}\n" for user, password in users.items())
        write_atomically(self._folder / "passwords", lines.encode(), 0o600)
        write_atomically(self._folder / "rules", RULES.encode(), 0o600)
        text = CONFIGURATION.format(port=port, tls=tls.absolute(), folder=self._folder.absolute())
        write_atomically(self._folder / "mosquitto.conf", text.encode(), 0o600)
