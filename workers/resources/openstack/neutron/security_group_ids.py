"""Security groups by name: those of the user's own project, where an administrator sees those of all projects."""

import re
from collections.abc import Iterable
from typing import Final

from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from workers.clients.openstack import OpenStack

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def security_group_ids(service: OpenStack, names: Iterable[str]) -> dict[str, str]:
    """Return the ids of security groups by what names them; an id is its own.

    Raises:
        EntityNotFound: the project has no group of a name.
        AmbiguousName: it has several.
        Exception: the service could not be reached.
    """
    return {name: name if _UUID.fullmatch(name) else _by_name(service, name) for name in names}


def _by_name(service: OpenStack, name: str) -> str:
    query = {"name": name, "project_id": service.proxy().get_project_id(), "fields": "id"}
    ids = tuple(
        sorted(str(each["id"]) for each in service.listed("/security-groups", "security_groups", query))
    )
    if not ids:
        raise EntityNotFound("security group", name)
    if len(ids) > 1:
        raise AmbiguousName("security group", name, ids)
    return ids[0]
