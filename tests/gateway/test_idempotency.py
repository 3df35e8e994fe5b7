# SPDX-License-Identifier: Apache-2.0
"""A request that is sent again with its Idempotency-Key makes nothing twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ciphermote.gateway import idempotency
from gateway_support import Server, accepted, define_full, full_owner, refused
from pydantic import BaseModel
from pytest import MonkeyPatch
from site_support import Site, on_site

KEY = {"Idempotency-Key": "a-key-of-mine"}
SUM = {"spec": {"kind": "sum"}}


def test_a_job_or_stream_is_made_once(server: Server) -> None:
    owner = server.owner()
    for fleet in ("once", "elsewhere"):
        define_full(owner, fleet, full_owner())
    path = "/v1/fleets/once/jobs"
    first = accepted(owner.post(path, json=SUM, headers=KEY)).json()
    assert accepted(owner.post(path, json=SUM, headers=KEY)).json() == first
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda _: owner.post(path, json=SUM, headers=KEY).json(), range(8)))
    assert again == [first] * 8
    assert accepted(owner.post(path, json=SUM)).json() != first, "without a key, each is a request of its own"
    assert len(accepted(owner.get(path)).json()["items"]) == 2
    refused(owner.post(path, json={"spec": {"kind": "mean"}}, headers=KEY), 422, "key-reused")
    refused(owner.post("/v1/fleets/elsewhere/jobs", json=SUM, headers=KEY), 422, "key-reused")
    refused(owner.post(path, json=SUM, headers={"Idempotency-Key": "short"}), 422, "invalid")
    stream = {"name": "hourly", "spec": {"job": {"kind": "sum"}, "every": 3600}}
    of_stream = {"Idempotency-Key": "another-key"}
    made = [owner.post("/v1/fleets/once/streams", json=stream, headers=of_stream) for _ in range(2)]
    assert accepted(made[0]).json() == accepted(made[1]).json()


def test_a_refused_request_uses_no_key_up(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "retried", full_owner())
    path, headers = "/v1/fleets/retried/jobs", {"Idempotency-Key": "tried-again"}
    asked = {"spec": {"kind": "sum", "devices": [1]}}
    refused(owner.post(path, json=asked, headers=headers), 422, "unknown-device")
    refused(owner.post(path, json=asked, headers=headers), 422, "unknown-device")


def test_a_token_is_shown_once(server: Server) -> None:
    owner, headers = server.owner(), {"Idempotency-Key": "for-my-token"}
    asked = {"scope": "owner", "note": "idempotent"}
    token = accepted(owner.post("/v1/tokens", json=asked, headers=headers)).json()["token"]
    again = owner.post("/v1/tokens", json=asked, headers=headers)
    refused(again, 409, "shown-once")
    assert token.split("_")[1] in again.json()["detail"] and token not in again.text
    listed = accepted(owner.get("/v1/tokens")).json()["items"]
    assert sum(each["note"] == "idempotent" for each in listed) == 1


def test_keys_end_and_are_bounded(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_KEYS", 3)

    class Asked(BaseModel):
        number: int = 1

    async def check(site: Site) -> None:
        made: list[str] = []

        def make() -> str:
            made.append(str(len(made)))
            return made[-1]

        once = site.gateway.idempotency.once
        for key in ("first", "second", "third", "first"):
            once(site.tenant, key, "things", Asked(), make)
        assert len(made) == 3
        once(site.tenant, "fourth", "things", Asked(), make)
        assert once(site.tenant, "first", "things", Asked(), make) == ("4", True), "the oldest is forgotten"
        monkeypatch.setattr(idempotency, "KEPT_SECONDS", -1.0)
        assert once(site.tenant, "fourth", "things", Asked(), make) == ("5", True), "a day is over"

    on_site(tmp_path, check)
