# SPDX-License-Identifier: Apache-2.0
"""The FuseSoC description names every source there is, and nothing else, and builds what its tops build."""

import re

import pytest

from tools import RTL

TEXT = (RTL / "ciphermote.core").read_text(encoding="utf-8")
TARGETS = re.findall(r"toplevel: (\w+)\n    parameters: \[(.*)\]", TEXT)
DEFAULTS = dict(re.findall(r"^  (\w+): \{datatype: int, .*default: (\d+),", TEXT, re.MULTILINE))


def test_core_file_names_every_source():
    named = {
        line.split("- ", 1)[1].split(":")[0].strip()
        for line in TEXT.splitlines()
        if line.lstrip().startswith(("- engine/", "- accelerator/", "- client/", "- zero/"))
    }
    rooms = ("engine", "accelerator", "client", "zero")
    sources = [source for room in rooms for source in RTL.glob(f"{room}/*.sv*")]
    assert named == {str(path.relative_to(RTL)) for path in sources}


@pytest.mark.parametrize(("top", "listed"), TARGETS, ids=[top for top, _ in TARGETS])
def test_a_target_has_the_parameters_of_its_top(top, listed):
    """FuseSoC passes a default of its own for each parameter that a target lists."""
    (source,) = RTL.glob(f"*/{top}.sv")
    own = dict(re.findall(r"parameter integer (\w+) = (\d+)", source.read_text(encoding="utf-8")))
    for parameter in listed.split(", "):
        name, _, value = parameter.partition("=")
        assert (value or DEFAULTS[name]) == own[name], name


def test_the_client_engine_s_target_lists_all_its_parameters():
    source = (RTL / "client/cm_client_axi.sv").read_text(encoding="utf-8")
    (listed,) = (listed for top, listed in TARGETS if top == "cm_client_axi")
    own = re.findall(r"parameter integer (\w+) =", source)
    assert [parameter.partition("=")[0] for parameter in listed.split(", ")] == own
