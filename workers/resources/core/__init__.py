"""Resource types that need no cloud: their objects are rows only.

They work everywhere, offline and in embedded mode too; a type that calls another system belongs
to another family.
"""
