# SPDX-License-Identifier: Apache-2.0
"""The compact lane on a Cortex-M4, for bench/compact.py: cycles (modelled) of encryptions and of tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from configurations import Configuration, compiler_flags, device
from measure import MODELLED, one_of_many
from simulate import BenchError, build_firmware, build_plugin, simulate

from bench.rows import Row

FLAGS = compiler_flags("O3", device())
FEW, MANY, TAG, LONG_TAG = range(4)
"""Regions of firmware/compact.c."""
MORE_BYTES = 1024
"""That the longer tag covers."""


def compact_rows(build: Path) -> Iterator[Row]:
    """Rows of set A10; BenchError if secrets change instructions, cycles or the path."""
    build.mkdir(parents=True, exist_ok=True)
    image = build_firmware(build / "compact", Configuration(FLAGS), ["compact"])["compact"]
    run = simulate(image, build_plugin(build))
    if run.reported["runs"] < 100:
        raise BenchError(f"{image} ended after {run.reported['runs']} runs.")
    params = {"set": "a10", "flags": FLAGS, **MODELLED}
    for region, k in ((FEW, 16), (MANY, 1024)):
        found = one_of_many(run, region, f"{k} compact values", ("instructions", "cycles", "path"))
        note = {"tag": "with it", "counter_write": "without it", "instructions": found.instructions}
        yield Row(f"m4.k{k}.cycles", found.cycles, "cycles", {**params, **note})
        yield Row(f"m4.k{k}.same_instructions", run.reported["runs"], "runs", params)
    short, long = run.region(TAG).cycles, run.region(LONG_TAG).cycles
    yield Row("m4.k16.tag.cycles", short, "cycles", params)
    per_byte = round((long - short) / MORE_BYTES, 2)
    yield Row("m4.tag.cycles_per_byte", per_byte, "cycles", {**params, "bytes": MORE_BYTES})
