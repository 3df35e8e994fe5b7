# SPDX-License-Identifier: Apache-2.0
"""Linear inference: the plan computes W x + b, asks for the keys it needs, and refuses what cannot fit."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from ciphermote.base.errors import Error, ParameterError
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.linear_plans import LinearPlan, plan_linear
from ciphermote.parameters import ParameterSet, by_name, generate
from numpy.typing import NDArray

PARMS = by_name("n4096_q26x3_p27")
SCALE = 2.0**25


def model_of(classes: int, features: int, seed: int = 1) -> LinearModel:
    random = np.random.default_rng(seed)
    return LinearModel(random.normal(size=(classes, features)), random.normal(size=classes))


def run_in_the_clear(plan: LinearPlan, parms: ParameterSet, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The plan's program on plain slots, with its scales and levels tracked as SEAL would."""
    primes, scale = len(parms.data_primes), SCALE
    values = np.zeros(parms.slots)
    values[: x.size] = x
    registers = {0: (values, scale, primes)}
    for step in plan.program.steps:
        values, scale, primes = registers[step.source]
        if step.operation == "multiply_plain":
            constant = plan.program.constants[step.argument]
            values, scale = values * constant.values, scale * constant.scale
        elif step.operation == "add_plain":
            values = values + plan.program.constants[step.argument].values
        elif step.operation == "add":
            other = registers[step.argument]
            assert other[1:] == (scale, primes)
            values = values + other[0]
        elif step.operation == "rotate":
            values = np.roll(values, -step.argument)
        elif step.operation == "rescale":
            scale, primes = scale / parms.primes[primes - 1], primes - 1
        else:
            assert step.operation == "keep_primes" and step.argument < primes
            primes = step.argument
        registers[step.target] = (values, scale, primes)
        assert scale * np.abs(values).max() < math.prod(parms.primes[:primes]) / 2
    assert scale == pytest.approx(plan.result_scale) and primes == plan.result_primes
    return values


