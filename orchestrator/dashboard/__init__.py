"""The dashboard: Flower, with pages about stacks.

Here live the web application, its handlers, templates and static files. What the pages show is made in
:mod:`orchestrator.queries`; nothing here decides anything about stacks.
"""
