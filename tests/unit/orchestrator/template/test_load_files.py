"""The client reads a template, environments, and every file that they name."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import EnvironmentSource
from orchestrator.template.contents import Contents, Unreadable
from orchestrator.template.files import StackFiles, load_stack
from orchestrator.template.locations import FilesFrom, base_between, base_of_key
from tests.services.receiver import Reply
from tests.unit.orchestrator.template.environments import parsed
from tests.unit.orchestrator.template.web import Site

VERSION = "heat_template_version: rocky\n"


def load_template(path: str | Path, *, limits: Limits | None = None) -> tuple[str, dict[str, str]]:
    """Return a template's text, and the files that it names."""
    loaded = load_stack(str(path), limits=limits)
    return loaded.template, loaded.files


def write(directory: Path, name: str, content: str | bytes = "x") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def template_reading(directory: Path, *keys: str) -> Path:
    calls = "".join(f"  - {{get_file: '{key}'}}\n" for key in keys)
    return write(directory, "stack/t.yaml", f"{VERSION}outputs:\n{calls}")


def naming(*types: str, files: tuple[str, ...] = ()) -> str:
    """Return a template with resources of these types, and calls of get_file."""
    resources = "".join(f"  r{number}: {{type: {name}}}\n" for number, name in enumerate(types))
    calls = "".join(f"  - {{get_file: {name}}}\n" for name in files)
    return f"{VERSION}resources:\n{resources}outputs:\n{calls}"


def refused(path: Path | str, *environments: str, fetch_urls: bool = False) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        load_stack(str(path), environments, fetch_urls=fetch_urls)
    return list(caught.value.problems)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- get_file --------------------------------------------------------------------------------------------------


def test_files_are_found_from_the_templates_directory_and_kept_by_their_names(tmp_path: Path) -> None:
    write(tmp_path, "stack/a b.sh", "one\r\n")
    outside = write(tmp_path, "two.sh", "é")
    keys = ("a b.sh", "./a b.sh", "../two.sh", str(outside), f"file://{outside}", "a b.sh")
    path = template_reading(tmp_path, *keys)
    source, files = load_template(path)
    assert source == path.read_text()
    assert files == dict.fromkeys(keys[:2], "one\r\n") | dict.fromkeys(keys[2:5], "é")


def test_every_file_that_cannot_be_read_is_named_where_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "stack/binary", b"\xff\xfe")
    keys = ("none.sh", ".", "binary", "https://somewhere/x", "none.sh", "file://host/x", "s3://x/y", "a\\0b")
    path = template_reading(tmp_path, *keys)
    path.write_text(path.read_text().replace("'a\\0b'", '"a\\0b"'))
    found = refused(path)
    assert [(p.position.line if p.position else 0, p.path) for p in found] == [
        (line, f"outputs[{line - 3}].get_file") for line in (3, 4, 5, 6, 8, 9, 10)
    ]
    sentences = [
        "the file 'none.sh' does not exist",
        "the file '.' cannot be read: Is a directory",
        "is not UTF-8 text (byte 0)",
        "is not on this machine, which fetches nothing",
        "only paths and the URLs of file, http and https can",
        "only paths and the URLs of file, http and https can",
        "cannot be read: embedded null byte",
    ]
    assert all(sentence in problem.message for sentence, problem in zip(sentences, found, strict=True))
    assert "ISOTHERM_FETCH_URLS" in found[3].hint


def test_the_nearest_file_is_suggested_by_the_name_to_write(tmp_path: Path) -> None:
    write(tmp_path, "stack/scripts/install.sh")
    found = refused(template_reading(tmp_path, "scripts/instal.sh", "script/install.sh", "zzz"))
    assert found[0].hint == "did you mean 'scripts/install.sh'?"
    assert "there is no directory" in found[1].hint
    assert found[2].hint == ""


def test_files_that_only_a_call_names_are_not_looked_for(tmp_path: Path) -> None:
    path = write(
        tmp_path, "t.yaml", "a: {get_file: {get_param: x}}\nb: {get_file: x, other: 1}\nc: {get_file: 7}"
    )
    assert load_template(path) == (path.read_text(), {})


# -- templates as types ----------------------------------------------------------------------------------------


