"""Durable logs of events."""
