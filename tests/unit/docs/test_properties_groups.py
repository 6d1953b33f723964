"""What the page about properties groups shows is what there is."""

import doctest

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
    assert shown > 5
