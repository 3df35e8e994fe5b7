# SPDX-License-Identifier: Apache-2.0
"""A client of the operator's part of a gateway's API, with the same typed models."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from ciphermote.base.errors import GatewayError, ParameterError
from ciphermote.gateway.gateway_files import operator_socket
from ciphermote.rest import routes
from ciphermote.rest.answers import Answer, Item, Page
from ciphermote.rest.http import checked_token, checked_url, refusal_of
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
    Tenant,
    TenantPage,
    Token,
    TokenPage,
)

_SECONDS = 60.0
_Answer = TypeVar("_Answer", bound=Answer)


class OperatorClient:
    """A connection to a gateway as its operator: OperatorClient.local or OperatorClient.remote.

    Every method raises GatewayError if the gateway refuses, or does not answer. Lists are fetched page by
    page as they are read.
    """

    def __init__(self, http: httpx.Client, where: str) -> None:
        self._http = http
        self._where = where
        self._held = contextlib.ExitStack()
        self._held.callback(http.close)

    @classmethod
    def local(cls, folder: Path) -> OperatorClient:
        """Connect through the socket in the directory of a gateway on this machine. Raises ParameterError if
        the directory may not be opened."""
        held = contextlib.ExitStack()
        try:
            path = held.enter_context(operator_socket(folder))
        except OSError as error:
            raise ParameterError(
                f"{folder} cannot be opened ({error.strerror}): give a gateway's directory (--data), as its "
                "user or as root."
            ) from None
        transport = httpx.HTTPTransport(uds=path)
        http = httpx.Client(base_url="http://gateway", transport=transport, timeout=_SECONDS)
        found = cls(
            http,
            f"No gateway runs over {folder}: start it (`ciphermote serve --data {folder}`), or give another "
            "directory (--data).",
        )
        found._held.push(held)
        return found

    @classmethod
    def remote(cls, url: str, token: str, *, ca: str | None = None) -> OperatorClient:
        """Connect over HTTPS, with an operator's token. ca: as for GatewayClient."""
        address = checked_url(url)
        try:
            context = ssl.create_default_context(cadata=ca)
        except (ssl.SSLError, ValueError):
            raise ParameterError(
                "The authority (--ca) holds no PEM certificate: give the gateway's."
            ) from None
        headers = {"Authorization": f"Bearer {checked_token(token)}"}
        http = httpx.Client(base_url=address, verify=context, headers=headers, timeout=_SECONDS)
        return cls(http, f"{address} does not answer: see that the gateway runs, and its authority (--ca).")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    # --- tenants --------------------------------------------------------------------------------------------

    def tenants(self) -> Iterator[Tenant]:
        """Return tenants, by name."""
        return self._pages(routes.TENANTS, TenantPage)

    def tenant(self, name: str) -> Tenant:
        """Return the tenant of this name."""
        return self._ask("GET", routes.A_TENANT.path(tenant=name), Tenant)

    def create_tenant(self, name: str, quotas: dict[str, int] | None = None) -> NewTenant:
        """Create a tenant and its owner's first token. quotas: those that differ from the gateway's defaults,
        by name."""
        fields = {f"most_{quota}": most for quota, most in (quotas or {}).items()}
        return self._ask("POST", routes.TENANTS, NewTenant, json={"name": name, **fields})

    def set_quotas(self, name: str, quotas: dict[str, int]) -> Tenant:
        """Change a tenant's quotas, by name; the others do not change."""
        return self._ask("PATCH", routes.QUOTAS.path(tenant=name), Tenant, json=quotas)

    def delete_tenant(self, name: str) -> Deletion:
        """Delete a tenant with all its data."""
        return self._ask("DELETE", routes.A_TENANT.path(tenant=name), Deletion)

    def deletions(self) -> Iterator[Deletion]:
        """Return deletions, newest first."""
        return self._pages(routes.DELETIONS, DeletionPage)

    # --- fleets and devices ---------------------------------------------------------------------------------

    def fleets(self, tenant: str) -> Iterator[FleetSummary]:
        """Return a tenant's fleets, by name."""
        return self._pages(routes.TENANT_FLEETS.path(tenant=tenant), FleetPage)

    def set_retention(self, tenant: str, fleet: str, days: int | None) -> FleetSummary:
        """Set after how many days a fleet's windows and results are deleted; None keeps them indefinitely."""
        path = routes.FLEET_RETENTION.path(tenant=tenant, fleet=fleet)
        return self._ask("PUT", path, FleetSummary, json={"retain_days": days})

    def delete_fleet(self, tenant: str, fleet: str) -> Deletion:
        """Delete a fleet with all its data."""
        return self._ask("DELETE", routes.TENANT_FLEET.path(tenant=tenant, fleet=fleet), Deletion)

    def devices(self, tenant: str, fleet: str) -> Iterator[DeviceSummary]:
        """Return a fleet's devices, by number."""
        return self._pages(routes.FLEET_DEVICES.path(tenant=tenant, fleet=fleet), DevicePage)

    def delete_device(self, tenant: str, fleet: str, device: int) -> Deletion:
        """Delete a device with all its data."""
        path = routes.FLEET_DEVICE.path(tenant=tenant, fleet=fleet, device=device)
        return self._ask("DELETE", path, Deletion)

    # --- tokens ---------------------------------------------------------------------------------------------

    def tokens(self, tenant: str | None = None) -> Iterator[Token]:
        """Return the tokens of a tenant, or (None) of the operators, by id."""
        return self._pages(routes.EVERY_TOKEN, TokenPage, {} if tenant is None else {"tenant": tenant})

    def create_token(
        self, tenant: str | None = None, *, note: str = "", expires: float | None = None
    ) -> NewToken:
        """Make a token for an owner of a tenant, or (None) for an operator. expires: when it ends, in seconds
        since 1970; None for never."""
        return self._ask(
            "POST", routes.EVERY_TOKEN, NewToken, json={"tenant": tenant, "note": note, "expires": expires}
        )

    def renew_token(self, token: str, expires: float | None) -> Token:
        """Change when the token with this id ends, even an expired one; None for never."""
        return self._ask("PATCH", routes.ANY_TOKEN.path(token=token), Token, json={"expires": expires})

    def revoke_token(self, token: str) -> Token:
        """Revoke the token with this id permanently."""
        return self._ask("DELETE", routes.ANY_TOKEN.path(token=token), Token)

    # --- what is quarantined, and the audit log -------------------------------------------------------------

    def quarantined(self) -> Iterator[Quarantined]:
        """Return deliveries in quarantine, oldest first."""
        return self._pages(routes.QUARANTINE, QuarantinePage)

    def accept(self, number: int) -> Quarantined:
        """Accept a counter's jump, so that the device's next attempt succeeds."""
        return self._ask("POST", routes.ACCEPTANCE.path(number=number), Quarantined)

    def discard(self, number: int) -> Quarantined:
        """Discard a quarantined delivery."""
        return self._ask("POST", routes.DISCARD.path(number=number), Quarantined)

    def audit(self, tenant: str | None = None) -> Iterator[AuditEntry]:
        """Return entries of the audit log, newest first. tenant: only those about it."""
        return self._pages(routes.AUDIT, AuditPage, {} if tenant is None else {"tenant": tenant})

    # --- requests -------------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, kind: type[_Answer], **more: Any) -> _Answer:
        try:
            response = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise GatewayError(
                f"{self._where} ({str(error) or type(error).__name__})", "unreachable"
            ) from None
        if not response.is_success:
            raise refusal_of(response)
        try:
            return kind.model_validate_json(response.content)
        except ValueError:
            raise GatewayError(
                f"{self._http.base_url} answers with something that is no {kind.__name__}: see that it is a "
                "gateway's address, and that both are of one version.",
                "not-a-gateway",
                response.status_code,
            ) from None

    def _pages(
        self, path: str, kind: type[Page[Item]], asked: dict[str, str] | None = None
    ) -> Iterator[Item]:
        cursor: dict[str, str] = {}
        while True:
            page = self._ask("GET", path, kind, params={**(asked or {}), **cursor})
            yield from page.items
            if page.next is None:
                return
            cursor = {"after": page.next}
