# SPDX-License-Identifier: Apache-2.0
"""The ports for chips: counters in flash whose power is cut, generators that fail, and images that link.

Drivers run on the host against simulated registers (tests/chips); none has run on a real chip.
"""

from __future__ import annotations

import ctypes
import os
import pty
import random
import re
import shutil
import ssl
import struct
import subprocess
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from ciphermote.base.errors import ParameterError
from ciphermote.compact import keys as compact_keys
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A10
from ciphermote.fleet import Connection
from ciphermote.owner import provisioning
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import Identity, provision
from ciphermote.parameters import by_name
from link import LinkError
from local_devices import ProcessDevice
from net_settings import to_header
from test_ports import frames_of, make, write_headers

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Chip:
    """folders: of ports/, the chip's own first. files: of ports/. simulation: of tests/chips/."""

    folders: tuple[str, ...]
    files: tuple[str, ...]
    simulation: tuple[str, ...]
    options: tuple[str, ...] = ()


CC_TRNG = ("chips/cc_trng", "chips/random")
CHIPS = {
    "microbit": Chip(("microbit",), (), ("sim_microbit",)),
    "nrf5340": Chip(
        ("nrf5340",), ("nrf5340/flash", "nrf5340/chip", *CC_TRNG), ("sim_nrf5340", "sim_cc_trng")
    ),
    "rp2040": Chip(
        ("rp2040", "rp2"), ("rp2/flash", "rp2/chip", "rp2040/generator", "chips/random"), ("sim_rp2",)
    ),
    "rp2350": Chip(
        ("rp2350", "rp2"), ("rp2/flash", "rp2/chip", *CC_TRNG), ("sim_rp2", "sim_cc_trng"), ("-DCC_TRNG",)
    ),
    "stm32u5": Chip(
        ("stm32u5",), ("stm32u5/flash", "stm32u5/chip", "stm32u5/generator", "chips/random"), ("sim_stm32u5",)
    ),
}
GENERATORS = [name for name in CHIPS if name != "microbit"]


# ---- simulated chips ----


LIBRARY = ("wire/crc32c", "random/blake2", "common/wipe", "backends/x86_64")
"""What the drivers use of core/src/."""


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A chip's drivers with the chip simulated, as a library; each is built once."""
    directory = tmp_path_factory.mktemp("chips")

    def build(name: str) -> Path:
        chip = CHIPS[name]
        library = directory / f"{name}.so"
        if not library.exists():
            shared = ("chips/counter", "chips/counter_record", "health/health")
            sources = [ROOT / f"ports/{file}.c" for file in (*shared, *chip.files)]
            sources += [ROOT / f"tests/chips/{file}.c" for file in ("simulated_chip", *chip.simulation)]
            folders = [*chip.folders, "chips", "mps2-an386", "health", "app"]
            quoted = [f"-iquote{ROOT / 'ports' / folder}" for folder in folders]
            quoted += [f"-iquote{ROOT / 'tests/chips'}", f"-I{ROOT}/core/include", f"-I{ROOT}/core/src"]
            sources += [ROOT / f"core/src/{file}.c" for file in LIBRARY]
            options = ("-O1", "-fPIC", "-shared", "-std=c11", "-Wall", "-Wextra", "-Werror")
            subprocess.run(
                ["gcc", *options, "-DSIMULATED_CHIP", *chip.options, *quoted, *sources, "-o", library],
                check=True,
            )
        return library

    return build


