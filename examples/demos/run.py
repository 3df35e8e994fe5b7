# SPDX-License-Identifier: Apache-2.0
"""The demo's course: train, make keys, flash devices, encrypt, score under encryption, decrypt, compare.

Who knows what: the owner has the key pair; the symmetric device has the secret key, the asymmetric one only
the public key; the engine has Galois keys and the model's weights, and lives in processes that are never
handed a secret.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ciphermote.base.errors import Error
from ciphermote.base.files import write_exclusively
from ciphermote.evaluate.engine import open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.formats.frames import adapt
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.formats.ledger import CounterLedger
from ciphermote.owner import provisioning as provision
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import ParameterSet, by_name
from link import DeviceReport
from local_devices import QemuDevice
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from demos import report, smartwatch

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = by_name("n4096_q26x3_p27")
LOG2_SCALE = 25
KINDS = ("symmetric", "asymmetric")
WORKERS = 2


@dataclass
class KindOutcome:
    """One kind of key: decrypted scores [windows, classes], bytes of each frame set, the device's report."""

    scores: NDArray[np.float64]
    frame_bytes: list[int]
    device: DeviceReport


@dataclass
class Outcome:
    """Everything the demo found. seconds: step -> wall time, in order."""

    test: smartwatch.Windows
    model: LinearModel
    plain_scores: NDArray[np.float64]
    parameters: ParameterSet = PARAMETERS
    log2_scale: int = LOG2_SCALE
    kinds: dict[str, KindOutcome] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    sample_residues: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))


class Stage:
    """Shows what is under way and keeps the time of each step."""

    def __init__(self, console: Console, seconds: dict[str, float]) -> None:
        self.console = console
        self.seconds = seconds

    @contextmanager
    def step(self, title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """Yields a function to call after each of total items."""
        columns = (
            TextColumn("{task.description:<46}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console) as progress:
            task = progress.add_task(title, total=total or 1)
            start = time.monotonic()
            yield lambda: progress.advance(task)
            self.seconds[title] = time.monotonic() - start
            progress.update(task, completed=total or 1)


def build_firmware(root: Path, generated: Path, *, aided: bool = False, build: Path | None = None) -> bytes:
    """Build the device application with the headers in generated; the image. Raises Error if that fails.

    aided: the application that has a network in client-aided rounds. build: another directory to build in.

    Image and headers hold keys, so what the compiler writes is for its user alone.
    """
    build = build or root / "build" / ("ports-aided" if aided else "ports")
    command = [
        "make",
        "--no-print-directory",
        "-C",
        str(root / "ports"),
        "mps2-an386",
        f"GENERATED={generated}",
        f"BUILD={build}",
        *(["AIDED=1"] if aided else []),
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o077)
    if built.returncode != 0:
        raise Error(f"The firmware did not build: {built.stderr.strip()[-400:]}")
    return (build / "mps2-an386" / "ciphermote.elf").read_bytes()


def flash_device(root: Path, work: Path, store: KeyStore, model_header: str, kind: str) -> Path:
    """Provision one device with one kind of key and build its image: files for their owner alone."""
    folder = work / kind
    folder.mkdir(mode=0o700)
    keys = provision.provision(
        store, secret=kind == "symmetric", public=kind == "asymmetric", largest=smartwatch.CLIP
    )
    write_exclusively(folder / "provisioned_keys.h", provision.to_c_header(keys).encode(), 0o600)
    write_exclusively(folder / "app_model.h", model_header.encode(), 0o600)
    elf = folder / "ciphermote.elf"
    write_exclusively(elf, build_firmware(root, folder), 0o600)
    return elf


def encrypt_windows(
    elf: Path, kind: str, windows: NDArray[np.float32], done: Callable[[], None]
) -> tuple[list[bytes], DeviceReport]:
    """Every window goes over the UART to the device in QEMU, and its frames come back."""
    frames = []
    with QemuDevice(elf, elf.parent) as device:
        for window in windows:
            frames.append(device.encrypt_window(window, key=kind))
            done()
        return frames, device.report()


def run(console: Console | None = None) -> Outcome:
    """Run the demo. Writes build/demo/demo.png and demo.json; raises Error if it fails."""
    console = console or Console()
    root = ROOT
    work = root / "build" / "demo"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    seconds: dict[str, float] = {}
    stage = Stage(console, seconds)

    with stage.step("Train a linear classifier in the clear"):
        test = smartwatch.load("test")
        standardisation, model = smartwatch.train(smartwatch.load("train"))
        plain_scores = model.scores(standardisation.apply(smartwatch.raw_features(test.windows)))
    outcome = Outcome(test, model, plain_scores, seconds=seconds)
    plan = plan_linear(model, PARAMETERS, 2.0**LOG2_SCALE, feature_bound=smartwatch.CLIP)

    with stage.step("Owner: make keys"):
        store = KeyStore.create(work / "keys", PARAMETERS, galois_steps=plan.rotation_steps, relin=False)
        secret = store.secret()

    with stage.step("Owner: provision and flash two devices", len(KINDS)) as done:
        _, channels, samples = test.windows.shape
        header = smartwatch.app_model_header(standardisation, channels, samples, LOG2_SCALE)
        images = {}
        for kind in KINDS:
            images[kind] = flash_device(root, work, store, header, kind)
            done()

    galois_keys = store.public_bytes(GALOIS_FILE)
    with (
        CounterLedger() as readings,
        open_engine(PARAMETERS, galois_keys=galois_keys, workers=WORKERS) as engine,
    ):
        for kind in KINDS:
            count = len(test.windows)
            with stage.step(f"Device, {kind} key: encrypt in QEMU", count) as done:
                frames, device = encrypt_windows(images[kind], kind, test.windows, done)
            with stage.step(f"Gateway, {kind}: check frames, adapt to SEAL", count) as done:
                ciphertexts = []
                for data in frames:
                    ciphertexts.append(adapt(data, PARAMETERS, store.key_id, ledger=readings, device=kind))
                    done()
            with stage.step(f"Engine, {kind}: score under encryption", count) as done:
                results = engine.linear_all(
                    ciphertexts, model, lambda *_: done(), feature_bound=smartwatch.CLIP
                )
            with stage.step(f"Owner, {kind}: decrypt the scores", count) as done:
                scores = []
                for result in results:
                    if isinstance(result, Error):
                        raise result
                    scores.append(plan.scores(decrypt(result, secret)))
                    done()
            outcome.kinds[kind] = KindOutcome(np.array(scores), [len(data) for data in frames], device)
            outcome.sample_residues = report.first_residues(ciphertexts[report.SAMPLE_WINDOW], PARAMETERS)

    report.show(outcome, console)
    report.plot(outcome, work / "demo.png")
    report.write(outcome, work / "demo.json")
    console.print(
        f"\nThe plot and the figures are {work.relative_to(root)}/demo.png and demo.json.",
        highlight=False,
    )
    report.judge(outcome)
    return outcome
