# SPDX-License-Identifier: Apache-2.0
"""The client-aided demo's course: train, make keys, flash a device, take turns with the engine, compare.

Who knows what: the device has the secret key, and what goes from layer to layer; the engine has Galois keys
and the network's weights, and sees ciphertexts alone; the owner reads classes on the device's display. Both
are run for BFV, whose integers are exact, and for CKKS, on the whole test split.
"""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.base.files import write_exclusively
from ciphermote.evaluate.client_aided import Rounds, Session, plan_rounds
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.neural_network import IntegerNetwork, Network, quantise
from ciphermote.formats.evaluation_keys import galois_keys_for_bfv
from ciphermote.formats.frames import read_sets
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.owner import provisioning as provision
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import BFV, ParameterSet, Scheme, by_name
from link import DeviceLink, DeviceReport
from local_devices import QemuDevice
from numpy.typing import NDArray
from rich.console import Console

from demos import client_aided_report as report
from demos import speakers
from demos.run import ROOT, Stage, build_firmware

PARAMETERS = by_name("n4096_q26x3_p27")
PLAIN_MODULUS = 40961
"""The largest prime of 16 bits that is 1 mod 2n."""
LIMIT = 63
LOG2_SCALE = 25
DISPLAY_FILE = "ciphermote-display"


@dataclass
class SchemeOutcome:
    """One scheme's run. classes, plain: int [count], under encryption and in the clear; sent, returned: bytes
    of each ciphertext to the server and back; cycles: phase -> modelled cycles of one round."""

    classes: NDArray[np.int64]
    plain: NDArray[np.int64]
    blocks: int
    sent: list[int]
    returned: list[int]
    cycles: dict[str, int]
    device: DeviceReport


@dataclass
class Outcome:
    """Everything the demo found. seconds: step -> wall time, in order."""

    test: speakers.Utterances
    network: Network
    parameters: ParameterSet = PARAMETERS
    schemes: dict[str, SchemeOutcome] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    sample_residues: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))


@dataclass(frozen=True, eq=False)
class _Side:
    """The differences between the schemes: inputs for the device, classes in the clear, the rounds."""

    inputs: NDArray[np.int16] | NDArray[np.float32]
    plain: NDArray[np.int64]
    rounds: Rounds


def read_display(workdir: Path) -> list[int]:
    """The classes that a simulated device in workdir shows its owner: the file ciphermote-display stands for
    a display. Raises Error if there is none."""
    path = workdir / DISPLAY_FILE
    try:
        return [int(word) for word in path.read_text(encoding="ascii").split()]
    except (OSError, ValueError) as error:
        raise Error(f"The device's display {path} cannot be read: {error}.") from None


def infer(
    device: DeviceLink,
    display: Path,
    engine: Engine,
    rounds: Rounds,
    key_id: int,
    scheme: str,
    vectors: NDArray[np.int16] | NDArray[np.float32],
    exchanged: Callable[[bytes, bytes], None] = lambda sent, returned: None,
) -> NDArray[np.int64]:
    """Classes of vectors [count, features], as many in a ciphertext as there are blocks.

    display: the device's working directory, for classes are read where its owner reads them, and do not come
    over the link. exchanged: is told of each round's bytes, to the server and back. Raises LinkError,
    FrameError, EngineError or Error.
    """
    classes: list[int] = []
    for start in range(0, len(vectors), rounds.blocks):
        session = Session(engine, rounds, key_id)
        frames = device.aided_begin(vectors[start : start + rounds.blocks], scheme)
        for _ in rounds.plans:
            result = session.answer(frames)
            exchanged(frames, result)
            frames = device.aided_answer(result)
        classes += read_display(display)
    return np.array(classes, dtype=np.int64)


def flash_device(root: Path, work: Path, store: KeyStore, model_header: str, largest: float) -> Path:
    """Provision a device with the secret key and build its image: files for their owner alone."""
    folder = work / "device"
    folder.mkdir(mode=0o700)
    keys = provision.provision(store, secret=True, largest=largest)
    write_exclusively(folder / "provisioned_keys.h", provision.to_c_header(keys).encode(), 0o600)
    write_exclusively(folder / "aided_model.h", model_header.encode(), 0o600)
    elf = folder / "ciphermote.elf"
    write_exclusively(elf, build_firmware(root, folder, aided=True), 0o600)
    return elf


