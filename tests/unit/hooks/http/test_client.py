"""Claims about sending signed messages, held against a real server on loopback."""

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from hooks.http.client import SignedSender
from hooks.http.options import SenderOptions
from hooks.http.signing import BadSignature, header_of, verify
from hooks.http.undelivered import NotDelivered
from tests.services.certificates import write_certificate
from tests.services.http_api import HttpApi
from tests.services.receiver import CLOSE, Received, Receiver, Reply

SECRET, OTHER = "a secret of length", "another such secret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


def sender(url: str, pauses: list[float] | None = None, **options: Any) -> SignedSender:
    slept = [] if pauses is None else pauses
    said = {"url": url, "secrets": (SECRET,), **options}
    return SignedSender(SenderOptions.model_validate(said), sleep=slept.append)


def in_turn(*replies: Reply | None) -> Any:
    left = iter(replies)
    return lambda _message: next(left)


def test_message_arrives_signed_as_json(receiver: Receiver) -> None:
    receiver.answering = lambda _: Reply(status=201, body={"taken": True})
    answer = sender(f"{receiver.url}/base/?key=1").send(
        {"ä": [1, None]}, headers={"Idempotency-Key": "op/pre"}
    )
    assert (answer.status, answer.document()) == (201, {"taken": True})
    (message,) = receiver.messages
    assert (message.method, message.path, message.document) == ("POST", "/base/?key=1", {"ä": [1, None]})
    assert message.headers["idempotency-key"] == "op/pre"
    assert message.headers["content-type"] == "application/json"
    assert verify([SECRET], message.body, header_of(message.headers))
    with pytest.raises(BadSignature):
        verify([OTHER], message.body, header_of(message.headers))


def test_path_comes_after_the_urls_own(receiver: Receiver) -> None:
    sender(f"{receiver.url}/base/").send({}, method="PUT", path="/leases/a%2Fb")
    assert [(each.method, each.path) for each in receiver.messages] == [("PUT", "/base/leases/a%2Fb")]


def test_secret_in_a_file_is_the_one_that_is_there_by_now(receiver: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    sending = sender(receiver.url, secrets=(), secret_files=(file,))
    sending.send({})
    file.write_text(f"{OTHER}\n")
    sending.send({})
    first, second = receiver.messages
    assert verify([SECRET], first.body, header_of(first.headers))
    assert verify([OTHER], second.body, header_of(second.headers))
    file.unlink()
    with pytest.raises(NotDelivered, match="cannot be signed"):
        sending.send({})
    assert len(receiver.messages) == 2


@pytest.mark.parametrize(
    "failing",
    [Reply(status=503), Reply(status=429), Reply(status=408), CLOSE],
    ids=["unavailable", "too-many", "timeout", "closed"],
)
def test_what_may_pass_is_sent_again_and_signed_anew(receiver: Receiver, failing: Reply | None) -> None:
    receiver.answering = in_turn(failing, failing, Reply())
    times = iter((100.0, 200.0, 300.0))
    options = SenderOptions(url=receiver.url, secrets=(SecretStr(SECRET),))
    SignedSender(options, sleep=lambda _: None, clock=lambda: next(times)).send({"a": 1})
    assert [each.headers["x-isotherm-signature"][:6] for each in receiver.messages] == [
        "t=100,",
        "t=200,",
        "t=300,",
    ]
    assert len({each.body for each in receiver.messages}) == 1


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 501])
def test_what_will_not_pass_is_sent_once(receiver: Receiver, status: int) -> None:
    receiver.answering = lambda _: Reply(status=status, body=b"no\nway", headers={"Location": "/elsewhere"})
    with pytest.raises(NotDelivered, match=f"it answered {status}: no way") as caught:
        sender(receiver.url).send({})
    assert (caught.value.status, caught.value.passing, len(receiver.messages)) == (status, False, 1)


def test_accepted_statuses_are_answers(receiver: Receiver) -> None:
    receiver.answering = lambda _: Reply(status=403, body={"reason": "no"})
    assert sender(receiver.url).send({}, accept={403}).document() == {"reason": "no"}


def test_server_is_left_alone_for_as_long_as_it_says(receiver: Receiver) -> None:
    receiver.answering = in_turn(Reply(status=429, headers={"Retry-After": "4"}), Reply())
    pauses: list[float] = []
    sender(receiver.url, pauses).send({})
    assert pauses == [4.0]


def test_server_that_wants_more_time_than_there_is_is_not_waited_for(receiver: Receiver) -> None:
    receiver.answering = lambda _: Reply(status=503, headers={"Retry-After": "60"})
    pauses: list[float] = []
    with pytest.raises(NotDelivered, match="it answered 503") as caught:
        sender(receiver.url, pauses).send({})
    assert (pauses, len(receiver.messages), caught.value.passing, caught.value.retry_after) == (
        [],
        1,
        True,
        60.0,
    )


