"""One HTTP API is asked as its options say, again where that does no harm, and fails in sentences.

That it is bounded at all is held by the tests of the one HTTP client.
"""

import datetime
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email.utils import format_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from orchestrator.plugins.client_plugin import ClientMisconfigured
from tests.services.certificates import write_certificate
from tests.services.http_api import Fault, How, HttpApi
from workers.clients.http_failures import HttpError, HttpUnavailable
from workers.clients.http_options import ApiOptions
from workers.clients.rest import RestApi

HASTY = {"retry_base_seconds": 0.001, "retry_max_seconds": 0.001}


@contextmanager
def asking(http_api: HttpApi, *, project: str = "p", **given: Any) -> Iterator[RestApi]:
    options = ApiOptions.parse("default", {"base_url": http_api.url, **HASTY, **given})
    api = RestApi(options, project)
    try:
        yield api
    finally:
        api.close()


@pytest.fixture
def rest(http_api: HttpApi) -> Iterator[RestApi]:
    with asking(http_api) as api:
        yield api


def failure(attempt: Callable[[], object]) -> HttpError:
    with pytest.raises(HttpError) as caught:
        attempt()
    return caught.value


# -- answers -----------------------------------------------------------------------------------------------------


def test_json_goes_there_and_comes_back(http_api: HttpApi, rest: RestApi) -> None:
    made = rest.ask("POST", "/disks", body={"name": "ä", "size": 3})
    assert (made.status, made.headers["location"]) == (201, "/disks/1")
    assert made.document() == {"id": "1", "name": "ä", "size": 3, "status": "ready"}
    assert rest.ask("GET", "/disks?name=%C3%A4").document()["items"][0]["id"] == "1"
    assert rest.ask("DELETE", "/disks/1").document() is None
    assert http_api.requests[0].headers["content-type"] == "application/json"


def test_paths_come_after_the_base_url_and_stay_below_it(http_api: HttpApi) -> None:
    http_api.put("/v2/disks/a/x")
    with asking(http_api, base_url=f"{http_api.url}/v2/disks/") as rest:
        assert rest.ask("GET", "/a/x").status == 200
        for path in (
            "/../secret",
            "/a/%2e%2e/b",
            "/a%2f..%2f..%2fsecret",
            "/%2E%2E%2Fsecret",
            "/a/..%5c..%5csecret",
            "/..;/secret",
            "/a/%2e%2e%3bx/secret",
            "//other.example/x",
            "a",
            "",
            "/a b",
            "/a#b",
            "/a\\b",
            "/a\nb",
        ):
            assert "a path" in str(failure(lambda path=path: rest.ask("GET", path)))  # type: ignore[misc]
    assert http_api.count() == 1


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"a": NaN}', b'{"a": 1e', b'"\\ud800"', b"[" * 3000 + b"]" * 3000, b"9" * 40]
)
def test_what_is_no_json_that_can_be_kept_is_a_failure_that_may_pass(
    http_api: HttpApi, rest: RestApi, body: bytes
) -> None:
    http_api.fail(Fault(status=200, body=body))
    answer = rest.ask("GET", "/disks")
    with pytest.raises(HttpUnavailable, match="it answered 200 with something that is no JSON we can keep"):
        answer.document()


def test_a_body_that_nobody_wants_may_be_of_any_length(http_api: HttpApi) -> None:
    with asking(http_api, max_response_bytes=1000) as rest:
        http_api.fail(Fault(how=How.ENDLESS), times=2)
        assert "more than 1000 bytes" in str(failure(lambda: rest.ask("GET", "/disks")))
        assert rest.ask("GET", "/disks", keeps_body=False).status == 200


def test_a_body_that_was_packed_is_refused(http_api: HttpApi, rest: RestApi) -> None:
    http_api.fail(Fault(status=200, body=b"x" * 10, headers={"Content-Encoding": "gzip"}))
    error = failure(lambda: rest.ask("GET", "/disks"))
    assert str(error) == f"GET {http_api.url}/disks: it answered in an encoding that nobody asked for"
    http_api.fail(Fault(status=400, body=b"packed", headers={"Content-Encoding": "gzip"}))
    assert str(failure(lambda: rest.ask("GET", "/disks"))).endswith("it answered 400 (Bad Request)")
    assert http_api.requests[0].headers["accept-encoding"] == "identity"


# -- again -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_and_is_retryable(http_api: HttpApi, rest: RestApi, status: int) -> None:
    http_api.fail(Fault(status=status, body=b"resting"), times=-1)
    error = failure(lambda: rest.ask("GET", "/disks?token=s3cret"))
    said = f"GET {http_api.url}/disks: it answered {status} ({HTTPStatus(status).phrase}): resting"
    assert (str(error), error.status, error.undone) == (said, status, status == 429)
    assert isinstance(error, HttpUnavailable)
    assert error.retryable
    assert http_api.count() == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 412, 422, 501, 507])
