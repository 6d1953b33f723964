"""What is installed, described for people and programs: resource types, custom constraints, client plugins.

Everything is read off the classes that packages bring. Descriptions are plain types; pages are made of descriptions,
by templates that come with this package. Nothing here knows a stack or the store, and whatever a plugin says is text:
it is cut where it is too long, and never taken for markup.
"""
