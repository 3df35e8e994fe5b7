# SPDX-License-Identifier: Apache-2.0
"""client_try.py encrypts and decrypts values of the command line, and says what it cannot do."""

import subprocess
import sys

import asic
import client_bench
import pytest
import soc

import tools
from tools import ROOT, RTL, ToolError

sys.path.append(str(ROOT / "bench/rtl"))
import hardware


def tried(*arguments):
    command = [sys.executable, RTL / "tools/client_try.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("--public",), ("--shake256",)], ids=" ".join)
def test_integers(options):
    done = tried(*options, "3", "-1", "511", "-511")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("cycles: 3 -1 511 -511\n")


def test_numbers_of_32_bits():
    done = tried("--plain-modulus", "65537", "65536", "0", "7")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("cycles: 65536 0 7\n")


@pytest.mark.parametrize("options", [(), ("--public",), ("--shake256",)], ids=" ".join)
def test_real_numbers(options, tmp_path):
    path = tmp_path / "frames.bin"
    done = tried("--scheme", "ckks", "--frames", str(path), *options, "0.5", "-1.25")
    assert done.returncode == 0, done.stderr
    first, second = map(float, done.stdout.rpartition("cycles: ")[2].split())
    assert abs(first - 0.5) < 0.1 and abs(second + 1.25) < 0.1
    assert f"{path.stat().st_size:,} bytes" in done.stdout


@pytest.mark.slow  # it builds another simulation
def test_waves(tmp_path):
    path = tmp_path / "some waves.vcd"
    done = tried("--waves", str(path), "7")
    assert done.returncode == 0, done.stderr
    text = path.read_text(encoding="utf-8")
    cycles = int(done.stdout.partition("Encrypted in ")[2].partition(" ")[0].replace(",", ""))
    times = [int(line[1:]) for line in text.splitlines() if line[:1] == "#"]
    assert "idle_o $end" in text and cycles <= (times[-1] - times[0]) // 10 <= cycles + 100


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--waves", "/nowhere/waves.vcd", "1"), 1, "No such file or directory: '/nowhere/waves.vcd'"),
        (("512", "-512"), 1, "A value is too large"),
        (("--set", "n9", "1"), 1, "There is no parameter set 'n9': give n1024_q26,"),
        (("--set", "n16384_q26x15_p27", "1"), 1, "The engine serves n from 1024 to 8192 and up to 7 primes"),
        (("1.5",), 2, "--scheme bfv takes integers alone"),
        (("--public", "--shake256", "1"), 2, "leave it out"),
    ],
    ids=["waves", "range", "set", "large", "number", "seed"],
)
def test_it_says_what_is_wrong(arguments, code, reason):
    done = tried(*arguments)
    assert done.returncode == code and reason in done.stderr and "Traceback" not in done.stderr


def test_tools_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "ROOT", tmp_path)
    with pytest.raises(ToolError, match=r"run tools/setup\.sh rtl\.$"):
        client_bench.cases()
    with pytest.raises(ToolError, match=r"run tools/setup\.sh rtl\.$"):
        soc.owner("prepare", tmp_path)
    monkeypatch.setattr(hardware, "PYTHON", tmp_path / "python")
    with pytest.raises(hardware.BenchError, match=r"run tools/setup\.sh rtl\.$"):
        hardware.run_python("versions.py")


def test_a_library_without_sram_macros_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(asic.PDK, str(tmp_path))
    with pytest.raises(ToolError, match=f"Set {asic.PDK} to a folder"):
        asic.open_library()
    (tmp_path / "sg13g2_stdcell_typ_1p20V_25C.lib").touch()
    with pytest.raises(ToolError, match="has no SRAM macros"):
        asic.open_library()
