# SPDX-License-Identifier: Apache-2.0
"""The client engine's refusals: of its key, of keys that hide nothing, of repeated counters, and of settings
that do not exist; and the protection of its keys."""

import struct

import pytest
from client import Client, constants, montgomery_r
from test_client_engine import (
    SMALL,
    case_of,
    crc32c,
    decrypted,
    encrypt,
    frames_of,
    key_of,
    messages_of,
    offer,
    prepared,
    states_after,
)

NEVER, TAGGED, ALWAYS = (constants()[f"DECRYPT_{name}"] for name in ("NEVER", "TAGGED", "ALWAYS"))
ENCRYPTS = 1 << constants()["POLICY_ENCRYPT"]
HEADER = 44


def fault(name):
    return constants()[f"FAULT_{name}"]


def given(change, command="COMMAND_SYMMETRIC", policy=None, **wanted):
    """The faults of a change to a case that is whole, and of a command behind it; no byte leaves."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=200, **wanted)
    engine = prepared(case, SMALL, policy)
    change(engine, case)
    engine.run(1)
    engine.wait_for_wipe()
    engine.command(command)
    engine.run(20_000)
    outcome = engine.simulate()
    assert outcome.words == 0 and not outcome.results
    return outcome.faults


def wiped_by(name):
    """A fault that leaves no key."""
    return [fault(name), fault("NO_KEY")]


# ---- the key's policy ----


def packed(residues, bits):
    return sum(x << bits * i for i, x in enumerate(residues)).to_bytes(len(residues) * bits // 8, "little")


def asking_for_the_key(case):
    """Frames of c1 = round(Q / 4) and c0 = 0, with one prime: t = 4 makes of them the key modulo 4."""
    (q,), n = case["primes"], 1 << case["log2_n"]
    bits, frames, rest = q.bit_length(), b"", frames_of(case)[0]
    for residue in ((q + 2) // 4, 0):
        length = HEADER + n * bits // 8
        frame = rest[:HEADER] + packed([residue] * n, bits)
        frames, rest = frames + frame + crc32c(frame).to_bytes(4, "little"), rest[length + 4 :]
    return frames


def asked_for_its_key(policy):
    """Return the answer of an engine that drew its key, in words of two values."""
    case = case_of(set="n1024_q26", t=4, public=True, seed=201)
    key = key_of({**case, "public": []})
    engine = Client(SMALL)
    engine.wait_for_wipe()
    if policy is not None:
        engine.set("MAP_POLICY", policy)
    engine.load(key, secret=False, fixes=False)
    engine.message_space(key, 4, signed=False, coefficients=False)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.command("COMMAND_GENERATE")
    engine.run()
    engine.read(asking_for_the_key(case))
    engine.command("COMMAND_DECRYPT")
    engine.run(30_000)
    return engine.simulate()


@pytest.mark.parametrize("policy", [None, NEVER, ENCRYPTS, TAGGED, ENCRYPTS | TAGGED])
def test_the_key_cannot_be_asked_for(policy):
    """One decryption would give all of it."""
    outcome = asked_for_its_key(policy)
    assert not outcome.results and not outcome.rest and outcome.faults == [fault("POLICY")]


def test_a_key_that_may_always_decrypt_can_be_asked_for():
    """So the frames above are what they are said to be."""
    outcome = asked_for_its_key(ALWAYS)
    (words,) = outcome.results
    digits = {x for word in words for x in (word & 0xFFFF, word >> 16)}
    assert outcome.fault == 0 and digits == {0, 1, 3}


@pytest.mark.parametrize("policy", [NEVER, ALWAYS, TAGGED])
def test_a_key_that_may_not_encrypt(policy):
    """A public key is no secret: encryption under it is not the secret key's."""
    assert given(lambda engine, case: None, policy=policy) == [fault("POLICY")]
    case = case_of(set="n1024_q26", t=1000, public=True, seed=202)
    engine = prepared(case, SMALL, policy)
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


def tagged_case(**wanted):
    return case_of(set="n1024_q26", t=1000, public=True, tagged="again", seed=203, **wanted)


AT_RANDOM, TAGGED_HEADER = 56, 64


def answered(engine, case):
    frames = frames_of(case)[0]
    engine.answer(case["counter"], frames[AT_RANDOM:TAGGED_HEADER])
    engine.read(frames)
    engine.command("COMMAND_DECRYPT")
    engine.run(30_000)


