# SPDX-License-Identifier: Apache-2.0
"""The command line: a reading from end to end, helpful help, and one sentence for each mistake."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import typer
from ciphermote import Owner, __version__, cli, encrypt
from ciphermote.cli import app
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.evaluate.seal import SealEngine
from ciphermote.formats.frames import adapt
from ciphermote.formats.key_directory import GALOIS_FILE
from ciphermote.owner.key_store import SECRET_FILE, KeyStore
from ciphermote.owner.provisioning import parse_blob, to_blob
from ciphermote.parameters import by_name
from ciphermote.parameters.native import core_params
from seal_owner import SealOwner
from sensor import CHACHA20, SHAKE256, Sensor, split
from typer.core import TyperOption
from typer.testing import CliRunner

PARMS = by_name("n4096_q26x3_p27")
RANDOM = np.random.default_rng(51)
MODEL = LinearModel(RANDOM.normal(size=(3, 10)) / 3, RANDOM.normal(size=3), ("rest", "walk", "run"))
FEATURES = RANDOM.normal(size=(2, 10))
COMMANDS = (
    *("keygen", "extend", "provision", "params", "encrypt", "adapt", "add", "infer", "decrypt", "inspect"),
    *("advise", "rekey"),
)

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; returns its output, after checking the exit code (0 unless told)."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: Any, code: int = 0) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        if code == 1:
            assert result.stdout == ""
            assert re.fullmatch(r"error: [^\n]+[.)]\n", result.stderr), result.stderr
            return result.stderr
        return result.stdout if "--json" in arguments else result.output

    return call


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and keys for it, made by the command line."""
    folder = tmp_path_factory.mktemp("house")
    MODEL.save(folder / "model.json")
    arguments = ["keygen", "keys", "--model", "model.json", "--public-to", "public"]
    arguments = [str(folder / a) if a in ("keys", "model.json", "public") else a for a in arguments]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return folder


def sensor_of(house: Path, folder: Path, run: Run, key: str) -> Sensor:
    """A device provisioned through a blob."""
    run("provision", house / "keys", "-o", folder / "device.blob", "--format", "blob", "--key", key)
    return Sensor(parse_blob((folder / "device.blob").read_bytes(), PARMS))


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
def test_a_reading_goes_all_the_way(house: Path, tmp_path: Path, run: Run, key: str) -> None:
    sensor = sensor_of(house, tmp_path, run, key)
    (tmp_path / "frames.bin").write_bytes(getattr(sensor, key)(FEATURES[0]))
    own = ("--ledger", tmp_path / "ledger")
    output = run("adapt", house / "public", tmp_path / "frames.bin", "-o", tmp_path / "reading.ct", *own)
    assert f"Reading 0: {key}" in output
    run(
        "infer",
        "--feature-bound",
        16,
        house / "public",
        house / "model.json",
        tmp_path / "reading.ct",
        "-o",
        tmp_path / "score.ct",
    )
    found = json.loads(
        run("decrypt", house / "keys", tmp_path / "score.ct", "--model", house / "model.json", "--json")
    )
    plain = MODEL.scores(FEATURES[0])
    assert found["label"] == MODEL.labels[int(np.argmax(plain))]
    assert np.abs(np.array(list(found["scores"].values())) - plain).max() < 0.1


