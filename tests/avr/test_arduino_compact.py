# SPDX-License-Identifier: Apache-2.0
"""The compact lane on simulated Arduino boards: its class, its example, and the Uno of the LoRaWAN demo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from arduino import PORT_EXAMPLES, UNO, build_sketch
from avr_support import SAVED_REGISTERS, lowest
from boards import UNO_CYCLES, counter_log, open_board, run_regions
from ciphermote.compact.frames import CompactReader, Window, read_packets
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A10, B
from ciphermote.compact.sums import CompactSum, decrypt_sum
from machine import ROOT, Machine, section_bytes

sys.path.insert(0, str(ROOT / "ports/attiny85/demo"))

from meters import build_uno, run_uno, write_keys

GPIOR0, GPIOR2 = 0x3E, 0x4B
CHACHA20_PUSHES = 22
"""Bytes that the deepest function which handles secrets saves, with its callee."""
ERR_RANDOM, ERR_COUNTER = 7, 8
UNO_FLASH = 32_256
DAY = [1000 + hour for hour in range(24)]


@pytest.fixture(scope="module")
def keys() -> CompactKeys:
    return CompactKeys.generate(B).enroll(7)[0]


@pytest.fixture(scope="module")
def image(keys: CompactKeys, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uno") / "meter"
    write_keys(folder, keys, keys.enrolment(7))
    return build_uno(folder, DAY, 222)


def windows_of(keys: CompactKeys, packets: tuple[bytes, ...], count: int) -> list[Window]:
    reader = CompactReader(keys.gateway(), range(count))
    receptions = [reader.feed(packet) for packet in packets]
    assert not [fault for reception in receptions for fault in reception.faults]
    return [window for reception in receptions for window in reception.windows]


def values_of(keys: CompactKeys, window: Window, count: int) -> list[int]:
    total = CompactSum(keys.set, keys.key_id, range(count))
    total.add(window)
    return decrypt_sum(keys, total.result()).values.tolist()


def test_an_unos_day_leaves_in_one_packet_and_decrypts(keys: CompactKeys, image: Path) -> None:
    sent = run_uno(image)
    assert [len(packet) for packet in sent.packets] == [35 + 24 * 22 // 8]
    (window,) = windows_of(keys, sent.packets, len(DAY))
    assert values_of(keys, window, len(DAY)) == DAY


def test_a_smaller_radio_gets_more_packets(keys: CompactKeys, tmp_path: Path) -> None:
    write_keys(tmp_path / "small", keys, keys.enrolment(7))
    sent = run_uno(build_uno(tmp_path / "small", DAY, 51))
    assert [len(packet) for packet in sent.packets] == [49, 49, 49, 49, 46]
    (window,) = windows_of(keys, sent.packets, len(DAY))
    assert values_of(keys, window, len(DAY)) == DAY


def after_encryption(image: Path, log: bytes | None, jitter: list[int] | None = None) -> tuple[int, bytes]:
    """(the status of begin and encrypt, what was sent)."""
    with open_board(image, UNO, log, jitter) as machine:
        run_regions(machine, 1, UNO_CYCLES)
        machine.run(2_000_000)
        return machine.read(GPIOR2, 1)[0], machine.text


def test_without_a_counter_nothing_is_sent(image: Path) -> None:
    assert after_encryption(image, None) == (ERR_COUNTER, b"")


def test_without_noise_nothing_is_sent(image: Path) -> None:
    assert after_encryption(image, counter_log(0), [16_000] * 600) == (ERR_RANDOM, b"")


def test_a_counter_that_is_set_back_meets_other_random_bytes(keys: CompactKeys, image: Path) -> None:
    """Both starts have the same counter; noise alone tells their seeds apart."""
    rng = [16_000 + (i * i * 7919 >> 3) % 41 for i in range(600)]
    _, first = after_encryption(image, counter_log(0), rng)
    _, second = after_encryption(image, counter_log(0), rng[3:])
    windows = [windows_of(keys, (sent[1:],), len(DAY))[0] for sent in (first, second)]
    assert windows[0].counter == windows[1].counter
    assert windows[0].random != windows[1].random


def deepest_stack(machine: Machine) -> int:
    return machine.ram_end - min(counts.stack_low for counts in machine.regions)


def test_core_buffers_library_and_stack_leave_the_sketch_512_bytes(image: Path) -> None:
    with open_board(image, UNO, counter_log(0)) as machine:
        run_regions(machine, 1, UNO_CYCLES)
        sizes = section_bytes(image)
        assert sizes[".data"] + sizes[".bss"] + deepest_stack(machine) <= 2048 - 512


def test_the_stack_is_wiped_as_deep_as_interrupts_save_secrets(image: Path) -> None:
    with open_board(image, UNO, counter_log(0)) as machine:
        while machine.read(GPIOR0, 1) != b"\x80":  # the encryption begins
            machine.run(1000)
        deepest = lowest(machine, "cmi_avr_chacha20_blocks", 50) - CHACHA20_PUSHES
        machine.run_to("cmi_wipe_stack")
        assert lowest(machine, "cmi_wipe", 1) + 3 <= deepest - (2 + SAVED_REGISTERS) + 1


def test_the_example_fits_an_uno_and_prints_packets(tmp_path: Path) -> None:
    keys = CompactKeys.generate(A10).enroll(1, 409)[0]
    write_keys(tmp_path / "example", keys, keys.enrolment(1))
    sketch = PORT_EXAMPLES / "CompactReadings/CompactReadings.ino"
    image = build_sketch(sketch, UNO, tmp_path / "example")
    sizes = section_bytes(image)
    assert sizes[".text"] + sizes[".data"] <= UNO_FLASH
    with open_board(image, UNO, counter_log(0)) as machine:
        machine.leave_out_digests()
        for _ in range(60):
            machine.run(1_000_000)
            if machine.text.count(b"\n") >= 2:
                break
        text = machine.text.decode("ascii")
    packets = read_packets("\n".join(text.split("\r\n")[:2]))
    for window in windows_of(keys, tuple(packets), 8):
        assert all(0 <= value <= 409 for value in values_of(keys, window, 8))