def test_a_key_that_decrypts_what_is_tagged_alone():
    case = tagged_case()
    engine = prepared(case, SMALL, TAGGED)
    answered(engine, case)
    engine.options = 0
    engine.message_space(key_of(case), case["t"], signed=False, coefficients=False, fractions=False)
    answered(engine, case)
    outcome = engine.simulate()
    assert outcome.faults == [fault("POLICY")]
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


def test_a_tag_binds_t():
    """With another one, the result would show its noise, and so the key."""
    case = tagged_case()
    engine = prepared(case, SMALL, TAGGED)
    engine.set("MAP_T", 1 << 25)
    answered(engine, case)
    outcome = engine.simulate()
    assert outcome.faults == [fault("SETTINGS")] and not outcome.results


FIXED = {
    "policy": ("MAP_POLICY", 0),
    "device secret": ("MAP_DEVICE_SECRET", 0),
    "its end": ("MAP_DEVICE_SECRET", 7),
    "tag key": ("MAP_TAG_KEY", 0),
    "its end ": ("MAP_TAG_KEY", 11),
    "result key": ("MAP_RESULT_KEY", 0),
    "its end  ": ("MAP_RESULT_KEY", 11),
}


@pytest.mark.parametrize("policy", [TAGGED | ENCRYPTS, ALWAYS | ENCRYPTS, ENCRYPTS])
@pytest.mark.parametrize("what", FIXED)
def test_what_the_first_command_fixes(what, policy):
    """Who writes it then has no key."""
    name, word = FIXED[what]
    faults = given(lambda engine, case: engine.set(name, 6, place=word), policy=policy)
    assert faults == wiped_by("POLICY")


@pytest.mark.parametrize("word", [0, 1])
def test_fractions_are_fixed_where_tags_decide(word):
    """They choose which part of a result leaves."""

    def change(engine, case):
        engine.set_prime(0, "MAP_PRIME_FRACTION", 1 << 31, word)

    assert given(change, policy=TAGGED | ENCRYPTS) == wiped_by("POLICY")


def test_a_command_that_needs_no_secret_key_fixes_as_well():
    case = case_of(set="n1024_q26", t=1000, public=True, seed=204)
    engine = Client(SMALL)
    engine.wait_for_wipe()
    engine.load(key_of(case), secret=False)
    engine.message_space(key_of(case), 1000, signed=False, coefficients=False)
    engine.counter(case["counter"])
    offer(engine, case)
    encrypt(engine, case)
    engine.set("MAP_POLICY", ALWAYS)
    engine.run(1)
    outcome = engine.simulate()
    assert outcome.frames == frames_of(case) and outcome.faults == [fault("POLICY")]


@pytest.mark.parametrize("policy", [NEVER | ENCRYPTS, ALWAYS])
def test_tables_fix_nothing(policy):
    """They are made before policy and secrets are entered, with tags too."""
    case = case_of(set="n1024_q26", t=1000, seed=201, tagged="first")
    engine, key = Client(SMALL), key_of(case)
    engine.options = 1 << constants()["SHAPE_TAGS"]
    engine.wait_for_wipe()
    engine.set("MAP_SHAPE", len(key.primes) - 1 | engine.options)
    engine.set("MAP_POLICY", TAGGED)
    engine.command("COMMAND_TABLES")
    engine.run()
    engine.policy = policy
    engine.load(key)
    engine.set("MAP_POLICY", policy)
    engine.run(1)
    assert engine.simulate().faults == [fault("POLICY")]


@pytest.mark.parametrize("between", ["a value out of range", "an abort", "a wrong frame"])
def test_what_keeps_the_key_keeps_its_policy(between):
    case = case_of(set="n1024_q26", t=1000, public=True, seed=205)
    engine = prepared(case, SMALL, ENCRYPTS | (ALWAYS if between == "a wrong frame" else NEVER))
    if between == "a value out of range":
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values([1000])
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
    elif between == "a wrong frame":
        engine.read(bytes(4))
        engine.command("COMMAND_DECRYPT")
        engine.run()
    else:
        engine.script.append("abort")
    engine.wait_for_wipe()
    engine.set("MAP_POLICY", ALWAYS)
    engine.run(1)
    assert engine.simulate().faults[-1] == fault("POLICY")


