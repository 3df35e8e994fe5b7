# SPDX-License-Identifier: Apache-2.0
"""The client engine gives the C library's bytes, whatever the streams do, and says what is wrong."""

import json
import random
import subprocess
from dataclasses import replace
from functools import cache

import client_bench
import pytest
from client import SILICON, Client, Key, Shape, constants
from simulation import slow

from tools import ROOT

SMALL = Shape(LOG2_N=10, LOG2_UNITS=2, PRIMES=2, DEEP=0)
MEDIUM = Shape(LOG2_N=11, LOG2_UNITS=2, PRIMES=2, DEEP=0)
LARGE = Shape()
SHAKE256 = 2
"""cm_xof_kind."""
SHAPES = {"n1024_q26": SMALL, "n4096_q26x3_p27": LARGE}


@cache
def cases(wanted):
    """Cases of client_cases.py, which needs the C library, in .venv."""
    command = [ROOT / ".venv/bin/python", ROOT / "rtl/tools/client_cases.py", wanted]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def case_of(**wanted):
    return cases(json.dumps([wanted]))[0]


def key_of(case):
    return Key(
        case["params_id"],
        case["key_id"],
        case["primes"],
        case["roots"],
        bytes.fromhex(case["device_secret"]),
        bytes.fromhex(case["ternary"]),
        case["public"],
    )


def options_of(case):
    tagged = bool(case.get("tag"))
    return (case.get("xof") == SHAKE256) << constants()["SHAPE_SHAKE256"] | tagged << constants()[
        "SHAPE_TAGS"
    ]


def tag(engine, case):
    """The case's settings for frames of version 2, if it has them."""
    if case.get("tag"):
        how = case["tag"]
        engine.tags(bytes.fromhex(how["key"]), how["device"], how["epoch"], how["window"])


def prepared(case, shape, policy=None, before=lambda engine: None):
    """An engine with the case's keys and settings; before: what else the first command fixes."""
    engine, key = Client(shape), key_of(case)
    engine.options = options_of(case)
    engine.policy = engine.policy if policy is None else policy
    engine.wait_for_wipe()
    tag(engine, case)
    before(engine)
    engine.fractions(key)
    engine.load(key)
    signed, coefficients = case["signed"], case["coefficients"]
    engine.message_space(key, case["t"], signed=signed, coefficients=coefficients, fractions=False)
    engine.counter(case["counter"])
    return engine


def offer(engine, case):
    """The case's draws and messages."""
    for draw, message in zip(case["draws"], case["messages"], strict=True):
        engine.entropy(bytes.fromhex(draw))
        engine.values(message)


def encrypt(engine, case):
    for _ in case["messages"]:
        engine.command("COMMAND_PUBLIC" if case["public_key"] else "COMMAND_SYMMETRIC")
    engine.run()


def frames_of(case):
    return [bytes.fromhex(data) for data in case["frames"]]


