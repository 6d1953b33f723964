"""Settings: how one process is set up, checked when it starts.

Only values and their problems; what is built from settings lives in the room that uses it.
"""
