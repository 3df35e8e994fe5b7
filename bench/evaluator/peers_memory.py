#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of one encryption: rows peers.memory.* of bench/results/evaluator.json (make bench-evaluator).

CKKS, n = 4096, data primes of 3 x 26 bits and a special prime of 27, 2048 numbers, public key. Each library
runs in a process of its own, and what grows is its largest resident memory over that after loading its
code: set-up and key included, or the encryption alone. SEAL is the one in TenSEAL's wheel; ours is the C
library (FAST, built for this machine). OPENFHE_PYTHON names a Python that has OpenFHE's wheel. Linux only:
/proc counts, in pages.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bench/m4")]
RESULTS = ROOT / "bench/results/evaluator.json"
BUILD = ROOT / "build/bench-peers"
VALUES = 2048
LOG2_SCALE = 25
PRIME_BITS = (26, 26, 26, 27)

Encrypt = Callable[[], None]


def resident(field: str) -> int:
    """Bytes that /proc/self/status gives in a field."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found
    return 1024 * int(found[1])


def seal() -> Callable[[], Encrypt]:
    """SEAL: a function that sets up, and returns the encryption."""
    import tenseal.sealapi as api

    def set_up() -> Encrypt:
        parameters = api.EncryptionParameters(api.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(4096)
        parameters.set_coeff_modulus(api.CoeffModulus.Create(4096, list(PRIME_BITS)))
        context = api.SEALContext(parameters, True, api.SEC_LEVEL_TYPE.TC128)
        key = api.PublicKey()
        api.KeyGenerator(context).create_public_key(key)

        def encrypt() -> None:
            plain, ciphertext = api.Plaintext(), api.Ciphertext()
            api.CKKSEncoder(context).encode([1.5] * VALUES, 2.0**LOG2_SCALE, plain)
            api.Encryptor(context, key).encrypt(plain, ciphertext)

        return encrypt

    return set_up


def openfhe() -> Callable[[], Encrypt]:
    """OpenFHE, likewise, where its package is installed."""
    import openfhe as api

    def set_up() -> Encrypt:
        parameters = api.CCParamsCKKSRNS()
        parameters.SetRingDim(4096)
        parameters.SetMultiplicativeDepth(2)
        parameters.SetScalingModSize(26)
        parameters.SetFirstModSize(27)
        parameters.SetSecurityLevel(api.HEStd_NotSet)
        context = api.GenCryptoContext(parameters)
        context.Enable(api.PKESchemeFeature.PKE)
        keys = context.KeyGen()

        def encrypt() -> None:
            context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext([1.5] * VALUES))

        return encrypt

    return set_up


def ciphermote() -> Callable[[], Encrypt]:
    """The C library, with its key in constants: it has nothing to set up."""
    library = ctypes.CDLL(str(BUILD / "encrypt.so"))

    def set_up() -> Encrypt:
        def encrypt() -> None:
            if library.encrypt_once(1, None) != 0:
                raise RuntimeError("The encryption has failed.")

        return encrypt

    return set_up


LIBRARIES = {"ciphermote": ciphermote, "seal": seal, "openfhe": openfhe}


def reset_peak() -> None:
    """Make VmHWM what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(name: str) -> dict[str, int]:
    """Measure how far this process's resident memory grows, in bytes."""
    set_up = LIBRARIES[name]()
    reset_peak()
    before = resident("VmRSS")
    encrypt = set_up()
    whole = resident("VmHWM") - before
    reset_peak()
    ready = resident("VmRSS")
    encrypt()
    peak = resident("VmHWM")
    return {"encryption": peak - ready, "whole": max(whole, peak - before)}


def build_ours() -> None:
    """Compile our encryption as a library that Python loads."""
    from configurations import CONFIGURATIONS
    from keys import write_keys
    from linux_cores import FIRMWARE

    BUILD.mkdir(parents=True, exist_ok=True)
    configuration = CONFIGURATIONS["fast"]
    keys = BUILD / "keys.c"
    write_keys(keys, configuration.workload.parameters)
    firmware = ROOT / "bench/m4/firmware"
    sources = [*(firmware / name for name in FIRMWARE), keys, *sorted((ROOT / "core/src").glob("*/*.c"))]
    flags = ["-shared", "-fPIC", "-DRUNS=1", "-DBENCH_ASYMMETRIC=1", "-Dmain=encrypt_once"]
    include = [f"-I{path}" for path in (ROOT / "core/include", ROOT / "core/src", firmware)]
    command = ["gcc", "-std=c11", *flags, *configuration.flags.split(), *include, *sources]
    subprocess.run([*command, "-o", BUILD / "encrypt.so"], check=True)


def measured() -> dict[str, dict[str, int]]:
    """Measure each library in a process of its own, and leave out with a word what is not installed."""
    found = {}
    for name in LIBRARIES:
        python = os.environ.get("OPENFHE_PYTHON", sys.executable) if name == "openfhe" else sys.executable
        done = subprocess.run(
            [python, __file__, "--measure", name],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        )
        if done.returncode == 0:
            found[name] = json.loads(done.stdout)
        else:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"{name} is not measured: {reason}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the peak memory of one encryption.")
    parser.add_argument("--measure", choices=LIBRARIES, help="measure one library in this process")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return 0
    build_ours()
    rows = []
    for name, grown in measured().items():
        params = {"n": 4096, "prime_bits": list(PRIME_BITS), "values": VALUES, "key": "public"}
        params |= {"encryption_alone": grown["encryption"], "kind": "measured: resident pages"}
        row = {
            "name": f"peers.memory.{name}.bytes",
            "value": grown["whole"],
            "unit": "bytes",
            "params": params,
        }
        rows.append({**row, "timed": False, "better": "less"})
        print(f"{row['name']:<32} {grown['whole']:>12,}  the encryption alone {grown['encryption']:,}")
    content = json.loads(RESULTS.read_text(encoding="utf-8"))
    others = [row for row in content["rows"] if not row["name"].startswith("peers.memory.")]
    content["rows"] = [*others, *rows]
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
