# SPDX-License-Identifier: Apache-2.0
"""Deleting tenants, fleets and devices: access ends at once, everything goes, nothing comes again, and a
crash in between changes none of it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ciphermote.base.errors import GatewayError
from ciphermote.gateway import deletions
from ciphermote.gateway.audit import Actor
from ciphermote.gateway.database.interface import ERRORS, Connection, fault_of
from ciphermote.gateway.deletions import Target
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.operator_client import OperatorClient
from ciphermote.gateway.refusals import Refusal
from ciphermote.rest.requests import TenantRequest
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    enrolment,
    full_owner,
    refused,
    run_job,
    serving,
    wait_until,
)
from postgres_support import back_end, opened
from site_support import settings_of

_NAMES = (f"gone-{number}" for number in itertools.count())


@pytest.fixture
def operator(server: Server) -> OperatorClient:
    return OperatorClient.local(server.data)


def populated(server: Server, operator: OperatorClient) -> SimpleNamespace:
    """A tenant with a fleet of everything: devices 1 and 2, windows, jobs, a stream, keys, a result."""
    name = next(_NAMES)
    owner = server.client(operator.create_tenant(name).token)
    keys = full_owner()
    define_full(owner, "fleet", keys)
    define_full(owner, "other", keys)
    devices = [FullDevice(keys, number).enroll(owner, "fleet") for number in (1, 2)]
    senders = [server.client(device_token(owner, "fleet", number)) for number in (1, 2)]
    for device, sender in zip(devices, senders, strict=True):
        for value in (1.0, 2.0):
            accepted(sender.post("/v1/fleets/fleet/deliveries", content=device.encrypt([value])))
    device_token(owner, "fleet")
    # No interval ends while a test runs, as one that began on the hour might.
    spec = {"job": {}, "every": 3600, "begins": time.time()}
    accepted(owner.post("/v1/fleets/fleet/streams", json={"name": "hourly", "spec": spec}))
    run_job(owner, "fleet", {"kind": "sum", "per_device": 10})
    return SimpleNamespace(name=name, owner=owner, devices=devices, senders=senders)


def removed(operator: OperatorClient, number: int) -> None:
    """Wait until the deletion of this number has ended."""
    wait_until(
        lambda: next(each for each in operator.deletions() if each.id == number).finished, "the removal"
    )


_REFERENCES = {
    "sqlite": 'SELECT m.name, f."from", f."table" FROM sqlite_schema m, pragma_foreign_key_list(m.name) f '
    "WHERE m.type = 'table'",
    "postgres": "SELECT c.conrelid::regclass::text, a.attname::text, c.confrelid::regclass::text "
    "FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] "
    "WHERE c.contype = 'f'",
}
_KEYS = {
    "sqlite": "SELECT name FROM pragma_table_info(?1) WHERE pk ORDER BY pk",
    "postgres": "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
    "AND a.attnum = i.indkey[0] WHERE i.indisprimary AND i.indrelid = CAST(?1 AS TEXT)::regclass",
}


def rows_of(data: Path, tenant: str) -> dict[str, int]:
    """Count a tenant's rows by table: rows that refer to it, or to rows that belong to it."""
    with opened(data) as found:
        return _rows_of(found.connection, tenant)


def _rows_of(database: Connection, tenant: str) -> dict[str, int]:
    owned = {"tenants": f"SELECT id FROM tenants WHERE name = '{tenant}'"}
    references = [tuple(row) for row in database.execute(_REFERENCES[back_end.now])]
    while True:
        before = dict(owned)
        for table, column, parent in references:
            if parent in owned and table not in owned:
                key = database.execute(_KEYS[back_end.now], (table,)).fetchone()
                owned[table] = f"SELECT {key[0]} FROM {table} WHERE {column} IN ({owned[parent]})"
        if before == owned:
            break
    found: dict[str, int] = {}
    for table, column, parent in references:
        if parent in owned:
            query = f"SELECT count(*) FROM {table} WHERE {column} IN ({owned[parent]})"
            found[table] = found.get(table, 0) + database.execute(query).fetchone()[0]
    return {table: count for table, count in found.items() if count}


