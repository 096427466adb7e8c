"""The game itself: the round, what it needs of its parts, and the two engines that play it."""
