# SPDX-License-Identifier: Apache-2.0
"""No wrong number without a word: what a user may get wrong is refused, or named, before it is a result."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import (
    LinearModel,
    MismatchError,
    Owner,
    ParameterError,
    Sum,
    ValueRangeError,
    WeightedSum,
    compute,
    encrypt,
)
from ciphermote.ciphertext import Ciphertext
from ciphermote.cli import app
from ciphermote.cli.numbers_in_files import parse_values
from ciphermote.evaluate.linear_plans import plan_linear
from ciphermote.evaluate.program import Program
from ciphermote.formats.declaration import split
from ciphermote.parameters import BFV, by_name
from typer.testing import CliRunner

T = 40961
_NINE_DAYS = 9 * 86_400 * 10**9
FIVES = LinearModel(np.full((1, 5), 1000.0), [0.0])
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with this standard input; its output, or its one sentence if it is to end with code 1."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: Any, code: int = 0, given: str = "") -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
        assert result.exit_code == code, (result.output, result.exception)
        if code != 1:
            return result.output
        assert re.fullmatch(r"error: [^\n]+[.)]\n", result.stderr), result.stderr
        return result.stderr

    return call


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner.generate(model=FIVES, relin=False)


@pytest.fixture(scope="module")
def house(owner: Owner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with keys, their public part, and a model."""
    folder = tmp_path_factory.mktemp("house")
    owner.save(folder / "keys")
    owner.save_public(folder / "public")
    FIVES.save(folder / "model.json")
    return folder


def reading(run: Run, house: Path, folder: Path, values: str, *options: Any, name: str = "reading") -> Path:
    """The ciphertext of one reading."""
    frames, path = folder / f"{name}.bin", folder / f"{name}.ct"
    run("encrypt", house / "public", "-", "-o", frames, *options, given=values)
    modulus = options[-2:] if "--plain-modulus" in options else ()
    run("adapt", house / "public", frames, "-o", path, "--ledger", folder / f"{name}.ledger", *modulus)
    return path


# --- the bound of what weights multiply -------------------------------------------------------------


def test_weights_want_a_bound(owner: Owner, house: Path, tmp_path: Path, run: Run) -> None:
    """What declares none is refused until the caller vouches for one."""
    _, undeclared = split(encrypt([120, 118, 125, 119, 121], owner.public_key, largest=127).to_frames())
    for operation in (FIVES, WeightedSum([1000.0])):
        with pytest.raises(ParameterError, match=r"Weights need a bound.*costs little precision"):
            compute(operation, undeclared, owner.evaluation_keys)
        assert compute(operation, undeclared, owner.evaluation_keys, bound=127)
    path = reading(run, house, tmp_path, "95 93 100 94 96")
    score = tmp_path / "score.ct"
    command = ("infer", house / "public", house / "model.json", path, "-o", score)
    assert "positive number" in run(*command, "--feature-bound", 0, code=1)
    assert not score.exists()
    run(*command)
    found = json.loads(run("decrypt", house / "keys", score, "--json", "--count", 1))["values"]
    assert abs(found[0] - 478000) < 60  # noise of sigma 5.8, with an exponential tail


@pytest.mark.parametrize("bound", [0, -1.0, float("nan"), float("inf"), "16", True])
def test_a_bound_is_a_positive_number(owner: Owner, bound: Any) -> None:
    with pytest.raises(ParameterError, match="bound"):
        compute(FIVES, encrypt([1.0], owner.public_key), owner.evaluation_keys, bound=bound)


def test_a_program_takes_the_bound_that_was_declared(owner: Owner) -> None:
    with pytest.raises(ParameterError, match="leave bound out"):
        compute(Program((), ()), encrypt([1.0], owner.public_key), bound=10)


@pytest.mark.parametrize("bound", [1.0, 127.0, 1e4, 1e6])
def test_readings_at_their_bound_are_scored_right(owner: Owner, bound: float) -> None:
    """The largest score that a plan must hold, with noise on top of it: at 1, a standard deviation of 0.7 in
    5000 and of 23 in 70000, with exponential tails. What wraps around is off by more than itself."""
    values = np.array([bound, bound, bound, bound, bound])
    frames = encrypt(values, owner.public_key, largest=bound, log2_scale=min(25, round(40 - np.log2(bound))))
    (truth,) = FIVES.scores(values)
    (found,) = owner.decrypt(compute(FIVES, frames, owner.evaluation_keys, bound=bound))[:1]
    assert abs(found - truth) < 1e-2 * truth
    weighted = owner.decrypt(compute(WeightedSum([7e4 / bound]), frames, bound=bound))[:5]
    assert np.abs(weighted - 7e4).max() < 700