def test_a_deleted_device_is_gone_and_its_epoch_never_comes_again(
    server: Server, operator: OperatorClient
) -> None:
    site = populated(server, operator)
    owner, device = site.owner, site.devices[0]
    operator.set_quotas(site.name, {"devices": 2})
    waiting = device.encrypt([3.0])
    deletion = operator.delete_device(site.name, "fleet", 1)
    assert (deletion.tenant, deletion.fleet, deletion.device) == (site.name, "fleet", 1)
    deliver = "/v1/fleets/fleet/deliveries"
    refused(site.senders[0].post(deliver, content=waiting), 401, "unknown-token")
    uplink = server.client(device_token(owner, "fleet"))
    refused(uplink.post(deliver, content=waiting), 404, "unknown-device")
    removed(operator, deletion.id)
    listed = accepted(owner.get("/v1/fleets/fleet/devices")).json()["items"]
    assert [(each["number"], each["state"]) for each in listed] == [(1, "deleted"), (2, "active")]
    assert [each.state for each in operator.devices(site.name, "fleet")] == ["deleted", "active"]
    assert {each["device"] for each in accepted(owner.get("/v1/fleets/fleet/windows")).json()["items"]} == {2}
    assert 1 not in {token.device for token in operator.tokens(site.name)}
    _, (total,) = run_job(owner, "fleet", {"kind": "sum", "per_device": 10})
    np.testing.assert_allclose(full_owner().decrypt(total)[0], 3, atol=0.1)

    # The same enrolment never comes again, and a later one does, within the quota that is free again.
    path, old = "/v1/fleets/fleet/devices/1", enrolment(device.tag_keys, device.key_id)
    refused(owner.put(path, json=old), 409, "old-epoch")
    again = FullDevice(full_owner(), 1, epoch=2).enroll(owner, "fleet")
    refused(uplink.post(deliver, content=waiting), 403, "foreign-epoch")
    again.receipt(uplink.post(deliver, content=again.encrypt([5.0])))
    listed = accepted(owner.get("/v1/fleets/fleet/devices")).json()["items"]
    assert [(each["number"], each["epoch"], each["state"]) for each in listed][:1] == [(1, 2, "active")]
    with pytest.raises(GatewayError) as error:
        operator.delete_device(site.name, "fleet", 9)
    assert error.value.name == "no-such-device"


def test_a_deleted_fleet_is_gone_and_its_name_never_comes_again(
    server: Server, operator: OperatorClient
) -> None:
    site = populated(server, operator)
    owner = site.owner
    with owner.stream("GET", "/v1/fleets/fleet/watch") as events:
        lines = events.iter_lines()
        next(lines)
        deletion = operator.delete_fleet(site.name, "fleet")
        assert len(list(lines)) < 8
    refused(owner.get("/v1/fleets/fleet"), 404, "no-such-fleet")
    frames = site.devices[0].encrypt([1.0])
    refused(site.senders[0].post("/v1/fleets/fleet/deliveries", content=frames), 401, "unknown-token")
    removed(operator, deletion.id)
    assert [fleet.name for fleet in operator.fleets(site.name)] == ["other"]
    with pytest.raises(AssertionError, match="never given again"):
        define_full(owner, "fleet", full_owner())
    define_full(owner, "new", full_owner())
    with pytest.raises(GatewayError) as error:
        operator.delete_fleet(site.name, "fleet")
    assert error.value.name == "no-such-fleet"
    left = {"fleets", "fleet_counts", "tokens", "deletions", "objects", "place_bytes"}
    assert set(rows_of(server.data, site.name)) <= left


def test_a_deleted_tenant_leaves_its_name_and_nothing_else(server: Server, operator: OperatorClient) -> None:
    site, neighbour = populated(server, operator), populated(server, operator)
    theirs = rows_of(server.data, neighbour.name)
    assert {"devices", "windows", "jobs", "streams", "tokens", "fleets"} <= set(theirs)
    deletion = operator.delete_tenant(site.name)
    for client in (site.owner, *site.senders):
        refused(client.get("/v1/fleets"), 401, "unknown-token")
    removed(operator, deletion.id)
    assert site.name not in {tenant.name for tenant in operator.tenants()}
    with pytest.raises(GatewayError, match="never given again"):
        operator.create_tenant(site.name)
    # For a fleet, its id and its name are left.
    assert set(rows_of(server.data, site.name)) <= {"fleets", "fleet_counts", "deletions"}
    with opened(server.data) as database:
        left = database.connection.execute(
            "SELECT definition FROM fleets WHERE tenant = (SELECT id FROM tenants WHERE name = ?)",
            (site.name,),
        ).fetchall()
    assert {definition for (definition,) in left} == {""}
    assert rows_of(server.data, neighbour.name) == theirs
    accepted(
        neighbour.senders[0].post("/v1/fleets/fleet/deliveries", content=neighbour.devices[0].encrypt([1.0]))
    )


