# SPDX-License-Identifier: Apache-2.0
"""Readings are accepted once: replays are refused, and neither failures, crashes nor concurrency lose any."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote.base.errors import KeyFileError, ParameterError, ReplayError
from ciphermote.cli import app
from ciphermote.formats.frames import FrameSet, SetHeader, adapt
from ciphermote.formats.ledger import LEDGER_FILE, CounterLedger
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.provisioning import provision
from ciphermote.parameters import CKKS, by_name
from sensor import Sensor, split
from typer.testing import CliRunner

PARMS = by_name("n1024_q26")
Run = Callable[..., str]


def reading(counter: int, key_id: int = 1, value: int = 0) -> FrameSet:
    header = SetHeader(PARMS, CKKS, True, 2, 1, key_id, counter, 2.0**18, 0)
    return FrameSet(header, np.full((2, 1, PARMS.n), value, dtype=np.uint32))


def take(
    ledger: CounterLedger, *sets: FrameSet, device: str = "", again: bool = False, ahead: bool = False
) -> None:
    with ledger.taking(sets, device, again=again, ahead=ahead):
        pass


def count(ledger: CounterLedger) -> int:
    """Readings that it remembers."""
    return int(ledger._database.execute("SELECT count(*) FROM readings").fetchone()[0])


# --- the ledger -----------------------------------------------------------------------------------


def test_a_reading_that_came_before_is_refused() -> None:
    ledger = CounterLedger()
    for counter in (0, 5, 3, 1023):
        take(ledger, reading(counter))
    for counter in (0, 5, 3, 1023):
        with pytest.raises(ReplayError, match="was taken in before"):
            take(ledger, reading(counter))
    take(ledger, reading(5, key_id=2))
    take(ledger, reading(5, value=1), device="another")


def test_a_counter_that_comes_with_another_reading_is_refused_even_again() -> None:
    ledger = CounterLedger()
    take(ledger, reading(5))
    take(ledger, reading(5), again=True)
    for again in (False, True):
        with pytest.raises(ReplayError, match=r"Another reading 5 .* \(--device\)"):
            take(ledger, reading(5, value=1), again=again)


def test_one_devices_reading_is_not_taken_as_anothers() -> None:
    ledger = CounterLedger()
    take(ledger, reading(5), device="pump")
    for again in (False, True):
        with pytest.raises(ReplayError, match="was taken in before from device pump"):
            take(ledger, reading(5), device="valve", again=again)


def test_a_reading_too_old_to_tell_is_refused_and_the_ledger_stays_small() -> None:
    ledger = CounterLedger(window=10)
    for counter in range(100):
        take(ledger, reading(counter))
    assert count(ledger) == 10
    with pytest.raises(ReplayError, match="too old"):
        take(ledger, reading(89))
    with pytest.raises(ReplayError, match="was taken in before"):
        take(ledger, reading(90))


HOUR, DAY = 3_600 * 10**9, 86_400 * 10**9
NOW = 1_800_000_000 * 10**9


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """This computer's, in nanoseconds since 1970: the first element."""
    time = [NOW]
    monkeypatch.setattr("ciphermote.formats.ledger.time.time_ns", lambda: time[0])
    return time


def test_a_counter_far_ahead_is_held_back_and_locks_nobody_out(clock: list[int]) -> None:
    """A forged one near 2^64, or one of another numbering, would make all that follow too old."""
    ledger = CounterLedger()
    take(ledger, reading(5))
    for far in (5 + 2**31 + 1, 10**12, 2**64 - 1):
        with pytest.raises(ReplayError, match=r"held back.*\(--ahead\)"):
            take(ledger, reading(far))
    take(ledger, reading(5 + 2**31), reading(6 + 2**31))
    take(ledger, reading(10**12), ahead=True)
    take(ledger, reading(10**12 - 1))
    with pytest.raises(ReplayError, match="too old"):
        take(ledger, reading(7 + 2**31))


def test_the_first_counter_of_a_device_may_be_any(clock: list[int]) -> None:
    ledger = CounterLedger()
    take(ledger, reading(10**12))


@pytest.mark.parametrize("back", [10**3, HOUR, 6 * DAY])
def test_a_clock_that_was_set_back_locks_its_sender_out_of_nothing(clock: list[int], back: int) -> None:
    ledger = CounterLedger()
    before = [NOW - i for i in range(0, 3000, 2)]
    take(ledger, *map(reading, before))
    take(ledger, *(reading(counter - back - 1) for counter in before))
    for counter in (before[7], before[7] - back - 1):
        with pytest.raises(ReplayError, match="was taken in before"):
            take(ledger, reading(counter))


