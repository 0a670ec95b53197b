from pathlib import Path

from simloop.fmus.export import build_all
from simloop.master import FmuComponent, System, run, simulation_in_the_loop
from simloop.models.robots.sphere import ROBOT

units = build_all(ROBOT, Path("units"))
system = System(FmuComponent(name, units[name]) for name in ("planner", "control", "plant"))
for wire in ("planner.q_d control.q_d", "control.tau plant.tau", "plant.q control.q_measured", "control.q planner.q"):
    system.connect(*wire.split())
system.connect("control.v", "planner.v")
for name, value in {"planner.goal[3]": 1.0, "plant.mass_error": 0.1, "plant.f_ext": 0.0}.items():
    system.set(name, value)
result = run(system, simulation_in_the_loop(system), step="1/2000", duration=8)
print("largest tracking error:", abs(result["plant.q[1]"] - result["planner.q_d[1]"]).max(), "m")