def test_many_readings_go_to_a_directory(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    stream = b"".join(sensor.symmetric(x) for x in FEATURES)
    (tmp_path / "a").write_bytes(stream[:50_000])
    (tmp_path / "b").write_bytes(stream[50_000:])
    own = ("--ledger", tmp_path / "ledger")
    run("adapt", house / "public", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "readings", *own)
    readings = sorted((tmp_path / "readings").iterdir())
    assert [path.name for path in readings] == ["reading0.ct", "reading1.ct"]
    run(
        "infer",
        "--feature-bound",
        16,
        house / "public",
        house / "model.json",
        *readings,
        "-o",
        tmp_path / "scores",
    )
    for x, name in zip(FEATURES, ("reading0.ct", "reading1.ct"), strict=True):
        output = run("decrypt", house / "keys", tmp_path / "scores" / name, "--count", "3", "--json")
        assert np.abs(np.array(json.loads(output)["values"]) - MODEL.scores(x)).max() < 0.1


def test_tables_are_for_people(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "frames.bin").write_bytes(sensor.symmetric([1.5, -2.0], SHAKE256))
    own = ("--ledger", tmp_path / "ledger")
    run("adapt", house / "public", tmp_path / "frames.bin", "-o", tmp_path / "reading.ct", "--seeded", *own)
    shown = re.findall(r"^\S \d +\S (\S+)", run("decrypt", house / "keys", tmp_path / "reading.ct"), re.M)
    assert np.abs(np.array(shown[:2], dtype=float) - [1.5, -2.0]).max() < 1e-3  # 28 sigma of 3.5e-5
    assert "imaginary" in run("decrypt", house / "keys", tmp_path / "reading.ct", "--complex")
    model = house / "model.json"
    run(
        "infer",
        "--feature-bound",
        16,
        house / "public",
        model,
        tmp_path / "reading.ct",
        "-o",
        tmp_path / "score.ct",
    )
    assert "highest" in run("decrypt", house / "keys", tmp_path / "score.ct", "--model", model)
    assert "seeded" in run("inspect", tmp_path / "reading.ct")


# --- help and usage -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(run: Run, command: str) -> None:
    output = run(command, "--help")
    assert f"ciphermote {command}" in output
    assert "In:" in output
    assert "Out:" in output


def test_the_form_of_a_model_is_shown_where_one_is_asked_for(run: Run) -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    for text in (run("infer", "--help"), readme):
        (found,) = re.findall(r'\{"format".*?\}', text, re.DOTALL)
        model = LinearModel.from_json(found)
        assert (model.classes, model.features, model.labels) == (2, 3, ("rest", "walk"))


def test_the_main_help_tells_the_way_and_names_every_command(run: Run) -> None:
    output = run("--help")
    assert "secret.key never leaves" in output
    assert all(command in output for command in COMMANDS)


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == f"ciphermote {__version__}\n"


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "ciphermote", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == f"ciphermote {__version__}\n"


def test_new_keys_say_their_room_and_the_errors_of_a_reading_and_of_a_mean(run: Run, tmp_path: Path) -> None:
    options = ("--params", "n4096_q26x3_p27", "--largest", 80, "--summed", 50)
    said = " ".join(run("keygen", tmp_path / "keys", *options).split())
    found = re.search(r"sums of up to ([\d,]+) of them have room", said)
    assert found and int(found[1].replace(",", "")) >= 50
    owner = Owner.load(tmp_path / "keys")
    for key, name in ((owner.public_key, "public"), (owner.secret_key, "secret")):
        pattern = rf"the {name} key one reading is right within (\S+), and a mean of 50 within (\S+)\."
        reading, mean = (float(number) for number in re.findall(pattern, said)[0])
        values = np.linspace(-80, 80, 2048)
        off = owner.decrypt(encrypt(values, key)) - values
        assert mean < reading and reading / 8 < np.abs(off).max() < 2 * reading


def test_output_that_would_get_lost_is_refused() -> None:
    command = f"exec {sys.executable} -m ciphermote params 1>&-"
    found = subprocess.run(["sh", "-c", command], check=False, stderr=subprocess.PIPE, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("error: Standard output is closed")


def test_each_command_is_found_by_its_name() -> None:
    assert set(COMMANDS) <= {path.stem for path in Path(cli.__file__).parent.glob("*.py")}


@pytest.mark.parametrize(
    "arguments",
    [
        ["keygen"],
        ["nothing"],
        ["decrypt", "keys", "x.ct", "--count", "x"],
        ["decrypt", "keys", "x.ct", "--count", "-3"],
        ["infer", "keys", "model.json", "x.ct", "-o", "y.ct", "--workers", "0"],
        ["provision", "k"],
        ["advise", "--magnitude", "1", "--max-error", "1", "--key", "both"],
    ],
)
def test_a_wrong_command_line_ends_with_code_2(run: Run, arguments: list[str]) -> None:
    run(*arguments, code=2)


# --- files ----------------------------------------------------------------------------------------


def test_secret_files_are_private(house: Path, tmp_path: Path, run: Run) -> None:
    run("provision", house / "keys", "-o", tmp_path / "keys.h", "--key", "both")
    run("provision", house / "keys", "-o", tmp_path / "primes", "--format", "primes", "--key", "asymmetric")
    names = [house / "keys" / SECRET_FILE, tmp_path / "keys.h", tmp_path / "primes" / "device.blob"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in names)
    assert "cm_provisioned_public_key" in (tmp_path / "keys.h").read_text()
    assert sorted(p.name for p in (tmp_path / "primes").iterdir()) == [
        "device.blob",
        "prime0.blob",
        "prime1.blob",
        "prime2.blob",
    ]


def test_what_is_no_ordinary_file_is_never_replaced(house: Path, tmp_path: Path, run: Run) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "loose").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    special = [tmp_path / name for name in ("pipe", "link", "loose", "folder")]
    before = [path.lstat() for path in special]
    for path in (*special, "/dev/stdout", "/dev/null"):
        assert "not an ordinary file" in run("provision", house / "keys", "-o", path, code=1)
    after = [path.lstat() for path in special]
    assert [(s.st_ino, s.st_mode) for s in before] == [(s.st_ino, s.st_mode) for s in after]
    assert (tmp_path / "file").read_text() == "mine"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_command_replaces_files_of_its_own_kind_alone(house: Path, tmp_path: Path, run: Run) -> None:
    """Never keys, in whatever folder, nor a file that the user wrote."""
    sensor = sensor_of(house, tmp_path, run, "both")
    frames, reading, model = tmp_path / "frames.bin", tmp_path / "reading.ct", house / "model.json"
    frames.write_bytes(sensor.symmetric(FEATURES[0]))
    reading.write_bytes(adapt(sensor.symmetric(FEATURES[0]), PARMS, sensor.provisioned.key_id))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "other.json").write_text('{"mine": 1}')
    for name in ("secret.key", "public.key", "relin.keys", "galois.keys", "manifest.json"):
        (tmp_path / f"copy of {name}").write_bytes((house / "keys" / name).read_bytes())
    foreign = [path for path in contents(tmp_path) if path != reading]
    keys = [house / "keys" / name for name in ("secret.key", "manifest.json", "new.file")]
    commands: list[list[Any]] = [
        ["adapt", house / "public", frames, "--ledger", tmp_path / "readings.ledger", "-o"],
        ["infer", "--feature-bound", 16, house / "public", model, reading, "-o"],
        ["params", "--n", 4096, "--bits", "25,26,27", "--header"],
        ["params", "--n", 4096, "--bits", "25,26,27", "--output"],
        ["provision", house / "keys", "--force", "-o"],
    ]
    before = contents(tmp_path) | contents(house)
    for command in commands:
        for path in (*foreign, *keys):
            if command[0] == "provision" and path.name == "device.blob":
                continue
            sentence = run(*command, path, code=1)
            assert "which would replace it" in sentence or "would be among the keys" in sentence, sentence
    run("infer", "--feature-bound", 16, house / "public", model, reading, "-o", reading, code=1)
    run("infer", "--feature-bound", 16, house / "public", model, reading, "-o", tmp_path, code=1)
    (tmp_path / "readings.ledger").unlink()
    assert contents(tmp_path) | contents(house) == before
    for command in commands:
        output = tmp_path / f"own {command[0]} {command[-1]}"
        run(*command, output)
        run(*command, output, *(["--again"] if command[0] == "adapt" else []))