def test_a_clock_a_year_ahead_is_held_back_and_its_sender_goes_on_when_it_is_right(clock: list[int]) -> None:
    ledger = CounterLedger()
    with pytest.raises(ReplayError, match=r"365 days ahead of this computer's: it is held back"):
        take(ledger, reading(NOW + 365 * DAY))
    take(ledger, reading(NOW + HOUR))
    take(ledger, reading(NOW + 365 * DAY), ahead=True)
    take(ledger, reading(NOW))
    with pytest.raises(ReplayError, match="was taken in before"):
        take(ledger, reading(NOW + 365 * DAY), ahead=True)


def test_readings_by_the_clock_are_kept_for_a_week_and_forgotten_ones_stay_refused(clock: list[int]) -> None:
    ledger = CounterLedger()
    for day in range(30):
        clock[0] = NOW + day * DAY
        take(ledger, reading(clock[0]))
    assert count(ledger) == 7
    for clock[0] in (NOW + 29 * DAY, NOW + 28 * DAY):  # also if this computer's clock is set back
        take(ledger, reading(NOW + 28 * DAY + clock[0] % 1000 + 1), again=True)
        with pytest.raises(ReplayError, match="7 days or more behind the newest"):
            take(ledger, reading(NOW + 22 * DAY))


def test_readings_numbered_by_the_clock_and_by_a_counter_do_not_disturb_each_other(clock: list[int]) -> None:
    ledger = CounterLedger(window=10)
    for step in range(3):
        take(ledger, reading(step), reading(NOW + step))
    with pytest.raises(ReplayError, match="was taken in before"):
        take(ledger, reading(0))


VERSION_1 = """
PRAGMA application_id = 1129139268;
PRAGMA user_version = 1;
CREATE TABLE readings (
    key_id TEXT NOT NULL, device TEXT NOT NULL, counter TEXT NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (key_id, device, counter)
) WITHOUT ROWID;
CREATE INDEX readings_by_digest ON readings (digest);
"""


def test_a_ledger_of_version_1_is_taken_over_and_refuses_what_it_refused(
    tmp_path: Path, clock: list[int]
) -> None:
    path = tmp_path / "ledger"
    with sqlite3.connect(path) as database:
        database.executescript(VERSION_1)
        for device, counter in (("counts", 5000), ("clock", NOW), ("new", 7)):
            row = (f"{1:016x}", device, f"{counter:016x}", reading(counter).digest() + device.encode())
            database.execute("INSERT INTO readings VALUES (?, ?, ?, ?)", row)
    database.close()
    for _ in range(2):
        with CounterLedger(path) as ledger:
            for device, counter in (("counts", 3976), ("clock", NOW - 1024), ("clock", 3)):
                with pytest.raises(ReplayError, match="too old"):
                    take(ledger, reading(counter), device=device)
    with CounterLedger(path) as ledger:
        take(ledger, reading(3977), device="counts")
        take(ledger, reading(NOW - 1023), device="clock")
        take(ledger, reading(0), device="new")


def test_nothing_is_noted_if_what_is_made_of_it_fails(tmp_path: Path) -> None:
    with CounterLedger(tmp_path / "ledger") as ledger:
        with pytest.raises(OSError, match="disk full"), ledger.taking([reading(1), reading(2)]):
            raise OSError("disk full")
        assert count(ledger) == 0
        with pytest.raises(ReplayError), ledger.taking([reading(3), reading(3)]):
            pytest.fail("the block began")
        assert count(ledger) == 0
        take(ledger, reading(1), reading(2), reading(3))


def test_a_ledger_survives_a_restart(tmp_path: Path) -> None:
    with CounterLedger(tmp_path / "ledger") as ledger:
        take(ledger, reading(12), device="a")
    with CounterLedger(tmp_path / "ledger") as ledger:
        take(ledger, reading(11), device="a")
        with pytest.raises(ReplayError, match="was taken in before"):
            take(ledger, reading(12), device="a")
    assert (tmp_path / "ledger").stat().st_mode & 0o077 == 0


def test_damaged_ledgers_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with CounterLedger(path) as ledger:
        take(ledger, *map(reading, range(200)))
    good = path.read_bytes()
    other = tmp_path / "other"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE readings (a)")
    for content in (b"", b"hello", b"\0" * 5000, b"[]" * 100, other.read_bytes(), good[:100]):
        path.write_bytes(content)
        with pytest.raises(KeyFileError, match="damaged"), CounterLedger(path) as ledger:
            take(ledger, reading(7))
        assert path.read_bytes() == content
    path.write_bytes(good)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 3")
    with pytest.raises(KeyFileError, match="version 3"):
        CounterLedger(path)


