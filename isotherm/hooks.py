"""To write a lifecycle plugin or an event sink, and to receive the signed calls of those that come with Isotherm.

``LifecyclePlugin``
    derive from it to be asked before operations and told after them; entry points ``isotherm.lifecycle``
``LifecycleContext``
    handed to its methods: the operation, by an id that is the same in every call for it
``FrozenStack``, ``FrozenResource``
    handed to its methods: what the stack is to be and what it is, as values that nothing can be changed by
``Annotations``
    return it from ``do_pre_op``: warnings for people, and what resource types read as ``self.annotations``
``Refusal``
    raise it from ``do_pre_op`` to refuse the operation
``COMPLETE``, ``FAILED``, ``SUPERSEDED``, ``REFUSED``
    how an operation ended: ``context.outcome`` in ``do_post_op``
``EventSink``
    derive from it to be told what happened; entry points ``isotherm.event_sinks``
``Event``
    handed to its ``consume``: one entry of the history
``HookOptions``
    derive from it for the options that the settings may give, and name the class as ``Options``
``UNKNOWN``
    stands among the properties of a ``FrozenResource`` for what only a resource can tell
``verify_signature``, ``signature_of``
    check who sent the body of a call, by the value of its header; find that among a request's headers
``BadSignature``
    what ``verify_signature`` raises: do not act upon the call, answer 401
``SIGNATURE_HEADER``, ``SIGNATURE_TOLERANCE_SECONDS``
    the header's name, and how old a call may be unless you say otherwise
``sign``
    return the header's value for a body of your own, to test a receiver
"""

from hooks.errors import Refusal
from hooks.events import Event, EventSink
from hooks.hook import HookOptions
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
)
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
    "Refusal",
    "sign",
    "signature_of",
    "verify_signature",
]
