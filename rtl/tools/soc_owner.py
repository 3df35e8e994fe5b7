# SPDX-License-Identifier: Apache-2.0
"""The owner of a device on the chip of rtl/soc: provisions it, and decrypts what it sends, or encrypts what
it decrypts. Runs in .venv.

    .venv/bin/python rtl/tools/soc_owner.py prepare DIRECTORY '{"set": ..., "t": ..., "ciphertexts": ...}'
    .venv/bin/python rtl/tools/soc_owner.py check DIRECTORY '{"frames": FILE}'
    .venv/bin/python rtl/tools/soc_owner.py send DIRECTORY '{"set": ..., "t": ..., "kinds": ["seeded", ...]}'
    .venv/bin/python rtl/tools/soc_owner.py provide DIRECTORY '{"set": ..., "ciphertexts": ..., "seed": ...}'

The readings are windows of a smartwatch's accelerometer and gyroscope (BasicMotions), in whole units that
keep within half of t. The keys are for this device alone; the directory is as secret as they are.
"""

from __future__ import annotations

import json
import os
import random
import struct
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ciphermote.base.files import write_exclusively
from ciphermote.evaluate.evaluator import Evaluator
from ciphermote.formats import seal as seal_bytes
from ciphermote.formats.declaration import split
from ciphermote.formats.device_results import device_frames
from ciphermote.formats.frames import read_stated_set
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.encryption import device_residues, encrypt
from ciphermote.owner.keys import SecretKey, make_public_key
from ciphermote.owner.provisioning import Identity, Provision, to_c_header
from ciphermote.parameters import BFV, ParameterSet, by_name
from client import montgomery_r
from demos import smartwatch

ROOT = Path(__file__).resolve().parents[2]

KEY = "owner.json"
DRAW_BYTES = 32
UNITS = 250
"""The scale of a reading in one unit of the sensor."""
EXPONENT = -10
"""With CKKS, a unit of a reading is 2^EXPONENT."""
INT16_VALUES = 2**16 - 1
"""From -32767 to 32767."""
SLOT_NOISE = 27
"""Six deviations of a fresh slot's noise, less the ring's degree and the scale."""
ENGINE_WIDTH = 27
LEAST_LOG2_R = 22
"""The exponent of a form that is not the engine's."""
LARGEST = 20
"""The largest CKKS value for a device that decrypts."""


