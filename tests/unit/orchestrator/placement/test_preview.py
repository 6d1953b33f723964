"""What somebody is shown who only wants to see where a stack would go: nothing is claimed, made or waited for."""

import json
from pathlib import Path
from typing import Any

import pytest

from cache.node_state.errors import StateStoreFailed
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_preview import preview_job
from orchestrator.errors import Conflict
from orchestrator.lifecycle.engine_plugin import Engine
from orchestrator.model.messages import StackJob
from orchestrator.placement import joining
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.store.machines.machines import MachineReport
from orchestrator.store.machines.reservations import NewReservation
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.scenarios.placing import TYPES, PretendedNodes, instance

AWAY = "the leases of nodes cannot be read: the store is away"


class Away(PretendedNodes):
    """Nodes of which nobody can tell anything."""

    def leases(self) -> Any:
        raise StateStoreFailed("the store is away")


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> PretendedNodes:
    """Nodes, in the place of those that the settings lead to."""
    made = PretendedNodes(n1=100)
    pretend(monkeypatch, made)
    return made


def pretend(monkeypatch: pytest.MonkeyPatch, nodes: PretendedNodes) -> None:
    def engine_of(settings: Settings, *, store: Any, types: Any) -> Engine:
        return Engine(settings=settings, store=store, types=types, nodes=lambda: nodes)

    monkeypatch.setattr(joining, "engine_of", engine_of)
    monkeypatch.setattr(ResourceTypes, "load", classmethod(lambda cls: ResourceTypes(TYPES)))
    monkeypatch.setattr(ResourceTypes, "on_demand", classmethod(lambda cls: ResourceTypes(TYPES)))


def preview(directory: Path, **resources: Any) -> tuple[Any, list[str]]:
    settings = Settings(state_directory=directory)
    text = json.dumps({"heat_template_version": "2021-04-16", "resources": resources})
    view = preview_job(StackJob(name="s", template=text), settings)
    return view.annotations.get("placement", {}), [each.message for each in view.warnings]


def test_a_preview_says_where_everything_would_go(nodes: PretendedNodes, tmp_path: Path) -> None:
    assert preview(tmp_path, a=instance(memory=60)) == ({"a": {"node": "n1"}}, [])
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_a_preview_knows_what_is_promised_to_others(nodes: PretendedNodes, tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path)
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    store.machines.note([MachineReport(name="n1", incarnation="i", boot_id="b")])
    amounts = {("b", "n1"): {"memory_mib": 50}}
    claim = NewReservation(operation_id="o", stack_id="other", amounts=amounts, seconds=60)
    assert store.reservations.reserve(claim, fits=lambda _: True)
    with pytest.raises(Conflict, match="60 MiB of memory required, 50 free"):
        preview(tmp_path, a=instance(memory=60))
    assert preview(tmp_path, a=instance(memory=50))[0] == {"a": {"node": "n1"}}
    assert store.reservations.promised(["n1"], stack_id="").totals == {("n1", "memory_mib"): 50}
    store.close()


def test_a_preview_without_anything_to_place_asks_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, Away())
    rule = {"type": "Isotherm::Placement::Group", "properties": {"policy": "same_host"}}
    assert preview(tmp_path, g=rule) == ({}, [])


def test_where_nobody_can_tell_a_preview_says_so_and_is_shown_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend(monkeypatch, Away())
    said, warnings = preview(tmp_path, a=instance(memory=60))
    assert said == {}
    (warning,) = warnings
    assert warning.endswith(f"its placement cannot be determined: {AWAY}")
