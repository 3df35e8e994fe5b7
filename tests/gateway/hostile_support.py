# SPDX-License-Identifier: Apache-2.0
"""Hostile devices: enrolled like others, with tags of their own, and what they like in their ciphertexts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ciphermote import Owner, _core
from ciphermote.compact import packing
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import CompactSet
from ciphermote.fleet import Attachment, Computation, Fetched, Reading, decrypt, fetch
from ciphermote.parameters.native import core_params
from gateway_support import (
    LARGEST,
    FullDevice,
    PacketDevice,
    Server,
    accepted,
    define_compact,
    define_full,
    device_token,
    frames_of,
)
from numpy.typing import NDArray

from golden import compact as golden
from golden import device as golden_device

_HEADER_BYTES, _TAG_BYTES, _FRAME_HEADER_BYTES = 27, 8, 64


def packet_of(device: PacketDevice, values: Sequence[int]) -> bytes:
    """A packet of any values modulo t, encrypted as the set asks for."""
    keys, entry = device.keys, device.enrolment
    compact, device.counter = keys.set, device.counter + 1000
    ring = golden.Ring(compact.id, compact.n, compact.primes, compact.plain_modulus, compact.dropped_bits)
    window = golden.Window(entry.epoch, entry.device, device.counter, device.counter, os.urandom(8))
    secret = np.array(keys.secret.hosted.coefficients(), dtype=np.int64)
    reduced = [value % compact.plain_modulus for value in values]
    (packet,) = golden.packets(ring, keys.material(entry), window, secret, 0, reduced, 200)
    device.boot()
    return packet


def shift_packet(device: PacketDevice, packet: bytes, added: Sequence[int]) -> bytes:
    """A packet whose c0 is this much larger, modulo Q, with a new tag."""
    compact: CompactSet = device.keys.set
    bits = compact.wire_bits
    body = packet[_HEADER_BYTES:-_TAG_BYTES]
    flat = np.unpackbits(np.frombuffer(body, dtype=np.uint8), bitorder="little")[: len(added) * bits]
    rows = flat.reshape(len(added), bits).astype(np.uint64)
    sent = (rows << np.arange(bits, dtype=np.uint64)).sum(axis=1)
    moved = [
        (((int(old) << compact.dropped_bits) + more) % compact.modulus) >> compact.dropped_bits
        for old, more in zip(sent, added, strict=True)
    ]
    message = packet[:_HEADER_BYTES] + packing.packed(np.array(moved, dtype=np.uint64), bits)
    return message + _core.tag(device.tag_keys.frames, message + bytes(4))


def shift_frames(device: FullDevice, frames: bytes, added: int, power: int = 0) -> bytes:
    """Frames of a ciphertext whose c0 is larger by added X^power, modulo Q, with new tags. Of a constant,
    every CKKS slot is larger by added / scale, every BFV slot by round(t added / Q)."""
    parameters = device.keys.parameters

    def shifted(prime: int, residues: NDArray[np.uint32]) -> NDArray[np.uint32]:
        polynomial = np.zeros(parameters.n, dtype=np.int64)
        polynomial[power] = added % prime
        moved = (residues.astype(np.int64) + golden_device.ntt(polynomial, prime)) % prime
        return moved.astype(np.uint32)

    return _rewritten(device, frames, 0, shifted)


def in_the_clear(device: FullDevice, frames: bytes) -> bytes:
    """Frames of a device with the public key, whose second polynomial is zero."""
    return _rewritten(device, frames, 1, lambda _, residues: np.zeros_like(residues))


def _rewritten(
    device: FullDevice,
    frames: bytes,
    component: int,
    change: Callable[[int, NDArray[np.uint32]], NDArray[np.uint32]],
) -> bytes:
    """Return frames with other residues of one component, and new tags."""
    parameters = device.keys.parameters
    found = []
    for data in frames_of(frames):
        frame = _core.Frame(core_params(parameters), data)
        if frame.is_seed or frame.component != component:
            found.append(data)
            continue
        prime = parameters.primes[frame.prime]
        payload = packing.packed(change(prime, frame.residues()), prime.bit_length())
        message = data[:_FRAME_HEADER_BYTES] + payload
        message += _core.tag(device.tag_keys.frames, message)
        found.append(message + _core.crc32c(message).to_bytes(4, "little"))
    return b"".join(found)


def constant_for(device: FullDevice, value: float) -> int:
    """Return what shift_frames adds for this value in every slot."""
    if modulus := device.plain_modulus:
        q = device.keys.parameters.moduli[len(device.keys.parameters.data_primes)]
        return round(q * value / modulus)
    return round(value * 2.0**device.log2_scale)


DEEP = "n4096_q26x3_p27"
T = 65537
HOSTILE = 3


def owner_of(server: Server, fleet: str, definition: dict[str, Any]) -> Attachment:
    url, token = f"https://localhost:{server.port}", (server.data / "owner.token").read_text().strip()
    return Attachment(Path("keys"), fleet, url, token, (server.data / "tls/ca.pem").read_text(), definition)


class Fleet:
    """Devices of a fleet, and its owner. modulus: t, or for CKKS how far apart values are that wrap into each
    other; modulus_of_ciphertexts: Q. wraps: whether values are whole, modulo t."""

    largest: float
    modulus: float
    wraps: bool

    def read(self, found: Fetched) -> Reading:
        raise NotImplementedError

    def __init__(self, server: Server, fleet: str, folder: Path) -> None:
        self.server, self.fleet, self.folder = server, fleet, folder
        self.uplink = server.client(device_token(server.owner(), fleet))
        definition = next(
            found["definition"]
            for found in accepted(server.owner().get("/v1/fleets")).json()["items"]
            if found["name"] == fleet
        )
        self.attachment = owner_of(server, fleet, definition)
        self.seed = "0123456789abcdef" * 2
        self.round = 1000

    def send(self, number: int, value: float, cheat: float = 0) -> None:
        raise NotImplementedError

    def deliver(self, data: bytes) -> None:
        path, when = f"/v1/fleets/{self.fleet}/deliveries", {"measured": self.round}
        assert accepted(self.uplink.post(path, content=data, params=when)).status_code == 200

    def compute(self, groups: int | None, kind: Any = "sum", **more: Any) -> Fetched:
        """The result of this round's windows."""
        asked = Computation(kind, groups=groups, seed=self.seed, **more)
        with self.attachment.client() as client:
            job = client.add_job(self.fleet, asked, begins=self.round, ends=self.round + 1)
            return fetch(self.attachment, client, job, self.folder, seconds=60)

    def send_all(self, honest: dict[int, float], cheat: float) -> None:
        """A new round, in which device 3 sends what it likes."""
        self.round += 1
        for number, value in honest.items():
            self.send(number, 0 if number == HOSTILE else value, cheat if number == HOSTILE else 0)


