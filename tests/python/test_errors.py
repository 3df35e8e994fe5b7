# SPDX-License-Identifier: Apache-2.0
"""Every failure of the C library reaches Python by name, with its sentence, as a class that callers catch."""

from __future__ import annotations

import re
from pathlib import Path

import ciphermote_testing as testing
import pytest
from ciphermote.base import errors
from ciphermote.base.errors import Error

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "core/include/ciphermote/status.h").read_text(encoding="utf-8")
STATUSES = {name: int(value) for name, value in re.findall(r"^    (CM_ERR_\w+) = (\d+)", HEADER, re.M)}


@pytest.mark.parametrize(("name", "value"), STATUSES.items())
def test_a_failed_call_says_its_status_by_name_and_what_to_do(name: str, value: int) -> None:
    with pytest.raises(Error) as caught:
        testing.fail(value)
    assert caught.value.status == name
    assert str(caught.value).endswith(".")
    assert not re.search(r"\bstatus\b", str(caught.value))
    if name.startswith("CM_ERR_FRAME"):
        assert isinstance(caught.value, errors.FrameError)


def test_every_status_that_the_package_gives_a_class_is_one_of_the_library() -> None:
    assert set(errors._CLASSES) <= set(STATUSES)
    assert len(STATUSES) > 20
