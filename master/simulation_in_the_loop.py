"""The controller that is a simulation: the nine steps of S1, section 5.3, as a schedule."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
from simloop.master.errors import NameNotFoundError, WiringError
from simloop.master.schedule import Operation, Restore, Save, Schedule, Set, Step, Transfer, check_schedule
from simloop.master.system import System


def simulation_in_the_loop(
    system: System,
    *,
    planner: str = "planner",
    control: str = "control",
    plant: str = "plant",
    plant_step: Operation | None = None,
) -> Schedule:
    """One macro step: plan, find the force in the control simulation, apply it, roll the control simulation back and
    replay it to where the plant went, re-seed the planner. The plant is stepped once and never undone, unless
    `plant_step` says otherwise, such as a Locate.

    The control component has a Boolean input `replay`. Components on the way from planner to control, such as a command
    gate or a filter, are stepped between the two, in the order in which they feed each other. All others are observers:
    stepped last, likewise in order. What observers, control or plant feed back arrives in the next macro step.
    """
    loop = (planner, control, plant)
    for name in loop:
        if name not in system.components:
            raise NameNotFoundError("component", name, system.components)

    def transfer(sources: Iterable[str], target: str) -> list[Operation]:
        return [Transfer(connection) for source in sources for connection in system.between(source, target)]

    commands = _in_order(system, _between(system, planner, control, plant))
    schedule: list[Operation] = [Step(planner)]
    for name in commands:
        schedule += [*transfer([planner, *commands], name), Step(name)]
    schedule += [
        *transfer([planner, *commands], control),
        Set(control, "replay", False),
        Save(control),
        Step(control),
        *transfer([planner, *commands, control], plant),
        plant_step or Step(plant),
        # A restored state brings its old inputs with it, so the measurement goes in after.
        Restore(control),
        *transfer([plant], control),
        Set(control, "replay", True),
        Step(control),
        *transfer([plant, control, *commands], planner),
    ]
    for name in commands:
        schedule += transfer([plant, control], name)
    observers = _in_order(system, set(system.components) - {*loop, *commands})
    for name in observers:
        schedule += transfer(system.graph.predecessors(name), name)
        schedule.append(Step(name))
    for name in (*loop, *commands):
        schedule += transfer(observers, name)
    check_schedule(system, tuple(schedule))
    return tuple(schedule)


def _between(system: System, planner: str, control: str, plant: str) -> set[str]:
    """The components on a way from planner to control that does not lead round through the loop."""
    names = set(system.components)
    after = nx.descendants(system.graph.subgraph(names - {control, plant}), planner)
    before = nx.ancestors(system.graph.subgraph(names - {planner, plant}), control)
    found: set[str] = after & before
    return found


def _in_order(system: System, names: set[str]) -> list[str]:
    graph = system.graph.subgraph(names)
    try:
        return list(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        ring = " -> ".join(source for source, *_ in nx.find_cycle(graph))
        raise WiringError(f"the components around the loop feed each other in a ring: {ring}") from None
