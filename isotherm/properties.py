"""Schemas of resource types, and of the options of clients.

``Property``, ``PropertyType``
    one property of ``properties_schema``, ``update_policy_schema`` or ``options_schema``, and its type
``Attribute``, ``CacheMode``
    one attribute of ``attributes_schema``, and how long its value is cached
``Support``, ``SupportStatus``
    the support status of a type, a property or an attribute
``PropertyError``
    raised from ``validate``, with the path of the wrong property
``UNKNOWN``, ``is_unknown``
    placeholder of a value that is unknown until a resource exists, and whether a value contains it
``Add``, ``Replace``, ``Resolve``, ``Delete``, ``Rule``
    returned by ``translation_rules``: old names of properties, names in place of ids; and their base
``AND``, ``OR``, ``XOR``, ``AT_MOST_ONE``
    the operators of ``properties_groups_schema``: which properties may be given together
``API_VERSIONS``, ``CLIENT_PLUGIN``, ``VERSIONS``, ``PROPERTIES``
    the keys of a group that depends on the API version of a client plugin
``property_faults``, ``in_words``
    the faults of given properties of a type, for its tests; one of its ``properties_groups`` as a sentence

Constraints on a property's value are in :mod:`isotherm.constraints`.
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
