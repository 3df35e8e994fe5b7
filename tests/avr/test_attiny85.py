# SPDX-License-Identifier: Apache-2.0
"""The compact lane on a simulated ATtiny85: whole nodes, in 8 KB of flash and 512 bytes of RAM."""

from __future__ import annotations

import random
import struct
from functools import cache

import numpy as np
import pytest
from attiny85 import (
    FLASH_BYTES,
    LOG_SLOTS,
    LOG_START,
    RAM_BYTES,
    RESERVE,
    Build,
    Node,
    counter_log,
    flash_bytes,
    fleet,
    log_slot,
    node_image,
    packets_on_host,
    split_packets,
    whole_ram,
)
from ciphermote.compact.frames import CompactReader
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.scores import CompactScorer, ScorePlan, decrypt_scores
from ciphermote.compact.sums import CompactSum, decrypt_sum
from ciphermote.evaluate.linear_model import LinearModel
from images import BUILD
from machine import MachineError, read_symbols, run_tool

RAM_GOAL = {"l": RAM_BYTES}
"""The RAM that a build may take, by set; 480 bytes where none is given."""
SECRETS = 100
NEW_LOG = counter_log(0)
CM_ERR_VALUE_RANGE, CM_ERR_COUNTER = "06", "08"
BUILDS = {
    "k16": Build(),
    "51 bytes": Build(values=8, packet_bytes=51),
    "two packets": Build(values=16, packet_bytes=51, at_once=8),
    "a16": Build(set_name="a16", values=15),
    "b": Build(set_name="b", values=5, packet_bytes=51),
    "b, five at a time": Build(set_name="b", values=11, packet_bytes=51, at_once=5),
    "l": Build(set_name="l", values=16, packet_bytes=83),
}


def readings(build: Build, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(build.compact.largest_value + 1) for _ in range(build.values)]


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (Build(values=24, packet_bytes=83), "that is more than 512"),
        (Build(values=8, packet_bytes=200), "that is more than 512"),
        (Build(end=300), "positions are bytes"),
        (Build(packet_bytes=300, at_once=1), "a packet's length is a byte"),
    ],
)
def test_a_build_that_cannot_work_is_refused(build: Build, sentence: str) -> None:
    with pytest.raises(MachineError, match=sentence):
        node_image(build)


# --- packets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_packets_are_those_of_the_library_on_this_machine(build: Build) -> None:
    keys, enrolment = fleet(build.set_name)
    windows = [readings(build, seed) for seed in range(3)]
    windows.append([build.compact.largest_value] * build.values)
    windows.append([0] * build.values)
    with Node(build, log=NEW_LOG) as node:
        sent = node.windows(*windows)
    count = len(sent) // len(windows)
    for i, window in enumerate(windows):
        own = sent[count * i : count * (i + 1)]
        assert max(map(len, own)) <= build.packet_bytes
        assert packets_on_host(build, keys, enrolment, window, own[0]) == own


def test_the_owner_decrypts_the_sum_of_nodes_with_keys_of_their_own() -> None:
    """One image, patched: each node has its device's key, and all share the fleet's secret key."""
    build, devices = BUILDS["51 bytes"], 3
    keys, _ = fleet("a10")
    for device in range(100, 100 + devices):
        keys, _ = keys.enroll(device, 409)
    total, values = CompactSum(keys.set, keys.key_id, range(build.values)), np.zeros(build.values, np.int64)
    reader = CompactReader(keys.gateway(), range(build.values))
    for device in range(100, 100 + devices):
        window = [value % 410 for value in readings(build, device)]
        with Node(build, keys, keys.enrolment(device), NEW_LOG) as node:
            (packet,) = node.windows(window)
        reception = reader.feed(packet)
        assert not reception.faults and reception.windows[0].device == device
        total.add(reception.windows[0])
        values += window
    assert np.array_equal(decrypt_sum(keys, total.result()).values, values)


