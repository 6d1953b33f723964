"""Contract of template functions: subclasses of ``Function``, named by the entry points ``isotherm.functions``.

``Function``
    the base: checks the arguments when a template is read, and returns the value in ``call``
``FunctionError``
    raised from ``check`` and ``call`` for wrong arguments; its message must show no value, which may be a secret
``Example``
    one of ``examples``: a call with its result, for the reference and for tests
``ALWAYS``, ``NEVER``
    the values of ``lifetime`` and ``in_conditions``: all versions of HOT, or none
``LATER``
    the types of arguments that are known only later, for ``isinstance`` in ``check``
``UNKNOWN``, ``is_unknown``
    placeholder of a value that is unknown until a resource exists, and whether a value contains it
``StackDefinition``
    the stack that ``call`` receives; ``self.stack`` of a resource
``ResourceProxy``
    one of its resources
``ParentResourceProxy``
    its ``parent``: the resource of another stack that it is nested in
"""

from orchestrator.definition import (
    UNKNOWN,
    ParentResourceProxy,
    ResourceProxy,
    StackDefinition,
    is_unknown,
)
from orchestrator.template.functions.base import LATER, Example, Function, FunctionError
from orchestrator.template.versions import ALWAYS, NEVER

__all__ = [
    "ALWAYS",
    "LATER",
    "NEVER",
    "UNKNOWN",
    "Example",
    "Function",
    "FunctionError",
    "ParentResourceProxy",
    "ResourceProxy",
    "StackDefinition",
    "is_unknown",
]
