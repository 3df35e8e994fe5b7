# SPDX-License-Identifier: Apache-2.0
"""A client-aided session of the demo's network between the simulated Cortex-M4 and the evaluator, and what
another device needs to repeat it: the chip of rtl/soc. Runs in .venv.

    .venv/bin/python rtl/tools/soc_aided.py DIRECTORY

The directory gets the device's headers, what comes in (the vectors, then the server's results), the random
words that the Cortex-M4 drew, and what it sent, with the classes that it showed at the end. It is as secret
as the keys in it.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from ciphermote.evaluate.client_aided import Session, plan_rounds
from ciphermote.evaluate.engine import open_engine
from ciphermote.evaluate.neural_network import quantise
from ciphermote.formats.evaluation_keys import galois_keys_for_bfv
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.owner import provisioning
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import BFV
from demos import speakers
from demos.client_aided import LIMIT, PARAMETERS, PLAIN_MODULUS, read_display
from local_devices import QemuDevice

ROOT = Path(__file__).resolve().parents[2]
RANDOM_FILE = "ciphermote-random"
"""Every draw of the device is the first bytes of this file of its working directory."""
DRAW_BYTES = 32
MOST_VECTORS = 256
"""ROUNDS_MAX_VECTORS of ports/app/rounds.h"""


def build_device(directory: Path) -> Path:
    """The demo's firmware for the Cortex-M4, but for its random source."""
    build = directory / "mps2"
    command = [
        *("make", "--no-print-directory", "-C", ROOT / "ports", "mps2-an386", "AIDED=1"),
        *(f"GENERATED={directory}", f"BUILD={build}", f"CONFIG=-DSIMULATOR_RANDOM='\"{RANDOM_FILE}\"'"),
    ]
    subprocess.run(command, check=True, capture_output=True, umask=0o077)
    return build / "mps2-an386/ciphermote.elf"


def packet(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def hold_session(directory: Path) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # aeon's about packages that are not used here
        train, test = speakers.load("train"), speakers.load("test")
        network = speakers.train_network(train)
    known = speakers.standardise(train, train)
    integers = quantise(network, known, plain_modulus=PLAIN_MODULUS, limit=LIMIT)
    scheme = BFV(PLAIN_MODULUS)
    rounds = plan_rounds(integers.layers, PARAMETERS, bound=integers.limit, scheme=scheme)
    utterances = speakers.standardise(train, test)[: rounds.blocks]
    store = KeyStore.create(
        directory / "keys", PARAMETERS, galois_steps=sorted(rounds.rotation_steps), relin=False
    )
    keys = provisioning.provision(store, secret=True, largest=network.cap, plain_moduli=[PLAIN_MODULUS])
    (directory / "provisioned_keys.h").write_text(provisioning.to_c_header(keys), encoding="ascii")
    header = speakers.aided_model_header(network, integers, rounds)
    (directory / "aided_model.h").write_text(header, encoding="ascii")
    galois_keys = galois_keys_for_bfv(store.public_bytes(GALOIS_FILE), PARAMETERS, scheme)
    vectors = integers.inputs(utterances)
    draws: list[bytes] = []
    sent: list[bytes] = []
    results: list[bytes] = []

    def draw() -> None:
        draws.append(os.urandom(DRAW_BYTES))
        (directory / RANDOM_FILE).write_bytes(draws[-1])

    with (
        open_engine(PARAMETERS, galois_keys=galois_keys, scheme=scheme) as engine,
        QemuDevice(build_device(directory), directory) as device,
    ):
        session = Session(engine, rounds, store.key_id)
        draw()
        sent.append(device.aided_begin(vectors, "bfv"))
        for _ in rounds.plans:
            results.append(session.answer(sent[-1]))
            draw()
            sent.append(device.aided_answer(results[-1]))
    classes = read_display(directory)
    (directory / "samples").write_bytes(b"".join(map(packet, [vectors.tobytes(), *results])))
    (directory / "entropy").write_bytes(b"".join(draws))
    (directory / "sent").write_bytes(b"".join(sent) + bytes(classes).ljust(MOST_VECTORS, b"\0"))
    plain = integers.scores(utterances).argmax(axis=1).tolist()
    return {
        "n": PARAMETERS.n,
        "primes": len(PARAMETERS.data_primes),
        "set": PARAMETERS.name,
        "t": PLAIN_MODULUS,
        "layers": [plan.model.features for plan in rounds.plans] + [rounds.plans[-1].model.classes],
        "rounds": len(rounds.plans),
        "vectors": len(vectors),
        "sent_bytes": len(sent[0]),
        "result_bytes": max(map(len, results)),
        "right": sum(a == b for a, b in zip(classes, plain, strict=True)),
    }


def main() -> int:
    directory = Path(sys.argv[1]).resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, mode=0o700)
    json.dump(hold_session(directory), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
