"""Graphs: reading them, forests, assignments."""
