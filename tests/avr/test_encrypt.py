# SPDX-License-Identifier: Apache-2.0
"""A BFV encryption on a simulated ATmega328P: portable C's bytes, decryptable, in constant time."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from avr_support import inverse_transform, transform
from boards import FRAME_END, FRAME_HEADER, first_frames
from images import PARAMETERS, TAG_KEY, encryption_on_host, open_encryption, transformed_secret
from machine import Counts, Machine

N, Q, T = 1024, 67043329, 40961
CYCLES = 30_000_000
RUNS = 4


def encrypt(machine: Machine) -> Counts:
    """The counts of the only encryption."""
    machine.run(CYCLES)
    (region,) = machine.regions
    return region


def unpack(payload: bytes) -> np.ndarray:
    """Residues of 26 bits."""
    bits = np.unpackbits(np.frombuffer(payload, dtype=np.uint8), bitorder="little").reshape(-1, 26)
    return bits.astype(np.int64) @ (1 << np.arange(26, dtype=np.int64))


def read_frames(data: bytes) -> tuple[bytes, np.ndarray]:
    """The seed, and c0 in NTT form."""
    frames = first_frames(data)
    assert b"".join(frames) == data
    payloads = [frame[FRAME_HEADER[frame[2]] : -FRAME_END[frame[2]]] for frame in frames]
    return payloads[0], np.concatenate([unpack(payload) for payload in payloads[1:]])


@pytest.mark.parametrize("tagged", [False, True])
def test_the_bytes_are_those_of_portable_c(*, tagged: bool) -> None:
    with open_encryption(tagged=tagged) as machine:
        encrypt(machine)
        assert machine.text == encryption_on_host(tagged=tagged)


@pytest.mark.parametrize("tagged", [False, True])
def test_the_ciphertext_decrypts_to_the_values(*, tagged: bool) -> None:
    from ciphermote import _core
    from ciphermote.parameters.native import core_params

    with open_encryption(tagged=tagged) as machine:
        encrypt(machine)
        seed, c0 = read_frames(machine.text)
    chacha20 = 3
    a = np.asarray(_core.expand_seed(core_params(PARAMETERS), chacha20, seed, 1)).reshape(-1).astype(np.int64)
    minus_s = np.frombuffer(transformed_secret(1), dtype="<u4").astype(np.int64) * pow(1 << 32, -1, Q) % Q
    phase = inverse_transform((c0 - a * minus_s) % Q, Q)
    assert np.array_equal(transform(phase, Q), (c0 - a * minus_s) % Q)
    values = (phase * T * 2 + Q) // (2 * Q) % T
    assert np.array_equal(values, np.arange(N) ^ 0x2A55)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "tagged"])
def runs(request: pytest.FixtureRequest) -> list[Counts]:
    """Encryptions under one public seed, of other values with other keys and other noise."""
    counts = []
    for run in range(RUNS):
        with open_encryption(tagged=request.param) as machine:
            machine.write(machine.address("bench"), struct.pack("<HBBB", 0x1111 * run, 1, 7, run))
            machine.write_flash(machine.symbols["workload_transformed"], transformed_secret(run + 1))
            if request.param:
                machine.write_flash(machine.symbols["workload_tag_key"], bytes([37 * run]) * len(TAG_KEY))
            counts.append(encrypt(machine))
    return counts


def test_time_and_path_do_not_depend_on_secrets(runs: list[Counts]) -> None:
    assert len({(run.cycles, run.path) for run in runs}) == 1


def test_other_public_seeds_show_in_the_time() -> None:
    """So the comparison above can fail: rejected residues take time."""
    cycles = set()
    for seed in range(4):
        with open_encryption() as machine:
            machine.write(machine.address("bench"), struct.pack("<HBBB", 0, 1, seed, 0))
            cycles.add(encrypt(machine).cycles)
    assert len(cycles) > 1
