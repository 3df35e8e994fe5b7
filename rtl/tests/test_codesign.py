# SPDX-License-Identifier: Apache-2.0
"""The C library with the simulated accelerator in its back-end passes its own tests: the pinned ciphertexts
come out the same, and packets that get lost or garbled change nothing."""

import subprocess

import pytest
from simulation import slow
from verilated import core_tests, demo


def passed(program, lost):
    """Run the C tests with one incomplete packet after every `lost` whole ones (0: all are whole)."""
    done = subprocess.run([program, str(lost)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:]
    assert " 0 failed" in done.stdout.splitlines()[-2]
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def program_at_1024():
    shape = {"LOG2_N": 10, "WIDTH": 32, "LOG2_UNITS": 3, "LOG2_BEAT": 2, "DEEP": 1}
    return core_tests("n1024", shape, every=6)


def test_pinned_ciphertexts_at_1024(program_at_1024):
    assert "opened again 0 times" in passed(program_at_1024, lost=0)


@pytest.mark.parametrize("lost", [41, slow(7)])
def test_pinned_ciphertexts_when_packets_get_lost(program_at_1024, lost):
    assert "opened again 0 times" not in passed(program_at_1024, lost)


def test_pinned_ciphertexts_at_4096():
    shape = {"LOG2_N": 12, "WIDTH": 27, "LOG2_UNITS": 3, "LOG2_BEAT": 2, "DEEP": 0, "GENERATE": 1}
    assert "opened again 0 times" in passed(core_tests("n4096", shape, every=3), lost=0)


@pytest.mark.parametrize("name", ["n1024_u8_s128", slow("n1024_u64_s128")])
def test_the_demo_sends_the_same_bytes_with_the_accelerator_and_without(name):
    """The larger one is what `make demo-accelerator` runs."""
    done = subprocess.run([demo(name)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "the same both ways" in done.stdout
