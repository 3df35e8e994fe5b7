#!/usr/bin/env python3
"""Write tests/vectors/*.h from the golden model, or check with --check that they are what this writes.

Each vector is a ciphertext whose inputs follow from its number by the rules below, so that
tests/core/test_vectors.c makes the same ones; pinned are digests of the encoded coefficients and of the bytes
emitted. The C library takes no part in this: a library that drifts from the specification fails its test.
"""

from __future__ import annotations

import argparse
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python")]

import golden  # noqa: E402
from ciphermote import parameters  # noqa: E402

FOLDER = ROOT / "tests" / "vectors"

XOFS = {"blake2xb": golden.BLAKE2XB, "shake256": golden.SHAKE256, "chacha20": golden.CHACHA20}
XOF_SYMBOLS = {"blake2xb": "CM_XOF_BLAKE2XB", "shake256": "CM_XOF_SHAKE256", "chacha20": "CM_XOF_CHACHA20"}
NUMBER_SYMBOLS = {kind: f"CM_{kind.upper()}" for kind in ("float32", "int16", "int32", "uint16", "uint32")}
SLOT_SYMBOLS = {"real": "CM_SLOTS_REAL", "complex": "CM_SLOTS_COMPLEX"}
FORM_SYMBOLS = {
    "frames": "CM_VECTOR_FRAMES",
    "seal": "CM_VECTOR_SEAL",
    "seal_seeded": "CM_VECTOR_SEAL_SEEDED",
}

RULES = """\
 * Vector number i (from 0) is made so:
 *   device secret        bytes 0, 1 .. 31
 *   random draw          bytes i, i + 1 .. i + 31, modulo 256
 *   counter              2^32 i + 2^32 - 1 - i
 *   key id               0x636970686572 + i
 *   secret key           cm_secret_key_generate from the seed 64, 65 .. 95
 *   public key           cm_zero_encryption from the seed 128, 129 .. 159
 *   numbers              x_1, x_2 .. of x_0 = i, x_{j+1} = 1664525 x_j + 1013904223 mod 2^32: int32 is x_j,
 *                        int16 its upper half; float32 has bit 31 as its sign, bits 22 .. 0 as its fraction,
 *                        and with h = bits 30 .. 27 the exponent field 127 - h, or 0 if h = 15 (a subnormal)
 *
 * Digests are chains of BLAKE2b-256 over pieces of 96 bytes: digest = BLAKE2b-256(digest || piece),
 * from 32 zeros on.
 * `coefficients` is that of the encoded polynomial without noise: at each data prime n residues as u32, in
 * coefficient order. `emitted` is that of the bytes that left the device."""


BFV_RULES = """\
 * All inputs are made as in vectors.h, but for the numbers: with x_1, x_2 .. as there, a number is
 * floor(x_j t / 2^32), and a signed one floor((t - 1) / 2) less.
 *
 * `coefficients` is the digest of round(q m / t): at each data prime n residues as u32, in coefficient
 * order."""


@dataclass(frozen=True)
class Vector:
    """One row of the table. ``xof`` None is an asymmetric ciphertext; ``count`` is of slots (None: all)."""

    parameters: str
    xof: str | None
    precision: int
    slots: str
    number: str
    exponent: int
    log2_scale: int
    form: str
    count: int | None = None

    @property
    def slot_count(self) -> int:
        return self.count or parameters.by_name(self.parameters).slots

    @property
    def title(self) -> str:
        key = f"symmetric with {self.xof}" if self.xof else "asymmetric"
        return (
            f"{self.parameters}, {key}, {self.precision} bits, {self.slot_count} {self.slots} {self.number}, "
            f"{self.form}"
        )


