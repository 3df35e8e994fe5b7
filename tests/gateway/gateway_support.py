# SPDX-License-Identifier: Apache-2.0
"""A real gateway, a real broker, and devices of both lanes, for the tests of the gateway."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from ciphermote import Owner, _core
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.keys import CompactKeys
from ciphermote.formats.receipts import Receipt
from ciphermote.formats.tags import TagKeys
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.parameters.native import core_params
from demos.fleet.site import Broker, Server, free_port
from demos.fleet.site import serving as serving_directory
from demos.fleet.station import SECONDS, wait_until
from postgres_support import database_url

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

__all__ = ["SECONDS", "Broker", "Server", "free_port", "serving", "wait_until"]

SET = "n2048_q26_p27"
LOG2_SCALE = 15
LARGEST = 10.0
"""What no |value| of a device is beyond, unless a test says otherwise: 51 of them have room at this scale."""


@contextmanager
def serving(data: Path, *options: str, **environment: str) -> Iterator[Server]:
    """A gateway for the block, over the database that the test runs over."""
    url = database_url(data)
    with serving_directory(data, *options, *(("--database", url) if url else ()), **environment) as server:
        yield server


@cache
def full_owner(name: str = SET) -> Owner:
    return Owner.generate(name)


def refused(response: httpx.Response, status: int, name: str) -> None:
    """The response is that problem, with a sentence."""
    assert (response.status_code, response.json()["type"]) == (status, f"urn:ciphermote:problem:{name}"), (
        response.text
    )
    assert len(response.json()["detail"]) > 10


def accepted(response: httpx.Response) -> httpx.Response:
    assert response.status_code < 300, response.text
    return response


def define_full(owner: httpx.Client, name: str, keys: Owner, **more: Any) -> None:
    """A fleet of CKKS ciphertexts, unless more says otherwise."""
    definition = {
        "lane": "full",
        "parameters": parameters_to_dict(keys.parameters),
        "key_id": f"{keys.key_id:016x}",
        **({} if more.get("plain_modulus") else {"log2_scale": LOG2_SCALE}),
        **more,
    }
    accepted(owner.put(f"/v1/fleets/{name}", json=definition))


def enrolment(
    tag_keys: TagKeys, key_id: int, epoch: int = 1, largest_value: float = LARGEST
) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "key_id": f"{key_id:016x}",
        "largest_value": largest_value,
        "frames_key": tag_keys.frames.hex(),
        "receipts_key": tag_keys.receipts.hex(),
        "results_key": tag_keys.results.hex(),
    }


def device_token(owner: httpx.Client, fleet: str, device: int | None = None) -> str:
    asked = {"scope": "device", "fleet": fleet, **({} if device is None else {"device": device})}
    return str(accepted(owner.post("/v1/tokens", json=asked)).json()["token"])


class FullDevice:
    """Encrypts values to tagged frames, by the C library."""

    def __init__(
        self,
        keys: Owner,
        number: int,
        epoch: int = 1,
        *,
        public: bool = False,
        own: SecretKey | None = None,
        log2_scale: int | None = None,
        plain_modulus: int = 0,
        largest: float = LARGEST,
    ) -> None:
        """public: encrypts under the owner's public key; own: under a secret key of its own."""
        self._largest = largest
        self.keys, self.number, self.epoch = keys, number, epoch
        self.secret = os.urandom(32)
        self._key = own or keys.secret_key
        assert self._key.key_id is not None
        self.key_id = self._key.key_id
        self.tag_keys = TagKeys.derive(self.secret, self.key_id, number, epoch)
        self.log2_scale, self.plain_modulus = log2_scale or LOG2_SCALE, plain_modulus
        self.last_random = b""
        self._public = public
        self.boot(0)

    def boot(self, counter: int) -> None:
        """Start with this counter."""
        self.counter = counter
        self._device = _core.Device(self.secret, os.urandom, lambda: self.counter, self._write)
        self._device.tag_as(self.tag_keys.frames, self.number, self.epoch)

    def _write(self, value: int) -> None:
        self.counter = value

    def encrypt(self, values: Any, window: int | None = None) -> bytes:
        """The frames of one attempt; window: of a window that is sent once more."""
        self._device.window = 2**64 - 1 if window is None else window
        frames = self._encrypt(values)
        self.last_random = frames[56:64]
        return frames

    def _encrypt(self, values: Any) -> bytes:
        params, keys = core_params(self.keys.parameters), self.keys
        if self.plain_modulus:
            integers = np.asarray(values, dtype=np.uint32)
            options = (3, integers, self.plain_modulus, 1, 32, True, "frames", int(self._largest))
            return self._device.encrypt_bfv_symmetric(params, self._key.packed, self.key_id, *options)
        numbers = np.asarray(values, dtype=np.float32)
        real = (numbers, self.log2_scale, 31, False, 0, "frames", self._largest)
        if self._public:
            residues = keys.public_key.residues.reshape(-1)
            return self._device.encrypt_asymmetric(params, residues, keys.key_id, *real)
        return self._device.encrypt_symmetric(params, self._key.packed, self.key_id, 3, *real)

    def enroll(self, owner: httpx.Client, fleet: str) -> FullDevice:
        path = f"/v1/fleets/{fleet}/devices/{self.number}"
        accepted(owner.put(path, json=enrolment(self.tag_keys, self.key_id, self.epoch, self._largest)))
        return self

    def receipt(self, response: httpx.Response) -> Receipt:
        assert response.status_code == 200, response.text
        return Receipt.from_bytes(response.content, self.tag_keys.receipts)