@pytest.mark.parametrize(("total", "within"), [(0.3, 60.0), (60.0, 0.3)], ids=["options", "caller"])
def test_all_tries_together_have_an_end(receiver: Receiver, total: float, within: float) -> None:
    held = threading.Event()
    receiver.answering = lambda _: Reply() if held.wait(30) else CLOSE
    with pytest.raises(NotDelivered, match="no whole answer came in time"):
        sender(receiver.url, total_seconds=total).send({}, within_seconds=within)
    held.set()
    assert len(receiver.messages) == 1


@contextmanager
def dribbled(head: bytes, again: bytes, certificate: Path | None) -> Iterator[str]:
    """Yield the URL of a server that never comes to the end of an answer's head, though it never stops sending."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            raw, _ = listening.accept()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            if certificate is not None:
                context.load_cert_chain(certificate)
            with raw if certificate is None else context.wrap_socket(raw, server_side=True) as client:
                client.recv(65536)
                client.sendall(head)
                with suppress(OSError):
                    while not done.wait(0.02):
                        client.sendall(again)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{'http' if certificate is None else 'https'}://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(
    ("head", "again"),
    [(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"), (b"", b"HTTP/1.1 102 Processing\r\n\r\n")],
    ids=["header", "go-on"],
)
def test_answer_that_never_begins_holds_nobody(tmp_path: Path, head: bytes, again: bytes, tls: bool) -> None:
    certificate = write_certificate(tmp_path / "server.pem") if tls else None
    with ThreadPoolExecutor(1) as threads, dribbled(head, again, certificate) as url:
        sending = sender(url, total_seconds=0.4, verify=False)
        with pytest.raises(NotDelivered, match="no whole answer came in time"):
            threads.submit(sending.send, {}).result(timeout=10)
        sending.close()


def test_nobody_there_is_a_failure_that_may_pass() -> None:
    with Receiver() as receiver:
        url = receiver.url
    with pytest.raises(NotDelivered, match=f"^POST {url}: it cannot be connected to$") as caught:
        sender(url).send({})
    assert (caught.value.passing, caught.value.status) == (True, 0)


def test_long_answer_is_refused(receiver: Receiver) -> None:
    receiver.answering = lambda _: Reply(body=b" " * 101)
    with pytest.raises(NotDelivered, match="more than 100 bytes"):
        sender(receiver.url, max_response_bytes=100).send({})


def test_no_sentence_holds_a_secret(receiver: Receiver) -> None:
    receiver.answering = lambda message: Reply(
        status=400, body=f"I know {SECRET} and {message.path}".encode()
    )
    sending = sender(f"{receiver.url}/hooks/T0KEN?key=K3Y")
    with pytest.raises(NotDelivered) as caught:
        sending.send({"password": "P4SS"})
    told = f"{caught.value!s} {caught.value!r} {sending!r} {sending.options!r}"
    assert SECRET not in told
    assert "P4SS" not in told
    assert "I know ****** and" in str(caught.value)
    assert "T0KEN" not in repr(sending)


def test_answer_is_json_or_nothing(receiver: Receiver) -> None:
    receiver.answering = in_turn(Reply(body=b"  "), Reply(body=b"<html>"))
    sending = sender(receiver.url)
    assert sending.send({}).document() is None
    with pytest.raises(NotDelivered, match="no JSON"):
        sending.send({}).document()


def test_threads_share_a_sender_and_each_gets_its_own_answer(receiver: Receiver) -> None:
    def echo(message: Received) -> Reply:
        return Reply(body=message.document)

    receiver.answering = echo
    sending = sender(receiver.url)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: sending.send(number).document(), range(100)))
    sending.close()
    assert answers == list(range(100))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"url": "ftp://a", "secrets": [SECRET]}, "expected a URL such as"),
        ({"url": "http://user:hidden@a", "secrets": [SECRET]}, "neither a user"),
        ({"url": "http://a", "secrets": ["hidden"]}, "16 characters at least"),
        ({"url": "http://a"}, "give secrets or secret_files"),
        ({"url": "http://a", "secrets": [SECRET], "retries": -1}, "greater than or equal to 0"),
    ],
    ids=["scheme", "userinfo", "short", "unsigned", "retries"],
)
def test_settings_that_cannot_be_are_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words) as caught:
        SenderOptions.model_validate(said)
    told = [fault["msg"] for fault in caught.value.errors(include_input=False, include_context=False)]
    assert "hidden" not in " ".join(told)


@pytest.mark.parametrize("content", [None, "short", b"\xff" * 20], ids=["missing", "short", "no-text"])
def test_file_without_a_secret_is_refused_at_the_start(tmp_path: Path, content: str | bytes | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ValueError, match=r"secret_files: .*secret"):
        sender("http://a", secrets=(), secret_files=(file,))


def test_file_without_certificates_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ca_file: no certificates can be loaded"):
        sender("https://a", ca_file=tmp_path / "none.pem")


def test_server_must_prove_who_it_is_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "server.pem")
    with HttpApi(certificate=certificate) as api:
        for trusting in ({"ca_file": certificate}, {"verify": False}):
            assert sender(f"{api.url}/hooks", **trusting).send({}).status == 201
        with pytest.raises(NotDelivered, match=r"certificate is not trusted \(verify, ca_file\)") as caught:
            sender(f"{api.url}/hooks").send({})
        assert (caught.value.passing, api.count()) == (False, 2)
