# SPDX-License-Identifier: Apache-2.0
"""The operator's part of a gateway's API, from the operator's side, in the same typed models."""

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
from ciphermote.rest.operator_answers import (
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

    Every method raises GatewayError for what the gateway refuses, and if it does not answer. Lists are
    fetched page by page as they are read.
    """

    def __init__(self, http: httpx.Client, where: str) -> None:
        self._http = http
        self._where = where
        self._held = contextlib.ExitStack()
        self._held.callback(http.close)

    @classmethod
    def local(cls, folder: Path) -> OperatorClient:
        """Through the socket in the directory of a gateway that runs on this machine. ParameterError if the
        directory may not be opened."""
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
        """Over HTTPS, with an operator's token. ca: as GatewayClient's."""
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
        """Tenants, by name."""
        return self._pages(routes.TENANTS, TenantPage)

    def tenant(self, name: str) -> Tenant:
        """The tenant of this name."""
        return self._ask("GET", routes.A_TENANT.path(tenant=name), Tenant)

    def create_tenant(self, name: str, quotas: dict[str, int] | None = None) -> NewTenant:
        """A new tenant and its owner's first token. quotas: others than the gateway's own, by name."""
        fields = {f"most_{quota}": most for quota, most in (quotas or {}).items()}
        return self._ask("POST", routes.TENANTS, NewTenant, json={"name": name, **fields})

    def set_quotas(self, name: str, quotas: dict[str, int]) -> Tenant:
        """Give a tenant these quotas, by name; the others stay as they are."""
        return self._ask("PATCH", routes.QUOTAS.path(tenant=name), Tenant, json=quotas)

    def delete_tenant(self, name: str) -> Deletion:
        """Delete a tenant with everything that it has."""
        return self._ask("DELETE", routes.A_TENANT.path(tenant=name), Deletion)

    def deletions(self) -> Iterator[Deletion]:
        """Deletions, the newest first."""
        return self._pages(routes.DELETIONS, DeletionPage)

    # --- fleets and devices ---------------------------------------------------------------------------------

    def fleets(self, tenant: str) -> Iterator[FleetSummary]:
        """A tenant's fleets, by name."""
        return self._pages(routes.TENANT_FLEETS.path(tenant=tenant), FleetPage)

    def set_retention(self, tenant: str, fleet: str, days: int | None) -> FleetSummary:
        """Delete a fleet's windows and results after so many days; None keeps them."""
        path = routes.FLEET_RETENTION.path(tenant=tenant, fleet=fleet)
        return self._ask("PUT", path, FleetSummary, json={"retain_days": days})

    def delete_fleet(self, tenant: str, fleet: str) -> Deletion:
        """Delete a fleet with everything in it."""
        return self._ask("DELETE", routes.TENANT_FLEET.path(tenant=tenant, fleet=fleet), Deletion)

    def devices(self, tenant: str, fleet: str) -> Iterator[DeviceSummary]:
        """A fleet's devices, by number."""
        return self._pages(routes.FLEET_DEVICES.path(tenant=tenant, fleet=fleet), DevicePage)

    def delete_device(self, tenant: str, fleet: str, device: int) -> Deletion:
        """Delete a device with everything that it sent."""
        path = routes.FLEET_DEVICE.path(tenant=tenant, fleet=fleet, device=device)
        return self._ask("DELETE", path, Deletion)

    # --- tokens ---------------------------------------------------------------------------------------------

    def tokens(self, tenant: str | None = None) -> Iterator[Token]:
        """Tokens of a tenant, or (None) the operators', by id."""
        return self._pages(routes.EVERY_TOKEN, TokenPage, {} if tenant is None else {"tenant": tenant})

    def create_token(
        self, tenant: str | None = None, *, note: str = "", expires: float | None = None
    ) -> NewToken:
        """A new token of an owner of a tenant, or (None) of an operator. expires: when it ends, in seconds
        since 1970; None: never."""
        return self._ask(
            "POST", routes.EVERY_TOKEN, NewToken, json={"tenant": tenant, "note": note, "expires": expires}
        )

    def renew_token(self, token: str, expires: float | None) -> Token:
        """Have the token of this id, expired or not, end then; None: never."""
        return self._ask("PATCH", routes.ANY_TOKEN.path(token=token), Token, json={"expires": expires})

    def revoke_token(self, token: str) -> Token:
        """End the token of this id, now and for good."""
        return self._ask("DELETE", routes.ANY_TOKEN.path(token=token), Token)

    # --- what is quarantined, and the audit log -------------------------------------------------------------

    def quarantined(self) -> Iterator[Quarantined]:
        """Deliveries that wait for the operator, the oldest first."""
        return self._pages(routes.QUARANTINE, QuarantinePage)

    def accept(self, number: int) -> Quarantined:
        """Accept a jump of a counter: the device's next attempt is taken."""
        return self._ask("POST", routes.ACCEPTANCE.path(number=number), Quarantined)

    def discard(self, number: int) -> Quarantined:
        """Drop the bytes that wait."""
        return self._ask("POST", routes.DISCARD.path(number=number), Quarantined)

    def audit(self, tenant: str | None = None) -> Iterator[AuditEntry]:
        """Entries of the audit log, the newest first. tenant: those about it alone."""
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
