# SPDX-License-Identifier: Apache-2.0
"""The owner's keys: SEAL accepts them as its own, files are protected, and their faults are reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote.base.errors import Error, KeyFileError, ParameterError
from ciphermote.base.files import lock
from ciphermote.formats import seal as sb
from ciphermote.formats.key_directory import (
    GALOIS_FILE,
    MANIFEST_FILE,
    PARAMETERS_FILE,
    PUBLIC_FILE,
    RELIN_FILE,
)
from ciphermote.formats.seal import key_id_of
from ciphermote.owner import key_store
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import SECRET_FILE, KeyStore
from ciphermote.owner.keys import SecretKey
from ciphermote.parameters import BUILTIN, ParameterSet, by_name
from seal_owner import SealOwner

PARMS = by_name("n4096_q26x3_p27")
STEPS = (1, -1, 5, 1024)
X = np.random.default_rng(11).uniform(-1, 1, PARMS.slots)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    path = tmp_path_factory.mktemp("store") / "keys"
    return KeyStore.create(path, PARMS, galois_steps=STEPS, conjugation=True)


@pytest.fixture(scope="module")
def seal(store: KeyStore, tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    """SEAL with our secret and public key in place of its own."""
    owner = SealOwner(PARMS, tmp_path_factory.mktemp("seal"))
    owner.secret_key = owner.load(sealapi.SecretKey, (store.path / SECRET_FILE).read_bytes())
    owner.public_key = owner.load(sealapi.PublicKey, store.public_bytes(PUBLIC_FILE))
    owner.encryptor = sealapi.Encryptor(owner.context, owner.public_key, owner.secret_key)
    owner.decryptor = sealapi.Decryptor(owner.context, owner.secret_key)
    return owner


def evaluated(seal: SealOwner, operation: str, data: bytes, *arguments: object) -> bytes:
    """SEAL's evaluator at work on a ciphertext of ours."""
    result = sealapi.Ciphertext()
    getattr(sealapi.Evaluator(seal.context), operation)(
        seal.load(sealapi.Ciphertext, data), *arguments, result
    )
    return seal.save(result)


# --- what SEAL makes of our keys ------------------------------------------------------------------


def test_seal_encrypts_with_our_public_key_and_both_decrypt(store: KeyStore, seal: SealOwner) -> None:
    ciphertext = seal.encrypt_public(X)
    bound = 5e-4  # 24 sigma: a product with the key has exponential tails, and the worst of 2048 has 6
    assert np.abs(seal.decrypt(ciphertext) - X).max() < bound
    assert np.abs(decrypt(ciphertext, store.secret(), bare=True) - X).max() < bound


def test_seal_encrypts_with_our_secret_key_and_both_decrypt(store: KeyStore, seal: SealOwner) -> None:
    ciphertext = seal.encrypt(X)
    assert np.abs(seal.decrypt(ciphertext) - X).max() < 5e-5
    assert np.abs(decrypt(ciphertext, store.secret(), bare=True) - X).max() < 5e-5


def test_seal_relinearizes_with_our_key_as_well_as_with_its_own(store: KeyStore, seal: SealOwner) -> None:
    relin = seal.load(sealapi.RelinKeys, store.public_bytes(RELIN_FILE))
    product = evaluated(seal, "square", seal.encrypt(X))
    assert np.abs(decrypt(product, store.secret(), bare=True) - X * X).max() < 1e-4, (
        "size 3 without relinearizing"
    )
    assert np.abs(seal.decrypt(evaluated(seal, "relinearize", product, relin)) - X * X).max() < 1e-4


@pytest.mark.parametrize("step", STEPS)
def test_our_galois_key_rotates_slots_to_the_left(store: KeyStore, seal: SealOwner, step: int) -> None:
    galois = seal.load(sealapi.GaloisKeys, store.public_bytes(GALOIS_FILE))
    rotated = evaluated(seal, "rotate_vector", seal.encrypt(X, 2.0**40), step, galois)
    assert np.abs(seal.decrypt(rotated) - np.roll(X, -step)).max() < 1e-5
    assert np.abs(decrypt(rotated, store.secret(), bare=True) - np.roll(X, -step)).max() < 1e-5


