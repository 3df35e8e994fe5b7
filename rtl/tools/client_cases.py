# SPDX-License-Identifier: Apache-2.0
"""Print cases for the client engine as JSON, with the C library's results. Runs in .venv.

    .venv/bin/python rtl/tools/client_cases.py '[{"vector": 12}]'
    .venv/bin/python rtl/tools/client_cases.py '[{"set": "n1024_q26", "t": 12289, "public": false}]'

A case that names a vector is that of vectors/bfv.json, and its bytes have the pinned digest; others have
random keys, messages and seeds. The frames are the C library's.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import ciphermote_testing
import generate_vectors
import numpy as np
from ciphermote import _core, parameters
from ciphermote.parameters.native import core_params

from golden import device as golden

ROOT = Path(__file__).resolve().parents[2]

BATCH, COEFFICIENTS = 1, 2
"""cm_bfv_encoding."""
XOFS = {"chacha20": golden.CHACHA20, "shake256": golden.SHAKE256}
NEW_WINDOW = 2**64 - 1
"""CM_NEW_WINDOW."""


def device(secret: bytes, draws: list[bytes], counter: int) -> _core.Device:
    """A device with given randomness that starts at a counter."""
    stored, left = [counter], list(draws)
    return _core.Device(
        secret,
        lambda length: left.pop(0)[:length],
        lambda: stored[0],
        lambda value: stored.__setitem__(0, value),
    )


def pinned(index: int) -> dict[str, Any]:
    """Entry `index` of vectors/bfv.json, by the inputs of vectors/README.md; the digest is checked here."""
    vector = generate_vectors.bfv_vectors()[index]
    chain = vector.chain
    n, t = chain.n, vector.plain_modulus
    numbers = generate_vectors.integers_of(vector.number, index, vector.count, t)
    signed, batch = vector.number.startswith("int"), vector.encoding == "batch"
    dtype = np.dtype(vector.number)
    draw = bytes((index + i) % 256 for i in range(32))
    counter = (index << 32) + 2**32 - 1 - index
    secret = bytes(range(32))
    ternary = golden.ternary(bytes(range(64, 96)), n)
    case = {
        **settings(vector.parameters, ternary, bytes(range(128, 160)) if not vector.xof else None),
        "key_id": 0x636970686572 + index,
        "device_secret": secret.hex(),
        "t": t,
        "signed": signed and not batch,
        "coefficients": vector.domain != "ntt",
        "xof": XOFS.get(vector.xof, golden.NONE),
        "public_key": not vector.xof,
        "counter": counter,
        "draws": [draw.hex()],
        "messages": [
            golden.encode_integers(chain, numbers, t, signed=signed, batch=True) if batch else numbers
        ],
    }
    case["frames"] = encrypted(case, [np.array(numbers, dtype=dtype)], BATCH if batch else COEFFICIENTS)
    digest = golden.chained_digest(bytes.fromhex(case["frames"][0])).hex()
    assert vector.form != "frames" or digest == vector.emitted, "the library's bytes are the pinned ones"
    return case


def settings(
    name: str, ternary: golden.Residues, public_seed: bytes | None, *, every_prime: bool = False
) -> dict[str, Any]:
    """A parameter set and keys; every_prime: the special one too, which public keys have."""
    chosen = parameters.by_name(name)
    chain = golden.Chain(chosen.n, chosen.primes)
    primes = chain.primes if every_prime else chain.data_primes
    public = golden.public_key(chain, ternary, public_seed) if public_seed else []
    return {
        "set": name,
        "log2_n": chosen.n.bit_length() - 1,
        "params_id": int.from_bytes(chain.id, "little"),
        "primes": list(primes),
        "roots": [golden.smallest_root(chosen.n, q) for q in primes],
        "ternary": golden.pack_ternary(ternary).hex(),
        "public": [[component.tolist() for component in pair] for pair in public],
    }


def tag_of(wanted: dict[str, Any], rng: random.Random, counter: int) -> dict[str, Any] | None:
    """Return the tag of frames, if they have one: wanted["tagged"] is "first", of a window, or "again"."""
    if not wanted.get("tagged"):
        return None
    past = rng.getrandbits(32) % (counter + 1) // 2
    return {
        "key": rng.randbytes(48).hex(),
        "device": rng.getrandbits(32),
        "epoch": rng.getrandbits(16),
        "window": NEW_WINDOW if wanted["tagged"] == "first" else counter - past,
    }


def tag_as(library: _core.Device, tag: dict[str, Any] | None) -> None:
    """Before each ciphertext."""
    if tag:
        library.tag_as(bytes.fromhex(tag["key"]), tag["device"], tag["epoch"])
        library.window = tag["window"]


def encrypted(case: dict[str, Any], messages: list[np.ndarray], encoding: int = COEFFICIENTS) -> list[str]:
    """The frames of each message, by the C library."""
    params = core_params(parameters.by_name(case["set"]))
    draws = [bytes.fromhex(draw) for draw in case["draws"]]
    library = device(bytes.fromhex(case["device_secret"]), draws, case["counter"])
    width = 16 if case["t"] <= 1 << 16 else 32
    frames = []
    for numbers in messages:
        rest = (case["key_id"],) if case["public_key"] else (case["key_id"], case["xof"])
        tag_as(library, case.get("tag"))
        rest = (*rest, numbers, case["t"], encoding, width, not case["coefficients"], "frames")
        if case["public_key"]:
            words = [component for pair in case["public"] for component in pair]
            frames.append(library.encrypt_bfv_asymmetric(params, np.array(words, np.uint32).ravel(), *rest))
        else:
            frames.append(library.encrypt_bfv_symmetric(params, bytes.fromhex(case["ternary"]), *rest))
    return [data.hex() for data in frames]


def drawn(wanted: dict[str, Any]) -> dict[str, Any]:
    """A case with random inputs. wanted: set, t, public, coefficients, signed, ciphertexts, count, seed; or
    messages, device_secret and counter, in place of random ones."""
    rng = random.Random(wanted.get("seed", 1))
    messages_rng = random.Random(wanted.get("message_seed", wanted.get("seed", 1)))
    n = parameters.by_name(wanted["set"]).n
    t, signed = wanted["t"], wanted.get("signed", False)
    lowest, highest = (-((t - 1) // 2), t // 2) if signed else (0, t - 1)
    messages = wanted.get("messages") or [
        [
            messages_rng.choice((0, lowest, highest, messages_rng.randint(lowest, highest)))
            for _ in range(wanted.get("count", n))
        ]
        for _ in range(wanted.get("ciphertexts", 1))
    ]
    case = {
        **settings(
            wanted["set"],
            golden.ternary(rng.randbytes(32), n),
            rng.randbytes(32) if wanted.get("public") else None,
        ),
        "key_id": rng.getrandbits(63) + 1,
        "device_secret": rng.randbytes(32).hex(),
        "t": t,
        "signed": signed,
        "coefficients": wanted.get("coefficients", False),
        "xof": wanted.get("xof", golden.CHACHA20),
        "public_key": wanted.get("public", False),
        "counter": rng.choice((0, 2**32 - 2, 2**32 - 1, rng.getrandbits(63))),
        "draws": [rng.randbytes(32).hex() for _ in messages],
        "messages": messages,
    }
    case |= {name: wanted[name] for name in ("device_secret", "counter") if name in wanted}
    case["tag"] = tag_of(wanted, rng, case["counter"])
    dtype = np.int32 if signed else np.uint32
    case["frames"] = encrypted(case, [np.array(message, dtype=dtype) for message in messages])
    if wanted.get("edge_noise"):
        case["frames"] = [edge_noise(case, rng).hex() for _ in messages]
    return case


def edge_noise(case: dict[str, Any], rng: random.Random) -> bytes:
    """The first message's ciphertext with noise just inside q / 3t, on either side, made by the model."""
    chosen = parameters.by_name(case["set"])
    chain, t = golden.Chain(chosen.n, chosen.primes), case["t"]
    packed = np.frombuffer(bytes.fromhex(case["ternary"]), np.uint8)
    secret = (packed[:, None] >> np.arange(0, 8, 2) & 3).astype(np.int64).ravel() - 1
    modulus = chosen.data_modulus
    bound = modulus // (3 * t) - 2
    m = golden.scale_up(chain, [x % t for x in case["messages"][0]], t)
    m = [x + rng.choice((-bound, bound, 0, rng.randint(-bound, bound))) for x in m]
    components: tuple[list[golden.Residues], list[golden.Residues]] = ([], [])
    for q in chain.data_primes:
        a = np.random.default_rng(rng.getrandbits(32)).integers(0, q, chosen.n)
        components[0].append((golden.ntt(m, q) - a * golden.ntt(secret, q)) % q)
        components[1].append(a)
    return golden.frames(
        golden.Ciphertext(chain, case["key_id"], case["counter"], 0, golden.NONE, b"", components, t)
    )


