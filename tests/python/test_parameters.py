# SPDX-License-Identifier: Apache-2.0
"""Parameter sets: what the generator picks, what validation refuses and says, and what ends up in C."""

import ctypes
import hashlib
import math
import re
import struct
import subprocess
import sys
from decimal import Decimal, getcontext
from pathlib import Path

import pytest
from ciphermote import parameters
from ciphermote.base.errors import Error, ParameterError
from ciphermote.parameters import BFV, BUILTIN, CHEAP_PRIME, ParameterSet, from_primes, generate, validate
from ciphermote.parameters.c_source import c_header
from ciphermote.parameters.files import parameters_from_dict, parameters_to_dict
from ciphermote.parameters.sets import MAX_PRIMES

ROOT = Path(__file__).resolve().parents[2]
EACH_SET = pytest.mark.parametrize("builtin", BUILTIN, ids=lambda builtin: builtin.name)


class CPrime(ctypes.Structure):
    _fields_ = [(field, ctypes.c_uint32) for field in ("q", "neg_q_inv", "r1", "r2", "psi", "n_inv")]


class CParams(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("id", ctypes.c_uint32),
        ("log2_n", ctypes.c_uint8),
        ("key_primes", ctypes.c_uint8),
        ("data_primes", ctypes.c_uint8),
        ("log2_q_data", ctypes.c_uint8),
        ("primes", ctypes.POINTER(CPrime)),
    ]


SHOWN = ("-DCMI_HIDDEN_BEGIN=", "-DCMI_HIDDEN_END=")


def compile_c(folder: Path, *sources: Path, options: tuple[str, ...] = ()) -> ctypes.CDLL:
    """A shared object of these C files, loaded; it shows what the library hides."""
    library = folder / "tables.so"
    includes = [f"-I{ROOT / 'core/include'}", f"-I{ROOT / 'core/src'}"]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
    command = [
        "gcc",
        "-std=c11",
        *warnings,
        *includes,
        *options,
        *SHOWN,
        "-shared",
        "-fPIC",
        "-o",
        library,
        *sources,
    ]
    subprocess.run([str(part) for part in command], check=True)
    return ctypes.CDLL(str(library))


def with_options(library: ctypes.CDLL, name: str) -> str:
    """A name that carries the options (ciphermote/config.h) as the library has it, or nothing."""
    listed = subprocess.run(["nm", "-D", library._name], check=True, capture_output=True, text=True).stdout
    found = re.search(rf" ({name}__small_\w+)$", listed, re.MULTILINE)
    return found[1] if found else ""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    sources = [
        ROOT / "core/src" / name for name in ("params/sets.c", "params/status.c", "encode/ckks_roots.c")
    ]
    return compile_c(tmp_path_factory.mktemp("tables"), *sources)


def as_python(c: CParams) -> dict[str, object]:
    return {name: getattr(c, name) for name, _ in CParams._fields_ if name != "primes"}


def expected(parameter_set: ParameterSet) -> dict[str, object]:
    return {
        "name": parameter_set.name.encode(),
        "id": parameter_set.id,
        "log2_n": parameter_set.n.bit_length() - 1,
        "key_primes": len(parameter_set.primes),
        "data_primes": max(len(parameter_set.primes) - 1, 1),
        "log2_q_data": min(parameter_set.data_modulus.bit_length() - 1, 255),
    }


# ---- the built-in sets ----


def test_the_built_in_sets_are_those_of_the_header_in_its_order() -> None:
    header = (ROOT / "core/include/ciphermote/params.h").read_text()
    declared = re.findall(r"extern const cm_params cm_(\w+);", header)
    assert [builtin.name for builtin in BUILTIN] == declared
    assert f"#define CM_PARAMS_COUNT {len(BUILTIN)}\n" in header
    assert f"#define CM_MAX_PRIMES {MAX_PRIMES} " in header


def test_the_primes_never_change() -> None:
    """Keys and stored ciphertexts depend on them: a change of the generator must not move a built-in set."""
    assert {builtin.name: builtin.id for builtin in BUILTIN} == {
        "n1024_q26": 0xA0916328,
        "n2048_q26_p27": 0x19555C46,
        "n4096_q26x3_p27": 0xA2460757,
        "n8192_q26x7_p27": 0x8F9B52FC,
        "n16384_q26x15_p27": 0x913FF69A,
        "std2018_n1024_q27": 0x9523F5A8,
        "std2018_n2048_q27_p27": 0x8B7F1FC8,
        "std2018_n4096_q27x3_p27": 0x952EF967,
        "std2018_n8192_q27x7_p27": 0x682869C5,
        "std2018_n16384_q27x15_p27": 0x5D227677,
    }
    assert parameters.by_name("n4096_q26x3_p27").primes == (67043329, 67084289, 66994177, 134176769)


