# SPDX-License-Identifier: Apache-2.0
"""`ciphermote operator` against a gateway that runs: every command, its help, its JSON, and its refusals."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ciphermote.cli import app
from ciphermote.cli.operator import operator as commands
from ciphermote.gateway.operator_client import OperatorClient
from click.testing import Result
from gateway_support import (
    FullDevice,
    Server,
    accepted,
    define_full,
    device_token,
    full_owner,
    refused,
    serving,
    wait_until,
)
from typer.testing import CliRunner

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text()


def run(server: Server, *words: str) -> Result:
    """A command in the gateway's directory."""
    return CliRunner().invoke(app, ["operator", "--data", str(server.data), *words], env={"COLUMNS": "200"})


def done(server: Server, *words: str) -> str:
    result = run(server, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def answered(server: Server, *words: str) -> Any:
    """Run a command, and return its output as JSON."""
    return json.loads(done(server, *words, "--json"))


def failed(server: Server, *words: str) -> str:
    """The sentence that a command ends with."""
    result = run(server, *words)
    assert result.exit_code == 1 and result.stderr.startswith("error: "), result.output
    return " ".join(result.stderr.split())


def every_command(group: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    found = []
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found += every_command(command, (*words, name))
        else:
            found.append(((*words, name), command))
    return found


COMMANDS = every_command(typer.main.get_command(commands))


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_help_teaches(words: tuple[str, ...], command: Any) -> None:
    """Each command has a JSON form and an example that it takes itself, and the page names it."""
    assert "--json" in {option for parameter in command.params for option in parameter.opts}
    (example,) = re.findall(r"ciphermote operator (.*)", command.help.partition("Example:")[2])
    given = shlex.split(example)
    assert tuple(given[: len(words)]) == words
    command.make_context(words[-1], given[len(words) :])
    assert f"operator {' '.join(words)}" in PAGE


def test_help_fits_a_terminal_of_80_columns() -> None:
    result = CliRunner().invoke(app, ["operator", "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0 and max(map(len, result.output.splitlines())) <= 80
    for verb in ("tenant", "token", "deletion", "audit"):
        assert verb in result.output


def test_a_tenants_life(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "acme.token"
    made = answered(server, "tenant", "create", "acme", "-o", str(file), "--devices", "1")
    assert file.stat().st_mode & 0o777 == 0o600 and made["quotas"]["devices"] == 1
    owner = server.client(file.read_text().strip())
    define_full(owner, "meters", full_owner())
    FullDevice(full_owner(), 7).enroll(owner, "meters")
    device_token(owner, "meters", 7)

    assert "acme" in done(server, "tenant", "list")
    assert {each["name"] for each in answered(server, "tenant", "list")["items"]} >= {"acme", "home"}
    done(server, "tenant", "quota", "set", "acme", "--devices", "5", "--bytes", "50MB")
    assert answered(server, "tenant", "quota", "show", "acme")["quotas"]["bytes"] == 50_000_000
    shown = done(server, "tenant", "quota", "show", "acme")
    assert re.search(r"devices\s*│\s*1\s*│\s*5 ", shown) and "50 MB" in shown

    assert "meters" in done(server, "fleet", "list", "acme")
    assert "90 days" in done(server, "fleet", "retention", "set", "acme", "meters", "--days", "90")
    kept = answered(server, "fleet", "retention", "set", "acme", "meters", "--forever")
    assert kept["retain_days"] is None
    assert re.search(r"7\s*│\s*1\s*│\s*active", done(server, "device", "list", "acme", "meters"))
    assert "device 7" in done(server, "token", "list", "--tenant", "acme")

    assert "--yes" in failed(server, "device", "delete", "acme", "meters", "7")
    deleted = answered(server, "device", "delete", "acme", "meters", "7", "--yes")
    assert (deleted["fleet"], deleted["device"]) == ("meters", 7)
    done(server, "fleet", "delete", "acme", "meters", "--yes")
    assert "Deleted tenant acme" in done(server, "tenant", "delete", "acme", "--yes")

    def finished() -> bool:
        items = answered(server, "deletion", "list")["items"]
        return all(each["finished"] for each in items if each["tenant"] == "acme")

    wait_until(finished, "the removal")
    assert "acme" in done(server, "deletion", "list")
    refused(owner.get("/v1/fleets"), 401, "unknown-token")
    assert "no tenant acme" in failed(server, "tenant", "quota", "show", "acme")


def test_a_tokens_life(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "owner.token"
    text = done(
        server, "token", "create", "--tenant", "home", "--days", "3", "--note", "Ann", "-o", str(file)
    )
    token = file.read_text().strip()
    assert "expires at" in text and token.split("_")[2] not in text
    owner, identifier = server.client(token), token.split("_")[1]
    accepted(owner.get("/v1/fleets"))
    assert re.search(rf"{identifier}.*owner.*valid.*Ann", done(server, "token", "list", "--tenant", "home"))
    assert answered(server, "token", "renew", identifier, "--never")["expires"] is None
    assert "expires at" in done(server, "token", "renew", identifier, "--days", "9")
    assert identifier in done(server, "token", "revoke", identifier)
    refused(owner.get("/v1/fleets"), 401, "unknown-token")
    assert "revoked" in failed(server, "token", "renew", identifier, "--never")

    # An operator's; the file takes the place of the token that was there.
    shown = answered(server, "token", "create", "-o", str(file))
    assert "token" not in shown and shown["scope"] == "operator"
    accepted(server.client(file.read_text().strip()).get("/metrics"))
    assert shown["id"] in done(server, "token", "list")


def test_what_waits(server: Server) -> None:
    owner = server.owner()
    define_full(owner, "jumping", full_owner())
    device = FullDevice(full_owner(), 3).enroll(owner, "jumping")
    sender = server.client(device_token(owner, "jumping", 3))
    for counter in (1 << 40, 1 << 41):
        device.boot(counter)
        refused(sender.post("/v1/fleets/jumping/deliveries", content=device.encrypt([1.0])), 409, "held")
    first, second = (each["id"] for each in answered(server, "quarantine", "list")["items"])
    assert "jump" in done(server, "quarantine", "list")
    assert "Device 3" in done(server, "quarantine", "accept", str(first))
    assert "device 3" in done(server, "quarantine", "discard", str(second))
    assert "Nothing of number" in failed(server, "quarantine", "discard", str(second))


def test_the_audit_log_is_listed(server: Server) -> None:
    done(server, "tenant", "quota", "set", "home", "--devices", "77")
    text = done(server, "audit", "list", "--tenant", "home", "--limit", "1")
    assert re.search(r"local.*tenant quota set.*devices 77.*done", text)
    (entry,) = answered(server, "audit", "list", "--limit", "1")["items"]
    assert (entry["actor"], entry["address"], entry["outcome"]) == ("local", "local", "done")


def test_an_operator_elsewhere_uses_a_token(server: Server, tmp_path: Path) -> None:
    elsewhere = ("--gateway", server.url, "--ca", str(server.authority))
    for options, code, words in (
        ((*elsewhere, "--token", str(server.data / "operator.token")), 0, "home"),
        (
            (*elsewhere, "--token", str(server.data / "owner.token")),
            1,
            "The token is an owner's: use an operator's.",
        ),
        (elsewhere, 1, "--token"),
        (("--token", "x"), 1, "--gateway"),
        (("--gateway", server.url, "--token", str(server.data / "operator.token")), 1, "--ca"),
        (("--gateway", "http://x", "--token", str(server.data / "operator.token")), 1, "https://"),
        (("--data", str(tmp_path / "none")), 1, "--data"),
        (("--data", str(tmp_path)), 1, "No gateway runs"),
    ):
        result = CliRunner().invoke(app, ["operator", *options, "tenant", "list"])
        assert result.exit_code == code and words in " ".join(result.output.split()), result.output


def test_a_token_that_cannot_be_written_is_not_made_or_is_revoked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = tmp_path / "letter"
    letter.write_text("a letter")
    with OperatorClient.local(server.data) as client:
        before = list(client.tokens())
        assert "not a token" in failed(server, "token", "create", "-o", str(letter))
        assert list(client.tokens()) == before and letter.read_text() == "a letter"
        assert "cannot be written" in failed(server, "token", "create", "-o", str(tmp_path / "no" / "x"))
        (made,) = (token for token in client.tokens() if token not in before)
        assert made.state == "revoked"


def test_a_new_tenants_token_replaces_no_other(server: Server, tmp_path: Path) -> None:
    output = tmp_path / "first.token"
    done(server, "tenant", "create", "first", "-o", str(output))
    before = output.read_bytes()
    assert "holds another token" in failed(server, "tenant", "create", "second", "-o", str(output))
    assert output.read_bytes() == before
    assert "second" not in {each["name"] for each in answered(server, "tenant", "list")["items"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tenant", "quota", "set", "home"), "--devices"),
        (("tenant", "quota", "set", "home", "--bytes", "5 MiB"), "kB, MB, GB or TB"),
        (("token", "renew", "0" * 16), "--days or --never"),
        (("token", "renew", "0" * 16, "--days", "1"), "no token"),
        (("fleet", "retention", "set", "home", "f"), "--days or --forever"),
        (("fleet", "list", "nobody"), "no tenant nobody"),
        (("fleet", "list", "../x"), ""),
        (("tenant", "create", "Ac_me", "-o", "x"), "take 1 to 40 lowercase letters, digits and hyphens"),
        (("token", "revoke", "nope"), "give 16 hexadecimal digits"),
        (("device", "list", "home", "none"), "no fleet none"),
        (("tenant", "delete", "nobody", "--yes"), "no tenant nobody"),
    ],
)
def test_mistakes_end_in_a_sentence(server: Server, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in failed(server, *words)


def test_the_page_is_enough(tmp_path: Path) -> None:
    """Its commands, one after the other, do what they are said to do. Owners do their part in between."""
    section = PAGE.partition("## The operator's work")[2].partition("\n## ")[0]
    lines = [shlex.split(line)[2:] for line in re.findall(r"^    (ciphermote operator .*)$", section, re.M)]
    assert {(*line[:2],) for line in lines} == {words[:2] for words, _ in COMMANDS}
    with serving(tmp_path / "data") as server, OperatorClient.local(server.data) as client:
        for line in lines:
            if line[:2] == ["fleet", "list"]:
                owner = server.client((tmp_path / "acme.token").read_text().strip())
                define_full(owner, "meters", full_owner())
                device = FullDevice(full_owner(), 7).enroll(owner, "meters")
                sender = server.client(device_token(owner, "meters", 7))
            if line[:2] == ["quarantine", "list"]:
                for counter in (1 << 40, 1 << 41):
                    device.boot(counter)
                    frames = device.encrypt([1.0])
                    refused(sender.post("/v1/fleets/meters/deliveries", content=frames), 409, "held")
            waiting = [str(each.id) for each in client.quarantined()]
            tokens = [each.id for each in client.tokens("home") if each.state == "valid"]
            if line[:2] == ["token", "revoke"]:
                tokens = [client.create_token("home").id]
            replaced = {"ID": tokens[:1], "NUMBER": waiting[:1]}
            words = [word for each in line for word in replaced.get(each, [each])]
            words = [str(tmp_path / word) if word.endswith(".token") else word for word in words]
            done(server, *words, *(["--yes"] if line[1] == "delete" else []))
        for token in tmp_path.glob("*.token"):
            assert token.stat().st_mode & 0o777 == 0o600
