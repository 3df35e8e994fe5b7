# SPDX-License-Identifier: Apache-2.0
"""Tenants, tokens and their permissions.

A token is "cmt_ID_SECRET". The database holds only a digest of the secret part, which is random and long, so
a plain hash suffices. Scopes: device (send, fetch results; for one device, or as an uplink for a fleet),
owner (everything of one tenant), operator (tenants, their owners' tokens, quarantine).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ciphermote.gateway.database.interface import ERRORS, Connection, Database
from ciphermote.gateway.pages import page
from ciphermote.gateway.quotas import check_number
from ciphermote.gateway.refusals import Refusal

Scope = Literal["device", "owner", "operator"]
_ID_BYTES, _SECRET_BYTES = 8, 32
_REMEMBERED = 10_000
_LONGEST_TOKEN = 200
_SCHEME = "bearer "
"""The scheme of an Authorization header, which is taken in any case (RFC 9110)."""
UPLINK = "uplink"
"""Replaces a device's number in the broker's user of an uplink."""


@dataclass(frozen=True)
class Principal:
    """The holder of a token. tenant: None for an operator; fleet: that of a device's token; device: None for
    an uplink. expires: when the token ends, in seconds since 1970; None for never."""

    token: str
    scope: Scope
    tenant: int | None
    fleet: int | None
    device: int | None
    expires: float | None = None
    tenant_name: str | None = None
    fleet_name: str | None = None

    @property
    def broker_user(self) -> str | None:
        """The principal's user at an MQTT broker, or None."""
        if self.scope != "device":
            return None
        return broker_user(self.tenant_name, self.fleet_name, self.device)

    @property
    def named(self) -> dict[str, Any]:
        """The principal's name in logs, which contains no secret."""
        found: dict[str, Any] = {"token": self.token, "scope": self.scope}
        if self.tenant is not None:
            found["tenant"] = self.tenant_name
        if self.scope == "device":
            found |= {"fleet": self.fleet_name, "device": UPLINK if self.device is None else self.device}
        return found


def broker_user(tenant: object, fleet: object, device: int | None) -> str:
    return f"{tenant}.{fleet}.{UPLINK if device is None else device}"


LOCAL = "local"
"""The id of local_token."""


