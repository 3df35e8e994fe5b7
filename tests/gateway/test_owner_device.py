# SPDX-License-Identifier: Apache-2.0
"""A device in Python loses nothing and nothing counts twice, whatever is killed and whatever is answered."""

from __future__ import annotations

import json
import pydoc
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import Owner
from ciphermote.base.errors import GatewayError, KeyFileError, MismatchError, ParameterError, ValueRangeError
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import D
from ciphermote.fleet import Attachment, Computation, FleetDevice, GatewayClient, decrypt, enroll, fetch
from ciphermote.formats.receipts import Receipt, Verdict
from gateway_support import SET, Server
from owner_support import attached, opened

KILLS = 6
MEASURING = """
import os, sys
from ciphermote.fleet import FleetDevice
folder, number = sys.argv[1], int(sys.argv[2])
log = os.open(folder + "/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
with FleetDevice(folder + "/d.state", folder + "/d.blob", folder + "/d.json") as device:
    device.start()
    print("ready", flush=True)
    while True:
        device.put([1, number % 16], measured=float(number))
        os.write(log, b"%d\\n" % number)
        number += 1
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("owner") / "keys"
    Owner.generate(SET, relin=False).save(path)
    return path


def enrolled(server: Server, keys: Path, folder: Path, fleet: str, **more: object) -> Attachment:
    attachment = attached(server, keys, fleet, **more)
    enroll(attachment, 1, folder / "d.blob", folder / "d.json")
    return attachment


def test_the_pages_device_delivers(
    server: Server,
    keys: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (Path(__file__).parents[2] / "docs/gateway.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    enroll(attached(server, keys, "page"), 7, tmp_path / "device7.blob", tmp_path / "device7.json")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out == "0 left without a receipt, for None\n"


def test_killed_at_random_moments_it_loses_nothing_and_nothing_counts_twice(
    server: Server, tmp_path: Path
) -> None:
    keys = tmp_path / "fleet.key"
    CompactKeys.generate(D).save(keys)
    attachment = enrolled(server, keys, tmp_path, "killed", positions=[(0, 2)], windows_per_hour=3_600_000)
    generator = random.Random(5)
    for kill in range(KILLS):
        command = (sys.executable, "-c", MEASURING, str(tmp_path), str(1000 + kill * 100_000))
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(generator.uniform(0.02, 0.5))
            if kill == KILLS // 2:
                server.kill()
                time.sleep(0.2)
            process.send_signal(signal.SIGKILL)
        if kill == KILLS // 2:
            server.start()
    with opened(tmp_path) as device:
        assert device.deliver(seconds=30) == 0, device.last_error
    kept = [int(line) for line in (tmp_path / "log").read_text().split()]
    with attachment.client() as client:
        windows = list(client.windows("killed"))
        found = fetch(attachment, client, client.add_job("killed", Computation(per_device=10_000)), tmp_path)
    measured = [int(window.measured) for window in windows]
    assert len(kept) > 10 * KILLS and len({number // 100_000 for number in kept}) == KILLS
    assert set(kept) <= set(measured), "what was put is there"
    assert len(set(measured)) == len(measured), "each once"
    assert len(measured) - len(kept) <= KILLS, "put, and killed before it was noted"
    reading = decrypt(found, CompactKeys.load(keys))
    assert reading is not None
    assert reading.values[0].tolist() == [len(measured), sum(number % 16 for number in measured)]


def test_only_a_receipt_for_these_bytes_ends_a_window(
    server: Server, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attachment = enrolled(server, keys, tmp_path, "receipts")
    answers: list[bytes | None] = []
    real = GatewayClient.deliver

    def deliver(self: GatewayClient, fleet: str, data: bytes, measured: float | None = None) -> bytes | None:
        answers.append(real(self, fleet, data, measured))
        return replaced

    with opened(tmp_path) as device:
        receipt_key = device._lane.tag_keys.receipts
        device.put([1.0])
        with monkeypatch.context() as patch:
            patch.setattr(GatewayClient, "deliver", deliver)
            replaced: bytes | None = None
            assert device.deliver() == 1
            genuine = answers[0]
            assert genuine is not None
            true = Receipt.from_bytes(genuine, receipt_key)
            assert true.verdict == Verdict.COUNTS
            others = (
                Receipt(true.verdict, 2, 1, 0, 0, true.tags),
                Receipt(true.verdict, 1, 2, 0, 0, true.tags),
                Receipt(true.verdict, 1, 1, 1, 0, true.tags),
                Receipt(true.verdict, 1, 1, 0, 1, true.tags),
                Receipt(true.verdict, 1, 1, 0, 0, true.tags ^ 1),
            )
            forged = bytes([genuine[0], 2]) + genuine[2:]
            for replaced in (forged, b"", genuine[:-1], *(r.to_bytes(receipt_key) for r in others)):
                assert device.deliver() == 1, replaced
                assert device.last_error is not None
        assert set(answers) == {genuine}, "the same bytes have the same receipt"
        assert device.deliver() == 0 and device.last_error is None
    with attachment.client() as client:
        assert client.progress("receipts").windows == 1


def test_a_gateway_that_is_away_is_waited_for(server: Server, keys: Path, tmp_path: Path) -> None:
    attachment = enrolled(server, keys, tmp_path, "away")
    server.kill()
    with opened(tmp_path) as device:
        device.start()
        for value in range(3):
            device.put([value])
        deadline = time.monotonic() + 10
        while device.last_error is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert isinstance(device.last_error, GatewayError) and device.last_error.name == "unreachable"
        assert device.waiting == 3
        server.start()
        while device.waiting:
            assert time.monotonic() < deadline + 20
            time.sleep(0.01)
        device.put([3.0])
        while device.waiting:
            assert time.monotonic() < deadline + 20
            time.sleep(0.01)
    with pytest.raises(ParameterError, match="closed"):
        device.put([1.0])
    with attachment.client() as client:
        assert client.progress("away").windows == 4


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)


def test_a_damaged_window_is_set_aside_and_holds_no_other_up(
    server: Server, keys: Path, tmp_path: Path
) -> None:
    enrolled(server, keys, tmp_path, "damaged")
    with opened(tmp_path) as device:
        numbers = [device.put([value]) for value in range(3)]
        first = min((tmp_path / "d.state" / "windows").iterdir())
        damage(first)
        assert device.deliver(seconds=60) == 0
        assert "damaged" in str(device.last_error)
        assert list(device.refused) == numbers[:1]
        assert device.deliver() == 0 and device.last_error is None
    aside = tmp_path / "d.state" / "refused" / first.name
    with opened(tmp_path) as device:
        assert device.waiting == 0
        assert "The window is damaged" in device.refused[numbers[0]], "the reason is kept"
    aside.rename(first)
    damage(first)
    with opened(tmp_path) as device:
        assert (device.waiting, device.refused, device.deliver()) == (1, {}, 0)


def refusing(numbers: dict[float, tuple[int, str]]) -> Callable[..., bytes | None]:
    """GatewayClient.deliver, which refuses windows measured then, with this status and name."""
    real = GatewayClient.deliver

    def deliver(self: GatewayClient, fleet: str, data: bytes, measured: float | None = None) -> bytes | None:
        if measured in numbers:
            status, name = numbers[measured]
            raise GatewayError("No.", name, status)
        return real(self, fleet, data, measured)

    return deliver


@pytest.mark.parametrize(("status", "name", "aside"), [(422, "invalid", True), (409, "held", False)])
def test_a_window_that_is_refused_delays_no_later_one(
    server: Server,
    keys: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    name: str,
    *,
    aside: bool,
) -> None:
    """Neither one that is refused for good nor one that may be taken later, however long its pauses are."""
    enrolled(server, keys, tmp_path, f"refuses-{name}")
    monkeypatch.setattr("ciphermote.fleet.device._FIRST_WAIT", 300.0)
    monkeypatch.setattr(GatewayClient, "deliver", refusing({1.0: (status, name)}))
    with opened(tmp_path) as device:
        device.start()
        refused = device.put([1.0], measured=1.0)
        deadline = time.monotonic() + 30
        while not device.last_error:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for value in range(3):
            device.put([value])
            while device.waiting > (0 if aside else 1):
                assert time.monotonic() < deadline, device.last_error
                time.sleep(0.01)
        assert device.refused == ({refused: "No."} if aside else {})
        assert device.tries == 4, "and it is not tried for nothing"


@pytest.mark.parametrize("measured", [float("nan"), float("inf"), -1.0, 1e12, "1.0", True, None])
def test_a_time_that_no_gateway_takes_is_refused_before_anything_is_kept(
    server: Server, keys: Path, tmp_path: Path, measured: Any
) -> None:
    if not (tmp_path / "d.json").exists():
        enrolled(server, keys, tmp_path, f"times-{uuid.uuid4().hex[:8]}")
    with opened(tmp_path) as device:
        if measured is None:
            assert device.put([1.0], measured=measured) == device.put([1.0], measured=np.float32(5)) - 1
        else:
            with pytest.raises(ValueRangeError, match="seconds since 1970"):
                device.put([1.0], measured=measured)
            assert device.waiting == 0


def test_a_directory_is_of_one_process_one_device_and_one_epoch(
    server: Server, keys: Path, tmp_path: Path
) -> None:
    attachment = enrolled(server, keys, tmp_path, "one")
    with opened(tmp_path) as device:
        with pytest.raises(KeyFileError, match="in use"):
            opened(tmp_path)
        device.put([1.0])
    enroll(attachment, 2, tmp_path / "e.blob", tmp_path / "e.json")
    (tmp_path / "d.state").rename(tmp_path / "e.state")
    with pytest.raises(MismatchError, match="a directory of its own"):
        opened(tmp_path, "e")
    (tmp_path / "e.state").rename(tmp_path / "d.state")
    enroll(attachment, 1, tmp_path / "d.blob", tmp_path / "d.json", again=True, replace_files=True)
    with pytest.raises(MismatchError, match="epoch 1"):
        opened(tmp_path)
    state = tmp_path / "d.state" / "device.json"
    fields = json.loads(state.read_text())
    state.write_text("{}")
    with pytest.raises(KeyFileError, match="damaged"):
        opened(tmp_path)
    state.unlink()
    with pytest.raises(KeyFileError, match="is gone"):
        opened(tmp_path)
    assert fields["counter"] >= 1


def test_the_help_names_what_tells_how_it_goes() -> None:
    shown = pydoc.render_doc(FleetDevice, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert all(f"{name}: " in shown for name in ("waiting", "refused", "last_error", "tries"))