def test_a_devices_keys_are_replaced_on_request_alone(house: Path, tmp_path: Path, run: Run) -> None:
    both = ["provision", house / "keys", "--key", "both", "-o"]
    for output, form in (("keys.h", "header"), ("keys.blob", "blob"), ("folder", "primes")):
        command = [*both, tmp_path / output, "--format", form]
        run(*command)
        first = contents(tmp_path)
        assert "--force" in run(*command, code=1)
        assert contents(tmp_path) == first
        run(*command, "--force")
        assert contents(tmp_path) != first


def test_keys_and_their_public_part_want_two_folders(tmp_path: Path, run: Run) -> None:
    keys = tmp_path / "keys"
    assert "two directories" in run("keygen", keys, "--params", "n1024_q26", "--public-to", keys, code=1)
    assert not keys.exists()


def test_the_public_part_is_enough_for_the_engine_and_holds_no_secret(house: Path) -> None:
    assert not (house / "public" / SECRET_FILE).exists()
    assert (house / "public" / GALOIS_FILE).exists()


def test_a_note_warns_when_the_engine_is_given_the_secret(
    house: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "reading.ct").write_bytes(sensor.symmetric(FEATURES[0], SHAKE256, "seal"))
    for confined in ({"files"}, set()):
        monkeypatch.setattr(SealEngine, "confined", frozenset(confined))
        for keys in ("keys", "public"):
            output = run(
                *(
                    "infer",
                    "--feature-bound",
                    16,
                    house / keys,
                    house / "model.json",
                    tmp_path / "reading.ct",
                    "--bare",
                    *("--engine", "seal"),
                ),
                *("-o", tmp_path / "score.ct"),
            )
            assert ("holds the secret key" in output) == (keys == "keys")
            assert ("nothing keeps the engine's processes" in output) == (keys == "keys" and not confined)


