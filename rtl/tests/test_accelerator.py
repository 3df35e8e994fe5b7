# SPDX-License-Identifier: Apache-2.0
"""cm_ntt_accelerator through its buses: every command, waits at every moment, every error, resets, its
pace."""

import random

import cocotb
import pytest
from accelerator_driver import ERRORS, Accelerator
from cocotb.handle import ArrayObject, HierarchyArrayObject, HierarchyObject, PackedObject
from cocotb.triggers import FallingEdge
from simulation import cycles, settings, simulate, slow, start_clock

from golden.hardware import Ring, random_prime


async def started(dut, seed, patience=0):
    start_clock(dut)
    rng = random.Random(settings()["seed"] + seed)
    accelerator = Accelerator(dut, settings(), rng, patience)
    await accelerator.reset()
    ring = Ring(random_prime(rng, accelerator.log2_n, settings()["WIDTH"]), accelerator.log2_n)
    return accelerator, ring, rng


def polynomial(rng, ring):
    return [rng.choice((0, ring.q - 1, rng.randrange(ring.q), rng.randrange(ring.q))) for _ in range(ring.n)]


class Jobs:
    """Random jobs and what must come out."""

    def __init__(self, accelerator, ring, rng):
        self.accelerator, self.ring, self.rng = accelerator, ring, rng
        self.operands = [polynomial(rng, ring) for _ in range(2)]

    async def load(self):
        await self.accelerator.load_ring(self.ring)
        for number, operand in enumerate(self.operands):
            await self.accelerator.load_operand(number, operand)

    def _products(self, a, operand):
        """The transform of a times an operand, divided by R."""
        scale = pow(self.accelerator.r, -1, self.ring.q)
        return [x * y * scale % self.ring.q for x, y in zip(a, self.operands[operand], strict=True)]

    async def queue(self, code, may_keep=True, operand=None):
        """Queue one; the packets that must come."""
        ring, operand = self.ring, self.rng.randrange(2) if operand is None else operand
        a = polynomial(self.rng, ring)
        keeps = may_keep and code.endswith("PRODUCT") and self.rng.random() < 0.5
        await self.accelerator.command(code, operand, transformed=keeps)
        self.accelerator.send(a)
        back = (lambda x: x) if keeps else ring.inverse
        return {
            "FORWARD": lambda: [ring.forward(a)],
            "INVERSE": lambda: [ring.inverse(a)],
            "POINTWISE": lambda: [self._products(a, operand)],
            "PRODUCT": lambda: [back(self._products(ring.forward(a), operand))],
            "DOUBLE_PRODUCT": lambda: [back(self._products(ring.forward(a), o)) for o in range(2)],
        }[code]()


CODES = ("FORWARD", "INVERSE", "POINTWISE", "PRODUCT", "DOUBLE_PRODUCT")


@cocotb.test()
async def carries_out_every_command_whatever_the_buses_wait(dut):
    for patience in (0, 1):
        accelerator, ring, rng = await started(dut, patience, patience)
        jobs = Jobs(accelerator, ring, rng)
        await jobs.load()
        order = [*CODES, *rng.sample(CODES, k=len(CODES))]
        for start in range(0, len(order), 5):
            expected = []
            for code in order[start : start + 5]:
                expected += await jobs.queue(code)
            for packet in expected:
                assert await accelerator.receive() == packet
        await accelerator.idle()
        assert await accelerator.errors() == 0
        assert await accelerator.read("JOBS") == len(order)


@cocotb.test()
async def tells_what_it_is(dut):
    accelerator, ring, _ = await started(dut, 2)
    assert await accelerator.read("ID") == int.from_bytes(b"CMNT", "big")
    shape = await accelerator.read("SHAPE")
    assert shape & 15 == settings()["LOG2_N"] and shape >> 4 & 63 == settings()["WIDTH"]
    assert 1 << (shape >> 16 & 63) == accelerator.r
    assert await accelerator.read(0xF0) == 0
    await accelerator.set_prime(ring.q)
    assert await accelerator.read("PRIME") == ring.q & 0xFFFFFFFF
    assert await accelerator.read("PRIME_HIGH") == ring.q >> 32
    assert await accelerator.read("STATUS") & 7 == 3


