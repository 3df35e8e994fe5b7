# SPDX-License-Identifier: Apache-2.0
"""Objects remember their key, set, scheme, and scale or plain modulus, and what does not belong together is
refused where it meets, in the files of the command line and in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenseal.sealapi as sealapi
from ciphermote import _core
from ciphermote.base.errors import FrameError, MismatchError
from ciphermote.ciphertext import Ciphertext
from ciphermote.cli import app
from ciphermote.evaluate.client_aided import Session, plan_rounds
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.evaluate.program import Program, Step
from ciphermote.formats import labels
from ciphermote.formats import seal as sb
from ciphermote.formats.device_results import device_frames
from ciphermote.formats.evaluation_keys import galois_keys_for_bfv
from ciphermote.formats.frames import adapt
from ciphermote.formats.key_directory import GALOIS_FILE, PUBLIC_FILE, RELIN_FILE
from ciphermote.owner.decryption import decrypt
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.keys import SecretKey
from ciphermote.owner.provisioning import Provision, parse_blob, provision, to_blob
from ciphermote.parameters import BFV, CKKS, by_name, generate
from ciphermote.parameters.native import core_params
from numpy.typing import NDArray
from seal_owner import SCALE, SealOwner
from sensor import SHAKE256, Sensor
from typer.testing import CliRunner

from golden import embedding

PARMS = by_name("n4096_q26x3_p27")
SMALL = by_name("n1024_q26")
T = 40961
BATCH, COEFFICIENTS = 1, 2
X = np.random.default_rng(3).uniform(-1, 1, 12).astype(np.float32)
MODEL = LinearModel(np.random.default_rng(4).normal(size=(16, 12)) / 4, np.ones(16))
OTHER = LinearModel(-MODEL.weights, MODEL.bias)
"""A model of 16 classes: noise is left in 32 coefficients of a score, which is enough to be recognised."""
Run = Callable[..., str]


@dataclass(frozen=True)
class House:
    """An owner: keys in a directory, their public part beside it, and a device."""

    folder: Path
    store: KeyStore
    sensor: Sensor

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def public(self) -> Path:
        return self.folder / "public"

    def galois(self) -> bytes:
        return self.store.public_bytes(GALOIS_FILE)

    def reading(self) -> bytes:
        return adapt(self.sensor.symmetric(X), PARMS, self.store.key_id)


def house(folder: Path) -> House:
    steps = plan_linear(MODEL, PARMS, SCALE, feature_bound=16).rotation_steps
    store = KeyStore.create(folder / "keys", PARMS, galois_steps=steps)
    store.export_public(folder / "public")
    MODEL.save(folder / "model.json")
    return House(folder, store, Sensor(provision(store, secret=True)))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> House:
    return house(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> House:
    return house(tmp_path_factory.mktemp("theirs"))


@pytest.fixture(scope="module", params=["native", "seal"])
def engine(ours: House, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(
        PARMS,
        galois_keys=ours.galois(),
        relin_keys=ours.store.public_bytes(RELIN_FILE),
        name=request.param,
    ) as opened:
        yield opened


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; returns what it printed, after checking the exit code (0 unless told)."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: Any, code: int = 0) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result.stderr if code else result.stdout

    return call


# --- files ----------------------------------------------------------------------------------------


def test_every_file_on_the_way_names_its_key_and_the_result_says_what_it_is_of(
    ours: House, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "frames.bin").write_bytes(ours.sensor.symmetric(X))
    reading, score = tmp_path / "reading.ct", tmp_path / "score.ct"
    run("adapt", ours.public, tmp_path / "frames.bin", "-o", reading)
    run("infer", "--feature-bound", 16, ours.public, ours.folder / "model.json", reading, "-o", score)
    key_id = f"{ours.store.key_id:016x}"
    for path in (reading, score, ours.public / GALOIS_FILE, ours.public / RELIN_FILE):
        assert key_id in run("inspect", path), path
    found = json.loads(run("decrypt", ours.keys, score, "--json"))
    scale = plan_linear(MODEL, PARMS, SCALE, feature_bound=16).result_scale
    assert (found["key_id"], found["parameters"], found["scheme"]) == (key_id, PARMS.name, "CKKS")
    assert found["scale"] == pytest.approx(scale)
    scored = json.loads(run("decrypt", ours.keys, score, "--model", ours.folder / "model.json", "--json"))
    assert scored["key_id"] == key_id
    assert f"Of key {key_id}, {PARMS.name}, CKKS, scale" in run("decrypt", ours.keys, score)


def test_scores_are_shown_under_the_classes_of_their_own_model_alone(
    ours: House, engine: Engine, tmp_path: Path, run: Run
) -> None:
    own, reading, score, total = (tmp_path / name for name in ("own.npz", "reading.ct", "score.ct", "sum.ct"))
    MODEL.save(own)
    reading.write_bytes(ours.reading())
    run("infer", "--feature-bound", 16, ours.public, own, reading, "-o", score)
    scores = engine.linear(ours.reading(), MODEL, feature_bound=16)
    total.write_bytes(engine.sum([scores, scores]).to_seal())
    shown = json.loads(run("decrypt", ours.keys, score, "--json", "--model", ours.folder / "model.json"))
    assert np.abs(np.array(list(shown["scores"].values())) - MODEL.scores(X)).max() < 0.01
    others = (
        LinearModel(MODEL.weights, np.zeros(16)),
        OTHER,
        LinearModel(MODEL.weights, MODEL.bias, tuple("abcdefghijklmnop")),
        LinearModel(MODEL.weights[:3], MODEL.bias[:3]),
        LinearModel(MODEL.weights.reshape(12, 16), np.ones(12)),
    )
    for bare in ((), ("--bare",)):
        for other in others:
            other.save(tmp_path / "other.json")
            sentence = run("decrypt", ours.keys, score, "--model", tmp_path / "other.json", *bare, code=1)
            assert f"scores of model {MODEL.id:016x}" in sentence
            assert f"the model given is {other.id:016x}" in sentence
        for path in (reading, total):
            assert "holds no model's scores" in run("decrypt", ours.keys, path, "--model", own, *bare, code=1)
    assert f"{MODEL.id:016x}" in run("inspect", score)
    assert f"{MODEL.id:016x}" in run("inspect", own)
    assert "scores of model" not in run("inspect", reading)


def test_scores_are_not_scored_again(ours: House, tmp_path: Path, run: Run) -> None:
    reading, score, again = (tmp_path / name for name in ("reading.ct", "score.ct", "again.ct"))
    reading.write_bytes(ours.reading())
    model = ours.folder / "model.json"
    run("infer", "--feature-bound", 16, ours.public, model, reading, "-o", score)
    OTHER.save(tmp_path / "other.json")
    for chosen in (model, tmp_path / "other.json"):
        for more in (("--feature-bound", 1), ("--bare",), ()):
            sentence = run(
                "infer", "--feature-bound", 16, ours.public, chosen, score, "-o", again, *more, code=1
            )
            assert f"{score}: The ciphertext holds scores of model {MODEL.id:016x} already" in sentence
            assert "`ciphermote adapt` wrote" in sentence
            assert not again.exists()
    sentence = run(
        "infer", "--feature-bound", 16, ours.public, model, reading, score, "-o", tmp_path / "both", code=1
    )
    assert str(score) in sentence
    assert [path.name for path in (tmp_path / "both").iterdir()] == [reading.name]


def test_an_engine_scores_no_scores_and_adds_them_to_no_readings(ours: House, engine: Engine) -> None:
    scores = engine.linear(ours.reading(), MODEL, feature_bound=16)
    plan = plan_linear(MODEL, PARMS, SCALE, feature_bound=16)
    already = f"holds scores of model {MODEL.id:016x} already"
    for bound in (1, 16):
        with pytest.raises(MismatchError, match=already):
            engine.linear(scores, MODEL, feature_bound=bound)
    with pytest.raises(MismatchError, match=already):
        engine.evaluate(plan.program, scores)
    good, refused = engine.linear_all([ours.reading(), scores], MODEL, feature_bound=16)
    assert isinstance(good, Ciphertext) and isinstance(refused, MismatchError)
    for mixed in ([ours.reading(), scores], [scores, engine.linear(ours.reading(), OTHER, feature_bound=16)]):
        with pytest.raises(MismatchError, match="Ciphertext 2 of the sum: The ciphertext holds"):
            engine.sum(mixed)


def test_files_of_two_keys_are_refused_where_they_meet(
    ours: House, theirs: House, tmp_path: Path, run: Run
) -> None:
    reading, score = tmp_path / "reading.ct", tmp_path / "score.ct"
    reading.write_bytes(ours.reading())
    model = ours.folder / "model.json"
    for bare in ((), ("--bare",)):
        sentence = run(
            "infer", "--feature-bound", 16, theirs.public, model, reading, "-o", score, *bare, code=1
        )
        assert f"different keys ({ours.store.key_id:016x}, {theirs.store.key_id:016x})" in sentence
        assert not score.exists()
        sentence = run("decrypt", theirs.keys, reading, *bare, code=1)
        assert f"different keys ({ours.store.key_id:016x}, {theirs.store.key_id:016x})" in sentence


def test_inspect_goes_by_the_label(ours: House, tmp_path: Path, run: Run) -> None:
    seal, label = labels.detach(ours.reading())
    assert label
    path = tmp_path / "lying.ct"
    path.write_bytes(labels.attach(bytes(seal), replace(label, kind=labels.Kind.GALOIS_KEYS)))
    sentence = run("inspect", path, code=1)
    assert "SEAL Galois keys" in sentence
    assert "not built in" not in sentence
    path.write_bytes(labels.attach(bytes(seal), replace(label, parameters_id=SMALL.id)))
    assert "SEAL ciphertext, byte 0" in run("inspect", path, code=1)


def test_what_seal_saved_is_taken_on_request_and_noise_is_recognised(
    ours: House, theirs: House, tmp_path: Path, run: Run
) -> None:
    """As a cloud that runs SEAL returns it: without a label."""
    reading, score = tmp_path / "reading.ct", tmp_path / "score.ct"
    seal, _ = labels.detach(ours.reading())
    reading.write_bytes(seal)
    model = ours.folder / "model.json"
    assert "Nothing names the key" in run(
        "infer", "--feature-bound", 16, ours.public, model, reading, "-o", score, code=1
    )
    assert "Nothing names the key" in run("decrypt", ours.keys, reading, code=1)
    run("infer", "--feature-bound", 16, ours.public, model, reading, "-o", score, "--bare")
    assert "Nothing names the key" in run("decrypt", ours.keys, score, code=1), "a label is never made up"
    found = json.loads(run("decrypt", ours.keys, score, "--bare", "--json", "--count", 16))
    assert found["key_id"] is None
    assert np.abs(np.array(found["values"]) - MODEL.scores(X)).max() < 0.01
    run("infer", "--feature-bound", 16, theirs.public, model, reading, "-o", score, "--bare")
    for path, keys in ((score, ours.keys), (score, theirs.keys), (reading, theirs.keys)):
        assert "decrypts to noise" in run("decrypt", keys, path, "--bare", code=1)


def test_integers_are_decrypted_and_their_noise_is_recognised(
    ours: House, theirs: House, tmp_path: Path, run: Run
) -> None:
    values = np.arange(PARMS.n, dtype=np.uint32) * 9 % T
    path = tmp_path / "x.ct"
    slots = ("--as", "slots", "--unsigned")
    path.write_bytes(exact(ours, values))
    assert "No bound on these integers" in run("decrypt", ours.keys, path, "--as", "slots", code=1)
    found = json.loads(run("decrypt", ours.keys, path, *slots, "--json", "--count", 0))
    assert found["values"] == values.tolist()
    assert (found["scheme"], found["plain_modulus"]) == ("BFV", T)
    assert found["key_id"] == f"{ours.store.key_id:016x}"
    assert f"BFV, modulo {T}" in run("decrypt", ours.keys, path, *slots)
    assert "different keys" in run("decrypt", theirs.keys, path, code=1)
    assert f"is BFV modulo {T}'s, and one of BFV modulo 65537 is wanted" in run(
        "decrypt", ours.keys, path, "--plain-modulus", 65537, code=1
    )
    path.write_bytes(labels.detach(path.read_bytes())[0])
    assert "parms_id" in run("decrypt", ours.keys, path, "--bare", code=1)
    bare = (*slots, "--bare", "--plain-modulus", T, "--json", "--count", 0)
    assert json.loads(run("decrypt", ours.keys, path, *bare))["values"] == values.tolist()
    assert "noise budget is 0" in run("decrypt", theirs.keys, path, *bare, code=1)


# --- in memory ------------------------------------------------------------------------------------


def exact(of: House, values: np.ndarray, *, ntt_form: bool = True, batch: bool = True) -> bytes:
    """BFV's, modulo T, with its label."""
    secret, encoding = of.store.secret().packed, BATCH if batch else COEFFICIENTS
    frames = of.sensor.device.encrypt_bfv_symmetric(
        core_params(PARMS), secret, of.store.key_id, 3, values, T, encoding, 32, ntt_form, "frames"
    )
    return adapt(frames, PARMS, of.store.key_id, scheme=BFV(T))


