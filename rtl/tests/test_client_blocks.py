# SPDX-License-Identifier: Apache-2.0
"""The client engine's blocks: ChaCha20 by RFC 8439, the samplers and the scaling by docs/encoding.md."""

import json
import random
import re

import client_memory
import cocotb
import pytest
from client import Shape
from cocotb.triggers import FallingEdge, NextTimeStep, ReadOnly, Timer
from simulation import ROOT, cycles, settings, simulate, slow, start_clock

from golden.hardware import random_prime

KNOWN = json.loads((ROOT / "vectors/random.json").read_text())


def chacha20_start(key, position):
    """The words that a block begins with: position is the block counter and the three words of the nonce."""
    words = lambda data: [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]  # noqa: E731
    return [*words(b"expand 32-byte k"), *words(key), *position]


def chacha20_block(key, position):
    start = chacha20_start(key, position)
    state = list(start)
    rounds = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    rounds += [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in rounds:
            for target, addend, turned, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                state[target] = (state[target] + state[addend]) % 2**32
                x = state[turned] ^ state[target]
                state[turned] = (x << by | x >> (32 - by)) % 2**32
    return b"".join(((x + y) % 2**32).to_bytes(4, "little") for x, y in zip(state, start, strict=True))


def packed(words):
    return sum(word << 32 * i for i, word in enumerate(words))


async def reset(dut, **inputs):
    start_clock(dut)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0
    await cycles(dut)


# ---- ChaCha20 ----


@cocotb.test()
async def gives_the_blocks_of_rfc_8439(dut):
    await reset(dut, start_i=0, take_i=0, key_i=0, position_i=0)
    rng = random.Random(1)
    cases = []
    for known in KNOWN["chacha20"]:
        nonce = bytes.fromhex(known["nonce"])
        position = [known["counter"], *(int.from_bytes(nonce[i : i + 4], "little") for i in (0, 4, 8))]
        cases.append((bytes(range(32)), position, bytes.fromhex(known["output"])))
    for _ in range(3):
        position = [rng.getrandbits(32) for _ in range(4)]
        cases.append((rng.randbytes(32), position, None))
    for key, position, output in cases:
        expected = chacha20_block(key, position)
        assert output is None or expected.startswith(output[:64])
        dut.start_i.value = 1
        dut.key_i.value = int.from_bytes(key, "little")
        dut.position_i.value = packed(position)
        await cycles(dut)
        dut.start_i.value = 0
        dut.key_i.value = 0
        dut.position_i.value = 0
        for _ in range(20):
            await ReadOnly()
            assert not int(dut.valid_o.value)
            await cycles(dut)
        await ReadOnly()
        assert int(dut.valid_o.value), "a block takes 20 cycles"
        mixed, start = fields(int(dut.mixed_o.value), 32, 16), chacha20_start(key, position)
        block = packed([(x + y) % 2**32 for x, y in zip(mixed, start, strict=True)])
        assert block.to_bytes(64, "little") == expected
        await cycles(dut)
        dut.take_i.value = 1
        await cycles(dut)
        dut.take_i.value = 0
        await ReadOnly()
        assert int(dut.state.value) == 0, "what was taken is cleared"
        await cycles(dut)


def test_chacha20():
    simulate("cm_chacha20", {}, ["gives_the_blocks_of_rfc_8439"])


@cocotb.test()
async def gives_blocks_in_order_at_its_pace(dut):
    await reset(dut, request_i=0, key_i=0, position_i=0, tag_i=0, take_i=0, origin_i=0)
    rng = random.Random(settings()["seed"])
    blocks = [
        (rng.randbytes(32), [rng.getrandbits(32) for _ in range(4)], number) for number in range(12)
    ]  # each a user of its own, that knows what its block began with
    expected = [
        (int.from_bytes(block[i : i + 8], "little"), tag, i == 56)
        for key, position, tag in blocks
        for block in [chacha20_block(key, position)]
        for i in range(0, 64, 8)
    ]
    got, asked, cycle, stalls = [], 0, 0, settings()["stalls"]
    while len(got) < len(expected):
        key, position, tag = blocks[min(asked, len(blocks) - 1)]
        dut.request_i.value = int(asked < len(blocks))
        dut.key_i.value, dut.position_i.value = int.from_bytes(key, "little"), packed(position)
        dut.tag_i.value = tag
        take = not stalls or rng.random() < 0.5
        dut.take_i.value = int(take)
        await Timer(1, "ns")
        if dut.origin_tag_o.value.is_resolvable and int(dut.origin_tag_o.value) < len(blocks):
            origin = chacha20_start(*blocks[int(dut.origin_tag_o.value)][:2])
            dut.origin_i.value = packed(origin) >> 64 * int(dut.origin_at_o.value) & (2**64 - 1)
        await ReadOnly()
        asked += int(dut.ready_o.value) and asked < len(blocks)
        if take and int(dut.valid_o.value):
            got.append((int(dut.data_o.value), int(dut.tag_o.value), bool(int(dut.last_o.value))))
        await cycles(dut)
        cycle += 1
        assert cycle < 2000
    assert got == expected
    assert stalls or cycle <= 21 * len(blocks) // 2 + 21 + 9, "10.5 cycles a block"


def test_key_streams():
    for stalls in (False, True):
        simulate("cm_client_stream", {}, ["gives_blocks_in_order_at_its_pace"], seed=2, stalls=stalls)


# ---- samplers ----


async def collected(dut, words, count, output, rng):
    """Return a sampler's output for these words, offered with pauses."""
    got, at = [], 0
    for _ in range(40 * count + 200):
        offered = at < len(words) and rng.random() < 0.8
        dut.valid_i.value = int(offered)
        dut.data_i.value = words[at] if offered else rng.getrandbits(64)
        await ReadOnly()
        got += output()
        at += offered and bool(int(dut.ready_o.value))
        await cycles(dut)
        if len(got) >= count and at == len(words):
            break
    return got


def fields(data, bits, count):
    return [data >> bits * i & ((1 << bits) - 1) for i in range(count)]


@cocotb.test()
async def rejects_what_is_not_below_q(dut):
    rng = random.Random(settings()["seed"])
    await reset(dut, start_i=0, valid_i=0, data_i=0, q_i=0, bits_i=0)
    width, n = settings()["WIDTH"], 1 << settings()["LOG2_N"]
    for bits in (width, 22, 26):
        q = random_prime(rng, 10, bits)
        if settings()[
            "edges"
        ]:  # about half of all fields are rejected, and q itself and its neighbours are met
            q = (1 << (bits - 1)) + 1
        dut.q_i.value, dut.bits_i.value, dut.start_i.value = q, bits, 1
        await cycles(dut)
        dut.start_i.value = 0
        edge = [q - 1, q, q + 1, 0, (1 << bits) - 1]
        drawn = [rng.choice([*edge, rng.getrandbits(bits)]) for _ in range(3 * n)]
        total = 3 * n * bits // 64
        stream = sum(field << bits * i for i, field in enumerate(drawn)) & ((1 << 64 * total) - 1)
        words = [stream >> 64 * i & (2**64 - 1) for i in range(total)]
        pair = lambda: (  # noqa: E731
            fields(int(dut.pair_data_o.value), width, 2) if int(dut.pair_o.value) else []
        )
        got = await collected(dut, words, n, pair, rng)
        assert got == [field for field in drawn if field < q][:n], f"q = {q}"


def test_uniform():
    shape = {"WIDTH": 27, "LOG2_N": 6}
    for edges in (False, True):
        simulate("cm_client_uniform", shape, ["rejects_what_is_not_below_q"], seed=3, edges=edges)


def noise_of(words):
    """Thirty-two coefficients from 42 words of 32 bits."""
    ones = lambda part, j: sum(word >> j & 1 for word in part)  # noqa: E731
    return [ones(words[:21], j) - ones(words[21:], j) for j in range(32)]


@cocotb.test()
async def counts_ones(dut):
    rng = random.Random(settings()["seed"])
    await reset(dut, valid_i=0, data_i=0)
    ones = 2**32 - 1
    blocks = [[ones] * 21 + [0] * 21, [0] * 21 + [ones] * 21, [0] * 42, [ones] * 42]
    # Every word alone, and one word of the opposite kind: each adds or takes off exactly one.
    blocks += [[ones if i == at else 0 for i in range(42)] for at in range(42)]
    blocks += [[rng.getrandbits(32) for _ in range(42)] for _ in range(40)]
    words = [low | high << 32 for block in blocks for low, high in zip(block[::2], block[1::2], strict=True)]
    signed = lambda x: x - 64 if x >= 32 else x  # noqa: E731
    eight = lambda: (  # noqa: E731
        [signed(x) for x in fields(int(dut.eight_data_o.value), 6, 8)] if int(dut.eight_o.value) else []
    )
    expected = [x for block in blocks for x in noise_of(block)]
    assert await collected(dut, words, len(expected), eight, rng) == expected


def test_noise():
    simulate("cm_client_noise", {}, ["counts_ones"], seed=4)


def digits_of(word):
    digits = []
    for _ in range(16):
        digit, word = divmod(3 * word, 2**64)
        digits.append(digit)
    return digits


@cocotb.test()
async def takes_base_3_digits(dut):
    rng = random.Random(settings()["seed"])
    await reset(dut, valid_i=0, data_i=0)
    # The words around those whose digits change, and random ones.
    edges = [-(-(2**64) * rng.randrange(3**16) // 3**16) for _ in range(150)]
    words = [0, 2**64 - 1, 2**63] + [max(0, e - rng.randrange(2)) for e in edges]
    words += [rng.getrandbits(64) for _ in range(150)]
    eight = lambda: fields(int(dut.eight_data_o.value), 2, 8) if int(dut.eight_o.value) else []  # noqa: E731
    assert await collected(dut, words, 16 * len(words), eight, rng) == [
        d for word in words for d in digits_of(word)
    ]


def test_ternary():
    simulate("cm_client_ternary", {}, ["takes_base_3_digits"], seed=5)


# ---- scaling ----


@cocotb.test()
async def scales_messages(dut):
    rng = random.Random(settings()["seed"])
    await reset(dut, valid_i=0, value_i=0, t_i=2, factor_i=0, ratio_i=0, half_i=1, signed_i=0)
    for t in (2, 3, 257, 65536, 65537, 786433, 2**25, 2**27 - 1):
        for signed in (False, True):
            modulus = rng.getrandbits(78) | 1
            factor, half = modulus % t, (t + 1) // 2
            dut.t_i.value, dut.factor_i.value, dut.half_i.value = t, factor, half
            dut.ratio_i.value, dut.signed_i.value = (factor << 32) // t, int(signed)
            lowest, highest = (-((t - 1) // 2), t // 2) if signed else (0, t - 1)
            values = [lowest, highest, 0, lowest - 1, highest + 1, -(2**31) if signed else 2**32 - 1]
            values += [rng.randint(lowest, highest) for _ in range(20)]
            for value in [*values, *[None] * 4]:
                dut.valid_i.value = int(value is not None)
                dut.value_i.value = (value or 0) % 2**32
                await cycles(dut)
                await ReadOnly()
                if int(dut.valid_o.value):
                    oldest = values.pop(0)
                    wrong = (
                        not lowest <= oldest % 2**32 <= highest
                        if not signed
                        else not lowest <= oldest <= highest
                    )
                    assert bool(int(dut.wrong_o.value)) == wrong, f"{oldest} modulo {t}"
                    if not wrong:
                        assert int(dut.r_o.value) == (modulus * (oldest % t) + half) % t, (
                            f"{oldest} modulo {t}"
                        )
                await cycles(dut)
                dut.valid_i.value = 0
            assert not values


def test_scale():
    simulate("scale_bench", {"WIDTH": 27}, ["scales_messages"], seed=6)


# ---- products ----


@cocotb.test()
async def gives_products_to_one_user(dut):
    """Whatever all others offer: by the table of cm_client_products."""
    rng = random.Random(settings()["seed"])
    widths = {
        name: len(getattr(dut, name))
        for name in (
            *("coordinates_i", "first_digits_i", "second_digits_i", "minus_i", "fraction_i", "residues_i"),
            *("sums_so_far_i", "message_i", "ratio_i", "factor_i", "t_i", "upper_i"),
        )
    }
    signed = lambda x, bits: x - (x >> bits - 1 << bits)  # noqa: E731
    await reset(dut, codec_i=0, sums_i=0, by_turns_i=0, **dict.fromkeys(widths, 0))
    for number in range(600):
        given = {name: rng.choice((0, (1 << w) - 1, *[rng.getrandbits(w)] * 8)) for name, w in widths.items()}
        codec, sums, rests = rng.getrandbits(1), rng.getrandbits(1), number % 10 == 0
        turns = rng.getrandbits(1) if sums and not codec else 0
        if sums and not turns:
            given["t_i"] %= 1 << 17
        for name, value in given.items():
            getattr(dut, name).value = value
        dut.codec_i.value, dut.sums_i.value, dut.by_turns_i.value = codec, sums, turns
        await cycles(dut)
        await ReadOnly()
        quotient = int(dut.wide_o.value) >> 32 & (1 << 27) - 1
        await NextTimeStep()
        dut.rst_i.value = int(rests)
        await cycles(dut, 1 + rests)
        await ReadOnly()
        coordinates, digits, upper = (
            fields(given[name], width, 2)
            for name, width in (("coordinates_i", 33), ("first_digits_i", 27), ("second_digits_i", 18))
        )
        residues, so_far = fields(given["residues_i"], 27, 2), fields(given["sums_so_far_i"], 32, 2)
        wides = fields(int(dut.wide_o.value), 64, 2)
        seconds = [signed(x, 51) for x in fields(int(dut.second_o.value), 51, 2)]
        whole = signed(int(dut.whole_o.value), 61)
        if rests:
            assert wides == seconds == [0, 0]
        elif codec:
            signs = (1, -1 if given["minus_i"] else 1)
            of = [sign * signed(c, 33) for sign, c in zip(signs, coordinates, strict=True)]
            assert [signed(x, 64) for x in wides] == [c * d for c, d in zip(of, digits, strict=True)]
            assert seconds == [c * signed(d, 18) for c, d in zip(of, upper, strict=True)]
        elif sums:
            assert wides == [given["fraction_i"] * x % 2**64 for x in residues]
            wanted = [signed(x, 32) * given["t_i"] for x in so_far]
            assert whole == wanted[given["upper_i"] if turns else 0]
            assert turns or seconds[1] == wanted[1]
        else:
            assert wides == [given[name] * given["message_i"] for name in ("ratio_i", "factor_i")]
            assert whole == quotient * given["t_i"]
        await cycles(dut)
        dut.rst_i.value = 0
        await cycles(dut)
        await FallingEdge(dut.clk_i)


@pytest.mark.parametrize("silicon", [0, 1])
def test_products(silicon):
    simulate("cm_client_products", {"WIDTH": 27, "SILICON": silicon}, ["gives_products_to_one_user"], seed=7)


# ---- counters of the machines ----


@cocotb.test()
async def counts_items(dut):
    rng = random.Random(settings()["seed"])
    for last_kind, last_prime, pieces in ((0, 0, 1), (0, 2, 0), (1, 3, 3), (2, 1, 3), (3, 2, 1)):
        await reset(dut, ends_i=0, last_kind_i=last_kind, last_prime_i=last_prime, pieces_i=pieces)
        items = 0
        of_a_prime, of_a_ciphertext = last_kind + 1, (last_kind + 1) * (last_prime + 1)
        while items < 300 * of_a_ciphertext:  # Counts wrap.
            dut.ends_i.value = ends = rng.getrandbits(1)
            await ReadOnly()
            primes, kind = divmod(items, of_a_prime)
            ciphertexts, place = divmod(items, of_a_ciphertext)
            wanted = {"kind": kind, "prime": primes % (last_prime + 1), "turn": primes % 3}
            wanted |= {"last_kind": kind == last_kind, "last": place == of_a_ciphertext - 1}
            wanted |= {"items_done": items % 256, "primes_done": primes % 256}
            wanted |= {"ciphertexts_done": ciphertexts % 256, "pieces_done": pieces * ciphertexts % 256}
            assert {name: int(getattr(dut, f"{name}_o").value) for name in wanted} == wanted, items
            await cycles(dut)
            items += ends


def test_item_counter():
    simulate("cm_client_item_counter", {"LOG2_PRIMES": 2}, ["counts_items"], seed=10)


@cocotb.test()
async def counts_pairs(dut):
    rng = random.Random(settings()["seed"])
    pairs, after = 1 << settings()["BITS"], settings()["CYCLES"]
    await reset(dut, start_i=0, issue_i=0, may_end_i=0)
    state, index, left = "idle", 0, 0
    met = set()
    for _ in range(60 * (pairs + after)):
        start, wants, may_end = (rng.random() < chance for chance in (0.3, 0.7, 0.2))
        dut.start_i.value, dut.may_end_i.value = start, may_end
        dut.issue_i.value = issue = wants and state == "running"
        await ReadOnly()
        ends = state == "drains" and left == 0 and may_end
        assert (int(dut.idle_o.value), int(dut.running_o.value)) == (state == "idle", state == "running")
        assert int(dut.ends_o.value) == ends
        if state == "running":
            assert int(dut.index_o.value) == index
        met.add((state, ends, may_end))
        await cycles(dut)
        if state == "idle" and start:
            state, index, left = "running", 0, after
        elif issue:
            index += 1
            state = "drains" if index == pairs else state
        elif ends:
            state = "idle"
        elif state == "drains":
            left = max(0, left - 1)
    assert {("drains", True, True), ("drains", False, False), ("drains", False, True)} <= met


@pytest.mark.parametrize("after", [1, 22])
def test_pair_counter(after):
    simulate("cm_client_pair_counter", {"BITS": 4, "CYCLES": after}, ["counts_pairs"], seed=11)


# ---- the lanes: a smaller shape than any ciphertext's ----


@cocotb.test()
async def transforms_sets(dut):
    from golden.hardware import Montgomery, Ring

    rng = random.Random(settings()["seed"])
    log2_n, width = settings()["LOG2_N"], settings()["WIDTH"]
    inputs = (
        "start",
        "inverse",
        "set",
        "prime",
        "q",
        "a_read",
        "a_natural",
        "a_set",
        "a_index",
        "b_read",
        "b_natural",
        "b_set",
        "b_index",
    )
    inputs += ("write", "write_natural", "write_set", "write_index", "write_data", "wipe", "wipe_address")
    inputs += ("table_write", "table_prime", "table_index", "table_data", "table_read", "table_read_index")
    await reset(dut, **{f"{name}_i": 0 for name in inputs})
    n, r = 1 << log2_n, Montgomery(width, log2_n).r
    dut.a_read_i.value = dut.b_read_i.value = 1
    mask = (1 << width) - 1

    async def write(words, set_, natural):
        dut.write_set_i.value, dut.write_natural_i.value = set_, int(natural)
        for j in range(n // 2):
            pair = (words[2 * j], words[2 * j + 1]) if natural else (words[j], words[j + n // 2])
            dut.write_i.value, dut.write_index_i.value = 1, j
            dut.write_data_i.value = pair[0] | pair[1] << width
            await cycles(dut)
        dut.write_i.value = 0

    async def read(set_, natural):
        pairs = []
        dut.b_set_i.value, dut.b_natural_i.value = set_, int(natural)
        for j in range(n // 2):
            dut.b_index_i.value = j
            await cycles(dut, 2)
            await ReadOnly()
            data = int(dut.b_o.value)
            pairs += [data & mask, data >> width]
            await cycles(dut)
        return pairs

    async def transform(set_, prime, q, inverse):
        dut.set_i.value, dut.prime_i.value, dut.q_i.value = set_, prime, q
        dut.inverse_i.value, dut.start_i.value = int(inverse), 1
        await cycles(dut)
        dut.start_i.value = 0
        while True:
            await ReadOnly()
            done = int(dut.done_o.value)
            await cycles(dut)
            if done:
                break
        await cycles(dut)

    for prime, bits in ((0, width), (1, 23)):
        ring = Ring(random_prime(rng, log2_n, bits), log2_n)
        for index, word in enumerate(ring.twiddles(r)):
            dut.table_write_i.value, dut.table_prime_i.value = 1 << index % 2, prime
            dut.table_index_i.value, dut.table_data_i.value = index // 2, word | word << width
            await cycles(dut)
        dut.table_write_i.value = 0
        a = [rng.choice((0, ring.q - 1, rng.randrange(ring.q))) for _ in range(n)]
        for set_, natural in ((2, False), (1, True)):
            await write(a, set_, natural)
            await transform(set_, prime, ring.q, inverse=False)
            assert await read(set_, natural=False) == ring.forward(a)
            await transform(set_, prime, ring.q, inverse=True)
            assert await read(set_, natural=True) == a
    dut.a_set_i.value = dut.b_set_i.value = 0
    dut.wipe_i.value = 1
    for row in range(n // 2):
        dut.wipe_address_i.value = row
        await cycles(dut)
    dut.wipe_i.value = 0
    assert not any(await read(1, natural=True)) and not any(await read(2, natural=True))


LANES = [
    {"LOG2_N": 7, "LOG2_UNITS": 3, "DEEP": 0},
    slow({"LOG2_N": 8, "LOG2_UNITS": 1, "DEEP": 1}),
    slow({"LOG2_N": 8, "LOG2_UNITS": 2, "DEEP": 1}),
]


@pytest.mark.parametrize("shape", LANES, ids=lambda s: "-".join(f"{k}{v}" for k, v in s.items()))
def test_lanes(shape):
    parameters = {"WIDTH": 27, "PRIMES": 2, "LOG2_PRIMES": 1, "SETS": 3, **shape}
    simulate("cm_client_lanes", parameters, ["transforms_sets"], seed=7)


# ---- centring ----


@cocotb.test()
async def centres_differences(dut):
    rng = random.Random(8)
    width = settings()["WIDTH"]
    widest = random_prime(rng, 10, width)
    edges = (0, 1, widest // 2 - 1, widest // 2, widest // 2 + 1, widest - 2, widest - 1)
    every = [(97, a, b) for a in range(97) for b in range(97)]
    for q, a, b in every + [(widest, a, b) for a in edges for b in edges]:
        dut.q_i.value, dut.a_i.value, dut.b_i.value = q, a, b
        await Timer(1, "ns")
        x = (a - b) % q
        assert dut.twice_o.value.to_signed() == 2 * (x - q if x > q // 2 else x)


def test_centring():
    simulate("cm_client_centre", {"WIDTH": 27}, ["centres_differences"])


def test_memory_is_what_the_page_says():
    """docs/client-engine.md adds up the memories one by one; this counts those of the design."""
    found = client_memory.bits(Shape())
    text = (ROOT / "docs/client-engine.md").read_text(encoding="utf-8")
    assert f"| all | | {found['used']:,} |" in text


WORK = {
    "symmetric": "symmetric, seeded, NTT form",
    "public": "public key",
    "decrypt": "decryption",
    "coefficients_symmetric": "symmetric, coefficient form",
    "coefficients_public": "public key, coefficient form",
    "ckks_symmetric": "CKKS, symmetric",
    "ckks_public": "CKKS, public key",
    "ckks_decrypt": "CKKS, decryption",
    "shake_symmetric": "symmetric, SHAKE256",
    "tagged_symmetric": "symmetric, with tags",
    "tagged_public": "public key, with tags",
}
"""What the page calls each job of the bench."""


def figures(text, header):
    """The last columns of the table with this header, which names them: {(first cell, column): figure}."""
    (table,) = re.findall(rf"^{re.escape(header)}\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {(row[0], column): cell for row in rows for column, cell in zip(columns, row, strict=True)}


def check_figures(text, rows):
    """Each row of the bench stands in the cell for it: of its job, quantity and pipeline."""
    tables = {
        "": figures(text, "| | butterflies | XOF | words | pace | latency |"),
        ".silicon": figures(text, "| cycles of that pipeline | pace | latency |"),
    }
    for of in "pace", "latency":  # the first table says in full what is decrypted
        tables[""]["decryption", of] = tables[""].pop(("decryption of a two-part ciphertext", of))
    checked = 0
    for name, value in rows.items():
        if found := re.fullmatch(r"engine\.(\w+)\.(pace|latency)(|\.silicon)\.cycles", name):
            job, quantity, pipeline = found.groups()
            assert tables[pipeline][WORK[job], quantity] == f"{value:,}", name
            checked += 1
    assert checked == 4 * len(WORK)
    zero = figures(
        text, "| n = 4096, three primes, six butterflies | published | `cm_zero_encrypt` | at least |"
    )
    for job, title in ("zero_encryption", "zero encryption"), ("delta_m_decryption", "c0 + c1 s"):
        cell = zero[f"{title}, cycles", "`cm_zero_encrypt`"]
        assert cell == f"{rows[f'engine.{job}.u6.cycles']:,}", job


def test_the_page_has_each_figure_of_the_bench_in_its_cell():
    rows = json.loads((ROOT / "bench/results/engine.json").read_text(encoding="utf-8"))["rows"]
    text = (ROOT / "docs/client-engine.md").read_text(encoding="utf-8")
    values = {row["name"]: row["value"] for row in rows}
    check_figures(text, values)
    swapped = {"17,280": "17,270", "17,270": "17,280"}
    with pytest.raises(AssertionError):
        check_figures(re.sub("17,280|17,270", lambda found: swapped[found[0]], text), values)


def test_the_page_has_the_area_and_energy_of_the_bench():
    rows = json.loads((ROOT / "bench/results/engine-asic.json").read_text(encoding="utf-8"))["rows"]
    row = {row["name"]: (row["value"], row["params"]) for row in rows}
    text = (ROOT / "docs/client-engine.md").read_text(encoding="utf-8")
    kge, how = row["engine.kge"]
    cells = f"{kge} kGE, {how['flops']:,} flip-flops and {how['latches']:,} latches"
    assert f"| standard cells | {cells}; the goal is {how['goal']} |" in text
    macros = row["engine.sram_bits.macro"][1]["macros"]
    bits = [row[f"engine.sram_bits.{which}"][0] for which in ("macro", "used")]
    said = f"{sum(macros.values())} macros, {row['engine.sram_mm2'][0]} mm^2, with {bits[0]:,} bits"
    assert f"| SRAM | {said}, of which {bits[1]:,} are used |" in text
    for name, count in macros.items():
        ports, words, width = re.search(r"_([12])P_(\d+)x(\d+)_", name).groups()
        said = f"{count} of {words} x {width} with {'one port' if ports == '1' else 'two ports'}"
        assert said in text
    assert f"| slack at 100 MHz | {row['engine.slack'][0]:.2f} ns |" in text
    nj, how = row["engine.nj_per_encryption"]
    parts = {part: pj / 1e6 for part, pj in how["parts_pj"].items()}
    cells = parts["internal"] + parts["leakage"]
    said = f"cells {cells:.1f}, nets {parts['switching']:.1f}, macros {parts['macros']:.1f}"
    assert f"{how['cycles']:,} cycles" in text and f"| {nj / 1000:.1f} uJ: {said}" in text
    table = [float(kge) for kge in re.findall(r"^\| [^|]+ \| (\d+\.\d) \|$", text, re.MULTILINE)]
    assert abs(sum(table) - kge) < 1
