"""What a value must hold: the ``constraints`` of a property, and custom constraints of your own.

``Range``, ``Length``, ``Modulo``, ``AllowedValues``, ``AllowedPattern``
    what a property's value must hold, by itself
``Custom``
    the same, by the name of a custom constraint that is installed
``CustomConstraint``
    derive from it for a custom constraint, and name the class under the entry points ``isotherm.constraints``
``ClientConstraint``
    derive from it for one that demands that something exists in another system
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
