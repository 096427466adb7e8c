"""Durable storage: logs of events for studies, and what any file of data needs."""
