# SPDX-License-Identifier: Apache-2.0
"""Firmware that delivers by itself (ports/netfirmware): a simulated Cortex-M4 with TLS 1.3, HTTPS and MQTT 5.

Its gateway and broker are real. Where a server has to misbehave, it is Python's own TLS, with certificates
made here.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import select
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ciphermote.base.errors import ParameterError
from ciphermote.compact.keys import CompactKeys
from ciphermote.compact.sets import A10
from ciphermote.fleet import Attachment, Computation, Connection, Reading, attach, decrypt, fetch
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name
from ciphermote.rest.answers import WindowView
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from gateway_support import wait_until
from mqtt_support import Site, site
from net_device import PORTS, NetDevice, Transport, build, write_headers
from net_settings import to_header
from numpy.typing import NDArray

LOG2_SCALE = 22
RAM_BYTES, FLASH_BYTES = 262_144, 524_288
STACK_BYTES = 8192
"""What ports/netfirmware/netfirmware.mk leaves for the stack, below which a write faults."""
SLOTS = 2048
VALUES = 24
"""In a window of the compact lane."""
DEVICES = {"symmetric": 1, "asymmetric": 2, "compact": 3}
TRANSPORTS: tuple[Transport, ...] = ("https", "mqtt")


@dataclass
class Place:
    """A gateway with its broker, two fleets, and the images of three devices."""

    here: Site
    folder: Path
    attachments: Mapping[str, Attachment]
    images: dict[str, Path] = field(default_factory=dict)

    def attachment(self, kind: str) -> Attachment:
        return self.attachments["compact" if kind == "compact" else "full"]

    @property
    def broker(self) -> str:
        return f"localhost:{self.here.broker.port}"

    def image(self, kind: str) -> Path:
        """The firmware of a kind, built when it is first asked for."""
        if kind not in self.images:
            key = "asymmetric" if kind == "asymmetric" else "symmetric"
            headers = self.folder / kind
            write_headers(self.attachment(kind), DEVICES[kind], headers, self.broker, key)
            self.images[kind] = build(headers, headers / "build")
        return self.images[kind]

    @contextmanager
    def device(self, kind: str) -> Iterator[NetDevice]:
        """Between tests its counter stays, as a device's does."""
        workdir = self.folder / kind / "device"
        image = self.image(kind)
        workdir.mkdir(exist_ok=True)
        with NetDevice(image, workdir) as found:
            found.measure(readings(kind, 1))
            yield found

    def windows(self, kind: str) -> list[WindowView]:
        attachment = self.attachment(kind)
        with attachment.client() as client:
            return list(client.windows(attachment.fleet, DEVICES[kind]))

    def counted(self, kind: str) -> list[int]:
        """The numbers of the device's windows that count."""
        return [window.number for window in self.windows(kind)]


def readings(kind: str, number: int) -> NDArray[Any]:
    if kind == "compact":
        return (np.arange(VALUES) * number).astype(np.uint16)
    return (np.sin(np.arange(SLOTS) * 0.1) * number).astype(np.float32)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("netfirmware")
    with site(folder / "gateway", "--workers", "1") as here:
        KeyStore.create(folder / "full", by_name("n4096_q26x3_p27"), galois_steps=[], relin=False)
        CompactKeys.generate(A10).save(folder / "compact.key")
        where = (here.server.url, here.server.token("owner"))
        ca = here.server.authority.read_text()
        attachments = {
            "full": attach(folder / "full", *where, "watches", ca=ca, log2_scale=LOG2_SCALE),
            "compact": attach(folder / "compact.key", *where, "meters", ca=ca, positions=[(0, VALUES)]),
        }
        yield Place(here, folder, attachments)


