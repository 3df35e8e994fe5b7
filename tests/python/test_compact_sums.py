# SPDX-License-Identifier: Apache-2.0
"""Sums of compact windows: exact within their bounds, and refused beyond them."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace

import numpy as np
import pytest
from ciphermote import _core, _evaluator
from ciphermote.base.errors import EngineError, FrameError, MismatchError, ParameterError, ValueRangeError
from ciphermote.compact import bounds
from ciphermote.compact.sets import A10, A16, COMPACT_SETS, B, C, CompactSet, D
from ciphermote.compact.sums import CompactResult, CompactSum, Contributor, composed, decrypt_sum
from ciphermote.parameters.native import core_params
from compact_support import Fleet, sweep
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

PAYLOAD = 16


@pytest.mark.parametrize(
    ("compact", "windows", "positions"),
    [(A10, 10, 1024), (A16, 16, 1024), (B, 64, 1024), (C, 1000, 40), (D, 10_000, 3)],
    ids=lambda x: getattr(x, "name", x),
)
def test_sums_of_random_values_are_exact(compact: CompactSet, windows: int, positions: int) -> None:
    """As many windows as the set is made for, all of the largest values it is made for at most."""
    assert sweep(compact, 20_000, windows, positions) >= positions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compact", "windows", "positions"),
    [(A10, 10, 1024), (A16, 16, 1024), (B, 64, 1024), (C, 1000, 2048), (D, 10_000, 200)],
    ids=lambda x: getattr(x, "name", x),
)
def test_ten_million_random_values_are_exact(compact: CompactSet, windows: int, positions: int) -> None:
    """Two million for each of the five sets."""
    assert sweep(compact, 2_000_000, windows, positions, seed=1) >= 200


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_every_value_of_a_device_decrypts(compact: CompactSet) -> None:
    fleet = Fleet(compact, 1, largest=compact.largest_value, packet_bytes=20_000)
    for first in range(0, compact.largest_value + 1, compact.n):
        values = np.arange(first, min(first + compact.n, compact.largest_value + 1))
        total = fleet.sum([fleet.window(1, values)], [1], len(values))
        assert np.array_equal(decrypt_sum(fleet.keys, total.result()).values, values)
    with pytest.raises(ValueRangeError):
        fleet.devices[1].encrypt([compact.largest_value + 1])


@pytest.mark.parametrize(
    ("compact", "largest", "weights"),
    [
        (A10, 1000, [1, -1]),
        (A10, 400, [3, -2, 1]),
        (A16, 300, [-1, -1, -1, -1]),
        (B, 1023, [7, -4, 1, 3]),
        (C, 4095, [60, -50, 7]),
        (D, 4095, [60, -3]),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_weighted_sums_and_differences_are_exact(
    compact: CompactSet, largest: int, weights: list[int]
) -> None:
    fleet = Fleet(compact, len(weights), largest=largest)
    rng = np.random.default_rng(5)
    values = [rng.integers(0, largest + 1, PAYLOAD) for _ in weights]
    values[0][0], values[1][0] = 0, largest
    values[0][1], values[1][1] = largest, 0
    total = fleet.sum([fleet.window(d, v) for d, v in enumerate(values, 1)], weights, PAYLOAD)
    result = total.result(None)
    found = decrypt_sum(fleet.keys, result, total.contributors)
    assert np.array_equal(found.values, sum(w * v for w, v in zip(weights, values, strict=True)))
    assert found.margin_bits > 0 and found.failure_log2 <= -40
    assert [c.weight for c in found.contributors] == weights


def make(weights: list[int], largest: int = 409) -> tuple[Fleet, CompactSum]:
    """A sum in set A10; device d sends the value d, or the largest."""
    fleet = Fleet(A10, len(weights), largest=largest)
    windows = [fleet.window(d, [min(d, largest)] * PAYLOAD) for d in fleet.devices]
    return fleet, fleet.sum(windows, weights, PAYLOAD)


def test_only_the_positions_asked_for_are_decrypted() -> None:
    fleet, total = make([1, 1])
    found = decrypt_sum(fleet.keys, total.result(), positions=[3, 9])
    assert found.positions.tolist() == [3, 9] and found.values.tolist() == [3, 3]
    with pytest.raises(MismatchError, match="Positions 16 are not in the result"):
        decrypt_sum(fleet.keys, total.result(), positions=[3, 16])


def test_a_sum_takes_only_windows_that_sent_all_of_its_positions() -> None:
    fleet = Fleet(A10, 2)
    whole, part = fleet.window(1, [5] * 16), fleet.window(2, [6] * 8, first=4)
    total = CompactSum(A10, fleet.keys.key_id, [4, 5, 11])
    total.add(whole)
    total.add(part)
    assert decrypt_sum(fleet.keys, total.result()).values.tolist() == [11, 11, 11]
    other = CompactSum(A10, fleet.keys.key_id, [3, 4, 12, 13])
    other.add(whole)
    with pytest.raises(MismatchError, match="Device 2, window 0: it has not sent positions 3, 12-13"):
        other.add(part)
    assert decrypt_sum(fleet.keys, other.result()).values.tolist() == [5] * 4, "the sum is as it was"


def test_a_window_counts_once() -> None:
    fleet = Fleet(A10, 1)
    packets, number = fleet.devices[1].encrypt([1] * 8)
    again, _ = fleet.devices[1].encrypt([1] * 8, window=number)
    windows = [fleet.reader(range(8)).feed(p).windows[0] for p in (*packets, *again)]
    total = CompactSum(A10, fleet.keys.key_id, range(8))
    total.add(windows[0])
    for window in windows:
        with pytest.raises(MismatchError, match="in the sum already, and a window counts once"):
            total.add(window)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_sums_of_parts_merge_to_the_bytes_of_the_whole(compact: CompactSet) -> None:
    fleet = Fleet(compact, 5)
    windows = [fleet.window(device, [device] * 8) for device in fleet.devices]
    weights = [1, -1, 1, 1, -1]
    whole = fleet.sum(windows, weights, 8).result(None).to_bytes()
    parts = [fleet.sum(windows[at], weights[at], 8) for at in (slice(3, 5), slice(0, 1), slice(1, 3))]
    total = pickle.loads(pickle.dumps(parts[0]))
    for part in parts[1:]:
        total.merge(pickle.loads(pickle.dumps(part)))
    assert total.result(None).to_bytes() == whole
    with pytest.raises(MismatchError, match="a window in common"):
        total.merge(parts[1])
    with pytest.raises(MismatchError, match="merge sums of different windows of one fleet"):
        total.merge(Fleet(compact, 1).sum([], [], 8))
    assert total.result(None).to_bytes() == whole


def test_windows_of_another_fleet_are_refused() -> None:
    fleet, stranger = Fleet(A10, 1), Fleet(A10, 1)
    total = CompactSum(A10, fleet.keys.key_id, range(8))
    for other in (stranger, Fleet(A16, 1)):
        with pytest.raises(MismatchError, match="add windows of one fleet"):
            total.add(other.window(1, [1] * 8))
    with pytest.raises(ParameterError, match="of no windows"):
        total.result()
    for weight in (0, 2**20 + 1, True):
        with pytest.raises(ParameterError, match="weight"):
            total.add(fleet.window(1, [1] * 8), weight)


def test_sums_past_t_or_the_noise_are_refused_by_the_engine() -> None:
    for largest, weights, words in (
        (4090, [1, 1], "anything from 0 to 8180"),
        (1, [1] * 12, "is allowed"),
    ):
        _, total = make(weights, largest)
        with pytest.raises(ParameterError, match=words):
            total.result()


def test_the_owner_recomputes_the_bound_from_what_she_enrolled() -> None:
    """A gateway that says less of the largest values than the owner enrolled is found out."""
    fleet = Fleet(A10, 11, largest=409)
    total = CompactSum(A10, fleet.keys.key_id, range(PAYLOAD))
    for device in fleet.devices:
        total.add(replace(fleet.window(device, [1] * PAYLOAD), largest_value=1))
    with pytest.raises(ParameterError, match="anything from 0 to 4499"):
        decrypt_sum(fleet.keys, _without_check(total))


def _without_check(total: CompactSum) -> CompactResult:
    total._largest = [bounds.Term(1, 1)]
    return total.result()


def test_the_owner_knows_who_is_in_a_sum() -> None:
    fleet, total = make([1, 2, -1])
    result, known = total.result(), list(total.contributors)
    assert decrypt_sum(fleet.keys, result, reversed(known)).values.tolist() == [2] * PAYLOAD
    for changed in (
        known[:-1],
        [*known, Contributor(1, 1, 7, 1)],
        [replace(known[0], weight=2), *known[1:]],
        [replace(known[0], window=5), *known[1:]],
    ):
        with pytest.raises(MismatchError, match="give the list of the windows that were added"):
            decrypt_sum(fleet.keys, result, changed)


def test_an_engine_that_errs_on_the_contributors_is_found_out() -> None:
    """Unknown contributors, and one twice. What is left out, only the owner's own list can tell."""
    fleet, total = make([1, 1, 1, 1])
    result = total.result()
    listed = result.contributors
    for changed, words in (
        ((*listed[:3], replace(listed[3], device=9)), "Device 9 .* is not enrolled"),
        ((*listed[:3], replace(listed[3], epoch=2)), r"\(epoch 2\) is not enrolled"),
        ((listed[0], *listed[:3]), "twice"),
    ):
        with pytest.raises(MismatchError, match=words):
            decrypt_sum(fleet.keys, replace(result, contributors=changed))


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_noise_is_told_at_the_positions_that_were_sent(compact: CompactSet) -> None:
    """Other positions decrypt to noise always, and say nothing; a wrong window shows at those that were
    sent."""
    fleet = Fleet(compact, 2)
    windows = [fleet.window(d, [3] * PAYLOAD) for d in (1, 2)]
    assert decrypt_sum(fleet.keys, fleet.sum(windows, [1, 1], PAYLOAD).result()).margin_bits > 1
    for altered in (
        replace(windows[1], counter=windows[1].counter + 1),
        replace(windows[1], random=bytes(8)),
        replace(windows[1], device=1, number=9),
        replace(windows[1], payload=np.roll(windows[1].payload, 1)),
    ):
        result = fleet.sum([windows[0], altered], [1, 1], PAYLOAD).result()
        with pytest.raises(MismatchError, match="decrypts to noise"):
            decrypt_sum(fleet.keys, result)


