# SPDX-License-Identifier: Apache-2.0
"""Text from outside means one thing to every reader: numbers in ASCII digits, UTF-8 with or without a byte
order mark, JSON whose names differ."""

from __future__ import annotations

import ast
import codecs
import json
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ciphermote
import pytest
import typer
from ciphermote import LinearModel, Owner
from ciphermote.base import json_text, number_text
from ciphermote.base.errors import Error, KeyFileError, ParameterError, ValueRangeError
from ciphermote.cli import app, inspection
from ciphermote.cli.compact import _positions, _weights
from ciphermote.cli.numbers_in_files import parse_values
from ciphermote.cli.options import numbers
from ciphermote.cli.owner import _time
from ciphermote.cli.owner import _weights as _real_weights
from ciphermote.compact import keys as compact_keys
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import compact_set
from ciphermote.fleet import results
from ciphermote.fleet.connections import Connection
from ciphermote.fleet.device import Waiting
from ciphermote.formats.key_directory import Manifest
from ciphermote.gateway import api, operator_api
from ciphermote.owner import provisioning as provision
from ciphermote.parameters import by_name
from ciphermote.parameters.files import parameters_to_dict
from ciphermote.rest.requests import JobSpec
from pydantic import TypeAdapter, ValidationError
from typer.testing import CliRunner

PACKAGE = Path(ciphermote.__file__).parent
SET = by_name("n2048_q26_p27")
MODEL = LinearModel([[0.5, -1.0]], [0.25])
ODD = ["1_000", "١٢", "１２", "1 0", "0x10", "1__0", "_1", "1e1_0", "½", "²"]
"""Python reads most of these as numbers."""

# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [odd for odd in ODD if " " not in odd])
def test_a_value_is_written_in_ascii_digits(text: str) -> None:
    for content in (f"21.5,{text}", f"21.5,{text}.5", f"-{text}"):
        with pytest.raises(ValueRangeError, match="is not a number"):
            parse_values(content.encode())


@pytest.mark.parametrize("text", ["7", "-7", "+7", "0.5", ".5", "5.", "1e3", "1E-3", "-2.5e+10", "007"])
def test_an_ordinary_number_is_read_as_python_reads_it(text: str) -> None:
    assert parse_values(text.encode())[0].tolist() == [float(text)]


@pytest.mark.parametrize(
    "read",
    [
        lambda odd: numbers(f"1,{odd}", "--rotations"),
        lambda odd: _positions(f"{odd}-2000"),
        lambda odd: _positions(f"0-{odd}"),
        lambda odd: _weights([f"{odd}=1"]),
        lambda odd: _weights([f"1={odd}"]),
        lambda odd: _real_weights([f"{odd}=1"]),
        lambda odd: _real_weights([f"1={odd}"]),
        lambda odd: _time(odd, "--since"),
    ],
)
def test_options_that_list_numbers_take_ascii_digits(read: Callable[[str], object]) -> None:
    for odd in ODD:
        with pytest.raises(ParameterError):
            read(odd)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "arguments",
    [
        ("keygen", "keys", "--largest"),
        ("keygen", "keys", "--summed"),
        ("decrypt", "keys", "a.ct", "--count"),
        ("compact", "advise", "--windows"),
        ("serve", "--port"),
    ],
)
def test_options_that_are_a_number_take_ascii_digits(arguments: tuple[str, ...], odd: str) -> None:
    result = CliRunner().invoke(app, [*arguments, odd], env={"COLUMNS": "200"})
    assert result.exit_code == 2 and re.search(r"is no (whole )?number in the digits 0 to 9", result.stderr)


def test_no_commands_number_is_read_by_pythons_rules() -> None:
    """And each keeps its range."""
    found = list(_numbers_of(app))
    assert len(found) > 40
    for kind, info in found:
        assert info.parser is not None
        for odd in ODD:
            with pytest.raises(typer.BadParameter):
                info.parser(odd)
        if info.min is not None:
            assert info.parser(str(info.min)) == info.min and type(info.parser(str(info.min))) is kind
            with pytest.raises(typer.BadParameter, match="not in the range"):
                info.parser(str(info.min - 1))


