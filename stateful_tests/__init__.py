"""Tests of the specification, and of implementations against it."""
