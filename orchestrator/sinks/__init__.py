"""Event sinks are told what happened: who tells them, how fast, and what happens to those that do not listen.

Nothing here is on the path of a stack: what was committed is read again from the history.
"""
