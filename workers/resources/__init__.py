"""Resource types by family: ``core`` needs nothing outside the stack, ``nodes`` has the agents of nodes act.

A module here knows the plugin contract and the outside world of its family, never the store, the queue or
another family. Types are found through entry points; nothing else imports these modules.
"""