def test_a_secret_key_of_seal_is_imported(tmp_path: Path, run: Run) -> None:
    owner = SealOwner(PARMS, tmp_path)
    (tmp_path / "seal.key").write_bytes(owner.save(owner.secret_key))
    run("keygen", tmp_path / "keys", "--import-secret", tmp_path / "seal.key", "--no-relin")
    (tmp_path / "x.ct").write_bytes(owner.encrypt([0.5, 0.25]))
    values = json.loads(run("decrypt", tmp_path / "keys", tmp_path / "x.ct", "--bare", "--json"))["values"]
    assert np.abs(np.array(values[:2]) - [0.5, 0.25]).max() < 1e-3


def test_a_set_of_ones_own_is_made_and_used(tmp_path: Path, run: Run) -> None:
    files = ["--header", tmp_path / "own.h", "--output", tmp_path / "own.json"]
    assert "own_set" in run("params", "--n", 4096, "--bits", "25,26,27", "--name", "own_set", *files)
    assert "const cm_params own_set" in (tmp_path / "own.h").read_text()
    run("keygen", tmp_path / "keys", "--params", tmp_path / "own.json")
    store = KeyStore.open(tmp_path / "keys")
    assert store.parameters.name == "own_set"
    primes = ",".join(map(str, store.parameters.primes))
    assert f"{store.parameters.id:08x}" in run("params", "--n", 4096, "--primes", primes)
    assert "own_set" in run("inspect", tmp_path / "own.json")


def test_a_set_that_c_cannot_name_is_refused(tmp_path: Path, run: Run) -> None:
    own = ["params", "--n", 4096, "--bits", "25,26,27", "--header", tmp_path / "own.h"]
    assert "'if' cannot stand in C, for it is a keyword" in run(*own, "--name", "if", code=1)
    assert not (tmp_path / "own.h").exists()
    run(*own[:-2], "--name", "mine", "--output", tmp_path / "own.json")
    text = (tmp_path / "own.json").read_text().replace('"mine"', '"while"')
    (tmp_path / "own.json").write_text(text)
    assert "'while' cannot stand in C" in run("inspect", tmp_path / "own.json", code=1)


def test_sets_that_the_2018_table_alone_holds_say_so_in_their_names(tmp_path: Path, run: Run) -> None:
    older = by_name("std2018_n4096_q27x3_p27")
    primes = ["--primes", ",".join(map(str, older.primes))]
    assert older.name in run("params", "--n", 4096, *primes, "--standard", 2018)
    assert "std2018_mine" in run("params", "--n", 4096, *primes, "--standard", 2018, "--name", "std2018_mine")
    assert "name it std2018_mine" in run(
        "params", "--n", 4096, *primes, "--standard", 2018, "--name", "mine", code=1
    )
    newer = ["--primes", ",".join(map(str, PARMS.primes))]
    output = run("params", "--n", 4096, *newer, "--standard", 2018)
    assert PARMS.name in output
    assert "2018" not in output


def test_the_built_in_sets_are_listed(run: Run) -> None:
    output = run("params")
    assert "n16384_q26x15_p27" in output
    assert "std2018_n1024_q27" in output


def test_keys_without_rotations_say_so_and_infer_names_the_cure(
    house: Path, tmp_path: Path, run: Run
) -> None:
    note = "enough for adding; scoring needs `ciphermote extend --model`"
    assert note in run("keygen", tmp_path / "keys", "--public-to", tmp_path / "public")
    assert note not in run("keygen", tmp_path / "rotating", "--rotations", "1")
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "reading.ct").write_bytes(sensor.symmetric(FEATURES[0], SHAKE256, "seal"))
    arguments = (
        "infer",
        "--feature-bound",
        16,
        tmp_path / "public",
        house / "model.json",
        tmp_path / "reading.ct",
        "--bare",
    )
    sentence = run(*arguments, "-o", tmp_path / "score.ct", code=1)
    assert "have their owner make it with `ciphermote extend --model` (or `--rotations`)" in sentence


