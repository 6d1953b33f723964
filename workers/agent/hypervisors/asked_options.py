"""What templates ask of a hypervisor in its own terms: read strictly, and refused in a sentence."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workers.agent.hypervisors.hypervisor import HypervisorFault


class AskedOptions(BaseModel):
    """Base of what a hypervisor reads from ``options`` and ``networks`` of an instance."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, data: Mapping[str, Any], where: str) -> "Any":
        """Return what was asked under ``where``, such as ``options``; an instance of this class.

        Raises:
            HypervisorFault: it cannot be read; values are not shown.
        """
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join((where, *map(str, first["loc"])))
            if first["type"] != "extra_forbidden":
                raise HypervisorFault(f"{place}: {first['msg']}") from None
            raise HypervisorFault(f"{place} is unknown{cls._nearest(str(first['loc'][-1]))}") from None

    @classmethod
    def _nearest(cls, name: str) -> str:
        near = get_close_matches(name, cls.model_fields, 1)
        known = ", ".join(sorted(cls.model_fields))
        return f"; did you mean {near[0]!r}?" if near else f"; expected one of {known}"
