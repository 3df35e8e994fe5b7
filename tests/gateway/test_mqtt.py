# SPDX-License-Identifier: Apache-2.0
"""Deliveries through a real Mosquitto, with TLS, a user for each device, and the files that the gateway
wrote: only the gateway's receipt ends a device's duty, whatever the broker acknowledges.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from ciphermote.base.errors import Error
from ciphermote.formats.receipts import Receipt, Verdict
from gateway_support import (
    FullDevice,
    accepted,
    define_full,
    device_token,
    frames_of,
    full_owner,
    problem,
    run_job,
    wait_until,
)
from mqtt_support import Site, Station, site

FLEET = "remote"
SENT = 50


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("mqtt") / "data") as found:
        define_full(found.server.owner(), FLEET, full_owner())
        yield found


def user_of(device: int) -> str:
    return f"home.{FLEET}.{device}"


def new_device(here: Site, number: int) -> tuple[FullDevice, Station]:
    owner = here.server.owner()
    device = FullDevice(full_owner(), number).enroll(owner, FLEET)
    token = device_token(owner, FLEET, number)
    return device, here.station(user_of(number), token).ready()


def receipt(device: FullDevice, data: bytes) -> Receipt:
    return Receipt.from_bytes(data, device.tag_keys.receipts)


def windows(here: Site, device: int) -> list[int]:
    listed = accepted(
        here.server.owner().get(f"/v1/fleets/{FLEET}/windows", params={"device": device})
    ).json()["items"]
    return [window["number"] for window in listed]


def test_the_receipt_comes_to_the_response_topic(here: Site) -> None:
    device, station = new_device(here, 1)
    station.publish(device.encrypt([1.0]), b"first", f"{station.down}/receipts")
    found = station.answer()
    assert (found.topic, found.status, found.correlation) == (f"{station.down}/receipts", "receipt", b"first")
    assert receipt(device, found.payload).verdict == Verdict.COUNTS
    station.leave()


def test_started_by_root_the_broker_becomes_the_gateways_user(here: Site) -> None:
    """Who may read its certificate's key; otherwise it would become mosquitto, who may not."""
    text = (here.server.data / "mosquitto/mosquitto.conf").read_text()
    assert f"user {pwd.getpwuid(os.geteuid()).pw_name}\n" in text.splitlines(keepends=True)


def test_each_frame_is_answered(here: Site) -> None:
    device, station = new_device(here, 2)
    frames = frames_of(device.encrypt([1.0]))
    for frame in frames:
        station.publish(frame)
    found = [station.answer() for _ in frames]
    assert sorted(each.status for each in found) == ["kept"] * (len(frames) - 1) + ["receipt"]
    assert {each.topic for each in found} == {station.down}
    station.publish(b"\x00" * 100, b"why")
    refused = station.answer()
    assert (refused.status, refused.correlation) == ("refused", b"why")
    assert (problem(refused.payload)["status"], problem(refused.payload)["type"]) == (
        400,
        "urn:ciphermote:problem:malformed",
    )
    station.leave()


def test_no_device_publishes_or_reads_as_another(here: Site) -> None:
    victim, at_victim = new_device(here, 3)
    _, thief = new_device(here, 4)
    for topic in ("#", "+/+/up", f"ciphermote/{user_of(3)}/#", f"ciphermote/{user_of(4)}/up", "$SYS/#"):
        assert thief.subscribe(topic) == "Not authorized", topic
    data = victim.encrypt([1.0])
    thief.publish(data, user=user_of(3))  # the broker lets it pass to nobody
    thief.publish(data)
    assert problem(thief.answer().payload)["type"].endswith(":other-device")
    assert windows(here, 3) == []
    at_victim.send_until_receipt(data)
    assert windows(here, 3) == [0]
    with pytest.raises(queue.Empty):
        thief.answer(0.5)
    for each in (at_victim, thief):
        each.leave()


@pytest.mark.parametrize("thieves", [1, 20])
def test_nobody_takes_messages_from_the_gateway(here: Site, thieves: int) -> None:
    """A share of the gateway's subscription took as many messages as there were shares of thieves."""
    first = 1000 * thieves
    device, station = new_device(here, first)
    others = [new_device(here, first + number)[1] for number in range(1, thieves + 1)]
    for thief in others:
        for name in ("gateways", "x"):
            assert thief.subscribe(f"$share/{name}/ciphermote/+/up") == "Not authorized"
    for number in range(SENT):
        station.publish(device.encrypt([1.0]), number.to_bytes(2, "little"))
    assert [station.answer(30.0).status for _ in range(SENT)] == ["receipt"] * SENT
    for each in (station, *others):
        each.leave()


