# SPDX-License-Identifier: Apache-2.0
"""Results under the result key: laid out as the golden model has them, and taken by the device that they are
for, as answers to the attempt that they answer."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import ciphermote_testing as testing
import numpy as np
import pytest
from ciphermote import _core
from ciphermote.base.errors import Error, FrameError, ParameterError
from ciphermote.formats import seal as sb
from ciphermote.formats.device_results import ResultTag, device_frames
from ciphermote.formats.tags import TagKeys
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BFV, by_name
from ciphermote.parameters.native import core_params

from golden.compact import Window, tagged_frames

PARMS = by_name("n1024_q26")
KEY_ID, T, DEVICE, EPOCH = 0x0123456789ABCDEF, 12289, 0xFEDCBA98, 3
KEYS = TagKeys.derive(bytes(range(32)), KEY_ID, DEVICE, EPOCH)
TAG = ResultTag(KEYS.results, DEVICE, EPOCH, 2**40, b"attempt.")
COUNTER = 2**40 + 2**32 - 1
UINT32 = 5
VALUES = np.arange(PARMS.n, dtype=np.int64) * 5 % T
SECRET = SecretKey.generate(PARMS)
TILES = 1


def result() -> sb.SealCiphertext:
    """A ciphertext of the values, without noise: the tags are of interest here."""
    q = PARMS.primes[0]
    residues = np.zeros((2, 1, PARMS.n), dtype=np.uint32)
    residues[0, 0] = (VALUES * q + T // 2) // T % q
    return sb.SealCiphertext(PARMS, 1, False, 1.0, residues, scheme=BFV(T))


def frames(tag: ResultTag | None = TAG) -> bytes:
    return b"".join(device_frames(result(), KEY_ID, COUNTER, log2_tiles=TILES, tag=tag))


def decryption(**expected: Any) -> testing.Decryption:
    """The device's, which expects an answer to its attempt, but for what is named."""
    found = testing.Decryption.bfv(core_params(PARMS), SECRET.packed, KEY_ID, T, False, UINT32, 32, TILES)
    attempt = {
        "key": KEYS.results,
        "device": DEVICE,
        "epoch": EPOCH,
        "window": TAG.window,
        "counter": COUNTER,
        "random": TAG.random,
    }
    found.expect_tagged(**(attempt | expected))
    return found


def test_tagged_frames_are_the_golden_models() -> None:
    window = Window(EPOCH, DEVICE, COUNTER, TAG.window, TAG.random)
    assert frames() == tagged_frames(frames(None), window, KEYS.results)


@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
def test_the_device_takes_the_answer_to_its_attempt(piece: int) -> None:
    device, sent = decryption(), frames()
    for start in range(0, len(sent), piece):
        device.feed(sent[start : start + piece])
    assert np.array_equal(device.end(), VALUES)


@pytest.mark.parametrize(
    ("expected", "status"),
    [
        ({"key": KEYS.receipts}, "tag"),
        ({"device": DEVICE + 1}, "another ciphertext"),
        ({"epoch": EPOCH + 1}, "another ciphertext"),
        ({"window": TAG.window + 1}, "another ciphertext"),
        ({"counter": COUNTER - 1}, "another ciphertext"),
        ({"random": b"attempt,"}, "another ciphertext"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_it_takes_no_other(expected: dict[str, Any], status: str) -> None:
    device = decryption(**expected)
    with pytest.raises(FrameError, match=status):
        device.feed(frames())
    with pytest.raises(Error, match=status):
        device.end()
    assert not any(device.arena)


def test_a_frame_of_an_older_result_spoils_the_set() -> None:
    """Both are the server's, under one key; the counters tell them apart."""
    older = b"".join(device_frames(result(), KEY_ID, COUNTER - 1, log2_tiles=TILES, tag=TAG))
    sent = frames()
    frame_bytes = len(sent) // 4
    device = decryption()
    device.feed(sent[: 3 * frame_bytes])
    with pytest.raises(FrameError, match="another ciphertext"):
        device.feed(older[3 * frame_bytes :])
    with pytest.raises(Error, match="another ciphertext"):
        device.end()
    assert not any(device.arena)


def test_untagged_results_are_refused_where_tagged_ones_are_expected() -> None:
    device = decryption()
    with pytest.raises(FrameError, match="version"):
        device.feed(frames(None))
    with pytest.raises(Error, match="version"):
        device.end()


def test_what_no_frame_can_say_is_refused() -> None:
    for wrong in (
        {"key": bytes(47)},
        {"device": 2**32},
        {"epoch": 0},
        {"random": b"1234567"},
        {"random": "attempt."},
    ):
        with pytest.raises(ParameterError):
            replace(TAG, **wrong)  # type: ignore[arg-type]
    for window in (-1, COUNTER + 1, COUNTER - 2**32):
        with pytest.raises(ParameterError, match="The window"):
            frames(replace(TAG, window=window))
    assert frames(replace(TAG, window=COUNTER))
    parsed = _core.Frame(core_params(PARMS), frames())
    assert parsed.counter == COUNTER
    assert struct.unpack_from("<I", frames(), 52) == (COUNTER - TAG.window,)
