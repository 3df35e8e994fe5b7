# SPDX-License-Identifier: Apache-2.0
"""The client engine's CKKS gives the C library's bytes and values, and says what is wrong."""

import json
import struct
import subprocess
from functools import cache

import pytest
from client import Client, Shape, constants
from simulation import slow
from test_client_engine import LARGE, MEDIUM, SMALL, encrypt, fault, frames_of, key_of, offer, reset

from tools import ROOT

LARGEST = Shape(LOG2_N=13, LOG2_UNITS=4, PRIMES=7)
SHAPES = {"n1024_q26": SMALL, "n2048_q26_p27": MEDIUM, "n4096_q26x3_p27": LARGE, "n8192_q26x7_p27": LARGEST}
EVERY_SET = [*list(SHAPES)[:3], slow("n8192_q26x7_p27")]
FLOATS = {"number": "float32"}
SHORTS = {"number": "int16", "exponent": -12}
OUT_FLOATS = {"out": "float32"}
OUT_INTEGERS = {"out": "int32", "out_exponent": -10}


@cache
def cases(wanted):
    """Cases of client_ckks_cases.py, which needs the C library, in .venv."""
    command = [ROOT / ".venv/bin/python", ROOT / "rtl/tools/client_ckks_cases.py", wanted]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def case_of(**wanted):
    wanted.setdefault("set", "n1024_q26")
    wanted.setdefault("log2_scale", 18 if wanted["set"] in ("n1024_q26", "n2048_q26_p27") else 22)
    return cases(json.dumps([wanted], sort_keys=True))[0]


def prepared(case, results=False):
    """An engine with the case's keys and settings; results: those of its decryption."""
    engine, key = Client(SHAPES[case["set"]]), key_of(case)
    engine.wait_for_wipe()
    engine.load(key)
    engine.ckks_space(key, case, results=results)
    engine.counter(case["counter"])
    return engine


def decrypt(engine, case):
    for frames in frames_of(case):
        engine.read(frames)
    for _ in case["frames"]:
        engine.command("COMMAND_DECRYPT")
    engine.run()


# ---- encryption ----


@pytest.mark.parametrize("name", EVERY_SET)
@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_the_librarys_frames(name, public, complex_slots, stalls):
    """Floats, and integers with an exponent; all slots, and fewer; back to back."""
    n = 1 << SHAPES[name].LOG2_N
    case = case_of(
        set=name,
        public=public,
        complex=complex_slots,
        ciphertexts=3 if n < 8192 else 1,
        count=n // 2 - 3 * stalls,
        seed=100 + stalls + 2 * public + 4 * complex_slots,
        **(SHORTS if stalls else FLOATS),
    )
    engine = prepared(case)
    offer(engine, case)
    if stalls:
        engine.stall(enter=100, leave=128, seed=7)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


@pytest.mark.parametrize("exponent", [-128, -31, -17, 0, 3, 127])
def test_exponents_of_integers(exponent):
    """From values that all round to 0 to those of which 0 alone fits."""
    case = case_of(set="n4096_q26x3_p27", number="int32", exponent=exponent, count=64, seed=130)
    engine = prepared(case)
    offer(engine, case)
    encrypt(engine, case)
    assert engine.simulate().frames == frames_of(case)


def test_bfv_and_ckks_by_turns():
    """Nothing of a scheme is left for the other, in one engine under one key."""
    case = case_of(public=True, seed=131, **OUT_FLOATS)
    engine, key = prepared({**case, "counter": case["counter"] - 1}), key_of(case)
    engine.message_space(key, 1000, signed=False, coefficients=True)
    engine.entropy(bytes(range(32)))
    engine.values([1, 2, 3])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    engine.ckks_space(key, case)
    engine.counter(case["counter"])
    offer(engine, case)
    encrypt(engine, case)
    engine.ckks_space(key, case, results=True)
    decrypt(engine, case)
    engine.message_space(key, 1000, signed=False, coefficients=False)
    engine.entropy(bytes(range(1, 33)))
    engine.values([5, 6, 7])
    engine.command("COMMAND_PUBLIC")
    engine.run()
    first = engine.simulate()
    engine.read(first.frames[2])
    engine.command("COMMAND_DECRYPT")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0
    assert outcome.frames[1] == frames_of(case)[0]
    assert outcome.results[0] == case["results"][0]
    assert outcome.results[1] == [5 | 6 << 16, 7] + [0] * 510


# ---- decryption ----