def test_nobody_takes_the_gateways_place_at_the_broker(here: Site) -> None:
    """Whoever came with the gateway's client id took its connection, and with it what was on its way."""
    device, station = new_device(here, 40)
    _, at_thief = new_device(here, 41)
    at_thief.leave()
    own = (here.server.data / "mosquitto/gateway.user").read_text()
    connected, stop = here.server.log().count("broker connected"), threading.Event()

    def take_over() -> None:
        while not stop.is_set():
            for name in ("gateway-0", own):
                thief = here.station(user_of(41), at_thief.token, client_id=name).ready()
                thief.leave()

    attack = threading.Thread(target=take_over)
    attack.start()
    try:
        for number in range(SENT):
            station.publish(device.encrypt([1.0]), number.to_bytes(2, "little"))
        assert [station.answer(30.0).status for _ in range(SENT)] == ["receipt"] * SENT
    finally:
        stop.set()
        attack.join()
    assert here.server.log().count("broker connected") == connected
    station.leave()


def test_nobody_takes_another_devices_place(here: Site) -> None:
    device, station = new_device(here, 42)
    _, at_thief = new_device(here, 43)
    for each in (station, at_thief):
        each.leave()
    station = here.station(user_of(42), station.token, client_id="sensor-42").ready()
    for name in ("sensor-42", user_of(42)):
        here.station(user_of(43), at_thief.token, client_id=name).ready().leave()
    station.send_until_receipt(device.encrypt([1.0]))
    assert station.connections == 1
    station.leave()


@pytest.mark.parametrize("end", ["device", "token"])
def test_a_revoked_device_is_cut_off_at_once(here: Site, end: str) -> None:
    """Without anybody's help, and while it is connected: it went on until somebody sent SIGHUP."""
    number = 44 if end == "device" else 45
    device, station = new_device(here, number)
    _, sibling = new_device(here, number + 10)
    owner, came = here.server.owner(), sibling.connections
    station.send_until_receipt(device.encrypt([1.0]))
    if end == "device":
        accepted(owner.post(f"/v1/fleets/{FLEET}/devices/{number}/revoke"))
    else:
        accepted(owner.delete(f"/v1/tokens/{station.token.split('_')[1]}"))
    wait_until(lambda: not station.client.is_connected(), "the end", 15.0)
    wait_until(lambda: station.refused == "Not authorized", "the refusal", 15.0)
    assert windows(here, number) == [0]
    assert sibling.connections == came
    station.leave()
    sibling.leave()


@pytest.mark.parametrize("end", ["expired", "device", "fleet"])
def test_a_device_whose_token_expires_or_that_is_deleted_is_cut_off(here: Site, end: str) -> None:
    number, fleet = {"expired": 60, "device": 61, "fleet": 62}[end], "doomed" if end == "fleet" else FLEET
    owner, user = here.server.owner(), f"home.{fleet}.{number}"
    if fleet != FLEET:
        define_full(owner, fleet, full_owner())
    device = FullDevice(full_owner(), number).enroll(owner, fleet)
    expires = {"expires": time.time() + 4} if end == "expired" else {}
    asked = {"scope": "device", "fleet": fleet, "device": number, **expires}
    token = accepted(owner.post("/v1/tokens", json=asked)).json()["token"]
    station = here.station(user, token).ready()
    station.send_until_receipt(device.encrypt([1.0]))
    path = f"/v1/operator/tenants/home/fleets/{fleet}"
    if end != "expired":
        path = path if end == "fleet" else f"{path}/devices/{number}"
        accepted(here.server.operator().delete(path))
    wait_until(lambda: not station.client.is_connected(), "the end", 8.0)
    wait_until(lambda: station.refused == "Not authorized", "the refusal", 3.0)
    station.leave()


def test_one_revoked_while_the_gateway_was_away_is_cut_off_when_it_is_back(here: Site) -> None:
    _, station = new_device(here, 46)
    here.server.kill()
    with contextlib.closing(sqlite3.connect(here.server.data / "gateway.db")) as database, database:
        database.execute("UPDATE tokens SET revoked = ? WHERE device = 46", (time.time(),))
    assert station.client.is_connected()
    here.server.start()
    wait_until(lambda: station.refused == "Not authorized", "the refusal", 30.0)
    station.leave()


