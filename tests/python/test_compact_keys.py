# SPDX-License-Identifier: Apache-2.0
"""Keys of the compact lane: derived, enrolled, stored, given to devices and gateways."""

from __future__ import annotations

import hashlib
import struct
import subprocess
from pathlib import Path

import pytest
from ciphermote.base.errors import KeyFileError, MismatchError, ParameterError
from ciphermote.compact.keys import CompactKeys, GatewayKeys, is_header, lane_key, to_c_header
from ciphermote.compact.sets import A10, COMPACT_SETS, B, CompactSet, D, compact_set, compact_set_by_id
from ciphermote.formats.tags import TagKeys
from ciphermote.parameters import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def keys() -> CompactKeys:
    found = CompactKeys.generate(A10)
    for device in (7, 3, 7):
        found, _ = found.enroll(device, 409)
    return found


def test_enrolling_again_raises_the_epoch_and_takes_a_new_secret(keys: CompactKeys) -> None:
    assert [(e.device, e.epoch) for e in keys.enrolments] == [(3, 1), (7, 1), (7, 2)]
    assert len({e.secret for e in keys.enrolments}) == 3
    assert keys.enrolment(7).epoch == 2 and keys.enrolment(7, 1).epoch == 1
    with pytest.raises(MismatchError, match=r"Device 7 \(epoch 3\) is not enrolled"):
        keys.enrolment(7, 3)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_material_is_derived_as_the_wire_format_says(compact: CompactSet) -> None:
    keys, e = CompactKeys.generate(compact).enroll(0xDEADBEEF)
    fields = struct.pack("<QIHBQ", keys.key_id, 0xDEADBEEF, 1, compact.id, compact.n)
    fields += struct.pack(f"<{len(compact.primes)}Q", *compact.primes)
    fields += struct.pack("<QQ", compact.plain_modulus, compact.dropped_bits)

    def keyed(message: bytes, size: int) -> bytes:
        return hashlib.blake2b(message, digest_size=size, key=e.secret).digest()

    lane = hashlib.blake2b(b"ciphermote compact a" + fields, digest_size=32).digest()
    assert lane == lane_key(compact, keys.key_id, 0xDEADBEEF, 1)
    assert keys.material(e) == (
        lane
        + keyed(b"ciphermote compact noise" + fields, 32)
        + keyed(b"ciphermote compact random" + fields, 32)
        + keyed(b"ciphermote tag" + struct.pack("<QIH", keys.key_id, 0xDEADBEEF, 1), 48)
    )


def test_all_keys_differ_between_devices_epochs_and_sets(keys: CompactKeys) -> None:
    seen = {keys.material(e)[at : at + 32] for e in keys.enrolments for at in (0, 32, 64, 96)}
    assert len(seen) == 12
    assert len({lane_key(s, 1, 1, 1) for s in COMPACT_SETS}) == len(COMPACT_SETS)


def test_secrets_stay_out_of_what_is_printed(keys: CompactKeys) -> None:
    shown = repr(keys) + repr(keys.enrolments[0]) + repr(keys.gateway())
    assert "\\x" not in shown and keys.enrolments[0].secret.hex() not in shown


def test_the_gateway_has_the_latest_tag_keys_and_nothing_else(keys: CompactKeys) -> None:
    gateway = keys.gateway()
    assert [(e.device, e.epoch) for e in gateway.entries] == [(3, 1), (7, 2)]
    data = gateway.to_bytes()
    for e in keys.enrolments:
        material = keys.material(e)
        for secret in (e.secret, material[32:64], material[64:96], keys.packed):
            assert secret not in data
    assert keys.material(keys.enrolment(7))[96:] in data
    assert keys.material(keys.enrolment(7, 1))[96:] not in data
    assert GatewayKeys.from_bytes(data).entries == gateway.entries


def test_the_owners_file_keeps_everything(keys: CompactKeys, tmp_path: Path) -> None:
    path = tmp_path / "compact.key"
    keys.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    found = CompactKeys.load(path)
    assert (found.set, found.key_id, found.packed) == (A10, keys.key_id, keys.packed)
    assert found.enrolments == keys.enrolments
    with pytest.raises(KeyFileError, match="never overwritten"):
        keys.save(path)


def test_enrolling_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "compact.key"
    CompactKeys.generate(B).save(path)
    for epoch in (1, 2):
        keys, enrolment = CompactKeys.enroll_in(path, 5)
        assert enrolment.epoch == epoch and enrolment.largest_value == B.usual_value
    assert CompactKeys.load(path).enrolments == keys.enrolments
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        CompactKeys.enroll_in(path, 5)
    with pytest.raises(KeyFileError, match="is not here"):
        CompactKeys.enroll_in(tmp_path / "other.key", 5)
    assert not (tmp_path / ".other.key.lock").exists()


def test_what_cannot_be_enrolled(keys: CompactKeys) -> None:
    for device, value, words in (
        (-1, 1, "The device"),
        (2**32, 1, "The device"),
        (1, 0, "The largest value"),
        (1, 4091, "give a whole number from 1 to 4090"),
    ):
        with pytest.raises(ParameterError, match=words):
            keys.enroll(device, value)
    assert keys.enroll(1, 4090)[1].largest_value == 4090


def test_a_device_without_epochs_left_is_refused(keys: CompactKeys) -> None:
    from dataclasses import replace

    last = replace(keys.enrolment(7), epoch=2**16 - 1)
    full = replace(keys, enrolments=(*keys.enrolments, last))
    with pytest.raises(ParameterError, match="enrolled 65535 times"):
        full.enroll(7)


