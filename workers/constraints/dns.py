"""Names of the Domain Name System: ``dns_name``, ``dns_domain``, ``rel_dns_name``. Only the syntax is checked.

As in Heat, letters are lower case, and an empty text stands for a name that is not given.
"""

import re
from typing import Any, Final

from orchestrator.plugins.constraints import shown
from orchestrator.plugins.custom import CustomConstraint

#: The length limit of a whole name, without the dot at its end.
_LONGEST: Final = 255
#: The characters that a relative name leaves for the dot and the shortest domain after it.
_SHORTEST_DOMAIN: Final = 3
_LABEL: Final = re.compile(r"[a-z0-9-]{1,63}")
_NUMBER: Final = re.compile(r"[0-9]+")


class DnsName(CustomConstraint):
    """A name of labels with dots between them, such as ``www.example.org``; with a dot at its end it is absolute.

    A label has 1 to 63 lower case letters, digits and hyphens, none of these at its beginning or end. A whole name has
    up to 255 characters, and the last label of an absolute one of several labels is no number.
    """

    name = "dns_name"

    def fault(self, value: object) -> str | None:
        """Return the fault of a name."""
        return _fault(value)


class DnsDomain(CustomConstraint):
    """A name as of ``dns_name`` that ends with a dot, such as ``example.org.``."""

    name = "dns_domain"

    def fault(self, value: Any) -> str | None:
        """Return the fault of a domain."""
        fault = _fault(value)
        if fault is None and value and not value.endswith("."):
            return f"{shown(value)} is no DNS domain: it must end with a dot"
        return fault


class RelativeDnsName(CustomConstraint):
    """A name as of ``dns_name`` that leaves room for a domain after it, such as ``www``: without a dot at its end.

    It has up to 252 characters.
    """

    name = "rel_dns_name"

    def fault(self, value: Any) -> str | None:
        """Return the fault of a name."""
        fault = _fault(value)
        if fault is not None or not value:
            return fault
        if value.endswith("."):
            return f"{shown(value)} is no relative DNS name: it ends with a dot"
        if len(value) > _LONGEST - _SHORTEST_DOMAIN:
            return (
                f"{shown(value)} is no relative DNS name: with {len(value)} characters it leaves no room for a domain "
                f"({_LONGEST - _SHORTEST_DOMAIN} at most)"
            )
        return None


def _fault(value: object) -> str | None:
    reason = _reason(value) if isinstance(value, str) else "it is no text"
    return reason and f"{shown(value)} is no DNS name: {reason}"


def _reason(text: str) -> str | None:
    name = text.removesuffix(".")
    if len(name) > _LONGEST:
        return f"it has {len(name)} characters, {_LONGEST} are allowed"
    if not name:
        return "it is a dot alone" if text else None
    labels = name.split(".")
    for reason in map(_label_reason, labels):
        if reason is not None:
            return reason
    if text.endswith(".") and len(labels) > 1 and _NUMBER.fullmatch(labels[-1]):
        return f"its last part, {shown(labels[-1])}, is a number"
    return None


def _label_reason(label: str) -> str | None:
    if not label:
        return "there is nothing before a dot"
    if label.startswith("-") or label.endswith("-"):
        return f"{shown(label)} begins or ends with a hyphen"
    if not _LABEL.fullmatch(label):
        return f"{shown(label)} is not 1 to 63 lower case letters, digits and hyphens"
    return None