class CompactFleet(Fleet):
    """Devices 1 .. count, which send values up to `largest`; device 3 is hostile."""

    def __init__(
        self, server: Server, fleet: str, folder: Path, compact: CompactSet, count: int, values: int = 2
    ) -> None:
        keys = CompactKeys.generate(compact)
        define_compact(server.owner(), fleet, keys, values)
        self.values = values
        self.largest, self.modulus = compact.usual_value, compact.plain_modulus
        self.modulus_of_ciphertexts, self.wraps = compact.modulus, True
        self.devices = {}
        for number in range(1, count + 1):
            device = PacketDevice(keys, number).enroll(server.owner(), fleet)
            self.devices[number], keys = device, device.keys
        self.keys = keys
        super().__init__(server, fleet, folder)

    def send(self, number: int, value: float, cheat: float = 0) -> None:
        """The value at every position; cheat: what a hostile device adds."""
        device = self.devices[number]
        if cheat:
            self.deliver(packet_of(device, [round(cheat)] * self.values))
        else:
            self.deliver(device.encrypt([int(value)] * self.values)[0])

    def read(self, found: Fetched) -> Reading:
        reading = decrypt(found, self.keys)
        assert reading is not None
        return reading


class FullFleet(Fleet):
    """A fleet of full frames, in CKKS or BFV."""

    def __init__(self, server: Server, fleet: str, folder: Path, count: int, plain_modulus: int = 0) -> None:
        self.keys = Owner.generate(DEEP, relin=False)
        more: dict[str, Any] = {"plain_modulus": plain_modulus} if plain_modulus else {"log2_scale": 25}
        define_full(server.owner(), fleet, self.keys, **more)
        self.devices = {
            number: FullDevice(self.keys, number, log2_scale=25, plain_modulus=plain_modulus).enroll(
                server.owner(), fleet
            )
            for number in range(1, count + 1)
        }
        parameters = self.keys.parameters
        q = parameters.moduli[len(parameters.data_primes)]
        self.largest, self.modulus = LARGEST, plain_modulus or q / 2.0**25
        self.modulus_of_ciphertexts, self.wraps = q, bool(plain_modulus)
        super().__init__(server, fleet, folder)

    def send(self, number: int, value: float, cheat: float = 0) -> None:
        device = self.devices[number]
        frames = device.encrypt([value] * 8)
        if cheat:
            frames = shift_frames(device, frames, constant_for(device, cheat))
        self.deliver(frames)

    def read(self, found: Fetched, **more: Any) -> Reading:
        if self.devices[1].plain_modulus:
            more = {"places": "slots", **more}
        reading = decrypt(found, self.keys.secret_key, **more)
        assert reading is not None
        return reading


def left_out(reading: Reading) -> set[int]:
    return {device for each in reading.left_out for device in each.devices}


def moved(reading: Reading, values: dict[int, float], largest: float, hostile: int = HOSTILE) -> float:
    """Return by how many times its bound the hostile device has moved the sum without the devices that are
    left out. values: what each device sends, the hostile one aside."""
    out = left_out(reading) | {hostile}
    expected = sum(value for number, value in values.items() if number not in out)
    return float(np.abs(reading.values[0, :2] - expected).max()) / largest
