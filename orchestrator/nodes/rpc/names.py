"""What a node may be called, and where its agent keeps what is its own."""

import re
from pathlib import Path
from typing import Final

from orchestrator.errors import InvalidInput, Problem
from orchestrator.plugins.asks import LOCAL_NODE

#: Names of queues, of mailboxes and of directories: brokers take other characters for patterns.
_NODE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
#: What :func:`is_node_name` wants, in words.
NODE_NAME: Final = "a letter or a digit first, then letters, digits, '_', '-' and '.', at most 63 in all"

#: What the name of an agent's worker, as Celery's tools show it, begins with.
_AGENT: Final = "agent-"


def is_node_name(name: str) -> bool:
    """Whether a node may have this name: see :data:`NODE_NAME`."""
    return _NODE_NAME.fullmatch(name) is not None


def check_node_name(name: str) -> None:
    """Refuse a name that no node with an agent of its own may have.

    Raises:
        InvalidInput: it is none, or is kept for the agent of embedded mode.
    """
    if not is_node_name(name):
        raise InvalidInput([Problem(path="node", message=f"{name!r} is no name of a node", hint=NODE_NAME)])
    if name == LOCAL_NODE:
        message = f"{name!r} is what a command without a broker calls its own machine"
        raise InvalidInput([Problem(path="node", message=message, hint="such as the machine's host name")])


def agent_worker(node: str) -> str:
    """Return what Celery's tools call the worker that a node's agent is, without its host."""
    return f"{_AGENT}{node}"


def node_of_agent(worker: str) -> str:
    """Return the node whose agent a worker of Celery's is by its name, with or without a host; empty for none."""
    node = worker.partition("@")[0].removeprefix(_AGENT) if worker.startswith(_AGENT) else ""
    return node if is_node_name(node) else ""


def agent_directory(state_directory: Path, node: str) -> Path:
    """Return the directory of a node's agent; several agents on one machine may share the state directory."""
    return state_directory.absolute() / "agents" / node
