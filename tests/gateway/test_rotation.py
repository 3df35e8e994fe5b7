# SPDX-License-Identifier: Apache-2.0
"""Rotation of an owner's key: what is stored is switched to the new key, sums stay right whatever is under
which, and the old key ends once nothing is under it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.base.errors import MismatchError, ParameterError
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.evaluate.evaluator import Evaluator
from ciphermote.gateway import jobs, key_path, rekeying, rotations
from ciphermote.gateway.backup import back_up, restore
from ciphermote.gateway.database.sqlite import connect
from ciphermote.gateway.deletions import Target
from ciphermote.gateway.executors.local import LocalExecutor
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.key_path import RekeyKeys
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.sources import GivenSource
from ciphermote.gateway.store.extents import Extent
from ciphermote.gateway.store.interface import Reader, Store
from ciphermote.gateway.verifying import verify
from ciphermote.gateway.worker import Worker
from ciphermote.gateway.wrapping import Wrapper
from ciphermote.owner.decryption import Decrypted
from ciphermote.owner.rotation import rotation_key
from ciphermote.parameters import CKKS
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import Enrolment, JobRequest
from gateway_support import LARGEST, SET, FullDevice, enrolment, frames_of, full_owner
from postgres_support import database_url
from site_support import Site, on_site, refusal_of
from store_support import S3, s3, servers

__all__ = ["s3", "servers"]

SCALE = 17
"""At n = 2048 a key switch's noise is near n / 2^SCALE, and a sum of three has room."""


class Fleets:
    """A fleet of a site, and the keys that it has had."""

    def __init__(
        self, site: Site, *, set_name: str = SET, log2_scale: int | None = SCALE, **more: Any
    ) -> None:
        self.site = site
        self.keys = [Owner.generate(set_name, largest=LARGEST)]
        self._log2_scale = log2_scale
        definition = {"lane": "full", **({} if log2_scale is None else {"log2_scale": log2_scale}), **more}
        fields = {
            "parameters": parameters_to_dict(self.owner.parameters),
            "key_id": f"{self.owner.key_id:016x}",
        }
        site.define("meters", {**definition, **fields})

    @property
    def fleet(self) -> Fleet:
        return self.site.gateway.registry.fleet(self.site.tenant, "meters")

    @property
    def owner(self) -> Owner:
        """The present keys."""
        return self.keys[-1]

    def enroll(self, number: int, epoch: int = 1, **more: Any) -> FullDevice:
        found = FullDevice(self.owner, number, epoch, log2_scale=self._log2_scale, **more)
        body = enrolment(found.tag_keys, found.key_id, epoch, more.get("largest", LARGEST))
        self.site.gateway.registry.enroll(self.fleet, number, Enrolment(**body))
        return found

    async def send(self, device: FullDevice, *values: float) -> bytes:
        data = device.encrypt(values)
        await self.site.send(self.fleet, data)
        return data

    def rotate(self) -> bytes:
        """Give the fleet new keys."""
        new = Owner.generate(self.owner.parameters.name, largest=LARGEST)
        key = rotation_key(self.owner.secret_key, new.secret_key)
        self.site.gateway.rotations.start(self.fleet, new.key_id, key)
        self.keys.append(new)
        return key

    def rekey(self, **spec: Any) -> dict[str, Any]:
        fleet = self.fleet
        return self.site.work(fleet, self.site.gateway.jobs.add(fleet, _request({"kind": "rekey", **spec})))

    def sum(self, **spec: Any) -> Decrypted:
        """The sum of everything, decrypted by the present keys."""
        fleet = self.fleet
        done = self.site.work(fleet, self.site.add(fleet, spec))
        assert done["state"] == "done", done["error"]
        data = self.site.gateway.jobs.result(fleet.id, done["id"], 0)
        return self.owner.decrypt_with_errors(data)

    def counts(self) -> list[tuple[int, int]]:
        """(windows, devices) of each key, the present one first."""
        listed = self.site.gateway.rotations.listed(self.fleet)
        return [(key["windows"], key["devices"]) for key in listed["keys"]]

    def places(self) -> list[str]:
        rows = self.site.gateway.database.connection.execute("SELECT extents FROM windows ORDER BY sequence")
        return [row["extents"] for row in rows]


