"""What is raised on purpose: catch it around :func:`isotherm.connect`, and raise it from your own code.

``IsothermError``
    the base of all that follows but the last two
``InvalidInput``, ``Problem``, ``Position``
    a template, a parameter or a setting is wrong: its ``problems``, each with a place; nothing was touched
``ClientMisconfigured``, ``HooksNotLoaded``
    the settings of a client, or lifecycle plugins and event sinks, are wrong; both are an ``InvalidInput``
``NotFound``
    there is no such stack, resource or output
``Conflict``
    a name is taken, an operation is under way, a lifecycle plugin refused
``Unavailable``
    the database, the broker or the cache cannot be reached: try again later
``NotVerified``
    another system does not tell whether what is named exists: raise it from a constraint, try again later
``EntityNotFound``, ``AmbiguousName``
    another system has no such thing, or several: raise them from a client's ``look_up``
``PluginMistake``
    a plugin broke its contract; the sentence names it
``Bug``
    what another process did not foresee; its log says where
``ResourceFailure``, ``Refusal``
    what resource types raise (:mod:`isotherm.resources`), and lifecycle plugins (:mod:`isotherm.hooks`)
"""

from hooks.errors import Refusal
from orchestrator.errors import (
    Bug,
    Conflict,
    HooksNotLoaded,
    InvalidInput,
    IsothermError,
    NotFound,
    NotVerified,
    PluginMistake,
    Position,
    Problem,
    Unavailable,
)
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.clients import ClientMisconfigured
from orchestrator.plugins.steps import ResourceFailure

__all__ = [
    "AmbiguousName",
    "Bug",
    "ClientMisconfigured",
    "Conflict",
    "EntityNotFound",
    "HooksNotLoaded",
    "InvalidInput",
    "IsothermError",
    "NotFound",
    "NotVerified",
    "PluginMistake",
    "Position",
    "Problem",
    "Refusal",
    "ResourceFailure",
    "Unavailable",
]