def test_our_conjugation_key_conjugates(store: KeyStore, seal: SealOwner) -> None:
    z = X[:8] + 1j * X[8:16]
    plaintext, ciphertext = sealapi.Plaintext(), sealapi.Ciphertext()
    seal.encoder.encode(z.tolist(), 2.0**40, plaintext)
    seal.encryptor.encrypt(plaintext, ciphertext)
    galois = seal.load(sealapi.GaloisKeys, store.public_bytes(GALOIS_FILE))
    found = evaluated(seal, "complex_conjugate", seal.save(ciphertext), galois)
    assert np.abs(decrypt(found, store.secret(), bare=True, complex_slots=True)[:8] - z.conj()).max() < 1e-5


def test_key_switch_noise_is_no_more_than_of_seals_keys(store: KeyStore, seal: SealOwner) -> None:
    def noise(galois: bytes) -> float:
        """The noise of a rotation by each step: one alone would scatter by 4 %."""
        loaded = seal.load(sealapi.GaloisKeys, galois)
        rotated = [evaluated(seal, "rotate_vector", ciphertext, step, loaded) for step in STEPS]
        errors = [seal.decrypt(data) - np.roll(X, -step) for data, step in zip(rotated, STEPS, strict=True)]
        return float(np.median(np.abs(errors)))

    ciphertext = seal.encrypt(X)
    generator = sealapi.KeyGenerator(seal.context, seal.secret_key)
    theirs = sealapi.GaloisKeys()
    generator.create_galois_keys([sb.galois_element(PARMS.n, step) for step in STEPS], theirs)
    assert noise(store.public_bytes(GALOIS_FILE)) < 1.2 * noise(seal.save(theirs))


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
def test_keys_of_every_set_serve_seal(parameters: ParameterSet, tmp_path: Path) -> None:
    steps = (1,) if parameters.special_prime else ()
    store = KeyStore.create(tmp_path / "keys", parameters, galois_steps=steps, relin=False)
    owner = SealOwner(parameters, tmp_path)
    owner.decryptor = sealapi.Decryptor(
        owner.context, owner.load(sealapi.SecretKey, (store.path / SECRET_FILE).read_bytes())
    )
    owner.encryptor = sealapi.Encryptor(
        owner.context, owner.load(sealapi.PublicKey, store.public_bytes(PUBLIC_FILE))
    )
    scale, bound = (2.0**20, 0.5) if len(parameters.data_primes) == 1 else (2.0**40, 1e-4)
    x = np.random.default_rng(1).uniform(-1, 1, parameters.slots)
    ciphertext = owner.encrypt_public(x, scale)
    assert np.abs(owner.decrypt(ciphertext) - x).max() < bound
    assert np.abs(decrypt(ciphertext, store.secret(), bare=True) - owner.decrypt(ciphertext)).max() < 1e-9
    if steps:
        galois = owner.load(sealapi.GaloisKeys, store.public_bytes(GALOIS_FILE))
        rotated = evaluated(owner, "rotate_vector", ciphertext, 1, galois)
        assert np.abs(owner.decrypt(rotated) - np.roll(x, -1)).max() < bound


def test_seal_reads_our_parameters(store: KeyStore, seal: SealOwner) -> None:
    found = seal.load(sealapi.EncryptionParameters, store.public_bytes(PARAMETERS_FILE))
    assert found.poly_modulus_degree() == PARMS.n
    assert [q.value() for q in found.coeff_modulus()] == list(PARMS.primes)


# --- the secret key -------------------------------------------------------------------------------


def test_a_secret_key_of_seal_is_imported_and_decrypts(tmp_path: Path) -> None:
    owner = SealOwner(PARMS, tmp_path)
    secret = SecretKey.from_seal(owner.save(owner.secret_key), PARMS)
    assert np.abs(decrypt(owner.encrypt(X), secret, bare=True) - X).max() < 5e-5
    store = KeyStore.create(tmp_path / "keys", PARMS, secret=secret)
    assert store.secret().packed == secret.packed


