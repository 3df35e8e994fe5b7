# SPDX-License-Identifier: Apache-2.0
"""Provisioned headers compile and encrypt, and blobs are read back whole or refused."""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ciphermote import _core
from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.formats.frames import adapt
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import (
    Identity,
    Provision,
    PublicKeyPrime,
    parse_blob,
    provision,
    to_blob,
    to_c_header,
    to_prime_blobs,
)
from ciphermote.parameters import ParameterSet, by_name, generate
from ciphermote.parameters.bounds import Readings
from sensor import Sensor

PARMS = by_name("n4096_q26x3_p27")
ROOT = Path(__file__).parents[2]
X = np.random.default_rng(41).uniform(-1, 1, 100)
HEAD_BYTES = 32


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    return KeyStore.create(tmp_path_factory.mktemp("store") / "keys", PARMS)


@pytest.fixture(scope="module")
def both(store: KeyStore) -> Provision:
    return provision(store, secret=True, public=True)


def test_every_device_has_its_own_secret(store: KeyStore) -> None:
    assert provision(store, secret=True).device_secret != provision(store, secret=True).device_secret


def test_a_device_gets_the_keys_asked_for_and_no_others(store: KeyStore) -> None:
    assert provision(store, public=True).secret_key is None
    assert provision(store, secret=True).public_key is None
    with pytest.raises(KeyFileError, match="say which"):
        provision(store)


def test_the_public_key_alone_can_be_provisioned_without_the_secret_at_hand(
    store: KeyStore, tmp_path: Path
) -> None:
    public = store.export_public(tmp_path / "public")
    found = provision(public, public=True)
    data = adapt(Sensor(found).asymmetric(X), PARMS, store.key_id)
    assert np.abs(decrypt(data, store.secret())[:100] - X).max() < 5e-3


# --- C --------------------------------------------------------------------------------------------

PROGRAM = """
#include <stdio.h>
#include "ciphermote/ciphermote.h"
#include "provisioned_keys.h"

static uint64_t stored;
static uint8_t next = 1;
static int draw(void *context, uint8_t *out, size_t length)
{
    (void)context;
    while (length--) {
        *out++ = next = (uint8_t)(next * 5u + 3u);
    }
    return 0;
}
static int get(void *context, uint64_t *value) { (void)context; *value = stored; return 0; }
static int put(void *context, uint64_t value) { (void)context; stored = value; return 0; }
static int emit(void *context, const uint8_t *bytes, size_t length)
{
    return fwrite(bytes, 1, length, (FILE *)context) == length ? 0 : -1;
}

static uint64_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(CM_PROVISIONED_N, CM_SLOTS_REAL, CM_FIXED_31, 0) / 8];

int main(void)
{
    static const float values[3] = {1.0f, -0.5f, 0.25f};
    const cm_ckks_values input = {
        values, 3, CM_FLOAT32, CM_SLOTS_REAL, 0, 25, CM_FIXED_31, CM_PROVISIONED_LARGEST};
    const cm_platform platform = {draw, get, put, NULL};
    const cm_sink sink = {emit, stdout};
    cm_device device;
    cm_frame_writer frames;
    cm_frame_writer_init(&frames, sink);
    if (cm_device_init(&device, cm_provisioned_device_secret, &platform) != CM_OK) {
        return 1;
    }
    cm_encryptor_setup setup = {.device = &device, .emitter = &frames.emitter, .arena = arena,
                                .arena_bytes = sizeof arena, .xof = CM_XOF_CHACHA20};
    cm_encryptor encryptor;
#if CM_PROVISIONED_SECRET_KEY
    if (cm_encryptor_init_symmetric(&encryptor, &cm_provisioned_secret_key, &setup) != CM_OK ||
        cm_ckks_encrypt(&encryptor, &input) != CM_OK) {
        return 2;
    }
#endif
#if CM_PROVISIONED_PUBLIC_KEY
    setup.xof = CM_XOF_NONE;
    if (cm_encryptor_init_asymmetric(&encryptor, &cm_provisioned_public_key, &setup) != CM_OK ||
        cm_ckks_encrypt(&encryptor, &input) != CM_OK) {
        return 3;
    }
#endif
    return 0;
}
"""


