"""Names of machines and of their agents' workers, the state directories of agents, and the boot id of this machine."""

import re
from pathlib import Path
from typing import Final

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.plugins.machine_requirements import LOCAL_NODE

#: The name is part of queue, mailbox and directory names: brokers take other characters for patterns.
_NODE_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"
#: The rule of :func:`is_node_name`, for messages.
NODE_NAME: Final = "a letter or a digit first, then letters, digits, '_', '-' and '.', at most 63 in all"

#: The prefix of the Celery worker names of agents.
_AGENT: Final = "agent-"


def is_node_name(name: str) -> bool:
    """Return whether a machine may have this name: see :data:`NODE_NAME`."""
    return re.fullmatch(_NODE_NAME, name) is not None


def check_node_name(name: str) -> None:
    """Refuse a name that a machine may not have.

    Raises:
        InvalidInput: the name is malformed, or reserved for embedded mode.
    """
    if not is_node_name(name):
        raise InvalidInput([Problem(path="node", message=f"{name!r} is no name of a node", hint=NODE_NAME)])
    if name == LOCAL_NODE:
        message = f"{name!r} is what a command without a broker calls its own machine"
        raise InvalidInput([Problem(path="node", message=message, hint="such as the machine's host name")])


def agent_worker(node: str) -> str:
    """Return the Celery worker name of a machine's agent, without the host."""
    return f"{_AGENT}{node}"


def node_of_agent(worker: str) -> str:
    """Return the machine of an agent's Celery worker name, with or without a host; "" for other workers."""
    node = worker.partition("@")[0].removeprefix(_AGENT) if worker.startswith(_AGENT) else ""
    return node if is_node_name(node) else ""


def agent_directory(state_directory: Path, node: str) -> Path:
    """Return the directory of a machine's agent; several agents may share the state directory."""
    return state_directory.absolute() / "agents" / node


def read_boot_id(settings: Settings) -> str:
    """Return the machine's boot id, from the file ``agent.boot_id_file``; "" if it cannot be read."""
    try:
        return Path(settings.agent.boot_id_file).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