def test_a_secret_key_comes_back_from_seal_bytes(store: KeyStore) -> None:
    secret = store.secret()
    assert SecretKey.from_seal(secret.to_seal(), PARMS).packed == secret.packed
    assert SecretKey.from_coefficients(PARMS, secret.coefficients).packed == secret.packed


def test_a_secret_key_that_is_not_ternary_is_refused(store: KeyStore) -> None:
    rows = [store.secret().residues(i) for i in range(len(PARMS.primes))]
    doubled = [
        (row.astype(np.uint64) * 2 % q).astype(np.uint32) for row, q in zip(rows, PARMS.primes, strict=True)
    ]
    with pytest.raises(KeyFileError, match="-1, 0 and 1"):
        SecretKey.from_seal(sb.write_secret_key(sb.SealSecretKey(PARMS, np.stack(doubled))), PARMS)


def test_a_secret_key_that_differs_between_primes_is_refused(store: KeyStore) -> None:
    rows = np.stack([store.secret().residues(i) for i in range(len(PARMS.primes))])
    rows[2, 0] = (rows[2, 0] + 1) % PARMS.primes[2]
    with pytest.raises(KeyFileError, match="differs from prime to prime"):
        SecretKey.from_seal(sb.write_secret_key(sb.SealSecretKey(PARMS, rows)), PARMS)


def test_a_secret_key_of_other_parameters_is_refused(store: KeyStore) -> None:
    with pytest.raises(KeyFileError, match="cannot be used"):
        SecretKey.from_seal(store.secret().to_seal(), by_name("std2018_n4096_q27x3_p27"))


def test_secrets_do_not_show_in_representations(store: KeyStore) -> None:
    assert "packed" not in repr(store.secret())


# --- the store ------------------------------------------------------------------------------------


def test_the_store_is_private_and_its_secret_more_so(store: KeyStore) -> None:
    assert store.path.stat().st_mode & 0o777 == 0o700
    assert (store.path / SECRET_FILE).stat().st_mode & 0o777 == 0o600


def test_the_key_id_is_the_hash_of_the_public_key(store: KeyStore) -> None:
    assert store.key_id == key_id_of(store.public_bytes(PUBLIC_FILE)) == KeyStore.open(store.path).key_id


def test_opening_gives_what_was_made(store: KeyStore) -> None:
    opened = KeyStore.open(store.path)
    assert (opened.parameters, opened.galois_steps) == (PARMS, STEPS)
    assert opened.manifest == store.manifest


def test_a_secret_key_is_never_overwritten(store: KeyStore) -> None:
    before = (store.path / SECRET_FILE).read_bytes()
    with pytest.raises(KeyFileError, match="never overwritten"):
        KeyStore.create(store.path, PARMS)
    assert (store.path / SECRET_FILE).read_bytes() == before


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(KeyFileError, match="not an empty directory"):
        KeyStore.create(tmp_path, PARMS)


def test_a_failure_midway_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes, mode: int) -> None:
        if path.name == PUBLIC_FILE:
            raise OSError(28, "No space left on device")
        real(path, content, mode)

    real = key_store.write_exclusively
    monkeypatch.setattr(key_store, "write_exclusively", full)
    with pytest.raises(KeyFileError, match="No space left"):
        KeyStore.create(tmp_path / "keys", by_name("n1024_q26"))
    assert list(tmp_path.iterdir()) == []


def test_an_open_secret_is_refused_with_the_command_that_mends_it(store: KeyStore) -> None:
    path = store.path / SECRET_FILE
    path.chmod(0o640)
    try:
        with pytest.raises(KeyFileError, match=f"chmod 600 {path}"):
            store.secret()
    finally:
        path.chmod(0o600)
    assert store.secret()


def test_a_pipe_in_the_place_of_the_secret_is_refused_at_once(store: KeyStore) -> None:
    path = store.path / SECRET_FILE
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path, 0o600)
    try:
        with pytest.raises(KeyFileError, match="not an ordinary file"):
            store.secret()
    finally:
        path.unlink()
        path.write_bytes(content)
        path.chmod(0o600)
    assert store.secret()


