"""Messages are signed JSON, and no sentence about them holds a secret."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from hooks.http.options import SenderOptions
from hooks.http.outcome import RequestFailed
from hooks.http.sender import SignedSender
from hooks.http.signing import BadSignature, header_of, verify
from tests.services.receiver import Receiver, Reply

SECRET, OTHER = "a secret of length", "another such secret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


def sender(url: str, **options: Any) -> SignedSender:
    said = {"url": url, "secrets": (SECRET,), **options}
    return SignedSender(SenderOptions.model_validate(said), sleep=lambda _: None)


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
    with pytest.raises(RequestFailed, match=f"^POST {receiver.url}: it cannot be signed: secret_files"):
        sending.send({})
    assert len(receiver.messages) == 2


def test_what_may_pass_is_sent_again_and_signed_anew(receiver: Receiver) -> None:
    replies = iter((Reply(status=503), Reply(status=520), Reply()))
    receiver.answering = lambda _: next(replies)
    times = iter((100.0, 200.0, 300.0))
    options = SenderOptions(url=receiver.url, secrets=(SecretStr(SECRET),))
    SignedSender(options, sleep=lambda _: None, clock=lambda: next(times)).send({"a": 1})
    signed = [each.headers["x-isotherm-signature"][:6] for each in receiver.messages]
    assert signed == ["t=100,", "t=200,", "t=300,"]
    assert len({each.body for each in receiver.messages}) == 1


@pytest.mark.parametrize("status", [302, 404])
def test_what_is_refused_is_told_in_the_words_of_the_server(receiver: Receiver, status: int) -> None:
    receiver.answering = lambda _: Reply(status=status, body=b"no\nway", headers={"Location": "/elsewhere"})
    with pytest.raises(RequestFailed) as caught:
        sender(receiver.url).send({})
    assert str(caught.value) == f"POST {receiver.url}: it answered {status}: no way"
    assert (caught.value.status, caught.value.passing, len(receiver.messages)) == (status, False, 1)


def test_what_may_pass_later_is_told_with_when(receiver: Receiver) -> None:
    receiver.answering = lambda _: Reply(status=503, headers={"Retry-After": "60"})
    with pytest.raises(RequestFailed, match="it answered 503") as caught:
        sender(receiver.url).send({})
    assert (caught.value.passing, caught.value.retry_after) == (True, 60.0)


def test_nobody_there_is_a_failure_that_may_pass() -> None:
    with Receiver() as receiver:
        url = receiver.url
    with pytest.raises(RequestFailed, match=f"^POST {url}: it cannot be connected to$") as caught:
        sender(url).send({})
    assert (caught.value.passing, caught.value.status) == (True, 0)


def test_no_sentence_holds_a_secret(receiver: Receiver) -> None:
    receiver.answering = lambda message: Reply(
        status=400, body=f"I know {SECRET} and {message.path}".encode()
    )
    sending = sender(f"{receiver.url}/hooks/T0KEN?key=K3Y")
    with pytest.raises(RequestFailed) as caught:
        sending.send({"password": "P4SS"})
    told = f"{caught.value!s} {caught.value!r} {sending!r} {sending.options!r}"
    assert SECRET not in told
    assert "P4SS" not in told
    assert "I know ****** and" in str(caught.value)
    assert "T0KEN" not in repr(sending)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"url": "ftp://a", "secrets": [SECRET]}, "expected a URL such as"),
        ({"url": "http://user:hidden@a", "secrets": [SECRET]}, "neither a user"),
        ({"url": "http://a", "secrets": ["hidden"]}, "16 characters at least"),
        ({"url": "http://a"}, "give secrets or secret_files"),
        ({"url": "http://a", "secrets": [SECRET], "retries": -1}, "greater than or equal to 0"),
        ({"url": "http://a", "secrets": [SECRET], "max_response_bytes": 2**27}, "less than or equal to"),
    ],
    ids=["scheme", "userinfo", "short", "unsigned", "retries", "bytes"],
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
    with pytest.raises(ValueError, match=r"ca_file: no certificates .*none\.pem': No such"):
        sender("https://a", ca_file=tmp_path / "none.pem")