def key_pair(wanted: dict[str, Any]) -> dict[str, Any]:
    """A secret key from a draw, and the frames of its public key. wanted: set, seed."""
    rng = random.Random(wanted["seed"])
    chosen = parameters.by_name(wanted["set"])
    key_draw = rng.randbytes(32)
    ternary = golden.ternary(key_draw, chosen.n)
    case = {
        **settings(wanted["set"], ternary, None, every_prime=True),
        "data_primes": len(golden.Chain(chosen.n, chosen.primes).data_primes),
        "key_id": rng.getrandbits(63) + 1,
        "device_secret": rng.randbytes(32).hex(),
        "counter": rng.getrandbits(63),
        "xof": wanted.get("xof", golden.CHACHA20),
        "key_draw": key_draw.hex(),
        "draws": [rng.randbytes(32).hex()],
    }
    draws = [bytes.fromhex(draw) for draw in case["draws"]]
    library = device(bytes.fromhex(case["device_secret"]), draws, case["counter"])
    case["tag"] = tag_of(wanted, rng, case["counter"])
    tag_as(library, case["tag"])
    frames = ciphermote_testing.emit_public_key(
        library, core_params(chosen), golden.pack_ternary(ternary), case["key_id"], case["xof"]
    )
    return {**case, "frames": [frames.hex()]}


