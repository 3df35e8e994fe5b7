# SPDX-License-Identifier: Apache-2.0
"""Deliveries over HTTPS: whole and in parts, in any order, twice, late; and what is refused."""

from __future__ import annotations

import random

import httpx
import numpy as np
import pytest
from ciphermote import _core
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A16
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.formats.receipts import Verdict, tag_sum
from gateway_support import (
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    frames_of,
    full_owner,
    refused,
    run_job,
)


def deliver(client: httpx.Client, fleet: str, data: bytes) -> httpx.Response:
    return client.post(f"/v1/fleets/{fleet}/deliveries", content=data)


@pytest.fixture(scope="module")
def fleet(server: Server) -> str:
    define_full(server.owner(), "full", full_owner())
    return "full"


def new_device(server: Server, fleet: str, number: int, **more: bool) -> tuple[FullDevice, httpx.Client]:
    device = FullDevice(full_owner(), number, **more).enroll(server.owner(), fleet)
    return device, server.client(device_token(server.owner(), fleet, number))


@pytest.mark.parametrize("public", [False, True])
def test_a_whole_attempt_is_receipted(server: Server, fleet: str, *, public: bool) -> None:
    device, client = new_device(server, fleet, 10 + public, public=public)
    data = device.encrypt([1.0, 2.0])
    receipt = device.receipt(deliver(client, fleet, data))
    assert (receipt.verdict, receipt.window, receipt.counter) == (Verdict.COUNTS, 0, 0)
    assert receipt.tags == tag_sum([frame[-12:-4] for frame in frames_of(data)])
    assert device.receipt(deliver(client, fleet, data)) == receipt


def test_frames_come_in_any_order_and_twice(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 20)
    generator = random.Random(1)
    for _ in range(5):
        data = device.encrypt([3.0])
        frames = frames_of(data) * 2
        generator.shuffle(frames)
        answers = [deliver(client, fleet, frame) for frame in frames]
        receipts = [a for a in answers if a.status_code == 200]
        seen = {frames[i] for i, a in enumerate(answers) if a.status_code == 202}
        assert receipts and len(seen) == len(frames) // 2 - 1
        assert len({device.receipt(a) for a in receipts}) == 1


def test_what_is_missing_is_counted_in_frames_or_in_values(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 30)
    frames = frames_of(device.encrypt([3.0]))
    seed_alone = accepted(deliver(client, fleet, frames[0])).json()
    assert seed_alone == {"missing": None, "unit": "frames"}
    for number, frame in enumerate(frames[1:-1], 2):
        answer = deliver(client, fleet, frame)
        assert (answer.status_code, answer.json()) == (
            202,
            {"missing": len(frames) - number, "unit": "frames"},
        )
    keys = CompactKeys.generate(A16)
    define_compact(server.owner(), "packets", keys, 9)
    sender = PacketDevice(keys, 1, packet_bytes=43).enroll(server.owner(), "packets")
    client = server.client(device_token(server.owner(), "packets", 1))
    packets = sender.encrypt(range(9))
    assert len(packets) > 1
    sizes = [len(_core.CompactPacket(packet).values()) for packet in packets]
    for number, packet in enumerate(packets[:-1], 1):
        answer = deliver(client, "packets", packet)
        assert (answer.status_code, answer.json()) == (
            202,
            {"missing": sum(sizes[number:]), "unit": "values"},
        )


def test_attempts_are_not_put_together_and_a_window_counts_once(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 21)
    first = device.encrypt([1.0])
    second = device.encrypt([1.0], window=0)
    one, two = frames_of(first), frames_of(second)
    assert deliver(client, fleet, one[0]).status_code == 202
    for frame in two[:-1]:
        assert deliver(client, fleet, frame).status_code == 202
    refused(deliver(client, fleet, one[1] + two[-1]), 400, "malformed")
    counts = device.receipt(deliver(client, fleet, two[-1]))
    assert (counts.verdict, counts.window, counts.counter) == (Verdict.COUNTS, 0, 1)
    surplus = device.receipt(deliver(client, fleet, b"".join(one[1:])))
    assert (surplus.verdict, surplus.counter) == (Verdict.SURPLUS, 0)
    assert device.receipt(deliver(client, fleet, first)).verdict == Verdict.SURPLUS


def test_the_same_counter_with_other_bytes_is_quarantined(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 22)
    device.receipt(deliver(client, fleet, device.encrypt([1.0])))
    device.boot(0)
    refused(deliver(client, fleet, device.encrypt([2.0])), 409, "mixed")
    listed = server.operator().get("/v1/operator/quarantine").json()["items"]
    waiting = [each for each in listed if each["device"] == 22]
    assert [q["kind"] for q in waiting] == ["mixed"]
    number = waiting[0]["id"]
    refused(server.operator().post(f"/v1/operator/quarantine/{number}/accept"), 409, "not-a-jump")
    accepted(server.operator().post(f"/v1/operator/quarantine/{number}/discard"))


def test_an_open_attempt_with_other_bytes_is_quarantined(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 23)
    first = frames_of(device.encrypt([1.0]))
    assert deliver(client, fleet, first[0]).status_code == 202
    device.boot(0)
    refused(deliver(client, fleet, frames_of(device.encrypt([2.0]))[1]), 409, "mixed")
    refused(deliver(client, fleet, b"".join(first)), 409, "mixed")