@pytest.mark.parametrize("counter", ["'zz'", "x'ff'", "''"])
def test_a_ledger_whose_counters_are_no_numbers_is_damaged(tmp_path: Path, counter: str) -> None:
    path = tmp_path / "ledger"
    CounterLedger(path).close()
    with sqlite3.connect(path) as database:
        database.execute(f"INSERT INTO readings VALUES ('{1:016x}', '', {counter}, x'00')")
    with pytest.raises(KeyFileError, match="damaged"), CounterLedger(path) as ledger:
        take(ledger, reading(7))


def test_what_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="name another ledger"):
        CounterLedger(tmp_path / "nowhere" / "ledger")
    with pytest.raises(KeyFileError, match="cannot be used"):
        CounterLedger(tmp_path)
    with pytest.raises(ParameterError, match="window of 0"):
        CounterLedger(window=0)
    for name in ("../up", "a/b", "x" * 65, ".hidden", "a b"):
        with pytest.raises(ParameterError, match="letters, digits"):
            take(CounterLedger(), reading(1), device=name)


def test_a_busy_ledger_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ciphermote.formats.ledger._BUSY_SECONDS", 0.05)
    path = tmp_path / "ledger"
    with CounterLedger(path) as first, CounterLedger(path) as second:
        with (
            first.taking([reading(1)]),
            pytest.raises(KeyFileError, match=r"locked.*wait until it has ended") as busy,
        ):
            take(second, reading(2))
        assert "room" not in str(busy.value)
        take(second, reading(2))
        assert count(first) == 2


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("database is locked", "wait until it has ended"),
        ("database table is locked", "wait until it has ended"),
        ("database or disk is full", "make room on its disk"),
        ("unable to open database file", "you may read and write it"),
        ("disk I/O error", "name another ledger"),
    ],
)
def test_each_fault_of_the_database_has_its_own_advice(error: str, words: str) -> None:
    ledger = CounterLedger()
    with pytest.raises(KeyFileError, match=words), ledger._sentences():
        raise sqlite3.OperationalError(error)


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_ledger import CounterLedger, ReplayError, reading, take
taken = []
with CounterLedger(sys.argv[2]) as ledger:
    for counter in map(int, sys.argv[3].split(",")):
        try:
            take(ledger, reading(counter))
            taken.append(counter)
        except ReplayError:
            pass
