# SPDX-License-Identifier: Apache-2.0
"""Choose the executor of a gateway, and refuse a Ray cluster that is open to others."""

from __future__ import annotations

import os
import re
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ciphermote.base.errors import ParameterError
from ciphermote.base.words import how_to_install
from ciphermote.gateway.executors.interface import Executor
from ciphermote.gateway.executors.local import LocalExecutor

LEAST_VERSION = (2, 60, 0)
_ADDRESS = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})", re.ASCII)
_TLS_FILES = ("RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
_SECRETS = ("RAY_AUTH_TOKEN_PATH", "RAY_TLS_SERVER_KEY")


def open_executor(address: str | None) -> Executor:
    """Open the executor of a worker. address: of a Ray cluster's head; None for this machine. Raises
    ParameterError for a cluster that must not be used, and ExecutorUnavailable for one that cannot be used
    now."""
    if address is None:
        return LocalExecutor()
    check_compute(address)
    from ciphermote.gateway.executors.ray_executor import RayExecutor

    return RayExecutor(address)


def check_compute(address: str) -> None:
    """Raises ParameterError unless this names the head of a cluster that this process can join by a token and
    TLS, with a version of Ray that knows tokens."""
    if address.startswith("ray://"):
        raise ParameterError(
            f"--compute is {address}, a port of Ray Client: join this machine to the cluster (`ray start "
            "--address HOST:PORT --num-cpus 0`) and give that HOST:PORT, of the head."
        )
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise ParameterError(f"--compute is {address}: give HOST:PORT, of the head of a Ray cluster.")
    _check_version()
    if os.environ.get("RAY_AUTH_MODE") != "token" or "RAY_AUTH_TOKEN_PATH" not in os.environ:
        raise ParameterError(
            "Ray without a token lets anybody who reaches it run anything: start the cluster and the gateway "
            "with RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH naming the token's file."
        )
    if os.environ.get("RAY_USE_TLS", "").lower() not in ("1", "true"):
        raise ParameterError(
            "Ray without TLS sends its token in the clear: start the cluster and the gateway with "
            f"RAY_USE_TLS=1 and {', '.join(_TLS_FILES)}."
        )
    for variable in ("RAY_AUTH_TOKEN_PATH", *_TLS_FILES):
        _check_file(variable)


def _check_version() -> None:
    least = ".".join(map(str, LEAST_VERSION))
    try:
        installed = version("ray")
    except PackageNotFoundError:
        raise ParameterError(f"Ray is not installed: {how_to_install('cluster')}.") from None
    numbers = tuple(int(word) for word in re.findall(r"\d+", installed)[:3])
    if numbers < LEAST_VERSION:
        raise ParameterError(
            f"Ray {installed} is installed, and {least} is the oldest that is used: update it."
        )


def _check_file(variable: str) -> None:
    """Raises ParameterError unless a variable names a file, which nobody else can read if it is secret."""
    path = Path(os.environ.get(variable, ""))
    if not path.is_file():
        raise ParameterError(
            f"{variable} names no file ({path}): give the one that the cluster's nodes have."
        )
    found = path.stat()
    is_private = found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if variable in _SECRETS and not is_private:
        raise ParameterError(
            f"{path} ({variable}) is not this user's alone: have the user who runs the gateway own it "
            f"(chown), and only that user read it (`chmod 600 {path}`)."
        )
