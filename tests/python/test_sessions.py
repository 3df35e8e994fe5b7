# SPDX-License-Identifier: Apache-2.0
"""A key's budget of client-aided sessions: what is spent stays spent, whatever happens to the device."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ciphermote.owner import provisioning as provision
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from link import STATUS_NAMES, DeviceLink, LinkError, crc32c
from local_devices import ProcessDevice, QemuDevice

ROOT = Path(__file__).parents[2]
RECORD_FILE = "ciphermote-counter"
BUDGET, FEW = 256, 3
RECORD = struct.Struct("<Q" + 4 * "QI" + "I")
"""The counter; four keys and their sessions, the latest first; CRC-32C."""

MODEL = """
    #include "rounds.h"
    static const rounds_layer aided_layers[] = {{4, 4, 4, 1u}};
    static const rounds_model aided_model = {
        .layers = aided_layers, .count = 1, .log2_stride = 3, .plain_modulus = 12289u, .limit = 63};
    """
VECTORS = np.ones((1, 4), dtype=np.int16)


def record_of(folder: Path) -> tuple[int, list[tuple[int, int]]]:
    """The counter, and (key id, sessions) of each key."""
    data = (folder / RECORD_FILE).read_bytes()
    counter, *keys, crc = RECORD.unpack(data)
    assert crc == crc32c(data[:-4])
    return counter, list(zip(keys[::2], keys[1::2], strict=True))


def begin(link: DeviceLink) -> str:
    """Begin a session, and let a second begin end it: its status, when no ciphertext came."""
    try:
        assert link.aided_begin(VECTORS, "bfv")
    except LinkError as error:
        return error.status or "no answer"
    with pytest.raises(LinkError, match="CM_ERR_FRAME_FIELD"):
        link.aided_begin(VECTORS, "bfv")
    return "CM_OK"


def begun_until_refused(link: DeviceLink) -> int:
    for begun in range(2 * FEW):
        if (status := begin(link)) != "CM_OK":
            assert status == "CM_ERR_SESSIONS"
            return begun
    raise AssertionError("sessions without end")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return programs by name: "linux" has the default budget, the others a small one."""
    directory = tmp_path_factory.mktemp("sessions")
    programs = {}
    for key in ("key", "other key"):
        headers = directory / key.replace(" ", "-")
        store = KeyStore.create(directory / f"{key}s", by_name("n1024_q26"))
        headers.mkdir()
        keys = provision.provision(store, secret=True, largest=8)
        (headers / "provisioned_keys.h").write_text(provision.to_c_header(keys))
        (headers / "aided_model.h").write_text(textwrap.dedent(MODEL))
        goals = {"linux": (), "few": (f"SESSIONS={FEW}",), "mps2-an386": (f"SESSIONS={FEW}",)}
        for name, options in goals.items() if key == "key" else [("other key", (f"SESSIONS={FEW}",))]:
            port = name if name == "mps2-an386" else "linux"
            build = headers / name.replace(" ", "-")
            command = ["make", "-s", "-C", str(ROOT / "ports"), port, "AIDED=1", *options]
            command += [f"GENERATED={headers}", f"BUILD={build}"]
            subprocess.run(command, check=True)
            programs[name] = build / port / ("ciphermote.elf" if port == "mps2-an386" else "ciphermote")
    return programs


