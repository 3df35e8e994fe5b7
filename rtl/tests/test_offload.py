# SPDX-License-Identifier: Apache-2.0
"""The driver under SEAL (harness/offload.h) computes what an independent transform does, and takes one
command for what belongs together. `make bench-seal-offload` runs it under SEAL itself."""

import subprocess

import pytest
from simulation import slow
from verilated import offload_tests, paper


def test_calls_give_the_words_of_an_independent_transform():
    shape = {"LOG2_N": 10, "WIDTH": 27, "LOG2_UNITS": 3, "LOG2_BEAT": 3, "LOG2_STREAM": 2, "DEEP": 2}
    done = subprocess.run([offload_tests("n1024", shape), "1"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "most_ps"), [slow("n1024_u64_s128_middle", 4_232_000), slow("n1024_u64_s128_deep", 4_964_000)]
)
def test_the_published_experiment_in_at_most_the_stated_time(name, most_ps):
    taken = paper(name)
    assert taken["double_multiply_ps"] <= most_ps
    assert taken["product_pace_ps"] <= 1_250_000
