"""Whatever is sent, to whichever address: the answer is never that something unexpected happened."""

import json
import os
import re
from typing import Any, Final

import falcon
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orchestrator.api.application import routes
from orchestrator.api.door import Door
from orchestrator.config.settings import Settings
from orchestrator.store import migrations
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client
from tests.unit.orchestrator.api.test_requests import METHODS

#: How many requests are tried; more by hand.
EXAMPLES: Final = int(os.environ.get("API_EXAMPLES", "300"))

names = st.text(st.characters(codec="utf-8", exclude_characters="/?#"), min_size=1, max_size=12)
words = st.sampled_from(
    [
        *(
            "stack_name",
            "template",
            "template_url",
            "environment",
            "environment_files",
            "files",
            "parameters",
            "tags",
        ),
        *(
            "disable_rollback",
            "timeout_mins",
            "adopt_stack_data",
            "converge",
            "clear_parameters",
            "files_container",
        ),
        *("suspend", "resume", "check", "cancel_update", "name", "mark_unhealthy", "resource_status_reason"),
        *(
            "status",
            "reason",
            "data",
            "id",
            "unset_hook",
            "heat_template_version",
            "resources",
            "outputs",
            "type",
        ),
    ]
)
#: What JSON can say and no database can keep.
oddities = st.sampled_from(["\ud800", "a\udfffb", "\0", "a\0b"])
scalars = (
    oddities
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | names
    | st.just(TEMPLATE)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | names, inner, max_size=4),
    max_leaves=8,
)
bodies = st.dictionaries(words, values, max_size=5) | values
queries = st.dictionaries(
    st.sampled_from(
        [
            *(
                "limit",
                "marker",
                "sort_keys",
                "sort_dir",
                "show_deleted",
                "show_nested",
                "global_tenant",
                "tags",
            ),
            *(
                "not_tags_any",
                "status",
                "stack_status",
                "id",
                "name",
                "nested_depth",
                "with_detail",
                "with_attr",
            ),
            *(
                "resource_status",
                "resource_name",
                "resolve_outputs",
                "support_status",
                "template_type",
                "signature",
            ),
            *("expires", "with_count", "with_description", "ignore_errors"),
        ]
    )
    | names,
    names
    | st.sampled_from(["1", "0", "-1", "true", "asc", "desc", "CREATE_COMPLETE", "stack_name", "%00", "*"]),
    max_size=3,
)


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
def addresses(door: Door) -> list[tuple[str, str]]:
    return [
        (method, address.removeprefix("/v1/{project}"))
        for address, face in routes(door)
        if address.startswith("/v1/{project}/")
        for method in METHODS
        if getattr(face, f"on_{method.lower()}", None)
    ]


@hypothesis_settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_no_request_fails_unexpectedly(
    client: Client, path: str, addresses: list[tuple[str, str]], data: st.DataObject
) -> None:
    name, stack_id = path.split("/")[2:]
    method, address = data.draw(st.sampled_from(addresses))
    known = {"{name}": name, "{stack_id}": stack_id, "{resource}": "text", "{key}": "word", "{event_id}": "1"}

    def part(found: re.Match[str]) -> str:
        usual = known.get(found[0], "OS::Heat::RandomString")
        return data.draw(st.just(usual) | st.just(usual) | names)

    where = re.sub(r"\{\w+\}", part, address)
    # The stack stays: what would delete it is asked of none.
    if method == "DELETE" and "/snapshots" not in where:
        where = where.replace(stack_id, "none")
    sent: dict[str, Any] = {"params": data.draw(queries)}
    if method in ("POST", "PUT", "PATCH"):
        body = (
            json.dumps(data.draw(bodies)) if data.draw(st.booleans()) else data.draw(st.binary(max_size=40))
        )
        sent |= {"body": body, "headers": {"Content-Type": "application/json"}}
    answer = client.ask(method, falcon.uri.encode(where), **sent)
    assert answer.status_code < 500, (method, where, sent, answer.text)
    if answer.status_code >= 400:
        assert answer.json["error"]["message"]
