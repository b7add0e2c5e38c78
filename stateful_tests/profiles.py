"""How much Hypothesis does: the profiles `dev`, `ci` and `nightly`.

`ADMIT_ONE_PROFILE` chooses one; without it, it is `ci`, which repeats as long as the code stays.
Hypothesis has a profile of its own that is called `ci`, and loads it where `CI` is set; ours carry
a prefix, and are loaded after it.
"""

import os
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, settings

VARIABLE: Final = "ADMIT_ONE_PROFILE"
PREFIX: Final = "admit-one-"


@dataclass(frozen=True, slots=True)
class Profile:
    """How many runs a rule-based machine makes, and how long each is.

    With a seed every run of the same code is the same; without one each is another.
    `sees_everything` says that a run is long enough to meet each outcome and each fault.
    """

    name: str
    max_examples: int
    stateful_step_count: int
    seed: int | None
    sees_everything: bool


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("dev", 50, 30, seed=None, sees_everything=False),
        Profile("ci", 350, 50, seed=1, sees_everything=True),
        Profile("nightly", 10_000, 80, seed=None, sees_everything=True),
    )
}
DEFAULT: Final = "ci"


def choose_profile() -> Profile:
    """Return the profile that the environment asks for."""
    name = os.environ.get(VARIABLE, DEFAULT)
    if name not in PROFILES:
        raise LookupError(f"{VARIABLE} is {name!r}; there are {', '.join(PROFILES)}")
    return PROFILES[name]


def load_profile() -> Profile:
    """Make the chosen profile the one that Hypothesis uses, for tests of any kind."""
    for profile in PROFILES.values():
        options: dict[str, Any] = {
            "max_examples": profile.max_examples,
            "stateful_step_count": profile.stateful_step_count,
            "deadline": None,
            # A step opens files, which a health check takes for slow generation.
            "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
        }
        if profile.seed is not None:  # the same every time: nothing remembered, nothing by chance
            options |= {"derandomize": True, "database": None}
        settings.register_profile(PREFIX + profile.name, **options)
    chosen = choose_profile()
    settings.load_profile(PREFIX + chosen.name)
    return chosen
