#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The micro:bit's memory: flash, static data and stack of the port's firmware, as reported by the device.

`make bench-microbit` builds the firmware with fresh keys of each kind, has QEMU's micro:bit encrypt 2048 real
values at n = 4096 with three primes, and writes bench/results/microbit.json. Nothing in it is modelled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from ciphermote.owner import provisioning as provision
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from local_devices import MicrobitDevice

from bench.rows import Row, compiler_version, write_results

ROOT = Path(__file__).resolve().parent.parent

PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE, LARGEST = 25, 8
IMAGES: dict[str, tuple[str, ...]] = {
    "symmetric": ("symmetric",),
    "asymmetric": ("asymmetric",),
    "both": ("symmetric", "asymmetric"),
}
"""By the kinds of key that they contain."""
RUNS = (
    ("symmetric", "chacha20"),
    ("symmetric", "shake256"),
    ("symmetric", "blake2xb"),
    ("asymmetric", "chacha20"),
    ("both", "chacha20"),
)
"""(image, XOF of its symmetric encryptions)."""


def build(folder: Path, store: KeyStore, image: str) -> Path:
    """The firmware with these keys."""
    kinds = IMAGES[image]
    provisioned = provision.provision(
        store, secret="symmetric" in kinds, public="asymmetric" in kinds, largest=LARGEST
    )
    headers = folder / image
    headers.mkdir()
    (headers / "provisioned_keys.h").write_text(provision.to_c_header(provisioned))
    command = ["make", "-C", str(ROOT / "ports"), "microbit", f"GENERATED={headers}", f"BUILD={headers}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return headers / "microbit" / "ciphermote.elf"


def flash_bytes(elf: Path) -> int:
    """Code, constants and initial values."""
    said = subprocess.run(["arm-none-eabi-size", str(elf)], check=True, capture_output=True, text=True).stdout
    text, data = said.splitlines()[1].split()[:2]
    return int(text) + int(data)


def rows(folder: Path) -> Iterator[Row]:
    store = KeyStore.create(folder / "keys", PARAMETERS)
    elves = {image: build(folder, store, image) for image in IMAGES}
    values = np.linspace(-4, 4, PARAMETERS.n // 2, dtype=np.float32)
    for number, (image, xof) in enumerate(RUNS):
        workdir = folder / f"run{number}"
        workdir.mkdir()
        with MicrobitDevice(elves[image], workdir) as device:
            for kind in IMAGES[image]:
                device.encrypt_values(values, log2_scale=LOG2_SCALE, key=kind, xof=xof)
            report = device.report()
        figures = {
            "flash_bytes": flash_bytes(elves[image]),
            "arena_bytes": report.arena_bytes,
            "static_bytes": report.static_bytes,
            "stack_bytes": report.stack_bytes,
            "ram_bytes": report.total_bytes,
        }
        params = {
            "parameters": PARAMETERS.name,
            "n": PARAMETERS.n,
            "data_primes": len(PARAMETERS.data_primes),
            "values": len(values),
            "keys": list(IMAGES[image]),
            "xof": xof if "symmetric" in IMAGES[image] else None,
            "kind": "measured",
        }
        for figure, value in figures.items():
            yield Row(f"microbit.{image}.{xof}.{figure}", value, "bytes", params)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/microbit.json")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(Path(folder)))
    for row in found:
        print(f"{row.name:<44} {row.value:>8,}")
    write_results(options.results, "make bench-microbit", compiler_version("arm-none-eabi-gcc"), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
