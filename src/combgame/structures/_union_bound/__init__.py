"""Answers that must be ruled out one by one, and the share of delta of each.

docs/thresholds.md, Lemma 1: if I is not best, some J is better whose difference S = I xor J is one
of those that the best answer B fixes. For each B the shares of its differences add up to at most 1:
half is spread evenly over all of them; the other half is spread over classes of them, and evenly
within each class, so that the few small differences are not charged for the many large ones.
"""
