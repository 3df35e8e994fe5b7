# SPDX-License-Identifier: Apache-2.0
"""The client engine's checks, one block at a time and bit by bit: residues, frames, counters, windows,
settings and the order of faults. Each number that a check compares differs from the right one in a single
bit, or is the first one on the wrong side."""

import random
import struct

import cocotb
import pytest
from client import constants
from cocotb.triggers import ReadOnly
from simulation import cycles, settings, simulate
from test_client_blocks import fields, reset
from test_client_engine import crc32c

from golden.hardware import random_prime

MAP = {name.removeprefix("MAP_"): value for name, value in constants().items() if name.startswith("MAP_")}
FAULTS = {name.removeprefix("FAULT_"): x for name, x in constants().items() if name.startswith("FAULT_")}
BITS_OF_64 = range(64)


async def seen(dut, *names):
    """The outputs of this cycle, before its edge."""
    await ReadOnly()
    return [int(getattr(dut, name).value) for name in names]


# ---- residues ----


@cocotb.test()
async def refuses_either_residue_of_a_pair(dut):
    rng = random.Random(settings()["seed"])
    width = settings()["WIDTH"]
    for bits in (17, 22, width):
        q = random_prime(rng, 10, bits)
        beyond = [q, q + 1, (1 << bits) - 1, *{q | 1 << b for b in range(bits)} - {q}]
        pairs = [(rng.randrange(q), x) for x in beyond] + [(x, rng.randrange(q)) for x in beyond]
        pairs += [(q - 1, q - 1), (0, 0)] * 3
        rng.shuffle(pairs)
        pairs += [(0, 0)] * (-len(pairs) % 16)
        stream = sum((a | b << bits) << 2 * bits * i for i, (a, b) in enumerate(pairs))
        words = [stream >> 32 * i & (2**32 - 1) for i in range(len(pairs) * bits // 16)]
        await reset(dut, bits_i=bits, q_i=q, valid_i=0, take_i=1, word_i=0)
        got, wrongs, left = [], [], False
        while len(wrongs) < len(pairs):
            dut.valid_i.value, dut.word_i.value = int(bool(words)), words[0] if words else 0
            ready, there, pair, wrong = await seen(dut, "ready_o", "pair_o", "pair_data_o", "wrong_o")
            if left:
                wrongs.append(bool(wrong))
            left = bool(there)
            if there:
                got.append(tuple(fields(pair, width, 2)))
            if words and ready:
                words.pop(0)
            await cycles(dut)
        assert got == pairs
        assert wrongs == [a >= q or b >= q for a, b in pairs]


def test_unpacker():
    simulate("cm_client_unpacker", {"WIDTH": 27}, ["refuses_either_residue_of_a_pair"], seed=1)


# ---- frames ----

PARAMS, KEY_ID, COUNTER, SCALE, SCHEME = 0x8000_0001, 0x8123_4567_89AB_CDEF, 0xFEDC_0000_0000_4321, 1000, 1
CHACHA20, TAG, FIELDS = 3, 0x8765_4321_0FED_CBA9, (0x8000_0005, 9, 0xC000_0000, 0x1111_1111, 0x9999_9999)
PAYLOAD_WORDS = 3
"""Words of a residue frame where n is 32 and primes have 3 bits, which the reader does not mind."""


def frame(prime, component, xof, seed, first, tagged, payload):
    """The words of a frame without its checksum: header, payload, and tag if there is one."""
    words = [
        0x4D43 | (2 if tagged else 1) << 16 | (seed and first) << 24,
        2 << 24 | 2 << 16 | 1 << 8 | SCHEME,
    ]
    words += [PARAMS, KEY_ID % 2**32, KEY_ID >> 32, COUNTER % 2**32, COUNTER >> 32, SCALE, 0]
    words += [prime << 16 | component << 8 | xof, 4 * len(payload)]
    return [*words, *(FIELDS if tagged else ()), *payload, *([TAG % 2**32, TAG >> 32] if tagged else ())]


def checked(words):
    return [*words, crc32c(struct.pack(f"<{len(words)}I", *words))]


def frames_of_two_primes(seeded, tagged, rng):
    payload = lambda count: [rng.getrandbits(32) for _ in range(count)]  # noqa: E731
    if seeded:
        places = [(0, 1, 8), (0, 0, PAYLOAD_WORDS), (1, 0, PAYLOAD_WORDS)]
    else:
        places = [(p, c, PAYLOAD_WORDS) for p in (0, 1) for c in (1, 0)]
    return [
        frame(p, c, CHACHA20 * seeded, seeded, i == 0, tagged, payload(count))
        for i, (p, c, count) in enumerate(places)
    ]


@cocotb.test()
async def refuses_frames_that_differ_in_a_bit(dut):
    rng = random.Random(settings()["seed"])
    seeded, tagged = settings()["seeded"], settings()["tagged"]
    await reset(
        dut,
        enabled_i=1,
        params_i=PARAMS,
        key_id_i=KEY_ID,
        scale_i=SCALE,
        scheme_i=SCHEME,
        last_prime_i=1,
        bits_i=PAYLOAD_WORDS,
        tagged_i=tagged,
        counter_i=COUNTER,
        fields_i=sum(x << 32 * i for i, x in enumerate(FIELDS)),
        tag_i=TAG,
        tag_known_i=1,
        hash_ready_i=1,
        valid_i=0,
        word_i=0,
        payload_ready_i=1,
    )

    async def fate(words):
        """Whether the frames are found wrong, and the set whole."""
        dut.rst_i.value = 1
        await cycles(dut)
        dut.rst_i.value, dut.valid_i.value = 0, 1
        for word in words:
            dut.word_i.value = word
            await cycles(dut)
        dut.valid_i.value = 0
        wrong, done = await seen(dut, "fault_o", "set_done_o")
        await cycles(dut)
        return wrong, done

    frames = frames_of_two_primes(seeded, tagged, rng)
    assert await fate([word for of in frames for word in checked(of)]) == (0, 1)
    header = 16 if tagged else 11
    for number in (0, len(frames) - 1):
        before = [word for of in frames[:number] for word in checked(of)]
        after = [word for of in frames[number + 1 :] for word in checked(of)]
        changed = frames[number]
        protected = [*range(header), *((-2, -1) if tagged else ())]
        for at in protected:
            for bit in range(32):
                words = list(changed)
                words[at] ^= 1 << bit
                # The first frame says which counter the others have, and whether a seed comes.
                rest = after if number == 0 and at in (0, 5, 6) else []
                wrong, _ = await fate([*before, *checked(words), *rest])
                assert wrong, (number, at, bit)
        for at in (header, -1):
            for bit in range(32):
                words = checked(changed)
                words[at] ^= 1 << bit
                wrong, _ = await fate([*before, *words])
                assert wrong, f"checksum of frame {number}, {at}, {bit}"


@pytest.mark.parametrize(("seeded", "tagged"), [(1, 0), (0, 1)], ids=["seeded", "full-tagged"])
def test_reader(seeded, tagged):
    shape = {"LOG2_N": 5, "LOG2_PRIMES": 1}
    tests = ["refuses_frames_that_differ_in_a_bit"]
    simulate("cm_client_reader", shape, tests, seed=2, seeded=seeded, tagged=tagged)


# ---- counters and windows ----


@cocotb.test()
async def counts_and_compares_all_of_64_bits(dut):
    most = 2**64 - 1
    inputs = {"keys_stay_i": 0, "fixed_i": 0, "write_i": 0, "low_i": 0, "data_i": 0, "end_i": most}
    await reset(dut, next_i=0, **inputs)

    async def write(counter):
        dut.write_i.value, dut.low_i.value, dut.data_i.value = 1, counter % 2**32, counter >> 32
        (falls,) = await seen(dut, "falls_o")
        await cycles(dut)
        dut.write_i.value = 0
        return falls

    async def take(end=most):
        dut.next_i.value, dut.end_i.value = 1, end
        (exhausted,) = await seen(dut, "exhausted_o")
        await cycles(dut)
        dut.next_i.value = 0
        await ReadOnly()
        counter = int(dut.counter_o.value)
        await cycles(dut)
        return exhausted, counter

    assert (await take())[0] == 1, "no counter was set"
    for bit in BITS_OF_64:
        dut.fixed_i.value = 0
        for counter in {(1 << bit) - 1, most ^ 1 << bit}:
            assert await write(counter) == 0
            assert await take() == (0, counter + 1), "a carry at each bit"
        for counter, end in ((1 << bit, 1 << bit), (1 << bit, (1 << bit) - 1), (1 << bit, (1 << bit) + 1)):
            await write(counter)
            assert (await take(end))[0] == (counter >= end), bit
        await write(1 << bit)
        dut.fixed_i.value = 1
        assert await write((1 << bit) - 1) == 1 and await write(1 << bit) == 0, bit
    for stays in (1, 0):
        dut.keys_stay_i.value, dut.rst_i.value = stays, 1
        await cycles(dut)
        dut.rst_i.value = 0
        assert await take() == ((0, 2**63 + 1) if stays else (1, 1))


def test_counter():
    simulate("cm_client_counter", {}, ["counts_and_compares_all_of_64_bits"])


@cocotb.test()
async def knows_windows_and_whole_keys(dut):
    rng = random.Random(settings()["seed"])
    zeros = ("keys_stay", "setting", "at", "data", "counter", "reads", "sent_counter", "sent_random", "start")
    zeros += ("absorb", "word", "finish", "ready", "valid", "last", "block")
    await reset(dut, **{f"{name}_i": 0 for name in zeros})

    async def write(at, value, words=1):
        for i in range(words):
            dut.setting_i.value, dut.at_i.value = 1, at + i
            dut.data_i.value = value >> 32 * i & (2**32 - 1)
            await cycles(dut)
        dut.setting_i.value = 0

    for name in ("DEVICE", "EPOCH", "ANSWER_COUNTER", "ANSWER_RANDOM"):
        await write(MAP[name], 0, words=1 + ("ANSWER" in name))
    distances = [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, *(1 << b for b in range(32, 64)), -1]
    distances += [-(1 << b) for b in BITS_OF_64]
    for distance in distances:
        window = rng.randrange(max(0, -distance), min(2**64 - 1, 2**64 - distance))
        counter = window + distance
        await write(MAP["WINDOW"], window, words=2)
        dut.counter_i.value = dut.sent_counter_i.value = counter
        late, of_frame = await seen(dut, "late_o", "fields_o")
        assert late == (not 0 <= distance < 2**32), distance
        assert of_frame >> 64 & (2**32 - 1) == distance % 2**32, distance
        await cycles(dut)
    await write(MAP["WINDOW"], 2**64 - 1, words=2)
    assert (await seen(dut, "late_o"))[0] == 0, "each ciphertext begins a window"
    await cycles(dut)

    # Each bit of what an answer must have.
    for bit in BITS_OF_64:
        dut.reads_i.value = 1
        await write(MAP["ANSWER_COUNTER"], 1 << bit, words=2)
        await write(MAP["ANSWER_RANDOM"], 1 << 63 - bit, words=2)
        counter, of_frame = await seen(dut, "answer_counter_o", "fields_o")
        assert (counter, of_frame >> 96) == (1 << bit, 1 << 63 - bit)
        await cycles(dut)

    # Keys: whole, in order, and gone behind a wipe that takes keys.
    for number, name in enumerate(("TAG_KEY", "RESULT_KEY")):
        dut.reads_i.value = number
        for wrong in range(12):
            key = [rng.getrandbits(32) for _ in range(12)]
            for i in range(12):
                await write(MAP[name] + (i if i != wrong else (i + 1) % 12), key[i])
            assert (await seen(dut, "there_o"))[0] >> number & 1 == 0, f"without word {wrong}"
            await cycles(dut)
        for i in range(12):
            await write(MAP[name] + i, key[i])
        there, used = await seen(dut, "there_o", "key_o")
        assert there >> number & 1 and used == sum(x << 32 * i for i, x in enumerate(key[:8]))
        await cycles(dut)
    for stays in (1, 0):
        dut.keys_stay_i.value, dut.rst_i.value = stays, 1
        await cycles(dut)
        dut.rst_i.value = 0
        there, of_results = await seen(dut, "there_o", "key_o")
        assert (there, bool(of_results)) == ((3, True) if stays else (0, False))
        await cycles(dut)
        dut.reads_i.value = 0
        assert bool((await seen(dut, "key_o"))[0]) == bool(stays)
        await cycles(dut)
        dut.reads_i.value = 1


def test_tags():
    simulate("cm_client_tags", {"DIGIT": 4}, ["knows_windows_and_whole_keys"], seed=3)


# ---- settings ----


async def upsets(dut, wipe):
    """Change each register of the policy in turn, as a disturbed supply does; a wipe of the keys ends it."""
    for name in ("policy_o", "is_fixed_o", "not_policy", "not_fixed"):
        for bit in range(len(getattr(dut, name))):
            assert (await seen(dut, "upset_o"))[0] == 0
            await cycles(dut)
            register = getattr(dut, name)
            register.value = int(register.value) ^ 1 << bit
            await cycles(dut)
            assert (await seen(dut, "upset_o"))[0] == 1, (name, bit)
            await cycles(dut)
            await wipe(stays=0)
            await cycles(dut)


@cocotb.test()
async def fixes_what_a_key_may_do(dut):
    inputs = {"keys_stay_i": 0, "idle_i": 1, "fixes_i": 0, "write_i": 0, "address_i": 0, "data_i": 0}
    await reset(dut, table_q_i=(1 << 22) + 1, **inputs)

    async def write(at, data, of_prime=False):
        """The faults of a write: fixed, a wrong secret, a wrong setting."""
        dut.write_i.value, dut.address_i.value = 1, at | (MAP["PRIMES"] << 8 if of_prime else 0)
        dut.data_i.value = data
        faults = await seen(dut, "fixed_o", "wrong_secret_o", "wrong_o")
        await cycles(dut)
        dut.write_i.value = 0
        return faults

    async def wipe(stays):
        dut.keys_stay_i.value, dut.rst_i.value = stays, 1
        await cycles(dut)
        dut.rst_i.value = 0

    right = [0, 0, 0]
    for value in (0, 1, 2, 4, 5, 6):
        assert await write(MAP["POLICY"], value) == right
        assert (await seen(dut, "policy_o"))[0] == value
        await cycles(dut)
        assert await write(MAP["POLICY"], 3 | value & 4) == [0, 0, 1]
        for bit in range(3, 32):
            assert await write(MAP["POLICY"], value | 1 << bit) == [0, 0, 1], bit
    for bit in range(32):
        there = bit < 10 or bit == 24 or bit == 16 or bit == 17
        assert await write(MAP["TABLE_PLACE"], 1 << bit) == [0, 0, int(not there)], bit
    assert await write(MAP["TABLE_PLACE"], 3 << 16) == [0, 0, 1], "a fourth prime of three"

    # Eight words, in order, not all alike: whatever word is left out, or is the one that differs.
    secret = [0x0101_0101 * (i + 1) for i in range(8)]
    for left_out in range(8):
        for i in range(8):
            place = i if i != left_out else (i + 1) % 8
            await write(MAP["DEVICE_SECRET"] + place, secret[place])
        assert (await seen(dut, "secret_entered_o"))[0] == 0, left_out
        await cycles(dut)
    for word in range(8):
        for byte in range(4):
            data = [0x5A5A_5A5A] * 8
            data[word] ^= 1 << 8 * byte
            faults = [await write(MAP["DEVICE_SECRET"] + i, x) for i, x in enumerate(data)]
            assert faults == [right] * 8, (word, byte)
    assert [await write(MAP["DEVICE_SECRET"] + i, 0x5A5A_5A5A) for i in range(8)][7] == [0, 1, 0]
    for i, word in enumerate(secret):
        await write(MAP["DEVICE_SECRET"] + i, word)
    assert (await seen(dut, "secret_entered_o"))[0] == 1
    await cycles(dut)

    # What the first command fixes, address by address, and what it leaves.
    policies = constants()
    fixed = {MAP["POLICY"], *range(MAP["DEVICE_SECRET"], MAP["DEVICE_SECRET"] + 8)}
    for key in ("TAG_KEY", "RESULT_KEY"):
        fixed |= set(range(MAP[key], MAP[key] + 12))
    counted = {MAP["TABLE_DATA"], MAP["PUBLIC_KEY_DATA"]}  # checked against a prime
    for policy in (policies["DECRYPT_ALWAYS"], policies["DECRYPT_TAGGED"]):
        await wipe(stays=0)
        await write(MAP["POLICY"], policy)
        dut.fixes_i.value = 1
        await cycles(dut)
        dut.fixes_i.value = 0
        for at in sorted(set(range(72)) - counted):
            value = 2 if at == MAP["T"] else 0
            assert (await write(at, value))[0] == (at in fixed), at
        for at in range(8 * 3):
            number = at % 8
            fraction = number in (MAP["PRIME_FRACTION"], MAP["PRIME_FRACTION"] + 1)
            is_fixed = fraction and policy == policies["DECRYPT_TAGGED"]
            assert (await write(at, (1 << 22) + (1 << 11) + 1, of_prime=True))[0] == is_fixed, at
        await wipe(stays=1)
        assert (await write(MAP["POLICY"], 0))[0] == 1, "a wipe that spares keys spares their policy"
        await upsets(dut, wipe)
        assert await seen(dut, "policy_o", "device_secret_o", "secret_entered_o") == [0, 0, 0]
        await cycles(dut)
        assert (await write(MAP["POLICY"], 0))[0] == 0


def test_settings():
    shape = {"LOG2_N": 10, "WIDTH": 27, "PRIMES": 3, "LOG2_PRIMES": 2}
    simulate("cm_client_settings", shape, ["fixes_what_a_key_may_do"])


@cocotb.test()
async def a_policy_that_changes_wipes_the_key(dut):
    from test_client_axi import started

    bus = await started(dut)
    for name in ("policy_o", "is_fixed_o"):
        for i in range(8):
            await bus.write(0x4000 + 4 * (MAP["DEVICE_SECRET"] + i), 0x1234_5678 + i)
        await bus.write(0x4000 + 4 * MAP["POLICY"], 4)
        await cycles(dut, 3)
        assert int(dut.u_engine.device_secret.value)
        register = getattr(dut.u_engine.u_settings, name)
        register.value = int(register.value) ^ 1
        await cycles(dut, 4)
        await bus.idle()
        assert await bus.read(8) >> 8 == FAULTS["POLICY"], name
        assert not int(dut.u_engine.device_secret.value) and not int(dut.u_engine.policy.value)
        await bus.write(0x18, 1)  # CONTROL.RESET
        await bus.idle()


def test_an_upset_policy():
    shape = {"LOG2_N": 10, "LOG2_UNITS": 1, "PRIMES": 2, "DEEP": 0}
    simulate("cm_client_axi", shape, ["a_policy_that_changes_wipes_the_key"], seed=5)


# ---- keys as they are entered ----


@cocotb.test()
async def knows_what_no_key_has(dut):
    rng = random.Random(settings()["seed"])
    names = ("keys_stay", "accepted", "code", "secret_loaded", "last_prime", "table_place", "table", "key")
    names += ("trits", "replaces_primes", "no_residue", "data", "table_prime", "table_component")
    await reset(dut, **{f"{name}_i": 0 for name in (*names, "table_index")})
    length = 1 << settings()["LOG2_N"] - 3

    async def write(data, at, kind="trits"):
        dut.data_i.value, dut.table_index_i.value = data, at
        getattr(dut, f"{kind}_i").value = 1
        (wrong,) = await seen(dut, "wrong_o")
        await cycles(dut)
        getattr(dut, f"{kind}_i").value = 0
        return wrong

    async def there():
        (whole,) = await seen(dut, "trits_there_o")
        await cycles(dut)
        return whole

    digits = lambda: sum(rng.choice((0, 1, 2)) << 2 * i for i in range(8))  # noqa: E731
    words = [digits() for _ in range(length)]
    for place in range(8):
        assert await write(words[0] | 3 << 2 * place, 0) == 1, f"a digit of 3 in place {place}"
    for left_out in range(length):
        await write(0, 0, "table_place")
        for i in range(length):
            assert await write(words[i], i if i != left_out else (i + 1) % length) == 0
        assert await there() == 0, left_out
    await write(0, 0, "table_place")
    for i, word in enumerate(words):
        assert await there() == 0
        assert await write(word, i) == 0
    assert await there() == 1
    zeros = [await write(0, i, "key") for i in range(4)]
    assert zeros == [0, 0, 0, 1]
    for bit in range(32):
        await write(0, 0, "table_place")
        zeros = [await write(1 << bit if i == 2 else 0, i, "key") for i in range(5)]
        assert zeros == [0] * 5, bit
    dut.no_residue_i.value = 1
    assert await write(5, 0, "key") == 1


def test_key_check():
    shape = {"LOG2_N": 7, "LOG2_PRIMES": 2}
    simulate("cm_client_key_check", shape, ["knows_what_no_key_has"], seed=4)


# ---- faults ----

IN_ORDER = {
    "busy": "BUSY",
    "command": "COMMAND",
    "no_key": "NO_KEY",
    "policy": "POLICY",
    "unfit": "SETTINGS",
    "frame": "FRAME",
    "result": "RESULT",
    "counter": "COUNTER",
    "window": "WINDOW",
    "entropy": "ENTROPY",
    "range": "RANGE",
    "too_many": "TOO_MANY",
    "key": "KEY",
    "setting": "SETTINGS",
}
KEEP_KEYS = {"frame", "result", "range", "too_many"}


@cocotb.test()
async def names_the_first_and_wipes(dut):
    names = list(IN_ORDER)
    outputs = ("fault_o", "raised_o", "clears_o", "wipes_keys_o", "keys_stay_o")
    length = 1 << settings()["LOG2_N"]
    await reset(dut, abort_i=0, accepted_i=0, **{f"{name}_i": 0 for name in names})

    async def pulse(*given):
        for name in given:
            getattr(dut, f"{name}_i").value = 1
        await cycles(dut)
        for name in given:
            getattr(dut, f"{name}_i").value = 0
        return await seen(dut, *outputs)

    async def rest():
        await cycles(dut)
        while (await seen(dut, "wiping_o"))[0]:
            await cycles(dut)
        await cycles(dut)

    for first, name in enumerate(names):
        for other in (None, *names[first + 1 :]):
            await rest()
            fault, raised, clears, _, stay = await pulse(*filter(None, (name, other)))
            wanted = (FAULTS[IN_ORDER[name]], 1, 1, int(name in KEEP_KEYS))
            assert (fault, raised, clears, stay) == wanted, (name, other)
            await cycles(dut)
            fault, raised, _, keys, _ = await seen(dut, *outputs)
            assert (fault, raised, keys) == (FAULTS[IN_ORDER[name]], 0, int(name not in KEEP_KEYS))
    await rest()
    assert (await pulse("accepted"))[0] == 0, "until a command is accepted"
    await cycles(dut)
    fault, raised, clears, _, stay = await pulse("abort")
    assert (fault, raised, clears, stay) == (0, 0, 1, 1), "an abort is no fault, and spares keys"

    # During a wipe that spares keys, each fault that does not; and a setting that is written meanwhile.
    for name in names:
        await rest()
        await pulse("frame")
        await cycles(dut, length // 2)
        fault, raised, clears, _, _ = await pulse(name)
        again = name not in KEEP_KEYS
        wanted = FAULTS[IN_ORDER[name if again else "frame"]]
        assert (fault, raised, clears) == (wanted, again, again), name
        if again:  # all addresses anew, with those of keys
            for _ in range(length):
                await cycles(dut)
                assert await seen(dut, "wipes_o", "wipes_keys_o") == [1, 1]
            await cycles(dut)
            assert await seen(dut, "wiping_o", "wipes_keys_o") == [0, 0]


def test_faults():
    simulate("cm_client_faults", {"LOG2_N": 4}, ["names_the_first_and_wipes"])
