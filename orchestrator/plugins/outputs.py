"""The outputs of other stacks, as a resource type may read them."""

from typing import Any, Protocol

from orchestrator.errors import PluginMistake


class StackOutputs(Protocol):
    """What :attr:`orchestrator.plugins.resource.Resource.outputs` does.

    A stack of another project is readable only as far as that project shares its outputs, which is checked at every
    call. A project that may not read an output gets the same error as for one that does not exist.
    """

    def value(self, stack: str, output: str, *, project: str = "") -> Any:
        """Return the present value of an output of the stack with this name or id; of the own project by default.

        Raises:
            ResourceFailure: there is no such output, it may not be read, or it has no value.
            Busy: an operation is under way on the stack.
        """

    def read(self, stack: str, output: str, *, project: str = "") -> Any:
        """Return the value as :meth:`value` does, and record that the resource reads this output, in an action alone.

        It is recorded first: a stack that is read is not deleted, and stacks do not read each other in a circle. May be
        called again; a resource reads one output.

        Raises:
            ResourceFailure: as for :meth:`value`; or the stacks would read each other in a circle.
            Busy: an operation is under way on the stack.
            Conflict: another attempt has taken over.
        """


def no_outputs() -> StackOutputs:
    """Refuse: outputs are read in the steps of an action and in observations alone.

    Raises:
        PluginMistake: always.
    """
    raise PluginMistake("self.outputs may be used in an action or an observation alone")
