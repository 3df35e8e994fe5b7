# SPDX-License-Identifier: Apache-2.0
"""An operator's tasks over the API of a running gateway: quotas, tokens, quarantine, and the audit log.
(test_operator_deletions.py deletes, test_operator_commands.py uses the command line.)
"""

from __future__ import annotations

import itertools
import stat
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from ciphermote.base.errors import GatewayError
from ciphermote.gateway import audit
from ciphermote.gateway.access import Access
from ciphermote.gateway.audit import Actor, Audit
from ciphermote.gateway.database.interface import ERRORS, Database, fault_of
from ciphermote.gateway.operator_client import OperatorClient
from ciphermote.gateway.refusals import Refusal
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    full_owner,
    refused,
    serving,
    wait_until,
)
from postgres_support import opened

_NAMES = (f"tenant-{number}" for number in itertools.count())


@pytest.fixture
def operator(server: Server) -> OperatorClient:
    return OperatorClient.local(server.data)


def tenant_of(server: Server, operator: OperatorClient) -> tuple[str, httpx.Client]:
    """A new tenant, and a client with its owner's token."""
    name = next(_NAMES)
    return name, server.client(operator.create_tenant(name).token)


def refusal(error: pytest.ExceptionInfo[GatewayError]) -> tuple[int, str]:
    assert len(str(error.value)) > 10
    return error.value.http_status, error.value.name


# --- who an operator is -------------------------------------------------------------------------------------


def test_operators_are_known_by_the_directory_or_by_a_token_of_their_own(
    server: Server, operator: OperatorClient
) -> None:
    for path, kind in ((server.data, stat.S_ISDIR), (server.data / "operator.sock", stat.S_ISSOCK)):
        mode = path.stat().st_mode
        assert kind(mode) and mode & 0o077 == 0, path
    assert (server.data / "operator.token").stat().st_mode & 0o777 == 0o600
    assert server.token("operator") != server.token("owner")
    path = "/v1/operator/tenants"
    refused(server.client().get(path), 401, "no-token")
    refused(server.owner().get(path), 403, "wrong-scope")
    refused(server.client("cmt_local_" + "0" * 64).get(path), 401, "unknown-token")
    assert accepted(server.operator().get(path)).json()["items"]
    assert next(operator.tenants())
    # The socket takes nobody else's word for it.
    operator._http.headers["Authorization"] = f"Bearer {server.token('owner')}"
    assert next(operator.tenants())


def test_the_directory_may_have_a_long_name_and_a_gateway_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40) / "data"
    with serving(folder) as server:
        server.kill()
        with (
            pytest.raises(GatewayError, match="No gateway runs over"),
            OperatorClient.local(folder) as client,
        ):
            next(client.tenants())
        server.start()
        with OperatorClient.local(folder) as client:
            assert [tenant.name for tenant in client.tenants()] == ["home"]


def test_an_operator_whose_token_is_lost_makes_another(server: Server, operator: OperatorClient) -> None:
    made = operator.create_token(note="Ann's")
    theirs = server.client(made.token)
    accepted(theirs.get("/metrics"))
    assert made.id in {token.id for token in operator.tokens()}
    operator.revoke_token(made.id)
    refused(theirs.get("/v1/operator/tenants"), 401, "unknown-token")


# --- quotas -------------------------------------------------------------------------------------------------


