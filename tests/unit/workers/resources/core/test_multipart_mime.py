"""``OS::Heat::MultipartMime``."""

from collections.abc import Mapping
from dataclasses import replace
from email import message_from_string
from email.message import Message
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, NodeData, ResourceProxy
from orchestrator.plugins.properties import PropertyError
from tests.unit.workers.resources.core.made import UUID, errors, make, validate
from workers.resources.core.multipart_mime import MultipartMime

OTHER = "2f1c6d0e-3f0a-4b52-9a44-000000000002"


def referred(name: str, reference: str, attributes: Mapping[str, Any]) -> ResourceProxy:
    """Return a resource that the message refers to."""
    data = NodeData(
        uuid=reference,
        name=name,
        action="CREATE",
        status="COMPLETE",
        physical_id=reference,
        reference_id=reference,
        attributes={(key,): value for key, value in attributes.items()},
    )
    return ResourceProxy(name=name, data=data)


def created(parts: list[dict[str, Any]], *others: ResourceProxy) -> MultipartMime:
    resource = make(MultipartMime, {"parts": parts})
    resource.stack = replace(resource.stack, resources={each.name: each for each in others})
    resource.handle_create()
    return resource


def parts(resource: MultipartMime) -> list[Message]:
    """Return the parts of what was made, as whoever reads the message sees them."""
    message = message_from_string(resource.attribute("config"))
    assert message.get_content_type() == "multipart/mixed"
    payload = message.get_payload()
    assert isinstance(payload, list)
    return [each for each in payload if isinstance(each, Message)]


def text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


def test_texts_become_parts_in_their_order() -> None:
    made = parts(
        created(
            [
                {"config": "#!/bin/sh\necho one\n"},
                {"config": "two", "subtype": "x-shellscript", "filename": "two.sh"},
            ]
        )
    )
    assert [text(part) for part in made] == ["#!/bin/sh\necho one\n", "two"]
    assert [part.get_content_type() for part in made] == ["text/plain", "text/x-shellscript"]
    assert [part.get_filename() for part in made] == [None, "two.sh"]


def test_the_id_of_a_config_stands_for_its_text() -> None:
    config, named = referred("a", OTHER, {"config": "the text"}), referred("b", "a-name", {"config": "other"})
    value = referred("c", "plain", {"value": "not this"})
    made = created([{"config": OTHER}, {"config": "a-name"}, {"config": "plain"}], config, named, value)
    assert [text(part) for part in parts(made)] == ["the text", "other", "plain"]


def test_the_message_stays_when_its_configs_go() -> None:
    resource = created([{"config": OTHER}], referred("a", OTHER, {"config": "the text"}))
    again = make(MultipartMime, {"parts": [{"config": OTHER}]}, state=resource.state)
    assert [text(part) for part in parts(again)] == ["the text"]
    assert again.reference_id() == UUID
    assert again.attribute("other") is None


def test_an_adopted_message_is_the_one_that_is_told_or_made_anew() -> None:
    told = make(MultipartMime, {"parts": [{"config": "x"}]})
    told.state.data["config"] = "the message"
    told.handle_adopt()
    assert told.attribute("config") == "the message"
    untold = make(MultipartMime, {"parts": [{"config": "x"}]})
    untold.handle_adopt()
    assert [text(part) for part in parts(untold)] == ["x"]


def test_the_parts_of_another_message_are_taken() -> None:
    inner = created([{"config": "one"}, {"config": "zwölf\r\n", "filename": "ä.txt"}])
    told = referred("inner", OTHER, {"config": inner.attribute("config")})
    made = parts(created([{"config": "zero"}, {"config": OTHER, "type": "multipart"}], told))
    assert [text(part) for part in made] == ["zero", "one", "zwölf\r\n"]
    assert made[2].get_filename() == "ä.txt"


def test_the_same_parts_give_the_same_message() -> None:
    given_parts = [{"config": "one"}, {"config": "zwei ü"}]
    first = created(given_parts).attribute("config")
    assert created(given_parts).attribute("config") == first
    assert created(given_parts[:1]).attribute("config") != first


def test_no_parts_are_an_empty_message() -> None:
    assert message_from_string(created([]).attribute("config")).get_content_type() == "multipart/mixed"


@pytest.mark.parametrize("kind", ["text", "multipart"])
def test_an_id_of_nothing_that_is_referred_to_is_refused(kind: str) -> None:
    message = r"^parts\[1\].config: this is an id, but not that of a config that is referred to here"
    given_parts = [{"config": "one"}, {"config": OTHER, "type": kind}]
    with pytest.raises(PropertyError, match=message):
        created(given_parts, referred("a", UUID, {"config": "another"}), referred("b", OTHER, {"value": 1}))
    with pytest.raises(PropertyError, match=message):
        validate(MultipartMime, {"parts": given_parts})


def test_a_config_that_is_no_text_is_refused() -> None:
    with pytest.raises(PropertyError, match=r"parts\[0\].config: the config of resource 'a' is no text"):
        created([{"config": OTHER}], referred("a", OTHER, {"config": {"a": 1}}))


def test_a_text_that_is_no_message_has_no_parts_to_take() -> None:
    given_parts = [{"config": "secret text", "type": "multipart"}]
    for act in (
        lambda: created(given_parts),
        lambda: validate(MultipartMime, {"parts": [UNKNOWN, *given_parts]}),
    ):
        with pytest.raises(PropertyError, match="its text is no message with parts") as raised:
            act()
        assert "secret" not in str(raised.value)


def test_what_is_not_known_yet_is_not_asked() -> None:
    validate(MultipartMime, {"parts": UNKNOWN})
    validate(MultipartMime, {"parts": [{"config": UNKNOWN, "type": "multipart"}]})


def test_no_header_can_be_slipped_in() -> None:
    given_parts = [{"config": "", "subtype": "plain\nX: y"}, {"config": "", "filename": "a\r\nX: y"}]
    found = errors(MultipartMime, {"parts": given_parts})
    assert [error.partition(":")[0] for error in found] == ["parts[0].subtype", "parts[1].filename"]


def test_every_change_makes_another_message() -> None:
    assert not any(prop.update_allowed for prop in MultipartMime.properties_schema.values())


CHARACTERS = st.characters(codec="utf-8")
TEXTS = st.text(CHARACTERS | st.sampled_from("\r\n-\t "), max_size=200)
NAMES = st.text(CHARACTERS.filter(str.isprintable), min_size=1, max_size=100)


@given(texts=st.lists(TEXTS, max_size=4))
def test_any_text_is_read_back_as_it_was(texts: list[str]) -> None:
    made = created([{"config": each} for each in texts])
    assert [text(part) for part in (parts(made) if texts else [])] == texts


# Whoever reads a name strips it.
@given(filename=NAMES.filter(lambda name: name == name.strip()))
def test_any_name_of_a_file_is_read_back_as_it_was(filename: str) -> None:
    assert parts(created([{"config": "", "filename": filename}]))[0].get_filename() == filename
