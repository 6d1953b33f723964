"""Constraints on values: the ``constraints`` of a property, and custom constraints.

``Range``, ``Length``, ``Modulo``, ``AllowedValues``, ``AllowedPattern``
    built-in constraints of a property
``Custom``
    an installed custom constraint, by its name
``CustomConstraint``
    base of custom constraints, whose classes are named by the entry points ``isotherm.constraints``
``ClientConstraint``
    base of those that require an entity to exist in another system
"""

from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Length, Modulo, Range
from orchestrator.plugins.custom import ClientConstraint, Custom, CustomConstraint

__all__ = [
    "AllowedPattern",
    "AllowedValues",
    "ClientConstraint",
    "Custom",
    "CustomConstraint",
    "Length",
    "Modulo",
    "Range",
]