def _numbers_of(group: typer.Typer) -> Iterator[tuple[type, Any]]:
    for command in group.registered_commands:
        assert command.callback is not None
        for hint in typing.get_type_hints(command.callback, include_extras=True).values():
            kind = getattr(hint, "__origin__", None)
            for number in {kind, *typing.get_args(kind)} & {int, float}:
                yield from ((number, info) for info in hint.__metadata__)
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from _numbers_of(inner.typer_instance)


@pytest.mark.parametrize("query", [operator_api.Limit, operator_api.AfterNumber, api._After, api._Skip])
def test_a_query_takes_ascii_digits(query: Any) -> None:
    assert TypeAdapter(query).validate_python("7") == 7
    for odd in ODD:
        with pytest.raises(ValidationError, match="digits 0 to 9"):
            TypeAdapter(query).validate_python(odd)


def test_a_gateway_takes_each_device_once_in_its_only_spelling() -> None:
    for names in ('"1_0": 2', '"01": 2', '"1": 1, "01": 2', '" 1": 1', '"+1": 1', '"1.0": 1'):
        fields = json.loads(f'{{"kind": "weighted-sum", "bound": 1, "weights": {{{names}}}}}')
        with pytest.raises(ValidationError, match="without leading zeros"):
            JobSpec.model_validate(fields)
    spec = JobSpec.model_validate({"kind": "weighted-sum", "bound": 1, "weights": {"10": 2, "0": 1}})
    assert spec.weights == {10: 2, 0: 1}


def test_only_ascii_digits_are_natural_numbers() -> None:
    assert number_text.is_natural("0123456789")
    assert not any(number_text.is_natural(odd) for odd in [*ODD, "", "-1", "+1"])


def test_no_reader_asks_python_whether_text_is_a_number() -> None:
    names = {"isdecimal", "isdigit", "isnumeric"}
    found = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in names
    ]
    allowed = ("number_text.py", "cli/compact.py")  # the latter asks bytes, which have ASCII digits only
    assert {place.split(":")[0] for place in found} == {Path(name).name for name in allowed}


# --- byte order marks ---------------------------------------------------------------------------------------


def test_a_byte_order_mark_of_utf_8_is_left_out() -> None:
    content = codecs.BOM_UTF8 + b"21.5,-3\r\n4,5\r\n"
    assert [row.tolist() for row in parse_values(content)] == [[21.5, -3], [4, 5]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_other_encodings_are_named(encoding: str) -> None:
    with pytest.raises(ValueRangeError, match=r"UTF-16 or UTF-32.*save it as UTF-8"):
        parse_values("21.5,-3\n".encode(encoding))


def test_json_is_read_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(codecs.BOM_UTF8 + MODEL.to_json().encode())
    assert LinearModel.load(path).id == MODEL.id
    assert ("what", "a linear model") in inspection.describe(path)


# --- JSON ---------------------------------------------------------------------------------------------------


def doubled(text: str | bytes, name: str) -> bytes:
    """The JSON with the name twice in its object, the second time with the same value."""
    found = text.decode() if isinstance(text, bytes) else text
    value = json.dumps(json.loads(found)[name])
    return found.strip()[:-1].encode() + f', "{name}": {value}}}'.encode()


def result_json() -> bytes:
    job = {"id": 1, "stream": None, "spec": {"kind": "sum"}, "begins": 0, "ends": 1, "replay": 0}
    job |= {"state": "done", "done": 0, "total": 0, "error": None, "result": None}
    job |= {"tries": 1, "created": 0.0, "finished": 1.0}
    head = {"format": "ciphermote-result", "version": 1, "fleet": "f", "gateway": "https://g"}
    return json.dumps(head | {"definition": {}, "job": job, "contributors": [], "parts": []}).encode()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o600)
    return path


CONNECTION = Connection("https://g", "f", 1, 1, "u", "token", None, {})
READERS: dict[str, tuple[bytes, str, Callable[[Path], object]]] = {
    "model": (MODEL.to_json().encode(), "bias", LinearModel.load),
    "parameters": (
        json.dumps(parameters_to_dict(SET)).encode(),
        "primes",
        lambda path: inspection.describe(path),
    ),
    "manifest": (
        Manifest(SET, 1, "now", (), False, {"public.key": "0" * 64}).to_json().encode(),
        "key_id",
        lambda path: Manifest.from_json(path.read_bytes(), str(path)),
    ),
    "connection": (CONNECTION.to_bytes(), "token", Connection.load),
    "result": (result_json(), "contributors", results.read),
}


