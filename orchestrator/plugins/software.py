"""The software configs and deployments of a project, as a resource type may look them up and keep its own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator.errors import PluginMistake

if TYPE_CHECKING:
    from orchestrator.views.software import SoftwareConfigView


class Software(Protocol):
    """What :attr:`orchestrator.plugins.resource.Resource.software` does, in the stack's project.

    Everything may be done again. What changes anything is refused once another attempt at the action has taken over.
    """

    def config(self, config_id: str) -> "SoftwareConfigView | None":
        """Return a config of the project, whichever way it was made; None if there is none."""

    def put_config(self, config: Mapping[str, Any]) -> None:
        """Keep a config under the resource's uuid, with all of the fields that are given for one through the API.

        Raises:
            Conflict: another attempt has taken over.
        """

    def deploy(self, deployment: Mapping[str, Any], config_id: str, config: Mapping[str, Any]) -> None:
        """Keep a deployment under the resource's uuid, of a config with this id, in place of those before.

        ``deployment`` has ``server_id``, ``action``, ``status``, ``status_reason``, ``input_values`` and
        ``output_values``; ``config`` is as for :meth:`put_config`.

        Raises:
            Conflict: another attempt has taken over.
        """

    def conclude(self, status: str, reason: str, output_values: Mapping[str, Any]) -> None:
        """Record what became of the resource's deployment, if there is one.

        Raises:
            Conflict: another attempt has taken over.
        """

    def remove(self) -> str | None:
        """Remove the resource's deployment and configs; the id of another deployment if that uses one: nothing is done.

        Raises:
            Conflict: another attempt has taken over.
        """

    def is_replaced(self) -> bool:
        """Return whether another resource has taken the place of this one."""


def no_software() -> Software:
    """Refuse: there is software in the steps of an action alone.

    Raises:
        PluginMistake: always.
    """
    raise PluginMistake("self.software may be used in an action alone")
