"""Diagnosis of an installation: read-only checks of settings and services, with remedies; one file a subject."""
