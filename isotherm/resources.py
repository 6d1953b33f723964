"""To write a resource type: derive from ``Resource`` and name the class under the entry points ``isotherm.resources``.

``Resource``
    the base: declare schemas (:mod:`isotherm.properties`), implement ``handle_<action>``, ``check_<action>_complete``
``ResourceState``
    the type of ``self.state``: what is stored between two steps, above all ``physical_id``
``Wait``
    returned by ``check_<action>_complete``: not finished yet, look again after so many seconds
``PropertyChanges``
    handed to ``handle_update`` and ``needs_replace``: what was, and what is to be
``CANNOT_TELL``, ``CannotTell``
    returned by ``observe`` where the type does not look; the type of that value, for annotations
``ResourceFailure``
    raise it when an action has failed for good; its text is shown to people
``RetryableFailure``
    raise it when another try may help
``NothingDone``
    raise it from ``handle_create`` when another try may help and certainly nothing was made
"""

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import (
    CANNOT_TELL,
    CannotTell,
    NothingDone,
    PropertyChanges,
    ResourceFailure,
    ResourceState,
    RetryableFailure,
    Wait,
)

__all__ = [
    "CANNOT_TELL",
    "CannotTell",
    "NothingDone",
    "PropertyChanges",
    "Resource",
    "ResourceFailure",
    "ResourceState",
    "RetryableFailure",
    "Wait",
]