def compiled(folder: Path, provisioned: Provision, library: Path) -> bytes:
    """Compile a C program with these provisioned keys, and return what it sends."""
    (folder / "provisioned_keys.h").write_text(to_c_header(provisioned))
    (folder / "main.c").write_text(PROGRAM)
    command = [
        "gcc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O0",
        f"-I{ROOT}/core/include",
        f"-I{folder}",
    ]
    subprocess.run([*command, "main.c", str(library), "-o", "program"], cwd=folder, check=True)
    return subprocess.run([str(folder / "program")], check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C library, compiled once in the simplest way."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("library")
    sources = [str(path) for path in (ROOT / "core/src").rglob("*.c")]
    command = ["gcc", "-std=c11", "-O1", "-c", f"-I{ROOT}/core/include", f"-I{ROOT}/core/src"]
    subprocess.run([*command, *sources], cwd=folder, check=True)
    archive = folder / "libciphermote.a"
    subprocess.run(["ar", "rcs", str(archive), *map(str, folder.glob("*.o"))], check=True)
    return archive


def keys_for(folder: Path, parameters: ParameterSet) -> KeyStore:
    return KeyStore.create(folder / "keys", parameters, relin=False)


@pytest.mark.parametrize(
    "parameters",
    [by_name("n1024_q26"), PARMS, generate(4096, [25, 26, 27], name="my_set")],
    ids=lambda p: p.name,
)
@pytest.mark.parametrize(
    ("secret", "public"), [(True, False), (False, True)], ids=["symmetric", "asymmetric"]
)
def test_the_c_header_compiles_without_warnings_and_encrypts(
    tmp_path: Path, library: Path, parameters: ParameterSet, *, secret: bool, public: bool
) -> None:
    store = keys_for(tmp_path, parameters)
    if (
        parameters.n == 1024
    ):  # scale 2^25 fills its 26-bit modulus: only that the header compiles is of interest
        (tmp_path / "provisioned_keys.h").write_text(
            to_c_header(provision(store, secret=secret, public=public))
        )
        (tmp_path / "main.c").write_text(PROGRAM)
        command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", f"-I{ROOT}/core/include", "main.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
        return
    frames = compiled(tmp_path, provision(store, secret=secret, public=public, largest=1), library)
    slots = decrypt(adapt(frames, parameters, store.key_id), store.secret())
    assert np.abs(slots[:4] - [1.0, -0.5, 0.25, 0.0]).max() < 5e-3


NAMED = """
#include <stdio.h>
#include "ciphermote/ciphermote.h"
#include "provisioned_keys.h"

#if CM_PROVISIONED_TAGGED
static void show(const uint8_t key[CM_TAG_KEY_BYTES])
{
    for (unsigned i = 0; i < CM_TAG_KEY_BYTES; i++) {
        printf("%02x", key[i]);
    }
    printf("\\n");
}
#endif

int main(void)
{
    printf("%u\\n", CM_PROVISIONED_TAGGED);
#if CM_PROVISIONED_TAGGED
    printf("%lu %u\\n", (unsigned long)CM_PROVISIONED_DEVICE, CM_PROVISIONED_EPOCH);
    show(cm_provisioned_tag_key);
    show(cm_provisioned_receipt_key);
    show(cm_provisioned_result_key);
#endif
    return cm_provisioned_device_secret[0] == 0 && CM_PROVISIONED_N == 0;
}
"""


@pytest.mark.parametrize("identity", [None, Identity(0, 1), Identity(2**32 - 1, 2**16 - 1)])
def test_the_c_header_says_who_the_device_is(
    store: KeyStore, tmp_path: Path, identity: Identity | None
) -> None:
    given = replace(provision(store, secret=True, identity=identity), secret_key=None)
    (tmp_path / "provisioned_keys.h").write_text(to_c_header(given))
    (tmp_path / "main.c").write_text(NAMED)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-DCM_CONFIG_NTT_ROOTS=0"]
    subprocess.run([*command, f"-I{ROOT}/core/include", "main.c", "-o", "program"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "program"], check=False, capture_output=True, text=True).stdout
    if identity is None:
        assert printed == "0\n"
        return
    keys = tag_keys(given, identity)
    assert printed.split("\n") == ["1", f"{identity.device} {identity.epoch}", *map(bytes.hex, keys), ""]


def tag_keys(given: Provision, identity: Identity) -> list[bytes]:
    """Derive tag keys by docs/wire-format.md."""
    whose = struct.pack("<QIH", given.key_id, identity.device, identity.epoch)
    return [
        hashlib.blake2b(label + whose, key=given.device_secret, digest_size=48).digest()
        for label in (b"ciphermote tag", b"ciphermote receipt", b"ciphermote result")
    ]


@pytest.mark.parametrize(("device", "epoch"), [(-1, 1), (2**32, 1), (7, 0), (7, 2**16), (True, 1), (7, 1.0)])
def test_an_identity_is_one_that_frames_can_say(device: int, epoch: int) -> None:
    with pytest.raises(ParameterError):
        Identity(device, epoch)


CORE = ROOT / "core/src"

ROOTS = """
#include <stdlib.h>
#include "ciphermote/ciphermote.h"
#include "provisioned_keys.h"
#include "ring/prime.h"
#include "ring/ring.h"

/* Whether the ring has a table, and transforms by it as it does without. */
static int table_serves(const cm_prime *prime, unsigned log2_n, const cm_root_table *tables)
{
    static uint32_t by_table[CM_PROVISIONED_N], computed[CM_PROVISIONED_N];
    cmi_ring ring;
    for (uint32_t i = 0; i < CM_PROVISIONED_N; i++) {
        by_table[i] = computed[i] = i * 7919u % prime->q;
    }
    cmi_ring_init(&ring, prime, log2_n, NULL);
    cmi_ntt_forward(computed, &ring);
    cmi_ring_init(&ring, prime, log2_n, tables);
    cmi_ntt_forward(by_table, &ring);
    for (uint32_t i = 0; i < CM_PROVISIONED_N; i++) {
        if (!ring.roots || ((uint64_t)64 * prime->q + by_table[i] - computed[i]) % prime->q != 0) {
            return 0;
        }
    }
    return 1;
}

int main(int count, char **arguments)
{
    const cm_params *params = cm_provisioned_secret_key.params;
    if (cm_provisioned_secret_key.roots != cm_provisioned_public_key.roots) {
        return 1;
    }
    for (unsigned i = 0; i < params->data_primes; i++) {
        if (!table_serves(&params->primes[i], params->log2_n, cm_provisioned_secret_key.roots)) {
            return 2;
        }
    }
    for (int i = 1; i < count; i++) {
        cm_prime plain;
        if (!cmi_prime_init(&plain, (uint32_t)atoi(arguments[i]), params->log2_n, NULL) ||
            !table_serves(&plain, params->log2_n, cm_provisioned_secret_key.roots)) {
            return 3;
        }
    }
    return 0;
}
"""


def test_the_c_header_brings_the_roots_of_its_primes_and_of_the_plain_moduli_asked_for(
    tmp_path: Path, store: KeyStore
) -> None:
    t = 40961 if 40960 % (2 * store.parameters.n) == 0 else 65537
    keys = provision(store, secret=True, public=True, plain_moduli=[t])
    (tmp_path / "provisioned_keys.h").write_text(to_c_header(keys))
    (tmp_path / "main.c").write_text(ROOTS)
    rooms = [path for room in ("params", "ring", "random", "scheme") for path in (CORE / room).glob("*.c")]
    flags = ["-std=c11", "-O1", "-DCM_CONFIG_NTT_ROOTS=1", "-ffunction-sections", "-Wl,--gc-sections"]
    folders = [f"-I{ROOT}/core/include", f"-I{CORE}", f"-I{tmp_path}"]
    program = tmp_path / "program"
    subprocess.run(["gcc", *flags, *folders, tmp_path / "main.c", *rooms, "-o", program], check=True)
    assert subprocess.run([program, str(t)], check=False).returncode == 0
    assert subprocess.run([program, "12289"], check=False).returncode == 3  # no table was asked for


def test_a_plain_modulus_without_slots_has_no_roots_to_provision(store: KeyStore) -> None:
    with pytest.raises(ParameterError, match="40960 has no slots"):
        provision(store, secret=True, plain_moduli=[40960])


def compiles(folder: Path, header: str) -> bool:
    """Whether a header with both keys compiles as C and as C++, without warnings."""
    (folder / "provisioned_keys.h").write_text(header)
    text = """#include "provisioned_keys.h"
uint64_t used(void);
uint64_t used(void)
{
    const uint64_t ids = cm_provisioned_public_key.key_id ^ cm_provisioned_secret_key.key_id;
    return ids ^ cm_provisioned_device_secret[0];
}
"""
    for compiler, name, standard in (("gcc", "main.c", "c11"), ("g++", "main.cpp", "c++17")):
        if shutil.which(compiler) is None:
            continue
        (folder / name).write_text(text)
        flags = (f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-c", f"-I{ROOT}/core/include")
        subprocess.run([compiler, *flags, name], cwd=folder, check=True)
    return True


def test_the_c_header_compiles_with_both_keys_and_as_cpp(tmp_path: Path, both: Provision) -> None:
    assert compiles(tmp_path, to_c_header(both))


def test_a_header_for_a_streamed_key_has_its_digests_and_no_key(tmp_path: Path, both: Provision) -> None:
    text = to_c_header(both, stream_public_key=True)
    assert "#define CM_PROVISIONED_STREAMED_KEY 1" in text
    assert "cm_provisioned_residues" not in text
    (found,) = re.findall(r"cm_provisioned_key_digests\[192\] = {(.*?)};", text, re.DOTALL)
    digests = bytes(int(byte, 16) for byte in re.findall(r"0x(\w\w)", found))
    assert both.public_key is not None
    for place, (prime, component) in enumerate((p, c) for p in range(3) for c in range(2)):
        words = struct.pack("<4096I", *both.public_key[prime, component])
        key = struct.pack("<21sQIBB", b"ciphermote public key", both.key_id, PARMS.id, component, prime)
        expected = hashlib.blake2b(words, digest_size=32, key=key).digest()
        assert digests[32 * place : 32 * place + 32] == expected
    assert compiles(tmp_path, text)


def test_only_a_public_key_is_streamed(store: KeyStore) -> None:
    assert "#define CM_PROVISIONED_STREAMED_KEY 0" in to_c_header(provision(store, public=True))
    with pytest.raises(KeyFileError, match="no public key for the device to be sent"):
        to_c_header(provision(store, secret=True), stream_public_key=True)


def words_of(text: str, symbol: str, count: int) -> list[int]:
    (found,) = re.findall(rf"{symbol}\[{count}\] = {{(.*?)}};", text, re.DOTALL)
    return [int(word) for word in re.findall(r"(\d+)u", found)]


def test_a_header_for_the_client_engine_has_the_public_key_in_its_form(both: Provision) -> None:
    text = to_c_header(both, engine_log2_r=27)
    assert "cm_provisioned_residues" not in text and '#include "client_engine.h"' in text
    assert both.public_key is not None
    residues = both.public_key.astype(object)
    moduli = [q for q in PARMS.data_primes for _ in range(2)]
    expected = [x * 2**27 % q for row, q in zip(residues.reshape(6, 4096), moduli, strict=True) for x in row]
    assert words_of(text, "cm_provisioned_engine_residues", 6 * 4096) == expected
    assert words_of(text, "cm_provisioned_engine_first", 6) == list(residues[..., 0].reshape(6))


def test_only_a_public_key_is_written_for_the_client_engine(store: KeyStore, both: Provision) -> None:
    with pytest.raises(KeyFileError, match="no public key for an engine"):
        to_c_header(provision(store, secret=True), engine_log2_r=27)
    with pytest.raises(ParameterError, match="do not have it streamed"):
        to_c_header(both, engine_log2_r=27, stream_public_key=True)
    with pytest.raises(ParameterError, match="LOG2_R"):
        to_c_header(both, engine_log2_r=40)


# --- blobs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("secret", "public"), [(True, False), (False, True), (True, True)])
def test_a_blob_comes_back(store: KeyStore, *, secret: bool, public: bool) -> None:
    given = provision(store, secret=secret, public=public)
    found = parse_blob(to_blob(given), PARMS)
    assert isinstance(found, Provision)
    assert (found.key_id, found.device_secret) == (store.key_id, given.device_secret)
    assert (found.secret_key is not None, found.public_key is not None) == (secret, public)
    if secret:
        assert found.secret_key.packed == store.secret().packed
        data = adapt(Sensor(found).symmetric(X), PARMS, store.key_id)
        assert np.abs(decrypt(data, store.secret())[:100] - X).max() < 5e-5
    if public:
        assert np.array_equal(found.public_key, given.public_key)


def test_a_public_key_comes_back_a_prime_at_a_time(both: Provision) -> None:
    blobs = to_prime_blobs(both)
    assert len(blobs) == len(PARMS.data_primes)
    for i, blob in enumerate(blobs):
        found = parse_blob(blob, PARMS)
        assert isinstance(found, PublicKeyPrime)
        assert (found.prime, found.key_id) == (i, both.key_id)
        assert np.array_equal(found.residues, both.public_key[i])
        assert both.device_secret not in blob
        assert both.secret_key.packed not in blob


def test_blobs_are_laid_out_as_documented(both: Provision) -> None:
    blob = to_blob(both)
    assert blob[:8] == b"CMPV\x02\x00\x00\x07"
    assert struct.unpack_from("<f", blob, 28) == (100,)
    assert struct.unpack_from("<IQBB", blob, 8) == (PARMS.id, both.key_id, 12, 3)
    at = HEAD_BYTES + 32
    assert blob[HEAD_BYTES:at] == both.device_secret
    assert blob[at : at + 1024] == both.secret_key.packed
    assert struct.unpack_from("<I", blob, at + 1024)[0] == both.public_key[0, 0, 0]
    assert struct.unpack("<I", blob[-4:])[0] == _core.crc32c(blob[:-4])


@pytest.mark.parametrize(
    ("declared", "held"), [(0.5, 0.5), (300, 300.0), (np.float32(7), 7.0), (100.1, 100.1), (2e-30, 2e-30)]
)
def test_the_largest_value_is_held_as_a_float_that_is_no_smaller(
    store: KeyStore, declared: float, held: float
) -> None:
    assert store.readings.largest == 100
    wider = replace(store.manifest, readings=Readings(1000))
    given = provision(KeyStore(store.path, wider), secret=True, largest=declared)
    found = parse_blob(to_blob(given), PARMS)
    assert isinstance(found, Provision)
    assert found.largest == given.largest == np.float32(given.largest) >= declared
    assert given.largest == pytest.approx(held, rel=1e-7)
    (literal,) = re.findall(r"#define CM_PROVISIONED_LARGEST (\S+)f\n", to_c_header(given))
    assert np.float32(literal) == given.largest


@pytest.mark.parametrize("none", [0, -1, np.nan, np.inf, 1e39, 1e-46, "much", True, 1j])
def test_a_largest_value_that_is_no_bound_is_refused(store: KeyStore, none: object) -> None:
    with pytest.raises(ParameterError, match=r"largest value \(--largest; in Python, largest\) is"):
        provision(store, secret=True, largest=none)  # type: ignore[arg-type]


def test_no_device_is_provisioned_for_more_than_its_keys_declare(store: KeyStore) -> None:
    assert provision(store, secret=True).largest == 100 and provision(store, secret=True).log2_scale == 22
    with pytest.raises(ParameterError, match=r"is 101, and the keys declare 100 for all .* --largest 101"):
        provision(store, secret=True, largest=101)


def test_a_blob_of_the_version_without_a_largest_value_has_the_default(store: KeyStore) -> None:
    body = bytearray(to_blob(provision(store, secret=True, largest=7))[:-4])
    body[4] = 1
    with pytest.raises(KeyFileError, match="no version writes"):
        parse_blob(bytes(body) + struct.pack("<I", _core.crc32c(bytes(body))), PARMS)
    body[28:32] = bytes(4)
    found = parse_blob(bytes(body) + struct.pack("<I", _core.crc32c(bytes(body))), PARMS)
    assert isinstance(found, Provision)
    assert found.largest == 100


@pytest.mark.parametrize("largest", [0, -1, np.nan, np.inf])
def test_a_blob_whose_largest_value_is_no_bound_is_refused(store: KeyStore, largest: float) -> None:
    body = bytearray(to_blob(provision(store, secret=True))[:-4])
    struct.pack_into("<f", body, 28, largest)
    with pytest.raises(KeyFileError):
        parse_blob(bytes(body) + struct.pack("<I", _core.crc32c(bytes(body))), PARMS)


@pytest.mark.parametrize("public", [False, True])
def test_an_identity_comes_back_with_its_blob(store: KeyStore, *, public: bool) -> None:
    identity = Identity(0x01020304, 0x0506)
    given = provision(store, secret=True, public=public, identity=identity)
    blob = to_blob(given)
    assert blob[7] == (15 if public else 11)
    named = b"\x04\x03\x02\x01\x06\x05\x00\x00" + b"".join(tag_keys(given, identity))
    assert blob[-156:-4] == named and (len(blob) - 156) % 4 == 0
    found = parse_blob(blob, PARMS)
    assert isinstance(found, Provision)
    assert found.identity == identity and found.tag_keys == given.tag_keys
    assert (found.public_key is not None) == public


@pytest.mark.parametrize(
    ("at", "sentence"),
    [(0, "not of its device secret"), (4, "identity"), (6, "not of its"), (8, "not of its")],
)
def test_a_blob_whose_tag_keys_are_not_its_own_is_refused(store: KeyStore, at: int, sentence: str) -> None:
    body = bytearray(to_blob(provision(store, secret=True, identity=Identity(7, 1)))[:-4])
    body[at - 152] ^= 1
    with pytest.raises(KeyFileError, match=sentence):
        parse_blob(bytes(body) + struct.pack("<I", _core.crc32c(bytes(body))), PARMS)


def test_a_key_without_public_part_has_no_prime_blobs(store: KeyStore) -> None:
    with pytest.raises(KeyFileError, match="no public key"):
        to_prime_blobs(provision(store, secret=True))


@pytest.mark.parametrize("end", [0, 3, 31, 36, 100, -1])
def test_a_cut_blob_is_refused(both: Provision, end: int) -> None:
    with pytest.raises(KeyFileError):
        parse_blob(to_blob(both)[:end], PARMS)


def test_a_flip_of_any_header_bit_is_refused_even_under_a_fitting_check_sum(store: KeyStore) -> None:
    given = provision(store, secret=True)
    for blob in (to_blob(given), to_prime_blobs(provision(store, public=True))[1]):
        for at in range(HEAD_BYTES):
            for bit in range(8):
                body = blob[:at] + bytes([blob[at] ^ 1 << bit]) + blob[at + 1 : -4]
                with pytest.raises(KeyFileError):
                    parse_blob(body + blob[-4:], PARMS)
                # The key id and the prime's number are checked against nothing else: a flip in them gives
                # another valid blob.
                # So does one in the largest value.
                if not (12 <= at < 20 or at == 22 or at >= 28):
                    with pytest.raises(KeyFileError):
                        parse_blob(body + struct.pack("<I", _core.crc32c(body)), PARMS)


def test_a_blob_of_another_set_is_refused(both: Provision) -> None:
    with pytest.raises(KeyFileError, match="of parameter set 0x"):
        parse_blob(to_blob(both), by_name("std2018_n4096_q27x3_p27"))


def test_keys_out_of_range_are_refused(both: Provision) -> None:
    large = both.public_key.copy()
    large[1, 1, 7] = PARMS.data_primes[1]
    with pytest.raises(KeyFileError, match="not below"):
        parse_blob(to_blob(replace(both, public_key=large)), PARMS)
    not_ternary = replace(both.secret_key, packed=b"\xff" * (PARMS.n // 4))
    with pytest.raises(KeyFileError, match="not ternary"):
        parse_blob(to_blob(replace(both, secret_key=not_ternary)), PARMS)


def test_secrets_do_not_show_in_representations(both: Provision) -> None:
    assert "device_secret" not in repr(both)
    assert "secret_key" not in repr(both)
