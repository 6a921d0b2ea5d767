"""Checks and lookups that happen before the first job, in plain Python that tests can call."""
