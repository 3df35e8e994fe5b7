# SPDX-License-Identifier: Apache-2.0
"""A receipt outlives a power cut. SIGKILL proves nothing of the kind, for the kernel keeps what was written;
so a gateway's system calls are journaled (synced.c), and its directory is rebuilt from synced writes alone,
as of many moments (synced.py). Faults planted in the gateway show that these tests notice.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import synced
from ciphermote.formats.receipts import Receipt, Verdict
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.settings import Settings
from ciphermote.gateway.tls import own_certificate
from ciphermote.gateway.worker import Worker
from ciphermote.rest.requests import JobRequest
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    frames_of,
    free_port,
    full_owner,
    run_job,
    serving,
)

FLEET = "durable"
DEVICES = 3
WINDOWS = 12
"""Windows of each device."""
CHECKS = 60
"""Moments at which the power is cut."""


@dataclass(frozen=True)
class Sent:
    """A window that was receipted. moment: how long the journal was when its receipt had come."""

    moment: int
    device: FullDevice
    number: int
    data: bytes
    receipt: Receipt


@dataclass
class Recording:
    root: Path
    records: list[synced.Record]
    ready: int
    """When it said so first, in bytes of the journal; enrolled: when all devices were."""
    enrolled: int
    sent: list[Sent] = field(default_factory=list)


def record(folder: Path, windows: int = WINDOWS, **planted: str) -> Recording:
    """Run a gateway under load, and journal it. planted: more of its environment."""
    folder.mkdir()
    root, journal = folder / "data", folder / "journal"
    environment = {**synced.environment(synced.compiled(folder), root, journal), **planted}
    with serving(root, **environment) as server:
        ready = journal.stat().st_size
        owner = server.owner()
        define_full(owner, FLEET, full_owner())
        devices = [FullDevice(full_owner(), number).enroll(owner, FLEET) for number in range(1, DEVICES + 1)]
        tokens = [device_token(owner, FLEET, device.number) for device in devices]
        found = Recording(root, [], ready, journal.stat().st_size)
        threads = [
            threading.Thread(target=_send, args=(found, server, device, token, windows, journal))
            for device, token in zip(devices, tokens, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found.sent) == DEVICES * windows
        shown, _ = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
        assert shown["state"] == "done", shown
    found.records = synced.records(journal)
    found.sent.sort(key=lambda sent: sent.moment)
    return found


def _send(
    found: Recording, server: Server, device: FullDevice, token: str, windows: int, journal: Path
) -> None:
    generator = random.Random(device.number)
    with server.client(token) as client:
        for number in range(windows):
            data = device.encrypt(_values(device.number, number))
            pieces = frames_of(data) if generator.random() < 0.5 else [data]
            generator.shuffle(pieces)
            for piece in pieces:
                answer = accepted(client.post(f"/v1/fleets/{FLEET}/deliveries", content=piece))
            receipt = device.receipt(answer)
            assert (receipt.verdict, receipt.window) == (Verdict.COUNTS, number)
            found.sent.append(Sent(os.stat(journal).st_size, device, number, data, receipt))


def _values(device: int, number: int) -> list[float]:
    """A slot of its own for each window."""
    values = [0.0] * (DEVICES * WINDOWS)
    values[(device - 1) * WINDOWS + number] = 1.0
    return values


# --- the check ----------------------------------------------------------------------------------------------


def missing_after_power_cut(folder: Path, acknowledged: list[Sent]) -> str | None:
    """Return the acknowledged windows that a gateway on this directory has lost."""
    for name in ("gateway.db", "wrap.key", "owner.token", "operator.token"):
        if not (folder / name).exists():
            return name
    try:
        return asyncio.run(_missing(folder, acknowledged))
    except Exception as error:
        return repr(error)


async def _missing(folder: Path, acknowledged: list[Sent]) -> str | None:
    gateway = Gateway(Settings(folder, reserve_bytes=0))
    gateway.intake.start()
    try:
        tenant = gateway.access.of_token((folder / "owner.token").read_text().strip()).tenant
        if acknowledged:
            return await _lost(gateway, folder, tenant, acknowledged)
        return None
    finally:
        await gateway.close()


async def _lost(gateway: Gateway, folder: Path, tenant: int | None, acknowledged: list[Sent]) -> str | None:
    fleet = gateway.registry.fleet(tenant, FLEET)
    listed = {(w["device"], w["number"], w["counter"]) for w in gateway.registry.windows(fleet)}
    for sent in acknowledged:
        if (sent.device.number, sent.number, sent.receipt.counter) not in listed:
            return f"window {sent.number} of device {sent.device.number}"
    total = _sum(gateway, folder, fleet.id)
    expected = np.zeros(DEVICES * WINDOWS)
    for device, number, _ in listed:
        expected += _values(device, number)
    if not np.allclose(total[: len(expected)], expected, atol=0.1):
        return f"the right sum: {np.round(total[: len(expected)])}"
    for sent in {each.device.number: each for each in acknowledged}.values():  # each device's latest
        with gateway.intake.room_for(fleet, None):
            outcome = await gateway.intake.take(fleet, sent.device.number, sent.data)
        if outcome.receipt != sent.receipt.to_bytes(sent.device.tag_keys.receipts):
            return f"the receipt of window {sent.number} of device {sent.device.number}"
    return None


def _sum(gateway: Gateway, folder: Path, fleet: int) -> np.ndarray:
    """The sum of all windows, by a worker."""
    gateway.database.connection.execute("DELETE FROM jobs")
    gateway.jobs.add(gateway.registry.fleet_by_id(fleet), JobRequest(spec={"per_device": 1000}))
    worker = Worker(folder, "checks")
    leased = worker._jobs.lease("checks")
    assert leased is not None
    worker._work(leased)
    return full_owner().decrypt(gateway.jobs.result(fleet, leased.id, 0))


def first_loss(
    found: Recording,
    scratch: Path,
    moments: list[int],
    unsynced: str | None = None,
    chance: random.Random | None = None,
) -> str | None:
    """Cut the power at each moment (how long the journal is then) and say what the first loss was."""
    disk = synced.Disk(found.root, lambda path: unsynced is not None and path.endswith(unsynced))
    records = iter(found.records)
    following = next(records, None)
    for moment in sorted(set(moments)):
        while following is not None and following.end <= moment:
            disk.feed(following)
            following = next(records, None)
        folder = scratch / f"at-{moment}-{chance is None}"
        disk.rebuild(folder, chance)
        acknowledged = [sent for sent in found.sent if sent.moment <= moment]
        loss = missing_after_power_cut(folder, acknowledged)
        if loss is not None:
            return f"{loss}, at {moment} of {found.records[-1].end}"
    return None


# --- the tests ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("durability") / "recorded")


def _moments(found: Recording, count: int) -> list[int]:
    """Right after receipts, and any time."""
    generator = random.Random(3)
    receipts = [sent.moment for sent in found.sent]
    ends = [each.end for each in found.records if each.end >= found.enrolled]
    return [*receipts, *generator.sample(ends, count - len(receipts))]


def test_no_receipt_is_lost_with_what_was_not_synced(recording: Recording, tmp_path: Path) -> None:
    assert first_loss(recording, tmp_path, _moments(recording, CHECKS)) is None


def test_nor_if_some_of_it_was_written_all_the_same(recording: Recording, tmp_path: Path) -> None:
    moments = _moments(recording, CHECKS)
    assert first_loss(recording, tmp_path, moments, chance=random.Random(4)) is None


def test_a_gateway_starts_on_what_a_power_cut_left(recording: Recording, tmp_path: Path) -> None:
    disk = synced.Disk(recording.root)
    middle = recording.sent[len(recording.sent) // 2]
    for each in recording.records:
        if each.end <= middle.moment:
            disk.feed(each)
    disk.rebuild(tmp_path / "data")
    server = Server(tmp_path / "data", free_port()).start()
    try:
        owner = server.owner()
        listed = {
            (w["device"], w["number"])
            for w in accepted(owner.get(f"/v1/fleets/{FLEET}/windows")).json()["items"]
        }
        acknowledged = [sent for sent in recording.sent if sent.moment <= middle.moment]
        assert {(sent.device.number, sent.number) for sent in acknowledged} <= listed
        uplink = server.client(device_token(owner, FLEET))
        for sent in recording.sent:
            answer = uplink.post(f"/v1/fleets/{FLEET}/deliveries", content=sent.data)
            assert sent.device.receipt(answer) == sent.receipt
        _, (total,) = run_job(owner, FLEET, {"kind": "sum", "per_device": 100})
        np.testing.assert_allclose(full_owner().decrypt(total)[: DEVICES * WINDOWS], 1, atol=0.1)
    finally:
        server.stop()


def test_a_power_cut_at_the_first_start_locks_nobody_out(recording: Recording, tmp_path: Path) -> None:
    """Whatever is left of a first start, the next one has tokens to show, and a certificate."""
    disk, generator = synced.Disk(recording.root), random.Random(5)
    for number, each in enumerate(recording.records):
        disk.feed(each)
        if each.end > recording.ready:
            break
        for chance in (None, generator):
            folder = tmp_path / f"{number}-{chance is None}"
            disk.rebuild(folder, chance)
            gateway = Gateway(Settings(folder, reserve_bytes=0))
            for name, scope in (("owner.token", "owner"), ("operator.token", "operator")):
                token = (folder / name).read_text().strip()
                assert gateway.access.of_token(token).scope == scope, (number, chance)
            gateway.database.close()
            for path in own_certificate(folder / "tls", "127.0.0.1"):
                assert path.read_bytes().startswith(b"-----BEGIN"), (number, chance)


@pytest.mark.parametrize("unsynced", [".segment", "gateway.db-wal", "/segments", "/data"])
def test_a_sync_that_is_left_out_is_noticed(recording: Recording, tmp_path: Path, unsynced: str) -> None:
    """Syncs of the segments, of SQLite's log, of the segments' names and of the directory's."""
    last = recording.sent[-1].moment
    assert first_loss(recording, tmp_path, [last], unsynced) is not None


PLANTED = {
    "segments": "import os\nos.fdatasync = lambda file: None\n",
    "database": """\
import functools, sqlite3

class Lax(sqlite3.Connection):
    def execute(self, statement, *values):
        return super().execute(statement.replace("synchronous = FULL", "synchronous = OFF"), *values)

sqlite3.connect = functools.partial(sqlite3.connect, factory=Lax)
""",
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_gateway_that_does_not_sync_is_found_out(tmp_path: Path, what: str) -> None:
    """The fault is in the process that serves, so that the journal has to show it."""
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(PLANTED[what])
    found = record(tmp_path / "recorded", 2, PYTHONPATH=str(planted))
    check = partial(first_loss, found, tmp_path)
    assert check([found.sent[-1].moment]) is not None
