# SPDX-License-Identifier: Apache-2.0
"""The integrators' bench passes on the engine's own bus, finds what is wrong, and is what the page shows."""

import integration
import pytest
import waves
from simulation import slow

from tools import ROOT, ToolError

PAGE = ROOT / "docs/client-engine-integration.md"


def test_the_bench_passes_and_the_page_shows_it():
    """The picture is drawn from the bench's own run."""
    assert waves.PICTURE.read_text(encoding="utf-8") == waves.picture()
    assert f"images/{waves.PICTURE.name}" in PAGE.read_text(encoding="utf-8")


def test_the_script_is_the_library_s():
    assert integration.SCRIPT.read_text(encoding="utf-8") == integration.script()


WRONG = {
    "a register": "r 0 ffffffff 434d4344\n",
    "a word of frames that does not come": "f 1 1\nq\n",
    "a fault that does not come": "i\nr 8 f00 d00\n",
}


@pytest.mark.parametrize("what", WRONG)
def test_the_bench_finds(what, monkeypatch, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text(WRONG[what])
    monkeypatch.setattr(waves, "SCRIPT", script)
    with pytest.raises(ToolError, match="FAILED"):
        waves.simulate()


@pytest.mark.parametrize("stalls", [slow("+stalls")])
def test_the_bench_passes_with_stalls(stalls):
    assert "PASSED" in waves.simulate(stalls)
