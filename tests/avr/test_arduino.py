"""The Arduino library: its examples as the IDE builds them, and whole encryptions on simulated boards."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from arduino import MEGA, PORT_EXAMPLES, UNO, Board, library_folder
from boards import (
    SERIAL_WRITE,
    UNO_CYCLES,
    counter_log,
    example,
    open_board,
    run_regions,
    uno_integers,
)
from ciphermote.parameters import by_name
from machine import ROOT, Machine, section_bytes

UNO_FLASH = 32_256
MEGA_FLASH = 253_952
"""Less the boot loader."""


@pytest.mark.parametrize(
    ("name", "board", "parameters", "flash"),
    [
        ("NewDevice", UNO, "n1024_q26", UNO_FLASH),
        ("EncryptedReadings", UNO, "n1024_q26", UNO_FLASH),
        ("MegaSlots", MEGA, "n2048_q26_p27", MEGA_FLASH),
    ],
)
def test_each_example_compiles_and_fits(name: str, board: Board, parameters: str, flash: int) -> None:
    sizes = section_bytes(example(name, board, by_name(parameters)))
    assert sizes[".text"] + sizes[".data"] <= flash
    assert sizes[".data"] + sizes[".bss"] < board.ram_bytes


def test_every_example_is_tested() -> None:
    assert {path.name for path in PORT_EXAMPLES.iterdir()} == {"NewDevice", "EncryptedReadings", "MegaSlots"}


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
    first, *others = uno.regions[:3]
    assert all(counts.cycles <= 12_000_000 for counts in others)
    assert first.cycles > others[0].cycles  # it writes to EEPROM, once in 16 times


def test_core_buffers_library_and_stack_leave_the_sketch_256_bytes(uno: Machine) -> None:
    sizes = section_bytes(uno_integers())
    stack = max(uno.ram_end - counts.stack_low for counts in uno.regions)
    assert sizes[".data"] + sizes[".bss"] + stack <= 2048 - 256
