"""What files are called: the same keys for who sends them and for who reads them."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.template.locations import (
    FilesFrom,
    base_between,
    base_of_key,
    is_template,
    is_url,
    is_web,
    key_of,
    location_of,
    shown,
)

STEPS = st.lists(st.sampled_from(["..", ".", "a", "b", "c"]), max_size=4)
NAMES = STEPS.map(lambda steps: "/".join([*steps, "x.yaml"]))


@pytest.mark.parametrize(
    ("name", "base", "key"),
    [
        ("a.sh", "", "a.sh"),
        ("./a.sh", "", "./a.sh"),
        ("x/../a.sh", "", "x/../a.sh"),
        ("a.sh", "nested", "nested/a.sh"),
        ("./a.sh", "nested", "nested/a.sh"),
        ("../a.sh", "nested", "a.sh"),
        ("../../a.sh", "nested", "../a.sh"),
        ("/etc/../a.sh", "nested", "/etc/../a.sh"),
        ("a.sh", "/srv/x", "/srv/x/a.sh"),
        ("a.sh", "/", "/a.sh"),
        ("a.sh", ".", "a.sh"),
        ("https://h/a.sh", "nested", "https://h/a.sh"),
        ("file:///a.sh", "", "file:///a.sh"),
        ("a.sh", "https://h/x/", "https://h/x/a.sh"),
        ("../a.sh?v=1", "https://h/x/", "https://h/a.sh?v=1"),
        ("/a.sh", "https://h/x/", "https://h/a.sh"),
        ("http://other/a.sh", "https://h/x/", "http://other/a.sh"),
        ("a.sh", "file:///srv/x/", "file:///srv/x/a.sh"),
        ("//[x", "https://h/x/", "//[x"),
        ("OS::Heat::None", "nested", "nested/OS::Heat::None"),
    ],
)
def test_keys_are_names_as_seen_from_the_root_template(name: str, base: str, key: str) -> None:
    assert key_of(name, base) == key


@pytest.mark.parametrize(
    ("key", "base"),
    [
        ("x.yaml", ""),
        ("./x.yaml", ""),
        ("a/../x.yaml", ""),
        ("a/b/x.yaml", "a/b"),
        ("../x.yaml", ".."),
        ("/x.yaml", "/"),
        ("/a/./b/x.yaml", "/a/b"),
        ("https://h/x.yaml", "https://h/"),
        ("https://h/a/x.yaml?v=/1#y/z", "https://h/a/"),
        ("https://h", "https://h/"),
        ("file:///a/x.yaml", "file:///a/"),
        ("http://[h/a/x.yaml", "http://[h/a/"),
    ],
)
def test_names_start_at_the_directory_of_the_file_that_uses_them(key: str, base: str) -> None:
    assert base_of_key(key) == base


@pytest.mark.parametrize(
    ("environment", "template", "base"),
    [
        ("env.yaml", "web.yaml", ""),
        ("./env.yaml", "web.yaml", ""),
        ("env.yaml", "", ""),
        ("envs/env.yaml", "web.yaml", "envs"),
        ("envs/env.yaml", "stacks/web.yaml", "../envs"),
        ("x/envs/env.yaml", "x/stacks/web.yaml", "../envs"),
        ("x/env.yaml", "x/y/z/web.yaml", "../.."),
        ("../env.yaml", "web.yaml", ".."),
        ("../envs/env.yaml", "../web.yaml", "envs"),
        ("../../env.yaml", "../web.yaml", ".."),
        # The working directory's name is nowhere told.
        ("env.yaml", "../web.yaml", "<cwd>"),
        ("envs/env.yaml", "../../x/web.yaml", "../<cwd>/<cwd>/envs"),
        ("/srv/envs/env.yaml", "/srv/web.yaml", "envs"),
        ("/srv/env.yaml", "/srv/a/../stacks/web.yaml", ".."),
        ("/env.yaml", "/web.yaml", ""),
        ("/srv/env.yaml", "web.yaml", "/srv"),
        ("env.yaml", "/srv/web.yaml", ""),
        ("./envs/env.yaml", "/srv/web.yaml", "envs"),
        ("https://h/envs/env.yaml", "web.yaml", "https://h/envs/"),
        ("https://h/envs/env.yaml", "https://h/web.yaml", "https://h/envs/"),
        ("envs/env.yaml", "https://h/web.yaml", "envs"),
        ("/srv/env.yaml", "https://h/web.yaml", "/srv"),
        ("file:///srv/env.yaml", "/srv/web.yaml", "file:///srv/"),
    ],
)
def test_an_environments_names_start_at_its_directory_as_seen_from_the_template(
    environment: str, template: str, base: str
) -> None:
    assert base_between(environment, template) == base


@pytest.mark.parametrize(
    ("name", "document", "location"),
    [
        ("x.sh", "web.yaml", "x.sh"),
        ("../x.sh", "stacks/web.yaml", "stacks/../x.sh"),
        ("/x.sh", "stacks/web.yaml", "/x.sh"),
        ("https://h/x.sh", "stacks/web.yaml", "https://h/x.sh"),
        ("x.sh", "https://h/a/web.yaml", "https://h/a/x.sh"),
        ("/etc/passwd", "https://h/a/web.yaml", "https://h/etc/passwd"),
        ("c:x.sh", "https://h/a/web.yaml", "c:x.sh"),
    ],
)
def test_files_are_found_from_the_file_that_names_them(name: str, document: str, location: str) -> None:
    assert location_of(name, document) == location


def place(path: str) -> str:
    """Where a path leads, from a working directory deep down, whose steps up all have the one name."""
    return posixpath.normpath(posixpath.join("/", *["<cwd>"] * 10, path))


@given(NAMES, NAMES, NAMES)
def test_a_key_leads_from_the_template_to_the_file_that_the_environment_names(
    template: str, environment: str, name: str
) -> None:
    key = key_of(name, base_between(environment, template))
    assert place(location_of(key, template)) == place(location_of(name, environment))


@given(NAMES, st.lists(NAMES, min_size=1, max_size=3))
def test_names_are_relative_to_the_file_that_uses_them_at_any_depth(template: str, names: list[str]) -> None:
    key, location = "", template
    for name in names:
        key, location = key_of(name, base_of_key(key)), location_of(name, location)
    assert place(location_of(key, template)) == place(location)


def test_files_are_read_by_the_names_that_a_file_uses() -> None:
    files = {"a.sh": "1", "nested/b.sh": "2", "../c.sh": "3", "/d.sh": "4", "https://h/e.sh": "5"}
    root = FilesFrom("", files)
    assert dict(root) == files
    assert (root["./a.sh"], root["nested/../a.sh"], root["https://h/e.sh"]) == ("1", "1", "5")
    nested = FilesFrom("nested", files)
    names = {"../a.sh": "1", "b.sh": "2", "../../c.sh": "3", "/d.sh": "4", "https://h/e.sh": "5"}
    assert dict(nested) == names
    assert len(nested) == 5
    assert nested["./b.sh"] == "2"
    assert "a.sh" not in nested
    with pytest.raises(KeyError):
        nested["a.sh"]
    assert dict(FilesFrom("https://h/", files)) == {"https://h/e.sh": "5"}
    assert FilesFrom("https://h/", files)["e.sh"] == "5"


@given(
    NAMES.map(base_of_key), st.dictionaries(NAMES.map(posixpath.normpath), st.text(max_size=3), max_size=5)
)
def test_every_name_that_is_shown_leads_to_a_file(base: str, files: dict[str, str]) -> None:
    view = FilesFrom(base, files)
    assert all(view[name] == files[key] for name in view if (key := view.key(name)))
    assert {view.key(name) for name in view} <= files.keys()
    assert len({view.key(name) for name in view}) == len(view)


@pytest.mark.parametrize(
    ("name", "url", "web", "template"),
    [
        ("OS::Heat::None", False, False, False),
        ("x.yaml", False, False, True),
        ("x.template", False, False, True),
        ("x.yml", False, False, False),
        ("x.yaml.sh", False, False, False),
        ("https://h/x.yaml", True, True, True),
        ("HTTP://h/x", True, True, False),
        ("file:///x.yaml", True, False, True),
        ("://x", False, False, False),
        ("a b://x", False, False, False),
    ],
)
def test_urls_and_templates_are_known_by_their_names(name: str, url: bool, web: bool, template: bool) -> None:
    assert (is_url(name), is_web(name), is_template(name)) == (url, web, template)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("https://user:word@h/x@y", "https://h/x@y"),
        ("https://a:b@c@h", "https://h"),
        ("https://h/x", "https://h/x"),
        ("a@b/c", "a@b/c"),
    ],
)
def test_what_is_shown_has_no_password(name: str, expected: str) -> None:
    assert shown(name) == expected
