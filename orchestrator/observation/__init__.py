"""What people look at of an operation: its graph, its timeline, why it failed, what it changed.

Here live the pure functions that make pictures of facts, and the reader that fetches the facts from the store. The
dashboard and the terminal show the same pictures. No HTML, no terminal, and no SQL here.
"""
