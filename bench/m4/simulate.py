# SPDX-License-Identifier: Apache-2.0
"""Build the bench's firmware, run it in QEMU under the cycle model, and read their output."""

from __future__ import annotations

import bisect
import csv
import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from configurations import PLAIN_MODULUS, Configuration
from keys import write_frames, write_keys

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WHOLE_RUN = -1
_TOTALS = ("region", "instructions", "cycles", "divisions", "path", "addresses")
SECONDS = 1200


class BenchError(Exception):
    """One sentence for the user."""


@dataclass(frozen=True)
class Region:
    """One pass through a region. path, addresses: digests of the code entered and the data accessed. classes:
    instructions of each class of classes.h."""

    number: int
    instructions: int
    cycles: int
    divisions: int
    path: str
    addresses: str
    classes: Mapping[str, int]


@dataclass(frozen=True)
class Run:
    """reported: the firmware's own lines. regions: in the order they ended, without the whole run."""

    reported: Mapping[str, int]
    regions: tuple[Region, ...]

    def region(self, number: int) -> Region:
        """The only pass through a region."""
        found = [region for region in self.regions if region.number == number]
        if len(found) != 1:
            raise BenchError(f"Region {number} ended {len(found)} times, not once.")
        return found[0]

    def cycles(self, number: int) -> int:
        """The cycles of all passes through a region."""
        return sum(region.cycles for region in self.regions if region.number == number)


def run_tool(command: Iterable[str | Path], what: str, cwd: Path | None = None) -> str:
    """Standard output. Raises BenchError if it fails or lasts too long."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{what}: {error}") from error
    if done.returncode != 0:
        raise BenchError(f"{what} failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def build_plugin(build: Path, source: Path = HERE / "cycles.c") -> Path:
    """Compile a plugin: the model, or one to compare it with."""
    plugin = build / f"{source.stem}.so"
    run_tool(["make", "-C", HERE, f"SOURCE={source.resolve()}", plugin], f"Compiling {source}")
    return plugin


@dataclass(frozen=True)
class Core:
    """A core to simulate. isa: its name in cycles.c; None for Thumb."""

    machine: str
    qemu: str = "qemu-system-arm"
    tools: str = "arm-none-eabi-"
    isa: str | None = None


_RV32 = Core("virt", "qemu-system-riscv32", "riscv64-unknown-elf-", "riscv")

CORES: Mapping[str, Core] = {
    "m0": Core("mps2-an385"),  # a Cortex-M3: QEMU has no M0 with enough RAM
    "m4": Core("mps2-an386"),
    "m33": Core("mps2-an505"),
    "m55": Core("mps3-an547"),
    "rv32imc": _RV32,
    "rv32imc_zbb": _RV32,
}
"""Named as in the Makefile."""


def build_firmware(
    build: Path, configuration: Configuration, names: Sequence[str], core: str = "m4"
) -> dict[str, Path]:
    """Compile and link firmware by name. A folder beside its own has the files generated for its degree:
    keys.c, and frames for firmware that decrypts."""
    workload = configuration.workload
    parameters = workload.parameters
    generated = build.parent / (f"{parameters.name}.batching" if workload.batching else parameters.name)
    keys = generated / "keys.c"
    write_keys(keys, parameters, [PLAIN_MODULUS] if workload.batching else [])
    frames = generated / f"frames{workload.log2_frame_tiles}.c"
    if any(name.endswith("_decrypt") for name in names):
        write_frames(frames, parameters, workload.log2_frame_tiles)
    images = {name: build / f"{name}.elf" for name in names}
    run_tool(
        [
            "make",
            "-j2",
            "-C",
            HERE,
            f"BUILD={build}",
            f"CORE={core}",
            f"KEYS={keys}",
            f"FRAMES={frames}",
            f"FLAGS={configuration.flags}",
            *images.values(),
        ],
        f"Building the firmware in {build}",
    )
    return images


def run_qemu(image: Path, plugin: Path, options: Mapping[str, str | int], core: str = "m4") -> str:
    """Run the firmware, and return its output on the UART."""
    machine = CORES[core]
    all_options = {**options, "isa": machine.isa} if machine.isa else options
    settings = "".join(f",{name}={value}" for name, value in all_options.items())
    ends = ("-bios", "none") if machine.isa else ("-semihosting-config", "enable=on,target=native")
    return run_tool(
        [
            *(machine.qemu, "-M", machine.machine, "-display", "none", "-monitor", "none"),
            *("-serial", "stdio", *ends),
            *("-kernel", image, "-plugin", f"{plugin}{settings}"),
        ],
        f"The simulation of {image.name}",
    )


def simulate(image: Path, plugin: Path, core: str = "m4", **options: str | int) -> Run:
    """Run to the end under the Cortex-M4's cycle model; options are those of cycles.c without `out`."""
    out = image.with_suffix(".csv")
    said = run_qemu(image, plugin, {"out": out, **options}, core)
    reported = {name: int(value) for name, value in (line.split() for line in said.splitlines())}
    return Run(reported, read_regions(out))