class PacketDevice:
    """Encrypts values to packets of the compact lane."""

    def __init__(
        self, keys: CompactKeys, number: int, packet_bytes: int = 200, largest: int | None = None
    ) -> None:
        self.keys, self.enrolment = keys.enroll(number, largest)
        self.number = number
        self.tag_keys = TagKeys.derive(self.enrolment.secret, keys.key_id, number, self.enrolment.epoch)
        self.counter = 0
        self._packet_bytes = packet_bytes
        self.boot()

    def _write(self, value: int) -> None:
        self.counter = value

    def boot(self) -> None:
        """Forget everything but the keys and the counter."""
        self._device = CompactDevice(
            self.keys,
            self.enrolment,
            packet_bytes=self._packet_bytes,
            counter_read=lambda: self.counter,
            counter_write=self._write,
        )

    def encrypt(self, values: Any, window: int | None = None) -> list[bytes]:
        return self._device.encrypt(values, 0, window)[0]

    def enroll(self, owner: httpx.Client, fleet: str) -> PacketDevice:
        entry = self.enrolment
        body = enrolment(self.tag_keys, self.keys.key_id, entry.epoch, entry.largest_value)
        accepted(owner.put(f"/v1/fleets/{fleet}/devices/{self.number}", json=body))
        return self


def define_compact(owner: httpx.Client, name: str, keys: CompactKeys, values: int) -> None:
    definition = {
        "lane": "compact",
        "set": keys.set.name,
        "key_id": f"{keys.key_id:016x}",
        "positions": [[0, values]],
    }
    accepted(owner.put(f"/v1/fleets/{name}", json=definition))


def frames_of(data: bytes) -> list[bytes]:
    """The frames of an attempt, one by one."""
    found = []
    while data:
        length = 64 + int.from_bytes(data[40:44], "little") + 12
        found.append(data[:length])
        data = data[length:]
    return found


def run_job(
    owner: httpx.Client, fleet: str, spec: dict[str, Any], **more: Any
) -> tuple[dict[str, Any], list[bytes]]:
    """(the job as it ended, its results)."""
    job = accepted(owner.post(f"/v1/fleets/{fleet}/jobs", json={"spec": spec, **more})).json()["id"]
    return ended_job(owner, fleet, job)


def ended_job(owner: httpx.Client, fleet: str, job: int) -> tuple[dict[str, Any], list[bytes]]:
    path = f"/v1/fleets/{fleet}/jobs/{job}"
    wait_until(lambda: owner.get(path).json()["state"] in ("done", "failed"), f"job {job}")
    shown = owner.get(path).json()
    parts = shown["result"]["parts"] if shown["result"] else 0
    return shown, [accepted(owner.get(f"{path}/results/{part}")).content for part in range(parts)]


def problem(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data)
    return found


def workers_of(folder: Path) -> list[int]:
    """Processes that compute for this directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ciphermote.gateway.worker" in words and str(folder).encode() in words:
            found.append(int(entry.parent.name))
    return found