@pytest.mark.parametrize("vector", [0, 7, 12, 18])
def test_pinned_vectors(vector):
    case = case_of(vector=vector)
    engine = prepared(case, SHAPES[case["set"]])
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
@pytest.mark.parametrize("coefficients", [False, True], ids=["ntt", "coefficients"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_random_messages(name, public, coefficients, stalls):
    case = case_of(
        set=name,
        t=1000 if public else 12289,
        public=public,
        coefficients=coefficients,
        signed=stalls,
        count=1024 - 3 * stalls,
        ciphertexts=3,
        seed=stalls + 2 * public,
    )
    engine = prepared(case, SHAPES[name])
    offer(engine, case)
    if stalls:
        engine.stall(enter=100, leave=128, seed=7)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


def wrong_tables(engine, key):
    """Other twiddles, of which none may be left."""
    for prime in range(len(key.primes)):
        engine.set("MAP_TABLE_PLACE", prime << 16)
        for j in range(1 << engine.shape.LOG2_N):
            engine.set("MAP_TABLE_DATA", 3 + j)


MAKERS = {
    "1024": SMALL,
    "two butterflies": Shape(LOG2_N=10, LOG2_UNITS=1, PRIMES=2, DEEP=1),
    "sixteen butterflies": Shape(LOG2_N=10, LOG2_UNITS=4, PRIMES=2, DEEP=0),
    "standard cells": Shape(LOG2_N=10, LOG2_UNITS=3, PRIMES=2, DEEP=0, MULTIPLIER_WIDTH=SILICON),
    "4096": LARGE,
}
MOST_CYCLES_OF_A_TABLE = {10: 1200, 12: 2900}
"""By log2 of the degree, with the coefficients of a key that are entered next."""


@pytest.mark.parametrize("name", ["1024", "4096", *map(slow, list(MAKERS)[1:-1])])
def test_tables_that_the_engine_makes(name):
    """From two words of each, for encryption and decryption, in place of others."""
    shape = MAKERS[name]
    case = case_of(set="n4096_q26x3_p27" if shape == LARGE else "n1024_q26", t=12289, public=False, seed=96)
    engine, key = Client(shape), key_of(case)
    engine.wait_for_wipe()
    for prime, q in enumerate(key.primes):
        engine.set_prime(prime, "MAP_PRIME_Q", q)
    wrong_tables(engine, key)
    engine.load(key, makes_tables=True)
    engine.message_space(key, case["t"], signed=case["signed"], coefficients=False)
    engine.counter(case["counter"])
    offer(engine, case)
    encrypt(engine, case)
    engine.read(frames_of(case)[0])
    engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)
    assert decrypted(case, outcome.results[0]) == messages_of(case)[0]
    made, loaded = outcome.taken[:2]
    assert loaded - made < MOST_CYCLES_OF_A_TABLE[shape.LOG2_N] * len(key.primes)


@pytest.mark.slow
def test_the_largest_degree():
    """Both ways, with seven primes and sixteen butterflies."""
    shape = Shape(LOG2_N=13, LOG2_UNITS=4, PRIMES=7)
    case = case_of(set="n8192_q26x7_p27", t=65537, seed=95)
    engine = prepared(case, shape)
    offer(engine, case)
    encrypt(engine, case)
    engine.read(frames_of(case)[0])
    engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)
    assert outcome.results == messages_of(case)


@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_a_key_pair_of_its_own(stalls):
    """The secret key that is drawn is the library's of that draw: so are its public key's frames."""
    case = case_of(set="n2048_q26_p27", key_pair=True, seed=90)
    engine, key = Client(MEDIUM), key_of({**case, "public": []})
    if stalls:
        engine.stall(enter=100, leave=128, seed=9)
    engine.wait_for_wipe()
    engine.load(key, secret=False)
    engine.counter(case["counter"])
    engine.entropy(bytes.fromhex(case["key_draw"]))
    engine.command("COMMAND_GENERATE")
    engine.run()
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.command("COMMAND_PUBLISH")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


def test_a_key_of_too_few_primes():
    case = case_of(set="n2048_q26_p27", key_pair=True, seed=90)
    engine, key = Client(MEDIUM), key_of({**case, "public": []})
    engine.wait_for_wipe()
    engine.load(key, secret=False)
    engine.set("MAP_SHAPE", 0)
    engine.entropy(bytes.fromhex(case["key_draw"]))
    engine.command("COMMAND_GENERATE")
    engine.run()
    engine.set("MAP_SHAPE", 1)
    engine.command("COMMAND_PUBLISH")
    engine.run()
    assert engine.simulate().faults == [constants()["FAULT_NO_KEY"]]


def decrypted(case, words):
    """The values of a message's words."""
    return [x for word in words for x in (word & 0xFFFF, word >> 16)] if case["t"] <= 1 << 16 else words


