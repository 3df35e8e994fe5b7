# SPDX-License-Identifier: Apache-2.0
"""The operator's part of the HTTP API, under /v1/operator: typed answers, lists in envelopes, and an entry in
the audit log for each change.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from ciphermote.gateway.api import PROBLEMS, TheGateway, actor_of, gateway_of
from ciphermote.gateway.audit import Actor
from ciphermote.gateway.bodies import StrictRoute
from ciphermote.rest import routes
from ciphermote.rest.operator import (
    AuditPage,
    Deletion,
    DeletionPage,
    DevicePage,
    FleetPage,
    FleetSummary,
    NewTenant,
    NewToken,
    Quarantined,
    QuarantinePage,
    QuotaChange,
    Renewal,
    Tenant,
    TenantPage,
    Token,
    TokenForm,
    TokenPage,
)
from ciphermote.rest.requests import (
    ID_PATTERN,
    NAME_PATTERN,
    Ascii,
    Digits,
    RetentionRequest,
    TenantRequest,
)
from ciphermote.rest.words import ID

_NEWEST = 2**62

Tenants = Annotated[str, Path(pattern=NAME_PATTERN, description="A tenant's name")]
Fleets = Annotated[str, Path(pattern=NAME_PATTERN, description="A fleet's name")]
DeviceNumber = Annotated[int, Digits, Path(ge=0, le=2**32 - 1, description="A device's number")]
TokenId = Annotated[str, Path(pattern=ID_PATTERN, description="A token's id: its middle part")]
QuarantineId = Annotated[int, Digits, Path(ge=0, le=_NEWEST)]
Limit = Annotated[int, Ascii, Query(ge=1, le=1000, description="How many items a page has at most")]
AfterName = Annotated[str, Query(pattern=f"^$|{NAME_PATTERN}", description="A page's next")]
AfterNumber = Annotated[int, Ascii, Query(ge=-1, le=_NEWEST, description="A page's next")]
Before = Annotated[int, Ascii, Query(ge=0, le=_NEWEST, description="A page's next")]


def _actor(request: Request) -> Actor:
    principal = gateway_of(request).access.principal(request.headers.get("authorization"), "operator")
    return actor_of(request, principal)


Who = Annotated[Actor, Depends(_actor)]

operators = APIRouter(tags=["operators"], responses=PROBLEMS, route_class=StrictRoute)


# --- tenants ------------------------------------------------------------------------------------------------


@operators.get(routes.TENANTS, operation_id="list_tenants")
def list_tenants(gateway: TheGateway, who: Who, after: AfterName = "", limit: Limit = 100) -> TenantPage:
    """List tenants, with their quotas and use."""
    return gateway.operator.tenants(after, limit)


@operators.post(routes.TENANTS, operation_id="create_tenant", status_code=201)
def create_tenant(gateway: TheGateway, who: Who, tenant: TenantRequest) -> NewTenant:
    """Create a tenant, with its owner's first token."""
    return gateway.operator.add_tenant(who, tenant)


@operators.get(routes.A_TENANT, operation_id="get_tenant")
def get_tenant(gateway: TheGateway, who: Who, tenant: Tenants) -> Tenant:
    """Show a tenant."""
    return gateway.operator.tenant(tenant)


@operators.delete(routes.A_TENANT, operation_id="delete_tenant", status_code=202)
def delete_tenant(gateway: TheGateway, who: Who, tenant: Tenants) -> Deletion:
    """Delete a tenant: its access ends at once, and its data is removed in the background."""
    return gateway.operator.delete_tenant(who, tenant)


@operators.patch(routes.QUOTAS, operation_id="set_quotas")
def set_quotas(gateway: TheGateway, who: Who, tenant: Tenants, quotas: QuotaChange) -> Tenant:
    """Change a tenant's quotas; those left out do not change."""
    return gateway.operator.change_quotas(who, tenant, quotas)


@operators.get(routes.DELETIONS, operation_id="list_deletions")
def list_deletions(
    gateway: TheGateway, who: Who, after: Before = _NEWEST, limit: Limit = 100
) -> DeletionPage:
    """List deletions and their progress, newest first."""
    return gateway.operator.deletions(after, limit)


# --- fleets and devices -------------------------------------------------------------------------------------


@operators.get(routes.TENANT_FLEETS, operation_id="list_tenant_fleets")
def list_tenant_fleets(
    gateway: TheGateway, who: Who, tenant: Tenants, after: AfterName = "", limit: Limit = 100
) -> FleetPage:
    """List a tenant's fleets."""
    return gateway.operator.fleets(tenant, after, limit)


