# SPDX-License-Identifier: Apache-2.0
"""Deliveries through a real Mosquitto, with TLS, a user for each device, and the files that the gateway
wrote: only the gateway's receipt ends a device's duty, whatever the broker acknowledges.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator

import numpy as np
import pytest
from ciphermote.errors import Error
from ciphermote.receipts import Receipt, Verdict
from gateway_support import (
    FullDevice,
    accepted,
    define_full,
    device_token,
    frames_of,
    full_owner,
    problem,
    run_job,
)
from mqtt_support import Site, Station, site

FLEET = "remote"


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
    here.admit(user_of(number), token)
    return device, here.station(user_of(number), token).ready()


def receipt(device: FullDevice, data: bytes) -> Receipt:
    return Receipt.from_bytes(data, device.tag_keys.receipts)


def windows(here: Site, device: int) -> list[int]:
    listed = accepted(
        here.server.owner().get(f"/v1/fleets/{FLEET}/windows", params={"device": device})
    ).json()
    return [window["number"] for window in listed]


def test_the_receipt_comes_to_the_response_topic(here: Site) -> None:
    device, station = new_device(here, 1)
    station.publish(device.encrypt([1.0]), b"first", f"{station.down}/receipts")
    found = station.answer()
    assert (found.topic, found.status, found.correlation) == (f"{station.down}/receipts", "receipt", b"first")
    assert receipt(device, found.payload).verdict == Verdict.COUNTS
    station.leave()


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
    assert (problem(refused.payload)["status"], problem(refused.payload)["title"]) == (400, "malformed")
    station.leave()


def test_no_device_publishes_or_reads_as_another(here: Site) -> None:
    victim, at_victim = new_device(here, 3)
    _, thief = new_device(here, 4)
    ears = [
        here.station(user_of(4), thief.token, topic).ready() for topic in ("#", f"ciphermote/{user_of(3)}/#")
    ]
    data = victim.encrypt([1.0])
    thief.publish(data, user=user_of(3))  # the broker lets it pass to nobody
    thief.publish(data)
    assert problem(thief.answer().payload)["title"] == "other-device"
    assert windows(here, 3) == []
    at_victim.send_until_receipt(data)
    assert windows(here, 3) == [0]
    for ear in ears:
        with pytest.raises(queue.Empty):
            while True:  # its own answers may come, from its other connections
                assert ear.answer(0.5).topic.startswith(thief.down)
    for each in (at_victim, thief, *ears):
        each.leave()


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
    here.admit(user_of(7), right)
    for user, token in ((user_of(7), "cmt_00_11"), (user_of(8), right), ("gateway", right)):
        stranger = here.station(user, token)
        with pytest.raises(Error, match="had no receipt"):
            stranger.send_until_receipt(device.encrypt([1.0]), 1.0)
        assert stranger.refused == "Not authorized"
        stranger.leave()
    accepted(owner.post(f"/v1/fleets/{FLEET}/devices/7/revoke"))
    here.admit(user_of(7), None)
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
