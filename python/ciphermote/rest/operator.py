# SPDX-License-Identifier: Apache-2.0
"""Operators' requests to a gateway, and its answers, as typed models. Times are seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ciphermote.rest.answers import Answer, Page
from ciphermote.rest.requests import Model, Name, TenantRequest, Time

Note = Annotated[str, Field(max_length=200)]


# --- tenants ------------------------------------------------------------------------------------------------


class Quotas(Answer):
    """A tenant's quotas."""

    devices: int
    bytes: int
    fleets: int
    streams: int
    jobs: int


class QuotaChange(Model):
    """New quotas; those left out do not change."""

    devices: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    bytes: Annotated[int, Field(ge=1, le=2**53)] | None = None
    fleets: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    streams: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    jobs: Annotated[int, Field(ge=1, le=100_000_000)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> QuotaChange:
        if not self.model_fields_set:
            raise ValueError("no quota is given: give at least one")
        return self


class Tenant(Answer):
    """A tenant, its quotas, and its use of them."""

    name: str
    created: float
    quotas: Quotas
    used: Quotas


class TenantPage(Page[Tenant]):
    """Tenants, by name."""


class NewTenant(Answer):
    """A new tenant, and its first owner's token, which is shown only once."""

    tenant: Tenant
    token: Annotated[str, Field(repr=False)]


# --- fleets and devices -------------------------------------------------------------------------------------


class FleetSummary(Answer):
    """A fleet of a tenant. devices: those enrolled now; retain_days: days to keep windows and results; null
    keeps them indefinitely."""

    name: str
    lane: Literal["full", "compact"]
    created: float
    devices: int
    retain_days: int | None


class FleetPage(Page[FleetSummary]):
    """A tenant's fleets, by name."""


class DeviceSummary(Answer):
    """A device of a fleet, in its latest epoch. last_seen: when it last sent anything."""

    number: int
    epoch: int
    state: Literal["active", "quarantined", "revoked", "deleted"]
    created: float
    last_seen: float | None


class DevicePage(Page[DeviceSummary]):
    """A fleet's devices, by number."""


class Deletion(Answer):
    """The removal of a tenant, a fleet or a device. It takes effect at once; rows are then removed in the
    background. fleet, device: null for all of them. rows: number removed so far; finished: null while it
    continues."""

    id: int
    tenant: str
    fleet: str | None
    device: int | None
    requested: float
    finished: float | None
    rows: int


class DeletionPage(Page[Deletion]):
    """Deletions, newest first."""


# --- tokens -------------------------------------------------------------------------------------------------


class TokenForm(Model):
    """A token to make: for an owner of a tenant, or (without tenant) for an operator. expires: when it ends;
    never if left out."""

    tenant: Name | None = None
    note: Note = ""
    expires: Time | None = None


class Renewal(Model):
    """The new end of a token; null for never."""

    expires: Time | None


class Token(Answer):
    """A token, without its secret. tenant: null for an operator's; fleet, device: of a device's token."""

    id: str
    scope: Literal["device", "owner", "operator"]
    tenant: str | None
    fleet: str | None
    device: int | None
    note: str
    created: float
    expires: float | None
    revoked: float | None
    state: Literal["valid", "expired", "revoked"]


class TokenPage(Page[Token]):
    """Tokens, by id."""


class NewToken(Token):
    """A new token with its secret, which is shown only once."""

    token: Annotated[str, Field(repr=False)]


# --- quarantine ---------------------------------------------------------------------------------------------


class Quarantined(Answer):
    """A delivery in quarantine: its counter jumped ahead, or its bytes contradict stored ones (mixed)."""

    id: int
    tenant: str
    fleet: str
    device: int
    epoch: int
    counter: int
    kind: Literal["jump", "mixed"]
    reason: str
    arrived: float


class QuarantinePage(Page[Quarantined]):
    """Quarantined deliveries, oldest first."""


# --- the audit log ------------------------------------------------------------------------------------------


class AuditEntry(Answer):
    """One change. actor: "local" or "token ID"; owner_of: the tenant whose owner acted, null for an operator;
    address: where the request came from; details: the change's parameters; outcome: "done", or a refusal's
    name."""

    id: int
    time: float
    actor: str
    owner_of: str | None
    address: str
    action: str
    details: dict[str, Any]
    outcome: str


class AuditPage(Page[AuditEntry]):
    """Entries of the audit log, newest first."""


__all__ = [
    "AuditEntry",
    "AuditPage",
    "Deletion",
    "DeletionPage",
    "DevicePage",
    "DeviceSummary",
    "FleetPage",
    "FleetSummary",
    "NewTenant",
    "NewToken",
    "QuarantinePage",
    "Quarantined",
    "QuotaChange",
    "Quotas",
    "Renewal",
    "Tenant",
    "TenantPage",
    "TenantRequest",
    "Token",
    "TokenForm",
    "TokenPage",
]
