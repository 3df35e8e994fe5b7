# SPDX-License-Identifier: Apache-2.0
"""Others may see only flooded values of a decryption, from a server that computes honestly; a dishonest one
takes the key, which is a limit that docs/security.md and docs/client-aided.md state."""

from __future__ import annotations

import os

import ciphermote_testing as testing
import numpy as np
import pytest
from ciphermote import _core
from ciphermote.base.errors import Error
from ciphermote.formats import seal as sb
from ciphermote.formats.device_results import device_frames
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BUILTIN, ParameterSet, by_name
from ciphermote.parameters.native import core_params
from numpy.typing import NDArray

KEY_ID, COUNTER = 0x0123456789ABCDEF, 77
FLOAT32 = 1
MAX_LOG2_NOISE = 49


class Counter:
    """A persistent counter, in memory."""

    def __init__(self) -> None:
        self.value = 0

    def read(self) -> int:
        return self.value

    def write(self, value: int) -> None:
        self.value = value


@pytest.fixture
def device() -> _core.Device:
    counter = Counter()
    return _core.Device(os.urandom(32), os.urandom, counter.read, counter.write)


def shared(
    device: _core.Device,
    secret: SecretKey,
    c1: int,
    log2_noise: int,
    *,
    complex_slots: bool = True,
    precision: int = 63,
) -> NDArray[np.float32]:
    """Return the device's shared result of the ciphertext (0, c1), with scale 1 and at one prime or two."""
    parameters = secret.parameters
    primes = parameters.data_primes[: 2 if precision == 63 else 1]
    residues = np.zeros((2, len(primes), parameters.n), dtype=np.uint32)
    residues[1] = np.array([[c1 % q] for q in primes])  # a constant, transformed
    crafted = sb.SealCiphertext(parameters, len(primes), True, 1.0, residues)
    decryption = testing.Decryption.ckks(
        core_params(parameters), secret.packed, KEY_ID, complex_slots, precision, FLOAT32, 0, 0, 1
    )
    for frame in device_frames(crafted, KEY_ID, COUNTER, largest=1, primes=len(primes)):
        decryption.feed(frame)
    return decryption.end_shared(device, log2_noise)


def coefficients_of(slots: NDArray[np.complex64]) -> NDArray[np.float64]:
    """Coefficients of the real polynomial m with m(zeta^(3^j)) in slot j, zeta = exp(i pi / n)."""
    n = 2 * len(slots)
    powers = np.array([pow(3, j, 2 * n) for j in range(len(slots))])
    at_odd_powers = np.zeros(n, dtype=complex)
    at_odd_powers[powers // 2] = slots
    at_odd_powers[(2 * n - powers) // 2] = slots.conj()
    return (np.fft.fft(at_odd_powers) / n * np.exp(-1j * np.pi * np.arange(n) / n)).real


@pytest.mark.parametrize(("log2_c1", "log2_noise"), [(47, 37), (47, 42), (50, MAX_LOG2_NOISE)])
def test_one_shared_decryption_gives_a_server_that_cheats_the_whole_key(
    device: _core.Device, log2_c1: int, log2_noise: int
) -> None:
    """If this fails, the pages that the module names must be changed."""
    secret = SecretKey.generate(by_name("n4096_q26x3_p27"))
    slots = shared(device, secret, 1 << log2_c1, log2_noise).view(np.complex64)
    stolen = np.rint(coefficients_of(slots) / 2**log2_c1)
    assert np.count_nonzero(stolen == secret.coefficients) == 4096


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
def test_every_set_shares_with_the_least_and_the_most_noise_that_the_header_names(
    device: _core.Device, parameters: ParameterSet
) -> None:
    secret = SecretKey.generate(parameters)
    for complex_slots in (False, True):
        for log2_noise in (1, MAX_LOG2_NOISE):
            found = shared(device, secret, 0, log2_noise, complex_slots=complex_slots)
            # The mean square of the numbers from -2^b to 2^b - 1 is 4^b / 3 + 1/6.
            square = parameters.n / 4 * (2 if complex_slots else 1) * (4.0**log2_noise / 3 + 1 / 6)
            assert 0.65 < np.mean(np.square(found.astype(np.float64))) / square < 1.45


@pytest.mark.parametrize(("precision", "log2_noise"), [(63, 0), (63, MAX_LOG2_NOISE + 1), (31, 1), (31, 24)])
def test_noise_that_hides_nothing_is_refused(device: _core.Device, precision: int, log2_noise: int) -> None:
    secret = SecretKey.generate(by_name("n1024_q26"))
    with pytest.raises(Error, match="Nothing was shared, because the noise would not hide"):
        shared(device, secret, 0, log2_noise, precision=precision)
