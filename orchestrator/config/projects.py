"""Settings of the limits of projects."""

from orchestrator.config.section import Section, setting


class ProjectLimitSettings(Section):
    """The limits of each project for which an administrator set no others."""

    stacks: int | None = setting(
        default=None,
        ge=0,
        description="How many stacks a project may have, nested ones not counted. Unset: any.",
    )
    resources: int | None = setting(
        default=None,
        ge=0,
        description="How many resources a project may have in all stacks, nested ones included. Unset: any.",
    )
    jobs: int | None = setting(
        default=10_000, ge=0, description="How many jobs of a project may wait; further ones are refused."
    )
    evaluation_seconds: float | None = setting(
        default=None,
        ge=0,
        description="How many seconds of processor time the evaluation of templates may take in the jobs of a project, "
        "a minute. Unset: any; `evaluation_seconds` limits each job.",
    )
    streams: int | None = setting(
        default=None,
        ge=0,
        description="How many streams of a project's events a dashboard opens. Unset: any.",
    )
    template_bytes: int | None = setting(
        default=None,
        ge=0,
        description="How many bytes a job's template, files and environments may have together. Unset: any; "
        "`max_template_bytes` limits each template.",
    )
    software: int | None = setting(
        default=None,
        ge=0,
        description="How many software configs and deployments a project may have together. Unset: any.",
    )
