# SPDX-License-Identifier: Apache-2.0
"""`ciphermote serve`: the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base import number_text
from ciphermote.base.errors import ParameterError
from ciphermote.base.words import how_to_install
from ciphermote.cli.console import say


def serve(
    data: Annotated[
        Path,
        typer.Option(help="The gateway's directory, made if it is not there."),
    ] = Path("ciphermote-gateway"),
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8443,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM",
            help="The certificate and its chain; without one the gateway makes its own.",
        ),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="The certificate's key.")] = None,
    broker: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Take deliveries from this MQTT 5 broker too.",
        ),
    ] = None,
    broker_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM",
            help="The authority of the broker's certificate; without it, the broker has the gateway's own "
            "certificate.",
        ),
    ] = None,
    broker_password: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The password that all gateways of the broker share; without it, the one in the directory.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, max=64, help="Processes that compute.")] = 1,
    reserve: Annotated[
        int,
        typer.Option(min=0, metavar="MB", help="Of the disk, that ciphertexts leave free."),
    ] = 256,
    segment: Annotated[
        int,
        typer.Option(
            min=1,
            max=4096,
            metavar="MB",
            help="What devices sent is kept in files of this size, and deleted by whole files.",
            envvar="CIPHERMOTE_SEGMENT",
        ),
    ] = 256,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Keep what devices sent, keys and results in an object store: s3://BUCKET/PREFIX, or gs:// "
            "or az://. Credentials come from the environment.",
            envvar="CIPHERMOTE_STORE",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Keep the state in PostgreSQL instead of a file in the directory: "
            "postgresql://USER@HOST/NAME. Its password stands in PGPASSFILE's file or in PGPASSWORD.",
            envvar="CIPHERMOTE_DATABASE",
        ),
    ] = None,
    compute: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Compute jobs on a Ray cluster, of which this machine is a node; of its head, as ray start "
            "--address takes it. Its token and certificates are those of RAY_AUTH_TOKEN_PATH and RAY_TLS_*.",
            envvar="CIPHERMOTE_COMPUTE",
        ),
    ] = None,
) -> None:
    """Run a gateway: receive and store fleets' ciphertexts, and run their owners' computations.

    It never has a key that decrypts, and needs no configuration: the directory, a certificate and the first
    tokens are made at the first start. **Out:** logs on standard error. Ends on Ctrl-C or SIGTERM, once every
    accepted request is answered.

    Example:

        ciphermote serve

        ciphermote owner attach keys --gateway https://localhost:8443 --ca ciphermote-gateway/tls/ca.pem
        --token ciphermote-gateway/owner.token --fleet meters
    """
    try:
        import uvloop

        from ciphermote.gateway.database.opening import check_url as check_database
        from ciphermote.gateway.executors.opening import check_compute
        from ciphermote.gateway.gateway_files import OWNER_TOKEN_FILE
        from ciphermote.gateway.logs import configure
        from ciphermote.gateway.serving import serve as run
        from ciphermote.gateway.settings import Broker, Settings
        from ciphermote.gateway.store.urls import check_url as check_store
        from ciphermote.gateway.tls import check_pair
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"The gateway's packages are not installed ({error.name} is missing): "
            f"{how_to_install('gateway')}."
        ) from None
    if (certificate is None) != (key is None):
        raise ParameterError("A certificate and its key go together: give both, or neither.")
    if certificate is not None and key is not None:
        check_pair(certificate, key)
    if store is not None:
        check_store(store)
    found = None
    if broker is not None:
        name, _, number = broker.partition(":")
        if not name or (number and not (number_text.is_natural(number) and 0 < int(number) < 1 << 16)):
            raise ParameterError(f"--broker is {broker}: give HOST or HOST:PORT.")
        found = Broker(name, int(number or 8883), broker_ca, broker_password)
    if database is not None:
        check_database(database)
    if compute is not None:
        check_compute(compute)
    limits = reserve << 20, segment << 20
    settings = Settings(data, host, port, certificate, key, found, workers, *limits, store, database, compute)
    _check_address(host, port)
    configure()
    ready = f"Serving at https://{host}:{port}. The first owner's token is in {data / OWNER_TOKEN_FILE}."
    uvloop.run(run(settings, lambda: say(ready)))


def _check_address(host: str, port: int) -> None:
    """Raises ParameterError unless one can listen there."""
    import socket

    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ParameterError(
            f"Nobody can listen at {host}, port {port} ({error.strerror}): name another (--host, --port)."
        ) from None