def messages_of(case):
    n = 1 << case["log2_n"]
    return [[x % case["t"] for x in message] + [0] * (n - len(message)) for message in case["messages"]]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("public", [False, True], ids=["seeded", "full"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_decryption(name, public, stalls):
    case = case_of(
        set=name,
        t=1000 if public or name == "n1024_q26" else 65537,
        public=public,
        signed=stalls,
        ciphertexts=3,
        seed=30 + stalls + 2 * public,
    )
    engine = prepared(case, SHAPES[name])
    if stalls:
        engine.stall(enter=60, leave=90, seed=8)
    for frames in frames_of(case):
        engine.read(frames)
    for _ in case["frames"]:
        engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


def test_values_wait_for_the_last_frames_checksum():
    """Also those of a second ciphertext, while the first one's are held up."""
    case = case_of(set="n1024_q26", t=1000, public=True, ciphertexts=2, seed=91)
    engine = prepared(case, SMALL)
    first, second = frames_of(case)
    engine.stall(enter=0, leave=256, seed=1)
    engine.read(first + second[:-4])
    for _ in range(2):
        engine.command("COMMAND_DECRYPT")
    engine.run(40_000)
    engine.stall(enter=0, leave=0, seed=1)
    engine.run(40_000)
    outcome = engine.simulate()
    assert len(outcome.results) == 1 and outcome.rest == []
    engine.read(second[-4:])
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


@pytest.mark.parametrize("name", SHAPES)
def test_values_that_are_held_up(name):
    """The next ciphertexts' frames come in behind them until every set of residues waits to be read."""
    case = case_of(set=name, t=1000, public=True, ciphertexts=3, seed=92)
    engine = prepared(case, SHAPES[name])
    for frames in frames_of(case):
        engine.read(frames)
    engine.stall(enter=0, leave=256, seed=1)
    for _ in case["frames"]:
        engine.command("COMMAND_DECRYPT")
    engine.run(70_000)
    engine.stall(enter=0, leave=0, seed=1)
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


@pytest.mark.parametrize("seed", range(40, 43))
def test_noise_up_to_its_bound(seed):
    """Noise as large as decryption allows, on either side."""
    case = case_of(set="n4096_q26x3_p27", t=65537, edge_noise=True, public=True, seed=seed)
    engine = prepared(case, LARGE)
    engine.read(frames_of(case)[0])
    engine.command("COMMAND_DECRYPT")
    engine.run()
    assert engine.simulate().results == messages_of(case)


def test_other_commands_in_between_and_keys_that_change():
    """Nothing of a command, a message or a key is left for the next one."""
    of = {"set": "n1024_q26", "t": 1000, "public": True}
    first = case_of(**of, seed=11, counter=5)
    fixed = {"device_secret": first["device_secret"], "counter": 6}
    second = case_of(**of, **fixed, seed=12, coefficients=True, signed=True, count=1)
    engine = prepared(first, SMALL)
    offer(engine, first)
    encrypt(engine, first)
    key = key_of(second)
    engine.load(key, fixes=False)
    engine.message_space(key, 1000, signed=True, coefficients=True)
    engine.counter(second["counter"])
    offer(engine, second)
    encrypt(engine, second)
    assert engine.simulate().frames == frames_of(first) + frames_of(second)


def test_a_counter_that_is_not_the_next():
    """Firmware may have used counters without the engine; frames name the one that seeds are derived with."""
    of = {"set": "n1024_q26", "t": 1000, "public": True, "ciphertexts": 2}
    first = case_of(**of, seed=11, counter=2**32 - 9)
    second = case_of(**of, seed=13, counter=2**32 + 3, device_secret=first["device_secret"])
    engine = prepared(first, SMALL)
    offer(engine, first)
    encrypt(engine, first)
    engine.load(key_of(second), secret=False, fixes=False)
    engine.counter(second["counter"])
    offer(engine, second)
    encrypt(engine, second)
    assert engine.simulate().frames == frames_of(first) + frames_of(second)


@pytest.mark.parametrize("carry", [48, 63])
def test_counters_that_carry_far_up(carry):
    """Ciphertexts that follow each other; the first ones leave while the counter has moved on."""
    case = case_of(set="n1024_q26", t=1000, ciphertexts=4, seed=14, counter=2**carry - 2)
    engine = prepared(case, SMALL)
    offer(engine, case)
    encrypt(engine, case)
    assert engine.simulate().frames == frames_of(case)


@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
def test_coefficients_with_sixteen_butterflies(public):
    """A transform takes less time than the load of the next prime's set."""
    case = case_of(set="n4096_q26x3_p27", t=40961, public=public, coefficients=True, seed=97)
    engine = prepared(case, Shape(LOG2_UNITS=4, DEEP=0))
    offer(engine, case)
    encrypt(engine, case)
    assert engine.simulate().frames == frames_of(case)


# ---- faults ----


def case_with_draws():
    return case_of(set="n1024_q26", t=12289, ciphertexts=2, seed=21)


@pytest.mark.parametrize("words", [0, 3, 7])
def test_a_ciphertext_does_not_wait_for_the_random_words_of_the_next(words):
    case = case_of(set="n1024_q26", t=1000, ciphertexts=3, seed=22)
    engine = prepared(case, SMALL)
    draw = bytes.fromhex(case["draws"][2])
    for bytes_there in (*map(bytes.fromhex, case["draws"][:2]), draw[: 4 * words]):
        engine.entropy(bytes_there)
    for message in case["messages"]:
        engine.values(message)
        engine.command("COMMAND_SYMMETRIC")
    engine.run(30_000)
    engine.entropy(draw[4 * words :])
    engine.run()
    outcome = engine.simulate()
    assert outcome.frames == frames_of(case)
    assert outcome.last_words[1] < 30_000 < outcome.last_words[2]


def test_reset_in_the_middle_of_a_ciphertext():
    case = case_with_draws()
    engine = prepared(case, SMALL)
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run(1500)
    engine.script.append("reset")
    again = prepared(case, SMALL)
    engine.script += again.script
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


def faulty(prepare, command=constants()["COMMAND_SYMMETRIC"], **changes):
    """The fault that a change to a good case raises; nothing whole leaves."""
    case = {**case_with_draws(), **changes}
    engine = prepared(case, SMALL)
    prepare(engine, case)
    engine.script.append(f"command {command}")
    engine.run()
    outcome = engine.simulate()
    assert not outcome.frames
    return outcome.faults[0]


def test_a_value_out_of_range():
    def prepare(engine, case):
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values([1, case["t"], 2])

    assert faulty(prepare) == constants()["FAULT_RANGE"]


def test_more_values_than_fit():
    def prepare(engine, case):
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values([1] * 1025)

    assert faulty(prepare) == constants()["FAULT_TOO_MANY"]


@pytest.mark.parametrize("draw", [bytes([7] * 32), bytes(range(16)) * 2], ids=["bytes", "halves"])
def test_a_draw_of_a_source_that_is_stuck(draw):
    def prepare(engine, case):
        engine.entropy(draw)
        engine.values([1])

    assert faulty(prepare) == constants()["FAULT_ENTROPY"]


def test_a_draw_that_repeats():
    case = case_with_draws()
    engine = prepared(case, SMALL)
    for _ in range(2):
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values(case["messages"][0])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.frames == frames_of(case)[:1]
    assert outcome.fault == constants()["FAULT_ENTROPY"]


def test_a_source_that_is_weak_behind_wrong_frames():
    """Whoever sends frames must not make the engine begin its tests of random words anew."""
    case, rng = case_with_draws(), random.Random(8)
    engine = prepared(case, SMALL)
    for _ in range(4):
        # 29 bits of 32 are set; the window has 4 draws of 8 words.
        words = [0xFFFFFFFF ^ sum(1 << bit for bit in rng.sample(range(1, 32), 3)) for _ in range(8)]
        engine.entropy(b"".join(word.to_bytes(4, "little") for word in words))
        engine.values(case["messages"][0])
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
        engine.read(bytes(4))
        engine.command("COMMAND_DECRYPT")
        engine.run()
        engine.wait_for_wipe()
    faults = ["FAULT_FRAME"] * 3 + ["FAULT_ENTROPY", "FAULT_NO_KEY"]
    assert engine.simulate().faults == [constants()[name] for name in faults]


def test_a_draw_that_repeats_behind_a_wrong_frame():
    """Whoever sends frames must not make the engine forget the last draw."""
    case = case_with_draws()
    engine = prepared(case, SMALL)
    for _ in range(2):
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values(case["messages"][0])
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
        engine.read(bytes(4))
        engine.command("COMMAND_DECRYPT")
        engine.run()
        engine.wait_for_wipe()
    outcome = engine.simulate()
    faults = ["FAULT_FRAME", "FAULT_ENTROPY", "FAULT_NO_KEY"]
    assert outcome.faults == [constants()[name] for name in faults]
    assert outcome.frames == frames_of(case)[:1]


@pytest.mark.parametrize("counter, end", [(5, 5), (6, 5), (1 << 32, 5), (2**64 - 1, 2**64 - 1), (0, 0)])
def test_no_counter_left(counter, end):
    def prepare(engine, case):
        offer(engine, case)
        engine.set("MAP_COUNTER_END", end, words=2)

    assert faulty(prepare, counter=counter) == constants()["FAULT_COUNTER"]


@pytest.mark.parametrize("primes", [3, 5, 255])
def test_more_primes_than_there_is_room_for(primes):
    def prepare(engine, case):
        offer(engine, case)
        engine.set("MAP_SHAPE", primes - 1)

    assert faulty(prepare) == constants()["FAULT_SETTINGS"]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda q: q + 2, id="not 1 modulo 2 n"),
        pytest.param(lambda q: q + (1 << 27), id="of 28 bits"),
        pytest.param(lambda q: (q & 0xFFFFF) | 1, id="of 20 bits"),
        pytest.param(lambda q: 0, id="none"),
    ],
)
def test_a_prime_that_the_engine_does_not_take(wrong):
    case = case_with_draws()
    engine = prepared(case, SMALL)
    engine.set_prime(0, "MAP_PRIME_Q", wrong(case["primes"][0]))
    engine.run(1)
    assert engine.simulate().faults == [constants()["FAULT_SETTINGS"]]


