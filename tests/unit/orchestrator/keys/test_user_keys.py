"""Keys of users: several at once, each with an identity, and each in its own file."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.keys.key import ACTIVE, JOB, NEW, OLD, Key, KeyRing
from orchestrator.keys.key_file import read_keys
from orchestrator.keys.rotation import OWN, created, rotated, without


def of_user(user: str, role: str = "operator", projects: str = "acme") -> dict[str, str]:
    return {"user": user, "role": role, "projects": projects}


def test_users_have_active_keys_beside_each_other_and_the_installation_signs_with_its_own() -> None:
    keys = created([], [JOB], **of_user("alice"))
    keys += created(keys, [JOB], **of_user("bob"))
    own = created(keys, OWN)
    assert [key.state for key in (*keys, *own)] == [ACTIVE] * 5
    assert KeyRing([*keys, *own]).signing(JOB) == own[0]
    assert KeyRing(keys[1:]).signing(JOB) == keys[1]


def test_rotation_of_one_user_leaves_the_keys_of_others() -> None:
    keys = created([], OWN)
    for user in ("alice", "bob"):
        keys += created(keys, [JOB], **of_user(user))
    new = created(keys, [JOB], **of_user("alice", "reader"))
    assert new[0].state == NEW
    states = {(key.user, key.role, key.state) for key in rotated([*keys, *new]) if key.user}
    assert states == {("alice", "operator", OLD), ("alice", "reader", ACTIVE), ("bob", "operator", ACTIVE)}


def test_key_of_a_user_can_be_revoked_while_it_is_active() -> None:
    keys = created([], [JOB], **of_user("alice"))
    assert without(keys, [keys[0].id]) == []


def test_identity_of_a_key_is_its_users_or_the_installation() -> None:
    (own,) = created([], [JOB])
    (key,) = created([], [JOB], **of_user("alice", projects="acme,beta"))
    assert (own.identity.user, own.identity.role_in("any")) == ("", "administrator")
    assert (key.identity.user, key.identity.roles) == ("alice", {"acme": "operator", "beta": "operator"})


@pytest.mark.parametrize(
    "change",
    [
        {"role": "root"},
        {"role": ""},
        {"user": ""},
        {"projects": ""},
        {"projects": "acme,"},
        {"use": "engine"},
        {"user": "a\nb"},
    ],
)
def test_key_with_half_an_identity_is_refused_and_is_never_the_installations_own(
    change: dict[str, str],
) -> None:
    (key,) = created([], [JOB], **of_user("alice"))
    assert Key.from_wire(key.to_wire()) == key
    with pytest.raises(ValueError, match=r"'projects' and 'role'|'role' is one of"):
        Key.from_wire({**key.to_wire(), **change})


def run(directory: Path, *words: str, code: int = 0) -> Any:
    environment = {
        "ISOTHERM_KEY_FILE": str(directory / "keys.json"),
        "ISOTHERM_STATE_DIRECTORY": str(directory),
    }
    result = CliRunner().invoke(isotherm, ["key", *words, "-f", "json"], env=environment)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout) if not code else result.stderr


def test_file_of_a_client_has_the_keys_of_its_user_alone(tmp_path: Path) -> None:
    run(tmp_path, "create", "--user", "alice", "--role", "operator", "--for-project", "acme")
    run(
        tmp_path,
        "create",
        "--user",
        "bob",
        "--role",
        "reader",
        "--for-project",
        "acme",
        "--for-project",
        "beta",
    )
    shown = [(each["user"], each["projects"], each["role"], each["use"]) for each in run(tmp_path, "list")]
    assert shown == [
        *(("", "", "", use) for use in OWN),
        ("alice", "acme", "operator", JOB),
        ("bob", "acme,beta", "reader", JOB),
    ]
    run(tmp_path, "export", "--user", "alice", "-o", str(tmp_path / "alice.json"))
    run(tmp_path, "export", "--client", "-o", str(tmp_path / "client.json"))
    assert [key.user for key in read_keys(tmp_path / "alice.json")] == ["alice"]
    assert [(key.user, key.use) for key in read_keys(tmp_path / "client.json")] == [("", JOB)]
    assert "no key of the user 'eve'" in run(
        tmp_path, "export", "--user", "eve", "-o", str(tmp_path / "eve.json"), code=2
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--user", "alice"),
        ("--user", "alice", "--role", "reader"),
        ("--role", "reader", "--for-project", "acme"),
        ("--user", "alice", "--role", "reader", "--for-project", "acme", "--node", "n1"),
        ("--user", "alice", "--role", "reader", "--for-project", "acme,beta"),
        ("--user", " ", "--role", "reader", "--for-project", "acme"),
    ],
)
def test_half_an_identity_makes_no_key(tmp_path: Path, words: tuple[str, ...]) -> None:
    run(tmp_path, "create", *words, code=2)
    assert not (tmp_path / "keys.json").exists()
