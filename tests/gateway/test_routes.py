# SPDX-License-Identifier: Apache-2.0
"""The API's paths, names and words stand once, in rest/: the gateway and its clients take them from there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ciphermote.gateway.api import description
from ciphermote.gateway.operator_api import operators
from ciphermote.rest import routes, words
from ciphermote.rest.routes import Route

ROOT = Path(__file__).parents[2]
DEFINING = ("routes.py", "words.py")
ROUTES = [each for each in vars(routes).values() if isinstance(each, Route)]
SEGMENTS = sorted({part for route in ROUTES for part in route.split("/")[1:] if not part.startswith("{")})
PATH = re.compile(rf"/(?:{'|'.join(SEGMENTS)})(?:/|$)|^(?:{'|'.join(SEGMENTS)})/")
VOCABULARIES = [set(each) for each in vars(words).values() if isinstance(each, tuple)]


def spelled(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each path, pattern of names and list of words in a program, but for its docstrings."""
    tree = ast.parse(text)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if id(node) not in prose:
                is_path = PATH.search(value) and not re.search(r"\s", value)
                is_list = "|" in value and any(set(value.strip("^()$").split("|")) >= w for w in VOCABULARIES)
                if is_path or is_list or words.NAME in value or f"^{words.ID}" in value:
                    yield node.lineno, value
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                found = {part.value for part in parts if isinstance(part, ast.Constant)}
                if any(found >= vocabulary for vocabulary in VOCABULARIES):
                    yield node.lineno, str(sorted(map(str, found)))


def test_no_other_module_spells_a_path_or_lists_the_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for folder in ("python/ciphermote", "examples/demos")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not (path.parent.name == "rest" and path.name in DEFINING)
        for line, what in spelled(path.read_text())
    ]
    assert not found, "take it from ciphermote.rest:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        'client.get("/v1/tenant")',
        'client.get(f"/v1/fleets/{fleet}/deliveries")',
        'ask(f"tenants/{name}")',
        '@router.get("/healthz")\ndef healthz(): ...',
        'PATTERN = r"/v1/fleets/[^/]+/(deliveries|keys/[^/]+)"',
        'NAME = "^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$"',
        'Kind = Literal["mean", "sum", "variance", "weighted-sum", "linear"]',
        'ACTIONS = ["retry", "cancel", "replay"]',
        'PATTERN = "^(relin|galois)$"',
    ],
)
def test_what_is_spelled_is_found(text: str) -> None:
    assert list(spelled(text))


@pytest.mark.parametrize("text", ['"""GET /v1/tenant"""', 'open("keys.json")', 'say("see /v1/fleets of it")'])
def test_prose_may_name_paths(text: str) -> None:
    assert not list(spelled(text))


def test_what_is_served_is_what_is_defined() -> None:
    served = set(description(operators).openapi()["paths"])
    prefixes = {routes.API, routes.OPERATOR}
    assert served == {str(route) for route in ROUTES} - prefixes


def test_a_path_holds_its_parts_whatever_they_are() -> None:
    assert routes.JOB.path(fleet="meters", job=7) == "/v1/fleets/meters/jobs/7"
    assert routes.STREAM.path(fleet="a/../b", name="?#%") == "/v1/fleets/a%2F..%2Fb/streams/%3F%23%25"
    with pytest.raises(KeyError):
        routes.JOB.path(fleet="meters")


def test_a_pattern_fits_the_paths_of_its_route_alone() -> None:
    pattern = routes.DELIVERIES.pattern(fleet=words.NAME)
    found = pattern.fullmatch("/v1/fleets/meters/deliveries")
    assert found is not None and found["fleet"] == "meters"
    for path in ("/v1/fleets/Meters/deliveries", "/v1/fleets/a/b/deliveries", "/v1/fleets/a/deliveries/"):
        assert not pattern.fullmatch(path)
    assert routes.DELIVERIES.pattern().fullmatch("/v1/fleets/Meters/deliveries")