@pytest.mark.parametrize("name", EVERY_SET)
@pytest.mark.parametrize("public", [False, True], ids=["seeded", "full"])
@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_the_librarys_values(name, public, complex_slots, stalls):
    n = 1 << SHAPES[name].LOG2_N
    case = case_of(
        set=name,
        log2_scale=16,
        values_limit=20,
        public=public,
        complex=complex_slots,
        ciphertexts=3 if n < 8192 else 1,
        seed=140 + stalls + 2 * public + 4 * complex_slots,
        **(OUT_INTEGERS if stalls else OUT_FLOATS),
    )
    engine = prepared(case, results=True)
    if stalls:
        engine.stall(enter=60, leave=90, seed=8)
    decrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert all(case["results"]) and outcome.results == case["results"]


@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
def test_coefficients_near_half_of_the_prime(complex_slots):
    """Real slots depend on differences modulo q, which may be small where the coefficients are large."""
    q = case_of()["primes"][0]
    half, most = q // 2, q * 2 // 5
    given = [{"0": half - 8}, {"1": half}, {"511": -half}]
    given += (
        [{"513": -half}, {"1023": half}]
        if complex_slots
        else [
            {"600": half},
            {"0": 7, "512": most},
            {"100": most, "924": -most},
            {"7": half, "1017": -1},
            {"8": -half, "1016": 1},
        ]
    )
    case = case_of(log2_scale=1, complex=complex_slots, coefficients=given, seed=150, **OUT_FLOATS)
    engine = prepared(case, results=True)
    decrypt(engine, case)
    assert all(case["results"]) and engine.simulate().results == case["results"]


def refused_and_decrypted(case, good, results=True):
    """Refused frames, and then good ones under the key that stayed."""
    engine = prepared(good, results)
    engine.ckks_space(key_of(good), case, results=results)
    decrypt(engine, case)
    engine.wait_for_wipe()
    engine.script.append("forget")
    engine.ckks_space(key_of(good), good, results=results)
    decrypt(engine, good)
    outcome = engine.simulate()
    assert outcome.results == good["results"]
    return outcome.faults


def test_values_under_another_key_are_refused_and_the_key_stays():
    case = case_of(public=True, log2_scale=12, values_limit=16, seed=151, other_key=True, **OUT_FLOATS)
    assert case["results"] == [None]
    engine = prepared(case, results=True)
    for _ in range(2):
        decrypt(engine, case)
        engine.wait_for_wipe()
        engine.script.append("forget")
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_RESULT"]] * 2
    assert not outcome.results and not outcome.rest


def test_integers_that_do_not_fit_are_refused_and_the_key_stays():
    of = {"public": True, "log2_scale": 4, "values_limit": 20, "seed": 153, "out": "int32"}
    good, case = case_of(**of, out_exponent=-8), case_of(**of, out_exponent=-24)
    assert case["results"] == [None]
    assert refused_and_decrypted(case, good) == [constants()["FAULT_RESULT"]]


@pytest.mark.parametrize("at", [3, 4, 7, 8, 12, 20, 28, 33, 34, 35, 36, 37, 38, 39, 40, 60, -1])
def test_damaged_frames_are_refused_and_the_key_stays(at):
    """Scheme and scale are CKKS's."""
    good = case_of(log2_scale=16, values_limit=20, public=True, seed=154, **OUT_FLOATS)
    frames = bytearray(frames_of(good)[0])
    frames[at] ^= 1
    case = {**good, "frames": [frames.hex()]}
    assert refused_and_decrypted(case, good) == [constants()["FAULT_FRAME"]]


def test_values_wait_for_the_last_frames_checksum():
    """Also those of a second ciphertext, while the first one's are held up."""
    case = case_of(log2_scale=16, values_limit=20, public=True, ciphertexts=2, seed=155, **OUT_FLOATS)
    engine = prepared(case, results=True)
    first, second = frames_of(case)
    engine.stall(enter=0, leave=256, seed=1)
    engine.read(first + second[:-4])
    for _ in range(2):
        engine.command("COMMAND_DECRYPT")
    engine.run(40_000)
    engine.stall(enter=0, leave=0, seed=1)
    engine.run(40_000)
    outcome = engine.simulate()
    assert outcome.results == case["results"][:1] and outcome.rest == []
    engine.read(second[-4:])
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.results == case["results"]


# ---- faults ----


def faulty(words, command="COMMAND_SYMMETRIC", settle=lambda engine, case: None, **wanted):
    """The fault that a message or a setting raises; nothing whole leaves."""
    case = case_of(**{"seed": 160, **wanted})
    engine = prepared(case)
    settle(engine, case)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.values(words)
    engine.command(command)
    engine.run()
    engine.wait_for_wipe()
    engine.command(command)
    engine.run()
    outcome = engine.simulate()
    assert not outcome.frames
    assert outcome.faults[1] == constants()["FAULT_NO_KEY"], "a fault of the owner's making wipes the keys"
    return outcome.faults[0]