@pytest.mark.parametrize("classes", [1, 2, 3, 4, 5, 8, 10])
@pytest.mark.parametrize("features", [1, 7, 1800, 2048])
def test_every_slot_holds_the_score_of_its_class(classes: int, features: int) -> None:
    model = model_of(classes, features)
    x = np.random.default_rng(2).normal(size=features)
    plan = plan_linear(model, PARMS, SCALE, feature_bound=16)
    slots = run_in_the_clear(plan, PARMS, x)
    period = 1 << (classes - 1).bit_length()
    assert plan.period == period
    expected = np.zeros(period)
    expected[:classes] = model.scores(x)
    assert np.allclose(slots, np.tile(expected, PARMS.slots // period), atol=1e-9)
    assert np.allclose(plan.scores(slots), model.scores(x), atol=1e-9)


def test_slots_past_the_features_do_not_touch_the_scores() -> None:
    model = model_of(3, 100)
    x = np.random.default_rng(3).normal(size=PARMS.slots)
    slots = run_in_the_clear(plan_linear(model, PARMS, SCALE, feature_bound=16), PARMS, x)
    assert np.allclose(slots[:3], model.scores(x[:100]), atol=1e-9)


@pytest.mark.parametrize(
    ("classes", "steps"),
    [
        (1, [2**k for k in range(11)]),
        (2, [1, *(2**k for k in range(1, 11))]),
        (4, [1, *(2**k for k in range(2, 11))]),
    ],
)
def test_the_plan_names_the_rotations_it_needs(classes: int, steps: list[int]) -> None:
    assert list(plan_linear(model_of(classes, 10), PARMS, SCALE, feature_bound=16).rotation_steps) == steps


def test_the_result_has_more_precision_than_the_data_where_the_modulus_allows() -> None:
    plan = plan_linear(model_of(4, 1800), PARMS, SCALE, feature_bound=16)
    assert (plan.result_primes, plan.result_scale) == (2, 2.0**34)
    assert plan.max_score > model_of(4, 1800).score_bound(16)


def test_large_sets_drop_the_primes_that_the_scores_do_not_need() -> None:
    parms = by_name("n8192_q26x7_p27")
    plan = plan_linear(model_of(4, 1800), parms, SCALE, feature_bound=16)
    assert plan.program.steps[0].operation == "keep_primes" and plan.program.steps[0].argument == 3
    x = np.random.default_rng(4).normal(size=1800)
    assert np.allclose(plan.scores(run_in_the_clear(plan, parms, x)), model_of(4, 1800).scores(x), atol=1e-9)


def test_two_data_primes_score_without_a_rescale() -> None:
    parms = generate(4096, [26, 26, 27])
    model = LinearModel(model_of(4, 1800).weights / 50, model_of(4, 1800).bias)
    plan = plan_linear(model, parms, SCALE, feature_bound=16)
    assert plan.result_primes == 2 and all(step.operation != "rescale" for step in plan.program.steps)
    x = np.random.default_rng(4).normal(size=1800)
    assert np.allclose(plan.scores(run_in_the_clear(plan, parms, x)), model.scores(x), atol=1e-9)


def test_what_cannot_fit_is_refused_in_a_sentence() -> None:
    model = model_of(4, 100)
    with pytest.raises(ParameterError, match="no rotations"):
        plan_linear(model, by_name("n1024_q26"), SCALE, feature_bound=16)
    with pytest.raises(ParameterError, match="more data primes"):
        plan_linear(model, by_name("n2048_q26_p27"), SCALE, feature_bound=16)
    with pytest.raises(ParameterError, match="2049 features"):
        plan_linear(model_of(1, 2049), PARMS, SCALE, feature_bound=16)
    with pytest.raises(ParameterError, match="3000 classes"):
        plan_linear(model_of(3000, 2), PARMS, SCALE, feature_bound=16)
    with pytest.raises(ParameterError, match="smaller weights"):
        plan_linear(LinearModel(np.full((2, 2), 1e300), np.zeros(2)), PARMS, SCALE, feature_bound=16)
    for scale in (0.0, -1.0, float("nan"), float("inf"), 2.0**80):
        with pytest.raises(ParameterError, match="scale"):
            plan_linear(model, PARMS, scale, feature_bound=16)
    with pytest.raises(ParameterError, match="primes"):
        plan_linear(model, PARMS, SCALE, primes=4, feature_bound=16)
    for bound in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="bound"):
            plan_linear(model, PARMS, SCALE, feature_bound=bound)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("labels", [(), ("rest", "walk", "run")])
def test_a_saved_model_comes_back_the_same(tmp_path: Path, suffix: str, labels: tuple[str, ...]) -> None:
    model = LinearModel(model_of(3, 5).weights, model_of(3, 5).bias, labels)
    path = tmp_path / f"model{suffix}"
    model.save(path)
    again = LinearModel.load(path)
    assert (again.weights == model.weights).all() and (again.bias == model.bias).all()
    assert again.labels == labels
    assert again.id == model.id


def test_a_models_id_is_the_one_that_the_wire_format_describes() -> None:
    model = LinearModel([[1.0, -2.5]], [0.5], ("\u00e4",))
    content = struct.pack("<QQdddQ", 1, 2, 1.0, -2.5, 0.5, 2) + "\u00e4".encode()
    assert model.id == int.from_bytes(hashlib.blake2b(content, digest_size=32).digest()[:8], "little")
    assert model.id != LinearModel(model.weights, model.bias).id


def test_damaged_model_files_end_in_a_sentence(tmp_path: Path) -> None:
    good = json.loads(model_of(2, 3).to_json())
    broken = [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        *(
            json.dumps({**good, **change}).encode()
            for change in (
                {"format": "other"},
                {"version": 2},
                {"weights": "x"},
                {"weights": [[1, 2], [3]]},
                {"weights": [[1, float("nan"), 2], [3, 4, 5]]},
                {"weights": []},
                {"weights": [[10**400, 1, 2], [3, 4, 5]]},
                {"bias": [10**400, 1]},
                {"labels": [["rest"], ["walk"]]},
                {"bias": [1]},
                {"labels": ["one"]},
                {"labels": 5},
            )
        ),
    ]
    for content in broken:
        (tmp_path / "model.json").write_bytes(content)
        with pytest.raises(Error):
            LinearModel.load(tmp_path / "model.json")
    model_of(2, 3).save(tmp_path / "model.npz")
    content = (tmp_path / "model.npz").read_bytes()
    for damaged in (b"", b"PK", content[: len(content) // 2], b"{}"):
        (tmp_path / "model.npz").write_bytes(damaged)
        with pytest.raises(Error):
            LinearModel.load(tmp_path / "model.npz")
    np.savez(tmp_path / "pickle.npz", weights=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(Error):
        LinearModel.load(tmp_path / "pickle.npz")
    for version in (np.array([1, 1]), np.array(np.inf)):
        np.savez(
            tmp_path / "version.npz", format="x", version=version, labels=[], weights=[[1.0]], bias=[1.0]
        )
        with pytest.raises(Error):
            LinearModel.load(tmp_path / "version.npz")
    for name in ("none.json", "model.txt"):
        with pytest.raises(Error):
            LinearModel.load(tmp_path / name)


def test_a_model_that_is_none_is_refused_with_the_form_of_one(tmp_path: Path) -> None:
    good = json.loads(model_of(2, 3).to_json())
    path = tmp_path / "model.json"
    for content, reason in (
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"weights": [[1, 2]]}', "lacks format, version, labels, bias"),
        (json.dumps({**good, "version": 2}), "not a linear model of version 1"),
        (json.dumps({**good, "bias": "x"}), "not tables of numbers"),
        (json.dumps({**good, "labels": {"rest": 1, "walk": 2}}), "not a list of names"),
        (json.dumps({**good, "version": True}), "not a linear model of version 1"),
        (json.dumps({**good, "weights": {"0": [1, 2, 3], "1": [4, 5, 6]}}), "not tables of numbers"),
        *(
            (json.dumps({**good, **change}), "not tables of numbers")
            for no_number in (True, False, "1", None, [1], {})
            for change in (
                {"weights": [[1, 2, 3], [4, no_number, 6]]},
                {"weights": [[no_number] * 3] * 2},
                {"bias": [no_number, 0.5]},
            )
        ),
    ):
        path.write_text(content)
        with pytest.raises(ParameterError, match=reason) as caught:
            LinearModel.load(path)
        for field in good:
            assert re.search(rf"\b{field} \(|\band {field} \(", str(caught.value)), (field, caught.value)
        assert "ciphermote-linear-model" in str(caught.value)


def test_labels_tell_classes_apart(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="label 'walk' more than once"):
        LinearModel(np.ones((3, 2)), np.zeros(3), ("walk", "rest", "walk"))
    with pytest.raises(ParameterError, match="more than once"):
        LinearModel(np.ones((2, 2)), np.zeros(2), ("caf\u00e9", "cafe\u0301"))


@pytest.mark.parametrize(
    "label",
    [
        "",
        " ",
        "rest ",
        " rest",
        "re\u200bst",
        "\ud800",
        "re\nst",
        "re\x1b[2Kst",
        "re\u00a0st",
        "rest\u202e",
        "\ufeff",
    ],
)
def test_labels_that_could_look_like_another_are_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(ParameterError, match="label") as caught:
        LinearModel(np.ones((2, 2)), np.zeros(2), ("rest", label))
    assert str(caught.value).isprintable() and str(caught.value).isascii()
    good = LinearModel(np.ones((2, 2)), np.zeros(2), ("rest", "walk"))
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(good.to_json()) | {"labels": ["rest", label]}))
    with pytest.raises(ParameterError, match="not printable"):
        LinearModel.load(path)
    if label.rstrip("\ud800"):
        write_npz(path.with_suffix(".npz"), ARRAYS | {"labels": np.array(["rest", label])})
        with pytest.raises(ParameterError, match="not printable"):
            LinearModel.load(path.with_suffix(".npz"))


def test_an_archive_with_a_member_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    model_of(2, 3).save(path)
    assert LinearModel.load(path).classes == 2
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("weights.npy", archive.read("bias.npy"))
    with pytest.raises(ParameterError, match="a member twice"):
        LinearModel.load(path)


def test_labels_are_in_any_script_and_may_have_spaces_within(tmp_path: Path) -> None:
    labels = ("at rest", "\u6b69\u304f", "\u0431\u0435\u0433", "caf\u00e9")
    model = LinearModel(np.ones((4, 2)), np.zeros(4), labels)
    for name in ("model.json", "model.npz"):
        model.save(tmp_path / name)
        assert LinearModel.load(tmp_path / name).labels == labels


@pytest.mark.parametrize(
    "values",
    [
        np.array([[True, False]]),
        [["1", "2"]],
        np.array([[1.0, 2.0]]) * 1j,
        np.array([[1, 2]], dtype=object),
        np.array([[1, 2]], dtype="<M8[s]"),
    ],
)
def test_weights_and_biases_are_numbers_alone(values: NDArray[np.generic]) -> None:
    with pytest.raises(ParameterError, match="real numbers"):
        LinearModel(values, [0.0])
    with pytest.raises(ParameterError, match="real numbers"):
        LinearModel([[1.0]], values[0])


def test_weights_are_in_rows_of_one_length() -> None:
    with pytest.raises(ParameterError, match="rows of one length"):
        LinearModel([[1.0], [2.0, 3.0]], [0.0])


def refused_in_little_memory(path: Path, reason: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=reason):
            LinearModel.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2 * path.stat().st_size + (1 << 20)
    finally:
        tracemalloc.stop()


def test_a_model_file_cannot_claim_more_memory_than_it_fills(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    rest = {"format": "ciphermote-linear-model", "version": 1, "labels": np.array([], np.str_), "bias": [1.0]}
    np.savez_compressed(path, weights=np.zeros((1, 1 << 24)), **rest)
    refused_in_little_memory(path, "format is compressed")
    np.savez(path, weights=np.zeros((1, 8)), **rest)
    honest = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist()}
    for name, old, new in (
        ("weights.npy", b"(1, 8), }" + 8 * b" ", b"(1, 268435456), }"),
        ("weights.npy", b"(1, 8), }" + 18 * b" ", b"(268435456, 268435456), }  "),
        ("weights.npy", b"(1, 8), }" + 2 * b" ", b"(-1, -8), }"),
        ("weights.npy", b"<f8", b"|O8"),
        ("labels.npy", b"'<U1'", b"'<U0'"),
    ):
        assert old in arrays[name]
        with zipfile.ZipFile(path, "w") as archive:
            for other, content in arrays.items():
                archive.writestr(other, content.replace(old, new) if other == name else content)
        refused_in_little_memory(path, "damaged|linear model")
    for at in range(0, len(honest) - 3, 7):
        path.write_bytes(honest[:at] + b"\xff\xff\xff\x7f" + honest[at + 4 :])
        with suppress(ParameterError):
            LinearModel.load(path)


@pytest.mark.parametrize("unit", ["[],", "{},", '"",', '"\u0100",', "1,", "-9,"], ids=ascii)
@pytest.mark.parametrize("key", ["weights", "labels", "another"])
def test_a_model_in_small_pieces_is_refused_before_it_is_parsed(tmp_path: Path, unit: str, key: str) -> None:
    path = tmp_path / "model.json"
    many = f"[{unit * (1_100_000)}0]"
    path.write_text(f'{{"{key}": {many}, {model_of(2, 3).to_json()[1:]}', encoding="utf-8")
    refused_in_little_memory(path, "in more pieces than a model has")


def test_a_model_as_large_as_json_may_hold_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for classes, features, labels in ((8192, 1, tuple(map(str, range(8192)))), (90, 8192, ())):
        model = model_of(classes, features)
        model = LinearModel(model.weights, model.bias, labels)
        model.save(path)
        assert LinearModel.load(path).id == model.id


def test_no_model_is_saved_that_is_too_large_to_load(tmp_path: Path) -> None:
    large = LinearModel(np.ones((129, 8192)), np.zeros(129))
    with pytest.raises(ParameterError, match=r"save it as \.npz"):
        large.save(tmp_path / "model.json")
    large.save(tmp_path / "model.npz")
    assert LinearModel.load(tmp_path / "model.npz").id == large.id
    with pytest.raises(ParameterError, match="No parameter set has room"):
        LinearModel(np.ones((1, 8193)), [0.0]).save(tmp_path / "large.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_an_archive_of_many_entries_is_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    count = 50_000
    entries = (b"PK\1\2" + bytes(42)) * count
    end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, count, count, len(entries), 0, 0)
    path.write_bytes(entries + end)
    refused_in_little_memory(path, "more entries than a model")
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(entries), 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(entries), 1)
    small_end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, 5, 5, 300, 0, 0)
    path.write_bytes(entries + large + locator + small_end)
    refused_in_little_memory(path, "does not end as such an archive does")
    path.write_bytes(entries + end[:-2] + b"\1\0.")
    refused_in_little_memory(path, "does not end as such an archive does")


