"""Contract of client plugins: subclasses of ``ClientPlugin``, named by the entry points ``isotherm.clients``.

``ClientPlugin``
    the base: declares ``options_schema``, looks up entities by id or name
``ClientContext``
    the type of ``self.context``: the project that the client works for
``EntityNotFound``, ``AmbiguousName``
    raised from ``look_up`` if the system has no such entity, or several
``ClientMisconfigured``
    returned by ``self.misconfigured(option, message)``: raised from ``__init__`` if options contradict each other
``RATE_OPTIONS``
    options that limit requests: part of ``options_schema`` of a client that calls ``self.request_rate(target).take()``
"""

from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext, ClientMisconfigured, ClientPlugin
from orchestrator.plugins.request_rates import RATE_OPTIONS

__all__ = [
    "RATE_OPTIONS",
    "AmbiguousName",
    "ClientContext",
    "ClientMisconfigured",
    "ClientPlugin",
    "EntityNotFound",
]
