"""The one HTTP client is bounded in time and size and tries again where that does no harm: what all callers rely on."""

import math
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from hooks.http.client import BoundedClient, Request
from hooks.http.options import HttpOptions
from hooks.http.outcome import Answer, RequestFailed
from tests.services.certificates import write_certificate
from tests.services.http_api import Fault, How, HttpApi
from tests.waiting import PATIENCE_SECONDS

HASTY = {"retry_base_seconds": 0.001, "retry_max_seconds": 0.001}
LIMITS = {"read_seconds", "max_connections", "max_retry_after_seconds", "headers", "sleep"}


@contextmanager
def client_of(**given: Any) -> Iterator[BoundedClient]:
    limits = {name: given.pop(name) for name in LIMITS & given.keys()}
    client = BoundedClient(HttpOptions.model_validate({**HASTY, **given}), **limits)
    yield client
    client.close()


@pytest.fixture
def client() -> Iterator[BoundedClient]:
    with client_of() as one:
        yield one


def request(api: HttpApi, path: str = "/disks", method: str = "GET", **more: Any) -> Request:
    return Request(method=method, url=httpx.URL(f"{api.url}{path}"), **more)


def failure(attempt: Callable[[], object]) -> RequestFailed:
    with pytest.raises(RequestFailed) as caught:
        attempt()
    return caught.value


# -- again -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 507])
def test_what_may_pass_is_tried_again(http_api: HttpApi, client: BoundedClient, status: int) -> None:
    http_api.fail(Fault(status=status), times=2)
    assert client.send(request(http_api)).status == 200
    assert http_api.count() == 3


@pytest.mark.parametrize("how", [How.CLOSE, How.CLOSE_HALF_WAY])
def test_a_broken_connection_is_tried_again(http_api: HttpApi, client: BoundedClient, how: How) -> None:
    http_api.fail(Fault(how=how))
    assert client.send(request(http_api)).status == 200
    assert http_api.count() == 2


def test_retries_end(http_api: HttpApi, client: BoundedClient) -> None:
    http_api.fail(Fault(status=503, body=b"resting"), times=-1)
    error = failure(lambda: client.send(request(http_api, "/disks?token=s3cret")))
    assert (str(error), error.status, error.passing, error.undone) == ("it answered 503", 503, True, False)
    assert error.answer is not None
    assert error.answer.content == b"resting"
    assert http_api.count() == 3


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 405, 409, 410, 412, 422, 501])
def test_what_will_not_pass_is_sent_once(http_api: HttpApi, client: BoundedClient, status: int) -> None:
    http_api.fail(Fault(status=status, headers={"Location": "/elsewhere"}))
    error = failure(lambda: client.send(request(http_api)))
    assert (error.status, error.passing, http_api.count()) == (status, False, 1)


def test_accepted_statuses_are_answers(http_api: HttpApi, client: BoundedClient) -> None:
    http_api.fail(Fault(status=403, body=b'{"reason": "no"}'))
    assert client.send(request(http_api, accept={403})).document() == {"reason": "no"}


def test_what_may_have_been_done_is_not_done_again(http_api: HttpApi, client: BoundedClient) -> None:
    for fault in (Fault(status=500), Fault(how=How.CLOSE, has_effect=True)):
        http_api.forget_requests()
        http_api.fail(fault)
        error = failure(lambda: client.send(request(http_api, method="POST", repeatable=False)))
        assert (error.passing, error.undone, http_api.count()) == (True, False, 1)


def test_what_was_certainly_not_done_is_tried_again_whatever_it_is(
    http_api: HttpApi, client: BoundedClient
) -> None:
    http_api.fail(Fault(status=429), method="POST")
    once = request(http_api, method="POST", content=b"{}", repeatable=False)
    assert client.send(once).status == 201
    assert (http_api.made, http_api.count()) == (1, 2)
    http_api.close()
    error = failure(lambda: client.send(once))
    assert (str(error), error.passing, error.undone) == ("it cannot be connected to", True, True)


def test_a_request_is_signed_anew_for_each_try(http_api: HttpApi, client: BoundedClient) -> None:
    http_api.fail(Fault(status=503), times=2)
    times = iter("123")
    client.send(request(http_api, headers={"X-Key": "k"}, signed=lambda: {"X-Signed": next(times)}))
    assert [each.headers["x-signed"] for each in http_api.requests] == ["1", "2", "3"]
    assert {each.headers["x-key"] for each in http_api.requests} == {"k"}


def test_a_server_is_left_alone_for_as_long_as_it_says_up_to_a_bound(http_api: HttpApi) -> None:
    pauses: list[float] = []
    with client_of(sleep=pauses.append, total_seconds=60, max_retry_after_seconds=20) as client:
        http_api.fail(Fault(status=503, headers={"Retry-After": "20"}))
        assert client.send(request(http_api)).status == 200
        assert pauses == [20.0]
        http_api.fail(Fault(status=503, headers={"Retry-After": "21"}))
        error = failure(lambda: client.send(request(http_api)))
        assert (error.passing, error.retry_after) == (True, 21.0)
        http_api.fail(Fault(status=503, headers={"Retry-After": "soon"}))
        assert client.send(request(http_api)).status == 200
    assert len(pauses) == 2
    assert pauses[1] <= 0.001


