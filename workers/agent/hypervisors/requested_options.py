"""Hypervisor-specific options in templates, such as networks: validated strictly."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from workers.agent.hypervisors.hypervisor import HypervisorFault
from workers.agent.options import read_options


class RequestedOptions(BaseModel):
    """Base of the models for ``options`` and ``networks`` of an instance."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str) -> Self:
        """Return the validated options of the path ``where``, such as ``networks.0``.

        Raises:
            HypervisorFault: they are invalid; values are not shown.
        """
        try:
            return read_options(cls, data, fault=HypervisorFault)
        except HypervisorFault as fault:
            raise HypervisorFault(f"{where}: {fault}") from None