def test_arrays_that_share_their_bytes_or_would_grow_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    write_npz(path, ARRAYS)
    content = path.read_bytes()
    at = content.rindex(b"PK\1\2")
    path.write_bytes(content[: at + 20] + struct.pack("<LL", len(content), len(content)) + content[at + 28 :])
    refused_in_little_memory(path, "more bytes than the file")
    for name, shape in (("weights", (1025, 8192)), ("weights", (2, 8193)), ("bias", (8193,))):
        write_npz(path, ARRAYS | {name: np.ones(shape, np.int8)})
        refused_in_little_memory(path, "no parameter set has room")
    write_npz(path, ARRAYS | {"labels": np.full(8193, "a")})
    refused_in_little_memory(path, "no parameter set has room")
    with pytest.raises(ParameterError, match="a label of 201 letters"):
        LinearModel([[1.0]], [0.0], ("a" * 201,))


ARRAYS = {
    "format": np.array("ciphermote-linear-model"),
    "version": np.array(1),
    "labels": np.array(["no", "yes"]),
    "weights": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "bias": np.array([0.5, 1.5]),
}
LOAD = """
import sys
from ciphermote.base.errors import ParameterError
from ciphermote.evaluate.linear_model import LinearModel
try:
    LinearModel.load(sys.argv[1])
except ParameterError as error:
    print(error)
"""