def read_regions(out: Path) -> tuple[Region, ...]:
    """Read what the plugin wrote at the end of a simulation, without the whole run."""
    with out.open(newline="", encoding="ascii") as file:
        return tuple(
            Region(
                int(row["region"]),
                int(row["instructions"]),
                int(row["cycles"]),
                int(row["divisions"]),
                row["path"],
                row["addresses"],
                {name: int(count) for name, count in row.items() if name not in _TOTALS},
            )
            for row in csv.DictReader(file)
            if int(row["region"]) != WHOLE_RUN
        )


@dataclass(frozen=True)
class Spent:
    """The cycles of a function, without its callees. file: its object, relative to the build's folder."""

    file: str
    symbol: str
    instructions: int
    cycles: int


def profile(image: Path, plugin: Path, region: int, core: str = "m4") -> list[Spent]:
    """Return one region's cycles by function, largest first."""
    blocks = image.with_suffix(".profile.csv")
    simulate(image, plugin, core, profile=blocks, region=region)
    symbols = _code_symbols(image, core)
    starts = [start for start, _ in symbols]
    files = _code_files(image)
    file_starts = [start for start, _ in files]
    instructions: Counter[tuple[str, str]] = Counter()
    cycles: Counter[tuple[str, str]] = Counter()
    with blocks.open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            address = int(row["address"])
            function = (
                files[bisect.bisect_right(file_starts, address) - 1][1],
                symbols[bisect.bisect_right(starts, address) - 1][1],
            )
            instructions[function] += int(row["instructions"])
            cycles[function] += int(row["cycles"])
    return [Spent(*function, instructions[function], spent) for function, spent in cycles.most_common()]


def _code_symbols(image: Path, core: str) -> list[tuple[int, str]]:
    """(address, name) of functions, by address, without the options in some names."""
    lines = run_tool([f"{CORES[core].tools}nm", image], f"Reading the symbols of {image.name}").splitlines()
    fields = [line.split() for line in lines]
    return sorted(
        (int(words[0], 16) & ~1, words[2].partition("__small_")[0])
        for words in fields
        if len(words) == 3 and words[1] in "tTwW" and not words[2].startswith("$")
    )


@dataclass(frozen=True)
class Flash:
    """Bytes of the library with what it uses of the compiler's libraries, and of the keys."""

    code: int
    tables: int
    keys: int


_SECTION = re.compile(r"^ \.(text|rodata)\S*\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+)$", re.MULTILINE)


def _placed(image: Path) -> Iterator[tuple[str, int, int, str]]:
    """(text or rodata, address, bytes, object file) of each part of an image, from the linker's map."""
    text = image.with_suffix(".map").read_text(encoding="utf-8")
    sections = _SECTION.findall(text[text.index("Linker script and memory map") :])
    return ((section, int(start, 16), int(size, 16), source) for section, start, size, source in sections)


def _code_files(image: Path) -> list[tuple[int, str]]:
    """(address, object file) of code, by address; the file relative to the build's folder."""
    return sorted(
        (start, os.path.relpath(source, image.parent))
        for section, start, size, source in _placed(image)
        if section == "text" and size
    )


def flash(image: Path, without: Collection[str] = ()) -> Flash:
    """Files of the bench and its board do not count, nor objects of these names."""
    sizes: Counter[str] = Counter()
    for section, _, size, source in _placed(image):
        path = Path(source)
        if path.name == "keys.o":
            sizes["keys"] += size
        elif path.parent.name not in ("firmware", "port") and path.name not in without:
            sizes[section] += size
    return Flash(code=sizes["text"], tables=sizes["rodata"], keys=sizes["keys"])
