"""Many runs of one rule, or of several."""
