# SPDX-License-Identifier: Apache-2.0
"""A simulated AVR as a Python object: machine.c over libsimavr, with exact cycles by call or by region.

Needs Debian's gcc, avr-gcc, binutils-avr, libsimavr-dev and libelf-dev.
"""

from __future__ import annotations

import bisect
import ctypes
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FREQUENCY = 16_000_000
CALL_CYCLES = 2_000_000_000
EECR, TINY_EECR, EEPE = 0x3F, 0x3C, 0x02
"""EEPROM control (followed by the data and address registers), and its bit for a write in progress."""
DATA_SPACE = 0x800000
"""The linker's offset for data addresses."""


class MachineError(Exception):
    """One sentence for the user."""


@dataclass(frozen=True)
class Counts:
    """The counts of one call, or of one pass through a region.

    path, addresses: digests of the code that ran, and of the addresses that it read and wrote.
    stack_low: the stack pointer's lowest value; deepest: the instruction that reached it.
    """

    region: int
    cycles: int
    paused: int
    path: int
    addresses: int
    stack_low: int
    deepest: int


class _Counts(ctypes.Structure):
    _fields_ = (
        ("cycles", ctypes.c_uint64),
        ("paused", ctypes.c_uint64),
        ("path", ctypes.c_uint64),
        ("addresses", ctypes.c_uint64),
        ("region", ctypes.c_uint32),
        ("lowest_sp", ctypes.c_uint32),
        ("deepest", ctypes.c_uint32),
    )

    def value(self) -> Counts:
        return Counts(
            self.region, self.cycles, self.paused, self.path, self.addresses, self.lowest_sp, self.deepest
        )


