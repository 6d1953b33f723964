"""What docs/nodes.md says of RPCs, backends, fields and settings is so."""

import re
import tomllib
from dataclasses import fields
from importlib.metadata import entry_points

import pytest

from orchestrator.config.nodes import AgentSettings, NodeStateCacheSettings
from orchestrator.config.section import Section
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.registry import Effect, load_rpcs
from orchestrator.placement.options import PlacementOptions
from orchestrator.placement.rules import Policy
from tests.unit.docs.pages import ROOT, blocks
from workers.agent.hypervisors.hypervisor import InstanceData, NodeData
from workers.agent.storage.storage import StorageData

PAGE = ROOT / "docs" / "nodes.md"
TEXT = PAGE.read_text()
PROSE = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)


def table_below(words: str) -> list[list[str]]:
    """Return the cells of the first table below some words, without its head."""
    found = re.search(r"(?:^\|.*\n)+", TEXT[TEXT.index(words) :], flags=re.MULTILINE)
    assert found is not None
    rows = [line.strip("|\n ").split(" | ") for line in found.group().splitlines()]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def names_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_every_rpc_is_listed_with_what_it_does() -> None:
    rows = [names_in(calls) for _, calls in table_below("a change:")]
    rpcs = load_rpcs().values()
    for listed, effect in zip(rows, (Effect.READ, Effect.MUTATE, Effect.FLUSH_ALL), strict=True):
        assert listed == sorted(rpc.name for rpc in rpcs if rpc.effect is effect)
    assert not [rpc.name for rpc in rpcs if rpc.effect is Effect.NEUTRAL]
    assert [rpc.name for rpc in rpcs if rpc.deferred] == ["node_powercycle"]


@pytest.mark.parametrize("group", ["hypervisors", "storage"])
def test_every_backend_that_comes_with_it_is_listed(group: str) -> None:
    heading = {"hypervisors": "## Hypervisors", "storage": "## Storage"}[group]
    listed = [names_in(row[0])[0] for row in table_below(heading)]
    assert sorted(listed) == sorted(entry.name for entry in entry_points(group=f"isotherm.{group}"))


def test_every_policy_of_groups_is_listed() -> None:
    listed = [names_in(row[0])[0] for row in table_below("The rules of groups:")]
    assert listed == [str(policy) for policy in Policy]


def test_what_hypervisors_can_do_is_so() -> None:
    for row in table_below("## Hypervisors"):
        [entry] = entry_points(group="isotherm.hypervisors", name=names_in(row[0])[0])
        assert row[-1].split(", ") == sorted(entry.load().abilities)


@pytest.mark.parametrize(
    ("words", "kind", "left_out"),
    [
        ("the node as it sees it:", NodeData, set()),
        ("each of its instances, by name:", InstanceData, {"name"}),
        ("Of each storage unit:", StorageData, set()),
    ],
    ids=["node", "instance", "storage"],
)
def test_every_field_is_described(words: str, kind: type, left_out: set[str]) -> None:
    listed = [name for row in table_below(words) for name in names_in(row[0])]
    said = {field.name.replace("storage_size_mib", "storage_size") for field in fields(kind)} - left_out
    assert sorted(listed) == sorted(name.replace("storage_free_mib", "storage_free") for name in said)


def test_the_settings_that_are_named_are_there() -> None:
    [example] = [block for block in blocks(PAGE) if block.mark("file") == "agent.toml"]
    agent = Settings(**tomllib.loads(example.text)).agent
    for name, options in agent.hypervisors.items():
        [entry] = entry_points(group="isotherm.hypervisors", name=name)
        entry.load().Options.model_validate(options)
    for options in agent.storage.values():
        said = dict(options)
        [entry] = entry_points(group="isotherm.storage", name=said.pop("type"))
        entry.load().Options.model_validate(said)
    limits = [name for row in table_below("## Limits of an agent") for name in names_in(row[0])]
    known = {f"agent.{name}" for name in AgentSettings.declared} | set(Settings.declared)
    assert set(limits) <= known
    of_cache = {name for name in names_in(PROSE) if name.endswith("_seconds") and "cpu" not in name}
    assert {name.removeprefix("agent.") for name in of_cache} <= {
        *NodeStateCacheSettings.declared,
        *AgentSettings.declared,
        *PlacementOptions.model_fields,
    }


@pytest.mark.parametrize("kind", [AgentSettings, NodeStateCacheSettings])
def test_every_setting_of_nodes_is_spoken_of(kind: type[Section]) -> None:
    spoken_of = {name.rpartition(".")[2] for name in names_in(PROSE)}
    in_example = set(re.findall(r"^(?:\[agent\.)?(\w+)", TEXT, flags=re.MULTILINE))
    # Where it is kept is said in words.
    assert sorted(set(kind.declared) - spoken_of - in_example - {"url"}) == []