@pytest.mark.parametrize("which", ["owner", "gateway"])
def test_every_damaged_byte_of_a_file_is_found(keys: CompactKeys, which: str) -> None:
    data = keys.to_bytes() if which == "owner" else keys.gateway().to_bytes()
    load = CompactKeys.from_bytes if which == "owner" else GatewayKeys.from_bytes
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(KeyFileError):
            load(bytes(damaged))
    with pytest.raises(KeyFileError):
        load(data[:-1])


def _sealed(body: bytes) -> bytes:
    return body + hashlib.blake2b(body, digest_size=16).digest()


@given(at=st.integers(0, 400), patch=st.binary(min_size=1, max_size=40), gateway=st.booleans())
def test_hostile_files_with_a_right_digest(at: int, patch: bytes, *, gateway: bool) -> None:
    keys, _ = CompactKeys.generate(A10).enroll(1)
    body = (keys.gateway().to_bytes() if gateway else keys.to_bytes())[:-16]
    changed = body[:at] + patch + body[at + len(patch) :]
    load = GatewayKeys.from_bytes if gateway else CompactKeys.from_bytes
    try:
        found = load(_sealed(changed))
    except KeyFileError:
        return
    assert found.to_bytes() == _sealed(changed)


@given(st.binary(max_size=400))
def test_hostile_bytes(data: bytes) -> None:
    for magic in (b"", b"CMCK\1\0", b"CMCG\1\0"):
        for load in (CompactKeys.from_bytes, GatewayKeys.from_bytes):
            with pytest.raises(KeyFileError):
                load(_sealed(magic + data + b"x"))


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_the_header_compiles_and_holds_the_keys(compact: CompactSet, tmp_path: Path) -> None:
    keys, enrolment = CompactKeys.generate(compact).enroll(9, 100)
    header = to_c_header(keys, enrolment)
    assert is_header(header.encode()) and "#define CM_PROVISIONED_FLASH PROGMEM" in header
    (tmp_path / "compact_keys.h").write_text(header)
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n"
        '#include "compact_keys.h"\n'
        "int main(void)\n{\n"
        "    const cm_compact_key *key = &cm_provisioned_compact_key;\n"
        '    printf("%u %u %u %u ", key->set->id, (unsigned)key->device, key->epoch, key->largest_value);\n'
        "    for (unsigned i = 0; i < CM_COMPACT_MATERIAL_BYTES; i++)\n"
        '        printf("%02x", key->material[i]);\n'
        "    for (unsigned i = 0; i < sizeof cm_provisioned_compact_ternary; i++)\n"
        '        printf("%02x", key->ternary[i]);\n'
        "    for (unsigned i = 0; i < CM_TAG_KEY_BYTES; i++)\n"
        '        printf("%02x", cm_provisioned_compact_receipt_key[i]);\n'
        "}\n"
    )
    program = tmp_path / "main"
    sources = [tmp_path / "main.c", ROOT / "core/src/params/compact_sets.c"]
    subprocess.run(
        [
            "cc",
            "-std=c11",
            "-Wall",
            "-Werror",
            *(f"-I{ROOT / folder}" for folder in ("core/include", "core/src")),
            *sources,
            "-o",
            program,
        ],
        check=True,
    )
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    receipts = TagKeys.derive(enrolment.secret, keys.key_id, 9, 1).receipts
    content = keys.material(enrolment) + keys.packed + receipts
    assert printed == f"{compact.id} 9 1 100 {content.hex()}"


def test_a_set_by_name_and_id() -> None:
    assert compact_set("b") is B and compact_set_by_id(5) is D
    with pytest.raises(ParameterError, match="give one of a10, a16, b, c, d, l"):
        compact_set("x")
    with pytest.raises(ParameterError, match="No compact set has the id 7"):
        compact_set_by_id(7)


@pytest.mark.parametrize("compact", COMPACT_SETS, ids=lambda s: s.name)
def test_all_primes_of_a_set_are_data_primes(compact: CompactSet) -> None:
    parameters = compact.parameters
    assert parameters.data_primes == compact.primes and parameters.special_prime is None
    assert parameters.data_modulus == compact.modulus and not parameters.special_primes


def test_a_set_without_a_special_prime_is_another_set() -> None:
    with_special = ParameterSet("x", 2048, (995329, 1032193))
    without = ParameterSet("x", 2048, (995329, 1032193), key_switching=False)
    assert with_special.id != without.id
    assert with_special.data_primes == (995329,)
    assert (
        ParameterSet("x", 1024, (1038337,)).id == ParameterSet("x", 1024, (1038337,), key_switching=False).id
    )
    with pytest.raises(ParameterError, match="smaller than the data prime"):
        ParameterSet("x", 2048, (1032193, 995329))
    with pytest.raises(ParameterError, match="without key switching has special primes"):
        ParameterSet("x", 2048, (995329,), further_special=(1032193,), key_switching=False)


def test_parameter_files_keep_it() -> None:
    from ciphermote.parameters.files import parameters_from_dict, parameters_to_dict

    fields = parameters_to_dict(D.parameters)
    assert parameters_from_dict(fields, "here") == D.parameters
    with pytest.raises(KeyFileError, match="another type"):
        parameters_from_dict({**fields, "key_switching": 0}, "here")
