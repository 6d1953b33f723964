"""Options of the dashboard: Flower's, some with other defaults, and ours.

All errors are reported together at the start, and never with an option's value, which may be a password.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flower.command import apply_env_options, apply_options
from flower.options import DEFAULT_CONFIG_FILE
from flower.utils import strtobool
from flower.utils.authentication import validate_auth_option
from tornado.auth import OAuth2Mixin
from tornado.options import Error, OptionParser, define, options

from hooks.values.nearest import Nearest
from orchestrator.dashboard.access import Mode
from orchestrator.dashboard.login import provider_named
from orchestrator.errors import InvalidInput, Problem, typed_message

#: Flower's options that have another default here.
DEFAULTS: Final = {
    # Without authentication everyone who reaches the address can read everything: local users only by default.
    "address": "127.0.0.1",
    # Flower keeps 100 000 tasks, which is half a gigabyte. The pages about stacks need none of them.
    "max_tasks": 20_000,
    # Otherwise every process that ever sent a message stays in the metrics.
    "purge_offline_workers": 60,
    # Without kwargs every row would show only resource.check.
    "tasks_columns": "name,kwargs,state,received,started,runtime,worker",
}

#: Further variables that Flower reads, or their prefixes.
_READ_ELSEWHERE: Final = ("FLOWER_UNAUTHENTICATED_API", "FLOWER_OAUTH2_", "FLOWER_GITHUB_", "FLOWER_GITLAB_")
#: Tornado's words for true and false.
_WORDS: Final = frozenset({"true", "t", "1", "false", "f", "0"})
#: Flower's login handlers.
_PROVIDERS: Final = tuple(
    f"flower.views.auth.{kind}LoginHandler" for kind in ("GoogleAuth2", "Github", "GitLab", "Okta")
)
_HINTS: Final = {"bool": "write true or false", "int": "a whole number is expected"}


def define_options(parser: OptionParser = options) -> None:
    """Define our options and set our defaults; safe to repeat."""
    if "stack_actions" in parser:
        return
    define(
        "stack_actions",
        default=False,
        type=bool,
        help="allow operators to cancel, retry, delete and signal stacks (requires --auth or --basic_auth)",
    )
    define(
        "stack_operators",
        default=None,
        type=str,
        multiple=True,
        help="the operators: user names of --basic_auth, or emails; all other users are viewers",
    )
    define(
        "stack_hosts",
        default=None,
        type=str,
        multiple=True,
        help="host names with a dot under which pages are served without authentication",
    )
    define(
        "max_streams_per_client",
        default=100,
        type=int,
        help="how many streams, one for each open page, a user may have; without login, an address",
    )
    define(
        "max_body_bytes",
        default=2 * 1024 * 1024,
        type=int,
        help="requests with a larger body are refused before it is read",
    )
    for name, value in DEFAULTS.items():
        parser._options[name.replace("_", "-")].default = value  # noqa: SLF001  # Tornado has no other way


def read_options(program: str, arguments: Sequence[str], *, embedded: bool, tokens: bool = False) -> None:
    """Read the options from ``FLOWER_*`` variables, Flower's configuration file and the command line.

    With ``tokens`` the authenticator of the settings knows the visitors.

    Raises:
        InvalidInput: options are unknown, malformed, or contradict each other.
    """
    define_options()
    problems = [*argument_problems(arguments), *variable_problems(os.environ)]
    if problems:
        raise InvalidInput(problems)
    apply_env_options()
    try:
        apply_options(program, arguments)
    except Error as error:
        raise InvalidInput([Problem(message=str(error), hint="options are written --name=value")]) from error
    except Exception as error:
        # Flower executes the file as Python: any exception is possible.
        place, what = options.conf or DEFAULT_CONFIG_FILE, typed_message(error)
        problem = Problem(path=f"--conf={place}", message=f"the configuration file cannot be used: {what}")
        raise InvalidInput([problem]) from error
    problems = list(problems_of(options, embedded=embedded, tokens=tokens))
    if problems:
        raise InvalidInput(problems)


def argument_problems(arguments: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each argument that is not an option, or has a value of another type.

    Flower would ignore the former silently, and take any word for true.
    """
    known, nearest, before = _by_name(), Nearest(), ""
    for argument in arguments:
        name, has_value, value = argument.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if not argument.startswith("-"):
            # Without the argument: it may be a password.
            hint = f"write --{before}=VALUE" if before else "write --name=value"
            yield Problem(
                path=f"--{before}" if before else "",
                message="an option is expected, found a value",
                hint=hint,
            )
        elif name not in known:
            near = nearest.among(name, known)
            hint = (
                f"did you mean --{near}?"
                if near
                else "see isotherm dashboard --help for how to write options"
            )
            yield Problem(path=f"--{name}", message="there is no such option", hint=hint)
        elif has_value and not _fits(known[name], value, _WORDS.__contains__):
            kind = known[name].type.__name__
            yield Problem(path=f"--{name}", message=f"its value is no {kind}", hint=_HINTS.get(kind, ""))
        before = name if argument.startswith("-") and name in known and not has_value else ""


def _by_name() -> dict[str, Any]:
    return {option.name.replace("-", "_"): option for option in options._options.values()}  # noqa: SLF001


