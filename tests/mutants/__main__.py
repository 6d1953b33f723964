"""Mutate the engine's core at random places, and report which mutants the tests do not notice.

Which tests reach which line is recorded once, in ``build/mutants``; removing that directory records it anew. Each
mutant is tried in a copy of the working tree, by the tests that reach its place, the fastest first. A campaign that is
stopped goes on where it was; another sample or seed is another campaign.
"""

import argparse
import ast
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkItem, WorkResult
from coverage import CoverageData

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants"
COVERAGE, DURATIONS, COPY = KEPT / "coverage", KEPT / "durations.json", KEPT / "copy"
#: What is mutated.
CORE = """
    orchestrator/store/**/*.py  orchestrator/model/plan.py  orchestrator/planning/matching.py
    orchestrator/engine/nested_stacks.py  orchestrator/lifecycle/brackets.py  orchestrator/nodes/rpc/sealing.py
    orchestrator/placement/solver.py  cache/node_state/verdict.py  workers/agent/brackets.py
    workers/agent/journal.py  workers/check/outcomes.py  workers/check/step.py
"""
#: What describes tables, now or once.
LEFT_OUT = re.compile(r"store/(tables|migrations)/|__init__\.py")
#: Operators on types and on ``**`` of arguments, which no import survives, and those between ``==`` and ``is``.
FUTILE = re.compile(r"BinaryOperator_(BitOr|Pow)_|Operator_(Not)?Eq_Is(Not)?$|Operator_Is(Not)?_(Not)?Eq$")
#: The tests whose reach is recorded: those that run the core in their own process.
TESTS = ("tests/unit", "tests/scenarios")
PYTEST = (sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--hypothesis-profile=mutants")
#: How many times longer than recorded the tests of a mutant may take until it counts as endless, and so as killed.
PATIENCE = 3
#: How many seconds, as recorded, the tests of one mutant may take.
MOST_SECONDS = 60.0
SKIPPED = WorkResult("skipped")
UNREACHED = WorkResult("no-test", "no test reaches it", "survived")


def record(tests: Sequence[str]) -> None:
    """Run the tests in the copy, and record how long each that passes there takes, and which lines it reaches.

    Raises:
        SystemExit: pytest could not run them.
    """
    packages = sorted({f"--cov={pattern.partition('/')[0]}" for pattern in CORE.split()})
    options = [*packages, "--cov-context=test", "--cov-report=", "--numprocesses=logical"]
    environment = {**os.environ, "COVERAGE_FILE": str(COVERAGE), "DURATIONS": str(DURATIONS)}
    if subprocess.run([*PYTEST, "-p", "tests.mutants", *options, *tests], env=environment).returncode > 1:
        DURATIONS.unlink(missing_ok=True)
        raise SystemExit("the tests could not be run: see above")


@cache
def _reach(file: Path) -> dict[int, set[str]]:
    """Return the tests that reach each line of a file; "" stands for imports."""
    data = CoverageData(str(COVERAGE))
    data.read()
    lines = data.contexts_by_lineno(str(COPY / file))
    return {line: {each.partition("|")[0] for each in contexts} for line, contexts in lines.items()}


def _body_of(place: MutationSpec) -> range:
    """Return the lines of the function in whose head a place is: its decorators and parameters; none in no head."""
    tree = ast.parse(Path(place.module_path).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            if first <= place.start_pos[0] < node.body[0].lineno:
                return range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    return range(0)


def tests_of(place: MutationSpec) -> tuple[list[list[str]], float]:
    """Return the tests that reach a place, as far as there is time, in rounds, and how long they take together.

    The first round are those beside it that start no server: they notice most, and cost least. Each round has its
    fastest first. The head of a function is reached by the tests that reach its body, and what else is carried out at
    import by all that reach its file.
    """
    lines = _reach(place.module_path)
    found = set[str]().union(*(lines.get(n, ()) for n in range(place.start_pos[0], place.end_pos[0] + 1)))
    if "" in found:
        body = _body_of(place)
        found = set[str]().union(*(tests for n, tests in lines.items() if n in body or not body)) - {""}
    durations = json.loads(DURATIONS.read_text(encoding="utf-8"))
    beside = Path("tests/unit", place.module_path)
    while not beside.is_dir():
        beside = beside.parent
    first, second, total = list[str](), list[str](), 0.0
    ranked = (
        (not t.startswith(f"{beside}/") or "postgres" in t, durations[t], t) for t in found & durations.keys()
    )
    for is_second, seconds, test in sorted(ranked):
        if total + seconds > MOST_SECONDS and (first or second):
            break
        (second if is_second else first).append(test)
        total += seconds
    return [each for each in (first, second) if each], total


def draw(session: WorkDB, sample: int, seed: int) -> None:
    """Fill a session with all mutants, and skip all but a sample: of each place that is drawn, one by chance."""
    found = (file.relative_to(ROOT) for pattern in CORE.split() for file in sorted(ROOT.glob(pattern)))
    init([file for file in found if not LEFT_OUT.search(file.as_posix())], session, {})
    places: defaultdict[tuple[object, ...], list[tuple[str, int, str]]] = defaultdict(list)
    for item in session.work_items:
        (it,) = item.mutations
        if not FUTILE.search(it.operator_name):
            place = (str(it.module_path), it.start_pos, it.end_pos)
            places[place].append((it.operator_name, it.occurrence, item.job_id))
    chance = random.Random(seed)
    drawn = chance.sample(sorted(places), min(sample, len(places)))
    kept = {chance.choice(sorted(places[place]))[-1] for place in drawn}
    rest = [item.job_id for item in session.work_items if item.job_id not in kept]
    session.set_multiple_results(rest, SKIPPED)


def copy_tree() -> None:
    """Copy the files that git knows, or would take, and compile them."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    listing = "git ls-files -z --cached --others --exclude-standard"
    subprocess.run(f"{listing} | xargs -0 cp --parents -p -t {shlex.quote(str(COPY))}", shell=True, cwd=ROOT)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "."], cwd=COPY)


def try_out(item: WorkItem) -> WorkResult:
    """Return what the tests make of a mutant, in the present directory.

    Raises:
        SystemExit: the tests are others than those recorded.
    """
    rounds, seconds = tests_of(item.mutations[0])
    if not rounds:
        return UNREACHED
    commands = []
    for number, tests in enumerate(rounds):
        (KEPT / f"tests-{number}").write_text("\n".join(tests), encoding="utf-8")
        commands.append(shlex.join([*PYTEST, "-x", f"@{KEPT / f'tests-{number}'}"]))
    command = shlex.join(["sh", "-c", " && ".join(commands)])
    result = mutate_and_test(item.mutations, command, 30 + PATIENCE * seconds)
    if "ERROR: not found: " in (result.output or ""):
        raise SystemExit(f"the tests are others than those recorded: remove {KEPT}")
    return result


def line(place: MutationSpec, result: WorkResult) -> str:
    """Return a mutant and what became of it in one line."""
    outcome = (result.test_outcome or result.worker_outcome).value
    return f"{outcome} {place.module_path}:{place.start_pos[0]} {place.operator_name}"


def main() -> None:
    """Carry out a campaign, or go on with it, and print its report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants")
    parser.add_argument("--again", action="store_true", help="try those again that no test noticed")
    parser.add_argument("tests", nargs="*", default=TESTS, help="the tests whose reach is recorded")
    given = parser.parse_args()
    copy_tree()
    os.chdir(COPY)
    os.environ["PYTHONPATH"] = str(COPY)
    if not DURATIONS.exists():
        record(given.tests)
    name = KEPT / f"sample-{given.sample}-{given.seed}.sqlite"
    with use_db(str(name), WorkDB.Mode.create) as session:
        if not session.num_results:
            draw(session, given.sample, given.seed)
        again = {
            job
            for job, result in session.results
            if given.again and result.test_outcome and not result.is_killed
        }
        for item in [each for each in session.work_items if each.job_id in again] or [
            *session.pending_work_items
        ]:
            result = try_out(item)
            session.set_result(item.job_id, result)
            print(line(item.mutations[0], result), flush=True)
        places = {item.job_id: item.mutations[0] for item in session.work_items}
        results = [(places[job_id], result) for job_id, result in session.results if result.test_outcome]
        for place, result in results:
            if not result.is_killed:
                print(f"\n{line(place, result)}\n{result.diff or result.output}")
        killed = sum(result.is_killed for _, result in results)
        print(f"\n{killed} of {len(results)} mutants were killed ({killed / max(1, len(results)):.0%})")


if __name__ == "__main__":
    main()
