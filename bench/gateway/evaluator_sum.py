# SPDX-License-Identifier: Apache-2.0
"""The evaluator alone: how long it takes to add ciphertexts up that lie in memory, taken apart beforehand."""

from __future__ import annotations

import time
from pathlib import Path

from ciphermote import _evaluator
from ciphermote import _evaluator as native
from ciphermote.parameters import by_name
from ciphermote.parameters.native import context_of, core_params
from load import read_bodies

_HEADER_BYTES, _TRAILER_BYTES = 64, 12


def seconds_to_add(bodies: Path, set_name: str) -> float:
    """Seconds to add up the symmetric sets in a file that load.py wrote."""
    parameters = by_name(set_name)
    taken_apart = []
    for data in read_bodies(bodies):
        stored = _evaluator.read_stored(core_params(parameters), 0, data)
        payloads = [
            data[at + _HEADER_BYTES : at + size - _TRAILER_BYTES]
            for _, _, _, at, size in sorted(stored.parts)
        ]
        taken_apart.append((payloads[0], payloads[1:], stored.scale))
    total = native.Sum(context_of(parameters))
    started = time.perf_counter()
    for seed, payload, scale in taken_apart:
        total.add_packed(3, seed, payload, scale, native.Form.values)
    total.total()
    return time.perf_counter() - started