def test_results_of_other_keys_are_refused() -> None:
    fleet, total = make([1, 1])
    result = total.result()
    with pytest.raises(MismatchError, match="use the keys that its devices were enrolled with"):
        decrypt_sum(Fleet(A10, 2).keys, result)
    stranger = replace(Fleet(A10, 2).keys, key_id=fleet.keys.key_id)
    with pytest.raises(MismatchError, match="decrypts to noise"):
        decrypt_sum(stranger, result)


def test_a_result_is_cut_down() -> None:
    fleet, total = make([1, 1, 1])
    result = total.result(None)
    assert result.dropped > 0
    assert len(result.to_bytes()) <= 24 + 4 + 2 * PAYLOAD + 2560 + 3 * 18 + 16
    assert decrypt_sum(fleet.keys, result).values.tolist() == [6] * PAYLOAD
    assert len(total.result().to_bytes()) > len(result.to_bytes())
    with pytest.raises(ParameterError, match="is allowed"):
        total.result(result.dropped + 1)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_a_result_is_without_the_bias_of_what_was_dropped(compact: CompactSet) -> None:
    """A half for each window and each time it counts."""
    fleet = Fleet(compact, 4, largest=10)
    windows = [fleet.window(d, [1] * 4) for d in fleet.devices]
    for weights, bias in (([1, 1, 1, 1], 2), ([1, 2, 1, 1], 2), ([-1, -1, -1, 1], -1), ([1, -1, -2, -1], -2)):
        total = fleet.sum(windows, weights, 4)
        before = composed(compact, total._sum.residues()[0][:, :4])
        taken = (before.astype(np.int64) - total.result().c0.astype(np.int64)) % compact.modulus
        assert taken.tolist() == [bias % compact.modulus] * 4