class SimulatedChip:
    """A chip just made: its flash is erased, and its generator good."""

    CUT = 2

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.page_words = self._word("page_words").value
        self.unit_words = self._word("unit_words").value
        body = -(-3 // self.unit_words) * self.unit_words
        self.record_words = body + self.unit_words
        self.records = self.page_words // self.record_words - 1
        """A page's."""
        self.pages = (ctypes.c_uint32 * (2 * self.page_words)).in_dll(self.library, "flash_words")
        self.worn_bit = self._word("worn_bit")
        self.misuses = self._word("misuses")
        self.erase()

    def _word(self, name: str) -> ctypes.c_uint32:
        return ctypes.c_uint32.in_dll(self.library, name)

    def place(self, words: list[int]) -> None:
        """Place words in the flash, as if programmed without a power cut."""
        self.pages[:] = words
        self.library.placed()

    def erase(self) -> None:
        self.place([0xFFFFFFFF] * (2 * self.page_words))

    def read(self) -> int | None:
        value = ctypes.c_uint64(1)
        return int(value.value) if self.library.counter_read(None, ctypes.byref(value)) == 0 else None

    def write(self, value: int, cut_after: int = -1, seed: int = 1) -> int:
        return int(self.library.store(ctypes.c_uint64(value), cut_after, ctypes.c_uint32(seed)))

    def start(self) -> bool:
        """Whether start-up comes to its end, with the core's clock and the link as they should be."""
        self.library.started.restype = ctypes.c_bool
        return self.library.start() == 0 and bool(self.library.started())

    def random(self, length: int) -> bytes | None:
        out = ctypes.create_string_buffer(length)
        found = self.library.random_bytes(None, out, ctypes.c_size_t(length))
        return out.raw if found == 0 else None

    def noise(self, kind: str, errors: int = 0) -> None:
        kinds = ("good", "stuck", "none", "error", "clock error")
        self._word("noise_kind").value = kinds.index(kind)
        self._word("noise_errors").value = errors

    @property
    def microseconds(self) -> int:
        return self._word("microseconds").value


@pytest.fixture
def chip(
    request: pytest.FixtureRequest, simulated: Callable[[str], Path], tmp_path: Path
) -> Iterator[SimulatedChip]:
    """A copy of the library, so that no other test has used its state."""
    made = SimulatedChip(shutil.copy(simulated(request.param), tmp_path / f"{request.param}.so"))
    yield made
    assert made.misuses.value == 0, "the chip was used as its manual forbids"


every_flash = pytest.mark.parametrize("chip", CHIPS, indirect=True)
every_generator = pytest.mark.parametrize("chip", GENERATORS, indirect=True)


# ---- start-up ----


@pytest.mark.parametrize("chip", ["rp2040", "rp2350"], indirect=True)
def test_a_chip_starts_from_a_power_on_reset(chip: SimulatedChip) -> None:
    assert chip.start(), "it waits for ever"


# ---- counters ----


@every_flash
def test_a_flash_counter_survives_power_cuts_at_every_moment(chip: SimulatedChip) -> None:
    source = random.Random(7)
    stored = 0
    cuts = 0
    for _ in range(6000):
        found = chip.read()
        assert found is not None and found >= stored, "a counter that was promised is lost"
        attempt = found + 16
        cut_after = source.randrange(10) if source.random() < 0.5 else -1
        outcome = chip.write(attempt, cut_after, source.getrandbits(32) | 1)
        assert outcome in (0, SimulatedChip.CUT)
        cuts += outcome == SimulatedChip.CUT
        stored = attempt if outcome == 0 else found
        if outcome == 0:
            assert chip.read() == attempt
    assert cuts > 500 and stored > 16 * chip.records * 10, "pages must have taken turns, with cuts between"


@every_flash
def test_a_flash_counter_survives_power_cuts_while_pages_change(chip: SimulatedChip) -> None:
    last = 2 * chip.records
    for value in range(1, last + 1):
        assert chip.write(value) == 0
    full = list(chip.pages)
    operations = 2 * chip.record_words // chip.unit_words + 1
    for seed in range(1, 100):
        for cut_after in range(operations):
            chip.place(full)
            assert chip.write(last + 1, cut_after, seed * 2654435761) == SimulatedChip.CUT
            found = chip.read()
            assert found in (last, last + 1)
            assert chip.write(found + 1) == 0
            assert chip.read() == found + 1
    chip.place(full)
    assert chip.write(last + 1, operations) == 0, "all operations have been cut"


@every_flash
def test_a_flash_counter_never_goes_back(chip: SimulatedChip) -> None:
    assert chip.read() == 0
    assert chip.write(32) == 0
    assert chip.write(32) != 0 and chip.write(16) != 0
    assert chip.read() == 32


@every_flash
@pytest.mark.parametrize("ahead", [1, 5, "full", "next", "again"])
def test_a_flash_counter_with_a_damaged_record_in_use_is_an_error(
    chip: SimulatedChip, ahead: int | str
) -> None:
    places = {"full": chip.records, "next": chip.records + 1, "again": 2 * chip.records + 4}
    records = ahead if isinstance(ahead, int) else places[ahead]
    for value in range(1, records + 1):
        assert chip.write(value) == 0
    page, slot = divmod(records - 1, chip.records)
    start = chip.page_words * (page % 2)
    in_record, in_mark = start + chip.record_words * slot, start + chip.page_words - 3
    for word in (in_record, in_mark):  # the mark is of a page that is to be erased
        sound = chip.pages[word]
        chip.pages[word] ^= 1 << 9
        assert chip.read() is None
        assert chip.write(records + 1) == -1
        chip.pages[word] = sound
    assert chip.read() == records


@every_flash
def test_a_flash_counter_with_a_marked_page_alone_is_an_error(chip: SimulatedChip) -> None:
    for page in (1, 2):
        chip.erase()
        assert chip.read() == 0
        chip.pages[page * chip.page_words - 3] = 0
        assert chip.read() is None


@every_flash
def test_a_flash_counter_steps_over_a_worn_cell(chip: SimulatedChip) -> None:
    chip.worn_bit.value = 1 << 3
    assert chip.write(16) == 0
    assert chip.read() == 16
    assert chip.pages[chip.record_words] != 0xFFFFFFFF, "the second place has the record"


@pytest.mark.parametrize("chip", ["stm32u5"], indirect=True)
def test_a_record_whose_check_code_does_not_fit_is_damage(chip: SimulatedChip) -> None:
    assert chip.write(16) == 0 and chip.write(32) == 0
    chip.library.spoil(ctypes.c_uint32(chip.record_words // chip.unit_words))
    assert chip.read() is None
    assert chip.write(48) == -1
    chip.erase()
    chip.library.spoil(ctypes.c_uint32(chip.page_words // chip.unit_words - 1))
    assert chip.read() is None, "a mark whose check code does not fit is one"


@pytest.mark.parametrize("chip", ["stm32u5"], indirect=True)
def test_code_whose_check_code_does_not_fit_resets_the_chip(chip: SimulatedChip) -> None:
    chip.library.resets_at_unreadable_code.restype = ctypes.c_bool
    assert chip.write(16) == 0
    assert chip.library.resets_at_unreadable_code()


# ---- generators ----


@every_generator
def test_good_noise_becomes_bytes(chip: SimulatedChip) -> None:
    found = [chip.random(length) for length in (64, 40, 64)]
    assert all(piece is not None and len(set(piece)) > 20 for piece in found)
    assert found[0] != found[2]


@every_generator
@pytest.mark.parametrize("kind", ["stuck", "none"])
def test_noise_that_fails_is_refused_for_good(chip: SimulatedChip, kind: str) -> None:
    assert chip.random(32) is not None
    chip.noise(kind)
    before = chip.microseconds
    assert chip.random(32) is None
    assert kind == "stuck" or 90_000 < chip.microseconds - before < 200_000, "it waits, but not for ever"
    chip.noise("good")
    assert chip.random(32) is None


@every_generator
@pytest.mark.parametrize("kind", ["stuck", "none"])
def test_noise_that_fails_at_the_start_gives_no_byte(chip: SimulatedChip, kind: str) -> None:
    chip.noise(kind)
    assert chip.random(1) is None


@pytest.mark.parametrize("chip", ["nrf5340", "rp2350", "stm32u5"], indirect=True)
def test_errors_of_the_hardwares_own_tests_are_recovered_from_or_refused(chip: SimulatedChip) -> None:
    chip.noise("error", 3)
    assert chip.random(32) is not None
    chip.noise("error", 1000)
    assert chip.random(32) is None
    chip.noise("good")
    assert chip.random(32) is None


@pytest.mark.parametrize("chip", ["stm32u5"], indirect=True)
def test_a_clock_error_is_refused(chip: SimulatedChip) -> None:
    assert chip.random(8) is not None
    chip.noise("clock error")
    before = chip.microseconds
    assert chip.random(8) is None
    assert chip.microseconds - before < 1000, "it is not waited out"


class Health(ctypes.Structure):
    """struct health of ports/health/health.h."""

    _fields_ = (
        ("last", ctypes.c_uint8),
        ("repeats", ctypes.c_uint8),
        ("watched", ctypes.c_uint8),
        ("seen", ctypes.c_uint16),
        ("matches", ctypes.c_uint16),
        ("failed", ctypes.c_bool),
    )


def accepted(chip: SimulatedChip, samples: list[int]) -> int:
    """Return how many samples the health tests accept before they fail; all of them if they do not."""
    accepts = chip.library.health_accepts
    accepts.restype = ctypes.c_bool
    state = Health()
    results = [accepts(ctypes.byref(state), ctypes.c_uint8(sample)) for sample in samples]
    count = results.index(False) if False in results else len(results)
    assert not any(results[count:]), "a failure is for good"
    return count


@pytest.mark.parametrize("chip", ["microbit"], indirect=True)
def test_health_tests_accept_good_bytes_and_refuse_bad_ones(chip: SimulatedChip) -> None:
    source = random.Random(90)
    uniform = [source.randrange(256) for _ in range(100_000)]
    assert accepted(chip, uniform) == len(uniform)
    assert accepted(chip, [0] * 20) == 8
    assert accepted(chip, [*uniform[:500], *[7] * 8, 8, *uniform[:500]]) == 1009
    assert accepted(chip, [*uniform[:500], *[7] * 9, *uniform[:500]]) <= 509
    lopsided = [0 if source.random() < 0.25 else source.randrange(256) for _ in range(20_000)]
    assert accepted(chip, lopsided) < 20_000
    assert accepted(chip, [0, 255] * 300) < 512


# ---- images ----

IMAGES = ("rp2040", "rp2350", "rp2350-riscv", "nrf5340", "stm32u5")
FLASH_START = {"nrf5340": 0, "stm32u5": 0x08000000}
RP2_FLASH = 0x10000000
"""Flash of the other three."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Linked with a secret key at n = 4096. What needs no key is kept in build/ for the next run; each of the
    processes that test at the same time has its own."""
    headers = tmp_path_factory.mktemp("headers") / "symmetric"
    write_headers(headers, 4096, "cm_n4096_q26x3_p27", secret=True, public=False)
    build = ROOT / "build/chips" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
    built = make("chips", f"GENERATED={headers}", f"BUILD={build}")
    assert built.returncode == 0, built.stderr
    return {name: build / name / "ciphermote.elf" for name in IMAGES}


@dataclass(frozen=True)
class Segment:
    virtual: int
    physical: int
    data: bytes
    memory_bytes: int


def segments(elf: Path) -> list[Segment]:
    image = elf.read_bytes()
    (table,) = struct.unpack_from("<I", image, 28)
    size, count = struct.unpack_from("<HH", image, 42)
    found = []
    for i in range(count):
        kind, offset, virtual, physical, file_bytes, memory_bytes = struct.unpack_from(
            "<6I", image, table + i * size
        )
        if kind == 1:
            found.append(Segment(virtual, physical, image[offset : offset + file_bytes], memory_bytes))
    return found


def flash_of(elf: Path) -> tuple[int, bytes]:
    """Return the image's address in flash, and its bytes."""
    parts = sorted((part.physical, part.data) for part in segments(elf) if part.data)
    start = parts[0][0]
    content = bytearray()
    for at, data in parts:
        content += bytes(at - start - len(content)) + data
    return start, bytes(content)


def vectors(content: bytes, at: int = 0) -> tuple[int, int]:
    """The stack's top and the entry."""
    return struct.unpack_from("<2I", content, at)


def test_images_begin_where_their_chip_does(images: dict[str, Path]) -> None:
    for name in IMAGES:
        start, content = flash_of(images[name])
        assert start == FLASH_START.get(name, RP2_FLASH)
        if name == "rp2350-riscv":
            continue
        stack, entry = vectors(content, 0x100 if name == "rp2040" else 0)
        assert stack == 0x20000000 + 8192
        assert start <= entry - 1 < start + len(content) and entry % 2


def test_the_rp2040s_second_stage_has_the_checksum_that_its_rom_wants(images: dict[str, Path]) -> None:
    content = flash_of(images["rp2040"])[1][:256]
    checksum = 0xFFFFFFFF
    for byte in content[:252]:
        checksum ^= byte << 24
        for _ in range(8):
            checksum = (checksum << 1 ^ (0x04C11DB7 if checksum >> 31 else 0)) & 0xFFFFFFFF
    assert struct.unpack("<I", content[252:])[0] == checksum


def test_the_rp2350s_images_say_which_core_they_are_for(images: dict[str, Path]) -> None:
    def block(name: str) -> tuple[int, ...]:
        content = flash_of(images[name])[1][:4096]
        start = content.index(struct.pack("<I", 0xFFFFDED3))
        assert start % 4 == 0
        end = content.index(struct.pack("<I", 0xAB123579), start)
        return struct.unpack(f"<{(end - start) // 4}I", content[start:end])

    assert block("rp2350")[1:] == (0x10210142, 0x000001FF, 0)
    head, _, entry, stack, *tail = block("rp2350-riscv")[1:]
    assert (head, stack, tail) == (0x11010142, 0x20000000 + 8192, [0x000004FF, 0])
    assert RP2_FLASH <= entry < RP2_FLASH + 4096


def test_code_outside_of_the_flash_is_copied_there(images: dict[str, Path]) -> None:
    for name in ("rp2040", "rp2350", "rp2350-riscv"):
        copied = [part for part in segments(images[name]) if part.data and part.virtual != part.physical]
        assert len(copied) == 1 and copied[0].virtual > 0x20002000
        assert copied[0].physical >= RP2_FLASH


@pytest.mark.parametrize("name", [*IMAGES, "esp32"])
def test_chips_wipe_the_stack_as_deep_as_whole_polynomials_need(name: str, tmp_path: Path) -> None:
    """The depth at which tests/core/test_stack.c finds nothing left; the library's default is for tiles."""
    flags = (ROOT / "ports/esp32/main/CMakeLists.txt").read_text()
    if name in IMAGES:
        planned = make("-n", f"{name}-objects", f"BUILD={tmp_path}")
        assert planned.returncode == 0, planned.stderr
        (flags,) = (line for line in planned.stdout.splitlines() if "core/src/common/wipe.c" in line)
    assert "CM_CONFIG_WIPE_STACK_BYTES=4096 " in flags


def test_the_table_of_sizes_is_of_these_images(images: dict[str, Path]) -> None:
    page = (ROOT / "ports/chips/README.md").read_text()
    rows = []
    for name in IMAGES:
        flash = len(flash_of(images[name])[1])
        parts = segments(images[name])
        ram = sum(part.memory_bytes for part in parts if part.virtual >= 0x20000000)
        code = sum(len(part.data) for part in parts if part.data and part.virtual != part.physical)
        rows.append(f"| `{name}` | {flash:,} | {ram:,} | {code:,} |")
    assert [row for row in rows if row not in page] == []


# ---- the ESP32-C3 and C6: ESP-IDF's interface alone is at hand, served by tests/chips/esp_idf ----

ESP_OPTIONS = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
ESP_FOLDERS = ("ports/esp32/main", "ports/chips", "ports/app", "ports/health", "ports/mps2-an386")
AUTHORITY = ssl.DER_cert_to_PEM_cert(bytes(range(100)))
"""What a header holds, here of no certificate."""
ESP_CONFIG = ("-DCM_CONFIG_MAX_LOG2_N=12", "-DCM_CONFIG_COMPLEX=0", "-DAPP_WINDOWS=0")


def esp_sources() -> list[Path]:
    """Return the sources that ports/esp32/main/CMakeLists.txt names, without the library and the
    application."""
    text = (ROOT / "ports/esp32/main/CMakeLists.txt").read_text()
    listed = text[text.index("SRCS") : text.index("INCLUDE_DIRS")].split()[1:]
    places = {"${root}": str(ROOT), "${chips}": str(ROOT / "ports/chips")}
    sources = []
    for name in listed:
        for variable, place in places.items():
            name = name.replace(variable, place)
        if name not in ("${core}", "${application}"):
            sources.append(ROOT / "ports/esp32/main" / name)
    return sources


def esp_includes(headers: Path) -> list[str]:
    folders = [*(ROOT / folder for folder in ESP_FOLDERS), headers, ROOT / "tests/chips/esp_idf"]
    return [f"-I{folder}" for folder in (*folders, ROOT / "core/include", ROOT / "core/src")]


@pytest.fixture(scope="module")
def esp_process(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ESP32's port as a process, with ESP-IDF simulated."""
    directory = tmp_path_factory.mktemp("esp32")
    headers = directory / "headers"
    write_headers(headers, 1024, "cm_n1024_q26", secret=True, public=True)
    includes = esp_includes(headers)
    library = sorted(ROOT.glob("core/src/*/*.c"))
    omitted = ("window_features.c", "device_record.c")
    application = [path for path in sorted(ROOT.glob("ports/app/*.c")) if path.name not in omitted]
    application.append(ROOT / "ports/mps2-an386/port.c")
    sources = [*esp_sources(), *application, *library]
    # The port has no main of a process's kind: simulated_main.c calls app_main, as ESP-IDF does.
    simulation = sorted(ROOT.glob("tests/chips/esp_idf/*.c"))
    for group, options in ((sources, ["-Dmain=port_main"]), (simulation, [])):
        subprocess.run(
            ["gcc", "-O1", "-D_GNU_SOURCE", *ESP_CONFIG, *options, *includes, "-c", *group],
            check=True,
            cwd=directory,
        )
    program = directory / "esp32"
    subprocess.run(["gcc", *sorted(directory.glob("*.o")), "-o", program], check=True)
    return program


def test_the_esp32s_files_compile_for_its_core(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    write_headers(headers, 1024, "cm_n1024_q26", secret=True, public=False, largest=100)
    core = ("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")
    subprocess.run(
        [
            *("riscv64-unknown-elf-gcc", "-O2", *core, *ESP_OPTIONS, *ESP_CONFIG),
            *(*esp_includes(headers), "-c", *esp_sources()),
        ],
        check=True,
        cwd=tmp_path,
    )


def esp_network_sources() -> list[Path]:
    """Return what ports/esp32/main/CMakeLists.txt names for -DNETWORK=1, without the two sensors."""
    text = (ROOT / "ports/esp32/main/CMakeLists.txt").read_text()
    listed = re.search(r"if\(NETWORK\)\s+set\(application ([^)]+)\)", text)
    assert listed is not None
    places = {"${netfirmware}": str(ROOT / "ports/netfirmware")}
    names = [name.replace(*place) for name in listed[1].split() for place in places.items()]
    return [ROOT / "ports/esp32/main" / name for name in names]


@pytest.mark.parametrize("lane", ["full", "compact"])
def test_the_esp32s_network_compiles_for_its_core(lane: str, tmp_path: Path) -> None:
    if lane == "full":
        keys = KeyStore.create(tmp_path / "keys", by_name("n1024_q26"))
        provisioned = provision(keys, secret=True, identity=Identity(7, 1), largest=100, log2_scale=15)
        (tmp_path / "provisioned_keys.h").write_text(provisioning.to_c_header(provisioned))
    else:
        compact, enrolment = CompactKeys.generate(A10).enroll(7)
        (tmp_path / "compact_keys.h").write_text(compact_keys.to_c_header(compact, enrolment))
    connection = Connection(
        *("https://gateway.example:8443", "meters", 7, 1, "home.meters.7", "token"), AUTHORITY, {}
    )
    settings = to_header(connection, "gateway.example", server="192.0.2.1", wifi=("A name", "long enough"))
    (tmp_path / "network_settings.h").write_text(settings)
    sources = [*esp_sources(), *esp_network_sources(), ROOT / f"ports/netfirmware/sensor_{lane}.c"]
    core = ("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs", "-DCHIP_RADIO=1", "-DNET_MARKS=0")
    subprocess.run(
        [
            *("riscv64-unknown-elf-gcc", "-O2", *core, *ESP_OPTIONS, *ESP_CONFIG),
            *(f"-I{ROOT}/ports/netfirmware", *esp_includes(tmp_path), "-c", *sources),
        ],
        check=True,
        cwd=tmp_path,
    )


def test_settings_without_wifi_are_not_built_for_an_esp32(tmp_path: Path) -> None:
    (tmp_path / "network_settings.h").write_text("")
    core = ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")
    done = subprocess.run(
        [
            *(*core, f"-I{ROOT}/ports/netfirmware", *esp_includes(tmp_path)),
            *("-c", ROOT / "ports/esp32/main/network/wifi.c"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode != 0 and "make it with --wifi and --wifi-password" in done.stderr


@pytest.mark.parametrize(
    ("name", "password"), [("", "long enough"), ("A name", "short"), ('"', "long enough")]
)
def test_wifi_that_firmware_cannot_have_is_refused(name: str, password: str) -> None:
    connection = Connection("https://localhost", "meters", 7, 1, "home.meters.7", "token", AUTHORITY, {})
    with pytest.raises(ParameterError, match="Wi-Fi"):
        to_header(connection, "localhost", wifi=(name, password))


def test_an_esp32_encrypts_and_counts_across_power_cuts(esp_process: Path, tmp_path: Path) -> None:
    seen = []
    for _ in range(3):
        with ProcessDevice(esp_process, tmp_path, timeout=60.0) as link:
            for key in ("symmetric", "asymmetric"):
                values = np.linspace(-1, 1, 512, dtype=np.float32)
                frames = frames_of(link.encrypt_values(values, log2_scale=20, key=key))
                seen.append(frames[0].counter)
            assert link.report().status == "CM_OK"
    assert seen == sorted(set(seen))


@pytest.mark.parametrize(
    ("variable", "status"), [("NOISE_IS_STUCK", "CM_ERR_RANDOM"), ("NO_PARTITION", "CM_ERR_COUNTER")]
)
def test_an_esp32_without_noise_or_counter_refuses(
    esp_process: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, status: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with ProcessDevice(esp_process, tmp_path, timeout=60.0) as link, pytest.raises(LinkError) as caught:
        link.encrypt_values(np.zeros(4, dtype=np.float32), log2_scale=20)
    assert caught.value.status == status


# ---- what the page says to type ----


@pytest.mark.parametrize("file", ["ports/chips/README.md", "ports/esp32/CMakeLists.txt"])
def test_the_esp32s_target_is_set_with_its_keys(file: str) -> None:
    """idf.py set-target runs CMake, and main/CMakeLists.txt refuses to go on without them."""
    commands = re.findall(r"idf\.py\b[^&`\n]*set-target", " ".join((ROOT / file).read_text().split()))
    assert commands and all("-DGENERATED=" in command for command in commands)


def test_the_pages_program_reads_a_device_that_prints_text_first(
    esp_process: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a terminal in place of a serial port."""
    page = (ROOT / "ports/chips/README.md").read_text()
    program = page[page.index("```python\n") + len("```python\n") :]
    program = program[: program.index("```")]
    host, board = pty.openpty()
    tty.setraw(board)
    program = program.replace("/dev/ttyACM0", os.ttyname(board))
    program = program.replace("log2_scale=22", "log2_scale=16")  # this device has a single prime
    program = program.replace("21.4, -27.0", "2.4, -2.7")  # and is provisioned for 8
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.sleep", lambda _: os.write(host, b"ESP-ROM:esp32c3\r\n"))
    with subprocess.Popen([esp_process], stdin=host, stdout=host, cwd=tmp_path) as device:
        try:
            exec(compile(program, "read.py", "exec"), {})
        finally:
            device.kill()
    assert frames_of((tmp_path / "frames.bin").read_bytes())
