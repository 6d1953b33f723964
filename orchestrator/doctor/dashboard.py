"""Doctor check of the dashboard: whether it could be started here."""

import os
from collections.abc import Iterator, Mapping

from orchestrator.dashboard.installed import flower_version, require_flower
from orchestrator.doctor.check import Check
from orchestrator.errors import InvalidInput


def check_dashboard(environment: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Check Flower's version and the ``FLOWER_*`` variables; yield nothing if Flower is not installed."""
    found = flower_version()
    if found is None:
        return
    name = "dashboard"
    try:
        require_flower()
    except InvalidInput as error:
        [problem] = error.problems
        yield Check(name=name, ok=False, detail=problem.message, hint=problem.hint)
        return
    if any(variable.startswith("FLOWER_") for variable in environment):
        # Imports Flower, for its options.
        from orchestrator.dashboard.options import define_options, variable_problems

        define_options()
        problems = list(variable_problems(environment))
        if problems:
            detail = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
            yield Check(name=name, ok=False, detail=detail, hint=problems[0].hint)
            return
    yield Check(name=name, ok=True, detail=f"can be started, with Flower {found}")
