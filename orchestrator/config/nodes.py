"""Settings of machines: the machine-state cache, and what an agent offers and allows."""

from pathlib import Path
from typing import Any

from hooks.http.targets import Targets
from orchestrator.config.section import Section, setting


class NodeStateCacheSettings(Section):
    """The settings of the cache of machine states, and of leases."""

    backend: str = setting(
        default="",
        description="memory (of one process), file (of one machine) or redis; empty: redis if "
        "`cache_backend` or the broker is one, else file. Agents on other machines need redis.",
    )
    url: str = setting(
        default="",
        repr=False,
        description="Its URL; empty: `cache_url`, or the broker's, if they are redis. Its keys must not be "
        "evicted.",
    )
    ttl_seconds: float = setting(default=600.0, gt=0, description="How old a cached state of a node may be.")
    rpc_timeout_seconds: float = setting(
        default=10.0,
        gt=0,
        description="An agent that does not answer within this time counts as unreachable.",
    )
    watch_seconds: float = setting(
        default=300.0, gt=0, description="How often a coordinator watches all nodes."
    )
    refresh_after_seconds: float = setting(
        default=300.0, gt=0, description="A watched node whose cached state is older than this is queried."
    )
    lease_seconds: float = setting(
        default=40.0, gt=0, description="An agent without heartbeat for this time loses its lease."
    )
    heartbeat_seconds: float = setting(
        default=10.0, gt=0, description="How often an agent sends a heartbeat."
    )
    dirty_seconds: float = setting(
        default=900.0,
        gt=0,
        description="How long, at most, the state of a node is not cached after its agent died during a "
        "change or answered before the change took effect.",
    )


class ProjectSettings(Section):
    """What the templates of one project may use on this machine, besides what those of all projects may."""

    commands: tuple[str, ...] = setting(default=(), description="Its programs, besides `agent.commands`.")
    directories: tuple[Path, ...] = setting(
        default=(),
        description="Its directories, before `node_directories`: a relative path begins in the first of all.",
    )
    images: tuple[str, ...] = setting(default=(), description="Its images, besides `agent.images`.")
    networks: tuple[str, ...] = setting(default=(), description="Its networks, besides `agent.networks`.")
    targets: tuple[str, ...] = setting(
        default=(), check=Targets, description="Its targets, besides `agent.targets`."
    )
    users: tuple[str, ...] = setting(default=(), description="Its users, besides `agent.users`.")
    run_as: str = setting(default="", description="Its user, instead of `agent.run_as`.")


class AgentSettings(Section):
    """The settings of the agent on this machine."""

    labels: dict[str, str] = setting(
        default={},
        description="Labels of the node for placement, such as its rack; `--label` adds to them.",
    )
    hypervisors: dict[str, dict[str, Any]] = setting(
        default={"process": {}},
        repr=False,
        description="The hypervisors of the node, by name, each with its options: `[agent.hypervisors.qemu]`.",
    )
    storage: dict[str, dict[str, Any]] = setting(
        default={"default": {"type": "file"}},
        repr=False,
        description="The storage units of the node, by name, each with its `type` and its options.",
    )
    commands: tuple[str, ...] | None = setting(
        default=None,
        description="Patterns of the programs that may be run, such as `/usr/bin/*`: the path of the program, links "
        "followed, must match one of them. Empty: with a broker none, without one all.",
    )
    images: tuple[str, ...] | None = setting(
        default=None,
        description="Patterns of the images of containers and virtual machines: references such as "
        "`docker.io/library/*`, and paths such as `/srv/images/*`, also of kernels and initial RAM disks. Empty: with "
        "a broker none, without one all references, and paths in the allowed directories.",
    )
    networks: tuple[str, ...] | None = setting(
        default=None,
        description="Patterns of the networks that instances may be given, as `mode` or `mode:name`, such as `user` "
        "or `bridge:web`. Empty: with a broker none, without one all.",
    )
    targets: tuple[str, ...] | None = setting(
        default=None,
        check=Targets,
        description="What `ready` may probe: hosts, `*.domain`, addresses and networks, with or without a port, such "
        "as `10.8.0.0/16`. Empty: with a broker only ports of this machine on which the probed process or instance "
        "itself listens, without one everything.",
    )
    users: tuple[str, ...] = setting(
        default=(),
        description="The users under which instances may run; empty: only the agent's own.",
    )
    run_as: str = setting(
        default="",
        description="The user under which processes run, and to whom their files belong, where there is a broker and "
        "the agent is root. Empty: they are refused. An agent that is not root runs all as its own user.",
    )
    projects: dict[str, ProjectSettings] = setting(
        default={},
        description="What single projects may use besides, by project: `[agent.projects.shop]`.",
    )
    reserved_memory_mib: int = setting(
        default=0,
        ge=0,
        description="Memory that is left to the machine itself: never reserved for resources.",
    )
    memory_ratio: float = setting(
        default=1.0,
        gt=0,
        description="The share of the memory that may be reserved; above 1 is overcommitment.",
    )
    vcpu_ratio: float = setting(
        default=16.0, gt=0, description="How many virtual processors may be reserved for each processor."
    )
    backend_seconds: float = setting(
        default=5.0,
        gt=0,
        description="A hypervisor or a storage unit that does not answer within this time is left out of the "
        "snapshot.",
    )
    boot_id_file: str = setting(
        default="/proc/sys/kernel/random/boot_id", description="The file with the machine's boot id."
    )
    powercycle_command: tuple[str, ...] = setting(
        default=(),
        description="The command that reboots the machine, such as `systemctl reboot` as a list; empty: "
        "reboots are refused.",
    )
    threads: int = setting(default=8, ge=1, description="How many changes an agent makes in parallel.")
    keep_operations_days: float = setting(
        default=7.0,
        gt=0,
        description="How long an agent keeps finished operations in its journal, against late messages.",
    )