def test_a_node_sends_windows_that_are_scored() -> None:
    """Weights of 8 on sixteen values of eight bits: all that set L is made for, from a node to the owner."""
    build = BUILDS["l"]
    keys, enrolment = CompactKeys.generate(build.compact).enroll(7, 255)
    model = LinearModel(np.array([[8, -8] * 8, [8] * 16]), np.array([1, -1]))
    windows = [[255, 0] * 8, [255] * 16, [0] * 16, [value % 256 for value in readings(build, 3)]]
    with Node(build, keys, enrolment, NEW_LOG) as node:
        packets = node.windows(*windows)
    assert {len(packet) for packet in packets} == {83}
    reader = CompactReader(keys.gateway(), range(build.values))
    scorer = CompactScorer(ScorePlan.of(build.compact, model, 255), keys.key_id, range(build.values))
    for packet in packets:
        for window in reader.feed(packet).windows:
            scorer.add(window)
    found = decrypt_scores(keys, scorer.result(), model)
    assert np.array_equal(found.scores, model.scores(windows)) and not found.errors.any()


def test_a_value_above_the_largest_stops_the_node() -> None:
    build = BUILDS["k16"]
    with Node(build, log=NEW_LOG) as node, pytest.raises(MachineError, match=f"status {CM_ERR_VALUE_RANGE}"):
        node.windows([4091] + [0] * 15)