def readings(n: int, ciphertexts: int, t: int) -> np.ndarray:
    """int16 [ciphertexts, n]: whole windows one after the other."""
    windows = smartwatch.load("test").windows.reshape(-1)
    numbers = np.rint(np.resize(windows, ciphertexts * n).astype(np.float64) * UNITS)
    return np.clip(numbers, -((t - 1) // 2), t // 2).astype(np.int16).reshape(ciphertexts, n)


def readings_of(parameters: ParameterSet, wanted: Mapping[str, Any]) -> np.ndarray:
    """Draw readings, which fill the real slots of CKKS if there is a scale, and BFV's coefficients
    otherwise."""
    if "log2_scale" in wanted:
        return readings(parameters.n // 2, wanted["ciphertexts"], INT16_VALUES)
    return readings(parameters.n, wanted["ciphertexts"], wanted["t"])


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
    bound = 2.0**15 * 2.0**EXPONENT if "log2_scale" in wanted else wanted["t"] // 2
    held = None if wanted.get("public") else secret
    device = Provision(parameters, key_id, draw(DRAW_BYTES), held, public, largest=bound)
    samples = readings_of(parameters, wanted)
    if wanted.get("wrong"):
        samples[-1, -1] = wanted["t"] // 2 + 1
    write_files(
        directory,
        {
            "provisioned_keys.h": header(device, wanted.get("form")).encode(),
            "samples": samples.tobytes(),
            "entropy": draw(DRAW_BYTES * wanted["ciphertexts"]),
            KEY: json.dumps({**wanted, "packed": secret.packed.hex(), "key_id": key_id}).encode(),
        },
    )
    return {**shape(parameters), "exponent": EXPONENT}


def header(device: Provision, form: str | None) -> str:
    """form: of the public key for a chip with the engine. None: the library's; "engine": the engine's own;
    "mislabelled": said to be that, in another one; "other": that of an engine with another LOG2_R."""
    if form is None:
        return to_c_header(device)
    log2_r = montgomery_r(ENGINE_WIDTH, device.parameters.log2_n).bit_length() - 1
    text = to_c_header(device, engine_log2_r=log2_r + (form == "other"))
    if form == "mislabelled":
        plain = to_c_header(device, engine_log2_r=LEAST_LOG2_R)
        symbol = f"&cm_{device.parameters.name}"
        text = plain.replace(f"{symbol}, {LEAST_LOG2_R},", f"{symbol}, {log2_r},")
    return "\n".join(("#ifdef CM_ARCH_HEADER", text, "#else", to_c_header(device), "#endif", ""))


def shape(parameters: ParameterSet) -> dict[str, Any]:
    return {"n": parameters.n, "primes": len(parameters.data_primes)}


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (directory / name).unlink(missing_ok=True)
        write_exclusively(directory / name, content, 0o600)


def provide(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Write the header of a device with both keys and an identity, and random words for its encryptions, of
    the seed."""
    parameters = by_name(wanted["set"])
    rng = random.Random(wanted["seed"])
    secret = SecretKey.from_coefficients(parameters, np.array(rng.choices((-1, 0, 1), k=parameters.n)))
    secret = replace(secret, key_id=rng.getrandbits(63) | 1)
    device = Provision(
        parameters,
        secret.key_id or 0,
        rng.randbytes(DRAW_BYTES),
        secret,
        device_residues(make_public_key(secret)),
        identity=Identity(rng.getrandbits(32), 3),
    )
    entropy = rng.randbytes(DRAW_BYTES * wanted["ciphertexts"])
    header = to_c_header(device).encode()
    write_files(directory, {"provisioned_keys.h": header, "samples": b"", "entropy": entropy})
    return shape(parameters)


COUNTER = 0x123456789A
"""The counter of ciphertexts in full."""


def ciphertext(kind: str, message: np.ndarray, largest: int, secret: SecretKey, t: int, places: Any) -> bytes:
    """Frames as a device receives them. seeded: as a device sends them; full: as a server returns them;
    switched: with a prime less; and faulty ones, whose other form is full. largest: the bound of message."""
    parameters = secret.parameters
    scheme = BFV(t + 2 if kind == "foreign" else t)
    frames = encrypt(
        message, secret, scheme=scheme, largest=largest, places=places, counter=COUNTER
    ).to_frames()
    if kind == "seeded":
        return split(frames)[1]  # a device sends no declaration
    sealed = read_stated_set(frames, parameters).to_seal()
    if kind == "switched":
        sealed = Evaluator(parameters, scheme).mod_switch(sealed).to_seal()
    found = seal_bytes.read_ciphertext(sealed, parameters, scheme=scheme)
    full = b"".join(device_frames(found, secret.key_id or 0, COUNTER))
    if kind == "damaged":
        return full[:-8] + bytes([full[-8] ^ 1]) + full[-7:]
    return {"short": full[:-4], "long": full + full[:44]}.get(kind, full)


def send(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Write the header of a device that decrypts, and the frames of a ciphertext of each kind, behind their
    lengths. messages: what they hold. Everything is that of the seed, but the encryptions' own randomness."""
    parameters = by_name(wanted["set"])
    rng = random.Random(wanted["seed"])
    t = wanted["t"]
    secret = SecretKey.from_coefficients(parameters, np.array(rng.choices((-1, 0, 1), k=parameters.n)))
    secret = replace(secret, key_id=rng.getrandbits(63) | 1)
    largest = (t - 1) // 2 if wanted["signed"] else t - 1
    least = -largest if wanted["signed"] else 0
    places = "slots" if wanted["batch"] else "coefficients"
    samples, messages = b"", []
    for kind in wanted["kinds"]:
        message = [rng.randint(least, largest) for _ in range(parameters.n)]
        frames = ciphertext(kind, np.array(message), largest, secret, t, places)
        samples += struct.pack("<I", len(frames)) + frames + bytes(len(frames) % 2)
        messages.append(message)
    device = Provision(parameters, secret.key_id or 0, rng.randbytes(DRAW_BYTES), secret, None)
    write_files(
        directory, {"provisioned_keys.h": to_c_header(device).encode(), "samples": samples, "entropy": b""}
    )
    return {**shape(parameters), "messages": messages, "counter": COUNTER}


def send_ckks(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Encrypt CKKS's real slots at a scale of 2^log2_scale, at as few primes as needed, as a gateway returns
    results to a device."""
    parameters = by_name(wanted["set"])
    rng = random.Random(wanted["seed"])
    secret = SecretKey.from_coefficients(parameters, np.array(rng.choices((-1, 0, 1), k=parameters.n)))
    secret = replace(secret, key_id=rng.getrandbits(63) | 1)
    samples, messages = b"", []
    for _ in range(wanted["ciphertexts"]):
        message = [rng.uniform(-LARGEST, LARGEST) for _ in range(parameters.n // 2)]
        found = encrypt(message, secret, largest=LARGEST, log2_scale=wanted["log2_scale"]).as_seal()
        frames = b"".join(device_frames(found, secret.key_id or 0, COUNTER, largest=LARGEST))
        samples += struct.pack("<I", len(frames)) + frames
        messages.append(message)
    device = Provision(parameters, secret.key_id or 0, rng.randbytes(DRAW_BYTES), secret, None)
    header = to_c_header(device).encode()
    write_files(directory, {"provisioned_keys.h": header, "samples": samples, "entropy": b""})
    return {**shape(parameters), "messages": messages, "largest": LARGEST}


def check(directory: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Decrypt all ciphertexts in a file of frames. right: how many hold the device's readings."""
    kept = json.loads((directory / KEY).read_text(encoding="utf-8"))
    parameters = by_name(kept["set"])
    secret = SecretKey(parameters, bytes.fromhex(kept["packed"]), kept["key_id"])
    frames = Path(wanted["frames"]).read_bytes()
    size = len(frames) // kept["ciphertexts"]
    right = 0
    for i, numbers in enumerate(readings_of(parameters, kept)):
        found = frames[i * size : (i + 1) * size]
        if "log2_scale" in kept:
            noise = SLOT_NOISE * np.sqrt(parameters.n) / 2.0 ** kept["log2_scale"]
            right += int(np.allclose(decrypt(found, secret), numbers * 2.0**EXPONENT, rtol=0, atol=noise))
        else:
            right += int(np.array_equal(decrypt(found, secret, places="coefficients", signed=True), numbers))
    return {"right": right, "bytes": size}


def main() -> int:
    commands = {
        "prepare": prepare,
        "check": check,
        "send": send,
        "send_ckks": send_ckks,
        "provide": provide,
    }
    command, directory, wanted = sys.argv[1:]
    json.dump(commands[command](Path(directory), json.loads(wanted)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