@pytest.mark.parametrize("name", READERS)
def test_json_with_a_name_twice_is_refused(name: str, tmp_path: Path) -> None:
    content, key, read = READERS[name]
    read(write(tmp_path / "good.json", content))
    with pytest.raises(Error) as refusal:
        read(write(tmp_path / "bad.json", doubled(content, key)))
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]', "[NaN]", "[-Infinity]"])
def test_json_that_readers_understand_differently_is_none(text: str) -> None:
    for parse in (json_text.parse, json_text.parse_large):
        with pytest.raises(ValueError, match=r"twice|no number"):
            parse(text)


def test_a_refusal_of_a_model_tells_which_fault_it_is() -> None:
    with pytest.raises(ParameterError, match="a name stands twice"):
        LinearModel.from_json(doubled(MODEL.to_json(), "bias"))


def calls(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_json_from_outside_has_one_reader() -> None:
    rows = {"devices.py", "jobs.py", "registry.py", "operator.py", "contributors.py"}
    rows |= {"marks.py", "replaced.py"}
    """The gateway's own, in its database and its objects."""
    own = {"json_text.py", "seal_worker.py", *rows}
    """And the reader itself, and the engine's pipe to its own process."""
    readers = {
        path.name
        for path in PACKAGE.rglob("*.py")
        for call in calls(path)
        if call in ("json.loads", "json.load") or call.endswith("response.json")
    }
    assert readers <= own, "read JSON by json_text"


# --- inspect ------------------------------------------------------------------------------------------------


def headers(owner: Owner) -> dict[str, tuple[bytes, str]]:
    identity = provision.Identity(7, 2)
    pair = provision.provision(owner._contents, secret=True, identity=identity)
    keys, enrolment = CompactKeys.generate(compact_set("b")).enroll(7, 1000)
    return {
        "provisioned_keys.h": (
            provision.to_c_header(pair).encode(),
            "device 7, epoch 2, secret key, tag keys",
        ),
        "public.h": (owner.provisioned_header(public=True).encode(), "public key, n2048_q26_p27"),
        "compact_keys.h": (
            compact_keys.to_c_header(keys, enrolment).encode(),
            "device 7, set b, largest value 1000",
        ),
    }


def everything(owner: Owner) -> dict[str, tuple[bytes, str]]:
    return headers(owner) | {
        "packets.txt": (b"2101" * 20 + b"\n" + b"2101" * 20 + b"\n", "2 packets"),
        "7.window": (Waiting(7, 1.5, (b"ab",)).to_bytes(), "window"),
        "device7.json": (CONNECTION.to_bytes(), "connection"),
        "result.json": (result_json(), "result"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "provisioned_keys.h",
        "public.h",
        "compact_keys.h",
        "packets.txt",
        "7.window",
        "device7.json",
        "result.json",
    ],
)
def test_inspect_knows_everything_that_the_package_writes(name: str, tmp_path: Path) -> None:
    owner = Owner.generate(SET, relin=False)
    content, words = everything(owner)[name]
    rows = dict(inspection.describe(write(tmp_path / name, content)))
    text = " ".join(f"{field} {value}" for field, value in rows.items())
    for word in words.replace(",", "").split():
        assert word in text
    assert "token token" not in text


def test_a_header_that_is_damaged_or_of_something_else_is_refused(tmp_path: Path) -> None:
    for name, (content, _) in headers(Owner.generate(SET, relin=False)).items():
        with pytest.raises(KeyFileError, match="damaged"):
            inspection.describe(write(tmp_path / name, content[:60]))
    with pytest.raises(KeyFileError, match="not one of Ciphermote's files"):
        inspection.describe(write(tmp_path / "other.h", b"/*\n * Something else.\n */\n"))


def test_a_header_shows_no_secret(tmp_path: Path) -> None:
    owner = Owner.generate(SET, relin=False)
    found = provision.provision(owner._contents, secret=True, identity=provision.Identity(7, 1))
    path = write(tmp_path / "provisioned_keys.h", provision.to_c_header(found).encode())
    shown: Any = repr(inspection.describe(path))
    assert found.device_secret.hex() not in shown
    assert "0x" not in shown
