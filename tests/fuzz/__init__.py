"""Odd input, at random: whatever is given, what cannot be done is said in one sentence.

    python -m tests.fuzz --cases 100000 --seed 1

A case is made of its kind, a seed and a number alone, so that it can be made again. An exception
that is not of this package's family is *foreign*: a fault, which is printed with its case.
"""
