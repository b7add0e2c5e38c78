"""Measures the speed of each engine."""