def test_templates_that_are_types_are_read_with_all_that_they_name(tmp_path: Path) -> None:
    write(tmp_path, "web.yaml", naming("nested/a.yaml", "OS::Heat::None", files=("root.sh",)))
    write(tmp_path, "nested/a.yaml", naming("./deep/b.template", "../web.yaml", files=("a.sh", "../root.sh")))
    write(
        tmp_path,
        "nested/deep/b.template",
        '{"Resources": {"x": {"Type": "../a.yaml"}, "y": {"Type": "c.template"}}}',
    )
    write(tmp_path, "nested/deep/c.template", "a: [")
    for name in ("root.sh", "nested/a.sh"):
        write(tmp_path, name, name)
    loaded = load_stack("web.yaml")
    assert set(loaded.files) == {
        "root.sh",
        "nested/a.yaml",
        "nested/a.sh",
        "nested/deep/b.template",
        "web.yaml",
        "nested/deep/c.template",
    }
    assert loaded.files["web.yaml"] == loaded.template
    assert loaded.files["nested/a.sh"] == "nested/a.sh"


@pytest.mark.parametrize(
    "body",
    [
        "resources: {group: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: x.yaml}}}}",
        "resources: {group: {type: T, properties: {resource: {type: x.yaml, properties: {}}}}}",
        "resources: {a: {type: T, properties: [{nested: {type: x.yaml}}]}}",
        "Resources: {a: {Type: x.yaml}}",
    ],
)
def test_a_type_may_stand_anywhere(tmp_path: Path, body: str) -> None:
    write(tmp_path, "t.yaml", VERSION + body)
    write(tmp_path, "x.yaml", "nothing")
    assert load_stack("t.yaml").files == {"x.yaml": "nothing"}


@pytest.mark.parametrize(
    "body", ["a: {type: {get_param: x.yaml}}", "type: [x.yaml]", "b: {type: x.yml}", "x.yaml: {}"]
)
def test_what_is_no_type_is_not_looked_for(tmp_path: Path, body: str) -> None:
    write(tmp_path, "t.yaml", VERSION + body)
    assert load_stack("t.yaml").files == {}


def test_a_file_that_get_file_names_is_not_searched_unless_it_is_a_type_as_well(tmp_path: Path) -> None:
    write(tmp_path, "x.yaml", naming("y.yaml"))
    write(tmp_path, "y.yaml", "{}")
    write(tmp_path, "t.yaml", naming(files=("x.yaml",)))
    assert list(load_stack("t.yaml").files) == ["x.yaml"]
    write(tmp_path, "t.yaml", naming("x.yaml", files=("x.yaml",)))
    assert sorted(load_stack("t.yaml").files) == ["x.yaml", "y.yaml"]


def test_what_is_missing_is_named_in_the_file_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, "stack/t.yaml", naming("../nested/a.yaml", "none.yaml"))
    write(tmp_path, "nested/a.yaml", naming("gone.yaml", files=("gone.sh",)))
    found = refused("stack/t.yaml")
    assert [str(each).partition(" (")[0] for each in found] == [
        "stack/t.yaml:4:8: resources.r1.type: the file 'none.yaml' does not exist",
        "nested/a.yaml:3:8: resources.r0.type: the file 'gone.yaml' does not exist",
        "nested/a.yaml:5:6: outputs[0].get_file: the file 'gone.sh' does not exist",
    ]


def test_a_circle_of_directories_ends(tmp_path: Path) -> None:
    write(tmp_path, "t.yaml", naming("again/t.yaml"))
    (tmp_path / "again").symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="more than 7 files are named"):
        load_stack("t.yaml", limits=Limits(max_files=7))


def test_what_is_wrong_with_the_text_is_left_to_the_parser(tmp_path: Path) -> None:
    path = write(tmp_path, "t.yaml", "a: [")
    assert load_template(str(path)) == ("a: [", {})
    write(tmp_path, "t.yaml", "7: x\nb: {type: x.yaml}\nb: {type: y.yaml}")
    for name in ("x.yaml", "y.yaml"):
        write(tmp_path, name)
    assert load_stack("t.yaml").files


# -- environments ----------------------------------------------------------------------------------------------


