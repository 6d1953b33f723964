"""Stories of objects of a real REST API: nothing is made twice, whatever dies or fails in between."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from orchestrator.errors import InvalidInput, NotFound
from tests.scenarios.telling import reason, states
from tests.scenarios.world import World, with_patience
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS
from workers.clients.rest import Answer
from workers.resources.http.http_object import HttpObject
from workers.resources.http.requests import HttpRequest

TYPE = "Isotherm::Http::Object"
KEYED = {"path": "/networks", "token_header": "Idempotency-Key"}
FOUND = {
    "create": {"path": "/networks", "token_field": "labels.token"},
    "find": {"path": "/networks", "json": "items[?labels.token=='{token}'].id | [0]"},
}
READY = {"json": "status", "ready": ["ready"], "failed": ["error"], "reason": "why", "interval": 2}


def world_of(api: HttpApi, **options: Any) -> World:
    """Return a world whose stacks use an API; every request to it is an instruction at which a process may die."""
    patience = {"retry_base_seconds": 0.001, "retry_max_seconds": 0.001, "retries": 1}
    said = {"base_url": api.url, "project_header": "X-Project", **patience, **options}

    class Interrupted(HttpObject):
        def _ask(self, request: HttpRequest) -> Answer:
            world.cloud.instruction()
            try:
                return super()._ask(request)
            finally:
                world.cloud.instruction()

    # What is remembered of an API is another story.
    world = World(types={TYPE: Interrupted}, clients={"http": said}, constraint_cache={"enabled": False})
    return world


def template(*, outputs: Mapping[str, Any] | None = None, **resources: Mapping[str, Any]) -> str:
    """Return a template of objects, by name and properties."""
    described: Any = {name: {"type": TYPE, "properties": dict(given)} for name, given in resources.items()}
    told = {name: {"value": value} for name, value in (outputs or {}).items()}
    return yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": described, "outputs": told})


def network(**given: Any) -> dict[str, Any]:
    """Return the properties of a network that is made at most once."""
    return {"body": {"name": "a"}, "create": KEYED, **given}


def settle(world: World) -> None:
    """Let everything come to rest, whatever dies."""
    while not world.survive(world.settle):
        pass


def died(world: World) -> bool:
    """Tell whether the crash that was set has come; it will not any more."""
    came, world.cloud.crash_at = world.cloud.crash_at is None, None
    return came


def why(world: World, name: str) -> str:
    """Return the reason of a stack's state."""
    return world.store.stacks.find(name, project="default").reason


def deleted(world: World) -> bool:
    """Delete the stack, and tell whether it is gone."""
    world.delete()
    settle(world)
    try:
        return world.state() == ""
    except NotFound:
        return True


def there(api: HttpApi, collection: str = "/networks") -> list[dict[str, Any]]:
    return list(api.objects(collection, tenant="default").values())


def test_an_object_is_made_told_of_changed_and_deleted(http_api: HttpApi) -> None:
    http_api.polls_to_build = 2
    world = world_of(http_api)
    given = network(status=READY, values={"called": "name"}, update={"method": "PATCH"})
    port = {
        "body": {"in": {"get_attr": ["net", "values", "called"]}, "of": {"get_resource": "net"}},
        "create": {"path": {"list_join": ["/", ["/networks", {"get_resource": "net"}, "ports"]]}},
    }
    stack_id = world.create(template(net=given, port=port))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert [each["name"] for each in there(http_api)] == ["a"]
    (made,) = there(http_api, "/networks/1/ports")
    assert (made["in"], made["of"]) == ("a", "1")
    world.update(template(net={**given, "body": {"name": "b"}}, port=port))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert states(world, stack_id)["net"] == ["UPDATE_COMPLETE"]
    assert [(each["id"], each["name"]) for each in there(http_api)] == [("1", "b")]
    # The port sees the new name, and there is no request that changes a port: another has taken its place.
    assert [each["in"] for each in there(http_api, "/networks/1/ports")] == ["b"]
    http_api.polls_to_delete = 1
    assert deleted(world)
    assert there(http_api) == there(http_api, "/networks/1/ports") == []
    paths = [asked.path for asked in http_api.requests if asked.method == "DELETE"]
    assert paths[-1] == "/networks/1"


