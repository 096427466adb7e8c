"""Simulations: many runs of one rule, or of several rules."""
