# SPDX-License-Identifier: Apache-2.0
"""The client engine's countermeasures: the register file names each, the source marks each, and a planted
fault breaks each."""

import json
import re
from collections import Counter

import pytest
from mutate import mutations

from tools import CLIENT_SOURCES, RTL

NAMED = json.loads((RTL / "client/client_registers.json").read_text(encoding="utf-8"))["countermeasures"]
MARK = re.compile(r"^ *// COUNTERMEASURE: ([A-Z0-9_]+)$", re.MULTILINE)


def test_named_and_marked_are_the_same():
    sources = {path.name: path.read_text(encoding="utf-8") for path in CLIENT_SOURCES}
    marked = [(name, file) for file, text in sources.items() for name in MARK.findall(text)]
    assert Counter((of["name"], of["file"]) for of in NAMED) == Counter(marked)
    assert len({name for name, _ in marked}) == len(marked), "a name has one place"
    assert sum(text.count("COUNTERMEASURE") for text in sources.values()) == len(marked), (
        "marks of another form"
    )


@pytest.mark.parametrize("of", NAMED, ids=lambda of: of["name"])
def test_a_planted_fault_breaks_it(of):
    faults = {fault.name: fault for fault in mutations()}
    assert of["fault"] in faults
    assert len([other for other in NAMED if other["fault"] == of["fault"]]) == 1, "a fault of its own"
    assert faults[of["fault"]].file == f"client/{of['file']}"
