"""Scripts create, watch, read and delete stacks through :func:`isotherm.connect`."""

from pathlib import Path

import pytest

from isotherm import connect
from isotherm.connection import Connection
from isotherm.errors import Conflict, InvalidInput, NotAllowed, NotFound, Unavailable
from orchestrator.access.tokens import Token, TokenFile

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {value: {type: string, default: one}}
resources:
  it: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
  text: {type: OS::Heat::Value, properties: {value: {get_file: text.txt}}}
outputs:
  value: {value: {get_attr: [it, output]}}
  text: {value: {get_attr: [text, value]}}
"""


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    (tmp_path / "text.txt").write_text("from a file")
    path = tmp_path / "it.yaml"
    path.write_text(TEMPLATE)
    return path


def names(connection: Connection) -> list[str]:
    return [each.name for each in connection.stacks()]


def test_a_stack_from_its_creation_to_its_deletion(template: Path) -> None:
    with connect() as stacks:
        *_, last = stacks.watch(stacks.create("web", template, parameters={"value": "two"}, tags=["shop"]))
        assert last.finished
        assert (last.stack.state, last.done) == ("CREATE_COMPLETE", last.total)
        assert stacks.outputs("web") == {"value": "two", "text": "from a file"}
        assert [each.name for each in stacks.stacks(tags=["shop"])] == ["web"]
        assert {each.name for each in stacks.resources("web")} == {"it", "text"}
        assert stacks.resource("web", "it").state == "CREATE_COMPLETE"
        made = stacks.stack("web")
        gone = stacks.wait(stacks.delete("web"))
        assert gone.state == "DELETE_COMPLETE"
        assert names(stacks) == []
        assert stacks.delete(made.id).state == "DELETE_COMPLETE"
        assert stacks.events(made.id)[0].state == "CREATE_IN_PROGRESS"


def test_an_update_keeps_what_is_not_given_again(template: Path) -> None:
    with connect() as stacks:
        stacks.wait(stacks.create("web", template, parameters={"value": "two"}, tags=["shop"]))
        assert stacks.wait(stacks.update("web", tags=["sold"])).tags == ("sold",)
        assert stacks.outputs("web")["value"] == "two"
        template.write_text(TEMPLATE.replace("get_file: text.txt", "get_param: value"))
        stacks.wait(stacks.update("web", template, parameters={"value": "three"}))
        assert stacks.outputs("web") == {"value": "three", "text": "three"}


def test_what_can_be_done_with_a_stack_as_it_is(template: Path) -> None:
    with connect() as stacks:
        stacks.wait(stacks.create("web", template))
        assert stacks.wait(stacks.check("web")).state == "CHECK_COMPLETE"
        assert stacks.wait(stacks.suspend("web")).state == "SUSPEND_COMPLETE"
        assert stacks.wait(stacks.resume("web")).state == "RESUME_COMPLETE"
        with pytest.raises(Conflict):
            stacks.cancel("web")
        with pytest.raises(Conflict):
            stacks.signal("web", "it")


def test_what_is_left_undone_is_done_by_the_next_connection(template: Path) -> None:
    with connect() as stacks:
        begun = stacks.create("web", template)
    with connect() as stacks:
        assert stacks.wait(begun).state == "CREATE_COMPLETE"


def test_settings_that_are_given_win(template: Path, tmp_path: Path) -> None:
    with connect() as stacks, connect(project="other") as others:
        stacks.wait(stacks.create("web", template))
        assert (names(stacks), names(others)) == (["web"], [])
    with connect(state_directory=tmp_path / "elsewhere") as elsewhere:
        assert names(elsewhere) == []
    with pytest.raises(InvalidInput) as error:
        connect(projct="shop")
    assert "projct" in str(error.value)


def test_with_a_broker_others_do_the_work(template: Path) -> None:
    with connect() as stacks:
        stacks.wait(stacks.create("web", template))
    database = f"sqlite:///{template.parent}/state/isotherm.db"
    with connect(broker_url="redis://127.0.0.1:1/0", database_url=database) as stacks:
        assert names(stacks) == ["web"]
        with pytest.raises(Unavailable, match="the broker does not answer"):
            stacks.delete("web")


def test_mistakes_are_named(template: Path, tmp_path: Path) -> None:
    with connect() as stacks:
        with pytest.raises(InvalidInput) as error:
            stacks.create("web", template, parameters={"valeu": "two"})
        assert "declares no parameter 'valeu'" in error.value.problems[0].message
        with pytest.raises(InvalidInput):
            stacks.create("web", tmp_path / "nothing.yaml")
        with pytest.raises(NotFound):
            stacks.outputs("web")
        with pytest.raises(NotFound):
            stacks.wait("web")


def test_token_in_the_settings_decides_what_a_connection_may_do(template: Path, tmp_path: Path) -> None:
    texts = {}
    for user, role in (("rita", "reader"), ("olga", "operator")):
        made, texts[user] = Token.generate(user, {"default": role})
        TokenFile(tmp_path / "state" / "tokens.json").add(made)
    with connect(token=texts["rita"]) as stacks:
        with pytest.raises(
            NotAllowed, match=r"stack\.create needs the role operator.*rita has the role reader"
        ):
            stacks.create("web", template)
        assert names(stacks) == []
    with connect(token=texts["olga"]) as stacks:
        stacks.wait(stacks.create("web", template))
        for change in (stacks.check, stacks.suspend, stacks.resume):
            stacks.wait(change("web"))
    with connect(token=texts["rita"]) as stacks:
        assert names(stacks) == ["web"]
        for change in (
            stacks.check,
            stacks.suspend,
            stacks.resume,
            stacks.delete,
            stacks.cancel,
            stacks.update,
        ):
            with pytest.raises(NotAllowed, match="needs the role operator"):
                change("web")
        with pytest.raises(NotAllowed):
            stacks.signal("web", "it")
    with pytest.raises(NotAllowed):
        connect(token="isotherm_x")
