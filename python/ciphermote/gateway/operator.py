# SPDX-License-Identifier: Apache-2.0
"""The operator's tasks: tenants and their quotas, fleets, devices, tokens, quarantine. The audit log
(audit.py) records each change, also a refused one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from ciphermote.gateway.access import Access
from ciphermote.gateway.audit import Actor, Audit
from ciphermote.gateway.database.interface import Database, Row
from ciphermote.gateway.deletions import Deletions, Target
from ciphermote.gateway.intake import Intake
from ciphermote.gateway.quotas import USED_NUMBERS
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.registry import LATEST, SHOWN_STATE, Registry
from ciphermote.rest.operator import (
    AuditEntry,
    AuditPage,
    Deletion,
    DeletionPage,
    DevicePage,
    DeviceSummary,
    FleetPage,
    FleetSummary,
    NewTenant,
    NewToken,
    Quarantined,
    QuarantinePage,
    QuotaChange,
    Quotas,
    Tenant,
    TenantPage,
    TenantRequest,
    Token,
    TokenForm,
    TokenPage,
)

_TENANTS = f"SELECT t.*, {USED_NUMBERS} FROM tenants t WHERE t.deleted IS NULL"
_FLEETS = (
    "SELECT f.name, f.definition ->> 'lane' AS lane, f.created, "
    "CAST(f.retain_days AS INTEGER) AS retain_days, c.devices FROM fleets f "
    "JOIN fleet_counts c ON c.fleet = f.id WHERE f.tenant = ? AND f.deleted IS NULL"
)
_TOKENS = (
    "SELECT k.id, k.scope, t.name AS tenant, f.name AS fleet, k.device, k.note, k.created, k.expires, "
    "k.revoked FROM tokens k LEFT JOIN tenants t ON t.id = k.tenant LEFT JOIN fleets f ON f.id = k.fleet "
    "WHERE t.deleted IS NULL AND f.deleted IS NULL"
)
_QUARANTINE = (
    "SELECT q.id, t.name AS tenant, f.name AS fleet, d.number AS device, d.epoch, q.counter, q.kind, "
    "q.reason, q.arrived, d.fleet AS fleet_id, d.id AS row FROM quarantine q "
    "JOIN devices d ON d.id = q.device JOIN fleets f ON f.id = d.fleet JOIN tenants t ON t.id = f.tenant "
    "WHERE d.deleted IS NULL AND f.deleted IS NULL"
)
_DELETIONS = (
    "SELECT x.id, t.name AS tenant, f.name AS fleet, x.device, x.requested, x.finished, x.rows "
    "FROM deletions x JOIN tenants t ON t.id = x.tenant LEFT JOIN fleets f ON f.id = x.fleet"
)


class Operator:
    """An operator's actions on one gateway. A method that raises a Refusal has changed nothing."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        access: Access,
        intake: Intake,
        deletions: Deletions,
        audit: Audit,
    ) -> None:
        self._database = database
        self._registry = registry
        self._access = access
        self._intake = intake
        self._deletions = deletions
        self._audit = audit

    def _all(self, statement: str, *arguments: Any) -> list[Row]:
        return self._database.connection.execute(statement, arguments).fetchall()

    # --- tenants --------------------------------------------------------------------------------------------

    def tenants(self, after: str, limit: int) -> TenantPage:
        """Return tenants with names after `after`."""
        rows = self._all(f"{_TENANTS} AND t.name > ? ORDER BY t.name LIMIT ?", after, limit)
        return TenantPage(items=[_tenant(row) for row in rows], next=_next(rows, limit, "name"))

    def tenant(self, name: str) -> Tenant:
        """Return the tenant of this name."""
        rows = self._all(f"{_TENANTS} AND t.name = ?", name)
        if not rows:
            raise _no_tenant(name)
        return _tenant(rows[0])

    def add_tenant(self, actor: Actor, request: TenantRequest) -> NewTenant:
        """Create a tenant, and its owner's first token."""
        details = {"tenant": request.name, **request.model_dump(exclude={"name"}, exclude_unset=True)}
        with self._audit.recording(actor, "tenant create", details):
            self._registry.add_tenant(request)
            token = self._make_token(TokenForm(tenant=request.name, note="the tenant's first"))
            details["token"] = token.id
        return NewTenant(tenant=self.tenant(request.name), token=token.token)

    def change_quotas(self, actor: Actor, name: str, change: QuotaChange) -> Tenant:
        """Change a tenant's quotas. One below the present use stops new data until use falls below it."""
        given = change.model_dump(exclude_none=True)
        with self._audit.recording(actor, "tenant quota set", {"tenant": name, **given}) as database:
            tenant = self._registry.tenant(name)
            for quota, most in given.items():
                database.execute(f"UPDATE tenants SET most_{quota} = ? WHERE id = ?", (most, tenant))
        return self.tenant(name)

    def delete_tenant(self, actor: Actor, name: str) -> Deletion:
        """Delete a tenant with all its data."""
        return self._delete(actor, "tenant delete", lambda: Target(self._registry.tenant(name)), tenant=name)

    def _delete(self, actor: Actor, action: str, find: Callable[[], Target], **details: Any) -> Deletion:
        with self._audit.recording(actor, action, details) as database:
            target = find()
            number = self._deletions.begin(database, target)
        return Deletion(**self._all(f"{_DELETIONS} WHERE x.id = ?", number)[0])

    def deletions(self, before: int, limit: int) -> DeletionPage:
        """Return deletions with numbers below before, newest first."""
        rows = self._all(f"{_DELETIONS} WHERE x.id < ? ORDER BY x.id DESC LIMIT ?", before, limit)
        return DeletionPage(items=[Deletion(**row) for row in rows], next=_next(rows, limit, "id"))

    # --- fleets and devices ---------------------------------------------------------------------------------

    def fleets(self, tenant: str, after: str, limit: int) -> FleetPage:
        """Return a tenant's fleets with names after `after`."""
        rows = self._all(
            f"{_FLEETS} AND f.name > ? ORDER BY f.name LIMIT ?", self._registry.tenant(tenant), after, limit
        )
        return FleetPage(items=[FleetSummary(**row) for row in rows], next=_next(rows, limit, "name"))

    def set_retention(self, actor: Actor, tenant: str, fleet: str, days: int | None) -> FleetSummary:
        """Set after how many days a fleet's windows and results are deleted; None keeps them indefinitely."""
        details = {"tenant": tenant, "fleet": fleet, "retain_days": days}
        with self._audit.recording(actor, "fleet retention set", details):
            found = self._registry.fleet(self._registry.tenant(tenant), fleet)
            self._registry.set_retention(found, days)
        return FleetSummary(**self._all(f"{_FLEETS} AND f.name = ?", found.tenant, fleet)[0])

    def delete_fleet(self, actor: Actor, tenant: str, fleet: str) -> Deletion:
        """Delete a fleet with all its data."""

        def find() -> Target:
            found = self._registry.fleet(self._registry.tenant(tenant), fleet)
            return Target(found.tenant, found.id)

        return self._delete(actor, "fleet delete", find, tenant=tenant, fleet=fleet)

    def devices(self, tenant: str, fleet: str, after: int, limit: int) -> DevicePage:
        """Return a fleet's devices with numbers above `after`."""
        found = self._registry.fleet(self._registry.tenant(tenant), fleet)
        rows = self._all(
            f"SELECT number, epoch, {SHOWN_STATE}, created, last_seen "
            f"FROM devices d WHERE fleet = ? AND {LATEST} AND number > ? ORDER BY number LIMIT ?",
            *(found.id, after, limit),
        )
        return DevicePage(items=[DeviceSummary(**row) for row in rows], next=_next(rows, limit, "number"))

    def delete_device(self, actor: Actor, tenant: str, fleet: str, number: int) -> Deletion:
        """Delete a device with all its data. It may be enrolled again, in a later epoch."""

        def find() -> Target:
            found = self._registry.fleet(self._registry.tenant(tenant), fleet)
            if not self._all(
                "SELECT 1 FROM devices WHERE fleet = ? AND number = ? AND deleted IS NULL", found.id, number
            ):
                raise Refusal(
                    404,
                    "no-such-device",
                    f"Fleet {fleet} has no device {number}, or it is deleted already: name one that it has.",
                )
            return Target(found.tenant, found.id, number)

        return self._delete(actor, "device delete", find, tenant=tenant, fleet=fleet, device=number)

    # --- tokens ---------------------------------------------------------------------------------------------

    def tokens(self, tenant: str | None, after: str, limit: int) -> TokenPage:
        """Return tokens with ids after `after`: a tenant's, or (None) the operators'."""
        owner = None if tenant is None else self._registry.tenant(tenant)
        rows = self._all(
            f"{_TOKENS} AND k.tenant IS NOT DISTINCT FROM ? AND k.id > ? ORDER BY k.id LIMIT ?",
            owner,
            after,
            limit,
        )
        return TokenPage(items=[_token(row) for row in rows], next=_next(rows, limit, "id"))

    def add_token(self, actor: Actor, form: TokenForm) -> NewToken:
        """Make a new token for an owner or an operator."""
        details = form.model_dump(exclude_none=True)
        with self._audit.recording(actor, "token create", details):
            made = self._make_token(form)
            details["token"] = made.id
        return made

    def _make_token(self, form: TokenForm) -> NewToken:
        tenant = None if form.tenant is None else self._registry.tenant(form.tenant)
        token = self._access.make(
            "operator" if tenant is None else "owner",
            tenant=tenant,
            note=form.note,
            expires=form.expires,
            limited=False,  # an owner who has no room left is let in all the same
        )
        found = self._one_token(token.split("_")[1])
        return NewToken(**found.model_dump(), token=token)

    def _one_token(self, identifier: str) -> Token:
        rows = self._all(f"{_TOKENS} AND k.id = ?", identifier)
        if not rows:
            raise Refusal(404, "no-such-token", f"There is no token {identifier}: list them to find its id.")
        return _token(rows[0])

    def renew_token(self, actor: Actor, identifier: str, expires: float | None) -> Token:
        """Change when a token ends, even an expired one; None for never. A revoked token stays revoked."""
        return self._change_token(
            actor, "token renew", identifier, lambda: self._access.renew(identifier, expires), expires=expires
        )

    def revoke_token(self, actor: Actor, identifier: str) -> Token:
        """Revoke a token permanently."""
        return self._change_token(
            actor, "token revoke", identifier, lambda: self._access.revoke(identifier, None)
        )

    def _change_token(
        self, actor: Actor, action: str, identifier: str, change: Callable[[], None], **details: Any
    ) -> Token:
        details = {"token": identifier, **details}
        with self._audit.recording(actor, action, details):
            before = self._one_token(identifier)
            details["tenant"] = before.tenant
            if before.revoked is not None:
                raise Refusal(
                    409, "revoked", f"Token {identifier} is revoked, which is for good: make a new one."
                )
            change()
        return self._one_token(identifier)

    # --- what is quarantined --------------------------------------------------------------------------------

    def quarantined(self, after: int, limit: int) -> QuarantinePage:
        """Return quarantined deliveries with numbers above `after`."""
        rows = self._all(f"{_QUARANTINE} AND q.id > ? ORDER BY q.id LIMIT ?", after, limit)
        return QuarantinePage(items=[Quarantined(**row) for row in rows], next=_next(rows, limit, "id"))

    def settle(self, actor: Actor, number: int, *, accept: bool) -> Quarantined:
        """Drop a quarantined delivery; accept: also let the device continue from the counter that it jumped
        to."""
        action = "quarantine accept" if accept else "quarantine discard"
        details: dict[str, Any] = {"number": number}
        with self._audit.recording(actor, action, details) as database:
            rows = self._all(f"{_QUARANTINE} AND q.id = ?", number)
            if not rows:
                raise Refusal(
                    404,
                    "not-quarantined",
                    f"Nothing of number {number} is in quarantine: list what is (`ciphermote operator "
                    "quarantine list`).",
                )
            found = Quarantined(**rows[0])
            details |= found.model_dump(include={"tenant", "fleet", "device", "counter"})
            if accept and found.kind != "jump":
                raise Refusal(
                    409,
                    "not-a-jump",
                    "These bytes contradict stored ones, and cannot be accepted: discard them, and have the "
                    "device enrolled anew.",
                )
            if accept:
                database.execute(
                    "UPDATE devices SET newest = max(newest, ?), version = version + 1 WHERE id = ?",
                    (found.counter - 1, rows[0]["row"]),
                )
            database.execute("DELETE FROM quarantine WHERE id = ?", (number,))
            self._database.once_stored(partial(self._intake.forget, rows[0]["fleet_id"], found.device))
        return found

    # --- the audit log --------------------------------------------------------------------------------------

    def audit(self, before: int, tenant: str | None, limit: int) -> AuditPage:
        """Return entries of the audit log with ids below before, newest first. tenant: only those about
        it."""
        rows = self._audit.listed(before, tenant, limit)
        items = [AuditEntry(**{**row, "details": json.loads(row["details"])}) for row in rows]
        return AuditPage(items=items, next=_next(rows, limit, "id"))


def _next(rows: Sequence[Row], limit: int, key: str) -> str | None:
    """Return the cursor of the page after a full one."""
    return str(rows[-1][key]) if len(rows) == limit else None


def _tenant(row: Row) -> Tenant:
    quotas = {name: row[f"most_{name}"] for name in Quotas.model_fields}
    used = {name: row[name] for name in Quotas.model_fields}
    return Tenant(name=row["name"], created=row["created"], quotas=Quotas(**quotas), used=Quotas(**used))


def _token(row: Row) -> Token:
    return Token(**row, state=_state(row["expires"], row["revoked"]))


def _state(expires: float | None, revoked: float | None) -> Literal["valid", "expired", "revoked"]:
    if revoked is not None:
        return "revoked"
    return "valid" if expires is None or expires > time.time() else "expired"


def _no_tenant(name: str) -> Refusal:
    return Refusal(404, "no-such-tenant", f"There is no tenant {name[:40]}: list them to find its name.")