def test_a_generous_bound_costs_little_precision(owner: Owner) -> None:
    values = np.array([21.4, -27.0, 20.9, 5.0, 0.25])
    model = LinearModel(np.array([[0.5, -1.25, 2, 1, -1]]), [0.25])
    frames = encrypt(values, owner.secret_key)
    for bound in (28, 1e4, 1e7):
        result = compute(model, frames, owner.evaluation_keys, bound=bound)
        assert abs(owner.decrypt(result)[0] - model.scores(values)[0]) < 1e-3


@pytest.mark.parametrize("name", ["n4096_q26x3_p27", "n8192_q26x7_p27"])
def test_no_score_of_a_plan_outgrows_it_and_a_bit_is_left_above_it(name: str) -> None:
    """Up to 2^16, that is: at the end, precision takes the last bit."""
    one = LinearModel(np.ones((1, 1)), [0.0])
    for exponent in range(24):
        plan = plan_linear(one, by_name(name), 2.0**25, feature_bound=1.01 * 2.0**exponent)
        assert plan.max_score >= plan.score_bound * (2 if exponent < 16 else 1)
    with pytest.raises(ParameterError, match="--feature-bound"):
        plan_linear(one, by_name(name), 2.0**25, feature_bound=1e60)


# --- what is missing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("21,,5", "Line 1, column 2 is empty"),
        ("1,2\n3,\n", "Line 2, column 2 is empty"),
        (",1,2", "Line 1, column 1 is empty"),
        ("1\t\t3", "Line 1, column 2 is empty"),
        ("21\n\n5\n", "Line 2, column 1 is empty"),
        ("1;2", "semicolon"),
        ("1,5;2,5", "semicolon"),
        ("21,5 3,4", "Line 1 has numbers both with and without a comma"),
        ("1\n21,5 3", "Line 2 has numbers both with and without a comma"),
        ("1,2\n3,x", r"'x' \(line 2, column 2\)"),
    ],
)
def test_a_missing_cell_moves_nothing_to_another_slot(text: str, words: str) -> None:
    for rows in (False, True):
        with pytest.raises(ValueRangeError, match=words):
            parse_values(text.encode(), rows=rows)


def test_an_archive_of_arrays_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", np.arange(3.0))
    with pytest.raises(ValueRangeError, match=r"in a \.npz .*: save one array as \.npy"):
        parse_values((tmp_path / "x.npz").read_bytes())


def test_standard_input_is_called_that(run: Run, owner: Owner, tmp_path: Path) -> None:
    owner.save(tmp_path / "keys")
    command = ("encrypt", tmp_path / "keys", "-", "-o", tmp_path / "frames.bin")
    for given in ("nan\n", "x\n", "101\n"):
        assert run(*command, code=1, given=given).startswith("error: standard input: ")


def test_rows_have_one_length() -> None:
    with pytest.raises(ValueRangeError, match="Row 2 has 1 number and row 1 has 2"):
        parse_values(b"1,2\n3\n", rows=True)
    assert [row.tolist() for row in parse_values(b"1,2\n3\n")] == [[1, 2], [3]]


def test_a_table_without_rows_says_that_it_is_one_reading(house: Path, tmp_path: Path, run: Run) -> None:
    frames = tmp_path / "frames.bin"
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    for source, given in (("-", "1 2 3\n4 5 6\n"), (tmp_path / "x.npy", "")):
        said = run("encrypt", house / "public", source, "-o", frames, given=given)
        assert "1 reading of 6 numbers (2 lines: --rows makes each line a reading)" in said
    assert "lines" not in run("encrypt", house / "public", "-", "-o", frames, given="1 2 3\n")


