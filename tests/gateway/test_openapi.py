# SPDX-License-Identifier: Apache-2.0
"""The API is what its description says: schemathesis asks for everything in /openapi.json with what is
allowed and with what is not, and every answer has to be one that is described.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import ciphermote.rest.operator  # noqa: F401 (its models are Models too)
import pytest
from ciphermote.gateway.api import description
from ciphermote.gateway.operator_api import operators
from ciphermote.rest.answers import Answer, DeviceView, JobView, LeftOut, Progress, Retention, TokenView
from ciphermote.rest.requests import Model
from gateway_support import FullDevice, Server, accepted, define_full, enrolment, full_owner
from pydantic import ValidationError

SECONDS = 12
"""At most about this long for each scope's run; three examples of each operation at least."""


@pytest.mark.parametrize("scope", ["owner", "operator"])
def test_the_api_keeps_to_its_description(server: Server, tmp_path: Path, scope: str) -> None:
    owner = server.owner()
    define_full(owner, "known", full_owner())
    if scope == "owner":
        FullDevice(full_owner(), 1).enroll(owner, "known")
        accepted(owner.post("/v1/fleets/known/jobs", json={"spec": {"kind": "sum"}}))
    token = (server.data / f"{scope}.token").read_text().strip()
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    path = "^/v1/operator|^/metrics|^/healthz" if scope == "operator" else "^/v1/(fleets|tokens)"
    found = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "schemathesis.cli",
                "run",
                f"https://localhost:{server.port}/openapi.json",
            ),
            *("--include-path-regex", path, "--exclude-path-regex", "/watch$"),
            *("--tls-verify", str(server.data / "tls" / "ca.pem"), "-H", f"Authorization: Bearer {token}"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--seed", "1"),
            *("--max-time", str(SECONDS), "--generation-database", ":memory:", "--no-color"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "150"},
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    operations = re.search(r"Operations:\s+(\d+) selected", found.stdout)
    assert operations and int(operations[1]) >= (5 if scope == "operator" else 20), found.stdout[-2000:]
    assert "Traceback" not in server.log()


# What passes the schema may still be refused for what the fleet is, with 409 or 422.
CONFIGURATION = """
[parameters]
"path.fleet" = "known"
"path.job" = 1
"path.identifier" = "0123456789abcdef"
"path.token" = "0123456789abcdef"

[checks]
positive_data_acceptance.enabled = false
"""


def _models(model: type[Model]) -> Iterator[type[Model]]:
    for each in model.__subclasses__():
        yield each
        yield from _models(each)


@pytest.mark.parametrize("given", [True, "1"])
def test_only_a_number_is_a_number(given: object) -> None:
    """pydantic takes true for 1 and "1" for 1 unless it is told not to."""
    checked = 0
    for model in _models(Model):
        for name, field in model.model_fields.items():
            if str not in _kinds(field.annotation) and _kinds(field.annotation) & {int, float}:
                if given == "1" and "BeforeValidator" in repr(field):
                    continue  # device numbers, which are names in JSON too
                with pytest.raises(ValidationError) as caught:
                    model.model_validate({name: given})
                found = {error["loc"][0]: error["type"] for error in caught.value.errors() if error["loc"]}
                assert found.get(name, "missing") != "missing", (model, name)
                checked += 1
    assert checked > 15


def _kinds(annotation: object) -> set[object]:
    """The types that a field may have."""
    inside = get_args(annotation)
    return {kind for each in inside for kind in _kinds(each)} if inside else {annotation}


def test_the_committed_description_is_that_of_the_code() -> None:
    """A type that changes in any request or answer shows in docs/openapi.json."""
    tool = Path(__file__).parents[2] / "tools/generate_openapi.py"
    assert subprocess.run([sys.executable, str(tool), "--check"], check=False).returncode == 0


def test_every_answer_has_a_typed_model_and_a_name_of_its_own() -> None:
    found = description(operators).openapi()
    names = []
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            names.append(operation["operationId"])
            for status, response in operation["responses"].items():
                for kind, content in response.get("content", {}).items():
                    if "json" in kind:
                        schema = content["schema"]
                        typed = "$ref" in schema or schema.get("properties")
                        assert typed, f"{method} {path} answers {status} with a free object"
    assert len(names) == len(set(names)) > 40
    assert all(re.fullmatch("[a-z_]+", name) for name in names)


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (Progress, {"windows": "3"}),
        (JobView, {"id": 1.5}),
        (DeviceView, {"has_rekey_key": 1}),
        (TokenView, {"scope": "nobody"}),
        (Retention, {"retain_days": "90"}),
        (LeftOut, {"first": [[1, 2, "3"]]}),
    ],
)
def test_an_answer_of_another_type_is_not_converted(model: type[Answer], wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(wrong)
    (name,) = wrong
    kinds = {error["loc"][0]: error["type"] for error in caught.value.errors()}
    assert kinds.get(name, "missing") != "missing", kinds


@pytest.mark.parametrize("largest", [21.5, 1e-3, 2.0**99])
def test_a_largest_value_need_not_be_whole(server: Server, largest: float) -> None:
    owner = server.owner()
    name = f"largest-{hash(largest) % 1000}"
    define_full(owner, name, full_owner())
    device = FullDevice(full_owner(), 1)
    body = enrolment(device.tag_keys, full_owner().key_id, largest_value=largest)
    accepted(owner.put(f"/v1/fleets/{name}/devices/1", json=body))
    (found,) = accepted(owner.get(f"/v1/fleets/{name}/devices")).json()["items"]
    assert found["largest_value"] == largest and found["has_rekey_key"] is False


def test_a_query_is_taken_as_described_or_refused(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "known", full_owner())
    fill = {"fleet": "known", "job": "1", "number": "1", "counter": "1", "identifier": "0" * 16}
    asked = 0
    for template, operations in description(operators).openapi()["paths"].items():
        if "get" not in operations or template.startswith("/v1/operator") or template == "/metrics":
            continue
        path = re.sub(r"\{(\w+)\}", lambda found: fill.get(found[1], "x"), template)
        for query in ("aftr=1", "after=&after=", "device=1&device=1&after=&after="):
            answer = owner.get(f"{path}?{query}")
            assert answer.status_code == 422, (path, query, answer.text)
            assert answer.json()["detail"].startswith("The query has "), answer.text
            asked += 1
    assert asked > 40
