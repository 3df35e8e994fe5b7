# SPDX-License-Identifier: Apache-2.0
"""The compact lane on a simulated Uno: the packets of portable C, in constant time."""

from __future__ import annotations

import images
import pytest
from ciphermote.compact.sets import compact_set
from compact_avr import UNO, Lane, Secrets, compact_image, start, window_counts

GPIOR2, CM_ERR_PARAMS = 0x4B, 2
SETS = [("a16", 4, 20), ("a16", 5, 0), ("b", 3, 26), ("b", 2, 0), ("c", 5, 20), ("c", 1, 0), ("d", 4, 0)]
SETS += [("l", 3, 26), ("l", 2, 0)]


@pytest.mark.parametrize("values", [1, 2, 7, 20])
def test_packets_are_those_of_portable_c(values: int) -> None:
    image = compact_image(images.BUILD, UNO, values)
    for seed, first in enumerate((0, 1, 2, 3, 500, 1024 - values)):
        window_counts(images.BUILD, UNO, image, Secrets.drawn(seed, values), first, salted=seed % 2 == 0)


@pytest.mark.parametrize(("name", "values", "prime_bits"), SETS)
def test_other_sets_send_the_same_too(name: str, values: int, prime_bits: int) -> None:
    lane = Lane(compact_set(name), prime_bits)
    image = compact_image(images.BUILD, UNO, values, lane)
    window_counts(images.BUILD, UNO, image, Secrets.drawn(values, values, lane), 3, lane=lane)


@pytest.mark.parametrize("values", [1, 3, 5])
def test_secrets_do_not_show_in_the_time(values: int) -> None:
    image = compact_image(images.BUILD, UNO, values)
    seen = set()
    for seed in range(10):
        counts, _ = window_counts(images.BUILD, UNO, image, Secrets.drawn(seed, values))
        seen.add((counts.cycles, counts.paused, counts.path))
    assert len(seen) == 1


def test_a_build_for_20_bits_refuses_other_primes() -> None:
    lane = Lane(compact_set("b"), 20)
    image = compact_image(images.BUILD, UNO, 1, lane)
    with start(images.BUILD, UNO, image, Secrets.drawn(0, 1, lane), 0, salted=False) as machine:
        machine.run(1_000_000)
        assert machine.read(GPIOR2, 1)[0] == CM_ERR_PARAMS
        assert not machine.regions
