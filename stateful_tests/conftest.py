"""Loads the profile of Hypothesis before any test is collected."""

from stateful_tests.profiles import VARIABLE, load_profile

PROFILE = load_profile()


def pytest_report_header() -> str:
    """Return the line that names the profile at the head of a run."""
    return f"admit-one profile: {PROFILE.name} (set {VARIABLE} for another)"
