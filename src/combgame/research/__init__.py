"""The research wing: campaigns, the benchmark, published instances."""
