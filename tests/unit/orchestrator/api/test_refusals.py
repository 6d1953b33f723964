"""What is refused is in the audit log: tokens that are not known, and operations that a role does not allow."""

from collections.abc import Mapping
from dataclasses import replace

import falcon
import pytest
from falcon import testing
from structlog.testing import capture_logs

from orchestrator.api.door import Door
from orchestrator.errors import Unavailable
from orchestrator.model.audit import REFUSED, AuditEntry
from orchestrator.service import Service
from tests.unit.orchestrator.api.conftest import Client

ORIGIN = "api, 127.0.0.1"


@pytest.fixture(autouse=True)
def new_minute(door: Door) -> None:
    """Let no refusal of another test be the one before."""
    door._whole._store.audit_log._refused.clear()


def recorded(door: Door, after: int) -> list[AuditEntry]:
    """Return what was recorded since there were so many records, in order."""
    records = door._whole.audit_records(1000)
    return [each.entry for each in reversed(records) if each.seq > after]


def count(door: Door) -> int:
    return len(door._whole.audit_records(1000))


def test_token_that_is_not_known_is_recorded_once_a_minute_however_often_it_is_tried(
    door: Door, clients: Mapping[str, Client]
) -> None:
    before = count(door)
    for number in range(20):
        stranger = Client(clients[""]._client.app, token=f"guess-{number}")
        assert stranger.ask("GET", f"/stacks/{number}").status == falcon.HTTP_UNAUTHORIZED
    # Who shows no token tries nothing.
    assert clients[""].ask("GET", "/stacks").status == falcon.HTTP_UNAUTHORIZED
    [entry] = recorded(door, before)
    assert entry == AuditEntry(
        user="",
        project="",
        action="login",
        target="GET /v1/acme/stacks/0",
        origin=ORIGIN,
        outcome=REFUSED,
        detail="the token is not known",
    )
    assert "guess" not in str(entry)


def test_refused_operation_is_recorded_with_its_user_once_a_minute(
    door: Door, clients: Mapping[str, Client]
) -> None:
    before = count(door)
    for _ in range(3):
        assert clients["rita"].ask("POST", "/stacks", json={}).status == falcon.HTTP_FORBIDDEN
        assert clients["otto"].ask("GET", "/stacks").status == falcon.HTTP_FORBIDDEN
    clients["rita"].get("/stacks")
    by_reader, elsewhere = recorded(door, before)
    assert replace(by_reader, detail="") == AuditEntry(
        user="rita",
        project="acme",
        action="stack.create",
        target="POST /v1/acme/stacks",
        origin=ORIGIN,
        outcome=REFUSED,
    )
    assert (elsewhere.user, elsewhere.action) == ("otto", "login")
    assert elsewhere.detail == "otto has no role in the project 'acme'"


def test_wrong_signature_is_recorded_without_it(door: Door, clients: Mapping[str, Client]) -> None:
    before = count(door)
    for _ in range(3):
        answer = clients[""].ask(
            "POST", "/stacks/a/b/resources/c/signal", params={"signature": "sesame"}, json={}
        )
        assert answer.status == falcon.HTTP_FORBIDDEN
    [entry] = recorded(door, before)
    assert (entry.user, entry.project, entry.action) == ("", "acme", "stack.signal")
    assert "sesame" not in str(entry)


def test_wrong_key_of_a_machine_is_recorded_without_its_signature(
    door: Door, clients: Mapping[str, Client]
) -> None:
    before = count(door)
    signed = {"AWSAccessKeyId": "key", "SignatureMethod": "HmacSHA256", "SignatureVersion": "2"}
    for _ in range(3):
        params = {"Action": "DescribeStackResource", **signed, "Signature": "sesame"}
        answer = testing.simulate_get(clients[""]._client.app, "/v1/", params=params)
        assert answer.status == falcon.HTTP_FORBIDDEN
    [entry] = recorded(door, before)
    assert (entry.user, entry.action, entry.target) == ("", "login", "GET /v1")
    assert "sesame" not in str(entry)


def test_refusal_stays_one_where_it_cannot_be_recorded(
    clients: Mapping[str, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable("the database does not answer")

    monkeypatch.setattr(Service, "record_refusal", away)
    with capture_logs() as logs:
        answer = clients["rita"].ask("POST", "/stacks", json={})
    assert answer.status == falcon.HTTP_FORBIDDEN
    assert [each["event"] for each in logs] == ["not in the audit log"]


def test_why_a_request_is_made_is_in_the_audit_log_and_the_history(
    door: Door, clients: Mapping[str, Client]
) -> None:
    path = clients["olga"].create("commented")
    before = count(door)
    # As WSGI gives the bytes of UTF-8.
    comment = {"X-Isotherm-Comment": "Störung 4711".encode().decode("iso-8859-1")}
    answer = clients["olga"].ask("POST", f"{path}/actions", json={"check": None}, headers=comment)
    assert answer.status_code in (200, 201, 202)
    clients["olga"].wait(path)
    assert [each.detail for each in recorded(door, before)] == ["Störung 4711"]
    with Service.open(door.settings) as service:
        assert [(each.action, each.comment) for each in service.history("commented")] == [
            ("CHECK", "Störung 4711"),
            ("CREATE", ""),
        ]


@pytest.mark.parametrize("comment", ["x" * 501, "a\tb", "\xff"])
def test_a_comment_that_is_none_is_refused_before_anything_is_done(
    comment: str, door: Door, clients: Mapping[str, Client]
) -> None:
    before = count(door)
    headers = {"X-Isotherm-Comment": comment}
    answer = clients["olga"].ask("POST", "/stacks", json={"stack_name": "none"}, headers=headers)
    assert answer.status == falcon.HTTP_BAD_REQUEST
    assert "X-Isotherm-Comment: expected one line of at most 500 printable" in answer.text
    assert count(door) == before
