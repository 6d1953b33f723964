"""The schemas of a resource type, and the options of a client.

``Property``, ``PropertyType``
    one property of ``properties_schema``, ``update_policy_schema`` or ``options_schema``, and the types there are
``Attribute``, ``CacheMode``
    one attribute of ``attributes_schema``, and for how long what was read of it holds
``Support``, ``SupportStatus``
    how far a type, a property or an attribute can be relied on
``PropertyError``
    raise it from ``validate``, with the path of the property at fault
``UNKNOWN``, ``is_unknown``
    what stands for a value that only a resource still to be made can tell, and whether one is in a value
``Add``, ``Replace``, ``Resolve``, ``Delete``, ``Rule``
    what ``translation_rules`` returns: old names of properties, names in the place of ids; and their base
``AND``, ``OR``, ``XOR``, ``AT_MOST_ONE``
    the operators of ``properties_groups_schema``: which properties go together
``API_VERSIONS``, ``CLIENT_PLUGIN``, ``VERSIONS``, ``PROPERTIES``
    the keys of a group there that depends on the version which a system speaks
``property_faults``, ``in_words``
    what is wrong with given properties of a type, for its tests; what one of its ``properties_groups`` says

What a property's value must hold is in :mod:`isotherm.constraints`.
"""

from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.plugins.groups import (
    AND,
    API_VERSIONS,
    AT_MOST_ONE,
    CLIENT_PLUGIN,
    OR,
    PROPERTIES,
    VERSIONS,
    XOR,
    in_words,
)
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyError, PropertyType
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Add, Delete, Replace, Resolve, Rule
from orchestrator.plugins.validating import property_faults

__all__ = [
    "AND",
    "API_VERSIONS",
    "AT_MOST_ONE",
    "CLIENT_PLUGIN",
    "OR",
    "PROPERTIES",
    "UNKNOWN",
    "VERSIONS",
    "XOR",
    "Add",
    "Attribute",
    "CacheMode",
    "Delete",
    "Property",
    "PropertyError",
    "PropertyType",
    "Replace",
    "Resolve",
    "Rule",
    "Support",
    "SupportStatus",
    "in_words",
    "is_unknown",
    "property_faults",
]
