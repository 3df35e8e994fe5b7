# SPDX-License-Identifier: Apache-2.0
"""The engines: correct scores, no secret key in its processes, failures reported and cleaned up."""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import Owner, Sum, compute
from ciphermote.base.errors import EngineError, Error, FrameError, ParameterError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate import seal as seal_engine
from ciphermote.evaluate.engine import Engine, open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.evaluate.program import Constant, Program, Step
from ciphermote.evaluate.seal import SealEngine
from ciphermote.formats import seal as seal_bytes
from ciphermote.owner import encryption
from ciphermote.parameters import by_name, generate
from numpy.typing import NDArray
from seal_owner import SCALE, SealOwner

PARMS = by_name("n4096_q26x3_p27")
FEATURES, CLASSES = 1800, 4


def windows(count: int) -> NDArray[np.float64]:
    return np.random.default_rng(7).normal(size=(count, FEATURES))


def alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def model() -> LinearModel:
    random = np.random.default_rng(5)
    return LinearModel(
        random.normal(size=(CLASSES, FEATURES)) / np.sqrt(FEATURES), random.normal(size=CLASSES)
    )


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> SealOwner:
    return SealOwner(PARMS, tmp_path_factory.mktemp("seal"))


@pytest.fixture(scope="module")
def galois_keys(owner: SealOwner, model: LinearModel) -> bytes:
    return owner.galois_keys(plan_linear(model, PARMS, SCALE, feature_bound=16).rotation_steps)


