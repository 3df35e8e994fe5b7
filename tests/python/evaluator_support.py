# SPDX-License-Identifier: Apache-2.0
"""Support for the evaluator's tests."""

from __future__ import annotations

from functools import cache

from ciphermote import _evaluator as ev
from ciphermote.base.errors import EngineError


@cache
def isas() -> tuple[str, ...]:
    """The instruction sets of this machine; portable C++ is always one."""
    found = []
    for isa in ("portable", "avx2", "avx512"):
        try:
            ev.Context(10, [12289], [], 1, isa=isa, insecure=True)
        except EngineError as error:
            assert isa != "portable", error
        else:
            found.append(isa)
    return tuple(found)
