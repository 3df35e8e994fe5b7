# SPDX-License-Identifier: Apache-2.0
"""Zero encryptions by the measure of papers/001, from rtl/zero: the rows of bench/rtl/client.py for it."""

from __future__ import annotations

import json

from ciphermote.results import Row
from hardware import run_python

GOAL = 40_960
PAPER = {"zero_encryption": 49_243, "delta_m_decryption": 30_773}
BOUNDS = {"zero_encryption": 39_936, "delta_m_decryption": 26_624}
"""Butterflies and products over six, at n = 4096 and three primes, without the first stage of u."""


def rows() -> list[Row]:
    """The default pipeline's cycles under the plain names, those of the short one with its name."""
    taken = json.loads(run_python("zero.py"))
    found = []
    for pipeline, jobs in taken["cycles"].items():
        for job, cycles in jobs.items():
            params = {
                "n": taken["n"],
                "primes": taken["primes"],
                "width": taken["width"],
                **taken["counts"][pipeline],
                "pipeline": pipeline,
                "kind": "simulated",
                "from": "start, with keys, errors and u in memory",
                "to": "end, with the result in memory",
                "bound": BOUNDS[job],
                "paper": PAPER[job],
                **({"goal": GOAL} if job == "zero_encryption" else {}),
            }
            name = f"engine.{job}.u6{'' if pipeline == 'deep' else f'.{pipeline}'}.cycles"
            found.append(Row(name, cycles, "cycles", params))
    return found
