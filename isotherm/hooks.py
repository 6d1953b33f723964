"""Contracts of lifecycle plugins and event sinks, and verification of the signed calls of those that ship.

``LifecyclePlugin``
    base of plugins that are called before and after operations; entry points ``isotherm.lifecycle``
``LifecycleContext``
    passed to its methods: the operation, with the same id in every call for it
``PlannedOperation``
    the saved plan that an operation applies: ``context.plan`` in ``do_pre_op``
``FrozenStack``, ``FrozenResource``
    passed to its methods: the new and the present definition and state of a stack, as frozen values
``Annotations``
    returned from ``do_pre_op``: warnings for users, and values that resource types read as ``self.annotations``
``Refusal``
    raised from ``do_pre_op`` to refuse the operation
``COMPLETE``, ``FAILED``, ``SUPERSEDED``, ``REFUSED``
    the outcome of an operation: ``context.outcome`` in ``do_post_op``
``EventSink``
    base of sinks that receive events; entry points ``isotherm.event_sinks``
``Event``
    passed to its ``consume``: one entry of the history
``HookOptions``
    base of the class ``Options`` with the options in the settings
``UNKNOWN``
    placeholder among the properties of a ``FrozenResource``: unknown until a resource exists
``verify_signature``, ``signature_of``
    verify the body of a call by the value of its header; return that value from a request's headers
``BadSignature``
    raised by ``verify_signature``: reject the call, answer 401
``SIGNATURE_HEADER``, ``SIGNATURE_TOLERANCE_SECONDS``
    the header's name, and the default maximum age of a call
``sign``
    return the header's value for a body, to test a receiver
"""

from hooks.errors import Refusal
from hooks.events import Event, EventSink
from hooks.http.signing import HEADER as SIGNATURE_HEADER
from hooks.http.signing import TOLERANCE_SECONDS as SIGNATURE_TOLERANCE_SECONDS
from hooks.http.signing import BadSignature
from hooks.http.signing import header_of as signature_of
from hooks.http.signing import signature as sign
from hooks.http.signing import verify as verify_signature
from hooks.lifecycle import (
    COMPLETE,
    FAILED,
    REFUSED,
    SUPERSEDED,
    Annotations,
    LifecycleContext,
    LifecyclePlugin,
    PlannedOperation,
)
from hooks.options import HookOptions
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.unknown import UNKNOWN

__all__ = [
    "COMPLETE",
    "FAILED",
    "REFUSED",
    "SIGNATURE_HEADER",
    "SIGNATURE_TOLERANCE_SECONDS",
    "SUPERSEDED",
    "UNKNOWN",
    "Annotations",
    "BadSignature",
    "Event",
    "EventSink",
    "FrozenResource",
    "FrozenStack",
    "HookOptions",
    "LifecycleContext",
    "LifecyclePlugin",
    "PlannedOperation",
    "Refusal",
    "sign",
    "signature_of",
    "verify_signature",
]
