"""Whatever is sent, to whichever address: the answer is what the OpenAPI document promises.

Requests are made of the document by Schemathesis: half of them fit it, half do not.
"""

import json
import os
import re
from typing import Any, Final
from urllib.parse import unquote

import falcon
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core import NOT_SET
from schemathesis.core.result import Ok

from orchestrator.config.settings import Settings
from orchestrator.store import migrations
from tests.unit.orchestrator.api.conforming import Conformance
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client

#: How many requests are tried; more by hand.
EXAMPLES: Final = int(os.environ.get("API_EXAMPLES", "300"))
#: What JSON can say and no database can keep, and templates, which are not found by chance.
ODDITIES: Final = ("\ud800", "a\udfffb", "\0", "a\0b", TEMPLATE, json.dumps(TEMPLATE))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of an embedded installation on each kind of database: what one takes, the other may not."""
    directory, database = tmp_path_factory.mktemp("any"), ""
    if request.param == "postgresql":
        database = request.getfixturevalue("postgres_server").create_database()
        migrations.upgrade(database)
    return Settings(state_directory=directory, project="acme", database_url=database)


@pytest.fixture(scope="module")
def path(client: Client) -> str:
    return client.create("anything")


@pytest.fixture(scope="module")
def cases(conformance: Conformance) -> list[st.SearchStrategy[schemathesis.Case[Any]]]:
    """Requests that fit the document, and ones that do not, for each of its operations below a project."""
    found = schemathesis.openapi.from_dict(conformance.document)
    operations = [each.ok() for each in found.get_all_operations() if isinstance(each, Ok)]
    below = [each for each in operations if each.path.startswith("/v1/{project}/")]
    assert len(below) > 40
    return [
        operation.as_strategy(generation_mode=mode)
        for operation in below
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    ]


@hypothesis_settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_answer_is_one_that_the_document_promises(
    client: Client, path: str, cases: list[st.SearchStrategy[schemathesis.Case[Any]]], data: st.DataObject
) -> None:
    case = data.draw(st.sampled_from(cases).flatmap(lambda strategy: strategy))
    name, stack_id = path.split("/")[2:]
    known = {"name": name, "stack_id": stack_id, "resource": "text", "key": "word", "event_id": "1"}

    def part(found: re.Match[str]) -> str:
        usual = known.get(found[1], "OS::Heat::RandomString")
        given = unquote(str(case.path_parameters.get(found[1], "x")), errors="replace") or "x"
        return falcon.uri.encode_value(data.draw(st.sampled_from([usual, usual, usual, given])))

    where = re.sub(r"\{(\w+)\}", part, case.path.removeprefix("/v1/{project}"))
    # The stack stays: what would delete it is asked of none.
    if case.method == "DELETE" and "/snapshots" not in where:
        where = where.replace(stack_id, "none")
    sent: dict[str, Any] = {"params": {str(name): str(value) for name, value in (case.query or {}).items()}}
    if case.body is not NOT_SET:
        body = case.body
        if isinstance(body, dict) and data.draw(st.integers(0, 4)) == 0:
            field = data.draw(st.sampled_from(["stack_name", "template", "parameters", "tags", "name"]))
            body = body | {field: data.draw(st.sampled_from(ODDITIES))}
        raw = body if isinstance(body, bytes) else json.dumps(body, default=str)
        sent |= {"body": raw, "headers": {"Content-Type": "application/json"}}
    answer = client.ask(case.method, where, **sent)
    assert answer.status_code < 500, (case.method, where, sent, answer.text)
    if answer.status_code >= 400:
        assert answer.json["error"]["message"]
