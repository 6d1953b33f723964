"""Claims about the lifecycle plugin ``license``, held against the licence server of the examples."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from hooks.builtin.leases import ACQUIRE, SETTLE
from hooks.builtin.license import License, LicenseOptions
from hooks.errors import Refusal
from hooks.http.outcome import RequestFailed
from hooks.http.signing import HEADER, signature
from hooks.lifecycle import COMPLETE, FAILED, REFUSED, SUPERSEDED, Annotations, LifecycleContext
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from tests.services.licence_server import SECRET, Break, LicenceServer
from tests.services.receiver import Receiver, Reply

SERVER, DISK, VALUE = "Cloud::Server", "Cloud::Disk", "OS::Heat::Value"


@pytest.fixture
def server() -> Iterator[LicenceServer]:
    with LicenceServer({SERVER: 5, DISK: 2}) as started:
        yield started


def stack(*types: str, stack_id: str = "s") -> FrozenStack:
    """Return a definition with resources of these types."""
    resources = {f"r{index}": FrozenResource(name=f"r{index}", type=kind) for index, kind in enumerate(types)}
    return FrozenStack(name="web", id=stack_id, resources=frozen(resources))


def there(*types: str, stack_id: str = "s", **said: Any) -> FrozenStack:
    """Return a stack whose resources are there."""
    state = {"uuid": "u", "action": "CREATE", "status": "COMPLETE", "physical_id": "p", **said}
    planned = stack(*types, stack_id=stack_id)
    made = {name: replace(each, **state) for name, each in planned.resources.items()}
    return replace(planned, resources=frozen(made))


class Operation:
    """One operation as the engine carries it out."""

    def __init__(
        self, plugin: License, name: str, action: str, wanted: FrozenStack, now: FrozenStack | None
    ) -> None:
        self.plugin, self.action, self.wanted = plugin, action, wanted
        self.context = LifecycleContext(operation_id=name, project="shop")
        self.said = plugin.do_pre_op(self.context, wanted, now, action)

    def over(self, now: FrozenStack | None, outcome: str = COMPLETE, *, annotations: bool = True) -> None:
        said = self.said if annotations else None
        context = replace(self.context, outcome=outcome, annotations=said)
        self.plugin.do_post_op(context, self.wanted, now, self.action, outcome != COMPLETE)


def test_licences_are_held_from_before_the_first_resource_until_after_the_last(server: LicenceServer) -> None:
    plugin = server.plugin()
    wanted = stack(SERVER, SERVER, DISK, VALUE)
    create = Operation(plugin, "o1", "CREATE", wanted, None)
    assert create.said == Annotations(stack={"lease_id": "lease-s"})
    assert server.held("s") == {DISK: 1, SERVER: 2}
    now = there(SERVER, SERVER, DISK, VALUE)
    create.over(now)
    assert server.held("s") == {DISK: 1, SERVER: 2}
    delete = Operation(plugin, "o2", "DELETE", wanted, now)
    assert server.held("s") == {DISK: 1, SERVER: 2}
    delete.over(None)
    assert server.held("s") == {}
    assert server.licences.shown() == {}


def test_what_is_held_during_an_update_is_what_is_there_and_what_is_to_be(server: LicenceServer) -> None:
    plugin = server.plugin()
    now = there(SERVER, SERVER)
    update = Operation(plugin, "o1", "UPDATE", stack(SERVER, DISK, DISK), now)
    assert server.held("s") == {DISK: 2, SERVER: 2}
    update.over(there(SERVER, DISK, DISK))
    assert server.held("s") == {DISK: 2, SERVER: 1}


def test_server_refuses_in_its_own_words_and_holds_what_it_held(server: LicenceServer) -> None:
    plugin = server.plugin(on_error="allow")
    Operation(plugin, "o1", "CREATE", stack(*[SERVER] * 4), None).over(there(*[SERVER] * 4))
    wanted = stack(SERVER, SERVER, stack_id="t")
    context = LifecycleContext(operation_id="o2", project="shop")
    for ask in (plugin.do_preview, plugin.do_pre_op):
        with pytest.raises(Refusal, match=f"^{SERVER}: 6 licences would be in use, there are 5$"):
            ask(context, wanted, None, "CREATE")
    assert server.held("t") == {}
    assert server.held("s") == {SERVER: 4}


def test_who_wants_no_more_than_there_is_is_not_refused(server: LicenceServer) -> None:
    now = there(*[SERVER] * 9)
    plugin = server.plugin()
    Operation(plugin, "o1", "CHECK", now, now).over(now)
    assert server.held("s") == {SERVER: 9}
    Operation(plugin, "o2", "UPDATE", stack(*[SERVER] * 8), now).over(there(*[SERVER] * 8))
    assert server.held("s") == {SERVER: 8}
    with pytest.raises(Refusal):
        Operation(plugin, "o3", "UPDATE", stack(*[SERVER] * 9), there(*[SERVER] * 8))


@pytest.mark.parametrize("action", ["ROLLBACK", "DELETE", "ABANDON", "CHECK"])
def test_what_must_always_be_possible_is_never_refused(server: LicenceServer, action: str) -> None:
    plugin = server.plugin()
    wanted, now = stack(*[SERVER] * 7), there(*[SERVER] * 6)
    assert Operation(plugin, "o1", action, wanted, now).said is not None
    server.breaking = lambda _: Break.LOST
    said = Operation(plugin, "o2", action, wanted, now).said
    assert said is not None
    assert "the connection broke" in said.warnings[0]


@pytest.mark.parametrize(("root_action", "is_refused"), [("UPDATE", True), ("ROLLBACK", False)])
def test_what_a_rollback_brings_about_in_a_stack_in_a_stack_is_not_refused(
    server: LicenceServer, root_action: str, is_refused: bool
) -> None:
    context = LifecycleContext(operation_id="o1", project="shop", root_action=root_action)
    asked = (context, stack(*[SERVER] * 6), there(SERVER), "UPDATE")
    plugin = server.plugin()
    if is_refused:
        with pytest.raises(Refusal):
            plugin.do_pre_op(*asked)
    else:
        assert plugin.do_preview(*asked) is None
        assert plugin.do_pre_op(*asked)
        assert server.held("s") == {SERVER: 6}


@pytest.mark.parametrize("action", ["SUSPEND", "RESUME", "SNAPSHOT"])
def test_what_changes_no_counts_asks_nobody(server: LicenceServer, action: str) -> None:
    Operation(server.plugin(), "o1", action, stack(SERVER), there(SERVER)).over(there(SERVER))
    assert server.messages == []


def test_stack_without_such_resources_asks_nobody(server: LicenceServer) -> None:
    Operation(server.plugin(), "o1", "CREATE", stack(VALUE), None).over(there(VALUE))
    assert server.messages == []


def test_after_a_failure_what_is_there_is_held(server: LicenceServer) -> None:
    create = Operation(server.plugin(), "o1", "CREATE", stack(SERVER, SERVER, SERVER), None)
    left = {
        "made": FrozenResource(
            name="a", type=SERVER, uuid="1", action="CREATE", status="COMPLETE", physical_id="p"
        ),
        "broken": FrozenResource(
            name="b", type=SERVER, uuid="2", action="CREATE", status="FAILED", physical_id="q"
        ),
        "unmade": FrozenResource(name="c", type=SERVER, uuid="3", action="CREATE", status="FAILED"),
        "planned": FrozenResource(name="d", type=SERVER, uuid="4", action="INIT", status="COMPLETE"),
        "unknown": FrozenResource(name="e", type=SERVER),
        "replaced": FrozenResource(
            name="f",
            type=VALUE,
            others=(
                FrozenResource(
                    name="f", type=SERVER, uuid="5", action="DELETE", status="FAILED", physical_id="r"
                ),
            ),
        ),
        "being made": FrozenResource(name="g", type=SERVER, uuid="6", action="CREATE", status="IN_PROGRESS"),
    }
    create.over(FrozenStack(name="web", id="s", resources=frozen(left)), FAILED)
    assert server.held("s") == {SERVER: 4}


def test_refused_operation_gives_back_and_leaves_others_what_they_hold(server: LicenceServer) -> None:
    plugin = server.plugin()
    running = Operation(plugin, "o1", "CREATE", stack(SERVER, SERVER, SERVER), None)
    refused = Operation(plugin, "o2", "UPDATE", stack(*[SERVER] * 5), there(SERVER))
    assert server.held("s") == {SERVER: 5}
    refused.over(there(SERVER), REFUSED)
    assert server.held("s") == {SERVER: 3}
    running.over(there(SERVER, SERVER, SERVER))
    assert server.held("s") == {SERVER: 3}


@pytest.mark.parametrize("is_first_told_first", [True, False])
def test_superseded_operation_takes_nothing_from_its_successor(
    server: LicenceServer, is_first_told_first: bool
) -> None:
    plugin = server.plugin()
    first = Operation(plugin, "o1", "CREATE", stack(SERVER, SERVER), None)
    second = Operation(plugin, "o2", "UPDATE", stack(*[SERVER] * 4), there(SERVER))
    if is_first_told_first:
        first.over(there(SERVER), SUPERSEDED)
        assert server.held("s") == {SERVER: 4}
        second.over(there(*[SERVER] * 4))
    else:
        second.over(there(*[SERVER] * 4))
        first.over(there(SERVER), SUPERSEDED)
    assert server.held("s") == {SERVER: 4}


def test_calls_that_come_twice_change_nothing(server: LicenceServer) -> None:
    plugin = server.plugin()
    wanted, now = stack(SERVER, SERVER), there(SERVER, SERVER)
    create = Operation(plugin, "o1", "CREATE", wanted, None)
    again = Operation(plugin, "o1", "CREATE", wanted, None)
    assert create.said == again.said
    assert server.held("s") == {SERVER: 2}
    create.over(now)
    Operation(plugin, "o2", "UPDATE", stack(SERVER, SERVER, SERVER), now).over(there(SERVER, SERVER, SERVER))
    # As it was when the first operation was over; somebody comes late with that.
    create.over(now)
    assert server.held("s") == {SERVER: 3}


def test_call_that_comes_after_its_operation_is_over_holds_nothing(server: LicenceServer) -> None:
    plugin = server.plugin()
    create = Operation(plugin, "o1", "CREATE", stack(SERVER), None)
    create.over(None, REFUSED, annotations=False)
    with pytest.raises(Refusal, match=r"it answered 409: .*the operation is over"):
        Operation(plugin, "o1", "CREATE", stack(SERVER), None)
    assert server.held("s") == {}


def test_answer_that_came_too_late_is_given_back(server: LicenceServer) -> None:
    update = Operation(server.plugin(), "o1", "UPDATE", stack(), there(SERVER))
    assert server.held("s") == {SERVER: 1}
    update.over(there(SERVER), REFUSED, annotations=False)
    assert server.held("s") == {}


def test_last_resource_of_a_type_is_given_back(server: LicenceServer) -> None:
    Operation(server.plugin(), "o1", "UPDATE", stack(VALUE), there(SERVER)).over(there(VALUE))
    assert server.held("s") == {}
    assert [each["phase"] for each in server.messages] == ["acquire", "settle"]


def test_server_that_is_away_refuses_or_not_as_the_settings_say(server: LicenceServer) -> None:
    server.breaking = lambda _: Break.LOST
    with pytest.raises(Refusal):
        Operation(server.plugin(), "o1", "CREATE", stack(SERVER), None)
    with pytest.raises(Refusal):
        server.plugin().do_preview(
            LifecycleContext(operation_id="o", project="p"), stack(SERVER), None, "CREATE"
        )
    allowing = server.plugin(on_error="allow")
    said = allowing.do_preview(LifecycleContext(operation_id="o", project="p"), stack(SERVER), None, "CREATE")
    assert said is not None
    create = Operation(allowing, "o2", "CREATE", stack(SERVER), None)
    assert create.said is not None
    assert "no licences are known to be held" in create.said.warnings[0]
    server.breaking = lambda _: Break.NOTHING
    create.over(there(SERVER))
    assert server.held("s") == {SERVER: 1}


def test_server_that_was_away_at_the_end_is_told_by_the_next_operation(server: LicenceServer) -> None:
    plugin = server.plugin()
    update = Operation(plugin, "o1", "UPDATE", stack(VALUE), there(SERVER))
    server.breaking = lambda _: Break.LOST
    with pytest.raises(RequestFailed):
        update.over(there(VALUE))
    server.breaking = lambda _: Break.NOTHING
    assert server.held("s") == {SERVER: 1}
    Operation(plugin, "o2", "CHECK", stack(VALUE), there(VALUE)).over(there(VALUE))
    assert server.held("s") == {}


def test_deletion_that_the_server_was_not_told_of_is_told_with_the_next_stacks(server: LicenceServer) -> None:
    plugin = server.plugin()
    now = there(SERVER)
    Operation(plugin, "o1", "CREATE", stack(SERVER), None).over(now)
    delete = Operation(plugin, "o2", "DELETE", stack(SERVER), now)
    server.breaking = lambda _: Break.LOST
    with pytest.raises(RequestFailed):
        delete.over(None)
    server.breaking = lambda _: Break.NOTHING
    assert server.held("s") == {SERVER: 1}
    Operation(plugin, "o3", "CREATE", stack(DISK, stack_id="t"), None)
    assert server.licences.shown() == {"t": {DISK: 1}}
    assert [each["operation_id"] for each in server.messages[-2:]] == ["o3", "o2"]


def test_what_is_told_late_of_an_operation_takes_nothing_from_those_after_it(server: LicenceServer) -> None:
    """Two processes: what one could not tell is older than what the other told meanwhile."""
    one, other = server.plugin(on_error="allow"), server.plugin()
    for is_granted in (True, False):
        name = f"granted {is_granted}"
        lost = (SETTLE,) if is_granted else (ACQUIRE, SETTLE)
        server.breaking = lambda said, lost=lost: Break.LOST if said["phase"] in lost else Break.NOTHING  # type: ignore[misc]
        first = Operation(one, f"{name} 1", "UPDATE", stack(SERVER), there(SERVER))
        with pytest.raises(RequestFailed):
            first.over(there(SERVER))
        server.breaking = lambda _: Break.NOTHING
        Operation(other, f"{name} 2", "UPDATE", stack(SERVER, DISK), there(SERVER)).over(there(SERVER, DISK))
        Operation(one, f"{name} 3", "CREATE", stack(VALUE, DISK, stack_id="t"), None).over(None)
        assert server.held("s") == {SERVER: 1, DISK: 1}


def test_preview_tells_nothing_but_itself(server: LicenceServer) -> None:
    plugin = server.plugin()
    delete = Operation(plugin, "o1", "DELETE", stack(SERVER), there(SERVER))
    server.breaking = lambda _: Break.LOST
    with pytest.raises(RequestFailed):
        delete.over(None)
    server.breaking = lambda _: Break.NOTHING
    plugin.do_preview(
        LifecycleContext(operation_id="o2", project="p"), stack(DISK, stack_id="t"), None, "CREATE"
    )
    assert server.messages[-1]["phase"] == "preview"


def test_what_the_server_does_not_want_keeps_nothing_else_from_it(server: LicenceServer) -> None:
    plugin = server.plugin()
    deletes = [
        Operation(plugin, name, "DELETE", stack(SERVER, stack_id=name), there(SERVER, stack_id=name))
        for name in ("d1", "d2")
    ]
    server.breaking = lambda _: Break.LOST
    for delete in deletes:
        with pytest.raises(RequestFailed):
            delete.over(None)
    server.breaking = lambda said: Break.UNWANTED if said["stack_id"] == "d1" else Break.NOTHING
    for name in ("o1", "o2"):
        Operation(plugin, name, "CREATE", stack(DISK, stack_id="t"), None)
    assert server.held("d2") == {}
    assert [each["operation_id"] for each in server.messages[4:]] == ["o1", "d1", "d2", "o2"]


@pytest.mark.parametrize("lost", [Break.LOST, Break.UNANSWERED], ids=["message", "answer"])
def test_operation_that_is_refused_because_nobody_knows_holds_nothing(
    server: LicenceServer, lost: Break
) -> None:
    left = iter([lost])
    server.breaking = lambda _: next(left, Break.NOTHING)
    with pytest.raises(Refusal):
        Operation(server.plugin(), "o1", "CREATE", stack(SERVER), None)
    assert server.licences.shown() == {}
    assert [each["phase"] for each in server.messages] == ["acquire", "settle"]


def test_operation_that_goes_on_although_nobody_knows_holds_what_it_made(server: LicenceServer) -> None:
    left = iter([Break.UNANSWERED])
    server.breaking = lambda _: next(left, Break.NOTHING)
    create = Operation(server.plugin(on_error="allow"), "o1", "CREATE", stack(SERVER, SERVER), None)
    create.over(there(SERVER), FAILED)
    assert server.held("s") == {SERVER: 1}


def test_lost_answer_is_asked_for_again(server: LicenceServer) -> None:
    left = iter([Break.UNANSWERED, Break.NOTHING, Break.UNANSWERED, Break.NOTHING])
    server.breaking = lambda _: next(left)
    plugin = server.plugin(retries=1, retry_base_seconds=0.001)
    create = Operation(plugin, "o1", "CREATE", stack(SERVER), None)
    create.over(there(SERVER))
    assert server.held("s") == {SERVER: 1}
    assert [each["phase"] for each in server.messages] == ["acquire", "acquire", "settle", "settle"]


def test_preview_holds_nothing(server: LicenceServer) -> None:
    context = LifecycleContext(operation_id="o1", project="shop")
    assert server.plugin().do_preview(context, stack(SERVER), None, "CREATE") is None
    assert server.licences.shown() == {}


def test_what_is_sent_is_what_the_documentation_says(server: LicenceServer) -> None:
    plugin = server.plugin()
    create = Operation(plugin, "o1", "CREATE", stack(SERVER, SERVER, DISK), None)
    create.over(None, REFUSED)
    same = {"operation_id": "o1", "action": "CREATE", "project": "shop", "stack_id": "s", "stack_name": "web"}
    assert server.messages == [
        {**same, "phase": "acquire", "counts": {DISK: 1, SERVER: 2}, "enforce": True},
        {**same, "phase": "settle", "counts": None, "outcome": "refused"},
    ]


# -- the server of the examples ------------------------------------------------------------------------------------


def test_server_remembers_over_a_restart(tmp_path: Path) -> None:
    database = str(tmp_path / "licences.db")
    with LicenceServer({SERVER: 5}, database=database) as server:
        create = Operation(server.plugin(), "o1", "CREATE", stack(SERVER), None)
        create.over(there(SERVER))
        Operation(server.plugin(), "o2", "UPDATE", stack(SERVER, SERVER), there(SERVER))
    with LicenceServer({SERVER: 5}, database=database) as server:
        assert server.held("s") == {SERVER: 2}
        with pytest.raises(Refusal, match="409"):
            Operation(server.plugin(), "o1", "CREATE", stack(SERVER), None)


def test_server_takes_nothing_from_those_who_do_not_know_the_secret(server: LicenceServer) -> None:
    with pytest.raises(Refusal, match=r"it answered 401: .*no signature is by a secret"):
        Operation(
            server.plugin(secrets=("another secret, not its own",)), "o1", "CREATE", stack(SERVER), None
        )
    assert server.licences.shown() == {}


def test_server_says_what_it_does_not_understand(server: LicenceServer) -> None:
    body = json.dumps({"phase": "acquire"}).encode()
    headers = {HEADER: signature([SECRET], body, int(time.time()))}
    request = urllib.request.Request(f"{server.url}/leases/s", data=body, headers=headers, method="PUT")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    with caught.value as answer:
        assert answer.code == 400
        assert b"stack_id" in answer.read()


def test_server_shows_what_is_held(server: LicenceServer) -> None:
    Operation(server.plugin(), "o1", "CREATE", stack(SERVER, DISK), None)
    with urllib.request.urlopen(f"{server.url}/leases") as answer:
        assert json.load(answer) == {"s": {SERVER: 1, DISK: 1}}


# -- answers of other servers --------------------------------------------------------------------------------------


def test_warnings_of_a_server_are_for_people() -> None:
    with Receiver(lambda _: Reply(body={"lease_id": "7", "warnings": ["three days left"]})) as receiver:
        plugin = License(LicenseOptions(url=receiver.url, secrets=(SecretStr(SECRET),), types=(SERVER,)))
        context = LifecycleContext(operation_id="o1", project="shop")
        acquired = plugin.do_pre_op(context, stack(SERVER), None, "CREATE")
        seen = plugin.do_preview(context, stack(SERVER), None, "CREATE")
    assert acquired == Annotations(warnings=("three days left",), stack={"lease_id": "7"})
    assert seen == Annotations(warnings=("three days left",))


@pytest.mark.parametrize(
    "body",
    [None, {}, {"lease_id": ""}, {"lease_id": 7}, b"yes"],
    ids=["nothing", "no-id", "empty", "number", "text"],
)
def test_server_that_names_no_lease_has_granted_none(body: Any) -> None:
    with Receiver(lambda _: Reply(body=body)) as receiver:
        plugin = License(LicenseOptions(url=receiver.url, secrets=(SecretStr(SECRET),), types=(SERVER,)))
        context = LifecycleContext(operation_id="o1", project="shop")
        with pytest.raises(Refusal):
            plugin.do_pre_op(context, stack(SERVER), None, "CREATE")
    # As it may have granted them all the same.
    assert [each.document["phase"] for each in receiver.messages] == ["acquire", "settle"]
