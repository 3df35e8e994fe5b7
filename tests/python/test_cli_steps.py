# SPDX-License-Identifier: Apache-2.0
"""The command line beyond a device's files: what --help shows runs, numbers are encrypted, sums need no key,
keys are extended, and frames come in over a serial line.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import Owner, encrypt
from ciphermote.base.errors import ValueRangeError
from ciphermote.cli import app
from ciphermote.cli.numbers_in_files import parse_values
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats.labels import detach
from ciphermote.parameters import BFV
from seal_chains import SealUser, chain_of
from typer.testing import CliRunner

T = 40961
MODEL = LinearModel(np.array([[1, 2, 3], [-1, 0, 2]]), np.array([10, -10]), ("rest", "walk"))
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with this standard input; its output, after checking the exit code (0 unless told)."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: Any, code: int = 0, given: str = "") -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)
        assert result.exit_code == code, (result.output, result.exception)
        return result.stderr if code else result.stdout if "--json" in arguments else result.output

    return call


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with keys, their public part, and a model of integers."""
    folder = tmp_path_factory.mktemp("house")
    owner = Owner.generate(model=MODEL)
    owner.save(folder / "keys")
    owner.save_public(folder / "public")
    MODEL.save(folder / "model.json")
    return folder


def decrypted(run: Run, house: Path, path: Path, *options: Any) -> list[float]:
    found: list[float] = json.loads(run("decrypt", house / "keys", path, "--json", *options))["values"]
    return found


def adapted(run: Run, house: Path, frames: Path, output: Path, *options: Any) -> None:
    run("adapt", house / "public", frames, "-o", output, "--ledger", frames.with_suffix(".ledger"), *options)


# --- the help -------------------------------------------------------------------------------------