def test_a_device_that_was_provisioned_for_more_is_found_out() -> None:
    fleet, total = make([1, 1])
    low = replace(fleet.keys, enrolments=tuple(replace(e, largest_value=1) for e in fleet.keys.enrolments))
    with pytest.raises(MismatchError, match="not from 0 to 2, which is all"):
        decrypt_sum(low, total.result())


def test_windows_of_several_epochs_are_added() -> None:
    fleet = Fleet(A10, 1)
    first = fleet.window(1, [7] * 8)
    fleet.keys, _ = fleet.keys.enroll(1)
    fleet.devices[1] = fleet.device(1)
    second = fleet.window(1, [8] * 8)
    total = fleet.sum([first, second], [1, 1], 8)
    assert [c.epoch for c in total.contributors] == [1, 2]
    assert decrypt_sum(fleet.keys, total.result()).values.tolist() == [15] * 8


# --- bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_bytes_come_back(compact: CompactSet) -> None:
    fleet = Fleet(compact, 2)
    total = CompactSum(compact, fleet.keys.key_id, [0, 1, 2, 7, 15])
    for device in fleet.devices:
        total.add(fleet.window(device, [device] * PAYLOAD), device - 3)
    result = total.result()
    again = CompactResult.from_bytes(result.to_bytes())
    assert again.contributors == result.contributors and again.dropped == result.dropped
    for name in ("positions", "c0", "c1"):
        found: NDArray[np.uint64] = getattr(again, name)
        assert np.array_equal(found, getattr(result, name))


