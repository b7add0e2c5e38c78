"""Reference implementations of the two protocols, one package for each storage.

This package shares no code with the specification that judges it, on purpose.
Read `impl.sqlite.admission` first.
"""
