# SPDX-License-Identifier: Apache-2.0
"""Measure the README's sensor.c, compiled as the README says, with a preset."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from ciphermote.parameters import by_name
from configurations import KINDS, PRESETS, compiler_flags
from keys import provisioned_header
from measure import COUNTED, MODELLED
from simulate import HERE, ROOT, BenchError, run_tool, simulate

from bench.rows import Row

README = ROOT / "README.md"
PORT = ROOT / "ports/mps2-an386"
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
SECTIONS = ("-ffunction-sections", "-fdata-sections")
COLLECT = "-Wl,--gc-sections"
LINK = ("-nostartfiles", f"-L{PORT}", "-Tapplication.ld", COLLECT, "-Wl,--no-warn-rwx-segments")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
PARAMETERS = by_name("n4096_q26x3_p27")
PUBLIC_KEY = {
    "cm_encryptor_init_symmetric(": "cm_encryptor_init_asymmetric(",
    "cm_provisioned_secret_key": "cm_provisioned_public_key",
    "CM_XOF_CHACHA20": "CM_XOF_NONE",
    "CM_CKKS_SYMMETRIC_ARENA_BYTES": "CM_CKKS_ASYMMETRIC_ARENA_BYTES",
}
"""What the README changes for a public key."""


def found(pattern: str) -> tuple[str, ...]:
    """The groups of what the README holds once."""
    matches = re.findall(pattern, README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if len(matches) != 1:
        raise BenchError(f"README.md holds {pattern!r} {len(matches)} times; the bench reads it there.")
    (match,) = matches
    return match if isinstance(match, tuple) else (match,)


def sensor(kind: str) -> str:
    """The README's sensor.c, for this kind of key."""
    (text,) = found(r"^```c\n(/\* sensor\.c \*/\n.*?)^```$")
    for old, new in PUBLIC_KEY.items() if kind == "asymmetric" else ():
        if old not in text:
            raise BenchError(f"README.md's sensor.c has no {old} to change for a public key.")
        text = text.replace(old, new)
    return text


def compiled(folder: Path, flags: str) -> list[Path]:
    """The library's objects, by the README's line for a copied core/."""
    sources, includes = found(r"^\* Copy `core/`; compile `([^`]+)` with `([^`]+)`")
    names = sorted(name for pattern in sources.split() for name in glob(pattern, root_dir=ROOT))
    objects = [folder / f"{Path(name).stem}.o" for name in names]
    if len(set(objects)) < len(objects):
        raise BenchError("Two of the library's files have one name, so that one object replaces the other.")

    def compile_one(name: str, to: Path) -> None:
        options = (*SECTIONS, *WARNINGS, *flags.split(), *shlex.split(includes))
        command = ("arm-none-eabi-gcc", *CORTEX_M4, "-std=c11", *options)
        run_tool((*command, "-c", name, "-o", to), f"Compiling {name}", cwd=ROOT)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, names, objects))
    return objects


def image(folder: Path, library: list[Path], flags: str, kind: str) -> Path:
    """The sensor on the bench's board."""
    own = folder / kind
    own.mkdir(exist_ok=True)
    (own / "sensor.c").write_text(sensor(kind), encoding="ascii")
    (own / "provisioned_keys.h").write_text(provisioned_header(PARAMETERS), encoding="ascii")
    board = [PORT / f"{name}.c" for name in ("startup", "semihosting", "uart", "memory")]
    firmware = [HERE / "firmware" / f"{name}.c" for name in ("user", "report", "workload")]
    program = own / "user.elf"
    includes = (f"-I{ROOT / 'core/include'}", f"-I{own}", f"-I{PORT}", f"-I{HERE / 'firmware'}")
    command = ("arm-none-eabi-gcc", *CORTEX_M4, "-std=c11", *SECTIONS, *flags.split(), *includes, *LINK)
    run_tool((*command, *firmware, *board, *library, "-o", program), f"Linking {program}")
    return program


def rows(build: Path, plugin: Path) -> Iterator[Row]:
    """user.<preset>.<key>.cycles, .ram_bytes and .flash_bytes."""
    for preset, (optimize, options) in PRESETS.items():
        flags = compiler_flags(optimize, options)
        folder = build / "user" / preset
        folder.mkdir(parents=True, exist_ok=True)
        library = compiled(folder, flags)
        for kind in KINDS:
            yield from _rows_of(f"user.{preset}.{kind}", image(folder, library, flags, kind), plugin, flags)


def _rows_of(name: str, program: Path, plugin: Path, flags: str) -> Iterator[Row]:
    run = simulate(program, plugin)
    if run.reported["status"] != 0:
        raise BenchError(f"{name}: the README's sensor ends with status {run.reported['status']}.")
    params = {"flags": flags, "emitted_bytes": run.reported["emitted"]}
    yield Row(f"{name}.cycles", run.region(0).cycles, "cycles", {**params, **MODELLED})
    ram = run.reported["static"] + run.reported["stack"]
    yield Row(f"{name}.ram_bytes", ram, "bytes", {**params, **COUNTED, "stack": run.reported["stack"]})
    sizes = run_tool(["arm-none-eabi-size", program], f"Measuring {program.name}").splitlines()[1].split()
    flash = int(sizes[0]) + int(sizes[1])
    yield Row(f"{name}.flash_bytes", flash, "bytes", {**params, **COUNTED, "of": "the program with its keys"})
