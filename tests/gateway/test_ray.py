# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster: the same bytes as on one machine, whatever dies, and a cluster that is closed."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.base.errors import ParameterError
from ciphermote.cli import app
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import C
from ciphermote.compact.sums import CompactResult, decrypt_sum
from ciphermote.gateway.computing import Result, compute
from ciphermote.gateway.executors import dial, opening
from ciphermote.gateway.executors.interface import ExecutorUnavailable, Handle, Task, TaskLost
from ciphermote.gateway.executors.local import LocalExecutor
from ciphermote.gateway.executors.opening import check_compute
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.jobs import MOST_TRIES
from ciphermote.gateway.worker import Worker
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import Enrolment
from gateway_support import (
    FullDevice,
    PacketDevice,
    accepted,
    define_full,
    device_token,
    ended_job,
    enrolment,
    full_owner,
    serving,
    wait_until,
)
from ray_support import Cluster, cluster, cluster_of, descendants, session_cluster
from site_support import Site as GatewaySite
from site_support import on_site
from store_support import Servers, servers
from typer.testing import CliRunner

__all__ = ["cluster", "servers", "session_cluster"]

DEEP = "n4096_q26x3_p27"
MODEL = LinearModel(np.array([[1.0, 2.0, 0.0, -1.0], [0.5, 0.0, 1.0, 0.0]]), np.array([0.25, -0.5]))


def driven(folder: Path, cluster: Cluster, **environment: str) -> dict[str, Any]:
    """Return the line that ray_driver.py prints for the waiting jobs."""
    command = (sys.executable, Path(__file__).parent / "ray_driver.py", folder, cluster.address)
    variables = {**os.environ, "PGPASSWORD": "secret", **environment}
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=variables, timeout=100)
    (line,) = (line for line in found.stdout.splitlines() if line.startswith(b"{"))  # Ray writes there too
    shown: dict[str, Any] = json.loads(line)
    assert shown["password"] is None, "tasks have the environment of their node"
    return shown


def full_fleet(site: GatewaySite, keys: Owner, **more: Any) -> Fleet:
    fields = {"parameters": parameters_to_dict(keys.parameters), "key_id": f"{keys.key_id:016x}"}
    fleet = site.define("full", {"lane": "full", "log2_scale": 25, **fields, **more})
    for kind in ("galois", "relin"):
        content = getattr(keys.evaluation_keys, kind)
        site.gateway.registry.put_evaluation_keys(fleet, kind, content)
    return fleet


async def send_windows(site: GatewaySite, fleet: Fleet, device: FullDevice, count: int) -> None:
    body = enrolment(device.tag_keys, device.key_id)
    site.gateway.registry.enroll(fleet, device.number, Enrolment(**body))
    for number in range(count):
        await site.send(fleet, device.encrypt([device.number, number % 4, 1.0, 0.0]))


async def compact_fleet(site: GatewaySite, devices: int, windows: int) -> tuple[Fleet, CompactKeys]:
    keys = CompactKeys.generate(C)
    fields = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
    fleet = site.define("compact", {**fields, "positions": [[0, 4]]})
    for number in range(1, devices + 1):
        device = PacketDevice(keys, number)
        keys, entry = device.keys, device.enrolment
        body = enrolment(device.tag_keys, keys.key_id, entry.epoch, entry.largest_value)
        site.gateway.registry.enroll(fleet, number, Enrolment(**body))
        for _ in range(windows):
            for packet in device.encrypt([number, 0, 1, 2]):
                await site.send(fleet, packet)
    return fleet, keys


FULL_SPECS: list[dict[str, Any]] = [
    {"kind": "sum"},
    {"kind": "mean", "devices": [1, 3]},
    {"kind": "sum", "groups": {"count": 2, "seed": "0" * 32}},
    {"kind": "sum", "groups": {"count": 3, "seed": "0" * 32}},
    {"kind": "weighted-sum", "weights": {"1": 0.5, "2": -2.0, "3": 1.0}, "bound": 8},
    {"kind": "variance"},
    {"kind": "linear", "model": json.loads(MODEL.to_json()), "bound": 8},
]