def refused_values(words, **wanted):
    """The fault that a message raises; the keys stay, and the next message is encrypted."""
    case = case_of(**{"seed": 160, "ciphertexts": 2, **wanted})
    engine = prepared(case)
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.values(words)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    engine.wait_for_wipe()
    engine.script.append("forget")
    engine.entropy(bytes.fromhex(case["draws"][1]))
    engine.values(case["messages"][1])
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert len(outcome.faults) == len(outcome.frames) == 1
    assert outcome.frames[0].endswith(frames_of(case)[1]), "behind what had left of the first one"
    return outcome.faults[0]


def float_word(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(
    "value", [2.0**5, -(2.0**5), 2.0**100, float("inf"), float("-inf"), float("nan")], ids=str
)
def test_floats_out_of_range(value, complex_slots):
    """log2 of the modulus is 25, so values stay below 2^(23 - 18)."""
    words = [float_word(1.0)] * 5 + [float_word(value)] + [0] * 4
    assert refused_values(words, complex=complex_slots) == constants()["FAULT_RANGE"]


@pytest.mark.parametrize("value", [1 << 5, -(1 << 5), -(1 << 31)])
def test_integers_out_of_range(value):
    assert refused_values([1, value & 0xFFFFFFFF], number="int32") == constants()["FAULT_RANGE"]


@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
def test_more_values_than_slots(complex_slots):
    words = [float_word(1.0)] * (1025 if complex_slots else 513)
    assert refused_values(words, complex=complex_slots) == constants()["FAULT_TOO_MANY"]


def magnitude(word, is_float):
    """Return a magnitude in the form of MAP_LARGEST."""
    return word & 0x7FFFFFFF if is_float else abs(word - (word >> 31 << 32))


@pytest.mark.parametrize("negative", [False, True], ids=["positive", "negative"])
@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("numbers", [FLOATS, SHORTS], ids=["floats", "integers"])
def test_a_value_beyond_the_largest(numbers, complex_slots, negative):
    """A message whose largest number is the bound passes, and one with the next larger number does not."""
    case = case_of(complex=complex_slots, ciphertexts=2, seed=161, **numbers)
    words, is_float = [word & 0xFFFFFFFF for word in case["messages"][1]], numbers == FLOATS
    largest = max(magnitude(word, is_float) for word in words)
    beyond = largest + 1 | negative << 31 if is_float else (largest + 1) * (-1) ** negative
    engine = prepared(case)
    engine.set("MAP_LARGEST", largest)
    for draw, message in zip(case["draws"], ([beyond, *words[1:]], words), strict=True):
        engine.entropy(bytes.fromhex(draw))
        engine.values(message)
        engine.command("COMMAND_SYMMETRIC")
        engine.run()
        engine.wait_for_wipe()
        engine.script.append("forget")
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_RANGE"]] and len(outcome.frames) == 1
    assert outcome.frames[0].endswith(frames_of(case)[1])


@pytest.mark.parametrize("largest", [0, 1 << 31], ids=["none", "negative"])
def test_a_largest_value_that_is_none(largest):
    def settle(engine, case):
        engine.set("MAP_LARGEST", largest)

    assert faulty([0], settle=settle) == constants()["FAULT_SETTINGS"]


def setting(**changed):
    """Another CKKS setting than the case's."""

    def settle(engine, case):
        of = {**case, **changed}
        engine.ckks_space(key_of(case), of)

    return settle


def in_coefficients(engine, case):
    engine.set("MAP_SHAPE", len(case["primes"]) - 1 | 1 << 16 | 1 << 18 | 1 << 9)


@pytest.mark.parametrize("command", ["COMMAND_SYMMETRIC", "COMMAND_PUBLIC"])
@pytest.mark.parametrize(
    "settle",
    [
        setting(log2_scale=0),
        setting(log2_scale=26),
        setting(limit=24),
        setting(exponent=128, float=False),
        setting(exponent=-129, float=False),
        in_coefficients,
    ],
    ids=["no scale", "scale", "limit", "exponent", "negative exponent", "coefficients"],
)
def test_settings_that_do_not_fit_encryption(command, settle):
    """With one prime of 26 bits, s is at most 25 and L at most 23."""
    assert faulty([0], command, settle, public=True) == constants()["FAULT_SETTINGS"]


@pytest.mark.parametrize("settle", [setting(log2_scale=61), setting(limit=30)], ids=["scale", "limit"])
def test_settings_that_do_not_fit_with_more_primes(settle):
    assert faulty([0], settle=settle, set="n4096_q26x3_p27", count=1) == constants()["FAULT_SETTINGS"]


@pytest.mark.parametrize(
    "settle",
    [
        setting(log2_scale=0),
        setting(log2_scale=24),
        setting(exponent=128, float=False),
        in_coefficients,
    ],
    ids=["no scale", "scale", "exponent", "coefficients"],
)
def test_settings_that_do_not_fit_decryption(settle):
    """The scale must stay below a quarter of the first prime."""
    assert faulty([0], "COMMAND_DECRYPT", settle) == constants()["FAULT_SETTINGS"]


@pytest.mark.parametrize("cycles", [300, 1500, 2500, 4000])
def test_reset_in_the_middle(cycles):
    """While values enter, are encoded, and leave; and while they are decoded."""
    case = case_of(public=True, log2_scale=16, values_limit=20, seed=165, **OUT_FLOATS)
    engine = prepared(case)
    for results in (False, True):
        engine.ckks_space(key_of(case), case, results=results)
        offer(engine, case)
        engine.read(frames_of(case)[0])
        engine.command("COMMAND_DECRYPT" if results else "COMMAND_PUBLIC")
        engine.run(cycles)
        engine.script.append("reset")
        engine.script += prepared(case).script
    offer(engine, case)
    encrypt(engine, case)
    engine.ckks_space(key_of(case), case, results=True)
    decrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0
    assert outcome.frames == frames_of(case) and outcome.results == case["results"]


# ---- wiping ----

SECRETS = ("ternary", "device_secret", "draws", "messages")


def kept_and_other(**wanted):
    """A case, and the same with another's secrets."""
    of = {"public": True, "log2_scale": 16, "values_limit": 20, **wanted, **OUT_FLOATS}
    case, other = case_of(**of, seed=170), case_of(**of, seed=171)
    return case, {**case, **{name: other[name] for name in SECRETS}}


def states_after(prepare, command, cycles, **wanted):
    """Return every variable's value after a wipe in the middle of a command, for two sets of secrets."""
    states = []
    case, other = kept_and_other(**wanted)
    for kept in (case, other):
        engine = prepared(kept, results=command == "COMMAND_DECRYPT")
        offer(engine, kept)
        engine.read(frames_of(case)[0])
        engine.command(command)
        engine.run(cycles)
        prepare(engine)
        engine.wait_for_wipe()
        engine.script += ["forget", "cycles 100", "state"]
        states.append(engine.simulate(state=True).state)
    return states


LENGTHS = {"COMMAND_DECRYPT": 4500, "COMMAND_PUBLIC": 5500, "COMMAND_SYMMETRIC": 4500}


@pytest.mark.parametrize("wipe", [reset, fault])
@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("command", LENGTHS)
def test_nothing_secret_is_left(wipe, complex_slots, command):
    """No variable, in a register or a memory, the codec's included, tells one set of secrets from another."""
    for part in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8):
        first, second = states_after(wipe, command, int(LENGTHS[command] * part), complex=complex_slots)
        assert len(first) > 1000
        assert [name for name in first if first[name] != second[name]] == [], part


