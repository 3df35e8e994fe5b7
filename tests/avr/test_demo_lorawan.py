# SPDX-License-Identifier: Apache-2.0
"""The LoRaWAN demo's parts: its data fit, its airtime is Semtech's, it names what is missing, and it judges
its own outcome."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest
from avr_support import load_demo
from ciphermote.base.errors import Error
from rich.console import Console


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    return load_demo("demo_lorawan", "ports/attiny85/demo")


def test_readings_have_ten_bits_and_all_meters_may_add_up(demo: ModuleType) -> None:
    meters = demo.TINIES + demo.UNOS
    assert meters == 30
    readings = demo.demand.load(meters, 1)
    assert readings.min() > 0 and readings.max() <= demo.LARGEST
    assert demo.LARGEST * meters < demo.B.plain_modulus


def test_blocks_are_the_days_hours_each_once(demo: ModuleType) -> None:
    assert [hour for hours in demo.blocks() for hour in hours] == list(range(24))


@pytest.mark.parametrize(
    ("rate", "payload", "milliseconds"),
    [("SLOW", 51, 2793.472), ("SLOW", 1, 1155.072), ("FAST", 222, 368.896), ("FAST", 1, 46.336)],
)
def test_airtime_is_semtechs(demo: ModuleType, rate: str, payload: int, milliseconds: float) -> None:
    """As Semtech's own calculator gives it for 13 bytes more."""
    assert getattr(demo, rate).seconds(payload) * 1000 == pytest.approx(milliseconds)


def test_a_packet_that_is_too_large_has_no_airtime(demo: ModuleType) -> None:
    with pytest.raises(ValueError, match="SF12 takes 1 to 51 bytes"):
        demo.SLOW.seconds(52)


def test_a_wrong_or_missing_sum_is_a_failure(demo: ModuleType) -> None:
    readings = demo.demand.load(2, 1)[:, 0]
    outcome = demo.report.Outcome(readings, 1)
    for hours in demo.blocks():
        sums = readings[:, hours.start : hours.stop].sum(axis=0)
        outcome.sums.append(demo.report.Sum(hours, [0, 1], sums, 0))
    demo.report.judge(outcome)
    outcome.sums[1].meters.remove(1)
    with pytest.raises(Error, match="5 hours of the sums differ"):
        demo.report.judge(outcome)
    del outcome.sums[1]
    with pytest.raises(Error, match="19 of 24 hours have a sum"):
        demo.report.judge(outcome)


def test_one_meter_of_each_kind_goes_the_whole_way(
    demo: ModuleType, tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what the air does: packets come twice and in another order, and none is lost."""
    monkeypatch.setattr(demo, "TINIES", 1)
    monkeypatch.setattr(demo, "UNOS", 1)
    monkeypatch.setattr(demo, "LOST", 0)
    monkeypatch.setattr(demo, "TWICE", 1)
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(demo.os, "umask", lambda mask: None)
    demo.run(Console(width=120))
    shown = capsys.readouterr().out
    assert "6 packets were sent and 6 heard. What the gateway dropped: 6 repeated." in shown
    assert (tmp_path / "build/demo-lorawan/demo.png").stat().st_size > 10_000
    rows = json.loads((tmp_path / "build/demo-lorawan/demo.json").read_text())["rows"]
    values = {row["name"]: row["value"] for row in rows}
    assert values["demo_lorawan.hours_that_differ"] == 0
    assert values["demo_lorawan.hours_0_to_4.meters"] == 2


def test_meters_that_are_lost_are_not_in_the_sum(demo: ModuleType) -> None:
    """By the engine's list, and so in the owner's."""
    from ciphermote.compact.device import CompactDevice

    keys = demo.CompactKeys.generate(demo.B).enroll(0)[0].enroll(1)[0]
    gateway = demo.Gateway(keys.gateway())
    for meter in (0, 1):
        counter = [0]
        device = CompactDevice(
            keys,
            keys.enrolment(meter),
            packet_bytes=51,
            counter_read=lambda counter=counter: counter[0],
            counter_write=lambda value, counter=counter: counter.__setitem__(0, value),
        )
        for hours in demo.blocks():
            (packet,), _ = device.encrypt(np.arange(len(hours)), hours.start)
            if (meter, hours.start) != (1, 10):
                gateway.take(packet, fast=False)
    found = [demo.decrypt_sum(keys, result) for result in demo.add_up(keys.key_id, gateway.windows)]
    assert [len(each.contributors) for each in found] == [2, 2, 1, 2, 2]
    assert found[2].values.tolist() == list(range(5))
    assert gateway.faults() == {}
