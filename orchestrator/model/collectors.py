"""What a machine is given to read the metadata of its resource with os-collect-config, or cfn-init."""

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.model.ec2_signatures import SignedResource, secret_key

#: Marks the data of a resource whose metadata are polled by the machine that it is.
POLLED: Final = "polled"
#: The collectors that the machine then uses, in this order: the first is the cloud's own metadata.
COLLECTORS: Final = ("ec2", "cfn", "local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """The fields have the names of the options in os-collect-config's section ``cfn``."""

    metadata_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    stack_name: str
    #: The resource's name, and ``Metadata``.
    path: str

    @classmethod
    def of(
        cls, api_url: str, data: Mapping[str, Any], *, project: str, stack: str, stack_id: str, resource: str
    ) -> "Collector | None":
        """Return that of a resource with these data; None if they have no key, or there is no API."""
        secret = secret_key(data)
        if not api_url or secret is None:
            return None
        return cls(
            metadata_url=f"{api_url.rstrip('/')}/",
            access_key_id=SignedResource(project, stack_id, resource).access_key,
            secret_access_key=secret,
            stack_name=stack,
            path=f"{resource}.Metadata",
        )

    @property
    def options(self) -> dict[str, Any]:
        """The section ``os-collect-config`` of the metadata."""
        return {"cfn": asdict(self), "collectors": list(COLLECTORS)}