@cocotb.test()
async def refuses_primes_that_do_not_fit(dut):
    accelerator, ring, _ = await started(dut, 3)
    too_wide = (1 << settings()["WIDTH"]) + 1
    for bad in (0, 1, ring.q + 1, ring.q + 2 * ring.n + 2, too_wide):
        await accelerator.set_prime(bad)
        assert await accelerator.errors() == ERRORS["BAD_PRIME"]
        assert not await accelerator.read("STATUS") & 2
    await accelerator.set_prime(ring.q)
    assert await accelerator.errors() == 0


@cocotb.test()
async def a_failed_job_sends_zeros_and_the_next_one_is_right(dut):
    accelerator, ring, rng = await started(dut, 4, patience=1)
    jobs = Jobs(accelerator, ring, rng)
    zeros = [0] * ring.n
    a = polynomial(rng, ring)

    async def fails(code, words, error):
        await accelerator.command(code)
        accelerator.send(words)
        for _ in range(2 if code == "DOUBLE_PRODUCT" else 1):
            assert await accelerator.receive() == zeros, error
        await accelerator.idle()
        assert await accelerator.errors() == ERRORS[error], error

    await fails("FORWARD", a, "UNSET")
    await accelerator.set_prime(ring.q)
    await fails("FORWARD", a, "UNSET")
    await jobs.load()
    await accelerator.idle()
    assert await accelerator.errors() == 0
    half = len(a) // 2
    for code in ("FORWARD", "DOUBLE_PRODUCT"):
        await fails(code, a[:half], "LENGTH")
        await fails(code, a + a[: accelerator.beat], "LENGTH")
        wrong = list(a)
        wrong[rng.randrange(len(a))] = ring.q
        await fails(code, wrong, "RANGE")
    for packet in await jobs.queue("PRODUCT"):
        assert await accelerator.receive() == packet
    await accelerator.load_operand(0, [ring.q] * ring.n)
    await fails_after_bad_operand(accelerator, a, zeros)


async def fails_after_bad_operand(accelerator, a, zeros):
    await accelerator.idle()
    assert await accelerator.errors() == ERRORS["RANGE"]
    await accelerator.command("PRODUCT")
    accelerator.send(a)
    assert await accelerator.receive() == zeros
    await accelerator.idle()
    assert await accelerator.errors() == ERRORS["UNSET"]