@pytest.fixture(scope="module", params=["seal", "native"])
def engine(owner: SealOwner, galois_keys: bytes, request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(
        PARMS,
        galois_keys=galois_keys,
        relin_keys=owner.relin_keys(),
        bare=True,
        workers=2,
        name=request.param,
    ) as opened:
        yield opened


def test_encrypted_scores_equal_the_plain_ones(owner: SealOwner, engine: Engine, model: LinearModel) -> None:
    plan = plan_linear(model, PARMS, SCALE, feature_bound=16)
    for x, encrypt in zip(windows(4), (owner.encrypt, owner.encrypt_public) * 2, strict=True):
        result = engine.linear(encrypt(x), model, feature_bound=16)
        slots = owner.decrypt(result.to_seal())
        assert np.abs(plan.scores(slots) - model.scores(x)).max() < 1e-3
        assert np.abs(slots.reshape(-1, CLASSES) - model.scores(x)).max() < 1e-3
        read = seal_bytes.read_ciphertext(result.to_seal(), PARMS)
        assert (read.primes, read.scale) == (plan.result_primes, pytest.approx(plan.result_scale))


def test_results_are_of_the_version_that_loads_everywhere(
    owner: SealOwner, engine: Engine, model: LinearModel
) -> None:
    assert engine.linear(owner.encrypt([1.0]), model, feature_bound=16).to_seal()[3:6] == bytes([3, 6, 0])


def test_many_keep_their_order_report_progress_and_a_bad_one_spoils_no_other(
    owner: SealOwner, engine: Engine, model: LinearModel
) -> None:
    data = windows(7)
    ciphertexts: list[bytes] = [owner.encrypt(x) for x in data]
    ciphertexts[3] = ciphertexts[3][:-1]
    seen: list[tuple[int, int]] = []
    results = engine.linear_all(
        ciphertexts, model, lambda done, total: seen.append((done, total)), feature_bound=16
    )
    assert seen == [(done, 7) for done in range(1, 8)]
    assert isinstance(results[3], FrameError)
    for place, result in enumerate(results):
        if place != 3:
            assert isinstance(result, Ciphertext)
            assert np.abs(owner.decrypt(result.to_seal())[:CLASSES] - model.scores(data[place])).max() < 1e-3


def test_another_level_and_scale_is_planned_for(owner: SealOwner, engine: Engine, model: LinearModel) -> None:
    x = windows(1)[0]
    for scale in (2.0**22, 2.0**30):
        scores = engine.linear(owner.encrypt(x, scale), model, feature_bound=16).to_seal()
        assert np.abs(owner.decrypt(scores)[:CLASSES] - model.scores(x)).max() < 1e-3


def test_two_data_primes_are_enough_for_scores(tmp_path: Path, model: LinearModel) -> None:
    parms = generate(4096, [26, 26, 27])
    owner = SealOwner(parms, tmp_path)
    plan = plan_linear(model, parms, SCALE, feature_bound=16)
    with open_engine(parms, galois_keys=owner.galois_keys(plan.rotation_steps), bare=True) as engine:
        x = windows(1)[0]
        result = engine.linear(owner.encrypt(x), model, feature_bound=16)
    assert np.abs(plan.scores(owner.decrypt(result.to_seal())) - model.scores(x)).max() < 2e-2


def test_diagonals_that_vanish_are_zeros_and_a_model_that_vanishes_is_refused(
    owner: SealOwner, engine: Engine
) -> None:
    weights = np.zeros((CLASSES, FEATURES))
    weights[0, 0] = 2.0
    sparse = LinearModel(weights, np.array([0.0, 1.0, 2.0, 3.0]))
    scores = owner.decrypt(engine.linear(owner.encrypt([1.5]), sparse, feature_bound=16).to_seal())[:CLASSES]
    assert np.abs(scores - [3.0, 1.0, 2.0, 3.0]).max() < 1e-3
    with pytest.raises(EngineError, match="every weight vanishes"):
        engine.linear(owner.encrypt([1.5]), LinearModel(weights * 0, np.ones(CLASSES)), feature_bound=16)


def test_sums_are_right_and_want_one_scale(owner: SealOwner, engine: Engine) -> None:
    data = windows(35)
    total = engine.sum(owner.encrypt(x) for x in data)
    assert np.abs(owner.decrypt(total.to_seal())[:FEATURES] - data.sum(axis=0)).max() < 1e-3
    with pytest.raises(EngineError, match="Ciphertext 2 of the sum: The ciphertext has scale"):
        engine.sum([owner.encrypt([1.0]), owner.encrypt([1.0], 2.0**24)])
    with pytest.raises(FrameError):
        engine.sum([*(owner.encrypt([1.0]) for _ in range(17)), b"not a ciphertext"])
    with pytest.raises(EngineError, match="at least one"):
        engine.sum([])
    again = engine.sum([owner.encrypt([1.0])])
    assert abs(owner.decrypt(again.to_seal())[0] - 1.0) < 1e-3, "a failed sum leaves nothing behind"


def test_a_sum_by_seal_keeps_no_more_than_a_message_and_names_what_is_damaged() -> None:
    held = Owner.generate(PARMS, relin=False)
    frames = encryption.encrypt([1.0, -2.0], held.secret_key).to_frames()
    alive = most = 0

    class Counted(bytes):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def stream(count: int, damaged: int = -1) -> Iterator[bytes]:
        nonlocal alive, most
        for place in range(count):
            alive += 1
            most = max(most, alive)
            yield Counted(frames[:-1] + bytes([frames[-1] ^ 1]) if place == damaged else frames)

    total = compute(Sum(), stream(70), engine="seal")
    assert np.abs(held.decrypt(total)[:2] - [70, -140]).max() < 1e-2
    assert most < 5
    for place in (0, 1, 20):
        with pytest.raises(FrameError, match=f"^Ciphertext {place + 1} of the sum: "):
            compute(Sum(), stream(30, place), engine="seal")


def test_products_of_ciphertexts_are_relinearized(owner: SealOwner, engine: Engine) -> None:
    half = Constant(np.full(PARMS.slots, 0.5), SCALE)
    program = Program(
        (
            Step("multiply", 1, 0, 0),
            Step("rescale", 1, 1),
            Step("multiply_plain", 1, 1, 0),
            Step("add", 1, 1, 1),
        ),
        (half,),
    )
    result = engine.evaluate(program, owner.encrypt([1.5, -2.0]))
    assert np.abs(owner.decrypt(result.to_seal())[:2] - [2.25, 4.0]).max() < 1e-2


def test_the_worker_is_sent_evaluation_keys_ciphertexts_and_weights_and_no_secret_key(
    owner: SealOwner, model: LinearModel, galois_keys: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    real_send = seal_engine._Worker._send

    def recording_send(self: Any, fields: dict[str, Any], blobs: list[bytes]) -> None:
        sent.append((fields, blobs))
        real_send(self, fields, blobs)

    monkeypatch.setattr(seal_engine._Worker, "_send", recording_send)
    ciphertext = owner.encrypt(windows(1)[0])
    with open_engine(PARMS, galois_keys=galois_keys, bare=True, name="seal") as engine:
        engine.linear(ciphertext, model, feature_bound=16)
        engine.sum([ciphertext])
    assert [fields["request"] for fields, _ in sent] == ["open", "program", "evaluate", "accumulate", "total"]
    again = Ciphertext.from_seal(ciphertext, PARMS).to_seal()
    assert sent[0][1] == [galois_keys] and sent[2][1] == sent[3][1] == [again] and sent[4][1] == []
    assert all(len(blob) == 8 * PARMS.slots for blob in sent[1][1])

    secret = seal_bytes.read_secret_key(owner.save(owner.secret_key), PARMS)
    pieces = [row[:4].astype(word).tobytes() for row in secret.residues for word in ("<u4", "<u8")]
    plain = [seal_bytes.write_galois_keys(seal_bytes.read_galois_keys(galois_keys, PARMS))]
    everything = [*plain, *(blob for _, blobs in sent for blob in blobs)]
    assert not any(piece in blob for piece in pieces for blob in everything)


def test_a_secret_key_in_place_of_evaluation_keys_is_refused(owner: SealOwner) -> None:
    secret = owner.save(owner.secret_key)
    with pytest.raises(FrameError):
        open_engine(PARMS, galois_keys=secret)
    with pytest.raises(FrameError):
        open_engine(PARMS, relin_keys=secret)


def test_the_worker_imports_nothing_that_knows_secret_keys() -> None:
    source = Path(seal_engine.__file__).with_name("seal_worker.py").read_text(encoding="utf-8")
    assert "import ciphermote" not in source and "from ciphermote" not in source


def test_missing_evaluation_keys_are_named(owner: SealOwner, model: LinearModel) -> None:
    with open_engine(PARMS, galois_keys=owner.galois_keys([1, 4]), bare=True) as engine:
        with pytest.raises(EngineError, match=r"rotations 8, 16, .* 1024.*--model MODEL"):
            engine.linear(owner.encrypt([1.0]), model, feature_bound=16)
        steps = Step("rotate", 1, 0, 5), Step("rotate", 1, 1, -7)
        with pytest.raises(EngineError, match=r"--rotations=-7,5`.*Owner.extend\(rotations=\[-7, 5\]\)"):
            engine.evaluate(Program(steps, ()), owner.encrypt([1.0]))
        with pytest.raises(EngineError, match="relinearization keys"):
            engine.evaluate(Program((Step("multiply", 1, 0, 0),), ()), owner.encrypt([1.0]))


def test_hostile_ciphertexts_never_reach_the_worker(
    owner: SealOwner, engine: Engine, model: LinearModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = seal_bytes.write_ciphertext(seal_bytes.read_ciphertext(owner.encrypt_public([1.0]), PARMS))
    monkeypatch.setattr(seal_engine._Worker, "_send", lambda *_: pytest.fail("bytes went out unchecked"))
    zero_second_half = good[: 105 + 3 * 4096 * 8] + bytes(3 * 4096 * 8)
    other_set = SealOwner(generate(4096, [26, 25, 26, 27]), Path(owner.path).parent).encrypt([1.0])
    for bad in (b"", good[:-1], good + b"\0", zero_second_half, other_set):
        for call in (
            lambda data: engine.linear(data, model, feature_bound=16),
            lambda data: engine.sum([data]),
        ):
            with pytest.raises(Error):
                call(bad)


@pytest.mark.parametrize("engine", ["seal"], indirect=True)
def test_what_seal_refuses_comes_back_as_a_sentence_and_the_worker_lives_on(
    owner: SealOwner, engine: Engine
) -> None:
    too_deep = Program(tuple(Step("rescale", 0, 0) for _ in range(3)), ())
    with pytest.raises(EngineError, match="SEAL refused"):
        engine.evaluate(too_deep, owner.encrypt([1.0]))
    assert abs(owner.decrypt(engine.sum([owner.encrypt([1.0])]).to_seal())[0] - 1.0) < 1e-3


def test_a_dead_worker_is_reported_and_the_other_goes_on(
    owner: SealOwner, model: LinearModel, galois_keys: bytes
) -> None:
    x = windows(1)[0]
    ciphertext = owner.encrypt(x)
    with SealEngine(PARMS, galois_keys=galois_keys, bare=True, workers=2) as engine:
        assert isinstance(engine, SealEngine)
        os.kill(engine.process_ids[0], signal.SIGKILL)
        os.waitid(os.P_PID, engine.process_ids[0], os.WEXITED | os.WNOWAIT)  # the engine reaps it
        for _ in range(3):
            assert (
                np.abs(
                    owner.decrypt(engine.linear(ciphertext, model, feature_bound=16).to_seal())[:CLASSES]
                    - model.scores(x)
                ).max()
                < 1e-3
            )
        os.kill(engine.process_ids[1], signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(EngineError, match="ended by signal SIGKILL"):
                engine.linear(ciphertext, model, feature_bound=16)


def test_close_ends_the_processes(owner: SealOwner, galois_keys: bytes) -> None:
    engine = SealEngine(PARMS, galois_keys=galois_keys, bare=True, workers=2)
    engine.sum([owner.encrypt([1.0])])
    processes = engine.process_ids
    engine.close()
    engine.close()
    assert not any(alive(process) for process in processes)
    with pytest.raises(EngineError, match="closed"):
        engine.sum([owner.encrypt([1.0])])


# --- confinement ----------------------------------------------------------------------------------

TAKEN_OVER = '''
"""A sealapi that strangers' bytes have taken over: loading a ciphertext tries what harm it can."""
import os, signal, socket, subprocess
from types import SimpleNamespace

class Anything:
    def __init__(self, *_): pass
    def __getattr__(self, _): return lambda *_: True

EncryptionParameters = Modulus = SEALContext = Evaluator = CKKSEncoder = Anything
SCHEME_TYPE = SEC_LEVEL_TYPE = SimpleNamespace(CKKS=1, TC128=1)

def connect():
    socket.create_connection(("127.0.0.1", PORT))

def listen():
    socket.socket().bind(("127.0.0.1", 0))

HARM = {
    "read": lambda: open(SECRET).read(),
    "write": lambda: open(SECRET, "a"),
    "truncate": lambda: os.truncate(SECRET, 0),
    "make": lambda: open(SECRET + ".new", "x"),
    "remove": lambda: os.unlink(SECRET),
    "list": lambda: os.listdir(os.path.dirname(SECRET)),
    "execute": lambda: subprocess.run(["/bin/true"]),
    "connect": connect,
    "listen": listen,
    "signal": lambda: os.kill(os.getppid(), 0),
    "trace": lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    "environment": lambda: {}["PASSWORD" if "PASSWORD" in os.environ else 0],
}

class Ciphertext:
    def load(self, context, path):
        done = []
        for name, harm in HARM.items():
            try:
                harm()
                done.append(name)
            except (PermissionError, KeyError):
                pass
        raise RuntimeError("done: " + " ".join(done))
'''


def harm_done(monkeypatch: pytest.MonkeyPatch, folder: Path, ciphertext: bytes) -> tuple[set[str], frozenset]:
    """Try what a compromised SEAL could do, and return it with what the engine claims it cannot reach."""
    secret = folder / "secret.key"
    secret.write_text("secret")
    (folder / "tenseal").mkdir()
    (folder / "tenseal/__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PASSWORD", "secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = f"SECRET, PORT = {str(secret)!r}, {server.getsockname()[1]}\n"
        (folder / "tenseal/sealapi.py").write_text(TAKEN_OVER + names)
        with SealEngine(PARMS, bare=True) as engine:
            with pytest.raises(EngineError, match="SEAL refused the request: done:") as caught:
                engine.sum([ciphertext])
            return set(str(caught.value).rstrip(".").partition("done:")[2].split()), engine.confined


def test_a_seal_that_was_taken_over_reaches_nothing(
    owner: SealOwner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done, confined = harm_done(monkeypatch, tmp_path, owner.encrypt([1.0]))
    may = {"signal"} if "processes" not in confined else set()
    may |= {"truncate"} if "truncation" not in confined else set()
    may |= {"connect", "listen"} if "tcp" not in confined else set()
    if "files" not in confined:
        pytest.skip("this kernel has no Landlock, and the engine says that nothing confines its processes")
    assert done <= may
    assert (tmp_path / "secret.key").read_text() == "secret"


def test_an_engine_says_so_when_nothing_confines_it(
    owner: SealOwner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second thread would stay unconfined: such a worker claims no confinement."""
    second = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    (tmp_path / "sitecustomize.py").write_text(second)
    done, confined = harm_done(monkeypatch, tmp_path, owner.encrypt([1.0]))
    assert not confined
    harm = {"read", "write", "truncate", "make", "remove", "list", "execute", "connect", "listen", "signal"}
    assert done - {"trace"} == harm  # who may trace whom depends on the system


@pytest.mark.parametrize("engine", ["seal"], indirect=True)
def test_a_worker_gains_no_rights_and_dumps_no_core(engine: Engine) -> None:
    assert isinstance(engine, SealEngine)
    for process in engine.process_ids:
        status = Path(f"/proc/{process}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        assert "Threads:\t1" in status
        assert resource.prlimit(process, resource.RLIMIT_CORE) == (0, 0)


def reply_of(head: bytes, blobs: bytes = b"", claimed: int | None = None) -> bytes:
    return struct.pack("<I", len(head) if claimed is None else claimed) + head + blobs


@pytest.mark.parametrize(
    "answer",
    [
        reply_of(b"", claimed=2**32 - 1),
        reply_of(b"not json"),
        reply_of(b"[" * 60000),
        reply_of(b"[]"),
        reply_of(b"{}"),
        reply_of(b'{"blobs": [-1]}'),
        reply_of(b'{"blobs": [1e3]}'),
        reply_of(b'{"blobs": [true]}'),
        reply_of(b'{"blobs": {"a": 1}}'),
        reply_of(b'{"blobs": [4611686018427387904]}'),
        reply_of(b'{"blobs": [300000, 300000]}'),
    ],
    ids=range(11),
)
def test_what_is_no_reply_is_not_read_and_ends_the_worker(
    owner: SealOwner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: bytes
) -> None:
    impostor = tmp_path / "impostor.py"
    confined = reply_of(b'{"confined": [], "blobs": []}')
    opened = reply_of(b'{"blobs": []}')
    impostor.write_text(
        f"import sys, time; sys.stdout.buffer.write({confined + opened + answer!r}); sys.stdout.flush(); "
        "sys.stdin.buffer.read()"
    )
    monkeypatch.setattr(seal_engine, "_WORKER", impostor)
    with SealEngine(PARMS, bare=True) as engine:
        with pytest.raises(EngineError, match="sent what is not a reply"):
            engine.sum([owner.encrypt([1.0])])
        with pytest.raises(EngineError, match="ended by signal SIGKILL"):
            engine.sum([owner.encrypt([1.0])])


@pytest.mark.parametrize(
    "first", [b'{"blobs": []}', b'{"confined": 1, "blobs": []}'], ids=["missing", "a number"]
)
def test_a_worker_that_does_not_say_what_confines_it_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: bytes
) -> None:
    impostor = tmp_path / "impostor.py"
    impostor.write_text(f"import sys; sys.stdout.buffer.write({reply_of(first)!r})")
    monkeypatch.setattr(seal_engine, "_WORKER", impostor)
    with pytest.raises(EngineError, match="sent what is not a reply"):
        SealEngine(PARMS)


def test_wrong_requests_are_sentences(owner: SealOwner, engine: Engine) -> None:
    with pytest.raises(EngineError, match="no engine 'abacus'"):
        open_engine(PARMS, name="abacus")
    with pytest.raises(ParameterError, match=r"workers .* is 0"):
        open_engine(PARMS, workers=0)
    with pytest.raises(ParameterError, match="scale"):
        engine.linear(owner.encrypt([1.0], 4.0), LinearModel(np.ones((2, 2)), np.zeros(2)), feature_bound=16)
