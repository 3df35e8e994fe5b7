# SPDX-License-Identifier: Apache-2.0
"""Frames of version 2: the engine makes the C library's tags, and takes no frame without the right one."""

import random
import struct

import cocotb
import pytest
from client import Client, constants
from cocotb.triggers import FallingEdge, ReadOnly
from simulation import cycles, settings, simulate, slow, start_clock
from test_client_engine import (
    MEDIUM,
    SHAPES,
    SMALL,
    case_of,
    crc32c,
    decrypted,
    encrypt,
    frames_of,
    key_of,
    messages_of,
    offer,
    options_of,
    prepared,
    states_after,
    tag,
)
from test_client_engine import fault as wipe_by_fault
from test_client_engine import reset as wipe_by_reset

SHAKE256 = 2
PRIME = 2**130 - 5
CLAMP = 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF


# ---- the hash ----


def hash_of(blocks, r):
    h = 0
    for block in blocks:
        h = (h + block + 2**128) * r % PRIME
    return h % 2**128


@cocotb.test()
async def hashes_blocks(dut):
    """RFC 8439's first 32 bytes, blocks whose hash is near 2^130 - 5, and random ones."""
    rng = random.Random(settings()["seed"])
    start_clock(dut)
    for name in ("start", "absorb", "finish", "r", "word"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_i.value = 1
    await cycles(dut, 2)
    dut.rst_i.value = 0
    text = b"Cryptographic Forum Research Group"[:32]
    r = int.from_bytes(bytes.fromhex("85d6be7857556d337f4452fe42d506a8"), "little") & CLAMP
    cases = [([*(int.from_bytes(text[i : i + 16], "little") for i in (0, 16))], r)]
    most = 2**128 - 1
    cases += [([most] * count, CLAMP) for count in (1, 2, 3, 7)]
    # With r = 1 the sum of two is 2^130 - 5 + d.
    cases += [([most, most - 3 + d], 1) for d in (-1, 0, 1, 3)]
    cases += [
        ([rng.getrandbits(128) for _ in range(rng.randrange(1, 9))], rng.getrandbits(128) & CLAMP)
        for _ in range(12)
    ]
    for blocks, r in cases:
        dut.r_i.value, dut.start_i.value = r, 1
        await cycles(dut)
        dut.start_i.value = 0
        for word in [block >> 32 * i & 0xFFFFFFFF for block in blocks for i in range(4)]:
            taken = False
            while not taken:
                await FallingEdge(dut.clk_i)
                taken = rng.random() < 0.9 and bool(int(dut.ready_o.value))
                dut.word_i.value, dut.absorb_i.value = word, int(taken)
                await cycles(dut)
            dut.absorb_i.value = 0
        dut.finish_i.value = 1
        await cycles(dut)
        while True:
            await ReadOnly()
            if int(dut.done_o.value):
                break
            await cycles(dut)
        assert int(dut.hash_o.value) == hash_of(blocks, r), (blocks, r)
        await cycles(dut)
        dut.finish_i.value = 0


@pytest.mark.parametrize("digit", [4, slow(8), slow(16), slow(32)])
def test_hash(digit):
    simulate("cm_client_poly1305", {"DIGIT": digit}, ["hashes_blocks"], seed=1)


# ---- the engine ----


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_encryption(name, public, stalls):
    """First attempts and others, with either XOF, in either form."""
    case = case_of(
        set=name,
        t=1000,
        public=public,
        coefficients=stalls and not public,
        xof=3 if stalls else SHAKE256,
        tagged="again" if stalls else "first",
        ciphertexts=3,
        seed=100 + stalls + 2 * public,
    )
    engine = prepared(case, SHAPES[name])
    offer(engine, case)
    if stalls:
        engine.stall(enter=100, leave=128, seed=7)
    encrypt(engine, case)
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert outcome.frames == frames_of(case)


def test_a_public_key():
    case = case_of(set="n2048_q26_p27", key_pair=True, tagged="first", seed=104)
    engine = Client(MEDIUM)
    engine.options = options_of(case)
    engine.wait_for_wipe()
    tag(engine, case)
    engine.load(key_of({**case, "public": []}), secret=False)
    engine.counter(case["counter"])
    engine.entropy(bytes.fromhex(case["key_draw"]))
    engine.command("COMMAND_GENERATE")
    engine.run()
    engine.entropy(bytes.fromhex(case["draws"][0]))
    engine.command("COMMAND_PUBLISH")
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.frames == frames_of(case)


AT_RANDOM, TAGGED_HEADER = 56, 64


def decrypt(engine, case, frames, random_bytes=None):
    """Frames as the answer to the case's first ciphertext."""
    engine.answer(case["counter"], random_bytes or frames_of(case)[0][AT_RANDOM:TAGGED_HEADER])
    engine.read(frames)
    engine.command("COMMAND_DECRYPT")
    engine.run()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("public", [False, True], ids=["seeded", "full"])
@pytest.mark.parametrize("stalls", [False, True], ids=["steady", "stalls"])
def test_decryption(name, public, stalls):
    case = case_of(set=name, t=1000, public=public, xof=SHAKE256, tagged="again", seed=110 + public)
    engine = prepared(case, SHAPES[name])
    if stalls:
        engine.stall(enter=60, leave=90, seed=8)
    decrypt(engine, case, frames_of(case)[0])
    outcome = engine.simulate()
    assert outcome.fault == 0 and outcome.idle
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


def frame_of(case):
    """The first frame, without its checksum."""
    frames = frames_of(case)[0]
    (length,) = struct.unpack_from("<I", frames, 40)
    return frames[: TAGGED_HEADER + length + 8], frames[TAGGED_HEADER + length + 12 :]


FORGED = (
    "device",
    "epoch",
    "window",
    "random",
    "tag",
    "tag's end",
    "payload",
    "no tag",
    "another key",
    "another r",
)


@pytest.mark.parametrize("what", FORGED)
def test_forged_frames_are_refused_and_the_keys_stay(what):
    """With the right checksum; also a frame of version 1, and one under another key."""
    case = case_of(set="n1024_q26", t=1000, public=True, tagged="again", seed=120)
    untagged = case_of(set="n1024_q26", t=1000, public=True, seed=120)
    key = bytearray.fromhex(case["tag"]["key"])
    if what.startswith("another"):
        key[0 if what == "another key" else 32] ^= 1
    other = int.from_bytes(key, "little")
    engine = prepared(case, SMALL, before=lambda engine: engine.set("MAP_RESULT_KEY", other, words=12))
    frame, rest = frame_of(case)
    changed = bytearray(frame)
    places = {
        "device": 44,
        "epoch": 48,
        "window": 52,
        "random": 56,
        "tag": -8,
        "tag's end": -1,
        "payload": 70,
    }
    if what in places:
        changed[places[what]] ^= 1
    frames = bytes(changed) + crc32c(bytes(changed)).to_bytes(4, "little") + rest
    if what == "no tag":
        frames = frames_of(untagged)[0]
    engine.answer(case["counter"], frame[AT_RANDOM:TAGGED_HEADER])
    engine.read(frames)
    engine.command("COMMAND_DECRYPT")
    engine.run(30_000)
    engine.wait_for_wipe()
    engine.script.append("forget")
    if what.startswith("another"):
        engine.options = 0
        engine.message_space(key_of(case), case["t"], signed=False, coefficients=False)
        decrypt(engine, case, frames_of(untagged)[0])
    else:
        decrypt(engine, case, frames_of(case)[0])
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_FRAME"]]
    assert [decrypted(case, words) for words in outcome.results] == messages_of(case)


@pytest.mark.parametrize("window", ["ahead", "too long ago"])
def test_a_window_that_does_not_reach(window):
    counter = 2**40
    case = {**case_of(set="n1024_q26", t=1000, tagged="again", seed=121), "counter": counter}
    engine = prepared(case, SMALL)
    engine.set("MAP_WINDOW", counter + 1 if window == "ahead" else counter - 2**32, words=2)
    offer(engine, case)
    engine.command("COMMAND_SYMMETRIC")
    engine.run()
    outcome = engine.simulate()
    assert outcome.faults == [constants()["FAULT_WINDOW"]] and outcome.words == 0


@pytest.mark.parametrize("change", ["nothing entered", "a word left out", "wiped", "the other one"])
@pytest.mark.parametrize("command", ["COMMAND_SYMMETRIC", "COMMAND_DECRYPT", "COMMAND_PUBLISH"])
def test_a_tag_key_that_is_not_there(command, change):
    """Tags under a key of zeros would be anyone's."""
    case = case_of(set="n1024_q26", t=1000, tagged="first", seed=122)

    def before(engine):
        if change == "a word left out":
            for word in (*range(5), *range(6, 12)):
                engine.set("MAP_RESULT_KEY" if command == "COMMAND_DECRYPT" else "MAP_TAG_KEY", 7, place=word)
        elif change == "wiped":
            tag(engine, case)
            engine.script.append("command 15")
            engine.run()
            engine.wait_for_wipe()
        elif change == "the other one":
            name = "MAP_TAG_KEY" if command == "COMMAND_DECRYPT" else "MAP_RESULT_KEY"
            engine.set(name, int.from_bytes(bytes.fromhex(case["tag"]["key"]), "little"), words=12)

    engine = prepared({**case, "tag": None}, SMALL, before=before)
    engine.options = options_of(case)
    engine.message_space(key_of(case), case["t"], signed=False, coefficients=False)
    engine.command(command)
    engine.run()
    outcome = engine.simulate()
    assert outcome.fault == constants()["FAULT_NO_KEY"] and outcome.words == 0


@pytest.mark.parametrize("wipe", [wipe_by_reset, wipe_by_fault])
def test_nothing_secret_is_left(wipe):
    def wiped(engine):
        wipe(engine)
        engine.wait_for_wipe()
        engine.set("MAP_DEVICE", 0)  # which are public, and differ here as the tag key does
        engine.set("MAP_EPOCH", 0)

    secrets = ("ternary", "device_secret", "draws", "messages", "tag")
    of = {"tagged": "first", "secrets": secrets}
    for cycles_before in (300, 1500, 4000):
        first, second = states_after(wiped, "COMMAND_SYMMETRIC", cycles_before, **of)
        assert [name for name in first if first[name] != second[name]] == [], cycles_before
    first, second = states_after(lambda engine: None, "COMMAND_SYMMETRIC", 4000, **of)
    different = {name for name in first if first[name] != second[name]}
    for name in (
        "u_tags.g_key[0].key",
        "u_tags.g_key[1].key",
        "u_tags.tag_o",
        "u_tags.u_hash.sum",
        "u_tags.u_hash.h",
    ):
        assert f"TOP.cm_client_engine.{name}" in different