@pytest.fixture
def copy(store: KeyStore, tmp_path: Path) -> KeyStore:
    """A separate store to damage, with a small set."""
    return KeyStore.create(tmp_path / "copy", by_name("n1024_q26"))


def test_a_damaged_public_file_is_named(copy: KeyStore) -> None:
    path = copy.path / PUBLIC_FILE
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(KeyFileError, match=r"public\.key is damaged or was replaced"):
        copy.public_key()


def test_a_damaged_secret_is_refused(copy: KeyStore) -> None:
    path = copy.path / SECRET_FILE
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(KeyFileError):
        copy.secret()


def test_the_secret_of_another_pair_is_noticed(copy: KeyStore, tmp_path: Path) -> None:
    other = KeyStore.create(tmp_path / "other", copy.parameters)
    os.replace(other.path / SECRET_FILE, copy.path / SECRET_FILE)
    with pytest.raises(KeyFileError, match="does not belong to"):
        copy.secret()


@pytest.mark.parametrize("missing", [MANIFEST_FILE, SECRET_FILE, PUBLIC_FILE])
def test_a_missing_file_is_named(copy: KeyStore, missing: str) -> None:
    (copy.path / missing).unlink()
    with pytest.raises(KeyFileError, match=missing.replace(".", r"\.")):
        KeyStore.open(copy.path).secret()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"key_id": "xyz"},
        {"key_id": "00"},
        {"key_id": "1" + 16 * "0"},
        {"key_id": "-000000000000001"},
        {"key_id": 7},
        {"created": ["yesterday"]},
        {"conjugation": "no"},
        {"galois_steps": [float("inf")]},
        {"galois_steps": [512]},
        {"galois_steps": [1.0]},
        {"blake2b_256": {"public.key": 5}},
        {"version": [[[2]]]},
        {"parameters": None},
        {
            "parameters": {
                "format": "ciphermote-parameters",
                "name": "x",
                "n": 1024,
                "primes": [12289],
                "standard": 5,
            }
        },
        {"galois_steps": "all"},
        {"blake2b_256": {"../../etc/passwd": ""}},
        {"blake2b_256": []},
    ],
    ids=str,
)
def test_a_damaged_manifest_is_refused(copy: KeyStore, change: dict[str, object]) -> None:
    path = copy.path / MANIFEST_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(Error):
        KeyStore.open(copy.path).public_key()


def test_a_manifest_with_an_insecure_set_is_refused(copy: KeyStore) -> None:
    path = copy.path / MANIFEST_FILE
    fields = json.loads(path.read_text())
    fields["parameters"]["primes"] = list(by_name("n4096_q26x3_p27").primes)
    path.write_text(json.dumps(fields))
    with pytest.raises(ParameterError):
        KeyStore.open(copy.path)


def test_the_public_part_has_no_secret_and_serves_an_engine(store: KeyStore, tmp_path: Path) -> None:
    public = store.export_public(tmp_path / "public")
    assert not public.has_secret
    assert SECRET_FILE not in {path.name for path in public.path.iterdir()}
    assert KeyStore.open(public.path).public_bytes(GALOIS_FILE) == store.public_bytes(GALOIS_FILE)
    with pytest.raises(KeyFileError, match="stays with the owner"):
        public.secret()


def test_a_set_of_one_prime_has_no_key_switching(tmp_path: Path) -> None:
    parameters = by_name("n1024_q26")
    with pytest.raises(ParameterError, match="no key switching"):
        KeyStore.create(tmp_path / "keys", parameters, galois_steps=[1])
    assert not (tmp_path / "keys").exists()
    store = KeyStore.create(tmp_path / "keys", parameters)
    with pytest.raises(KeyFileError, match=r"made without relin\.keys: .* `ciphermote extend --relin`"):
        store.public_bytes(RELIN_FILE)


