# SPDX-License-Identifier: Apache-2.0
"""The images that the AVR bench and tests run: the library's kernels, and a whole encryption."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from ciphermote import _core
from ciphermote.base.files import write_atomically
from ciphermote.parameters import by_name
from ciphermote.parameters.native import core_params
from machine import HERE, ROOT, Machine, build_image, build_simulator, run_tool

CORE = ROOT / "core/src"
FIRMWARE = HERE / "firmware"
BUILD = ROOT / "build/avr"
PARAMETERS = by_name("n1024_q26")
MCU = "atmega328p"
TAG_KEY = bytes(range(48))
SENDER = (77, 3)
"""Device and key epoch of frames with tags, as in firmware/workload.h and sketches/uno_integers.ino."""
RAM_START = 0x200
"""After the few variables of the kernels' image."""

DEVICE = (
    "-DCM_CONFIG_MAX_LOG2_N=10",
    "-DCM_CONFIG_PRECISION_63=0",
    "-DCM_CONFIG_COMPLEX=0",
    "-DCM_CONFIG_SEAL_XOFS=0",
    "-DCM_CONFIG_TRANSFORMED_SECRET=1",
)
"""What an Arduino Uno leaves out, and its tiles."""

WRAPPED = ("cmi_seeds_draw",)
"""What encrypt_read.c replaces."""

OPTIMIZE = "-Os"
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")


def wrapped(compiler: str, functions: Sequence[str], *flags: str) -> list[str]:
    """The flags that replace the library's functions by the firmware's; names end in the options."""
    source = BUILD / "wrapped.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"wrapped {name}\n" for name in functions)
    source.write_text(f'#include "common/names.h"\n{lines}', encoding="ascii")
    include = [f"-I{path}" for path in (ROOT / "core/include", CORE)]
    text = run_tool([compiler, "-E", "-P", *include, *flags, source], "Reading names of the library")
    words = text.split()
    return [f"-Wl,--wrap={name}" for before, name in pairwise(words) if before == "wrapped"]


def library(*, assembly: bool) -> list[Path]:
    """The library's sources."""
    sources = sorted(CORE.glob("*/*.c"))
    return [*sources, *sorted(CORE.glob("backends/avr_*.S"))] if assembly else sources


def transformed_secret(seed: int) -> bytes:
    """A secret key in the form of cm_secret_key_transform, in little-endian words."""
    params = core_params(PARAMETERS)
    ternary = _core.secret_key_generate(params, bytes([seed]) * 32)
    words = np.asarray(_core.secret_key_transform(params, ternary, 0))
    return words.astype("<u4").tobytes()


def _write_key() -> Path:
    """The keys, as firmware/workload.h declares them."""
    path = BUILD / "key.c"
    words = np.frombuffer(transformed_secret(1), dtype="<u4").tolist()
    text = (
        '#include "workload.h"\n#ifdef __AVR__\n#include <avr/pgmspace.h>\n#else\n#define PROGMEM\n#endif\n'
        f"const uint32_t workload_transformed[] PROGMEM = {{{', '.join(f'{word}u' for word in words)}}};\n"
        f"const uint8_t workload_tag_key[] PROGMEM = {{{', '.join(map(str, TAG_KEY))}}};\n"
    )
    if not path.exists() or path.read_text(encoding="ascii") != text:
        BUILD.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("ascii"))
    return path


@cache
def encryption_image(*, tagged: bool = False) -> Path:
    """A device that encrypts once and sleeps. tagged: into frames with tags."""
    sources = [FIRMWARE / "encrypt_read.c", _write_key(), *library(assembly=True)]
    wrap = wrapped("avr-gcc", WRAPPED, f"-mmcu={MCU}", *DEVICE)
    flags = [OPTIMIZE, f"-I{FIRMWARE}", *SECTIONS, *wrap, *DEVICE, f"-DTAGGED={int(tagged)}"]
    return build_image(BUILD / f"encrypt_read{'_tagged' * tagged}.elf", sources, MCU, flags)


@cache
def encryption_on_host(*, tagged: bool = False) -> bytes:
    """Return the bytes that the same program emits with portable C."""
    program = BUILD / f"encrypt_read{'_tagged' * tagged}"
    include = [f"-I{path}" for path in (ROOT / "core/include", CORE, FIRMWARE)]
    sources = [FIRMWARE / "encrypt_read.c", _write_key(), *library(assembly=False)]
    run_tool(
        [
            "gcc",
            "-std=c11",
            "-O1",
            *include,
            *wrapped("gcc", WRAPPED, *DEVICE),
            *DEVICE,
            f"-DTAGGED={int(tagged)}",
            *sources,
            "-o",
            program,
        ],
        "Building for the host",
    )
    emitted = program.with_suffix(".bin")
    run_tool([program, emitted], "Encrypting on the host")
    return emitted.read_bytes()


def open_encryption(*, tagged: bool = False) -> Machine:
    """A device that has stopped before main."""
    machine = Machine(build_simulator(BUILD), encryption_image(tagged=tagged), MCU)
    machine.run_to("main")
    return machine


def open_kernels(name: str, *sources: Path, mcu: str = MCU) -> Machine:
    """A core that has stopped in main, with functions to call."""
    flags = [OPTIMIZE, "-DCM_CONFIG_MAX_LOG2_N=10"]
    image = build_image(BUILD / f"{name}_{mcu}.elf", sources, mcu, flags)
    machine = Machine(build_simulator(BUILD), image, mcu)
    machine.run_to("main")
    return machine


@cache
def compact_sources() -> tuple[Path, ...]:
    """Return the compact lane's assembly sources."""
    names = ("chacha20", "poly1305", "product", "ternary", "uniform")
    smaller = ("chacha20_rolled", "poly1305_rolled", "uniform_bytes")
    return (FIRMWARE / "idle.c", *(CORE / f"backends/avr_{name}.S" for name in (*names, *smaller)))


@cache
def arithmetic_sources() -> tuple[Path, ...]:
    """The transforms, and what they need."""
    names = (
        "ring/prime.c",
        "ring/product.c",
        "ring/ring.c",
        "backends/avr_ring.c",
        "backends/avr_chacha20.S",
        "backends/avr_product.S",
        "backends/avr_residues.S",
        "backends/avr_uniform.S",
    )
    return (
        FIRMWARE / "kernels.c",
        *(CORE / name for name in names),
        *sorted((ROOT / "ports/arduino/src").glob("ntt14*.[cS]")),
    )