VECTORS = (
    Vector("n1024_q26", "chacha20", 31, "real", "float32", 0, 20, "frames"),
    Vector("n1024_q26", "shake256", 31, "real", "int16", -15, 20, "frames"),
    Vector("n1024_q26", "blake2xb", 31, "real", "int32", -31, 22, "frames"),
    Vector("n1024_q26", "chacha20", 63, "real", "float32", 0, 20, "frames"),
    Vector("n1024_q26", "shake256", 63, "complex", "int16", -15, 20, "seal_seeded"),
    Vector("n1024_q26", "blake2xb", 63, "complex", "int32", -31, 22, "seal_seeded"),
    Vector("n1024_q26", "chacha20", 31, "complex", "float32", 0, 20, "seal"),
    Vector("n1024_q26", None, 31, "real", "float32", 0, 20, "frames"),
    Vector("n1024_q26", None, 63, "complex", "float32", 0, 20, "seal", 100),
    Vector("n1024_q26", None, 31, "real", "int16", 0, 7, "frames", 1),
    Vector("std2018_n1024_q27", "chacha20", 31, "complex", "int16", -15, 21, "frames", 511),
    Vector("std2018_n1024_q27", None, 63, "real", "int32", -31, 22, "seal"),
    Vector("n2048_q26_p27", "chacha20", 31, "real", "int16", -15, 22, "frames"),
    Vector("n2048_q26_p27", "shake256", 63, "real", "float32", 0, 21, "seal_seeded"),
    Vector("n2048_q26_p27", None, 31, "complex", "float32", 0, 21, "frames"),
    Vector("n2048_q26_p27", None, 63, "real", "int32", -31, 22, "seal"),
    Vector("std2018_n2048_q27_p27", "blake2xb", 31, "real", "float32", 0, 22, "seal_seeded"),
    Vector("n4096_q26x3_p27", "chacha20", 31, "real", "float32", 0, 25, "frames"),
    Vector("n4096_q26x3_p27", "shake256", 31, "real", "int16", -12, 25, "frames"),
    Vector("n4096_q26x3_p27", "blake2xb", 31, "complex", "float32", 0, 25, "seal_seeded"),
    Vector("n4096_q26x3_p27", "chacha20", 63, "real", "float32", 0, 35, "frames"),
    Vector("n4096_q26x3_p27", "shake256", 63, "complex", "int32", -8, 34, "seal_seeded"),
    Vector("n4096_q26x3_p27", "blake2xb", 63, "real", "int32", -8, 34, "frames"),
    Vector("n4096_q26x3_p27", "chacha20", 63, "real", "int16", -20, 60, "frames", 3),
    Vector("n4096_q26x3_p27", "chacha20", 31, "real", "int16", 0, 13, "seal", 17),
    Vector("n4096_q26x3_p27", None, 31, "real", "float32", 0, 25, "frames"),
    Vector("n4096_q26x3_p27", None, 31, "complex", "int16", -15, 25, "frames"),
    Vector("n4096_q26x3_p27", None, 63, "real", "float32", 0, 35, "frames"),
    Vector("n4096_q26x3_p27", None, 63, "complex", "int32", -31, 40, "seal"),
    Vector("std2018_n4096_q27x3_p27", "chacha20", 31, "real", "float32", 0, 25, "frames"),
    Vector("std2018_n4096_q27x3_p27", None, 63, "real", "int16", -15, 30, "seal"),
    Vector("n8192_q26x7_p27", "chacha20", 31, "real", "float32", 0, 25, "frames"),
    Vector("n8192_q26x7_p27", "shake256", 63, "real", "int32", -31, 45, "seal_seeded"),
    Vector("n8192_q26x7_p27", None, 31, "real", "int16", -15, 25, "frames"),
    Vector("n8192_q26x7_p27", None, 63, "complex", "float32", 0, 40, "seal"),
    Vector("std2018_n8192_q27x7_p27", "blake2xb", 63, "complex", "int16", -15, 40, "frames"),
    Vector("n16384_q26x15_p27", "chacha20", 31, "real", "float32", 0, 25, "frames"),
    Vector("n16384_q26x15_p27", None, 63, "complex", "float32", 0, 50, "frames"),
    Vector("std2018_n16384_q27x15_p27", "shake256", 63, "real", "int32", -31, 55, "seal_seeded"),
)