def test_adapt_tells_what_it_wrote_and_where(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "one").write_bytes(sensor.symmetric(FEATURES[0]))
    (tmp_path / "two").write_bytes(sensor.symmetric(FEATURES[1]) + sensor.symmetric(FEATURES[1], SHAKE256))
    adapt_to = ("adapt", house / "public", "--seeded", "--ledger", tmp_path / "ledger", "-o")
    output = run(*adapt_to, tmp_path / "one.ct", tmp_path / "one")
    assert f"Written to {tmp_path / 'one.ct'}." in output
    assert "is a directory" not in output
    assert "--seeded changed nothing for reading 0:" in output
    output = run(*adapt_to, tmp_path / "two.ct", tmp_path / "two")
    assert f"Written to {tmp_path / 'two.ct' / 'reading2.ct'}." in output
    assert f"There are 2 readings, so they are in the directory {tmp_path / 'two.ct'}." in output
    assert "--seeded changed nothing for reading 1:" in output


def test_advice_is_given(run: Run) -> None:
    output = run(
        "advise", "--magnitude", 8, "--max-error", 0.01, "--slots", 1200, "--plain-products", 1, "--rotations"
    )
    assert "n4096_q26x3_p27" in output
    assert "128-bit security" in output


def test_advice_is_given_for_integers(run: Run) -> None:
    sums = ("advise", "--magnitude", 60, "--max-error", 0, "--slots", 24, "--summed", 100)
    sums = (*sums, "--key", "symmetric")
    output = run(*sums)
    assert re.search(r"n1024_q26\b.*\n.*12289 .*\n.* slots ", output)
    assert "65537" in run(*sums, "--plain-modulus", 65537, "--key", "asymmetric")
    assert "n4096_q26x3_p27" in run(*sums, "--rotations", "--largest-weight", 9, "--largest-result", 10000)


def test_everything_of_ours_can_be_inspected(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "both")
    (tmp_path / "frames.bin").write_bytes(
        sensor.symmetric(FEATURES[0]) + sensor.asymmetric(FEATURES[1])[:-10]
    )
    (tmp_path / "blob").write_bytes(to_blob(sensor.provisioned))
    frames = run("inspect", tmp_path / "frames.bin")
    assert "1 whole reading" in frames
    assert "fault" in frames
    key_id = f"{KeyStore.open(house / 'keys').key_id:016x}"
    for path, words in {
        house / "keys": ["keep this directory to yourself", key_id],
        house / "public": ["not here", key_id],
        house / "keys" / "secret.key": ["SECRET"],
        house / "keys" / "public.key": ["public key", key_id],
        house / "keys" / "relin.keys": ["relinearization"],
        house / "keys" / "galois.keys": ["Galois", "rotations", "1, 4"],
        house / "keys" / "parameters.seal": ["encryption parameters", "4096"],
        house / "keys" / "manifest.json": [key_id],
        house / "model.json": ["linear model", "rest, walk, run"],
        tmp_path / "blob": ["device secret, secret key, public key", key_id],
    }.items():
        output = run("inspect", path)
        assert all(word in output for word in words), (path, output)
    assert sensor.provisioned.device_secret.hex() not in run("inspect", tmp_path / "blob")


# --- what files say of themselves -----------------------------------------------------------------


@pytest.mark.parametrize("label", ["[/x]", "[bold]", "[link=x]y"])
def test_labels_are_shown_as_plain_text(house: Path, tmp_path: Path, run: Run, label: str) -> None:
    model = LinearModel(MODEL.weights, MODEL.bias, (label, "walk", "run"))
    model.save(tmp_path / "model.json")
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "reading.ct").write_bytes(sensor.symmetric(FEATURES[0], SHAKE256, "seal"))
    for output in (
        run("inspect", tmp_path / "model.json"),
        run("decrypt", house / "keys", tmp_path / "reading.ct", "--bare", "--model", tmp_path / "model.json"),
    ):
        assert label in output


@pytest.mark.parametrize("label", ["\x1b]0;title\x07", "\x9b31m", "\ud800", "a\nb", "re\u200bst", ""])
def test_labels_that_are_not_in_print_are_refused(tmp_path: Path, run: Run, label: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(json.loads(MODEL.to_json()) | {"labels": ["rest", label, "run"]}))
    refusal = run("inspect", path, code=1)
    assert "not printable" in refusal
    assert all(line.isprintable() for line in refusal.splitlines())


