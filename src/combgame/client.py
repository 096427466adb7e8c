"""A service's studies, as if they were here."""
