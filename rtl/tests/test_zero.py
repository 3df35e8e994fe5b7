# SPDX-License-Identifier: Apache-2.0
"""cm_zero_encrypt: zero encryptions and decryptions against the golden model and the C library."""

import json
import random
import re
import subprocess
import sys

import cocotb
import pytest
import zero
from cocotb.triggers import ReadOnly
from simulation import cycles, settings, simulate, slow, start_clock

from golden.hardware import Ring, random_prime
from tools import BUILD, ROOT, RTL, ToolError, run

BOUND = 40_960
"""Cycles of a zero encryption with every product on six multipliers, and what the issue allows."""


class Hardware:
    """dut: cm_zero_encrypt."""

    def __init__(self, dut, rng):
        of = settings()
        self.dut = dut
        self.shape = zero.Shape(of["LOG2_N"], of["WIDTH"], of["PRIMES"], of["ERROR_BITS"], of["DEEP"])
        bits = [self.shape.WIDTH, self.shape.WIDTH - 3, self.shape.LOG2_N + 9]
        self.rings = [
            Ring(random_prime(rng, self.shape.LOG2_N, bits[layer % 3]), self.shape.LOG2_N)
            for layer in range(self.shape.PRIMES)
        ]
        self.keys = []

    async def prepare(self, keys):
        """Reset, the rings, and a key as keys(q) draws each of its polynomials."""
        dut = self.dut
        start_clock(dut)
        for name in ("start", "decrypt", "write", "read_layer", "read_address"):
            getattr(dut, f"{name}_i").value = 0
        await self.reset()
        dut.q_i.value = zero.packed((ring.q for ring in self.rings), self.shape.WIDTH)
        roots = (pow(ring.psi, ring.n // 2, ring.q) for ring in self.rings)
        dut.root_i.value = zero.packed(roots, self.shape.WIDTH)
        for layer, ring in enumerate(self.rings):
            await self.write(zero.words_of_twiddles(self.shape, layer, ring.q, ring.psi))
            self.keys.append([keys(ring.q) for _ in range(2)])
            for component, key in enumerate(self.keys[layer]):
                await self.write_key(layer, component, key)

    async def reset(self):
        self.dut.rst_i.value = 1
        await cycles(self.dut, 2)
        self.dut.rst_i.value = 0
        await cycles(self.dut)

    async def write(self, words):
        dut = self.dut
        dut.write_i.value = 1
        for dut.write_kind_i.value, layer, dut.write_address_i.value, dut.write_data_i.value in words:
            dut.write_layer_i.value = layer
            await cycles(dut)
        dut.write_i.value = 0

    async def write_key(self, layer, component, key):
        ring = self.rings[layer]
        await self.write(zero.words_of_key(self.shape, layer, component, ring.q, ring.forward(key)))

    async def start(self, decrypt=False):
        self.dut.decrypt_i.value, self.dut.start_i.value = int(decrypt), 1
        await cycles(self.dut)
        self.dut.start_i.value = 0

    async def finish(self):
        """The cycles from start to end."""
        taken = 1
        while True:
            await ReadOnly()
            done = int(self.dut.done_o.value)
            assert int(self.dut.busy_o.value)
            await cycles(self.dut)
            taken += 1
            if done:
                await ReadOnly()
                assert not int(self.dut.busy_o.value) and not int(self.dut.done_o.value)
                await cycles(self.dut)
                return taken
            assert taken < 60 * self.shape.n, "the job does not end"

    async def page(self, layer, page):
        dut, rows = self.dut, []
        dut.read_layer_i.value = layer
        for row in range(self.shape.n // 4):
            dut.read_address_i.value = page * (self.shape.n // 4) + row
            await cycles(dut, 2)
            await ReadOnly()
            rows.append(int(dut.read_data_o.value))
            await cycles(dut)
        return zero.residues_of(self.shape, rows)

    async def enter(self, u, errors):
        await self.write(zero.words_of_u(self.shape, u))
        for component in range(2):
            await self.write(zero.words_of_errors(self.shape, component, errors[component]))

    async def check_encryption(self, u, errors):
        for layer, ring in enumerate(self.rings):
            for component in range(2):
                product = ring.multiply([x % ring.q for x in u], self.keys[layer][component])
                expected = [(x + e) % ring.q for x, e in zip(product, errors[component], strict=True)]
                assert await self.page(layer, component) == expected, f"layer {layer}, component {component}"


def draws(hardware, rng):
    """u and two polynomials of errors."""
    shape = hardware.shape
    largest = (1 << (shape.ERROR_BITS - 1)) - 1
    edges = (0, largest, -largest - 1)
    error = lambda: rng.choice((*edges, rng.randint(-largest - 1, largest)))  # noqa: E731
    u = [rng.choice((-1, 0, 1)) for _ in range(shape.n)]
    return u, [[error() for _ in range(shape.n)] for _ in range(2)]


@cocotb.test()
async def encrypts_zero(dut):
    rng = random.Random(settings()["seed"])
    hardware = Hardware(dut, rng)
    n = hardware.shape.n
    await hardware.prepare(lambda q: [rng.choice((0, 1, q - 1, rng.randrange(q))) for _ in range(n)])
    taken = set()
    for _ in range(2):
        u, errors = draws(hardware, rng)
        await hardware.enter(u, errors)
        await hardware.start()
        taken.add(await hardware.finish())
        await hardware.check_encryption(u, errors)
    await hardware.start()  # at once again, with the same u
    taken.add(await hardware.finish())
    await hardware.check_encryption(u, errors)
    assert len(taken) == 1, "cycles depend on nothing"
    dut._log.info(f"zero encryption {taken} cycles")


@cocotb.test()
async def encrypts_edge_values(dut):
    rng = random.Random(settings()["seed"] + 1)
    hardware = Hardware(dut, rng)
    n = hardware.shape.n
    await hardware.prepare(lambda q: [q - 1] * n)
    lowest = -1 << (hardware.shape.ERROR_BITS - 1)
    for u, errors in ((-1, (lowest, -lowest - 1)), (0, (-1, 0)), (1, (1, lowest))):
        await hardware.enter([u] * n, [[e] * n for e in errors])
        await hardware.start()
        await hardware.finish()
        await hardware.check_encryption([u] * n, [[e] * n for e in errors])


@cocotb.test()
async def decrypts_between_encryptions(dut):
    rng = random.Random(settings()["seed"] + 2)
    hardware = Hardware(dut, rng)
    n = hardware.shape.n
    await hardware.prepare(lambda q: [rng.choice((0, q - 1, rng.randrange(q))) for _ in range(n)])
    u, errors = draws(hardware, rng)
    await hardware.enter(u, errors)
    for _ in range(2):
        await hardware.start()
        await hardware.finish()
        await hardware.check_encryption(u, errors)
        expected = []
        for layer, ring in enumerate(hardware.rings):
            c0, c1 = (
                [rng.choice((0, ring.q - 1, rng.randrange(ring.q))) for _ in range(n)] for _ in range(2)
            )
            for page, component in enumerate((c1, c0)):
                await hardware.write(zero.words_of_page(hardware.shape, layer, page, component))
            product = ring.multiply(c1, hardware.keys[layer][0])
            expected.append([(x + y) % ring.q for x, y in zip(product, c0, strict=True)])
        await hardware.start(decrypt=True)
        taken = await hardware.finish()
        for layer, sums in enumerate(expected):
            assert await hardware.page(layer, 0) == sums
        dut._log.info(f"decryption {taken} cycles")


@cocotb.test()
async def a_reset_stops_a_job_and_the_next_one_is_right(dut):
    rng = random.Random(settings()["seed"] + 3)
    hardware = Hardware(dut, rng)
    n = hardware.shape.n
    await hardware.prepare(lambda q: [rng.randrange(q) for _ in range(n)])
    u, errors = draws(hardware, rng)
    await hardware.enter(u, errors)
    await hardware.start()
    whole = await hardware.finish()
    for stop, decrypt in ((3, False), (rng.randrange(whole), False), (whole - 3, False), (n, True)):
        await hardware.start(decrypt)
        await cycles(dut, stop)
        dut.rst_i.value = 1
        await cycles(dut)
        dut.rst_i.value = 0
        await ReadOnly()
        assert not int(dut.busy_o.value)
        await cycles(dut)
        await hardware.start()
        assert await hardware.finish() == whole
        await hardware.check_encryption(u, errors)


SHAPES = [
    {"LOG2_N": 5},
    {"LOG2_N": 5, "DEEP": 0, "PRIMES": 2, "WIDTH": 27},
    slow({"LOG2_N": 6, "DEEP": 0}),
    slow({"LOG2_N": 5, "PRIMES": 1, "WIDTH": 22, "ERROR_BITS": 8, "MULTIPLIER_WIDTH": 17}),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "-".join(f"{k}{v}" for k, v in s.items()))
def test_zero_encryption(shape):
    defaults = {"WIDTH": 40, "PRIMES": 3, "ERROR_BITS": 6, "DEEP": 1, "MULTIPLIER_WIDTH": 24}
    simulate("cm_zero_encrypt", {**defaults, **shape}, seed=1)


@pytest.mark.parametrize("deep", (0, 1))
def test_at_full_size_it_meets_its_bound(deep):
    taken = zero.times(zero.Shape(DEEP=deep), seed=2)
    assert taken["zero_encryption"] <= BOUND
    assert taken["delta_m_decryption"] <= 26_624 + 100


@pytest.mark.parametrize(
    "shape",
    [
        slow(zero.Shape(9)),
        slow(zero.Shape(9, WIDTH=32, DEEP=0)),
        slow(zero.Shape(10, WIDTH=20, PRIMES=2, ERROR_BITS=7, DEEP=0)),
    ],
    ids=lambda shape: shape.name,
)
def test_other_shapes(shape):
    assert all(zero.times(shape, seed=3).values())


def test_it_has_six_modular_multipliers_and_the_memory_that_the_page_says():
    found = zero.counts(zero.Shape())
    assert found["multipliers"] == 6
    text = (ROOT / "docs/client-engine.md").read_text(encoding="utf-8")
    assert f"{found['memory_bits']:,} bits" in text


def test_the_page_has_its_area_and_clock():
    rows = json.loads((ROOT / "bench/results/rtl-asic.json").read_text(encoding="utf-8"))["rows"]
    found = {
        row["name"].rpartition(".")[2]: row["value"] for row in rows if ".zero_encryption." in row["name"]
    }
    ns = 10 - found["slack"]
    text = " ".join((ROOT / "docs/client-engine.md").read_text(encoding="utf-8").split())
    count = int(re.search(r"\| zero encryption, cycles \| [\d,]+ \| ([\d,]+) \|", text)[1].replace(",", ""))
    said = f"has {found['kge']} kGE of cells and a clock of {1000 / ns:.1f} MHz (`make bench-asic`)"
    assert f"{said}: {count * ns / 1000:.0f} us." in text


def test_it_gives_the_residues_of_the_c_library():
    """An encryption of zeros by the library, from the same u, errors and key; and back again."""
    wanted = [{"set": "n4096_q26x3_p27", "t": 40961, "zero": True, "seed": 5}]
    command = [ROOT / ".venv/bin/python", RTL / "tools/client_cases.py", json.dumps(wanted)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (case,) = json.loads(said)
    shape = zero.Shape()
    hardware = zero.Zero(shape)
    hardware.write(zero.words_of_u(shape, case["u"]))
    for component in range(2):
        hardware.write(zero.words_of_errors(shape, component, case["errors"][component]))
    for layer, (q, psi) in enumerate(zip(case["primes"], case["roots"], strict=True)):
        hardware.ring(layer, q, psi)
        for component, outputs in enumerate(case["public"][layer]):
            hardware.write(zero.words_of_key(shape, layer, component, q, outputs))
    hardware.job()
    for layer in range(3):
        for page in range(2):
            hardware.read(layer, page)
    for layer, q in enumerate(case["primes"]):
        hardware.write(zero.words_of_key(shape, layer, 0, q, case["secret"][layer]))
        for page in range(2):
            hardware.write(zero.words_of_page(shape, layer, page, case["residues"][layer][1 - page]))
    hardware.job(decrypt=True)
    for layer in range(3):
        hardware.read(layer, 0)
    _, got = hardware.simulate()
    assert got[:6] == [component for pair in case["residues"] for component in pair]
    # c0 + c1 s is noise: small, and the same for every prime.
    noise = [[x - q if x > q // 2 else x for x in of] for of, q in zip(got[6:], case["primes"], strict=True)]
    assert noise[0] == noise[1] == noise[2] and any(noise[0]) and max(map(abs, noise[0])) < 1 << 16


ILLEGAL = [
    ({"LOG2_N": 4}, "LOG2_N must be from 5 to 14."),
    ({"LOG2_N": 15}, "LOG2_N must be from 5 to 14."),
    ({"WIDTH": 15}, "WIDTH must be from 16 to 40."),
    ({"WIDTH": 41}, "WIDTH must be from 16 to 40."),
    ({"PRIMES": 0}, "PRIMES must be from 1 to 8."),
    ({"PRIMES": 9}, "PRIMES must be from 1 to 8."),
    ({"ERROR_BITS": 1}, "ERROR_BITS must be from 2 to 12."),
    ({"ERROR_BITS": 13}, "ERROR_BITS must be from 2 to 12."),
    ({"DEEP": 2}, "DEEP must be 0 or 1."),
    ({"MULTIPLIER_WIDTH": 18}, "MULTIPLIER_WIDTH must be 17 or 24."),
]


@pytest.mark.parametrize("tool", ("yosys", "verilator"))
@pytest.mark.parametrize("parameters, sentence", ILLEGAL, ids=lambda of: str(of)[:20])
def test_an_illegal_parameter_stops_elaboration(tool, parameters, sentence):
    ((key, value),) = parameters.items()
    log = BUILD / f"parameters/{tool}-{zero.TOP}-{key}{value}.log"
    steps = [
        f"read_verilog -sv -defer {' '.join(zero.INCLUDES)} {' '.join(map(str, zero.SOURCES))}",
        f"chparam -set {key} {value} {zero.TOP}",
        f"hierarchy -check -top {zero.TOP}",
    ]
    commands = {
        "yosys": [sys.executable, RTL / "tools/yosys.py", *steps],
        "verilator": [
            *("verilator", "--lint-only", "-Wno-lint", "--top", zero.TOP),
            *(*zero.INCLUDES, f"-G{key}={value}", *zero.SOURCES),
        ],
    }
    with pytest.raises(ToolError):
        run(commands[tool], log)
    assert f"cm_zero_encrypt: {sentence}" in log.read_text(encoding="utf-8")
