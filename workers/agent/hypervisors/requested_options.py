"""What templates ask of a hypervisor in its own terms, such as networks: read strictly, or refused in a sentence."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workers.agent.hypervisors.hypervisor import HypervisorFault
from workers.agent.options import read_options


class AskedOptions(BaseModel):
    """Base of what a hypervisor reads from ``options`` and ``networks`` of an instance."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str) -> Self:
        """Return what was asked under ``where``, such as ``networks.0``.

        Raises:
            HypervisorFault: it cannot be read; values are not shown.
        """
        try:
            return read_options(cls, data, fault=HypervisorFault)
        except HypervisorFault as fault:
            raise HypervisorFault(f"{where}: {fault}") from None
