# SPDX-License-Identifier: Apache-2.0
"""docs/from-seal.md: its programs and commands do what it says; and `import` and `export` refuse what is
wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote import CKKS, Owner, SealChain
from ciphermote.cli import app
from ciphermote.formats import seal as sb
from ciphermote.parameters.sets import SECURITY_BOUNDS
from seal_chains import BITS, SealUser, bfv_of, chain_of
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/from-seal.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(
    r"^    (\S.*)", re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
)


def shell(command: str, folder: Path) -> str:
    """Return the output of a shell command, with the tests' own Python first in PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder in which the page's commands ran in order, and what each printed."""
    folder = tmp_path_factory.mktemp("walk")
    for program in PROGRAMS:
        if name := re.match(r"# (\w+\.py)\n", program):
            (folder / name[1]).write_text(program)
    return folder, {command: shell(command, folder) for command in COMMANDS}


def printed(walked: tuple[Path, dict[str, str]], beginning: str) -> str:
    (found,) = (text for command, text in walked[1].items() if command.startswith(beginning))
    return found


def test_seal_decrypts_the_sum_that_the_page_computes(walked: tuple[Path, dict[str, str]]) -> None:
    assert printed(walked, "python decrypt_in_seal.py").strip() == "[42.3, -53.5]"
    assert "`[42.3, -53.5]`" in PAGE
    shown = re.findall(r"│ [01] +│ (\S+) +│ (\S+)", printed(walked, "ciphermote decrypt keys total.ct"))
    assert [float(value) for value, _ in shown] == pytest.approx([42.3, -53.5], abs=1e-8)
    assert all(float(error) < 1e-8 for _, error in shown)


def test_the_2018_table_is_named_once(walked: tuple[Path, dict[str, str]]) -> None:
    assert "of the 2018 table" in printed(walked, "ciphermote keygen keys ")
    others = [text for command, text in walked[1].items() if "keygen" not in command]
    assert not any("2018 table" in text for text in others)


def test_the_page_in_python_multiplies_and_rotates(
    walked: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = (each for each in PROGRAMS if each.startswith("import ciphermote\n"))
    monkeypatch.chdir(walked[0])
    exec(compile(program, "from-seal.md", "exec"), {})
    assert float(capsys.readouterr().out.strip(" []\n")) == pytest.approx(729, abs=0.01)
    assert (walked[0] / "square.seal").stat().st_size > 2**18


def test_the_table_of_levels_is_what_the_code_does() -> None:
    rows = [row.split("|")[1:-1] for row in PAGE.splitlines() if re.match(r"\| [34][0-9], ", row)]
    assert len(rows) == len(BITS)
    for row, name in zip(rows, BITS, strict=True):
        chain = chain_of(name)
        assert row[1].strip() == chain.nearest_set.name
        moduli, ours = (each.moduli for each in (chain, chain.nearest_set))
        seals = [f"{k}: {moduli[k].bit_length()}" for k in range(len(chain.data_primes), 0, -1)]
        assert row[2].strip() == "; ".join(seals)
        levels = [next(k for k in range(1, 9) if ours[k] >= p) for p in moduli[len(seals) : 0 : -1]]
        assert row[3].strip() == "; ".join(f"{k}: {ours[k].bit_length()}" for k in levels)


def test_the_table_of_security_is_what_the_code_says() -> None:
    rows = re.findall(r"\| (\d+) \| (\d+) bits \| (\d+) \| (\d+) \| (\d+) bits \|", PAGE)
    assert [row[0] for row in rows] == ["4096", "8192", "16384"]
    for n, bits, older, bound, security in (map(int, row) for row in rows):
        assert (older, bound) == (SECURITY_BOUNDS["2018"][n], SECURITY_BOUNDS["2024"][n])
        assert security == int(128 * bound / bits)


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(
        app, [str(each) for each in arguments], env={"COLUMNS": "200", "TERM": "dumb"}
    )
    assert result.exit_code == code, (result.output, result.exception)
    return result.stderr if code else result.output


@pytest.fixture(scope="module", params=[CKKS, bfv_of("default4096")], ids=["ckks", "bfv"])
def user(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SealUser:
    return SealUser(chain_of("default4096", request.param), tmp_path_factory.mktemp("user"))


def test_a_product_of_seals_is_relinearized_on_its_way_in(user: SealUser, tmp_path: Path) -> None:
    values = np.arange(2048 if user.batch is None else 4096) % 3
    data = user.square(user.encrypted(values, 2.0**30, seeded=False), relinearized=False)
    (tmp_path / "product.seal").write_bytes(data)
    user.owner.save(tmp_path / "keys")
    run("import", tmp_path / "keys", tmp_path / "product.seal", "--largest", 4, "-o", tmp_path / "product.ct")
    label = sb.read_as_labelled((tmp_path / "product.ct").read_bytes(), None, None)
    assert label.size == 2 and label.known.largest == 4
    run("export", tmp_path / "keys", tmp_path / "product.ct", "-o", tmp_path / "back.seal")
    assert np.abs(user.read((tmp_path / "back.seal").read_bytes()) - values**2).max() < 1e-3
    assert user.chain.name in run("inspect", tmp_path / "keys")


def test_wrong_files_and_options_are_refused_in_one_sentence(user: SealUser, tmp_path: Path) -> None:
    user.owner.save(tmp_path / "keys")
    Owner.generate(relin=False).save(tmp_path / "ours")
    values = np.arange(4)
    other = SealUser(user.chain, tmp_path)
    for name, data in {
        "sound.seal": user.encrypted(values, 2.0**30, seeded=True),
        "other.seal": other.encrypted(values, 2.0**30, seeded=True),
        "secret.seal": user.save(user.secret_key),
        "parms.seal": user.save(user.parameters),
        "text": b"no bytes of SEAL's, but long enough for a header",
    }.items():
        (tmp_path / name).write_bytes(data)
    keys, out = tmp_path / "keys", tmp_path / "out.ct"
    run("import", keys, tmp_path / "sound.seal", "-o", tmp_path / "sound.ct")

    def refused(words: str, *arguments: Any) -> None:
        sentence = run(*arguments, code=1)
        assert re.search(words, sentence.replace("\n", " ")), sentence
        assert not out.exists()

    refused("noise", "import", keys, tmp_path / "other.seal", "-o", out)
    refused("no SEAL header", "import", keys, tmp_path / "text", "-o", out)
    refused("has a label", "import", keys, tmp_path / "sound.ct", "-o", out)
    refused("not made for a secret key", "import", tmp_path / "ours", tmp_path / "sound.seal", "-o", out)
    refused("not made for a secret key", "export", tmp_path / "ours", tmp_path / "sound.ct", "-o", out)
    refused("give --largest", "import", keys, tmp_path / "sound.seal", "-o", out, "--error", "0.1")
    refused("one of them", "import", keys, tmp_path / "sound.seal", "-o", out, "--error", "0.1", "--fresh")
    refused("level of 4 primes", "import", keys, tmp_path / "sound.seal", "-o", out, "--primes", 4)
    refused("level of 3 primes", "export", keys, tmp_path / "sound.ct", "-o", out, "--primes", 3)
    refused("ciphermote import", "export", keys, tmp_path / "sound.seal", "-o", out, "--bare")
    refused("replace", "import", keys, tmp_path / "sound.seal", "-o", tmp_path / "sound.seal")
    new = ("keygen", tmp_path / "new")
    seal = ("--seal-parameters", tmp_path / "parms.seal")
    refused("pass standard 2018", *new, "--import-secret", tmp_path / "secret.seal", *seal)
    refused("without its secret key", *new, *seal, "--standard", "2018")
    refused("--standard is for", *new, "--standard", "2018")
    refused("no security standard", *new, *seal, "--standard", "2030")
    refused(
        "secret key cannot be used",
        *new,
        "--import-secret",
        tmp_path / "sound.seal",
        *seal,
        "--standard",
        2018,
    )
    refused("same n", *new, "--params", "n8192_q26x7_p27", "--import-secret", tmp_path / "secret.seal", *seal,
            "--standard", 2018)  # fmt: skip


def test_a_chain_of_bgv_and_one_of_a_large_ring_are_refused() -> None:
    with pytest.raises(Exception, match=r"n = 32768"):
        SealChain(32768, (1099510054913,))
    data = bytearray(sb.write_seal_chain(chain_of("default4096", bfv_of("default4096"))))
    data[16] = 3
    with pytest.raises(Exception, match=r"BGV's"):
        sb.read_seal_chain(data, "2018")