def _request(spec: dict[str, Any]) -> JobRequest:
    return JobRequest(spec=spec)


async def three(site: Site, **more: Any) -> tuple[Fleets, list[FullDevice]]:
    """A fleet with a window of each of three devices, whose sum is [6, 3]."""
    found = Fleets(site, **more)
    devices = [found.enroll(number) for number in (1, 2, 3)]
    for device in devices:
        await found.send(device, device.number, 1.0)
    return found, devices


def within(found: Decrypted, *expected: float) -> float:
    """All slots are right within the stated error, which at most one value in 1,000 is beyond, and none by
    far. The error is returned."""
    assert found.errors is not None
    wanted = np.zeros(len(found.values))
    wanted[: len(expected)] = expected
    beyond = np.abs(found.values - wanted) / found.errors
    assert np.mean(beyond > 1) < 0.01 and np.max(beyond) < 3
    error = float(np.max(found.errors))
    assert 0 < error < 0.5
    return error


@pytest.mark.parametrize("kind", ["shared", "public", "own"])
def test_sums_are_right_before_during_and_after_two_rotations(tmp_path: Path, kind: str) -> None:
    """The stated error covers the noise of each key switch: of the sum as long as windows are as they were
    sent, of each window once they are switched, and both times once they are switched twice."""

    async def what(site: Site) -> None:
        found = Fleets(site, own_keys=kind == "own")
        for number in (1, 2, 3):
            made = found.owner.device_keys() if kind == "own" else None
            device = found.enroll(number, public=kind == "public", own=made and made.secret_key)
            if made is not None:
                site.gateway.registry.put_rekey_key(found.fleet, number, made.rekey_key)
            await found.send(device, number, 1.0)
        errors = [within(found.sum(), 6, 3)]
        for rotation in (1, 2):
            found.rotate()
            errors.append(within(found.sum(), 6, 3))
            assert found.counts()[:2] == [(0, 0), (3, 3 if rotation == 1 else 0)]
            assert found.rekey()["result"]["windows"] == 3
            assert found.counts()[:2] == [(3, 0), (0, 3 if rotation == 1 else 0)]
            errors.append(within(found.sum(), 6, 3))
        assert errors == sorted(set(errors))
        (data,) = _parts(site, found.fleet)
        for earlier in found.keys[:2]:
            with pytest.raises(MismatchError):
                earlier.decrypt(data)
        assert not list(verify(tmp_path, database_url(tmp_path))) and site.bytes()

    on_site(tmp_path, what)


def _parts(site: Site, fleet: Fleet, **spec: Any) -> list[bytes]:
    done = site.work(fleet, site.add(fleet, spec))
    assert done["state"] == "done", done["error"]
    return [site.gateway.jobs.result(fleet.id, done["id"], part) for part in range(done["result"]["parts"])]


