"""Resource types by family: ``core`` needs no other system, ``nodes`` uses agents of machines, ``http`` calls APIs.

A module here uses the plugin contract and the external systems of its family, never the store, the queue or
another family. Types are found through entry points; nothing else imports these modules.
"""