def test_without_the_gateway_nobody_is_let_in(here: Site) -> None:
    device, station = new_device(here, 47)
    station.leave()
    here.server.kill()
    try:
        again = here.station(user_of(47), station.token)
        time.sleep(1.0)
        assert not again.is_ready and again.refused is None, "it is told nothing, and comes again"
    finally:
        here.server.start()
    again.ready().send_until_receipt(device.encrypt([1.0]))
    again.leave()


def test_the_log_names_whom_the_broker_lets_in_and_whom_not(here: Site) -> None:
    _, station = new_device(here, 48)
    station.leave()
    log = len(here.server.log())
    for user, token in ((user_of(48), station.token), (user_of(49), station.token)):
        stranger = here.station(user, token)
        wait_until(lambda s=stranger: s.is_ready or s.refused, "an answer")
        stranger.leave()
    name = station.token.split("_")[1]
    lines = [json.loads(line) for line in here.server.log()[log:].splitlines() if "by the broker" in line]
    assert [(line["event"], line["token"], line["address"], line["device"]) for line in lines] == [
        ("let in by the broker", name, "127.0.0.1", 48),
        ("refused by the broker", name, "127.0.0.1", 48),
    ]
    assert station.token.split("_")[2] not in here.server.log()


def test_nobody_is_answered_on_anothers_topic(here: Site) -> None:
    device, station = new_device(here, 5)
    _, other = new_device(here, 6)
    for asked in (
        f"{other.down}/x",
        f"{station.down}s",
        "ciphermote/#",
        f"{station.down}/+",
        f"{station.down}/#",
    ):
        station.publish(device.encrypt([1.0]), b"id", asked)
        found = station.answer()
        assert (found.topic, found.status) == (station.down, "receipt"), asked
    assert other.answers.empty()
    station.leave()
    other.leave()


def test_strangers_are_not_let_in(here: Site) -> None:
    device, station = new_device(here, 7)
    station.leave()
    owner = here.server.owner()
    right = device_token(owner, FLEET, 7)
    for user, token in ((user_of(7), "cmt_00_11"), (user_of(8), right), ("gateway", right)):
        stranger = here.station(user, token)
        with pytest.raises(Error, match="had no receipt"):
            stranger.send_until_receipt(device.encrypt([1.0]), 1.0)
        assert stranger.refused == "Not authorized"
        stranger.leave()
    accepted(owner.post(f"/v1/fleets/{FLEET}/devices/7/revoke"))
    revoked = here.station(user_of(7), right)
    with pytest.raises(Error, match="had no receipt"):
        revoked.send_until_receipt(device.encrypt([1.0]), 1.0)
    assert windows(here, 7) == []
    revoked.leave()


def test_a_broker_that_dies_costs_no_window(here: Site) -> None:
    device, station = new_device(here, 9)
    station.send_until_receipt(device.encrypt([1.0]))
    here.broker.kill()
    data = device.encrypt([1.0])
    with pytest.raises(Error, match="had no receipt"):
        station.send_until_receipt(data, 1.0)
    here.broker.start()
    station.send_until_receipt(data)
    assert windows(here, 9) == [0, 1]
    station.leave()


def test_a_gateway_that_dies_costs_no_window(here: Site) -> None:
    device, station = new_device(here, 10)
    here.server.kill()
    data = device.encrypt([1.0])
    station.publish(data)  # the broker has acknowledged it: that says nothing
    assert station.answers.empty()
    here.server.start()
    found = station.send_until_receipt(data)
    assert receipt(device, found.payload).verdict == Verdict.COUNTS
    assert windows(here, 10) == [0]
    station.leave()


def test_what_the_broker_acknowledged_and_lost_is_sent_again(here: Site) -> None:
    device, station = new_device(here, 11)
    here.server.kill()
    data = [device.encrypt([1.0]) for _ in range(3)]
    for each in data:
        station.publish(each)
    here.broker.kill()  # with what it has queued, for it keeps nothing
    here.broker.start()
    here.server.start()
    station.ready()
    with pytest.raises(queue.Empty):
        station.answer(1.0)
    assert windows(here, 11) == []
    for each in data:
        station.send_until_receipt(each)
    assert windows(here, 11) == [0, 1, 2]
    _, (total,) = run_job(here.server.owner(), FLEET, {"kind": "sum", "devices": [11], "per_device": 9})
    np.testing.assert_allclose(full_owner().decrypt(total)[0], 3, atol=0.1)
    station.leave()
