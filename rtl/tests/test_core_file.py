# SPDX-License-Identifier: Apache-2.0
"""The FuseSoC description names every source there is, and nothing else."""

from tools import RTL


def test_core_file_names_every_source():
    text = (RTL / "ciphermote.core").read_text(encoding="utf-8")
    named = {
        line.split("- ", 1)[1].split(":")[0].strip()
        for line in text.splitlines()
        if line.lstrip().startswith(("- engine/", "- accelerator/", "- client/", "- zero/"))
    }
    rooms = ("engine", "accelerator", "client", "zero")
    sources = [source for room in rooms for source in RTL.glob(f"{room}/*.sv*")]
    assert named == {str(path.relative_to(RTL)) for path in sources}