def load_elsewhere(path: Path) -> str:
    """The refusal from a separate process, which may crash."""
    loader = subprocess.run([sys.executable, "-c", LOAD, path], capture_output=True, text=True, check=False)
    assert loader.returncode == 0, (loader.returncode, loader.stderr[-300:])
    return loader.stdout


def write_npz(path: Path, arrays: dict[str, NDArray[np.generic]], retyped: str = "", descr: str = "") -> None:
    """The arrays as numpy saves them, except for the type that the header of one claims."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            header = np.lib.format.header_data_from_array_1_0(array)
            np.lib.format.write_array_header_1_0(
                content, header | {"descr": descr} if name == retyped else header
            )
            archive.writestr(f"{name}.npy", content.getvalue() + array.tobytes())


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("descr", ["|O", [("a", "|O")], ("|O", (1,)), "|V8"], ids=str)
def test_no_array_of_a_model_has_pointers_from_its_file(tmp_path: Path, name: str, descr: str) -> None:
    path = tmp_path / "model.npz"
    shape = ARRAYS[name].shape
    pointers = np.full(shape, 0x4141414141414141, dtype="<u8")
    write_npz(path, ARRAYS | {name: pointers}, name, descr)
    assert f"{name} is of type" in load_elsewhere(path)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("weights", ARRAYS["weights"] * 1j, "weights is of type <c16, not real numbers"),
        ("weights", np.array([["1", "2"], ["3", "4"]]), "weights is of type <U1"),
        ("weights", np.array([[b"1", b"2"], [b"3", b"4"]]), "weights is of type |S1"),
        ("weights", ARRAYS["weights"] > 2, "weights is of type |b1"),
        ("weights", ARRAYS["weights"].astype("<M8[s]"), "weights is of type <M8[s]"),
        ("weights", ARRAYS["weights"].astype("<m8[s]"), "weights is of type <m8[s]"),
        ("weights", ARRAYS["weights"].astype(np.complex64), "weights is of type <c8"),
        ("weights", np.array([[1.0, np.inf], [3.0, 4.0]]), "not finite"),
        ("bias", np.array([np.nan, 0.0]), "not finite"),
        ("bias", ARRAYS["bias"].astype("<c16"), "bias is of type <c16"),
        ("bias", ARRAYS["bias"] > 1, "bias is of type |b1"),
        ("bias", ARRAYS["bias"][:, np.newaxis], "bias has 2 dimensions, not 1"),
        ("labels", np.array([b"no", b"yes"]), "labels is of type |S3, not text"),
        ("labels", np.array([1.0, 2.0]), "labels is of type <f8, not text"),
        ("labels", np.array([["no"], ["yes"]]), "labels has 2 dimensions"),
        ("format", np.array(b"ciphermote-linear-model"), "format is of type |S23, not text"),
        ("version", np.array(1.0), "version is of type <f8, not an integer"),
        ("version", np.array("1"), "version is of type <U1, not an integer"),
        ("version", np.array(True), "version is of type |b1, not an integer"),
    ],
)
def test_each_array_of_a_model_is_of_its_type_alone(
    tmp_path: Path, name: str, value: NDArray[np.generic], reason: str
) -> None:
    path = tmp_path / "model.npz"
    write_npz(path, ARRAYS | {name: value})
    with pytest.raises(ParameterError, match=re.escape(reason)):
        LinearModel.load(path)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="no longer numbers here")
def test_numbers_that_float64_would_cut_short_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    write_npz(path, ARRAYS | {"weights": ARRAYS["weights"].astype(np.longdouble)})
    with pytest.raises(ParameterError, match=r"weights is of type .f"):
        LinearModel.load(path)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f8", "|i1", "<i8", "|u1", ">u4"])
def test_weights_of_every_real_type_are_read(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "model.npz"
    write_npz(path, ARRAYS | {"weights": ARRAYS["weights"].astype(dtype)})
    assert (LinearModel.load(path).weights == ARRAYS["weights"]).all()


@pytest.mark.parametrize("letter", [b"\0\0\x11\0", b"s\0\0o", b"\xff" * 4])
def test_labels_that_are_no_text_are_refused(tmp_path: Path, letter: bytes) -> None:
    LinearModel([[1.0]], [0.0], ("yes",)).save(tmp_path / "good.npz")
    with zipfile.ZipFile(tmp_path / "good.npz") as good, zipfile.ZipFile(tmp_path / "bad.npz", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name).replace("s".encode("utf-32-le"), letter))
    with pytest.raises(ParameterError, match="is not text"):
        LinearModel.load(tmp_path / "bad.npz")


def test_scores_want_the_models_width() -> None:
    model = model_of(2, 3)
    assert model.scores(np.ones((5, 3))).shape == (5, 2)
    with pytest.raises(ParameterError, match="3 features"):
        model.scores([1.0, 2.0])