# --- what it takes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_it_fits(build: Build) -> None:
    """The stack is measured with a write of the counter, which goes deepest, at the log's end and within."""
    assert flash_bytes(node_image(build)) <= FLASH_BYTES
    for pair in (0, LOG_SLOTS // 2 - 1):
        with Node(build, log=counter_log(5000, pair)) as node:
            node.windows(*[readings(build, seed) for seed in range(2)])
            assert whole_ram(node) <= RAM_GOAL.get(build.set_name, 480) <= RAM_BYTES
            assert node.machine.deepest_stack > 100


def test_nothing_secret_stays_in_ram() -> None:
    """After a window, only what the application holds is left: no byte string of the keys or the residues."""
    build = BUILDS["k16"]
    keys, enrolment = fleet(build.set_name)
    with Node(build, log=NEW_LOG) as node:
        node.windows(readings(build, 1))
        ram = node.machine.read(0x60, RAM_BYTES)
    material = keys.material(enrolment)
    for at in range(32, len(material) - 4):
        assert material[at : at + 4] not in ram


def test_no_product_of_gccs_library_is_linked() -> None:
    """Those of a chip without a multiplier take a time that depends on the factors."""
    for build in BUILDS.values():
        symbols = read_symbols(node_image(build))
        assert not [name for name in symbols if name.startswith(("__mul", "__umul", "__smul", "__div"))]


@pytest.mark.parametrize("name", ["k16", "b", "l"])
def test_windows_that_differ_in_secrets_alone_take_the_same_instructions_and_time(name: str) -> None:
    build = BUILDS[name]
    public_keys, public = fleet(build.set_name)
    lane_and_random = public_keys.material(public)
    seen, packets = set(), set()
    for seed in range(SECRETS):
        keys, enrolment = fleet(build.set_name, seed + 1)
        drawn = keys.material(enrolment)
        material = lane_and_random[:32] + drawn[32:64] + lane_and_random[64:96] + drawn[96:]
        with Node(build, log=NEW_LOG) as node:
            node.provision(keys, public)
            node.write_material(material)
            packets.add(node.windows(readings(build, seed))[0])
            (counts,) = node.encryptions
            seen.add((counts.cycles, counts.path, counts.addresses))
    assert len(packets) == SECRETS
    assert len(seen) == 1


# --- the counter --------------------------------------------------------------------------------------------


def counters(packets: list[bytes]) -> list[int]:
    return [int.from_bytes(packet[8:12], "little") for packet in packets]


def test_the_image_brings_a_new_counter() -> None:
    with Node(BUILDS["k16"]) as node:
        assert counters(node.windows(readings(BUILDS["k16"], 0))) == [0]


def test_an_erased_eeprom_is_refused() -> None:
    node = Node(BUILDS["k16"], log=b"\xff" * (8 * LOG_SLOTS))
    with node, pytest.raises(MachineError, match=f"status {CM_ERR_COUNTER}"):
        node.windows(readings(BUILDS["k16"], 0))


def test_after_a_restart_the_rest_of_a_reservation_is_skipped() -> None:
    build = BUILDS["51 bytes"]
    with Node(build, log=NEW_LOG) as node:
        assert counters(node.windows(*[readings(build, 0)] * (RESERVE + 1))) == [*range(RESERVE + 1)]
        log = node.machine.read_eeprom(LOG_START, 8 * LOG_SLOTS)
    with Node(build, log=log) as node:
        assert counters(node.windows(readings(build, 0))) == [2 * RESERVE]


@cache
def cuts() -> list[tuple[bytes, set[int]]]:
    """Yield every state in which a power cut may leave the log of a window that writes it, with the counters
    used until then. A byte whose write was cut short may hold anything."""
    build, rng = BUILDS["51 bytes"], random.Random(3)
    found: dict[bytes, set[int]] = {}
    with Node(build, log=counter_log(5000, 6)) as node:
        machine = node.machine
        machine.feed(struct.pack(f"<{build.values}H", *readings(build, 0)))
        before = machine.read_eeprom(LOG_START, 8 * LOG_SLOTS)
        while True:
            busy = machine.eeprom_write()
            content = machine.read_eeprom(LOG_START, 8 * LOG_SLOTS)
            possible = {content}
            if busy is None:
                before = content
            else:
                at = busy[0] - LOG_START
                torn = {before[at], busy[1], 0xFF, before[at] & busy[1], rng.randrange(256)}
                possible = {before[:at] + bytes([value]) + before[at + 1 :] for value in torn}
            used = set(counters(list(split_packets(machine.text))))
            for state in possible:
                found.setdefault(state, set()).update(used)
            if not machine.run_to_change():
                break
    return list(found.items())


def test_no_counter_is_used_twice_wherever_the_power_is_cut() -> None:
    build, states = BUILDS["51 bytes"], cuts()
    assert len(states) > 20
    assert any(used for _, used in states)
    for state, used in states:
        with Node(build, log=state) as node:
            first = counters(node.windows(readings(build, 1)))
        assert len(first) == 1, "a cut left a counter that is refused"
        assert first[0] >= 5000 and first[0] not in used


def test_one_damaged_slot_is_survived_and_two_are_not() -> None:
    build = BUILDS["51 bytes"]
    log = bytearray(counter_log(5000, 6))
    log[12 * 8 + 1] ^= 1
    with Node(build, log=bytes(log)) as node:
        assert counters(node.windows(readings(build, 0))) == [5000]
    log[13 * 8 + 1] ^= 1
    with Node(build, log=bytes(log)) as node, pytest.raises(MachineError, match=f"status {CM_ERR_COUNTER}"):
        node.windows(readings(build, 0))


# --- the salt -----------------------------------------------------------------------------------------------


def random_bytes(power_on: bytes) -> bytes:
    build = BUILDS["51 bytes"]
    with Node(build, log=NEW_LOG, power_on=power_on) as node:
        return node.windows(readings(build, 0))[0][16:24]


def test_a_counter_that_was_set_back_meets_another_salt() -> None:
    """A single bit of RAM that comes up differently makes other random bytes."""
    rng = random.Random(1)
    usual = rng.randbytes(RAM_BYTES)
    assert random_bytes(usual) == random_bytes(usual)
    seen = {random_bytes(usual)}
    for _ in range(8):
        bit = rng.randrange(8 * RAM_BYTES)
        other = bytearray(usual)
        other[bit // 8] ^= 1 << bit % 8
        seen.add(random_bytes(bytes(other)))
    assert len(seen) == 9


def test_the_slots_of_the_image_are_those_of_a_new_log() -> None:
    dumped = BUILD / "attiny85/eeprom.bin"
    run_tool(
        ["avr-objcopy", "-O", "binary", "-j", ".eeprom", node_image(BUILDS["k16"]), dumped],
        "Reading the EEPROM",
    )
    assert dumped.read_bytes() == b"\xff" * LOG_START + LOG_SLOTS * log_slot(0)
