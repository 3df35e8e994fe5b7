# SPDX-License-Identifier: Apache-2.0
"""SEAL itself decrypts compact windows and sums, exactly, where they were sent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote.base.errors import ParameterError
from ciphermote.compact import bounds, sets
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.seal import (
    MOST_SEAL_ADDS_OF_D,
    check_seal,
    parameters_to_seal,
    seal_ciphertext,
    to_seal,
)
from ciphermote.compact.sets import COMPACT_SETS, CompactSet
from ciphermote.compact.sums import CompactResult, CompactSum
from ciphermote.formats import seal as sb
from ciphermote.formats.labels import detach
from ciphermote.parameters import BFV
from compact_support import Fleet
from numpy.typing import NDArray

sealapi = pytest.importorskip("tenseal.sealapi")


class Seal:
    """SEAL with a fleet's secret key."""

    def __init__(self, keys: CompactKeys, folder: Path) -> None:
        self.set = keys.set
        self.path = str(folder / "object")
        self.parameters = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.BFV)
        self.parameters.set_poly_modulus_degree(keys.set.n)
        self.parameters.set_coeff_modulus([sealapi.Modulus(q) for q in keys.set.primes])
        self.parameters.set_plain_modulus(keys.set.plain_modulus)
        self.context = sealapi.SEALContext(self.parameters, True, sealapi.SEC_LEVEL_TYPE.TC128)
        assert self.context.parameters_set(), self.context.parameters_error_message()
        secret = sb.SealSecretKey(
            keys.set.parameters,
            keys.secret.hosted.residues(),
            BFV(keys.set.plain_modulus),
        )
        self.decryptor = sealapi.Decryptor(
            self.context, self.load(sealapi.SecretKey, sb.write_secret_key(secret))
        )
        self.evaluator = sealapi.Evaluator(self.context)

    def load(self, kind: type[Any], data: bytes) -> Any:
        Path(self.path).write_bytes(data)
        thing = kind()
        thing.load(self.context, self.path)
        return thing

    def decrypt(self, ciphertext: Any) -> NDArray[np.int64]:
        plaintext = sealapi.Plaintext()
        self.decryptor.decrypt(ciphertext, plaintext)
        plaintext.save(self.path)
        read = sb.read_plaintext(
            Path(self.path).read_bytes(),
            self.set.parameters,
            scheme=BFV(self.set.plain_modulus),
        )
        values = np.zeros(self.set.n, dtype=np.int64)
        values[: len(read.values)] = read.values
        return values


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_seal_decrypts_windows_and_sums_exactly(compact: CompactSet, tmp_path: Path) -> None:
    fleet = Fleet(compact, 6)
    seal = Seal(fleet.keys, tmp_path)
    rng = np.random.default_rng(compact.id)
    largest = compact.usual_value
    values = rng.integers(0, largest + 1, (6, 20))
    values[:, 0] = largest
    windows = [fleet.window(d, row, first=5) for d, row in zip(fleet.devices, values, strict=True)]
    for window, row in zip(windows, values, strict=True):
        found = seal.decrypt(seal.load(sealapi.Ciphertext, to_seal(window)))
        assert np.array_equal(found[5:25], row)
    weights = [1, 1, -1, 1, 1, 1]
    total = CompactSum(compact, fleet.keys.key_id, range(5, 25))
    for window, weight in zip(windows, weights, strict=True):
        total.add(window, weight)
    for dropped in (0, None):
        result = CompactResult.from_bytes(total.result(dropped).to_bytes())
        found = seal.decrypt(seal.load(sealapi.Ciphertext, to_seal(result)))
        expected = (np.array(weights) @ values) % compact.plain_modulus
        assert np.array_equal(found[5:25], expected)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_seal_adds_adapted_windows_itself(compact: CompactSet, tmp_path: Path) -> None:
    fleet = Fleet(compact, 5)
    seal = Seal(fleet.keys, tmp_path)
    values = np.random.default_rng(1).integers(0, compact.usual_value + 1, (5, 8))
    total = None
    for device, row in zip(fleet.devices, values, strict=True):
        ciphertext = seal.load(sealapi.Ciphertext, to_seal(fleet.window(device, row)))
        if total is None:
            total = ciphertext
        else:
            seal.evaluator.add_inplace(total, ciphertext)
    assert np.array_equal(seal.decrypt(total)[:8], values.sum(axis=0))
    assert seal.decryptor.invariant_noise_budget(total) == 0, "what was never sent is noise to it"


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_all_primes_are_data_primes_to_seal(compact: CompactSet, tmp_path: Path) -> None:
    fleet = Fleet(compact, 1)
    seal = Seal(fleet.keys, tmp_path)
    assert seal.context.first_parms_id() == seal.context.key_parms_id()
    data = parameters_to_seal(compact)
    read = sb.read_parameters(data)
    assert (read.n, read.primes, read.plain_modulus) == (compact.n, compact.primes, compact.plain_modulus)


def _failure_with_bias(compact: CompactSet, windows: int) -> float:
    weights = {1: windows}
    (errors, _), _ = bounds._sides(compact, weights)
    return bounds._tail(errors, math.ceil(bounds.noise_room(compact, weights)))


def test_how_many_windows_seal_may_add_up_itself() -> None:
    for compact in (sets.A10, sets.A16, sets.B, sets.C):
        assert _failure_with_bias(compact, compact.usual_devices) <= bounds.LOG2_FAILURE
    assert _failure_with_bias(sets.D, MOST_SEAL_ADDS_OF_D) <= bounds.LOG2_FAILURE
    assert _failure_with_bias(sets.D, MOST_SEAL_ADDS_OF_D + 10) > bounds.LOG2_FAILURE


def test_the_label_names_the_key() -> None:
    fleet = Fleet(sets.B, 1)
    _, label = detach(to_seal(fleet.window(1, [4])))
    assert label is not None
    assert (label.key_id, label.scheme) == (fleet.keys.key_id, BFV(sets.B.plain_modulus))
    assert label.parameters_id == sets.B.parameters.id


def test_nothing_stands_where_nothing_was_sent() -> None:
    window = Fleet(sets.C, 1).window(1, [4, 5], first=9)
    c0 = seal_ciphertext(window).residues[0]
    assert np.flatnonzero(c0.any(axis=0)).tolist() == [9, 10]


def test_sets_of_which_seal_would_keep_a_prime_are_refused() -> None:
    kept = CompactSet(9, "x", 2048, (1032193, 995329), 262081, 255, 255, 1000, 10)
    with pytest.raises(ParameterError, match="SEAL keeps the last prime of set x for key switching"):
        check_seal(kept)
