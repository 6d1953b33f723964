"""What the settings say of HTTP APIs is checked whole, and shows no secret."""

from typing import Any

import pytest

from orchestrator.plugins.client_plugin import ClientMisconfigured
from workers.clients.http_options import DEFAULT, PATIENCE_SCHEMA, Identity, apis_of

URL = "http://api.example/v2"


def fault(**options: Any) -> str:
    with pytest.raises(ClientMisconfigured) as caught:
        apis_of(options)
    return str(caught.value)


def test_one_api_needs_nothing_but_its_url() -> None:
    apis = apis_of({"base_url": URL})
    assert list(apis) == [DEFAULT]
    assert str(apis[DEFAULT].base_url) == URL
    assert apis[DEFAULT].identity == Identity()
    assert {name: getattr(apis[DEFAULT], name) for name in PATIENCE_SCHEMA} == {
        name: schema.default for name, schema in PATIENCE_SCHEMA.items()
    }


def test_further_apis_share_the_patience_and_not_who_we_are() -> None:
    options = {
        "base_url": URL,
        "auth": {"token_env": "TOKEN"},
        "headers": {"X-Key": "k"},
        "project_header": "X-Project",
        "retries": 7,
        "read_seconds": 3,
        "apis": {"images": {"base_url": "https://images.example", "read_seconds": "4"}},
    }
    apis = apis_of(options)
    images = apis["images"]
    assert list(apis) == [DEFAULT, "images"]
    assert (images.retries, images.read_seconds, apis[DEFAULT].read_seconds) == (7, 4, 3)
    assert (images.identity, images.headers, images.project_header) == (Identity(), {}, "")
    assert list(apis_of({"apis": options["apis"]})) == ["images"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "base_url: a value is required: where is the API?"),
        ({"base_url": "ftp://x"}, "base_url: expected a URL such as https://api.example.com/v2"),
        ({"base_url": "api.example"}, "base_url: expected a URL such as"),
        ({"base_url": "http://x:port"}, "base_url: it is no URL"),
        ({"base_url": "http://u:s3cret@x"}, "base_url: a user and a password belong into auth"),
        ({"base_url": "http://x/?a=s3cret"}, "base_url: a base URL has neither a query nor a fragment"),
        ({"base_url": URL, "retries": "s3cret"}, "retries: expected a whole number"),
        ({"base_url": URL, "retries": 11}, "retries: must be from 0 to 10"),
        (
            {"base_url": URL, "auth": {"user": "u"}},
            "auth: expected password_file or password_env, found user",
        ),
        (
            {"base_url": URL, "auth": {"password_env": "P"}},
            "auth: expected token_file or token_env, found password_env",
        ),
        (
            {"base_url": URL, "auth": {"user": "u", "token_env": "P"}},
            "auth: expected password_file or password_env",
        ),
        (
            {"base_url": URL, "auth": {"token_env": "P", "token_file": "f"}},
            "there is one secret, found token_env and",
        ),
        ({"base_url": URL, "auth": {"header": "X"}}, "auth: expected token_file or token_env, found header"),
        (
            {"base_url": URL, "auth": {"user": "u", "password_env": "P", "header": "X-T"}},
            "auth.header: a user and a password are sent as basic authentication",
        ),
        (
            {"base_url": URL, "auth": {"token_env": "P", "header": "Host"}},
            "auth.header: the header 'Host' belongs to",
        ),
        ({"base_url": URL, "auth": {"token": "s3cret"}}, "auth.token: "),
        (
            {"base_url": URL, "headers": {"Cookie": "s3cret"}},
            "headers: the header 'Cookie' belongs to the connection",
        ),
        (
            {"base_url": URL, "headers": {"X": "s3cret\n"}},
            "headers: the value of the header 'X' holds what no header can",
        ),
        ({"base_url": URL, "headers": {"X": 5}}, "headers: the value of the header 'X' must be a text"),
        ({"base_url": URL, "project_header": "a b"}, "project_header: 'a b' cannot be the name of a header"),
        (
            {"apis": {"a:b": {"base_url": URL}}},
            "apis.a:b: the name of an API holds neither a colon nor a slash",
        ),
        (
            {"base_url": URL, "apis": {"default": {"base_url": URL}}},
            "apis.default: the API of this name is the one",
        ),
        ({"apis": {"a": "s3cret"}}, "apis.a: expected a map of options"),
        (
            {"apis": {"a": {"base_url": URL, "retires": 3}}},
            "apis.a.retires: there is no such option (did you mean 'retries'?)",
        ),
        ({"apis": {"a": {}}}, "apis.a.base_url: expected a URL"),
    ],
    ids=range(25),
)
def test_what_is_wrong_is_said_with_its_path(options: dict[str, Any], said: str) -> None:
    sentence = fault(**options)
    assert f"settings.clients.http.{said}" in sentence or said in sentence
    assert "s3cret" not in sentence
