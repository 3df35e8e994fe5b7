# SPDX-License-Identifier: Apache-2.0
"""The Arduino library: its examples as the IDE builds them, and whole encryptions on simulated boards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from arduino import MEGA, PORT_EXAMPLES, UNO, Board, build_sketch, library_folder
from avr_support import SAVED_REGISTERS, SealDecryptor, lowest
from boards import (
    GATHERED,
    KEY_ID,
    MEGA_CYCLES,
    MEGA_PARAMETERS,
    MEGA_PLAIN_MODULUS,
    SERIAL_WRITE,
    UNO_CYCLES,
    counter_log,
    encryptions,
    example,
    fixed_keys,
    fixed_secret_key,
    mega_both,
    mega_reals,
    open_board,
    open_mega,
    run_regions,
    run_start,
    uno_integers,
)
from ciphermote import seal_bytes as sb
from ciphermote.adapter import FrameReader
from ciphermote.ckks import decrypt
from ciphermote.parameters import by_name
from machine import ROOT, Machine, MachineError, section_bytes

UNO_FLASH = 32_256
MEGA_FLASH = 253_952
"""Less the boot loader."""


@pytest.mark.parametrize(
    ("name", "board", "parameters", "flash"),
    [
        ("NewDevice", UNO, "n1024_q26", UNO_FLASH),
        ("WatchdogNoise", UNO, "n1024_q26", UNO_FLASH),
        ("WatchdogNoise", MEGA, "n2048_q26_p27", MEGA_FLASH),
        ("EncryptedReadings", UNO, "n1024_q26", UNO_FLASH),
        ("MegaSlots", MEGA, "n2048_q26_p27", MEGA_FLASH),
    ],
)
def test_each_example_compiles_and_fits(name: str, board: Board, parameters: str, flash: int) -> None:
    sizes = section_bytes(example(name, board, by_name(parameters)))
    assert sizes[".text"] + sizes[".data"] <= flash
    assert sizes[".data"] + sizes[".bss"] < board.ram_bytes


def test_every_example_is_tested() -> None:
    names = {"CompactReadings", "NewDevice", "EncryptedReadings", "MegaSlots", "WatchdogNoise"}
    assert {path.name for path in PORT_EXAMPLES.iterdir()} == names


def test_a_copy_that_would_share_counters_does_not_compile(tmp_path: Path) -> None:
    sketch = tmp_path / "copy.ino"
    text = (PORT_EXAMPLES / "NewDevice/NewDevice.ino").read_text()
    sketch.write_text(text + "Ciphermote copy_of(const Ciphermote &board) { return board; }\n")
    with pytest.raises(MachineError, match="use of deleted function"):
        build_sketch(sketch, UNO, fixed_keys(by_name("n1024_q26")))


def test_the_library_folder_is_what_the_ide_expects() -> None:
    folder = library_folder()
    properties = dict(line.split("=", 1) for line in (folder / "library.properties").read_text().splitlines())
    assert {"name", "version", "sentence", "architectures"} <= {
        key for key, text in properties.items() if text
    }
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    assert (folder / "src" / properties["includes"]).is_file()
    assert not list(folder.rglob("*armv7em*.S"))


def test_keywords_name_what_there_is() -> None:
    header = (ROOT / "ports/arduino/src/Ciphermote.h").read_text()
    public = "".join(path.read_text() for path in (ROOT / "core/include/ciphermote").glob("*.h"))
    for line in (ROOT / "ports/arduino/keywords.txt").read_text().splitlines():
        word, kind = line.split("\t")
        assert kind in ("KEYWORD1", "KEYWORD2", "LITERAL1")
        assert re.search(rf"\b{word}\b", header + public), word


@pytest.fixture(scope="module")
def uno() -> Iterator[Machine]:
    """An Uno that has encrypted three times."""
    with open_board(uno_integers(), UNO, counter_log(0)) as machine:
        machine.leave_out_waits(SERIAL_WRITE)
        run_regions(machine, 3, 3 * UNO_CYCLES)
        yield machine


def test_an_uno_encrypts_within_12_million_cycles_interrupts_and_all(uno: Machine) -> None:
    first, *others = encryptions(uno)[:3]
    assert all(counts.cycles <= 12_000_000 for counts in others)
    assert first.cycles > others[0].cycles  # it writes to EEPROM, once in 16 times


def test_core_buffers_library_and_stack_leave_the_sketch_256_bytes(uno: Machine) -> None:
    sizes = section_bytes(uno_integers())
    stack = max(uno.ram_end - counts.stack_low for counts in uno.regions)  # the start's among them
    assert sizes[".data"] + sizes[".bss"] + stack <= 2048 - 256


@pytest.mark.parametrize(
    ("board", "symbol", "calls", "pushed"),
    [(UNO, "cmi_avr_chacha20_blocks", 400, 22), (MEGA, "cmi_product_signed", 4000, 17)],
    ids=["uno", "mega"],
)
def test_the_stack_is_wiped_as_deep_as_interrupts_save_secrets(
    board: Board, symbol: str, calls: int, pushed: int
) -> None:
    """symbol: the deepest function that handles secrets; pushed: bytes it saves, with its callee."""
    image = uno_integers() if board is UNO else mega_both()
    with open_board(image, board, counter_log(0)) as machine:
        run_start(machine)
        run_regions(machine, 0 if board is UNO else 1, MEGA_CYCLES)  # real numbers take the most
        deepest = lowest(machine, symbol, calls) - pushed
        machine.run_to("cmi_wipe_stack")
        wiped = lowest(machine, "cmi_wipe", 1)
    address = 3 if board is MEGA else 2
    first = wiped + address + 1
    assert first <= deepest - (address + SAVED_REGISTERS) + 1


def test_the_start_wipes_the_stack_that_it_used() -> None:
    """ChaCha20 is the deepest, and runs with interrupts off."""
    with open_board(uno_integers(), UNO, counter_log(0)) as machine:
        deepest = lowest(machine, "cmi_avr_chacha20_blocks", GATHERED - 1) - 22
        machine.run_to("cmi_wipe_stack")
        assert len(machine.regions) == 0  # it is the start's
        assert lowest(machine, "cmi_wipe", 1) + 2 <= deepest


@pytest.fixture(scope="module")
def megas() -> Iterator[list[Machine]]:
    """Megas that have encrypted other values."""
    machines = [open_mega(mask) for mask in (0x0A55, 0x01C3)]
    yield machines
    for machine in machines:
        machine.__exit__(None, None, None)


def test_a_mega_encrypts_slots_and_reals_within_its_ram(megas: list[Machine]) -> None:
    sizes = section_bytes(mega_both())
    for counts in encryptions(megas[0])[:2]:
        assert sizes[".data"] + sizes[".bss"] + megas[0].ram_end - counts.stack_low <= MEGA.ram_bytes


def test_values_do_not_show_in_a_megas_time(megas: list[Machine]) -> None:
    first, second = ([(c.cycles, c.path) for c in encryptions(machine)[:2]] for machine in megas)
    assert first == second


def test_what_a_mega_sends_decrypts_to_the_values(megas: list[Machine], tmp_path: Path) -> None:
    secret = fixed_secret_key(MEGA_PARAMETERS)
    integers, reals = (FrameReader(MEGA_PARAMETERS, KEY_ID, plain_modulus=t) for t in (MEGA_PLAIN_MODULUS, 0))
    text = megas[0].text
    bfv = integers.feed(text[: len(text) // 2]).sets[0]
    ckks = reals.feed(text[bfv.frame_bytes :]).sets[0]
    seal = SealDecryptor(secret, MEGA_PLAIN_MODULUS, tmp_path)
    slots = seal.slots(sb.write_ciphertext(bfv.seal_ciphertext()))
    assert np.array_equal(slots, np.arange(MEGA_PARAMETERS.n) ^ 0x0A55)
    found = decrypt(sb.write_ciphertext(ckks.seal_ciphertext()), secret, bare=True).slots()
    np.testing.assert_allclose(found, mega_reals(0x0A55), atol=0.01)
