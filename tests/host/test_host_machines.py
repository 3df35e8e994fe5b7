# SPDX-License-Identifier: Apache-2.0
"""The evaluator computes the same residues on every machine: here, and on simulated ARM and WebAssembly.

python tests/host/test_host_machines.py writes vectors/evaluator.json from this machine's digests.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "vectors/evaluator.json"
# Machines, and the back-ends that they must have. What this one has depends on its processor.
MACHINES = {
    "native": "portable",
    "armhf": "neon portable",
    "aarch64": "neon portable",
    "wasm32": "wasm portable",
}
SAMPLE = ("native", "aarch64", "wasm32")
"""Those of `make test`: each back-end, and words of 32 and of 64 bits."""
DIGEST = re.compile(r"digest (n\d+) (\w+) ([0-9a-f]{64})$", re.MULTILINE)


def run(*command: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    return done.stdout


def output_of(machine: str) -> str:
    """Run the program that compares the machine's back-ends with portable C++, and return its output."""
    folder = ROOT / "build/host" / machine
    toolchain = [] if machine == "native" else [f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / machine}.cmake"]
    run(
        *("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *toolchain),
        *("-DCIPHERMOTE_BUILD_HOST=ON", "-DCIPHERMOTE_BUILD_TESTS=ON", "-DCIPHERMOTE_WERROR=ON"),
    )
    run("cmake", "--build", folder, "--target", "host_tests")
    return run("ctest", "--test-dir", folder, "--verbose", "-R", "^host$")


def digests_in(output: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for degree, operation, digest in DIGEST.findall(output):
        found.setdefault(degree, {})[operation] = digest
    return found


@pytest.mark.parametrize(
    "machine", [*SAMPLE, *(pytest.param(m, marks=pytest.mark.slow) for m in MACHINES if m not in SAMPLE)]
)
def test_every_back_end_gives_the_pinned_residues(machine: str) -> None:
    output = output_of(machine)
    back_ends = re.search(r"back-ends: (.*)$", output, re.MULTILINE)
    assert back_ends and back_ends[1].endswith(MACHINES[machine]), output
    assert digests_in(output) == json.loads(VECTORS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(digests_in(output_of("native")), indent=2) + "\n", encoding="utf-8")
