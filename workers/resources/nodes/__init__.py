"""Resource types for objects on machines: instances, volumes, files and processes, and their placement groups.

Nothing here touches a machine: its agent does (:mod:`workers.agent`), and each change has an operation id that is
the same however often a step is run. A silent machine is waited for, and never taken for an empty one.
"""
