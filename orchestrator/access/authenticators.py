"""Authenticators: each tells from a request's credential who the caller is. Further ones are plugins.

A plugin is a class with this contract in the entry points ``isotherm.authenticators``, and named by the setting
``authenticator``.
"""

import os
import pwd
from abc import ABC, abstractmethod
from typing import Any, Final

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotAllowed, PluginMistake, Problem
from orchestrator.model.identity import Caller, Identity

NAMESPACE: Final = "isotherm.authenticators"
#: The authenticator of a token where the settings name none.
TOKENS: Final = "tokens"


class Authenticator(ABC):
    """Tells who a caller is; used by several threads."""

    def __init__(self, settings: Settings) -> None:
        """Keep the settings.

        Raises:
            InvalidInput: they are wrong.
        """
        self.settings = settings

    @abstractmethod
    def identify(self, credential: str) -> Identity | None:
        """Return who has a credential, such as a token; None for one that is unknown, or empty.

        It answers at once: the dashboard asks for each request, and does nothing else meanwhile.

        Raises:
            Exception: it cannot be told now; the caller is refused.
        """


class Nobody(Authenticator):
    """For one's own machine: it takes no credential, so only faces that need none can be used."""

    def identify(self, credential: str) -> Identity | None:  # noqa: ARG002  # as in the contract
        """Return None."""
        return None


class Tokens(Authenticator):
    """The tokens of the file that ``isotherm token create`` writes."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        # Imported where tokens are asked for: who types a command mostly needs none.
        from orchestrator.access.tokens import TokenFile

        self._file = TokenFile(settings.effective_token_file)

    def identify(self, credential: str) -> Identity | None:
        """Return who has a token.

        Raises:
            InvalidInput: the file of tokens cannot be read.
        """
        return self._file.identify(credential)


def by_tokens(settings: Settings) -> bool:
    """Return whether faces over the network ask the authenticator of the settings who a caller is."""
    return settings.authenticator not in ("", "none")


def authenticator_of(settings: Settings) -> Authenticator:
    """Return the authenticator that the settings name.

    Raises:
        InvalidInput: there is none of the name, or its settings are wrong.
        PluginMistake: it is no authenticator.
    """
    # Most commands need none: who types them is known.
    from hooks.loading.entries import NotInstalled, load_named

    name = settings.authenticator or TOKENS
    try:
        kind = load_named(NAMESPACE, name)
    except NotInstalled as error:
        problem = Problem(
            path="settings.authenticator",
            message=f"there is no authenticator {name!r}",
            hint="'none', 'tokens', or one that a package registers under the entry points " + NAMESPACE,
        )
        raise InvalidInput([problem]) from error
    made: Any = kind(settings)
    if not isinstance(made, Authenticator):
        raise PluginMistake(f"the authenticator {name!r} does not inherit from Authenticator")
    return made


def local_identity(settings: Settings) -> Identity:
    """Return who types a command here: the owner of the token in the settings, if there is one.

    Without a token it is the user of the operating system, as administrator: who has the settings of the database has
    all that is in it.

    Raises:
        NotAllowed: the token is unknown.
        InvalidInput: it cannot be verified.
    """
    token = settings.token.get_secret_value() if settings.token else ""
    if not token:
        return Identity.administrator(local_user())
    found = authenticator_of(settings).identify(token)
    if found is None:
        raise NotAllowed("the token of ISOTHERM_TOKEN is unknown, or was revoked; see 'isotherm token list'")
    return found


def local_caller(settings: Settings, face: str) -> Caller:
    """Return who uses a face on this machine.

    Raises:
        NotAllowed, InvalidInput: as :func:`local_identity`.
    """
    return Caller(identity=local_identity(settings), origin=f"{face}, {local_user()}@{os.uname().nodename}")


def local_user() -> str:
    """Return the name of the user of the operating system who runs this process."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"