@EACH_SET
def test_each_set_holds_what_its_name_says(builtin: ParameterSet) -> None:
    validate(builtin.n, builtin.primes, builtin.standard)
    assert math.prod(builtin.primes) <= 2 ** parameters.SECURITY_BOUNDS[builtin.standard][builtin.n]
    assert builtin.name.startswith("std2018_") == (builtin.standard == "2018")
    for q in builtin.primes:
        assert all(q % divisor for divisor in range(2, math.isqrt(q) + 1))
        assert q % (2 * builtin.n) == 1
        assert q < 2**27
    if builtin.standard == "2024":
        assert builtin.primes[0] == CHEAP_PRIME


@EACH_SET
def test_seal_accepts_each_set_and_names_it_alike(builtin: ParameterSet, tmp_path: Path) -> None:
    """SEAL's own checks pass at 128 bits; a ciphertext it saves carries our parms_id."""
    seal = pytest.importorskip("tenseal.sealapi")
    parms = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parms.set_poly_modulus_degree(builtin.n)
    parms.set_coeff_modulus([seal.Modulus(q) for q in builtin.primes])
    context = seal.SEALContext(parms, True, seal.SEC_LEVEL_TYPE.TC128)
    assert context.parameters_set()
    secret = seal.KeyGenerator(context).secret_key()
    assert struct.pack("<4Q", *secret.parms_id()) == builtin.parms_id(primes=len(builtin.primes))
    plain, encrypted = seal.Plaintext(), seal.Ciphertext()
    seal.CKKSEncoder(context).encode([1.0], 2.0**20, plain)
    seal.Encryptor(context, secret).encrypt_symmetric(plain, encrypted)
    assert struct.pack("<4Q", *encrypted.parms_id()) == builtin.parms_id()


def test_parms_id_is_blake2b_over_little_endian_words() -> None:
    words = struct.pack("<4Q", 1, 1024, CHEAP_PRIME, 12289)
    hashed = hashlib.blake2b(words, digest_size=32).digest()
    assert parameters.by_name("n1024_q26").parms_id(BFV(12289)) == hashed


@pytest.mark.parametrize("level", [0, 5])
def test_parms_id_refuses_a_level_that_is_not_there(level: int) -> None:
    with pytest.raises(ParameterError, match="give 1 to 4"):
        parameters.by_name("n4096_q26x3_p27").parms_id(primes=level)


@EACH_SET
def test_psi_is_the_smallest_primitive_root_and_the_constants_belong_together(builtin: ParameterSet) -> None:
    n, r = builtin.n, 2**32
    for q in builtin.primes:
        row = parameters.prime_constants(n, q)
        assert pow(row.psi, n, q) == q - 1
        assert not any(pow(smaller, n, q) == q - 1 for smaller in range(2, min(row.psi, 3000)))
        assert row.psi == min(pow(row.psi, odd, q) for odd in range(1, 2 * n, 2))
        assert (row.neg_q_inv * q) % r == r - 1
        assert (row.r1, row.r2) == (r % q, r * r % q)
        assert row.n_inv * n % q == 1


@EACH_SET
def test_sets_are_found_by_name_and_by_id(builtin: ParameterSet) -> None:
    assert parameters.by_name(builtin.name) is builtin
    assert parameters.by_id(builtin.id) is builtin


def test_unknown_names_and_ids_are_refused_with_what_there_is() -> None:
    with pytest.raises(ParameterError, match=r"no parameter set 'n512'.*n4096_q26x3_p27"):
        parameters.by_name("n512")
    with pytest.raises(ParameterError, match="0x00000001"):
        parameters.by_id(1)


# ---- the generator ----


def test_is_prime_agrees_with_trial_division() -> None:
    for q in [*range(-2, 3000), 25326001, 3215031749, 3215031751, 2**31 - 1, 67043329, 67043331]:
        trial = q > 1 and all(q % divisor for divisor in range(2, math.isqrt(q) + 1))
        assert parameters.is_prime(q) == trial, q


