# SPDX-License-Identifier: Apache-2.0
"""The client engine's pages say what its parameters, settings, commands and faults are; commands work."""

import re
import shlex
import subprocess

import pytest
from client import constants

from tools import BUILD, ROOT, RTL, run

PAGE = (ROOT / "docs/client-engine-integration.md").read_text(encoding="utf-8")
SOC = (ROOT / "docs/client-soc.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:1] == "|"
]
PER_PRIME = " + 8 i"


def rows(section):
    """The tables of one section."""
    (text,) = re.findall(rf"^#+ {re.escape(section)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if line[:1] == "|" and line[:4] != "|---"]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_parameters_are_those_of_the_top():
    source = (RTL / "client/cm_client_axi.sv").read_text(encoding="utf-8")
    own = dict(re.findall(r"parameter integer (\w+) = (\d+)", source))
    assert {row[0].strip("`"): row[2] for row in rows("Parameters")[1:]} == own


def test_ranges_are_those_that_are_refused():
    source = (RTL / "client/cm_client_engine.sv").read_text(encoding="utf-8")
    refused = dict(re.findall(r'"cm_client_engine: (\w+) must be (.*)\."', source))
    for name, values, *_ in rows("Parameters")[1:]:
        said = refused[name.strip("`")].removeprefix("from ").replace(" or ", ", ")
        assert values == said, name


def test_ports_are_those_of_the_top():
    source = (RTL / "client/cm_client_axi.sv").read_text(encoding="utf-8")
    prefixes = set(re.findall(r"((?:s|m)_axi(?:l|s_\w+?))_\w+,?\s", source)) | {"irq"}
    assert {row[0].strip("`") for row in rows("Ports")[1:]} == prefixes


def test_settings_have_their_numbers():
    found = set()
    for name, number, *_ in (
        row for row in ROWS if len(row) == 3 and row[0].isupper() and row[1][:1].isdigit()
    ):
        for each, text in zip(name.split(", "), re.split(r", | to ", number), strict=False):
            base = constants()["MAP_PRIMES"] << 8 if each.startswith("PRIME_") else 0
            assert PER_PRIME in text or not base, each
            assert int(text.removesuffix(PER_PRIME)) == base + constants()[f"MAP_{each}"], each
            found.add(f"MAP_{each}")
    assert found == {name for name in constants() if name.startswith("MAP_")} - {"MAP_GLOBAL", "MAP_PRIMES"}


def test_commands_and_faults_have_their_numbers():
    commands = {f"COMMAND_{row[0]}": int(row[1]) for row in rows("Commands")[1:]}
    faults = {f"FAULT_{row[1]}": int(row[0]) for row in rows("Faults")[1:]}
    assert commands == {name: x for name, x in constants().items() if name.startswith("COMMAND_")}
    assert {**faults, "FAULT_NONE": 0} == {name: x for name, x in constants().items() if name[:6] == "FAULT_"}


@pytest.mark.parametrize("bit", [10, 11])
def test_bits_of_shape(bit):
    names = {10: "SHAPE_SHAKE256", 11: "SHAPE_TAGS"}
    assert constants()[names[bit]] == bit and any(row[0] == str(bit) for row in ROWS)


def test_the_command_that_lints_it():
    (command,) = re.findall(r"^    (verilator .*)$", PAGE, re.MULTILINE)
    run(["sh", "-c", command], BUILD / "docs/verilator.log", cwd=ROOT)


def test_the_example_of_the_driver_compiles(tmp_path):
    (code,) = re.findall(r"```c\n(.*?)```", SOC, re.DOTALL)
    (flags,) = re.findall(r"^ +cc (.*\\\n.*)\\\n", SOC, re.MULTILINE)
    source = tmp_path / "example.c"
    declarations = """
uint32_t read_register(void *context, uint32_t offset);
void write_register(void *context, uint32_t offset, uint32_t value);
void send(void *context, const void *values, uint32_t count, cm_number number);
void receive(void *context, uint32_t *words, uint32_t count, uint32_t modulus);
bool sending(void *context);
uint32_t received(void *context);
"""
    include, _, rest = code.partition("\n")
    source.write_text(f"{include}\n{declarations}{rest}", encoding="utf-8")
    words = shlex.split(flags.replace("\\\n", " "))
    done = subprocess.run(
        ["gcc", *words, "-Wall", "-Werror", "-o", tmp_path / "example.o", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
