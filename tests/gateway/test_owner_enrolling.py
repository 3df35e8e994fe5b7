# SPDX-License-Identifier: Apache-2.0
"""Enrolling, cut short at every step: a repeated run mends it, with the same keys, and leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ciphermote import Owner
from ciphermote.base.errors import Error, GatewayError, KeyFileError, ParameterError
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A10
from ciphermote.fleet import Attachment, GatewayClient, attach, enroll, enrolling, records
from ciphermote.fleet.enrolling import Enrolled
from gateway_support import SET, Server
from owner_support import attached, opened, put

STEPS = ("enroll", "put_rekey_key", "make_token", "tenant")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("owner") / "keys"
    Owner.generate(SET, relin=False).save(path)
    return path


def run(attachment: Attachment, folder: Path, number: int = 1, **more: Any) -> Enrolled:
    return enroll(attachment, number, folder / "d.blob", folder / "d.json", **more)


def failing(method: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
    """A method whose request, or whose answer, is lost."""

    def call(*arguments: Any, **named: Any) -> Any:
        if after:
            method(*arguments, **named)
        raise GatewayError("It does not answer.", "unreachable")

    return call


def living_tokens(attachment: Attachment, device: int) -> int:
    with attachment.client() as client:
        places = [(t.fleet, t.device, t.revoked) for t in client.tokens()]
    return places.count((attachment.fleet, device, None))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True], ids=["request lost", "answer lost"])
def test_a_gateway_that_fails_at_any_step(
    server: Server, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, *, after: bool
) -> None:
    attachment = attached(server, keys, f"f{STEPS.index(step)}{int(after)}".replace("_", "-"), own_keys=True)
    with monkeypatch.context() as patch:
        patch.setattr(GatewayClient, step, failing(getattr(GatewayClient, step), after=after))
        with pytest.raises(GatewayError, match="does not answer"):
            run(attachment, tmp_path)
    assert [(r.device, r.epoch, r.is_open) for r in records(attachment)] == [(1, 1, True)]
    before = (tmp_path / "d.blob").read_bytes()
    assert run(attachment, tmp_path).resumed
    assert (tmp_path / "d.blob").read_bytes() == before, "the same keys"
    assert [(r.epoch, r.is_open) for r in records(attachment)] == [(1, False)]
    assert living_tokens(attachment, 1) == 1
    assert not list(attachment.folder.glob("devices/1.[!j]*")), "no copy of the device's keys"
    put(tmp_path, "d", [1.0])


def test_a_disk_that_fails_at_any_file(
    server: Server, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attachment = attached(server, keys, "disk", own_keys=True)
    real = enrolling.write_atomically
    writes, failed_at = 0, 0

    def write(path: Path, *more: Any) -> None:
        nonlocal writes
        writes += 1
        if writes == failed_at:
            raise OSError(28, "No space left on device", str(path))
        real(path, *more)

    monkeypatch.setattr(enrolling, "write_atomically", write)
    while True:
        writes, failed_at = 0, failed_at + 1
        folder = tmp_path / str(failed_at)
        folder.mkdir()
        try:
            run(attachment, folder, failed_at)
        except KeyFileError as error:
            assert "No space left" in str(error)
        if writes < failed_at:
            break
        writes = -1000
        assert run(attachment, folder, failed_at).epoch == 1
        assert living_tokens(attachment, failed_at) == 1
        put(folder, "d", [1.0])
    assert failed_at > 5, "keys, rekey key, record, the device's two files, record"


def test_enrolling_again_ends_the_old_keys_and_token(server: Server, keys: Path, tmp_path: Path) -> None:
    attachment = attached(server, keys, "again")
    run(attachment, tmp_path)
    with pytest.raises(KeyFileError, match="enrolled already"):
        run(attachment, tmp_path)
    old, new = tmp_path, tmp_path / "new"
    new.mkdir()
    with pytest.raises(KeyFileError, match="--force"):
        run(attachment, old, again=True)
    assert run(attachment, new, again=True).epoch == 2
    with opened(old) as device:
        device.put([1.0])
        assert device.deliver() == 1
        assert isinstance(device.last_error, GatewayError) and device.last_error.name == "unknown-token"
    put(new, "d", [2.0])
    assert living_tokens(attachment, 1) == 1


def test_enrolling_again_takes_no_more_of_the_quota(server: Server, keys: Path, tmp_path: Path) -> None:
    asked = {"name": "narrow", "most_devices": 1}
    token = server.operator().post("/v1/operator/tenants", json=asked).json()["token"]
    ca = (server.data / "tls" / "ca.pem").read_text()
    attachment = attach(keys, f"https://localhost:{server.port}", token, "quota", ca=ca)
    run(attachment, tmp_path)
    with pytest.raises(GatewayError, match="the most that it may have"):
        enroll(attachment, 2, tmp_path / "e.blob", tmp_path / "e.json")
    assert run(attachment, tmp_path, again=True, replace_files=True).epoch == 2


def test_a_record_that_was_lost(server: Server, keys: Path, tmp_path: Path) -> None:
    """As when the owner's machine was set back: the gateway knows the device, and the owner does not."""
    attachment = attached(server, keys, "lost")
    run(attachment, tmp_path)
    (attachment.folder / "devices" / "1.json").unlink()
    second = tmp_path / "second"
    second.mkdir()
    with pytest.raises(GatewayError, match="--again"):
        run(attachment, second)
    assert not (second / "d.blob").exists(), "keys that no gateway takes"
    put(tmp_path, "d", [1.0])
    assert run(attachment, second, again=True).epoch == 2
    put(second, "d", [2.0])