@pytest.mark.parametrize("step", [0, 2048, -2048])
def test_a_rotation_that_is_none_is_refused(tmp_path: Path, step: int) -> None:
    with pytest.raises(ParameterError, match=f"rotation by {step}"):
        KeyStore.create(tmp_path / "keys", PARMS, galois_steps=[step])


def test_progress_counts_the_keys(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    KeyStore.create(
        tmp_path / "keys",
        by_name("n2048_q26_p27"),
        galois_steps=[1, 2],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


EXTEND = """
import sys, time
from pathlib import Path
from ciphermote.owner.key_store import KeyStore
keys, step, own, other = sys.argv[1:]
def wait_for_the_other(done, total):
    Path(own).touch()
    deadline = time.monotonic() + 3
    while not Path(other).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
KeyStore.open(keys).extend(galois_steps=[int(step)], relin=step == "1", progress=wait_for_the_other)
"""


def test_processes_that_extend_the_same_keys_lose_none(tmp_path: Path) -> None:
    """Each waits for the other, up to three seconds, between reading the keys and writing them."""
    path, a, b = tmp_path / "keys", tmp_path / "a", tmp_path / "b"
    KeyStore.create(path, PARMS, relin=False)
    processes = [
        subprocess.Popen([sys.executable, "-c", EXTEND, path, step, own, other])
        for step, own, other in (("1", a, b), ("2", b, a))
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    found = KeyStore.open(path)
    assert sorted(found.galois_steps) == [1, 2]
    held = sb.read_galois_keys(found.public_bytes(GALOIS_FILE), PARMS).keys
    assert set(held) == {sb.galois_element(PARMS.n, step) for step in (1, 2)}
    assert found.public_bytes(RELIN_FILE)


def test_who_waits_too_long_for_the_keys_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = KeyStore.create(tmp_path / "keys", by_name("n2048_q26_p27"), relin=False)
    monkeypatch.setattr(key_store, "_TURN_SECONDS", 0.1)
    with (
        lock(made.path / ".lock", 0),
        pytest.raises(KeyFileError, match=r"Another process is adding keys .* wait until it has"),
    ):
        made.extend(relin=True)
    assert RELIN_FILE in made.extend(relin=True).manifest.digests


def test_no_lock_is_left_among_keys_without_the_secret(copy: KeyStore) -> None:
    (copy.path / SECRET_FILE).unlink()
    before = sorted(copy.path.iterdir())
    with pytest.raises(KeyFileError, match="stays with the owner"):
        copy.extend(galois_steps=[1])
    assert sorted(copy.path.iterdir()) == before


def test_two_keys_share_nothing(tmp_path: Path) -> None:
    first = KeyStore.create(tmp_path / "a", by_name("n1024_q26"))
    second = KeyStore.create(tmp_path / "b", by_name("n1024_q26"))
    assert first.key_id != second.key_id
    assert first.secret().packed != second.secret().packed


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"format": ' * 50_000, b"\xff", b""])
def test_a_manifest_that_is_no_json_is_refused(copy: KeyStore, content: bytes) -> None:
    (copy.path / MANIFEST_FILE).write_bytes(content)
    with pytest.raises(KeyFileError, match="damaged"):
        KeyStore.open(copy.path)


def test_a_rotation_too_large_for_a_float_in_a_manifest_is_refused(copy: KeyStore) -> None:
    path = copy.path / MANIFEST_FILE
    text = path.read_text().replace('"galois_steps": []', '"galois_steps": [1e400]')
    assert "1e400" in text
    path.write_text(text)
    with pytest.raises(KeyFileError, match="damaged"):
        KeyStore.open(copy.path)


def test_a_key_id_counts_only_when_the_public_key_confirms_it(copy: KeyStore) -> None:
    assert copy.checked_key_id() == copy.key_id
    path = copy.path / MANIFEST_FILE
    path.write_text(path.read_text().replace(f"{copy.key_id:016x}", f"{copy.key_id ^ 1:016x}"))
    with pytest.raises(KeyFileError, match="names another key"):
        KeyStore.open(copy.path).checked_key_id()