@pytest.mark.parametrize("value", [3, 7, 8, 1 << 31])
def test_a_policy_that_there_is_not(value):
    engine = Client(SMALL)
    engine.wait_for_wipe()
    engine.set("MAP_POLICY", value)
    engine.run(1)
    assert engine.simulate().faults == [fault("SETTINGS")]


# ---- counters ----


@pytest.mark.parametrize(("counter", "below"), [(7, 1), (1 << 32, 1), (1 << 40, 1 << 39), (7, 7)])
def test_a_counter_that_falls(counter, below):
    def change(engine, case):
        engine.set("MAP_COUNTER", counter - below, words=2)

    assert given(change, counter=counter) == wiped_by("COUNTER")


def test_a_counter_is_used_once():
    """With the same draw, the difference of two ciphertexts is that of their messages."""
    case = case_of(set="n1024_q26", t=1000, seed=206)
    engine = prepared(case, SMALL)
    offer(engine, case)
    encrypt(engine, case)
    engine.set("MAP_COUNTER", case["counter"], words=2)
    engine.run(1)
    engine.wait_for_wipe()
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.frames == frames_of(case)
    assert outcome.faults == wiped_by("COUNTER")


def test_a_counter_that_was_not_set_since_the_wipe():
    """Whoever forgets it would use numbers again."""
    case = case_of(set="n1024_q26", t=1000, seed=206)
    engine = prepared(case, SMALL)
    engine.script.append("command 15")
    engine.run()
    engine.wait_for_wipe()
    engine.start_up()
    engine.load(key_of(case))
    engine.set("MAP_COUNTER_END", 2**64 - 1, words=2)
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.words == 0 and outcome.faults == [fault("COMMAND"), fault("COUNTER")]


@pytest.mark.parametrize("ahead", [0, 1, 1 << 20])
def test_a_counter_that_rises(ahead):
    """Also where its lower word falls; that one is taken with the upper one."""
    first = (1 << 32) - 1
    case = case_of(set="n1024_q26", t=1000, seed=207, counter=first + ahead)
    engine = prepared({**case, "counter": first}, SMALL)
    engine.counter(first + ahead)
    offer(engine, case)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


def test_a_counter_may_fall_before_the_first_command():
    case = case_of(set="n1024_q26", t=1000, seed=208, counter=9)

    def before(engine):
        engine.counter(1 << 50)
        engine.counter(9)

    engine = prepared(case, SMALL, before=before)
    offer(engine, case)
    encrypt(engine, case)
    assert engine.simulate().frames == frames_of(case)


# ---- keys that hide nothing ----


def public_key(case, residues):
    """Enters one polynomial anew, as residues times R."""

    def change(engine, _):
        engine.set("MAP_TABLE_PLACE", 1 << 24)
        for x in residues:
            engine.set("MAP_PUBLIC_KEY_DATA", x)

    return change


def good_residues(case):
    r, q = montgomery_r(SMALL.WIDTH, SMALL.LOG2_N), case["primes"][0]
    return [x * r % q for x in case["public"][0][1]]


@pytest.mark.parametrize("at", [0, 1, 500, 1020])
@pytest.mark.parametrize("zeros", [4, 3])
def test_a_public_key_with_zeros(at, zeros):
    """As of memory that was erased, whole or in part: four in a row are no key's."""
    case = case_of(set="n1024_q26", t=1000, public=True, seed=200)
    residues = good_residues(case)
    residues[at : at + zeros] = [0] * zeros
    if zeros == 4:  # the engine wipes itself, and takes nothing more
        faults = given(public_key(case, residues[: at + zeros]), "COMMAND_PUBLIC")
        assert faults == wiped_by("KEY")
    else:
        engine = prepared(case, SMALL)
        public_key(case, residues)(engine, case)
        engine.run(1)
        assert engine.simulate().faults == []


@pytest.mark.parametrize(
    "beyond",
    [lambda q: q, lambda q: 2**32 - 1, lambda q: 1 << 27, lambda q: q | 1 << 31],
    ids=["q", "ones", "28 bits", "32 bits"],
)
def test_a_public_key_with_a_number_that_is_no_residue(beyond):
    case = case_of(set="n1024_q26", t=1000, public=True, seed=200)
    residues = [*good_residues(case)[:5], beyond(case["primes"][0])]
    assert given(public_key(case, residues), "COMMAND_PUBLIC") == wiped_by("KEY")


