"""Templates and environments that try to cost more than they may, and what becomes of each."""

import json
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import MOST_PROBLEMS, InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.validation.report import validate_job
from tests.unit.orchestrator.template.hostile import FACES, LIMITS, NONE, VERSION, Face, cfn, hot, job, valued


def laughs(count: int = 9, first: str = "[a,a,a,a,a,a,a,a,a]") -> str:
    """Return a list that grows by each line as often as ``count`` says."""
    lines = [f"- &l0 {first}", *(f"- &l{n} [{', '.join([f'*l{n - 1}'] * count)}]" for n in range(1, 40))]
    return "\n".join(lines)


def chained(count: int, first: Any) -> dict[str, Any]:
    """Return conditions that name each other, the last of them first."""
    return {**{f"c{n}": {"not": f"c{n - 1}"} for n in range(count, 0, -1)}, "c0": first}


def registry(**entries: Any) -> str:
    return json.dumps({"resource_registry": entries})


STARS = {f"a{n}*": {"hooks": "pre-create"} for n in range(101)}

REFUSED: dict[str, tuple[StackJob, str]] = {
    # -- texts
    "too many bytes": (job(VERSION + "#" * 100_000), "bytes; at most 100000 are allowed"),
    "too many small maps": (job(f"{VERSION}x: [{'{a},' * 20_000}]"), "more than 25000 keys and values"),
    "too many small lists": (job(f"{VERSION}x: [{'[],' * 30_000}]"), "more than 25000 keys and values"),
    "too many keys, all the same": (
        job(f"{VERSION}x: {{{'a,' * 30_000}}}"),
        "more than 25000 keys and values",
    ),
    "a billion laughs": (job(f"{VERSION}x:\n{laughs()}"), "with its aliases expanded"),
    "a billion laughs of nothing": (job(f"{VERSION}x:\n{laughs(2, '[]')}"), "with its aliases expanded"),
    "a billion laughs by merging": (
        job(f"{VERSION}x:\n- &m {{{','.join(f'k{n}' for n in range(2000))}}}\n" + "- {<<: *m}\n" * 100),
        "with its aliases expanded",
    ),
    "one large map as an alias in all resources": (
        job(
            f"{VERSION}resources:\n  r: {{type: {NONE}, properties: &p {{p: [{'x,' * 1000}]}}}}\n"
            + "".join(f"  r{n}: {{type: {NONE}, properties: *p}}\n" for n in range(150))
        ),
        "with its aliases expanded",
    ),
    "an alias inside what it stands for": (job(f"{VERSION}x: &a [*a]"), "refers to no anchor"),
    "brackets that are never closed": (job(f"{VERSION}x: {'[' * 90_000}"), "nested deeper than 64 levels"),
    "brackets in JSON": (
        job(hot(x=0)[:-2] + "[" * 40_000 + "]" * 40_000 + "}"),
        "nested deeper than 64 levels",
    ),
    "a constructor of Python's": (
        job(f"{VERSION}outputs: {{o: {{value: !!python/object/apply:os.system ['id']}}}}"),
        "the tag !!python/object/apply:os.system is not supported",
    ),
    "numbers that nothing can hold": (
        job(f"{VERSION}outputs: {{o: {{value: [.inf, 0x{'f' * 17}, {'1:' * 40}1]}}}}"),
        "numbers must be finite",
    ),
    "half of a surrogate pair": (job(f"{VERSION}x: \ud800"), "half of a surrogate pair"),
    "a character that YAML has not": (job(f"{VERSION}x: a\0b"), "control characters are not allowed"),
    "many documents": (job(VERSION + "---\n" * 20_000), "only one is allowed"),
    # -- parameters
    "JSON in a text, far too deep": (
        job(valued(p=("json", "[" * 40_000 + "]" * 40_000))),
        "nested deeper than 200 levels",
    ),
    "JSON in a text, a little too deep": (
        job(valued(p=("json", "[" * 202 + "]" * 202))),
        "nested deeper than 200 levels",
    ),
    "JSON with a number of many digits": (job(valued(p=("json", f"[{'1' * 4000}]"))), "does not fit 64 bits"),
    "JSON with what is no number": (job(valued(p=("json", "[NaN]"))), "finite"),
    "a number that is infinite": (job(valued(p=("number", "1e400"))), "expected a finite number"),
    "a number of many digits": (job(valued(p=("number", "1" * 50_000))), "expected a finite number"),
    "values that come with the order, too deep": (
        job(valued(p=("json", [])), parameters={"p": [json.loads("[" * 900 + "]" * 900)]}),
        "this value is nested deeper than 200 levels",
    ),
    "a pattern that takes years to match": (
        job(
            hot(
                parameters={
                    "p": {
                        "type": "string",
                        "default": "a" * 40 + "!",
                        "constraints": [{"allowed_pattern": "(a+)+b"}],
                    }
                }
            )
        ),
        r"took longer than 0\.2 seconds",
    ),
    "a pattern that is too deep": (
        job(
            hot(
                parameters={
                    "p": {"type": "string", "constraints": [{"allowed_pattern": "(" * 9000 + ")" * 9000}]}
                }
            )
        ),
        # On a busy machine its time may be over first.
        r"is nested too deep|took longer than 0\.2 seconds",
    ),
    # -- conditions
    "conditions in a circle": (
        job(hot(conditions=chained(2000, {"not": "c2000"}), outputs={"o": {"value": 1, "condition": "c7"}})),
        "in a circle: c7 -> c6",
    ),
    # -- functions
    "an expression that takes hours": (
        job(valued({"yaql": {"expression": "range(1000000000).sum()"}})),
        r"longer than 0\.3 seconds|more than 100000 values",
    ),
    "text in text in text": (
        job(
            valued(
                {"str_replace": {"template": "x" * 30_000, "params": {"x": {"get_param": "p"}}}},
                p=("string", "y" * 30_000),
            )
        ),
        "at most 4194304 are allowed",
    ),
    "too many copies": (
        job(
            valued(
                {"repeat": {"template": "a", "for_each": {n: ["x"] * 10 for n in ("a", "b", "c", "d", "e")}}}
            )
        ),
        "more than 10000 copies",
    ),
    "one value of many values": (
        job(valued([{"get_param": "p"}] * 30, p=("json", "[" + "[]," * 30_000 + "0]"))),
        "characters and parts",
    ),
    "a name that is put into many calls": (
        job(valued("", *[{"get_attr": ["r0", {"get_param": "p"}]}] * 150, p=("string", "x" * 50_000))),
        "makes the template too large",
    ),
    "what is found in maps, many times": (
        job(
            cfn(
                Mappings={"m": {"k": {"v": ["x"] * 1000}}},
                Outputs={f"o{n}": {"Value": {"Fn::FindInMap": ["m", "k", "v"]}} for n in range(200)},
            )
        ),
        "makes the template too large",
    ),
    "JSON to select from, too deep": (
        job(cfn(Outputs={"o": {"Value": {"Fn::Select": ["0", "[" * 40_000 + "]" * 40_000]}}})),
        r"expected a list, a map or JSON text: nested deeper than 200 levels",
    ),
    # -- resources
    "too many resources": (job(valued(*range(201))), "201 resources; at most 200 are allowed"),
    "names in other scripts than any": (
        job('{"heat_template_version":"rocky","resources":{"a\\u0000b":{"type":"OS::Heat::None"}}}'),
        "control characters",
    ),
    "resources that wait for each other": (
        job(hot(resources={f"r{n}": {"type": NONE, "depends_on": f"r{(n + 1) % 200}"} for n in range(200)})),
        "in a circle: r",
    ),
    # -- environments
    "environments that are large together": (
        job(valued(), *[f"parameter_defaults: {{p: {'x' * 9000}}}"] * 12),
        "all environments together have [0-9]+ characters; at most 100000 are allowed",
    ),
    "environments that are many": (job(valued(), *["{}"] * 51), "51 environments; at most 50 are allowed"),
    "environments that are large once read": (
        job(valued(), *[f"parameter_defaults:\n  a: &a [{'x,' * 400}]\n  b: [{'*a,' * 40}]\n"] * 2),
        "all environments together have more than 25000 keys and values",
    ),
    "an environment that laughs": (
        job(valued(), f"parameter_defaults:\n  p:\n{laughs().replace('- &', '  - &')}"),
        "e0.yaml.*with its aliases expanded",
    ),
    "many patterns in one environment": (
        job(valued(), registry(resources=STARS)),
        "more than 100 names of resources with a '\\*'|where 100 are the most",
    ),
    "many patterns in several environments": (
        job(
            valued(),
            *[registry(resources={f"{n}{name}": each for name, each in STARS.items()}) for n in "ab"],
        ),
        "all environments together have more than 100 names of resources",
    ),
    "a long pattern": (
        job(valued(), registry(resources={"*a" * 200: {"hooks": "pre-create"}})),
        "at most 255 characters, this one 400",
    ),
    # -- files
    "too many files": (
        job(valued(), files={f"f{n}": "" for n in range(51)}),
        "51 files; at most 50 are allowed",
    ),
    "files that are large together": (
        job(valued(), files={f"f{n}": "x" * 7_000_000 for n in range(10)}),
        "all files together have 70000000 characters; at most 67108864 are allowed",
    ),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(("order", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_too_much_is_refused_with_its_limit(order: StackJob, reason: str, face: Face) -> None:
    with pytest.raises(InvalidInput, match=reason) as caught:
        face(order, Settings(**LIMITS))
    assert len(caught.value.problems) <= MOST_PROBLEMS
    assert all(len(str(problem)) < 6000 for problem in caught.value.problems)
    assert len(set(caught.value.problems)) == len(caught.value.problems)


ACCEPTED: dict[str, StackJob] = {
    "a chain of conditions": job(
        hot(
            conditions=chained(2000, first=True),
            resources={"a": {"type": NONE, "condition": "c2000"}, "b": {"type": NONE, "condition": "c1999"}},
        )
    ),
    "conditions deep inside conditions": job(
        VERSION + "conditions: {c: " + "{not: " * 60 + "true" + "}" * 60 + "}\noutputs: {o: {value: {if: ["
        "{not: c}, 1, 2]}}}"
    ),
    "choices inside choices": job(
        f"{VERSION}outputs: {{o: {{value: {'{if: [true,' * 28}1{']}' * 28}}}}}",
    ),
    "calls inside calls": job(
        f"{VERSION}outputs: {{o: {{value: {'{list_concat: [' * 29}[1]{']}' * 29}}}}}",
    ),
    "a circle of conditions that nobody asks for": job(hot(conditions=chained(2000, {"not": "c2000"}))),
    "a chain of resources": job(
        hot(resources={f"r{n}": {"type": NONE, "depends_on": [f"r{n - 1}"] if n else []} for n in range(200)})
    ),
    "an empty map merged very often": job(
        f"{VERSION}parameters: {{}}\nconditions: &c {{}}\nresources: {{<<: [{'*c,' * 9000}]}}"
    ),
    "very many commas": job(valued({"get_param": "p"}, p=("comma_delimited_list", "," * 90_000))),
    "the last member of very many": job(
        cfn(
            Resources={
                "r": {
                    "Type": NONE,
                    "Properties": {
                        "p": {"Fn::MemberListToMap": ["N", "V", [f".member.{'9' * 18}.{k}=x" for k in "NV"]]},
                        "q": {"Fn::Select": ["9" * 1000, ["a"]]},
                    },
                }
            }
        )
    ),
    "aliases that lead to each other": job(
        valued(),
        registry(
            **{"A*": "B*", "B*": "AA*", "C": "D", "D": "C", **{f"E{n}": f"E{n + 1}" for n in range(500)}}
        ),
    ),
    "very many beginnings of types": job(
        valued(*range(100)),
        registry(**{f"{'O' * n}*": "X" for n in range(2, 300)}),
        registry(**{f"P{n}*": None for n in range(2000)}),
    ),
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("order", ACCEPTED.values(), ids=ACCEPTED)
def test_what_only_looks_like_too_much_is_understood(order: StackJob, face: Face) -> None:
    assert face(order, Settings(**LIMITS))


def test_a_long_chain_of_conditions_has_its_verdicts() -> None:
    view = validate_job(ACCEPTED["a chain of conditions"], Settings(**LIMITS))
    assert view.conditions == {f"c{n}": n % 2 == 0 for n in range(2001)}
    assert view.disabled == ("b",)


@pytest.mark.parametrize("face", FACES)
def test_the_deepest_template_around_the_deepest_value_is_understood(
    face: Face,
) -> None:
    around = "{list_concat: [[" * 60 + "{get_param: p}" + "]]}" * 60
    plain = "[" * 190 + "{get_param: p}" + "]" * 190
    condition = "{not: " * 190 + "true" + "}" * 190
    template = (
        f"{VERSION}parameters: {{p: {{type: json, default: '{'[' * 201}{']' * 201}'}}}}\n"
        f"conditions: {{c: {condition}}}\n"
        f"resources: {{a: {{type: OS::Heat::Value, metadata: {{m: {plain}}}, properties: {{value: {plain}}}}}}}\n"
        f"outputs: {{a: {{value: {around}}}, b: {{value: {'{if: [c,' * 90}1{']}' * 90}}}, c: {{value: {plain}}}}}"
    )
    order = job(template)
    if face is validate_job:
        assert face(order, Settings(max_template_depth=200)).outputs == ("a", "b", "c")
    else:
        assert face(order, Settings(max_template_depth=200))
