# SPDX-License-Identifier: Apache-2.0
"""Listings come in pages, and the owner's client asks for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ciphermote.fleet import GatewayClient
from ciphermote.gateway import pages
from ciphermote.gateway.gateway import Gateway
from ciphermote.rest.requests import TenantRequest
from gateway_support import Server, accepted, define_full, full_owner, refused
from site_support import settings_of

COUNT = 7
PAGE = 3


def test_pages_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_ROWS", PAGE)
    gateway = Gateway(settings_of(tmp_path / "data"))
    for number in range(COUNT):
        gateway.registry.add_tenant(TenantRequest(name=f"tenant-{number}"))
    tenant = gateway.registry.tenant("tenant-0")
    made = {gateway.access.make("owner", tenant=tenant).split("_")[1] for _ in range(COUNT)}
    found, after = [], ""
    while page := gateway.access.listed(tenant, after):
        assert len(page) <= PAGE and str(page[0]["id"]) > after
        found += page
        after = str(page[-1]["id"])
    assert sorted(str(token["id"]) for token in found) == sorted(made)
    names, after = [], ""
    while after is not None:
        tenants = gateway.operator.tenants(after, PAGE)
        assert len(tenants.items) <= PAGE and all(each.name > after for each in tenants.items)
        names += [each.name for each in tenants.items]
        after = tenants.next
    assert names == sorted(["home", *(f"tenant-{number}" for number in range(COUNT))])
    gateway.database.close()


def test_the_owners_client_asks_for_every_page(server: Server) -> None:
    owner = server.owner()
    for number in range(COUNT):
        define_full(owner, f"page-{number}", full_owner())
        spec = {"job": {}, "every": 3600}
        accepted(owner.post("/v1/fleets/page-0/streams", json={"name": f"stream-{number}", "spec": spec}))
    token = (server.data / "owner.token").read_text()
    ca = (server.data / "tls" / "ca.pem").read_text()
    asked: list[str] = []
    with GatewayClient(f"https://localhost:{server.port}", token, ca=ca) as client:
        client._http.event_hooks["request"].append(lambda request: asked.append(str(request.url)))
        assert [each.name for each in client.fleets()] == [f"page-{number}" for number in range(COUNT)]
        assert [each.name for each in client.streams("page-0")] == [f"stream-{n}" for n in range(COUNT)]
        made = [client.make_token("owner", note=str(number)) for number in range(COUNT)]
        listed = [each.id for each in client.tokens()]
        assert {token.split("_")[1] for token in made} <= set(listed)
    for last in (f"page-{COUNT - 1}", f"stream-{COUNT - 1}", listed[-1]):
        assert any(url.endswith(f"after={last}") for url in asked)
    refused(owner.get("/v1/tokens", params={"after": "x' OR 1=1"}), 422, "invalid")
    refused(owner.get("/v1/fleets", params={"after": "../x"}), 422, "invalid")


def test_who_makes_a_token_gets_it_and_nothing_more(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "told", full_owner())
    device = {"scope": "device", "fleet": "told", "device": 1}
    assert set(accepted(owner.post("/v1/tokens", json=device)).json()) == {"token"}
    assert set(accepted(owner.post("/v1/tokens", json={"scope": "owner"})).json()) == {"token"}
