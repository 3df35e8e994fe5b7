# SPDX-License-Identifier: Apache-2.0
"""Ciphertexts of an installed SEAL, such as 4.4.3, under its own chains come in, and results go back.

CMAKE_PREFIX_PATH names it, as for `make bench-evaluator`. TenSEAL's wheel has another version, with which
test_seal_chains.py tests more.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import ciphermote
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/seal-application"
CHAINS = {
    "default4096": (4096, (36, 36, 37)),
    "default8192": (8192, (43, 43, 44, 44, 44)),
    "three30": (4096, (30, 30, 30)),
}
LOG2_SCALE = {"default4096": 32, "default8192": 40, "three30": 26}
LARGEST_ERROR = {"default4096": 0.01, "default8192": 0.01, "three30": 0.5}
"""CKKS's: two primes of 30 bits leave little precision to a product that is rescaled with three
polynomials."""


@pytest.fixture(scope="module")
def application() -> Path:
    """The program of tests/seal, built with an installed SEAL; without one, its tests are skipped."""
    configured = subprocess.run(
        ["cmake", "-S", ROOT / "tests/seal", "-B", BUILD], capture_output=True, text=True, timeout=120
    )
    if configured.returncode and "SEALConfig.cmake" in configured.stderr:
        pytest.skip("no SEAL is installed: name its prefix in CMAKE_PREFIX_PATH")
    assert configured.returncode == 0, configured.stderr
    subprocess.run(["cmake", "--build", BUILD], check=True, capture_output=True, timeout=600)
    return BUILD / "seal_application"


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("count", [24, pytest.param(400, marks=pytest.mark.slow)], ids=["sample", "sweep"])
def test_ciphertexts_of_an_installed_seal_come_in_and_go_back(
    application: Path, name: str, scheme: str, count: int, tmp_path: Path
) -> None:
    """Import, compute and export: of 400, 100 are of each kind, seeded or public, fresh or squared."""
    n, bits = CHAINS[name]
    numbers = [n, LOG2_SCALE[name], count, *bits]
    made = run(application, "encrypt", tmp_path, scheme, *numbers)
    chain = ciphermote.read_seal_chain((tmp_path / "parms.seal").read_bytes(), "2018")
    assert [q.bit_length() for q in chain.primes] == list(bits)
    owner = ciphermote.Owner.from_seal((tmp_path / "secret.seal").read_bytes(), chain, rotations=[1])
    evaluator = ciphermote.Evaluator(owner.evaluation_keys, chain.scheme)
    expected = []
    for i, line in enumerate(made):
        squared, primes = map(int, line.split())
        values = (np.arange(9) + i) % 5 - 2.0
        values = values**2 if squared else values
        data = (tmp_path / f"{i}.seal").read_bytes()
        assert ciphermote.formats.seal.read_wide_ciphertext(data, chain).primes == primes
        given = evaluator.relinearize(owner.import_seal(data, largest=4))
        result, values = evaluator.rotate(given, 1) * 3 - given, 3 * values[1:] - values[:-1]
        (tmp_path / f"{i}.back").write_bytes(owner.export_seal(result).data)
        expected.append(values)
    found = [[float(x) for x in line.split()] for line in run(application, "decrypt", tmp_path, count)]
    off = np.abs(np.array(found) - np.array(expected))
    assert off.max() <= (LARGEST_ERROR[name] if scheme == "ckks" else 0), off.max()


def run(*command: object) -> list[str]:
    """Return the lines that a program prints."""
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
