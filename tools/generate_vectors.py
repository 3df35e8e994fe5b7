#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the C headers in tests/vectors from vectors/*.json, the pinned values for every language.

    tools/generate_vectors.py              write the headers
    tools/generate_vectors.py --check      compare them with what would be written
    tools/generate_vectors.py --recompute  first recompute the digests in the JSON files, by the golden model

vectors/README.md describes the fields and how inputs are made. The C library takes no part in this, so a
library that drifts from the specification fails its test.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ciphermote import parameters
from ciphermote.compact.sets import compact_set

from golden import compact as golden_compact
from golden import device as golden

ROOT = Path(__file__).resolve().parent.parent

PINNED = ROOT / "vectors"
HEADERS = ROOT / "tests" / "vectors"

XOFS = {"blake2xb": golden.BLAKE2XB, "shake256": golden.SHAKE256, "chacha20": golden.CHACHA20}


@dataclass(frozen=True)
class Vector:
    """An entry of a file in vectors/; vectors/README.md describes its fields."""

    parameters: str
    xof: str | None
    number: str
    count: int
    form: str
    coefficients: str
    emitted: str

    @property
    def key_title(self) -> str:
        return f"symmetric with {self.xof}" if self.xof else "asymmetric"

    @property
    def chain(self) -> golden.Chain:
        chosen = parameters.by_name(self.parameters)
        return golden.Chain(chosen.n, chosen.primes)


@dataclass(frozen=True)
class CkksVector(Vector):
    """An entry of vectors/ckks.json."""

    precision: int
    slots: str
    exponent: int
    log2_scale: int

    @property
    def title(self) -> str:
        return (
            f"{self.parameters}, {self.key_title}, {self.precision} bits, {self.count} {self.slots} "
            f"{self.number}, {self.form}"
        )


@dataclass(frozen=True)
class BfvVector(Vector):
    """An entry of vectors/bfv.json."""

    plain_modulus: int
    encoding: str
    width: int
    domain: str

    @property
    def title(self) -> str:
        return (
            f"{self.parameters}, {self.key_title}, t = {self.plain_modulus}, {self.count} {self.number}, "
            f"{self.encoding} in {self.width} bits, {self.domain} form, {self.form}"
        )


@dataclass(frozen=True)
class CompactVector:
    """An entry of vectors/compact.json."""

    set: str
    first: int
    count: int
    packet_bytes: int
    packet: str
    emitted: str


@dataclass(frozen=True)
class ScoreVector:
    """An entry of vectors/compact.json's scores: a linear form of the payload at the positions from `first`
    on, under the seed 0, 1 .. 31."""

    set: str
    first: int
    weights: list[int]
    payload: list[int]
    constant: int
    polynomials: str


def score_vectors() -> list[ScoreVector]:
    return [ScoreVector(**entry) for entry in read("compact", "scores")]  # type: ignore[arg-type]


def compact_vectors() -> list[CompactVector]:
    return [CompactVector(**entry) for entry in read("compact")]  # type: ignore[arg-type]


def ckks_vectors() -> list[CkksVector]:
    return [CkksVector(**entry) for entry in read("ckks")]


def bfv_vectors() -> list[BfvVector]:
    return [BfvVector(**entry) for entry in read("bfv")]


def read(name: str, what: str = "vectors") -> list[dict[str, object]]:
    return json.loads((PINNED / f"{name}.json").read_text())[what]


# ---- the golden model ----