def test_an_engine_computes_on_its_own_key_alone_and_labels_the_result(
    ours: House, theirs: House, engine: Engine
) -> None:
    assert engine.key_id == ours.store.key_id
    square = Program((Step("multiply", 1, 0, 0),), ())
    for result in (
        engine.linear(ours.reading(), MODEL, feature_bound=16),
        engine.evaluate(square, ours.reading()),
        engine.sum([ours.reading(), ours.reading()]),
    ):
        assert result.key_id == ours.store.key_id
        decrypt(result, ours.store.secret())
    for refused in (
        lambda: engine.linear(theirs.reading(), MODEL, feature_bound=16),
        lambda: engine.evaluate(square, theirs.reading()),
        lambda: engine.sum([ours.reading(), theirs.reading()]),
        lambda: engine.load(theirs.reading()),
    ):
        with pytest.raises(MismatchError, match="different keys"):
            refused()
    (mixed,) = engine.linear_all([theirs.reading()], MODEL, feature_bound=16)
    assert isinstance(mixed, MismatchError)


def test_evaluation_keys_of_two_keys_make_no_engine(ours: House, theirs: House) -> None:
    relin = theirs.store.public_bytes(RELIN_FILE)
    for bare in (False, True):
        with pytest.raises(MismatchError, match="different keys"):
            open_engine(PARMS, galois_keys=ours.galois(), relin_keys=relin, bare=bare)
    with pytest.raises(MismatchError, match="Galois keys"):
        open_engine(PARMS, galois_keys=labels.detach(ours.galois())[0])


