"""The doctor: what an installation can reach, what is wrong with it, and what to do; one file a subject."""
