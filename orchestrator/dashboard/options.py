"""Options: Flower's, with other defaults where they suit stacks better, and ours beside them."""

from typing import Final

from tornado.options import OptionParser, define, options

#: Flower's options that have another default here.
DEFAULTS: Final = {
    # Whoever reaches an address may read all there is, unless there is authentication: nobody else, to begin with.
    "address": "127.0.0.1",
    # Flower keeps 100 000 tasks, which is half a gigabyte. The pages about stacks need none of them.
    "max_tasks": 20_000,
    # Every process that ever sent a message stays in the metrics otherwise.
    "purge_offline_workers": 60,
    # Without kwargs every row would read resource.check and nothing more.
    "tasks_columns": "name,kwargs,state,received,started,runtime,worker",
}


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
        help="who is an operator: user names of --basic_auth, or emails; everybody else is a viewer",
    )
    for name, value in DEFAULTS.items():
        parser._options[name.replace("_", "-")].default = value  # noqa: SLF001  # Tornado has no other way