def test_what_will_not_pass_is_not(http_api: HttpApi, rest: RestApi, status: int) -> None:
    http_api.fail(Fault(status=status))
    error = failure(lambda: rest.ask("GET", "/disks"))
    assert (error.status, error.retryable, http_api.count()) == (status, False, 1)


@pytest.mark.parametrize(
    ("method", "tries"), [("GET", 3), ("PUT", 3), ("DELETE", 3), ("POST", 1), ("PATCH", 1)]
)
def test_what_may_have_been_done_is_done_again_only_where_that_is_the_same(
    http_api: HttpApi, rest: RestApi, method: str, tries: int
) -> None:
    http_api.fail(Fault(how=How.CLOSE, has_effect=True), times=-1)
    error = failure(lambda: rest.ask(method, "/disks/a", body={}))
    assert isinstance(error, HttpUnavailable)
    assert (error.undone, http_api.count()) == (False, tries)


def test_who_says_so_may_repeat_a_create(http_api: HttpApi, rest: RestApi) -> None:
    http_api.fail(Fault(how=How.CLOSE, has_effect=True), method="POST")
    headers = {"Idempotency-Key": "k"}
    assert rest.ask("POST", "/disks", body={}, headers=headers, repeatable=True).status == 200
    assert (http_api.made, http_api.count("POST")) == (1, 2)


def test_nobody_there_is_told_in_the_words_of_the_system(http_api: HttpApi, rest: RestApi) -> None:
    http_api.close()
    error = failure(lambda: rest.ask("POST", "/disks", body={}))
    assert str(error) == f"POST {http_api.url}/disks: cannot connect: Connection refused"
    assert isinstance(error, HttpUnavailable)
    assert error.undone


def test_patience_is_that_of_the_options(http_api: HttpApi) -> None:
    http_api.fail(Fault(how=How.HANG), times=2)
    with asking(http_api, read_seconds=0.05, retries=1) as rest:
        error = failure(lambda: rest.ask("GET", "/disks"))
        assert str(error).endswith("/disks: no whole answer came in time")
    # Who gives up may do so before the request is counted.
    http_api.wait_for("GET", times=2)
    assert http_api.count() == 2
    later = format_datetime(datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=120))
    with asking(http_api, total_seconds=200, max_retry_after_seconds=20) as rest:
        http_api.fail(Fault(status=503, headers={"Retry-After": later}))
        assert failure(lambda: rest.ask("GET", "/disks")).retryable
    http_api.heal()


def test_no_more_connections_than_allowed(http_api: HttpApi) -> None:
    http_api.latency_seconds = 0.01
    with asking(http_api, max_connections=2) as rest, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: rest.ask("GET", "/disks"), range(16)))
    assert http_api.most_at_once == 2


