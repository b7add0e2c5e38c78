"""The profile of Hypothesis is chosen by the environment, and is always one of ours."""

import pytest
from hypothesis import settings

from stateful_tests.profiles import DEFAULT, PREFIX, PROFILES, VARIABLE, choose_profile


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_chosen_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each profile can be asked for, and Hypothesis knows it under a name of its own."""
    monkeypatch.setenv(VARIABLE, name)

    assert choose_profile().name == name
    assert settings.get_profile(PREFIX + name).max_examples == PROFILES[name].max_examples
    assert settings.get_profile(PREFIX + name).deadline is None


def test_without_a_choice_the_run_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default has a seed, and remembers nothing of earlier runs."""
    monkeypatch.delenv(VARIABLE, raising=False)
    chosen = choose_profile()

    assert chosen.name == DEFAULT
    assert chosen.seed is not None
    assert settings.get_profile(PREFIX + DEFAULT).derandomize


def test_an_unknown_profile_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip in the name never runs less than was asked for."""
    monkeypatch.setenv(VARIABLE, "nightl")

    with pytest.raises(LookupError, match="nightl"):
        choose_profile()
