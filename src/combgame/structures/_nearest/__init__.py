"""How the nearest alternative is found: searches and certified bounds."""
