"""How much `verify` checks: the plan of each profile, as a list of checks.

quick fits before every merge (at most 60 s on two cores), full before a release (15 min),
nightly takes as long as it takes.
"""

from enum import StrEnum

from model.checking.explore import Watch
from workbench.check import Check

MACHINES = ("admission", "reservation")


class Profile(StrEnum):
    """How much is checked."""

    QUICK = "quick"
    FULL = "full"
    NIGHTLY = "nightly"


EXAMPLES = {Profile.QUICK: 40, Profile.FULL: 600, Profile.NIGHTLY: 6_000}
EXAMPLE_STEPS = 30
HISTORIES = {Profile.QUICK: 10, Profile.FULL: 250, Profile.NIGHTLY: 2_500}
"""Histories of each machine: 20 in the quick profile, 500 in the full one."""
MOST_SECONDS = {Profile.QUICK: 300.0, Profile.FULL: 3_600.0, Profile.NIGHTLY: 86_400.0}
"""The time that one check may take; far more than any takes that comes to an end."""
NARROW = {
    "admission": {"SUMS": 10.0, "TEXTS": 0.5},
    "reservation": {"FIELDS": 1.0, "TWICE": 0.5, "IDS": 4.0, "CONFLICTS": 2.0},
}
"""The scopes that look at one thing each, with the weight of their conformance."""
WALK_STEPS = {Profile.QUICK: 2_000, Profile.FULL: 40_000, Profile.NIGHTLY: 400_000}


def plan_checks(profile: Profile, machines: tuple[str, ...], seed: int) -> tuple[Check, ...]:
    """Return the checks of a profile, in the order in which they are reported."""
    checks: list[Check] = []
    for machine in machines:
        checks += _plan_model(profile, machine)
        checks += _plan_conformance(profile, machine, seed)
        checks += _plan_machine(profile, machine, seed)
        checks += _plan_crashes(profile, machine, seed)
    if len(machines) > 1:
        checks += _plan_both(profile, seed)
    return tuple(checks)


def _plan_model(profile: Profile, machine: str) -> list[Check]:
    """Return the searches of the model alone, each with what it watches and its weight."""
    is_quick = profile is Profile.QUICK
    scopes = {"TINY": (Watch.EVERY_CALL, 1.0)}
    scopes["SMALL"] = (Watch.CHANGES, 8.0) if is_quick else (Watch.EVERY_CALL, 25.0)
    scopes |= {name: (Watch.EVERY_CALL, weight / 5) for name, weight in NARROW[machine].items()}
    if machine == "admission":
        scopes["X-ids-tenants"] = (Watch.NOTHING, 6.0)
    if not is_quick:
        scopes["MEDIUM"] = (Watch.CHANGES, 60.0)
    if machine == "admission" and not is_quick:
        scopes |= {"X-ids": (Watch.NOTHING, 12.0), "X": (Watch.NOTHING, 70.0)}
    return [
        Check(
            f"model {machine} {scope}",
            "workbench.engines:check_model",
            {"machine": machine, "scope": scope, "watch": watch},
            weight,
        )
        for scope, (watch, weight) in scopes.items()
    ]


def _plan_conformance(profile: Profile, machine: str, seed: int) -> list[Check]:
    """Return the engines that hold the implementation against the model, call by call."""
    scopes = {"TINY": 2.0, **NARROW[machine]}
    if profile is not Profile.QUICK:
        scopes["SMALL"] = 200.0
    checks = [
        Check(
            f"exhaustive {machine} {scope}",
            "workbench.engines:check_conformance",
            {"machine": machine, "scope": scope, "profile": str(profile)},
            weight,
        )
        for scope, weight in scopes.items()
    ]
    walked = "SMALL"
    checks.append(
        Check(
            f"walk {machine} {walked}",
            "workbench.engines:check_walk",
            {
                "machine": machine,
                "scope": walked,
                "seed": seed,
                "steps": WALK_STEPS[profile],
                "profile": str(profile),
            },
            WALK_STEPS[profile] / 700,
        )
    )
    return checks


def _plan_machine(profile: Profile, machine: str, seed: int) -> list[Check]:
    """Return the rule-based machine."""
    examples = EXAMPLES[profile]
    options = {
        "machine": machine,
        "examples": examples,
        "steps": EXAMPLE_STEPS,
        "seed": seed,
        "profile": str(profile),
    }
    check = "workbench.hypothesis_engine:check_machine"
    return [Check(f"hypothesis {machine}", check, options, examples / 8)]


def _plan_crashes(profile: Profile, machine: str, seed: int) -> list[Check]:
    """Return what happens when processes die, meet or lose power; the weights are rough."""
    deep = {"machine": machine, "profile": str(profile), "seed": seed}
    runs = HISTORIES[profile]
    histories = {"machine": machine, "runs": runs, "seed": seed}
    factor = 1.0 if profile is Profile.QUICK else 30.0
    engines = "workbench.crash_engines"
    return [
        Check(f"crash {machine}", f"{engines}:check_exits", deep, 6.0 * factor),
        Check(
            f"schedules {machine}", "workbench.schedule_engine:check_schedules", deep, 6.0 * factor
        ),
        Check(f"histories {machine}", f"{engines}:check_histories", histories, runs / 6),
        Check(
            f"power-loss {machine}",
            "workbench.commands.power_loss:check_power_loss",
            deep,
            3.0 * factor,
        ),
        Check(
            f"deaths-inside-commit {machine}",
            "workbench.commands.power_loss:check_deaths_inside_commit",
            {"machine": machine, "most_cases": 1 if profile is Profile.QUICK else None},
            2.0 if profile is Profile.QUICK else 20.0,
        ),
    ]


def _plan_both(profile: Profile, seed: int) -> list[Check]:
    """Return what is about both machines at once."""
    return [
        Check(
            "contests",
            "workbench.crash_engines:check_contests",
            {"profile": profile, "seed": seed},
            4.0 if profile is Profile.QUICK else 30.0,
        ),
        Check("experiment", "workbench.crash_engines:check_frozen_scenarios", {}, 3.0),
    ]