def test_a_jump_waits_for_the_operator(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 24)
    device.receipt(deliver(client, fleet, device.encrypt([1.0])))
    device.boot(2**40)
    ahead = device.encrypt([2.0])
    refused(deliver(client, fleet, ahead), 409, "held")
    device.boot(1)
    device.receipt(deliver(client, fleet, device.encrypt([3.0])))
    listed = server.operator().get("/v1/operator/quarantine").json()["items"]
    waiting = [each for each in listed if each["device"] == 24]
    accepted(server.operator().post(f"/v1/operator/quarantine/{waiting[0]['id']}/accept"))
    assert device.receipt(deliver(client, fleet, ahead)).counter == 2**40


def test_every_altered_byte_is_refused_and_leaves_nothing(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 25)
    data = device.encrypt([1.0])
    generator = random.Random(2)
    for at in [*range(120), *generator.sample(range(120, len(data)), 60)]:
        altered = bytearray(data)
        altered[at] ^= 1 << generator.randrange(8)
        response = deliver(client, fleet, bytes(altered))
        assert 400 <= response.status_code < 500, (at, response.text)
    shown = [
        d for d in server.owner().get(f"/v1/fleets/{fleet}/devices").json()["items"] if d["number"] == 25
    ]
    assert (shown[0]["newest"], shown[0]["windows"]) == (-1, 0)
    device.receipt(deliver(client, fleet, data))


def test_foreign_frames_are_refused(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 26)
    other, others = new_device(server, fleet, 27)
    data = device.encrypt([1.0])
    refused(deliver(others, fleet, data), 403, "other-device")
    refused(deliver(server.client(), fleet, data), 401, "no-token")
    refused(deliver(server.client("cmt_00_11"), fleet, data), 401, "unknown-token")
    refused(deliver(server.owner(), fleet, data), 403, "wrong-scope")
    stranger = FullDevice(full_owner(), 28)
    uplink = server.client(device_token(server.owner(), fleet))
    refused(deliver(uplink, fleet, stranger.encrypt([1.0])), 404, "unknown-device")
    forger = FullDevice(full_owner(), 26)
    refused(deliver(client, fleet, forger.encrypt([1.0])), 403, "forged")
    device.receipt(deliver(uplink, fleet, data))
    assert other.number == 27


def test_revoked_and_re_enrolled_devices(server: Server, fleet: str) -> None:
    device, client = new_device(server, fleet, 29)
    device.receipt(deliver(client, fleet, device.encrypt([1.0])))
    again = FullDevice(full_owner(), 29, 2).enroll(server.owner(), fleet)
    refused(deliver(client, fleet, device.encrypt([1.0])), 403, "foreign-epoch")
    again.receipt(deliver(client, fleet, again.encrypt([1.0])))
    accepted(server.owner().post(f"/v1/fleets/{fleet}/devices/29/revoke"))
    refused(deliver(client, fleet, again.encrypt([1.0])), 401, "unknown-token")
    uplink = server.client(device_token(server.owner(), fleet))
    refused(deliver(uplink, fleet, again.encrypt([1.0])), 403, "device-stopped")
    refused(server.owner().post(f"/v1/fleets/{fleet}/devices/29/activate"), 404, "no-such-device")


def test_sums_over_windows_and_devices(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "sums", full_owner())
    for number in (1, 2, 3):
        device, client = new_device(server, "sums", number)
        for value in range(2):
            device.receipt(deliver(client, "sums", device.encrypt([number, value])))
    shown, (result,) = run_job(owner, "sums", {"kind": "sum", "per_device": 2})
    assert (shown["result"]["windows"], shown["result"]["devices"]) == (6, 3)
    np.testing.assert_allclose(full_owner().decrypt(result)[:2], [12, 3], atol=0.1)
    shown, (result,) = run_job(owner, "sums", {"kind": "sum", "devices": [2, 3]})
    np.testing.assert_allclose(full_owner().decrypt(result)[:2], [5, 0], atol=0.1)
    listed = owner.get(f"/v1/fleets/sums/jobs/{shown['id']}/contributors").json()["items"]
    assert listed == [[2, 1, 0], [3, 1, 0]]


def test_the_compact_lane(server: Server) -> None:
    keys = CompactKeys.generate(A16)
    owner = server.owner()
    define_compact(owner, "meters", keys, 32)
    uplink = server.client(device_token(owner, "meters"))
    for number in (1, 2):
        device = PacketDevice(keys, number, 67).enroll(owner, "meters")
        keys = device.keys
        packets = device.encrypt(np.arange(32) * number)
        answers = [deliver(uplink, "meters", p) for p in (packets[2], packets[0], packets[2], packets[1])]
        assert [a.status_code for a in answers] == [202, 202, 202, 200]
    _, (result,) = run_job(owner, "meters", {"kind": "sum"})
    assert (decrypt_sum(keys, CompactResult.from_bytes(result)).values == 3 * np.arange(32)).all()


def test_a_tenant_stores_no_more_than_it_may(server: Server) -> None:
    asked = {"name": "small", "most_bytes": 20_000}
    token = accepted(server.operator().post("/v1/operator/tenants", json=asked)).json()["token"]
    owner = server.client(token)
    define_full(owner, "full", full_owner())
    device = FullDevice(full_owner(), 1).enroll(owner, "full")
    client = server.client(device_token(owner, "full", 1))
    kept = []
    while (answer := deliver(client, "full", data := device.encrypt([1.0]))).status_code == 200:
        kept.append(data)
        assert sum(map(len, kept)) <= 20_000
    refused(answer, 429, "quota")
    assert kept and device.receipt(deliver(client, "full", kept[0])).verdict == Verdict.COUNTS