# --- advice that is followed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "values", "options"),
    [
        (("--magnitude", 100, "--max-error", 0.1, "--summed", 1000), "100 -100 0.5", ()),
        (("--magnitude", 9, "--max-error", 0.1, "--slots", 20, "--rotations"), "9 -9 1", ()),
        (("--magnitude", 1.5, "--max-error", 0.1, "--key", "symmetric"), "1.5 -1.5", ()),
        (("--magnitude", 60, "--max-error", 0, "--slots", 24), "60 59 0", ("--as", "slots")),
        (("--magnitude", 9, "--max-error", 0, "--plain-modulus", 100), "9 1", ()),
    ],
)
def test_what_advise_prints_runs_and_keeps_its_promise(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, request_: Any, values: str, options: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "values.txt").write_text(values)
    said = run("advise", *request_)
    commands = [shlex.split(line)[1:] for line in re.findall(r"^ +(ciphermote .*)$", said, re.M)]
    names = [command[0] for command in commands]
    assert names[:3] == ["keygen", "provision", "encrypt"] and set(names[3:]) <= {"compact"}
    for command in commands:
        run(*command)
    modulus = re.search(r"--plain-modulus (\d+)", said)
    run("adapt", "keys-public", "frames.bin", "-o", "x.ct", *(modulus[0].split() if modulus else ()))
    found = json.loads(run("decrypt", "keys", "x.ct", "--json", *options))["values"]
    error = re.search(r"error to expect\W+(\S+)", said)
    wanted = [float(value) for value in values.split()]
    assert np.abs(np.array(found[: len(wanted)]) - wanted).max() <= (float(error[1]) if error else 0)


# --- what is there twice, or contradicts ------------------------------------------------------------


def test_a_directory_that_held_ciphertexts_is_told_of(house: Path, tmp_path: Path, run: Run) -> None:
    readings = tmp_path / "readings"
    for held in (0, 2):
        frames = tmp_path / f"frames{held}.bin"
        run("encrypt", house / "public", "-", "--rows", "-o", frames, given="1 2\n3 4\n")
        said = run("adapt", house / "public", frames, "-o", readings, "--ledger", tmp_path / "ledger")
        assert ("note:" in said) == (f"held {held} other ciphertexts before" in said) == bool(held)


def test_a_ciphertext_counts_twice_on_request_alone(house: Path, tmp_path: Path, run: Run) -> None:
    one = reading(run, house, tmp_path, "1 2")
    copy, total = tmp_path / "copy.ct", tmp_path / "total.ct"
    copy.write_bytes(one.read_bytes())
    for other in (one, copy):
        sentence = run("add", one, other, "-o", total, code=1)
        assert f"{other} is the same ciphertext as {one}" in sentence
        assert "--repeated" in sentence
        assert not total.exists()
    run("add", one, copy, "-o", total, "--repeated")
    found = json.loads(run("decrypt", house / "keys", total, "--json"))["values"]
    assert np.abs(np.array(found[:2]) - [2, 4]).max() < 0.1


def test_the_help_says_that_sums_of_integers_wrap(run: Run) -> None:
    assert "sums are modulo T" in run("add", "--help")


@pytest.mark.parametrize("modulus", [0, T])
def test_a_plain_modulus_that_contradicts_is_refused(
    owner: Owner, house: Path, tmp_path: Path, run: Run, modulus: int
) -> None:
    stated = ("--plain-modulus", modulus) if modulus else ()
    path = reading(run, house, tmp_path, "1 2", *stated)
    out = tmp_path / "out.ct"
    infer = ("infer", house / "public", house / "model.json", path, "-o", out, "--feature-bound", 2)
    frames = (tmp_path / "reading.bin").read_bytes()
    for given, kind in ((65537, MismatchError), (99999999999999999999999, ParameterError)):
        for command in (("add", path, "-o", out), infer, ("decrypt", house / "keys", path)):
            assert "--plain-modulus" in run(*command, "--plain-modulus", given, code=1), command
        assert not out.exists()
        for data in (path.read_bytes(), frames):
            with pytest.raises(kind, match="--plain-modulus"):
                Ciphertext.from_bytes(data, owner.parameters, BFV(given))
    run("add", path, "-o", out, *stated)


@pytest.mark.parametrize("operation", [Sum, WeightedSum, "sum", None])
def test_what_is_no_operation_is_refused(owner: Owner, operation: Any) -> None:
    with pytest.raises(ParameterError, match=r"The operation is .* give Sum\(\)"):
        compute(operation, encrypt([1.0], owner.public_key))


