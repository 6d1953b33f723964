"""The secrets among the settings of a process: keys, and passwords in addresses."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from hooks.values.leaves import leaves_in
from orchestrator.config.secret import Secret
from orchestrator.config.settings import Settings


def secrets_of_settings(settings: Settings) -> Iterator[str]:
    """Yield the secrets among the settings; sections of plugins are their own affair."""
    for name, value in settings.to_dict().items():
        if name not in ("clients", "lifecycle", "event_sinks"):
            for leaf in leaves_in(value):
                if isinstance(leaf, Secret):
                    yield leaf.get_secret_value()
                elif isinstance(leaf, str):
                    yield from _password(leaf)


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
