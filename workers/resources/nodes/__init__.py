"""Resource types for what is on nodes: instances, volumes, files and processes, and the groups that place them.

Nothing here touches a machine: an agent does (:mod:`workers.agent`), and each change is asked for under an id that is
the same however often a step is run. A node that is silent is waited for, and never taken for one on which nothing is.
"""
