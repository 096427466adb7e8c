"""When to stop, and what licenses it."""
