"""Catalogue of installed plugins, for users and programs: resource types, custom constraints, client plugins.

Everything is read from the plugins' classes. Descriptions are plain types; pages are rendered from descriptions by
templates of this package. Nothing here knows a stack or the store. Texts of plugins are cut where they are too long,
and never rendered as markup.
"""