def run_tool(command: Sequence[str | Path], what: str, seconds: int = 300) -> str:
    """The output of a command; MachineError with it if the command fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise MachineError(f"{what} failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build_simulator(build: Path) -> Path:
    """Compile machine.c into a shared library in build."""
    library = build / "machine.so"
    source = HERE / "machine.c"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        build.mkdir(parents=True, exist_ok=True)
        flags = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
        run_tool(["gcc", *flags, source, "-o", library, "-lsimavr", "-lelf"], "Compiling machine.c")
    return library


def _load(library: Path) -> ctypes.CDLL:
    api = ctypes.CDLL(str(library))
    pointer, word, wide = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    signatures: Mapping[str, tuple[object, tuple[object, ...]]] = {
        "machine_open": (pointer, (ctypes.c_char_p, ctypes.c_char_p, word)),
        "machine_close": (None, (pointer,)),
        "machine_run": (ctypes.c_int, (pointer, word, wide)),
        "machine_run_to_change": (ctypes.c_int, (pointer, wide)),
        "machine_call": (
            ctypes.c_int,
            (
                pointer,
                word,
                word,
                ctypes.POINTER(ctypes.c_uint16),
                ctypes.c_uint,
                wide,
                ctypes.POINTER(_Counts),
            ),
        ),
        "machine_feed": (None, (pointer, ctypes.c_char_p, ctypes.c_size_t)),
        "machine_starved": (ctypes.c_int, (pointer,)),
        "machine_lowest_sp": (word, (pointer,)),
        "machine_profile": (ctypes.POINTER(wide), (pointer, ctypes.POINTER(ctypes.c_size_t))),
        "machine_data": (ctypes.POINTER(ctypes.c_uint8), (pointer,)),
        "machine_flash": (ctypes.POINTER(ctypes.c_uint8), (pointer,)),
        "machine_ram_end": (word, (pointer,)),
        "machine_cycle": (wide, (pointer,)),
        "machine_regions": (ctypes.POINTER(_Counts), (pointer, ctypes.POINTER(ctypes.c_size_t))),
        "machine_keep_digests": (None, (pointer, ctypes.c_int)),
        "machine_watchdog_periods": (None, (pointer, ctypes.POINTER(word), ctypes.c_size_t)),
        "machine_watchdog_always_on": (None, (pointer,)),
        "machine_watchdog_bit": (ctypes.c_int, (pointer,)),
        "machine_wait_in": (None, (pointer, word, word)),
        "machine_eeprom_read": (None, (pointer, ctypes.c_char_p, ctypes.c_uint16, word)),
        "machine_eeprom_write": (None, (pointer, ctypes.c_char_p, ctypes.c_uint16, word)),
        "machine_text": (pointer, (pointer, ctypes.POINTER(ctypes.c_size_t))),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(api, name)
        function.restype, function.argtypes = result, arguments
    return api


class Machine:
    """A core with an image loaded. Addresses are those of the data space, symbols those of the image."""

    def __init__(self, library: Path, image: Path, mcu: str, frequency: int = FREQUENCY) -> None:
        self._api = _load(library)
        self._handle = self._api.machine_open(str(image).encode(), mcu.encode(), frequency)
        if not self._handle:
            raise MachineError(f"{image} cannot be loaded into a simulated {mcu}.")
        self.symbols = read_symbols(image)
        self._eecr = TINY_EECR if mcu.startswith("attiny") else EECR
        self._fed = b""
        self.ram_end = self._api.machine_ram_end(self._handle)

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api.machine_close(self._handle)

    def run_to(self, symbol: str, cycles: int = CALL_CYCLES) -> None:
        """Run until the function of this name is entered."""
        if not self._api.machine_run(self._handle, self.symbols[symbol], cycles):
            raise MachineError(f"The firmware did not reach {symbol} within {cycles:,} cycles.")

    def run(self, cycles: int) -> None:
        """Run for this many cycles, or until the core sleeps for good."""
        self._api.machine_run(self._handle, 0xFFFFFFFF, cycles)

    def feed(self, content: bytes) -> None:
        """Queue words that the firmware reads from GPIOR1; a run ends when it asks for more."""
        self._fed = content
        self._api.machine_feed(self._handle, self._fed, len(content))

    @property
    def starved(self) -> bool:
        """Whether the run ended because the firmware has asked for more."""
        return bool(self._api.machine_starved(self._handle))

    @property
    def deepest_stack(self) -> int:
        """The most bytes of stack since reset."""
        return int(self.ram_end - self._api.machine_lowest_sp(self._handle))

    def run_to_change(self, cycles: int = CALL_CYCLES) -> bool:
        """Run until a byte is sent, or an EEPROM write begins or ends; False if neither happens."""
        return bool(self._api.machine_run_to_change(self._handle, cycles))

    def eeprom_write(self) -> tuple[int, int] | None:
        """The address and value of an EEPROM write in progress; None if there is none."""
        control, value, address = struct.unpack("<BBH", self.read(self._eecr, 4))
        return (address, value) if control & EEPE else None

    def call(self, symbol: str, *arguments: int, cycles: int = CALL_CYCLES) -> Counts:
        """Call a function with 16-bit arguments; the cycles are those of its body and its ret.

        The core must have stopped in main, to which it returns.
        """
        words = (ctypes.c_uint16 * len(arguments))(*arguments)
        counts = _Counts()
        if not self._api.machine_call(
            self._handle, self.symbols[symbol], self.symbols["main"], words, len(arguments), cycles, counts
        ):
            raise MachineError(f"{symbol} has not returned and restored the stack in {cycles:,} cycles.")
        return counts.value()

    def result(self) -> int:
        """The 16-bit result of the last call."""
        return int.from_bytes(self.read(24, 2), "little")

    def address(self, symbol: str) -> int:
        """The address of a variable."""
        return self.symbols[symbol] - DATA_SPACE

    def write(self, address: int, content: bytes) -> None:
        """Write to the data space."""
        ctypes.memmove(self._at(self._api.machine_data, address), content, len(content))

    def write_flash(self, address: int, content: bytes) -> None:
        """Write to flash, as a programmer would."""
        ctypes.memmove(self._at(self._api.machine_flash, address), content, len(content))

    def read(self, address: int, length: int) -> bytes:
        """Read from the data space."""
        return ctypes.string_at(self._at(self._api.machine_data, address), length)

    def _at(self, memory: Callable[[int], Any], address: int) -> int:
        return ctypes.addressof(memory(self._handle).contents) + address

    def set_watchdog_periods(self, cycles: Sequence[int]) -> None:
        """Set the watchdog's successive periods, at its shortest setting; afterwards it stands still.

        Without this call, periods are those of the data sheet, without any jitter.
        """
        self._periods = (ctypes.c_uint32 * len(cycles))(*cycles)
        self._api.machine_watchdog_periods(self._handle, self._periods, len(cycles))

    def force_watchdog(self) -> None:
        """Program the fuse WDTON."""
        self._api.machine_watchdog_always_on(self._handle)

    @property
    def watchdog_bit(self) -> bool:
        """Whether the run ended because the watchdog reset the core, or called its vector."""
        return bool(self._api.machine_watchdog_bit(self._handle))

    def leave_out_digests(self) -> None:
        """Run faster, without path and addresses in Counts."""
        self._api.machine_keep_digests(self._handle, 0)

    def leave_out_waits(self, symbol: str) -> None:
        """Count cycles in a function's loop as paused; it must have exactly one loop, in which it waits."""
        start = self.symbols[symbol]
        end = min(address for address in self.symbols.values() if address > start)
        self._api.machine_wait_in(self._handle, start, end)

    def read_eeprom(self, offset: int, length: int) -> bytes:
        """Read from the EEPROM."""
        out = ctypes.create_string_buffer(length)
        self._api.machine_eeprom_read(self._handle, out, offset, length)
        return out.raw

    def write_eeprom(self, offset: int, content: bytes) -> None:
        """Write to the EEPROM, as a programmer would."""
        self._api.machine_eeprom_write(self._handle, content, offset, len(content))

    def start_profile(self) -> None:
        """Count cycles by function from now on."""
        self._api.machine_profile(self._handle, ctypes.c_size_t())

    def profile(self) -> list[tuple[str, int]]:
        """(symbol, cycles without its callees), the largest first."""
        words = ctypes.c_size_t()
        counts = self._api.machine_profile(self._handle, words)
        symbols = sorted(
            (address, name)
            for name, address in self.symbols.items()
            if address < min(DATA_SPACE, 2 * words.value)
        )
        starts = [address for address, _ in symbols]
        spent: Counter[str] = Counter()
        for word in range(words.value):
            if counts[word]:
                spent[symbols[bisect.bisect_right(starts, 2 * word) - 1][1]] += counts[word]
        return spent.most_common()

    @property
    def cycle(self) -> int:
        """Cycles since reset."""
        return int(self._api.machine_cycle(self._handle))

    @property
    def regions(self) -> list[Counts]:
        """The regions that have ended, in order."""
        count = ctypes.c_size_t()
        regions = self._api.machine_regions(self._handle, count)
        return [regions[i].value() for i in range(count.value)]

    @property
    def text(self) -> bytes:
        """Return the firmware's output, on UART 0 or by writing to GPIOR2."""
        length = ctypes.c_size_t()
        text = self._api.machine_text(self._handle, length)
        return ctypes.string_at(text, length.value) if length.value else b""