def test_is_prime_refuses_what_it_could_get_wrong() -> None:
    with pytest.raises(ValueError, match="exact only below"):
        parameters.is_prime(2**64)


def test_is_prime_is_right_about_numbers_that_pass_with_few_bases() -> None:
    """The least numbers that pass with the first 4, 8 and 11 primes as bases (OEIS A014233)."""
    for q in (3215031751, 341550071728321, 3825123056546413051):
        assert not parameters.is_prime(q)
    for q in (68719403009, 8796092858369, 2**61 - 1, 2**64 - 59):
        assert parameters.is_prime(q)


def test_the_generator_takes_the_largest_primes_and_the_special_one_first() -> None:
    chosen = generate(4096, [24, 25, 25])
    largest, second = [q for q in range(2**25 - 8191, 2**24, -8192) if parameters.is_prime(q)][:2]
    smaller = next(q for q in range(2**24 - 8191, 2**23, -8192) if parameters.is_prime(q))
    assert chosen.primes == (smaller, second, largest)


def test_a_set_within_the_2024_bound_is_not_named_2018() -> None:
    chosen = generate(4096, [27, 27, 27], standard="2018")
    assert (chosen.standard, chosen.name) == ("2024", "n4096_q27x2_p27")


def test_names_follow_the_content_unless_given() -> None:
    assert generate(8192, [27, 26, 26, 25, 27]).name == "n8192_q27_26x2_25_p27"
    assert generate(8192, [26, 27], name="mine").name == "mine"
    with pytest.raises(ParameterError, match="cannot stand in C"):
        generate(8192, [26, 27], name="my set")


# ---- what validation refuses ----

Q = parameters.by_name("n4096_q26x3_p27").primes