_FLEET, _TOTAL = make([1, -1])
_BYTES = _TOTAL.result().to_bytes()


def _sealed(body: bytes) -> bytes:
    return body + hashlib.blake2b(body, digest_size=16).digest()


def test_damaged_results_are_refused() -> None:
    for at in (0, 4, 6, 7, 8, 16, 20, 30, 100, 2000, len(_BYTES) - 1):
        damaged = bytearray(_BYTES)
        damaged[at] ^= 1
        with pytest.raises(FrameError):
            CompactResult.from_bytes(bytes(damaged))
    for cut in (b"", _BYTES[:10], _BYTES[:-1], _BYTES + b"\0"):
        with pytest.raises(FrameError):
            CompactResult.from_bytes(cut)


@pytest.mark.parametrize(
    ("at", "what"),
    [(28, "c0 above (Q - 1) >> d"), (28 + 40 + 100, "a residue of c1 that is not below its prime")],
)
def test_numbers_out_of_range_are_hostile(at: int, what: str) -> None:
    body = _BYTES[:at] + b"\xff" * 8 + _BYTES[at + 8 : -16]
    with pytest.raises(FrameError, match="holds values that no version writes"):
        CompactResult.from_bytes(_sealed(body))


def test_bits_behind_the_last_number_are_hostile() -> None:
    fleet = Fleet(A10, 1)
    data = fleet.sum([fleet.window(1, [1])], [1], 1).result().to_bytes()
    assert data[30] >> 4 == 0, "20 bits of c0 end within this byte"
    body = data[:30] + bytes([data[30] | 0x80]) + data[31:-16]
    with pytest.raises(FrameError, match="holds values that no version writes"):
        CompactResult.from_bytes(_sealed(body))


@given(
    at=st.integers(0, 110) | st.integers(2600, 2700),
    patch=st.binary(min_size=1, max_size=8),
    cut=st.integers(0, 3),
)
def test_hostile_results_with_a_right_digest(at: int, patch: bytes, cut: int) -> None:
    body = _BYTES[: -16 - cut]
    changed = _sealed(body[:at] + patch + body[at + len(patch) :])
    try:
        found = CompactResult.from_bytes(changed)
    except FrameError:
        return
    assert found.to_bytes() == changed
    try:
        values = decrypt_sum(_FLEET.keys, found).values
    except (MismatchError, ParameterError):
        return
    if changed != _BYTES and found.contributors == _TOTAL.contributors:
        assert np.abs(values).max() <= 409


@pytest.mark.parametrize("isa", ["portable", ""])
@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_the_hosted_sum_is_that_of_its_definition(compact: CompactSet, isa: str) -> None:
    rng = np.random.default_rng(8)
    positions, d = np.array([0, 3, compact.n - 1], dtype=np.uint32), compact.dropped_bits
    context = _evaluator.Context(compact.log2_n, list(compact.primes), [], isa=isa, insecure=True)
    total = _evaluator.CompactSum(context)
    expected = np.zeros((2, len(compact.primes), compact.n), dtype=np.int64)
    primes = np.array(compact.primes)[:, np.newaxis]
    for weight in (1, -1, 7, -(2**20), 2**20):
        seed = rng.bytes(32)
        payload = rng.integers(0, compact.largest_payload + 1, len(positions), dtype=np.uint64)
        payload[0] = compact.largest_payload
        total.add(seed, positions, payload, d, weight)
        restored = ((payload.astype(np.int64) << d) + (1 << d >> 1)) % compact.modulus
        expected[0][:, positions] += restored % primes * weight
        uniform = _core.expand_seed(core_params(compact.parameters), 3, seed, len(compact.primes))
        expected[1] += uniform.astype(np.int64) * weight
    assert np.array_equal(total.residues(), expected % primes)
    for bad in (
        (bytes(31), positions, payload, d),
        (seed, positions[::-1].copy(), payload, d),
        (seed, positions[:2], payload, d),
        (seed, positions + np.uint32(1), payload, d),
        (seed, positions, payload + np.uint64(1), d),
        (seed, positions, payload, 41),
        (seed, positions, payload, 2**32 - 1),
    ):
        with pytest.raises(EngineError):
            total.add(*bad, 1)  # type: ignore[call-arg]
    assert np.array_equal(total.residues(), expected % primes), "the sum stays as it was"