print(*taken)
"""


def worker(path: Path, counters: list[int]) -> subprocess.Popen[str]:
    arguments = [str(Path(__file__).parent), str(path), ",".join(map(str, counters))]
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, text=True)


def test_processes_lose_no_entry_and_take_nothing_twice(tmp_path: Path) -> None:
    """They begin without a ledger, so they also create it at the same time; all want 900 and above."""
    path = tmp_path / "ledger"
    shared = list(range(900, 920))
    processes = [worker(path, [*range(20 * i, 20 * i + 20), *shared]) for i in range(4)]
    taken = sorted(int(word) for process in processes for word in process.communicate(timeout=120)[0].split())
    assert taken == [*range(80), *shared]
    with CounterLedger(path) as ledger:
        assert count(ledger) == 100


CRASH = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_ledger import CounterLedger, reading
with CounterLedger(sys.argv[2]) as ledger, ledger.taking([reading(i) for i in range(500)]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_crash_the_same_readings_are_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with CounterLedger(path) as ledger:
        take(ledger, reading(1000))
    crashed = subprocess.run(
        [sys.executable, "-c", CRASH, str(Path(__file__).parent), str(path)], check=False
    )
    assert crashed.returncode == -signal.SIGKILL
    with CounterLedger(path) as ledger:
        assert count(ledger) == 1
        take(ledger, *(reading(i) for i in range(500)))
        with pytest.raises(ReplayError):
            take(ledger, reading(1000))


def test_a_reading_is_the_same_in_whatever_order_its_frames_come(tmp_path: Path) -> None:
    store = KeyStore.create(tmp_path / "keys", PARMS)
    sensor = Sensor(provision(store, secret=True, public=True), log2_scale=18)
    for encrypt in (sensor.symmetric, sensor.asymmetric):
        frames = split(encrypt([1.0]))
        ledger = CounterLedger()
        assert adapt(b"".join(frames), PARMS, store.key_id, ledger=ledger)
        with pytest.raises(ReplayError, match=r"^Reading"):
            adapt(b"".join(reversed(frames)), PARMS, store.key_id, ledger=ledger)
        assert adapt(encrypt([1.0]), PARMS, store.key_id, ledger=ledger)


# --- ciphermote adapt -----------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; returns what it printed, after checking the exit code (0 unless told)."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: Any, code: int = 0) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, (result.output, result.exception)
        return result.stderr if code else result.stdout

    return call


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KeyStore:
    return KeyStore.create(tmp_path_factory.mktemp("store") / "keys", PARMS)


@pytest.fixture
def keys(store: KeyStore, tmp_path: Path) -> Path:
    """The public part, with no ledger yet."""
    store.export_public(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.fixture
def frames(store: KeyStore, tmp_path: Path) -> Path:
    """Two readings of one device."""
    sensor = Sensor(provision(store, secret=True), log2_scale=18)
    (tmp_path / "frames.bin").write_bytes(sensor.symmetric([1.0]) + sensor.symmetric([2.0]))
    return tmp_path / "frames.bin"


def test_adapt_takes_no_frames_twice(keys: Path, frames: Path, tmp_path: Path, run: Run) -> None:
    run("adapt", keys, frames, "-o", tmp_path / "first")
    written = {path: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    for output in ("first", "second"):
        assert "was taken in before" in run("adapt", keys, frames, "-o", tmp_path / output, code=1)
    assert not (tmp_path / "second").exists()
    assert {path: path.read_bytes() for path in (tmp_path / "first").iterdir()} == written
    assert "a ledger of readings" in run("inspect", keys / LEDGER_FILE)


def test_adapt_gives_what_was_lost_again_on_request(
    keys: Path, frames: Path, tmp_path: Path, run: Run
) -> None:
    run("adapt", keys, frames, "-o", tmp_path / "first")
    run("adapt", keys, frames, "-o", tmp_path / "second", "--again")
    for path in (tmp_path / "first").iterdir():
        assert (tmp_path / "second" / path.name).read_bytes() == path.read_bytes()


def test_adapt_after_a_failed_write_takes_the_frames_again(
    keys: Path, frames: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "reading1.ct").mkdir()  # reading 0 is written, reading 1 cannot be
    assert "not an ordinary file" in run("adapt", keys, frames, "-o", tmp_path / "out", code=1)
    (tmp_path / "out" / "reading1.ct").rmdir()
    run("adapt", keys, frames, "-o", tmp_path / "out")
    assert "was taken in before" in run("adapt", keys, frames, "-o", tmp_path / "out", code=1)


def test_devices_that_share_a_key_count_for_themselves(
    store: KeyStore, keys: Path, tmp_path: Path, run: Run
) -> None:
    for name in ("pump", "valve"):
        sensor = Sensor(provision(store, secret=True), log2_scale=18)
        (tmp_path / name).write_bytes(sensor.symmetric([1.0]))
    out = tmp_path / "out"
    out.mkdir()
    run("adapt", keys, tmp_path / "pump", "-o", out, "--device", "pump")
    assert "device pump" in run("adapt", keys, tmp_path / "valve", "-o", out, "--device", "pump", code=1)
    assert "from device pump" in run("adapt", keys, tmp_path / "pump", "-o", out, "--device", "x", code=1)
    run("adapt", keys, tmp_path / "valve", "-o", out, "--device", "valve")
    assert sorted(path.name for path in out.iterdir()) == ["pump-reading0.ct", "valve-reading0.ct"]
    assert "letters, digits" in run("adapt", keys, tmp_path / "pump", "-o", out, "--device", "../x", code=1)


def test_the_ledger_lies_where_one_says(keys: Path, frames: Path, tmp_path: Path, run: Run) -> None:
    elsewhere = ("--ledger", tmp_path / "ledger")
    run("adapt", keys, frames, "-o", tmp_path / "out", *elsewhere)
    assert not (keys / LEDGER_FILE).exists()
    assert "was taken in before" in run("adapt", keys, frames, "-o", tmp_path / "out", *elsewhere, code=1)
    (keys / LEDGER_FILE).write_text("hello")
    assert "damaged" in run("adapt", keys, frames, "-o", tmp_path / "out", code=1)
    shutil.rmtree(tmp_path / "out")
    assert "damaged" in run("adapt", keys, frames, "-o", tmp_path / "out", code=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_ledger_that_is_refused_is_closed(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open one could keep a lock, for which the next process waits a minute."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    path = tmp_path / "some.ledger"
    path.write_bytes(content)
    with pytest.raises(KeyFileError):
        CounterLedger(path)
    assert opened
    for database in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            database.execute("SELECT 1")
