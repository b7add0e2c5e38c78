"""Binds an implementation to a model and compares the two step by step."""
