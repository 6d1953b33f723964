"""Hooks of every kind: a name, options, and common settings."""

from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

#: The limit of every hook's time-out: a day.
MOST_SECONDS: Final = 86_400


class HookOptions(BaseModel):
    """Base of the options of hooks; a hook's own subclass declares its settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hook:
    """Base of all hooks; an instance serves all threads of a process."""

    #: The name in logs and errors: the class's, or the entry point's once it is loaded from one.
    name: str = ""
    #: What this kind of hook is called in messages.
    noun: ClassVar[str] = "hook"
    #: One sentence, shown to operators.
    description: ClassVar[str] = ""
    #: Whether it is enabled once installed; if not, the settings must enable it.
    enabled_by_default: ClassVar[bool] = True
    #: The class of its own settings, besides those of every hook.
    Options: ClassVar[type[HookOptions]] = HookOptions
    options: Any = None
    #: The time-out of a call, after which it is given up as failed. The settings may override it.
    time_limit_seconds: float = 30.0

    def __init__(self, options: Any = None) -> None:
        """Keep the options, an instance of ``Options``; do not connect yet.

        Raises:
            ValueError: the options contradict each other; each line is a sentence for operators, without secrets.
        """
        self.options = self.Options() if options is None else options

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__


AnyHook = TypeVar("AnyHook", bound=Hook)


class HookSettings(BaseModel):
    """The settings of every hook; all others are the hook's own options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool | None = Field(
        default=None, description="Whether it is enabled; by default as the hook itself defines."
    )
    time_limit_seconds: float | None = Field(
        default=None,
        gt=0,
        le=MOST_SECONDS,
        description="No call of it takes longer: it is given up then, as if it had failed. By default as the hook "
        "itself defines.",
    )