TOLD_APART = pytest.mark.parametrize(
    "how",
    [{"create": KEYED}, FOUND, {"create": {"path": "/networks/own", "method": "PUT"}}],
    ids=["key", "find", "put"],
)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(status=500, body=b"on fire"), "it answered 500 (Internal Server Error): on fire"),
        (Fault(status=429, headers={"Retry-After": "9999"}), "it answered 429 (Too Many Requests)"),
        (Fault(status=503), "it answered 503 (Service Unavailable)"),
        (Fault(how=How.HANG), "no whole answer came in time"),
        (Fault(how=How.CLOSE), "the connection broke"),
    ],
    ids=["500", "429", "503", "hang", "close"],
)
def test_an_api_in_trouble_is_asked_again_later_and_given_up_in_a_sentence(
    http_api: HttpApi, fault: Fault, said: str
) -> None:
    http_api.fail(fault, method="POST", times=3)
    patience = 0.1 if fault.how is How.HANG else PATIENCE_SECONDS
    world = world_of(http_api, read_seconds=patience)
    began = world.now
    world.create(template(net=network()))
    while http_api.count("POST") < 3:
        if world.messages:
            world.deliver()
        elif due := world.store.sweeper.next_due():
            world.sweep(after=due + 0.001)
    world = with_patience(world, PATIENCE_SECONDS)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    # The engine waited, in no worker.
    assert world.now > began + 1
    http_api.fail(fault, method="POST", times=-1)
    world = with_patience(world, patience)
    world.create(template(net=network()), "t")
    world.settle()
    assert world.state("t") == "CREATE_FAILED"
    assert f"POST {http_api.url}/networks: {said}" in why(world, "t")
    assert "(after 5 retries)" in why(world, "t")
    assert http_api.made == 1


def test_an_object_that_never_will_be_ready_fails_and_is_replaced(http_api: HttpApi) -> None:
    http_api.polls_to_build, http_api.ends_as = 1, "error"
    world = world_of(http_api)
    given = network(status={**READY, "reason": "join(' is ', ['it', status])"}, update={})
    world.create(template(net=given))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "it is error: it is error" in reason(world)
    http_api.ends_as = "ready"
    world.update(template(net=given))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [each["id"] for each in there(http_api)] == ["2"]


def test_who_asks_too_often_waits_and_does_not_fail(http_api: HttpApi) -> None:
    http_api.fail(Fault(status=429, headers={"Retry-After": "60"}), method="GET", times=20)
    world = world_of(http_api)
    began = world.now
    world.create(template(net=network(status=READY)))
    world.settle()
    assert world.state() == "CREATE_COMPLETE", reason(world)
    assert world.now >= began + 20 * 60
    assert http_api.count("POST") == 1


def test_waiting_ends_in_time(http_api: HttpApi) -> None:
    http_api.polls_to_build = 1_000_000
    world = world_of(http_api)
    world.create(template(net=network(status={**READY, "timeout": 30})))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "it is building after 30 seconds (status.timeout)" in reason(world)
    assert http_api.count("GET") == 16