@dataclass(frozen=True)
class BfvVector:
    """One row of BFV's table. ``xof`` None is an asymmetric ciphertext; ``count`` None is n values."""

    parameters: str
    xof: str | None
    plain_modulus: int
    encoding: str
    width: int
    number: str
    domain: str
    form: str
    count: int | None = None

    @property
    def value_count(self) -> int:
        return self.count or parameters.by_name(self.parameters).n

    @property
    def title(self) -> str:
        key = f"symmetric with {self.xof}" if self.xof else "asymmetric"
        return (
            f"{self.parameters}, {key}, t = {self.plain_modulus}, {self.value_count} {self.number}, "
            f"{self.encoding} in {self.width} bits, {self.domain} form, {self.form}"
        )


BFV_VECTORS = (
    BfvVector("n1024_q26", "chacha20", 12289, "batch", 16, "int16", "ntt", "frames"),
    BfvVector("n1024_q26", "shake256", 40961, "batch", 16, "uint16", "ntt", "seal_seeded"),
    BfvVector("n1024_q26", "blake2xb", 40961, "batch", 32, "int32", "coefficient", "seal_seeded"),
    BfvVector("n1024_q26", None, 40961, "batch", 16, "uint16", "ntt", "seal"),
    BfvVector("n1024_q26", None, 12289, "batch", 32, "int16", "coefficient", "seal", 700),
    BfvVector("n1024_q26", "chacha20", 2, "coefficients", 16, "uint16", "ntt", "seal"),
    BfvVector("n1024_q26", "chacha20", 65536, "coefficients", 16, "uint32", "ntt", "seal"),
    BfvVector("n1024_q26", None, 1000, "coefficients", 16, "int16", "coefficient", "frames", 1),
    BfvVector("std2018_n1024_q27", "chacha20", 786433, "batch", 32, "int32", "ntt", "seal"),
    BfvVector("n2048_q26_p27", "shake256", 65537, "batch", 32, "uint32", "coefficient", "seal_seeded"),
    BfvVector("n2048_q26_p27", None, 12289, "batch", 16, "int16", "ntt", "seal"),
    BfvVector("std2018_n2048_q27_p27", "blake2xb", 61441, "batch", 16, "uint16", "ntt", "seal_seeded", 1025),
    BfvVector("n4096_q26x3_p27", "chacha20", 40961, "batch", 16, "uint16", "ntt", "frames"),
    BfvVector("n4096_q26x3_p27", "chacha20", 40961, "batch", 16, "int16", "ntt", "seal"),
    BfvVector("n4096_q26x3_p27", "shake256", 65537, "batch", 32, "uint32", "ntt", "seal_seeded"),
    BfvVector(
        "n4096_q26x3_p27", "blake2xb", 65535, "coefficients", 16, "int32", "coefficient", "seal_seeded"
    ),
    BfvVector("n4096_q26x3_p27", None, 40961, "batch", 16, "uint16", "ntt", "seal"),
    BfvVector("n4096_q26x3_p27", None, 33538049, "batch", 32, "uint32", "ntt", "seal"),
    BfvVector("n4096_q26x3_p27", None, 1 << 25, "coefficients", 32, "int32", "coefficient", "frames"),
    BfvVector("std2018_n4096_q27x3_p27", "chacha20", 786433, "batch", 32, "int32", "coefficient", "seal"),
    BfvVector("n8192_q26x7_p27", "chacha20", 65537, "batch", 32, "uint32", "ntt", "seal"),
    BfvVector("n8192_q26x7_p27", None, 65537, "batch", 32, "int32", "coefficient", "seal", 4097),
    BfvVector("std2018_n8192_q27x7_p27", None, 257, "coefficients", 16, "uint16", "ntt", "seal"),
    BfvVector("n16384_q26x15_p27", "shake256", 65537, "batch", 32, "int32", "ntt", "seal_seeded"),
    BfvVector("std2018_n16384_q27x15_p27", None, 786433, "batch", 32, "uint32", "ntt", "frames"),
)


def numbers_of(kind: str, state: int, count: int) -> list[int | float]:
    """The first ``count`` numbers from x_0 = state, by the rules above."""
    numbers: list[int | float] = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        if kind == "float32":
            high = state >> 27 & 15
            field = 0 if high == 15 else 127 - high
            (number,) = struct.unpack("<f", struct.pack("<I", state & 0x807FFFFF | field << 23))
        elif kind == "int32":
            (number,) = struct.unpack("<i", struct.pack("<I", state))
        else:
            (number,) = struct.unpack("<h", struct.pack("<H", state >> 16))
        numbers.append(number)
    return numbers


