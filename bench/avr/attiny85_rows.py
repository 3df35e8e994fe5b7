# SPDX-License-Identifier: Apache-2.0
"""The rows of the ATtiny85's node, for bench/compact.py: RAM, flash and cycles of windows."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attiny85 import (
    FREQUENCY,
    LOG_SLOTS,
    MCU,
    RESERVE,
    Build,
    Node,
    counter_log,
    flash_bytes,
    fleet,
    packets_on_host,
    static_bytes,
)
from machine import Counts, MachineError

from bench.rows import Row

WINDOWS = RESERVE + 1
"""The last of which writes the counter, as the first one does."""


def readings(build: Build, seed: int) -> list[int]:
    """A window of any values that the set allows."""
    rng = random.Random(seed)
    return [rng.randrange(build.compact.largest_value + 1) for _ in range(build.values)]


def window_of_secrets(build: Build, seed: int) -> tuple[Counts, bytes]:
    """A window's counts under secrets of their own, and its packet. Public keys and random bytes stay."""
    keys, _ = fleet(build.set_name, seed + 1)
    public_keys, enrolment = fleet(build.set_name)
    public, own = public_keys.material(enrolment), keys.material(fleet(build.set_name, seed + 1)[1])
    with Node(build, log=counter_log(0)) as node:
        node.provision(keys, enrolment)
        node.write_material(public[:32] + own[32:64] + public[64:96] + own[96:])
        (packet,) = node.windows(readings(build, seed))
        (counts,) = node.encryptions
    return counts, packet


def attiny85_rows(build: Build, prefix: str, runs: int) -> Iterator[Row]:
    """The rows of a build, whose names begin with the prefix. Raises MachineError if a packet is not the
    library's, or if secrets change instructions or time."""
    keys, enrolment = fleet(build.set_name)
    params = {"kind": "measured", "mcu": MCU, "hz": FREQUENCY, "set": build.set_name, "n": build.compact.n}
    windows = [readings(build, seed) for seed in range(WINDOWS)]
    with Node(build, log=counter_log(5000, LOG_SLOTS // 2 - 1)) as node:
        node.machine.leave_out_digests()
        for window, packet in zip(windows, node.windows(*windows), strict=True):
            if packets_on_host(build, keys, enrolment, window, packet) != [packet]:
                raise MachineError("An ATtiny85 and portable C on this machine send different packets.")
        cycles = [counts.cycles for counts in node.encryptions]
        static, stack = static_bytes(node.image), node.machine.deepest_stack
        image = node.image
    name = f"{prefix}.k{build.values}"
    own = {**params, "values": build.values, "packet_bytes": build.packet_bytes}
    yield Row(f"{name}.ram_bytes", static + stack, "bytes", {**own, "static": static, "stack": stack})
    yield Row(f"{name}.flash_bytes", flash_bytes(image), "bytes", {**own, "with": "its key"})
    yield Row(
        f"{name}.cycles", cycles[1], "cycles", {**own, "with": "the tag", "without": "the counter's write"}
    )
    what = "one window in 16 writes the counter; waits for the EEPROM included"
    usual = sum(cycles[1:RESERVE]) // (RESERVE - 1)
    yield Row(f"{name}.counter_write.cycles", cycles[RESERVE] - usual, "cycles", {**own, "what": what})
    yield _tag_row(build, name, own)
    seen = {
        (counts.cycles, counts.path, counts.addresses)
        for counts, _ in (window_of_secrets(build, seed) for seed in range(runs))
    }
    if len(seen) != 1:
        raise MachineError(f"Windows that differ only in secrets took {len(seen)} paths or times on {MCU}.")
    ((one, path, _),) = seen
    yield Row(f"constant_time.{name}.runs", runs, "runs", {**own, "cycles": one, "path": f"{path:016x}"})


def _tag_row(build: Build, name: str, params: dict[str, object]) -> Row:
    """From the finished payload to the finished packet."""
    with Node(build, log=counter_log(0)) as node:
        node.machine.leave_out_digests()
        node.machine.feed(b"".join(value.to_bytes(2, "little") for value in readings(build, 0)))
        node.run_to("put_tag")
        began = node.machine.cycle
        node.run_to("send")
        cycles = node.machine.cycle - began
    return Row(f"{name}.tag.cycles", cycles, "cycles", params)
