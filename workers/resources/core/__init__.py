"""Resource types that need no cloud: they exist nowhere but in their row.

What lives here works everywhere, also offline and in embedded mode; a type that talks to anything else belongs
to another family.
"""
