"""The round, the protocols of the kernels that it calls, and the engines that run it."""
