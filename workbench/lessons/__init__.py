"""Lessons: why each rule of the two protocols is there, from the specification that runs.

Nothing stands here twice. The rules' sentences come from `docs/protocols.md`, the code from the
model's own source, the wrong designs from the planted mistakes, and traces, counts and answers
from the engines, which run when a lesson is asked for.

Read in this order: `lesson.py` (what a lesson is), one file of lessons, `catalogue.py`, `build.py`
(from a lesson to the blocks of a page), then `terminal.py` and `html.py`.
"""