# -- who we are --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "auth",
    [
        {"user": "u", "password_env": "SECRET"},
        {"token_env": "SECRET"},
        {"token_env": "SECRET", "header": "X-Auth-Token"},
    ],
    ids=["basic", "bearer", "header"],
)
def test_who_we_are_is_said_and_never_shown(auth: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s3cret-pass")
    with (
        HttpApi(tokens={"s3cret-pass": "one", "u:s3cret-pass": "one"}) as api,
        asking(api, auth=auth) as rest,
    ):
        assert rest.ask("GET", "/disks").status == 200
        (asked,) = api.requests
        said = asked.headers.get("authorization") or asked.headers["x-auth-token"]
        api.fail(Fault(status=403, body=f"not you: {said} or s3cret-pass".encode()))
        error = failure(lambda: rest.ask("GET", "/disks"))
        assert "not you: ******" in str(error)
        for secret in ("s3cret-pass", said):
            assert secret not in str(error)
            assert secret not in repr(rest.options)


def test_logs_hold_neither_queries_nor_headers(
    http_api: HttpApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SECRET", "s3cret-pass")
    caplog.set_level("DEBUG")
    http_api.fail(Fault(status=200, headers={"X-New-Token": "s3cret-pass"}))
    with asking(http_api, auth={"token_env": "SECRET"}) as rest:
        rest.ask("GET", "/disks?key=s3cret-pass")
    assert "s3cret-pass" not in caplog.text


def test_a_new_secret_in_a_file_is_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old-token\n")
    with (
        HttpApi(tokens={"old-token": "a", "new-token": "a"}) as api,
        asking(api, auth={"token_file": str(file)}) as rest,
    ):
        assert rest.ask("GET", "/disks").status == 200
        del api.tokens["old-token"]
        assert failure(lambda: rest.ask("GET", "/disks")).status == 401
        file.write_text("new-token\n")
        assert rest.ask("POST", "/disks", body={}).status == 201
        assert api.count() == 4


def test_a_secret_that_is_missing_is_named_by_its_place(
    http_api: HttpApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    file = tmp_path / "token"
    file.write_text("two\nlines")
    for auth, said in (
        ({"token_env": "NO_SUCH"}, "the environment variable NO_SUCH is not set, which should hold a secret"),
        ({"token_file": str(tmp_path / "none")}, "cannot be read: No such file or directory"),
        ({"token_file": str(file)}, "holds more than one line"),
    ):
        with pytest.raises(ClientMisconfigured, match=said), asking(http_api, auth=auth):
            pass


def test_the_project_goes_with_every_request_and_nobody_takes_its_place(http_api: HttpApi) -> None:
    with asking(http_api, project="blue", project_header="X-Project", headers={"X-Zone": "z"}) as rest:
        rest.ask("POST", "/disks", body={}, headers={"X-Extra": "e"})
        assert http_api.requests[0].tenant == "blue"
        assert [http_api.requests[0].headers[name] for name in ("x-zone", "x-extra")] == ["z", "e"]
        for name in ("X-Project", "x_project", "AUTHORIZATION", "Host", "Cookie", "X-Zone"):
            error = failure(lambda name=name: rest.ask("GET", "/disks", headers={name: "red"}))  # type: ignore[misc]
            assert repr(name) in str(error)
            assert "red" not in str(error)
        assert "no header can" in str(
            failure(lambda: rest.ask("GET", "/", headers={"X": "a\r\nX-Project: red"}))
        )
    assert http_api.count() == 1
    with (
        pytest.raises(ClientMisconfigured, match="can be sent in no header"),
        asking(http_api, project="a\nb", project_header="X-Project"),
    ):
        pass


# -- where it leads ----------------------------------------------------------------------------------------------


def test_only_redirects_on_the_same_server_are_followed(http_api: HttpApi, rest: RestApi) -> None:
    http_api.put("/disks/a")
    http_api.fail(Fault(status=302, headers={"Location": "/disks/a"}), path="/old")
    assert rest.ask("GET", "/old").document()["id"] == "a"
    with HttpApi() as other:
        http_api.fail(Fault(status=302, headers={"Location": f"{other.url}/disks/a"}))
        error = failure(lambda: rest.ask("GET", "/disks/a"))
        assert str(error) == (
            f"GET {http_api.url}/disks/a: it answered 302 (Found), to another server, where we do not follow"
        )
        assert other.count() == 0
    http_api.fail(Fault(status=307, headers={"Location": "/disks"}))
    assert "which only reading follows" in str(failure(lambda: rest.ask("POST", "/old", body={})))


# -- TLS ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "server.pem")


def test_a_server_must_prove_who_it_is_unless_told_otherwise(certificate: Path) -> None:
    with HttpApi(certificate=certificate) as api:
        for trusting in ({"ca_file": str(certificate)}, {"verify": False}):
            with asking(api, **trusting) as rest:
                assert rest.ask("GET", "/disks").status == 200
        with asking(api) as rest:
            error = failure(lambda: rest.ask("GET", "/disks"))
            assert "the server's certificate is not trusted (verify, ca_file)" in str(error)
            assert not error.retryable
        assert api.count() == 2
        with (
            pytest.raises(ClientMisconfigured, match="No such file or directory"),
            asking(api, ca_file="/nowhere"),
        ):
            pass


# -- sentences ---------------------------------------------------------------------------------------------------


def test_what_was_sent_does_not_come_back_in_a_sentence(http_api: HttpApi, rest: RestApi) -> None:
    password = 'pass "word" é'
    echoed = '{"error": "bad value pass \\"word\\" \\u00e9 for 1234567"}'
    http_api.fail(Fault(status=422, body=echoed.encode()))
    error = failure(lambda: rest.ask("POST", "/disks", body={"a": [{"password": password}], "pin": 1234567}))
    assert str(error) == (
        f"POST {http_api.url}/disks: it answered 422 (Unprocessable Entity): "
        '{"error": "bad value ****** for ******"}'
    )


def test_neither_does_what_was_sent_in_headers_and_queries(http_api: HttpApi, rest: RestApi) -> None:
    http_api.fail(Fault(status=400, body=b"no header-secret, no query secret, no application/json"))
    path, headers = "/disks?key=query%20secret&a=b", {"X-Key": "header-secret"}
    error = failure(lambda: rest.ask("GET", path, headers=headers))
    assert str(error).endswith("(Bad Request): no ******, no ******, no application/json")


def test_a_long_answer_is_cut_and_kept_on_one_line(http_api: HttpApi, rest: RestApi) -> None:
    http_api.fail(Fault(status=400, body=b"no\n\x1b[31m" + b"x" * 100_000))
    sentence = str(failure(lambda: rest.ask("GET", "/disks")))
    assert len(sentence) < 500
    assert "no ?[31mxxx" in sentence