def build_cycle_model(root: Path) -> Path:
    """The QEMU plugin of bench/m4. Raises Error if it does not compile."""
    plugin = root / "build" / "bench-m4" / "cycles.so"
    command = ["make", "--no-print-directory", "-C", str(root / "bench" / "m4"), str(plugin)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise Error(f"The cycle model did not compile: {built.stderr.strip()[-400:]}")
    return plugin


def _sides(network: Network, integers: IntegerNetwork, x: NDArray[np.float64]) -> dict[str, _Side]:
    exact = plan_rounds(integers.layers, PARAMETERS, bound=integers.limit, scheme=BFV(PLAIN_MODULUS))
    real = plan_rounds(network.layers, PARAMETERS, bound=network.cap, log2_scale=LOG2_SCALE)
    return {
        "bfv": _Side(integers.inputs(x), integers.scores(x).argmax(axis=1), exact),
        "ckks": _Side(network.inputs(x), network.scores(x).argmax(axis=1), real),
    }


def run(console: Console | None = None) -> Outcome:
    """Run the demo. Writes build/demo-client-aided/demo.png and demo.json; raises Error if it fails."""
    console = console or Console()
    root = ROOT
    work = root / "build" / "demo-client-aided"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    seconds: dict[str, float] = {}
    stage = Stage(console, seconds)

    with stage.step("Train and quantise a network in the clear"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # aeon's about packages that are not used here
        train, test = speakers.load("train"), speakers.load("test")
        network = speakers.train_network(train)
        integers = quantise(
            network, speakers.standardise(train, train), plain_modulus=PLAIN_MODULUS, limit=LIMIT
        )
        sides = _sides(network, integers, speakers.standardise(train, test))
    outcome = Outcome(test, network, seconds=seconds)

    with stage.step("Owner: make keys"):
        steps = sorted({step for side in sides.values() for step in side.rounds.rotation_steps})
        store = KeyStore.create(work / "keys", PARAMETERS, galois_steps=steps, relin=False)
        galois_keys = store.public_bytes(GALOIS_FILE)

    with stage.step("Owner: provision and flash a device"):
        header = speakers.aided_model_header(network, integers, sides["ckks"].rounds)
        elf = flash_device(root, work, store, header, network.cap)
        plugin = build_cycle_model(root)

    for name, side in sides.items():
        scheme = side.rounds.scheme
        keys = galois_keys_for_bfv(galois_keys, PARAMETERS, scheme) if scheme.is_bfv else galois_keys
        counts = work / f"{name}.csv"
        ciphertexts = -(-len(side.inputs) // side.rounds.blocks)
        sent: list[int] = []
        returned: list[int] = []
        with (
            stage.step(
                f"{name.upper()}: device and engine take turns", ciphertexts * len(side.rounds.plans)
            ) as done,
            open_engine(PARAMETERS, galois_keys=keys, scheme=scheme) as engine,
            QemuDevice(elf, elf.parent, plugin=f"{plugin},out={counts}") as device,
        ):

            def exchanged(
                frames: bytes,
                result: bytes,
                sent: list[int] = sent,
                returned: list[int] = returned,
                done: Callable[[], None] = done,
                scheme: Scheme = scheme,
            ) -> None:
                sent.append(len(frames))
                returned.append(len(result))
                if not outcome.sample_residues.size:
                    found = read_sets([frames], PARAMETERS, store.key_id, scheme=scheme)
                    outcome.sample_residues = found[0].residues[0, 0]
                done()

            classes = infer(
                device, elf.parent, engine, side.rounds, store.key_id, name, side.inputs, exchanged
            )
            figures = device.report()
        outcome.schemes[name] = SchemeOutcome(
            classes,
            side.plain,
            side.rounds.blocks,
            sent,
            returned,
            report.cycles_a_round(counts, len(sent)),
            figures,
        )

    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json")
    console.print(
        f"\nThe plot and the figures are {work.relative_to(root)}/demo.png and demo.json.", highlight=False
    )
    report.judge(outcome)
    return outcome
