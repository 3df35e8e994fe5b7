# SPDX-License-Identifier: Apache-2.0
"""The commands that docs/gateway.md delivers a window with, run as they stand there but for the ports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from ciphermote.compact.keys import CompactKeys
from ciphermote.formats.receipts import Receipt, Verdict
from ciphermote.formats.tags import TagKeys
from gateway_support import run_job
from mqtt_support import site

PAGE = (Path(__file__).parents[2] / "docs/gateway.md").read_text()


def test_the_page_delivers_a_window_with_curl_and_over_mqtt(tmp_path: Path) -> None:
    section = PAGE.partition("### By hand")[2].partition("\n## ")[0]
    over_https, over_mqtt = re.findall(r"(?:^    .*\n)+", section, re.M)
    (begins,) = re.findall(r"begins with `([0-9a-f ]+)`", section)
    assert "curl" in over_https and "mosquitto_pub" in over_mqtt and "-p 8883" in over_mqtt
    folder = tmp_path / "owner"
    folder.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def run(commands: str) -> str:
        done = subprocess.run(
            ("bash", "-euo", "pipefail", "-c", commands),
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    with site(tmp_path / "data") as here:
        for name, source in (("owner.token", "owner.token"), ("ca.pem", "tls/ca.pem")):
            (folder / name).write_bytes((here.server.data / source).read_bytes())
        shown = run(over_https.replace("8443", str(here.server.port)))
        assert f"00000000: {begins}" in shown
        keys = CompactKeys.load(folder / "device70.blob")
        (entry,) = keys.enrolments
        tag_keys = TagKeys.derive(entry.secret, keys.key_id, entry.device, entry.epoch)
        receipt = Receipt.from_bytes((folder / "receipt.bin").read_bytes(), tag_keys.receipts)
        assert (receipt.verdict, receipt.device, receipt.window) == (Verdict.COUNTS, 70, 0)
        run(over_mqtt.replace("8883", str(here.broker.port)))
        job, _ = run_job(here.server.owner(), "small", {"per_device": 9})
        assert job["result"]["windows"] == 1, "delivered twice, and counts once"
