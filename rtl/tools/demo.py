# SPDX-License-Identifier: Apache-2.0
"""Encrypts with the accelerator and without, in simulation: the same bytes, and the time of each step."""

from __future__ import annotations

import subprocess
import sys

from verilated import demo

from tools import ToolError

CONFIGURATIONS = ("n1024_u64_s128", "n4096_u64_s128")


def main() -> int:
    print("Building the hardware's simulations (a minute or two) ...", flush=True)
    try:
        programs = [demo(name) for name in CONFIGURATIONS]
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        "Accelerator: simulated cycles at 200 MHz, transfers of 128 bits at 250 MHz. Software: this machine."
    )
    return max(subprocess.run([program]).returncode for program in programs)


if __name__ == "__main__":
    sys.exit(main())
