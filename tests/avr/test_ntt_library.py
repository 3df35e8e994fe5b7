# SPDX-License-Identifier: Apache-2.0
"""CiphermoteNtt.h: what a sketch includes to transform and multiply polynomials, on simulated boards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from arduino import MEGA, PORT_EXAMPLES, UNO, Board, build_sketch
from avr_support import transform
from boards import open_board
from machine import MachineError, section_bytes

RUN_CYCLES = 1_000_000
ENDED = (b"done\r\n", b"faulty\r\n")
SIZES = [2**i for i in range(11)]


def output_of(image: Path, board: Board) -> str:
    """Read what a sketch has printed by the time it says that it is done."""
    with open_board(image, board, None) as machine:
        machine.leave_out_digests()
        for _ in range(60):
            machine.run(RUN_CYCLES)
            if machine.text.endswith(ENDED):
                break
        return machine.text.decode("ascii")


def build(name: str, board: Board, tmp_path: Path) -> Path:
    return build_sketch(PORT_EXAMPLES / name / f"{name}.ino", board, tmp_path)


@pytest.mark.parametrize(
    ("board", "transforms", "products"), [(UNO, SIZES[:10], SIZES[:9]), (MEGA, SIZES, SIZES)]
)
def test_the_example_prints_a_checked_row_for_each_size(
    board: Board, transforms: list[int], products: list[int], tmp_path: Path
) -> None:
    lines = output_of(build("PolynomialProducts", board, tmp_path), board).split("\r\n")
    assert lines[-2:] == ["done", ""]
    rows = [re.split(r"\t", line) for line in lines[1:-2]]
    assert [int(row[0]) for row in rows] == transforms
    assert [int(row[0]) for row in rows if len(row) == 3] == products
    times = {int(row[0]): [float(word) for word in row[1:]] for row in rows}
    assert times[64][0] < 2.0 and times[64][1] < 3.0  # the report that it answers: 122 ms


def test_1024_points_fit_in_an_uno_beside_their_stack(tmp_path: Path) -> None:
    image = build("PackedTransform", UNO, tmp_path)
    sizes = section_bytes(image)
    with open_board(image, UNO, None) as machine:
        for _ in range(20):
            machine.run(RUN_CYCLES)
            if machine.text.endswith(ENDED):
                break
        assert machine.text.decode("ascii").endswith("done\r\n")
        assert machine.deepest_stack + sizes[".data"] + sizes[".bss"] < UNO.ram_bytes


RING = """
#include <CiphermoteNtt.h>
static CiphermoteRing<{n}> ring;
static uint32_t a[{n}], b[{n}];
static void put(uint32_t word) {{ for (uint8_t i = 0; i < 4; i++) Serial.write((uint8_t)(word >> 8 * i)); }}
void setup()
{{
    Serial.begin(115200);
    put(ring.forward(a));
    put(ring.begin({wrong}));
    put(ring.begin({q}));
    for (uint16_t i = 0; i < {n}; i++) {{ a[i] = ({q} - 1) / (i + 1); b[i] = ({q} - 5) / (i + 1); }}
    b[1] = {q};
    put(ring.product(a, b));
    b[1] = 0;
    put(ring.product(a, a));
    put(ring.product(a, b));
    for (uint16_t i = 0; i < {n}; i++) put(a[i]);
    for (uint16_t i = 0; i < {n}; i++) put(b[i]);
    Serial.print("done\\r\\n");
}}
void loop() {{}}
"""


def negacyclic(a: list[int], b: list[int], q: int) -> list[int]:
    n = len(a)
    full = [0] * (2 * n)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            full[i + j] += x * y
    return [(low - high) % q for low, high in zip(full[:n], full[n:], strict=True)]


@pytest.mark.parametrize(
    ("q", "wrong"),
    [(67043329, 12289 * 8193), (134176769, 40961 + 2), (12289, 7681), (40961, 43 * 2**20 + 1)],
    ids=["assembly", "27 bits", "12289", "40961"],
)
@pytest.mark.parametrize("n", [2, 64, 128])
def test_rings_of_larger_primes_multiply_and_refuse_what_is_no_residue_or_prime(
    q: int, wrong: int, n: int, tmp_path: Path
) -> None:
    sketch = tmp_path / "ring.ino"
    sketch.write_text(RING.format(n=n, q=f"{q}ul", wrong=f"{wrong}ul"))
    a = [(q - 1) // (i + 1) for i in range(n)]
    b = [0 if i == 1 else (q - 5) // (i + 1) for i in range(n)]
    with open_board(build_sketch(sketch, UNO, tmp_path, name=f"ring{n}-{q}"), UNO, None) as machine:
        machine.leave_out_digests()
        for _ in range(60):
            machine.run(RUN_CYCLES)
            if machine.text.endswith(ENDED[:1]):
                break
        words = np.frombuffer(machine.text[:-6], dtype="<u4").tolist()
    params, residue, argument = 2, 16, 1
    assert words[:6] == [params, params, 0, residue, argument, 0]
    assert words[6 : 6 + n] == negacyclic(a, b, q)
    assert words[6 + n :] == transform(np.array(b), q).tolist()


SMALL = """
#include <CiphermoteNtt.h>
uint16_t a[64] = {{{value}}}, b[64];
void setup()
{{
    Serial.begin(115200);
    Serial.write(CiphermoteNtt<64>::{call});
    Serial.write((uint8_t)a[0]);
    Serial.print("done\\r\\n");
}}
void loop() {{}}
"""


@pytest.mark.parametrize(
    "call", ["forward(a)", "inverse(a)", "multiply(a, b)", "multiply(b, a)", "product(b, a)"]
)
@pytest.mark.parametrize("value", [12289, 0x7FFF, 0x8000, 0xFFFF])
def test_what_is_no_residue_is_refused_and_nothing_changes(call: str, value: int, tmp_path: Path) -> None:
    sketch = tmp_path / "small.ino"
    sketch.write_text(SMALL.format(call=call, value=value))
    text = output_of_bytes(build_sketch(sketch, UNO, tmp_path, name="small"))
    assert text == bytes([16, value & 0xFF]) + ENDED[0]


def output_of_bytes(image: Path) -> bytes:
    with open_board(image, UNO, None) as machine:
        machine.leave_out_digests()
        for _ in range(5):
            machine.run(RUN_CYCLES)
        return machine.text


@pytest.fixture(params=["CiphermoteNtt<1024>", "CiphermoteNtt<48>", "CiphermoteRing<512>"])
def too_large(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


def test_what_a_board_has_no_room_for_does_not_compile(too_large: str, tmp_path: Path) -> None:
    sketch = tmp_path / "large.ino"
    sketch.write_text(
        f"#include <CiphermoteNtt.h>\n{too_large} object;\nvoid setup() {{}}\nvoid loop() {{}}\n"
    )
    with pytest.raises(MachineError, match=r"RAM|takes n = "):
        build_sketch(sketch, UNO, tmp_path)


@pytest.mark.parametrize(("kind", "word", "n"), [("CiphermoteNtt", 16, 512), ("CiphermoteRing", 32, 256)])
def test_products_of_two_polynomials_that_do_not_fit_do_not_compile(
    kind: str, word: int, n: int, tmp_path: Path
) -> None:
    sketch = tmp_path / "large.ino"
    sketch.write_text(
        f"#include <CiphermoteNtt.h>\n{kind}<{n}> ring; uint{word}_t a[{n}], b[{n}];\n"
        "void setup() { (void)(ring.product(a, b) == CM_OK); }\nvoid loop() {}\n"
    )
    with pytest.raises(MachineError, match=r"do not fit in this board's RAM"):
        build_sketch(sketch, UNO, tmp_path)
