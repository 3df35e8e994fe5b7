# SPDX-License-Identifier: Apache-2.0
"""tools/check_lines.py: which lines it finds too long, and where it looks."""

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import check_lines

    return check_lines


def test_a_line_may_have_110_columns_or_an_address(tool):
    assert not tool.too_long("x" * 110)
    assert tool.too_long("x" * 111)
    assert not tool.too_long("x" * 111 + " https://example.org")


def test_it_looks_at_hand_written_code_alone(tool):
    names = {str(path.relative_to(ROOT)) for path in tool.files()}
    assert {"core/src/ring/ring.c", "core/include/ciphermote/config.h", "Makefile", "tools/lint.sh"} <= names
    assert {"rtl/client/cm_client_engine.sv", "rtl/client/cm_client_map.svh"} <= names
    assert not names & {"core/src/params/sets.c", "tests/vectors/vectors.h", "README.md", "LICENSE"}
    assert "rtl/client/cm_client_registers.svh" not in names
