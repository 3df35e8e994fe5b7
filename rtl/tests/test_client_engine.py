# SPDX-License-Identifier: Apache-2.0
"""The client engine gives the C library's bytes, whatever the streams do, and says what is wrong."""

import json
import subprocess
from functools import cache

import pytest
from client import Client, Key, Shape, constants

from tools import ROOT

SMALL = Shape(LOG2_N=10, LOG2_UNITS=2, PRIMES=2, DEEP=0)
LARGE = Shape()
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


def prepared(case, shape):
    """An engine with the case's keys and settings."""
    engine, key = Client(shape), key_of(case)
    engine.wait_for_wipe()
    engine.load(key)
    engine.message_space(key, case["t"], case["signed"], case["coefficients"])
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
        engine.stall(values=100, frames=128, seed=7)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


def test_other_commands_in_between_and_keys_that_change():
    """Nothing of a command, a message or a key is left for the next one."""
    of = {"set": "n1024_q26", "t": 1000, "public": True}
    first, second = case_of(**of, seed=11), case_of(**of, seed=12, coefficients=True, signed=True, count=1)
    engine = prepared(first, SMALL)
    offer(engine, first)
    encrypt(engine, first)
    key = key_of(second)
    engine.load(key)
    engine.message_space(key, 1000, True, True)
    engine.counter(second["counter"])
    offer(engine, second)
    encrypt(engine, second)
    assert engine.simulate().frames == frames_of(first) + frames_of(second)


# ---- faults ----


def case_with_draws():
    return case_of(set="n1024_q26", t=12289, ciphertexts=2, seed=21)


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


def faulty(prepare, command=constants()["COMMAND_SYMMETRIC"]):
    """The fault that a change to a good case raises; nothing whole leaves, and the key is gone."""
    case = case_with_draws()
    engine = prepared(case, SMALL)
    prepare(engine, case)
    engine.script.append(f"command {command}")
    engine.run()
    outcome = engine.simulate()
    assert not outcome.frames
    return outcome.fault


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


def test_no_counter_left():
    def prepare(engine, case):
        offer(engine, case)
        engine.counter(5, 5)

    assert faulty(prepare) == constants()["FAULT_COUNTER"]


def test_an_unknown_command():
    assert faulty(lambda engine, case: None, command=15) == constants()["FAULT_COMMAND"]


def test_a_secret_key_with_a_coefficient_of_two():
    def prepare(engine, case):
        engine.set("MAP_TRITS", 0b11 << 4)

    assert faulty(prepare) == constants()["FAULT_KEY"]