def test_a_setting_that_a_wipe_loses():
    case = case_with_draws()
    engine = prepared(case, SMALL)
    engine.script.append("reset")
    engine.set("MAP_T", 3)
    engine.run(1)
    assert engine.simulate().faults == [constants()["FAULT_BUSY"]]


def test_a_setting_that_the_wipe_of_a_wrong_frame_loses():
    """No command may go on with the one before, so the keys go as well."""
    case = case_with_draws()
    engine = prepared(case, SMALL)
    engine.read(bytes(4))
    engine.command("COMMAND_DECRYPT")
    engine.run()
    engine.set("MAP_COUNTER", 3)
    engine.wait_for_wipe()
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    assert engine.simulate().faults == [constants()["FAULT_FRAME"], constants()["FAULT_NO_KEY"]]


def test_an_unknown_command():
    assert faulty(lambda engine, case: None, command=15) == constants()["FAULT_COMMAND"]


def test_a_secret_key_with_a_coefficient_of_two():
    def prepare(engine, case):
        engine.set("MAP_TRITS", 0b11 << 4)
        engine.run()

    assert faulty(prepare) == constants()["FAULT_KEY"]


def damaged(case):
    """Frames with one thing wrong: each field, the checksum, a residue of q."""
    good, header = frames_of(case)[0], 44
    for at in (*range(header), header, len(good) - 1, len(good) // 2):
        yield f"byte {at}", bytes(x ^ (at == i) for i, x in enumerate(good))
    q, bits = case["primes"][0], case["primes"][0].bit_length()
    end = header + (bits << case["log2_n"]) // 8
    payload = int.from_bytes(good[header:end], "little")
    payload ^= (payload ^ q) & ((1 << bits) - 1)
    frame = good[:header] + payload.to_bytes(end - header, "little")
    yield "a residue of q", frame + crc32c(frame).to_bytes(4, "little") + good[end + 4 :]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_damaged_frames_are_refused_and_the_key_stays():
    case = case_of(set="n1024_q26", t=1000, public=True, seed=50)
    tables = prepared(case, SMALL)
    for what, frames in damaged(case):
        engine = Client(SMALL)
        engine.script = list(tables.script)
        engine.read(frames)
        engine.command("COMMAND_DECRYPT")
        engine.run(20_000)
        engine.wait_for_wipe()
        engine.script.append("forget")
        engine.read(frames_of(case)[0])
        engine.command("COMMAND_DECRYPT")
        engine.run()
        outcome = engine.simulate()
        assert outcome.faults == [constants()["FAULT_FRAME"]], what
        assert [decrypted(case, words) for words in outcome.results] == messages_of(case), what


@pytest.mark.parametrize(
    "command", ["COMMAND_SYMMETRIC", "COMMAND_PUBLIC", "COMMAND_DECRYPT", "COMMAND_LOAD_KEY"]
)
def test_a_key_that_is_not_there(command):
    """Nothing is encrypted under a key of zeros: neither at first, nor after a fault that wiped it."""
    case = case_with_draws()
    engine = prepared(case, SMALL)
    engine.script.append("command 15")
    engine.run()
    engine.wait_for_wipe()
    engine.command(command)
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_COMMAND"], constants()["FAULT_NO_KEY"]]
    assert outcome.words == 0


@pytest.mark.parametrize("command", ["COMMAND_SYMMETRIC", "COMMAND_PUBLIC"])
def test_keys_are_gone_when_tables_are_made(command):
    """They were entered for the twiddles of before."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=60)
    engine = prepared(case, SMALL)
    engine.command("COMMAND_TABLES")
    engine.run()
    engine.command(command)
    engine.run(20_000)
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_NO_KEY"]] and outcome.words == 0


def test_tables_that_are_made_again():
    """Their first words are taken when TABLES was the last command, too."""
    case = case_of(set="n1024_q26", t=1000, seed=61)
    engine, key = Client(SMALL), key_of(case)
    others = [pow(root, 3, q) for root, q in zip(key.roots, key.primes, strict=True)]
    engine.wait_for_wipe()
    engine.load(replace(key, roots=others), secret=False, fixes=False, makes_tables=True)
    engine.load(key, makes_tables=True)
    engine.message_space(key, case["t"], signed=case["signed"], coefficients=False)
    engine.counter(case["counter"])
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


def other_trits(engine, words, place=0):
    """The beginning of another key, of words that are not all alike."""
    engine.set("MAP_TABLE_PLACE", place)
    for word in range(words):
        engine.set("MAP_TRITS", 0x5554 | (place + word) % 2)


@pytest.mark.parametrize("between", ["a ciphertext", "a wrong frame"])
def test_coefficients_half_of_which_are_overwritten(between):
    """u takes their place, or zeros do."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=50)
    engine = prepared(case, SMALL)
    other_trits(engine, 64)
    for half in range(2):
        for word in range(64 * half):
            engine.set("MAP_TRITS", 0x5554 | word % 2)
        if half == 0 and between == "a ciphertext":
            offer(engine, case)
            encrypt(engine, case)
        elif half == 0:
            engine.read(bytes(44))
            engine.command("COMMAND_DECRYPT")
            engine.run()
            engine.wait_for_wipe()
    engine.command("COMMAND_LOAD_KEY")
    engine.run()
    assert engine.simulate().faults[-1:] == [constants()["FAULT_NO_KEY"]]


def test_coefficients_that_a_wrong_frame_wipes():
    """Keys stay, but not the coefficients of the next one."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=50)
    engine = prepared(case, SMALL)
    other_trits(engine, 128)
    engine.read(bytes(44))
    engine.command("COMMAND_DECRYPT")
    engine.run()
    engine.wait_for_wipe()
    engine.command("COMMAND_LOAD_KEY")
    engine.run()
    assert engine.simulate().faults == [constants()["FAULT_FRAME"], constants()["FAULT_NO_KEY"]]


@pytest.mark.parametrize(
    "change", ["a trit", "a residue", "a prime", "more primes", "a twiddle", "a public key's twiddle"]
)
def test_a_key_that_is_not_whole(change):
    """A key must be entered in order and to its end, and for the primes and twiddles as they are."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=60)
    engine = prepared(case, SMALL)
    command = "COMMAND_SYMMETRIC"
    if change == "a trit":
        other_trits(engine, 127, place=1)
        command = "COMMAND_LOAD_KEY"
    elif change == "a residue":
        engine.set("MAP_TABLE_PLACE", 1 << 24)
        for _ in range(1024):
            engine.set("MAP_PUBLIC_KEY_DATA", 1)
        command = "COMMAND_PUBLIC"
    elif change == "a prime":
        engine.set_prime(0, "MAP_PRIME_Q", case["primes"][0])
    elif change == "more primes":
        engine.set("MAP_SHAPE", 1)
    else:
        engine.set("MAP_TABLE_PLACE", 0)
        engine.set("MAP_TABLE_DATA", 1)
        command = "COMMAND_SYMMETRIC" if change == "a twiddle" else "COMMAND_PUBLIC"
    engine.command(command)
    engine.run()
    assert engine.simulate().faults == [constants()["FAULT_NO_KEY"]]


GOALS = {
    "COMMAND_SYMMETRIC": {"latency": 17_500, "pace": 12_300},
    "COMMAND_PUBLIC": {"latency": 36_500, "pace": 33_500},
    "COMMAND_DECRYPT": {"latency": 25_500, "pace": 22_000},
}


@pytest.mark.parametrize("command", GOALS)
def test_cycles_are_within_their_goal(command):
    case = case_of(
        set=client_bench.SET, t=client_bench.T, public=command != "COMMAND_SYMMETRIC", ciphertexts=5
    )
    times = client_bench.times(LARGE, case, command)
    for what, most in GOALS[command].items():
        assert times[what] <= most, f"{what}: {times[what]} cycles"


# ---- wiping ----

SECRETS = ("ternary", "device_secret", "draws", "messages")


def states_after(prepare, command, cycles, secrets=SECRETS, **wanted):
    """Return every variable's value after a wipe in the middle of a command, for two sets of secrets."""
    of = {"set": "n1024_q26", "t": 1000, "public": True, "ciphertexts": 1, **wanted}
    case, other = case_of(**of, seed=70), case_of(**of, seed=71)
    states = []
    for kept in (case, {**case, **{name: other[name] for name in secrets}}):
        engine = prepared(kept, SMALL)
        offer(engine, kept)
        engine.read(frames_of(case)[0])
        if command != "COMMAND_LOAD_KEY":
            engine.command(command)
        else:
            engine.set("MAP_TABLE_PLACE", 0)
            for at in range(0, len(kept["ternary"]) // 2, 2):
                engine.set("MAP_TRITS", int.from_bytes(bytes.fromhex(kept["ternary"])[at : at + 2], "little"))
            engine.command(command)
        engine.run(cycles)
        prepare(engine)
        engine.wait_for_wipe()
        engine.script += ["forget", "cycles 100", "state"]
        states.append(engine.simulate(state=True).state)
    return states


def reset(engine):
    engine.script.append("reset")


def fault(engine):
    engine.set("MAP_T", 3)  # while it works


@pytest.mark.parametrize("wipe", [reset, fault])
@pytest.mark.parametrize(
    "command", ["COMMAND_SYMMETRIC", "COMMAND_PUBLIC", "COMMAND_DECRYPT", "COMMAND_LOAD_KEY"]
)
def test_nothing_secret_is_left(wipe, command):
    """No variable of the whole engine, in a register or a memory, tells one set of secrets from another."""
    lengths = {
        "COMMAND_DECRYPT": 3500,
        "COMMAND_PUBLIC": 3500,
        "COMMAND_SYMMETRIC": 2500,
        "COMMAND_LOAD_KEY": 1700,
    }
    for part in (0.03, 0.25, 0.5, 0.8):
        first, second = states_after(wipe, command, int(lengths[command] * part))
        assert len(first) > 1000
        assert [name for name in first if first[name] != second[name]] == [], part


@pytest.mark.parametrize("command", ["COMMAND_PUBLIC", "COMMAND_DECRYPT"])
def test_the_time_does_not_depend_on_secrets(command):
    of = {"set": "n1024_q26", "t": 1000, "public": True, "ciphertexts": 1}
    case, other = case_of(**of, seed=70), case_of(**of, seed=71)
    times = []
    for kept in (case, {**case, **{name: other[name] for name in SECRETS}}):
        engine = prepared(kept, SMALL)
        offer(engine, kept)
        engine.read(frames_of(case)[0])
        engine.command(command)
        engine.run()
        outcome = engine.simulate()
        times.append((outcome.taken, outcome.first_words, outcome.last_words))
    assert times[0] == times[1]


def test_wiping_would_be_missed_without_it():
    """The same comparison finds the secrets before they are wiped."""
    first, second = states_after(lambda engine: None, "COMMAND_SYMMETRIC", 2000)
    different = {name for name in first if first[name] != second[name]}
    for name in (
        "device_secret",
        "u_secret.g_prime[0].g_memory.u_pairs.words",
        "u_lanes.g_set[0].g_column[0].u_bank.g_block.words",
    ):
        assert f"TOP.cm_client_engine.{name}" in different


def test_a_refused_frame_leaves_nothing_of_the_message():
    """Frames of two messages under one key, each damaged in its last byte: only what came in differs."""
    states = []
    for seed in (80, 81):
        case = case_of(set="n1024_q26", t=1000, public=True, seed=82)
        message = case_of(set="n1024_q26", t=1000, public=True, seed=82, message_seed=seed)
        frames = bytearray(frames_of(message)[0])
        frames[-1] ^= 1
        engine = prepared(case, SMALL)
        engine.read(bytes(frames))
        engine.command("COMMAND_DECRYPT")
        engine.run(20_000)
        engine.wait_for_wipe()
        engine.script += ["forget", "cycles 100", "state"]
        outcome = engine.simulate(state=True)
        assert outcome.faults == [constants()["FAULT_FRAME"]]
        states.append(outcome.state)
    first, second = states
    assert [name for name in first if first[name] != second[name]] == []
