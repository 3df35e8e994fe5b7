# SPDX-License-Identifier: Apache-2.0
"""An object with a counter, a lock or a connection belongs to the process that opened it: a copy in a forked
process would give one number to two readings, and lose one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ciphermote import Owner, _core
from ciphermote.base.errors import Error
from ciphermote.compact.device import CompactDevice
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import B
from ciphermote.formats.ledger import CounterLedger
from ciphermote.owner.encryption import encrypt_on
from gateway_support import SET, Server
from owner_support import opened
from test_owner_device import enrolled, keys

__all__ = ["keys"]


def forked(act: Callable[[], object]) -> str:
    """Return its message in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
            said = "nothing"
        except Error as error:
            said = str(error)
        except BaseException as error:
            said = repr(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def test_behind_a_fork_a_device_is_refused_and_the_opener_goes_on(
    server: Server, keys: Path, tmp_path: Path
) -> None:
    """Both would give one number to two readings, and one would be lost."""
    attachment = enrolled(server, keys, tmp_path, "forked")
    with opened(tmp_path) as device:
        device.put([1.0])
        for act in (lambda: device.put([2.0]), device.deliver, device.start, lambda: device.waiting):
            assert "opened by another process" in forked(act)
        assert "opened by another process" in forked(lambda: device._lane.encrypt([2.0])), "the C device too"
        assert forked(device.close) == "nothing"
        with attachment.client() as client:
            assert client.tenant()
            assert "opened by another process" in forked(client.tenant)
            assert "opened by another process" in forked(lambda: next(client.watch("forked")))
            assert forked(client.close) == "nothing"
            assert client.tenant(), "on the same connection"
        device.put([3.0])
        assert device.deliver(seconds=30) == 0
    with attachment.client() as client:
        assert client.progress("forked").windows == 2


def test_a_process_that_was_forked_off_does_not_keep_the_directory(
    server: Server, keys: Path, tmp_path: Path
) -> None:
    enrolled(server, keys, tmp_path, "lock")
    read, write = os.pipe()
    begun, begins = os.pipe()
    with opened(tmp_path) as device:
        device.put([1.0])
        child = os.fork()
        if child == 0:
            os.close(write)
            os.write(begins, b"1")
            os.read(read, 1)  # until the opener has closed its end
            os._exit(0)
        os.read(begun, 1)
    try:
        with opened(tmp_path) as device:
            assert device.waiting == 1
    finally:
        os.close(write)
        os.waitpid(child, 0)
        for end in (read, begun, begins):
            os.close(end)


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value


def test_a_compact_device_is_the_openers() -> None:
    counter = Counter()
    keys, enrolment = CompactKeys.generate(B).enroll(1, 1000)
    device = CompactDevice(
        keys, enrolment, packet_bytes=4096, counter_read=counter.read, counter_write=counter.write
    )
    assert "opened by another process" in forked(lambda: device.encrypt([1, 2]))
    values = np.array([1, 2], dtype=np.uint16)
    assert "opened by another process" in forked(lambda: device._device.encrypt(values)), "the C device too"
    assert device.encrypt([1, 2])


def test_a_device_of_the_c_library_is_the_openers() -> None:
    owner = Owner.generate(SET, relin=False)
    counter = Counter()
    device = _core.Device(bytes(range(32)), os.urandom, counter.read, counter.write)
    for key in (owner.public_key, owner.secret_key):
        assert "opened by another process" in forked(lambda key=key: encrypt_on(device, [1.0], key))
        assert encrypt_on(device, [1.0], key)


def test_a_ledger_is_the_openers(tmp_path: Path) -> None:
    for path in (None, tmp_path / "ledger"):
        with CounterLedger(path) as ledger:

            def take(ledger: CounterLedger = ledger) -> None:
                with ledger.taking([]):
                    pass

            assert "opened by another process" in forked(take)
            assert forked(ledger.close) == "nothing"
            take()