def integers_of(kind: str, state: int, count: int, t: int) -> list[int]:
    """BFV's numbers, by the rules above."""
    numbers = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        numbers.append((state * t >> 32) - ((t - 1) // 2 if kind.startswith("int") else 0))
    return numbers


def emitted(
    vector: Vector | BfvVector, index: int, chain: golden.Chain, m: list[int], **kind: int | bool
) -> bytes:
    """The bytes of the ciphertext of m. kind: BFV's plain modulus and form."""
    draw = bytes((index + i) % 256 for i in range(32))
    seeds = golden.derive_seeds(bytes(range(32)), draw, (index << 32) + 2**32 - 1 - index)
    secret = golden.ternary(bytes(range(64, 96)), chain.n)
    key_id = 0x636970686572 + index
    log2_scale = vector.log2_scale if isinstance(vector, Vector) else 0
    if vector.xof:
        ciphertext = golden.encrypt_symmetric(
            chain, secret, key_id, XOFS[vector.xof], m, log2_scale, seeds, **kind
        )
    else:
        key = golden.public_key(chain, secret, bytes(range(128, 160)))
        ciphertext = golden.encrypt_asymmetric(chain, key, key_id, m, log2_scale, seeds, **kind)
    if vector.form == "frames":
        return golden.frames(ciphertext)
    return golden.seal_bytes(ciphertext, seeded=vector.form == "seal_seeded")


def digests(vector: Vector, index: int) -> tuple[bytes, bytes]:
    """(of the encoded coefficients, of the bytes emitted), 32 bytes each."""
    chosen = parameters.by_name(vector.parameters)
    chain = golden.Chain(chosen.n, chosen.primes)
    complex_slots = vector.slots == "complex"
    m = golden.encode(
        chain,
        numbers_of(vector.number, index, vector.slot_count * (2 if complex_slots else 1)),
        complex_slots=complex_slots,
        exponent=vector.exponent,
        log2_scale=vector.log2_scale,
        precision=vector.precision,
    )
    coefficients = golden.coefficient_bytes(chain, m)
    return golden.chained_digest(coefficients), golden.chained_digest(emitted(vector, index, chain, m))


def bfv_digests(vector: BfvVector, index: int) -> tuple[bytes, bytes]:
    """(of the scaled coefficients, of the bytes emitted), 32 bytes each."""
    chosen = parameters.by_name(vector.parameters)
    chain = golden.Chain(chosen.n, chosen.primes)
    t = vector.plain_modulus
    golden.check_plain_modulus(chain, t, public_key=vector.xof is None)
    numbers = integers_of(vector.number, index, vector.value_count, t)
    signed, batch = vector.number.startswith("int"), vector.encoding == "batch"
    m = golden.scale_up(chain, golden.encode_integers(chain, numbers, t, signed=signed, batch=batch), t)
    data = emitted(vector, index, chain, m, plain_modulus=t, ntt_form=vector.domain == "ntt")
    return golden.chained_digest(golden.coefficient_bytes(chain, m)), golden.chained_digest(data)


def row(vector: Vector, index: int) -> str:
    """The initialiser of one vector."""
    coefficients, emitted = digests(vector, index)
    fields = [
        f"&cm_{vector.parameters}",
        XOF_SYMBOLS[vector.xof] if vector.xof else "CM_XOF_NONE",
        f"CM_FIXED_{vector.precision}",
        SLOT_SYMBOLS[vector.slots],
        NUMBER_SYMBOLS[vector.number],
        str(vector.exponent),
        str(vector.log2_scale),
        str(vector.slot_count),
        FORM_SYMBOLS[vector.form],
    ]
    return "\n".join(
        [
            f'    {{"{vector.title}",',
            f"     {', '.join(fields[:5])},",
            f"     {', '.join(fields[5:])},",
            f'     "{coefficients.hex()}",',
            f'     "{emitted.hex()}"}},',
        ]
    )


def bfv_row(vector: BfvVector, index: int) -> str:
    """The initialiser of one vector."""
    coefficients, emitted_bytes = bfv_digests(vector, index)
    fields = [
        f"&cm_{vector.parameters}",
        XOF_SYMBOLS[vector.xof] if vector.xof else "CM_XOF_NONE",
        NUMBER_SYMBOLS[vector.number],
        f"CM_BFV_{vector.encoding.upper()}",
        f"CM_BFV_{vector.width}",
        "CM_DOMAIN_NTT" if vector.domain == "ntt" else "CM_DOMAIN_COEFFICIENTS",
        str(vector.plain_modulus),
        str(vector.value_count),
        FORM_SYMBOLS[vector.form],
    ]
    return "\n".join(
        [
            f'    {{"{vector.title}",',
            f"     {', '.join(fields[:4])},",
            f"     {', '.join(fields[4:])},",
            f'     "{coefficients.hex()}",',
            f'     "{emitted_bytes.hex()}"}},',
        ]
    )


def ckks_header() -> str:
    """tests/vectors/vectors.h."""
    return "\n".join(
        [
            "/*",
            " * Pinned ciphertexts, which every build and every back-end must match.",
            " * Generated by tools/generate_vectors.py from tests/python/golden.py, not from the library.",
            " *",
            RULES,
            " */",
            "#ifndef CM_TESTS_VECTORS_H",
            "#define CM_TESTS_VECTORS_H",
            "",
            '#include "ciphermote/ciphermote.h"',
            "",
            "typedef enum cm_vector_form {",
            "    CM_VECTOR_FRAMES,",
            "    CM_VECTOR_SEAL,",
            "    CM_VECTOR_SEAL_SEEDED",
            "} cm_vector_form;",
            "",
            "typedef struct cm_vector {",
            "    const char *title;",
            "    const cm_params *params;",
            "    cm_xof_kind xof; /* CM_XOF_NONE: asymmetric */",
            "    cm_precision precision;",
            "    cm_slots slots;",
            "    cm_number number;",
            "    int16_t exponent;",
            "    int16_t log2_scale;",
            "    uint32_t count;",
            "    cm_vector_form form;",
            "    const char *coefficients; /* digests, as hexadecimal digits */",
            "    const char *emitted;",
            "} cm_vector;",
            "",
            "static const cm_vector cm_vectors[] = {",
            *(row(vector, index) for index, vector in enumerate(VECTORS)),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def bfv_header() -> str:
    """tests/vectors/bfv_vectors.h."""
    return "\n".join(
        [
            "/*",
            " * Pinned BFV ciphertexts, which every build and every back-end must match.",
            " * Generated by tools/generate_vectors.py from tests/python/golden.py, not from the library.",
            " *",
            BFV_RULES,
            " */",
            "#ifndef CM_TESTS_BFV_VECTORS_H",
            "#define CM_TESTS_BFV_VECTORS_H",
            "",
            '#include "vectors.h"',
            "",
            "typedef struct cm_bfv_vector {",
            "    const char *title;",
            "    const cm_params *params;",
            "    cm_xof_kind xof; /* CM_XOF_NONE: asymmetric */",
            "    cm_number number;",
            "    cm_bfv_encoding encoding;",
            "    cm_bfv_width width;",
            "    cm_domain domain;",
            "    uint32_t plain_modulus;",
            "    uint32_t count;",
            "    cm_vector_form form;",
            "    const char *coefficients; /* digests, as hexadecimal digits */",
            "    const char *emitted;",
            "} cm_bfv_vector;",
            "",
            "static const cm_bfv_vector cm_bfv_vectors[] = {",
            *(bfv_row(vector, index) for index, vector in enumerate(BFV_VECTORS)),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write tests/vectors/*.h from the golden model.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    options = parser.parse_args(arguments)
    differ = False
    for path, text in ((FOLDER / "vectors.h", ckks_header()), (FOLDER / "bfv_vectors.h", bfv_header())):
        if path.exists() and path.read_text() == text:
            continue
        name = path.relative_to(ROOT)
        if options.check:
            differ = True
            print(
                f"Not what tools/generate_vectors.py writes: {name}. If the specification changed, run it.",
                file=sys.stderr,
            )
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"wrote {name}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