# --- what works ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DEVICES)
def test_windows_arrive_over_both_transports_and_the_owner_reads_their_sum(place: Place, kind: str) -> None:
    before = len(place.counted(kind))
    with place.device(kind) as device:
        for number, transport in enumerate(("https", "mqtt", "mqtt", "https"), start=1):
            device.measure(readings(kind, number))
            line = device.deliver(transport)
            assert line.kind == "delivered" and line.figures["attempts"] == 1, device.heard
            assert line.figures["verdict"] == 1
        report = device.report()
        assert device.stop() == 0
    assert len(place.counted(kind)) == before + 4
    assert report["ram"] == report["static"] + report["stack"] <= RAM_BYTES
    assert report["open"] == 0 and 20_000 < report["pool_used"] < report["pool"]
    size = subprocess.run(
        ["arm-none-eabi-size", place.image(kind)], check=True, capture_output=True, text=True
    ).stdout.splitlines()[1]
    assert sum(map(int, size.split()[:2])) <= FLASH_BYTES

    reading = total(place, kind)
    expected = (1 + 2 + 3 + 4) * readings(kind, 1).astype(float)
    off = np.abs(np.asarray(reading.values[0], dtype=float) - expected)
    assert len(off) == len(expected) and np.all(off <= 2 * reading.errors[0]) and reading.errors.max() < 0.2


def total(place: Place, kind: str) -> Reading:
    """The owner's sum of the device's first four windows."""
    attachment = place.attachment(kind)
    name, device = attachment.fleet, DEVICES[kind]
    computation = Computation("sum", devices=(device,), per_device=4)
    with attachment.client() as client:
        job = client.add_job(name, computation)
        fetched = fetch(attachment, client, job, place.folder / f"{kind}-results", seconds=60)
    count = 0 if kind != "compact" else VALUES
    reading = decrypt(fetched, attachment.load_keys(), count=count, attachment=attachment)
    assert reading is not None
    return reading


def test_a_broker_that_restarts_gets_the_same_window_again(place: Place) -> None:
    with place.device("symmetric") as device:
        assert device.deliver("mqtt").kind == "delivered"
        before = place.counted("symmetric")
        place.here.broker.kill()
        device.command("mqtt")
        assert device.wait_for("again", "delivered").kind == "again"
        place.here.broker.start()
        line = device.wait_for("delivered", "refused")
        assert line.kind == "delivered" and line.figures["attempts"] > 1, device.heard
        assert line.figures["window"] == before[-1] + 1, "no window lost, none twice"
    assert place.counted("symmetric") == [*before, line.figures["window"]]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_gateway_that_restarts_gets_the_same_window_again(place: Place, transport: Transport) -> None:
    with place.device("compact") as device:
        assert device.deliver(transport).kind == "delivered"
        before = place.counted("compact")
        place.here.server.kill()
        device.command(transport)
        measured = time.time()
        # Over MQTT the broker holds what comes for the gateway, so the device is still waiting then.
        if transport == "https":
            assert device.wait_for("again", "delivered").kind == "again"
        time.sleep(3)
        place.here.server.start()
        line = device.wait_for("delivered", "refused")
        assert line.kind == "delivered" and line.figures["verdict"] in (1, 2), device.heard
    wait_until(lambda: len(place.counted("compact")) > len(before), "the window")
    assert place.counted("compact") == [*before, line.figures["window"]]
    window = place.windows("compact")[-1]
    assert abs(window.measured - measured) < 2 < window.arrived - measured, (
        "it counts for when it was measured"
    )


class Cut:
    """A wire to a server's port that breaks once: when a window has passed, before its answer has."""

    def __init__(self, port: int, after_bytes: int) -> None:
        self._to, self._after = port, after_bytes
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.cuts = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                device, _ = self._socket.accept()
            except OSError:
                return
            with device, socket.create_connection(("127.0.0.1", self._to)) as server, suppress(OSError):
                self._pass(device, server)

    def _pass(self, device: socket.socket, server: socket.socket) -> None:
        passed = 0
        while True:
            for one in select.select([device, server], [], [])[0]:
                piece = one.recv(65536)
                if not piece:
                    return
                if one is device:
                    passed += len(piece)
                    server.sendall(piece)
                elif passed > self._after and not self.cuts:
                    self.cuts += 1
                    return
                else:
                    device.sendall(piece)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(15)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_window_whose_receipt_is_lost_is_sent_again_and_counts_once(
    place: Place, tmp_path: Path, transport: Transport
) -> None:
    place.image("symmetric")
    before = place.counted("symmetric")
    server = place.here.server if transport == "https" else place.here.broker
    cut = Cut(server.port, after_bytes=40_956)
    connection = Connection.load(place.folder / "symmetric" / "connection.json")
    connection = replace(connection, gateway=f"https://localhost:{cut.port}")
    settings = to_header(connection, f"localhost:{cut.port}")
    workdir = place.folder / "symmetric" / "device"
    workdir.mkdir(exist_ok=True)
    with running(place, tmp_path, settings, "symmetric", workdir) as device:
        line = device.deliver(transport)
        assert line.kind == "delivered" and cut.cuts == 1, device.heard
        assert line.figures["attempts"] == 2 and line.figures["verdict"] == 2, "the first attempt counts"
    cut.close()
    assert place.counted("symmetric") == [*before, line.figures["window"]]


