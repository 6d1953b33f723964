"""Agents of machines that several projects share: there is a broker, and nothing is allowed that no list names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.requester import REQUESTER, Requester
from tests.unit.workers.agent.agents import ToldCache, request_of, settings_of, told
from workers.agent.agent import Agent

#: Resources of two projects, in stacks of the same name.
ACME = Requester(project="acme", stack="s-1", stack_name="shop", resource="web", uuid="row-a")
OTHER = Requester(project="other", stack="s-2", stack_name="shop", resource="web", uuid="row-o")


def shared_settings(directory: Path, *, directories: tuple[Path, ...] = (), **agent: Any) -> Settings:
    """Return the settings of a node with a broker, whose lists are those given and no others.

    Where tests run as root, processes do, too, unless ``run_as`` is given.
    """
    return settings_of(directory, **{"run_as": "root", **agent}).with_values(
        broker_url="redis://127.0.0.1:1/0", node_directories=directories
    )


def shared_agent(directory: Path, *, directories: tuple[Path, ...] = (), **agent: Any) -> Agent:
    """Return the agent of such a node."""
    settings = shared_settings(directory, directories=directories, **agent)
    return Agent("n1", settings, ToldCache(), directory=directory / "n1")


def change_as(agent: Agent, requester: Requester, rpc: str, **arguments: Any) -> Any:
    """Have an agent carry something out for a resource."""
    return told(agent.carry_out(request_of(rpc, **arguments, **stated(requester))))


def ask_as(agent: Agent, requester: Requester, rpc: str, **arguments: Any) -> Any:
    """Have an agent answer a resource."""
    return told(agent.answer(request_of(rpc, **arguments, **stated(requester))))


def stated(requester: Requester) -> Mapping[str, Any]:
    """Return the requester as it travels."""
    return {REQUESTER: requester.to_wire()}