def test_the_steps_of_the_help_run_as_they_stand_in_a_terminal_of_80_columns(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("ciphermote")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "TERM": "dumb"}
    shown = subprocess.run([program, "--help"], env=environment, capture_output=True, text=True, check=True)
    steps = re.findall(r"^ +((?:ciphermote|printf) .*?) *$", shown.stdout, re.M)
    assert len(steps) == 5
    output = ""
    for step in steps:
        done = subprocess.run(
            ["bash", "-ec", step], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (step, done.stdout, done.stderr)
        output = done.stdout
    numbers = [float(value) for value in re.findall(r"^\S \d +\S (\S+)", output, re.M)]
    assert np.abs(np.array(numbers) - [4, 6]).max() < 0.1


EXAMPLES = (
    *("keygen", "extend", "provision", "params", "encrypt", "adapt", "add", "infer", "decrypt", "inspect"),
    *("advise", "rekey", "import", "export"),
)
"""The commands, in an order in which each finds what its example needs."""
SERVES = {"serve"}
"""Does not end: tests/gateway starts it."""


def test_the_examples_of_every_command_run_as_they_stand_in_a_terminal_of_80_columns(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one folder, one after another, with the model that the help of infer shows."""
    (model,) = re.findall(r'\{"format".*?\}', run("infer", "--help"), re.DOTALL)
    (tmp_path / "model.json").write_text(model)
    monkeypatch.setenv("COLUMNS", "80")
    program = Path(sys.executable).with_name("ciphermote")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    user = SealUser(chain_of("default4096"), tmp_path)
    for name, thing in (("secret", user.secret_key), ("parms", user.parameters)):
        (tmp_path / f"{name}.seal").write_bytes(user.save(thing))
    (tmp_path / "encrypted.seal").write_bytes(user.encrypted(np.ones(4), 2.0**30, seeded=True))
    for command in EXAMPLES:
        if command == "rekey":
            device = Owner.load(tmp_path / "keys").device_keys()
            (tmp_path / "device7.rekey").write_bytes(device.rekey_key)
            (tmp_path / "device7.bin").write_bytes(encrypt([1.0, 2.0], device.secret_key).to_frames())
        shown = re.sub(r" \\\s*\n +", " ", run(command, "--help"))
        examples = re.findall(rf"^ +((?:.* \| )?ciphermote {command} .*?) *$", shown, re.M)
        assert examples, command
        for example in examples:
            if "/dev/ttyUSB0" in example:
                continue  # a port has a test of its own
            done = subprocess.run(
                ["bash", "-ec", example],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, (example, done.stdout, done.stderr)
        if command == "adapt":
            (tmp_path / "readings").mkdir()
            (tmp_path / "readings/reading.ct").write_bytes((tmp_path / "reading.ct").read_bytes())
    assert {*EXAMPLES, *SERVES} == {
        command.name or command.callback.__name__ for command in app.registered_commands
    }


# --- encrypt and add ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
def test_numbers_are_encrypted_and_added_without_a_key(
    house: Path, tmp_path: Path, run: Run, key: str
) -> None:
    keys = house / ("keys" if key == "symmetric" else "public")
    (tmp_path / "values.csv").write_text("21.4,-27\n20.9,-26.5\n")
    run("encrypt", keys, tmp_path / "values.csv", "--rows", "--key", key, "-o", tmp_path / "frames.bin")
    adapted(run, house, tmp_path / "frames.bin", tmp_path / "readings")
    readings = sorted((tmp_path / "readings").iterdir())
    assert len(readings) == 2
    said = run("add", *readings, "-o", tmp_path / "total.ct")
    assert "sum of 2" in said
    found = decrypted(run, house, tmp_path / "total.ct", "--count", 2)
    assert np.abs(np.array(found) - [42.3, -53.5]).max() < 0.1


@pytest.mark.parametrize("places", ["slots", "coefficients"])
def test_integers_go_all_the_way(house: Path, tmp_path: Path, run: Run, places: str) -> None:
    modulus = ("--plain-modulus", T)
    for name in "ab":
        frames = tmp_path / f"{name}.bin"
        run("encrypt", house / "public", "-", *modulus, "--as", places, "-o", frames, given="5 -7 0\n")
        adapted(run, house, frames, tmp_path / f"{name}.ct", *modulus)
    run("add", tmp_path / "a.ct", tmp_path / "b.ct", "-o", tmp_path / "total.ct")
    options = ("--as", places, "--count", 3)
    assert decrypted(run, house, tmp_path / "total.ct", *options, "--signed") == [10, -14, 0]
    assert decrypted(run, house, tmp_path / "total.ct", *options, "--unsigned") == [10, T - 14, 0]
    assert decrypted(run, house, tmp_path / "total.ct", *options) == [10, -14, 0]


def test_a_model_scores_integers(house: Path, tmp_path: Path, run: Run) -> None:
    frames, reading, score = (tmp_path / name for name in ("frames.bin", "reading.ct", "score.ct"))
    run("encrypt", house / "public", "-", "--plain-modulus", T, "-o", frames, given="5 -7 9\n")
    adapted(run, house, frames, reading, "--plain-modulus", T)
    model = house / "model.json"
    said = run("infer", house / "public", model, reading, "-o", score, "--feature-bound", 0, code=1)
    assert "--feature-bound" in said
    run("infer", house / "public", model, reading, "-o", score)
    found = json.loads(run("decrypt", house / "keys", score, "--model", model, "--json"))
    assert found["scores"] == dict(zip(MODEL.labels, MODEL.scores([5, -7, 9]).tolist(), strict=True))


def test_mistakes_of_encrypt_and_add_are_one_sentence_each(house: Path, tmp_path: Path, run: Run) -> None:
    frames, text, bare = (tmp_path / name for name in ("frames.bin", "text", "bare.ct"))
    text.write_text("time,value\n1,2\n")
    owner = Owner.load(house / "keys")
    (tmp_path / "other.bin").write_bytes(encrypt([1.0], owner.public_key).to_frames())
    adapted(run, house, tmp_path / "other.bin", tmp_path / "reading.ct")
    (tmp_path / "bfv.bin").write_bytes(encrypt([1], owner.public_key, scheme=BFV(40961)).to_frames())
    adapted(run, house, tmp_path / "bfv.bin", tmp_path / "bfv.ct", "--plain-modulus", 40961)
    bare.write_bytes(detach((tmp_path / "reading.ct").read_bytes())[0])
    public = house / "public"
    for arguments, words in (
        (["encrypt", public, text, "-o", frames], "'time' (line 1, column 1) is not a number"),
        (["encrypt", public, tmp_path / "none", "-o", frames], "cannot be read"),
        (["encrypt", public, "-", "-o", frames], "no numbers"),
        (["encrypt", public, "-", "--key", "symmetric", "-o", frames], "stays with the owner"),
        (["encrypt", public, "-", "-o", house / "model.json"], "is not a file of frames"),
        (["add", tmp_path / "other.bin", "-o", frames], "with `ciphermote adapt` first"),
        (["add", bare, "-o", frames], "and not a key, name it (--params)"),
        (["add", bare, "-o", frames, "--params", "n4096_q26x3_p27"], "(--bare)"),
        (["add", tmp_path / "reading.ct", "-o", tmp_path / "reading.ct"], "would replace"),
        (["add", tmp_path / "reading.ct", tmp_path / "bfv.ct", "-o", frames], "one of CKKS is wanted"),
        (
            ["add", tmp_path / "bfv.ct", tmp_path / "reading.ct", "-o", frames],
            "CKKS's, and one of BFV modulo 40961 is wanted",
        ),
        (["extend", house / "keys"], "Nothing is asked for"),
        (["extend", public, "--rotations", "1"], "stays with the owner"),
        (["adapt", public, "-o", frames], "or the --port"),
        (["adapt", public, text, "--port", "/dev/null", "-o", frames], "or the --port"),
        (["adapt", public, "--port", tmp_path / "none", "-o", frames], "check its name"),
    ):
        sentence = run(*arguments, code=1)
        assert words in sentence, (arguments, sentence)
        assert re.fullmatch(r"error: [^\n]+[.)]\n", sentence), sentence
    assert not frames.exists()
    run("add", bare, bare, "-o", frames, "--params", "n4096_q26x3_p27", "--bare", "--repeated")


# --- keys -----------------------------------------------------------------------------------------


def test_keys_for_a_further_model_leave_devices_as_they_are(tmp_path: Path, house: Path, run: Run) -> None:
    run("keygen", tmp_path / "keys")
    keys, frames, reading, score = (tmp_path / name for name in ("keys", "frames", "reading.ct", "score.ct"))
    run("encrypt", keys, "-", "-o", frames, given="5 -7 9")
    run("adapt", keys, frames, "-o", reading)
    model = house / "model.json"
    assert "ciphermote extend --model" in run(
        "infer", "--feature-bound", 16, keys, model, reading, "-o", score, code=1
    )
    secret = (keys / "secret.key").read_bytes()
    assert "Devices need no change" in run(
        "extend", keys, "--model", model, "--public-to", tmp_path / "public"
    )
    said = run("extend", keys, "--summed", 900)
    assert "provision them anew" in said and "no change" not in said
    assert (keys / "secret.key").read_bytes() == secret
    run("infer", "--feature-bound", 16, tmp_path / "public", model, reading, "-o", score)
    found = json.loads(run("decrypt", keys, score, "--model", model, "--json"))["scores"]
    # Under the public key tails are exponential.
    assert np.abs(np.array(list(found.values())) - MODEL.scores([5, -7, 9])).max() < 0.1


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1,2\n3,4\n", "1  2 \n3\t4\n\n", "1,2\r\n3 ,4\r\n", "1, 2\n3, 4"])
def test_numbers_in_text_are_read_with_any_separator(text: str) -> None:
    lines = parse_values(text.encode())
    assert [line.tolist() for line in lines] == [[1, 2], [3, 4]]
    assert all(line.dtype == np.int64 for line in lines)
    assert [row.tolist() for row in parse_values(text.encode(), rows=True)] == [[1, 2], [3, 4]]


def test_numbers_in_npy_files_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.5, 2], [3, 4]]))
    content = (tmp_path / "x.npy").read_bytes()
    assert [row.tolist() for row in parse_values(content, rows=True)] == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("bad", [b"", b" \n", b"1,x", b"\xff", b"\x93NUMPY\x01\x00", b"1,2,0x3"])
def test_what_is_no_number_is_refused(bad: bytes) -> None:
    with pytest.raises(ValueRangeError):
        parse_values(bad)


def test_a_shape_that_the_bytes_do_not_fill_allocates_nothing() -> None:
    content = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 20)}
    np.lib.format.write_array_header_1_0(content, shape)
    with pytest.raises(ValueRangeError, match="not float64 of shape"):
        parse_values(content.getvalue() + bytes(8))


def test_objects_in_npy_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueRangeError):
        parse_values((tmp_path / "x.npy").read_bytes())


# --- a serial port --------------------------------------------------------------------------------


@pytest.fixture
def serial_line() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the device's end, and the name of the host's."""
    import tty

    device, host = os.openpty()
    tty.setraw(host)
    yield device, os.ttyname(host)
    os.close(device)
    os.close(host)


def test_readings_come_in_over_a_serial_port(
    house: Path, tmp_path: Path, run: Run, serial_line: tuple[int, str]
) -> None:
    device, port = serial_line
    key = Owner.load(house / "keys").public_key
    stream = b"".join(b"boot 1.0\r\n" + encrypt([value], key).to_frames() for value in (1.5, 2.5, 3.5))
    stop = threading.Event()
    os.set_blocking(device, False)

    def send() -> None:
        """Send repeatedly, because bytes sent before the port is open are lost."""
        at = 0
        while not stop.is_set():
            if select.select([], [device], [], 0.1)[1]:
                with contextlib.suppress(BlockingIOError):
                    at = (at + os.write(device, stream[at : at + 1000])) % len(stream)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        output = run(
            *("adapt", house / "public", "--port", port, "--baud", 115200, "--readings", 2),
            *("-o", tmp_path / "readings", "--ledger", tmp_path / "ledger"),
        )
    finally:
        stop.set()
        sender.join()  # or it may write into a file of the next test that gets the device's number
    assert "note:" in output
    found = sorted((tmp_path / "readings").iterdir())
    values = [decrypted(run, house, path, "--count", 1)[0] for path in found]
    assert len({round(value, 1) for value in values} & {1.5, 2.5, 3.5}) == 2


def test_a_line_that_breaks_is_one_sentence(house: Path, tmp_path: Path, run: Run) -> None:
    import tty

    device, host = os.openpty()
    tty.setraw(host)
    port = os.ttyname(host)
    threading.Timer(0.5, lambda: (os.close(host), os.close(device))).start()
    said = run("adapt", house / "public", "--port", port, "-o", tmp_path / "x.ct", code=1)
    assert "cannot be used at 115200 baud" in said
    assert not (tmp_path / "x.ct").exists()


def test_without_pyserial_the_sentence_says_how_to_get_it(
    house: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    said = run("adapt", house / "public", "--port", "/dev/ttyUSB0", "-o", tmp_path / "x.ct", code=1)
    assert "pip install '.[serial]'" in said
