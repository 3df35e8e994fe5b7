# SPDX-License-Identifier: Apache-2.0
"""Jobs and streams: what they compute, over which windows, and what becomes of them when workers die."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import ciphermote_testing as testing
import httpx
import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import COMPACT_SETS, L
from ciphermote.parameters.native import core_params
from gateway_support import (
    SET,
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    ended_job,
    full_owner,
    refused,
    run_job,
    serving,
    wait_until,
)

DEEP = "n4096_q26x3_p27"
FLOAT = 1
MODEL = LinearModel(np.array([[1.0, 2.0, 0.0, -1.0], [0.5, 0.0, 1.0, 0.0]]), np.array([0.25, -0.5]))


class Sender:
    """A device, and its connection."""

    def __init__(self, server: Server, fleet: str, device: FullDevice) -> None:
        self.device, self.fleet = device, fleet
        self.client = server.client(device_token(server.owner(), fleet, device.number))

    def send(self, values: Any, measured: float | None = None) -> int:
        """The counter of the attempt."""
        path = f"/v1/fleets/{self.fleet}/deliveries"
        query = {} if measured is None else {"measured": measured}
        response = self.client.post(path, content=self.device.encrypt(values), params=query)
        return self.device.receipt(response).counter


@pytest.fixture(scope="module")
def deep(server: Server) -> Owner:
    """A fleet `deep` with room for products, and its keys."""
    keys = Owner.generate(DEEP, model=MODEL)
    owner = server.owner()
    define_full(owner, "deep", keys, log2_scale=25)
    assert keys.evaluation_keys.relin is not None and keys.evaluation_keys.galois is not None
    accepted(owner.put("/v1/fleets/deep/keys/relin", content=keys.evaluation_keys.relin))
    accepted(owner.put("/v1/fleets/deep/keys/galois", content=keys.evaluation_keys.galois))
    return keys


def deep_sender(server: Server, keys: Owner, number: int) -> Sender:
    device = FullDevice(keys, number, log2_scale=25).enroll(server.owner(), "deep")
    return Sender(server, "deep", device)


def test_mean_variance_and_weighted_sum(server: Server, deep: Owner) -> None:
    readings = {1: [1.0, -2.0, 3.0], 2: [2.0, 0.5, -1.0], 3: [0.0, 4.0, 1.0]}
    for number, values in readings.items():
        deep_sender(server, deep, number).send(values)
    owner, truth = server.owner(), np.array(list(readings.values()))
    among = {"devices": list(readings)}
    shown, (total,) = run_job(owner, "deep", {"kind": "mean", **among})
    np.testing.assert_allclose(deep.decrypt(total)[:3] / shown["result"]["windows"], truth.mean(0), atol=1e-3)
    shown, (total, squares) = run_job(owner, "deep", {"kind": "variance", **among})
    mean, count = deep.decrypt(total)[:3] / 3, shown["result"]["windows"]
    np.testing.assert_allclose(deep.decrypt(squares)[:3] / count - mean**2, truth.var(0), atol=1e-2)
    weights = {"1": 0.5, "2": -2.0, "3": 1.0}
    _, (result,) = run_job(owner, "deep", {"kind": "weighted-sum", "weights": weights, "bound": 8})
    expected = np.array(list(weights.values())) @ truth
    np.testing.assert_allclose(deep.decrypt(result)[:3], expected, atol=1e-2)


def test_scores_are_answered_to_devices(server: Server, deep: Owner) -> None:
    sender = deep_sender(server, deep, 10)
    values = np.array([0.5, -1.0, 0.25, 1.0])
    counter = sender.send(values)
    spec = {
        "kind": "linear",
        "devices": [10],
        "model": {"format": "ciphermote-linear-model", **_model_fields()},
        "bound": 2,
        "answer": {"largest": 8, "log2_tiles": 0},
    }
    _, (score,) = run_job(server.owner(), "deep", spec)
    np.testing.assert_allclose(deep.decrypt(score)[:2], MODEL.scores(values), atol=1e-2)
    frames = accepted(sender.client.get(f"/v1/fleets/deep/results/{counter}")).content
    keys, device = deep.secret_key, sender.device
    decryption = testing.Decryption.ckks(
        core_params(deep.parameters), keys.packed, deep.key_id, False, 63, FLOAT, 0, 0, 8
    )
    random = device.last_random
    decryption.expect_tagged(device.tag_keys.results, 10, 1, counter, counter, random)
    decryption.feed(frames)
    np.testing.assert_allclose(np.asarray(decryption.end())[:2], MODEL.scores(values), atol=1e-2)
    refused(sender.client.get(f"/v1/fleets/deep/results/{counter + 1}"), 404, "no-result")
    other = deep_sender(server, deep, 11)
    refused(other.client.get(f"/v1/fleets/deep/results/{counter}?device=10"), 403, "other-device")
    path = f"/v1/fleets/deep/devices/10/results/{counter}"
    refused(server.owner().put(path, content=score, params={"largest": 9}), 409, "answered")
    accepted(server.owner().put(path, content=score, params={"largest": 8, "log2_tiles": 0}))


def test_devices_that_fetch_no_more_do_not_hold_up_the_others(server: Server) -> None:
    """A device that was enrolled anew begins its counters again: it is not answered by its old windows."""
    owner, keys = server.owner(), Owner.generate(DEEP, model=MODEL)
    define_full(owner, "leavers", keys, log2_scale=25)
    assert keys.evaluation_keys.galois is not None
    accepted(owner.put("/v1/fleets/leavers/keys/galois", content=keys.evaluation_keys.galois))

    def sender(number: int, epoch: int = 1) -> Sender:
        device = FullDevice(keys, number, epoch, log2_scale=25).enroll(owner, "leavers")
        return Sender(server, "leavers", device)

    anew, revoked, stays = sender(1), sender(2), sender(3)
    values = np.array([0.5, -1.0, 0.25, 1.0])
    counters = [each.send(values) for each in (anew, revoked, stays)]
    before_return = time.time()
    again = sender(1, epoch=2)
    assert again.send(-values) == counters[0]
    accepted(owner.post("/v1/fleets/leavers/devices/2/revoke"))
    spec = {
        "kind": "linear",
        "model": {"format": "ciphermote-linear-model", **_model_fields()},
        "bound": 2,
        "answer": {"largest": 8, "log2_tiles": 0},
    }
    shown, scores = run_job(owner, "leavers", spec, ends=before_return)
    assert (shown["state"], shown["error"]) == ("done", None)
    assert (shown["result"]["windows"], shown["result"]["unanswered"]) == (3, 2)
    assert shown["result"]["seconds"] > 0
    for score in scores:
        np.testing.assert_allclose(keys.decrypt(score)[:2], MODEL.scores(values), atol=1e-2)
    accepted(stays.client.get(f"/v1/fleets/leavers/results/{counters[2]}"))
    refused(again.client.get(f"/v1/fleets/leavers/results/{counters[0]}"), 404, "no-result")
    shown, _ = run_job(owner, "leavers", spec, begins=before_return)
    assert (shown["result"]["windows"], shown["result"]["unanswered"]) == (1, 0)
    accepted(again.client.get(f"/v1/fleets/leavers/results/{counters[0]}"))


def test_weights_that_weigh_nothing_are_refused_at_once(server: Server) -> None:
    owner, keys = server.owner(), CompactKeys.generate(COMPACT_SETS[0])
    define_compact(owner, "weightless", keys, 4)
    PacketDevice(keys, 1).enroll(owner, "weightless")
    define_full(owner, "weightless-full", full_owner())
    FullDevice(full_owner(), 1).enroll(owner, "weightless-full")
    for fleet in ("weightless", "weightless-full"):
        for weights in ({"1": 0}, {}):
            spec = {"kind": "weighted-sum", "weights": weights, "bound": 1}
            refused(owner.post(f"/v1/fleets/{fleet}/jobs", json={"spec": spec}), 422, "invalid")
            stream = {"name": "none", "spec": {"job": spec, "every": 60}}
            refused(owner.post(f"/v1/fleets/{fleet}/streams", json=stream), 422, "invalid")
    for weight in ((1 << 20) + 1, -(1 << 20) - 1, 0.5):
        spec = {"kind": "weighted-sum", "weights": {"1": weight}}
        refused(owner.post("/v1/fleets/weightless/jobs", json={"spec": spec}), 422, "weights")
    spec = {"kind": "weighted-sum", "weights": {"1": 1 << 20}}
    accepted(owner.post("/v1/fleets/weightless/jobs", json={"spec": spec}))


def test_models_that_a_compact_fleet_cannot_take_are_refused_at_once(server: Server) -> None:
    owner, keys = server.owner(), CompactKeys.generate(L)
    define_compact(owner, "narrow", keys, 200)
    rows = [[1.0] * 200]
    model = {"format": "ciphermote-linear-model", "version": 1, "labels": [], "weights": rows, "bias": [0.0]}
    accepted(owner.post("/v1/fleets/narrow/jobs", json={"spec": {"kind": "linear", "model": model}}))
    PacketDevice(keys, 1, largest=255).enroll(owner, "narrow")
    for spec, name, words in (
        ({"model": model}, "model", "no room for 200 features with values up to 255"),
        ({"model": {**model, "weights": [[1.0]]}}, "model", "takes 1 feature, and windows"),
        ({"model": model, "bound": 1}, "not-compact", "leave bound out"),
        ({"model": model, "answer": {"largest": 8}}, "not-compact", "for the owner"),
    ):
        for path, body in (
            ("jobs", {"spec": {"kind": "linear", **spec}}),
            ("streams", {"name": "none", "spec": {"job": {"kind": "linear", **spec}, "every": 60}}),
        ):
            answer = owner.post(f"/v1/fleets/narrow/{path}", json=body)
            refused(answer, 422, name)
            assert words in answer.text
    refused(owner.post("/v1/fleets/narrow/jobs", json={"spec": {"kind": "variance"}}), 422, "not-compact")


def _model_fields() -> dict[str, Any]:
    import json

    fields: dict[str, Any] = json.loads(MODEL.to_json())
    return fields


def test_what_the_fleets_keys_do_not_allow_is_refused(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "shallow", full_owner())
    for spec in ({"kind": "variance"}, {"kind": "linear", "model": _model_fields(), "bound": 1}):
        refused(owner.post("/v1/fleets/shallow/jobs", json={"spec": spec}), 422, "no-keys")
    for spec in ({"devices": [5]}, {"kind": "weighted-sum", "weights": {"5": 1}, "bound": 1}):
        refused(owner.post("/v1/fleets/shallow/jobs", json={"spec": spec}), 422, "unknown-device")
    other = Owner.generate(DEEP)
    assert other.evaluation_keys.relin is not None
    define_full(owner, "deep2", Owner.generate(DEEP), log2_scale=25)
    relin = other.evaluation_keys.relin
    refused(owner.put("/v1/fleets/deep2/keys/relin", content=relin), 422, "other-key")


def test_devices_with_keys_of_their_own(server: Server) -> None:
    keys = full_owner()
    owner = server.owner()
    scale = 17  # the largest with room for the sum: key switching's noise is near n / 2^scale
    define_full(owner, "own", keys, own_keys=True, log2_scale=scale)
    for number in (1, 2):
        made = keys.device_keys()
        device = FullDevice(keys, number, own=made.secret_key, largest=20, log2_scale=scale)
        device.enroll(owner, "own")
        sender = Sender(server, "own", device)
        sender.send([number, 10.0])
        sender.send([number, 20.0])
        if number == 1:
            job, _ = run_job(owner, "own", {"kind": "sum"})
            assert job["state"] == "failed" and "rekey key" in job["error"]
            backwards = Owner.device_keys  # the toolkit makes keys from devices to owners alone
            assert backwards is Owner.device_keys
        path = f"/v1/fleets/own/devices/{number}/rekey"
        refused(owner.put(path, content=keys.device_keys().rekey_key), 422, "other-key")
        accepted(owner.put(path, content=made.rekey_key))
    _, (result,) = run_job(owner, "own", {"kind": "sum", "per_device": 2})
    np.testing.assert_allclose(keys.decrypt(result)[:2], [6, 60], atol=0.1)


def test_streams_late_data_and_replay(server: Server) -> None:
    owner, keys = server.owner(), full_owner()
    define_full(owner, "stream", keys)
    sender = Sender(server, "stream", FullDevice(keys, 1).enroll(owner, "stream"))
    start = time.time() // 100 * 100 - 1000
    for offset, value in ((5, 1.0), (15, 2.0), (25, 4.0)):
        sender.send([value], start + offset)
    spec = {"job": {"kind": "sum", "per_device": 10}, "every": 10, "span": 20, "begins": start}
    accepted(owner.post("/v1/fleets/stream/streams", json={"name": "sliding", "spec": spec}))
    refused(owner.post("/v1/fleets/stream/streams", json={"name": "sliding", "spec": spec}), 409, "exists")

    def done(begins: float) -> dict[str, Any] | None:
        jobs = owner.get("/v1/fleets/stream/jobs").json()["items"]
        found = [j for j in jobs if j["begins"] == begins and j["state"] == "done"]
        return found[-1] if found else None

    for begins, expected in ((start, 3.0), (start + 10, 6.0), (start + 20, 4.0)):
        wait_until(lambda begins=begins: done(begins), f"the interval from {begins}")
        job = done(begins)
        assert job is not None
        _, (result,) = ended_job(owner, "stream", job["id"])
        np.testing.assert_allclose(keys.decrypt(result)[:1], [expected], atol=0.1)
    empty = done(start + 40)
    wait_until(lambda: done(start + 40), "an empty interval")
    empty = done(start + 40)
    assert empty is not None and (empty["result"]["windows"], empty["result"]["parts"]) == (0, 0)

    sender.send([8.0], start + 6)
    first = done(start)
    assert first is not None
    assert owner.get(f"/v1/fleets/stream/jobs/{first['id']}").json()["late"] == 1
    again = accepted(owner.post(f"/v1/fleets/stream/jobs/{first['id']}/replay")).json()["id"]
    shown, (result,) = ended_job(owner, "stream", again)
    assert (shown["replay"], shown["late"], shown["result"]["windows"]) == (1, 0, 3)
    np.testing.assert_allclose(keys.decrypt(result)[:1], [11.0], atol=0.1)
    accepted(owner.delete("/v1/fleets/stream/streams/sliding"))
    assert owner.get("/v1/fleets/stream/streams").json()["items"] == []


def test_a_device_weighs_no_more_than_it_may(server: Server) -> None:
    owner, keys = server.owner(), full_owner()
    define_full(owner, "bound", keys, windows_per_hour=60)
    sender = Sender(server, "bound", FullDevice(keys, 1, largest=60).enroll(owner, "bound"))
    for value in range(60):
        sender.send([value])
    response = sender.client.post("/v1/fleets/bound/deliveries", content=sender.device.encrypt([1.0]))
    refused(response, 429, "too-many-windows")
    assert int(response.headers["retry-after"]) > 0
    job, (result,) = run_job(owner, "bound", {"kind": "sum", "per_device": 2})
    assert job["result"]["windows"] == 2
    np.testing.assert_allclose(keys.decrypt(result)[:1], [1.0], atol=0.1)


def test_a_job_whose_result_could_outgrow_the_modulus_is_refused(
    server: Server,
) -> None:
    """Two windows of at most 250 have room at the fleet's scale, and a third would not, whatever it holds."""
    owner, keys = server.owner(), full_owner()
    define_full(owner, "wide", keys)
    for number in (1, 2, 3):
        device = FullDevice(keys, number, largest=250).enroll(owner, "wide")
        Sender(server, "wide", device).send([80.0])
    for kind in ("sum", "mean"):
        _, (result,) = run_job(owner, "wide", {"kind": kind, "devices": [1, 3]})
        np.testing.assert_allclose(keys.decrypt(result)[:1], [160.0], atol=0.2)
        job, _ = run_job(owner, "wide", {"kind": kind})
        assert job["state"] == "failed"
        assert f"The {kind} of 3 windows may reach 750, and a ciphertext of {SET} with" in job["error"]


