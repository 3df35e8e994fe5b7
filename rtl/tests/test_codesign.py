"""The C library with the simulated accelerator in its back-end passes its own tests: the pinned ciphertexts
come out the same, and packets that get lost or garbled change nothing."""

import subprocess

from verilated import core_tests, demo


def passed(program, lost):
    """What the C tests say with so many packets between two that do not arrive whole (0: all do)."""
    done = subprocess.run([program, str(lost)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:]
    assert " 0 failed" in done.stdout.splitlines()[-2]
    return done.stdout.splitlines()[-1]


def test_pinned_ciphertexts_at_1024():
    shape = {"LOG2_N": 10, "WIDTH": 32, "LOG2_UNITS": 3, "LOG2_BEAT": 2, "DEEP": 1}
    program = core_tests("n1024", shape, every=6)
    assert "opened again 0 times" in passed(program, lost=0)
    assert "opened again 0 times" not in passed(program, lost=7)


def test_pinned_ciphertexts_at_4096():
    shape = {"LOG2_N": 12, "WIDTH": 27, "LOG2_UNITS": 3, "LOG2_BEAT": 2, "DEEP": 0, "GENERATE": 1}
    assert "opened again 0 times" in passed(core_tests("n4096", shape, every=3), lost=0)


def test_the_demo_sends_the_same_bytes_with_the_accelerator_and_without():
    done = subprocess.run([demo("n1024_u64_s128")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "the same both ways" in done.stdout
