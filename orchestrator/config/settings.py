"""Settings of a process, each with its unit, its default and its consequence.

Read once at start-up from ``isotherm.toml`` (in the working directory, or where ``ISOTHERM_CONFIG`` points) and
from ``ISOTHERM_*`` variables, which win.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hooks.http.targets import OWN_MACHINE, Targets
from orchestrator.config.broker_urls import require_scheme
from orchestrator.config.caches import CachePlace, ConstraintCacheSettings, cache_place
from orchestrator.config.console_links import CONSOLE_LINKS, require_links
from orchestrator.config.lifecycle import LifecycleEffectSettings
from orchestrator.config.nodes import AgentSettings, NodeStateCacheSettings
from orchestrator.config.observation import require_policies
from orchestrator.config.projects import ProjectLimitSettings
from orchestrator.config.secret import Secret
from orchestrator.config.section import Section, setting
from orchestrator.config.setting import Fault
from orchestrator.config.settings_file import file_values, settings_file
from orchestrator.config.variables import merged, source_of, values_of
from orchestrator.errors import InvalidInput, Problem


def default_state_directory() -> Path:
    """Return the default state directory, by the XDG base directory specification."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "isotherm"


class Settings(Section):
    """The settings of one process."""

    state_directory: Path = setting(
        default_factory=default_state_directory,
        description="The directory of embedded mode's database, and of the pid files and logs of node "
        "resources. It is for its owner alone: mode 0700.",
    )
    database_url: str = setting(
        default="",
        description="SQLAlchemy URL of the state of record; empty: SQLite in the state directory, without a broker "
        "only. PostgreSQL for more than one machine; with `?pooling=transaction` where it leads to PgBouncer in "
        "transaction mode.",
    )
    database_connections: int = setting(
        default=15,
        ge=1,
        description="How many connections to PostgreSQL a process has at most. A thread that does something in the "
        "database holds one, and waits for one up to 30 s; processes that use fewer open fewer.",
    )
    broker_url: str = setting(
        default="",
        check=require_scheme,
        description="Celery broker (redis:// or amqp://); empty: embedded mode, threads in this process.",
    )
    cache_backend: str = setting(
        default="",
        description="Shared caches: memory (each process its own), redis, memcached, file (of one machine), or any "
        "dogpile.cache backend; empty: by `cache_url`, else redis on the broker's server if that is Redis, else "
        "memory.",
    )
    cache_url: str = setting(
        default="",
        description="The cache server or file: redis://host:port/0, host:port for memcached, or a file's "
        "name; empty, for redis: the broker's.",
    )
    constraint_cache: ConstraintCacheSettings = setting(
        default_factory=ConstraintCacheSettings,
        description="The cache of look-ups in outside systems that validation uses.",
    )
    encryption_keys: tuple[Secret, ...] = setting(
        default=(),
        description="Fernet keys; the first encrypts, all decrypt. Encrypted are, in the store, templates, files and "
        "all values of stacks and resources, and reasons, those of events as well, and on the broker jobs, and the "
        "node data in check messages. Not encrypted are names, ids, states, the other columns of events, and jobs of "
        "clients that have no key.",
    )
    refuse_unbound_values: bool = setting(
        default=False,
        description="Read no stored value that is plain, or of the form of earlier versions, which is bound to no row: "
        "for use with `encryption_keys`, once `isotherm key reencrypt` has completed. The database itself says so from "
        "then on, where those who can write to it can change that; here they cannot.",
    )
    key_file: Path | None = setting(
        default=None,
        description="The file of the keys that sign messages on the broker, which `isotherm key create` makes; not "
        "set: `keys.json` in the state directory. Needed with a broker.",
    )
    max_message_bytes: int = setting(
        default=16 * 1024 * 1024,
        gt=0,
        description="A message on the broker with more bytes is refused, and so is a job by its sender.",
    )
    max_message_depth: int = setting(
        default=200,
        gt=0,
        description="A message on the broker whose maps and lists are nested deeper is refused, and so is a job by its "
        "sender.",
    )
    clients: dict[str, dict[str, Any]] = setting(
        default={},
        repr=False,
        description="The options of each client plugin, by its name: `[clients.http]` in the file. Options "
        "under `projects` and a project's name there apply only to that project.",
    )
    api_url: str = setting(
        default="",
        description="The address of `isotherm api` as machines of stacks reach it, such as "
        "`https://heat.example.com:8004/v1`: addresses for signals begin with it. Empty: there are none.",
    )
    signal_url_days: float = setting(
        default=365.0,
        gt=0,
        description="How long an address for signals is accepted after its resource was made.",
    )
    api_requests_per_minute: int = setting(
        default=0,
        ge=0,
        description="How many requests of each project `isotherm api` answers in a minute, in all its processes "
        "together where the shared caches are in Redis or memcached, else in each; further ones are answered with 429. "
        "A client that waits for a stack sends 12 a minute or more. 0: any number, as only the installation's owner "
        "knows how many clients a project has.",
    )
    keystone_authtoken: dict[str, Any] = setting(
        default={},
        repr=False,
        description="How `isotherm api --auth keystone` verifies tokens: the options of keystonemiddleware's section "
        "of the same name, such as `auth_url` and the user of the service.",
    )
    hidden_stack_tags: tuple[str, ...] = setting(
        default=(),
        description="Stacks with one of these tags are not in the API's list of stacks, unless hidden ones are wanted.",
    )
    api_policy_file: Path | None = setting(
        default=None,
        description="A file of `oslo.policy` with rules of `isotherm api --auth keystone` that are to differ from "
        "their defaults, which `isotherm api policy` writes.",
    )
    lifecycle: dict[str, dict[str, Any]] = setting(
        default={},
        repr=False,
        description="The options of each lifecycle plugin, by its name: `[lifecycle.limits]` in the file, with "
        "`enabled`, `time_limit_seconds`, and the plugin's own options.",
    )
    lifecycle_nested_stacks: bool = setting(
        default=True,
        description="Whether lifecycle plugins are called for operations on nested stacks, each on its own.",
    )
    lifecycle_effects: LifecycleEffectSettings = setting(
        default_factory=LifecycleEffectSettings,
        description="What a refusal and a failing `do_post_op` of lifecycle plugins do to a stack.",
    )
    event_sinks: dict[str, dict[str, Any]] = setting(
        default={},
        repr=False,
        description="The options of each event sink, by its name: `[event_sinks.webhook]` in the file, with "
        "`enabled`, `time_limit_seconds`, and the sink's own options.",
    )
    audit_events: bool = setting(
        default=False,
        description="Whether the event sinks of the settings also receive the records of the audit log, as events of "
        "the type `audit`, of no stack, whose reason is the record as JSON.",
    )
    environment_event_sinks: tuple[str, ...] = setting(
        default=(),
        description="The event sinks that environments of stacks may name. Authors of environments then "
        "decide what this machine sends, to the servers in `outgoing_targets`.",
    )
    outgoing_targets: tuple[str, ...] | None = setting(
        default=None,
        check=Targets,
        description="The servers that coordinators and workers may send requests to where an environment names them: "
        "a host, `host:port`, `*.domain`, an address, or a network such as `10.8.0.0/16`. `*` and `*.domain` permit "
        "public addresses alone. By default none, and without a broker this machine and public addresses. Servers in "
        "the settings themselves need not be listed.",
    )
    max_sink_backlog_events: int = setting(
        default=100_000,
        gt=0,
        description="How many events are kept for a sink that does not accept them, whatever else removes "
        "events; older ones are lost to it, and counted.",
    )
    project: str = setting(default="default", description="The project that stacks of this client belong to.")
    token: Secret | None = setting(
        default=None,
        description="A token of `isotherm token create`: commands then have its user's roles. Without one, commands "
        "are an administrator's. It guards against mistakes, not against who can read the settings of the database.",
    )
    token_file: Path | None = setting(
        default=None, description="The file of tokens' hashes; not set: `tokens.json` in the state directory."
    )
    authenticator: str = setting(
        default="",
        description="How the dashboard knows its users, and commands the owner of a token: `tokens`, or one that a "
        "package registers as `isotherm.authenticators`. Empty: the dashboard's own login (`--basic_auth`, `--auth`).",
    )
    policy_file: Path | None = setting(
        default=None,
        description="A YAML file, a map of operation and least role, for those that are to differ from docs/access.md.",
    )

    lease_seconds: float = setting(
        default=60.0,
        gt=0,
        description="Without heartbeat for this long, a claimed check goes to another worker. A short time "
        "risks that a slow check runs twice at once; a long one delays recovery after a crash.",
    )
    step_timeout_seconds: float = setting(
        default=3600.0,
        gt=0,
        description="A call of a resource plugin that takes longer hangs: its check goes to another worker, as a lost "
        "attempt, and the process in which it hangs is replaced. It is noticed within a third of `lease_seconds`. "
        "Longer work should be polled: actions are limited by the operation's time-out alone. So long may the queries "
        "of other systems take when a job is validated; then it is refused.",
    )
    batch_size: int = setting(
        default=32,
        ge=1,
        le=1000,
        description="How many checks of one operation a message holds, and a worker takes together, at most.",
    )
    quick_step_seconds: float = setting(
        default=0.02,
        gt=0,
        le=1,
        description="Types whose last steps took a worker no longer than this are checked together, others one by one. "
        "What a worker has taken and not begun within a second goes back to the queue.",
    )
    run_size: int = setting(
        default=32,
        ge=1,
        le=1000,
        description="How many links of a chain a worker creates in one transaction, at most, where their types declare "
        "that they only compute (`pure` in [plugins.md](plugins.md)). 1: each in a transaction of its own.",
    )
    job_lease_seconds: float = setting(
        default=60.0,
        gt=0,
        description="A job that a coordinator began is begun by another when nothing was heard of the first for so "
        "long. It is heard of three times in that.",
    )
    redeliver_seconds: float = setting(
        default=10.0,
        gt=0,
        description="A ready check that no worker claimed for this long is published again (doubled each time).",
    )
    sweep_seconds: float = setting(
        default=1.0,
        gt=0,
        description="Pause between two sweeps of a coordinator. Embedded mode sweeps more often.",
    )
    stack_timeout_minutes: float = setting(
        default=60.0,
        gt=0,
        description="A stack operation that takes longer fails, unless it has a time-out of its own.",
    )
    action_retry_limit: int = setting(
        default=5,
        ge=0,
        description="How often an action is retried after errors that its plugin classifies as retryable.",
    )
    busy_limit_seconds: float = setting(
        default=600.0,
        ge=0,
        description="How long an action is tried again while another system is busy: what it works on is in use, or it "
        "limits the rate of requests. Such tries do not count as retries.",
    )
    cleanup_retry_limit: int = setting(
        default=3,
        ge=0,
        description="How often an update retries the deletion of resources that the definition no longer "
        "has, whatever the error, before it fails with those that are left. The new definition is in service "
        "meanwhile.",
    )
    lost_attempt_limit: int = setting(
        default=5,
        ge=1,
        description="How many attempts may be lost within one operation, because their process died, hung or was not "
        "heard of any more, before the resource fails, or the operation is refused whose lifecycle plugin was called.",
    )
    retry_base_seconds: float = setting(
        default=2.0,
        gt=0,
        description="The upper bound of the pause before the first retry; it doubles with each further one.",
    )
    retry_max_seconds: float = setting(default=60.0, gt=0, description="The longest pause before a retry.")
    check_cache_mib: int = setting(
        default=64,
        ge=1,
        description="How much memory, in MiB, a worker process uses to keep what the checks of an operation have in "
        "common: its parameters, the files of its template, and the template where a check needs it. A stack takes a "
        "few KiB there; where more are under way than fit, checks read from the database what others pushed out.",
    )
    embedded_threads: int = setting(default=4, ge=1, description="Worker threads of embedded mode.")

    project_limits: ProjectLimitSettings = setting(
        default_factory=ProjectLimitSettings,
        description="The limits of every project for which `isotherm project limits set` has set no others.",
    )
    observation: Mapping[str, Mapping[str, Any]] = setting(
        default={},
        check=require_policies,
        description="The observation policy of new stacks, by project, or `*` for all others: see drift.md.",
    )
    max_template_bytes: int = setting(
        default=4 * 1024 * 1024, gt=0, description="Larger templates are refused."
    )
    max_resources_per_stack: int = setting(
        default=10_000, gt=0, description="Templates with more resources are refused."
    )
    max_snapshots_per_stack: int = setting(
        default=32, ge=0, description="The largest number of snapshots of a stack; further ones are refused."
    )
    max_template_depth: int = setting(
        default=64, gt=0, description="Templates nested deeper (maps in lists in maps) are refused."
    )
    max_events_per_stack: int = setting(
        default=10_000,
        gt=0,
        description="How many events of each stack are kept, the newest; older ones are removed when an operation on "
        "it is over.",
    )
    max_log_lines_per_resource: int = setting(
        default=1_000,
        ge=0,
        description="About how many of the lines that the steps of a resource log are kept with it, the newest; at "
        "most 100 lines and 16 000 characters of each step. 0: none.",
    )
    keep_log_lines_days: float = setting(
        default=14.0,
        gt=0,
        description="For how many days these lines are kept. Coordinators remove older ones with what "
        "ISOTHERM_PURGE_AFTER_DAYS is about, and workers those of a resource that logs more.",
    )
    purge_after_days: float = setting(
        default=90.0,
        ge=0,
        description="After how many days coordinators remove what 'isotherm db purge' removes, at most once "
        "an hour: deleted stacks, and old operations and jobs. 0: never.",
    )
    max_value_bytes: int = setting(
        default=32 * 1024 * 1024,
        gt=0,
        description="How large each value may be that a resource type leaves behind in one step: its data, its token, "
        "its metadata, each attribute. A resource that leaves more fails. Larger software configs and deployments are "
        "refused.",
    )
    max_value_depth: int = setting(
        default=200,
        gt=0,
        le=200,
        description="How deep maps and lists may be nested in these values.",
    )
    max_nested_stack_depth: int = setting(
        default=5,
        ge=0,
        description="Templates used as resources may use templates, down to this many levels.",
    )
    max_template_files: int = setting(
        default=1_000, gt=0, description="Templates with more files are refused."
    )
    max_repeat_items: int = setting(
        default=10_000, gt=0, description="The largest number of items that a call of repeat makes."
    )
    pattern_seconds: float = setting(
        default=1.0,
        gt=0,
        description="How long compiling an allowed_pattern of a template, or matching a value with it, may "
        "take before it is refused.",
    )
    evaluation_seconds: float = setting(
        default=5.0,
        gt=0,
        description="How long all calls of a template, the checks of its parameters and its patterns may take "
        "together: in one job, and in one step of a worker. Waiting for other systems does not count.",
    )
    yaql_seconds: float = setting(
        default=5.0,
        gt=0,
        description="How long the evaluation of a yaql expression may take before it fails.",
    )
    yaql_memory_mib: int = setting(
        default=256,
        ge=64,
        description="The address space, in MiB, of the process that evaluates yaql expressions, and of the one that "
        "matches patterns. An expression that needs more fails.",
    )
    fetch_urls: bool = setting(
        default=False,
        description="Whether the client fetches templates and files that are named by http or https URLs. "
        "Authors of templates then decide which URLs this machine requests.",
    )
    availability_zones: tuple[str, ...] = setting(
        default=("nova",), description="The result of Fn::GetAZs, in this order."
    )
    aws_region: str = setting(
        default="ap-southeast-1", description="The value of the parameter AWS::Region in CFN templates."
    )

    node_directories: tuple[Path, ...] = setting(
        default=(),
        description="Directories in which Isotherm::Node::File may write, in which Isotherm::Node::Process "
        "may run, and where files such as images of instances must be; empty: with a broker none, without one only "
        "the directory 'files' in the state directory.",
    )
    node_state_cache: NodeStateCacheSettings = setting(
        default_factory=NodeStateCacheSettings,
        description="The cache of the states of nodes and of their instances.",
    )
    agent: AgentSettings = setting(
        default_factory=AgentSettings,
        description="What the agent on this machine offers and allows; in embedded mode, the built-in one.",
    )
    console_links: dict[str, str] = setting(default={}, description=CONSOLE_LINKS, check=require_links)
    log_level: str = setting(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")
    log_format: str = setting(default="console", description="console or json.")
    tracing: bool = setting(
        default=False,
        description="Whether operations on stacks are exported as OpenTelemetry traces (the extra `otel`), as the "
        "variables `OTEL_EXPORTER_OTLP_ENDPOINT` and the like configure.",
    )

    @property
    def targets(self) -> Targets:
        """Where requests may be sent whose target an environment names, with the default filled in."""
        default = OWN_MACHINE if self.embedded else ()
        return Targets(default if self.outgoing_targets is None else self.outgoing_targets)

    @property
    def embedded(self) -> bool:
        """Whether this process runs everything itself, without a broker."""
        return not self.broker_url

    @property
    def cache_place(self) -> CachePlace:
        """Where the shared caches are, with the defaults filled in."""
        return cache_place(self.cache_backend, self.cache_url, self.broker_url)

    @property
    def effective_key_file(self) -> Path:
        """The file of keys."""
        return self.key_file or self.state_directory / "keys.json"

    @property
    def effective_token_file(self) -> Path:
        """The file of tokens."""
        return self.token_file or self.state_directory / "tokens.json"

    @property
    def effective_database_url(self) -> str:
        """The database URL, with the default filled in."""
        return self.database_url or f"sqlite:///{self.state_directory / 'isotherm.db'}"

    @property
    def allowed_directories(self) -> tuple[Path, ...]:
        """The directories that node resources of all projects may touch, with the default filled in."""
        if self.node_directories or not self.embedded:
            return self.node_directories
        return (self.state_directory / "files",)

    @classmethod
    def _sources(cls, given: Mapping[str, Any], faults: list[Fault]) -> Mapping[str, Any]:
        """Return the values of all sources: arguments win over ``ISOTHERM_*``, which win over the file."""
        return merged(merged(file_values(), values_of(cls, os.environ, faults)), given)

    @classmethod
    def _problem(cls, fault: Fault) -> Problem:
        source = (
            "" if fault.written_in else f" (in {source_of(fault.place, os.environ, str(settings_file()))})"
        )
        path = ".".join(("settings", *map(str, fault.place)))
        return Problem(message=f"{fault.message}{source}", path=path, hint=fault.hint)


def load_settings(**overrides: Any) -> Settings:
    """Read the settings once, at start-up.

    Raises:
        InvalidInput: a setting has an unknown name or a bad value.
    """
    file = settings_file()
    if "ISOTHERM_CONFIG" in os.environ and not file.exists():
        raise InvalidInput([Problem(path="ISOTHERM_CONFIG", message=f"there is no file {str(file)!r}")])
    return Settings(**overrides)