def test_a_sum_is_of_one_key_even_without_evaluation_keys(ours: House, theirs: House) -> None:
    seal, _ = labels.detach(ours.reading())
    with open_engine(PARMS) as engine:
        total = engine.sum([ours.reading(), ours.reading()])
        assert total.key_id == ours.store.key_id
        decrypt(total, ours.store.secret())
        with pytest.raises(MismatchError, match="the first of key"):
            engine.sum([ours.reading(), theirs.reading()])
        with pytest.raises(MismatchError, match="Nothing names the key"):
            engine.sum([seal])
    with open_engine(PARMS, bare=True) as engine:
        with pytest.raises(MismatchError, match="an unknown key"):
            engine.sum([ours.reading(), seal])
        assert labels.detach(engine.sum([seal, seal]).to_seal())[1] is None


def test_bare_evaluation_keys_give_bare_results(ours: House) -> None:
    with open_engine(PARMS, galois_keys=labels.detach(ours.galois())[0], bare=True) as engine:
        result = engine.linear(ours.reading(), MODEL, feature_bound=16)
    assert labels.detach(result.to_seal())[1] is None
    with pytest.raises(MismatchError, match="Nothing names"):
        decrypt(result, ours.store.secret())


def test_a_secret_key_decrypts_what_is_of_its_id_and_set(ours: House, theirs: House) -> None:
    with pytest.raises(MismatchError, match="different keys"):
        decrypt(ours.reading(), theirs.store.secret(), bare=True)
    with pytest.raises(MismatchError, match="Nothing names the key of the secret key"):
        decrypt(ours.reading(), replace(ours.store.secret(), key_id=None))
    other = SecretKey.generate(generate(4096, [26, 26, 25, 27]))
    with pytest.raises(MismatchError, match="of one set"):
        decrypt(Ciphertext.from_seal(ours.reading()).without_key(), other, bare=True)


