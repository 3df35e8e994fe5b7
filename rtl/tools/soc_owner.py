# SPDX-License-Identifier: Apache-2.0
"""The owner of a device on the chip of rtl/soc: provisions it, and decrypts what it sends. Runs in .venv.

    .venv/bin/python rtl/tools/soc_owner.py prepare DIRECTORY '{"set": ..., "t": ..., "ciphertexts": ...}'
    .venv/bin/python rtl/tools/soc_owner.py check DIRECTORY '{"frames": FILE}'

The readings are windows of a smartwatch's accelerometer and gyroscope (BasicMotions), in whole units that
keep within half of t. The keys are for this device alone; the directory is as secret as they are.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from ciphermote.decryption import decrypt  # noqa: E402
from ciphermote.encryption import device_residues  # noqa: E402
from ciphermote.files import write_exclusively  # noqa: E402
from ciphermote.keys import SecretKey  # noqa: E402
from ciphermote.keys.making import make_public_key  # noqa: E402
from ciphermote.parameters import by_name  # noqa: E402
from ciphermote.provision import Provision, to_c_header  # noqa: E402
from demos import smartwatch  # noqa: E402

KEY = "owner.json"
DRAW_BYTES = 32
UNITS = 250
"""Of a reading, in one unit of the sensor."""


def readings(n: int, ciphertexts: int, t: int) -> np.ndarray:
    """int16 [ciphertexts, n]: whole windows one after the other."""
    windows = smartwatch.load("test").windows.reshape(-1)
    numbers = np.rint(np.resize(windows, ciphertexts * n).astype(np.float64) * UNITS)
    return np.clip(numbers, -((t - 1) // 2), t // 2).astype(np.int16).reshape(ciphertexts, n)


def prepare(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Write the device's header, its readings and its random words, and keep the key. With a seed, keys and
    words are those of the seed: for tests alone."""
    parameters = by_name(wanted["set"])
    draw, secret = os.urandom, SecretKey.generate(parameters)
    if "seed" in wanted:
        rng = random.Random(wanted["seed"])
        draw, digits = rng.randbytes, np.array(rng.choices((-1, 0, 1), k=parameters.n))
        secret = SecretKey.from_coefficients(parameters, digits)
    key_id = int.from_bytes(draw(8), "little") | 1
    secret = replace(secret, key_id=key_id)
    public = device_residues(make_public_key(secret)) if wanted.get("public") else None
    device = Provision(parameters, key_id, draw(DRAW_BYTES), None if wanted.get("public") else secret, public)
    samples = readings(parameters.n, wanted["ciphertexts"], wanted["t"])
    if wanted.get("wrong"):
        samples[-1, -1] = wanted["t"] // 2 + 1
    files = {
        "provisioned_keys.h": to_c_header(device).encode(),
        "samples": samples.tobytes(),
        "entropy": draw(DRAW_BYTES * wanted["ciphertexts"]),
        KEY: json.dumps({**wanted, "packed": secret.packed.hex(), "key_id": key_id}).encode(),
    }
    for name, content in files.items():
        (directory / name).unlink(missing_ok=True)
        write_exclusively(directory / name, content, 0o600)
    return {"n": parameters.n, "primes": len(parameters.data_primes)}


def check(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Decrypt all ciphertexts in a file of frames. right: how many hold the device's readings."""
    kept = json.loads((directory / KEY).read_text(encoding="utf-8"))
    parameters = by_name(kept["set"])
    secret = SecretKey(parameters, bytes.fromhex(kept["packed"]), kept["key_id"])
    frames = Path(wanted["frames"]).read_bytes()
    size = len(frames) // kept["ciphertexts"]
    expected = readings(parameters.n, kept["ciphertexts"], kept["t"])
    right = 0
    for i, numbers in enumerate(expected):
        found = decrypt(frames[i * size : (i + 1) * size], secret, places="coefficients", signed=True)
        right += int(np.array_equal(found, numbers))
    return {"right": right, "bytes": size}


def main() -> int:
    commands = {"prepare": prepare, "check": check}
    command, directory, wanted = sys.argv[1:]
    json.dump(commands[command](Path(directory), json.loads(wanted)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
