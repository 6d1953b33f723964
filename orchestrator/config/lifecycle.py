"""Settings of what a refusal and a failing ``do_post_op`` of lifecycle plugins do to a stack."""

from typing import Literal

from orchestrator.config.section import Section, setting

#: Nothing of the operation is left but its record; or the stack is FAILED with the plugin's reason.
Effect = Literal["refuse", "fail"]


class LifecycleEffectSettings(Section):
    """The effect of lifecycle plugins on stacks: for all, by project, and by plugin."""

    default: Effect = setting(
        default="refuse",
        description="What a refusal and a failing `do_post_op` of a lifecycle plugin do to a stack. `refuse`: a "
        "refused operation does not begin, and an error after one is only recorded. `fail`: the stack is FAILED with "
        "the plugin's reason.",
    )
    projects: dict[str, Effect] = setting(
        default={}, description="The same for single projects, by name; takes precedence over `default`."
    )
    plugins: dict[str, Effect] = setting(
        default={}, description="The same for single plugins, by name; takes precedence over both others."
    )

    def fails(self, plugin: str, project: str) -> bool:
        """Return whether a plugin's refusal or error fails the stacks of a project."""
        return self.plugins.get(plugin, self.projects.get(project, self.default)) == "fail"
