"""What can be said without playing: evidence, the characteristic time, the limit of a threshold."""
