# SPDX-License-Identifier: Apache-2.0
"""Ask a Ray cluster for its nodes without a token.

    python -m ciphermote.gateway.executors.dial HOST:PORT

Ends with 0 if it refuses, with 1 if it answers, and with 2 if it cannot be reached.
"""

from __future__ import annotations

import os
import sys
from typing import Any

REFUSED, ANSWERED, UNREACHABLE = 0, 1, 2


def main(address: str) -> int:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    for variable in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        os.environ.pop(variable, None)
    from ray import _raylet
    from ray.exceptions import AuthenticationError

    raylet: Any = _raylet  # without types

    try:
        raylet.GcsClient(address=address).get_all_node_info()
    except AuthenticationError:
        return REFUSED
    except Exception:
        return UNREACHABLE
    return ANSWERED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
