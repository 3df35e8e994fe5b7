#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Firmware that delivers by itself: flash and RAM on a Cortex-M4, and cycles of a handshake and a window.

`make bench-netfirmware` builds the three images of ports/netfirmware (symmetric and public-key CKKS at
n = 4096 with three primes; the compact lane's set A10), has each deliver windows over HTTPS and over MQTT 5
to a gateway and a broker on this machine, in QEMU, and writes bench/results/netfirmware.json.

RAM is all static data (the arena, lwIP's pools and TLS's pool, which is its heap, among it) and the deepest
stack of all deliveries, which the firmware measures by painting. Flash is the whole image. Cycles are those
of the model in bench/m4/README.md: of all that is computed from the first packet of a connection to the end
of the handshake, and from a window's first value to its last byte in lwIP's hands. Sleep is left out. They
depend on how the peer's packets come, and flash on the lengths of certificate and token, which are drawn at
random: figures differ a little from run to run, and all are marked so.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A10
from ciphermote.fleet import Attachment, attach
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from net_device import NetDevice, Transport, build, write_headers
from numpy.typing import NDArray

from bench.microbit import flash_bytes
from bench.rows import Row, compiler_version, timed, write_results

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "bench/m4"), str(ROOT / "examples")]

from demos.fleet.site import Site, site  # noqa: E402
from measure import MODELLED  # noqa: E402
from simulate import BenchError, build_plugin, read_regions  # noqa: E402

PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE = 22
COMPACT_VALUES = 16
WINDOWS = 4
"""Deliveries of a run, whose mean is taken."""
HANDSHAKE, WINDOW = 1, 2
"""Regions of ports/netfirmware/work.c."""
TRANSPORTS: tuple[Transport, ...] = ("https", "mqtt")


@dataclass(frozen=True)
class Image:
    """One of the three. values: of a window."""

    name: str
    device: int
    values: NDArray[np.float32] | NDArray[np.uint16]


IMAGES = (
    Image("symmetric", 1, np.linspace(-4, 4, PARAMETERS.n // 2, dtype=np.float32)),
    Image("asymmetric", 2, np.linspace(-4, 4, PARAMETERS.n // 2, dtype=np.float32)),
    Image("compact", 3, np.arange(COMPACT_VALUES, dtype=np.uint16)),
)


def attachments(here: Site, folder: Path) -> dict[str, Attachment]:
    """Define two fleets, and return that of each image."""
    where = (here.server.url, here.server.token("owner"))
    ca = here.server.authority.read_text()
    KeyStore.create(folder / "full", PARAMETERS, galois_steps=[], relin=False)
    CompactKeys.generate(A10).save(folder / "compact.key")
    full = attach(folder / "full", *where, "watches", ca=ca, log2_scale=LOG2_SCALE)
    places = [(0, COMPACT_VALUES)]
    compact = attach(folder / "compact.key", *where, "meters", ca=ca, positions=places)
    return {"symmetric": full, "asymmetric": full, "compact": compact}


def deliver(
    elf: Path, workdir: Path, image: Image, transport: Transport, plugin: Sequence[str]
) -> dict[str, int]:
    """Deliver some windows; return what the device says of its memory, and the bytes of a window."""
    workdir.mkdir(exist_ok=True)
    with NetDevice(elf, workdir, plugin) as device:
        device.measure(image.values)
        for _ in range(WINDOWS):
            line = device.deliver(transport)
            if line.kind != "delivered" or line.figures["attempts"] != 1:
                raise BenchError(f"The {image.name} image did not deliver at once: {line.text}")
        report = {**device.report(), "window_bytes": line.figures["bytes"]}
        device.stop()
    return report


def image_rows(image: Image, headers: Path, folder: Path, plugin: Path) -> Iterator[Row]:
    params = {
        "parameters": "a10" if image.name == "compact" else PARAMETERS.name,
        "values": len(image.values),
        "preset": "balanced",
    }
    elf = build(headers, folder / "plain", shared=folder.parent / "shared")
    marked = build(headers, folder / "marked", shared=folder.parent / "shared-marked", options=["MARKS=1"])
    device = folder / "device"
    reports = [deliver(elf, device, image, transport, ()) for transport in TRANSPORTS]
    measured = {**params, "kind": "measured"}
    for figure in ("static", "stack", "pool", "pool_used", "ram"):
        name = {"pool": "tls_pool", "pool_used": "tls_pool_used"}.get(figure, figure)
        most = max(report[figure] for report in reports)
        yield Row(f"m4.tls.{image.name}.{name}_bytes", most, "bytes", measured)
    yield Row(f"m4.tls.{image.name}.flash_bytes", flash_bytes(elf), "bytes", measured)
    yield Row(f"m4.tls.{image.name}.window_bytes", reports[0]["window_bytes"], "bytes", measured)
    for transport in TRANSPORTS:
        out = folder / f"{transport}.csv"
        deliver(marked, device, image, transport, ("-plugin", f"{plugin},out={out}"))
        regions = read_regions(out)
        handshakes = WINDOWS if transport == "https" else 1
        for number, what, count in ((HANDSHAKE, "handshake", handshakes), (WINDOW, "window", WINDOWS)):
            parts = [region for region in regions if region.number == number]
            spent = {**params, **MODELLED, "instructions": sum(part.instructions for part in parts) // count}
            cycles = sum(part.cycles for part in parts) // count
            yield Row(f"m4.tls.{image.name}.{transport}.{what}.cycles", cycles, "cycles", spent)


def rows(folder: Path) -> Iterator[Row]:
    plugin = build_plugin(folder)
    found: list[Row] = []
    with site(folder / "gateway", "--workers", "1") as here:
        fleets = attachments(here, folder)
        for image in IMAGES:
            headers = folder / image.name / "headers"
            key = "asymmetric" if image.name == "asymmetric" else "symmetric"
            write_headers(fleets[image.name], image.device, headers, f"localhost:{here.broker.port}", key)
            found += image_rows(image, headers, folder / image.name, plugin)
    yield from found
    for figure in ("ram_bytes", "flash_bytes"):
        of_images = {image.name: f"m4.tls.{image.name}.{figure}" for image in IMAGES}
        largest = max((row for row in found if row.name in of_images.values()), key=lambda row: row.value)
        params = {**largest.params, "image": largest.name.split(".")[2]}
        yield Row(f"m4.tls.{figure}", largest.value, "bytes", params)
    for what in ("handshake", "window"):
        parts = [row for row in found if row.name.endswith(f".https.{what}.cycles")]
        largest = max(parts, key=lambda row: row.value)
        params = {**largest.params, "image": largest.name.split(".")[2], "transport": "https"}
        yield Row(f"m4.tls.{what}.cycles", largest.value, "cycles", params)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/netfirmware.json")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(Path(folder)))
    for row in found:
        print(f"{row.name:<48} {row.value:>12,}")
    compiler = compiler_version("arm-none-eabi-gcc")
    write_results(options.results, "make bench-netfirmware", compiler, timed(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
