# SPDX-License-Identifier: Apache-2.0
"""The Arduino library: its examples as the IDE builds them, and whole encryptions on simulated boards."""

from __future__ import annotations

import re
import struct
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
    PLAIN_MODULUS,
    SERIAL_WRITE,
    UNO_CYCLES,
    counter_log,
    encryptions,
    example,
    first_frames,
    fixed_keys,
    fixed_secret_key,
    mega_both,
    mega_reals,
    open_board,
    open_mega,
    run_regions,
    run_start,
    uno_integers,
    uno_values,
)
from ciphermote import _core
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import FrameReader
from ciphermote.owner.decryption import decrypt
from ciphermote.parameters import BFV, CKKS, by_name
from images import PARAMETERS, SENDER, TAG_KEY
from machine import ROOT, Machine, MachineError, section_bytes

from golden import compact as golden_compact

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


def test_the_example_of_a_board_with_a_number_compiles_and_fits(tmp_path: Path) -> None:
    header = (fixed_keys(PARAMETERS) / "provisioned_keys.h").read_text()
    header = re.sub(r"#define CM_PROVISIONED_TAGGED .*\n", "", header)
    key = ", ".join(map(str, TAG_KEY))
    (tmp_path / "provisioned_keys.h").write_text(
        f"{header}#define CM_PROVISIONED_TAGGED 1\n"
        f"#define CM_PROVISIONED_DEVICE {SENDER[0]}u\n#define CM_PROVISIONED_EPOCH {SENDER[1]}u\n"
        f"static const uint8_t cm_provisioned_tag_key[CM_TAG_KEY_BYTES] PROGMEM = {{{key}}};\n"
    )
    name = "EncryptedReadings"
    image = build_sketch(PORT_EXAMPLES / name / f"{name}.ino", UNO, tmp_path, name=f"{name}-tagged")
    sizes = section_bytes(image)
    assert sizes[".text"] + sizes[".data"] <= UNO_FLASH
    assert sizes[".data"] + sizes[".bss"] < UNO.ram_bytes
    plain = section_bytes(example(name, UNO, PARAMETERS))
    assert sizes[".text"] > plain[".text"]  # the tag's code, which is left out where there are none


def test_every_example_is_tested() -> None:
    names = {"CompactReadings", "NewDevice", "EncryptedReadings", "MegaSlots", "WatchdogNoise"}
    names |= {"PackedTransform", "PolynomialProducts"}  # test_ntt_library.py runs them
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
    headers = ("Ciphermote.h", "CiphermoteNtt.h")
    header = "".join((ROOT / "ports/arduino/src" / name).read_text() for name in headers)
    public = "".join(path.read_text() for path in (ROOT / "core/include/ciphermote").glob("*.h"))
    for line in (ROOT / "ports/arduino/keywords.txt").read_text().splitlines():
        word, kind = line.split("\t")
        assert kind in ("KEYWORD1", "KEYWORD2", "LITERAL1")
        assert re.search(rf"\b{word}\b", header + public), word


def open_uno(*, tagged: bool) -> Iterator[Machine]:
    """An Uno that has encrypted three times, or to frames with tags."""
    with open_board(uno_integers(tagged=tagged), UNO, counter_log(0)) as machine:
        machine.leave_out_waits(SERIAL_WRITE)
        run_regions(machine, 3, 3 * UNO_CYCLES)
        yield machine


@pytest.fixture(scope="module")
def uno() -> Iterator[Machine]:
    yield from open_uno(tagged=False)


@pytest.fixture(scope="module")
def tagging_uno() -> Iterator[Machine]:
    yield from open_uno(tagged=True)


def check_cycles(machine: Machine, most: int) -> None:
    first, *others = encryptions(machine)[:3]
    assert all(counts.cycles <= most for counts in others)
    assert first.cycles > others[0].cycles  # it writes to EEPROM, once in 16 times


def test_an_uno_encrypts_within_12_million_cycles_interrupts_and_all(uno: Machine) -> None:
    check_cycles(uno, 12_000_000)