def test_templates_of_the_registry_are_read_relative_to_the_environment(tmp_path: Path) -> None:
    registry = (
        "resource_registry:\n  A: a.yaml\n  B: ../stack/b.yaml\n  'C::*': OS::Heat::None\n"
        "  resources: {web: {D: sub/d.yaml, db: {base_url: sub, E: e.yaml}}}\n"
    )
    write(tmp_path, "envs/one.yaml", registry)
    write(tmp_path, "two.yaml", "resource_registry: {base_url: envs/sub, F: e.yaml, G: ./g.yaml}")
    write(tmp_path, "stack/t.yaml", naming("b.yaml"))
    for name in ("envs/a.yaml", "stack/b.yaml", "envs/sub/e.yaml", "envs/sub/g.yaml"):
        write(tmp_path, name, name)
    write(tmp_path, "envs/sub/d.yaml", naming(files=("d.sh",)))
    write(tmp_path, "envs/sub/d.sh", "envs/sub/d.sh")
    loaded = load_stack("stack/t.yaml", ["envs/one.yaml", "two.yaml"])
    assert loaded.environments[0] == EnvironmentSource(file="envs/one.yaml", source=registry)
    assert {key: text for key, text in loaded.files.items() if text.startswith(("envs", "stack"))} == {
        "b.yaml": "stack/b.yaml",
        "../stack/b.yaml": "stack/b.yaml",
        "../envs/a.yaml": "envs/a.yaml",
        "../envs/sub/d.sh": "envs/sub/d.sh",
        "../envs/sub/e.yaml": "envs/sub/e.yaml",
        "../envs/sub/g.yaml": "envs/sub/g.yaml",
    }
    assert len(loaded.files) == 7


@pytest.mark.parametrize("template", ["t.yaml", "stack/t.yaml", "{}/stack/t.yaml", "./stack/../t.yaml"])
@pytest.mark.parametrize("environment", ["e.yaml", "envs/e.yaml", "{}/envs/e.yaml", "file://{}/e.yaml"])
@pytest.mark.parametrize("here", [".", "envs", "stack/deep"])
def test_the_engine_finds_what_the_client_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, environment: str, here: str
) -> None:
    places = {
        name: name for name in ("root.sh", "near.sh", "stack/near.sh", "envs/near.sh", "envs/sub/near.sh")
    }
    for name, text in places.items():
        write(tmp_path, name, text)
    (tmp_path / "stack" / "deep").mkdir(parents=True)
    for name in ("t.yaml", "stack/t.yaml"):
        write(tmp_path, name, naming(files=("near.sh",)))
    for name in ("e.yaml", "envs/e.yaml"):
        write(tmp_path, name, "resource_registry: {A: sub/a.yaml}")
    for name in ("sub/a.yaml", "envs/sub/a.yaml"):
        write(tmp_path, name, naming("./b.yaml", files=("near.sh",)))
    for name in ("sub/b.yaml", "envs/sub/b.yaml"):
        write(tmp_path, name, naming(files=("../near.sh",)))
    write(tmp_path, "sub/near.sh", "sub/near.sh")
    up = "../" * len([step for step in here.split("/") if step != "."])
    template, environment = (
        name.format(tmp_path) if "{}" in name else up + name for name in (template, environment)
    )
    monkeypatch.chdir(tmp_path / here)
    loaded = load_stack(template, [environment])
    monkeypatch.chdir("/")
    (sent,) = loaded.environments
    base = base_between(sent.file, template)
    said = parsed(sent.source, sent.file, base)
    files = loaded.files
    stack = "stack/" if template.endswith("stack/t.yaml") else ""
    envs = "envs/" if environment.endswith("envs/e.yaml") else ""
    assert FilesFrom("", files)["near.sh"] == f"{stack}near.sh"
    key = said.registry.actual("A")
    assert FilesFrom(base_of_key(key), files)["near.sh"] == f"{envs}sub/near.sh"
    inner = said.registry.for_nested("a", "A").actual("./b.yaml")
    assert FilesFrom(base_of_key(inner), files)["../near.sh"] == f"{envs}near.sh"


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "far/away/sub/x.yaml", naming(files=("../../a.sh",)))
    for name in ("far/a.sh", "a.sh"):
        write(tmp_path, name)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away" / "sub")
    write(tmp_path, "t.yaml", naming("link/x.yaml"))
    assert load_stack("t.yaml").files["../a.sh"] == "x"
    write(tmp_path, "t.yaml", naming("link/x.yaml", files=("../a.sh",)))
    (tmp_path.parent / "a.sh").write_text("y")
    (problem,) = refused("t.yaml")
    assert "'link/../../a.sh'" in problem.message
    assert "would both be called '../a.sh'" in problem.message


def test_one_file_may_be_reached_over_links(tmp_path: Path) -> None:
    write(tmp_path, "sub/x.yaml", naming(files=("../a.sh",)))
    write(tmp_path, "a.sh")
    write(tmp_path, "t.yaml", naming("sub/x.yaml", files=("a.sh",)))
    (tmp_path / "here").symlink_to(tmp_path)
    assert load_stack("here/t.yaml").files["a.sh"] == "x"