@cocotb.test()
async def a_job_misses_whatever_is_not_loaded(dut):
    accelerator, ring, rng = await started(dut, 8)
    jobs = Jobs(accelerator, ring, rng)

    async def unset(code, operand=0):
        await accelerator.command(code, operand)
        accelerator.send(polynomial(rng, ring))
        for _ in range(2 if code == "DOUBLE_PRODUCT" else 1):
            assert await accelerator.receive() == [0] * ring.n
        await accelerator.idle()
        assert await accelerator.errors() == ERRORS["UNSET"], code

    async def right(*codes):
        for code in codes:
            for packet in await jobs.queue(code):
                assert await accelerator.receive() == packet
        await accelerator.idle()
        assert await accelerator.errors() == 0

    await accelerator.load_ring(ring)
    await accelerator.load_operand(1, jobs.operands[1])
    await unset("DOUBLE_PRODUCT")
    await unset("POINTWISE", operand=0)
    await accelerator.load_operand(0, jobs.operands[0])
    await right("DOUBLE_PRODUCT")
    # Twiddles that do not arrive whole take those before with them, and nothing else.
    await accelerator.command("LOAD_TWIDDLES")
    accelerator.send(ring.twiddles(accelerator.r)[: ring.n // 2])
    await accelerator.idle()
    assert await accelerator.errors() == ERRORS["LENGTH"]
    assert await accelerator.read("STATUS") & 7 == 3
    await unset("FORWARD")
    await unset("INVERSE")
    await right("POINTWISE")
    # A prime takes twiddles and operands with it, even the same one.
    await jobs.load()
    await accelerator.idle()
    await accelerator.set_prime(ring.q)
    assert await accelerator.read("STATUS") & 7 == 3
    for code in CODES:
        await unset(code)
    await jobs.load()
    await right(*CODES)


@cocotb.test()
async def a_word_is_held_to_the_prime_with_all_its_bits(dut):
    accelerator, ring, rng = await started(dut, 9)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    beyond = range(settings()["WIDTH"], accelerator.slot)
    for word in (ring.q, (1 << accelerator.slot) - 1, *(1 << bit for bit in (*beyond[:1], *beyond[-1:]))):
        wrong = polynomial(rng, ring)
        wrong[rng.randrange(ring.n)] = word
        await accelerator.command("FORWARD")
        accelerator.send(wrong)
        assert await accelerator.receive() == [0] * ring.n
        await accelerator.idle()
        assert await accelerator.errors() == ERRORS["RANGE"], hex(word)
    for packet in await jobs.queue("FORWARD"):
        assert await accelerator.receive() == packet


@cocotb.test()
async def a_full_queue_and_unknown_commands_are_errors(dut):
    accelerator, ring, rng = await started(dut, 5)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    for code in (0, 8, 15):
        await accelerator.write("COMMAND", code)
        assert await accelerator.errors() == ERRORS["COMMAND"]
    # One is under way at once, eight fit the queue.
    for _ in range(9):
        await accelerator.command("FORWARD")
    assert await accelerator.errors() == 0
    await accelerator.command("FORWARD")
    assert await accelerator.errors() == ERRORS["OVERFLOW"]
    await accelerator.set_prime(ring.q)
    assert await accelerator.errors() == ERRORS["BUSY"]
    packets = [polynomial(rng, ring) for _ in range(9)]
    for packet in packets:
        accelerator.send(packet)
    for packet in packets:
        assert await accelerator.receive() == ring.forward(packet)


@cocotb.test()
async def a_packet_waits_for_the_result_in_its_place(dut):
    accelerator, ring, rng = await started(dut, 10)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    for first in ("DOUBLE_PRODUCT", "PRODUCT"):
        accelerator.holds = True
        expected = []
        for code in (first, *rng.sample(CODES, k=3)):
            expected += await jobs.queue(code)
        await cycles(dut, 20 * ring.n)  # whatever can arrive has arrived
        accelerator.holds = False
        for packet in expected:
            assert await accelerator.receive() == packet


@cocotb.test()
async def jobs_in_pairs_are_jobs_like_any_other(dut):
    accelerator, ring, rng = await started(dut, 11)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    before = await accelerator.read("JOBS")
    expected = []
    for number in range(8):
        if number in (2, 5):
            wrong = polynomial(rng, ring)
            wrong[rng.randrange(ring.n)] = ring.q
            await accelerator.command("PRODUCT", 0)
            accelerator.send(wrong)
            expected.append([0] * ring.n)
        else:
            expected += await jobs.queue("PRODUCT", may_keep=False, operand=number // 4)
    for number, packet in enumerate(expected):
        assert await accelerator.receive() == packet, number
    await accelerator.idle()
    assert await accelerator.errors() == ERRORS["RANGE"]
    assert await accelerator.read("JOBS") - before == len(expected)


@cocotb.test()
async def a_reset_at_any_moment_leaves_it_usable(dut):
    accelerator, ring, rng = await started(dut, 6)
    jobs = Jobs(accelerator, ring, rng)
    for _ in range(3):
        await jobs.load()
        for code in rng.sample(CODES, k=3):
            await jobs.queue(code)
        await cycles(dut, rng.randrange(6 * ring.n))
        accelerator.hang_up()
        await accelerator.write("CONTROL", 1)
        await cycles(dut, 2)
        accelerator.pick_up()
        assert await accelerator.read("STATUS") & 7 == 0, "it wipes its memories first"
        await accelerator.idle()
        assert await accelerator.read("STATUS") & 7 == 1
        assert await accelerator.errors() == 0
    await jobs.load()
    for packet in await jobs.queue("DOUBLE_PRODUCT"):
        assert await accelerator.receive() == packet


def words_in(handle):
    """Every signal, register and word of memory under a handle that may hold a residue, by path."""
    if isinstance(handle, PackedObject):
        if len(handle) >= settings()["WIDTH"] and not handle.is_const:
            yield handle._path, str(handle.value)
    elif isinstance(handle, (HierarchyObject, HierarchyArrayObject, ArrayObject)):
        for part in handle:
            if part._name != "u_control":
                yield from words_in(part)


def residues_in(dut):
    """Return the parts of the data path and its memories that are not zero."""
    places = (dut.u_engine, dut.u_departure, dut.u_arrival.beat)
    return [path for place in places for path, value in words_in(place) if value.strip("0")]


@cocotb.test()
async def a_reset_wipes_every_residue(dut):
    accelerator, ring, rng = await started(dut, 12)
    assert not residues_in(dut)
    jobs = Jobs(accelerator, ring, rng)
    for wait in (9 * ring.n, 4 * ring.n, 2 * ring.n + 7):
        await jobs.load()
        for code in ("DOUBLE_PRODUCT", "PRODUCT", "FORWARD"):
            await jobs.queue(code)
        await cycles(dut, wait)
        await FallingEdge(dut.aclk)
        held = " ".join(residues_in(dut))
        assert all(part in held for part in ("u_bank", "u_table", "u_butterfly")), held[:1000]
        assert "u_departure" in held or wait < 9 * ring.n
        await cycles(dut)
        accelerator.hang_up()
        await accelerator.write("CONTROL", 1)
        accelerator.pick_up()
        await accelerator.idle()
        await FallingEdge(dut.aclk)
        assert not residues_in(dut)
        await cycles(dut)


@cocotb.test()
async def a_command_waits_for_the_wipe(dut):
    accelerator, ring, rng = await started(dut, 13)
    await accelerator.write("CONTROL", 1)
    await accelerator.set_prime(ring.q)
    assert await accelerator.errors() == ERRORS["BUSY"]
    await accelerator.command("FORWARD")
    accelerator.send(polynomial(rng, ring))
    assert await accelerator.receive() == [0] * ring.n
    assert await accelerator.errors() == ERRORS["UNSET"]


@cocotb.test()
async def bytes_that_are_left_out_do_not_count(dut):
    accelerator, ring, rng = await started(dut, 14)
    for byte in range(4):
        await accelerator.write("PRIME_HIGH", (ring.q >> 32) | 0x5A5A5A5A & ~(255 << 8 * byte), 1 << byte)
    for byte in (3, 2, 1, 0):  # the lowest one sets it
        assert await accelerator.read("PRIME") == 0
        await accelerator.write("PRIME", ring.q & 0xFFFFFFFF ^ 0xA5A5A5A5 & ~(255 << 8 * byte), 1 << byte)
    assert await accelerator.read("PRIME") == ring.q & 0xFFFFFFFF
    await accelerator.write("COMMAND", 0xF, 0b1110)
    await accelerator.write("CONTROL", 1, 0)
    await accelerator.command("FORWARD")
    accelerator.send(polynomial(rng, ring))
    await accelerator.receive()
    await accelerator.write("ERRORS", 0xFF, 0b1110)
    assert await accelerator.errors() == ERRORS["UNSET"], "still there, and nothing else"


@cocotb.test()
async def a_short_last_beat_is_refused(dut):
    accelerator, ring, rng = await started(dut, 15)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    a = polynomial(rng, ring)
    if accelerator.beat > 1:
        await accelerator.command("FORWARD")
        accelerator.send(a[:-1])
        assert await accelerator.receive() == [0] * ring.n
        await accelerator.idle()
        assert await accelerator.errors() == ERRORS["LENGTH"]
    await accelerator.command("FORWARD")
    accelerator.send(a)
    assert await accelerator.receive() == ring.forward(a)


@cocotb.test()
async def irq_reports_what_is_enabled_until_it_is_acknowledged(dut):
    accelerator, ring, rng = await started(dut, 16)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    assert await accelerator.read("INTERRUPT") == 0
    for code, raised in (("FORWARD", 1), ("NONE", 2)):
        for enabled in (0, raised, 3):
            await accelerator.write("INTERRUPT_ENABLE", enabled)
            assert await accelerator.read("INTERRUPT_ENABLE") == enabled
            if code == "NONE":
                await accelerator.write("COMMAND", 15)
            else:
                for packet in await jobs.queue(code):
                    assert await accelerator.receive() == packet
            await cycles(dut, 4)
            assert await accelerator.read("INTERRUPT") == raised
            assert int(dut.irq.value) == int(enabled != 0)
            await accelerator.write("INTERRUPT", 3 ^ raised)
            assert await accelerator.read("INTERRUPT") == raised
            await accelerator.write("INTERRUPT", raised)
            assert await accelerator.read("INTERRUPT") == 0 and not int(dut.irq.value)
    assert await accelerator.errors() == ERRORS["COMMAND"]


@cocotb.test()
async def tables_load_as_fast_as_the_stream(dut):
    """But for the few twiddles that all units store, of which one a cycle is written."""
    accelerator, ring, rng = await started(dut, 17)
    jobs = Jobs(accelerator, ring, rng)
    await accelerator.load_ring(ring)
    await accelerator.idle()
    lanes = min(accelerator.beat, 1 << settings()["LOG2_UNITS"])
    shared = ring.n >> settings()["LOG2_UNITS"]
    for load, words in (
        (accelerator.load_operand(0, jobs.operands[0]), ring.n // lanes),
        (accelerator.load_operand(1, jobs.operands[1]), ring.n // lanes),
        (accelerator.load_ring(ring), shared + ring.n // lanes),
    ):
        busy = cocotb.start_soon(busy_cycles(dut, dut.u_arrival.busy_o))
        await load
        taken = await busy
        assert ring.n // lanes <= taken <= words + 12, (taken, words)
        await accelerator.idle()


@cocotb.test()
async def jobs_in_a_row_take_the_larger_of_computing_and_transfer(dut):
    accelerator, ring, rng = await started(dut, 7)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    beats = ring.n // accelerator.beat
    for code, packets in (("FORWARD", 1), ("INVERSE", 1), ("DOUBLE_PRODUCT", 2)):
        halves = 2 if packets == 2 and settings().get("EARLY") else 1
        busy = cocotb.start_soon(busy_cycles(dut, dut.u_engine.busy_o, halves))
        for packet in await jobs.queue(code, may_keep=False):
            assert await accelerator.receive() == packet
        computing = await busy
        accelerator.first_received_at.clear()
        expected = []
        for _ in range(8):
            expected += await jobs.queue(code, may_keep=False)
        for packet in expected:
            assert await accelerator.receive() == packet
        starts = accelerator.first_received_at[::packets]
        pace = (starts[-1] - starts[2]) / (len(starts) - 3)
        dut._log.info(
            f"{code}: a job every {pace} cycles; {computing} of computing, {packets * beats} beats out"
        )
        assert pace <= max(computing, packets * beats) + 4
        rows = ring.n >> (settings()["LOG2_UNITS"] + 1)
        if packets == 1 and computing > 2 * beats and rows <= 4:
            assert pace < 0.7 * computing, "jobs are not computed in pairs"


async def busy_cycles(dut, busy, times=1):
    """Return for how many cycles the signal is set in all, the next `times` times."""
    count = 0
    for _ in range(times):
        while not int(busy.value):
            await cycles(dut)
        while int(busy.value):
            count += 1
            await cycles(dut)
    return count


@cocotb.test()
async def the_first_of_two_results_leaves_while_the_second_is_computed(dut):
    if not settings().get("EARLY"):
        return
    accelerator, ring, rng = await started(dut, 8)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    latencies = {}
    for code in ("PRODUCT", "DOUBLE_PRODUCT", "PRODUCT", "DOUBLE_PRODUCT"):
        await accelerator.idle()
        before = await accelerator.read("JOBS")
        accelerator.first_received_at.clear()
        for packet in await jobs.queue(code, may_keep=False):
            assert await accelerator.receive() == packet
        latencies[code] = accelerator.first_received_at[0] - accelerator.last_sent_at
        await accelerator.idle()
        assert await accelerator.read("JOBS") == before + 1
    assert latencies["DOUBLE_PRODUCT"] == latencies["PRODUCT"]


@cocotb.test()
async def two_results_do_not_overwrite_one_that_waits(dut):
    accelerator, ring, rng = await started(dut, 9)
    jobs = Jobs(accelerator, ring, rng)
    await jobs.load()
    await accelerator.idle()
    accelerator.holds = True
    expected = []
    for code in ("PRODUCT", "DOUBLE_PRODUCT", "PRODUCT"):
        expected += await jobs.queue(code, may_keep=False)
        await cycles(dut, 20 * ring.n)
    accelerator.holds = False
    for packet in expected:
        assert await accelerator.receive() == packet


SHAPES = [
    {"LOG2_UNITS": 1, "LOG2_BEAT": 2, "WIDTH": 32, "DEEP": 1},
    {"LOG2_UNITS": 3, "LOG2_BEAT": 3, "WIDTH": 27, "DEEP": 1},
    {"LOG2_UNITS": 3, "LOG2_BEAT": 2, "WIDTH": 27, "DEEP": 2, "FORWARD": 1, "EARLY": 1},
    slow({"LOG2_UNITS": 3, "LOG2_BEAT": 2, "WIDTH": 27, "DEEP": 0}),
    slow({"LOG2_UNITS": 0, "LOG2_BEAT": 1, "WIDTH": 40, "DEEP": 0}),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda of: "-".join(f"{k}{v}" for k, v in of.items()))
def test_accelerator(shape):
    parameters = {"LOG2_N": 6, "MULTIPLIER_WIDTH": 24, "BLOCK": 1, **shape}
    simulate("cm_ntt_accelerator", parameters, seed=1)
