"""The settings of the constraint cache: what is said for all client plugins, and for single ones."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ClientCacheSettings(BaseModel):
    """What is said for one client plugin; what is not given is as for all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool | None = Field(default=None, description="Whether answers of this client are remembered.")
    backend: str | None = Field(
        default=None, description="Where they are remembered: a name as for `cache_backend`."
    )
    url: str | None = Field(
        default=None,
        repr=False,
        description="Where that is. Not given, with the same backend as all: `cache_url`.",
    )
    arguments: dict[str, Any] | None = Field(
        default=None, repr=False, description="What else that backend is told."
    )
    expiration_seconds: float | None = Field(default=None, gt=0, description="How old an answer may be.")
    max_entries: int | None = Field(default=None, gt=0, description="How many answers are remembered.")


class ConstraintCacheSettings(BaseModel):
    """What is said for all client plugins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(
        default=True,
        description="Whether it is remembered, for all workers, that something exists in an outside system (an image, "
        "a network): a stack whose resources share a name asks for it once. That something does not exist is never "
        "remembered. Kept where `cache_backend` says.",
    )
    expiration_seconds: float = Field(
        default=60.0,
        gt=0,
        description="How old an answer may be. What is deleted outside is taken for existing this much longer.",
    )
    max_entries: int = Field(
        default=10_000,
        gt=0,
        description="How many answers are remembered of each client; beyond that the oldest go. Memcached and "
        "dogpile.cache's own backends have limits of their own instead.",
    )
    lock_seconds: float = Field(
        default=20.0,
        gt=0,
        description="One worker asks for all; one that is killed meanwhile holds up those who want the same answer for "
        "so long. An answer that takes longer is not remembered.",
    )
    arguments: dict[str, Any] = Field(
        default={},
        repr=False,
        description="What else the backend is told: `timeout_seconds` (1; memcached, redis, file), "
        "`connection_kwargs` of redis-py (redis), or what the documentation of a dogpile.cache backend says.",
    )
    clients: dict[str, ClientCacheSettings] = Field(
        default={}, description="What is different for single clients, by their names."
    )