def test_integers_stay_exact(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found = Fleets(site, set_name="n4096_q26x3_p27", log2_scale=None, plain_modulus=65537)
        device = found.enroll(1, plain_modulus=65537, largest=100)
        for value in (7, 60):
            await found.send(device, value, 1)
        for _ in range(2):
            found.rotate()
            for _ in range(2):
                (data,) = _parts(site, found.fleet)
                assert list(found.owner.decrypt(data, places="slots")[:2]) == [67, 2]
                assert found.rekey()["state"] == "done"

    on_site(tmp_path, what)


def test_a_stopped_rotation_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job is cancelled between two batches, and in the middle of one: that one changes nothing. Sums over
    windows under both keys are right."""
    monkeypatch.setattr(rekeying, "_BATCH", 1)

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        before = found.places()
        job = site.gateway.jobs.add(found.fleet, _request({"kind": "rekey"}))
        store = rekeying.Rekeying._replace
        calls = itertools.count(1)

        def stopping(self: rekeying.Rekeying, batch: Any) -> None:
            if next(calls) == 2:
                site.gateway.jobs.change(found.fleet, job, "cancel")
            store(self, batch)

        with monkeypatch.context() as patched:
            patched.setattr(rekeying.Rekeying, "_replace", stopping)
            assert site.work(found.fleet, job)["state"] == "cancelled"
        middle = found.places()
        assert middle[0] != before[0] and middle[1:] == before[1:]
        assert found.counts() == [(1, 0), (2, 3)]
        within(found.sum(), 6, 3)
        within(found.sum(groups={"count": 1, "seed": "0" * 32}), 6, 3)
        site.gateway.jobs.change(found.fleet, job, "retry")
        done = site.work(found.fleet, job)
        assert (done["state"], done["result"]["windows"], done["total"]) == ("done", 3, 3)
        assert found.places()[0] == middle[0] and found.counts() == [(3, 0), (0, 3)]
        within(found.sum(), 6, 3)
        again = found.places()
        assert found.rekey()["state"] == "done" and found.places() == again
        site.bytes()

    on_site(tmp_path, what)


def test_a_batch_may_take_longer_than_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker renews the lease between windows, or another one would begin anew, and neither end."""
    monkeypatch.setattr(jobs, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr("ciphermote.gateway.worker._RENEW_SECONDS", 0.1)
    switched = rekeying.Rekeying._switched

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        other = Worker(site.folder, "other", database_url(site.folder))

        def slowly(self: rekeying.Rekeying, window: Any) -> Any:
            time.sleep(0.6)
            assert other._jobs.lease("other") is None
            return switched(self, window)

        with monkeypatch.context() as patched:
            patched.setattr(rekeying.Rekeying, "_switched", slowly)
            done = found.rekey()
        other._database.close()
        assert (done["state"], done["tries"], done["result"]["windows"]) == ("done", 1, 3)

    on_site(tmp_path, what)


@pytest.mark.parametrize("kind", ["shared", "own"])
def test_windows_of_a_deleted_device_are_in_no_job(tmp_path: Path, kind: str) -> None:
    """From the moment that it is marked, before its rows are removed."""

    async def what(site: Site) -> None:
        found = Fleets(site, own_keys=kind == "own")
        for number in (1, 2, 3):
            if kind == "own":
                keys = found.owner.device_keys()
                device = found.enroll(number, own=keys.secret_key)
                site.gateway.registry.put_rekey_key(found.fleet, number, keys.rekey_key)
            else:
                device = found.enroll(number)
            await found.send(device, number, 1.0)
        found.rotate()
        with site.gateway.database.writing() as database:
            site.gateway.deletions.begin(database, Target(site.tenant, found.fleet.id, 2))
        within(found.sum(), 4, 2)
        done = found.rekey()
        assert (done["state"], done["result"]["windows"]) == ("done", 2)
        within(found.sum(), 4, 2)

    on_site(tmp_path, what)


def test_a_window_whose_tag_keys_do_not_open_is_named(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        with site.gateway.database.writing() as database:
            database.execute(
                "UPDATE devices SET keys = (SELECT keys FROM devices WHERE number = 1) WHERE number = 2"
            )
        failed = found.rekey()
        assert failed["state"] == "failed" and "window 0 of device 2" in failed["error"]
        assert found.counts() == [(2, 0), (1, 3)]

    on_site(tmp_path, what)


def test_what_is_refused_takes_no_room(tmp_path: Path) -> None:
    """Nobody's quota counts objects that no row refers to."""

    async def what(site: Site) -> None:
        found = Fleets(site, own_keys=True)
        found.enroll(1, own=found.owner.device_keys().secret_key)
        found.rotate()
        back = rotation_key(found.owner.secret_key, found.keys[0].secret_key)
        before = {each.name for each in site.gateway.store.objects()}
        rotations, registry = site.gateway.rotations, site.gateway.registry
        start = partial(rotations.start, found.fleet, found.keys[0].key_id, back)
        assert refusal_of(start) == "old-key"
        other = found.owner.device_keys().rekey_key
        assert refusal_of(partial(registry.put_rekey_key, found.fleet, 1, other)) == "other-key"
        assert {each.name for each in site.gateway.store.objects()} == before

    on_site(tmp_path, what)


@pytest.mark.parametrize("what_is_sent", ["evaluation keys", "device", "rekey key"])
def test_what_was_checked_by_the_old_key_is_not_stored_under_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what_is_sent: str
) -> None:
    """The key changes after a request was checked, and before it is stored: evaluation keys would stay in the
    place of those that are forgotten, and a device would be of a key that may be retired by then."""

    async def what(site: Site) -> None:
        found = Fleets(site, set_name="n4096_q26x3_p27", own_keys=what_is_sent != "evaluation keys")
        keys, relin = found.owner.device_keys(), found.owner.evaluation_keys.relin
        assert relin is not None
        registry = site.gateway.registry
        calls: dict[str, Callable[[], object]] = {
            "evaluation keys": partial(registry.put_evaluation_keys, found.fleet, "relin", relin),
            "device": partial(found.enroll, 1, own=keys.secret_key),
            "rekey key": partial(registry.put_rekey_key, found.fleet, 1, keys.rekey_key),
        }
        if what_is_sent == "rekey key":
            found.enroll(1, own=keys.secret_key)
        where = Wrapper if what_is_sent == "device" else type(site.gateway.store)
        name = "wrap" if what_is_sent == "device" else "put"
        slow = getattr(where, name)

        def meanwhile(*given: Any) -> Any:
            with monkeypatch.context() as restored:
                restored.setattr(where, name, slow)
                found.rotate()
            return slow(*given)

        with monkeypatch.context() as patched:
            patched.setattr(where, name, meanwhile)
            assert refusal_of(calls[what_is_sent]) == "rotated"
        assert not site.gateway.jobs.keys(found.fleet.id)
        assert found.counts() == [(0, 0), (0, 1 if what_is_sent == "rekey key" else 0)]

    on_site(tmp_path, what)


def test_a_task_gets_the_keys_that_its_windows_are_switched_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where tasks can read no store, and not those of all rotations, which are up to 16 MB each."""
    given: list[int] = []
    make = GivenSource.of

    def noting(store: Store, reader: Reader, extents: Iterable[str], digests: Iterable[str]) -> GivenSource:
        found = list(digests)
        given.append(len(found))
        return make(store, reader, extents, found)

    async def what(site: Site) -> None:
        found, _ = await three(site)
        for expected in (0, 1, 2):
            given.clear()
            within(found.sum(), 6, 3)
            assert given == [expected]
            found.rotate()
        assert found.rekey()["state"] == "done"
        given.clear()
        within(found.sum(), 6, 3)
        assert given == [0]

    monkeypatch.setattr(LocalExecutor, "reads", "object store")
    monkeypatch.setattr(GivenSource, "of", noting)
    on_site(tmp_path, what)


def test_a_group_of_one_window_is_under_the_present_key(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        for _ in range(2):
            parts = _parts(site, found.fleet, groups={"count": 3, "seed": "0" * 32})
            assert np.sum([found.owner.decrypt(part)[0] for part in parts]) == pytest.approx(6, abs=0.2)
            found.rekey()

    on_site(tmp_path, what)


def test_a_job_that_ran_when_the_key_changed_begins_anew(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, _ = await three(site)
        job = site.add(found.fleet)
        worker = Worker(site.folder, "late", database_url(site.folder))
        leased = worker._jobs.lease("late")
        assert leased is not None
        found.rotate()
        worker._work(leased)
        worker._database.close()
        assert site.gateway.jobs.shown(found.fleet.id, job)["state"] == "queued"
        assert site.work(found.fleet, job)["state"] == "done"
        data = site.gateway.jobs.result(found.fleet.id, job, 0)
        np.testing.assert_allclose(found.owner.decrypt(data)[:2], [6, 3], atol=0.2)

    on_site(tmp_path, what)


def test_old_bytes_stay_while_a_job_may_read_them_and_go_then(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, devices = await three(site)
        old = {Extent.parse(text).place for text in found.places()}
        await found.send(devices[0], 4.0, 4.0)  # so that the others' segment is full
        found.rotate()
        summing = site.add(found.fleet)
        worker = Worker(site.folder, "slow", database_url(site.folder))
        leased = worker._jobs.lease("slow")
        assert leased is not None and leased.id == summing
        size = site.bytes()
        assert found.rekey()["state"] == "done"
        assert site.bytes() > size
        await site.sweep(0)
        assert old <= {found.name for found in site.gateway.store.places()}
        worker._work(leased)
        worker._database.close()
        await site.sweep(0)
        left = {found.name for found in site.gateway.store.places()} - site.gateway.store.growing()
        assert not left & old
        within(found.sum(), 10, 7)
        site.bytes()

    on_site(tmp_path, what)


@pytest.mark.parametrize("leave_out", [False, True])
def test_a_damaged_window_is_named_and_stays_under_the_old_key(tmp_path: Path, leave_out: bool) -> None:  # noqa: FBT001
    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        _flip(site, found.places()[1], 900)
        done = found.rekey(leave_out_damaged=leave_out)
        assert found.counts() == [(2, 0), (1, 3)]
        if leave_out:
            assert (done["state"], done["result"]["windows"], done["result"]["damaged"]) == ("done", 2, 1)
        else:
            assert done["state"] == "failed" and "window 0 of device 2, epoch 1" in done["error"]
        assert (
            refusal_of(lambda: site.gateway.rotations.retire(found.fleet, found.keys[0].key_id))
            == "key-in-use"
        )

    on_site(tmp_path, what)


def _flip(site: Site, extents: str, at: int) -> None:
    """Flip a bit of a stored window."""
    extent = Extent.parse(extents)
    name = f"{int(extent.place):08d}.segment" if extent.place.isdecimal() else f"{extent.place}.batch"
    with (site.folder / "segments" / name).open("r+b") as file:
        file.seek(extent.offset + at)
        byte = file.read(1)[0]
        file.seek(extent.offset + at)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("at", [5, 30, 900, -1])
def test_damage_of_a_switched_window_is_found(tmp_path: Path, at: int) -> None:
    """A bit of its head, of SEAL's header, of residues, and of its label's digest."""

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        found.rekey()
        extent = Extent.parse(found.places()[1])
        _flip(site, str(extent), at % extent.size)
        fleet = found.fleet
        done = site.work(fleet, site.add(fleet))
        assert done["state"] == "failed" and "window 0 of device 2, epoch 1" in done["error"]
        within(found.sum(leave_out_damaged=True), 4, 2)
        assert [damage.kind for damage in verify(site.folder, database_url(site.folder))] == ["window"]
        found.rotate()
        assert "window 0 of device 2" in found.rekey()["error"]

    on_site(tmp_path, what)


def test_what_devices_send_under_the_old_key_counts_until_it_is_retired(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, devices = await three(site)
        old, rotations = found.owner.key_id, site.gateway.rotations
        key = found.rotate()
        rotations.start(found.fleet, found.owner.key_id, key)  # repeated: no further rotation
        assert len(found.counts()) == 2
        found.rekey()
        await found.send(devices[0], 4.0, 4.0)
        assert found.counts() == [(3, 0), (1, 3)]
        within(found.sum(), 10, 7)
        assert refusal_of(lambda: rotations.retire(found.fleet, old)) == "key-in-use"
        await found.send(found.enroll(1, epoch=2), -4.0, -4.0)
        site.gateway.registry.set_state(found.fleet, 2, "revoked")
        with pytest.raises(Refusal, match="1 device"):
            rotations.retire(found.fleet, old)
        site.gateway.registry.set_state(found.fleet, 3, "revoked")
        with pytest.raises(Refusal, match="1 window"):
            rotations.retire(found.fleet, old)
        found.rekey()
        assert found.counts() == [(5, 1), (0, 0)]
        assert refusal_of(lambda: rotations.retire(found.fleet, found.owner.key_id)) == "key-in-use"
        assert refusal_of(lambda: rotations.retire(found.fleet, 1)) == "no-such-key"
        for _ in range(2):
            rotations.retire(found.fleet, old)
        assert rotations.listed(found.fleet)["keys"][1]["retired"]
        stored = len(list(site.gateway.store.objects()))
        await site.sweep(1)
        assert len(list(site.gateway.store.objects())) < stored
        within(found.sum(), 6, 3)
        site.bytes()

    on_site(tmp_path, what)


def test_a_key_on_the_way_from_an_earlier_one_stays(tmp_path: Path) -> None:
    """Two rotations, and nothing is switched in between: windows go by way of the second key."""

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        found.rotate()
        await site.sweep(1)
        error = within(found.sum(), 6, 3)
        first, second, _ = (keys.key_id for keys in found.keys)
        with pytest.raises(Refusal, match="earlier"):
            site.gateway.rotations.retire(found.fleet, second)
        assert found.rekey()["state"] == "done" and found.counts() == [(3, 0), (0, 0), (0, 3)]
        assert within(found.sum(), 6, 3) > error
        for number in (1, 2, 3):
            site.gateway.registry.set_state(found.fleet, number, "revoked")
        for key_id in (first, second):
            site.gateway.rotations.retire(found.fleet, key_id)

    on_site(tmp_path, what)


def test_a_fleet_has_few_earlier_keys_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotations, "MOST_EARLIER_KEYS", 2)

    async def what(site: Site) -> None:
        found = Fleets(site)
        found.rotate()
        found.rotate()
        with pytest.raises(Refusal, match="2 earlier keys") as refused:
            found.rotate()
        assert refused.value.name == "too-many-keys"
        site.gateway.rotations.retire(found.fleet, found.keys[0].key_id)
        found.rotate()
        assert len(found.counts()) == 4

    on_site(tmp_path, what)


def test_rekey_keys_are_kept_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many a tenant has, they take no more memory; the last one read stays, however large it is."""
    owner, new = Owner.generate(SET), Owner.generate(SET)
    data = rotation_key(owner.secret_key, new.secret_key)
    evaluator = Evaluator(owner.parameters, CKKS)
    reads: list[str] = []

    def read(digest: str) -> bytes:
        reads.append(digest)
        return data

    monkeypatch.setattr(key_path, "MOST_BYTES", 2 * len(data))
    keys = RekeyKeys(lambda: evaluator)
    for digest in "abcacb":
        assert keys.get(digest, new.key_id, read).key_id == new.key_id
        assert keys.bytes <= 2 * len(data)
    assert "".join(reads) == "abcab"
    monkeypatch.setattr(key_path, "MOST_BYTES", 1)
    assert keys.get("d", new.key_id, read) and keys.bytes == len(data)


def test_a_repeated_delivery_of_a_switched_window_gets_its_receipt(tmp_path: Path) -> None:
    """And so does one of a window that is deleted after it was switched."""

    async def what(site: Site) -> None:
        found, _ = await three(site)
        device = found.enroll(9)
        data = device.encrypt([1.0, 2.0])
        receipt = (await site.send(found.fleet, data)).receipt
        found.rotate()
        found.rekey()
        for part in (data, *frames_of(data)):
            assert receipt is not None and (await site.send(found.fleet, part)).receipt == receipt
        site.gateway.registry.set_retention(found.fleet, 1)
        await site.sweep(2)
        assert all(site.deleted(found.fleet)) and found.counts()[0] == (0, 0)
        for part in (data, *frames_of(data)):
            assert (await site.send(found.fleet, part)).receipt == receipt
        rows = site.gateway.database.connection.execute("SELECT parts FROM windows").fetchall()
        assert all(json.loads(row["parts"])["parts"] for row in rows)
        assert not [name for name in site.segments() if name.endswith(".batch")]
        site.bytes()

    on_site(tmp_path, what)


def test_without_room_the_rotation_stops_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekeying, "_BATCH", 1)

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        database = site.gateway.database.connection
        (used,) = database.execute("SELECT bytes FROM tenants WHERE id = ?", (site.tenant,)).fetchone()
        limit = "UPDATE tenants SET most_bytes = ? WHERE id = ?"
        database.execute(limit, (used + 50_000, site.tenant))
        done = found.rekey()
        assert done["state"] == "failed" and "quota" in done["error"]
        (switched, _), (left, _) = found.counts()
        assert switched > 0 and left > 0 and switched + left == 3
        database.execute(limit, (1 << 40, site.tenant))
        within(found.sum(), 6, 3)
        site.gateway.jobs.change(found.fleet, done["id"], "retry")
        assert site.work(found.fleet, done["id"])["state"] == "done" and found.counts()[1] == (0, 3)
        site.bytes()

    on_site(tmp_path, what)


def test_keys_that_do_not_lead_to_a_new_one_are_refused(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        found, _ = await three(site)
        old, new, other = found.owner, Owner.generate(SET), Owner.generate(SET)
        rotations = site.gateway.rotations

        def refused(data: bytes, key_id: int = new.key_id) -> str:
            return refusal_of(lambda: rotations.start(found.fleet, key_id, data))

        right = rotation_key(old.secret_key, new.secret_key)
        assert refused(rotation_key(other.secret_key, new.secret_key)) == "other-key"
        assert refused(right, other.key_id) == refused(b"nothing") == refused(right[:-1]) == "bad-keys"
        assert refused(new.secret_key.to_seal()) == "secret-key"
        assert len(found.counts()) == 1
        found.rotate()
        back = rotation_key(found.owner.secret_key, old.secret_key)
        assert refused(back, old.key_id) == "old-key"
        assert refused(right) == "other-key"
        with pytest.raises(MismatchError):
            rotation_key(old.secret_key, old.secret_key)
        with pytest.raises(ParameterError, match="largest"):
            rotation_key(Owner.generate(SET, largest=1000).secret_key, new.secret_key)
        with pytest.raises(ParameterError, match="same set"):
            rotation_key(Owner.generate("n4096_q26x3_p27").secret_key, new.secret_key)
        with pytest.raises(ParameterError, match="device"):
            rotation_key(old.device_keys().secret_key, new.secret_key)

    on_site(tmp_path, what)


def test_windows_that_cannot_be_switched_are_listed_and_summed_under_their_key(tmp_path: Path) -> None:
    async def what(site: Site) -> None:
        small = full_owner("n1024_q26")
        fields = {"parameters": parameters_to_dict(small.parameters), "key_id": f"{small.key_id:016x}"}
        one = site.define("one-prime", {"lane": "full", "log2_scale": 10, **fields})
        keys = CompactKeys.generate(COMPACT_SETS[0])
        of_compact = {"lane": "compact", "set": keys.set.name, "key_id": f"{keys.key_id:016x}"}
        compact = site.define("compact", {**of_compact, "positions": [[0, 3]]})
        right = rotation_key(full_owner().secret_key, Owner.generate(SET).secret_key)
        rotations, job = site.gateway.rotations, _request({"kind": "rekey"})
        for fleet, reason in ((one, "one prime"), (compact, "Compact")):
            assert reason in rotations.listed(fleet)["fixed"]
            assert refusal_of(partial(rotations.start, fleet, 5, right)) == "no-key-switching"
            assert refusal_of(partial(site.gateway.jobs.add, fleet, job)) == "no-key-switching"
        with pytest.raises(ParameterError, match="one prime"):
            rotation_key(small.secret_key, Owner.generate("n1024_q26").secret_key)

    on_site(tmp_path, what)


@pytest.mark.sqlite
def test_backups_of_before_and_after_are_whole(tmp_path: Path) -> None:
    data, secrets = tmp_path / "data", tmp_path / "secrets"
    places: dict[str, list[str]] = {}

    async def what(site: Site) -> None:
        found, _ = await three(site)
        found.rotate()
        for name in ("before", "after"):
            back_up(data, tmp_path / name, secrets)
            places[name] = found.places()
            found.rekey()

    on_site(data, what)
    assert places["before"] != places["after"]
    for name in places:
        restored = tmp_path / f"restored-{name}"
        restore(tmp_path / name, secrets, restored)
        assert not list(verify(restored))
        with contextlib.closing(connect(restored / "gateway.db")) as database:
            rows = database.execute("SELECT extents FROM windows ORDER BY sequence").fetchall()
        assert [row["extents"] for row in rows] == places[name]


@pytest.mark.sqlite
def test_an_object_store_keeps_old_windows_for_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: S3
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    url = s3.new_url()

    async def what(site: Site) -> None:
        found, _ = await three(site)
        old = {Extent.parse(text).place for text in found.places()}
        back_up(site.folder, tmp_path / "backup", tmp_path / "secrets")
        found.rotate()
        assert found.rekey()["state"] == "done"
        within(found.sum(), 6, 3)

        def there() -> set[str]:
            return {place.name for place in site.gateway.store.places()} & old

        await site.sweep(1)
        assert there() == old
        back_up(site.folder, tmp_path / "backup", tmp_path / "secrets")
        await site.sweep(1)
        assert not there()
        within(found.sum(), 6, 3)
        assert not list(verify(site.folder, store=site.gateway.store)) and site.bytes()

    on_site(tmp_path / "data", what, url)


MODEL = LinearModel(np.array([[1.0, 2.0], [0.5, 0.0]]), np.array([0.25, -0.5]))


def test_variances_and_scores_use_the_new_keys(tmp_path: Path) -> None:
    """The old evaluation keys are forgotten; and a device that has no keys of the new one gets no answer."""

    async def what(site: Site) -> None:
        found, devices = await three(site, set_name="n4096_q26x3_p27", log2_scale=25)
        before = found.owner.evaluation_keys.relin
        assert before is not None
        site.gateway.registry.put_evaluation_keys(found.fleet, "relin", before)
        found.rotate()
        variance = _request({"kind": "variance", "per_device": 9})
        assert refusal_of(lambda: site.gateway.jobs.add(found.fleet, variance)) == "no-keys"
        found.owner.extend(model=MODEL)
        keys, registry = found.owner.evaluation_keys, site.gateway.registry
        assert keys.relin is not None and keys.galois is not None
        for kind, data in (("relin", keys.relin), ("galois", keys.galois)):
            registry.put_evaluation_keys(found.fleet, kind, data)
        found.rekey()
        await found.send(devices[0], 4.0, 1.0)
        await found.send(found.enroll(4), 5.0, 1.0)
        truth = np.array([[1, 1], [2, 1], [3, 1], [4, 1], [5, 1]], float)
        total, squares = (
            found.owner.decrypt(part)[:2] for part in _parts(site, found.fleet, kind="variance")
        )
        np.testing.assert_allclose(total, truth.sum(0), atol=1e-2)
        np.testing.assert_allclose(squares, (truth**2).sum(0), atol=1e-1)
        (weighted,) = _parts(site, found.fleet, kind="weighted-sum", weights={"1": 2.0, "4": -1.0}, bound=10)
        np.testing.assert_allclose(found.owner.decrypt(weighted)[:2], [5, 3], atol=1e-2)
        fields = json.loads(MODEL.to_json())
        spec = {"kind": "linear", "model": fields, "bound": 10, "answer": {"largest": 64, "log2_tiles": 0}}
        done = site.work(found.fleet, site.add(found.fleet, spec))
        assert done["result"]["unanswered"] == 4
        for part, values in enumerate((truth[0], truth[3], truth[1], truth[2], truth[4])):
            score = site.gateway.jobs.result(found.fleet.id, done["id"], part)
            np.testing.assert_allclose(found.owner.decrypt(score)[:2], MODEL.scores(values), atol=1e-1)

    on_site(tmp_path, what)
