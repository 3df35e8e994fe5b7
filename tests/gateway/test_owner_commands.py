# SPDX-License-Identifier: Apache-2.0
"""The owner's commands against a running gateway: from attaching keys to numbers, tables and pictures."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.base.errors import (
    FrameError,
    GatewayError,
    KeyFileError,
    MismatchError,
    ParameterError,
    ValueRangeError,
)
from ciphermote.cli import app
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import B, L
from ciphermote.fleet import (
    Attachment,
    Computation,
    FleetDevice,
    GatewayClient,
    decrypt,
    enroll,
    fetch,
    read,
)
from ciphermote.fleet.attachments import load_keys
from ciphermote.fleet.reading import COLUMNS, rounded, windows_text
from ciphermote.fleet.results import wait
from gateway_support import Server
from owner_support import attached, opened, put
from typer.testing import CliRunner

Run = Callable[..., str]
SET = "n4096_q26x3_p27"
MODEL = LinearModel(np.array([[1, 2], [-1, 0.5]]), np.array([10, -10]), ("rest", "walk"))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments: Any, code: int = 0, notes: bool = False) -> str:
        """Run a command, and return its output; if it fails, or notes are requested, that on standard
        error."""
        result = CliRunner().invoke(app, ["owner", *(str(argument) for argument in arguments)])
        assert result.exit_code == code, (result.output, result.exception)
        return result.stderr if code or notes else result.stdout

    return call


def place(server: Server) -> tuple[Any, ...]:
    tls = server.data / "tls" / "ca.pem"
    token = server.data / "owner.token"
    return "--gateway", f"https://localhost:{server.port}", "--token", token, "--ca", tls


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("owner") / "keys"
    Owner.generate(SET, model=MODEL).save(path)
    return path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_from_keys_to_numbers(server: Server, keys: Path, tmp_path: Path, run: Run) -> None:
    fleet = ("--fleet", "rooms")
    said = " ".join(run("attach", keys, *place(server), *fleet).split())
    assert "sums of up to" in said
    for key in ("public", "secret"):
        assert f"Under the {key} key one reading is right within" in said
    assert said.count("and a mean of 1,000 within") == 2
    folder = keys.with_name("keys.fleets") / "rooms"
    assert mode(folder) == 0o700 and mode(folder / "attachment.json") == 0o600
    for number in (7, 8, 9):
        said = run("enroll", keys, number, "-o", tmp_path / f"d{number}.blob", *fleet)
        assert "epoch 1" in said
        assert {mode(tmp_path / f"d{number}.{end}") for end in ("blob", "json")} == {0o600}
        put(tmp_path, f"d{number}", [number, -number], [2 * number, 0.5])
    assert not list(folder.glob("devices/*.keys")), "the owner keeps no device's keys"
    connection = json.loads((tmp_path / "d7.json").read_text())
    assert connection["mqtt_user"] == "home.rooms.7"
    shown = json.loads(run("watch", keys, "--once", "--json", *fleet))
    assert (shown["devices"], shown["heard"], shown["windows"]) == (3, 3, 6)
    assert "3, of which 3" in run("watch", keys, "--once", *fleet)

    MODEL.save(tmp_path / "model.json")
    results = ("-o", tmp_path / "results", *fleet)
    run("compute", keys, "sum", "--per-device", 2, *results)
    run("compute", keys, "mean", "--devices", "8,9", *results)
    run("compute", keys, "variance", "--per-device", 2, *results)
    weights = ("--weight", "7=0.5", "--weight", "9=-2")
    run("compute", keys, "weighted-sum", *weights, "--bound", 10, *results)
    linear = ("--model", tmp_path / "model.json", "--bound", 10, "--devices", 7)
    run("compute", keys, "linear", *linear, *results)
    assert "Nothing new" in run("fetch", keys, *results)
    first = min((tmp_path / "results").glob("*.json"))
    was = first.read_text()
    fields = json.loads(was)
    fields["job"]["created"] -= 60  # as if the gateway had been restored, and given the number again
    first.write_text(json.dumps(fields))
    assert "is of another job" in run("fetch", keys, *results, code=1)
    first.write_text(was)

    options = ("--count", 2, "--json", "--csv", tmp_path / "all.csv")
    rows = json.loads(run("decrypt", keys, tmp_path / "results", *options))
    sent = np.array([[7, -7], [14, 0.5], [8, -8], [16, 0.5], [9, -9], [18, 0.5]])
    expected = {
        "sum": sent.sum(axis=0),
        "mean": [8.5, -8.5],
        "variance": sent.var(axis=0),
        "weighted-sum": [3.5 - 18, -3.5 + 18],
        "linear": MODEL.scores([7, -7]),
    }
    for kind, values in expected.items():
        found = [row for row in rows if row["kind"] == kind]
        assert len(found) == 2, kind
        for row, value in zip(found, values, strict=True):
            assert abs(row["value"] - value) < 2 * row["error"] < 1, (row, value)
            assert bool(row["assumes"]) == (kind in ("weighted-sum", "linear")), "a smaller bound"
    assert [row["column"] for row in rows if row["kind"] == "linear"] == ["rest", "walk"]
    with (tmp_path / "all.csv").open() as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == [row["value"] for row in rows]
    table = run("decrypt", keys, tmp_path / "results", "--count", 2)
    assert "variance" in table and "6 windows of 3 devices" in table
    part = min((tmp_path / "results").glob("*.part0.ct"), key=lambda path: path.stat().st_mtime)
    groups = part.parent.glob(part.name.replace("part0", "part*"))
    assert abs(sum(Owner.load(keys).decrypt(group.read_bytes())[0] for group in groups) - 72) < 0.1
    part.write_bytes(part.read_bytes()[:-1])
    assert "fetch the job again" in run("decrypt", keys, tmp_path / "results", code=1)


def interruptible() -> None:
    """Restore interrupts, which a process started in the background by a shell ignores, as do its
    children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_devices_are_watched_and_stopped(server: Server, keys: Path, tmp_path: Path, run: Run) -> None:
    fleet = ("--fleet", "watched")
    attachment = attached(server, keys, "watched")
    run("enroll", keys, 1, "-o", tmp_path / "d1.blob", *fleet)
    with attachment.client() as client:
        events = client.watch("watched")
        assert next(events).windows == 0
        put(tmp_path, "d1", [1.0])
        assert next(event.windows for event in events if event.windows) == 1
    program = (sys.executable, "-m", "ciphermote", "owner", "watch", str(keys), "--json", *fleet)
    with subprocess.Popen(program, stdout=subprocess.PIPE, preexec_fn=interruptible) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert lines[0]["windows"] == 1 and lines[1]["time"] > lines[0]["time"]
    assert "is quarantined" in run("device", "quarantine", keys, 1, *fleet)
    assert "quarantined" in run("device", "list", keys, *fleet)
    run("compute", keys, "sum", "-o", tmp_path / "results", *fleet)
    assert "0 of 0" in run("job", "list", keys, *fleet)
    assert "is active" in run("device", "activate", keys, 1, *fleet)
    job = json.loads(next((tmp_path / "results").glob("*.json")).read_text())["job"]["id"]
    assert "anew" in run("job", "replay", keys, job, *fleet)
    assert "done" in run("job", "cancel", keys, job, *fleet, code=1)
    assert "is revoked" in run("device", "revoke", keys, 1, *fleet)
    assert "revoked" in run("device", "list", keys, *fleet)
    with opened(tmp_path, "d1") as device:
        device.put([2.0])
        assert device.deliver() == 1


