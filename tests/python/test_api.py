# SPDX-License-Identifier: Apache-2.0
"""The package's own names: values in, bytes in between, values out, for an owner, a sender and a server."""

from __future__ import annotations

import contextlib
import doctest
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ciphermote
import ciphermote.evaluate.evaluator
import numpy as np
import pytest
from ciphermote import (
    EvaluationKeys,
    LinearModel,
    MismatchError,
    Owner,
    ParameterError,
    PublicKey,
    Sum,
    ValueRangeError,
    WeightedSum,
    compute,
    decrypt,
    encrypt,
)
from ciphermote.base.errors import EngineError, Error, FrameError, KeyFileError
from ciphermote.ciphertext import Ciphertext
from ciphermote.evaluate.program import Program, Step
from ciphermote.formats.declaration import split
from ciphermote.formats.frames import parse_frame, read_sets
from ciphermote.formats.key_directory import GALOIS_FILE, MANIFEST_FILE
from ciphermote.owner import key_store
from ciphermote.owner.key_store import SECRET_FILE, KeyStore
from ciphermote.parameters import BFV, BUILTIN, CKKS, ParameterSet, by_name
from ciphermote.parameters.adviser import predicted_fresh_rms

T = 40961
REALS = np.array([21.4, -27.0, 0.015625, 59.9])
INTEGERS = np.array([21, -27, 0, 59])
MODEL = LinearModel(np.array([[0.5, -1.25, 2.0, 0.0], [1.0, 0.0, -0.75, 0.5]]), np.array([0.25, -0.5]))
COUNTS = LinearModel(np.array([[1, 2, 3, 0], [-1, 0, 2, 4]]), np.array([10, -10]))


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner.generate(model=MODEL)


def key_of(owner: Owner, kind: str) -> Any:
    return owner.secret_key if kind == "secret" else owner.public_key


both_keys = pytest.mark.parametrize("kind", ["secret", "public"])

# --- the names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [ciphermote, compute, ciphermote.evaluate.evaluator])
def test_the_examples_of_the_help_run(shown: Any) -> None:
    (found,) = doctest.DocTestFinder(recurse=False).find(shown, globs={"ciphermote": ciphermote})
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0


def test_the_help_has_a_line_for_every_public_name() -> None:
    assert ciphermote.__doc__ is not None
    words = set(re.findall(r"\w+", ciphermote.__doc__))
    assert set(ciphermote.__all__) - {"__version__"} <= words