FRAME_HEADER, FRAME_CHECK = 44, 4
"""Bytes before and after a frame's payload."""


def zero_encryption(wanted: dict[str, Any]) -> dict[str, Any]:
    """A public-key encryption of zeros: u, errors, the keys by prime, and the residues that the frames hold.

    wanted: set, t, seed.
    """
    rng = random.Random(wanted["seed"])
    n = parameters.by_name(wanted["set"]).n
    ternary = golden.ternary(rng.randbytes(32), n)
    case = {
        **settings(wanted["set"], ternary, rng.randbytes(32)),
        "key_id": rng.getrandbits(63) + 1,
        "device_secret": rng.randbytes(32).hex(),
        "t": wanted["t"],
        "coefficients": True,
        "public_key": True,
        "counter": rng.getrandbits(63),
        "draws": [rng.randbytes(32).hex()],
    }
    (frames,) = encrypted(case, [np.zeros(n, np.uint32)])
    drawn_bytes = [bytes.fromhex(x) for x in (case["device_secret"], case["draws"][0])]
    seed = golden.derive_seeds(*drawn_bytes, case["counter"]).secret
    rest, residues = bytes.fromhex(frames), []
    for q in case["primes"]:
        bits = q.bit_length()
        length = FRAME_HEADER + n * bits // 8 + FRAME_CHECK
        pair = []
        for _ in range(2):
            frame, rest = rest[FRAME_HEADER : length - FRAME_CHECK], rest[length:]
            ones = np.unpackbits(np.frombuffer(frame, np.uint8), bitorder="little").reshape(n, bits)
            pair.append((ones.astype(np.int64) << np.arange(bits)).sum(axis=1).tolist())
        residues.append(pair[::-1])  # c1 comes before c0
    return {
        **case,
        "u": golden.ternary(seed, n).tolist(),
        "errors": [golden.noise(seed, component, n).tolist() for component in range(2)],
        "secret": [golden.ntt(ternary, q).tolist() for q in case["primes"]],
        "residues": residues,
    }


def case_of(wanted: dict[str, Any]) -> dict[str, Any]:
    if "vector" in wanted:
        return pinned(wanted["vector"])
    if wanted.get("zero"):
        return zero_encryption(wanted)
    return key_pair(wanted) if wanted.get("key_pair") else drawn(wanted)


def main() -> int:
    cases = [case_of(wanted) for wanted in json.loads(sys.argv[1])]
    json.dump(cases, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
