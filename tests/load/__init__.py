"""``make soak``: a mixed load on real servers for as long as is wanted, and whether everything ended right."""