@pytest.mark.parametrize(
    ("n", "primes", "standard", "sentence"),
    [
        (4095, Q, "2024", "n = 4095 is not supported: n is 1024, 2048, 4096, 8192 or 16384"),
        (512, Q, "2024", "n = 512 is not supported"),
        (32768, Q, "2018", "n = 32768 is not supported"),
        (4096, (), "2024", "has no primes"),
        (4096, Q, "2019", "no security standard '2019': give '2024' or '2018'"),
        (4096, (2**26 + 1,), "2024", "not prime"),
        (4096, (67108859,), "2024", "is not 1 mod 8192"),
        (4096, (536903681,), "2024", "has 30 bits .* at most 27"),
        (4096, (Q[0], Q[0], Q[3]), "2024", "67043329 is in the set twice"),
        (4096, (Q[3], Q[0]), "2024", "special prime 67043329 .* smaller than the data prime 134176769"),
        (1024, (12289,) * 18, "2024", "has 18 primes and the library accepts 17"),
    ],
)
def test_invalid_sets_are_refused_with_the_reason(
    n: int, primes: tuple[int, ...], standard: str, sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        validate(n, primes, standard)


def test_a_2018_set_is_refused_by_the_2024_table_and_says_how_to_accept_it() -> None:
    primes = parameters.by_name("std2018_n4096_q27x3_p27").primes
    with pytest.raises(ParameterError) as refusal:
        validate(4096, primes)
    sentence = str(refusal.value)
    assert "107.99 bits" in sentence
    assert "secure by the 2018 table only" in sentence
    assert "the 2024 bound is 106 bits and they are 1.99 over it" in sentence
    assert "pass standard 2018 to accept" in sentence
    assert "take n = 8192" in sentence
    validate(4096, primes, "2018")


def test_an_insecure_set_is_refused_with_bound_total_excess_and_a_way_out() -> None:
    with pytest.raises(ParameterError) as refusal:
        generate(4096, [27] * 5, standard="2018")
    sentence = str(refusal.value)
    assert "134.99 bits, 25.99 more than the 109 bits" in sentence
    assert "take n = 8192, or drop 1 prime, or take smaller primes." in sentence


def test_the_bound_is_on_the_exact_product() -> None:
    """26 bits are allowed at n = 1024: a product of 26.0000 bits passes, one just over 2^26 does not."""
    over = next(q for q in range(2**26 + 1, 2**27, 2048) if parameters.is_prime(q))
    with pytest.raises(ParameterError, match="2018 table only"):
        validate(1024, (over,))
    validate(1024, (over,), "2018")


def test_a_parameter_set_cannot_be_made_invalid() -> None:
    with pytest.raises(Error):
        ParameterSet("wrong", 1024, (67043329, 134176769))


@pytest.mark.parametrize("bits", [[0], [-3], [28], [11], [26, 40]])
def test_impossible_prime_sizes_are_refused(bits: list[int]) -> None:
    with pytest.raises(ParameterError):
        generate(1024, bits)


# ---- C ----


def test_the_generated_files_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools/generate_tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_c_sets_are_the_python_sets(tables: ctypes.CDLL) -> None:
    compiled = (ctypes.POINTER(CParams) * len(BUILTIN)).in_dll(tables, "cm_params_all")
    for c, builtin in zip(compiled, BUILTIN, strict=True):
        assert as_python(c[0]) == expected(builtin)
        for row, q in zip(c[0].primes[: len(builtin.primes)], builtin.primes, strict=True):
            constants = parameters.prime_constants(builtin.n, q)
            assert {name: getattr(row, name) for name, _ in CPrime._fields_} == vars(constants)


def test_c_finds_sets_by_id_and_only_those(tables: ctypes.CDLL) -> None:
    by_id = tables.cm_params_by_id
    by_id.argtypes, by_id.restype = [ctypes.c_uint32], ctypes.POINTER(CParams)
    for builtin in BUILTIN:
        assert by_id(builtin.id)[0].name == builtin.name.encode()
    assert not by_id(1)


def test_a_header_of_ones_own_set_compiles_and_holds_it(tmp_path: Path) -> None:
    mine = generate(4096, [27, 26, 27])
    (tmp_path / "mine.h").write_text(c_header(mine, "my_set"))
    source = tmp_path / "use.c"
    source.write_text(
        '#include "mine.h"\nconst cm_params *get(void);\nconst cm_params *get(void) { return &my_set; }\n'
    )
    get = compile_c(tmp_path, source).get
    get.restype = ctypes.POINTER(CParams)
    c = get()[0]
    assert as_python(c) == expected(mine)
    assert [c.primes[i].q for i in range(3)] == list(mine.primes)


TAKEN_NAMES = {
    "2fast": "letters, digits",
    "_mine": "letters, digits",
    "mine\n": "letters, digits",
    "": "letters, digits",
    **dict.fromkeys(["if", "restrict", "typeof", "asm", "class", "and_eq", "constexpr"], "keyword"),
    **dict.fromkeys(["main", "exp", "sinl", "offsetof", "uint32_t", "NULL", "linux", "strange"], "headers"),
    "my__set": "two underscores",
    "cm_params": "library's own",
    "cm_n4096_q26x3_p27": "library's own",
    "CM_mine": "headers|library's own",
    "mine_primes": "other sets' names",
    "mine_name": "other sets' names",
}


def test_a_built_in_name_is_its_own_sets_alone() -> None:
    """Two sets with one name but different ids and keys would be mistaken for each other."""
    name = BUILTIN[2].name
    other = generate(4096, [25, 25, 25, 26]).primes
    same_bits = (
        tuple(q for q in primes_of(4096, 26) if q not in BUILTIN[2].primes)[:3] + BUILTIN[2].primes[3:]
    )
    for refused in (
        lambda: ParameterSet(name, 4096, other),
        lambda: generate(4096, [25, 25, 25, 26], name=name),
        lambda: from_primes(4096, other, name=name),
        lambda: from_primes(4096, same_bits),
        lambda: parameters_from_dict({**parameters_to_dict(BUILTIN[2]), "primes": list(other)}, "file"),
    ):
        with pytest.raises(ParameterError, match=f"{name} is the name of a built-in set"):
            refused()
    assert from_primes(4096, same_bits, name="mine").primes == same_bits
    assert from_primes(4096, BUILTIN[2].primes) == parameters_from_dict(parameters_to_dict(BUILTIN[2]), "x")


def primes_of(n: int, bits: int) -> list[int]:
    return [q for q in range(2 ** (bits - 1) + 1, 2**bits, 2 * n) if parameters.is_prime(q)]


@pytest.mark.parametrize(("name", "why"), TAKEN_NAMES.items(), ids=ascii)
def test_a_name_that_c_cannot_take_is_refused(name: str, why: str) -> None:
    mine = generate(4096, [27, 26, 27])
    with pytest.raises(ParameterError, match=f"{name!r} cannot stand in C.*({why})".replace("\\", "\\\\")):
        ParameterSet(name, mine.n, mine.primes)
    with pytest.raises(ParameterError, match="cannot stand in C"):
        c_header(mine, name)


EVERY_HEADER = (
    *("assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "inttypes.h", "limits.h", "locale.h"),
    *("math.h", "setjmp.h", "signal.h", "stdio.h", "stdlib.h", "string.h", "time.h", "wchar.h", "wctype.h"),
)


@pytest.mark.parametrize(
    "compiler", [("gcc", "-std=gnu11"), ("g++", "-std=gnu++20", "-xc++")], ids=["c", "c++"]
)
def test_headers_of_accepted_names_compile_together_beside_every_other(
    tmp_path: Path, compiler: tuple[str, ...]
) -> None:
    names = ["mine", "Mine", "MiNE", "iffy", "if_mine", "x", "primes", "name", "exponent", "n4096_q27_26_p27"]
    lines = [f"#include <{header}>" for header in EVERY_HEADER]
    for position, name in enumerate(names):
        text = c_header(ParameterSet(name, 4096, generate(4096, [27, 26, 27]).primes))
        (tmp_path / f"{position}.h").write_text(text)
        lines.append(f'#include "{position}.h"')
    lines += [f"const cm_params *get_{name}(void) {{ return &{name}; }}" for name in names]
    (tmp_path / "use.c").write_text("\n".join(lines) + "\n")
    command = [*compiler, "-Wall", "-Werror", "-fsyntax-only", f"-I{ROOT}/core/include", "use.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_what_c_declares_is_no_name_for_a_set() -> None:
    included = [f"-include{header}" for header in EVERY_HEADER]
    command = ["gcc", "-std=c11", "-E", "-P", *included, "-x", "c", "/dev/null"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    declared = set(re.findall(r"\b([A-Za-z]\w*) ?\(", text))
    assert {"sin", "printf", "malloc", "time"} <= declared
    mine = generate(4096, [27, 26, 27])
    for name in sorted(declared):
        with pytest.raises(ParameterError, match="cannot stand in C"):
            c_header(mine, name)


def test_every_status_has_a_sentence_of_its_own(tables: ctypes.CDLL) -> None:
    header = (ROOT / "core/include/ciphermote/status.h").read_text()
    values = [int(value) for value in re.findall(r"CM_\w+ = (\d+)", header)]
    text = tables.cm_status_text
    text.restype = ctypes.c_char_p
    sentences = [text(value).decode() for value in values]
    assert len(set(sentences)) == len(values) == max(values) + 1
    assert all(sentence.endswith(".") for sentence in sentences)
    assert text(max(values) + 1).decode() not in sentences


# ---- the quarter wave ----


def quarter_wave_by_rotation() -> list[Decimal]:
    """sin(pi i / 2^14), i = 0 .. 2^13, to 50 digits: half-angle formulas, then rotations by the first.

    It shares nothing with the generator, which sums power series in integers.
    """
    getcontext().prec = 70
    cosine = Decimal(0)
    for _ in range(13):
        cosine = ((1 + cosine) / 2).sqrt()
    step_x, step_y = cosine, (1 - cosine * cosine).sqrt()
    x, y, wave = Decimal(1), Decimal(0), []
    for _ in range(2**13 + 1):
        wave.append(y)
        x, y = x * step_x - y * step_y, x * step_y + y * step_x
    return wave


@pytest.mark.parametrize("log2_n", [10, 11, 12, 13, 14])
def test_every_root_is_correctly_rounded_at_every_table_size(log2_n: int, tmp_path: Path) -> None:
    library = compile_c(
        tmp_path, ROOT / "core/src/encode/ckks_roots.c", options=(f"-DCM_CONFIG_MAX_LOG2_N={log2_n}",)
    )
    entries = 2 ** (log2_n - 1) + 1
    wave = quarter_wave_by_rotation()[:: 2 ** (14 - log2_n)]
    assert len(wave) == entries
    for bits, word, name in ((31, ctypes.c_uint32, "cmi_sine_31"), (63, ctypes.c_uint64, "cmi_sine_63")):
        table = list((word * entries).in_dll(library, with_options(library, name)))
        assert table[0] == 0
        assert table[-1] == 2**bits
        # No sine but 0 and 1 (and 1/2, which is not among these) is rational, so there are no ties to break.
        assert all(
            abs(exact * 2**bits - entry) < Decimal("0.5") for exact, entry in zip(wave, table, strict=True)
        )


@pytest.mark.parametrize(
    "option", ["-DCM_CONFIG_PRECISION_31=1", "-DCM_CONFIG_PRECISION_63=0", "-DCM_NO_INT128"]
)
@pytest.mark.parametrize("log2_n", [10, 11, 12, 13, 14])
def test_every_computed_root_is_that_of_the_table(log2_n: int, option: str, tmp_path: Path) -> None:
    size, computed = (
        f"-DCM_CONFIG_MAX_LOG2_N={log2_n}",
        "-DCM_CONFIG_ENCODER_ROOTS=CM_CONFIG_ENCODER_ROOTS_COMPUTED",
    )
    sources = [ROOT / "core/src/encode" / name for name in ("ckks_roots.c", "ckks_computed_roots.c")]
    (tmp_path / "stored").mkdir()
    stored = compile_c(tmp_path / "stored", *sources, options=(size, option))
    library = compile_c(tmp_path, *sources, options=(size, option, computed))
    quarter = 2 ** (log2_n - 1)
    for bits, word in ((31, ctypes.c_uint32), (63, ctypes.c_uint64)):
        if bits == 63 and option == "-DCM_CONFIG_PRECISION_63=0":
            continue
        table = list((word * (quarter + 1)).in_dll(stored, with_options(stored, f"cmi_sine_{bits}")))
        compute = getattr(library, with_options(library, f"cmi_computed_root_{bits}"))
        cosine, sine = word(), word()
        for angle in range(1, quarter):
            compute(angle, ctypes.byref(cosine), ctypes.byref(sine))
            assert (cosine.value, sine.value) == (table[quarter - angle], table[angle]), (bits, angle)


def test_a_build_that_computes_its_roots_carries_an_eighth_of_the_table(tmp_path: Path) -> None:
    source = ROOT / "core/src/encode/ckks_roots.c"
    for log2_n, most in ((14, 1 / 14), (12, 1 / 10), (11, 1 / 7)):
        sizes = []
        for roots in ("FLASH", "COMPUTED"):
            options = (
                f"-DCM_CONFIG_MAX_LOG2_N={log2_n}",
                f"-DCM_CONFIG_ENCODER_ROOTS=CM_CONFIG_ENCODER_ROOTS_{roots}",
            )
            folder = tmp_path / f"{log2_n}{roots}"
            folder.mkdir()
            compile_c(folder, source, options=(*options, "-DCM_CONFIG_PRECISION_63=0"))
            listed = subprocess.run(
                ["nm", "-S", folder / "tables.so"], check=True, capture_output=True, text=True
            )
            lines = [line.split() for line in listed.stdout.splitlines()]
            sizes.append(sum(int(line[1], 16) for line in lines if len(line) == 4 and line[3][:4] == "cmi_"))
        assert sizes[1] < most * sizes[0]


def test_a_build_of_one_precision_carries_one_table(tmp_path: Path) -> None:
    library = compile_c(
        tmp_path, ROOT / "core/src/encode/ckks_roots.c", options=("-DCM_CONFIG_PRECISION_63=0",)
    )
    assert with_options(library, "cmi_sine_31")
    assert not with_options(library, "cmi_sine_63")


def test_the_check_notices_a_changed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import generate_tables

    changed = tmp_path / "sets.c"
    changed.write_text("something else")
    assert generate_tables.differing({changed: "what belongs here"}) == [changed]
    assert generate_tables.differing({tmp_path / "missing.c": ""}) == [tmp_path / "missing.c"]
    changed.write_text("what belongs here")
    assert generate_tables.differing({changed: "what belongs here"}) == []


def test_a_set_that_the_2018_table_alone_holds_must_say_so_in_its_name() -> None:
    older = next(builtin for builtin in BUILTIN if builtin.standard == "2018")
    with pytest.raises(ParameterError, match="name it std2018_mine"):
        ParameterSet("mine", older.n, older.primes, "2018")
    assert ParameterSet("std2018_mine", older.n, older.primes, "2018").primes == older.primes
    with pytest.raises(ParameterError, match="name it std2018_mine"):
        generate(1024, [27], "2018", "mine")


@EACH_SET
def test_a_sets_primes_alone_give_it_its_name_and_table_back(builtin: ParameterSet) -> None:
    assert parameters.from_primes(builtin.n, builtin.primes, "2018") == builtin