@pytest.mark.parametrize("template", ["/{}/t.yaml", "file:///{}/t.yaml"])
def test_an_environment_beside_a_template_elsewhere_is_called_by_where_it_is(
    tmp_path: Path, template: str
) -> None:
    write(tmp_path, "t.yaml", VERSION)
    write(tmp_path, "e.yaml", "{}")
    template = template.format(str(tmp_path).strip("/"))
    (sent,) = load_stack(template, ["e.yaml"]).environments
    assert sent == EnvironmentSource(file=str(tmp_path / "e.yaml"), source="{}")
    assert load_stack("t.yaml", ["./e.yaml"]).environments[0].file == "./e.yaml"


def test_a_target_that_is_missing_is_named_in_the_environment(tmp_path: Path) -> None:
    write(tmp_path, "t.yaml", VERSION)
    write(tmp_path, "envs/server.yaml")
    write(tmp_path, "envs/e.yaml", "resource_registry:\n  A: sever.yaml\n  base_url: \n")
    (problem,) = refused("t.yaml", "envs/e.yaml")
    assert str(problem) == (
        "envs/e.yaml:2:3: resource_registry.A: the file 'sever.yaml' does not exist (did you mean 'server.yaml'?)"
    )


@pytest.mark.parametrize(
    "source",
    [
        "a: [",
        "[]",
        "resource_registry: 7",
        "resource_registry: {A: 7}",
        "unknown: {}",
        "event_sinks: [{type: x}]",
    ],
)
def test_a_wrong_environment_is_left_to_the_parser(tmp_path: Path, source: str) -> None:
    write(tmp_path, "t.yaml", VERSION)
    write(tmp_path, "e.yaml", source)
    assert load_stack("t.yaml", ["e.yaml"]) == StackFiles(
        template=VERSION, environments=(EnvironmentSource(file="e.yaml", source=source),)
    )


def test_everything_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "there.yaml", "resource_registry: {A: a.yaml}")
    found = refused("web.yaml", "there.yaml", "their.yaml", "no/where.yaml")
    assert [str(each).partition(" (")[0] for each in found] == [
        "web.yaml: the file does not exist",
        "their.yaml: the file does not exist",
        "no/where.yaml: the file does not exist",
        "there.yaml:1:21: resource_registry.A: the file 'a.yaml' does not exist",
    ]
    assert found[1].hint == "did you mean 'there.yaml'?"
    assert "cannot be read: Is a directory" in refused(tmp_path)[0].message


# -- limits ----------------------------------------------------------------------------------------------------


def test_files_are_limited_and_endless_ones_are_not_read_to_the_end(tmp_path: Path) -> None:
    write(tmp_path, "stack/large", "x" * 1001)
    path = template_reading(tmp_path, "large")
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        load_template(path, limits=Limits(max_bytes=1000))
    with pytest.raises(InvalidInput, match="more than 10 bytes"):
        load_template(path, limits=Limits(max_bytes=10))
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        load_template("/dev/zero", limits=Limits(max_bytes=1000))


def test_what_never_ends_or_never_begins_is_not_read_because_a_file_names_it(tmp_path: Path) -> None:
    write(tmp_path, "stack/t.yaml", "")
    os.mkfifo(tmp_path / "stack" / "pipe")
    for name in ("/dev/zero", "pipe"):
        with pytest.raises(InvalidInput, match=f"the file '{name}' is a pipe or a device"):
            load_template(template_reading(tmp_path, name))


def test_only_so_many_files_are_read(tmp_path: Path) -> None:
    names = tuple(f"{number}.sh" for number in range(4))
    for name in names:
        write(tmp_path, f"stack/{name}")
    path = template_reading(tmp_path, *names, names[0])
    assert len(load_template(path, limits=Limits(max_files=4))[1]) == 4
    with pytest.raises(InvalidInput) as caught:
        load_template(path, limits=Limits(max_files=3))
    (problem,) = caught.value.problems
    assert problem.message == "more than 3 files are named"
    assert problem.path == "outputs[3].get_file"


def test_all_files_together_are_limited(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, "x" * 40) for name in ("a", "b", "c")]
    contents = Contents(Limits(), fetch_urls=False, most_bytes=100)
    assert [len(contents.text(str(path))) for path in (*paths[:2], paths[0])] == [40, 40, 40]
    with pytest.raises(Unreadable, match="all files together may have 100 bytes"):
        contents.text(str(paths[2]))


# -- the network -----------------------------------------------------------------------------------------------


