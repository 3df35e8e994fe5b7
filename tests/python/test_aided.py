# SPDX-License-Identifier: Apache-2.0
"""Client-aided rounds: the server's session, its plans, and a device and a server alternating."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import link as link_module
import numpy as np
import pytest
from ciphermote.base.errors import EngineError, Error, FrameError, ParameterError
from ciphermote.evaluate.client_aided import Rounds, Session, plan_rounds
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import plan_exact, plan_linear
from ciphermote.evaluate.neural_network import IntegerNetwork, Network, quantise
from ciphermote.evaluate.program import Program
from ciphermote.formats.device_results import ResultTag
from ciphermote.formats.evaluation_keys import galois_keys_for_bfv
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.owner import provisioning as provision
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import Identity, Provision
from ciphermote.parameters import BFV, CKKS, by_name
from demos import client_aided_report as report
from demos.client_aided import infer, read_display
from demos.speakers import aided_model_header
from link import DeviceLink, LinkError, crc32c
from local_devices import ProcessDevice
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
PARMS = by_name("n4096_q26x3_p27")
T, LIMIT, CAP = 40961, 63, 8.0
SHAPE = (10, 12, 7, 5)
SCHEMES = ("bfv", "ckks")
Given = Callable[[str, int], NDArray[np.generic]]
Opened = Callable[[str], Session]


def layer_of(features: int, classes: int, seed: int) -> LinearModel:
    random = np.random.default_rng(seed)
    return LinearModel(random.normal(size=(classes, features)) / 2, random.normal(size=classes))


def inputs_of(count: int) -> NDArray[np.float64]:
    return np.random.default_rng(9).normal(size=(count, SHAPE[0]))


@pytest.fixture(scope="module")
def network() -> Network:
    layers = tuple(layer_of(SHAPE[i], SHAPE[i + 1], i) for i in range(3))
    return Network(layers, CAP).scaled_to(inputs_of(200), 4.0)


@pytest.fixture(scope="module")
def integers(network: Network) -> IntegerNetwork:
    return quantise(network, inputs_of(200), plain_modulus=T, limit=LIMIT)


@pytest.fixture(scope="module")
def rounds(network: Network, integers: IntegerNetwork) -> dict[str, Rounds]:
    return {
        "bfv": plan_rounds(integers.layers, PARMS, bound=LIMIT, scheme=BFV(T)),
        "ckks": plan_rounds(network.layers, PARMS, bound=CAP),
    }


@pytest.fixture(scope="module")
def store(rounds: dict[str, Rounds], tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    steps = {step for one in rounds.values() for step in one.rotation_steps}
    return KeyStore.create(tmp_path_factory.mktemp("keys") / "k", PARMS, galois_steps=steps, relin=False)


@pytest.fixture(scope="module")
def engines(store: KeyStore) -> Iterator[dict[str, Engine]]:
    keys = store.public_bytes(GALOIS_FILE)
    with (
        open_engine(PARMS, galois_keys=galois_keys_for_bfv(keys, PARMS, BFV(T)), scheme=BFV(T)) as bfv,
        open_engine(PARMS, galois_keys=keys) as ckks,
    ):
        yield {"bfv": bfv, "ckks": ckks}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The device's working directory, which its display is in."""
    return tmp_path_factory.mktemp("device")


@pytest.fixture(scope="module")
def device(
    network: Network, integers: IntegerNetwork, rounds: dict[str, Rounds], store: KeyStore, folder: Path
) -> Iterator[DeviceLink]:
    keys = provision.provision(store, secret=True, largest=CAP)
    with built_device(folder, keys, aided_model_header(network, integers, rounds["ckks"])) as link:
        yield link


def built_device(folder: Path, keys: Provision, model: str) -> ProcessDevice:
    (folder / "provisioned_keys.h").write_text(provision.to_c_header(keys))
    (folder / "aided_model.h").write_text(model)
    command = ["make", "-s", "-C", str(ROOT / "ports"), "linux", "AIDED=1"]
    subprocess.run([*command, f"GENERATED={folder}", f"BUILD={folder / 'build'}"], check=True)
    return ProcessDevice(folder / "build" / "linux" / "ciphermote", folder)