def test_the_steps_and_examples_of_the_help_run(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand in a terminal of 80 columns, but for the gateway's address, and watch's end."""
    for name, source in (("owner.token", "owner.token"), ("ca.pem", "tls/ca.pem")):
        (tmp_path / name).write_bytes((server.data / source).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")

    def call(command: str) -> str:
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, (command, result.output, result.exception)
        return result.stdout

    def steps(*command: str) -> list[str]:
        shown = re.sub(r" \\\s*\n +", " ", call(" ".join(("ciphermote owner", *command, "--help"))))
        return re.findall(r"^ +(ciphermote (?:owner|keygen) .*?) *$", shown, re.M)

    ran = 0
    call("ciphermote compact keygen fleet.key --set b")
    commands = ("attach", "watch", "retention", "compute", "stream add", "stream list", "stream end", "fetch")
    devices = tuple(f"device {verb}" for verb in ("list", "quarantine", "activate"))
    jobs = ("job list", "job replay")
    for command in ("", *commands, *jobs, "decrypt", *devices, "device revoke"):
        found = steps(*command.split())
        assert found, command
        for step in found:
            if command == "job replay":
                job = max(
                    json.loads(path.read_text())["job"]["id"] for path in Path("results").glob("*.json")
                )
                step = re.sub("1$", str(job), step)
            call(re.sub("watch keys$", "watch keys --once", step).replace("8443", str(server.port)))
            ran += 1
        if command == "":
            assert len(found) == 6
            call("ciphermote owner enroll keys 8 -o d8.blob")
            put(tmp_path, "d8", [20.5, 50.0])
    assert ran > 14


def test_a_stream_is_fetched_and_drawn(server: Server, keys: Path, tmp_path: Path, run: Run) -> None:
    fleet = ("--fleet", "streamed")
    run("attach", keys, *place(server), *fleet)
    run("enroll", keys, 1, "-o", tmp_path / "d1.blob", *fleet)
    start = time.time() // 1 - 4
    for second in (0, 1, 1):
        put(tmp_path, "d1", [second + 1.0], measured=start + second + 0.5)
    run("stream", "add", keys, "ticks", "sum", "--every", 1, "--from", start, *fleet)
    assert "ticks" in run("stream", "list", keys, *fleet)
    results = tmp_path / "results"
    for _ in range(100):
        run("fetch", keys, "--stream", "ticks", "-o", results, *fleet)
        if len(list(results.glob("*.json"))) >= 3:
            break
        time.sleep(0.1)
    before = len(list(results.glob("*.json")))
    run("stream", "end", keys, "ticks", *fleet)
    assert "ticks" not in run("stream", "list", keys, *fleet)
    number = max(int(path.stem.rpartition("-job")[2]) for path in results.glob("*.json"))
    run("job", "replay", keys, number, *fleet)
    time.sleep(1)
    again = ("-o", tmp_path / "again", *fleet)
    run("fetch", keys, "--stream", "ticks", *again)
    assert len(list((tmp_path / "again").glob("*.json"))) > before, "its jobs keep its name, replays too"
    assert "has no stream 'tocks'" in run("fetch", keys, "--stream", "tocks", *again, code=1)
    run("stream", "add", keys, "later", "sum", "--every", 1000, *fleet)
    assert "No job of stream later is done yet" in run("fetch", keys, "--stream", "later", *again)
    for picture in ("p.svg", "p.png"):
        drawn = run("decrypt", keys, results, "--count", 1, "--json", "--plot", tmp_path / picture)
        rows = json.loads(drawn)
        assert (tmp_path / picture).stat().st_size > 1000
    values = {row["begins"] - start: row["value"] for row in rows}
    assert abs(values[0] - 1) < 0.1 and abs(values[1] - 2) < 0.1, "one window of a device counts"


def test_what_does_not_count_is_said(server: Server, keys: Path, tmp_path: Path, run: Run) -> None:
    fleet = ("--fleet", "partial")
    attached(server, keys, "partial")
    for number in (7, 8):
        run("enroll", keys, number, "-o", tmp_path / f"d{number}.blob", *fleet)
        put(tmp_path, f"d{number}", [1.0], [2.0], [3.0])
    run("enroll", keys, 7, "-o", tmp_path / "e7.blob", "--again", *fleet)
    put(tmp_path, "e7", [4.0])

    def noted(*options: Any) -> str:
        return run("compute", keys, "sum", *options, "-o", tmp_path / "results", *fleet, notes=True)

    said = noted()
    assert "5 windows of 2 devices did not count, for at most 1 of a device counts (--per-device): " in said
    assert "device 7, windows 1-2; device 7 (epoch 2), window 0; device 8, windows 1-2." in said
    said = noted("--devices", 8, "--per-device", 2)
    assert "1 window of 1 device did not count" in said and "at most 2 of a device count" in said
    assert said.rstrip().endswith("device 8, window 2.")
    assert noted("--per-device", 4) == "", "all count"
    run("device", "quarantine", keys, 8, *fleet)
    said = noted("--per-device", 4)
    assert "for none counts of a device in quarantine: device 8, windows 0-2." in said
    with Attachment.load(keys, "partial").client() as client:
        job = client.add_job("partial", Computation("weighted-sum", weights={7: 2.0}, bound=9))
        wait(client, "partial", job, seconds=60)
        left_out = client.left_out("partial", job)
        assert (left_out.windows, left_out.devices) == (3, 1), "of devices that were asked for"
        put(tmp_path, "e7", [5.0])
        assert client.left_out("partial", job) == left_out, "what came later is late"


def test_results_over_no_window_are_explained_and_leave_files_that_later_ones_replace(
    server: Server, keys: Path, tmp_path: Path, run: Run
) -> None:
    fleet = ("--fleet", "empty")
    attached(server, keys, "empty")
    run("enroll", keys, 7, "-o", tmp_path / "d7.blob", *fleet)
    results, values, picture = tmp_path / "results", tmp_path / "r.csv", tmp_path / "p.svg"

    def computed() -> str:
        return run("compute", keys, "mean", "-o", results, *fleet, notes=True)

    def decrypted() -> str:
        return run("decrypt", keys, results, "--csv", values, "--plot", picture, notes=True)

    (first, second) = (
        re.findall(r"note: job (\d+): .*no window .*was complete", computed()) for _ in range(2)
    )
    assert first and second
    shutil.rmtree(results)
    said = run("fetch", keys, "-o", results, *fleet, notes=True)
    assert said.count("note:") == 1 and re.search(r"note: jobs \d+, \d+: ", said), said
    said = decrypted()
    assert "hold no window" in said and "no picture is drawn" in said and not picture.exists()
    with values.open() as file:
        reader = csv.DictReader(file)
        assert list(reader) == [] and list(reader.fieldnames or ()) == list(COLUMNS)
    put(tmp_path, "d7", [1.0])
    assert not re.search("no window .*was complete", computed())
    assert "the picture is in" in decrypted() and picture.exists()
    with values.open() as file:
        assert [float(row["windows"]) for row in csv.DictReader(file)] == [1.0] * 8


def test_tables_say_whose_times_they_show(server: Server, keys: Path, run: Run) -> None:
    fleet = ("--fleet", "timed")
    attached(server, keys, "timed")
    run("stream", "add", keys, "hourly", "sum", "--every", 3600, *fleet)
    for command in (
        ("job", "list", keys),
        ("stream", "list", keys),
        ("device", "list", keys),
        ("watch", keys, "--once"),
    ):
        assert "local time" in run(*command, *fleet), command


@pytest.mark.parametrize(
    ("windows", "total", "text"),
    [
        ([[7, 1, 4]], 1, "device 7, window 4"),
        (
            [[7, 1, 4], [7, 1, 5], [7, 1, 9], [7, 3, 0]],
            4,
            "device 7, windows 4-5, 9; device 7 (epoch 3), window 0",
        ),
        ([[1, 1, 2 * i] for i in range(8)], 8, "device 1, windows 0, 2, 4, 6, 8; and 3 more"),
        (
            [[d, 1, 0] for d in range(7)],
            2000,
            "device 0, window 0; device 1, window 0; device 2, window 0; device 3, window 0; "
            "device 4, window 0; and 1,995 more",
        ),
    ],
)
def test_windows_are_listed_in_short(windows: list[list[int]], total: int, text: str) -> None:
    assert windows_text(windows, total) == text


def test_results_over_all_windows_are_drawn_over_their_jobs(
    server: Server, keys: Path, tmp_path: Path, run: Run
) -> None:
    """Which have no time to be drawn at; 1970 is none."""
    fleet = ("--fleet", "timeless")
    attached(server, keys, "timeless")
    run("enroll", keys, 1, "-o", tmp_path / "d1.blob", *fleet)
    put(tmp_path, "d1", [1.0])
    for options in ((), ("--to", "2100-01-01")):
        run("compute", keys, "sum", *options, "-o", tmp_path / "results", *fleet)
    shown = run("decrypt", keys, tmp_path / "results", "--count", 1, "--plot", tmp_path / "p.svg")
    assert "before 2100-01-01" in shown and "1970" not in shown
    jobs = [json.loads(path.read_text())["job"]["id"] for path in (tmp_path / "results").glob("*.json")]
    texts = re.findall("<!-- (.*?) -->", (tmp_path / "p.svg").read_text())
    assert {"job", *map(str, jobs)} <= set(texts) and not any("1970" in text for text in texts), texts


def test_a_header_is_nothing_for_a_fleet_device(
    server: Server, keys: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the refusal advises makes a device that works."""
    small = tmp_path / "fleet.key"
    CompactKeys.generate(B).save(small)
    monkeypatch.chdir(tmp_path)
    for path, fleet, more in ((keys, "headers", {}), (small, "small-headers", {"positions": [(0, 1)]})):
        attached(server, path, fleet, **more)
        run("enroll", path, 7, "-o", f"{fleet}.h", "--connection", "device7.json", "--fleet", fleet)
        assert "written by `ciphermote owner enroll`" in (tmp_path / f"{fleet}.h").read_text()
        with pytest.raises(KeyFileError, match="is a C header") as caught:
            FleetDevice(f"{fleet}.state", f"{fleet}.h", "device7.json")
        (advised,) = re.findall("`ciphermote owner (.*)`", str(caught.value))
        run(*shlex.split(advised.replace("KEYS", str(path))), "--fleet", fleet)
        with FleetDevice(f"{fleet}.state", "device7.blob", "device7.json") as device:
            device.put([1])
            assert device.deliver(10) == 0, device.last_error
        for made in ("device7.blob", "device7.json"):
            Path(made).unlink()


def test_a_compact_fleet(server: Server, tmp_path: Path, run: Run) -> None:
    keys = tmp_path / "fleet.key"
    CompactKeys.generate(B).save(keys)
    assert "--values" in run("attach", keys, *place(server), "--fleet", "little", code=1)
    run("attach", keys, *place(server), "--fleet", "little", "--values", 3)
    for number in (1, 2):
        run("enroll", keys, number, "-o", tmp_path / f"d{number}.blob", "--largest-value", 100 * number)
        put(tmp_path, f"d{number}", [number, 0, 100])
    run("enroll", keys, 3, "-o", tmp_path / "d3.h")
    assert "cm_provisioned_compact_key" in (tmp_path / "d3.h").read_text()
    results = tmp_path / "results"
    run("compute", keys, "sum", "-o", results)
    run("compute", keys, "mean", "-o", results)
    run("compute", keys, "weighted-sum", "--weight", "1=-2", "--weight", "2=3", "-o", results)
    rows = json.loads(run("decrypt", keys, results, "--json"))
    kinds = ("sum", "mean", "weighted-sum")
    found = [[row["value"] for row in rows if row["kind"] == kind] for kind in kinds]
    assert found == [[3, 0, 200], [1.5, 0, 100], [4, 0, 100]]
    assert {row["error"] for row in rows} == {0}

    description = min(results.glob("*-job*.json"), key=lambda path: path.stat().st_mtime)
    fields = json.loads(description.read_text())
    fields["contributors"].pop()
    description.write_text(json.dumps(fields))
    assert "contributors" in run("decrypt", keys, description, code=1), "the list is checked"
    with FleetDevice(tmp_path / "d1.state", tmp_path / "d1.blob", tmp_path / "d1.json") as device:
        for values in ([1, 2], [1, 2, 101]):
            with pytest.raises(ValueRangeError, match=r"give as many|enrolled for"):
                device.put(values)
        assert device.waiting == 0


def test_scores_of_a_compact_fleet(server: Server, tmp_path: Path, run: Run) -> None:
    """Whole weights are exact, others as far off at most as is shown; the model is the one that was sent."""
    keys, results = tmp_path / "fleet.key", tmp_path / "results"
    CompactKeys.generate(L).save(keys)
    run("attach", keys, *place(server), "--fleet", "scored", "--values", 16)
    values = np.random.default_rng(6).integers(0, 101, (2, 16))
    for number in (1, 2):
        run("enroll", keys, number, "-o", tmp_path / f"d{number}.blob", "--largest-value", 100 * number)
        put(tmp_path, f"d{number}", values[number - 1])
    weights = np.array([[8, -8] * 8, [0.1, *range(15)]])
    model = LinearModel(weights, np.array([5, -0.5]), ("rest", "walk"))
    model.save(tmp_path / "model.json")
    linear = ("compute", keys, "linear", "--model", tmp_path / "model.json")
    assert "leave bound out" in run(*linear, "--bound", 50, code=1)
    run(*linear, "-o", results)
    rows = json.loads(run("decrypt", keys, results, "--json"))
    assert [(row["row"], row["column"]) for row in rows] == [
        (f"device {device}, window 0", label) for device in (1, 2) for label in model.labels
    ]
    wanted = model.scores(values).reshape(-1)
    assert [row["value"] for row in rows[::2]] == wanted[::2].tolist()
    assert [row["error"] for row in rows[::2]] == [0, 0]
    for row, score in zip(rows[1::2], wanted[1::2], strict=True):
        assert 0 < abs(row["value"] - score) <= row["error"] < 200
    (description,) = results.glob("*-job*.json")
    (part,) = results.glob("*.part0.ct")
    assert part.read_bytes()[:4] == b"CMCS"
    LinearModel(weights + 1, model.bias, model.labels).save(tmp_path / "other.json")
    assert "asked for" in run("decrypt", keys, description, "--model", tmp_path / "other.json", code=1)
    fields = json.loads(description.read_text())
    fields["contributors"].pop()
    description.write_text(json.dumps(fields))
    assert "not those that are expected" in run("decrypt", keys, description, code=1)
    LinearModel(np.ones((1, 15)), np.zeros(1)).save(tmp_path / "model.json")
    assert "takes 15 features" in run(*linear, code=1)


def test_integers_and_keys_of_devices_own(server: Server, tmp_path: Path, keys: Path, run: Run) -> None:
    options = ("--fleet", "own", "--plain-modulus", 65537, "--own-keys")
    run("attach", keys, *place(server), *options)
    fleet = ("--fleet", "own")
    for number in (1, 2):
        run("enroll", keys, number, "-o", tmp_path / f"d{number}.blob", *fleet)
        put(tmp_path, f"d{number}", np.array([number, -3]))
    secret = Owner.load(keys).secret_key.packed
    assert secret not in (tmp_path / "d1.blob").read_bytes(), "the device has a key of its own"
    run("compute", keys, "sum", "-o", tmp_path / "results", *fleet)
    options = ("--as", "slots", "--signed", "--count", 2, "--json")
    rows = json.loads(run("decrypt", keys, tmp_path / "results", *options))
    assert [(row["value"], row["error"]) for row in rows] == [(3, 0), (-6, 0)]
    assert "--as" in run("decrypt", keys, tmp_path / "results", code=1)


def test_what_is_wrong_is_said_in_one_sentence(server: Server, keys: Path, tmp_path: Path, run: Run) -> None:
    token = tmp_path / "token"
    token.write_text("cmt_0011223344556677_00")
    wrong = ("--gateway", f"https://localhost:{server.port}", "--token", token, "--fleet", "x")
    ca = ("--ca", server.data / "tls" / "ca.pem")
    for arguments, words in (
        ((*wrong, *ca), "unknown or revoked"),
        (wrong, "tls/ca.pem"),
        ((*wrong, "--ca", token), "no PEM certificate"),
        (("--gateway", "http://localhost", *wrong[2:]), "https://HOST"),
        (("--gateway", "https://localhost:1", *wrong[2:], *ca), "does not answer"),
        ((*wrong, *ca, "--values", 3), "--values is for compact"),
    ):
        said = run("attach", keys, *arguments, code=1)
        assert words in said and said.count("error:") == 1, said
    assert "not attached" in run("watch", keys, "--fleet", "x", code=1)
    model = tmp_path / "model.json"
    MODEL.save(model)
    attached(server, keys, "one")
    attached(server, keys, "two")
    assert "say which (--fleet)" in run("watch", keys, code=1)
    other = ("--fleet", "one", "--log2-scale", 20)
    assert "defined otherwise" in run("attach", keys, *place(server), *other, code=1)
    compute = ("compute", keys, "--fleet", "one")
    for arguments, words in (
        (("weighted-sum",), "weighted-sum needs --weight DEVICE=W."),
        (("sum", "--weight", "7=1"), "--weight is for weighted-sum alone"),
        (("linear",), "linear needs --model FILE."),
        (("mean", "--model", model), "--model is for linear alone"),
        (("sum", "--devices", 77), "Device 77 is not enrolled in fleet one"),
        (("sum", "--devices", "78,77,79"), "Device 77 and 2 more are not enrolled"),
        (("weighted-sum", "--weight", "7=1", "--bound", 1), "Device 7 is not enrolled"),
    ):
        assert words in run(*compute, *arguments, code=1), words
    stream = ("stream", "add", keys, "--every", 60, "--fleet", "one")
    assert "Device 77 is not enrolled" in run(*stream, "hourly", "sum", "--devices", 77, code=1)
    for name in ("Hourly", "-", "a_b", "a" * 41):
        assert "take 1 to 40 lowercase letters" in run(*stream, name, "sum", code=1)
    for folder in ("none", "sub/none"):
        blob = tmp_path / folder / "d.blob"
        assert f"{blob} cannot be written (No such file" in run(
            "enroll", keys, 1, "-o", blob, "--fleet", "one", code=1
        )
    said = run("compute", keys, "sum", "-o", tmp_path / "empty", "--fleet", "one")
    number = re.findall(r"-job(\d+)\.json", said)[0]
    assert f"job {number} holds no window." in run("decrypt", keys, tmp_path / "empty", notes=True)
    assert "no job 99" in run("fetch", keys, "--job", 99, "-o", tmp_path, "--fleet", "one", code=1)


def test_nothing_secret_leaves(server: Server, keys: Path, tmp_path: Path) -> None:
    attachment = attached(server, keys, "careful")
    secret = (keys / "secret.key").read_bytes()
    with attachment.client() as client:
        for kind in ("relin", "galois"):
            with pytest.raises(MismatchError, match="nothing else is sent"):
                client.put_keys("careful", kind, secret)  # type: ignore[arg-type]
        with pytest.raises(MismatchError, match="nothing else is sent"):
            client.put_rekey_key("careful", 1, secret)
        with pytest.raises(GatewayError) as caught:
            client.job("careful", 1)
        assert (caught.value.name, caught.value.http_status) == ("no-such-job", 404)
    with pytest.raises(ParameterError, match="give https"):
        GatewayClient("http://localhost", "cmt_0_0")
    enroll(attachment, 1, tmp_path / "d.blob", tmp_path / "d.json")
    with FleetDevice(tmp_path / "s", tmp_path / "d.blob", tmp_path / "d.json") as device:
        device.put([1.0])
        device.deliver(10)
        packed = Owner.load(keys).secret_key.packed
        blob = (tmp_path / "d.blob").read_bytes()
        drawn = blob[32:64]
    stored = [path.read_bytes() for path in server.data.rglob("*") if path.is_file()]
    assert len(stored) > 5
    assert not any(needle in data for data in stored for needle in (packed, drawn, secret[200:300]))


def test_results_of_other_keys_are_refused(server: Server, keys: Path, tmp_path: Path) -> None:
    attachment = attached(server, keys, "foreign")
    enroll(attachment, 1, tmp_path / "d.blob", tmp_path / "d.json")
    put(tmp_path, "d", [1.0])
    with attachment.client() as client:
        job = client.add_job("foreign", Computation("sum"))
        found = fetch(attachment, client, job, tmp_path)
        empty = fetch(attachment, client, client.add_job("foreign", Computation(), ends=1.0), tmp_path)
    Owner.generate(SET, relin=False).save(tmp_path / "other")
    with pytest.raises(MismatchError, match="other keys"):
        decrypt(found, load_keys(tmp_path / "other"))
    CompactKeys.generate(B).save(tmp_path / "fleet.key")
    with pytest.raises(MismatchError, match="other keys, compact ones"):
        decrypt(found, load_keys(tmp_path / "fleet.key"))
    assert decrypt(empty, load_keys(keys)) is None
    with pytest.raises(KeyFileError, match="describes no result"):
        read(tmp_path / "d.json")
    found.files[0].write_bytes(b"")
    with pytest.raises(FrameError, match="fetch the job again"):
        decrypt(found, load_keys(keys))
    os.chmod(attachment.folder / "attachment.json", 0o644)
    with pytest.raises(KeyFileError, match="open to others"):
        Attachment.load(keys, "foreign")


def test_what_a_hostile_device_sends_is_left_out_by_name(server: Server, tmp_path: Path, run: Run) -> None:
    """It has its keys, and none of the library's bounds."""
    keys, results = tmp_path / "fleet.key", tmp_path / "results"
    CompactKeys.generate(B).save(keys)
    run("attach", keys, *place(server), "--fleet", "poisoned", "--values", 1)
    for number in range(1, 5):
        blob = tmp_path / f"d{number}.blob"
        run("enroll", keys, number, "-o", blob, "--largest-value", 10)
        if number == 2:
            own = CompactKeys.load(blob)
            (enrolment,) = own.enrolments
            blob.write_bytes(replace(own, enrolments=(replace(enrolment, largest_value=4000),)).to_bytes())
        put(tmp_path, f"d{number}", [4000 if number == 2 else number])
    run("compute", keys, "mean", "-o", results / "mean")
    assert "3 windows of 3 devices" in run("decrypt", keys, results / "mean")
    (row,) = json.loads(run("decrypt", keys, results / "mean", "--json"))
    assert (row["left_out"], row["windows"], round(row["value"], 4)) == ("2", 3, 2.6667)
    notes = run("decrypt", keys, results / "mean", notes=True)
    assert "device 2 is left out, for what it sent is beyond what it is enrolled for." in notes
    assert "can have moved the sum by at most its largest value." in notes

    for _ in range(8):  # other groups each time: all alike once in 3^7
        run("compute", keys, "sum", "--groups", 2, "-o", results / "sums")
    found = json.loads(run("decrypt", keys, results / "sums", "--json"))
    assert {row["left_out"] for row in found} <= {"1 2", "2 3", "2 4"} and {r["windows"] for r in found} == {
        2
    }
    notes = run("decrypt", keys, results / "sums", notes=True)
    assert "are left out, for their sum is beyond what they are enrolled for, or decrypts to noise." in notes
    assert "left out of 8 results, which is all that leave any out: 2." in notes

    run("compute", keys, "sum", "--groups", 0, "-o", results / "whole")
    assert "all that its windows can come to" in run("decrypt", keys, results / "whole", code=1)
    asked = ("compute", keys, "weighted-sum", "--weight", "1=2", "--groups", 2)
    assert "Only sums and means are checked in groups" in run(*asked, code=1)


@pytest.mark.parametrize("filled", [2048, 64])
def test_errors_are_as_large_as_is_said(server: Server, keys: Path, tmp_path: Path, filled: int) -> None:
    """In all slots that are filled, of small numbers and large ones: what is off by more than its error is
    rare, and errors are not said to be larger than they are. They are the same however many are shown."""
    fleet = f"noisy-{filled}"
    attachment = attached(server, keys, fleet)
    enroll(attachment, 1, tmp_path / "d.blob", tmp_path / "d.json")
    generator = np.random.default_rng(7)
    for largest in (0.01, 50):
        values = generator.uniform(-largest, largest, (4, filled))
        begins = time.time() // 1 - 1000 + largest
        put(tmp_path, "d", *values, measured=begins)
        expected = {"sum": values.sum(axis=0), "mean": values.mean(axis=0), "variance": values.var(axis=0)}
        with attachment.client() as client:
            for kind, truth in expected.items():
                asked = Computation(kind, per_device=4)  # type: ignore[arg-type]
                job = client.add_job(fleet, asked, begins=begins - 0.001, ends=begins + 0.001)
                found = fetch(attachment, client, job, tmp_path)
                reading = decrypt(found, load_keys(keys), count=0)
                assert reading is not None and reading.windows == 4
                off = np.abs(reading.values[0, :filled] - truth) / reading.errors[0, :filled]
                rare = np.quantile(off, 0.999) < 1.2 and off.max() < 2
                assert rare and np.sqrt(np.mean(off**2)) > 0.1, (kind, largest, off.max())
                for count in (1, 8):
                    fewer = decrypt(found, load_keys(keys), count=count)
                    assert fewer is not None
                    np.testing.assert_array_equal(fewer.errors[0], reading.errors[0, :count])


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (21.437, 0.02, "21.44"),
        (1234.5, 30.0, "1230"),
        (3.0, 0.0, "3"),
        (1.5, 0.0, "1.5"),
        (0.001, 0.5, "0.0"),
        (-7.26, 1.0, "-7"),
        (-0.00001, 0.01, "0.00"),
    ],
)
def test_values_have_as_many_digits_as_they_can(value: float, error: float, shown: str) -> None:
    assert rounded(value, error) == shown