@operators.delete(routes.TENANT_FLEET, operation_id="delete_fleet", status_code=202)
def delete_fleet(gateway: TheGateway, who: Who, tenant: Tenants, fleet: Fleets) -> Deletion:
    """Delete a fleet: from now on nothing is accepted for it, and its data is removed in the background."""
    return gateway.operator.delete_fleet(who, tenant, fleet)


@operators.put(routes.FLEET_RETENTION, operation_id="set_fleet_retention")
def set_fleet_retention(
    gateway: TheGateway, who: Who, tenant: Tenants, fleet: Fleets, retention: RetentionRequest
) -> FleetSummary:
    """Set after how many days a fleet's windows and results are deleted; null keeps them indefinitely."""
    return gateway.operator.set_retention(who, tenant, fleet, retention.retain_days)


@operators.get(routes.FLEET_DEVICES, operation_id="list_fleet_devices")
def list_fleet_devices(
    gateway: TheGateway,
    who: Who,
    tenant: Tenants,
    fleet: Fleets,
    after: AfterNumber = -1,
    limit: Limit = 100,
) -> DevicePage:
    """List a fleet's devices, deleted ones too."""
    return gateway.operator.devices(tenant, fleet, after, limit)


@operators.delete(routes.FLEET_DEVICE, operation_id="delete_device", status_code=202)
def delete_device(
    gateway: TheGateway, who: Who, tenant: Tenants, fleet: Fleets, device: DeviceNumber
) -> Deletion:
    """Delete a device: from now on nothing is accepted from it, and its data is removed in the background.
    Its owner may enroll the number again, in a later epoch."""
    return gateway.operator.delete_device(who, tenant, fleet, device)


# --- tokens -------------------------------------------------------------------------------------------------


@operators.get(routes.EVERY_TOKEN, operation_id="list_tokens_of")
def list_tokens_of(
    gateway: TheGateway,
    who: Who,
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    after: Annotated[str, Query(pattern=f"^(?:{ID})?$", description="A page's next")] = "",
    limit: Limit = 100,
) -> TokenPage:
    """List a tenant's tokens, or (without a tenant) the operators', without their secrets."""
    return gateway.operator.tokens(tenant, after, limit)


@operators.post(routes.EVERY_TOKEN, operation_id="create_token", status_code=201)
def create_token(gateway: TheGateway, who: Who, form: TokenForm) -> NewToken:
    """Make a token for an owner of a tenant, or (without a tenant) for an operator."""
    return gateway.operator.add_token(who, form)


@operators.patch(routes.ANY_TOKEN, operation_id="renew_token")
def renew_token(gateway: TheGateway, who: Who, token: TokenId, renewal: Renewal) -> Token:
    """Change when a token ends, even an expired one; null for never. Its secret does not change."""
    return gateway.operator.renew_token(who, token, renewal.expires)


@operators.delete(routes.ANY_TOKEN, operation_id="revoke_token_of")
def revoke_token_of(gateway: TheGateway, who: Who, token: TokenId) -> Token:
    """Revoke any token permanently."""
    return gateway.operator.revoke_token(who, token)


# --- what is quarantined, and the audit log -----------------------------------------------------------------


@operators.get(routes.QUARANTINE, operation_id="list_quarantine")
def list_quarantine(
    gateway: TheGateway, who: Who, after: AfterNumber = -1, limit: Limit = 100
) -> QuarantinePage:
    """List deliveries in quarantine: counters that jumped, and bytes that contradict stored ones."""
    return gateway.operator.quarantined(after, limit)


@operators.post(routes.ACCEPTANCE, operation_id="accept_quarantined")
def accept_quarantined(gateway: TheGateway, who: Who, number: QuarantineId) -> Quarantined:
    """Accept a counter's jump, so that the device's next attempt succeeds."""
    return gateway.operator.settle(who, number, accept=True)


@operators.post(routes.DISCARD, operation_id="discard_quarantined")
def discard_quarantined(gateway: TheGateway, who: Who, number: QuarantineId) -> Quarantined:
    """Discard a quarantined delivery."""
    return gateway.operator.settle(who, number, accept=False)


@operators.get(routes.AUDIT, operation_id="list_audit")
def list_audit(
    gateway: TheGateway,
    who: Who,
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    after: Before = _NEWEST,
    limit: Limit = 100,
) -> AuditPage:
    """List who changed what, when, and from where, newest first. tenant: only entries about it."""
    return gateway.operator.audit(after, tenant, limit)
