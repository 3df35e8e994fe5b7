# SPDX-License-Identifier: Apache-2.0
"""The owner's commands about a fleet's key, against a running gateway: `ciphermote owner key`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from ciphermote import LinearModel, Owner
from ciphermote.base.errors import GatewayError, MismatchError, ParameterError
from ciphermote.cli import app
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.fleet import Attachment, Computation, GatewayClient, enroll, rotate
from ciphermote.fleet.results import wait
from ciphermote.owner.rotation import rotation_key
from gateway_support import Server, refused
from owner_support import attached, put
from typer.testing import CliRunner

SET = "n4096_q26x3_p27"
MODEL = LinearModel(np.array([[1, 2], [-1, 0.5]]), np.array([10, -10]), ("rest", "walk"))


def run(*arguments: Any, code: int = 0) -> str:
    """Run a command, and return all that it prints, in one line; as JSON, its output alone."""
    result = CliRunner().invoke(app, ["owner", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if "--json" in arguments else " ".join(result.output.split())


def numbers(keys: Path, folder: Path, *fleet: Any) -> list[float]:
    """The first two values of the sum that is computed now."""
    run("compute", keys, "sum", "--per-device", 9, "-o", folder, *fleet)
    rows = json.loads(run("decrypt", keys, folder, "--count", 2, "--json"))
    return [row["value"] for row in rows]


def test_from_an_old_key_to_a_new_one(server: Server, tmp_path: Path) -> None:
    old, new = tmp_path / "keys", tmp_path / "keys-2027"
    Owner.generate(SET, model=MODEL).save(old)
    Owner.generate(SET, model=MODEL).save(new)
    attachment = attached(server, old, "turning")
    attachment.keep_model(MODEL)
    for number in (1, 2):
        enroll(attachment, number, tmp_path / f"d{number}.blob", tmp_path / f"d{number}.json")
        put(tmp_path, f"d{number}", [number, 10.0], [number, 20.0])
    assert numbers(old, tmp_path / "before") == pytest.approx([6, 60], abs=0.01)
    key_id = f"{Owner.load(old).key_id:016x}"

    said = run("key", "rotate", old, new)
    assert "4 windows under the new key, 0 under the old one" in said and "2 devices may still send" in said
    assert numbers(new, tmp_path / "after") == pytest.approx([6, 60], abs=0.01)
    assert "key" in run("decrypt", old, tmp_path / "after", code=1)
    assert Attachment.load(new).model(MODEL.id) is not None
    linear = ("--devices", 1, "--bound", 100, "-o", tmp_path / "scores")
    MODEL.save(tmp_path / "model.json")
    run("compute", new, "linear", "--model", tmp_path / "model.json", *linear)

    put(tmp_path, "d1", [5.0, 0.0])  # under the old key
    assert numbers(new, tmp_path / "late") == pytest.approx([11, 60], abs=0.01)
    listed = json.loads(run("key", "list", new, "--fleet", "turning", "--json"))["items"]
    assert [(row["windows"], row["devices"]) for row in listed] == [(4, 0), (1, 2)]
    assert "2 devices" in run("key", "retire", new, key_id, code=1)
    assert "no key's id" in run("key", "retire", new, "key", code=1)
    for number in (1, 2):
        files = tmp_path / f"e{number}.blob", tmp_path / f"e{number}.json"
        enroll(Attachment.load(new), number, *files, again=True)
        put(tmp_path, f"e{number}", [number, 1.0])
    assert "1 window" in run("key", "retire", new, key_id, code=1)
    said = run("key", "rotate", old, new)  # once more: what has come since
    assert "5 windows under the new key, 0 under the old one" in said and "may still send" not in said
    assert "can be retired" in run("key", "list", new)
    assert f"{key_id} of fleet turning is retired" in run("key", "retire", new, key_id)
    assert "retired" in run("key", "list", new)
    assert numbers(new, tmp_path / "last") == pytest.approx([14, 62], abs=0.01)
    run("fetch", new, "-o", tmp_path / "all")
    kinds = [
        json.loads(path.read_text())["job"]["spec"]["kind"] for path in (tmp_path / "all").glob("*.json")
    ]
    assert sorted(set(kinds)) == ["linear", "sum"]


def test_all_fleets_are_listed_and_those_that_cannot_be_switched_named(
    server: Server, tmp_path: Path
) -> None:
    full, compact = tmp_path / "keys", tmp_path / "small.key"
    Owner.generate("n1024_q26").save(full)
    CompactKeys.generate(COMPACT_SETS[0]).save(compact)
    attached(server, full, "one-prime")
    attached(server, compact, "packets", positions=[(0, 3)])
    said = run("key", "list", full)
    for fleet, reason in (("one-prime", "set n1024_q26 has one prime"), ("packets", "compact windows")):
        assert f"fleet {fleet} cannot be switched to another key ({reason}" in said
    other = tmp_path / "others"
    Owner.generate("n1024_q26").save(other)
    assert "no key switching" in run("key", "rotate", full, other, code=1)
    assert "Compact windows" in run("key", "rotate", compact, other, code=1)


def test_only_a_rekey_key_is_sent_and_only_from_the_fleets_keys(server: Server, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    a, b, c = owners = [Owner.generate(SET) for _ in paths]
    for each, path in zip(owners, paths, strict=True):
        each.save(path)
    attachment = attached(server, paths[0], "guarded")
    with attachment.client() as client:
        for data in (a.secret_key.to_seal(), b"", a.evaluation_keys.relin or b""):
            with pytest.raises(MismatchError, match="nothing else is sent"):
                client.rotate_owner_key("guarded", b.key_id, data)
        with pytest.raises(GatewayError) as found:
            client.rotate_owner_key("guarded", c.key_id, rotation_key(b.secret_key, c.secret_key))
        assert found.value.name == "other-key"
        rotate(attachment, paths[1])
        with pytest.raises(MismatchError, match="present keys"):
            rotate(attachment, paths[2])
        job = client.add_job("guarded", Computation("rekey"))
        assert wait(client, "guarded", job, seconds=30).windows == 0
    path = "/v1/fleets/guarded"
    owner = server.owner()
    refused(owner.delete(f"{path}/owner-keys/{b.key_id:016x}"), 409, "key-in-use")
    refused(owner.delete(f"{path}/owner-keys/{'0' * 16}"), 404, "no-such-key")
    refused(owner.put(f"{path}/owner-keys/nothing", content=b"x"), 422, "invalid")
    for spec in ({"devices": [1]}, {"per_device": 2}, {"bound": 1.0}, {"groups": {"seed": "0" * 32}}):
        refused(owner.post(f"{path}/jobs", json={"spec": {"kind": "rekey", **spec}}), 422, "invalid")
    _check_recorded(server.operator())


def _check_recorded(operator: httpx.Client) -> None:
    entries = operator.get("/v1/operator/audit").json()["items"]
    outcomes = {(entry["action"], entry["outcome"]) for entry in entries}
    assert ("owner key rotate", "done") in outcomes


def test_larger_readings_need_keys_that_declare_them(server: Server, tmp_path: Path) -> None:
    Owner.generate(SET, largest=1000).save(tmp_path / "a")
    Owner.generate(SET).save(tmp_path / "b")
    with pytest.raises(ParameterError, match="largest value of 100"):
        rotate(attached(server, tmp_path / "a", "larger"), tmp_path / "b")


def test_a_client_names_what_is_under_each_key(server: Server, tmp_path: Path) -> None:
    Owner.generate(SET).save(tmp_path / "a")
    attachment = attached(server, tmp_path / "a", "named")
    with GatewayClient(attachment.gateway, attachment.token, ca=attachment.ca) as client:
        found = client.owner_keys("named")
    (key,) = found.keys
    assert (found.fixed, key.key_id, key.windows, key.replaced) == (
        None,
        attachment.definition["key_id"],
        0,
        None,
    )