def numbers_of(kind: str, state: int, count: int) -> list[int | float]:
    """The first ``count`` numbers from x_0 = state, by the rules of vectors/README.md."""
    numbers: list[int | float] = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        if kind == "int64":
            low, state = state, (1664525 * state + 1013904223) % 2**32
            (number,) = struct.unpack("<q", struct.pack("<II", low, state))
            number >>= 2
        elif kind == "float32":
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
    """BFV's numbers, by the rules of vectors/README.md."""
    numbers = []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2**32
        numbers.append((state * t >> 32) - ((t - 1) // 2 if kind.startswith("int") else 0))
    return numbers


def emitted(vector: Vector, index: int, chain: golden.Chain, m: list[int], **kind: int | bool) -> bytes:
    """The bytes of the ciphertext of m. kind: BFV's plain modulus and form."""
    draw = bytes((index + i) % 256 for i in range(32))
    seeds = golden.derive_seeds(bytes(range(32)), draw, (index << 32) + 2**32 - 1 - index)
    secret = golden.ternary(bytes(range(64, 96)), chain.n)
    key_id = 0x636970686572 + index
    log2_scale = vector.log2_scale if isinstance(vector, CkksVector) else 0
    if vector.xof:
        ciphertext = golden.encrypt_symmetric(
            chain, secret, key_id, XOFS[vector.xof], m, log2_scale, seeds, **kind
        )
    else:
        key = golden.public_key(chain, secret, bytes(range(128, 160)))
        ciphertext = golden.encrypt_asymmetric(chain, key, key_id, m, log2_scale, seeds, **kind)
    if vector.form == "frames":
        return golden.frames(ciphertext)
    if vector.form == "tagged":
        window = golden_compact.Window(
            7 + index, 0x01020304 + index, seeds.counter, seeds.counter - index, seeds.public[:8]
        )
        return golden_compact.tagged_frames(golden.frames(ciphertext), window, bytes(range(160, 208)))
    return golden.seal_bytes(ciphertext, seeded=vector.form == "seal_seeded")


def computed(vector: Vector, index: int) -> Vector:
    """The vector, with the digests of the golden model."""
    if isinstance(vector, CkksVector):
        m, kind = ckks_message(vector, index), {}
    else:
        m = bfv_message(vector, index)
        kind = {"plain_modulus": vector.plain_modulus, "ntt_form": vector.domain == "ntt"}
    coefficients = golden.coefficient_bytes(vector.chain, m)
    data = emitted(vector, index, vector.chain, m, **kind)
    return replace(
        vector,
        coefficients=golden.chained_digest(coefficients).hex(),
        emitted=golden.chained_digest(data).hex(),
    )


def ckks_message(vector: CkksVector, index: int) -> list[int]:
    complex_slots = vector.slots == "complex"
    return golden.encode(
        vector.chain,
        numbers_of(vector.number, index, vector.count * (2 if complex_slots else 1)),
        complex_slots=complex_slots,
        exponent=vector.exponent,
        log2_scale=vector.log2_scale,
        precision=vector.precision,
    )


def bfv_message(vector: BfvVector, index: int) -> list[int]:
    chain, t = vector.chain, vector.plain_modulus
    golden.check_plain_modulus(chain, t, public_key=vector.xof is None)
    numbers = integers_of(vector.number, index, vector.count, t)
    signed, batch = vector.number.startswith("int"), vector.encoding == "batch"
    return golden.scale_up(chain, golden.encode_integers(chain, numbers, t, signed=signed, batch=batch), t)


def recompute() -> None:
    """Replace the digests in vectors/*.json."""
    for name, vectors in (("ckks", ckks_vectors()), ("bfv", bfv_vectors())):
        fields = list(read(name)[0])
        entries = [asdict(computed(vector, index)) for index, vector in enumerate(vectors)]
        ordered = [{field: entry[field] for field in fields} for entry in entries]
        (PINNED / f"{name}.json").write_text(json.dumps({"vectors": ordered}, indent=2) + "\n")
    compact = [asdict(computed_compact(vector, i)) for i, vector in enumerate(compact_vectors())]
    scores = [asdict(computed_score(vector)) for vector in score_vectors()]
    (PINNED / "compact.json").write_text(json.dumps({"vectors": compact, "scores": scores}, indent=2) + "\n")


def compact_values(largest: int, state: int, count: int) -> list[int]:
    """x_1 (largest + 1) / 2^32 and so on, rounded down."""
    return [int(x) for x in integers_of("uint32", state, count, largest + 1)]


def compact_ring(name: str) -> golden_compact.Ring:
    found = compact_set(name)
    return golden_compact.Ring(found.id, found.n, found.primes, found.plain_modulus, found.dropped_bits)


def computed_score(vector: ScoreVector) -> ScoreVector:
    """The vector, with what the golden model makes of it."""
    positions = range(vector.first, vector.first + len(vector.weights))
    constant, polynomials = golden_compact.linear_form(
        compact_ring(vector.set), bytes(range(32)), positions, vector.weights, vector.payload
    )
    data = b"".join(residues.astype("<u4").tobytes() for residues in polynomials)
    return replace(vector, constant=constant, polynomials=golden.chained_digest(data).hex())


def computed_compact(vector: CompactVector, index: int) -> CompactVector:
    """The vector, with what the golden model sends."""
    chosen, ring = compact_set(vector.set), compact_ring(vector.set)
    key_id, device, epoch = 0x636970686572 + index, 0x01020304 + index, 7 + index
    keys = golden_compact.material(ring, key_id, device, epoch, bytes(range(32)))
    counter = (index << 32) + 2**32 - 1 - index
    random = bytes((index + i) % 256 for i in range(8))
    window = golden_compact.Window(epoch, device, counter, counter - index, random)
    packets = golden_compact.packets(
        ring,
        keys,
        window,
        golden.ternary(bytes(range(64, 96)), ring.n),
        vector.first,
        compact_values(chosen.largest_value, index, vector.count),
        vector.packet_bytes,
    )
    digest = golden.chained_digest(b"".join(packets)).hex()
    return replace(vector, packet=packets[-1].hex() if len(packets[-1]) <= 256 else "", emitted=digest)


# ---- the headers ----


def initialiser(vector: Vector, symbols: list[str], in_first_line: int) -> str:
    """One vector, in C. symbols: the fields between its title and its digests."""
    return "\n".join(
        [
            f'    {{"{vector.title}",',
            f"     {', '.join(symbols[:in_first_line])},",
            f"     {', '.join(symbols[in_first_line:])},",
            f'     "{vector.coefficients}",',
            f'     "{vector.emitted}"}},',
        ]
    )


def shared_symbols(vector: Vector) -> list[str]:
    return [f"&cm_{vector.parameters}", f"CM_XOF_{vector.xof.upper() if vector.xof else 'NONE'}"]


def ckks_row(vector: CkksVector) -> str:
    symbols = [
        *shared_symbols(vector),
        f"CM_FIXED_{vector.precision}",
        f"CM_SLOTS_{vector.slots.upper()}",
        f"CM_{vector.number.upper()}",
        *(str(vector.exponent), str(vector.log2_scale), str(vector.count)),
        f"CM_VECTOR_{vector.form.upper()}",
    ]
    return initialiser(vector, symbols, 5)


def bfv_row(vector: BfvVector) -> str:
    symbols = [
        *shared_symbols(vector),
        f"CM_{vector.number.upper()}",
        f"CM_BFV_{vector.encoding.upper()}",
        f"CM_BFV_{vector.width}",
        "CM_DOMAIN_NTT" if vector.domain == "ntt" else "CM_DOMAIN_COEFFICIENTS",
        *(str(vector.plain_modulus), str(vector.count)),
        f"CM_VECTOR_{vector.form.upper()}",
    ]
    return initialiser(vector, symbols, 4)


def ckks_header() -> str:
    """tests/vectors/vectors.h."""
    return "\n".join(
        [
            "/*",
            " * Pinned ciphertexts, which every build and every back-end must match.",
            " * Generated by tools/generate_vectors.py from vectors/ckks.json.",
            " */",
            "#ifndef CM_TESTS_VECTORS_H",
            "#define CM_TESTS_VECTORS_H",
            "",
            '#include "ciphermote/ciphermote.h"',
            "",
            "typedef enum cm_vector_form {",
            "    CM_VECTOR_FRAMES,",
            "    CM_VECTOR_SEAL,",
            "    CM_VECTOR_SEAL_SEEDED,",
            "    CM_VECTOR_TAGGED",
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
            *map(ckks_row, ckks_vectors()),
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
            " * Generated by tools/generate_vectors.py from vectors/bfv.json.",
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
            *map(bfv_row, bfv_vectors()),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def compact_row(vector: CompactVector, index: int) -> str:
    ring = compact_ring(vector.set)
    keys = golden_compact.material(
        ring, 0x636970686572 + index, 0x01020304 + index, 7 + index, bytes(range(32))
    )
    title = f"{vector.set}, {vector.count} values from {vector.first} on, {vector.packet_bytes} bytes"
    return "\n".join(
        [
            f'    {{"{title}",',
            f"     &cm_compact_{vector.set}, {vector.first}, {vector.count}, {vector.packet_bytes},",
            literal(keys.hex()) + ",",
            f'     "{vector.emitted}"}},',
        ]
    )


def compact_header() -> str:
    """tests/vectors/compact_vectors.h."""
    return "\n".join(
        [
            "/*",
            " * Pinned windows of the compact lane, which every build and every back-end must match.",
            " * Generated by tools/generate_vectors.py from vectors/compact.json.",
            " */",
            "#ifndef CM_TESTS_COMPACT_VECTORS_H",
            "#define CM_TESTS_COMPACT_VECTORS_H",
            "",
            '#include "ciphermote/compact.h"',
            "",
            "typedef struct cm_compact_vector {",
            "    const char *title;",
            "    const cm_compact_set *set;",
            "    uint16_t first;",
            "    uint16_t count;",
            "    uint16_t packet_bytes;",
            "    const char *material;",
            "    const char *emitted; /* the packets' digest, as hexadecimal digits */",
            "} cm_compact_vector;",
            "",
            "static const cm_compact_vector cm_compact_vectors[] = {",
            *(compact_row(vector, index) for index, vector in enumerate(compact_vectors())),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def known_output(entry: dict[str, Any]) -> str:
    numbers = (str(entry[name]) for name in ("key_bytes", "message_bytes", "output_bytes", "offset"))
    return f"    {{{', '.join(numbers)},\n{literal(entry['output'])}}},"


def known_expansion(entry: dict[str, Any]) -> str:
    xof = f"CM_XOF_{entry['xof'].upper()}"
    return f"    {{{xof},\n{literal(entry['stream'])},\n{literal(entry['residues'])}}},"


def literal(digits: str) -> str:
    """Hexadecimal digits as a C string, in several lines."""
    return "\n".join(f'     "{digits[i : i + 96]}"' for i in range(0, len(digits), 96))


def words(nonce: str) -> str:
    """The nonce of ChaCha20, as the library takes it."""
    return ", ".join(f"0x{word:08x}u" for word in struct.unpack("<3I", bytes.fromhex(nonce)))


def random_header() -> str:
    """tests/vectors/random_vectors.h."""
    known = json.loads((PINNED / "random.json").read_text())
    tables = [
        line
        for name in ("shake256", "blake2b", "blake2xb")
        for line in (
            f"static const cm_known_output cm_known_{name}[] = {{",
            *map(known_output, known[name]),
            "};",
            "",
        )
    ]
    return "\n".join(
        [
            "/*",
            " * Known answers of the XOFs.",
            " * Generated by tools/generate_vectors.py from vectors/random.json.",
            " */",
            "#ifndef CM_TESTS_RANDOM_VECTORS_H",
            "#define CM_TESTS_RANDOM_VECTORS_H",
            "",
            "#include <stdint.h>",
            "",
            '#include "ciphermote/ciphermote.h"',
            "",
            "typedef struct cm_known_stream {",
            "    uint32_t nonce[3];",
            "    uint32_t counter;",
            "    const char *output;",
            "} cm_known_stream;",
            "",
            "typedef struct cm_known_output {",
            "    uint16_t key_bytes;",
            "    uint16_t message_bytes;",
            "    uint16_t output_bytes;",
            "    uint16_t offset; /* of what is pinned, in the output */",
            "    const char *output;",
            "} cm_known_output;",
            "",
            "typedef struct cm_known_expansion {",
            "    cm_xof_kind xof;",
            "    const char *stream;",
            "    const char *residues;",
            "} cm_known_expansion;",
            "",
            "static const cm_known_stream cm_known_chacha20[] = {",
            *(
                f"    {{{{{words(entry['nonce'])}}}, {entry['counter']},\n{literal(entry['output'])}}},"
                for entry in known["chacha20"]
            ),
            "};",
            "",
            *tables,
            "static const cm_known_expansion cm_known_seal[] = {",
            *map(known_expansion, known["seal"]),
            "};",
            "",
            "#endif",
            "",
        ]
    )


def headers() -> dict[Path, str]:
    texts = {
        "vectors.h": ckks_header(),
        "bfv_vectors.h": bfv_header(),
        "random_vectors.h": random_header(),
        "compact_vectors.h": compact_header(),
    }
    licence = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    return {HEADERS / name: licence + text for name, text in texts.items()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write tests/vectors/*.h from vectors/*.json.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a header differs")
    what.add_argument(
        "--recompute", action="store_true", help="the digests in the JSON files first (minutes)"
    )
    options = parser.parse_args(arguments)
    if options.recompute:
        recompute()
    differ = False
    for path, text in headers().items():
        if path.exists() and path.read_text() == text:
            continue
        name = path.relative_to(ROOT)
        if options.check:
            differ = True
            print(f"{name} differs from vectors/: run tools/generate_vectors.py.", file=sys.stderr)
            continue
        path.write_text(text)
        print(f"wrote {name}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