# --- whom it does not trust ---------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("authority", "is not signed by the authority in network_settings.h, so nothing was sent"),
        ("name", "is for another name than network_settings.h has, so nothing was sent"),
    ],
)
def test_a_gateway_and_a_broker_with_a_wrong_certificate_get_nothing(
    place: Place, tmp_path: Path, wrong: str, sentence: str, transport: Transport
) -> None:
    place.image("compact")
    before = place.counted("compact")
    connection = Connection.load(place.folder / "compact" / "connection.json")
    if wrong == "authority":
        headers = to_header(replace(connection, ca=Authority().pem), place.broker)
    else:
        gateway = connection.gateway.replace("localhost", "elsewhere.example")
        headers = to_header(
            replace(connection, gateway=gateway), place.broker.replace("localhost", "elsewhere.example")
        )
    with running(place, tmp_path, headers) as device:
        line = device.deliver(transport)
        assert line.kind == "refused" and sentence in line.text
        assert line.text.endswith(".") and [each.kind for each in device.heard] == ["ready", "refused"]
        assert device.report()["open"] == 1, "it keeps the window"
    assert place.counted("compact") == before


@contextmanager
def running(
    place: Place, folder: Path, settings: str, kind: str = "compact", workdir: Path | None = None
) -> Iterator[NetDevice]:
    """Run a device with other network settings. workdir: where its counter is; None: it has none yet."""
    headers = folder / "headers"
    headers.mkdir()
    (folder / "device").mkdir()
    name = "compact_keys.h" if kind == "compact" else "provisioned_keys.h"
    shutil.copy(place.folder / kind / name, headers)
    (headers / "network_settings.h").write_text(settings)
    with NetDevice(build(headers, folder / "build"), workdir or folder / "device") as device:
        device.measure(readings(kind, 1))
        yield device