def test_no_expander_of_another_name_is_taken_with_either_key(owner: Owner) -> None:
    for key in (owner.public_key, owner.secret_key):
        with pytest.raises(ParameterError, match=r"xof .*'foo'"):
            encrypt([1.0], key, xof="foo")  # type: ignore[arg-type]


def test_the_help_of_infer_says_what_becomes_of_missing_and_further_slots(run: Run) -> None:
    said = run("infer", "--help")
    assert "left out count as 0" in said and "are ignored" in said


# --- the file that is at fault ----------------------------------------------------------------------


def test_every_refusal_names_its_file_and_what_to_do(house: Path, tmp_path: Path, run: Run) -> None:
    good = reading(run, house, tmp_path, "1 2")
    frames, out = tmp_path / "reading.bin", tmp_path / "out.ct"
    whole = reading(run, house, tmp_path, "1 2", "--plain-modulus", T, name="whole")
    content, damaged, cut, empty = frames.read_bytes(), *(tmp_path / name for name in ("bad", "cut", "empty"))
    damaged.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    cut.write_bytes(content[:-100])
    empty.write_bytes(b"")
    flipped, short = tmp_path / "flipped.ct", tmp_path / "short.ct"
    whole_bytes = good.read_bytes()
    flipped.write_bytes(whole_bytes[:-1] + bytes([whole_bytes[-1] ^ 1]))
    short.write_bytes(good.read_bytes()[:-1000])
    values = tmp_path / "values.csv"
    values.write_text("1,2\nnan,4\n")
    keys, public = house / "keys", house / "public"
    for arguments, path, words in (
        (("adapt", public, damaged, "-o", out), damaged, "sent again"),
        (("adapt", public, cut, "-o", out), cut, "ask for them again|cut short"),
        (("adapt", public, values, "-o", out), values, "frame"),
        (("add", good, flipped, "-o", out), flipped, "sent again"),
        (("add", good, whole, "-o", out), whole, "BFV"),
        (("add", keys / "public.key", "-o", out), keys / "public.key", "and not a key"),
        (("decrypt", keys, house / "model.json"), house / "model.json", ""),
        (("decrypt", keys, keys / "secret.key"), keys / "secret.key", ""),
        (("decrypt", keys, empty), empty, ""),
        (("inspect", short), short, "cut short"),
        (("encrypt", public, values, "--rows", "-o", tmp_path / "x.bin"), values, "row 2: Number 1 is nan"),
    ):
        sentence = run(*arguments, code=1)
        assert str(path) in sentence and re.search(words, sentence), (arguments, sentence)
        assert "public key" not in sentence
    assert not out.exists()


@pytest.mark.parametrize("option", ["--plain-modulus", "--log2-scale"])
@pytest.mark.parametrize("value", ["4294967296", "100000000000", "99999999999999999999999", "80"])
def test_numbers_of_any_size_end_in_a_sentence(
    house: Path, tmp_path: Path, run: Run, option: str, value: str
) -> None:
    if (option, value) != ("--plain-modulus", "80"):
        run("encrypt", house / "public", "-", option, value, "-o", tmp_path / "x.bin", given="1", code=1)


def test_files_are_taken_in_by_their_numbers(house: Path, tmp_path: Path, run: Run) -> None:
    older, newer = tmp_path / "older.bin", tmp_path / "newer.bin"
    for path in (older, newer):
        run("encrypt", house / "public", "-", "-o", path, given="1")
    ledger = ("--ledger", tmp_path / "ledger")
    run("adapt", house / "public", newer, older, "-o", tmp_path / "readings", *ledger)
    run("encrypt", house / "public", "-", "-o", newer, given="1")
    old = encrypt([1.0], Owner.load(house / "keys").public_key, counter=time.time_ns() - _NINE_DAYS)
    older.write_bytes(old.to_frames())
    assert "oldest first" in run("adapt", house / "public", older, "-o", tmp_path / "x.ct", *ledger, code=1)


def test_more_numbers_than_there_are_are_told_of(house: Path, tmp_path: Path, run: Run) -> None:
    path = reading(run, house, tmp_path, "1 2")
    said = run("decrypt", house / "keys", path, "--count", 5000)
    assert "the ciphertext holds 2048" in said and "scale 2^22" in said