def test_a_refused_change_leaves_the_object_and_the_next_one_is_made_in_place(http_api: HttpApi) -> None:
    world = world_of(http_api)
    given = network(update={})
    world.create(template(net=given))
    world.settle()
    http_api.fail(Fault(status=422, body=b"no such name"), method="PUT")
    world.update(template(net={**given, "body": {"name": "b"}}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert "it answered 422 (Unprocessable Entity): no such name" in reason(world)
    world.update(template(net={**given, "body": {"name": "c"}}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [(each["id"], each["name"]) for each in there(http_api)] == [("1", "c")]


def test_what_concerns_no_request_asks_nobody(http_api: HttpApi) -> None:
    world = world_of(http_api)
    given = network(update={})
    world.create(template(net=given))
    world.settle()
    http_api.forget_requests()
    changed = {
        **given,
        "status": READY,
        "values": {"n": "name"},
        "headers": {"X-A": "a"},
        "delete": {"method": "PUT"},
    }
    world.update(template(net=changed))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert http_api.count() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"body": {"name": "b"}},
        {"create": {"path": "/networks", "method": "PUT"}},
        {"create": {**KEYED, "path": "/others"}},
        {"api": "other"},
        {"id": {"value": "mine"}},
    ],
    ids=["body", "method", "path", "api", "id"],
)
def test_what_no_request_changes_is_replaced(http_api: HttpApi, change: Mapping[str, Any]) -> None:
    world = world_of(http_api, apis={"other": {"base_url": http_api.url, "project_header": "X-Project"}})
    world.create(template(net=network()))
    world.settle()
    if change.get("create", {}).get("method") == "PUT":
        change = {"create": {"path": "/networks/x", "method": "PUT"}}
    world.update(template(net={**network(), **change}))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert "1" not in http_api.objects("/networks", tenant="default")


def test_a_deletion_waits_for_what_needs_the_object_and_for_its_end(http_api: HttpApi) -> None:
    world = world_of(http_api)
    world.create(template(net=network(status={**READY, "gone": ["deleted"]})))
    world.settle()
    http_api.fail(Fault(status=409, body=b"in use"), method="DELETE", times=2)
    http_api.polls_to_delete = 3
    assert deleted(world)
    assert http_api.count("DELETE") == 3
    assert http_api.count("GET", "/networks/1") == 5
    assert there(http_api) == []


def test_what_is_gone_already_is_deleted(http_api: HttpApi) -> None:
    world = world_of(http_api)
    world.create(template(net=network()))
    world.settle()
    http_api.remove("/networks/1", tenant="default")
    assert deleted(world)


def test_what_was_refused_under_a_name_is_not_deleted(http_api: HttpApi) -> None:
    """Somebody else has an object of this name."""
    http_api.put("/networks/own", {"name": "theirs"}, tenant="default")
    http_api.fail(Fault(status=412), method="PUT")
    world = world_of(http_api)
    world.create(
        template(
            net={"create": {"path": "/networks/own", "method": "PUT"}, "headers": {"If-None-Match": "*"}}
        )
    )
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert deleted(world)
    assert [each["name"] for each in there(http_api)] == ["theirs"]


def test_a_check_sees_what_others_changed_and_an_update_mends_it(http_api: HttpApi) -> None:
    world = world_of(http_api)
    given = network(
        body={"name": "a", "spec": {"size": 1}, "password": "s3cret"},
        update={},
        compare={"name": "name", "spec": "spec"},
        status=READY,
    )
    world.create(template(net=given))
    world.settle()
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE", reason(world)
    # What the API adds is nobody's change.
    http_api.put(
        "/networks/1", {"name": "a", "spec": {"size": 1, "added": 2}, "status": "ready"}, tenant="default"
    )
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE", reason(world)
    http_api.put("/networks/1", {"name": "a", "spec": {"size": 3}, "status": "ready"}, tenant="default")
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert "changed by others: body" in reason(world)
    world.update(template(net=given))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    (mended,) = there(http_api)
    assert (mended["spec"], mended["password"]) == ({"size": 1}, "s3cret")
    http_api.remove("/networks/1", tenant="default")
    world.check()
    world.settle()
    assert "it is not there any more" in reason(world)
    world.update(template(net=given))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [each["id"] for each in there(http_api)] == ["2"]


def test_what_is_there_already_is_adopted(http_api: HttpApi) -> None:
    http_api.put("/networks/old", {"name": "a"}, tenant="default")
    world = world_of(http_api)
    resources = {"net": {"resource_id": "old", "type": TYPE}}
    world.adopt(template(net=network(status=READY)), resources)
    world.settle()
    assert world.state() == "ADOPT_COMPLETE", reason(world)
    assert http_api.made == 0
    assert deleted(world)
    assert there(http_api) == []


# -- what must be there ------------------------------------------------------------------------------------------


def test_what_is_required_must_exist_and_is_asked_before_anything_is_made(http_api: HttpApi) -> None:
    world = world_of(http_api)
    given = network(requires=["/images/cirros"])
    with pytest.raises(InvalidInput, match=r"requires.0.: there is no path '/images/cirros'"):
        world.create(template(net=given))
    http_api.put("/images/cirros", tenant="default")
    world.create(template(net=given))
    # It is gone once the worker looks, and nobody remembers it.
    http_api.remove("/images/cirros", tenant="default")
    world.clients.of("default").get("http").forget("path", "/images/cirros")
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "there is no path '/images/cirros'" in reason(world)
    assert http_api.made == 0


def test_an_api_that_the_settings_do_not_know_is_refused_before_anything_is_made(http_api: HttpApi) -> None:
    world = world_of(http_api)
    with pytest.raises(InvalidInput, match="api: there is no HTTP API 'othr'"):
        world.create(template(a=network(), b=network(api="othr")))
    assert http_api.count() == 0


def test_what_is_not_ours_is_left_alone_and_known_by_its_id(http_api: HttpApi) -> None:
    world = world_of(http_api)
    theirs = {"type": TYPE, "external_id": "7", "properties": network()}
    text = yaml.safe_dump(
        {
            "heat_template_version": "2021-04-16",
            "resources": {
                "theirs": theirs,
                "ours": {"type": TYPE, "properties": network(body={"of": {"get_resource": "theirs"}})},
            },
        }
    )
    world.create(text)
    world.settle()
    assert world.state() == "CREATE_COMPLETE", reason(world)
    assert [each["of"] for each in there(http_api)] == ["7"]
    world.check()
    world.settle()
    assert world.state() == "CHECK_COMPLETE", reason(world)
    assert deleted(world)
    assert {asked.path for asked in http_api.requests if "7" in asked.path} == set()


def test_projects_see_what_is_theirs(http_api: HttpApi) -> None:
    """The same name in two projects, with different answers, and objects on both sides."""
    http_api.put("/images/cirros", tenant="blue")
    world = world_of(http_api)
    given = network(requires=["/images/cirros"])
    with pytest.raises(InvalidInput, match="there is no path"):
        world.create(template(net=given), "r", project="red")
    world.create(template(net=given), "b", project="blue")
    world.create(template(net=network()), "r", project="red")
    world.settle()
    assert [len(http_api.objects("/networks", tenant=each)) for each in ("blue", "red", "default")] == [
        1,
        1,
        0,
    ]
    world.create(template(net=network(headers={"X-Project": "blue"})), "x")
    world.settle()
    assert "the header 'X-Project' is what the settings say, and cannot be given" in why(world, "x")
