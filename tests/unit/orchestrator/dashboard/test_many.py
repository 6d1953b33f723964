"""One action on many stacks: the preview says what would be done to each, and each order is checked by itself."""

import json
from collections.abc import Iterator
from threading import current_thread
from typing import Any

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.many import FOR_MANY, MOST_AT_ONCE, preview_of, read_choice
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.queries.observer import StackQuery
from orchestrator.service import Service
from orchestrator.store.store import Store
from orchestrator.views.operations import StackPage
from tests.counting import heard
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.unit.orchestrator.dashboard.test_acting import HELD, HOOKED

NOTHING = "{heat_template_version: 2021-04-16, resources: {one: {type: OS::Heat::None}}}"


@pytest.fixture(scope="module")
def dashboard(distributed: Settings, service: Service) -> Iterator[Dashboard]:
    """A dashboard with an operator, ann; what is ordered is done by a service that does the work itself."""
    options = {"basic_auth": ["ann:secret", "vic:secret"], "stack_actions": True, "stack_operators": ["ann"]}
    with served(distributed, Store.of(distributed), **options) as dashboard:
        dashboard.service = service
        yield dashboard


@pytest.fixture(scope="module")
def operator(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with client(dashboard, auth=("ann", "secret")) as made:
        yield made


def made(service: Service, name: str, **more: Any) -> str:
    stack = service.create(StackJob(name=name, template=NOTHING, **more))
    assert list(service.watch(stack.id))[-1].stack.status == "COMPLETE"
    return stack.id


def previewed(operator: httpx.Client, action: str, **choice: Any) -> dict[str, dict[str, Any]]:
    answer = operator.post(f"/stacks/act/{action}/preview", json=choice)
    assert answer.status_code == 200, answer.text
    return {each["stack"]: each for each in answer.json()["stacks"]}


def test_a_preview_says_of_each_what_stands_against_it_and_each_is_ordered_by_itself(
    operator: httpx.Client, service: Service
) -> None:
    for name in ("many-a", "many-b"):
        made(service, name, tags=("many",))
    held = service.create(
        StackJob(name="many-held", template=HELD, environments=(HOOKED,), tags=("many", "held"))
    )
    next(each for each in service.watch(held.id) if each.hooks)
    made(service, "other")

    seen = previewed(operator, "suspend", filter={"tags": "many"})
    why = "wait until the operation is over, or cancel it: the stack is CREATE_IN_PROGRESS"
    assert {name: each["unfit"] for name, each in seen.items()} == {
        "many-a": "",
        "many-b": "",
        "many-held": why,
    }
    assert list(previewed(operator, "cancel", filter={"tags": "many,held", "within": "1h"})) == ["many-held"]

    # By the operation that the preview showed: one that has moved on is refused, the others are carried out.
    check = operator.post(
        "/stack/many-b/act/check",
        json={**{name: seen["many-b"][name] for name in ("stack_id", "traversal_id")}, "confirm": "many-b"},
    )
    assert check.status_code == 202, check.text
    list(service.watch(seen["many-b"]["stack_id"]))
    answers = {
        name: operator.post(
            f"/stack/{each['stack_id']}/act/suspend",
            json={
                **{part: each[part] for part in ("stack_id", "traversal_id")},
                "confirm": name,
                "comment": "the power is cut tonight",
            },
        )
        for name, each in seen.items()
        if not each["unfit"]
    }
    assert {name: answer.status_code for name, answer in answers.items()} == {"many-a": 202, "many-b": 409}
    assert "has begun another operation" in answers["many-b"].json()["error"]
    list(service.watch(seen["many-a"]["stack_id"]))

    rows = operator.get("/stacks/data?name=many-a").json()["rows"]
    assert [(row["state"], row["user"], row["comment"]) for row in rows] == [
        ("SUSPEND_COMPLETE", "ann", "the power is cut tonight")
    ]
    ids = [each["stack_id"] for each in seen.values()]
    by_id = previewed(operator, "suspend", stack_ids=[*ids, "none"])
    assert by_id["many-a"]["unfit"] == "the stack is suspended already"
    assert by_id["many-b"]["unfit"] == ""
    assert previewed(operator, "delete", stack_ids=[held.id])["many-held"]["unfit"] == ""


def test_what_is_protected_is_left_out_of_a_deletion(operator: httpx.Client, service: Service) -> None:
    made(service, "guarded")
    service.protect("guarded", ["one"])
    assert previewed(operator, "check", filter={"name": "guarded"})["guarded"]["unfit"] == ""
    why = previewed(operator, "delete", filter={"name": "guarded"})["guarded"]["unfit"]
    assert why == "it, or something in it, is protected: isotherm stack unprotect takes that off"
    service.protect("guarded", ["one"], protected=False)
    assert previewed(operator, "delete", filter={"name": "guarded"})["guarded"]["unfit"] == ""


def test_who_may_not_act_gets_no_preview_and_is_offered_none(dashboard: Dashboard, service: Service) -> None:
    made(service, "unseen")
    with client(dashboard, auth=("vic", "secret")) as viewer:
        refused = viewer.post("/stacks/act/delete/preview", json={"filter": {}})
        assert (refused.status_code, "--stack_operators" in refused.json()["error"]) == (403, True)
        assert 'data-may=""' in viewer.get("/stacks").text
    with client(dashboard, auth=("ann", "secret")) as operator:
        assert f'data-may="{" ".join(FOR_MANY)}"' in operator.get("/stacks").text
        address = "/stacks/act/delete/preview"
        assert operator.post(address, content=b'{"filter": {}}').status_code == 415
        foreign = operator.post(address, json={"filter": {}}, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403


def test_a_list_says_that_nothing_works_on_what_is_under_way(
    operator: httpx.Client, service: Service
) -> None:
    stack = service.create(StackJob(name="standing", template=HELD, environments=(HOOKED,)))
    next(each for each in service.watch(stack.id) if each.hooks)
    told = operator.get("/stacks/data?name=standing").json()["standstill"]
    assert (told["lack"], told["command"]) == (
        "No worker has been seen for a day or longer",
        "isotherm worker",
    )
    made(service, "moving")
    assert operator.get("/stacks/data?name=moving").json()["standstill"] is None


def test_the_list_and_a_preview_take_as_many_statements_for_many_stacks_as_for_one(
    operator: httpx.Client, dashboard: Dashboard, service: Service
) -> None:
    def statements() -> int:
        sent: list[str] = []

        def count(sql: str) -> None:
            # The dashboard counts and looks for events in threads of their own.
            if current_thread().name.startswith("reading"):
                sent.append(sql)

        with heard(count):
            operator.get("/stacks/data?name=counted-*&limit=100").raise_for_status()
            assert previewed(operator, "delete", filter={"name": "counted-*"})
        return len(sent)

    def begun(name: str) -> None:
        stack = service.create(StackJob(name=name, template=HELD, environments=(HOOKED,)))
        next(each for each in service.watch(stack.id) if each.hooks)

    begun("counted-0")
    few = statements()
    for number in range(1, 8):
        begun(f"counted-{number}")
    assert 0 < few == statements()


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({}, "expected is either stack_ids or filter"),
        ({"stack_ids": ["a"], "filter": {}}, "expected is either stack_ids or filter"),
        ({"stack_ids": []}, "stack_ids: expected are 1 to 300 ids, and found are 0"),
        ({"stack_ids": ["a"] * 301}, "stack_ids: expected are 1 to 300 ids, and found are 301"),
        ({"stack_ids": "a"}, "stack_ids: expected is a list of ids, and found is a text"),
        ({"stack_ids": [1]}, "stack_ids: expected is a list of ids, and found is a list with something else"),
        ({"filter": {"over": 7}}, "filter: expected is an object of texts"),
        ({"filter": {"over": "7x"}}, "over: expected a duration"),
        ({"stack": ["a"]}, "stack: there is no such field"),
        ({"stack_ids": ["a\0"]}, "stack_ids: it has a character that is none"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(sent: object, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_choice(json.dumps(sent).encode())
    assert sentence in str(refused.value)


def test_a_filter_chooses_from_the_first_on_and_no_more_than_can_be_acted_on() -> None:
    chosen = read_choice(json.dumps({"filter": {"search": "x", "offset": "50", "limit": "7"}}).encode())
    assert chosen == StackQuery(search="x", sort="name", descending=False, limit=MOST_AT_ONCE)
    page = StackPage(rows=(), total=1240, states={}, cursor=0, as_of=0.0)
    with pytest.raises(InvalidInput, match="1,240 stacks match, and at most 300 can be acted on at once"):
        preview_of("delete", page)
    assert set(FOR_MANY) < set(ACTIONS)
