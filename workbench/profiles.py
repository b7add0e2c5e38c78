"""How much `verify` checks: the plan of each profile, as a list of checks.

quick fits before every merge (at most 60 s on two cores), full before a release (15 min),
nightly takes as long as it takes.
"""

from enum import StrEnum

from workbench.check import Check

MACHINES = ("admission", "reservation")


class Profile(StrEnum):
    """How much is checked."""

    QUICK = "quick"
    FULL = "full"
    NIGHTLY = "nightly"


WALK_STEPS = {Profile.QUICK: 2_000, Profile.FULL: 40_000, Profile.NIGHTLY: 400_000}


def plan_checks(profile: Profile, machines: tuple[str, ...], seed: int) -> tuple[Check, ...]:
    """Return the checks of a profile, in the order in which they are reported."""
    checks: list[Check] = []
    for machine in machines:
        checks += _plan_model(profile, machine)
        checks += _plan_conformance(profile, machine, seed)
    return tuple(checks)


def _plan_model(profile: Profile, machine: str) -> list[Check]:
    """Return the searches of the model alone."""
    scopes = {"TINY": 1.0, "SMALL": 15.0}
    if profile is not Profile.QUICK:
        scopes |= {"MEDIUM": 60.0}
    checks = [
        Check(
            f"model {machine} {scope}",
            "workbench.engines:check_model",
            {"machine": machine, "scope": scope, "watches_every_call": scope != "MEDIUM"},
            weight,
        )
        for scope, weight in scopes.items()
    ]
    if machine == "admission":
        crosschecks = {"X-ids-tenants": 6.0}
        if profile is not Profile.QUICK:
            crosschecks |= {"X-ids": 12.0, "X": 70.0}
        checks += [
            Check(
                f"model {machine} {scope}",
                "workbench.engines:check_model",
                {"machine": machine, "scope": scope, "watches_every_call": False},
                weight,
            )
            for scope, weight in crosschecks.items()
        ]
    return checks


def _plan_conformance(profile: Profile, machine: str, seed: int) -> list[Check]:
    """Return the engines that hold the implementation against the model, call by call."""
    scopes = {"TINY": 2.0}
    if profile is not Profile.QUICK:
        scopes |= {"SMALL": 200.0}
    checks = [
        Check(
            f"exhaustive {machine} {scope}",
            "workbench.engines:check_conformance",
            {"machine": machine, "scope": scope},
            weight,
        )
        for scope, weight in scopes.items()
    ]
    walked = "SMALL"
    checks.append(
        Check(
            f"walk {machine} {walked}",
            "workbench.engines:check_walk",
            {"machine": machine, "scope": walked, "seed": seed, "steps": WALK_STEPS[profile]},
            WALK_STEPS[profile] / 700,
        )
    )
    return checks
