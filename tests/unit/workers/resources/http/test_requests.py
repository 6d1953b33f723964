"""The requests that an object's properties come to."""

from typing import Any

import pytest

from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.steps import ResourceFailure
from workers.resources.http.requests import HttpRequest, Requests, filled_in, places_in, with_token
from workers.resources.http.schema import PROPERTIES

TOKEN = "0b1c"


def requests(**given: Any) -> Requests:
    return Requests(convert_properties(PROPERTIES, given, constraints=False), token=TOKEN)


def test_the_least_that_is_said_is_enough() -> None:
    made = requests(create={"path": "/networks"}, body={"a": 1})
    assert made.create() == HttpRequest(method="POST", path="/networks", body={"a": 1})
    assert made.read("7") == HttpRequest(method="GET", path="/networks/7")
    assert made.delete("7") == HttpRequest(method="DELETE", path="/networks/7", repeatable=True)
    assert (made.update("7"), made.find(), made.fixed_id) == (None, None, None)


def test_ids_are_single_parts_of_a_path() -> None:
    made = requests(create={"path": "/networks/?zone=a"}, read={"path": "/n/{id}/{token}?id={id}"})
    assert made.read("a/b c?").path == f"/n/a%2Fb%20c%3F/{TOKEN}?id=a%2Fb%20c%3F"
    assert requests(create={"path": "/networks/?zone=a"}).read("7").path == "/networks/7?zone=a"
    assert made.delete("7").path == made.read("7").path
    with pytest.raises(ResourceFailure, match=r"nobody knows yet what \{id\} is in the path '/n/\{id\}"):
        made.read(None)


def test_a_put_makes_what_its_path_names() -> None:
    made = requests(create={"path": "/configs/my%20own", "method": "PUT"}, update={})
    assert made.create().repeatable
    assert made.fixed_id == "my own"
    assert {made.read("x").path, made.delete("x").path} == {"/configs/my%20own"}
    update = made.update("x")
    assert update is not None
    assert (update.method, update.path) == ("PUT", "/configs/my%20own")


def test_an_id_that_is_given_may_stand_in_the_path_of_the_create() -> None:
    made = requests(create={"path": "/configs/{id}", "method": "PUT"}, id={"value": "a b"})
    assert (made.create().path, made.fixed_id) == ("/configs/a%20b", "a b")
    told = requests(create={"path": "/configs/x", "method": "PUT"}, id={"json": "uid"})
    assert told.fixed_id is None


def test_the_token_travels_in_a_header_or_in_a_field() -> None:
    keyed = requests(create={"path": "/n", "token_header": "Idempotency-Key"}, headers={"X-A": "a"})
    assert keyed.create().headers == {"X-A": "a", "Idempotency-Key": TOKEN}
    assert keyed.create().repeatable
    assert keyed.read("1").headers == {"X-A": "a"}
    field = requests(
        create={"path": "/n", "token_field": "labels.made_by"}, body={"labels": {"x": 1}}, update={}
    )
    assert field.create().body == {"labels": {"x": 1, "made_by": TOKEN}}
    assert not field.create().repeatable
    update = field.update("1")
    assert update is not None
    assert update.body == field.create().body


def test_it_is_looked_for_by_the_token() -> None:
    found = requests(
        create={"path": "/n"}, find={"path": "/n?token={token}", "json": "items[?t=='{token}'].id | [0]"}
    ).find()
    assert found == (
        HttpRequest(method="GET", path=f"/n?token={TOKEN}"),
        f"items[?t=='{TOKEN}'].id | [0]",
    )


def test_other_bodies_take_the_place_of_the_body() -> None:
    made = requests(
        create={"path": "/n"},
        body={"a": 1},
        update={"path": "/n/{id}/resize", "method": "POST", "body": {"size": 2}},
        delete={"path": "/n/{id}/end", "method": "POST", "body": {"now": True}},
    )
    assert made.update("1") == HttpRequest(
        method="POST", path="/n/1/resize", body={"size": 2}, repeatable=True
    )
    assert made.delete("1") == HttpRequest(
        method="POST", path="/n/1/end", body={"now": True}, repeatable=True
    )


def test_a_change_may_be_called_by_another_name() -> None:
    kind = "application/merge-patch+json"
    made = requests(
        create={"path": "/n"},
        headers={"content-type": "x/y", "X-A": "a"},
        update={"method": "PATCH", "content_type": kind},
    )
    update = made.update("1")
    assert update is not None
    assert update.headers == {"X-A": "a", "Content-Type": kind}
    assert made.create().headers["content-type"] == "x/y"


def test_a_token_needs_room_in_the_body() -> None:
    body = {"labels": "none"}
    with pytest.raises(ResourceFailure, match=r"no room for the field 'labels\.token': 'labels' is no map"):
        with_token(body, "labels.token", TOKEN)
    assert with_token({}, "a.b", TOKEN) == {"a": {"b": TOKEN}}
    assert body == {"labels": "none"}


def test_what_is_in_braces_is_filled_in_and_nothing_else() -> None:
    assert places_in("/a/{id}/{x y}/{}") == ["id", "x y", ""]
    assert filled_in("/a/{id}/b", {"id": "{token}", "token": "t"}) == "/a/%7Btoken%7D/b"