def test_no_pause_reaches_beyond_the_time_there_is(http_api: HttpApi) -> None:
    pauses: list[float] = []
    with client_of(sleep=pauses.append, total_seconds=10) as client:
        http_api.fail(Fault(status=503, headers={"Retry-After": "15"}))
        assert failure(lambda: client.send(request(http_api))).status == 503
    assert pauses == []


def test_pauses_grow_and_are_jittered(http_api: HttpApi) -> None:
    pauses: list[float] = []
    patience: dict[str, Any] = {"retries": 4, "retry_base_seconds": 1, "retry_max_seconds": 4}
    with client_of(sleep=pauses.append, total_seconds=60, **patience) as client:
        http_api.fail(Fault(status=500), times=-1)
        failure(lambda: client.send(request(http_api)))
    assert all(0 <= pause <= bound for pause, bound in zip(pauses, (1, 2, 4, 4), strict=True))
    assert len(set(pauses)) == 4


# -- time --------------------------------------------------------------------------------------------------------


def test_a_server_that_is_silent_is_given_up_and_asked_again(http_api: HttpApi) -> None:
    http_api.fail(Fault(how=How.HANG), times=-1)
    with client_of(read_seconds=0.05, retries=1) as client:
        assert str(failure(lambda: client.send(request(http_api)))) == "no whole answer came in time"
    # The client that gives up may do so before the request is counted.
    http_api.wait_for("GET", times=2)
    assert http_api.count() == 2
    http_api.heal()


@pytest.mark.parametrize(("total", "within"), [(0.3, math.inf), (60.0, 0.3)], ids=["options", "caller"])
def test_all_tries_together_have_an_end(http_api: HttpApi, total: float, within: float) -> None:
    http_api.fail(Fault(how=How.HANG), times=-1)
    with client_of(total_seconds=total) as client:
        error = failure(lambda: client.send(request(http_api, within_seconds=within)))
        assert str(error) == "no whole answer came in time"
    # On a busy machine the time may be up before the first.
    assert http_api.count() <= 1
    http_api.heal()


def test_a_body_that_drips_is_given_up(http_api: HttpApi) -> None:
    # It never is silent for long, and would never end.
    http_api.fail(Fault(how=How.ENDLESS), times=-1)
    with client_of(total_seconds=0.3, max_response_bytes=1024**3) as client:
        assert "no whole answer came in time" in str(failure(lambda: client.send(request(http_api))))


