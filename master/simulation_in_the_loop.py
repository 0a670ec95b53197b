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

    The control component has a Boolean input `replay`. Other components are observers: stepped last, in the order in
    which they feed each other; what they feed back into the loop arrives in the next macro step.
    """
    loop = (planner, control, plant)
    for name in loop:
        if name not in system.components:
            raise NameNotFoundError("component", name, system.components)

    def transfer(sources: Iterable[str], target: str) -> list[Operation]:
        return [Transfer(connection) for source in sources for connection in system.between(source, target)]

    schedule: list[Operation] = [
        Step(planner),
        *transfer([planner], control),
        Set(control, "replay", False),
        Save(control),
        Step(control),
        *transfer([planner, control], plant),
        plant_step or Step(plant),
        # A restored state brings its old inputs with it, so the measurement goes in after.
        Restore(control),
        *transfer([plant], control),
        Set(control, "replay", True),
        Step(control),
        *transfer([plant, control], planner),
    ]
    observers = _in_order(system, set(system.components) - set(loop))
    for name in observers:
        schedule += transfer(system.graph.predecessors(name), name)
        schedule.append(Step(name))
    for name in loop:
        schedule += transfer(observers, name)
    check_schedule(system, tuple(schedule))
    return tuple(schedule)


def _in_order(system: System, observers: set[str]) -> list[str]:
    graph = system.graph.subgraph(observers)
    try:
        return list(nx.lexicographical_topological_sort(graph))
    except nx.NetworkXUnfeasible:
        ring = " -> ".join(source for source, *_ in nx.find_cycle(graph))
        raise WiringError(f"the components outside the loop feed each other in a ring: {ring}") from None
