# SPDX-License-Identifier: Apache-2.0
"""Print CKKS cases for the client engine as JSON, with the C library's results. Runs in .venv.

    .venv/bin/python rtl/tools/client_ckks_cases.py '[{"set": "n1024_q26", "log2_scale": 20, "seed": 1}]'

Keys, values and seeds are random. The frames, and what is decrypted, are the C library's.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from typing import Any

import client_cases  # first: it says where the model and the tests' helpers are

# isort: split
import ciphermote_testing
import numpy as np
from ciphermote import _core, parameters
from ciphermote.parameters.native import core_params
from sensor import split

from golden import device as golden

PRECISION = 31
NUMBERS = {"float32": 1, "int16": 2, "int32": 3}
"""cm_number."""
CKKS = 2
"""cm_scheme."""


def numbers_of(wanted: dict[str, Any], count: int, limit: int, rng: random.Random) -> np.ndarray:
    """Values below the limit in magnitude once scaled, some at it, some 0, some that round to 0."""
    number, exponent = wanted.get("number", "float32"), wanted.get("exponent", 0)
    most = 2.0 ** (limit - wanted["log2_scale"])
    if number == "float32":
        edges = (0.0, -0.0, float(np.nextafter(np.float32(most), np.float32(0))), 1e-30, 1e-42)
        drawn = [rng.choice((*edges, rng.uniform(-most, most), rng.uniform(-1, 1))) for _ in range(count)]
        return np.array([rng.choice((-1, 1)) * x for x in drawn], np.float32)
    bits = int(number.removeprefix("int")) - 1
    highest = max(0, min((1 << bits) - 1, int(most * 2.0**-exponent) - 1))
    edges = (0, highest, -highest)
    drawn = [rng.choice((*edges, rng.randint(-highest, highest))) for _ in range(count)]
    return np.array(drawn, np.dtype(number))


def within_circle(numbers: np.ndarray, most: float) -> np.ndarray:
    """Pairs of parts, the second one 0 where the library would refuse the pair for its absolute value."""
    parts = numbers.reshape(-1, 2).copy()
    beyond = np.hypot(*parts.astype(np.float64).T) > np.nextafter(np.float32(most), np.float32(0))
    parts[beyond, 1] = 0
    return parts.ravel()


def words_of(numbers: np.ndarray) -> list[int]:
    """The words that enter the engine, a value each."""
    if numbers.dtype == np.float32:
        return numbers.view(np.uint32).tolist()
    return [int(x) & 0xFFFFFFFF for x in numbers]


def drawn(wanted: dict[str, Any]) -> dict[str, Any]:
    """wanted: set, log2_scale; public, complex, number, exponent, values_limit, count, ciphertexts, seed,
    xof; messages: of binary32, in place of random ones.

    What is decrypted: coefficients of each ciphertext in place of what is encrypted, or other_key; and how:
    out ("float32", "int32") and out_exponent.
    """
    rng = random.Random(wanted.get("seed", 1))
    values_rng = random.Random(wanted.get("message_seed", wanted.get("seed", 1)))
    chosen = parameters.by_name(wanted["set"])
    n, scale = chosen.n, wanted["log2_scale"]
    is_complex, is_float = wanted.get("complex", False), wanted.get("number", "float32") == "float32"
    limit = min(29, chosen.data_modulus.bit_length() - 3)
    count = wanted.get("count", n // 2) * (2 if is_complex else 1)
    values_limit = min(limit, wanted.get("values_limit", limit))
    arrays = [np.array(message, np.float32) for message in wanted.get("messages", ())] or [
        numbers_of(wanted, count, values_limit, values_rng) for _ in range(wanted.get("ciphertexts", 1))
    ]
    if is_complex:
        most = 2.0 ** (limit - scale - (0 if is_float else wanted.get("exponent", 0)))
        arrays = [within_circle(numbers, most) for numbers in arrays]
    case = {
        **client_cases.settings(
            wanted["set"],
            golden.ternary(rng.randbytes(32), n),
            rng.randbytes(32) if wanted.get("public") else None,
        ),
        "key_id": rng.getrandbits(63) + 1,
        "device_secret": rng.randbytes(32).hex(),
        "public_key": wanted.get("public", False),
        "xof": wanted.get("xof", golden.CHACHA20),
        "counter": rng.choice((0, 2**32 - 2, 2**32 - 1, rng.getrandbits(63))),
        "draws": [rng.randbytes(32).hex() for _ in arrays],
        "messages": [words_of(numbers) for numbers in arrays],
        "log2_scale": scale,
        "limit": limit,
        "complex": is_complex,
        "float": is_float,
        "exponent": 0 if is_float else wanted.get("exponent", 0),
    }
    params = core_params(chosen)
    library = client_cases.device(
        bytes.fromhex(case["device_secret"]), [bytes.fromhex(draw) for draw in case["draws"]], case["counter"]
    )
    frames = []
    for numbers in arrays:
        rest = (numbers, scale, PRECISION, is_complex, case["exponent"], "frames")
        if case["public_key"]:
            words = np.array([part for pair in case["public"] for part in pair], np.uint32).ravel()
            frames.append(library.encrypt_asymmetric(params, words, case["key_id"], *rest))
        else:
            key = (bytes.fromhex(case["ternary"]), case["key_id"], case["xof"])
            frames.append(library.encrypt_symmetric(params, *key, *rest))
    if "coefficients" in wanted:
        frames = [of_coefficients(case, given, rng) for given in wanted["coefficients"]]
    if "other_key" in wanted:
        case["ternary"] = golden.pack_ternary(golden.ternary(rng.randbytes(32), n)).hex()
    case["frames"] = [data.hex() for data in frames]
    if "out" in wanted:
        case["results"] = [decrypted(case, data, wanted) for data in frames]
        case["out_float"] = wanted["out"] == "float32"
        case["out_exponent"] = wanted.get("out_exponent", 0)
    return case


def secret_of(case: dict[str, Any]) -> np.ndarray:
    packed = np.frombuffer(bytes.fromhex(case["ternary"]), np.uint8)
    return (packed[:, None] >> np.arange(0, 8, 2) & 3).astype(np.int64).ravel() - 1


def of_coefficients(case: dict[str, Any], given: dict[str, int], rng: random.Random) -> bytes:
    """A full ciphertext without noise of a polynomial, by the places and values of its coefficients."""
    chosen = parameters.by_name(case["set"])
    chain, secret = golden.Chain(chosen.n, chosen.primes), secret_of(case)
    m = [0] * chosen.n
    for place, value in given.items():
        m[int(place)] = value
    frames = []
    for i, q in enumerate(chain.data_primes):
        a = np.random.default_rng(rng.getrandbits(32)).integers(0, q, chosen.n)
        c0 = (golden.ntt(m, q) - a * golden.ntt(secret, q)) % q
        frames += [frame_of(case, component, i, residues) for component, residues in ((1, a), (0, c0))]
    return b"".join(frames)


def frame_of(case: dict[str, Any], component: int, prime: int, residues: np.ndarray) -> bytes:
    chosen = parameters.by_name(case["set"])
    scale = struct.unpack("<Q", struct.pack("<d", 2.0 ** case["log2_scale"]))[0]
    place = (component, prime, 0)
    return _core.write_frame(
        core_params(chosen),
        *(CKKS, len(case["primes"]), 0, case["key_id"], case["counter"], scale),
        *place,
        np.asarray(residues, np.uint32),
    )


def in_full(case: dict[str, Any], data: bytes) -> bytes:
    """Return the same ciphertext with component 1 in place of a seed."""
    chosen = parameters.by_name(case["set"])
    frames = [_core.Frame(core_params(chosen), frame) for frame in split(data)]
    if not frames[0].is_seed:
        return data
    chain = golden.Chain(chosen.n, chosen.primes)
    a = golden.uniform(chain, case["xof"], frames[0].seed, len(chain.data_primes))
    case = {**case, "counter": frames[0].counter}
    return b"".join(
        frame_of(case, 1, i, a[i]) + frame_of(case, 0, i, frame.residues())
        for i, frame in enumerate(frames[1:])
    )


def decrypted(case: dict[str, Any], data: bytes, wanted: dict[str, Any]) -> list[int] | None:
    """The library's values as words, or None where it refuses them."""
    decryption = ciphermote_testing.Decryption.ckks(
        core_params(parameters.by_name(case["set"])),
        bytes.fromhex(case["ternary"]),
        case["key_id"],
        case["complex"],
        PRECISION,
        NUMBERS[wanted["out"]],
        wanted.get("out_exponent", 0),
        0,
        wanted.get("largest", max(1, (case["primes"][0] - 1 >> 2) >> case["log2_scale"])),
    )
    decryption.feed(in_full(case, data))
    try:
        return words_of(decryption.end())
    except Exception as error:
        if "range" not in str(error) and "large" not in str(error):
            raise
        return None


def main() -> int:
    json.dump([drawn(wanted) for wanted in json.loads(sys.argv[1])], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
