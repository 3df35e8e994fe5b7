# SPDX-License-Identifier: Apache-2.0
"""Print cases for cm_client_codec and its parts as JSON, with the golden model's results. Runs in .venv.

    .venv/bin/python rtl/tools/codec_cases.py '{"kind": "values", "seed": 1}'

Numbers enter as words: binary32 bits, or signed integers modulo 2^32.
"""

from __future__ import annotations

import json
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden import device as golden

ROOT = Path(__file__).resolve().parents[2]

Case = dict[str, Any]
Draw = Callable[[random.Random], int]

PRECISION = golden.Precision(31)
MASK = (1 << 32) - 1


def float_word(number: float) -> int:
    (word,) = struct.unpack("<I", struct.pack("<f", number))
    return int(word)


def number_of(word: int, *, is_float: bool) -> float | int:
    (number,) = struct.unpack("<f" if is_float else "<i", struct.pack("<I", word))
    return number  # type: ignore[no-any-return]


def is_finite(word: int) -> bool:
    return word >> 23 & 255 != 255


def settings(**chosen: int) -> Case:
    return {"complex": 0, "float": 1, "exponent": 0, "scale_log2": 20, "limit_log2": 29, **chosen}


# ---- encoding ----


def encoding(log2_n: int, words: list[int], chosen: Case) -> Case:
    """An encoding: the pairs of coefficients by their number, or how it ends."""
    n, is_float = 1 << log2_n, bool(chosen["float"])
    case = {"operation": "encode", "settings": chosen, "words": words, "wrong": False, "too_many": False}
    if len(words) > (n if chosen["complex"] else n // 2):
        return {**case, "too_many": True}
    if is_float and not all(map(is_finite, words)):
        return {**case, "wrong": True}
    try:
        m = golden.encode(
            golden.Chain(n, (1 << (chosen["limit_log2"] + 2),)),
            [number_of(word, is_float=is_float) for word in words],
            complex_slots=bool(chosen["complex"]),
            exponent=0 if is_float else chosen["exponent"],
            log2_scale=chosen["scale_log2"],
            precision=PRECISION.bits,
        )
    except golden.ValueRangeError:
        return {**case, "wrong": True}
    return {**case, "pairs": [packed(m[j], m[j + n // 2]) for j in range(n // 2)]}


def packed(low: int, high: int) -> int:
    return (high & MASK) << 32 | low & MASK


def random_float(size: float) -> Draw:
    return lambda rng: float_word(rng.uniform(-size, size))


def mixed_float(size: float) -> Draw:
    """A float of any magnitude below size, subnormal or zero too."""

    def draw(rng: random.Random) -> int:
        kind = rng.randrange(8)
        if kind == 0:
            return rng.choice((0, 1 << 31))
        if kind == 1:
            return rng.getrandbits(1) << 31 | rng.getrandbits(23)
        if kind == 2:
            return float_word(rng.choice((-1, 1)) * size * (1 - 2**-24))
        return float_word(rng.uniform(-size, size) * 2.0 ** -rng.randrange(30))

    return draw


def random_integer(bits: int) -> Draw:
    return lambda rng: rng.randrange(-(1 << bits) + 1, 1 << bits) & MASK


def filled(rng: random.Random, count: int, draw: Draw) -> list[int]:
    return [draw(rng) for _ in range(count)]


def encodings(log2_n: int, *, complex_slots: bool, rng: random.Random, few: bool) -> list[Case]:
    count = (1 << log2_n) if complex_slots else 1 << (log2_n - 1)
    is_complex = int(complex_slots)
    floats = settings(complex=is_complex, scale_log2=25)
    largest = float_word(16 * (1 - 2**-24))
    full = encoding(log2_n, filled(rng, count, mixed_float(16)), floats)
    if few:
        return [full]
    integers = settings(complex=is_complex, float=0, exponent=-3, scale_log2=12)
    low = settings(complex=is_complex, scale_log2=10, limit_log2=18)

    def with_one(word: int, chosen: Case, at: int) -> Case:
        words = filled(rng, count, random_float(1))
        words[at] = word
        return encoding(log2_n, words, chosen)

    just_too_large = float_word(2**8)
    return [
        full,
        # The largest ones, alike and alternating: no sum on the way overflows.
        encoding(log2_n, [largest] * count, floats),
        encoding(log2_n, filled(rng, count, lambda r: largest | r.getrandbits(1) << 31), floats),
        # Ties of the first rounding, and of the last.
        encoding(log2_n, filled(rng, count, random_integer(12)), settings(**{**integers, "scale_log2": 1})),
        encoding(log2_n, [1], settings(complex=is_complex, float=0, scale_log2=1)),
        encoding(log2_n, filled(rng, count, random_integer(20)), integers),
        # A few values, of which the last may be half a complex number.
        encoding(log2_n, filled(rng, 5, random_float(3)), floats),
        encoding(log2_n, filled(rng, count - 1, random_float(3)), floats),
        # Out of range by one, at the first, the last and some slot; and NaN and infinities.
        with_one(just_too_large, low, 0),
        with_one(just_too_large | 1 << 31, low, count - 1),
        with_one(0x7FC00000, floats, rng.randrange(count)),
        with_one(0xFF800000, floats, count - 1),
        encoding(log2_n, filled(rng, count + 1, random_float(1)), floats),
    ]


# ---- decoding ----


def decoding(log2_n: int, m: list[int], chosen: Case) -> Case:
    """A decoding of coefficients times 2: the results, or that there are none.

    For real slots pairs have d[j] of docs/encoding.md, section 8, and in the upper half what counts for
    nothing.
    """
    n = 1 << log2_n
    differences = [m[0], *(m[j] - m[n - j] for j in range(1, n // 2))]
    low = m if chosen["complex"] else differences
    assert all(-(1 << 31) <= x < 1 << 31 for x in low)
    case = {
        "operation": "decode",
        "settings": chosen,
        "pairs": [packed(low[j], m[j + n // 2]) for j in range(n // 2)],
    }
    try:
        parts = golden.embed(n, m, complex_slots=bool(chosen["complex"]), precision=PRECISION.bits)
        return {**case, "results": [result_word(x, chosen) for x in parts], "wrong": False}
    except golden.ValueRangeError:
        return {**case, "results": [], "wrong": True}


def result_word(x: int, chosen: Case) -> int:
    if chosen["float"]:
        return golden.decoded_float(x, chosen["scale_log2"], PRECISION.bits)
    return golden.decoded_integer(x, chosen["exponent"], chosen["scale_log2"], PRECISION.bits) & MASK


def decodings(log2_n: int, *, complex_slots: bool, rng: random.Random, few: bool) -> list[Case]:
    n, is_complex = 1 << log2_n, int(complex_slots)
    numbers = [rng.uniform(-4, 4) for _ in range(n if complex_slots else n // 2)]
    message = golden.encode(
        golden.Chain(n, (1 << 40,)), numbers, complex_slots=complex_slots, log2_scale=22, precision=31
    )
    noisy = [2 * (x + round(rng.gauss(0, 3.24))) for x in message]
    floats = settings(complex=is_complex, scale_log2=22)
    first = decoding(log2_n, noisy, floats)
    if few:
        return [first]

    def constant(x: int, chosen: Case) -> Case:
        """Every slot's real part is x."""
        return decoding(log2_n, [x, *[0] * (n - 1)], chosen)

    limit = 1 << 29
    small = settings(complex=is_complex, float=0, scale_log2=5, exponent=-8)  # x times 4
    # What is read has 32 bits: coefficients or, of real slots, differences.
    read = n if complex_slots else n // 2
    extremes = [*filled(rng, read, lambda r: r.choice((-(1 << 31), (1 << 31) - 1))), *[0] * (n - read)]
    return [
        first,
        decoding(log2_n, noisy, settings(complex=is_complex, float=0, exponent=-15, scale_log2=22)),
        decoding(log2_n, [rng.randrange(-3000, 3000) for _ in range(n)], small),
        constant(limit - 1, floats),
        constant(-limit, floats),
        constant(limit, floats),
        constant(-limit - 1, floats),
        # 2^31 is too large for an integer.
        constant(limit - 1, small),
        constant(-limit, small),
        # Too large before the last level, or already in the first.
        decoding(log2_n, [rng.randrange(-(1 << 26), 1 << 26) for _ in range(n)], floats),
        decoding(log2_n, extremes, floats),
    ]


def operations(log2_n: int, *, complex_slots: bool, seed: int, few: bool) -> list[Case]:
    rng = random.Random(seed)
    cases = [
        *encodings(log2_n, complex_slots=complex_slots, rng=rng, few=few),
        *decodings(log2_n, complex_slots=complex_slots, rng=rng, few=few),
    ]
    first = cases[0]
    if not few:
        rng.shuffle(cases)
    return [first, *cases] if few else cases


def pairs(log2_n: int) -> list[Case]:
    """Cases of a kind with two messages each: encodings, decodings, and an encoding that is refused."""
    n, floats = 1 << log2_n, settings(scale_log2=22)
    rngs = [random.Random(seed) for seed in (20, 21)]
    encoded = [encoding(log2_n, filled(rng, n // 2, random_float(9)), floats) for rng in rngs]
    decoded = [decoding(log2_n, [rng.randrange(-30000, 30000) for _ in range(n)], floats) for rng in rngs]
    refused = [
        encoding(log2_n, [*filled(rng, n // 2 - 1, random_float(9)), 0x7F800000], floats) for rng in rngs
    ]
    return [*encoded, *refused, *decoded]


def times(log2_n: int) -> list[Case]:
    """Accepted messages as unlike as can be."""
    n, floats = 1 << log2_n, settings(scale_log2=22)
    rng = random.Random(22)
    draws: list[Draw] = [lambda r: 0, mixed_float(100), lambda r: 0x80000001, lambda r: float_word(-127.99)]
    return [
        *(encoding(log2_n, filled(rng, n // 2, draw), floats) for draw in draws),
        *(
            decoding(log2_n, [rng.randrange(-size, size) for _ in range(n)], floats)
            for size in (1, 9, 100000)
        ),
    ]


# ---- parts ----


def values(seed: int) -> list[Case]:
    """Values to fixed point: what x is, or that it is refused."""
    rng = random.Random(seed)
    cases = []
    for round_ in range(60):
        scale = rng.choice((1, 60, rng.randrange(1, 61)))
        limit = rng.choice((29, rng.randrange(10, 30)))
        is_float = round_ % 2
        exponent = rng.choice((-scale, -scale - 1, rng.randrange(-40, 10), rng.randrange(-512, 512)))
        edge = 2.0 ** (limit - scale)
        for _ in range(60):
            if is_float:
                word = rng.choice(
                    (
                        rng.getrandbits(32),
                        mixed_float(min(edge, 2.0**100))(rng),
                        float_word(edge) | rng.getrandbits(1) << 31,
                        (float_word(edge) - rng.randrange(3)) | rng.getrandbits(1) << 31,
                        float_word((2 * rng.randrange(1 << 20) + 1) * 2.0 ** (-scale - 2)),  # a tie
                        float_word(2.0 ** (-scale - 2)) - rng.randrange(2),
                        rng.choice((0x7F800000, 0xFF800000, 0x7FC00001, 0x7F7FFFFF)),
                    )
                )
            else:
                whole = limit - scale - exponent  # 2^whole is refused
                near = (1 << min(max(whole, 0), 31)) - rng.randrange(2)
                word = rng.choice(
                    (
                        rng.getrandbits(32),
                        near,
                        -near,
                        1 << 31,
                        rng.randrange(-5, 6),
                        rng.getrandbits(1) << 31,
                    )
                )
                word &= MASK
            x = None
            if not is_float or is_finite(word):
                x = golden.fixed_point(
                    number_of(word, is_float=bool(is_float)),
                    0 if is_float else exponent,
                    scale + PRECISION.guard,
                )
                if abs(x) >= 1 << (limit + PRECISION.guard):
                    x = None
            chosen = settings(float=is_float, exponent=exponent, scale_log2=scale, limit_log2=limit)
            cases.append({"settings": chosen, "word": word, "x": x, "negate": rng.getrandbits(1)})
    return cases


def results(seed: int) -> list[Case]:
    """Fixed point to results, or that an integer is too large."""
    rng = random.Random(seed)
    cases = []
    for round_ in range(60):
        scale = rng.choice((1, 60, rng.randrange(1, 61)))
        exponent = rng.choice(
            (-scale, -scale - 1, -scale - 4, rng.randrange(-90, 20), rng.randrange(-512, 512))
        )
        chosen = settings(float=round_ % 2, exponent=exponent, scale_log2=scale)
        for _ in range(60):
            bits = rng.randrange(30)
            x = rng.choice(
                (
                    rng.randrange(-(1 << 29), 1 << 29),
                    rng.randrange(1 << bits),
                    -rng.randrange(1 << bits),
                    1 << rng.randrange(29),
                    -(1 << bits),
                    (1 << bits) - 1,
                    (((1 << 24) + 2 * rng.randrange(1 << 22) + 1) << rng.randrange(5))
                    * rng.choice((-1, 1)),  # a tie
                )
            )
            negate = rng.getrandbits(1)
            try:
                word = result_word(-x if negate else x, chosen)
            except golden.ValueRangeError:
                word = None
            cases.append({"settings": chosen, "x": x, "word": word, "negate": negate})
    return cases


def roots(log2_n: int) -> list[Case]:
    """C and S of every angle."""
    n = 1 << log2_n
    cosine = golden.cosines(n, PRECISION.fraction)
    return [{"cosine": cosine[t], "sine": cosine[(t - n // 2) % (2 * n)]} for t in range(2 * n)]


def vectors(log2_n: int) -> list[Case]:
    """The pinned vectors of a ring with a precision of 31 bits: their digests are checked here."""
    import generate_vectors  # needs the package

    cases = []
    for index, vector in enumerate(generate_vectors.ckks_vectors()):
        n = vector.chain.n
        if vector.precision != PRECISION.bits or n != 1 << log2_n:
            continue
        complex_slots, is_float = vector.slots == "complex", vector.number == "float32"
        numbers = generate_vectors.numbers_of(
            vector.number, index, vector.count * (2 if complex_slots else 1)
        )
        product = 1
        for prime in vector.chain.data_primes:
            product *= prime
        chosen = settings(
            complex=int(complex_slots),
            float=int(is_float),
            exponent=vector.exponent,
            scale_log2=vector.log2_scale,
            limit_log2=min(29, product.bit_length() - 3),
        )
        words = [float_word(x) if is_float else int(x) & MASK for x in numbers]
        case = encoding(log2_n, words, chosen)
        m = [0] * n
        for j, pair in enumerate(case["pairs"]):
            m[j], m[j + n // 2] = (number_of(half, is_float=False) for half in (pair & MASK, pair >> 32))
        digest = golden.chained_digest(golden.coefficient_bytes(vector.chain, m)).hex()
        if digest != vector.coefficients:
            raise SystemExit(f"vector {index}: the coefficients are not the pinned ones")
        cases.append(case)
    return cases


def main() -> int:
    wanted = json.loads(sys.argv[1])
    kind = wanted.pop("kind")
    if kind == "operations":
        cases = operations(
            wanted["log2_n"], complex_slots=wanted["complex"], seed=wanted["seed"], few=wanted["few"]
        )
    else:
        parts: dict[str, Callable[..., list[Case]]] = {
            "values": values,
            "results": results,
            "roots": roots,
            "vectors": vectors,
            "pairs": pairs,
            "times": times,
        }
        cases = parts[kind](**wanted)
    print(json.dumps(cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