def test_compact_keys_that_were_set_back(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "fleet.key"
    CompactKeys.generate(A10).save(path)
    before = path.read_bytes()
    attachment = attached(server, path, "set-back", positions=[(0, 2)])
    run(attachment, tmp_path, largest_value=9)
    path.write_bytes(before)
    (attachment.folder / "devices" / "1.json").unlink()
    second = tmp_path / "second"
    second.mkdir()
    assert run(attachment, second, again=True).epoch == 2
    put(second, "d", [1, 9])


def test_a_public_key_and_a_header(server: Server, keys: Path, tmp_path: Path) -> None:
    attachment = attached(server, keys, "public")
    run(attachment, tmp_path, key="asymmetric")
    assert Owner.load(keys).secret_key.packed not in (tmp_path / "d.blob").read_bytes()
    put(tmp_path, "d", [1.0], [2.0])
    enroll(attachment, 2, tmp_path / "d2.h", tmp_path / "d2.json")
    header = (tmp_path / "d2.h").read_text()
    assert "#define CM_PROVISIONED_TAGGED 1" in header and "#define CM_PROVISIONED_DEVICE 2" in header
    streaming: dict[str, Any] = {"key": "asymmetric", "stream_public_key": True}
    enroll(attachment, 3, tmp_path / "d3.h", tmp_path / "d3.json", **streaming)
    header = (tmp_path / "d3.h").read_text()
    assert "#define CM_PROVISIONED_STREAMED_KEY 1" in header and "cm_provisioned_key_digests" in header
    for name, given in (("d4.blob", streaming), ("d4.h", streaming | {"key": "symmetric"})):
        with pytest.raises(ParameterError, match="give --key asymmetric, and name a file"):
            enroll(attachment, 4, tmp_path / name, tmp_path / "d4.json", **given)
    assert [record.device for record in records(attachment)] == [1, 2, 3]


def test_an_open_enrolment_is_ended_as_it_was_begun(
    server: Server, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above all, a device that is to have the public key is not given the secret one."""
    small = tmp_path / "fleet.key"
    CompactKeys.generate(A10).save(small)
    full = attached(server, keys, "options")
    compact = attached(server, small, "small-options", positions=[(0, 1)])
    begun: tuple[tuple[Attachment, dict[str, Any], dict[str, Any]], ...] = (
        (full, {"key": "symmetric"}, {"key": "asymmetric"}),
        (compact, {"largest_value": 3}, {"largest_value": 4}),
    )
    for attachment, options, others in begun:
        with monkeypatch.context() as patch:
            patch.setattr(GatewayClient, "enroll", failing(GatewayClient.enroll, after=False))
            with pytest.raises(GatewayError):
                run(attachment, tmp_path, **options)
        with pytest.raises(ParameterError, match="end it so"):
            run(attachment, tmp_path, **others)
        assert run(attachment, tmp_path, **options).resumed
        for name in ("d.blob", "d.json"):
            (tmp_path / name).unlink()


def test_an_owners_machine_needs_no_server() -> None:
    program = """
import sys
import ciphermote.fleet, ciphermote.cli.owner
servers = {"fastapi", "httptools", "starlette", "aiomqtt", "structlog", "prometheus_client", "uvloop"}
found = servers & set(sys.modules) | {name for name in sys.modules if name.startswith("ciphermote.gateway")}
assert not found, found
"""
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_is_refused_before_anything_is_drawn(
    server: Server, keys: Path, tmp_path: Path
) -> None:
    attachment = attached(server, keys, "refusing", own_keys=True)
    (tmp_path / "d.blob").write_text("a letter")
    wrong: list[tuple[type[Error], str, Callable[[], object]]] = [
        (KeyFileError, "something else", lambda: run(attachment, tmp_path, replace_files=True)),
        (KeyFileError, "among the keys", lambda: enroll(attachment, 1, keys / "d.blob", tmp_path / "d.json")),
        (ParameterError, "name two files", lambda: enroll(attachment, 1, tmp_path / "x", tmp_path / "x")),
        (ParameterError, "keys of their own", lambda: run(attachment, tmp_path, key="asymmetric")),
        (ParameterError, "largest value", lambda: run(attachment, tmp_path, largest_value=3)),
        (ParameterError, "whole number", lambda: run(attachment, tmp_path, 2**32)),
    ]
    for kind, words, act in wrong:
        with pytest.raises(kind, match=words):
            act()
    assert records(attachment) == [] and (tmp_path / "d.blob").read_text() == "a letter"