def test_sets_that_share_primes_are_told_apart_where_seal_cannot(tmp_path: Path, ours: House) -> None:
    """A ciphertext that lost its last primes has the same parms_id in every set that begins with the rest."""
    other = generate(4096, [26, 26, 25, 27])
    assert other.primes[:2] == PARMS.primes[:2]
    ciphertext = sb.read_ciphertext(ours.reading(), PARMS)
    fewer = sb.write_ciphertext(replace(ciphertext, primes=2, residues=ciphertext.residues[:, :2]))
    assert sb.read_ciphertext(labels.detach(fewer)[0], other).primes == 2
    with pytest.raises(MismatchError, match=f"0x{PARMS.id:08x}, not {other.name}"):
        sb.read_ciphertext(fewer, other)


def test_schemes_and_plain_moduli_do_not_mix(ours: House) -> None:
    data = exact(ours, np.ones(4, dtype=np.uint32))
    with pytest.raises(MismatchError, match=f"BFV modulo {T}'s, and one of CKKS is wanted"):
        Ciphertext.from_seal(data, PARMS, CKKS)
    with pytest.raises(MismatchError, match="modulo 65537"):
        Ciphertext.from_seal(data, PARMS, BFV(65537))
    with pytest.raises(MismatchError, match="CKKS's, and one of BFV modulo 40961 is wanted"):
        Ciphertext.from_seal(ours.reading(), PARMS, BFV(T))
    with pytest.raises(MismatchError, match="CKKS, not BFV"):
        open_engine(PARMS, galois_keys=ours.galois(), scheme=BFV(T))
    keys = galois_keys_for_bfv(ours.galois(), PARMS, BFV(T))
    assert sb.read_galois_keys(keys, PARMS, scheme=BFV(T)).key_id == ours.store.key_id


