"""The orchestration API: Heat's REST API v1 as a WSGI application; it decides nothing, every call is the service's."""
