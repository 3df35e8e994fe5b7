"""The proofs of rtl/formal hold."""

import pytest
from prove import PROOFS, prove


@pytest.mark.parametrize("name", PROOFS)
def test_proof(name):
    prove(name)
