# SPDX-License-Identifier: Apache-2.0
"""The faults of mutations.toml are of this hardware; `make rtl-mutation` plants them."""

import mutate
import pytest
from mutate import mutations
from prove import PROOFS

from tools import RTL

FEWEST = 160


def test_there_are_many():
    assert len(mutations()) >= FEWEST


@pytest.mark.parametrize("of", mutations(), ids=lambda of: of.name)
def test_a_fault_has_one_place_and_a_check(of):
    text = (RTL / of.file).read_text(encoding="utf-8")
    assert text.count(of.find) == 1 and of.find != of.replace and of.why
    if ".py" in of.check:
        tests = (RTL / "tests" / of.check.split("::")[0]).read_text(encoding="utf-8")
        assert not of.only or f"async def {of.only}(dut):" in tests
    else:
        assert of.check in PROOFS


def test_a_name_that_there_is_not_and_tools_that_are_missing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["mutate.py", "nowhere"])
    assert mutate.main() == 2
    said = capsys.readouterr().err
    assert "has nowhere in its name" in said and all(of.name in said for of in mutations())
    monkeypatch.setattr("sys.argv", ["mutate.py"])
    monkeypatch.setattr(mutate, "VENV", tmp_path / "none")
    assert mutate.main() == 2 and "run tools/setup.sh rtl." in capsys.readouterr().err
