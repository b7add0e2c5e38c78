"""Planted mistakes: proof that the engines, and each property of a model, catch what they are for.

A mutant is a named text change to one file, with the rule that it breaks and the engine that must
kill it. It is loaded in memory and never written to the tree.

Read in this order: `mutant.py`, one file of mutants, `catalogue.py`, `kills.py`; `matrix.py` runs
them by the hundred, each in a process of its own.
"""