def test_a_manifests_words_are_shown_as_plain_text(tmp_path: Path, run: Run) -> None:
    run("keygen", tmp_path / "keys", "--params", "n1024_q26")
    path = tmp_path / "keys" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "created": "[/x]\x1b[2J"}))
    output = run("inspect", tmp_path / "keys")
    assert "[/x][2J" in output
    assert "\x1b" not in output


def test_names_with_control_characters_do_not_command_the_terminal(tmp_path: Path, run: Run) -> None:
    assert "\x1b" not in run("inspect", tmp_path / "\x1b[2Jgone", code=1)


def test_a_manifest_that_names_another_key_is_refused(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    (tmp_path / "frames.bin").write_bytes(sensor.symmetric(FEATURES[0]))
    shutil.copytree(house / "public", tmp_path / "public")
    path = tmp_path / "public" / "manifest.json"
    for key_id, words in (("0" * 16, "names another key"), ("f" * 17, "damaged")):
        path.write_text(json.dumps({**json.loads(path.read_text()), "key_id": key_id}))
        assert words in run("inspect", tmp_path / "public", code=1)
        assert words in run("inspect", path, code=1)
        assert words in run(
            "adapt", tmp_path / "public", tmp_path / "frames.bin", "-o", tmp_path / "x", code=1
        )


# --- mistakes -------------------------------------------------------------------------------------


def test_mistakes_end_in_one_sentence(house: Path, tmp_path: Path, run: Run) -> None:
    keys, model, nothing = house / "keys", house / "model.json", tmp_path / "nothing"
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    frames = split(sensor.symmetric(FEATURES[0]))
    (tmp_path / "short.bin").write_bytes(b"".join(frames[:-1]))
    (tmp_path / "text").write_text("hello")
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "list.json").write_text('{"format": ["ciphermote-keys"]}')
    fields = json.loads(model.read_text())
    fields["weights"][0][0] = 10**400
    (tmp_path / "large.json").write_text(json.dumps(fields))
    (tmp_path / "seal").write_bytes(b"\x5e\xa1" + bytes(200))
    out = ["-o", tmp_path / "out"]
    for arguments, words in (
        (["keygen", keys], "never overwritten"),
        (["keygen", tmp_path / "new", "--params", "n1"], "There is no parameter set"),
        (["keygen", tmp_path / "new", "--params", nothing.with_suffix(".json")], "cannot be read"),
        (["keygen", tmp_path / "new", "--params", tmp_path / "text.json"], "not JSON"),
        (["keygen", tmp_path / "new", "--params", tmp_path / "deep.json"], "not JSON"),
        (["keygen", tmp_path / "new", "--model", tmp_path / "deep.json"], "not JSON"),
        (["keygen", tmp_path / "new", "--model", tmp_path / "large.json"], "tables of numbers"),
        (["keygen", tmp_path / "new", "--rotations", "one"], "whole numbers"),
        (["keygen", tmp_path / "new", "--import-secret", tmp_path / "text"], "secret key cannot be used"),
        (["keygen", tmp_path / "new", "--public-to", keys], "already holds a secret key"),
        (["provision", nothing, *out], "holds no keys"),
        (["provision", keys, *out, "--format", "primes"], "Only a public key"),
        (["provision", keys, *out, "--stream-public-key"], "a device that has the public key: give"),
        (["provision", keys, "-o", nothing / "x"], "cannot be written"),
        (["provision", house / "public", *out], "stays with the owner"),
        (["params", "--bits", "26"], "begins with its ring degree"),
        (["params", "--name", "mine"], "begins with its ring degree"),
        (["params", "--standard", "2018"], "begins with its ring degree"),
        (["params", "--n", 4096, "--bits", "25,26,27", "--name", PARMS.name], "the name of a built-in set"),
        (["keygen", tmp_path / "new", "--model", model, "--params", "n1024_q26"], "no rotations"),
        (["params", "--n", 4096], "needs its primes"),
        (["params", "--n", 4096, "--bits", "27,27,27,27"], "2018"),
        (["params", "--n", 4096, "--bits", "27,27,27,27,27"], "bits"),
        (["adapt", keys, tmp_path / "short.bin", *out], "component 0, prime 2"),
        (["adapt", keys, tmp_path / "text", *out], "not a whole frame"),
        (["adapt", keys, nothing, *out], "cannot be read"),
        (["infer", "--feature-bound", 16, house / "public", nothing, tmp_path / "text", *out], "must end in"),
        (["infer", "--feature-bound", 16, house / "public", model, tmp_path / "text", *out], "SEAL"),
        (
            ["infer", "--feature-bound", 16, house / "public", model, tmp_path / "short.bin", *out],
            "with `ciphermote adapt` first",
        ),
        (["decrypt", keys, tmp_path / "short.bin"], "with `ciphermote adapt` first"),
        (["decrypt", keys, tmp_path / "short.bin", "--model", model, "--complex"], "leave --complex"),
        (["decrypt", house / "public", tmp_path / "text"], "stays with the owner"),
        (["decrypt", keys, tmp_path / "text"], "SEAL ciphertext"),
        (["inspect", tmp_path / "deep.json"], "one of Ciphermote's files"),
        (["inspect", tmp_path / "list.json"], "one of Ciphermote's files"),
        (["inspect", tmp_path / "text"], "one of Ciphermote's files"),
        (["inspect", tmp_path / "seal"], "damaged"),
        (["inspect", nothing], "cannot be read"),
        (["inspect", tmp_path], "holds no keys"),
        (["advise", "--magnitude", 1, "--max-error", -1], "--max-error is -1.0: give 0 for exact integers"),
        (["advise", "--magnitude", 1, "--max-error", 1e-30], "."),
        (["advise", "--magnitude", "inf", "--max-error", 1], "a finite number above 0"),
        (["advise", "--magnitude", "inf", "--max-error", 0], "asks for integers"),
        (["advise", "--magnitude", 2.5, "--max-error", 0], "asks for integers"),
        (["advise", "--magnitude", 2, "--max-error", 0, "--plain-products", 1], "is for CKKS"),
        (["advise", "--magnitude", 2, "--max-error", 1, "--largest-weight", 1], "is for BFV"),
        (["advise", "--magnitude", 2, "--max-error", 0, "--largest-weight", -1], "largest_weight"),
        (["advise", "--magnitude", 9000, "--max-error", 0, "--plain-modulus", 12289], "hold up to"),
        (["advise", "--magnitude", 60, "--max-error", 0.01, "--ciphertext-products", 8], "products"),
        (
            ["infer", "--feature-bound", 16, house / "public", model, tmp_path, *out],
            f"give its files, {tmp_path}/*.ct",
        ),
    ):
        sentence = run(*arguments, code=1)
        assert words in sentence, (arguments, sentence)
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "out").exists()


