# SPDX-License-Identifier: Apache-2.0
"""The API is what its description says: schemathesis asks for everything in /openapi.json with what is
allowed and with what is not, and every answer has to be one that is described.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from gateway_support import FullDevice, Server, accepted, define_full, full_owner

SECONDS = 12
"""Of each scope's run, at most about; three examples of each operation at least."""


@pytest.mark.parametrize("scope", ["owner", "operator"])
def test_the_api_keeps_to_its_description(server: Server, tmp_path: Path, scope: str) -> None:
    owner = server.owner()
    define_full(owner, "known", full_owner())
    if scope == "owner":
        FullDevice(full_owner(), 1).enroll(owner, "known")
        accepted(owner.post("/v1/fleets/known/jobs", json={"spec": {"kind": "sum"}}))
    token = (server.data / f"{scope}.token").read_text().strip()
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    path = "^/v1/operator|^/metrics|^/healthz" if scope == "operator" else "^/v1/(fleets|tokens)"
    found = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "schemathesis.cli",
                "run",
                f"https://localhost:{server.port}/openapi.json",
            ),
            *("--include-path-regex", path, "--exclude-path-regex", "/watch$"),
            *("--tls-verify", str(server.data / "tls" / "ca.pem"), "-H", f"Authorization: Bearer {token}"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--seed", "1"),
            *("--max-time", str(SECONDS), "--generation-database", ":memory:", "--no-color"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "150"},
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    operations = re.search(r"Operations:\s+(\d+) selected", found.stdout)
    assert operations and int(operations[1]) >= (5 if scope == "operator" else 20), found.stdout[-2000:]
    assert "Traceback" not in server.log()


# What passes the schema may still be refused for what the fleet is, with 409 or 422.
CONFIGURATION = """
[parameters]
"path.fleet" = "known"
"path.job" = 1

[checks]
positive_data_acceptance.enabled = false
"""
