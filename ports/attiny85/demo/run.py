#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The LoRaWAN demo's course: make keys, provision meters, let them send a day, lose some packets, add up what
came without a key, decrypt.

`make demo-lorawan`. Who knows what: each meter its own readings, and the key that all meters share; the
gateway and the engine which meter sent what packet when; the owner, who has the key too, is given sums alone.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [
    *(str(ROOT / folder) for folder in ("bench/avr", "examples", "ports/host", "ports/arduino/demo")),
    str(Path(__file__).parent),
]

import demand  # noqa: E402
import lorawan_report as report  # noqa: E402
import meters  # noqa: E402
from airtime import FAST, SLOW  # noqa: E402
from ciphermote.base.errors import Error  # noqa: E402
from ciphermote.compact.frames import CompactReader, Window  # noqa: E402
from ciphermote.compact.keys import CompactKeys, GatewayKeys  # noqa: E402
from ciphermote.compact.sets import B  # noqa: E402
from ciphermote.compact.sums import CompactResult, CompactSum, decrypt_sum  # noqa: E402
from ciphermote.parameters import BFV  # noqa: E402
from demos.run import Stage  # noqa: E402
from machine import MachineError  # noqa: E402
from rich.console import Console  # noqa: E402

TINIES, UNOS = 15, 15
LOST, TWICE = 0.1, 0.05
"""Chances of a packet's: to be lost on the way, and to be heard by two gateways."""
LARGEST = 1023


def blocks() -> list[range]:
    """The hours of each sum: what the slow meters send in one packet."""
    hours = range(demand.HOURS)
    return [hours[at : at + meters.TINY_READINGS] for at in range(0, demand.HOURS, meters.TINY_READINGS)]


def on_the_air(sent: list[bytes], chance: random.Random) -> list[bytes]:
    """Return the packets that the gateway receives: some are lost, some repeated, and not in order."""
    heard = [packet for packet in sent if chance.random() >= LOST]
    heard += [packet for packet in heard if chance.random() < TWICE]
    chance.shuffle(heard)
    return heard


class Gateway:
    """Checks packets and puts them together, without the key: a reader for each kind of window."""

    def __init__(self, keys: GatewayKeys) -> None:
        self.keys = keys
        self.whole = CompactReader(keys, range(demand.HOURS))
        self.parts = {tuple(hours): CompactReader(keys, hours) for hours in blocks()}
        self.windows: list[Window] = []

    def take(self, packet: bytes, *, fast: bool) -> None:
        """fast: heard at the rate at which days come in one packet."""
        readers = [self.whole] if fast else list(self.parts.values())
        for reader in readers:
            reception = reader.feed(packet)
            self.windows += reception.windows
            if not any(fault.kind == "foreign" for fault in reception.faults):
                return

    def faults(self) -> dict[str, int]:
        """Count faults by kind over all readers, without packets of other readers' devices."""
        counts: dict[str, int] = {}
        for reader in (self.whole, *self.parts.values()):
            for kind, count in reader.counts.items():
                if kind not in ("window", "foreign", "reordered"):
                    counts[kind] = counts.get(kind, 0) + count
        return counts


def add_up(key_id: int, windows: list[Window]) -> Iterator[CompactResult]:
    """The engine: for each block of hours, the sum of the windows that have all of them, as it is sent."""
    for hours in blocks():
        total = CompactSum(B, key_id, hours)
        for window in windows:
            if set(hours) <= set(window.positions.tolist()):
                total.add(window)
        yield CompactResult.from_bytes(total.result(dropped=None).to_bytes())


def run(console: Console) -> None:
    """Run the demo. Writes build/demo-lorawan/demo.png and demo.json; raises Error if it fails."""
    os.umask(0o077)  # headers and images hold keys
    work = ROOT / "build" / "demo-lorawan"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    readings = demand.load(TINIES + UNOS, 1)[:, 0]
    outcome = report.Outcome(readings, TINIES)
    stage = Stage(console, outcome.seconds)

    with stage.step("Owner: make keys and enroll meters"):
        keys = CompactKeys.generate(B)
        for meter in range(len(readings)):
            keys = keys.enroll(meter, LARGEST)[0]
    with stage.step("Owner: provision and flash Unos", UNOS) as done:
        images = []
        for meter in range(TINIES, TINIES + UNOS):
            folder = work / f"meter-{meter}"
            meters.write_keys(folder, keys, keys.enrolment(meter))
            images.append(meters.build_uno(folder, readings[meter].tolist(), FAST.most_bytes))
            done()
    with stage.step("ATtiny85s: encrypt and send their day", TINIES) as done:
        build = meters.tiny_build(demand.HOURS, SLOW.most_bytes)
        for meter in range(TINIES):
            ram = random.Random(meter).randbytes(512)  # as the power may have found it
            day = readings[meter].tolist()
            outcome.sent.append(meters.run_tiny(build, keys, keys.enrolment(meter), day, ram))
            done()
    with stage.step("Unos: encrypt and send their day", UNOS) as done:
        for image in images:
            outcome.sent.append(meters.run_uno(image))
            done()
    with stage.step("Gateway: check what the air left of it"):
        gateway, chance = Gateway(keys.gateway()), random.Random(1)
        slow, fast = outcome.packets(tiny=True), outcome.packets(tiny=False)
        for packets, is_fast in ((slow, False), (fast, True)):
            heard = on_the_air(packets, chance)
            outcome.heard += len(set(heard))
            for packet in heard:
                gateway.take(packet, fast=is_fast)
        outcome.faults = gateway.faults()
    with stage.step("Engine: add up, without a key", len(blocks())) as done:
        results = []
        for result in add_up(keys.key_id, gateway.windows):
            results.append(result)
            done()
    with stage.step("Owner: decrypt the sums"):
        for hours, result in zip(blocks(), results, strict=True):
            found = decrypt_sum(keys, result)
            who = [contributor.device for contributor in found.contributors]
            outcome.sums.append(report.Sum(hours, who, found.values, len(result.to_bytes())))
    outcome.full_bytes = full_ciphertext_bytes(readings[0])
    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json")
    console.print(
        "\nThe plot and the figures are build/demo-lorawan/demo.png and demo.json.", highlight=False
    )
    report.judge(outcome)


def full_ciphertext_bytes(day: np.ndarray) -> int:
    """Return the bytes of the same day in the library's smallest full ciphertext."""
    from tempfile import TemporaryDirectory

    from ciphermote.owner.encryption import encrypt
    from ciphermote.owner.key_store import KeyStore
    from ciphermote.parameters import by_name

    with TemporaryDirectory() as folder:
        store = KeyStore.create(Path(folder) / "keys", by_name("n1024_q26"), galois_steps=[], relin=False)
        return len(encrypt(day, store.secret(), largest=LARGEST, scheme=BFV(40961)).to_frames())


def main() -> int:
    try:
        run(Console())
    except (Error, MachineError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