def test_no_file_is_read_further_than_such_a_file_can_be(house: Path, tmp_path: Path, run: Run) -> None:
    """A terabyte, of zeros after each beginning, or a device that never ends."""
    keys, out = house / "keys", ["-o", tmp_path / "out"]
    for name, head in (
        ("frames", b"CM"),
        ("seal", b"\x5e\xa1"),
        ("blob", b"CMPV"),
        ("x.json", b"{"),
        ("x", b""),
    ):
        path = tmp_path / name
        path.write_bytes(head)
        os.truncate(path, 1 << 40)
        assert "more than" in run("inspect", path, code=1) or name == "x"
    huge, model = tmp_path / "seal", tmp_path / "x.json"
    for arguments in (
        ["decrypt", keys, huge],
        ["decrypt", keys, huge, "--model", model],
        ["infer", "--feature-bound", 16, house / "public", model, huge, *out],
        ["infer", "--feature-bound", 16, house / "public", house / "model.json", huge, *out],
        ["adapt", house / "public", tmp_path / "frames", *out],
        ["keygen", tmp_path / "new", "--params", model],
        ["keygen", tmp_path / "new", "--model", model],
        ["keygen", tmp_path / "new", "--import-secret", huge],
    ):
        assert "more than" in run(*arguments, code=1)
    assert "one of Ciphermote's files" in run("inspect", "/dev/zero", code=1)
    assert "more than" in run("adapt", house / "public", "/dev/zero", *out, code=1)


def test_an_open_secret_is_refused_with_the_command_that_mends_it(tmp_path: Path, run: Run) -> None:
    run("keygen", tmp_path / "keys", "--params", "n1024_q26")
    (tmp_path / "keys" / SECRET_FILE).chmod(0o644)
    assert "chmod 600" in run("provision", tmp_path / "keys", "-o", tmp_path / "k.h", code=1)