def read_symbols(image: Path) -> dict[str, int]:
    """Addresses by name, without the options in the library's names."""
    lines = run_tool(["avr-nm", image], f"Reading the symbols of {image.name}").splitlines()
    fields = [line.split() for line in lines]
    return {words[2].partition("__small_")[0]: int(words[0], 16) for words in fields if len(words) == 3}


def section_bytes(image: Path) -> dict[str, int]:
    """Sizes by section."""
    lines = run_tool(["avr-size", "-A", image], f"Reading the sections of {image.name}").splitlines()
    fields = [line.split() for line in lines]
    return {words[0]: int(words[1]) for words in fields if len(words) == 3 and words[0].startswith(".")}


def build_image(image: Path, sources: Iterable[Path], mcu: str, flags: Sequence[str] = ("-O2",)) -> Path:
    """Compile and link sources (C and assembly) for a core."""
    image.parent.mkdir(parents=True, exist_ok=True)
    include = (f"-I{ROOT / 'core' / 'include'}", f"-I{ROOT / 'core' / 'src'}")
    warnings = ("-Wall", "-Wextra", "-Werror")
    run_tool(
        ["avr-gcc", f"-mmcu={mcu}", "-std=c11", *warnings, *include, *flags, *sources, "-o", image],
        f"Building {image.name}",
    )
    return image
