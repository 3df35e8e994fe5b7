# SPDX-License-Identifier: Apache-2.0
"""FuseSoC's descriptions and the file lists name every source of their rooms, and nothing else; FuseSoC
builds from them, also for a design of somebody else's that depends on them."""

import re
import subprocess

import pytest

from tools import ROOT, RTL, VENV, environment

CORES = {path.parent.name: path for path in RTL.glob("*/*.core")}
TOPS = {"engine", "accelerator", "evaluator", "client", "zero"}
UNDER = {"accelerator": "engine", "client": "engine", "zero": "engine", "evaluator": "accelerator"}
"""The room that another depends on."""


def name_of(core):
    return re.search(r"^name: (\S+):[\d.]+$", core.read_text(encoding="utf-8"), re.MULTILINE)[1]


def fusesoc(folder, *arguments):
    (folder / "fusesoc.conf").touch()
    command = [VENV / "bin/fusesoc", "--config", folder / "fusesoc.conf", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def lint(folder, name, *roots):
    where = [argument for root in roots for argument in ("--cores-root", root)]
    return fusesoc(folder, *where, "run", "--build-root", folder / "build", "--target", "lint", name)


def test_every_room_with_a_top_for_others_has_a_core():
    assert set(CORES) == TOPS


@pytest.mark.parametrize("room", sorted(TOPS))
def test_core_and_list_name_every_source(room):
    text = CORES[room].read_text(encoding="utf-8")
    named = re.findall(r"^ {6}- (\S+\.svh?)", text, re.MULTILINE)
    assert sorted(named) == sorted(path.name for path in RTL.glob(f"{room}/*.sv*"))
    lines = CORES[room].with_suffix(".f").read_text(encoding="utf-8").splitlines()
    sources = [line for line in lines if line.endswith(".sv")]
    assert sources == [name for name in named if name.endswith(".sv")]
    needed = re.findall(r"depend: \[(.*)\]", text)
    under = [UNDER[room]] if room in UNDER else []
    assert needed == [name_of(CORES[other]) for other in under]
    lists = [f"-F ../{other}/{CORES[other].with_suffix('.f').name}" for other in under]
    assert [line for line in lines if line.startswith("-F")] == lists


@pytest.mark.parametrize("room", sorted(TOPS))
def test_a_core_has_the_parameters_of_its_top(room):
    """FuseSoC passes a default of its own for each parameter that a target lists."""
    text = CORES[room].read_text(encoding="utf-8")
    top, listed = re.search(r"toplevel: (\w+)\n    parameters: \[(.*)\]", text).groups()
    defaults = dict(re.findall(r"^  (\w+): \{datatype: int, .*default: (\d+),", text, re.MULTILINE))
    own = dict(re.findall(r"parameter integer (\w+) = (\d+)", (RTL / room / f"{top}.sv").read_text("utf-8")))
    assert list(defaults) == listed.split(", ")
    assert {name: own[name] for name in defaults} == defaults
    if room == "client":
        assert own == defaults


def test_the_cores_have_the_project_s_version():
    header = (ROOT / "core/include/ciphermote/ciphermote.h").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"^#define CM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE))
    for core in CORES.values():
        assert re.search(r"^name: .*:([\d.]+)$", core.read_text(encoding="utf-8"), re.MULTILINE)[1] == version


@pytest.mark.parametrize("room", sorted(TOPS))
def test_fusesoc_builds_each_core(room, tmp_path):
    status, said = lint(tmp_path, name_of(CORES[room]), RTL)
    assert status == 0 and "%Warning" not in said and "V e r i l a t i o n" in said, said


def test_the_readme_s_commands_work(tmp_path):
    text = (RTL / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    fusesoc (.*)$", text, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        arguments = line.replace("PATH/TO/ciphermote/rtl", str(RTL)).split()
        status, said = fusesoc(tmp_path, *arguments)
        assert status == 0, said
    assert "V e r i l a t i o n" in said


DESIGN = """CAPI=2:
name: other:chip:top
filesets:
  rtl:
    files: [top.sv: {file_type: systemVerilogSource}]
    depend: [DEPENDS]
targets:
  default: &default {filesets: [rtl]}
  lint:
    <<: *default
    toplevel: top
    flow: lint
    flow_options: {tool: verilator, verilator_options: [-Wall]}
"""
TOP = """module top;
  cm_ntt_engine #(.LOG2_N(12), .LOG2_UNITS(2)) engine ();
  cm_ntt_accelerator accelerator ();
  cm_evaluator #(.LOG2_N(10), .LOG2_UNITS(2), .LOG2_BEAT(2)) evaluator ();
  cm_client_axi #(.LOG2_N(10), .PRIMES(2)) client ();
  cm_zero_encrypt zero ();
endmodule
"""


@pytest.mark.parametrize("missing", ["", "accelerator", "client", "engine", "evaluator", "zero"])
def test_a_design_depends_on_them(missing, tmp_path):
    """missing: a room whose core the design does not name. The engine comes along with any other, and so does
    the accelerator with the evaluator."""
    depends = ", ".join(name_of(core) for room, core in sorted(CORES.items()) if room != missing)
    (tmp_path / "top.core").write_text(DESIGN.replace("DEPENDS", depends))
    (tmp_path / "top.sv").write_text(
        "/* verilator lint_off PINMISSING */\n/* verilator lint_off DECLFILENAME */\n" + TOP
    )
    status, said = lint(tmp_path, "other:chip:top", RTL, tmp_path)
    assert (status == 0) == (missing in ("", "engine", "accelerator")), said
