"""yaql: what expressions give, which are refused, and that none costs more than it may."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import DEEPEST, Limits
from orchestrator.definition import StackDefinition
from orchestrator.sandbox import child, process
from orchestrator.template import yaql_evaluation
from orchestrator.template.document import Positions
from orchestrator.template.functions import yaql as yaql_module
from orchestrator.template.functions.base import FunctionError, Scope
from orchestrator.template.functions.yaql import Yaql
from orchestrator.template.reading import Reading
from orchestrator.template.versions import WALLABY
from orchestrator.template.yaql_faults import LARGEST_VALUE, MOST_VALUES, Reason

NO_STACK = StackDefinition(name="", id="")
Evaluate = Callable[..., Any]


@pytest.fixture
def evaluate() -> Evaluate:
    """Return what evaluates an expression as the function does, within bounds."""

    def evaluating(
        expression: Any, data: Any = None, *, seconds: float = 300.0, memory_mib: int = 256
    ) -> Any:
        limits = Limits(yaql_seconds=seconds, yaql_memory_mib=memory_mib)
        scope = Scope(version=WALLABY, positions=Positions("t", Reading({}, {}, [])), limits=limits)
        return Yaql({"expression": expression, "data": data}, scope=scope, path=()).call(
            {"expression": expression, "data": data}, NO_STACK
        )

    return evaluating


@pytest.fixture
def fails(evaluate: Evaluate) -> Callable[..., FunctionError]:
    def failing(*arguments: Any, **bounds: Any) -> FunctionError:
        with pytest.raises(FunctionError) as caught:
            evaluate(*arguments, **bounds)
        return caught.value

    return failing


@pytest.mark.parametrize(
    ("expression", "data", "result"),
    [
        ("$.data", {"a": [1, None, True, 1.5, "ä"]}, {"a": [1, None, True, 1.5, "ä"]}),
        ("$.data.a", {"a": 1}, 1),
        ("$.data.servers.ip", {"servers": [{"ip": "a"}, {"ip": "b"}]}, ["a", "b"]),
        ("$.data.where($ > 1).select($ * 2)", [1, 2, 3], [4, 6]),
        ("$.data.toDict($.k, $.v)", [{"k": "a", "v": 1}], {"a": 1}),
        ("range(3)", None, [0, 1, 2]),
        ("$.data.items()", {"a": 1}, [["a", 1]]),
        ("$.data.keys()", {"b": 1, "a": 2}, ["b", "a"]),
        ("$.data.toSet()", ["c", "a", "b", "a"], ["a", "b", "c"]),
        ("$.data.toSet()", ["1", 2, None, "0"], [None, 2, "0", "1"]),
        ("set([1], [0, 2])", None, [[0, 2], [1]]),
        (
            "dict(2 => b, 1.5 => c, true => d, null => e)",
            None,
            {"2": "b", "1.5": "c", "true": "d", "null": "e"},
        ),
        ("$.data.get(b, 7)", {"a": 1}, 7),
        ("$.data.groupBy($ mod 2)", [1, 2, 3], [[1, [1, 3]], [0, [2]]]),
        ("let(x => 2) -> $x * 3", None, 6),
        ("def(sq, $ * $) -> $.data.select(sq($))", [2, 3], [4, 9]),
        ("regex('a(b+)').search($.data)", "xabbc", "abb"),
        ("$.data =~ '[a-z]+'", "abc", True),
        ("datetime(2020, 2, 3).format('%Y-%m-%d')", None, "2020-02-03"),
        ("null", None, None),
        ("pow(2, 64) - 1", None, 2**64 - 1),
        ("range(1000).toList().len()", None, 1000),
        ("'x' * 100000", None, "x" * 100_000),
    ],
)
def test_an_expression_gives_plain_data(evaluate: Evaluate, expression: str, data: Any, result: Any) -> None:
    found = evaluate(expression, data)
    assert found == result
    assert json.dumps(found) == json.dumps(result)


text = st.text(st.characters(exclude_categories=["Cs"]))
plain_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
)


@given(data=plain_data)
def test_data_comes_out_as_it_went_in(data: Any) -> None:
    scope = Scope(version=WALLABY, positions=Positions("t", Reading({}, {}, [])))
    arguments = {"expression": "$.data", "data": data}
    assert Yaql(arguments, scope=scope, path=()).call(arguments, NO_STACK) == data


@pytest.mark.parametrize(
    ("expression", "data", "message"),
    [
        ("1 +", None, "the expression ends too early"),
        ("1 $ 2", None, "the expression has an unexpected '$' at character 3"),
        ("'a", None, 'the expression has an unexpected "\'" at character 1'),
        ("", None, "the expression ends too early"),
        ("nope($)", None, "there is no function, method or property 'nope' of such values"),
        ("$.data.nope()", "SECRET", "there is no function, method or property 'nope' of such values"),
        ("$.data.nope", "SECRET", "there is no function, method or property 'nope' of such values"),
        ("$.data + 1", "SECRET", "'+' cannot take such values"),
        ("$.data.split(1)", "SECRET", "'split' cannot take such values"),
        ("$.data.a", {"SECRET": 1}, "a map has no key 'a'"),
        ("$.data.get(SECRET).first()", {"SECRET": []}, "a list has too few items for the expression"),
        ("$.data[7]", ["SECRET"], "a list has too few items for the expression"),
        ("$.data.assert($ > 1024, 'no privileged port')", 80, "an assertion fails: no privileged port"),
        ("1 / $.data", 0, "the expression cannot be evaluated with such values (ZeroDivisionError)"),
        ("int($.data)", "SECRET", "the expression cannot be evaluated with such values (ValueError)"),
        ("now()", None, "the result holds a datetime, which is no plain data"),
        ("regex(a)", None, "the result holds a Pattern, which is no plain data"),
        ("let(1)", None, "the result holds a Context, which is no plain data"),
        (
            "pow(2, 64)",
            None,
            "the result holds a whole number that does not fit 64 bits, which is no plain data",
        ),
        ("$.data * 10", 1e308, "the result holds a number that is not finite, which is no plain data"),
        ("dict([1] => 2)", None, "the result holds a map whose keys are no text, which is no plain data"),
        (
            "dict(1 => a, '1' => b)",
            None,
            "the result holds a map with two keys that are the same as text, which is no plain data",
        ),
        (
            "'\\ud800'",
            None,
            "the result holds text with half of a surrogate pair, which is no plain data",
        ),
        ("(" * 5000 + "1" + ")" * 5000, None, "the expression or its result is nested too deep"),
    ],
)
def test_what_fails_says_why(
    fails: Callable[..., FunctionError], expression: str, data: Any, message: str
) -> None:
    error = fails(expression, data)
    assert str(error) == message
    assert error.path == ("expression",)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("$.data.assert(false, $.data)", "an assertion of the expression fails"),
        ("dict()[$.data]", "a map lacks a key that the expression reads"),
        ("call($.data, [], {})", "the expression calls a function, method or property that does not exist"),
        ("int($.data)", "the expression cannot be evaluated with such values (ValueError)"),
        ("$.data.nope()", "there is no function, method or property 'nope' of such values"),
        ("$.data + 1", "'+' cannot take such values"),
    ],
)
def test_no_sentence_shows_data(fails: Callable[..., FunctionError], expression: str, message: str) -> None:
    assert str(fails(expression, "73519-SECRET")) == message


def test_an_expression_that_was_made_is_not_shown(call: Any, stack: Any) -> None:
    made = {"expression": {"get_param": "p"}, "data": {}}
    given = stack({"p": "$.data.SECRET"})
    assert call.fails({"yaql": made}, given).message == "a map lacks a key that the expression reads"
    given = stack({"p": "1 + SECRET SECRET"})
    assert call.fails({"yaql": made}, given).message == (
        "the expression has something unexpected at character 12"
    )


@pytest.mark.parametrize(
    ("expression", "message", "setting"),
    [
        ("regex('(a+)+$').matches('a' * 60 + '!')", "takes longer than 0.5 seconds", "yaql_seconds"),
        ("range(90000).select(range(90000).len()).sum()", "takes longer than 0.5 seconds", "yaql_seconds"),
        ("pow(7, pow(10, 9)) mod 2", "takes longer than 0.5 seconds", "yaql_seconds"),
        ("'x' * 1000000000", f"takes more than {LARGEST_VALUE // 2**20} MiB", ""),
        ("range(70).select('x' * 4000000 + str($)).toList()", "needs more than 128 MiB", "yaql_memory_mib"),
        ("range(1000000000)", f"more than {MOST_VALUES} values", ""),
        ("range(1000).select(range(1000))", f"more than {MOST_VALUES} values", ""),
        ("'x' * 5000000", "the data or the result is too large", ""),
        ("def(f, f($)) -> f(1)", "nested too deep", ""),
    ],
    ids=["pattern", "loops", "power", "text", "memory", "endless", "product", "long", "recursion"],
)
def test_a_hostile_expression_costs_what_it_may(
    evaluate: Evaluate, fails: Callable[..., FunctionError], expression: str, message: str, setting: str
) -> None:
    # Where it is not the time that counts, a busy machine has enough of it.
    error = fails(expression, seconds=0.5 if setting == "yaql_seconds" else 60.0, memory_mib=128)
    assert message in str(error)
    assert setting in error.hint
    assert evaluate("1 + 1") == 2


def test_what_one_expression_defines_the_next_does_not_see(
    evaluate: Evaluate, fails: Callable[..., FunctionError]
) -> None:
    assert evaluate("def(mine, 7) -> mine()") == 7
    assert "'mine'" in str(fails("mine()"))


@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ([], "", "expected a map with 'expression' and 'data', found a list"),
        ("$.data", "", "expected a map with 'expression' and 'data', found text"),
        ({}, "", "the key 'expression' is missing"),
        ({"data": 1}, "", "the key 'expression' is missing"),
        ({"expression": "1", "date": 1}, ".date", "there is no key 'date' here"),
        ({"expression": 7}, ".expression", "expected text, found a number"),
        ({"expression": None}, ".expression", "expected text, found null"),
        ({"expression": "1 +"}, ".expression", "the expression ends too early"),
        ({"expression": "$.data.a"}, ".expression", "a map has no key 'a'"),
        ({"expression": "1 +", "data": {"get_param": "p"}}, ".expression", "the expression ends too early"),
        ({"expression": "1" * 70_000}, ".expression", "the expression has 70000 characters; at most 65536"),
    ],
)
def test_mistakes_show_when_the_template_is_read(call: Any, arguments: Any, path: str, message: str) -> None:
    problem = call.refused({"yaql": arguments})
    assert problem.path == f"resources.r.properties.p.yaql{path}"
    assert message in problem.message
    assert problem.position is not None


def test_calls_among_the_arguments_are_resolved_first(call: Any, stack: Any) -> None:
    value = {"yaql": {"expression": {"get_param": "e"}, "data": {"n": {"get_param": "n"}}}}
    assert call(value, stack({"e": "$.data.n + 1", "n": 2})) == 3
    assert call.fails(value, stack({"e": 7, "n": 2})).message == "expected text, found a number"


def test_without_data_there_is_an_empty_map(call: Any) -> None:
    assert call({"yaql": {"expression": "$.data"}}) == {}
    assert call({"yaql": {"expression": "$.data", "data": None}}) is None


def test_data_that_cannot_be_sent_is_refused(fails: Callable[..., FunctionError]) -> None:
    assert str(fails("$.data", 2**70)) == "the data is not plain"
    assert str(fails("$.data", "x" * 20_000_000)) == "the data or the result is too large"


def test_the_verdict_on_an_expression_is_remembered(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    asked = []

    class Counting:
        def ask(self, question: dict[str, Any], **_: Any) -> None:
            asked.append(question)

    yaql_module._syntax_fault.cache_clear()
    monkeypatch.setattr(yaql_module, "_SANDBOX", Counting())
    for _ in range(3):
        call.build({"yaql": {"expression": "$.data.once", "data": {"get_param": "p"}}})
    yaql_module._syntax_fault.cache_clear()
    assert asked == [{"expression": "$.data.once"}]


def test_that_there_was_no_verdict_is_not_remembered(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    kinds = [process.TOO_LATE, None]

    class LateAtFirst:
        def ask(self, question: dict[str, Any], **_: Any) -> None:
            kind = kinds.pop(0)
            if kind:
                raise child.Fault(kind)

    yaql_module._syntax_fault.cache_clear()
    monkeypatch.setattr(yaql_module, "_SANDBOX", LateAtFirst())
    value = {"yaql": {"expression": "1", "data": {"get_param": "p"}}}
    assert "takes longer than 5 seconds" in call.refused(value).message
    call.build(value)
    yaql_module._syntax_fault.cache_clear()
    assert kinds == []


def kinds_of_fault() -> Iterator[str]:
    yield from Reason
    yield from (process.TOO_LATE, process.DIED, process.UNFIT)
    yield from (child.TOO_MUCH_MEMORY, child.TOO_DEEP, child.TOO_LONG, child.FAILED)


@pytest.mark.parametrize("kind", sorted(set(kinds_of_fault())))
def test_every_fault_has_a_sentence(monkeypatch: pytest.MonkeyPatch, evaluate: Evaluate, kind: str) -> None:
    class Failing:
        def ask(self, question: dict[str, Any], **_: Any) -> None:
            raise child.Fault(kind, [1, "x"] if kind == Reason.SYNTAX else "")

    monkeypatch.setattr(yaql_module, "_syntax_fault", lambda *_, **__: None)
    monkeypatch.setattr(yaql_module, "_SANDBOX", Failing())
    with pytest.raises(FunctionError, match=r"[a-z]{3}"):
        evaluate("1")


def test_results_are_as_deep_as_documents_may_be() -> None:
    assert yaql_evaluation.DEEPEST == DEEPEST


@pytest.mark.parametrize(
    ("version", "verdict"), [("2016-10-14", "cannot be called in a condition"), ("pike", None)]
)
def test_conditions_have_it_from_pike_on(
    version: str, verdict: str | None, parse: Any, problems_of: Any
) -> None:
    body = "conditions: {c: {yaql: {expression: '$.data.a > 1', data: {a: 2}}}}\n"
    if verdict is None:
        assert parse(body, version=version)
    else:
        (problem,) = problems_of(body, version=version)
        assert verdict in problem.message
