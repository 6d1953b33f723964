"""kombu's AMQP transport, unharmed by the headers of any message.

py-amqp decodes tables recursively, so that some kilobytes of nested headers end the process that receives them; the
message then goes back to the queue, and ends the next one.
"""

import struct
from collections.abc import Callable
from ssl import CERT_NONE, CERT_REQUIRED
from typing import Any, Final

from amqp.basic_message import Message
from amqp.method_framing import frame_handler
from kombu.transport import pyamqp

from orchestrator.keys.envelope import FORM, Refused
from orchestrator.queue.refusals import refusals

_HEADER_FRAME: Final = 2
#: Headers of so many bytes are tried first; those of this package's messages are shorter.
_SUSPICIOUS_BYTES: Final = 2048
#: The class, the weight and the length of the body; and the flags of the properties.
_HEAD_BYTES: Final = 12
_NO_PROPERTIES: Final = struct.pack(">H", 0)

Frame = tuple[int, int, bytes]


class Connection(pyamqp.Connection):
    """A connection that delivers a message with unreadable headers without any."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "frame_handler": _guarded_handler})


class Transport(pyamqp.Transport):
    """The transport of the URL schemes of AMQP."""

    Connection = Connection


class TlsTransport(Transport):
    """The transport of the URL scheme ``amqps``, which verifies the server's certificate and its name.

    Options begin with ``ssl_`` in the query of the URL, as for Redis: ``ssl_ca_certs`` is a file of trusted
    certificates, without which those of the system are; nothing is verified with ``ssl_cert_reqs=none``.
    """

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)  # type: ignore[no-untyped-call]  # kombu is typed in part
        given = client.ssl if isinstance(client.ssl, dict) else {}
        tls = {
            "cert_reqs": CERT_REQUIRED,
            **{name.removeprefix("ssl_"): each for name, each in given.items()},
        }
        name = {} if tls["cert_reqs"] == CERT_NONE else {"server_hostname": client.hostname or "localhost"}
        client.ssl = {**name, **tls}


def _guarded_handler(connection: Any, callback: Callable[..., None]) -> Callable[[Frame], bool]:
    """Return py-amqp's handler of frames, which gets no headers that it cannot read."""
    handle = frame_handler(connection, callback)

    def guarded(frame: Frame) -> bool:
        kind, channel, data = frame
        if kind == _HEADER_FRAME and len(data) > _SUSPICIOUS_BYTES and not _is_readable(data):
            refusals.add("", Refused(FORM, "its headers cannot be read"), bytes(data))
            frame = (kind, channel, bytes(data[:_HEAD_BYTES]) + _NO_PROPERTIES)
        return bool(handle(frame))

    return guarded


def _is_readable(data: bytes) -> bool:
    try:
        Message().inbound_header(data)
    except Exception:  # noqa: BLE001  # a recursion that is too deep, or whatever else is wrong with it
        return False
    return True
