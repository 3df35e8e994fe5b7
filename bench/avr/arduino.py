# SPDX-License-Identifier: Apache-2.0
"""Build sketches as the Arduino IDE does: the core's sources, the board's flags, the library as shipped.

Needs Debian's arduino-core-avr, gcc-avr and avr-libc.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arduino_library import assemble
from machine import ROOT, MachineError, run_tool

PLATFORM = Path("/usr/share/arduino/hardware/arduino/avr")
PORT_EXAMPLES = ROOT / "ports/arduino/examples"
BUILD = ROOT / "build/avr/arduino"

_COMMON = (
    "-g",
    "-Os",
    "-ffunction-sections",
    "-fdata-sections",
    "-flto",
    "-DF_CPU=16000000L",
    "-DARDUINO=10819",
)
_KINDS = {
    ".c": ("avr-gcc", "-std=gnu11", "-fno-fat-lto-objects"),
    ".cpp": (
        "avr-g++",
        "-std=gnu++11",
        "-fpermissive",
        "-fno-exceptions",
        "-fno-threadsafe-statics",
        "-Wno-error=narrowing",
    ),
    ".S": ("avr-gcc", "-x", "assembler-with-cpp"),
}
"""platform.txt's compiler flags, by kind of source."""


@dataclass(frozen=True)
class Board:
    """A board of boards.txt."""

    name: str
    mcu: str
    define: str
    variant: str
    ram_bytes: int


UNO = Board("uno", "atmega328p", "AVR_UNO", "standard", 2048)
MEGA = Board("mega", "atmega2560", "AVR_MEGA2560", "mega", 8192)


def _flags(board: Board) -> tuple[str, ...]:
    return (
        *_COMMON,
        f"-mmcu={board.mcu}",
        f"-DARDUINO_{board.define}",
        "-DARDUINO_ARCH_AVR",
        f"-I{PLATFORM / 'cores/arduino'}",
        f"-I{PLATFORM / 'variants' / board.variant}",
    )


def _compile(
    sources: Iterable[Path], folder: Path, flags: Sequence[str], warnings: Sequence[str]
) -> list[Path]:
    objects = []
    for i, source in enumerate(sources):
        tool, *kind = _KINDS[source.suffix]
        out = folder / f"{i:03}-{source.name}.o"
        run_tool([tool, "-c", *kind, *flags, *warnings, source, "-o", out], f"Compiling {source.name}")
        objects.append(out)
    return objects


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _KINDS)


def _archive(name: str, board: Board, sources: Path, flags: Sequence[str], warnings: Sequence[str]) -> Path:
    """A library of all sources in a folder, compiled for a board."""
    folder = BUILD / board.name / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = folder / f"{name}.a"
    objects = _compile(_sources(sources), folder, flags, warnings)
    run_tool(["avr-gcc-ar", "rcs", archive, *objects], f"Archiving {name}")
    return archive


@cache
def _core(board: Board) -> Path:
    if not PLATFORM.is_dir():
        raise MachineError(f"{PLATFORM} is missing: install Debian's arduino-core-avr.")
    flags = (*_flags(board), "-DDECIMAL_DIG=__DECIMAL_DIG__")  # which Debian's gcc 5 lacks in C++11
    return _archive("core", board, PLATFORM / "cores/arduino", flags, ("-w",))


@cache
def library_folder() -> Path:
    """The library as shipped."""
    return assemble(BUILD / "libraries/Ciphermote")


@cache
def _library(board: Board) -> Path:
    source = library_folder() / "src"
    return _archive(
        "library", board, source, (*_flags(board), f"-I{source}"), ("-Wall", "-Wextra", "-Werror")
    )


def build_sketch(
    sketch: Path, board: Board, include: Path, flags: Sequence[str] = (), name: str | None = None
) -> Path:
    """Compile and link a sketch (.ino) for a board; include has its provisioned_keys.h.

    name: of the image's folder; by default the sketch's name with its flags.
    """
    name = name or "-".join((sketch.stem, *(flag.lstrip("-D") for flag in flags)))
    folder = BUILD / board.name / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder / f"{sketch.stem}.cpp"
    source.write_text(
        f'#include <Arduino.h>\n#line 1 "{sketch}"\n{sketch.read_text(encoding="utf-8")}', encoding="utf-8"
    )
    own = (*_flags(board), f"-I{library_folder() / 'src'}", f"-I{include}", *flags)
    objects = _compile([source], folder, own, ("-Wall", "-Wextra", "-Werror"))
    image = folder / f"{sketch.stem}.elf"
    link = ("-Os", "-g", "-flto", "-fuse-linker-plugin", "-Wl,--gc-sections", f"-mmcu={board.mcu}", *flags)
    run_tool(
        ["avr-gcc", *link, *objects, _library(board), _core(board), "-lm", "-o", image],
        f"Linking {image.name}",
    )
    return image
