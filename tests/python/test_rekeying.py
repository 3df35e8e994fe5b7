# SPDX-License-Identifier: Apache-2.0
"""Devices with keys of their own, sets with several special primes, and evaluation keys in seeded form."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ciphermote import Ciphertext, Evaluator, Owner, encrypt
from ciphermote.base.errors import EngineError, Error, FrameError, KeyFileError, MismatchError, ParameterError
from ciphermote.cli import app
from ciphermote.cli.inspection import describe
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.formats import seeded_keys
from ciphermote.formats.seeded_keys import KeyKind
from ciphermote.owner.device_keys import DeviceKeys
from ciphermote.owner.keys import SecretKey, make_rekey_key
from ciphermote.owner.provisioning import to_c_header
from ciphermote.parameters import BFV, EVALUATOR_SETS, ParameterSet, by_id, by_name, from_primes, generate
from ciphermote.parameters.files import parameters_from_dict, parameters_to_dict
from numpy.typing import NDArray
from typer.testing import CliRunner

T = 65537
SETS = (by_name("n2048_q26_p27"), by_name("n4096_q26x3_p27"), EVALUATOR_SETS[0])


@cache
def owner(parameters: ParameterSet) -> Owner:
    return Owner.generate(parameters, rotations=[1, -3])


@cache
def device(parameters: ParameterSet) -> DeviceKeys:
    return owner(parameters).device_keys()


# ---- rekeying ----


@pytest.mark.parametrize("parameters", SETS, ids=lambda p: p.name)
def test_a_devices_ciphertext_comes_under_the_owners_key(parameters: ParameterSet) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, parameters.slots)
    log2_scale = 20 if parameters.n == 2048 else 35
    noise = parameters.n / 2**log2_scale  # of a slot: key switching's standard deviation is near it
    evaluator = Evaluator(owner(parameters).evaluation_keys)
    key = evaluator.rekey_key(device(parameters).rekey_key)
    frames = encrypt(x, device(parameters).secret_key, largest=1, log2_scale=log2_scale)
    with pytest.raises(MismatchError):
        owner(parameters).decrypt(frames)
    found = evaluator.rekey(frames, key)
    assert found.key_id == owner(parameters).key_id

    def error(ciphertext: Ciphertext, truth: NDArray[np.float64]) -> float:
        return float(np.abs(owner(parameters).decrypt(ciphertext.to_seal()) - truth).max())

    assert error(found, x) < 15 * noise
    assert error(evaluator.rotate(found, 1), np.roll(x, -1)) < 30 * noise
    # It computes with the owner's own ciphertexts.
    theirs = encrypt(x, owner(parameters).secret_key, largest=1, log2_scale=log2_scale)
    assert error(found + evaluator.load(theirs), 2 * x) < 15 * noise


def test_bfv_too_and_the_device_is_provisioned_with_its_own_key() -> None:
    parameters = SETS[1]
    k = np.random.default_rng(1).integers(0, T, parameters.n)
    evaluator = Evaluator(owner(parameters).evaluation_keys, BFV(T))
    found = evaluator.rekey(
        encrypt(k, device(parameters).secret_key, largest=T - 1, scheme=BFV(T)),
        evaluator.rekey_key(device(parameters).rekey_key),
    )
    assert (owner(parameters).decrypt(found.to_seal(), places="slots", signed=False) == k).all()
    given = device(parameters).provision()
    assert given.key_id == device(parameters).secret_key.key_id != owner(parameters).key_id
    assert given.secret_key is device(parameters).secret_key and given.public_key is None
    assert f"{given.key_id:016x}" in to_c_header(given)
    assert device(parameters).provision().device_secret != given.device_secret


def test_what_leads_elsewhere_is_refused() -> None:
    parameters = SETS[1]
    mine, other = owner(parameters), Owner.generate(parameters, rotations=[1])
    evaluator = Evaluator(mine.evaluation_keys)
    x = [0.5]
    key = evaluator.rekey_key(device(parameters).rekey_key)
    # The other direction, which whoever has a device's key cannot make without the owner's.
    captured = device(parameters).secret_key
    backwards = DeviceKeys.make(captured)
    assert (
        repr(key)
        == f"<RekeyKey from key {device(parameters).secret_key.key_id:016x} to key {mine.key_id:016x}>"
    )
    small = owner(SETS[0])
    loaded = SecretKey.from_coefficients(parameters, captured.coefficients)
    refusals: list[tuple[type[Error], str, Callable[[], object]]] = [
        (MismatchError, "different keys", lambda: evaluator.rekey(encrypt(x, mine.secret_key), key)),
        (MismatchError, "different keys", lambda: evaluator.rekey(encrypt(x, other.secret_key), key)),
        (MismatchError, "rekey key of the dev", lambda: evaluator.rekey(encrypt(x, other.secret_key), key)),
        (FrameError, "no rekey key: give", lambda: evaluator.rekey_key(mine.evaluation_keys.galois or b"")),
        (MismatchError, "and not to the owner's", lambda: evaluator.rekey_key(backwards.rekey_key)),
        (MismatchError, "and not to the owner's", lambda: evaluator.rekey_key(other.device_keys().rekey_key)),
        (
            MismatchError,
            "different keys",
            lambda: Evaluator(other.evaluation_keys).rekey(encrypt(x, captured), key),
        ),
        (MismatchError, "not of the set", lambda: evaluator.rekey_key(small.device_keys().rekey_key)),
        (
            MismatchError,
            "Nothing names the owner's",
            lambda: Evaluator(parameters).rekey_key(backwards.rekey_key),
        ),
        (ParameterError, "let DeviceKeys.make", lambda: make_rekey_key(captured, mine.secret_key)),
        (ParameterError, "let DeviceKeys.make", lambda: make_rekey_key(mine.secret_key, other.secret_key)),
        (ParameterError, "let DeviceKeys.make", lambda: make_rekey_key(mine.secret_key, loaded)),
        (MismatchError, "names no pair", lambda: DeviceKeys.make(SecretKey.generate(parameters))),
        (ParameterError, "no key switching", lambda: Owner.generate("n1024_q26").device_keys()),
    ]
    for kind, words, act in refusals:
        with pytest.raises(kind, match=words):
            act()


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == code, result.output
        return result.output

    run("keygen", "keys", "--public-to", "public")
    said = run("provision", "keys", "--own-key", "device.rekey", "-o", "keys.h")
    assert "Its rekey key is in device.rekey: public, for the server" in said
    assert (tmp_path / "keys.h").stat().st_mode & 0o77 == 0
    held = Owner.load("keys")
    own = held.device_keys()
    (tmp_path / "frames.bin").write_bytes(encrypt([1.5, -2.0], own.secret_key).to_frames())
    (tmp_path / "own.rekey").write_bytes(own.rekey_key)
    run("rekey", "public", "own.rekey", "frames.bin", "-o", "reading.ct", "--plain-modulus", "0")
    shown = json.loads(run("decrypt", "keys", "reading.ct", "--count", "1", "--json"))["values"]
    assert shown[0] == pytest.approx(1.5, abs=5e-3)
    said = run("rekey", "public", "device.rekey", "frames.bin", "-o", "other.ct", code=1)
    assert "or its rekey key" in said
    for other in ("keys.h", "public/relin.keys"):
        said = run("rekey", "public", other, "frames.bin", "-o", "other.ct", code=1)
        assert "no rekey key: give the file that `ciphermote provision --own-key` wrote" in said
    assert not (tmp_path / "other.ct").exists()
    before = (tmp_path / "device.rekey").read_bytes()
    assert "all there is" in run("provision", "keys", "--own-key", "device.rekey", "-o", "new.h", code=1)
    assert (tmp_path / "device.rekey").read_bytes() == before and not (tmp_path / "new.h").exists()
    assert "name two" in run("provision", "keys", "--own-key", "new.h", "-o", "new.h", code=1)
    assert not (tmp_path / "new.h").exists()
    assert "--key symmetric" in run(
        "provision", "keys", "--own-key", "x", "--key", "both", "-o", "more.h", code=1
    )


def test_rekey_takes_a_stream_and_takes_no_reading_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    p = SETS[1]
    owner(p).save("keys")
    owner(p).save_public("public")
    devices = device(p), owner(p).device_keys()
    for i, own in enumerate(devices):
        Path(f"{i}.rekey").write_bytes(own.rekey_key)
        frames = [encrypt([float(10 * i + j)], own.secret_key, counter=j).to_frames() for j in range(3)]
        Path(f"{i}.bin").write_bytes(frames[1] + frames[0])
        Path(f"{i}.more").write_bytes(frames[2])

    def rekey(key: int, *files: str, code: int = 0) -> str:
        arguments = ["rekey", "public", f"{key}.rekey", *files, "-o", "out"]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return result.output

    assert "There are 2 readings" in rekey(0, "0.bin")
    assert "was taken in before" in rekey(0, "0.bin", code=1)
    assert "was taken in before" in rekey(0, "0.more", "0.bin", code=1)
    assert len(list(Path("out").iterdir())) == 2
    rekey(0, "0.bin", "--again")
    assert "another key" in rekey(1, "0.more", code=1)
    rekey(0, "0.more")
    # Counters are a device's own, and so are names.
    rekey(1, "1.more", "1.bin", "--device", "pump")
    assert "from device pump" in rekey(1, "1.bin", "--again", code=1)
    prefixes = f"{devices[0].secret_key.key_id:016x}", "pump"
    assert len(list(Path("out").iterdir())) == 6
    for i, prefix in enumerate(prefixes):
        for j in range(3):
            data = Path(f"out/{prefix}-reading{j}.ct").read_bytes()
            assert owner(p).decrypt(data)[0] == pytest.approx(10 * i + j, abs=5e-3)


# ---- several special primes ----


def test_sets_for_the_evaluator_hold_the_bound_and_are_known_to_devices() -> None:
    for p in EVALUATOR_SETS:
        assert by_name(p.name) is p and by_id(p.id) is p
        assert len(p.special_primes) == 2 and p.digit_primes == 2
        assert p.log2_q == pytest.approx(np.log2(np.array([*p.data_primes, *p.special_primes])).sum())
        assert parameters_from_dict(parameters_to_dict(p), "here") == p
        # What devices and SEAL know is a set with one special prime.
        plain = from_primes(p.n, p.primes, name="plain")
        assert (plain.id, plain.data_primes) == (p.id, p.data_primes)


def test_key_switching_that_would_be_weak_or_inexact_is_refused() -> None:
    seven = [24] * 5 + [23] * 2
    for make, words in (
        (lambda: generate(8192, [*seven, 24, 25], special=2, digit_primes=2), "more than|over it"),
        (lambda: generate(8192, [*seven, 24], digit_primes=2), "below that of a digit"),
        (lambda: generate(8192, [*seven[:3], 24, 24, 24, 24, 24], special=5), "up to 4 special primes"),
        (lambda: generate(8192, [*seven, 24, 24], special=2, digit_primes=5), "digits of 1 to 4"),
        (
            lambda: ParameterSet("x", 1024, (generate(1024, [26]).primes[0],), "2024", (12289,)),
            "no key switching",
        ),
    ):
        with pytest.raises(ParameterError, match=words):
            make()


def test_keys_of_several_special_primes_are_kept_extended_and_computed_with(tmp_path: Path) -> None:
    p = EVALUATOR_SETS[0]
    keys = owner(p)
    keys.save(tmp_path / "keys")
    held = Owner.load(tmp_path / "keys")
    held.extend(rotations=[5])
    x = np.random.default_rng(1).uniform(-1, 1, p.slots)
    with held.evaluation_keys.engine() as engine:
        assert engine.key_id == keys.key_id
    evaluator = Evaluator(held.evaluation_keys)
    c = evaluator.load(encrypt(x, held.public_key, largest=1, log2_scale=46))
    for step in (1, -3, 5):
        assert np.abs(held.decrypt(evaluator.rotate(c, step).to_seal()) - np.roll(x, -step)).max() < 1e-6
    square = evaluator.rescale(evaluator.square(c), 2)
    assert np.abs(held.decrypt(square.to_seal()) - x * x).max() < 1e-6
    k = np.random.default_rng(1).integers(0, T, p.n)
    bfv = Evaluator(held.evaluation_keys, BFV(T))
    whole = bfv.load(encrypt(k, held.public_key, largest=T - 1, scheme=BFV(T))).without_bound()
    assert (held.decrypt(bfv.square(whole).to_seal(), places="slots", signed=False) == k * k % T).all()
    for workers_keys in (held.evaluation_keys, EvaluationKeys(p, None, held.evaluation_keys.relin)):
        with pytest.raises(EngineError, match="SEAL has neither"):
            workers_keys.engine(name="seal")


# ---- their bytes ----


def test_seeded_keys_come_back_and_damage_is_found() -> None:
    p = EVALUATOR_SETS[0]
    data = owner(p).evaluation_keys.galois
    assert data is not None
    found = seeded_keys.read(data, p, KeyKind.GALOIS)
    assert seeded_keys.write(found) == data and found.key_id == owner(p).key_id
    assert sorted(found.keys) == sorted({3, pow(3, -3, 2 * p.n)})
    random = np.random.default_rng(1)
    for at in [*range(64), *random.integers(0, len(data), 40)]:
        wrong = bytearray(data)
        wrong[at] ^= 1 << int(random.integers(8))
        with pytest.raises((FrameError, MismatchError)):
            seeded_keys.read(wrong, p, KeyKind.GALOIS)
    for cut in (0, 3, 40, 100, len(data) - 1):
        with pytest.raises(FrameError):
            seeded_keys.read(data[:cut], p, KeyKind.GALOIS)
    with pytest.raises(FrameError, match="cut short"):
        seeded_keys.read(data + b"\0", p, KeyKind.GALOIS)
    with pytest.raises(MismatchError, match="holds Galois keys, not relinearization keys"):
        seeded_keys.read(data, p, KeyKind.RELINEARIZATION)
    with pytest.raises(MismatchError, match="not of the set"):
        seeded_keys.read(data, EVALUATOR_SETS[1], KeyKind.GALOIS)


def test_keys_with_a_false_digest_of_their_own_are_still_checked() -> None:
    """An attacker computes the digest too."""
    p = EVALUATOR_SETS[0]
    data = owner(p).evaluation_keys.relin
    assert data is not None
    body = bytearray(data[:-32])
    head = len(body) - (4 + 32 + 4 * 4 * 9 * p.n)
    struct.pack_into("<I", body, head + 4 + 32, 2**32 - 1)  # the first residue
    forged = bytes(body) + hashlib.blake2b(body, digest_size=32).digest()
    with pytest.raises(EngineError, match="not below its prime"):
        Evaluator(EvaluationKeys(p, None, forged))
    struct.pack_into("<I", body, head, 7)  # the element
    forged = bytes(body) + hashlib.blake2b(body, digest_size=32).digest()
    with pytest.raises(FrameError, match="element 7 out of place"):
        Evaluator(EvaluationKeys(p, None, forged))


def test_inspect_says_what_they_are(tmp_path: Path) -> None:
    p = EVALUATOR_SETS[0]
    keys = Owner.generate(p, rotations=[5, -3, 1], conjugation=True)
    own = keys.device_keys()
    of, source = f"{keys.key_id:016x}", f"{own.secret_key.key_id:016x}"
    evaluation = keys.evaluation_keys
    for data, words in (
        (evaluation.relin, {"what": "relinearization keys in seeded form: public", "key id": of}),
        (evaluation.galois, {"key id": of, "rotations": "1, -3, 5, conjugation"}),
        (own.rekey_key, {"from key": f"{source}, a device's", "to key": f"{of}, the owner's"}),
    ):
        assert data is not None
        (tmp_path / "file").write_bytes(data)
        rows = dict(describe(tmp_path / "file"))
        assert words.items() <= rows.items()
        assert p.name in rows["parameter set"] and rows["bytes"] == f"{len(data):,}"
    # None of these say how much to read.
    head = own.rekey_key[:32]
    for cut in (own.rekey_key[:20], own.rekey_key[:-1], own.rekey_key + bytes(1), head[:6] + b"\xff" * 26):
        (tmp_path / "file").write_bytes(cut)
        with pytest.raises(Error):
            describe(tmp_path / "file")


def test_a_key_that_is_no_key_of_the_directory_is_refused(tmp_path: Path) -> None:
    owner(EVALUATOR_SETS[0]).save(tmp_path / "keys")
    (tmp_path / "keys" / "galois.keys").write_bytes(b"CMEK" + bytes(100))
    with pytest.raises(KeyFileError, match="damaged or was replaced"):
        Owner.load(tmp_path / "keys")
