# SPDX-License-Identifier: Apache-2.0
"""tools/check_python_rooms.py refuses imports that violate the order of the Python package's rooms."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging_support import REPOSITORY

TOOL = REPOSITORY / "tools/check_python_rooms.py"


def check(package: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), str(package)], capture_output=True, text=True, timeout=60
    )


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return folder


def test_the_package_keeps_the_order() -> None:
    done = check(REPOSITORY / "python/ciphermote")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "base/a.py",
            "from ciphermote.parameters import by_name\n",
            "base/a.py:1: base may not import ciphermote.parameters.",
        ),
        (
            "formats/a.py",
            "\nfrom ciphermote.ciphertext import Ciphertext\n",
            "formats/a.py:2: formats may not import ciphermote.ciphertext.",
        ),
        (
            "evaluate/a.py",
            "from ciphermote.owner.keys import SecretKey\n",
            "evaluate may not import ciphermote.owner.",
        ),
        ("evaluate/a.py", "def f():\n    from ciphermote import owner\n", "evaluate may not import"),
        ("evaluate/a.py", "from ciphermote import _owner\n", "which computes with secrets"),
        ("gateway/a.py", "import ciphermote.owner.keys\n", "gateway may not import ciphermote.owner."),
        ("gateway/jobs/a.py", "from ciphermote.fleet import client\n", "gateway may not import"),
        (
            "owner/a.py",
            "if TYPE_CHECKING:\n    from ciphermote.cli.files import write\n",
            "owner may not import ciphermote.cli.",
        ),
        ("fleet/a.py", "from ciphermote import encrypt\n", "ciphermote.encrypt is no room"),
        ("attic/a.py", "", "attic/a.py: it is in none of the rooms"),
        ("loose.py", "", "loose.py: it is in none of the rooms"),
    ],
)
def test_an_import_against_the_order_is_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    done = check(written(tmp_path, name, content))
    assert done.returncode == 1
    assert said in done.stdout


def test_what_stands_before_a_room_may_be_imported(tmp_path: Path) -> None:
    content = (
        "import numpy\nfrom ciphermote import _core, _owner\nfrom ciphermote.formats.seal import key_id_of\n"
        "from ciphermote.evaluate.evaluation_keys import EvaluationKeys\nfrom ciphermote.owner import keys\n"
    )
    assert check(written(tmp_path, "owner/a.py", content)).returncode == 0
