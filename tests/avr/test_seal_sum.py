# SPDX-License-Identifier: Apache-2.0
"""SEAL's sums of Unos' ciphertexts decrypt exactly."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from avr_support import PARAMETERS, SealDecryptor
from boards import PLAIN_MODULUS, fixed_secret_key, uno_ciphertexts, uno_integers, uno_values
from ciphermote.evaluate.engine import open_engine
from ciphermote.formats import seal as sb
from ciphermote.formats.frames import FrameSet
from ciphermote.parameters import BFV

UNOS = 2
MASKS = [0x2A55, 0x1234]


def ciphertexts(each: int) -> list[FrameSet]:
    """From two Unos that share the key."""
    image = uno_integers(1_000_000)
    with ProcessPoolExecutor(UNOS) as pool:
        jobs = [pool.submit(uno_ciphertexts, image, MASKS[i], 1600 * i, each) for i in range(UNOS)]
        return [found for job in jobs for found in job.result()]


@pytest.mark.parametrize("each", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_seal_adds_ciphertexts_of_two_unos_and_the_sum_decrypts_exactly(each: int, tmp_path: Path) -> None:
    sent = ciphertexts(each)
    assert len(sent) == UNOS * each
    assert len({found.header.counter for found in sent}) == UNOS * each
    assert len({found.seed for found in sent}) == UNOS * each
    with open_engine(PARAMETERS, scheme=BFV(PLAIN_MODULUS)) as engine:
        total = engine.sum(sb.write_ciphertext(found.seal_ciphertext()) for found in sent)
    seal = SealDecryptor(fixed_secret_key(PARAMETERS), PLAIN_MODULUS, tmp_path)
    plain = seal.decrypt(total.to_seal())
    found = np.array([plain[i] for i in range(plain.coeff_count())])
    expected = sum(values for mask in MASKS for values in uno_values(mask, each)) % PLAIN_MODULUS
    assert np.array_equal(found, expected)