@pytest.mark.parametrize("word", [0x5555, 0, 0xAAAA, 0x1249], ids=hex)
@pytest.mark.parametrize("at", [0, 5, 120])
def test_a_secret_key_of_one_word(word, at):
    """Zeros, erased memory, any eight coefficients: eight such words are no key's."""

    def change(engine, case):
        words = [trits for (trits,) in struct.iter_unpack("<H", bytes.fromhex(case["ternary"]))]
        engine.set("MAP_TABLE_PLACE", 0)
        for trits in (*words[:at], *[word] * 8):
            engine.set("MAP_TRITS", trits)

    assert given(change) == wiped_by("KEY")


def test_a_secret_key_with_a_part_of_zeros():
    """Seven words that are alike may be a key's."""
    case = case_of(set="n1024_q26", t=1000, seed=209)
    words = [trits for (trits,) in struct.iter_unpack("<H", bytes.fromhex(case["ternary"]))]
    words[3:10] = [0x5555] * 7
    kept = {**case, "ternary": struct.pack(f"<{len(words)}H", *words).hex()}
    engine = prepared(kept, SMALL)
    assert engine.simulate().faults == []


@pytest.mark.parametrize("words", [0, 7])
@pytest.mark.parametrize("command", ["COMMAND_SYMMETRIC", "COMMAND_PUBLIC", "COMMAND_PUBLISH"])
def test_encryption_without_a_device_secret(command, words):
    case = case_of(set="n1024_q26", t=1000, public=True, seed=200)
    engine = Client(SMALL)
    engine.wait_for_wipe()
    engine.set("MAP_POLICY", engine.policy)
    for word in range(words):
        engine.set("MAP_DEVICE_SECRET", 0x12345678 + word, place=word)
    engine.load(key_of(case), fixes=False)
    engine.message_space(key_of(case), 1000, signed=False, coefficients=False)
    engine.counter(1)
    offer(engine, case)
    engine.command(command)
    engine.run(20_000)
    outcome = engine.simulate()
    assert outcome.faults == [fault("NO_KEY")] and outcome.words == 0


@pytest.mark.parametrize("byte", [0, 0xFF, 0x5A])
def test_a_device_secret_of_erased_memory(byte):
    engine = Client(SMALL)
    engine.wait_for_wipe()
    engine.set("MAP_DEVICE_SECRET", int.from_bytes(bytes([byte] * 32), "little"), words=8)
    engine.run(1)
    assert engine.simulate().faults == [fault("KEY")]


# ---- settings ----