def test_wiping_would_be_missed_without_it():
    """The same comparison finds the values in the codec's memories before they are wiped."""
    first, second = states_after(lambda engine: None, "COMMAND_SYMMETRIC", 1200)
    different = {name for name in first if first[name] != second[name]}
    assert any("u_codec" in name and name.endswith("words") for name in different)


@pytest.mark.parametrize("command", ["COMMAND_PUBLIC", "COMMAND_DECRYPT"])
@pytest.mark.parametrize("complex_slots", [False, True], ids=["real", "complex"])
def test_the_time_does_not_depend_on_secrets(complex_slots, command):
    """Nor on values. Another key's frames decrypt to anything, so that decryption keeps its own."""
    case, other = kept_and_other(complex=complex_slots)
    times = []
    if command == "COMMAND_DECRYPT":
        other = case_of(
            public=True, complex=complex_slots, log2_scale=16, values_limit=20, seed=172, **OUT_FLOATS
        )
    for kept in (case, other):
        engine = prepared(kept, results=command == "COMMAND_DECRYPT")
        offer(engine, kept)
        engine.read(frames_of(kept)[0])
        engine.command(command)
        engine.run()
        outcome = engine.simulate()
        assert outcome.fault == 0
        times.append((outcome.taken, outcome.first_words, outcome.last_words))
    assert times[0] == times[1]
