"""amqps:// verifies the certificate and the name of the server, unless its URL says that nothing is verified."""

import ssl
from typing import Any

import pytest
from kombu.connection import Connection

# Which transport a scheme of a URL has is decided there.
import orchestrator.queue.celery_app  # noqa: F401
from orchestrator.queue import amqp_transport


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"server_hostname": "broker.example.com", "cert_reqs": ssl.CERT_REQUIRED}),
        (
            "?ssl_ca_certs=/ca.crt&ssl_cert_reqs=required",
            {"server_hostname": "broker.example.com", "cert_reqs": ssl.CERT_REQUIRED, "ca_certs": "/ca.crt"},
        ),
        ("?ssl_cert_reqs=none", {"cert_reqs": ssl.CERT_NONE}),
    ],
)
def test_options_of_the_url_are_those_of_the_connection(query: str, expected: dict[str, Any]) -> None:
    connection = Connection(f"amqps://broker.example.com//{query}")
    transport = connection.transport
    # The same headers do no harm as over amqp://.
    assert isinstance(transport, amqp_transport.Transport)
    assert transport.Connection is amqp_transport.Connection
    assert connection.ssl == expected
    again = connection.clone()
    assert isinstance(again.transport, amqp_transport.Transport)
    assert again.ssl == expected
