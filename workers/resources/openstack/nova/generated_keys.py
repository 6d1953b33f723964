"""Keys that are generated here: for SSH, and certificates for servers that log in by these."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_BITS: Final = 2048
_LIFETIME: Final = timedelta(days=3650)
#: The kind of alternative name by which Windows tells a user.
_USER_PRINCIPAL_NAME: Final = "1.3.6.1.4.1.311.20.2.3"
#: The tag of a text in UTF-8, in DER; the longest text whose length is one byte.
_UTF8_TAG: Final = 0x0C
_LONGEST: Final = 127


@dataclass(frozen=True, slots=True)
class GeneratedKey:
    """A key pair: the public key as the compute service takes it, the private one in PEM."""

    public: str
    private: str


def generated(kind: str, name: str) -> GeneratedKey:
    """Return a new key pair of RSA; of the kind ``x509`` the public key is a certificate for ``name``."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    if kind == "x509":
        return GeneratedKey(_certificate(key, name), private.decode())
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return GeneratedKey(public.decode(), private.decode())


def _certificate(key: "RSAPrivateKey", name: str) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    principal = f"{name}@localhost".encode()[:_LONGEST]
    alternative = x509.OtherName(
        x509.ObjectIdentifier(_USER_PRINCIPAL_NAME), bytes([_UTF8_TAG, len(principal)]) + principal
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()
