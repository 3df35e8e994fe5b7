# SPDX-License-Identifier: Apache-2.0
"""cm_evaluator through its buses: random programs against a model, waits at every moment, every error,
resets, its pace."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from evaluator_driver import CONSTANTS, ERRORS, Evaluator
from simulation import cycles, settings, simulate, slow, start_clock
from test_accelerator import words_in

from golden.evaluator import ONE, SET, A, B, Instruction, Machine, Program, Term
from golden.hardware import Ring, random_prime

MEMORIES = (A, B)


class Bench:
    """An evaluator and its model, both with the same moduli and weights.

    Of each memory, jobs of one parity have two slots for operands and two for results of their own; the
    others are for all jobs, one after the other.
    """

    def __init__(self, evaluator, rng):
        of = settings()
        self.evaluator, self.rng = evaluator, rng
        self.slots = (1 << of["LOG2_SLOTS_A"], 1 << of["LOG2_SLOTS_B"])
        self.sizes = (of["LOG2_N"], of["WIDTH"], self.slots, 1 << of["LOG2_MODULI"], 1 << of["LOG2_WEIGHTS"])
        self.words = 1 << of["LOG2_PROGRAM"]
        self.machine = Machine(*self.sizes)
        self.jobs = 0

    async def load(self):
        """Load moduli of various widths, and weights."""
        rng, machine = self.rng, self.machine
        self.jobs = 0
        machine.weights = [rng.choice((0, 1, (1 << 31) - 1, rng.getrandbits(31))) for _ in machine.weights]
        await self.evaluator.load_weights(0, machine.weights)
        for number in range(len(machine.moduli)):
            bits = settings()["WIDTH"] if number % 2 == 0 else rng.randrange(20, settings()["WIDTH"])
            ring = Ring(random_prime(rng, machine.log2_n, bits), machine.log2_n)
            machine.moduli[number] = ring
            await self.evaluator.load_modulus(number, ring)
        await self.evaluator.idle()

    def polynomial(self, bound=None):
        bound = bound or 1 << settings()["WIDTH"]
        rng = self.rng
        return [rng.choice((0, bound - 1, rng.randrange(bound))) for _ in range(self.machine.n)]

    def places(self, parity, first):
        return [(memory, 4 * parity + first + i) for memory in MEMORIES for i in range(2)]

    def program(self, parity, length, most_terms=6):
        """A random program of jobs of a parity."""
        rng = self.rng
        receives = rng.sample(self.places(parity, 0), k=rng.randrange(4))
        results = rng.sample(self.places(parity, 2), k=rng.randrange(4))
        work = [(memory, slot) for memory in MEMORIES for slot in range(8, self.slots[memory])]
        awaited, readable = 0, list(work)
        instructions = []
        for number in range(length):
            left = length - number
            if awaited < len(receives) and rng.random() < 0.5:
                awaited += 1
                readable.append(receives[awaited - 1])
            send = bool(results) and rng.random() < len(results) / left
            if send:
                destination, slot = results.pop()
                readable.append((destination, slot))
            elif rng.random() < 0.5:
                destination, slot = SET, rng.randrange(2)
            else:
                destination, slot = rng.choice(work)
            shift = rng.randrange(35, 63) if destination != SET and rng.random() < 0.3 else 0
            last = instructions[-1] if instructions else None
            instructions.append(
                Instruction(
                    self.terms(readable, slot if destination == SET else None, last, most_terms),
                    rng.randrange(len(self.machine.moduli)),
                    shift,
                    destination,
                    slot,
                    destination == SET and rng.random() < 0.5,
                    awaited,
                    send,
                    number == length - 1,
                )
            )
        return Program(receives, instructions)

    def terms(self, readable, filled, last, most):
        """Random terms of an instruction; filled: the set that it fills; last: the instruction before, whose
        result is often the first source."""
        rng = self.rng
        of_b = [slot for memory, slot in readable if memory == B]
        found = []
        if last and last.destination != SET and rng.random() < 0.5:
            found.append(Term(last.destination, last.slot, rng.randrange(len(self.machine.weights))))
        for _ in range(rng.choice((0, 1, 2, rng.randrange(most))) + (not found)):
            source = rng.choice((A, A, B, SET, SET, ONE))
            if source == SET and filled is not None:
                slot = 1 - filled
            elif source == SET:
                slot = rng.randrange(2)
            else:
                slot = rng.choice([s for memory, s in readable if memory == source] or [0])
            product = source in (A, SET) and rng.random() < 0.5
            factor = rng.choice(of_b) if product else rng.randrange(len(self.machine.weights))
            found.append(Term(source, slot, factor, product))
        return found

    async def queue(self, program, address):
        """Queue a run of a program that is loaded; the packets that must come."""
        operands = [self.polynomial() for _ in program.receives]
        await self.evaluator.run(address, operands)
        return self.machine.run(program, operands)


async def started(dut, seed, patience=0):
    if "period" in settings():
        Clock(dut.aclk, 10_000, unit="ps").start()
        Clock(dut.axis_aclk, settings()["period"], unit="ps").start()
    else:
        start_clock(dut)
    rng = random.Random(settings()["seed"] + seed)
    evaluator = Evaluator(dut, settings(), rng, patience)
    await evaluator.reset()
    return Bench(evaluator, rng), evaluator, rng


async def run_programs(bench, count, length):
    """Run random programs one after the other, the next queued while one runs."""
    evaluator = bench.evaluator
    programs, addresses, words = [], [], []
    for parity in (0, 1) * ((count + 1) // 2):
        program = bench.program(parity, length)
        if len(words) + len(program.words()) > bench.words:
            break
        programs.append(program)
        addresses.append(len(words))
        words += program.words()
    await evaluator.load_program(0, words)
    expected = []
    for program, address in zip(programs, addresses, strict=True):
        expected += await bench.queue(program, address)
    for number, packet in enumerate(expected):
        assert await evaluator.receive() == packet, number
    await evaluator.idle()
    assert await evaluator.errors() == 0
    assert not evaluator.packets
    return len(programs)


@cocotb.test()
async def runs_random_programs_whatever_the_buses_wait(dut):
    for patience in (0, 1):
        bench, evaluator, _ = await started(dut, patience, patience)
        await bench.load()
        for _ in range(settings().get("rounds", 3)):
            before = await evaluator.read("JOBS")
            ran = await run_programs(bench, count=6, length=10)
            assert await evaluator.read("JOBS") - before == ran


@cocotb.test()
async def tells_what_it_is(dut):
    bench, evaluator, _ = await started(dut, 2)
    of = settings()

    async def fields(register):
        value = await evaluator.read(CONSTANTS[f"{register}_OFFSET"])
        names = [n.removesuffix("_LOW") for n in CONSTANTS if n.startswith(f"{register}_") and "_LOW" in n]
        return {
            n.removeprefix(f"{register}_"): value >> CONSTANTS[f"{n}_LOW"]
            & ((1 << CONSTANTS[f"{n}_BITS"]) - 1)
            for n in names
        }

    assert await evaluator.read("ID") == int.from_bytes(b"CMEV", "big")
    shape, sizes = await fields("SHAPE"), await fields("SIZES")
    assert {**shape, **sizes}.items() >= {
        **{name: of[name] for name in (*sizes, "LOG2_N", "WIDTH", "LOG2_UNITS", "LOG2_BEAT")},
        "MONTGOMERY_BITS": bench.machine.montgomery_bits,
    }.items()
    assert 1 << shape["TWIDDLE_BITS"] == bench.machine.twiddle_r


@cocotb.test()
async def a_polynomial_that_was_loaded_stays(dut):
    bench, evaluator, _ = await started(dut, 3)
    await bench.load()
    for memory in MEMORIES:
        slot = bench.slots[memory] - 1
        words = bench.polynomial()
        await evaluator.load_polynomial(memory, slot, words)
        bench.machine.memories[memory][slot] = words
    await run_programs(bench, count=4, length=8)


@cocotb.test()
async def a_bad_word_ends_the_program_and_the_next_one_is_right(dut):
    bench, evaluator, _ = await started(dut, 4, patience=1)
    await bench.load()
    good = Term(ONE, 0, 0)
    last = Instruction([good], destination=A, slot=8, send=True, end=True)

    def of(*terms, **fields):
        return [Instruction(list(terms), **fields), last]

    fills = Instruction([good, Term(SET, 1, 0)], destination=SET, slot=1)
    slots_a, slots_b = bench.slots
    weights, moduli = len(bench.machine.weights), len(bench.machine.moduli)
    bad = {
        "no terms": of(),
        "slot of A": of(Term(A, slots_a)) if slots_a < 1024 else [],
        "slot of B": of(Term(B, slots_b)),
        "factor in B": of(good, Term(A, 0, slots_b, product=True)),
        "weight": of(Term(A, 0, weights)) if weights < 4096 else [],
        "set": of(Term(SET, 2)),
        "B times B": of(Term(B, 0, 0, product=True)),
        "1 times B": of(Term(ONE, 0, 0, product=True)),
        "modulus": of(good, modulus=moduli) if moduli < 16 else [],
        "destination": of(good, destination=3),
        "result in A": of(good, slot=slots_a),
        "result in B": of(good, destination=B, slot=slots_b),
        "result in a set": of(good, destination=SET, slot=4),
        "a set reads itself": [fills, last],
        "sends a set": of(good, destination=SET, send=True),
        "shifts into a set": of(good, destination=SET, shift=40),
    }
    programs = {name: Program([], found).words() for name, found in bad.items() if found}
    programs["too many terms"] = Program([], of(good, good)).words()
    programs["too many terms"][0] += 1
    programs["too few terms"] = Program([], of(good, good)).words()
    programs["too few terms"][0] -= 1
    programs["shift by 0"] = Program([], of(good)).words()
    programs["shift by 0"][0] |= 1 << 12
    programs["kind"] = [3 << 62, *Program([], [last]).words()]
    programs["a late receive word"] = [
        *Program([], of(good)).words()[:2],
        2 << 62,
        *Program([], [last]).words(),
    ]
    programs["nothing"] = [0]
    for name, words in programs.items():
        await evaluator.load_program(0, words)
        for _ in range(2):
            await evaluator.order("RUN", 0)
        await evaluator.idle()
        assert await evaluator.errors() == ERRORS["PROGRAM"], name
        assert not evaluator.packets, name
    # The memory ends before the program does.
    await evaluator.load_program(bench.words - 2, Program([], of(good)).words()[:2])
    await evaluator.order("RUN", bench.words - 2)
    await evaluator.idle()
    assert await evaluator.errors() == ERRORS["PROGRAM"]
    # A packet for a slot that is not there.
    await evaluator.load_program(0, [2 << 62 | slots_a << 2, *Program([], [last]).words()])
    await evaluator.order("RUN", 0)
    assert await evaluator.receive() == [0] * bench.machine.n
    await evaluator.idle()
    assert await evaluator.errors() == ERRORS["PROGRAM"]
    bench.machine = Machine(*bench.sizes)
    evaluator.hang_up()
    await evaluator.write("CONTROL", 1)
    evaluator.pick_up()
    await evaluator.idle()
    await bench.load()
    await run_programs(bench, count=4, length=8)


@cocotb.test()
async def a_failed_run_sends_zeros_and_the_next_one_is_right(dut):
    bench, evaluator, rng = await started(dut, 5, patience=1)
    machine, zeros = bench.machine, [0] * bench.machine.n
    copies = [
        Program(
            [(A, slot)],
            [
                Instruction(
                    [Term(A, slot, 0)], 0, destination=B, slot=2 + slot, arrivals=1, send=True, end=True
                )
            ],
        )
        for slot in (0, 1)
    ]
    words = [copy.words() for copy in copies]
    a = bench.polynomial()

    async def fails(words, error):
        await evaluator.run(0, [words])
        assert await evaluator.receive() == zeros, error
        await evaluator.idle()
        assert await evaluator.errors() == ERRORS[error], error

    await evaluator.load_program(0, words[0] + words[1])
    await fails(a, "UNSET")
    await bench.load()
    for _ in range(2):
        await fails(a[:-1] if evaluator.beat > 1 else a[: len(a) // 2], "LENGTH")
        await fails(a[: len(a) // 2], "LENGTH")
        await fails(a + a[: evaluator.beat], "LENGTH")
        for word in (1 << settings()["WIDTH"], (1 << 32) - 1):
            wrong = list(a)
            wrong[rng.randrange(len(a))] = word
            await fails(wrong, "RANGE")
        await evaluator.run(0, [a])
        assert await evaluator.receive() == machine.run(copies[0], [a])[0]
    # The run beside one that failed sends its result.
    short = a[: len(a) // 2]
    right = machine.run(copies[0], [a])[0]
    for order in ((short, a), (a, short)):
        for number, packet in enumerate(order):
            await evaluator.run(number * len(words[0]), [packet])
        for packet in order:
            assert await evaluator.receive() == (right if packet == a else zeros)
        await evaluator.idle()
        assert await evaluator.errors() == ERRORS["LENGTH"]


@cocotb.test()
async def a_modulus_is_loaded_whole_or_not_at_all(dut):
    bench, evaluator, _ = await started(dut, 6)
    await bench.load()
    ring = bench.machine.moduli[0]

    async def loaded():
        await evaluator.idle()
        return await evaluator.read("STATUS") >> CONSTANTS["STATUS_MODULI_LOW"]

    every = (1 << len(bench.machine.moduli)) - 1
    assert await loaded() == every
    for bad in (0, 1, ring.q + 1, ring.q + 2 * ring.n + 2, (1 << settings()["WIDTH"]) + 1):
        await evaluator.set_prime(bad)
        assert await evaluator.errors() == ERRORS["BAD_PRIME"]
    twiddles = ring.twiddles(evaluator.r)
    await evaluator.order("LOAD_MODULUS", 0)
    evaluator.send(twiddles)
    assert await loaded() == every & ~1
    assert await evaluator.errors() == ERRORS["UNSET"]
    await evaluator.set_prime(ring.q)
    for words, error in (
        (twiddles[: ring.n // 2], "LENGTH"),
        ([ring.q, *twiddles[1:]], "RANGE"),
        (twiddles, None),
    ):
        await evaluator.order("LOAD_MODULUS", 0)
        evaluator.send(words)
        assert await loaded() == (every & ~1 if error else every)
        assert await evaluator.errors() == (ERRORS[error] if error else 0)
    await evaluator.order("LOAD_WEIGHTS", 0)
    evaluator.send([1 << 31, *bench.machine.weights, *[0] * ring.n][: ring.n])
    await evaluator.idle()
    assert await evaluator.errors() == ERRORS["RANGE"]


@cocotb.test()
async def commands_that_it_does_not_have_are_errors(dut):
    bench, evaluator, _ = await started(dut, 7)
    n, of = bench.machine.n, settings()
    await bench.load()
    for code, argument, memory in (
        ("LOAD_MODULUS", 1 << of["LOG2_MODULI"], 0),
        ("LOAD_WEIGHTS", max(1, (1 << of["LOG2_WEIGHTS"]) // n), 0),
        ("LOAD_PROGRAM", max(1, (2 << of["LOG2_PROGRAM"]) // n), 0),
        ("LOAD_POLYNOMIAL", bench.slots[A], A),
        ("LOAD_POLYNOMIAL", bench.slots[B], B),
        ("RUN", 1 << of["LOG2_PROGRAM"], 0),
    ):
        await evaluator.order(code, argument, memory)
        assert await evaluator.errors() == ERRORS["COMMAND"], code
    for code in (0, 6, 15):
        await evaluator.write("COMMAND", code)
        assert await evaluator.errors() == ERRORS["COMMAND"]
    program = Program([(A, 0)], [Instruction([Term(A, 0, 0)], arrivals=1, send=True, end=True, slot=2)])
    await evaluator.load_program(0, program.words())
    # One is under way at once, eight fit the queue.
    for _ in range(9):
        await evaluator.order("RUN", 0)
    assert await evaluator.errors() == 0
    await evaluator.order("RUN", 0)
    assert await evaluator.errors() == ERRORS["OVERFLOW"]
    await evaluator.set_prime(bench.machine.moduli[0].q)
    assert await evaluator.errors() == ERRORS["BUSY"]
    packets = [bench.polynomial() for _ in range(9)]
    for packet in packets:
        evaluator.send(packet)
        assert await evaluator.receive() == bench.machine.run(program, [packet])[0]


@cocotb.test()
async def a_reset_at_any_moment_leaves_it_usable(dut):
    bench, evaluator, rng = await started(dut, 8)
    for _ in range(3):
        await bench.load()
        words, address = [], []
        for parity in (0, 1):
            program = bench.program(parity, 6)
            address.append((len(words), program))
            words += program.words()
        await evaluator.load_program(0, words)
        for at, program in address:
            await evaluator.run(at, [bench.polynomial() for _ in program.receives])
        await cycles(dut, rng.randrange(12 * bench.machine.n))
        evaluator.hang_up()
        await evaluator.write("CONTROL", 1)
        await cycles(dut, 2)
        evaluator.pick_up()
        assert await evaluator.read("STATUS") & 1 == 0, "it wipes its memories first"
        await evaluator.idle()
        assert await evaluator.read("STATUS") >> CONSTANTS["STATUS_MODULI_LOW"] == 0
        assert await evaluator.errors() == 0
        bench.machine = Machine(*bench.sizes)
    await bench.load()
    await run_programs(bench, count=2, length=8)


PUBLIC = {
    "q",
    "q_i",
    "bound",
    "round",
    "round_i",
    "minus_h_i",
    "reduction_h",
    "h_here",
    "primes",
    "s_axis_tdata_i",
}
"""Constants of an instruction or a load, what the host drives, and what accompanies a term through the
pipeline:"""
ACCOMPANIES = {"u_round", "u_write", "u_result_h", "u_h"}


def residues_in(dut):
    """The parts of the data path and its memories that are not zero."""
    found = [of for place in (dut.u_vector, dut.u_departure, dut.u_arrival) for of in words_in(place)]
    return [
        path
        for path, value in found
        if value.strip("0")
        and not ACCOMPANIES & {*path.split(".")}
        and path.rpartition(".")[2].partition("[")[0] not in PUBLIC
    ]


@cocotb.test()
async def a_reset_wipes_every_residue(dut):
    bench, evaluator, rng = await started(dut, 9)
    assert not residues_in(dut)
    for wait in (8 * bench.machine.n, 16 * bench.machine.n):
        await bench.load()
        await evaluator.load_weights(0, [rng.getrandbits(30) | 1])
        terms = [Term(A, 0, 0), Term(A, 0, 0, product=True)]
        program = Program(
            [(A, 0), (B, 0), (A, 1)],
            [
                Instruction(terms, destination=SET, arrivals=2),
                Instruction([Term(SET, 0, 0)], destination=SET, slot=1, inverse=True),
                Instruction([Term(SET, 1, 0)], destination=A, slot=2, send=True),
                Instruction([Term(A, 0, 0)], destination=B, slot=2, send=True),
                Instruction(terms, destination=A, slot=3, send=True, end=True),
            ],
        )
        await evaluator.load_program(0, program.words())
        for _ in range(2):
            await evaluator.run(0, [[w | 1 for w in bench.polynomial()] for _ in range(3)])
        evaluator.holds = True
        await cycles(dut, wait)
        await FallingEdge(dut.aclk)
        held = " ".join(residues_in(dut))
        assert not {part for part in ("u_a.", "u_b.", "u_bank", "u_lane", "u_arrival") if part not in held}
        await cycles(dut)
        evaluator.hang_up()
        await evaluator.write("CONTROL", 1)
        evaluator.holds = False
        evaluator.pick_up()
        await evaluator.idle()
        await FallingEdge(dut.aclk)
        left = residues_in(dut)
        assert not left, left[:10]
        await cycles(dut)
        bench.machine = Machine(*bench.sizes)


@cocotb.test()
async def an_instruction_waits_for_the_operands_that_it_names(dut):
    bench, evaluator, _ = await started(dut, 13)
    await bench.load()
    first = Instruction([Term(A, 0, 0)], destination=B, slot=2, arrivals=1, send=True)
    both = Instruction([Term(A, 0, 1), Term(B, 0, 2)], destination=B, slot=3, arrivals=2, send=True, end=True)
    program = Program([(A, 0), (B, 0)], [first, both])
    await evaluator.load_program(0, program.words())
    for _ in range(2):
        operands = [bench.polynomial() for _ in range(2)]
        results = bench.machine.run(program, operands)
        await evaluator.run(0, [])
        for operand, result in zip(operands, results, strict=True):
            await cycles(dut, 4 * bench.machine.n)
            assert not evaluator.packets
            evaluator.send(operand)
            assert await evaluator.receive() == result


@cocotb.test()
async def results_that_wait_are_not_overwritten(dut):
    """Runs go on as far as they may while nothing leaves."""
    bench, evaluator, _ = await started(dut, 12)
    await bench.load()
    for more in (0, 9):  # in all, fewer results than may be queued, and more
        programs = []
        for parity in (0, 1):
            others = [*((A, slot) for slot in range(8, 16)), (B, 8)]
            places = bench.places(parity, 2) + others[: more * parity]
            sends = [
                Instruction([Term(A, 4 * parity, i)], 0, destination=memory, slot=slot, arrivals=1, send=True)
                for i, (memory, slot) in enumerate(places)
            ]
            sends[-1].end = True
            programs.append(Program([(A, 4 * parity)], sends))
        words = [program.words() for program in programs]
        await evaluator.load_program(0, words[0] + words[1])
        evaluator.holds = True
        expected = []
        for number in range(5):
            expected += await bench.queue(programs[number % 2], number % 2 * len(words[0]))
        await cycles(dut, 30 * bench.machine.n)
        evaluator.holds = False
        for packet in expected:
            assert await evaluator.receive() == packet
        await evaluator.idle()
        assert await evaluator.errors() == 0


@cocotb.test()
async def operands_arrive_and_results_leave_while_it_computes(dut):
    """Runs in a row take the largest of arriving, computing and leaving, and little more."""
    bench, evaluator, _ = await started(dut, 10)
    await bench.load()
    n, beats = bench.machine.n, bench.machine.n // evaluator.beat
    rows = n >> settings()["LOG2_UNITS"]
    for copies, terms in ((1, 1), (5, 12)):
        programs = []
        for parity in (0, 1):
            at = 4 * parity
            copied = [
                Instruction([Term(A, at, 1)] * terms, destination=A, slot=8, arrivals=2)
                for _ in range(copies)
            ]
            end = Instruction([Term(A, at + 1, 1)], destination=A, slot=at + 2, send=True, end=True)
            programs.append(Program([(A, at), (A, at + 1)], [*copied, end]))
        words = [program.words() for program in programs]
        await evaluator.load_program(0, words[0] + words[1])
        evaluator.first_received_at.clear()
        expected = []
        for number in range(6):
            expected += await bench.queue(programs[number % 2], number % 2 * len(words[0]))
        for packet in expected:
            assert await evaluator.receive() == packet
        await evaluator.idle()
        starts = evaluator.first_received_at
        pace = (starts[-1] - starts[1]) / (len(starts) - 2)
        computing = copies * (terms * rows + max(0, 26 - rows) + 3) + rows + 60
        arriving = 2 * (beats + 12)
        dut._log.info(f"a run every {pace} cycles; computing {computing}, arriving {arriving}")
        assert pace <= max(computing, arriving, beats) * 1.05


@cocotb.test()
async def a_result_leaves_while_terms_use_its_memory(dut):
    bench, evaluator, _ = await started(dut, 14)
    await bench.load()
    sums = [Instruction([Term(A, 9, 1)] * 12, destination=A, slot=8) for _ in range(5)]
    sums[-1].end = True
    program = Program([], [Instruction([Term(ONE, 0, 0)], destination=A, slot=2, send=True), *sums])
    await evaluator.load_program(0, program.words())
    evaluator.first_received_at.clear()
    await evaluator.run(0, [])
    assert await evaluator.receive() == bench.machine.run(program, [])[0]
    taken = evaluator.cycle - evaluator.first_received_at[0]
    assert taken < 3 * bench.machine.n + 20, taken


@cocotb.test()
async def irq_reports_runs_and_errors(dut):
    bench, evaluator, _ = await started(dut, 11)
    await bench.load()
    program = Program([], [Instruction([Term(ONE, 0, 0)], end=True)])
    await evaluator.load_program(0, program.words())
    await evaluator.write("INTERRUPT_ENABLE", 3)
    for address, raised in ((0, 1), (len(program.words()), 3)):  # the other one is no program
        await evaluator.order("RUN", address)
        await evaluator.idle()
        await cycles(dut, 4)
        assert await evaluator.read("INTERRUPT") == raised and int(dut.irq.value)
        await evaluator.write("INTERRUPT", raised)
        assert await evaluator.read("INTERRUPT") == 0 and not int(dut.irq.value)
    assert await evaluator.errors() == ERRORS["PROGRAM"]


TWO_CLOCKS = (
    "runs_random_programs_whatever_the_buses_wait",
    "a_failed_run_sends_zeros_and_the_next_one_is_right",
    "a_reset_at_any_moment_leaves_it_usable",
)
SIZES = {"LOG2_SLOTS_A": 4, "LOG2_SLOTS_B": 4, "LOG2_MODULI": 2, "LOG2_WEIGHTS": 5, "LOG2_PROGRAM": 9}
SHAPES = [
    {"LOG2_N": 5, "LOG2_UNITS": 1, "LOG2_BEAT": 0, "DEEP": 0},
    slow({"LOG2_N": 5, "LOG2_UNITS": 2, "LOG2_BEAT": 1, "DEEP": 1}),
    slow({"LOG2_N": 5, "LOG2_UNITS": 0, "LOG2_BEAT": 0, "DEEP": 2, "LOG2_MODULI": 0}),
    slow({"LOG2_N": 6, "LOG2_UNITS": 2, "LOG2_BEAT": 2, "DEEP": 1, "WIDTH": 24, "LOG2_WEIGHTS": 7}),
    slow({"LOG2_N": 7, "LOG2_UNITS": 2, "LOG2_BEAT": 2, "DEEP": 1, "FORWARD": 1, "LOG2_SLOTS_A": 5}),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda of: "-".join(f"{k}{v}" for k, v in of.items()))
def test_evaluator(shape):
    simulate("cm_evaluator", {"WIDTH": 27, "MULTIPLIER_WIDTH": 24, "BLOCK": 1, **SIZES, **shape}, seed=1)


@pytest.mark.parametrize("period", [8_002, slow(3_334), slow(27_018)])
def test_evaluator_on_two_clocks(period):
    """The period of the streams' clock in ps; the other one's is 10,000."""
    shape = {"LOG2_N": 5, "LOG2_UNITS": 2, "LOG2_BEAT": 2, "LOG2_STREAM": 1, "WIDTH": 27, "DEEP": 1, **SIZES}
    simulate("cm_evaluator_two_clocks", shape, TWO_CLOCKS, seed=2, period=period)