def test_every_name_that_the_package_states_is_there_and_importing_it_loads_nothing() -> None:
    for name in ciphermote.__all__:
        assert getattr(ciphermote, name) is not None
    with pytest.raises(AttributeError, match="encrpyt"):
        ciphermote.encrpyt  # type: ignore[attr-defined]  # noqa: B018
    code = "import sys, ciphermote; print([m for m in sys.modules if m.startswith(('ciphermote.', 'numpy'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def printed(code: str) -> str:
    """Run code in a fresh process, and return its output."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_modules_are_there_once_the_package_is_imported() -> None:
    assert ciphermote.__doc__ is not None
    named = set(re.findall(r"ciphermote\.([a-z_]+)", ciphermote.__doc__)) - {"encrypt", "compute"}
    assert {"parameters"} <= named
    found = {module.name for module in pkgutil.iter_modules(ciphermote.__path__)}
    assert named <= found
    for name in sorted(named | {"base", "fleet", "gateway", "formats", "evaluate"}):
        assert printed(f"import ciphermote; print(ciphermote.{name}.__name__)") == f"ciphermote.{name}\n"


def test_parameters_and_adviser_do_without_the_compiled_extension() -> None:
    code = "import sys, ciphermote.parameters.adviser; print(*sys.modules)"
    loaded = printed(code).split()
    assert "ciphermote.parameters.adviser" in loaded
    assert not {"ciphermote._core", "ciphermote._owner", "ciphermote._evaluator", "tenseal"} & set(loaded)


# --- encrypt and decrypt --------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda p: p.name)
@both_keys
def test_values_come_back_in_every_set_with_nothing_said(parameters: ParameterSet, kind: str) -> None:
    """Room for a thousand readings of 100 leaves nothing of one under the smallest public keys."""
    own = Owner.generate(parameters, relin=False)
    frames = encrypt(REALS, key_of(own, kind))
    key: Any = {"secret": "symmetric", "public": "asymmetric"}[kind]
    if parameters.n < 4096 and kind == "public":
        with pytest.raises(ValueRangeError, match="leaves nothing of them"):
            own.decrypt(frames)
        return
    found = own.decrypt(frames)
    assert found.shape == (parameters.slots,)
    sigma = predicted_fresh_rms(parameters, own.readings.log2_scale(parameters), key)
    assert np.abs(found[:4] - REALS).max() < 14 * sigma  # under the public key, tails are exponential


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint64]
)
def test_real_numbers_of_any_kind_are_taken(owner: Owner, dtype: type) -> None:
    values = np.array([1, 3, 100], dtype=dtype)
    assert np.abs(owner.decrypt(encrypt(values, owner.secret_key))[:3] - [1, 3, 100]).max() < 1e-3


def test_float64_keeps_31_bits_of_the_largest(owner: Owner) -> None:
    """float32 would lose the 2^-15 here."""
    values = np.array([1000 + 2.0**-15, -1000.0])
    found = owner.decrypt(encrypt(values, owner.secret_key, largest=1001, log2_scale=45))
    assert np.abs(found[:2] - values).max() < 2.0**-20


def test_complex_numbers_come_back(owner: Owner) -> None:
    values = np.array([1 + 2j, -3j, 0.5])
    found = decrypt(encrypt(values, owner.public_key, largest=3), owner.secret_key, complex_slots=True)
    assert found.dtype == np.complex128
    assert np.abs(found[:3] - values).max() < 0.1


@pytest.mark.parametrize("places", ["slots", "coefficients"])
@both_keys
def test_integers_come_back_exactly(owner: Owner, kind: str, places: Any) -> None:
    frames = encrypt(INTEGERS, key_of(owner, kind), scheme=BFV(T), places=places)
    assert owner.decrypt(frames, places=places, signed=True)[:5].tolist() == [*INTEGERS, 0]
    assert owner.decrypt(frames, places=places)[:5].tolist() == [*INTEGERS, 0]
    assert owner.decrypt(frames, places=places, signed=False)[:5].tolist() == [*(INTEGERS % T), 0]
    with pytest.raises(ParameterError, match="slots or --as coefficients"):
        owner.decrypt(frames)


def test_integers_go_to_slots_if_the_modulus_has_them(owner: Owner) -> None:
    assert owner.decrypt(encrypt([1, 2], owner.public_key, scheme=BFV(T)), places="slots")[:2].tolist() == [
        1,
        2,
    ]
    assert owner.decrypt(encrypt([1, 2], owner.public_key, scheme=BFV(1000)))[:2].tolist() == [1, 2]


@pytest.mark.parametrize("xof", ["blake2xb", "shake256", "chacha20"])
def test_frames_are_what_a_device_sends(owner: Owner, xof: Any) -> None:
    frames = encrypt(REALS, owner.secret_key, xof=xof, counter=77, log2_scale=20).to_frames()
    (found,) = read_sets([frames], owner.parameters, owner.key_id)
    head = found.header
    assert (head.counter, head.scale) == (77, 2.0**20)
    assert head.xof == {"blake2xb": 1, "shake256": 2, "chacha20": 3}[xof]


def test_no_two_encryptions_share_a_number_or_a_seed(owner: Owner) -> None:
    streams = [encrypt([1.0], owner.secret_key).to_frames() for _ in range(20)]
    heads = [parse_frame(split(frames)[1], owner.parameters) for frames in streams]
    counters = [head.set.counter for head, _ in heads]
    assert counters == sorted(set(counters))
    sets = read_sets(streams, owner.parameters, owner.key_id)
    assert len({found.seed for found in sets}) == 20


def with_option(owner: Owner, values: Any, **options: Any) -> Ciphertext:
    return encrypt(values, owner.public_key, **options)


@pytest.mark.parametrize(
    ("values", "options", "kind", "status"),
    [
        ([1e6], {"log2_scale": 60}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([100.1], {}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([-80, 80 + 61j], {}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([101], {"scheme": BFV(T)}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([1.0], {"largest": 0}, ParameterError, None),
        ([1.0], {"largest": np.inf}, ParameterError, None),
        ([1.0], {"largest": "100"}, ParameterError, None),
        ([1], {"largest": T, "scheme": BFV(T)}, ParameterError, None),
        ([1.0], {"largest": 1e6, "log2_scale": 60}, ValueRangeError, None),
        ([np.nan], {}, ValueRangeError, "CM_ERR_NOT_FINITE"),
        ([np.inf, 1.0], {}, ValueRangeError, "CM_ERR_NOT_FINITE"),
        ([1e300], {}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([1.0] * 2049, {}, ValueRangeError, "CM_ERR_TOO_MANY"),
        ([], {}, ValueRangeError, None),
        ([[1.0]], {}, ValueRangeError, None),
        (["one"], {}, ValueRangeError, None),
        ([True], {}, ValueRangeError, None),
        ([1.0], {"log2_scale": 0}, ParameterError, None),
        ([1.0], {"places": "slots"}, ParameterError, None),
        ([1.0], {"counter": -1}, ParameterError, None),
        ([1.5], {"scheme": BFV(T)}, ValueRangeError, None),
        ([T], {"scheme": BFV(T)}, ValueRangeError, "CM_ERR_VALUE_RANGE"),
        ([1 << 40], {"scheme": BFV(T)}, ValueRangeError, None),
        ([1], {"scheme": BFV(T), "log2_scale": 25}, ParameterError, None),
        ([1], {"scheme": BFV(1000), "places": "slots"}, ParameterError, "CM_ERR_PLAIN_MODULUS"),
        ([1], {"scheme": BFV(T), "places": "rows"}, ParameterError, None),
        ([1], {"scheme": T}, ParameterError, None),
        ([1], {"scheme": "BFV"}, ParameterError, None),
        ([1.0], {"log2_scale": 2.5}, ParameterError, None),
        ([1.0], {"log2_scale": 10**23}, ParameterError, None),
        ([1.0], {"log2_scale": True}, ParameterError, None),
        ([1.0], {"counter": "1"}, ParameterError, None),
        ([[1.0], [1.0, 2.0]], {}, ValueRangeError, None),
        (None, {}, ValueRangeError, None),
        ({"a": 1}, {}, ValueRangeError, None),
    ],
)
def test_what_cannot_be_encrypted_is_refused_by_name(
    owner: Owner, values: Any, options: dict[str, Any], kind: type[Error], status: str | None
) -> None:
    with pytest.raises(kind) as caught:
        encrypt(values, owner.public_key, **options)
    assert caught.value.status == status
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("modulus", [2**32, 10**23, 1, 0, -5, 0.5, 65537.0, "a", True])
def test_what_is_no_plain_modulus_is_refused(modulus: Any) -> None:
    with pytest.raises(ParameterError, match=r"The plain modulus .* give a whole number from 2 to 2\^32 - 1"):
        BFV(modulus)


def test_schemes_name_themselves() -> None:
    assert [str(s) for s in (CKKS, BFV(17))] == ["CKKS", "BFV modulo 17"]
    assert [repr(s) for s in (CKKS, BFV(17))] == ["CKKS", "BFV(17)"]
    assert BFV(np.int64(17)) == BFV(17) != CKKS


def test_a_secret_key_of_no_pair_is_refused(owner: Owner) -> None:
    with pytest.raises(KeyFileError, match="has no key id"):
        encrypt([1.0], ciphermote.SecretKey.generate(owner.parameters))


def test_another_owner_reads_nothing(owner: Owner) -> None:
    other = Owner.generate(relin=False)
    for frames in (encrypt(REALS, owner.public_key), encrypt([1], owner.public_key, scheme=BFV(T))):
        with pytest.raises(MismatchError):
            other.decrypt(frames, bare=True)


def test_options_of_the_other_scheme_are_refused(owner: Owner) -> None:
    with pytest.raises(ParameterError, match="of CKKS"):
        owner.decrypt(encrypt(REALS, owner.public_key), signed=True)
    with pytest.raises(ParameterError, match="of BFV"):
        owner.decrypt(encrypt([1], owner.public_key, scheme=BFV(T)), complex_slots=True)


def test_bytes_that_hold_no_ciphertext_or_several_are_refused(owner: Owner) -> None:
    frames, others = (encrypt(REALS, owner.public_key).to_frames() for _ in range(2))
    for data in (b"", b"CM", b"nothing", frames[:-1], frames + others):
        with pytest.raises(FrameError):
            owner.decrypt(data)


# --- compute --------------------------------------------------------------------------------------


@both_keys
def test_a_weighted_sum_of_real_numbers(owner: Owner, kind: str) -> None:
    """0.5 is a multiple of the dropped prime at its scale, and 0 contributes nothing."""
    weights = [0.5, -1.37, 0.0]
    readings = [REALS, REALS[::-1], REALS + 1]
    frames = [encrypt(values, key_of(owner, kind), log2_scale=25) for values in readings]
    found = owner.decrypt(compute(WeightedSum(weights), frames, bound=61))
    assert np.abs(found[:4] - weights @ np.array(readings)).max() < 0.1


def test_integers_add_up_in_either_place_and_modulo_any_number(owner: Owner) -> None:
    for t, places in ((T, "slots"), (T, "coefficients"), (1000, "coefficients")):
        frames = [encrypt(INTEGERS, owner.public_key, scheme=BFV(t), places=places) for _ in range(3)]
        found = owner.decrypt(compute(Sum(), frames), places=places, signed=True)
        assert found[:4].tolist() == (3 * INTEGERS).tolist()


def test_a_weighted_sum_of_integers_is_exact(owner: Owner) -> None:
    frames = [encrypt(INTEGERS * sign, owner.public_key, scheme=BFV(T)) for sign in (1, -1)]
    found = owner.decrypt(compute(WeightedSum([3, -2]), frames, bound=60), places="slots", signed=True)
    assert found[:4].tolist() == (5 * INTEGERS).tolist()


def test_a_negative_weight_makes_no_more_noise_than_a_positive_one() -> None:
    """One prime has room for a weight of 20, but not for one of t - 20."""
    owner = Owner.generate(by_name("n1024_q26"))
    reading = encrypt(INTEGERS, owner.secret_key, scheme=BFV(12289))
    for weights in ([20, 15], [-20, -15], [20, -15]):
        total = compute(WeightedSum(weights), [reading, reading], owner.parameters, bound=60)
        found = owner.decrypt(total, places="slots", signed=True)
        assert found[:4].tolist() == (sum(weights) * INTEGERS).tolist()


@both_keys
def test_a_model_scores_a_reading(owner: Owner, kind: str) -> None:
    frames = encrypt(REALS, key_of(owner, kind), log2_scale=25)
    result = compute(MODEL, frames, owner.evaluation_keys, bound=60)
    assert np.abs(owner.decrypt(result)[:2] - MODEL.scores(REALS)).max() < 0.1


def test_a_model_of_integers_scores_exactly() -> None:
    own = Owner.generate(model=COUNTS)
    frames = encrypt(INTEGERS, own.public_key, scheme=BFV(T))
    result = compute(COUNTS, frames, own.evaluation_keys, bound=60)
    assert own.decrypt(result, places="slots", signed=True)[:2].tolist() == COUNTS.scores(INTEGERS).tolist()


def test_a_program_squares(owner: Owner) -> None:
    square = Program((Step("multiply", 1, 0, 0), Step("rescale", 1, 1)), ())
    result = compute(square, encrypt([3.0, -2.0], owner.public_key), owner.evaluation_keys)
    assert np.abs(owner.decrypt(result)[:2] - [9, 4]).max() < 0.1


def test_a_set_of_ones_own_is_named_or_comes_with_keys() -> None:
    own_set = ciphermote.parameters.generate(4096, [25, 26, 27], "2024", "mine")
    own = Owner.generate(own_set)
    frames = [encrypt(REALS, own.public_key, log2_scale=25)] * 2
    for keys in (own_set, own.evaluation_keys):
        assert np.abs(own.decrypt(compute(Sum(), frames, keys))[:4] - 2 * REALS).max() < 0.1
    assert compute(Sum(), frames).parameters == own_set
    with pytest.raises(ParameterError, match="No built-in parameter set"):
        compute(Sum(), frames[0].to_frames())


def test_what_cannot_be_computed_is_refused(owner: Owner) -> None:
    real, whole = encrypt(REALS, owner.public_key), encrypt(INTEGERS, owner.public_key, scheme=BFV(T))
    odd = encrypt(INTEGERS, owner.public_key, scheme=BFV(1000))
    _, undeclared = split(whole.to_frames())
    keys = owner.evaluation_keys
    stranger = encrypt(REALS, Owner.generate(relin=False).public_key)
    cases: list[tuple[type[Error], str, Any]] = [
        (ParameterError, "no ciphertext", lambda: compute(Sum(), [])),
        (MismatchError, "of one key", lambda: compute(Sum(), [real, stranger])),
        (MismatchError, "BFV", lambda: compute(Sum(), [real, whole])),
        (ParameterError, "one at a time", lambda: compute(MODEL, [real, real], keys, bound=60)),
        (ParameterError, "2 weights are given for 1", lambda: compute(WeightedSum([1, 2]), real, bound=60)),
        (ParameterError, "or all 0", lambda: compute(WeightedSum([0]), real, bound=60)),
        (ParameterError, "Weights need a bound", lambda: compute(WeightedSum([1]), undeclared)),
        (ValueRangeError, "may reach", lambda: compute(Sum(), [whole] * 410)),
        (ParameterError, "leave bound out", lambda: compute(Program((), ()), real, keys, bound=60)),
        (ParameterError, "not all integers", lambda: compute(WeightedSum([0.5]), whole, bound=60)),
        (ParameterError, "Scores reach", lambda: compute(WeightedSum([1000]), whole, bound=60)),
        (ParameterError, "Batching", lambda: compute(WeightedSum([1]), odd, bound=60)),
        (EngineError, "no Galois keys", lambda: compute(MODEL, real, bound=60)),
        (MismatchError, "different keys", lambda: compute(MODEL, stranger, keys, bound=60)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()


# --- the owner ------------------------------------------------------------------------------------


def test_an_owner_is_saved_and_loaded_and_the_public_part_encrypts_and_computes(tmp_path: Path) -> None:
    own = Owner.generate(model=MODEL)
    own.save(tmp_path / "keys")
    own.save_public(tmp_path / "public")
    assert not (tmp_path / "public" / SECRET_FILE).exists()
    assert (tmp_path / "keys" / SECRET_FILE).stat().st_mode & 0o077 == 0
    public, keys = PublicKey.load(tmp_path / "public"), EvaluationKeys.load(tmp_path / "public")
    assert (public.key_id, keys.parameters) == (own.key_id, own.parameters)
    result = compute(MODEL, encrypt(REALS, public, log2_scale=25), keys, bound=60)
    again = Owner.load(tmp_path / "keys")
    assert again.key_id == own.key_id
    assert np.abs(again.decrypt(result)[:2] - MODEL.scores(REALS)).max() < 0.1
    with pytest.raises(KeyFileError, match="stays with the owner"):
        Owner.load(tmp_path / "public")
    with pytest.raises(KeyFileError, match="already holds a secret key"):
        own.save(tmp_path / "keys")


def test_a_public_key_is_read_from_seals_bytes(owner: Owner, tmp_path: Path) -> None:
    owner.save_public(tmp_path / "public")
    key = PublicKey.from_seal((tmp_path / "public" / "public.key").read_bytes(), owner.parameters)
    assert key.key_id == owner.key_id
    assert np.array_equal(key.residues, owner.public_key.residues)


def test_an_owner_provisions_a_device(owner: Owner) -> None:
    header = owner.provisioned_header(secret=True, plain_moduli=[T])
    assert f"0x{owner.key_id:016x}" in header
    assert "CM_PROVISIONED_PUBLIC_KEY 0" in header
    assert header != owner.provisioned_header(secret=True, plain_moduli=[T])
    with pytest.raises(KeyFileError, match="say which"):
        owner.provisioned_header()


def test_further_keys_are_of_the_same_pair_and_old_readings_are_computed_with_them() -> None:
    own = Owner.generate(rotations=[5])
    key_id, frames, secret = own.key_id, encrypt(REALS, own.public_key), own.secret_key.packed
    with pytest.raises(EngineError, match="no Galois keys"):
        compute(MODEL, frames, own.evaluation_keys, bound=60)
    own.extend(model=MODEL)
    assert (own.key_id, own.secret_key.packed) == (key_id, secret)
    assert own.rotations[0] == 5
    result = compute(MODEL, frames, own.evaluation_keys, bound=60)
    found = own.decrypt_with_errors(result, model=MODEL)
    assert found.errors is not None and found.errors.max() < 0.05
    assert (np.abs(found.values - MODEL.scores(REALS)) < 2 * found.errors).all()


def test_keys_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    store = KeyStore.create(tmp_path / "keys", by_name("n4096_q26x3_p27"), galois_steps=[1, 2])

    def keys() -> dict[str, bytes]:
        rest = (MANIFEST_FILE, ".lock")
        return {path.name: path.read_bytes() for path in store.path.iterdir() if path.name not in rest}

    before = keys()
    done: list[tuple[int, int]] = []
    store = store.extend(galois_steps=[2, 1], relin=True, progress=lambda *state: done.append(state))
    assert done == [(0, 0)]
    assert keys() == before
    store.extend(galois_steps=[3], progress=lambda *state: done.append(state))
    assert done[1:] == [(0, 1), (1, 1)]
    assert KeyStore.open(store.path).galois_steps == (1, 2, 3)


@pytest.mark.parametrize("cut", range(9))
@pytest.mark.parametrize("had_keys", [False, True])
def test_keys_whose_extension_is_cut_short_are_the_old_ones_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int, *, had_keys: bool
) -> None:
    steps = (1,) if had_keys else ()
    store = KeyStore.create(tmp_path / "keys", by_name("n4096_q26x3_p27"), galois_steps=steps, relin=False)
    calls = 0

    def power_cut(after: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > cut:
                raise KeyboardInterrupt
            return after(*arguments, **options)

        return call

    with monkeypatch.context() as patched:
        for name in ("write_atomically", "sync_directory"):
            patched.setattr(key_store, name, power_cut(getattr(key_store, name)))
        patched.setattr(key_store.os, "replace", power_cut(key_store.os.replace))
        with contextlib.suppress(KeyboardInterrupt):
            store.extend(galois_steps=[2])
    found = KeyStore.open(store.path)
    assert found.galois_steps in (steps, (*steps, 2))
    for name in found.manifest.digests:
        assert found.public_bytes(name)
    assert (GALOIS_FILE in found.manifest.digests) == bool(found.galois_steps)
    assert KeyStore.open(store.path).extend(galois_steps=[2]).galois_steps == (*steps, 2)
    Owner.load(store.path)


def test_a_modulus_that_one_prime_has_no_room_for_scores_all_the_same() -> None:
    t = 147457
    own = Owner.generate(model=COUNTS)
    result = compute(COUNTS, encrypt(INTEGERS, own.public_key, scheme=BFV(t)), own.evaluation_keys, bound=60)
    found = own.decrypt(result, places="slots", signed=True)
    assert found[:2].tolist() == COUNTS.scores(INTEGERS).tolist()
