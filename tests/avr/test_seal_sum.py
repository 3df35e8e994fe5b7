"""What Unos send, added up by SEAL, decrypts exactly."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from avr_support import PARAMETERS
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


def decryptor(folder: Path) -> tuple[Any, Any, Any]:
    """SEAL's evaluator, decryptor and a loader, with the Unos' secret key."""
    parms = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.BFV)
    parms.set_poly_modulus_degree(PARAMETERS.n)
    parms.set_coeff_modulus([sealapi.Modulus(q) for q in PARAMETERS.primes])
    parms.set_plain_modulus(PLAIN_MODULUS)
    context = sealapi.SEALContext(parms, True, sealapi.SEC_LEVEL_TYPE.TC128)
    assert context.parameters_set()
    secret = fixed_secret_key(PARAMETERS)
    residues = np.stack([secret.residues(i) for i in range(len(PARAMETERS.primes))])

    def load(kind: type[Any], data: bytes) -> Any:
        path = folder / "object"
        path.write_bytes(data)
        thing = kind()
        thing.load(context, str(path))
        return thing

    key = load(
        sealapi.SecretKey,
        sb.write_secret_key(sb.SealSecretKey(PARAMETERS, residues, sb.Scheme.BFV, PLAIN_MODULUS)),
    )
    return sealapi.Evaluator(context), sealapi.Decryptor(context, key), load


def test_seal_adds_200_ciphertexts_of_unos_and_the_sum_decrypts_exactly(
    ciphertexts: list[FrameSet], tmp_path: Path
) -> None:
    assert len(ciphertexts) == CIPHERTEXTS
    assert len({found.header.counter for found in ciphertexts}) == CIPHERTEXTS
    assert len({found.seed for found in ciphertexts}) == CIPHERTEXTS
    with open_engine(PARAMETERS, plain_modulus=PLAIN_MODULUS) as engine:
        total = engine.add(sb.write_ciphertext(found.seal_ciphertext()) for found in ciphertexts)
    evaluator, seal, load = decryptor(tmp_path)
    ciphertext = load(sealapi.Ciphertext, total)
    assert ciphertext.is_ntt_form()
    evaluator.transform_from_ntt_inplace(ciphertext)
    plain = sealapi.Plaintext()
    seal.decrypt(ciphertext, plain)
    found = np.array([plain[i] for i in range(plain.coeff_count())])
    expected = sum(values for mask in MASKS for values in uno_values(mask, EACH)) % PLAIN_MODULUS
    assert np.array_equal(found, expected)
