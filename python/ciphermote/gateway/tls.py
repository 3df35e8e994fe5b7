# SPDX-License-Identifier: Apache-2.0
"""Make a certificate authority, and a certificate under it, for a gateway without one.

The operator gives the authority's file (tls/ca.pem) to clients, which trust nothing else.
"""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ciphermote.base.errors import KeyFileError
from ciphermote.base.files import read_bounded, write_atomically
from ciphermote.gateway.settings import Broker

CA_FILE, CERTIFICATE_FILE, KEY_FILE = "ca.pem", "server.pem", "server.key"
_YEARS = 10


def own_certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """Return (certificate, key), which are made if missing. The authority's key is not stored."""
    certificate, key = folder / CERTIFICATE_FILE, folder / KEY_FILE
    if certificate.exists() and key.exists():
        return certificate, key
    folder.mkdir(parents=True, exist_ok=True)
    key.unlink(missing_ok=True)
    authority_key, server_key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    authority_name, server_name = _named("Ciphermote gateway's own authority"), _named("Ciphermote gateway")
    authority = (
        _builder(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(True, 0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _builder(server_name, authority_name, server_key)
        .add_extension(x509.BasicConstraints(False, None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    private = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The key comes last: if it is there, all three belong together.
    write_atomically(folder / CA_FILE, authority.public_bytes(serialization.Encoding.PEM), 0o644)
    write_atomically(certificate, server.public_bytes(serialization.Encoding.PEM), 0o644)
    write_atomically(key, private, 0o600)
    return certificate, key


def check_pair(certificate: Path, key: Path) -> None:
    """Raises KeyFileError unless a server can use the pair: both are PEM, the key has no password, and they
    belong together."""
    chain, private = (_content(path) for path in (certificate, key))
    try:
        issued = x509.load_pem_x509_certificates(chain)[0]
    except ValueError:
        raise KeyFileError(f"{certificate} holds no PEM certificate: give the one that was issued.") from None
    try:
        own = serialization.load_pem_private_key(private, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(
            f"{key} holds no PEM private key that opens without a password: give the certificate's key so."
        ) from None
    if own.public_key() != issued.public_key():
        raise KeyFileError(
            f"{certificate} and {key} do not belong together: give the key that the certificate was "
            "made for, and the certificate before those that signed it."
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        reason = (error.reason or "refused").replace("_", " ").lower()
        raise KeyFileError(f"{certificate} cannot be served with ({reason}): give another one.") from None


def broker_trust(broker: Broker, certificate: Path) -> ssl.SSLContext:
    """Return how the gateway authenticates its broker: by the broker's authority or, without one, by the
    gateway's own certificate, whatever names it has."""
    if broker.ca is not None:
        return ssl.create_default_context(cafile=broker.ca)
    leaf = x509.load_pem_x509_certificates(_content(certificate))[0]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=leaf.public_bytes(serialization.Encoding.PEM).decode())
    return context


def _content(path: Path) -> bytes:
    try:
        return read_bounded(path, 1 << 20)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365 * _YEARS))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(not signs, False, False, False, False, signs, signs, False, False)


def _names(host: str) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.DNSName(socket.gethostname())]
    for address in {"127.0.0.1", "::1", host}:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(address)))
        except ValueError:
            names.append(x509.DNSName(address))
    return names