COMPACT_SPECS: list[dict[str, Any]] = [
    {"kind": "sum"},
    {"kind": "weighted-sum", "weights": {"1": 1.0, "2": 0.0, "3": -1.0}},
    {"kind": "sum", "groups": {"count": 2, "seed": "0" * 32}},
    {"kind": "sum", "groups": {"count": 3, "seed": "0" * 32}},
    {"kind": "linear", "model": json.loads(MODEL.to_json())},
]


@pytest.mark.parametrize("kept", ["store", pytest.param("directory", marks=pytest.mark.slow)])
def test_results_are_the_same_bytes_as_on_one_machine(tmp_path: Path, cluster: Cluster, kept: str) -> None:
    keys = Owner.generate(DEEP, model=MODEL)

    async def what(site: GatewaySite) -> None:
        fleet = full_fleet(site, keys)
        for number in (1, 2, 3):
            await send_windows(site, fleet, FullDevice(keys, number, log2_scale=25), 3)
        compact, compact_keys = await compact_fleet(site, 3, 3)
        jobs = [site.add(fleet, spec) for spec in FULL_SPECS]
        jobs += [site.add(compact, spec) for spec in COMPACT_SPECS]
        found = driven(tmp_path / "data", cluster)["results"]
        assert len(found) == len(jobs)
        for (here, there), spec in zip(found, FULL_SPECS + COMPACT_SPECS, strict=True):
            assert here == there, spec
        get = site.gateway.store.get
        total = keys.decrypt(get(found[0][1][1][0]))
        np.testing.assert_allclose(total[:3], [18, 9, 9], atol=0.01)
        compact_total = CompactResult.from_bytes(get(found[len(FULL_SPECS)][1][1][0]))
        assert decrypt_sum(compact_keys, compact_total).values.tolist() == [18, 0, 9, 18]

    on_site(tmp_path / "data", what, cluster.s3.new_url() if kept == "store" else None)


def test_tasks_whose_process_or_node_dies_are_computed_again(tmp_path: Path, cluster: Cluster) -> None:
    keys = Owner.generate(DEEP, model=MODEL)
    node = cluster.start_node(1)
    killed: list[str] = []
    is_over = threading.Event()

    def kill() -> None:
        while not is_over.wait(0.002) and len(killed) < 4:
            running = cluster.task_processes()
            of_node = set(descendants(node.pid)).intersection(running) if node.poll() is None else set()
            if of_node and killed:
                cluster.kill(node)
                killed.append("node")
            elif running and killed.count("process") < 3:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(running[0], signal.SIGKILL)
                    killed.append("process")
                time.sleep(0.2)

    async def what(site: GatewaySite) -> None:
        fleet = full_fleet(site, keys)
        for number in (1, 2, 3):
            await send_windows(site, fleet, FullDevice(keys, number, log2_scale=25), 12)
        for spec in ({"kind": "variance"}, FULL_SPECS[-1]):
            site.add(fleet, spec)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            found = driven(tmp_path / "data", cluster, LOSE_A_TASK="1")
        finally:
            is_over.set()
            killer.join()
        assert "node" in killed and "process" in killed and found["lost"]
        for here, there in found["results"]:
            assert here == there
        wait_until(lambda: not cluster.task_processes(), "the end of all tasks")

    on_site(tmp_path / "data", what, cluster.s3.new_url())


