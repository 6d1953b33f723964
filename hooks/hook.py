"""What every kind of hook has in common: a name, options, and what the settings may say of it."""

from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

#: No call of a hook may take longer than a day, whatever anybody says.
MOST_SECONDS: Final = 86_400


class HookOptions(BaseModel):
    """Base of the options of hooks: a hook's own class of this kind says what its settings may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hook:
    """Base of all hooks; an instance serves all threads of a process."""

    #: What logs and errors call it: the class's name, or the entry point's once it is loaded from one.
    name: str = ""
    #: What people call hooks of this kind.
    noun: ClassVar[str] = "hook"
    #: One sentence for people.
    description: ClassVar[str] = ""
    #: Whether it is at work once it is installed; if not, the settings must say so.
    enabled_by_default: ClassVar[bool] = True
    #: What the settings may say of it, besides what they may say of every hook.
    Options: ClassVar[type[HookOptions]] = HookOptions
    options: Any = None
    #: No call of it takes longer: it is given up then, as if it had failed. The settings may say another.
    time_limit_seconds: float = 30.0

    def __init__(self, options: Any = None) -> None:
        """Keep the options, an instance of ``Options``; do not connect yet.

        Raises:
            ValueError: the options contradict each other; each line is a sentence for people and holds no secret.
        """
        self.options = self.Options() if options is None else options

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__


AnyHook = TypeVar("AnyHook", bound=Hook)


class HookSettings(BaseModel):
    """What the settings may say of every hook; whatever else they say are the hook's own options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool | None = Field(
        default=None, description="Whether it is at work; if nothing is said, as the hook itself says."
    )
    time_limit_seconds: float | None = Field(
        default=None,
        gt=0,
        le=MOST_SECONDS,
        description="No call of it takes longer: it is given up then, as if it had failed. If nothing is said, as the "
        "hook itself says.",
    )
