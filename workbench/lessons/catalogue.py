"""All lessons, in the order in which they build on each other."""

from collections.abc import Mapping
from typing import Final

from workbench.lessons import (
    admission_lessons,
    dispatch_lessons,
    failure_lessons,
    record_lessons,
)
from workbench.lessons.bounded_queue import BOUNDED_QUEUE
from workbench.lessons.lesson import Lesson, RunPage
from workbench.lessons.spent_lesson import SPENT_IS_NOT_SENT

GROUPS: Final[Mapping[str, tuple[Lesson | RunPage, ...]]] = {
    "The reception desk: durable admission": (
        *admission_lessons.LESSONS,
        *record_lessons.LESSONS,
    ),
    "Three vouchers: the dispatch budget": (*dispatch_lessons.LESSONS, SPENT_IS_NOT_SENT),
    "When something fails": failure_lessons.LESSONS,
    "What it does not give": (BOUNDED_QUEUE,),
}

LESSONS: Final = tuple(lesson for group in GROUPS.values() for lesson in group)


class UnknownLesson(LookupError):
    """There is no lesson of this name."""


def find_lesson(name: str) -> Lesson | RunPage:
    """Return a lesson by its name."""
    for lesson in LESSONS:
        if lesson.name == name:
            return lesson
    raise UnknownLesson(f"no lesson {name!r}; there are {', '.join(each.name for each in LESSONS)}")
