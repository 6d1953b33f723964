"""Resource types for the machine a worker runs on: files and processes.

What lives here touches the disk and the process table, inside the directories that the settings allow, and
writes down in the state directory what it is about to do before it does it. Nothing here talks to another
machine.
"""