def test_results_go_back_to_the_device_of_their_key_alone(ours: House, theirs: House, engine: Engine) -> None:
    ciphertext = engine.load(ours.reading()).as_seal()
    assert b"".join(device_frames(ciphertext, ours.store.key_id, 7, largest=1))
    with pytest.raises(MismatchError, match="different keys"):
        device_frames(ciphertext, theirs.store.key_id, 7, largest=1)
    rounds = plan_rounds([MODEL], PARMS, bound=8, stride=PARMS.slots)
    Session(engine, rounds, ours.store.key_id)
    with pytest.raises(MismatchError, match="different keys"):
        Session(engine, rounds, theirs.store.key_id)


def test_a_device_is_provisioned_with_one_key(ours: House, theirs: House) -> None:
    secret, device_secret = ours.store.secret(), bytes(32)
    with pytest.raises(MismatchError, match="different keys"):
        Provision(PARMS, theirs.store.key_id, device_secret, secret)
    with pytest.raises(MismatchError, match="one set"):
        Provision(SMALL, ours.store.key_id, device_secret, secret)
    blob = parse_blob(to_blob(provision(ours.store, secret=True)), PARMS)
    assert isinstance(blob, Provision)
    assert blob.secret_key is not None
    assert blob.secret_key.key_id == ours.store.key_id


# --- the label ------------------------------------------------------------------------------------


def test_seal_loads_objects_with_their_labels_as_they_are(ours: House, tmp_path: Path) -> None:
    seal = SealOwner(PARMS, tmp_path)
    secret = seal.load(sealapi.SecretKey, (ours.keys / "secret.key").read_bytes())
    seal.decryptor = sealapi.Decryptor(seal.context, secret)
    for seeded in (False, True):
        data = adapt(ours.sensor.symmetric(X, SHAKE256), PARMS, ours.store.key_id, seeded=seeded)
        assert np.abs(seal.decrypt(data)[: len(X)] - X).max() < 1e-3
        saved = seal.save(seal.load(sealapi.Ciphertext, data))
        assert labels.detach(saved)[1] is None
        assert np.abs(decrypt(saved, ours.store.secret(), bare=True)[: len(X)] - X).max() < 1e-3
    for kind, name in (
        (sealapi.GaloisKeys, GALOIS_FILE),
        (sealapi.RelinKeys, RELIN_FILE),
        (sealapi.PublicKey, PUBLIC_FILE),
    ):
        data = ours.store.public_bytes(name)
        assert seal.load(kind, data)
        assert (labels.detach(data)[1] is None) == (name == PUBLIC_FILE)


