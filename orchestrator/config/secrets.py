"""The secrets among the settings of a process: keys, and passwords in addresses."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from orchestrator.config.settings import Settings


def secrets_of_settings(settings: Settings) -> Iterator[str]:
    """Yield the secrets among the settings; sections of plugins are their own affair."""
    for name, value in settings:
        if name not in ("clients", "lifecycle", "event_sinks"):
            yield from _secrets(value)


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, str):
        yield from _password(value)
    elif isinstance(value, BaseModel):
        yield from (secret for _, each in value for secret in _secrets(each))
    elif isinstance(value, Mapping):
        yield from (secret for each in value.values() for secret in _secrets(each))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (secret for each in value for secret in _secrets(each))


def _password(text: str) -> Iterator[str]:
    if "://" not in text or "@" not in text:
        return
    try:
        parts = urlsplit(text)
    except ValueError:
        return
    # The name of the user is the password of an installation that has no secret, such as guest.
    if parts.password and parts.password != parts.username:
        yield parts.password
        yield unquote(parts.password)