class Access:
    """Makes, checks and revokes tokens. local_token: an operator's token that only this process knows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.local_token = f"cmt_{LOCAL}_{secrets.token_hex(_SECRET_BYTES)}"
        self._known: OrderedDict[bytes, Principal] = OrderedDict()
        self._lock = threading.Lock()
        self._changes = 0
        """Counts ended tokens: a token that was looked up earlier may have ended since."""
        self._since = time.monotonic()

    def principal(self, authorization: str | None, *scopes: Scope) -> Principal:
        """Return the sender of an Authorization header. Raises Refusal unless it has one of these scopes."""
        if authorization is None or authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise Refusal(401, "no-token", "There is no token: send the header Authorization: Bearer TOKEN.")
        found = self.of_token(authorization[len(_SCHEME) :].strip())
        if found.scope not in scopes:
            raise Refusal(
                403,
                "wrong-scope",
                f"The token is {_whose(found.scope)}: use {' or '.join(map(_whose, scopes))}.",
            )
        return found

    def named(self, authorization: str | None) -> dict[str, Any]:
        """Name the sender of a header in a log; empty if unknown."""
        try:
            return self.principal(authorization, "device", "owner", "operator").named
        except (Refusal, *ERRORS):
            return {}

    def of_token(self, token: str) -> Principal:
        """Look up a token. Raises Refusal if it is unknown, revoked or expired."""
        digest = hashlib.sha256(token.encode(errors="replace")).digest()
        if self._database.is_outdated(self._since):
            self.forget()
        found = self._known.get(digest)
        if found is None:
            changes = self._changes
            found = self._look_up(token)
            with self._lock:
                if changes == self._changes:
                    self._known[digest] = found
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        if found.expires is not None and found.expires <= time.time():
            ended = datetime.fromtimestamp(found.expires, UTC)
            raise Refusal(
                401, "expired-token", f"The token expired at {ended:%Y-%m-%dT%H:%M:%S}Z: ask for a new one."
            )
        return found

    def _look_up(self, token: str) -> Principal:
        unknown = Refusal(401, "unknown-token", "The token is unknown or revoked: ask for a new one.")
        parts = token.split("_")
        if len(token) > _LONGEST_TOKEN or len(parts) != 3 or parts[0] != "cmt":
            raise unknown
        if parts[1] == LOCAL:
            if not hmac.compare_digest(token.encode(errors="replace"), self.local_token.encode()):
                raise unknown
            return Principal(LOCAL, "operator", None, None, None)
        row = self._database.connection.execute(
            "SELECT k.*, t.name AS tenant_name, f.name AS fleet_name FROM tokens k "
            "LEFT JOIN tenants t ON t.id = k.tenant LEFT JOIN fleets f ON f.id = k.fleet "
            "WHERE k.id = ? AND k.revoked IS NULL AND t.deleted IS NULL AND f.deleted IS NULL",
            (parts[1],),
        ).fetchone()
        if row is None or not hmac.compare_digest(_hash(parts[2]), row["hash"]):
            raise unknown
        place = row["tenant"], row["fleet"], row["device"]
        names = row["tenant_name"], row["fleet_name"]
        return Principal(row["id"], row["scope"], *place, row["expires"], *names)

    def make(
        self,
        scope: Scope,
        *,
        tenant: int | None = None,
        fleet: int | None = None,
        device: int | None = None,
        note: str = "",
        expires: float | None = None,
        limited: bool = True,
        keep: Callable[[str], None] | None = None,
    ) -> str:
        """Make a new token, which cannot be shown again. keep: gets the token before it becomes valid, so
        that a crash between the two leaves no valid token that nobody knows. expires: when it ends; None for
        never. limited: whether the tenant's quotas apply."""
        _check_future(expires)
        identifier, secret = secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES)
        token = f"cmt_{identifier}_{secret}"
        with self._database.writing() as database:
            if tenant is not None and limited:
                check_number(database, tenant, "tokens")
            database.execute(
                "INSERT INTO tokens (id, hash, scope, tenant, fleet, device, note, created, expires) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (identifier, _hash(secret), scope, tenant, fleet, device, note, time.time(), expires),
            )
            if keep is not None:
                keep(token)
        return token

    def revoke(self, identifier: str, tenant: int | None) -> None:
        """Revoke a token. tenant: the token's required tenant; None for any. Raises Refusal if there is
        none."""
        with self._database.writing() as database:
            done = database.execute(
                "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL "
                "AND (CAST(? AS BIGINT) IS NULL OR tenant = ?)",
                (time.time(), identifier, tenant, tenant),
            )
            if not done.rowcount:
                raise Refusal(404, "no-such-token", "There is no such token, or it is revoked already.")
            self._database.once_stored(self.forget)

    def renew(self, identifier: str, expires: float | None) -> None:
        """Change the end of a token that is not revoked; None for never."""
        _check_future(expires)
        with self._database.writing() as database:
            database.execute(
                "UPDATE tokens SET expires = ? WHERE id = ? AND revoked IS NULL", (expires, identifier)
            )
            self._database.once_stored(self.forget)

    def revoke_of_device(self, database: Connection, fleet: int, device: int) -> None:
        """Revoke all tokens of one device, within a transaction."""
        database.execute(
            "UPDATE tokens SET revoked = ? WHERE fleet = ? AND device = ? AND revoked IS NULL",
            (time.time(), fleet, device),
        )
        self._database.once_stored(self.forget)

    def forget(self) -> None:
        """Drop the cache, so that every token is looked up again."""
        with self._lock:
            self._changes += 1
            self._known.clear()
            self._since = time.monotonic()

    def ended(self, after: float, until: float) -> list[tuple[str, str]]:
        """Return (id, user at a broker) of devices' tokens that ended in this period: revoked, expired, or of
        a deleted fleet."""
        rows = self._database.connection.execute(
            "SELECT k.id, t.name AS tenant, f.name AS fleet, k.device FROM ("
            "SELECT * FROM tokens WHERE revoked > ?1 AND revoked <= ?2 "
            "UNION SELECT * FROM tokens WHERE expires > ?1 AND expires <= ?2 "
            "UNION SELECT k.* FROM fleets f JOIN tokens k ON k.tenant = f.tenant AND k.fleet = f.id "
            "WHERE f.deleted > ?1 AND f.deleted <= ?2) k "
            "JOIN tenants t ON t.id = k.tenant JOIN fleets f ON f.id = k.fleet WHERE k.scope = 'device'",
            (after, until),
        )
        return [(row["id"], broker_user(row["tenant"], row["fleet"], row["device"])) for row in rows]

    def listed(self, tenant: int | None, after: str = "") -> list[dict[str, object]]:
        """Return a page of tokens by id, without their secrets."""
        rows = self._database.connection.execute(
            "SELECT t.id, t.scope, t.note, t.created, t.expires, t.revoked, t.device, f.name AS fleet "
            "FROM tokens t LEFT JOIN fleets f ON f.id = t.fleet "
            "WHERE t.tenant IS NOT DISTINCT FROM ? AND t.id > ? ORDER BY t.id",
            (tenant, after),
        )
        return [dict(row) for row in page(rows)]


def _check_future(expires: float | None) -> None:
    if expires is not None and expires <= time.time():
        raise Refusal(422, "past", "The token would have expired already: give a time that is still to come.")


def _whose(scope: Scope) -> str:
    return f"{'a' if scope == 'device' else 'an'} {scope}'s"


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
