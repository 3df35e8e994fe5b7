# SPDX-License-Identifier: Apache-2.0
"""The walk over the C library's options: its coverage, its rules, and the objects that it reuses."""

import itertools
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import test_configurations

    return test_configurations


def test_each_allowed_pair_of_values_meets_in_the_cover(tool):
    cover = list(tool.pairwise_cover())
    assert all(tool.allowed(combination) for combination in cover)
    for first, second in itertools.combinations(tool.OPTIONS, 2):
        for pair in itertools.product(first.values, second.values):
            if tool.allowed({first.name: pair[0], second.name: pair[1]}):
                assert any((row[first.name], row[second.name]) == pair for row in cover), (
                    first,
                    second,
                    pair,
                )


def test_the_cover_is_always_the_same(tool):
    assert list(tool.pairwise_cover()) == list(tool.pairwise_cover())


def test_every_combination_is_allowed_and_comes_once(tool):
    names = [option.name for option in tool.OPTIONS if option.crossed]
    seen = set()
    for combination in tool.every_combination():
        assert tool.allowed(combination)
        seen.add(tuple(combination[name] for name in names))
    choices = itertools.product(*(option.values for option in tool.OPTIONS if option.crossed))
    assert seen == {values for values in choices if tool.allowed(dict(zip(names, values, strict=True)))}


def test_an_object_is_used_again_only_where_no_option_that_its_text_names_differs(tool, tmp_path):
    header = tmp_path / "macros.h"
    header.write_text(
        "#define TILES (1 << \\\n    CM_CONFIG_NTT_ROOTS)\n#define UNUSED CM_CONFIG_MAX_LOG2_N\n"
    )
    source = tmp_path / "source.c"
    source.write_text(
        '#include "macros.h"\n/* CM_CONFIG_COMPLEX */\n'
        "#if CM_CONFIG_STORE_NOISE\nint tiles = TILES;\n#endif\n"
    )
    assert tool.Source(source).relevant == {"CM_CONFIG_NTT_ROOTS", "CM_CONFIG_STORE_NOISE"}


def test_a_failure_is_told_in_its_first_complaint_and_its_end(tool):
    output = (
        "ring 3 checks\nFAILED scheme: noise\n    here\nFAILED wire: crc\n    there\n1 passed, 2 failed\n"
    )
    assert tool.StepFailed(f"{output}program: exit status 1").brief.split("\n") == [
        "    FAILED scheme: noise",
        "        here",
        "    1 passed, 2 failed",
        "    program: exit status 1",
    ]


def test_the_published_number_of_builds_is_the_walks_own(tool):
    rows = json.loads((ROOT / "bench/results/m4.json").read_text())["rows"]
    (published,) = (row["value"] for row in rows if row["name"] == "options.builds")
    assert published == len(tool.every_combination())
