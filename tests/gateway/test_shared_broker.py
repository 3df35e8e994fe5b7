# SPDX-License-Identifier: Apache-2.0
"""Two gateways at one broker share what devices send, lose nothing when one goes, and know who is revoked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ciphermote.formats.receipts import Receipt
from cluster_support import Cluster, cluster
from gateway_support import (
    Broker,
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    free_port,
    full_owner,
    wait_until,
)
from mqtt_support import Station

FLEET = "shared"
SENT = 40
REVOKED_SECONDS = 5.0
_OVER_MQTT = 'ciphermote_deliveries_total{over="mqtt"}'


@dataclass
class Place:
    gateways: Cluster
    broker: Broker

    def device(self, number: int) -> tuple[FullDevice, Station]:
        owner = self.gateways.one.owner()
        device = FullDevice(full_owner(), number).enroll(owner, FLEET)
        return device, self.station(number, device_token(owner, FLEET, number)).ready()

    def station(self, number: int, token: str) -> Station:
        user = f"home.{FLEET}.{number}"
        return Station(self.broker.port, self.gateways.one.authority, user, token)

    def windows(self, device: int) -> list[int]:
        asked = self.gateways.one.owner().get(f"/v1/fleets/{FLEET}/windows", params={"device": device})
        return sorted(window["number"] for window in accepted(asked).json()["items"])


def over_mqtt(server: Server) -> int:
    """How many deliveries a gateway has taken from the broker."""
    text = accepted(server.operator().get("/metrics")).text
    (line,) = [line for line in text.splitlines() if line.startswith(_OVER_MQTT)]
    return round(float(line.split()[-1]))


def wait_for_broker(server: Server, times: int) -> None:
    wait_until(lambda: server.log().count("broker connected") == times, "the gateway's connection")


def deliver(device: FullDevice, station: Station, window: int) -> None:
    """Send one window until it has its receipt. Those of earlier ones may come once more before."""
    data = device.encrypt([1.0])
    found = None
    while found != window:
        answer = station.send_until_receipt(data).payload
        found = Receipt.from_bytes(answer, device.tag_keys.receipts).window


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("shared")
    broker = Broker(folder / "one", free_port())
    with_broker = ("--broker", f"localhost:{broker.port}")
    trusting = (*with_broker, "--broker-ca", str(folder / "one" / "tls" / "ca.pem"))
    with cluster(folder, (with_broker, trusting)) as gateways:
        try:
            broker.start()
            for each in gateways.servers:
                wait_for_broker(each, 1)
            define_full(gateways.one.owner(), FLEET, full_owner())
            yield Place(gateways, broker)
        finally:
            broker.kill()


def test_each_gateway_takes_a_part_of_the_deliveries(here: Place) -> None:
    device, station = here.device(1)
    before = [over_mqtt(each) for each in here.gateways.servers]
    for number in range(SENT):
        station.publish(device.encrypt([1.0]), number.to_bytes(2, "little"))
    found = [station.answer() for _ in range(SENT)]
    assert [each.status for each in found] == ["receipt"] * SENT
    assert {each.correlation for each in found} == {number.to_bytes(2, "little") for number in range(SENT)}
    assert here.windows(1) == list(range(SENT))
    shares = [over_mqtt(each) - old for each, old in zip(here.gateways.servers, before, strict=True)]
    assert sum(shares) == SENT and min(shares) >= SENT // 4, shares
    station.leave()


def test_a_gateway_that_is_killed_loses_no_window_and_counts_none_twice(here: Place) -> None:
    device, station = here.device(2)
    deliver(device, station, 0)
    here.gateways.two.kill()
    try:
        for window in range(1, 7):
            deliver(device, station, window)
    finally:
        here.gateways.two.start()
        wait_for_broker(here.gateways.two, 2)
    deliver(device, station, 7)
    assert here.windows(2) == list(range(8))
    station.leave()


def test_a_gateway_that_stops_leaves_its_share_to_the_other(here: Place) -> None:
    """No delivery has to be sent again: the broker gives none to a gateway that is not there."""
    device, station = here.device(3)
    connected = here.gateways.two.log().count("broker connected")
    assert here.gateways.two.stop() == 0
    try:
        for number in range(SENT):
            station.publish(device.encrypt([1.0]), number.to_bytes(2, "little"))
        assert [station.answer(20.0).status for _ in range(SENT)] == ["receipt"] * SENT
    finally:
        here.gateways.two.start()
        wait_for_broker(here.gateways.two, connected + 1)
    assert here.windows(3) == list(range(SENT))
    station.leave()


@pytest.mark.parametrize("end", ["device", "token"])
def test_who_is_revoked_at_one_is_refused_everywhere_within_five_seconds(
    here: Place, end: str, record_property: Callable[[str, object], None]
) -> None:
    """At the gateway that does not know it, too, which has its token in memory, and by the broker, which asks
    the other one."""
    number = 4 if end == "device" else 5
    device, station = here.device(number)
    token = station.token
    clients = [server.client(token) for server in here.gateways.servers]
    path = f"/v1/fleets/{FLEET}/deliveries"
    octets = {"Content-Type": "application/octet-stream"}
    for client in clients:
        device.receipt(client.post(path, content=device.encrypt([1.0]), headers=octets))
    owner = here.gateways.two.owner()
    if end == "device":
        accepted(owner.post(f"/v1/fleets/{FLEET}/devices/{number}/revoke"))
    else:
        accepted(owner.delete(f"/v1/tokens/{token.split('_')[1]}"))
    since, data = time.monotonic(), device.encrypt([1.0])
    ended: dict[str, float] = {}
    while len(ended) < 3 and time.monotonic() - since < REVOKED_SECONDS:
        refused = [
            client.post(path, content=data, headers=octets).status_code in (401, 403) for client in clients
        ]
        seen = {"one": refused[0], "two": refused[1], "broker": not station.client.is_connected()}
        for where in [where for where, has_ended in seen.items() if has_ended]:
            ended.setdefault(where, time.monotonic() - since)
        time.sleep(0.05)
    assert ended.keys() == {"one", "two", "broker"}, ended
    record_property("seconds", ended)
    print({where: round(seconds, 2) for where, seconds in ended.items()})
    for client in clients:
        assert client.post(path, content=data, headers=octets).status_code == 401
    wait_until(lambda: station.refused == "Not authorized", "the refusal", REVOKED_SECONDS)
    station.leave()


def test_a_password_that_anybody_could_guess_is_refused(here: Place, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("short\n")
    server = Server(
        tmp_path / "data",
        free_port(),
        ("--broker", "localhost:1", "--broker-password", str(tmp_path / "password")),
    )
    server.start_unready()
    assert server.process is not None and server.process.wait(30) == 1
    assert "same on every gateway" in " ".join(server.log().split()) and "short" not in server.log()
