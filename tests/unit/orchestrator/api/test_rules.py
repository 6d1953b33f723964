"""Rules of oslo.policy: Heat's names, their defaults, and a file that overrides them."""

from collections.abc import Mapping
from pathlib import Path

import falcon
import pytest
from falcon import testing

from orchestrator.api.application import make_application
from orchestrator.api.callers import caller_of_keystone
from orchestrator.api.door import Door
from orchestrator.api.rules import Rules, list_rules
from orchestrator.errors import InvalidInput
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client
from tests.unit.orchestrator.api.test_requests import addresses, filled


def asking(door: Door, rules: Rules, roles: str, **said: str) -> Client:
    """Return a client as keystone's middleware describes it, of the project acme unless another is said."""
    headers = {
        "X-Identity-Status": "Confirmed",
        "X-Project-Id": "acme",
        "X-User-Name": "ann",
        "X-Roles": roles,
    }
    headers |= {name.replace("_", "-"): value for name, value in said.items()}

    class Caller(Client):
        def ask(self, method: str, path: str, **given: object) -> testing.Result:
            return super().ask(method, path, **{**given, "headers": headers})

    return Caller(make_application(door, caller_of_keystone, rules=rules))


@pytest.fixture(scope="module")
def path(client: Client) -> str:
    return client.create("ruled", tags="none")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


ROLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "nobody": ("", {}),
    "auditor": ("auditor", {}),
    "reader": ("reader", {}),
    "member": ("member,reader", {}),
    "member elsewhere": ("member,reader", {"X_Project_Id": "beta"}),
    "administrator elsewhere": (
        "admin,member,reader",
        {"X_Project_Id": "beta", "X_Is_Admin_Project": "True"},
    ),
    "project's administrator elsewhere": ("admin,member,reader", {"X_Project_Id": "beta"}),
    "system's administrator": ("admin,member,reader", {"X_Project_Id": "", "OpenStack_System_Scope": "all"}),
    "system's reader": ("reader", {"X_Project_Id": "", "OpenStack_System_Scope": "all"}),
}
READS = {"reader", "member", "administrator elsewhere", "system's administrator"}
WRITES = READS - {"reader"}


@pytest.mark.parametrize("who", ROLES)
def test_defaults_are_those_of_heat(door: Door, path: str, who: str) -> None:
    roles, said = ROLES[who]
    client = asking(door, Rules(None), roles, **said)

    def is_let(method: str, where: str, **body: object) -> bool:
        return client.ask(method, where, json=body).status != falcon.HTTP_FORBIDDEN

    for where in ("", "/template", "/outputs", "/resources", "/events", "/snapshots"):
        assert is_let("GET", path + where) == (who in READS), where
    for where in ("/environment", "/files", "/export"):
        assert is_let("GET", path + where) == (who in WRITES), where
    assert is_let("POST", "/stacks") == (who in WRITES)
    assert is_let("PUT", path) == (who in WRITES)
    assert is_let("POST", f"{path}/actions", cancel_update=None) == (who in WRITES)
    assert is_let("POST", "/stacks/preview") == (who in READS)
    assert is_let("GET", "/services") == (who in WRITES - {"member"})
    assert not is_let("GET", "/stacks?global_tenant=true")


def test_no_address_answers_what_no_rule_allows(door: Door, written: Path) -> None:
    written.write_text("".join(f'"{rule.name}": "!"\n' for rule in list_rules()))
    nobody = asking(door, Rules(written), "admin,member,reader")
    for path, methods in addresses(door).items():
        for method in methods:
            answer = nobody.ask(method, filled(path), json={"suspend": None})
            assert answer.status == falcon.HTTP_FORBIDDEN, (method, path)


def test_file_overrides_both_ways_and_is_read_again(door: Door, path: str, written: Path) -> None:
    written.write_text(
        '"stacks:delete": "role:deleter"\n"stacks:global_index": "role:auditor"\n"stacks:index": ""\n'
    )
    rules = Rules(written)
    assert asking(door, rules, "member,reader").ask("DELETE", path).status == falcon.HTTP_FORBIDDEN
    auditor = asking(door, rules, "auditor")
    assert auditor.ask("GET", "/stacks?global_tenant=true").status == falcon.HTTP_OK
    assert auditor.ask("GET", path).status == falcon.HTTP_FORBIDDEN
    doomed = asking(door, Rules(None), "member").ask(
        "POST", "/stacks", json={"stack_name": "doomed", "template": TEMPLATE}
    )
    where = f"/stacks/doomed/{doomed.json['stack']['id']}"
    assert asking(door, rules, "deleter").ask("DELETE", where).status == falcon.HTTP_NO_CONTENT
    written.write_text('"stacks:delete": "!"\n')
    assert asking(door, rules, "deleter").ask("DELETE", path).status == falcon.HTTP_FORBIDDEN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "malformed"),
        ("[", "malformed"),
        ('"stacks:indexx": ""', "is no rule"),
        ('"stacks:index": "rule:nothing"', "not there"),
    ],
)
def test_wrong_file_is_refused(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        Rules(written)
    assert str(written) in str(caught.value)


def test_missing_file_is_refused(written: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        Rules(written)