@pytest.fixture(scope="module")
def given(network: Network, integers: IntegerNetwork) -> Given:
    """(scheme, count) to so many vectors, as a device takes them."""
    plain: dict[str, Network | IntegerNetwork] = {"bfv": integers, "ckks": network}
    return lambda scheme, count: plain[scheme].inputs(inputs_of(count))


@pytest.fixture(scope="module")
def opened(engines: dict[str, Engine], rounds: dict[str, Rounds], store: KeyStore) -> Opened:
    """A scheme to a new session of the server."""
    return lambda scheme: Session(engines[scheme], rounds[scheme], store.key_id)


@contextmanager
def refused(status: str) -> Iterator[None]:
    """Expect the device to refuse in the block, with this status."""
    with pytest.raises(LinkError) as caught:
        yield
    assert caught.value.status == status


# ---- a device and a server ----


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_class_is_the_plaintext_networks(
    scheme: str,
    device: DeviceLink,
    folder: Path,
    engines: dict[str, Engine],
    rounds: dict[str, Rounds],
    store: KeyStore,
    network: Network,
    integers: IntegerNetwork,
    given: Given,
) -> None:
    count = rounds[scheme].blocks + 3  # a full ciphertext, and one that is not
    plain = integers if scheme == "bfv" else network
    exchanged: list[tuple[int, int]] = []
    classes = infer(
        device,
        folder,
        engines[scheme],
        rounds[scheme],
        store.key_id,
        scheme,
        given(scheme, count),
        lambda sent, returned: exchanged.append((len(sent), len(returned))),
    )
    assert np.array_equal(classes, plain.scores(inputs_of(count)).argmax(axis=1))
    assert len(set(classes)) > 1
    assert len(exchanged) == 2 * 3 and len(set(exchanged)) == 1


def test_rounds_run_over_tagged_frames(
    tmp_path: Path,
    rounds: dict[str, Rounds],
    store: KeyStore,
    network: Network,
    integers: IntegerNetwork,
    given: Given,
    opened: Opened,
) -> None:
    """The device takes no result but the tagged answer to what it sent last; a window that was refused before
    is not mistaken for its rounds."""
    keys = provision.provision(store, secret=True, identity=Identity(7, 2), largest=CAP)
    assert keys.tag_keys is not None
    inputs = given("bfv", 3)

    def result_for(session: Session, sent: bytes, key: bytes) -> bytes:
        device, epoch, _, since, random = struct.unpack_from("<IHHI8s", sent, 44)
        (counter,) = struct.unpack_from("<Q", sent, 20)
        assert (sent[2], device, epoch, since) == (2, 7, 2, 0)
        return session.answer(untagged(sent), ResultTag(key, device, epoch, counter, random))

    with built_device(tmp_path, keys, aided_model_header(network, integers, rounds["ckks"])) as link:
        with refused("CM_ERR_NOT_FINITE"):
            link.encrypt_values(np.full(4, np.nan, np.float32))
        for key, status in ((keys.tag_keys.frames, "CM_ERR_FRAME_TAG"), (None, "CM_ERR_FRAME_VERSION")):
            session = opened("bfv")
            sent = link.aided_begin(inputs, "bfv")
            wrong = result_for(session, sent, key) if key else session.answer(untagged(sent))
            with refused(status):
                link.aided_answer(wrong)
        session = opened("bfv")
        sent = link.aided_begin(inputs, "bfv")
        while sent:
            sent = link.aided_answer(result_for(session, sent, keys.tag_keys.results))
        assert session.round == len(rounds["bfv"].plans)
        windows = link.report().windows
        assert windows is not None and windows.unreceipted is None
    shown = [int(word) for word in (tmp_path / "ciphermote-display").read_text().split()]
    assert shown == list(integers.scores(inputs_of(3)).argmax(axis=1))


