"""What Unos send, added up by SEAL, decrypts exactly."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from avr_support import PARAMETERS, SealDecryptor
from boards import PLAIN_MODULUS, fixed_secret_key, uno_ciphertexts, uno_integers, uno_values
from ciphermote import seal_bytes as sb
from ciphermote.adapter import FrameSet
from ciphermote.engine import open_engine

CIPHERTEXTS = 200
UNOS = 2
EACH = CIPHERTEXTS // UNOS
MASKS = [0x2A55, 0x1234]


@pytest.fixture(scope="module")
def ciphertexts() -> list[FrameSet]:
    """From two Unos at once, which share the key."""
    image = uno_integers(1_000_000)
    with ProcessPoolExecutor(UNOS) as pool:
        jobs = [pool.submit(uno_ciphertexts, image, MASKS[i], 1600 * i, EACH) for i in range(UNOS)]
        return [found for job in jobs for found in job.result()]


def test_seal_adds_200_ciphertexts_of_unos_and_the_sum_decrypts_exactly(
    ciphertexts: list[FrameSet], tmp_path: Path
) -> None:
    assert len(ciphertexts) == CIPHERTEXTS
    assert len({found.header.counter for found in ciphertexts}) == CIPHERTEXTS
    assert len({found.seed for found in ciphertexts}) == CIPHERTEXTS
    with open_engine(PARAMETERS, plain_modulus=PLAIN_MODULUS) as engine:
        total = engine.add(sb.write_ciphertext(found.seal_ciphertext()) for found in ciphertexts)
    seal = SealDecryptor(fixed_secret_key(PARAMETERS), PLAIN_MODULUS, tmp_path)
    plain = seal.decrypt(total)
    found = np.array([plain[i] for i in range(plain.coeff_count())])
    expected = sum(values for mask in MASKS for values in uno_values(mask, EACH)) % PLAIN_MODULUS
    assert np.array_equal(found, expected)
