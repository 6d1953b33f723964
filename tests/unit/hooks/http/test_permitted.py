"""Requests to targets that another party names go to an address that was checked, whatever names come to mean."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hooks.http.client import BoundedClient, Request
from hooks.http.options import HttpOptions
from hooks.http.outcome import RequestFailed
from hooks.http.targets import Targets
from tests.services.certificates import write_certificate
from tests.services.http_api import Fault, HttpApi
from tests.services.receiver import Receiver

NAME = "hooks.example.com"
NAMED = (NAME, "other.example.com")
LOOPBACK = "127.0.0.1"
#: Loopback too, where nothing listens.
ELSEWHERE = "127.0.0.2"


class Names:
    """The system's names, with answers for two of them; the last answer stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[list[str]] = [[LOOPBACK]]
        self.asked: list[str] = []
        self._system = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: str, port: int, *more: Any, **named: Any) -> list[Any]:
        if host not in NAMED:
            return self._system(host, port, *more, **named)
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


def client(*targets: str, **options: Any) -> BoundedClient:
    said = {"retries": 2, "retry_base_seconds": 0.001, "retry_max_seconds": 0.001, **options}
    return BoundedClient(HttpOptions.model_validate(said), targets=Targets(targets))


def request(port: int, host: str = NAME, scheme: str = "http", **more: Any) -> Request:
    return Request(method="POST", url=httpx.URL(f"{scheme}://{host}:{port}/path"), content=b"{}", **more)


def test_a_name_is_looked_up_once_and_its_checked_address_is_connected_to(
    names: Names, receiver: Receiver
) -> None:
    # By the next look-up, the name's owner has made it an address of the network behind.
    names.answers = [[LOOPBACK], [ELSEWHERE]]
    assert client(LOOPBACK).send(request(receiver.port)).status == 200
    assert names.asked == [NAME]
    (message,) = receiver.messages
    assert message.headers["host"] == f"{NAME}:{receiver.port}"


def test_every_request_is_checked_anew(names: Names, receiver: Receiver) -> None:
    names.answers = [[LOOPBACK], [ELSEWHERE]]
    sending = client(LOOPBACK)
    sending.send(request(receiver.port))
    with pytest.raises(RequestFailed, match="outgoing_targets") as refused:
        sending.send(request(receiver.port))
    # It is not tried again, and nothing was sent.
    assert (len(receiver.messages), len(names.asked)) == (1, 2)
    assert (refused.value.passing, refused.value.undone) == (False, True)
    assert ELSEWHERE not in str(refused.value)


def test_what_is_no_target_is_neither_looked_up_nor_connected_to(names: Names, receiver: Receiver) -> None:
    for targets in ((), ("example.org",), (f"{NAME}:{receiver.port + 1}",)):
        with pytest.raises(RequestFailed, match=f"{NAME}:{receiver.port}: requests may not be sent there"):
            client(*targets).send(request(receiver.port))
    with pytest.raises(RequestFailed, match="may not be sent"):
        client("*").send(request(receiver.port, LOOPBACK))
    assert (receiver.messages, names.asked) == ([], [])


def test_a_wildcard_does_not_lead_to_this_machine(names: Names, receiver: Receiver) -> None:
    with pytest.raises(RequestFailed, match="may not be sent"):
        client("*", "*.example.com").send(request(receiver.port))
    assert receiver.messages == []
    assert client(NAME).send(request(receiver.port)).status == 200


def test_the_next_address_is_tried_where_one_does_not_answer(names: Names, receiver: Receiver) -> None:
    names.answers = [[ELSEWHERE, "10.0.0.1", LOOPBACK]]
    assert client("127.0.0.0/8").send(request(receiver.port)).status == 200
    receiver.close()
    with pytest.raises(RequestFailed, match="cannot be connected to") as failed:
        client("127.0.0.0/8", retries=0).send(request(receiver.port))
    assert failed.value.passing


def test_proxies_of_the_environment_are_not_used(
    names: Names, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Receiver() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        client(NAME).send(request(receiver.port))
        assert (len(receiver.messages), proxy.messages) == (1, [])
        # The operator's own requests use them, as before.
        anywhere = BoundedClient(HttpOptions())
        anywhere.send(request(receiver.port))
        assert (len(receiver.messages), len(proxy.messages)) == (1, 1)


def test_each_redirect_is_checked(names: Names, http_api: HttpApi) -> None:
    def follow(status: int, target: httpx.URL) -> None: ...

    port = httpx.URL(http_api.url).port or 0
    onwards = {"Location": f"http://other.example.com:{port}/disks"}
    redirected = Request(method="GET", url=httpx.URL(f"http://{NAME}:{port}/disks"), redirected=follow)
    http_api.fail(Fault(status=302, headers=onwards))
    with pytest.raises(RequestFailed, match=r"other\.example\.com:.* may not be sent"):
        client(NAME).send(redirected)
    assert http_api.count() == 1
    http_api.fail(Fault(status=302, headers=onwards))
    assert client(*NAMED).send(redirected).status == 200


def test_tls_verifies_the_name_and_not_the_address(names: Names, tmp_path: Path) -> None:
    of_name = write_certificate(tmp_path / "name.pem", NAME)
    of_address = write_certificate(tmp_path / "address.pem")
    with HttpApi(certificate=of_name) as api:
        port = httpx.URL(api.url).port or 0
        sending = client(*NAMED, ca_file=of_name)
        read = Request(method="GET", url=httpx.URL(f"https://{NAME}:{port}/disks"))
        assert sending.send(read).status == 200
        # Nor is the connection to that address used for another name.
        other = Request(method="GET", url=httpx.URL(f"https://other.example.com:{port}/disks"))
        with pytest.raises(RequestFailed, match="certificate is not trusted"):
            sending.send(other)
        assert api.count() == 1
    with HttpApi(certificate=of_address) as api:
        port = httpx.URL(api.url).port or 0
        with pytest.raises(RequestFailed, match="certificate is not trusted"):
            client(NAME, ca_file=of_address).send(
                Request(method="GET", url=httpx.URL(f"https://{NAME}:{port}/disks"))
            )
        assert api.count() == 0


def test_a_name_without_an_address_may_have_one_later(receiver: Receiver) -> None:
    with pytest.raises(RequestFailed, match="cannot be connected to") as failed:
        client("*", retries=0).send(request(80, f"{'a' * 64}.example.com"))
    assert (failed.value.passing, failed.value.undone) == (True, True)
