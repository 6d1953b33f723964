"""What the page about properties groups shows is what there is."""

import doctest
from typing import Any

from orchestrator.plugins.group_tables import columns, rows
from tests.unit.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "properties-groups.md"


def test_the_examples_say_what_the_page_says() -> None:
    names: dict[str, object] = {"__name__": "page"}
    shown = 0
    for block in blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, block.place, "exec"), names)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, names, block.place, str(PAGE), block.line)
            told: list[str] = []
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append, clear_globs=False)
            assert not told, "".join(told)
            names = test.globs
            shown += len(test.examples)
    assert shown >= 4
    assert_table_is_that_of(names["Disk"])


def assert_table_is_that_of(disk: Any) -> None:
    group = disk.properties_groups[1]
    told = [columns(group), *rows(group)]
    lines = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [tuple(cell.strip() for cell in line) for line in lines]
    start = cells.index(told[0])
    assert [cells[start], *cells[start + 2 : start + 1 + len(told)]] == told
