"""Sums over all sets of a structure."""
