"""The options of calls over HTTP: time-outs, retries and trust for all, receiver and secrets for signed messages."""

import ssl
from pathlib import Path
from typing import Final

import httpx
from pydantic import Field, SecretStr, field_validator, model_validator

from hooks.options import HookOptions

#: The minimal length of a secret: one that can be guessed signs nothing.
_FEWEST_CHARACTERS: Final = 16


class HttpOptions(HookOptions):
    """Base of the options of every HTTP call."""

    verify: bool = Field(default=True, description="Whether to verify the server's certificate.")
    ca_file: Path | None = Field(
        default=None,
        description="A file of trusted certificates; without it, those of the system.",
    )
    connect_seconds: float = Field(default=3.0, gt=0, le=3600, description="How long a connection may take.")
    total_seconds: float = Field(
        default=10.0,
        gt=0,
        le=3600,
        description="How long all attempts at one message may take together, pauses included.",
    )
    retries: int = Field(
        default=2,
        ge=0,
        le=20,
        description="How often a message is sent again after a connection error, 408, 425, 429 or 5xx.",
    )
    retry_base_seconds: float = Field(
        default=0.2,
        gt=0,
        le=3600,
        description="The upper bound of the first pause; it doubles with each further pause.",
    )
    retry_max_seconds: float = Field(
        default=2.0, gt=0, le=3600, description="The longest pause, unless the server requests a longer one."
    )
    max_response_bytes: int = Field(default=64 * 1024, ge=1, description="A longer answer is an error.")

    def tls(self) -> ssl.SSLContext | bool:
        """Return the trusted certificates, as httpx takes them.

        Raises:
            ValueError: the file holds no certificates; the message names the file and the reason.
        """
        if not self.verify:
            return False
        try:
            return ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file else None)
        except OSError as error:  # includes TLS errors
            why = error.strerror or type(error).__name__
            raise ValueError(f"{str(self.ca_file)!r}: {why}") from None


class _Signing(HookOptions):
    url: str = Field(
        description="The URL of the receiver: http:// or https://, without a user, a password or a fragment."
    )
    secrets: tuple[SecretStr, ...] = Field(
        default=(),
        description="The secrets that sign messages, of 16 characters at least; several during a rotation.",
    )
    secret_files: tuple[Path, ...] = Field(
        default=(), description="Files that hold one secret each; read again for every message."
    )

    @field_validator("url")
    @classmethod
    def _is_web_address(cls, text: str) -> str:
        url = web_url(text, "https://hooks.example.com/isotherm")
        if url.userinfo or url.fragment:
            raise ValueError("a URL here has neither a user, a password nor a fragment")
        return text

    @field_validator("secrets")
    @classmethod
    def _are_long(cls, secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(secret.get_secret_value()) < _FEWEST_CHARACTERS for secret in secrets):
            raise ValueError(f"a secret has {_FEWEST_CHARACTERS} characters at least")
        return secrets

    @model_validator(mode="after")
    def _has_secret(self) -> "_Signing":
        if not self.secrets and not self.secret_files:
            raise ValueError("messages are signed: give secrets or secret_files")
        return self

    def all_secrets(self) -> tuple[str, ...]:
        """Return the secrets that sign messages; files are read anew.

        Raises:
            ValueError: a file holds no secret.
        """
        return (*(secret.get_secret_value() for secret in self.secrets), *map(_read, self.secret_files))


class SenderOptions(HttpOptions, _Signing):
    """The receiver of signed messages, its secrets, time-outs and retries."""

    max_response_bytes: int = Field(
        default=64 * 1024, ge=1, le=64 * 1024 * 1024, description="A longer answer is an error."
    )


def web_url(text: str, example: str) -> httpx.URL:
    """Return a URL of http or https.

    Raises:
        ValueError: the text is no such URL.
    """
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise ValueError("it is no URL") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"expected a URL such as {example}")
    return url


def _read(file: Path) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ValueError(f"secret_files: {str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"secret_files: {str(file)!r} holds no text in UTF-8") from None
    if len(secret) < _FEWEST_CHARACTERS:
        raise ValueError(
            f"secret_files: {str(file)!r} holds no secret of {_FEWEST_CHARACTERS} characters at least"
        )
    return secret
