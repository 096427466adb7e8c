"""Results without playing: evidence, characteristic times and oracle stopping times."""