@pytest.mark.slow
def test_jobs_wait_for_a_cluster_and_never_go_to_one_that_is_open(
    tmp_path: Path, cluster: Cluster, servers: Servers
) -> None:
    keys = full_owner()
    with cluster_of(cluster.s3) as later:
        options = ("--store", later.s3.new_url(), "--compute", later.address)
        impatient = {**later.environment, "RAY_gcs_rpc_server_reconnect_timeout_s": "3"}
        with serving(tmp_path / "data", *options, **impatient) as server:

            def waits_for(why: str) -> bool:
                found = accepted(server.client().get("/readyz")).json()
                return found["ready"] and why in (found["jobs_wait"] or "")

            owner = server.owner()
            define_full(owner, "fleet", keys)
            device = FullDevice(keys, 1).enroll(owner, "fleet")
            client = server.client(device_token(owner, "fleet", 1))
            device.receipt(client.post("/v1/fleets/fleet/deliveries", content=device.encrypt([1.0])))
            wait_until(lambda: waits_for("cannot be reached"), "the reason")
            job = accepted(owner.post("/v1/fleets/fleet/jobs", json={"spec": {"kind": "sum"}})).json()["id"]
            closed, later.environment = later.environment, {**later.environment, "RAY_AUTH_MODE": "disabled"}
            opened = later.start_head(1)
            wait_until(lambda: waits_for("answers who has no token"), "the other reason")
            assert owner.get(f"/v1/fleets/fleet/jobs/{job}").json()["state"] == "queued"
            later.kill(opened)
            later.environment = closed
            head = later.start_head(1)
            shown, (result,) = ended_job(owner, "fleet", job)
            assert shown["tries"] == 1 and server.client().get("/readyz").json()["jobs_wait"] is None
            np.testing.assert_allclose(keys.decrypt(result)[:1], [1.0], atol=0.1)
            later.kill(head)
            job = accepted(owner.post("/v1/fleets/fleet/jobs", json={"spec": {"kind": "sum"}})).json()["id"]
            wait_until(lambda: waits_for("cannot be reached"), "the reason")
            later.start_head(1)
            _, again = ended_job(owner, "fleet", job)
            assert again == [result]


def test_a_cluster_refuses_who_has_no_token(cluster: Cluster, tmp_path: Path) -> None:
    command = (sys.executable, "-m", dial.__name__, cluster.address)
    assert subprocess.run(command, check=False, timeout=60).returncode == dial.REFUSED
    other = tmp_path / "token"
    other.write_text("0" * 64)
    program = f"from ray._raylet import GcsClient; GcsClient(address='{cluster.address}').get_all_node_info()"
    for token, is_refused in ((other, True), (Path(cluster.environment["RAY_AUTH_TOKEN_PATH"]), False)):
        found = subprocess.run(
            (sys.executable, "-c", program),
            env={**os.environ, "RAY_AUTH_TOKEN_PATH": str(token)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ("AuthenticationError" in found.stderr) == is_refused == (found.returncode != 0)


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("RAY_AUTH_MODE", "disabled", "without a token"),
        ("RAY_AUTH_TOKEN_PATH", "/nowhere", "names no file"),
        ("RAY_USE_TLS", "0", "without TLS"),
        ("RAY_TLS_SERVER_KEY", "", "names no file"),
    ],
)
def test_a_gateway_refuses_ray_without_token_or_tls(
    ray_files: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, sentence: str
) -> None:
    check_compute("head.example:6379")
    monkeypatch.setenv(variable, value)
    ended = CliRunner().invoke(app, ["serve", "--data", str(ray_files / "data"), "--compute", "head:6379"])
    assert ended.exit_code != 0 and not (ray_files / "data").exists()
    with pytest.raises(ParameterError, match=sentence):
        check_compute("head.example:6379")


def test_a_gateway_refuses_a_token_that_others_read_an_old_ray_and_other_addresses(
    ray_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ray_files / "token").chmod(0o640)
    with pytest.raises(ParameterError, match="not this user's alone"):
        check_compute("head.example:6379")
    (ray_files / "token").chmod(0o600)
    for address in ("ray://head.example:10001", "head.example", "head:0", "head:6379/x", "http://head:1"):
        with pytest.raises(ParameterError, match=r"HOST:PORT"):
            check_compute(address)
    monkeypatch.setattr(opening, "version", lambda name: "2.59.1")
    with pytest.raises(ParameterError, match=r"2\.59\.1 is installed, and 2\.60\.0 is the oldest"):
        check_compute("head.example:6379")


