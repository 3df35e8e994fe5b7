# SPDX-License-Identifier: Apache-2.0
"""Firmware on a PicoRV32 encrypts through the client engine, and in software alone: the same bytes."""

import json
from functools import cache

import pytest
import soc

from tools import ROOT

SMALL = soc.Chip(LOG2_N=10, LOG2_UNITS=2, PRIMES=2, DEEP=0)
SET = {"set": "n1024_q26", "ciphertexts": 2}


@cache
def runs(name, **wanted):
    """The device's run with the engine, and that in software, from the same keys and random words."""
    field = soc.field(name, **SET, **wanted)
    return field, soc.simulate(field, SMALL), soc.simulate(field, soc.SOFTWARE)


@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
def test_the_same_frames_with_the_engine_and_without(public):
    field, engine, software = runs(
        f"test-{'public' if public else 'symmetric'}", t=12289, public=public, seed=1
    )
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    assert soc.decrypted(field, SMALL) == field.ciphertexts
    assert software.encryptions[1] > 200 * engine.encryptions[1]


def test_a_reading_out_of_range_is_refused_alike():
    """The first ciphertext leaves, nothing of the second, and the status is that of the C library."""
    _, engine, software = runs("test-range", t=1000, wrong=True, seed=2)
    assert engine.code == software.code == 1
    assert engine.said.splitlines()[2] == software.said.splitlines()[2]
    assert engine.said.splitlines()[2].startswith("status")
    assert engine.frames == software.frames
    assert len(engine.frames) > 0


def test_a_chip_without_the_engine_does_not_start_its_firmware():
    field = soc.field("test-none", **SET, t=1000, seed=3)
    outcome = soc.run_program(field, soc.firmware(field, engine=True), soc.SOFTWARE)
    assert outcome.code == 1 and not outcome.frames and not outcome.encryptions


def test_the_page_has_the_figures_of_the_bench():
    rows = json.loads((ROOT / "bench/results/engine.json").read_text(encoding="utf-8"))["rows"]
    values = {row["name"]: row["value"] for row in rows}
    page = (ROOT / "docs/client-soc.md").read_text(encoding="utf-8")
    assert values["soc.speedup"] >= 300
    assert f"The engine is {values['soc.speedup']:.0f} times as fast" in page
    for name in ("engine", "engine.first", "software"):
        cycles = values[f"soc.{name}.cycles"]
        assert f"| {cycles:,} | {cycles / 1e5:,.2f} ms |" in page
    assert f"{values['engine.symmetric.latency.cycles']:,} are its own" in page