def _fits(option: Any, value: str, is_word: Callable[[str], bool]) -> bool:
    """Whether an option accepts a value; ``is_word`` decides whether a text in lower case is a truth value."""
    if option.type is bool:
        return is_word(value.lower())
    if option.type not in (int, float):
        return True
    try:
        for each in value.split(",") if option.multiple else [value]:
            option.type(each)
    except ValueError:
        return False
    return True


def problems_of(given: Any, *, embedded: bool, tokens: bool = False) -> Iterator[Problem]:
    """Yield the problems of options that are valid by themselves, but not together or for this installation."""
    for number, each in enumerate(given.basic_auth or (), 1):
        if ":" not in each or each.startswith(":"):
            # Without the value: it may be a password.
            yield Problem(
                path="--basic_auth",
                message=f"value {number} is not NAME:PASSWORD",
                hint="put a colon in between",
            )
    if given.auth and not validate_auth_option(given.auth):
        expected = "expected is an address, several with | between them, or one with a single * before its @"
        yield Problem(path="--auth", message=f"{given.auth!r} cannot be used: {expected}")
    yield from _problems_of_login(given)
    if bool(given.certfile) != bool(given.keyfile):
        yield Problem(
            path="--certfile, --keyfile", message="one of them is given, and both are needed for TLS"
        )
    for name in ("certfile", "keyfile", "ca_certs"):
        place = getattr(given, name)
        if place and not Path(place).expanduser().is_file():
            yield Problem(path=f"--{name}", message=f"there is no file {place!r}")
    for name in ("max_streams_per_client", "max_body_bytes"):
        if getattr(given, name) < 1:
            yield Problem(path=f"--{name}", message=f"at least 1 is expected, found {getattr(given, name)}")
    yield from _problems_of_roles(Mode.of(given, embedded=embedded, tokens=tokens))


def _problems_of_login(given: Any) -> Iterator[Problem]:
    """Yield the problems that make login by OAuth impossible, or skip it."""
    if not given.auth:
        if given.auth_provider:
            message = "without --auth no login is required"
            yield Problem(path="--auth_provider", message=message, hint="name the allowed users with --auth")
        return
    if not given.auth_provider:
        message = "login would be impossible: no --auth_provider is named"
        yield Problem(path="--auth", message=message, hint=f"such as --auth_provider={_PROVIDERS[0]}")
        return
    handler = provider_named(given.auth_provider)
    if handler is None:
        hint = Nearest().hint(given.auth_provider, _PROVIDERS)
        message = f"{given.auth_provider!r} is no handler that logs in"
        yield Problem(path="--auth_provider", message=message, hint=hint)
    elif issubclass(handler, OAuth2Mixin):
        for name in ("oauth2_key", "oauth2_secret", "oauth2_redirect_uri"):
            if not getattr(given, name) and not os.environ.get(f"FLOWER_{name.upper()}"):
                message = f"{handler.__name__} needs it for logins"
                yield Problem(path=f"--{name}", message=message)


def _problems_of_roles(mode: Mode) -> Iterator[Problem]:
    if mode.tokens:
        # The authenticator has the names and the roles; two logins would be two answers to who a visitor is.
        other = {"--basic_auth": mode.users, "--auth": mode.pattern, "--stack_operators": mode.operators}
        for name in (name for name, is_given in other.items() if is_given):
            message = "the setting 'authenticator' decides who visitors are"
            yield Problem(path=name, message=message, hint="leave one of them out")
        return
    if not mode.authenticates:
        named = {"--stack_actions": mode.actions, "--stack_operators": bool(mode.operators)}
        for name in (name for name, is_given in named.items() if is_given):
            yield Problem(
                path=name,
                message="there is no authentication, so no user has a name",
                hint="add --basic_auth=NAME:PASSWORD, or --auth and what belongs to it",
            )
        return
    if mode.actions and not mode.operators:
        hint = (
            f"for example --stack_operators={mode.users[0]}"
            if mode.users
            else "name the emails of the operators"
        )
        yield Problem(path="--stack_actions", message="there is no operator who could act", hint=hint)
    nearest = Nearest()
    for name in sorted(mode.operators):
        if not mode.lets_in(name):
            option = "--auth" if mode.pattern else "--basic_auth"
            hint = (
                nearest.hint(name, mode.users) if not mode.pattern else "operators are named as they log in"
            )
            yield Problem(path="--stack_operators", message=f"{option} lets no {name!r} in", hint=hint)


def variable_problems(variables: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each variable with an invalid value, and for each with a misspelt name.

    Flower would ignore the latter silently, and possibly run without authentication.
    """
    known = {f"FLOWER_{name.upper()}": option for name, option in _by_name().items()}
    short, nearest = [name.removeprefix("FLOWER_") for name in (*known, *_READ_ELSEWHERE)], Nearest()
    for variable, value in variables.items():
        if not variable.startswith("FLOWER_") or variable.startswith(_READ_ELSEWHERE):
            continue
        if variable not in known:
            # Only near misses: Kubernetes sets FLOWER_* variables for a service that is called flower.
            near = nearest.among(variable.removeprefix("FLOWER_"), short)
            if near:
                hint = f"did you mean FLOWER_{near}?"
                yield Problem(path=variable, message="there is no option of this name", hint=hint)
        elif not _fits(known[variable], value, _is_word_of_flower):
            kind = known[variable].type.__name__
            yield Problem(path=variable, message=f"its value is no {kind}", hint=_HINTS.get(kind, ""))


def _is_word_of_flower(text: str) -> bool:
    try:
        strtobool(text)
    except ValueError:
        return False
    return True
