"""Contract of resource types: subclasses of ``Resource``, named by the entry points ``isotherm.resources``.

``Resource``
    the base: declares schemas (:mod:`isotherm.properties`), implements ``handle_<action>``, ``check_<action>_complete``
``ResourceState``
    the type of ``self.state``, which is stored between two steps, with the ``physical_id``
``Wait``
    returned by ``check_<action>_complete``: not complete yet, check again after so many seconds
``PropertyChanges``
    passed to ``handle_update`` and ``needs_replace``: the properties before and after the update
``CANNOT_TELL``, ``CannotTell``
    returned by ``observe`` if the type does not support it; the type of that value, for annotations
``Sibling``, ``Siblings``, ``reference_of``
    passed to ``implied_requirements``: the resources of a stack with their properties; and which resource a property
    refers to by ``get_resource``
``ResourceFailure``
    raised when an action has failed permanently; its message is shown to users
``RetryableFailure``
    raised when a retry may succeed
``Busy``
    raised when the other system cannot do it yet: the step is run again, however often, within a limit of time
``NothingDone``
    raised from ``handle_create`` when a retry may succeed and certainly nothing was created
"""

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.siblings import Sibling, Siblings, reference_of
from orchestrator.plugins.steps import (
    CANNOT_TELL,
    Busy,
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
    "Busy",
    "CannotTell",
    "NothingDone",
    "PropertyChanges",
    "Resource",
    "ResourceFailure",
    "ResourceState",
    "RetryableFailure",
    "Sibling",
    "Siblings",
    "Wait",
    "reference_of",
]
