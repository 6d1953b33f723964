"""The settings of nodes: what is remembered of them, and what an agent offers and allows."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class NodeStateCacheSettings(BaseModel):
    """Where and how long it is remembered what nodes are and what runs on them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str = Field(
        default="",
        description="memory (of one process), file (of one machine) or redis; empty: redis where `cache_backend` or "
        "the broker is one, else file. Agents on other machines need redis.",
    )
    url: str = Field(
        default="",
        repr=False,
        description="Where that is; empty: `cache_url`, or the broker's, if they are redis. Its keys must not be "
        "evicted.",
    )
    ttl_seconds: float = Field(default=600.0, gt=0, description="How old a node's state may be.")
    rpc_timeout_seconds: float = Field(
        default=10.0,
        gt=0,
        description="An agent that does not answer within so long is taken for unreachable.",
    )
    watch_seconds: float = Field(
        default=300.0, gt=0, description="How often a coordinator looks after all nodes."
    )
    refresh_after_seconds: float = Field(
        default=300.0, gt=0, description="What is older than this when it looks is asked for again."
    )
    lease_seconds: float = Field(
        default=40.0, gt=0, description="An agent that says nothing for so long has lost its name."
    )
    heartbeat_seconds: float = Field(
        default=10.0, gt=0, description="How often an agent says that it is there."
    )
    dirty_seconds: float = Field(
        default=900.0,
        gt=0,
        description="Nothing is remembered of a node, for so long at most, whose agent died in the middle of a change "
        "or answered before the change could be seen.",
    )


class AgentSettings(BaseModel):
    """What the agent on this machine offers, and what it allows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: dict[str, str] = Field(
        default={},
        description="What is said of the node for placement, such as its rack; `--label` adds to it.",
    )
    hypervisors: dict[str, dict[str, Any]] = Field(
        default={"process": {}},
        repr=False,
        description="The hypervisors that are offered, by name, each with its options: `[agent.hypervisors.qemu]`.",
    )
    storage: dict[str, dict[str, Any]] = Field(
        default={"default": {"type": "file"}},
        repr=False,
        description="The storage units that are offered, by name, each with its `type` and its options.",
    )
    commands: tuple[str, ...] = Field(
        default=("*",),
        description="Patterns of the programs that may be run, such as `/usr/bin/*`: the path of the program, links "
        "followed, must match one of them.",
    )
    users: tuple[str, ...] = Field(
        default=(),
        description="The users under which instances may run; empty: only the agent's own.",
    )
    reserved_memory_mib: int = Field(
        default=0, ge=0, description="Memory that is left to the machine itself: not promised to anybody."
    )
    memory_ratio: float = Field(
        default=1.0, gt=0, description="So much of the memory may be promised; above 1 more than there is."
    )
    vcpu_ratio: float = Field(
        default=16.0, gt=0, description="So many virtual processors may be promised for each one there is."
    )
    backend_seconds: float = Field(
        default=5.0,
        gt=0,
        description="A hypervisor or a storage that does not tell within so long is left out.",
    )
    boot_id_file: str = Field(
        default="/proc/sys/kernel/random/boot_id", description="Where the machine's boot id is read."
    )
    powercycle_command: tuple[str, ...] = Field(
        default=(),
        description="The command that starts the machine anew, such as `systemctl reboot` as a list; empty: it is "
        "refused.",
    )
    threads: int = Field(default=8, ge=1, description="How many changes an agent makes at once.")
    keep_operations_days: float = Field(
        default=7.0, gt=0, description="How long an agent remembers what it has done, against late messages."
    )
