"""Rules of ``oslo.policy``, with Heat's names: what callers with keystone's roles may do.

Defaults are Heat's, but for what has secrets in it, which readers do not see, and administrators, who may act in every
project. A policy file of the installation has others.
"""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from oslo_config import cfg
from oslo_policy import policy

from hooks.values.nearest import nearest
from orchestrator.api.described import description_of
from orchestrator.api.openapi import METHODS
from orchestrator.api.routes import routes
from orchestrator.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from orchestrator.api.door import Door

_ADMINISTRATOR: Final = "rule:context_is_admin"
_READER: Final = f"{_ADMINISTRATOR} or (role:reader and project_id:%(project_id)s)"
_MEMBER: Final = f"{_ADMINISTRATOR} or (role:member and project_id:%(project_id)s)"
_NOBODY: Final = "!"
#: What needs another role than reader for a GET, and member for the rest.
_OTHERS: Final[Mapping[str, str]] = {
    "stacks:preview": _READER,
    # These may have secrets in them.
    "stacks:environment": _MEMBER,
    "stacks:files": _MEMBER,
    "stacks:export": _MEMBER,
    "software_configs:show": _MEMBER,
    "software_deployments:index": _MEMBER,
    "software_deployments:show": _MEMBER,
    "software_deployments:metadata": _MEMBER,
    "stacks:lookup": _READER,
    "service:index": _ADMINISTRATOR,
}
#: Rules for a part of what an address does: what each is about, its default, and the rule whose addresses it is about.
_FINER: Final[Mapping[str, tuple[str, str, str]]] = {
    "stacks:global_index": ("List the stacks of all projects.", _NOBODY, "stacks:index"),
    "stacks:update_no_change": (
        "Update a stack without a change.",
        "rule:stacks:update_patch",
        "stacks:update_patch",
    ),
    **{
        f"actions:{action}": (f"The action {action}.", "rule:actions:action", "actions:action")
        for action in ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback")
    },
}


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules with their defaults, as ``oslopolicy-sample-generator --namespace isotherm`` shows them."""
    administrator = "(role:admin and is_admin_project:True) or (role:admin and system_scope:all)"
    found: list[policy.RuleDefault] = [
        policy.RuleDefault("context_is_admin", administrator, "Who may act in every project.")
    ]
    operations: dict[str, list[policy.Operation]] = {}
    summaries: dict[str, str] = {}
    # What answers is looked at here, and does not answer.
    for path, face in routes(cast("Door", None)):
        for method in METHODS:
            description = description_of(face, method)
            if description is None or not description.rule:
                continue
            operations.setdefault(description.rule, []).append({"path": path, "method": method})
            what = (inspect.getdoc(face), inspect.getdoc(getattr(face, f"on_{method.lower()}")))
            summaries.setdefault(description.rule, " ".join(each or "" for each in what))
    for rule, where in operations.items():
        usual = _READER if all(each["method"] == "GET" for each in where) else _MEMBER
        found.append(policy.DocumentedRuleDefault(rule, _OTHERS.get(rule, usual), summaries[rule], where))
    for rule, (summary, default, whole) in _FINER.items():
        found.append(policy.DocumentedRuleDefault(rule, default, summary, operations[whole]))
    return found


class Rules:
    """Decides by the rules, with those of a file over the defaults; the file is read again when it changes.

    Raises:
        InvalidInput: the file cannot be read, is malformed, or has a rule of another name.
    """

    def __init__(self, file: Path | None) -> None:
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[], default_config_dirs=[])
        self._enforcer = policy.Enforcer(
            conf, policy_file=None if file is None else str(file), use_conf=file is not None
        )
        # It would look for more files in directories of the system.
        conf.set_override("policy_dirs", [], group="oslo_policy")
        defaults = list_rules()
        self._enforcer.register_defaults(defaults)
        if file is not None:
            self._check(file)
        else:
            rules = policy.Rules({rule.name: rule.check for rule in defaults})
            self._enforcer.set_rules(rules, use_conf=False)

    def _check(self, file: Path) -> None:
        try:
            file.read_bytes()
            self._enforcer.load_rules(force_reload=True)
            self._enforcer.check_rules(raise_on_violation=True)
        except OSError as error:
            raise _problem(file, f"the rules cannot be read: {error.strerror}") from error
        except policy.InvalidDefinitionError as error:
            raise _problem(file, f"rules name rules that are not there, or each other: {error}") from error
        except Exception as error:
            # The library has many, of the parts that it is made of.
            raise _problem(file, f"the rules are malformed: {error}") from error
        known = self._enforcer.registered_rules
        problems = [
            Problem(path=f"{file}: {name}", message=f"{name!r} is no rule", hint=nearest(name, known))
            for name in self._enforcer.file_rules
            # Rules that others refer to may have any name, but no name of an operation.
            if name not in known and ":" in name
        ]
        if problems:
            raise InvalidInput(problems)

    def allows(self, rule: str, environ: Mapping[str, object], project: str) -> bool:
        """Return whether the caller that keystonemiddleware verified may do what a rule is about in a project."""
        return bool(self._enforcer.authorize(rule, {"project_id": project}, _credentials(environ)))

    def is_everywhere(self, environ: Mapping[str, object]) -> bool:
        """Return whether the caller may act in every project."""
        return self.allows("context_is_admin", environ, "")


def _problem(file: Path, message: str) -> InvalidInput:
    hint = "expected is a file of oslo.policy; isotherm api policy writes one with all rules"
    return InvalidInput([Problem(path=str(file), message=message, hint=hint)])


def _credentials(environ: Mapping[str, object]) -> dict[str, Any]:
    """Return what rules compare: who the caller is, and in what scope."""

    def said(name: str) -> str:
        return str(environ.get(f"HTTP_{name}", ""))

    return {
        "roles": [each.strip() for each in said("X_ROLES").split(",") if each.strip()],
        "user_id": said("X_USER_ID"),
        "project_id": said("X_PROJECT_ID") or None,
        "system_scope": said("OPENSTACK_SYSTEM_SCOPE") or None,
        "is_admin_project": said("X_IS_ADMIN_PROJECT") == "True",
    }
