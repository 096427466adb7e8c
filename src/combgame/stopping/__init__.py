"""Stopping rules and their validity."""
