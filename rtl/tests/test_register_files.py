# SPDX-License-Identifier: Apache-2.0
"""The register maps in SystemRDL compile, and say what the JSON files and the C headers say."""

import json
import re

import pytest
from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, RegNode

from tools import ROOT, RTL

MAPS = {
    "accelerator": ("registers", "CM_NTT", "core/src/backends/accelerator/registers.h"),
    "client": ("client_registers", "CM_CLIENT", "ports/client-engine/client_registers.h"),
}
WORD = 32


def compiled(room):
    compiler = RDLCompiler()
    compiler.compile_file(str(RTL / room / f"{MAPS[room][0]}.rdl"))
    return compiler.elaborate().top


def source(room):
    registers = json.loads((RTL / room / f"{MAPS[room][0]}.json").read_text(encoding="utf-8"))["registers"]
    return {register["name"]: register for register in registers}


@pytest.mark.parametrize("room", MAPS)
def test_registers_are_those_of_the_map(room):
    registers = {node.inst_name: node for node in compiled(room).children() if isinstance(node, RegNode)}
    assert registers.keys() == source(room).keys()
    for name, register in source(room).items():
        node = registers[name]
        assert node.raw_address_offset == register["offset"] and node.get_property("regwidth") == WORD, name
        assert node.get_property("desc") == register["text"]
        assert node.has_sw_readable == ("read" in register["access"])
        assert node.has_sw_writable == ("write" in register["access"])
        assert (node.array_dimensions or [1])[0] == register.get("words", 1)


@pytest.mark.parametrize("room", MAPS)
def test_fields_have_the_places_of_the_c_header(room):
    prefix, header = MAPS[room][1:]
    text = (ROOT / header).read_text(encoding="utf-8")
    numbers = {name: int(value) for name, value in re.findall(r"#define (\w+) (\d+)u", text)}
    for node in compiled(room).children():
        name = f"{prefix}_{node.inst_name}"
        assert numbers[f"{name}_OFFSET"] == node.raw_address_offset
        fields = [field for field in node.children() if isinstance(field, FieldNode)]
        if "fields" not in source(room)[node.inst_name]:
            assert [(field.low, field.width) for field in fields] == [(0, WORD)]
            continue
        assert {field.inst_name for field in fields} == {
            field["name"] for field in source(room)[node.inst_name]["fields"]
        }
        for field in fields:
            of = f"{name}_{field.inst_name}"
            assert (field.low, field.width) == (numbers[f"{of}_LOW"], numbers[f"{of}_BITS"]), of
            cleared = source(room)[node.inst_name]["access"] == "read, write 1 to clear"
            assert (field.get_property("onwrite") is not None) == cleared
