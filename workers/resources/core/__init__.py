"""Resource types that need no cloud: they exist nowhere but in their row.

What lives here works everywhere, offline and in embedded mode too; a type that talks to anything else belongs
to another family.
"""
