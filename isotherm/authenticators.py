"""Contract of authenticators, which tell from a credential who a caller is.

``Authenticator``
    base of authenticators, whose classes are named by the entry points ``isotherm.authenticators``
``Identity``
    who a caller is: a name, and a role by project; ``*`` is all projects
"""

from orchestrator.access.authenticators import Authenticator
from orchestrator.model.identity import Identity

__all__ = ["Authenticator", "Identity"]
