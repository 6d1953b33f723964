"""URLs of brokers: a scheme that names a transport of kombu, then ``://``."""

from typing import Final

from hooks.values.nearest import Nearest

#: The schemes that kombu knows; kombu itself is slow to import.
SCHEMES: Final = frozenset(
    [
        "SLMQ",
        "SQS",
        "amqp",
        "amqps",
        "azureservicebus",
        "azurestoragequeues",
        "confluentkafka",
        "consul",
        "etcd",
        "filesystem",
        "gcpubsub",
        "kafka",
        "librabbitmq",
        "memory",
        "mongodb",
        "pgmq",
        "pyamqp",
        "pyro",
        "qpid",
        "redis",
        "rediss",
        "sentinel",
        "slmq",
        "sqla",
        "sqlalchemy",
        "sqs",
        "zookeeper",
    ]
)
#: What to do where a broker does not answer.
BROKER_REMEDY: Final = "start the broker, or correct ISOTHERM_BROKER_URL"
_EXAMPLE: Final = "for example redis://localhost:6379/0 or amqp://USER:PASSWORD@localhost"


def require_scheme(url: str) -> str:
    """Return the URL of a broker, or several URLs with semicolons between them.

    Raises:
        ValueError: one has no scheme, or one that is no transport. No part of a URL is shown but its scheme.
    """
    for each in filter(None, url.split(";")):
        scheme, separator, _ = each.partition("://")
        if not separator:
            raise ValueError(f"expected a URL that begins with a scheme, {_EXAMPLE}")
        if scheme not in SCHEMES and not _is_class(scheme):
            near = Nearest().among(scheme, SCHEMES)
            hint = f"did you mean {near}://?" if near else _EXAMPLE
            raise ValueError(f"the scheme {scheme!r} is no transport for messages; {hint}")
    return url


def _is_class(scheme: str) -> bool:
    """Whether a scheme names a transport by its import path."""
    return "." in scheme or "+" in scheme
