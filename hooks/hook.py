"""Hooks of every kind: a name, options, and common settings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from hooks.options import HookOptions


class OptionsAt:
    """A class of options that is imported when it is first read: pydantic takes long to import."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __get__(self, instance: object, owner: type) -> Any:
        return getattr(import_module(self._module), self._name)


class _DefaultOptions:
    """The options of a hook that was made without any, made when they are first read."""

    def __get__(self, instance: "Hook | None", owner: "type[Hook]") -> Any:
        if instance is not None:
            # It takes the place of this object, of which the class has no setter.
            instance.options = owner.Options()
            return instance.options
        return None


# Typed as what is read.
_NO_OPTIONS: Any = OptionsAt("hooks.options", "HookOptions")
_DEFAULT_OPTIONS: Any = _DefaultOptions()


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
    Options: "ClassVar[type[HookOptions]]" = _NO_OPTIONS
    options: Any = _DEFAULT_OPTIONS
    #: The time-out of a call, after which it is given up as failed. The settings may override it.
    time_limit_seconds: float = 30.0

    def __init__(self, options: Any = None) -> None:
        """Keep the options, an instance of ``Options``, by default one without arguments; do not connect yet.

        Raises:
            ValueError: the options contradict each other; each line is a sentence for operators, without secrets.
        """
        if options is not None:
            self.options = options

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__


AnyHook = TypeVar("AnyHook", bound=Hook)
