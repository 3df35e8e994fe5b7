#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the description of the gateway's HTTP API, docs/openapi.json, from its routes and models.

tools/generate_openapi.py            write the description
tools/generate_openapi.py --check    exit with 1 if it differs from what would be written

A change of any type in a request or an answer changes this file, so that nobody changes the API unawares.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ciphermote.gateway.api import description
from ciphermote.gateway.operator_api import operators

DESCRIPTION = Path(__file__).resolve().parents[1] / "docs/openapi.json"


def text() -> str:
    return json.dumps(description(operators).openapi(), indent=1, sort_keys=True) + "\n"


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        if DESCRIPTION.read_text(encoding="utf-8") == text():
            return 0
        print(f"{DESCRIPTION} is out of date: run tools/generate_openapi.py, and look at what changed")
        return 1
    DESCRIPTION.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
