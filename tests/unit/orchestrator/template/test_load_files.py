"""The client reads a template and the files it names."""

from pathlib import Path

import pytest

from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.document import Limits
from orchestrator.template.files import load_template


def write(directory: Path, name: str, content: str | bytes) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def template_reading(directory: Path, *keys: str) -> Path:
    calls = "".join(f"  - {{get_file: '{key}'}}\n" for key in keys)
    return write(directory, "stack/t.yaml", f"heat_template_version: rocky\noutputs:\n{calls}")


def refused(path: Path) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        load_template(path)
    return list(caught.value.problems)


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
    path = template_reading(
        tmp_path, "none.sh", ".", "binary", "https://somewhere/x", "none.sh", "file://host/x"
    )
    found = refused(path)
    assert [(p.position.line if p.position else 0, p.path) for p in found] == [
        (line, f"outputs[{line - 3}].get_file") for line in (3, 4, 5, 6, 8)
    ]
    sentences = [
        "'none.sh' cannot be read: No such file",
        "cannot be read",
        "not UTF-8",
        "not on this machine",
        "not on this machine",
    ]
    assert all(sentence in problem.message for sentence, problem in zip(sentences, found, strict=True))


def test_files_that_only_a_call_names_are_not_looked_for(tmp_path: Path) -> None:
    path = write(
        tmp_path, "t.yaml", "a: {get_file: {get_param: x}}\nb: {get_file: x, other: 1}\nc: {get_file: 7}"
    )
    assert load_template(path) == (path.read_text(), {})


def test_what_is_wrong_with_the_text_is_left_to_the_parser(tmp_path: Path) -> None:
    path = write(tmp_path, "t.yaml", "a: [")
    assert load_template(str(path)) == ("a: [", {})


def test_a_template_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert "none.yaml:1:1" in str(refused(tmp_path / "none.yaml")[0])
    assert "cannot be read" in refused(tmp_path)[0].message


def test_files_are_limited_and_endless_ones_are_not_read_to_the_end(tmp_path: Path) -> None:
    path = template_reading(tmp_path, "/dev/zero")
    with pytest.raises(InvalidInput, match="more than 1000 bytes"):
        load_template(path, limits=Limits(max_bytes=1000))
    with pytest.raises(InvalidInput, match="more than 10 bytes"):
        load_template(path, limits=Limits(max_bytes=10))
