"""Handlers of a stack's operations side by side: the data of all of them, and two of them compared."""

from collections.abc import Mapping
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.arguments import whole
from orchestrator.dashboard.handlers.stack import StackPage
from orchestrator.dashboard.handlers.stack_data import StackData, VisitorData
from orchestrator.queries.observer import Observer
from orchestrator.views.runs import RunsView

#: The number of operations in an answer, and the most of them: a grid of more columns cannot be read.
_RUNS: Final = 25
_MOST_RUNS: Final = 50


def runs(observer: Observer, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return some of a stack's operations, newest first, with what each did to each resource."""
    limit = whole(arguments, "limit", _RUNS, least=1, most=_MOST_RUNS)
    return compact(observer.runs(name, after=arguments.get("after", ""), limit=limit))


def compact(view: RunsView) -> dict[str, Any]:
    """Return a view as plain JSON types: each row a list, because there may be thousands."""
    return {
        "operations": [each.to_dict() for each in view.operations],
        "rows": [
            [row.name, row.type, row.nested_stack_id, row.cells, row.seconds, row.reasons]
            for row in view.rows
        ],
        "more": view.more,
        "trimmed": view.trimmed,
    }


def compare(observer: Observer, name: str, arguments: Mapping[str, str], *, sees: bool) -> dict[str, Any]:
    """Return two of a stack's operations side by side, by the arguments ``a`` and ``b``."""
    a, b = arguments.get("a", ""), arguments.get("b", "")
    return observer.compare(name, a=a, b=b, shows_values=sees).to_dict()


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)/runs\.json", StackData, {"question": runs}),
    url(r"/stack/([^/]+)/compare\.json", VisitorData, {"question": compare}),
    url(
        r"/stack/([^/]+)/compare",
        StackPage,
        {"tab": "runs", "template": "compare.html"},
        name="stack_compare",
    ),
]