def test_tags_take_900_000_cycles_more(tagging_uno: Machine) -> None:
    check_cycles(tagging_uno, 12_900_000)


def ram_bytes(machine: Machine, image: Path) -> int:
    sizes = section_bytes(image)
    stack = max(machine.ram_end - counts.stack_low for counts in machine.regions)  # the start's among them
    return sizes[".data"] + sizes[".bss"] + stack


def test_core_buffers_library_and_stack_leave_the_sketch_256_bytes(uno: Machine) -> None:
    assert ram_bytes(uno, uno_integers()) <= 2048 - 256


def test_a_sender_takes_64_bytes_and_its_tags_no_stack(uno: Machine, tagging_uno: Machine) -> None:
    plain = ram_bytes(uno, uno_integers())
    assert ram_bytes(tagging_uno, uno_integers(tagged=True)) <= min(plain + 64, 1856)


def test_the_frames_of_an_uno_have_the_tags_of_the_reference(tagging_uno: Machine) -> None:
    frames = first_frames(tagging_uno.text)
    assert len(frames) == 1 + 8  # the seed, and tiles
    seed = frames[0][64:96]
    for frame in frames:
        device, epoch, zero, since_window, random = struct.unpack_from("<IHHI8s", frame, 44)
        assert (frame[2], device, epoch, zero, since_window) == (2, *SENDER, 0, 0)
        assert random == seed[:8]
        assert frame[-12:-4] == golden_compact.tag(TAG_KEY, frame[:-12])


def test_under_the_tags_of_an_uno_is_what_it_sends_without(tagging_uno: Machine, tmp_path: Path) -> None:
    untagged = b""
    for frame in first_frames(tagging_uno.text):
        body = frame[:2] + b"\x01" + frame[3:44] + frame[64:-12]
        untagged += body + struct.pack("<I", _core.crc32c(body))
    (sent,) = FrameReader(PARAMETERS, KEY_ID, scheme=BFV(PLAIN_MODULUS)).feed(untagged).sets
    seal = SealDecryptor(fixed_secret_key(PARAMETERS), PLAIN_MODULUS, tmp_path)
    plain = seal.decrypt(sb.write_ciphertext(sent.seal_ciphertext()))
    values = np.array([plain[i] for i in range(plain.coeff_count())])
    assert np.array_equal(values, uno_values(0x2A55, 1)[0])


@pytest.mark.parametrize(
    ("board", "tagged", "symbol", "calls", "pushed"),
    [
        (UNO, False, "cmi_avr_chacha20_blocks", 400, 22),
        (UNO, True, "cmi_avr_chacha20_blocks", 400, 22),
        (UNO, True, "cmi_avr_poly1305_blocks", 100, 18 + 39),
        (MEGA, False, "cmi_product_signed", 4000, 17),
    ],
    ids=["uno", "uno-tagged", "uno-tag", "mega"],
)
def test_the_stack_is_wiped_as_deep_as_interrupts_save_secrets(
    board: Board, *, tagged: bool, symbol: str, calls: int, pushed: int
) -> None:
    """symbol: the deepest function that handles secrets; pushed: bytes it saves, with its callee."""
    image = uno_integers(tagged=tagged) if board is UNO else mega_both()
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
    integers, reals = (
        FrameReader(MEGA_PARAMETERS, KEY_ID, scheme=s) for s in (BFV(MEGA_PLAIN_MODULUS), CKKS)
    )
    text = megas[0].text
    bfv = integers.feed(text[: len(text) // 2]).sets[0]
    ckks = reals.feed(text[bfv.frame_bytes :]).sets[0]
    seal = SealDecryptor(secret, MEGA_PLAIN_MODULUS, tmp_path)
    slots = seal.slots(sb.write_ciphertext(bfv.seal_ciphertext()))
    assert np.array_equal(slots, np.arange(MEGA_PARAMETERS.n) ^ 0x0A55)
    found = decrypt(sb.write_ciphertext(ckks.seal_ciphertext()), secret, bare=True)
    np.testing.assert_allclose(found, mega_reals(0x0A55), atol=0.01)