@contextmanager
def dribbled(head: bytes, again: bytes, certificate: Path | None) -> Iterator[str]:
    """Yield the URL of a server that never comes to the end of an answer's head, though it never stops sending."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            # The client may have given up by then, at any point.
            with suppress(OSError):
                raw, _ = listening.accept()
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                if certificate is not None:
                    context.load_cert_chain(certificate)
                with (
                    raw,
                    raw if certificate is None else context.wrap_socket(raw, server_side=True) as client,
                ):
                    client.recv(65536)
                    client.sendall(head)
                    while not done.wait(0.02):
                        client.sendall(again)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{'http' if certificate is None else 'https'}://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            done.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(
    ("head", "again"),
    [(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"), (b"", b"HTTP/1.1 102 Processing\r\n\r\n")],
    ids=["header", "go-on"],
)
def test_an_answer_that_never_begins_holds_nobody(
    tmp_path: Path, head: bytes, again: bytes, tls: bool
) -> None:
    certificate = write_certificate(tmp_path / "server.pem") if tls else None
    with (
        ThreadPoolExecutor(1) as threads,
        dribbled(head, again, certificate) as url,
        client_of(total_seconds=0.4, verify=False) as client,
    ):
        sent = threads.submit(client.send, Request(method="GET", url=httpx.URL(url)))
        # On a busy machine the time may be up before there is a connection.
        with pytest.raises(RequestFailed, match=r"no (whole answer came|connection came about) in time"):
            sent.result(timeout=PATIENCE_SECONDS)


# -- connections -------------------------------------------------------------------------------------------------


def test_threads_share_few_connections_and_each_gets_its_own_answer(http_api: HttpApi) -> None:
    http_api.latency_seconds = 0.01
    for number in range(50):
        http_api.put(f"/disks/{number}")
    with client_of(max_connections=2, total_seconds=60) as client, ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda number: client.send(request(http_api, f"/disks/{number}")), range(50))
        assert [each.document()["id"] for each in answers] == list(map(str, range(50)))
    assert http_api.most_at_once == 2


def test_who_waits_in_vain_for_a_connection_is_told(http_api: HttpApi) -> None:
    http_api.fail(Fault(how=How.HANG))
    with client_of(max_connections=1, retries=0) as client, ThreadPoolExecutor(1) as threads:
        holding = threads.submit(client.send, request(http_api))
        http_api.wait_for("GET")
        error = failure(lambda: client.send(request(http_api, within_seconds=0.05)))
        assert str(error) == "all connections stayed in use for too long (max_connections)"
        assert error.undone
        http_api.heal()
        assert holding.exception() is not None
        # It was given back although it failed.
        assert client.send(request(http_api)).status == 200


def test_cookies_are_not_kept(http_api: HttpApi, client: BoundedClient) -> None:
    http_api.fail(Fault(status=200, headers={"Set-Cookie": "session=1; Path=/"}))
    for _ in range(2):
        client.send(request(http_api))
    assert "cookie" not in http_api.requests[1].headers


def test_a_proxy_that_cannot_be_used_is_told(
    http_api: HttpApi, client: BoundedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "carrier-pigeon://user:s3cret@loft")
    error = failure(lambda: client.send(request(http_api)))
    assert str(error) == "the environment names a proxy that cannot be used"


# -- answers -----------------------------------------------------------------------------------------------------


def test_an_answer_is_bounded(http_api: HttpApi) -> None:
    with client_of(max_response_bytes=1000) as client:
        http_api.fail(Fault(how=How.ENDLESS))
        error = failure(lambda: client.send(request(http_api)))
        assert str(error) == "it answered with more than 1000 bytes (max_response_bytes)"
        http_api.fail(Fault(how=How.ENDLESS))
        assert client.send(request(http_api, cut=True)).content == b" " * 1000
        http_api.fail(Fault(status=400, body=b"x" * 2000))
        error = failure(lambda: client.send(request(http_api)))
        assert error.answer is not None
        assert error.answer.content == b"x" * 1000
        # The connection that was left in the middle is not used again.
        assert client.send(request(http_api)).document() == {"items": []}
    assert {each.headers["accept-encoding"] for each in http_api.requests} == {"identity"}


@pytest.mark.parametrize("body", [b"<html>", b'{"a": NaN}', b'{"a": 1e', b"[" * 3000 + b"]" * 3000])
def test_an_answer_is_json_or_nothing(body: bytes) -> None:
    assert Answer(status=200, headers={}, content=b"  ").document() is None
    with pytest.raises(RequestFailed, match="it answered 200 with something that is no JSON"):
        Answer(status=200, headers={}, content=body).document()


def test_logs_hold_neither_queries_nor_headers(
    http_api: HttpApi, client: BoundedClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    http_api.fail(Fault(status=200, headers={"X-New-Token": "s3cret-pass"}))
    asked = request(
        http_api, "/disks?key=s3cret-pass", headers={"X-Token": "s3cret-pass"}, content=b"s3cret-pass"
    )
    client.send(asked)
    assert "s3cret-pass" not in f"{caplog.text} {asked!r}"


# -- redirects ---------------------------------------------------------------------------------------------------


def test_redirects_are_followed_where_the_caller_lets_them(http_api: HttpApi, client: BoundedClient) -> None:
    http_api.put("/disks/a")
    seen: list[tuple[int, str]] = []

    def redirected(status: int, target: httpx.URL) -> None:
        seen.append((status, target.path))
        if target.path == "/forbidden":
            raise PermissionError

    http_api.fail(Fault(status=302, headers={"Location": "/new"}), path="/old")
    http_api.fail(Fault(status=307, headers={"Location": "disks/a"}), path="/new")
    assert client.send(request(http_api, "/old", redirected=redirected)).document()["id"] == "a"
    assert seen == [(302, "/new"), (307, "/disks/a")]
    http_api.fail(Fault(status=302, headers={"Location": "/forbidden"}))
    with pytest.raises(PermissionError):
        client.send(request(http_api, "/old", redirected=redirected))
    assert http_api.count(path="/forbidden") == 0
    http_api.forget_requests()
    http_api.fail(Fault(status=302, headers={"Location": "/old"}), times=-1)
    error = failure(lambda: client.send(request(http_api, "/old", redirected=redirected)))
    assert (str(error), error.status) == ("there are more than 5 redirects, one to the other", 0)
    assert http_api.count() == 6


# -- TLS ---------------------------------------------------------------------------------------------------------


def test_a_server_must_prove_who_it_is_unless_told_otherwise(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "server.pem")
    with HttpApi(certificate=certificate) as api:
        for trusting in ({"ca_file": certificate}, {"verify": False}):
            with client_of(**trusting) as client:
                assert client.send(request(api)).status == 200
        with client_of() as client:
            error = failure(lambda: client.send(request(api)))
        assert (str(error), error.passing, api.count()) == (
            "the server's certificate is not trusted (verify, ca_file)",
            False,
            2,
        )


def test_a_file_without_certificates_is_refused_at_the_start(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"none\.pem': No such file or directory"),
        client_of(ca_file=tmp_path / "none.pem"),
    ):
        pass
