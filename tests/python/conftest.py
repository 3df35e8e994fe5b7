# SPDX-License-Identifier: Apache-2.0
"""What holds for every ring is tested for the smaller ones in make test, and for all in make test-all."""

import re

import pytest

LARGE = re.compile(r"n16384|n8192")
"""In the name of a test with a parameter set; the C tests have these rings in every build."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if LARGE.search(item.name):
            item.add_marker(pytest.mark.slow)
