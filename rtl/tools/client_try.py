# SPDX-License-Identifier: Apache-2.0
"""Encrypts your values on a simulated client engine, decrypts the frames on it again, and says the cycles.

    build/rtl-venv/bin/python rtl/tools/client_try.py 3 -1 4 -1 5
    build/rtl-venv/bin/python rtl/tools/client_try.py --scheme ckks --frames frames.bin 0.5 -1.25

Keys, seeds and random words are made up. The frames must be those of the C library, byte by byte.
"""

from __future__ import annotations

import argparse
import struct
import sys
from pathlib import Path
from typing import Any

import client_bench
from client import Outcome, Shape

from tools import ToolError

SMALL = {10: 2}
"""log2 of the butterflies where fewer than 8 do, by log2 of n."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else None,
        epilog="The first run for a parameter set builds its simulation, which takes a minute or more.",
    )
    parser.add_argument("values", nargs="+", help="integers for BFV, real numbers for CKKS")
    parser.add_argument("--scheme", choices=("bfv", "ckks"), default="bfv")
    parser.add_argument("--set", default="n1024_q26", help="the parameter set (default: %(default)s)")
    parser.add_argument(
        "--plain-modulus", type=int, default=1024, metavar="T", help="BFV's t (default: %(default)s)"
    )
    parser.add_argument(
        "--log2-scale", type=int, default=20, help="log2 of CKKS's scale (default: %(default)s)"
    )
    parser.add_argument("--public", action="store_true", help="encrypt under a public key")
    parser.add_argument("--shake256", action="store_true", help="SHAKE256 for the seed, not ChaCha20")
    parser.add_argument("--frames", type=Path, metavar="FILE", help="write the frames to this file")
    parser.add_argument(
        "--waves", type=Path, metavar="FILE", help="write every signal of the encryption to this VCD file"
    )
    chosen = parser.parse_args()
    if chosen.public and chosen.shake256:
        parser.error("--shake256 is for seeds, and ciphertexts under a public key have none: leave it out")
    number = int if chosen.scheme == "bfv" else float
    try:
        chosen.values = [number(text) for text in chosen.values]
    except ValueError:
        parser.error(f"--scheme {chosen.scheme} takes {'integers' if number is int else 'numbers'} alone")
    return chosen


def case_of(chosen: argparse.Namespace) -> dict[str, Any]:
    """Encrypt the values with the C library. Raises ToolError with its reason if it refuses them."""
    wanted = {"set": chosen.set, "messages": [chosen.values], "public": chosen.public}
    if chosen.shake256:
        wanted["xof"] = client_bench.SHAKE256
    if chosen.scheme == "bfv":
        wanted |= {"t": chosen.plain_modulus, "signed": any(x < 0 for x in chosen.values)}
        return client_bench.said("client_cases.py", [wanted])[0]
    wanted |= {"log2_scale": chosen.log2_scale, "out": "float32"}
    return client_bench.said("client_ckks_cases.py", [wanted])[0]


def shape_of(case: dict[str, Any]) -> Shape:
    """A small engine for the case's set, or one like that of the benches. Raises ToolError if none serves
    it."""
    log2_n, primes = case["log2_n"], max(2, len(case["primes"]))
    if not 10 <= log2_n <= 13 or primes > 7:
        raise ToolError(
            f"The engine serves n from 1024 to 8192 and up to 7 primes: {case['set']} has n = {1 << log2_n} "
            f"and {primes}. Choose another set (.venv/bin/ciphermote params lists them)."
        )
    if log2_n in SMALL:
        return Shape(LOG2_N=log2_n, LOG2_UNITS=SMALL[log2_n], PRIMES=primes, DEEP=0)
    return Shape(LOG2_N=log2_n, PRIMES=primes)


def numbers_of(case: dict[str, Any], words: list[int]) -> list[int] | list[float]:
    """The message in the words that leave the engine (docs/client-engine-integration.md)."""
    if "t" not in case:
        return [struct.unpack("<f", struct.pack("<I", word))[0] for word in words]
    t = case["t"]
    numbers = words if t > 1 << 16 else [half for word in words for half in (word & 0xFFFF, word >> 16)]
    return [x - t if case["signed"] and x > t // 2 else x for x in numbers]


def cycles(outcome: Outcome) -> int:
    """From the command, behind the one that loads the key, to the last word."""
    return outcome.last_words[0] - outcome.taken[1] + 1


def main() -> int:
    chosen = options()
    try:
        if chosen.waves:
            chosen.waves.touch()  # before minutes of building
        case = case_of(chosen)
        shape = shape_of(case)
        print(f"Engine {shape.name}: {shape}", flush=True)
        command = "COMMAND_PUBLIC" if chosen.public else "COMMAND_SYMMETRIC"
        encrypted = client_bench.run(shape, case, command, waves=chosen.waves)
        frames = encrypted.frames[0] if encrypted.frames else b""
        if frames != bytes.fromhex(case["frames"][0]):
            raise ToolError(f"The frames are not the C library's (fault {encrypted.fault}).")
        print(f"Encrypted in {cycles(encrypted):,} cycles: {len(frames):,} bytes, those of the C library.")
        if chosen.frames:
            chosen.frames.write_bytes(frames)
        results = {"out_float": True, "out_exponent": 0, **case}
        decrypted = client_bench.run(shape, {**results, "frames": [frames.hex()]}, "COMMAND_DECRYPT")
        if not decrypted.results:
            raise ToolError(f"The engine did not decrypt the frames (fault {decrypted.fault}).")
        first = numbers_of(case, decrypted.results[0])[: len(chosen.values)]
    except (ToolError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Decrypted in {cycles(decrypted):,} cycles:", *(f"{x:.6g}" for x in first))
    return 0


if __name__ == "__main__":
    sys.exit(main())
