# SPDX-License-Identifier: Apache-2.0
"""Files that users write into a clone by following the documentation, above all keys and tokens, are in no
archive, and git ignores them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

PACKED = ("core", "cmake", "host", "python")
ROOT_FILES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
LEFT_OUT = ("cmake/wasi.mjs",)
SECRETS = (
    *("fleet.key", "gateway.key", "keys/secret.key", "headers/provisioned_keys.h", "headers/compact_keys.h"),
    *("device7.h", "device7.blob", "device7.json", "device7.rekey", "owner.token", "ca-key.pem"),
    *("fleet.key.device7.1.counter", "counter", "state/device.json", "state/windows/7.window"),
    *("ciphermote-gateway/gateway.db", "ciphermote-gateway/lock", "gateway.db-wal", "gateway.password"),
    *("packets.txt", "readings.ledger", "model.json", "sensor.c", "frames.bin"),
)
PLANTED = "This is a secret."


def tracked(*paths: str) -> set[str]:
    return set(run("git", "ls-files", "-z", *paths).split("\0")) - {""}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, with secrets in each of its directories."""
    tree = tmp_path_factory.mktemp("tree")
    for name in tracked(*PACKED, *ROOT_FILES, ".gitignore"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tree / name)
    folders = [tree, *(path for path in tree.rglob("*") if path.is_dir())]
    for folder in folders:
        for name in SECRETS:
            if folder == tree or not name.endswith(".c"):  # a new C source is a source, below the root
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(PLANTED)
    return tree


def test_a_source_archive_holds_the_sources_and_no_secret(planted: Path, tmp_path: Path) -> None:
    build = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    run(sys.executable, "-c", build, tmp_path, cwd=planted)
    (archive,) = tmp_path.glob("ciphermote-*.tar.gz")
    with tarfile.open(archive) as found:
        members = [member for member in found.getmembers() if member.isfile()]
        names = {member.name.partition("/")[2] for member in members}
        texts = [found.extractfile(member) for member in members]
        assert not any(PLANTED.encode() in text.read() for text in texts if text is not None)
    assert names - {"PKG-INFO"} == tracked(*PACKED, *ROOT_FILES) - set(LEFT_OUT)


def test_a_package_of_a_tree_with_secrets_has_none(planted: Path) -> None:
    """The wheel takes its files by the same list."""
    code = (
        "from pathlib import Path; import tomllib\n"
        "from scikit_build_core.build._file_processor import each_unignored_file as each\n"
        "s = tomllib.loads(Path('pyproject.toml').read_text())['tool']['scikit-build']['sdist']\n"
        "options = dict(include=s['include'], exclude=s['exclude'], mode=s['inclusion-mode'])\n"
        "print(*each(Path('python/ciphermote'), **options), sep='\\n')"
    )
    names = set(run(sys.executable, "-c", code, cwd=planted).split())
    assert names == tracked("python/ciphermote")


def test_a_container_is_built_of_what_the_archives_hold() -> None:
    """`COPY . /src` in deploy/container would put keys that lie in the clone into a layer of the image."""
    listed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["scikit-build"]["sdist"]
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    allowed = [f"!{pattern.removeprefix('/')}" for pattern in listed["include"]]
    left_out = [f"**/{pattern}" for pattern in listed["exclude"]]
    assert [line for line in lines if not line.startswith("#")] == ["*", *allowed, *left_out]


DOCUMENTS = ("README.md", "docs/*.md", "ports/**/*.md", "examples/**/*.md", "python/ciphermote/cli/*.py")
OUTPUT = re.compile(r"(?:-o|--output|--public-to|--own-key|--seen|(?<!\d)>)\s+([\w./-]+)")
KEYGEN = re.compile(r"ciphermote (?:compact )?keygen ([\w./-]+)")


def written() -> dict[str, str]:
    """Return the files that commands in documents and help texts write to the current directory, with their
    documents."""
    found: dict[str, str] = {}
    for pattern in DOCUMENTS:
        for path in REPOSITORY.glob(pattern):
            for line in path.read_text(encoding="utf-8").splitlines():
                if (
                    re.search("ciphermote [a-z]", line)
                    or "./sensor" in line
                    or line.lstrip().startswith("cc ")
                ):
                    for name in [*OUTPUT.findall(line), *KEYGEN.findall(line)]:
                        found.setdefault(name, str(path.relative_to(REPOSITORY)))
    return {name: where for name, where in found.items() if not name.startswith(("/", "..", "-", "$"))}


def test_git_offers_nothing_that_the_documents_have_people_write() -> None:
    names = written()
    assert {"fleet.key", "provisioned_keys.h", "headers/provisioned_keys.h", "keys"} <= names.keys()
    directories = {name for name in names if not Path(name).suffix and name != "sensor"}
    asked = {name: f"{name}/x" if name in directories else name for name in [*names, *SECRETS]}
    for name, path in asked.items():
        done = subprocess.run(
            ["git", "check-ignore", "--quiet", "--no-index", path], cwd=REPOSITORY, check=False
        )
        assert done.returncode == 0, f"{shlex.quote(path)} ({names.get(name, 'a secret')}) is not ignored"


def test_nothing_that_git_keeps_is_ignored() -> None:
    found = run("git", "ls-files", "-z", "--cached", "--ignored", "--exclude-standard").split("\0")
    assert [name for name in found if name] == []
