#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimate the min-entropy of an Arduino board's noise from the output of the example WatchdogNoise.

    tools/arduino_entropy.py FILE...

Makes three estimates of NIST SP 800-90B, each of the periods and of their differences (which a slow drift
does not flatter), and takes the lowest. Fails unless that is twice what the library assumes. An estimate is
an upper bound: it only finds the regularities it looks for. For more, give the samples to NIST's ea_non_iid.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

COUNTED_ON, WANTED = 0.5, 1.0
"""Bits per sample: what ports/arduino/src/entropy.h assumes, and what a board should show."""
LEAST_SAMPLES = 4000
GATHERING = re.compile(r"^gathered\n((?:\d+\n)+)end$", re.MULTILINE)
"""A complete one: captures may begin and end anywhere."""

Z = 2.576
"""Quantile of a normal distribution for 99.5 %."""
LAGS = 128
ORDERS = 4


class NoiseError(Exception):
    """One sentence for the user."""


def read(text: str) -> list[list[int]]:
    """The periods of each gathering. Raises NoiseError if there are too few, or a watchdog did not time
    out."""
    found = [[int(word) for word in match[1].split()] for match in GATHERING.finditer(text.replace("\r", ""))]
    if sum(len(periods) - 1 for periods in found) < LEAST_SAMPLES:
        raise NoiseError(
            f"There are fewer than {LEAST_SAMPLES} samples: let the example WatchdogNoise run longer."
        )
    if any(0 in periods for periods in found):
        raise NoiseError("A period did not end: the watchdog stands still, or the fuse WDTON is programmed.")
    return found


def bound(hits: int, total: int) -> float:
    """The upper end of the 99 % confidence interval of a probability."""
    share = hits / total
    return min(1.0, share + Z * math.sqrt(share * (1 - share) / (total - 1)))


def most_common_value(samples: Sequence[int]) -> float:
    """SP 800-90B 6.3.1, in bits per sample."""
    return -math.log2(bound(Counter(samples).most_common(1)[0][1], len(samples)))


def prediction(hits: Sequence[bool], values: int) -> float:
    """The estimate from a predictor's hits (6.3.7 ff.): by their share, and by their longest run."""
    total = len(hits)
    longest = max((len(run) for run in "".join("01"[hit] for hit in hits).split("0")), default=0)
    globally = bound(sum(hits), total) if any(hits) else 1 - 0.01 ** (1 / total)
    return -math.log2(max(globally, _of_run(longest + 1, total), 1 / values))


def _of_run(length: int, total: int) -> float:
    """The hit probability at which no run of this length occurs in 99 of 100 cases."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _log_without_run(middle, length, total) > math.log(0.99) else (low, middle)
        )
    return low


def _log_without_run(chance: float, length: int, total: int) -> float:
    miss = 1 - chance
    x = 1.0
    for _ in range(10):
        x = 1 + miss * chance**length * x ** (length + 1)
        if x > 2:
            return -math.inf
    rest = (1 - chance * x) / ((length + 1 - length * x) * miss)
    return math.log(rest) - (total + 1) * math.log(x) if rest > 0 else -math.inf


def lag(samples: Sequence[int]) -> float:
    """6.3.8: predicts the sample a lag earlier, at the lag that has done best so far."""
    scores = [0] * LAGS
    winner = 0
    hits = []
    for i in range(1, len(samples)):
        hits.append(winner < i and samples[i - 1 - winner] == samples[i])
        for back in range(min(i, LAGS)):
            if samples[i - 1 - back] == samples[i]:
                scores[back] += 1
                if scores[back] >= scores[winner]:
                    winner = back
    return prediction(hits, len(set(samples)))


def markov(samples: Sequence[int]) -> float:
    """6.3.9, orders 1 to 4: predicts what most often followed the last samples, at the best order so far."""
    seen: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    scores = [0] * ORDERS
    winner = 0
    hits = []
    for i in range(ORDERS, len(samples)):
        contexts = [tuple(samples[i - order : i]) for order in range(1, ORDERS + 1)]
        guesses = [max(seen[c], key=seen[c].__getitem__) if seen[c] else None for c in contexts]
        hits.append(guesses[winner] == samples[i])
        for order, guess in enumerate(guesses):
            scores[order] += guess == samples[i]
            if scores[order] > scores[winner]:
                winner = order
        for context in contexts:
            seen[context][samples[i]] += 1
    return prediction(hits, len(set(samples)))


ESTIMATES: dict[str, Callable[[Sequence[int]], float]] = {
    "most common value": most_common_value,
    "lag predictor": lag,
    "Markov predictor": markov,
}


def estimates(gatherings: Sequence[Sequence[int]]) -> Iterator[tuple[str, float]]:
    """Bits per sample, by estimate and by what it was made from."""
    readings = {
        "periods": [x % 256 for periods in gatherings for x in periods],
        "differences": [(y - x) % 256 for periods in gatherings for x, y in pairwise(periods)],
    }
    for reading, samples in readings.items():
        for name, estimate in ESTIMATES.items():
            yield f"{name}, {reading}", max(0.0, estimate(samples))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        gatherings = read(
            "\n".join(path.read_text(encoding="ascii", errors="replace") for path in options.files)
        )
    except (NoiseError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    found = dict(estimates(gatherings))
    for name, bits in found.items():
        print(f"{bits:6.2f}  {name}")
    lowest = min(found.values())
    enough = lowest >= WANTED
    verdict = "" if enough else "NOT "
    print(f"At most {lowest:.2f} bits per sample: {verdict}twice the {COUNTED_ON} that the library assumes.")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
