"""Searches with certified bounds for the nearest alternative."""