def untagged(data: bytes) -> bytes:
    """Frames of version 2 as version 1 has them."""
    plain = b""
    while data:
        end = 64 + struct.unpack_from("<I", data, 40)[0]
        frame = data[:2] + b"\x01" + data[3:44] + data[64:end]
        plain += frame + struct.pack("<I", crc32c(frame))
        data = data[end + 12 :]
    return plain


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_owner_alone_sees_classes(
    scheme: str,
    device: DeviceLink,
    folder: Path,
    given: Given,
    opened: Opened,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the classes, the link carries the same bytes except for counts and ciphertexts."""
    shown, last = [], []
    for vector in (0, 1, 2):
        session = opened(scheme)
        frames = device.aided_begin(given(scheme, 3)[vector : vector + 1], scheme)
        with pytest.raises(Error, match="display"):
            read_display(folder / "another")
        assert read_display(folder) == [], "what the session before showed is gone"
        for _ in range(2):
            frames = device.aided_answer(session.answer(frames))
        result = session.answer(frames)
        read, received = os.read, bytearray()

        def tapped(descriptor: int, count: int, read=read, received=received) -> bytes:
            received.extend(chunk := read(descriptor, count))
            return chunk

        with monkeypatch.context() as patched:
            patched.setattr(link_module.os, "read", tapped)
            assert device.aided_answer(result) == b""
        shown.append(read_display(folder))
        # For a magic, a version, a kind, the request's number, a length, 16 bytes and a CRC, all but two.
        record = struct.Struct("<4sBBHI16sI")
        assert len(received) % record.size == 0
        last.append([(*fields[:3], *fields[4:6]) for fields in record.iter_unpack(received)])
        assert {fields[2] for fields in last[-1]} == {3}, "nothing but the ends of answers"
    assert len({tuple(classes) for classes in shown}) > 1
    assert last[0] == last[1] == last[2]


def test_stale_and_foreign_results_end_a_devices_session_and_the_next_one_works(
    device: DeviceLink,
    folder: Path,
    engines: dict[str, Engine],
    rounds: dict[str, Rounds],
    store: KeyStore,
    given: Given,
    opened: Opened,
) -> None:
    vectors = given("bfv", 2)

    def begun() -> bytes:
        return opened("bfv").answer(device.aided_begin(vectors, "bfv"))

    first = begun()
    device.aided_answer(first)
    with refused("CM_ERR_FRAME_ORDER"):
        device.aided_answer(first)
    with refused("CM_ERR_FRAME_FIELD"):  # the session is over
        device.aided_answer(first)
    begun()
    with refused("CM_ERR_FRAME_FOREIGN"):  # it is another session's
        device.aided_answer(first)
    result = begun()
    with refused("CM_ERR_FRAME_SHORT"):
        device.aided_answer(result[:-1])
    begun()
    with refused("CM_ERR_FRAME_FIELD"):  # the arena holds a decryption
        device.encrypt_values(np.ones(4, dtype=np.float32))
    assert infer(device, folder, engines["bfv"], rounds["bfv"], store.key_id, "bfv", vectors).shape == (2,)


def test_a_device_takes_whole_vectors_that_fit(
    device: DeviceLink, rounds: dict[str, Rounds], given: Given
) -> None:
    for scheme in SCHEMES:
        vectors = given(scheme, rounds[scheme].blocks + 1)
        with refused("CM_ERR_TOO_MANY"):
            device.aided_begin(vectors, scheme)
        with refused("CM_ERR_FRAME_FIELD"):
            device.aided_begin(vectors[:1, :-1], scheme)
    with pytest.raises(LinkError, match="type int16"):
        device.aided_begin(np.ones((1, SHAPE[0])), "bfv")
    with pytest.raises(LinkError, match="bfv, ckks"):
        device.aided_begin(np.ones((1, SHAPE[0])), "bgv")


# ---- the server's session ----


def test_a_session_answers_fresh_ciphertexts_of_its_kind_and_no_more_than_agreed(
    device: DeviceLink,
    engines: dict[str, Engine],
    rounds: dict[str, Rounds],
    store: KeyStore,
    given: Given,
    opened: Opened,
) -> None:
    session = opened("bfv")
    frames = [device.aided_begin(given("bfv", 1), "bfv")]
    with pytest.raises(FrameError):
        session.answer(frames[0][:-1])
    with pytest.raises(FrameError):
        session.answer(b"")
    for expected in (1, 2, 3):
        result = session.answer(frames[-1])
        assert session.round == expected
        if expected < 3:
            frames.append(device.aided_answer(result))
            with pytest.raises(FrameError, match="not newer"):
                session.answer(frames[0])
    with pytest.raises(EngineError, match="All 3 rounds"):
        session.answer(frames[-1])
    device.aided_answer(result)
    with pytest.raises(FrameError):
        opened("ckks").answer(frames[0])
    with pytest.raises(FrameError):
        Session(engines["bfv"], rounds["bfv"], store.key_id + 1).answer(frames[0])
    with pytest.raises(EngineError, match="another scheme"):
        Session(engines["ckks"], rounds["bfv"], store.key_id)
    with pytest.raises(ParameterError, match="2\\^5 tiles"):
        Session(engines["bfv"], rounds["bfv"], store.key_id, log2_tiles=5)
    with pytest.raises(ParameterError, match="key id -1"):
        Session(engines["bfv"], rounds["bfv"], -1)


def test_an_engine_of_bfv_refuses_a_plan_of_ckks(
    device: DeviceLink,
    engines: dict[str, Engine],
    rounds: dict[str, Rounds],
    given: Given,
    store: KeyStore,
) -> None:
    wrong = Rounds(PARMS, rounds["ckks"].plans, BFV(T), 0, rounds["ckks"].stride)
    frames = device.aided_begin(given("bfv", 1), "bfv")
    with pytest.raises(EngineError, match="rescales"):
        Session(engines["bfv"], wrong, store.key_id).answer(frames)
    with pytest.raises(LinkError):
        device.aided_answer(b"nothing that is a frame, and long enough to be told from one")


# ---- plans ----


def run_exactly(program: Program, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """A BFV program on plain slots: rotations within each row."""
    registers = {0: slots}
    for step in program.steps:
        value = registers[step.source]
        if step.operation == "multiply_plain":
            value = value * program.constants[step.argument].values.astype(np.int64)
        elif step.operation == "add_plain":
            value = value + program.constants[step.argument].values.astype(np.int64)
        elif step.operation == "add":
            value = value + registers[step.argument]
        elif step.operation == "rotate":
            value = np.roll(value.reshape(2, -1), -step.argument, axis=1).reshape(-1)
        else:
            assert step.operation == "keep_primes"
        registers[step.target] = value
    return value


@pytest.mark.parametrize(("features", "classes"), [(1, 1), (5, 3), (24, 32), (32, 32), (16, 9)])
def test_blocks_hold_a_vectors_scores_each_and_none_of_their_neighbours(features: int, classes: int) -> None:
    random = np.random.default_rng(features)
    model = LinearModel(random.integers(-9, 10, (classes, features)), random.integers(-9, 10, classes))
    rounds = plan_rounds([model], PARMS, bound=9, scheme=BFV(T), stride=64)
    vectors = random.integers(-9, 10, (rounds.blocks, features))
    slots = run_exactly(rounds.plans[0].program, rounds.packed(vectors).astype(np.int64))
    assert np.array_equal(slots.reshape(-1, 64)[:, :classes], model.scores(vectors))


def test_what_does_not_fit_is_refused() -> None:
    model = LinearModel(np.ones((4, 8)), np.zeros(4))
    with pytest.raises(ParameterError, match="power of two from 12"):
        plan_linear(model, PARMS, 2.0**25, feature_bound=16, stride=8)
    with pytest.raises(ParameterError, match="power of two from 12"):
        plan_exact(model, PARMS, T, feature_bound=9, stride=24)
    with pytest.raises(ParameterError, match="Scores reach 20488"):
        plan_exact(model, PARMS, T, feature_bound=2561)
    assert plan_exact(model, PARMS, T, feature_bound=2560).max_score == 20480
    with pytest.raises(ParameterError, match="not all integers"):
        plan_exact(LinearModel(np.full((1, 1), 0.5), np.zeros(1)), PARMS, T, feature_bound=1)
    with pytest.raises(ParameterError, match="no room for noise"):
        plan_exact(model, PARMS, 147457, feature_bound=1)
    for t in (65536, 12289, 1 << 40):
        with pytest.raises(ParameterError, match="1 modulo 8192"):
            plan_exact(model, PARMS, t, feature_bound=1)
    with pytest.raises(ParameterError, match="results of 4 primes"):
        plan_exact(model, PARMS, T, feature_bound=1, result_primes=4)
    with pytest.raises(ParameterError, match="gives 4 values and the next takes 8"):
        plan_rounds([model, model], PARMS, bound=1)
    with pytest.raises(ParameterError, match="without layers"):
        plan_rounds([], PARMS, bound=1)
    for bound in (float("nan"), float("inf"), 0.0):
        for scheme in (CKKS, BFV(T)):
            with pytest.raises(ParameterError, match="not a positive number"):
                plan_rounds([model], PARMS, bound=bound, scheme=scheme)
    with pytest.raises(ParameterError, match="2\\^2000 is not within"):
        plan_rounds([model], PARMS, bound=1, log2_scale=2000)
    rounds = plan_rounds([model], PARMS, bound=1)
    for wrong in (np.ones(8), np.ones((1, 7)), np.ones((rounds.blocks + 1, 8))):
        with pytest.raises(ParameterError, match="up to 128 vectors of 8"):
            rounds.packed(wrong)


# ---- networks ----


def test_no_input_whatever_makes_a_quantised_layer_wrap(network: Network, integers: IntegerNetwork) -> None:
    assert all(layer.score_bound(LIMIT) <= (T - 1) // 2 for layer in integers.layers)
    extreme = np.where(np.random.default_rng(1).random((50, SHAPE[0])) < 0.5, -1e9, 1e9)
    assert np.abs(integers.inputs(extreme)).max() == LIMIT
    assert np.abs(integers.scores(extreme)).max() <= (T - 1) // 2


def test_scaling_leaves_the_function_and_quantising_most_classes(
    network: Network, integers: IntegerNetwork
) -> None:
    x = inputs_of(200)
    plain = Network(tuple(layer_of(SHAPE[i], SHAPE[i + 1], i) for i in range(3)), 1e6)
    assert np.allclose(network.scores(x), plain.scores(x))
    assert network.hidden(x)[0].max() == pytest.approx(4.0)
    same = integers.scores(x).argmax(axis=1) == network.scores(x).argmax(axis=1)
    assert same.mean() > 0.9


def test_networks_that_are_none_are_refused(network: Network, integers: IntegerNetwork) -> None:
    with pytest.raises(ParameterError, match="cap"):
        Network(network.layers, 0.0)
    with pytest.raises(ParameterError, match="gives 12 values"):
        Network((network.layers[0], network.layers[2]), CAP)
    with pytest.raises(ParameterError, match="multiplier for each"):
        IntegerNetwork(integers.layers, LIMIT, 1.0, (1,), T)
    with pytest.raises(ParameterError, match="Multipliers"):
        IntegerNetwork(integers.layers, LIMIT, 1.0, (1, 1 << 17), T)
    with pytest.raises(ParameterError, match="vanishes"):
        quantise(network, inputs_of(200), plain_modulus=97, limit=LIMIT)
    dead = LinearModel(np.zeros((2, 2)), -np.ones(2))
    with pytest.raises(ParameterError, match="passes nothing on"):
        Network((dead, dead), CAP).scaled_to(np.ones((1, 2)), 1.0)
    with pytest.raises(ParameterError, match="passes nothing on"):
        network.scaled_to(np.ones((0, SHAPE[0])), 1.0)
    with pytest.raises(ParameterError, match="no weights but zeros"):
        quantise(Network((dead, dead), CAP), np.ones((1, 2)), plain_modulus=T, limit=LIMIT)


def test_what_nothing_can_be_quantised_by_is_refused(network: Network, integers: IntegerNetwork) -> None:
    x = inputs_of(20)
    for modulus in (0, -7, 2):
        with pytest.raises(ParameterError, match="not an integer from 3 on"):
            quantise(network, x, plain_modulus=modulus, limit=LIMIT)
    for limit in (0, -1, 1 << 15):
        with pytest.raises(ParameterError, match="from 1 to 32767"):
            quantise(network, x, plain_modulus=T, limit=limit)
    with pytest.raises(ParameterError, match="from 1 to 32767"):
        IntegerNetwork(integers.layers, 40000, 1.0, integers.multipliers, T)
    for none in (np.zeros((3, SHAPE[0])), np.zeros((0, SHAPE[0])), np.full((3, SHAPE[0]), np.nan)):
        with pytest.raises(ParameterError, match="empty, all zero or not finite"):
            quantise(network, none, plain_modulus=T, limit=LIMIT)


def test_cycles_that_were_not_counted_are_no_figure(tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    with pytest.raises(Error, match="left no counts"):
        report.cycles_a_round(counts, 1)
    counts.write_text("region,cycles\n0,10\n1,20\n")
    with pytest.raises(Error, match="counted nothing"):
        report.cycles_a_round(counts, 1)
    counts.write_text("region,cycles\n0,10\n0,30\n1,20\n2,8\n-1,900\n")
    assert report.cycles_a_round(counts, 2) == {"encrypt": 20, "decrypt": 10, "between": 4}
