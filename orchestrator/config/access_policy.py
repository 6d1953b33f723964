"""The policy of an installation: the table of the code, with the changes of the setting ``policy_file``."""

from typing import TYPE_CHECKING

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.policy import Policy

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings


def load_policy(settings: "Settings") -> Policy:
    """Return the policy; read at the start of a process.

    Raises:
        InvalidInput: the file cannot be read, or names an unknown operation or role.
    """
    path = settings.policy_file
    if path is None:
        return Policy()
    import yaml

    try:
        data = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise _problem(str(path), f"the policy cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _problem(str(path), f"the policy is no YAML: {error}") from error
    return Policy.of(data, file=str(path))


def _problem(file: str, message: str) -> InvalidInput:
    hint = (
        "expected is a map of operation and role, such as 'stack.delete: administrator'; see docs/access.md"
    )
    return InvalidInput([Problem(path=file, message=message, hint=hint)])
