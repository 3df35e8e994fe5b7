# SPDX-License-Identifier: Apache-2.0
"""A flood of one device delays nobody else's receipt, and windows that do not come are counted."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ciphermote.gateway.gateway import FIRST_TENANT, Gateway
from ciphermote.gateway.intake import _Errand
from ciphermote.gateway.missing import Missing, missing_windows
from ciphermote.gateway.turns import Turns
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import DEFINITION, Enrolment, FullFleet, TenantRequest
from gateway_support import (
    LOG2_SCALE,
    FullDevice,
    accepted,
    define_full,
    device_token,
    enrolment,
    full_owner,
    wait_until,
)
from mqtt_support import Site, site
from site_support import settings_of

FLOOD = 1500
BOUND_SECONDS = 20.0
"""Far more than it takes, for machines that are busy; without turns and bounds there was none in 120 s."""


def test_tenants_take_turns_and_so_do_their_devices() -> None:
    turns: Turns[str] = Turns()
    for name in ("a1", "a1", "a1", "a2", "b1", "b1"):
        turns.add(name[0], name, name)
    assert [turns.take() for _ in range(3)] == ["a1", "b1", "a2"]
    turns.add("c", "c1", "c1")
    assert [turns.take() for _ in range(4)] == ["b1", "a1", "c1", "a1"]
    assert not turns


def enrolled(found: Gateway, tenant: int, name: str, number: int) -> FullDevice:
    keys = full_owner()
    definition = DEFINITION.validate_python(
        {
            "lane": "full",
            "parameters": parameters_to_dict(keys.parameters),
            "key_id": f"{keys.key_id:016x}",
            "log2_scale": LOG2_SCALE,
        }
    )
    assert isinstance(definition, FullFleet)
    found.registry.put_fleet(tenant, name, definition)
    device = FullDevice(keys, number)
    body = Enrolment.model_validate(enrolment(device.tag_keys, device.key_id))
    found.registry.enroll(found.registry.fleet(tenant, name), number, body)
    return device


def test_a_flood_of_one_device_is_stored_after_what_others_send(tmp_path: Path) -> None:
    """Whatever came first: 1500 deliveries of one, then one of a sibling and one of another tenant."""
    order: list[str] = []

    async def deliver(found: Gateway, tenant: int, name: str, number: int, data: bytes, who: str) -> None:
        await found.intake.take(found.registry.fleet(tenant, name), number, data)
        order.append(who)

    async def run() -> None:
        found = Gateway(settings_of(tmp_path / "data"))
        home = found.registry.tenant(FIRST_TENANT)
        other = found.registry.add_tenant(TenantRequest(name="other"))
        flooding = enrolled(found, home, "fleet", 1)
        sibling = enrolled(found, home, "fleet", 2)
        stranger = enrolled(found, other, "fleet", 1)
        data = flooding.encrypt([1.0])
        tasks = [deliver(found, home, "fleet", 1, data, "flood") for _ in range(FLOOD)]
        tasks.append(deliver(found, home, "fleet", 2, sibling.encrypt([1.0]), "sibling"))
        tasks.append(deliver(found, other, "fleet", 1, stranger.encrypt([1.0]), "stranger"))
        found.intake.start()
        busy = threading.Event()
        found.intake._queue.put(_Errand(lambda: busy.wait() and None))
        made = [asyncio.create_task(task) for task in tasks]
        await asyncio.sleep(0)  # all of them wait
        busy.set()
        await asyncio.gather(*made)
        await found.close()

    asyncio.run(run())
    assert len(order) == FLOOD + 2
    assert order.index("sibling") < 512 and order.index("stranger") < 512


# --- MQTT ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def flood(here: Site, user: str, token: str, data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Publish the same message repeatedly, as fast as the broker accepts it."""
    tool = shutil.which("mosquitto_pub")
    assert tool is not None, "mosquitto-clients is not installed"
    process = subprocess.Popen(
        (
            *(tool, "-V", "5", "-h", "localhost", "-p", str(here.broker.port)),
            *("--cafile", str(here.server.authority), "-u", user, "-P", token, "-q", "1"),
            *("-t", f"ciphermote/{user}/up", "-f", str(data), "--repeat", "1000000"),
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("size", ["a window", "4 MB"])
def test_a_flood_over_mqtt_delays_no_other_receipt(tmp_path: Path, size: str) -> None:
    with site(tmp_path / "data", "--workers", "0") as here:
        home = here.server.owner()
        made = accepted(here.server.operator().post("/v1/operator/tenants", json={"name": "calm"})).json()
        calm = here.server.client(made["token"])
        devices = []
        for owner, number in ((home, 1), (home, 2), (calm, 3)):
            define_full(owner, "fleet", full_owner())
            device = FullDevice(full_owner(), number).enroll(owner, "fleet")
            devices.append((device, device_token(owner, "fleet", number)))
        (flooding, token), sibling, stranger = devices
        data = tmp_path / "flood"
        data.write_bytes(flooding.encrypt([1.0]) if size == "a window" else bytes(4_000_000))
        listening = [
            (sibling[0], here.station("home.fleet.2", sibling[1]).ready()),
            (stranger[0], here.station("calm.fleet.3", stranger[1]).ready()),
        ]
        with flood(here, "home.fleet.1", token, data) as process:
            time.sleep(2)
            slowest = 0.0
            for _ in range(5):
                for device, station in listening:
                    started = time.monotonic()
                    station.send_until_receipt(device.encrypt([1.0]))
                    slowest = max(slowest, time.monotonic() - started)
            assert process.poll() is None, "the flood goes on"
        assert slowest < BOUND_SECONDS
        for _, station in listening:
            station.leave()


# --- windows that do not come -------------------------------------------------------------------------------


def test_windows_that_were_expected_and_have_not_come_are_counted(tmp_path: Path) -> None:
    with site(tmp_path / "data", "--workers", "0") as here:
        owner = here.server.owner()
        define_full(owner, "fleet", full_owner())
        device = FullDevice(full_owner(), 1).enroll(owner, "fleet")
        client = here.server.client(device_token(owner, "fleet", 1))
        windows = [device.encrypt([1.0]) for _ in range(5)]
        for number in (0, 1, 4):
            device.receipt(client.post("/v1/fleets/fleet/deliveries", content=windows[number]))
        shown = here.server.operator()
        skipped = 'ciphermote_windows_missing{fleet="fleet",tenant="home",why="skipped"} 2.0'
        wait_until(lambda: skipped in shown.get("/metrics").text, "the metric", 90.0)


def test_a_device_that_falls_silent_is_overdue(tmp_path: Path) -> None:
    async def run() -> None:
        found = Gateway(settings_of(tmp_path / "data"))
        found.intake.start()
        home = found.registry.tenant(FIRST_TENANT)
        enrolled(found, home, "fleet", 1)
        enrolled(found, home, "fleet", 2)
        database = found.database.connection
        database.execute("UPDATE devices SET created = 1000")
        assert missing_windows(found.database, 9000.0) == [Missing("home", "fleet", 0, 0)]
        for number in range(10):
            database.execute(
                "INSERT INTO windows (device, number, counter, random, tags, measured, arrived, extents) "
                "VALUES (1, ?, 0, 0, 0, 0, 0, '')",
                (number,),
            )
        database.execute("UPDATE devices SET newest_window = 9, last_seen = 2000 WHERE number = 1")
        for now, overdue in ((2100.0, 0), (2199.0, 0), (2200.0, 1), (3000.0, 9)):
            assert missing_windows(found.database, now) == [Missing("home", "fleet", 0, overdue)]
        database.execute("UPDATE devices SET state = 'revoked' WHERE number = 1")
        assert missing_windows(found.database, 3000.0) == [Missing("home", "fleet", 0, 0)]
        await found.close()

    asyncio.run(run())
