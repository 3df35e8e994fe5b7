#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Uno demo's course: make keys, provision Unos, let them encrypt, add up without a key, decrypt.

`make demo-uno`. Who knows what: each Uno its own readings and the key under which it encrypts; the engine
ciphertexts; the owner, who has the key too, is given the total alone.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "avr"))

import demand  # noqa: E402
import report  # noqa: E402
from arduino import UNO, build_sketch  # noqa: E402
from boards import (  # noqa: E402
    SERIAL_WRITE,
    UNO_CYCLES,
    counter_log,
    open_board,
    run_regions,
    watchdog_jitter,
)
from ciphermote.base.errors import Error  # noqa: E402
from ciphermote.base.files import write_exclusively  # noqa: E402
from ciphermote.evaluate.engine import open_engine  # noqa: E402
from ciphermote.formats.frames import FrameSet, read_sets  # noqa: E402
from ciphermote.owner import provisioning as provision  # noqa: E402
from ciphermote.owner.decryption import decrypt  # noqa: E402
from ciphermote.owner.key_store import KeyStore  # noqa: E402
from ciphermote.parameters import BFV, by_name  # noqa: E402
from ciphermote.parameters.bounds import Readings  # noqa: E402
from demos.run import Stage  # noqa: E402
from machine import MachineError, section_bytes  # noqa: E402
from rich.console import Console  # noqa: E402

PARAMETERS = by_name("n1024_q26")
PLAIN_MODULUS = 40961
NODES, DAYS = 8, 14
FLUSH_CYCLES = 4_000_000
"""More than what Serial still holds takes to leave."""


def flash_node(folder: Path, store: KeyStore, readings: np.ndarray) -> Path:
    """Provision a new device and build its image. readings: int64 [days, 24]."""
    folder.mkdir()
    keys = provision.provision(store, secret=True)
    write_exclusively(folder / "provisioned_keys.h", provision.to_c_header(keys).encode(), 0o600)
    write_exclusively(folder / "demand.h", demand.header(readings, PLAIN_MODULUS).encode(), 0o600)
    sketch = Path(__file__).with_name("demand_node.ino")
    return build_sketch(sketch, UNO, folder, name=f"demo-{folder.name}")


def encrypt(image: Path, store: KeyStore, outcome: report.Outcome) -> FrameSet:
    """Run a node with a new counter, and a simulated watchdog of its own, until it has sent its days."""
    with open_board(image, UNO, counter_log(0), watchdog_jitter(image.parent.name)) as machine:
        machine.leave_out_waits(SERIAL_WRITE)
        run_regions(machine, 1, UNO_CYCLES)
        machine.run(FLUSH_CYCLES)
        (counts,) = machine.regions
        frames = machine.text
        stack = machine.ram_end - counts.stack_low
    sizes = section_bytes(image)
    outcome.cycles.append(counts.cycles)
    outcome.waits.append(counts.paused)
    outcome.ram.append(sizes[".data"] + sizes[".bss"] + stack)
    outcome.sent.append(len(frames))
    scheme, largest = BFV(PLAIN_MODULUS), store.readings.largest
    (found,) = read_sets([frames], PARAMETERS, store.key_id, scheme=scheme, largest=largest)
    return found


def run(console: Console) -> None:
    """Run the demo. Writes build/demo-uno/demo.png and demo.json; raises Error if it fails."""
    os.umask(0o077)  # headers and images hold keys
    work = ROOT / "build" / "demo-uno"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    readings = demand.load(NODES, DAYS)
    outcome = report.Outcome(PARAMETERS, readings)
    stage = Stage(console, outcome.seconds)

    with stage.step("Owner: make keys"):
        declared = Readings(demand.LARGEST, NODES)
        store = KeyStore.create(work / "keys", PARAMETERS, galois_steps=[], relin=False, readings=declared)
    with stage.step("Owner: provision and flash Unos", NODES) as done:
        images = []
        for node in range(NODES):
            images.append(flash_node(work / f"uno-{node + 1}", store, readings[node]))
            done()
    with stage.step("Unos: encrypt their days", NODES) as done:
        sets = []
        for image in images:
            sets.append(encrypt(image, store, outcome))
            done()
        outcome.residues = sets[0].residues[0, 0]
    with (
        stage.step("Engine: add up, without a key", NODES) as done,
        open_engine(PARAMETERS, scheme=BFV(PLAIN_MODULUS)) as engine,
    ):

        def ciphertexts():
            for found in sets:
                yield found.to_seal()
                done()

        total = engine.sum(ciphertexts())
    with stage.step("Owner: decrypt the total"):
        values = decrypt(total, store.secret(), places="coefficients")
        outcome.total = values[: DAYS * demand.HOURS].reshape(DAYS, demand.HOURS)

    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json")
    console.print("\nThe plot and the figures are build/demo-uno/demo.png and demo.json.", highlight=False)
    report.judge(outcome)


def main() -> int:
    try:
        run(Console())
    except (Error, MachineError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
