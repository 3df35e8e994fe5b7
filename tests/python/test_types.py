# SPDX-License-Identifier: Apache-2.0
"""The stated types of the compiled modules are those that the modules have."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ciphermote_testing as testing
import numpy as np
import pytest
from ciphermote import _core
from ciphermote.parameters import BUILTIN
from ciphermote.parameters.native import core_params

ROOT = Path(__file__).resolve().parents[2]
PLAIN_MODULUS = 12289
SECRET = bytes(range(32))


def test_the_stubs_are_what_the_compiled_modules_say_of_themselves() -> None:
    command = [sys.executable, str(ROOT / "tools/generate_stub.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("encode", "arguments"),
    [
        (testing.encode, (False, 0, 20, 63)),
        (testing.bfv_encode, (PLAIN_MODULUS, 1, 32)),
    ],
    ids=["ckks", "bfv"],
)
def test_values_are_taken_of_the_types_that_the_signature_names_and_of_no_other(
    encode: Any, arguments: tuple[int, ...]
) -> None:
    signature: str = encode.__nb_signature__[0][0]
    named = set(re.findall(r"dtype=(\w+)", signature.split("->")[0]))
    taken = set()
    for kind in map(np.dtype, "bhilqBHILQefdFD?"):
        try:
            encode(core_params(BUILTIN[0]), np.ones(2, dtype=kind), *arguments)
        except TypeError:
            continue
        taken.add(kind.name)
    assert taken == named


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_platform_of_what_cannot_be_called_is_refused_at_once(place: int) -> None:
    platform: list[Any] = [bytes, int, print]
    _core.Device(SECRET, *platform)
    platform[place] = 0
    with pytest.raises(TypeError):
        _core.Device(SECRET, *platform)
