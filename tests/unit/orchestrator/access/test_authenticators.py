"""Authenticators: what all of them keep to, and who types a command."""

from collections.abc import Callable
from pathlib import Path

import pytest
from stevedore.extension import ExtensionManager

from orchestrator.access.authenticators import (
    NAMESPACE,
    Authenticator,
    authenticator_of,
    local_identity,
    local_user,
)
from orchestrator.access.tokens import Token, TokenFile
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, NotAllowed, NotFound
from orchestrator.model.identity import ROLES

INSTALLED = sorted(ExtensionManager(NAMESPACE).names())

each_authenticator = pytest.mark.parametrize("name", INSTALLED)


def settings_in(directory: Path, **more: str) -> Settings:
    return Settings(state_directory=directory, **more)  # type: ignore[arg-type]


def token_in(directory: Path, user: str = "alice", **roles: str) -> str:
    made, text = Token.generate(user, roles or {"acme": "operator"})
    TokenFile(settings_in(directory).effective_token_file).add(made)
    return text


def test_installed_authenticators_are_those_of_the_settings_description() -> None:
    assert INSTALLED == ["none", "tokens"]


@each_authenticator
@pytest.mark.parametrize("credential", ["", "x", "\0", "é", "\udcff", "isotherm_", "A" * 100_000])
def test_unknown_credential_is_nobodys(tmp_path: Path, name: str, credential: str) -> None:
    made = authenticator_of(settings_in(tmp_path, authenticator=name))
    assert isinstance(made, Authenticator)
    assert made.identify(credential) is None
    token_in(tmp_path)
    assert made.identify(credential) is None


@each_authenticator
def test_identity_has_a_user_and_known_roles(tmp_path: Path, name: str) -> None:
    text = token_in(tmp_path)
    found = authenticator_of(settings_in(tmp_path, authenticator=name)).identify(text)
    if found is not None:
        assert found.user
        assert set(found.roles.values()) <= set(ROLES)


def test_authenticator_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no authenticator 'keystone'"):
        authenticator_of(settings_in(tmp_path, authenticator="keystone"))


def test_token_tells_its_user_until_it_is_revoked(tmp_path: Path) -> None:
    text, other = token_in(tmp_path), token_in(tmp_path, "bob", beta="reader")
    settings = settings_in(tmp_path)
    tokens = authenticator_of(settings)
    found = tokens.identify(text)
    assert found is not None
    assert (found.user, found.roles) == ("alice", {"acme": "operator"})
    file = TokenFile(settings.effective_token_file)
    file.revoke(file.tokens()[0].id)
    assert tokens.identify(text) is None
    assert tokens.identify(other) is not None
    with pytest.raises(NotFound):
        file.revoke("00000000")


@pytest.mark.parametrize(
    "change", [str.upper, lambda text: text[:-1], lambda text: f"{text} ", lambda text: text[9:]]
)
def test_token_with_a_fault_is_unknown(tmp_path: Path, change: Callable[[str], str]) -> None:
    text = token_in(tmp_path)
    assert authenticator_of(settings_in(tmp_path)).identify(change(text)) is None


def test_file_has_no_token_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    text = token_in(tmp_path)
    path = settings_in(tmp_path).effective_token_file
    assert text not in path.read_text()
    assert text.removeprefix("isotherm_") not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    TokenFile(path).tokens()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 1}',
        '{"version": 1, "tokens": [{}]}',
        '{"version": 1, "tokens": [{"id": "1", "user": "a", "created_at": "", "hash": "", "roles": {"acme": "root"}}]}',
        '{"version": 1, "tokens": [{"id": "1", "user": "", "created_at": "", "hash": "", "roles": {}}]}',
        '{"version": 1, "tokens": [{"id": "1", "user": "a", "created_at": "", "hash": 1, "roles": {}}]}',
    ],
)
def test_broken_file_lets_nobody_in_and_is_not_taken_for_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"tokens\.json"):
        authenticator_of(settings_in(tmp_path)).identify("isotherm_x")


def test_command_without_a_token_is_the_local_administrators(tmp_path: Path) -> None:
    found = local_identity(settings_in(tmp_path))
    assert (found.user, found.role_in("any")) == (local_user(), "administrator")


def test_command_with_a_token_has_its_roles_and_an_unknown_one_has_none(tmp_path: Path) -> None:
    text = token_in(tmp_path)
    assert local_identity(settings_in(tmp_path, token=text)).roles == {"acme": "operator"}
    with pytest.raises(NotAllowed, match="unknown, or was revoked"):
        local_identity(settings_in(tmp_path, token="isotherm_x"))
    with pytest.raises(NotAllowed):
        local_identity(settings_in(tmp_path, token=text, authenticator="none"))