WRONG = {
    "t of 0": lambda engine: engine.set("MAP_T", 0),
    "t of 1": lambda engine: engine.set("MAP_T", 1),
    "t of 28 bits": lambda engine: engine.set("MAP_T", (1 << 27) + 1024),
    "Q mod t of 28 bits": lambda engine: engine.set("MAP_T_FACTOR", 1 << 27),
    "half of t of 28 bits": lambda engine: engine.set("MAP_T_HALF", 1 << 27),
    "a third prime of two": lambda engine: engine.set_prime(2, "MAP_PRIME_Q", 0x3FFF001),
    "a factor of a prime that there is not": lambda engine: engine.set_prime(7, "MAP_PRIME_FACTOR", 1),
    "a factor of 28 bits": lambda engine: engine.set_prime(0, "MAP_PRIME_FACTOR", 1 << 27),
    "the table of a prime that there is not": lambda engine: engine.set("MAP_TABLE_PLACE", 2 << 16),
    "a place behind the table": lambda engine: engine.set("MAP_TABLE_PLACE", 1024),
    "a component that there is not": lambda engine: engine.set("MAP_TABLE_PLACE", 1 << 25),
    "a twiddle that is no residue": lambda engine: engine.set("MAP_TABLE_DATA", 1 << 26),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_setting_that_there_is_not(what):
    assert given(lambda engine, case: WRONG[what](engine)) == wiped_by("SETTINGS")


@pytest.mark.parametrize("t", ["the prime", "above it"])
def test_t_is_below_every_prime(t):
    def change(engine, case):
        value = case["primes"][0] + (t == "above it")
        engine.set("MAP_T", value)
        engine.set("MAP_SCALE", value, words=2)

    assert given(change) == [fault("SETTINGS")]


def test_frames_name_the_t_that_is_used():
    assert given(lambda engine, case: engine.set("MAP_SCALE", 999)) == [fault("SETTINGS")]


# ---- what keeps keys ----


@pytest.mark.parametrize(
    ("values", "name"), [([5, 1000], "RANGE"), ([1] * 1025, "TOO_MANY")], ids=["range", "too many"]
)
def test_values_that_are_refused_leave_the_keys(values, name):
    case = case_of(set="n1024_q26", t=1000, ciphertexts=2, seed=210)
    engine = prepared(case, SMALL)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.values(values)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    engine.wait_for_wipe()
    engine.script.append("forget")
    engine.entropy(bytes.fromhex(case["draws"][1]))
    engine.values(case["messages"][1])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [fault(name)] and len(outcome.frames) == 1
    assert outcome.frames[0].endswith(frames_of(case)[1]), "behind what had left of the first one"


@pytest.mark.parametrize("words", [1, 11, 12, 400])
def test_half_a_frame_is_left_by_an_abort(words):
    case = case_of(set="n1024_q26", t=1000, public=True, seed=211)
    engine = prepared(case, SMALL)
    frames = frames_of(case)[0]
    engine.read(frames[: 4 * words])
    engine.command("COMMAND_DECRYPT")
    engine.run(5_000)
    engine.script.append("abort")
    engine.wait_for_wipe()
    engine.read(frames)
    engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [] and outcome.idle
    assert [decrypted(case, found) for found in outcome.results] == messages_of(case)


@pytest.mark.parametrize("cycles", [0, 60, 700, 2500])
def test_an_encryption_is_left_by_an_abort(cycles):
    """Its counter is used up."""
    case = case_of(set="n1024_q26", t=1000, ciphertexts=2, seed=212)
    engine = prepared(case, SMALL)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.values(case["messages"][0][:500], last=False)
    engine.command("COMMAND_SYMMETRIC")
    engine.run(cycles)
    engine.script.append("abort")
    engine.wait_for_wipe()
    engine.script.append("forget")
    engine.entropy(bytes.fromhex(case["draws"][1]))
    engine.values(case["messages"][1])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [] and outcome.frames[-1].endswith(frames_of(case)[1])


def test_half_a_key_is_no_key():
    case = case_of(set="n1024_q26", t=1000, seed=213)
    engine = prepared(case, SMALL)
    engine.set("MAP_TABLE_PLACE", 0)
    for (trits,) in struct.iter_unpack("<H", bytes.fromhex(case["ternary"])):
        engine.set("MAP_TRITS", trits)
    engine.command("COMMAND_LOAD_KEY")
    engine.run(800)
    engine.script.append("abort")
    engine.wait_for_wipe()
    engine.command("COMMAND_SYMMETRIC")
    engine.run(20_000)
    outcome = engine.simulate()
    assert outcome.faults == [fault("NO_KEY")] and outcome.words == 0


def abort(engine):
    engine.script.append("abort")


def refused(engine):
    """A value out of range behind those that have entered."""
    engine.script.append("forget")
    engine.values([1 << 30])
    engine.run(1_000)


@pytest.mark.slow  # it builds another simulation
@pytest.mark.parametrize("wipe", [abort, refused])
def test_nothing_is_left_of_a_message_that_was_dropped(wipe):
    """No variable tells one message from another."""
    first, second = states_after(wipe, "COMMAND_SYMMETRIC", 300, secrets=("messages",), public=False)
    assert len(first) > 1000
    assert [name for name in first if first[name] != second[name]] == []


# ---- the largest value ----


@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("largest", [1, 100, 499])
def test_a_value_beyond_the_largest(largest, signed):
    """Though it is below t."""
    values = [largest, -largest, 0] if signed else [largest, 0]
    case = case_of(set="n1024_q26", t=1000, signed=signed, messages=[values, values], seed=214)
    for beyond in (largest + 1, -largest - 1)[: 1 + signed]:
        engine = prepared(case, SMALL)
        engine.set("MAP_LARGEST", largest)
        engine.entropy(bytes.fromhex(case["draws"][0]))
        engine.values([*values, beyond])
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
        engine.wait_for_wipe()
        engine.script.append("forget")
        engine.entropy(bytes.fromhex(case["draws"][1]))
        engine.values(values)
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
        outcome = engine.simulate()
        assert outcome.faults == [fault("RANGE")] and outcome.frames == frames_of(case)[1:]


def test_a_largest_value_must_be_set():
    assert given(lambda engine, case: engine.set("MAP_LARGEST", 0)) == [fault("SETTINGS")]