def test_quotas_change_what_is_accepted_from_then_on(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    before = operator.tenant(name)
    assert operator.set_quotas(name, {"devices": 1}).quotas.devices == 1
    assert operator.tenant(name).quotas.bytes == before.quotas.bytes
    device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
    with pytest.raises(AssertionError, match="quota"):
        FullDevice(full_owner(), 2).enroll(owner, "fleet")
    operator.set_quotas(name, {"devices": 2})
    FullDevice(full_owner(), 2).enroll(owner, "fleet")
    assert operator.tenant(name).used.devices == 2

    sender = server.client(device_token(owner, "fleet", 1))
    operator.set_quotas(name, {"bytes": 1})
    refused(sender.post("/v1/fleets/fleet/deliveries", content=device.encrypt([1.0])), 429, "quota")
    operator.set_quotas(name, {"bytes": 10**9})
    accepted(sender.post("/v1/fleets/fleet/deliveries", content=device.encrypt([1.0])))


def test_quotas_are_refused_by_name(operator: OperatorClient) -> None:
    for quotas in ({}, {"devices": 0}, {"bytes": -1}, {"pears": 3}):
        with pytest.raises(GatewayError) as error:
            operator.set_quotas("home", quotas)
        assert refusal(error) == (422, "invalid")
    for name in ("nobody", "No Name"):
        with pytest.raises(GatewayError) as error:
            operator.set_quotas(name, {"devices": 1})
        assert refusal(error)[1] == ("no-such-tenant" if name == "nobody" else "invalid")
    with pytest.raises(GatewayError) as error:
        operator.create_tenant("home")
    assert refusal(error) == (409, "exists")


# --- tokens -------------------------------------------------------------------------------------------------


def test_a_locked_out_owner_is_let_in_again(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    (only,) = operator.tokens(name)
    assert operator.revoke_token(only.id).state == "revoked"
    refused(owner.get("/v1/fleets"), 401, "unknown-token")
    again = server.client(operator.create_token(name, note="lost the first").token)
    assert [fleet["name"] for fleet in accepted(again.get("/v1/fleets")).json()["items"]] == ["fleet"]


def test_tokens_are_listed_without_their_secrets(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    secrets = [device_token(owner, "fleet", 7), device_token(owner, "fleet")]
    found = {token.id: token for token in operator.tokens(name)}
    device, uplink = (found[secret.split("_")[1]] for secret in secrets)
    assert (device.scope, device.fleet, device.device, device.state) == ("device", "fleet", 7, "valid")
    assert (uplink.fleet, uplink.device, uplink.tenant) == ("fleet", None, name)
    assert len(found) == 3
    text = server.operator().get("/v1/operator/tokens", params={"tenant": name}).text
    assert all(secret.split("_")[2] not in text for secret in secrets)
    assert name not in {token.tenant for token in operator.tokens()}


def test_tokens_expire_for_requests_deliveries_and_event_streams(
    server: Server, operator: OperatorClient
) -> None:
    name, first = tenant_of(server, operator)
    define_full(first, "fleet", full_owner())
    device = FullDevice(full_owner(), 1).enroll(first, "fleet")
    ends = time.time() + 3
    owner = server.client(operator.create_token(name, expires=ends).token)
    asked = {"scope": "device", "fleet": "fleet", "device": 1, "expires": ends}
    sender = server.client(accepted(owner.post("/v1/tokens", json=asked)).json()["token"])
    deliver = "/v1/fleets/fleet/deliveries"
    accepted(sender.post(deliver, content=device.encrypt([1.0])))
    with owner.stream("GET", "/v1/fleets/fleet/watch") as events:
        lines = [line for line in events.iter_lines() if line]
    assert lines and ends <= time.time() < ends + 5
    refused(owner.get("/v1/fleets"), 401, "expired-token")
    refused(sender.post(deliver, content=device.encrypt([1.0])), 401, "expired-token")
    assert {token.state for token in operator.tokens(name) if token.expires} == {"expired"}


def test_an_event_stream_ends_with_its_token(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    (token,) = operator.tokens(name)
    with owner.stream("GET", "/v1/fleets/fleet/watch") as events:
        lines = events.iter_lines()
        assert next(lines).startswith("data: ")
        operator.revoke_token(token.id)
        assert len(list(lines)) < 8


def test_renewing_a_token_keeps_its_secret(server: Server, operator: OperatorClient) -> None:
    name, _ = tenant_of(server, operator)
    made = operator.create_token(name, expires=time.time() + 0.5)
    owner = server.client(made.token)
    accepted(owner.get("/v1/fleets"))
    wait_until(lambda: owner.get("/v1/fleets").status_code == 401, "the token's end")
    later = time.time() + 1000
    assert operator.renew_token(made.id, later).expires == later
    accepted(owner.get("/v1/fleets"))
    assert operator.renew_token(made.id, None).state == "valid"
    accepted(owner.get("/v1/fleets"))


def test_tokens_are_refused_by_name(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    (token,) = operator.tokens(name)
    for change in (
        lambda: operator.create_token(name, expires=1.0),
        lambda: operator.renew_token(token.id, time.time() - 1),
    ):
        with pytest.raises(GatewayError) as error:
            change()
        assert refusal(error) == (422, "past")
    asked = {"scope": "owner", "expires": 1}
    refused(owner.post("/v1/tokens", json=asked), 422, "past")
    assert owner.get("/v1/operator/tenants").json()["detail"] == "The token is an owner's: use an operator's."
    operator.revoke_token(token.id)
    for change in (lambda: operator.revoke_token(token.id), lambda: operator.renew_token(token.id, None)):
        with pytest.raises(GatewayError) as error:
            change()
        assert refusal(error) == (409, "revoked")
    with pytest.raises(GatewayError) as error:
        operator.revoke_token("0" * 16)
    assert refusal(error) == (404, "no-such-token")
    with pytest.raises(GatewayError) as error:
        operator.create_token("nobody")
    assert refusal(error) == (404, "no-such-tenant")


def test_a_token_that_ends_while_it_is_looked_up_is_not_remembered(tmp_path: Path) -> None:
    """Its lookup began before, and ends after it was revoked."""
    with opened(tmp_path) as database:
        access = Access(database)
        check_overtaken(access)


def check_overtaken(access: Access) -> None:
    token = access.make("operator")
    look_up = access._look_up

    def overtaken(text: str) -> Any:
        found = look_up(text)
        access.revoke(text.split("_")[1], None)
        return found

    access._look_up = overtaken  # type: ignore[method-assign]
    access.of_token(token)
    access._look_up = look_up  # type: ignore[method-assign]
    with pytest.raises(Refusal, match="revoked"):
        access.of_token(token)


# --- quarantine ---------------------------------------------------------------------------------------------


def test_what_waits_is_listed_accepted_and_discarded(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
    sender = server.client(device_token(owner, "fleet", 1))
    deliver = "/v1/fleets/fleet/deliveries"
    accepted(sender.post(deliver, content=device.encrypt([1.0])))
    for counter in (1 << 40, 1 << 41):
        device.boot(counter)
        refused(sender.post(deliver, content=device.encrypt([1.0])), 409, "held")
    first, second = (each for each in operator.quarantined() if each.tenant == name)
    assert (first.fleet, first.device, first.kind, first.counter) == ("fleet", 1, "jump", 1 << 40)
    assert operator.discard(second.id) == second
    assert operator.accept(first.id) == first
    device.boot(1 << 40)
    accepted(sender.post(deliver, content=device.encrypt([1.0])))
    with pytest.raises(GatewayError) as error:
        operator.accept(first.id)
    assert refusal(error) == (404, "not-quarantined")


# --- the audit log ------------------------------------------------------------------------------------------


def test_every_change_stands_in_the_audit_log(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    FullDevice(full_owner(), 1).enroll(owner, "fleet")
    began = time.time()
    operator.set_quotas(name, {"devices": 3})
    made = operator.create_token(name, note="second")
    operator.renew_token(made.id, None)
    operator.revoke_token(made.id)
    operator.set_retention(name, "fleet", 9)
    operator.delete_device(name, "fleet", 1)
    with OperatorClient.remote(
        server.url, server.token("operator"), ca=server.authority.read_text()
    ) as remote:
        remote.delete_fleet(name, "fleet")
        with pytest.raises(GatewayError):
            remote.delete_fleet(name, "fleet")
        remote.delete_tenant(name)
    found = [entry for entry in operator.audit(name) if entry.owner_of is None][::-1]
    assert [(entry.action, entry.outcome) for entry in found] == [
        ("tenant create", "done"),
        ("tenant quota set", "done"),
        ("token create", "done"),
        ("token renew", "done"),
        ("token revoke", "done"),
        ("fleet retention set", "done"),
        ("device delete", "done"),
        ("fleet delete", "done"),
        ("fleet delete", "no-such-fleet"),
        ("tenant delete", "done"),
    ]
    assert {(entry.actor, entry.address) for entry in found[:7]} == {("local", "local")}
    identifier = server.token("operator").split("_")[1]
    assert {(entry.actor, entry.address) for entry in found[7:]} == {(f"token {identifier}", "127.0.0.1")}
    assert all(began - 60 < entry.time <= time.time() for entry in found)
    assert found[1].details == {"tenant": name, "devices": 3}
    assert found[2].details == {"tenant": name, "note": "second", "token": made.id}
    assert found[6].details == {"tenant": name, "fleet": "fleet", "device": 1}
    with opened(server.data) as database:
        text = str([tuple(row) for row in database.connection.execute("SELECT * FROM audit")])
    for secret in (made.token, server.token("operator"), server.token("owner")):
        assert secret.split("_")[2] not in text


def test_owners_changes_stand_in_the_audit_log_too(server: Server, operator: OperatorClient) -> None:
    name, owner = tenant_of(server, operator)
    define_full(owner, "fleet", full_owner())
    device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
    token = device_token(owner, "fleet", 1)
    accepted(owner.put("/v1/fleets/fleet/retention", json={"retain_days": 5}))
    accepted(owner.post("/v1/fleets/fleet/devices/1/revoke"))
    refused(owner.post("/v1/fleets/fleet/devices/1/activate"), 404, "no-such-device")
    refused(owner.delete(f"/v1/tokens/{token.split('_')[1]}"), 404, "no-such-token")
    found = [entry for entry in operator.audit(name) if entry.owner_of == name][::-1]
    assert [(entry.action, entry.outcome) for entry in found] == [
        ("fleet define", "done"),
        ("device enroll", "done"),
        ("token create", "done"),
        ("fleet retention set", "done"),
        ("device revoke", "done"),
        ("device activate", "no-such-device"),
        ("token revoke", "no-such-token"),
    ]
    (first,) = (each for each in operator.tokens(name) if each.scope == "owner")
    assert {(entry.actor, entry.address) for entry in found} == {(f"token {first.id}", "127.0.0.1")}
    assert found[1].details == {"fleet": "fleet", "device": 1, "epoch": 1}
    assert found[2].details["token"] == token.split("_")[1]
    with opened(server.data) as database:
        text = str([tuple(row) for row in database.connection.execute("SELECT * FROM audit")])
    for secret in (token.split("_")[2], device.tag_keys.frames.hex(), device.tag_keys.receipts.hex()):
        assert secret not in text


def test_lists_change_nothing(server: Server, operator: OperatorClient) -> None:
    newest = next(operator.audit(), None)
    for found in (
        operator.tenants(),
        operator.deletions(),
        operator.fleets("home"),
        operator.tokens(),
        operator.tokens("home"),
        operator.quarantined(),
    ):
        list(found)
    assert next(operator.audit(), None) == newest


def test_entries_of_the_audit_log_never_change_and_the_oldest_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner's many entries leave those of operators where they are."""
    with opened(tmp_path) as database:
        check_entries(database, monkeypatch)


def check_entries(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Audit(database)
    monkeypatch.setattr(audit, "MOST_OWNER_ENTRIES", 5)
    monkeypatch.setattr(audit, "MOST_OPERATOR_ENTRIES", 3)
    for number in range(4):
        with log.recording(Actor("local", "local"), f"operator's {number}", {}):
            pass
    for number in range(20):
        with log.recording(Actor("token x", "192.0.2.1", tenant=1), f"owner's {number}", {}):
            pass
    found = [row["action"] for row in log.listed(2**62, None, 100)]
    assert found == [*(f"owner's {n}" for n in range(19, 14, -1)), *(f"operator's {n}" for n in (3, 2, 1))]
    with pytest.raises(ERRORS, match="never change") as error:
        database.connection.execute("UPDATE audit SET actor = 'nobody'")
    assert fault_of(error.value) == "integrity"


def test_a_change_and_its_entry_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    """What is to be done once it is stored is done then, and never if it is undone."""
    with opened(tmp_path) as database:
        check_whole_changes(database)


def check_whole_changes(database: Database) -> None:
    log = Audit(database)
    stored: list[int] = []
    with log.recording(Actor("local", "local"), "x", {}), database.writing():
        database.once_stored(lambda: stored.append(len(log.listed(2**62, None, 10))))
        assert stored == []
    assert stored == [1]
    before = log.listed(2**62, None, 10)
    with pytest.raises(ZeroDivisionError), log.recording(Actor("local", "local"), "x", {}) as changing:
        changing.execute(
            "INSERT INTO tenants (name, created, most_devices, most_bytes) VALUES ('t', 0, 1, 1)"
        )
        database.once_stored(lambda: stored.append(0))
        raise ZeroDivisionError
    assert database.connection.execute("SELECT count(*) FROM tenants").fetchone()[0] == 0
    assert log.listed(2**62, None, 10) == before and stored == [1]


# --- the API's form -----------------------------------------------------------------------------------------


def test_the_api_is_described_for_generated_clients(server: Server) -> None:
    """Every answer is a named model, every list an envelope, every operation has a name of its own."""
    described = accepted(server.operator().get("/openapi.json")).json()
    names = []
    for path, methods in described["paths"].items():
        if not path.startswith("/v1/operator/"):
            continue
        for method, operation in methods.items():
            names.append(operation["operationId"])
            assert operation["operationId"].replace("_", "").isalpha(), operation["operationId"]
            (answer,) = [a for status, a in operation["responses"].items() if status in ("200", "201", "202")]
            name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            model = described["components"]["schemas"][name]
            if operation["operationId"].startswith("list_"):
                assert method == "get" and set(model["properties"]) == {"items", "next"}, path
                assert "$ref" in model["properties"]["items"]["items"], path
    assert len(names) == len(set(names)) > 15
    problem = server.client().get("/v1/operator/tenants").json()
    assert problem["type"] == "urn:ciphermote:problem:no-token" and problem["status"] == 401


def test_lists_come_in_pages(server: Server, operator: OperatorClient) -> None:
    made = [operator.create_token("home", note=str(number)).id for number in range(5)]
    asked: list[str] = []
    operator._http.event_hooks["request"].append(lambda request: asked.append(str(request.url)))
    operator._http.params = httpx.QueryParams({"limit": 2})
    found = [token.id for token in operator.tokens("home")]
    assert set(made) <= set(found) and found == sorted(found) and len(asked) >= 3
    operator._http.params = httpx.QueryParams()
    refused(server.operator().get("/v1/operator/tokens", params={"after": "x' OR 1=1"}), 422, "invalid")
    refused(server.operator().get("/v1/operator/tenants", params={"limit": 0}), 422, "invalid")
    for token in made:
        operator.revoke_token(token)


def test_the_scheme_of_a_token_is_taken_in_any_case(server: Server) -> None:
    token = (server.data / "owner.token").read_text().strip()
    client = server.client()
    for scheme in ("Bearer", "bearer", "BEARER"):
        accepted(client.get("/v1/tenant", headers={"Authorization": f"{scheme} {token}"}))
    for said in (f"Basic {token}", token, "Bearer"):
        refused(client.get("/v1/tenant", headers={"Authorization": said}), 401, "no-token")