def adapted_integers(house: Path, folder: Path, run: Run, encoding: int, plain_modulus: int) -> Path:
    """21, 22 and 23 in BFV under the secret key, as adapt writes them; encoding: 1 for slots, 2 for
    coefficients."""
    sensor = sensor_of(house, folder, run, "symmetric")
    secret = sensor.provisioned.secret_key
    assert secret is not None
    values = np.array([21, 22, 23], dtype=np.uint16)
    key = (secret.packed, sensor.provisioned.key_id, CHACHA20)
    form = (plain_modulus, encoding, 16, True, "frames")
    frames, ciphertext = folder / "frames.bin", folder / "integers.ct"
    frames.write_bytes(sensor.device.encrypt_bfv_symmetric(core_params(PARMS), *key, values, *form))
    options = ("--plain-modulus", plain_modulus, "--ledger", folder / "ledger")
    run("adapt", house / "keys", frames, "-o", ciphertext, *options)
    return ciphertext


@pytest.mark.parametrize(("encoding", "places"), [(1, "slots"), (2, "coefficients")])
def test_integers_are_shown_where_their_sender_put_them_and_not_elsewhere(
    house: Path, tmp_path: Path, run: Run, encoding: int, places: str
) -> None:
    ciphertext = adapted_integers(house, tmp_path, run, encoding, 40961)
    said = run("decrypt", house / "keys", ciphertext, code=1)
    assert "say --as slots or --as coefficients" in said
    shown = run("decrypt", house / "keys", ciphertext, "--as", places, "--count", 3, "--json")
    assert json.loads(shown)["values"] == [21, 22, 23]


def test_a_modulus_without_slots_leaves_no_choice(house: Path, tmp_path: Path, run: Run) -> None:
    ciphertext = adapted_integers(house, tmp_path, run, 2, 1000)
    assert json.loads(run("decrypt", house / "keys", ciphertext, "--json"))["values"][:4] == [21, 22, 23, 0]
    assert "has no slots" in run("decrypt", house / "keys", ciphertext, "--as", "slots", code=1)


def test_the_places_of_integers_say_nothing_of_real_numbers(house: Path, tmp_path: Path, run: Run) -> None:
    sensor = sensor_of(house, tmp_path, run, "symmetric")
    frames, ciphertext = tmp_path / "frames.bin", tmp_path / "reading.ct"
    frames.write_bytes(sensor.symmetric(FEATURES[0]))
    run("adapt", house / "keys", frames, "-o", ciphertext, "--ledger", tmp_path / "ledger")
    assert "is of CKKS" in run("decrypt", house / "keys", ciphertext, "--as", "slots", code=1)


def test_a_file_of_frames_declares_no_more_than_its_keys(tmp_path: Path, run: Run) -> None:
    """Frames that have lost their declaration are read as within the keys' bound."""
    keys, frames = tmp_path / "keys", tmp_path / "frames.bin"
    run("keygen", keys, "--params", "n2048_q26_p27")
    (tmp_path / "values.csv").write_text("480\n")
    given = ("encrypt", keys, tmp_path / "values.csv", "--largest", 500, "-o", frames)
    assert "extend KEYS --largest 500" in run(*given, code=1) and not frames.exists()
    run("extend", keys, "--largest", 500)
    run(*given)
    frames.write_bytes(frames.read_bytes()[48:])
    run("adapt", keys, frames, "-o", tmp_path / "reading.ct")
    assert "no |value| is beyond 500" in run("inspect", tmp_path / "reading.ct")


def tables_of(command: click.Command, path: str = "ciphermote") -> Iterator[tuple[str, click.Command]]:
    """Every command below this one."""
    commands = getattr(command, "commands", None)
    if commands:
        for name, each in commands.items():
            yield from tables_of(each, f"{path} {name}")
    else:
        yield path, command


def test_json_is_a_flag_and_means_one_thing() -> None:
    texts = set()
    for path, command in tables_of(typer.main.get_command(app)):
        for option in command.params:
            if "--json" in option.opts:
                assert isinstance(option, TyperOption) and option.is_flag, path
                texts.add(option.help)
        if path.endswith((" list", " inspect", " decrypt", " params", " watch")):
            assert any("--json" in option.opts for option in command.params), f"{path} prints no JSON"
    assert len(texts) == 1, texts
