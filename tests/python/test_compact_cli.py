# SPDX-License-Identifier: Apache-2.0
"""`ciphermote compact`: its help runs as it stands, and mistakes are one sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ciphermote.cli import app
from ciphermote.cli.compact import compact
from typer.testing import CliRunner

Run = Callable[..., str]
MODEL = json.dumps(
    {
        "format": "ciphermote-linear-model",
        "version": 1,
        "labels": ["rest", "walk"],
        "weights": [[1, -2, 3], [0.3, 0.1, -0.7]],
        "bias": [5, 0.5],
    }
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; its output, or the sentence of its error."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: Any, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["compact", *(str(argument) for argument in arguments)])
        assert result.exit_code == code, (result.output, result.exception)
        if code == 1:
            errors = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
            assert result.stdout == "" and len(errors) == 1
            assert re.fullmatch(r"error: [^\n]+[.)]", errors[0]), errors
        return result.stderr if code else result.output

    return call


@pytest.fixture
def house(tmp_path: Path, run: Run) -> Path:
    """A folder with a fleet of set b, devices 7 and 8, a gateway's keys, and a window of each."""
    keys = tmp_path / "fleet.key"
    said = run("keygen", keys, "--set", "b")
    assert "owner attach" in said and "compact enroll" in said, "with a gateway, and without one"
    for device in (7, 8):
        run("enroll", keys, device, "-o", tmp_path / f"{device}.h")
    run("gateway", keys, "-o", tmp_path / "gateway.key")
    packets = tmp_path / "packets.txt"
    run("encrypt", keys, 7, 3, 1000, 0, 1, 2, 3, 4, 5, "-o", packets)
    run("encrypt", keys, 8, 4, 23, 1, 1, 1, 1, 1, 1, "-o", packets, "--append")
    return tmp_path


def values(run: Run, house: Path, name: str = "total.sum") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("decrypt", house / "fleet.key", house / name, "--json"))
    return found


def add_up(run: Run, house: Path, *options: Any, code: int = 0) -> str:
    return run(
        *("sum", house / "gateway.key", house / "packets.txt", "-o", house / "total.sum"),
        *("--positions", "0-7", *options),
        code=code,
    )