@pytest.fixture(params=["few", "mps2-an386"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def device(programs: dict[str, Path], name: str, folder: Path) -> ProcessDevice | QemuDevice:
    return (QemuDevice if name == "mps2-an386" else ProcessDevice)(programs[name], folder, timeout=30.0)


def test_a_key_serves_256_sessions_and_is_then_to_be_replaced(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    for sessions in (100, 100, 56):
        target = device(programs, "linux", tmp_path)
        with target as link:
            assert [begin(link) for _ in range(sessions)] == ["CM_OK"] * sessions
            if sessions == 100:
                assert target._process is not None
                target._process.send_signal(signal.SIGKILL)
                target._process.wait()
    for _ in range(2):
        with device(programs, "linux", tmp_path) as link:
            sentence = r"\(CM_ERR_SESSIONS\): its key has served all the sessions that it may: "
            with pytest.raises(LinkError, match=sentence + "make and provision new keys"):
                link.aided_begin(VECTORS, "bfv")
            assert link.encrypt_values(np.ones(4, dtype=np.float32), log2_scale=18), "it still encrypts"
    assert record_of(tmp_path)[1][0][1] == BUDGET


def test_sessions_are_spent_across_resets_and_kills(
    programs: dict[str, Path], name: str, tmp_path: Path
) -> None:
    for _ in range(FEW):
        target = device(programs, name, tmp_path)
        with target as link:
            assert link.aided_begin(VECTORS, "bfv")
            assert target._process is not None
            target._process.send_signal(signal.SIGKILL)
            target._process.wait()
    with device(programs, name, tmp_path) as link:
        assert begun_until_refused(link) == 0


def test_a_session_that_cannot_be_counted_does_not_begin(
    programs: dict[str, Path], name: str, tmp_path: Path
) -> None:
    with device(programs, name, tmp_path) as link:
        assert begin(link) == "CM_OK"
        (tmp_path / f"{RECORD_FILE}.new").mkdir()
        assert begin(link) == "CM_ERR_COUNTER"
        (tmp_path / f"{RECORD_FILE}.new").rmdir()
        assert begun_until_refused(link) == FEW - 1


def test_requests_that_are_refused_cost_no_session(programs: dict[str, Path], tmp_path: Path) -> None:
    with device(programs, "few", tmp_path) as link:
        for payload, scheme in ((b"odd", 1), (bytes(8 * 129), 1), (bytes(8), 3)):
            with pytest.raises(LinkError):
                link.request(5, payload, scheme)
        assert begun_until_refused(link) == FEW


def test_another_key_has_sessions_of_its_own_and_the_first_no_new_ones(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    for name, left in (("few", FEW), ("other key", FEW), ("few", 0), ("other key", 0)):
        with device(programs, name, tmp_path) as link:
            assert begun_until_refused(link) == left


def test_a_device_without_a_display_begins_no_session(
    programs: dict[str, Path], name: str, tmp_path: Path
) -> None:
    (tmp_path / "ciphermote-display").mkdir()
    with device(programs, name, tmp_path) as link:
        assert begin(link) == "CM_ERR_SINK"
    assert not (tmp_path / RECORD_FILE).exists()


def test_a_damaged_record_begins_no_session(programs: dict[str, Path], tmp_path: Path) -> None:
    with device(programs, "few", tmp_path) as link:
        assert begun_until_refused(link) == FEW
    path = tmp_path / RECORD_FILE
    stored = path.read_bytes()
    assert len(stored) == RECORD.size
    flipped = [stored[:i] + bytes([stored[i] ^ 1]) + stored[i + 1 :] for i in range(len(stored))]
    older = stored[:8] + struct.pack("<I", crc32c(stored[:8]))
    for damaged in (*flipped, stored[:-1], stored + b"\0", stored[: len(stored) // 2], b"", older):
        path.write_bytes(damaged)
        with device(programs, "few", tmp_path) as link:
            assert begin(link) == "CM_ERR_COUNTER"
        assert path.read_bytes() == damaged
    path.write_bytes(stored)
    with device(programs, "few", tmp_path) as link:
        assert begun_until_refused(link) == 0


# ---- power cuts ----

POWER_CUTS = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <unistd.h>
    static long operations = -1;
    static void __attribute__((constructor)) start(void) { operations = atol(getenv("CUT_AFTER")); }
    static int cut(void) { return operations-- == 0; }
    ssize_t write(int file, const void *bytes, size_t length)
    {
        ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
        if (file > 2 && cut()) {
            real(file, bytes, length / 2);
            _exit(9);
        }
        return real(file, bytes, length);
    }
    #define CUT(name, parameters, ...) int name parameters { \\
        if (cut()) _exit(9); \\
        return ((int (*) parameters)dlsym(RTLD_NEXT, #name))(__VA_ARGS__); }
    CUT(fsync, (int file), file)
    CUT(renameat, (int from, const char *old, int to, const char *new), from, old, to, new)
    """


@pytest.fixture
def power_cuts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes started from here on end before their CUT_AFTER-th operation on files, a write within it."""
    directory = tmp_path_factory.mktemp("cuts")
    (directory / "cuts.c").write_text(textwrap.dedent(POWER_CUTS))
    library = directory / "cuts.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(directory / "cuts.c"), "-o", str(library)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("CUT_AFTER", "-1")
    yield


def begin_once(program: Path, folder: Path, cut_after: int) -> tuple[bool, bool]:
    """Ask a process for one session: whether its power was cut, and whether ciphertext bytes were sent."""
    payload = VECTORS.tobytes()
    request = struct.pack("<4s6BHI", b"CMRQ", 1, 5, 1, 0, 0, 0, 1, len(payload)) + payload
    environment = os.environ | {"CUT_AFTER": str(cut_after)}
    request += struct.pack("<I", crc32c(request))
    run = subprocess.run(
        [program], input=request, cwd=folder, env=environment, capture_output=True, timeout=30, check=False
    )
    assert run.returncode in (0, 9)
    return run.returncode == 9, run.stdout[4:6] == b"\x01\x01"


@pytest.mark.usefixtures("power_cuts")
def test_a_power_cut_within_any_operation_gives_no_session_back(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    assert begin_once(programs["few"], before, -1) == (False, True)
    counter = record_of(before)[0]
    found = set()
    for cut_after in range(100):
        folder = tmp_path / f"cut-{cut_after}"
        shutil.copytree(before, folder)
        cut, left = begin_once(programs["few"], folder, cut_after)
        stored, ((_, begun), *_) = record_of(folder)
        assert stored >= counter
        assert begun == 2 if left else begun in (1, 2)
        with device(programs, "few", folder) as link:
            assert begun_until_refused(link) == FEW - begun
        found.add((cut, left, begun))
        if not cut:
            break
    assert found == {(True, False, 1), (True, False, 2), (False, True, 2)}


@pytest.mark.usefixtures("power_cuts")
def test_power_cuts_without_end_give_no_more_sessions_than_the_budget(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    random = np.random.default_rng(12)
    left = [begin_once(programs["few"], tmp_path, int(random.integers(-1, 12)))[1] for _ in range(60)]
    assert sum(left) <= FEW and record_of(tmp_path)[1][0][1] == FEW


# ---- the record, on storage that fails ----

FAILING_STORAGE = """
    #include "port.h"
    device_record stored;
    int lost, read_fails, write_fails;
    int port_record_read(device_record *record) { *record = stored; return read_fails; }
    int port_record_write(const device_record *record)
    {
        if (!lost && !write_fails)
            stored = *record;
        return write_fails;
    }
    """


class Storage:
    """ports/app/device_record.c on memory that can be made to fail."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def spend(self, key_id: int, budget: int = FEW) -> str:
        status = self._library.device_session_spend(ctypes.c_uint64(key_id), ctypes.c_uint32(budget))
        return STATUS_NAMES[status]

    def fail(self, **what: int) -> None:
        for name, value in what.items():
            ctypes.c_int.in_dll(self._library, name).value = value

    def write_counter(self, value: int) -> int:
        return int(self._library.device_counter_write(None, ctypes.c_uint64(value)))

    def read_counter(self) -> int:
        value = ctypes.c_uint64(1)
        assert self._library.device_counter_read(None, ctypes.byref(value)) == 0
        return int(value.value)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    (tmp_path / "storage.c").write_text(textwrap.dedent(FAILING_STORAGE))
    sources = [tmp_path / "storage.c", ROOT / "ports/app/device_record.c", ROOT / "core/src/wire/crc32c.c"]
    includes = [f"-I{ROOT / path}" for path in ("ports/app", "core/include", "core/src")]
    library = tmp_path / "storage.so"
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "-DCM_CONFIG_ASM=0", *includes, *sources, "-o", library],
        check=True,
    )
    return Storage(library)


def test_counter_and_sessions_leave_each_other_alone(storage: Storage) -> None:
    assert storage.read_counter() == 0
    assert storage.write_counter(1 << 40) == 0
    assert [storage.spend(7) for _ in range(2)] == ["CM_OK"] * 2
    assert storage.read_counter() == 1 << 40
    assert storage.write_counter((1 << 40) + 16) == 0
    assert [storage.spend(7) for _ in range(2)] == ["CM_OK", "CM_ERR_SESSIONS"]


def test_a_device_that_goes_back_to_a_key_finds_what_was_left(storage: Storage) -> None:
    assert [storage.spend(key) for key in (1, 1, 1, 2, 3, 3, 4)] == ["CM_OK"] * 7
    assert [storage.spend(key) for key in (1, 2, 3)] == ["CM_ERR_SESSIONS", "CM_OK", "CM_OK"]
    assert [storage.spend(key) for key in (2, 4, 4)] == ["CM_OK"] * 3
    assert [storage.spend(key) for key in (1, 2, 3, 4)] == ["CM_ERR_SESSIONS"] * 4


def test_storage_that_fails_or_forgets_spends_no_session_that_begins(storage: Storage) -> None:
    for fault in ("lost", "read_fails", "write_fails"):
        storage.fail(**{fault: 1})
        assert storage.spend(7) == "CM_ERR_COUNTER"
        storage.fail(**{fault: 0})
    assert [storage.spend(7) for _ in range(4)] == [*["CM_OK"] * 3, "CM_ERR_SESSIONS"]
