# SPDX-License-Identifier: Apache-2.0
"""Devices with an identity, as a Linux process and on a Cortex-M4: their frames are tagged, and they keep a
window's readings until the receipt of their latest attempt has come."""

from __future__ import annotations

import shutil
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ciphermote.formats import frames as adapter
from ciphermote.owner import provisioning as provision
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import Identity, Provision
from ciphermote.parameters import by_name
from link import DeviceLink, LinkError, crc32c
from local_devices import ProcessDevice, QemuDevice
from test_ports import MOST_ERROR, make, write_headers

from golden.compact import tag

PARMS = by_name("n4096_q26x3_p27")
IDENTITY = Identity(0x01020304, 5)
PORTS = ("linux", "mps2-an386")
WINDOW_FILE = "ciphermote-window"
READINGS = np.linspace(-1, 1, 2048, dtype=np.float32)
OTHERS = READINGS[::-1].copy()


@dataclass(frozen=True)
class Attempt:
    """A gateway's knowledge of an attempt."""

    device: int
    epoch: int
    window: int
    counter: int
    tags: int
    random: bytes


@dataclass(frozen=True)
class House:
    store: KeyStore
    given: Provision
    programs: dict[str, Path]

    def start(self, port: str, workdir: Path) -> ProcessDevice | QemuDevice:
        device = QemuDevice if port == "mps2-an386" else ProcessDevice
        return device(self.programs[port], workdir, timeout=30.0)

    def received(self, data: bytes) -> Attempt:
        """The attempt that these frames are; every tag is checked."""
        assert self.given.tag_keys is not None
        found, total = set(), 0
        while data:
            counter, length = struct.unpack_from("<Q", data, 20)[0], struct.unpack_from("<I", data, 40)[0]
            device, epoch, zero, since, random = struct.unpack_from("<IHHI8s", data, 44)
            assert data[:3] == b"CM\x02" and zero == 0
            end = 64 + length
            assert data[end : end + 8] == tag(self.given.tag_keys.frames, data[:end])
            assert struct.unpack_from("<I", data, end + 8)[0] == crc32c(data[: end + 8])
            total += int.from_bytes(data[end : end + 8], "little")
            found.add((device, epoch, counter - since, counter, random))
            data = data[end + 12 :]
        ((device, epoch, window, counter, random),) = found
        return Attempt(device, epoch, window, counter, total % 2**64, random)

    def receipt(self, attempt: Attempt, verdict: int = 1, key: bytes | None = None) -> bytes:
        assert self.given.tag_keys is not None
        a = attempt
        head = struct.pack("<BBHIQQQ", 0x22, verdict, a.epoch, a.device, a.window, a.counter, a.tags)
        return head + tag(key or self.given.tag_keys.receipts, head)

    def values(self, data: bytes) -> np.ndarray:
        """Decrypted: frames of version 1 with the same payload."""
        plain = b""
        while data:
            end = 64 + struct.unpack_from("<I", data, 40)[0]
            frame = data[:2] + b"\x01" + data[3:44] + data[64:end]
            plain += frame + struct.pack("<I", crc32c(frame))
            data = data[end + 12 :]
        return decrypt(adapter.adapt(plain, PARMS, self.store.key_id), self.store.secret())

    def holds(self, data: bytes, readings: np.ndarray) -> bool:
        return bool(np.abs(self.values(data)[: len(readings)] - readings).max() < MOST_ERROR)


def build_house(folder: Path, ports: tuple[str, ...], *, stream_public_key: bool = False) -> House:
    store = KeyStore.create(folder / "keys", PARMS, relin=False)
    given = provision.provision(store, secret=True, public=True, identity=IDENTITY)
    headers = folder / "headers"
    write_headers(headers, 4096, "cm_n4096_q26x3_p27", secret=False, public=False)  # the model
    (headers / "provisioned_keys.h").write_text(
        provision.to_c_header(given, stream_public_key=stream_public_key)
    )
    built = make(*ports, f"GENERATED={headers}", f"BUILD={folder / 'build'}")
    assert built.returncode == 0, built.stderr
    names = {"linux": "ciphermote", "mps2-an386": "ciphermote.elf"}
    programs = {port: folder / "build" / port / names[port] for port in ports}
    return House(
        store, given, {p: Path(shutil.copy(x, folder / f"{p}-{x.name}")) for p, x in programs.items()}
    )


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return build_house(tmp_path_factory.mktemp("house"), PORTS)


