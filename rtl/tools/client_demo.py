# SPDX-License-Identifier: Apache-2.0
"""Firmware on a simulated RISC-V core encrypts readings, through the client engine and in software.

The owner decrypts what the engine sent. Cycles are simulated; a time is cycles at 100 MHz. Energy is what
`make bench-asic` found (docs/client-soc.md): the demo does not need its library of cells.
"""

from __future__ import annotations

import json
import sys

import soc

from tools import ROOT, ToolError

SET = "n4096_q26x3_p27"
T = 40961
CIPHERTEXTS = 3
MHZ = 100


def line(what: str, cycles: int) -> None:
    print(f"  {what:<44} {cycles:>12,} cycles {cycles / MHZ / 1000:>10.2f} ms")


def published_uj(chip: str) -> float:
    rows = json.loads((ROOT / "bench/results/engine-asic.json").read_text(encoding="utf-8"))["rows"]
    return next(row["value"] for row in rows if row["name"] == f"soc.{chip}.nj_per_encryption") / 1000


def main() -> int:
    print("Building the chip's simulations and the firmware (minutes) ...", flush=True)
    try:
        field = soc.field("demo", set=SET, t=T, ciphertexts=CIPHERTEXTS)
        chip = soc.Chip()
        engine = soc.simulate(field, chip)
        right = soc.decrypted(field, chip)
        cold = soc.simulate(soc.field("demo-cold", set=SET, t=T, ciphertexts=1), chip)
        print("Encrypting in software on the same core ...", flush=True)
        software = soc.simulate(field, soc.SOFTWARE)
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    readings = field.n * CIPHERTEXTS
    print(f"\nBFV under the secret key, {SET}, t = {T}: {readings:,} readings of a smartwatch, ", end="")
    print(f"{len(engine.frames):,} bytes of frames")
    line(f"software, each (PicoRV32, {MHZ} MHz)", software.encryptions[-1])
    line("client engine, each", engine.encryptions[-1])
    line("client engine, from reset to the last word", cold.last_word + 1)
    print(f"  {software.encryptions[-1] / engine.encryptions[-1]:,.0f} times as fast; UART apart")
    print("  energy of one, as bench/results/engine-asic.json has it: ", end="")
    print(f"software {published_uj('software'):,.0f} uJ, client engine {published_uj('engine'):,.0f} uJ")
    same = engine.frames == software.frames
    print(f"  the frames are {'the same bytes' if same else 'DIFFERENT'} both ways")
    print(f"  the owner decrypts {right} of {CIPHERTEXTS} ciphertexts to the readings")
    return 0 if same and right == CIPHERTEXTS and not engine.code and not software.code else 1


if __name__ == "__main__":
    sys.exit(main())
