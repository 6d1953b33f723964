"""To write a client of another system: derive from ``ClientPlugin``, named under the entry points ``isotherm.clients``.

``ClientPlugin``
    the base: declare ``options_schema``, look things up by id or name
``ClientContext``
    the type of ``self.context``: the project whose eyes it sees with
``EntityNotFound``, ``AmbiguousName``
    raise them from ``look_up`` where the system has no such thing, or several
``ClientMisconfigured``
    what ``self.misconfigured(option, message)`` makes: raise it from ``__init__`` where options contradict each other
"""

from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.clients import ClientContext, ClientMisconfigured, ClientPlugin

__all__ = ["AmbiguousName", "ClientContext", "ClientMisconfigured", "ClientPlugin", "EntityNotFound"]