@pytest.fixture(name="site")
def _site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Site() as site:
        yield site


def test_everything_can_come_from_the_network(tmp_path: Path, site: Site) -> None:
    template = site.put("/stack/t.yaml", naming("a.yaml", files=("x.sh", "/root.sh")))
    site.put("/stack/a.yaml", naming(files=("../y.sh",)))
    environment = site.put("/envs/e.yaml", "resource_registry: {A: b.yaml, base_url: sub}")
    site.put("/envs/sub/b.yaml", naming("../../stack/a.yaml"))
    for path in ("/stack/x.sh", "/root.sh", "/y.sh"):
        site.put(path, path)
    loaded = load_stack(template, [environment], fetch_urls=True)
    assert {key: text for key, text in loaded.files.items() if text.startswith("/")} == {
        "x.sh": "/stack/x.sh",
        "/root.sh": "/root.sh",
        "../y.sh": "/y.sh",
        f"{site.url}/y.sh": "/y.sh",
    }
    assert {key for key in loaded.files if key.endswith(".yaml")} == {
        "a.yaml",
        f"{site.url}/envs/sub/b.yaml",
        f"{site.url}/stack/a.yaml",
    }
    assert sorted(site.asked) == sorted({*site.asked})


def test_a_template_here_may_name_files_there(tmp_path: Path, site: Site) -> None:
    write(tmp_path, "t.yaml", naming(site.put("/a.yaml", naming(files=("x.sh",)))))
    site.put("/x.sh", "there")
    assert load_stack("t.yaml", fetch_urls=True).files[f"{site.url}/x.sh"] == "there"


def test_nothing_is_fetched_unless_the_setting_says_so(tmp_path: Path, site: Site) -> None:
    template = site.put("/t.yaml", naming(f"{site.url}/a.yaml"))
    found = refused(template, site.put("/e.yaml", ""))
    write(tmp_path, "t.yaml", naming(f"{site.url}/a.yaml", files=(f"{site.url}/x.sh",)))
    write(tmp_path, "e.yaml", f"resource_registry: {{A: '{site.url}/b.yaml'}}")
    found += refused("t.yaml", "e.yaml")
    assert len(found) == 5
    assert all("is not on this machine" in each.message for each in found)
    assert {each.hint for each in found} == {"set ISOTHERM_FETCH_URLS=true to let this machine fetch it"}
    assert site.asked == []


@pytest.mark.parametrize("name", ["file:///etc/hostname", "s3://x/y"])
def test_a_file_from_the_network_names_no_file_of_this_machine(tmp_path: Path, site: Site, name: str) -> None:
    template = site.put("/t.yaml", naming(files=(name,)))
    (problem,) = refused(template, fetch_urls=True)
    assert "may name none of this machine" in problem.message
    assert str(problem.position) == f"{template}:4:6"
    write(tmp_path, "x.yaml")
    registry = f"resource_registry: {{base_url: 'file://{tmp_path}', A: x.yaml}}"
    write(tmp_path, "t.yaml", VERSION)
    (problem,) = refused("t.yaml", site.put("/e.yaml", registry), fetch_urls=True)
    assert "may name none of this machine" in problem.message


def test_a_path_in_a_file_from_the_network_is_one_of_its_server(tmp_path: Path, site: Site) -> None:
    secret = write(tmp_path, "secret", "word")
    for name in (str(secret), "../" * 20 + str(secret)):
        (problem,) = refused(site.put("/t.yaml", naming(files=(name,))), fetch_urls=True)
        assert "the server answered 404 (Not Found)" in problem.message
    assert site.asked.count(str(secret)) == 2


def test_what_cannot_be_fetched_is_named_where_it_is_asked_for(tmp_path: Path, site: Site) -> None:
    site.pages["/large.sh"] = Reply(body=b"x" * 100_000, endless=True)
    names = (f"{site.url}/large.sh", f"{site.url}/none.sh", "https://user:word@h/x")
    write(tmp_path, "t.yaml", naming(files=names))
    found = refused("t.yaml", fetch_urls=True)
    assert [each.path for each in found] == [f"outputs[{number}].get_file" for number in range(3)]
    sentences = ["bytes", "404", "user or a password"]
    assert all(words in each.message for words, each in zip(sentences, found, strict=True))
    assert "word@" not in str(found)


def test_no_password_of_a_url_is_shown() -> None:
    (problem,) = refused("https://user:word@h/t.yaml", fetch_urls=True)
    assert "word@" not in str(problem)
    assert "https://h/t.yaml" in str(problem)