@pytest.fixture
def ray_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of an environment for Ray."""
    names = ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY")
    variables = {"RAY_AUTH_TOKEN_PATH": "token", **{name: name.lower() for name in names}}
    for variable, name in variables.items():
        (tmp_path / name).write_text("something")
        (tmp_path / name).chmod(0o600)
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_USE_TLS", "1")
    return tmp_path


class Recorder(LocalExecutor):
    """Threads that read no directory, and keep what a cluster would be sent."""

    reads: Literal["directory", "object store"] = "object store"

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def share(self, name: str, make: Callable[[], Any]) -> Any:
        found = super().share(name, make)
        self.sent.append(name.encode() + pickle.dumps(found.get()))
        return found

    def submit(self, task: Task, *arguments: Any) -> Handle:
        self.sent.append(pickle.dumps((task, [each for each in arguments if not isinstance(each, Future)])))
        return super().submit(task, *arguments)


@pytest.mark.parametrize("kept", ["store", "directory"])
def test_tasks_get_nothing_secret(tmp_path: Path, cluster: Cluster, kept: str) -> None:
    keys = Owner.generate(DEEP, model=MODEL)

    async def what(site: GatewaySite) -> None:
        fleet = full_fleet(site, keys)
        device = FullDevice(keys, 1, log2_scale=25)
        await send_windows(site, fleet, device, 2)
        compact, _ = await compact_fleet(site, 1, 2)
        rows = site.gateway.database.connection.execute("SELECT keys, fleet, number, epoch FROM devices")
        secrets = [(site.folder / "wrap.key").read_bytes()]
        for wrapped, *place in rows:
            opened = site.gateway.wrapper.unwrap(wrapped, *place)
            secrets += [wrapped, opened.frames, opened.receipts, opened.results]
        assert device.tag_keys.frames in secrets
        recorder, worker = Recorder(), Worker(site.folder, "tests")
        for of, specs in ((fleet, [FULL_SPECS[0], *FULL_SPECS[5:]]), (compact, COMPACT_SPECS[:1])):
            for spec in specs:
                job = site.add(of, spec)
                leased = worker._jobs.lease("tests")
                assert leased is not None and leased.id == job
                compute(leased, worker._site, recorder, lambda done, total: None)
        sent = b"".join(recorder.sent)
        assert keys.evaluation_keys.galois is not None
        assert keys.evaluation_keys.galois in sent and b"compact_sum" in sent
        assert not [secret for secret in secrets if secret in sent]
        worker._database.close()
        recorder.close()

    on_site(tmp_path / "data", what, cluster.s3.new_url() if kept == "store" else None)


def test_a_job_whose_task_ends_every_process_counts_as_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> Result:
        raise TaskLost("out of memory")

    monkeypatch.setattr("ciphermote.gateway.worker.compute", fault)

    async def what(site: GatewaySite) -> None:
        fleet = site.fleet("fleet")
        job = site.add(fleet)
        for tries in range(1, MOST_TRIES + 1):
            assert site.work(fleet, job)["tries"] == tries
        assert site.gateway.jobs.lease("next") is None
        assert site.gateway.jobs.shown(fleet.id, job)["state"] == "failed"

    on_site(tmp_path / "data", what)


def test_a_job_waits_again_when_its_executor_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> Result:
        raise ExecutorUnavailable("gone")

    monkeypatch.setattr("ciphermote.gateway.worker.compute", fault)

    async def what(site: GatewaySite) -> None:
        fleet = site.fleet("fleet")
        job = site.add(fleet)
        with pytest.raises(ExecutorUnavailable):
            site.work_once()
        shown = site.gateway.jobs.shown(fleet.id, job)
        assert (shown["state"], shown["tries"]) == ("queued", 0)

    on_site(tmp_path / "data", what)