def _terminal(step: str, folder: Path) -> str:
    program = Path(sys.executable).with_name("ciphermote")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.run(
        ["bash", "-ec", step], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (step, done.stdout, done.stderr)
    return done.stdout


def test_the_steps_and_examples_of_the_help_run_as_they_stand_in_80_columns(tmp_path: Path) -> None:
    shown = _terminal("ciphermote compact --help", tmp_path)
    steps = re.findall(r"^ +(ciphermote compact \w+ .*?) *$", shown, re.M)
    assert len(steps) == 8
    output = ""
    for step in steps:
        output = _terminal(step, tmp_path)
    assert re.findall(r"^\S (\d) +\S (\d+)", output, re.M)[:3] == [("0", "7"), ("1", "1023"), ("2", "1")]
    (tmp_path / "device7.h").unlink()
    (tmp_path / "fleet.key").rename(tmp_path / "first.key")
    commands = {info.name or info.callback.__name__ for info in compact.registered_commands if info.callback}
    (tmp_path / "model.json").write_text(MODEL)
    order = ("keygen", "enroll", "gateway", "encrypt", "sum", "score", "decrypt", "adapt", "advise")
    assert commands == set(order)
    for command in order:
        if command == "sum":  # by its own example alone, device 8 is not enrolled
            (tmp_path / "first.key").replace(tmp_path / "fleet.key")
            _terminal("ciphermote compact gateway fleet.key -o gateway.key", tmp_path)
            for step in steps[4:6]:
                _terminal(step, tmp_path)
        shown = re.sub(r" \\\s*\n +", " ", _terminal(f"ciphermote compact {command} --help", tmp_path))
        examples = re.findall(rf"^ +(ciphermote compact {command} .*?) *$", shown, re.M)
        examples = [example for example in examples if "[OPTIONS]" not in example]
        assert examples, command
        for example in examples:
            _terminal(example, tmp_path)


def test_sums_and_differences(house: Path, run: Run) -> None:
    assert "2 windows of 2 devices added up" in add_up(run, house)
    found = values(run, house)
    assert list(found["values"].values()) == [7, 1023, 1, 2, 3, 4, 5, 6]
    assert found["contributors"] == [[7, 1, 0, 1], [8, 1, 0, 1]]
    add_up(run, house, "--weight", "8=-1", "--cut")
    assert list(values(run, house)["values"].values()) == [-1, 977, -1, 0, 1, 2, 3, 4]


def test_scores_of_each_window(house: Path, run: Run) -> None:
    (house / "model.json").write_text(MODEL)
    score = (
        "score",
        house / "gateway.key",
        house / "model.json",
        house / "packets.txt",
        "-o",
        house / "scores",
    )
    run("encrypt", house / "fleet.key", 7, 3, 1000, 0, "-o", house / "packets.txt")
    run("encrypt", house / "fleet.key", 8, 4, 23, 1, "-o", house / "packets.txt", "--append")
    assert "2 windows of 2 devices scored" in run(*score, "--positions", "0-2")
    decrypt = ("decrypt", house / "fleet.key", house / "scores", "--model", house / "model.json")
    found = json.loads(run(*decrypt, "--json"))
    assert found["contributors"] == [[7, 1, 16, 1], [8, 1, 16, 1]] and found["labels"] == ["rest", "walk"]
    assert [row[0] for row in found["scores"]] == [3 - 2000 + 5, 4 - 46 + 3 + 5]
    walk = [0.3 * 3 + 100 + 0.5, 1.2 + 2.3 - 0.7 + 0.5]
    off = [abs(row[1] - wanted) for row, wanted in zip(found["scores"], walk, strict=True)]
    assert found["errors"][0] == 0 < max(off) <= found["errors"][1] < 4
    shown = run(*decrypt)
    inspected = CliRunner().invoke(app, ["inspect", str(house / "scores")]).output
    assert "encrypted scores of compact windows" in inspected
    assert "exact" in shown and "-1992" in shown
    (house / "list.json").write_text(json.dumps(found))
    run(*decrypt, "--contributors", house / "list.json")
    (house / "list.json").write_text(json.dumps([[7, 1, 16, 1]]))
    assert "not those" in run(*decrypt, "--contributors", house / "list.json", code=1)
    assert "name the model's file (--model)" in run(*decrypt[:3], code=1)
    assert "takes 3 features and windows have 2 values" in run(*score, "--positions", "0-1", code=1)
    assert "(--weight-bits)" in run(*score, "--positions", "0-2", "--weight-bits", 1, code=1)
    run("sum", house / "gateway.key", house / "packets.txt", "-o", house / "total.sum", "--positions", "0-2")
    refused = run(*decrypt[:2], house / "total.sum", "--model", house / "model.json", code=1)
    assert "is a sum: leave it out" in refused


def test_each_file_says_what_it_is(house: Path, run: Run) -> None:
    add_up(run, house)
    for name, words in (
        ("fleet.key", "a compact fleet's keys: secret"),
        ("gateway.key", "a compact fleet's gateway keys"),
        ("total.sum", "an encrypted sum of compact windows"),
    ):
        shown = CliRunner().invoke(app, ["inspect", str(house / name)], env={"COLUMNS": "200"})
        assert shown.exit_code == 0 and words in shown.output, shown.output


def test_a_value_that_is_too_large_is_named(house: Path, run: Run) -> None:
    said = run("encrypt", house / "fleet.key", 7, 5, 5000, "-o", house / "more.txt", code=1)
    assert "Value 1, 5000, is above" in said


def test_the_owners_own_list_of_contributors_counts(house: Path, run: Run) -> None:
    add_up(run, house)
    known = house / "known.json"
    decrypt = ("decrypt", house / "fleet.key", house / "total.sum", "--contributors", known)
    known.write_text(run("decrypt", house / "fleet.key", house / "total.sum", "--json"))
    assert "1023" in run(*decrypt)
    known.write_text("[[8, 1, 0, 1], [7, 1, 0, 1]]")
    assert "1023" in run(*decrypt)
    for other in ("[[7, 1, 0, 1]]", "[[7, 1, 0, 1], [8, 1, 0, -1]]"):
        known.write_text(other)
        assert "give the list of the windows that were added" in run(*decrypt, code=1)
    for wrong in ("", "{}", "[7]", "[[7, 1, 0]]", "[[7, 1, 0, 1.0]]", '[["7", 1, 0, 1]]'):
        known.write_text(wrong)
        assert "lists no windows" in run(*decrypt, code=1)


def test_what_is_wrong_with_packets_is_named(house: Path, run: Run) -> None:
    packets = (house / "packets.txt").read_text().splitlines()
    assert len(packets) == 4
    damaged = packets[1][:-1] + ("0" if packets[1][-1] != "0" else "1")
    (house / "packets.txt").write_text("\n".join([packets[0], packets[0], damaged, *packets[2:], "00ff"]))
    said = add_up(run, house)
    for words in (
        "note: repeated: Device 7, window 0, positions 0-4",
        "note: damaged: Device 7, counter 0 (low half): the tag does not match",
        "note: damaged: Not a sound compact packet (2 bytes)",
        "note: lost: Device 7, window 0: positions 5-7 never came",
        "note: in all: 2 damaged, 1 lost, 1 repeated.",
        "1 window of 1 device added up",
    ):
        assert words in said, said
    assert values(run, house)["contributors"] == [[8, 1, 0, 1]]


def test_windows_are_remembered_between_sums(house: Path, run: Run) -> None:
    seen = house / "seen.json"
    add_up(run, house, "--seen", seen)
    said = add_up(run, house, "--seen", seen, code=1)
    assert "counts once" in said and "The sum is of no windows" in said
    run("encrypt", house / "fleet.key", 7, *range(8), "-o", house / "packets.txt", "--append")
    add_up(run, house, "--seen", seen)
    ((device, _, window, _),) = values(run, house)["contributors"]
    assert device == 7 and window > 0
    seen.write_text("{}")
    assert "holds no windows" in add_up(run, house, "--seen", seen, code=1)


def test_enrolling_again_shuts_the_old_device_out(house: Path, run: Run) -> None:
    assert "exists, and may be all there is" in run(
        "enroll", house / "fleet.key", 7, "-o", house / "7.h", code=1
    )
    said = run("enroll", house / "fleet.key", 7, "-o", house / "7.h", "--force", "--largest-value", 5)
    assert "epoch 2, values up to 5" in said
    run("gateway", house / "fleet.key", "-o", house / "gateway.key")
    assert "of epoch 1 and the device is in epoch 2" in add_up(run, house)
    too_large = run("encrypt", house / "fleet.key", 7, 6, "-o", house / "packets.txt", code=1)
    assert "above 5, the largest that the device is enrolled for" in too_large


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "7-3"), "--positions is '7-3'"),
        (("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "0-9"), "no windows"),
        (
            ("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "0-7", "--weight", "9=2"),
            "names device 9, which is not enrolled",
        ),
        (
            (
                *("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "0-7"),
                *("--weight", "8=-1", "--weight", "8=2"),
            ),
            "--weight names device 8 twice",
        ),
        (
            ("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "0-7", "--weight", "7"),
            "--weight is '7'",
        ),
        (
            ("sum", "gateway.key", "packets.txt", "-o", "x", "--positions", "0-7", "--weight", "7=80"),
            "tells 65473 values apart",
        ),
        (("sum", "gateway.key", "7.h", "-o", "x", "--positions", "0-7"), "is not a packet in hexadecimal"),
        (("sum", "fleet.key", "packets.txt", "-o", "x", "--positions", "0-7"), "The gateway's keys are not"),
        (("decrypt", "fleet.key", "packets.txt"), "The bytes are no compact sum"),
        (("decrypt", "gateway.key", "packets.txt"), "The owner's compact keys are not"),
        (("adapt", "packets.txt", "-o", "x"), "The bytes are no compact sum"),
        (("keygen", "fleet.key", "--set", "b"), "never overwritten"),
        (("gateway", "fleet.key", "-o", "packets.txt"), "is not a gateway's keys"),
        (("encrypt", "fleet.key", "9", "1", "-o", "x"), "Device 9 (epoch 0) is not enrolled"),
        (("advise", "--largest-value", "5000", "--windows", "2"), "No compact set takes values of 5000"),
        (("advise", "--largest-value", "4095", "--windows", "20000"), "No compact set adds up 20000"),
    ],
)
def test_mistakes_are_one_sentence(
    house: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(house)
    assert words in run(*arguments, code=1)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--largest-value", 409, "--windows", 10), "a10"),
        (("--largest-value", 4090, "--windows", 1), "a10"),
        (("--largest-value", 255, "--windows", 16), "a16"),
        (("--largest-value", 1000, "--windows", 64, "--values", 8), "b"),
        (("--largest-value", 4095, "--windows", 1000), "c"),
        (("--largest-value", 4095, "--windows", 10_000), "d"),
        (("--largest-value", 100, "--windows", 40, "--largest-weight", 25, "--values", 1500), "d"),
    ],
)
def test_the_adviser_proposes_the_shortest_packets(run: Run, options: tuple[object, ...], name: str) -> None:
    said = run("advise", *options)
    assert f"Use set {name}:" in said and f"--set {name}" in said


def test_the_general_adviser_names_the_lane_where_it_is_shorter(run: Run) -> None:
    def advise(*options: object) -> str:
        result = CliRunner().invoke(app, ["advise", "--max-error", "0", *map(str, options)])
        assert result.exit_code == 0, result.output
        return result.output

    for options, words, name in ((), "in 101 bytes a reading", "b"), (("--largest-weight", 2), "", "l"):
        said = advise("--magnitude", 60, "--slots", 24, "--summed", 100, *options)
        (command,) = re.findall(r"ciphermote (compact advise .*?) *$", said, re.M)
        assert words in said
        assert f"Use set {name}" in run(*command.split()[1:])
    assert "compact" not in advise("--magnitude", 60, "--slots", 24, "--summed", 100, "--rotations")
    assert "compact" not in advise("--magnitude", 5000, "--slots", 24, "--summed", 100)


def test_a_sum_becomes_seals(house: Path, run: Run) -> None:
    add_up(run, house)
    said = run("adapt", house / "total.sum", "-o", house / "total.ct", "--parameters", house / "b.seal")
    assert "BFV modulo 65473, set b" in said
    from ciphermote.formats.labels import detach

    assert detach((house / "total.ct").read_bytes())[1] is not None