def test_jobs_outlive_their_workers(tmp_path: Path) -> None:
    """A worker that is stopped with a job in hand is killed: another one computes it."""
    with serving(tmp_path / "data", "--workers", "1") as server:
        owner, keys = server.owner(), full_owner()
        define_full(owner, "work", keys)
        sender = Sender(server, "work", FullDevice(keys, 1).enroll(owner, "work"))
        for value in range(3):
            sender.send([value])
        worker = _worker(server)
        os.kill(worker, signal.SIGSTOP)
        path = "/v1/fleets/work/jobs"
        job = accepted(owner.post(path, json={"spec": {"kind": "sum", "per_device": 3}})).json()["id"]
        cancelled = accepted(owner.post(path, json={"spec": {}})).json()["id"]
        accepted(owner.post(f"{path}/{cancelled}/cancel"))
        os.kill(worker, signal.SIGKILL)
        _, (result,) = ended_job(owner, "work", job)
        np.testing.assert_allclose(keys.decrypt(result)[:1], [3.0], atol=0.1)
        assert owner.get(f"{path}/{cancelled}").json()["state"] == "cancelled"
        refused(owner.post(f"{path}/{cancelled}/cancel"), 409, "wrong-state")
        accepted(owner.post(f"{path}/{cancelled}/retry"))
        _, (result,) = ended_job(owner, "work", cancelled)
        np.testing.assert_allclose(keys.decrypt(result)[:1], [0.0], atol=0.1)
        server.kill()
        server.start()
        _, (result,) = ended_job(server.owner(), "work", job)
        np.testing.assert_allclose(keys.decrypt(result)[:1], [3.0], atol=0.1)


def _worker(server: Server) -> int:
    """The process id of the gateway's one worker."""
    assert server.process is not None

    def children() -> list[int]:
        assert server.process is not None
        text = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        return [int(child) for child in text.split()]

    wait_until(children, "a worker")
    return children()[0]


def test_a_fleet_of_integers(server: Server) -> None:
    owner, keys = server.owner(), full_owner()
    define_full(owner, "integers", keys, plain_modulus=12289)
    device = FullDevice(keys, 1, plain_modulus=12289, largest=30).enroll(owner, "integers")
    sender = Sender(server, "integers", device)
    for values in ([1, 2, 3], [10, 20, 30]):
        sender.send(values)
    _, (result,) = run_job(owner, "integers", {"kind": "sum", "per_device": 2})
    assert list(keys.decrypt(result, places="slots")[:3]) == [11, 22, 33]
    ckks = FullDevice(keys, 2).enroll(owner, "integers")
    client: httpx.Client = server.client(device_token(owner, "integers", 2))
    refused(client.post("/v1/fleets/integers/deliveries", content=ckks.encrypt([1.0])), 422, "foreign")
