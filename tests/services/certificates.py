"""Certificates for servers on loopback."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(file: Path, *names: str) -> Path:
    """Write a key and the certificate of names, or of 127.0.0.1, that it has signed itself; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("loopback")
    signed = (
        _builder(name, name, key.public_key())
        .add_extension(
            x509.SubjectAlternativeName(
                [*map(x509.DNSName, names)] or [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


class Authority:
    """A certificate authority: its own certificate is in ``ca.crt`` of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("an authority")
        certificate = _builder(self._name, self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), True
        )
        self.file = directory / "ca.crt"
        self.file.write_bytes(certificate.sign(self._key, hashes.SHA256()).public_bytes(PEM))

    def issue(self, address: str) -> tuple[Path, Path]:
        """Write the certificate of a server at an address and its key; return the files."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        certificate = _builder(_name("a server"), self._name, key.public_key()).add_extension(names, False)
        files = self._directory / "server.crt", self._directory / "server.key"
        files[0].write_bytes(certificate.sign(self._key, hashes.SHA256()).public_bytes(PEM))
        files[1].write_bytes(
            key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return files


PEM = serialization.Encoding.PEM


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