@pytest.fixture(params=PORTS)
def port(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def link(house: House, port: str, tmp_path: Path) -> Iterator[DeviceLink]:
    with house.start(port, tmp_path) as started:
        yield started


def refused(status: str, call: object, *arguments: object) -> None:
    with pytest.raises(LinkError) as caught:
        call(*arguments)  # type: ignore[operator]
    assert caught.value.status == status


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
def test_a_window_is_kept_until_its_receipt(house: House, link: DeviceLink, port: str, key: str) -> None:
    windows = link.report().windows
    assert windows is not None
    assert (windows.device, windows.epoch, windows.unreceipted) == (IDENTITY.device, IDENTITY.epoch, None)
    assert windows.survives == (port == "linux") and not windows.lost
    data = link.encrypt_values(READINGS, key=key)
    attempt = house.received(data)
    assert (attempt.device, attempt.epoch) == (IDENTITY.device, IDENTITY.epoch)
    assert attempt.window == attempt.counter and house.holds(data, READINGS)
    assert link.report().windows == replace(windows, unreceipted=attempt.window)
    refused("CM_ERR_UNRECEIPTED", link.encrypt_values, OTHERS)
    link.receipt(house.receipt(attempt))
    assert link.report().windows == windows
    following = house.received(link.encrypt_values(OTHERS, key=key))
    assert following.window == following.counter > attempt.counter


def test_a_tagged_device_encrypts_under_a_key_that_is_sent_to_it(tmp_path: Path) -> None:
    house = build_house(tmp_path, ("linux",), stream_public_key=True)
    key = house.given.public_key
    assert key is not None
    with house.start("linux", tmp_path) as link:
        assert link.report().streams_key
        link.public_key = key[::-1]
        refused("CM_ERR_PUBLIC_KEY", link.encrypt_values, READINGS, 22, "asymmetric")
        link.public_key = key
        first = house.received(link.encrypt_values(READINGS, key="asymmetric"))
        data = link.encrypt_again("asymmetric")
        attempt = house.received(data)
        assert attempt.window == first.window and house.holds(data, READINGS)
        link.receipt(house.receipt(attempt))
        assert house.holds(link.encrypt_values(OTHERS, key="asymmetric"), OTHERS)


@pytest.mark.parametrize("verdict", [1, 2, 3])
def test_every_verdict_ends_the_wait(house: House, link: DeviceLink, verdict: int) -> None:
    attempt = house.received(link.encrypt_values(READINGS))
    link.receipt(house.receipt(attempt, verdict))
    link.encrypt_values(OTHERS)


def test_another_attempt_keeps_the_windows_number_and_its_readings(house: House, link: DeviceLink) -> None:
    first = house.received(link.encrypt_values(READINGS))
    refused("CM_ERR_UNRECEIPTED", link.encrypt_values, OTHERS)
    data = link.encrypt_again("asymmetric")
    second = house.received(data)
    assert second.window == first.window and second.counter > first.counter
    assert second.random != first.random and house.holds(data, READINGS)
    refused("CM_ERR_FRAME_FOREIGN", link.receipt, house.receipt(first))
    link.receipt(house.receipt(second))
    third = house.received(link.encrypt_values(OTHERS))
    assert third.window == third.counter > second.counter


def test_only_the_receipt_of_what_was_sent_counts(house: House, link: DeviceLink) -> None:
    attempt = house.received(link.encrypt_values(READINGS))
    genuine = house.receipt(attempt)
    keys = house.given.tag_keys
    assert keys is not None
    for forged in (
        house.receipt(attempt, key=keys.frames),
        house.receipt(attempt, key=keys.results),
        house.receipt(attempt, key=bytes(48)),
        genuine[:-1] + bytes([genuine[-1] ^ 1]),
        genuine[:8] + bytes([genuine[8] ^ 1]) + genuine[9:],
    ):
        refused("CM_ERR_FRAME_TAG", link.receipt, forged)
    for other in (
        replace(attempt, counter=attempt.counter + 1),
        replace(attempt, window=attempt.window + 1),
        replace(attempt, tags=attempt.tags ^ 1),
        replace(attempt, device=attempt.device ^ 1),
        replace(attempt, epoch=attempt.epoch + 1),
    ):
        refused("CM_ERR_FRAME_FOREIGN", link.receipt, house.receipt(other))
    refused("CM_ERR_FRAME_SHORT", link.receipt, genuine[:-1])
    refused("CM_ERR_FRAME_FIELD", link.receipt, house.receipt(attempt, verdict=4))
    refused("CM_ERR_FRAME_VERSION", link.receipt, b"\x21" + genuine[1:])
    windows = link.report().windows
    assert windows is not None and windows.unreceipted == attempt.window
    assert house.holds(link.encrypt_again(), READINGS)


def test_without_a_window_there_is_nothing_to_send_again_or_to_receipt(
    house: House, link: DeviceLink
) -> None:
    refused("CM_ERR_FRAME_FIELD", link.encrypt_again)
    refused("CM_ERR_FRAME_FIELD", link.receipt, bytes(40))
    attempt = house.received(link.encrypt_values(READINGS))
    link.receipt(house.receipt(attempt))
    refused("CM_ERR_FRAME_FIELD", link.encrypt_again)
    refused("CM_ERR_FRAME_FIELD", link.receipt, house.receipt(attempt))


def test_readings_that_cannot_be_encrypted_are_no_window(house: House, link: DeviceLink) -> None:
    refused("CM_ERR_NOT_FINITE", link.encrypt_values, np.full(4, np.nan, np.float32))
    windows = link.report().windows
    assert windows is not None and windows.unreceipted is None
    link.encrypt_values(READINGS)


def kill(device: ProcessDevice | QemuDevice) -> None:
    assert device._process is not None
    device._process.send_signal(signal.SIGKILL)
    device._process.wait()


def test_a_process_that_is_killed_sends_its_window_again(house: House, tmp_path: Path) -> None:
    target = house.start("linux", tmp_path)
    with target as link:
        first = house.received(link.encrypt_values(READINGS))
        kill(target)
    with house.start("linux", tmp_path) as link:
        windows = link.report().windows
        assert windows is not None and windows.unreceipted == first.window
        refused("CM_ERR_UNRECEIPTED", link.encrypt_values, OTHERS)
        data = link.encrypt_again()
        second = house.received(data)
        assert second.window == first.window and second.counter > first.counter
        assert house.holds(data, READINGS)
        link.receipt(house.receipt(second))
    assert (tmp_path / WINDOW_FILE).read_bytes() == b""
    with house.start("linux", tmp_path) as link:
        refused("CM_ERR_FRAME_FIELD", link.encrypt_again)


def test_a_process_that_is_killed_takes_the_receipt_it_was_owed(house: House, tmp_path: Path) -> None:
    target = house.start("linux", tmp_path)
    with target as link:
        attempt = house.received(link.encrypt_values(READINGS))
        kill(target)
    with house.start("linux", tmp_path) as link:
        link.receipt(house.receipt(attempt))
        assert house.received(link.encrypt_values(OTHERS)).window > attempt.window


def test_a_window_is_stored_before_it_leaves(house: House, tmp_path: Path) -> None:
    """The link breaks after the first bytes: the window is there at the next start, without an attempt that
    a receipt could name."""
    target = house.start("linux", tmp_path)
    with target as link:
        link.send_bytes(request_for(READINGS))
        assert target._process is not None and target._process.stdout is not None
        first = target._process.stdout.read(64)  # of tens of kilobytes: the process waits for the rest
        kill(target)
    (counter,) = struct.unpack_from("<Q", first[12:], 20)
    with house.start("linux", tmp_path) as link:
        windows = link.report().windows
        assert windows is not None and windows.unreceipted == counter
        refused("CM_ERR_FRAME_FOREIGN", link.receipt, house.receipt(NEVER_SENT))
        data = link.encrypt_again()
        assert house.received(data).window == counter and house.holds(data, READINGS)


NEVER_SENT = Attempt(IDENTITY.device, IDENTITY.epoch, 0, 0, 0, bytes(8))


def request_for(readings: np.ndarray) -> bytes:
    """Make a request like DeviceLink.encrypt_values."""
    payload = readings.tobytes()
    record = struct.pack("<4sBBBBBBHI", b"CMRQ", 1, 2, 1, 3, 22, 0, 500, len(payload)) + payload
    return record + struct.pack("<I", crc32c(record))


OTHER_OWNERS = {"of another epoch": 6, "of another device": 8, "under another key": 16}
"""And where the record says so (ports/app/window.c)."""


@pytest.mark.parametrize("how", ["damaged", "cut", "longer", *OTHER_OWNERS])
def test_a_stored_window_that_is_not_its_own_is_dropped_and_reported(
    house: House, tmp_path: Path, how: str
) -> None:
    with house.start("linux", tmp_path) as link:
        link.encrypt_values(READINGS)
    path = tmp_path / WINDOW_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    stored = path.read_bytes()
    if how in OTHER_OWNERS:
        at = OTHER_OWNERS[how]
        changed = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 : -4]
        path.write_bytes(changed + struct.pack("<I", crc32c(changed)))
    else:
        ends = {"damaged": stored[:99] + b"!" + stored[100:], "cut": stored[:-4], "longer": stored * 2}
        path.write_bytes(ends[how])
    with house.start("linux", tmp_path) as link:
        windows = link.report().windows
        assert windows is not None and windows.lost and windows.unreceipted is None
        house.received(link.encrypt_values(OTHERS))


def test_a_simulated_device_drops_its_window_when_it_restarts_and_says_so(
    house: House, tmp_path: Path
) -> None:
    with house.start("mps2-an386", tmp_path) as link:
        attempt = house.received(link.encrypt_values(READINGS))
        windows = link.report().windows
        assert windows is not None and windows.unreceipted == attempt.window and not windows.survives
    with house.start("mps2-an386", tmp_path) as link:
        windows = link.report().windows
        assert windows is not None and windows.unreceipted is None
        refused("CM_ERR_FRAME_FIELD", link.receipt, house.receipt(attempt))
        refused("CM_ERR_FRAME_FIELD", link.encrypt_again)
        assert house.received(link.encrypt_values(OTHERS)).window > attempt.window
