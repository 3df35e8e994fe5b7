# SPDX-License-Identifier: Apache-2.0
"""The proofs of rtl/formal hold."""

import pytest
from prove import PROOFS, prove
from simulation import slow

SLOW = (
    *("control-u2", *(name for name in PROOFS if name.startswith("control-u64"))),
    *(
        "client-uniform-22",
        "client-uniform-27",
        *(f"client-clears-{name}" for name in ("stream", "seeds", "reader")),
    ),
)


@pytest.mark.parametrize("name", [slow(name) if name in SLOW else name for name in PROOFS])
def test_proof(name):
    prove(name)