def test_the_first_tenant_may_go_and_stays_away(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        with OperatorClient.local(server.data) as operator:
            removed(operator, operator.delete_tenant("home").id)
        server.stop()
        server.start()
        with OperatorClient.local(server.data) as operator:
            assert list(operator.tenants()) == []
            operator.create_tenant("next")


def test_a_gateway_that_is_killed_goes_on_deleting(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as server:
        with OperatorClient.local(server.data) as operator:
            site = populated(server, operator)
            operator.delete_tenant(site.name)
            server.kill()
        server.start()
        with OperatorClient.local(server.data) as operator:
            removed(operator, 1)
            refused(site.owner.get("/v1/fleets"), 401, "unknown-token")
        assert set(rows_of(server.data, site.name)) <= {"fleets", "fleet_counts", "deletions"}


# --- without HTTP, step by step -----------------------------------------------------------------------------

LOCAL = Actor("local", "local")


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """One that is not started: nothing happens in the background."""
    monkeypatch.setattr(deletions, "_TOKENS_SECONDS", 0.0)
    found = Gateway(settings_of(tmp_path / "data"))
    done: Any = SimpleNamespace(result=lambda _: None)
    found.intake.forget_devices = lambda *_: done  # type: ignore[method-assign]
    yield found
    found.database.close()
    found._held.close()


def fill(gateway: Gateway, *, windows: int, devices: int = 1) -> int:
    """A fleet of home with so many windows of each device; its id."""
    database = gateway.database.connection
    definition = '{"lane":"full"}'
    tenant = gateway.registry.tenant("home")
    (fleet,) = database.execute(
        "INSERT INTO fleets (tenant, name, definition, created) VALUES (?, ?, ?, 0) RETURNING id",
        (tenant, next(_NAMES), definition),
    ).fetchone()
    for number in range(devices):
        (device,) = database.execute(
            "INSERT INTO devices (fleet, number, epoch, key_id, largest_value, keys, state, created) "
            "VALUES (?, ?, 1, 0, 0, ?, 'active', 0) RETURNING id",
            (fleet, number, b""),
        ).fetchone()
        database.executemany(
            "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
            "VALUES (?, ?, ?, 0, 0, 0, 0, '')",
            [(device, window, window) for window in range(windows)],
        )
    return int(fleet)


def count(gateway: Gateway, table: str) -> int:
    return int(gateway.database.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_removal_goes_in_batches_and_on_from_where_it_was(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "_BATCH", 7)
    fleet, other = fill(gateway, windows=10, devices=3), fill(gateway, windows=4)
    with gateway.database.writing() as database:
        gateway.deletions.begin(database, Target(gateway.registry.tenant("home"), fleet))
    batches = []
    remove = deletions._remove_devices

    def counted(*given: Any, **more: Any) -> int:
        if len(batches) == 2:
            raise OSError("killed here")
        batches.append(remove(*given, **more))
        return batches[-1]

    monkeypatch.setattr(deletions, "_remove_devices", counted)
    with pytest.raises(OSError, match="killed here"):
        gateway.deletions.run()
    assert all(0 < batch <= 8 for batch in batches)
    assert count(gateway, "windows") + count(gateway, "devices") == 34 + 4 - sum(batches)
    monkeypatch.setattr(deletions, "_remove_devices", remove)
    gateway.deletions.run()
    assert count(gateway, "windows") == 4 and count(gateway, "devices") == 1
    (row,) = gateway.operator.deletions(2**62, 10).items
    assert row.finished is not None and row.rows >= 33
    assert count(gateway, "fleets") == 2 and other != fleet


def test_a_device_enrolled_again_before_the_removal_keeps_its_windows(gateway: Gateway) -> None:
    fleet = fill(gateway, windows=5)
    tenant = gateway.registry.tenant("home")
    with gateway.database.writing() as database:
        gateway.deletions.begin(database, Target(tenant, fleet, 0))
    database = gateway.database.connection
    (later,) = database.execute(
        "INSERT INTO devices (fleet, number, epoch, key_id, largest_value, keys, state, created) "
        "VALUES (?, 0, 2, 0, 0, ?, 'active', 0) RETURNING id",
        (fleet, b""),
    ).fetchone()
    database.execute(
        "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
        "VALUES (?, 0, 0, 0, 0, 0, 0, '')",
        (later,),
    )
    token = gateway.access.make("device", tenant=tenant, fleet=fleet, device=0)
    gateway.deletions.run()
    assert count(gateway, "windows") == 1 and count(gateway, "devices") == 1
    assert gateway.access.of_token(token).device == 0


@pytest.mark.parametrize(
    ("statement", "owner"),
    [
        ("INSERT INTO devices (fleet, number, epoch, key_id, largest_value, keys, state, created) "
         "VALUES (?, 9, 1, 0, 0, CAST('' AS {blob}), 'active', 0)", "fleet"),
        ("INSERT INTO evaluation_keys VALUES (?, 'relin', 'x')", "fleet"),
        ("INSERT INTO streams (fleet, name, spec, begins, next, created) VALUES (?, 's', '{}', 0, 0, 0)",
         "fleet"),
        ("INSERT INTO tokens (id, hash, scope, fleet, note, created) "
         "VALUES ('x', CAST('' AS {blob}), 'device', ?, '', 0)", "fleet"),
        ("INSERT INTO tokens (id, hash, scope, tenant, note, created) "
         "VALUES ('x', CAST('' AS {blob}), 'owner', ?, '', 0)", "tenant"),
        ("INSERT INTO fleets (tenant, name, definition, created) VALUES (?, 'late', '{}', 0)", "tenant"),
        ("INSERT INTO results VALUES ((SELECT id FROM devices WHERE fleet = ?), 0, '', '', 0)", "fleet"),
    ],
)  # fmt: skip
def test_a_request_that_a_deletion_overtakes_adds_nothing(
    gateway: Gateway, statement: str, owner: str
) -> None:
    fleet, tenant = fill(gateway, windows=0), gateway.registry.tenant("home")
    with gateway.database.writing() as database:
        gateway.deletions.begin(database, Target(tenant))
    blob = "BLOB" if back_end.now == "sqlite" else "BYTEA"
    with pytest.raises(ERRORS, match="deleted") as error:
        gateway.database.connection.execute(
            statement.replace("{blob}", blob), ({"fleet": fleet, "tenant": tenant}[owner],)
        )
    assert fault_of(error.value) == "deleted"
    with pytest.raises(Refusal, match="never given again"):
        gateway.registry.add_tenant(TenantRequest(name="home"))


def test_files_of_what_was_deleted_go_with_the_next_sweep(gateway: Gateway) -> None:
    fleet = fill(gateway, windows=1)
    digest = gateway.store.put(b"a public key")
    database = gateway.database.connection
    database.execute("INSERT INTO evaluation_keys VALUES (?, 'relin', ?)", (fleet, digest))
    gateway.retention.sweep(time.time() + 7200)
    assert gateway.store.sizes([digest])
    with gateway.database.writing() as writing:
        gateway.deletions.begin(writing, Target(gateway.registry.tenant("home"), fleet))
    gateway.deletions.run()
    gateway.retention.sweep(time.time() + 7200)
    assert not gateway.store.sizes([digest])


def test_no_id_of_what_was_deleted_is_given_again(gateway: Gateway) -> None:
    """What remembers an id meets nobody else's."""
    fleet = fill(gateway, windows=0)
    with gateway.database.writing() as database:
        gateway.deletions.begin(database, Target(gateway.registry.tenant("home"), fleet))
    gateway.deletions.run()
    assert fill(gateway, windows=0) > fleet


def test_a_job_of_a_deleted_fleet_is_never_leased(gateway: Gateway) -> None:
    fleet = fill(gateway, windows=1)
    gateway.database.connection.execute(
        "INSERT INTO streams (fleet, name, spec, begins, next, created) "
        'VALUES (?, \'s\', \'{"job": {}, "every": 5, "span": null, "grace": 0}\', 0, 0, 0)',
        (fleet,),
    )
    assert gateway.jobs.tick(100.0) > 0
    with gateway.database.writing() as database:
        gateway.deletions.begin(database, Target(gateway.registry.tenant("home"), fleet))
    assert gateway.jobs.lease("worker") is None
    assert gateway.jobs.tick(200.0) == 0
    gateway.deletions.run()
    assert count(gateway, "jobs") == count(gateway, "streams") == 0
