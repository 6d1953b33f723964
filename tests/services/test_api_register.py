"""``isotherm api register`` writes the API into the catalogue of a keystone, over HTTP."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from tests.services.http_api import Fault
from tests.services.keystone_api import KeystoneApi
from tests.services.openstack_api import REGION

PUBLIC = "https://heat.example.com:8004/v1"
INTERNAL = "http://10.0.0.7:8004/v1"
Type = Callable[..., Result]


@pytest.fixture
def keystone() -> Iterator[KeystoneApi]:
    with KeystoneApi() as api:
        yield api


@pytest.fixture
def type_(keystone: KeystoneApi, tmp_path: Path) -> Type:
    """Run the command with the login of clouds.yaml."""
    environment = {
        **{name: None for name in os.environ if name.startswith(("OS_", "ISOTHERM_"))},
        "OS_CLIENT_CONFIG_FILE": str(keystone.write_clouds(tmp_path)),
        "ISOTHERM_CONFIG": os.devnull,
    }

    def run(*words: str, cloud: str = "admin", **more: str) -> Result:
        login = ["--os-cloud", cloud] if cloud else []
        line = ["api", "register", *login, *words]
        return CliRunner().invoke(isotherm, line, prog_name="isotherm", env={**environment, **more})

    return run


def outcomes(said: Result) -> list[tuple[str, str, str, str]]:
    assert said.exit_code == 0, said.output
    return [(each["what"], each["type"], each["name"], each["outcome"]) for each in json.loads(said.stdout)]


def test_api_is_registered_once(keystone: KeystoneApi, type_: Type) -> None:
    words = ("--public", PUBLIC, "--internal", INTERNAL, "-f", "json")
    assert outcomes(type_(*words)) == [
        ("service", "orchestration", "isotherm", "created"),
        ("endpoint", "orchestration", "public", "created"),
        ("endpoint", "orchestration", "internal", "created"),
    ]
    ((service_id, *service),) = keystone.entries("services", "id", "type", "name", "enabled")
    assert service == ["orchestration", "isotherm", True]
    assert keystone.entries("endpoints", "service_id", "interface", "region_id", "url") == {
        (service_id, "public", REGION, f"{PUBLIC}/%(project_id)s"),
        (service_id, "internal", REGION, f"{INTERNAL}/%(project_id)s"),
    }
    keystone.forget_requests()
    assert {each[3] for each in outcomes(type_(*words))} == {"left"}
    assert keystone.writes() == []


def test_services_for_cfn_have_no_project_in_their_address(keystone: KeystoneApi, type_: Type) -> None:
    said = type_("--public", f"{PUBLIC}/", "--admin", INTERNAL, "--cfn", "--name", "heat", "-f", "json")
    assert len(outcomes(said)) == 8
    assert keystone.entries("services", "type", "name") == {
        ("orchestration", "heat"),
        ("cloudformation", "heat-cfn"),
    }
    assert keystone.entries("endpoints", "interface", "url") == {
        *((each, f"{PUBLIC}/%(project_id)s") for each in ("public", "internal")),
        *((each, PUBLIC) for each in ("public", "internal")),
        ("admin", f"{INTERNAL}/%(project_id)s"),
        ("admin", INTERNAL),
    }


def test_what_is_there_is_changed_and_all_else_is_left(keystone: KeystoneApi, type_: Type) -> None:
    heat = keystone.enter("services", type="orchestration", name="heat")
    other = keystone.enter("services", type="image", name="glance")
    keystone.enter("regions", id="south")
    old: dict[str, Any] = {
        "service_id": heat["id"],
        "region_id": REGION,
        "url": "http://old:8004/v1/%(tenant_id)s",
    }
    keystone.enter("endpoints", interface="public", **old)
    keystone.enter(
        "endpoints", interface="internal", enabled=False, **{**old, "url": f"{PUBLIC}/%(project_id)s"}
    )
    kept = [
        keystone.enter("endpoints", interface="admin", **old),
        keystone.enter("endpoints", interface="public", **{**old, "region_id": "south"}),
        keystone.enter("endpoints", interface="public", **{**old, "service_id": other["id"]}),
    ]
    before = json.dumps(kept)
    words = ("--public", PUBLIC, "-f", "json")
    dry = json.loads(type_(*words, "--dry-run").stdout)
    assert keystone.writes() == []
    said = type_(*words)
    assert json.loads(said.stdout) == dry, "a dry run says what would be written"
    assert [(each["name"], each["outcome"], each["before"]) for each in dry] == [
        ("isotherm", "changed", "heat"),
        ("public", "changed", "http://old:8004/v1/%(tenant_id)s"),
        ("internal", "changed", f"{PUBLIC}/%(project_id)s (disabled)"),
    ]
    assert json.dumps(kept) == before
    assert len(keystone.catalogue["endpoints"]) == 5
    assert keystone.catalogue["services"][heat["id"]]["name"] == "isotherm"


def test_dry_run_of_an_empty_catalogue_writes_nothing(keystone: KeystoneApi, type_: Type) -> None:
    said = type_("--public", PUBLIC, "--region", "west", "--cfn", "--dry-run", "-f", "json")
    assert {each[3] for each in outcomes(said)} == {"created"}
    assert outcomes(said)[0] == ("region", "", "west", "created")
    assert keystone.writes() == []


def test_region_that_is_not_there_is_created(keystone: KeystoneApi, type_: Type) -> None:
    assert type_("--public", PUBLIC, "--region", "west").exit_code == 0
    assert keystone.entries("regions", "id") == {(REGION,), ("west",)}
    assert keystone.entries("endpoints", "region_id") == {("west",)}


def test_login_and_address_come_from_the_environment(keystone: KeystoneApi, type_: Type) -> None:
    login = {f"OS_{name.upper()}": each for name, each in keystone.auth(keystone.users["admin"]).items()}
    region = {"OS_REGION_NAME": REGION, "OS_CLIENT_CONFIG_FILE": os.devnull}
    said = type_(cloud="", **login, **region, ISOTHERM_API_URL=PUBLIC)
    assert said.exit_code == 0, said.output
    assert "created" in said.stdout
    assert keystone.entries("endpoints", "url") == {(f"{PUBLIC}/%(project_id)s",)}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no address to register"),
        (("--public", "heat.example.com"), "is no address of the API"),
        (("--public", "https://heat.example.com:x/v1"), "is no address of the API"),
        (("--public", f"{PUBLIC}/%(project_id)s"), "is no address of the API"),
        (("--public", PUBLIC, "--admin", "https://heat.example.com"), "--admin"),
        (("--public", PUBLIC, "--os-cloud", "none"), "none"),
    ],
)
def test_wrong_options_are_refused_before_keystone_is_called(
    keystone: KeystoneApi, type_: Type, words: tuple[str, ...], told: str
) -> None:
    said = type_(*words)
    assert said.exit_code == 2, said.output
    assert told in said.output
    assert "Traceback" not in said.output
    assert keystone.requests == []


def test_user_who_is_no_administrator_is_refused(keystone: KeystoneApi, type_: Type) -> None:
    said = type_("--public", PUBLIC, cloud="demo")
    assert said.exit_code == 2, said.output
    assert "admin" in said.output
    assert "Traceback" not in said.output


@pytest.mark.parametrize("auth_url", ["", "http://127.0.0.1:9/v3"])
def test_login_that_fails_is_told_without_a_traceback(
    keystone: KeystoneApi, type_: Type, auth_url: str
) -> None:
    login = {f"OS_{name.upper()}": each for name, each in keystone.auth(keystone.users["admin"]).items()}
    login |= {"OS_PASSWORD": "wrong", "OS_CLIENT_CONFIG_FILE": os.devnull, "OS_REGION_NAME": REGION}
    said = type_("--public", PUBLIC, cloud="", **login | ({"OS_AUTH_URL": auth_url} if auth_url else {}))
    assert said.exit_code == (3 if auth_url else 2), said.output
    assert "Traceback" not in said.output
    assert "wrong" not in said.output


def test_two_services_of_the_type_are_not_chosen_between(keystone: KeystoneApi, type_: Type) -> None:
    ids = [keystone.enter("services", type="orchestration", name=each)["id"] for each in ("heat", "isotherm")]
    said = type_("--public", PUBLIC)
    assert said.exit_code == 2
    assert all(each in said.output.replace("\n", "") for each in ids)
    assert keystone.writes() == []


def test_keystone_that_fails_is_told_without_a_traceback(keystone: KeystoneApi, type_: Type) -> None:
    keystone.fail(Fault(status=500), path="*/services*")
    said = type_("--public", PUBLIC)
    assert said.exit_code == 3, said.output
    assert "Traceback" not in said.output