class Authority:
    """One that signs what it is told to."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority")])
        certificate = (
            self._builder(self._name, self._key, 0)
            .add_extension(x509.BasicConstraints(True, 0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM).decode()

    def _builder(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, valid_from_days: int
    ) -> x509.CertificateBuilder:
        begins = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=valid_from_days, hours=-1)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(begins + datetime.timedelta(days=5))
        )

    def context(
        self,
        folder: Path,
        *,
        name: str = "localhost",
        valid_from_days: int = 0,
        curve: ec.EllipticCurve | None = None,
        for_servers: bool = True,
        newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    ) -> ssl.SSLContext:
        """A server's, with a certificate for a name."""
        key = ec.generate_private_key(curve or ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if for_servers else ExtendedKeyUsageOID.CLIENT_AUTH
        try:
            shown: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            shown = x509.DNSName(name)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A server")])
        certificate = (
            self._builder(subject, key, valid_from_days)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName([shown]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path = folder / f"{time.monotonic_ns()}.pem"
        path.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = newest
        context.load_cert_chain(path)
        return context


class Impostor:
    """A TLS server at one port that does as it is told, for one connection after another. taken: what each
    client sent."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.context: ssl.SSLContext | None = None
        self.answers: list[bytes] = []
        self.taken: list[bytearray] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            taken = bytearray()
            self.taken.append(taken)
            try:
                assert self.context is not None
                connection.settimeout(10)
                with self.context.wrap_socket(connection, server_side=True) as client:
                    self._talk(client, taken)
            except OSError:
                pass

    def _talk(self, client: ssl.SSLSocket, taken: bytearray) -> None:
        taken += client.recv(16384)
        for answer in self.answers:
            client.sendall(answer)
        while piece := client.recv(16384):
            taken += piece

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(15)


@dataclass
class Trap:
    """A device whose gateway and broker are an impostor with a certificate that the device trusts."""

    device: NetDevice
    impostor: Impostor
    contexts: Callable[..., ssl.SSLContext]

    def tried(self, transport: Transport, **certificate: Any) -> str:
        """Return what the device says first about a server with such a certificate."""
        self.impostor.context = self.contexts(**certificate)
        self.device.command(transport)
        return self.device.wait_for("refused", "again", "delivered").text

    def answered(self, transport: Transport, *answers: bytes) -> str:
        """Return what it says first about such answers; it goes on trying then."""
        self.impostor.answers = list(answers)
        return self.tried(transport)


@pytest.fixture(scope="module")
def trapped(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trap]:
    place.image("compact")
    folder = tmp_path_factory.mktemp("trap")
    authority, impostor = Authority(), Impostor()
    connection = Connection.load(place.folder / "compact" / "connection.json")
    settings = to_header(
        replace(connection, ca=authority.pem, gateway=f"https://localhost:{impostor.port}"),
        f"localhost:{impostor.port}",
    )
    with running(place, folder, settings) as device:
        yield Trap(device, impostor, lambda **more: authority.context(folder, **more))
    impostor.close()


@pytest.fixture
def trap(trapped: Trap) -> Trap:
    """Restart the device, and forget what was taken and answered."""
    trapped.device.restart()  # first: until then it goes on trying
    trapped.impostor.taken.clear()
    trapped.impostor.answers.clear()
    return trapped


def test_each_fault_of_a_certificate_is_told_in_one_sentence_and_nothing_is_sent(trap: Trap) -> None:
    told = {
        "has expired": {"valid_from_days": -30},
        "is not valid yet": {"valid_from_days": 30},
        "is for another name": {"name": "localhost.example"},
        "must have an ECDSA key on P-256 or P-384 and be made for servers": {"for_servers": False},
    }
    for sentence, certificate in told.items():
        found = trap.tried("https", **certificate)
        assert found.startswith("refused: The server's certificate ") and sentence in found, found
        assert found.endswith(".") and "\n" not in found
    assert trap.impostor.taken == [b""] * len(told)
    trap.tried("https", curve=ec.SECP384R1())
    assert trap.impostor.taken[-1].startswith(b"POST "), "the same authority and name are accepted otherwise"
    trap.impostor.answers.append(http(401, b""))
    assert trap.device.wait_for("refused").kind == "refused"
    assert trap.device.report()["stack"] < STACK_BYTES * 3 // 4


def test_a_server_without_tls_1_3_gets_nothing(trap: Trap) -> None:
    found = trap.tried("https", newest=ssl.TLSVersion.TLSv1_2)
    assert found.startswith(("refused: ", "again: ")) and "TLS" in found
    assert trap.impostor.taken[0] == b""


PROBLEM = json.dumps({"type": "x", "status": 403, "title": "No", "detail": "Not this one."}).encode()


def http(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (http(200, bytes(40)), "again", "receipt"),
        (http(200, b"\x22" + bytes(39)), "again", ""),
        (http(200, b""), "again", ""),
        (http(503, b""), "again", "takes nothing now"),
        (http(429, PROBLEM), "again", "takes nothing now"),
        (http(202, b'{"missing": 3}'), "again", "has not got everything"),
        (http(401, b""), "refused", "does not know the device's token"),
        (http(403, PROBLEM), "refused", "Not this one."),
        (http(200, bytes(2000)), "again", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "again", "did not come"),
        (b"SSH-2.0-x\r\n", "refused", "does not speak HTTP"),
    ],
)
def test_an_answer_that_is_no_receipt_leaves_the_window_open(
    trap: Trap, answer: bytes, kind: str, sentence: str
) -> None:
    found = trap.answered("https", answer)
    assert found.startswith(f"{kind}: ") and sentence in found, found
    if kind == "refused":
        assert trap.device.report()["open"] == 1


CONNACK = bytes((0x20, 3, 0, 0, 0))
SUBACK = bytes((0x90, 4, 0, 1, 0, 1))


def publish(status: str, payload: bytes, correlation: int = 1) -> bytes:
    def text(value: bytes) -> bytes:
        return len(value).to_bytes(2, "big") + value

    properties = b"\x26" + text(b"status") + text(status.encode())
    properties += b"\x09" + text(correlation.to_bytes(4, "big"))
    body = text(b"x") + b"\0\7" + bytes((len(properties),)) + properties + payload
    assert len(body) < 16384
    length = bytes((len(body) & 0x7F | 0x80, len(body) >> 7)) if len(body) > 127 else bytes((len(body),))
    return b"\x32" + length + body


@pytest.mark.parametrize(
    ("answers", "kind", "sentence"),
    [
        ((bytes((0x20, 3, 0, 0x87, 0)),), "again", "does not let the device in"),
        ((bytes((0x20, 3, 0, 0x89, 0)),), "again", "takes no connection now"),
        ((CONNACK, bytes((0x90, 4, 0, 1, 0, 0x87))), "refused", "refused the subscription"),
        ((CONNACK, SUBACK, bytes((0x40, 4, 0, 3, 0x97, 0))), "again", "no room"),
        ((CONNACK, SUBACK, bytes((0xE0, 0))), "again", "ended the connection"),
        ((CONNACK, SUBACK, publish("receipt", bytes(40))), "again", "receipt"),
        ((CONNACK, SUBACK, publish("refused", PROBLEM)), "refused", "Not this one."),
        ((CONNACK, SUBACK, publish("refused", PROBLEM.replace(b"403", b"503"))), "again", "nothing now"),
        ((CONNACK, SUBACK, publish("kept", b"")), "again", "has not got everything"),
        ((CONNACK, SUBACK, publish("receipt", bytes(2000))), "again", "larger packet"),
        ((b"\x20\xff\xff\xff\xff\xff",), "again", "larger packet"),
        ((b"\x20\xff\xff\xff\x7f",), "again", "larger packet"),
    ],
)
def test_what_a_broker_says_instead_of_a_receipt_leaves_the_window_open(
    trap: Trap, answers: Sequence[bytes], kind: str, sentence: str
) -> None:
    found = trap.answered("mqtt", *answers)
    assert found.startswith(f"{kind}: ") and sentence in found, found
    if kind == "refused":
        assert trap.device.report()["open"] == 1


def test_an_answer_to_another_delivery_is_passed_over(trap: Trap) -> None:
    problem = publish("refused", PROBLEM, correlation=2)
    found = trap.answered("mqtt", CONNACK, SUBACK, problem, bytes((0xE0, 0)))
    assert found.startswith("again: ") and "ended the connection" in found


# --- what it is built from ----------------------------------------------------------------------------------


def connection(**more: Any) -> Connection:
    fields: dict[str, Any] = {
        "gateway": "https://localhost:8443",
        "fleet": "meters",
        "device": 1,
        "epoch": 1,
        "mqtt_user": "home.meters.1",
        "token": "secret",
        "ca": Authority().pem,
        "definition": {},
    }
    return Connection(**{**fields, **more})


def test_settings_that_firmware_cannot_have_are_refused() -> None:
    header = to_header(connection(), "localhost")
    assert "#define NETWORK_GATEWAY_PORT 8443u" in header and "#define NETWORK_BROKER_PORT 8883u" in header
    for wrong, broker, what in (
        (connection(ca=None), "localhost", "no authority"),
        (connection(token='a"b'), "localhost", "token"),
        (connection(), "", "broker_name"),
        (connection(), "localhost:port", "port"),
    ):
        with pytest.raises(ParameterError, match=what):
            to_header(wrong, broker)
    with pytest.raises(ParameterError, match="IPv4"):
        to_header(connection(), "localhost", server="localhost")


def test_sources_other_than_those_named_are_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "lwip_2.1.3+dfsg1.orig.tar.xz").write_bytes(b"something else")
    done = subprocess.run(
        [PORTS / "netfirmware" / "fetch.sh", tmp_path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "its SHA-256 differs" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["lwip_2.1.3+dfsg1.orig.tar.xz"]
