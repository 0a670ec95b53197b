"""The controller that is a simulation: the nine steps of S1, section 5.3, as a schedule."""

from __future__ import annotations

import networkx as nx
from simloop.master.schedule import Operation, Restore, Save, Schedule, Set, Step, Transfer, check_schedule
from simloop.master.system import System


def simulation_in_the_loop(
    system: System, *, planner: str = "planner", control: str = "control", plant: str = "plant"
) -> Schedule:
    """One macro step: plan, find the force in the control simulation, apply it, roll the control simulation back and
    replay it to where the plant went, re-seed the planner. The plant is stepped once and never undone.

    The control component has a Boolean input `replay`. Other components are stepped last, in the order in which they
    feed each other.
    """

    def transfer(source: str, target: str) -> list[Operation]:
        return [Transfer(connection) for connection in system.between(source, target)]

    loop = (planner, control, plant)
    schedule: list[Operation] = [
        Step(planner),
        *transfer(planner, control),
        Set(control, "replay", False),
        Save(control),
        Step(control),
        *transfer(control, plant),
        Step(plant),
        # A restored state brings its old inputs with it, so the measurement goes in after.
        Restore(control),
        *transfer(plant, control),
        Set(control, "replay", True),
        Step(control),
        *transfer(control, planner),
    ]
    for name in nx.lexicographical_topological_sort(system.graph.subgraph(set(system.components) - set(loop))):
        for source in system.graph.predecessors(name):
            schedule += transfer(source, name)
        schedule.append(Step(name))
    check_schedule(system, tuple(schedule))
    return tuple(schedule)
