# SPDX-License-Identifier: Apache-2.0
"""Run tests over all rings for the smaller ones in make test, and for all in make test-all."""

import os
import re

import pytest
from hypothesis import settings

LARGE = re.compile(r"n32768|n16384|n8192")
"""In the name of a test with a parameter set; the C tests have these rings in every build."""

settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
"""make test draws the same examples each time; HYPOTHESIS_PROFILE=new draws many new ones."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if LARGE.search(item.name):
            item.add_marker(pytest.mark.slow)
