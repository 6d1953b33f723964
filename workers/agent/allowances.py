"""The allowance of a project: which of a machine's programs, directories, images and the like its templates may use.

It is what all projects may use (``agent.commands``, ``node_directories`` and so on), and what the project may use
besides (``[agent.projects.NAME]``). Without a broker, on a machine of one's own, a list that is not set allows
everything; with one it allows nothing.
"""

import json
import re
from pathlib import Path
from typing import Final, Self

from hooks.values.dataclass import dataclass
from orchestrator.config.nodes import ProjectSettings
from orchestrator.config.settings import Settings

#: Names that stand in a TOML key without quotation marks.
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What the templates of one project may use on this machine; None in place of a list: everything."""

    #: Empty: the request names none, and what all projects may use applies.
    project: str
    commands: tuple[str, ...] | None
    directories: tuple[Path, ...]
    images: tuple[str, ...] | None
    networks: tuple[str, ...] | None
    targets: tuple[str, ...] | None
    users: tuple[str, ...]
    #: The user of its processes, where the agent is root; empty: none is set.
    run_as: str
    #: A directory that is made when it is first used; None: all have to exist.
    made: Path | None
    #: Whether several projects use the machine: there is a broker.
    is_shared: bool

    @classmethod
    def of(cls, settings: Settings, project: str) -> Self:
        """Return the allowance of a project by the machine's settings."""
        agent = settings.agent
        own = agent.projects.get(project, ProjectSettings())

        def both(own_list: tuple[str, ...], of_all: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if of_all is None and settings.embedded else (*own_list, *(of_all or ()))

        by_default = settings.allowed_directories if not settings.node_directories else ()
        return cls(
            project=project,
            commands=both(own.commands, agent.commands),
            directories=(*own.directories, *settings.allowed_directories),
            images=both(own.images, agent.images),
            networks=both(own.networks, agent.networks),
            targets=both(own.targets, agent.targets),
            users=(*own.users, *agent.users),
            run_as=own.run_as or agent.run_as,
            made=next(iter(by_default), None),
            is_shared=not settings.embedded,
        )

    def where(self, name: str) -> str:
        """Return the setting of a list, and on a shared machine where an operator adds to it, in parentheses."""
        setting = "node_directories" if name == "directories" else f"agent.{name}"
        if not self.is_shared:
            return f"(setting {setting})"
        beside = f" for all projects, or to {self.own(name)} for this one," if self.project else ""
        return f"(setting {setting}; an operator adds it there{beside} in the settings of the node's agent)"

    def own(self, name: str) -> str:
        """Return the setting of a list of the project's own."""
        key = self.project if _BARE.fullmatch(self.project) else json.dumps(self.project)
        return f"agent.projects.{key}.{name}"
