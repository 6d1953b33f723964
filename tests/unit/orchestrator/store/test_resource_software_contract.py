"""What every store promises about the software of resources: one deployment each, written by the present attempt."""

from typing import Any, Final

import pytest

from orchestrator.errors import Conflict
from orchestrator.model.project_limits import SOFTWARE
from orchestrator.store.installation.resource_software import ClaimedSoftware
from orchestrator.store.nodes.claims import Claim
from tests.unit.orchestrator.store.conftest import Bench

CONFIG: Final[dict[str, Any]] = {
    "name": "web",
    "group": "script",
    "config": "text",
    "inputs": [],
    "outputs": [{"name": "out"}],
    "options": {},
}
DEPLOYMENT: Final[dict[str, Any]] = {
    "server_id": "s",
    "action": "CREATE",
    "status": "IN_PROGRESS",
    "status_reason": "waits",
    "input_values": {"a": 1},
    "output_values": {},
}


def claimed(bench: Bench, stack: str = "s") -> Claim:
    (order,) = bench.begin({"it": set()}, stack=stack)
    return bench.claim(order)


def software(bench: Bench, claim: Claim, project: str = "p") -> ClaimedSoftware:
    return bench.store.resource_software.of_claim(claim, project)


def deployments(bench: Bench) -> list[tuple[str, str, str, str]]:
    found = bench.store.software.deployments("p")
    return [(each.id, each.config_id, each.action, each.status) for each in found]


def configs(bench: Bench) -> set[str]:
    return {each.id for each in bench.store.software.configs("p")}


def test_config_is_found_by_its_resources_id_and_by_projects_alone(bench: Bench) -> None:
    claim = claimed(bench)
    own = software(bench, claim)
    for _ in range(2):
        own.put_config(CONFIG)
    found = own.config(claim.resource_id)
    assert found is not None
    assert (found.name, found.config, found.outputs) == ("web", "text", [{"name": "out"}])
    assert software(bench, claim, "q").config(claim.resource_id) is None
    assert own.config("none") is None
    bench.store.software.add_config("api", "p", CONFIG)
    assert own.config("api") is not None


def test_another_action_has_another_config_in_place_of_the_one_before(bench: Bench) -> None:
    claim = claimed(bench)
    own = software(bench, claim)
    own.deploy(DEPLOYMENT, "c1", CONFIG)
    own.deploy(DEPLOYMENT, "c1", {**CONFIG, "config": "same"})
    assert deployments(bench) == [(claim.resource_id, "c1", "CREATE", "IN_PROGRESS")]
    own.conclude("COMPLETE", "done", {"out": 1})
    assert deployments(bench) == [(claim.resource_id, "c1", "CREATE", "COMPLETE")]
    own.deploy({**DEPLOYMENT, "action": "UPDATE"}, "c2", CONFIG)
    assert deployments(bench) == [(claim.resource_id, "c2", "UPDATE", "IN_PROGRESS")]
    assert configs(bench) == {"c2"}
    for _ in range(2):
        assert own.remove() is None
        assert (deployments(bench), configs(bench)) == ([], set())


def test_config_that_another_deployment_uses_stays(bench: Bench) -> None:
    claim = claimed(bench)
    own = software(bench, claim)
    own.put_config(CONFIG)
    fields = {"config_id": claim.resource_id, "server_id": "s"}
    bench.store.software.add_deployment("user", "p", fields)
    assert own.remove() == "user"
    assert configs(bench) == {claim.resource_id}
    bench.store.software.delete_deployment("user", "p")
    assert own.remove() is None


def test_late_attempt_changes_nothing(bench: Bench) -> None:
    claim = claimed(bench)
    late = software(bench, claim)
    late.deploy(DEPLOYMENT, "c1", CONFIG)
    bench.finish(claim)
    before = deployments(bench), configs(bench)
    for act in (
        lambda: late.put_config(CONFIG),
        lambda: late.deploy({**DEPLOYMENT, "action": "UPDATE"}, "c2", CONFIG),
        lambda: late.conclude("FAILED", "late", {}),
        late.remove,
    ):
        with pytest.raises(Conflict, match="another attempt at CREATE of 'it' has taken over"):
            act()
    assert (deployments(bench), configs(bench)) == before


def test_ids_of_others_are_left_alone(bench: Bench) -> None:
    bench.store.software.add_config("theirs", "p", {**CONFIG, "config": "other"})
    own = software(bench, claimed(bench))
    own.deploy(DEPLOYMENT, "theirs", CONFIG)
    assert bench.store.software.config("theirs", "p").config == "other"
    assert own.remove() is None
    assert configs(bench) == {"theirs"}


def test_what_stacks_make_does_not_count_for_what_a_project_may_have(bench: Bench) -> None:
    software(bench, claimed(bench)).deploy(DEPLOYMENT, "c1", CONFIG)
    bench.store.software.add_config("api", "p", CONFIG, limits={SOFTWARE: 1})
    with pytest.raises(Conflict):
        bench.store.software.add_config("more", "p", CONFIG, limits={SOFTWARE: 1})
