"""Errors raised on purpose, by :func:`isotherm.connect` and by plugins.

``IsothermError``
    base of all that follow but the last two
``InvalidInput``, ``Problem``, ``Position``
    a template, a parameter or a setting is wrong: its ``problems``, each with a position; nothing was changed
``ClientMisconfigured``, ``HooksNotLoaded``
    the settings of a client, of lifecycle plugins or of event sinks are wrong; both are ``InvalidInput``
``NotFound``
    there is no such stack, resource or output
``Conflict``
    a name is taken, an operation is in progress, or a lifecycle plugin refused
``NotAllowed``
    the role of the caller, by the token in the settings, does not allow it
``Unavailable``
    the database, the broker or the cache cannot be reached: try again later
``NotVerified``
    another system could not be queried for an entity: raised from a constraint; try again later
``EntityNotFound``, ``AmbiguousName``
    another system has no such entity, or several: raised from a client's ``look_up``
``PluginMistake``
    a plugin broke its contract; the message names it
``Bug``
    an unexpected error in another process, whose log has the traceback
``ResourceFailure``, ``Refusal``
    raised by resource types (:mod:`isotherm.resources`), and by lifecycle plugins (:mod:`isotherm.hooks`)
"""

from hooks.errors import Refusal
from orchestrator.errors import (
    Bug,
    Conflict,
    HooksNotLoaded,
    InvalidInput,
    IsothermError,
    NotAllowed,
    NotFound,
    NotVerified,
    PluginMistake,
    Position,
    Problem,
    Unavailable,
)
from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.client_plugin import ClientMisconfigured
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
    "NotAllowed",
    "NotFound",
    "NotVerified",
    "PluginMistake",
    "Position",
    "Problem",
    "Refusal",
    "ResourceFailure",
    "Unavailable",
]