def test_a_damaged_label_is_refused(ours: House) -> None:
    data = ours.reading()
    seal, label = labels.detach(data)
    assert label is not None
    for at in range(len(seal), len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1
        with pytest.raises(FrameError):
            sb.read_ciphertext(flipped, PARMS)
    with pytest.raises(FrameError, match="of another version than this package reads"):
        labels.detach(data[: len(seal) + 4] + b"\1" + data[len(seal) + 5 : -8])
    for cut in range(len(seal) + 1, len(data)):
        with pytest.raises(FrameError):
            sb.read_ciphertext(data[:cut], PARMS)
    with pytest.raises(FrameError):
        sb.read_ciphertext(data + b"\0", PARMS)


def test_a_label_of_other_bytes_is_refused(ours: House) -> None:
    first, second = ours.reading(), ours.reading()
    assert len(first) == len(second)
    with pytest.raises(FrameError, match="another object's"):
        size = len(labels.detach(first)[0])
        sb.read_ciphertext(first[:size] + second[size:], PARMS)
    seal, label = labels.detach(first)
    assert label is not None
    for wrong in (
        replace(label, kind=labels.Kind.GALOIS_KEYS),
        replace(label, scale=label.scale / 2),
        replace(label, parameters_id=label.parameters_id ^ 1),
        replace(label, kind=labels.Kind.RELIN_KEYS, model_id=1),
    ):
        with pytest.raises(FrameError):
            sb.read_ciphertext(labels.attach(bytes(seal), wrong), PARMS)


# --- noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["n1024_q26", "n4096_q26x3_p27", "n16384_q26x15_p27"])
def test_noise_is_told_from_every_message_within_bounds(name: str) -> None:
    """The closest cases: uniform noise, and slots at the limit of the modulus."""
    parameters = by_name(name)
    primes, n = parameters.data_primes, parameters.n
    modulus = float(np.prod([float(q) for q in primes]))
    random = np.random.default_rng(1)
    secret, core = SecretKey.generate(parameters), core_params(parameters)

    def decrypt_encrypted(coefficients: NDArray[np.float64]) -> None:
        integers = np.array([round(c) for c in coefficients], dtype=object)
        rows = [_core.ntt_forward(core, i, (integers % q).astype(np.uint32)) for i, q in enumerate(primes)]
        s = np.stack([secret.residues(i) for i in range(len(primes))]).astype(np.uint64)
        moduli = np.array(primes, dtype=np.uint64)[:, np.newaxis]
        residues = np.stack([(np.stack(rows) + moduli - s) % moduli, np.ones_like(s)]).astype(np.uint32)
        decrypt(
            sb.write_ciphertext(sb.SealCiphertext(parameters, len(primes), True, 2.0, residues)),
            secret,
            bare=True,
        )

    for _ in range(200 if n == 1024 else 20):
        with pytest.raises(MismatchError):
            decrypt_encrypted(random.uniform(-modulus / 2, modulus / 2, n))
    margin = 1e-9 + 8 * np.sqrt(n) / modulus  # more than rounding to integers does to a slot
    edge = modulus / 4 * (1 - margin)
    for slots in (
        np.full(n // 2, edge),
        random.choice([-edge, edge], n // 2),
        random.uniform(-edge, edge, n // 2),
        np.exp(2j * np.pi * random.uniform(size=n // 2)) * edge,
    ):
        scaled = embedding.encode(slots * (2.0**60 / edge), 1.0, n) / 2.0**60 * edge
        decrypt_encrypted(scaled)
    for part in (1.0, -1.0, 1j, -1j):  # one slot that exceeds the modulus, and all others empty
        scaled = embedding.encode([0.0, part * 2.0**60], 1.0, n) / 2.0**60 * modulus / 4 * (1 + margin)
        with pytest.raises(MismatchError, match="outgrew its modulus"):
            decrypt_encrypted(scaled)


def test_integers_are_exact_down_to_the_last_bit_of_budget() -> None:
    secret = SecretKey.generate(SMALL)
    q, t = SMALL.primes[0], 12289
    message = np.arange(SMALL.n) % t
    scaled = (q * message + t // 2) // t

    def with_noise(noise: int) -> Ciphertext:
        rows = np.zeros((2, 1, SMALL.n), dtype=np.uint32)
        rows[1, 0] = 1  # c1 = 1, so c0 = scaled message + noise - s
        c0 = (scaled + noise * (-1) ** message - secret.coefficients) % q
        rows[0, 0] = c0
        rows[1, 0, 1:] = 0
        ciphertext = sb.SealCiphertext(SMALL, 1, False, 1.0, rows, None, BFV(t))
        return Ciphertext.of_seal(ciphertext)

    limit = q // (4 * t)
    found = decrypt(with_noise(limit - 1), secret, bare=True, places="coefficients", signed=False)
    assert np.array_equal(found, message)
    with pytest.raises(MismatchError, match="noise budget is 0"):
        decrypt(with_noise(limit + 1), secret, bare=True, places="coefficients", signed=False)


@pytest.mark.parametrize("ntt_form", [True, False])
@pytest.mark.parametrize("batch", [True, False])
def test_integers_of_either_form_and_encoding_come_back(ours: House, *, ntt_form: bool, batch: bool) -> None:
    values = np.random.default_rng(5).integers(0, T, PARMS.n).astype(np.uint32)
    data, places = exact(ours, values, ntt_form=ntt_form, batch=batch), "slots" if batch else "coefficients"
    assert np.array_equal(decrypt(data, ours.store.secret(), places=places, signed=False), values)
