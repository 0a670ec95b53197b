"""A system: components and the connections between their variables, on a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
from simloop.master.component import NUMBERS, Component, Value, check_number, elements
from simloop.master.errors import NameNotFoundError, SimloopError, WiringError


@dataclass(frozen=True)
class Connection:
    """Output variables of one component that drive as many input variables of another."""

    source: str
    outputs: tuple[str, ...]
    target: str
    inputs: tuple[str, ...]


class System:
    """Components by name, what connects them, and the values set from outside.

    `graph` has a node a component and an edge a connection; the edge's `connection` is a Connection.
    """

    def __init__(self, components: Iterable[Component] = ()) -> None:
        self.graph = nx.MultiDiGraph()
        self.components: dict[str, Component] = {}
        self.values: dict[tuple[str, str], Value] = {}
        self._drivers: dict[tuple[str, str], str] = {}
        self._started = False
        for component in components:
            self.add(component)

    def add(self, component: Component) -> None:
        if not component.name or "." in component.name:
            raise WiringError(f"a component cannot be named {component.name!r}: a name without a dot is needed")
        if component.name in self.components:
            raise WiringError(f"there are two components named {component.name!r}")
        self.components[component.name] = component
        self.graph.add_node(component.name)

    def connect(self, source: str, target: str) -> None:
        """Join an output to an input, such as "planner.q_d" to "control.q_d": scalars, or vectors of one length."""
        (one, outputs), (other, inputs) = self.resolve(source), self.resolve(target)
        ends = f"{source} and {target}"
        if len(outputs) != len(inputs):
            raise WiringError(
                f"{ends} cannot be joined: {source} has {len(outputs)} elements and {target} has {len(inputs)}"
            )
        for output, taken in zip(outputs, inputs, strict=True):
            self._check_pair(one, output, other, taken)
        for output, taken in zip(outputs, inputs, strict=True):
            self._drivers[other.name, taken] = f"{one.name}.{output}"
        connection = Connection(one.name, tuple(outputs), other.name, tuple(inputs))
        self.graph.add_edge(one.name, other.name, connection=connection)

    def _check_pair(self, one: Component, output: str, other: Component, taken: str) -> None:
        source, target = one.variables[output], other.variables[taken]
        ends = f"{one.name}.{output} and {other.name}.{taken}"
        if source.causality != "output" or target.causality != "input":
            kinds = f"{source.causality} and {target.causality}"
            raise WiringError(f"{ends} cannot be joined: an output must drive an input, these are {kinds}")
        if source.type not in NUMBERS or target.type not in NUMBERS:
            raise WiringError(f"{ends} cannot be joined: only Real, Integer and Boolean variables can")
        if source.type != target.type:
            raise WiringError(f"{ends} cannot be joined: their types are {source.type} and {target.type}")
        if source.unit != target.unit and source.unit is not None and target.unit is not None:
            raise WiringError(f"{ends} cannot be joined: their units are {source.unit} and {target.unit}")
        driver = self._drivers.get((other.name, taken))
        if driver is not None:
            raise WiringError(f"{other.name}.{taken} is driven by {driver}, it cannot be by {one.name}.{output} too")

    def set(self, name: str, value: Value | Sequence[Value]) -> None:
        """Give a parameter, or an input that nothing drives, a value from the start on.

        A vector takes a sequence of its length, or one value for each of its elements.
        """
        component, names = self.resolve(name)
        values = [value] * len(names) if isinstance(value, str | float | int) else list(value)
        if len(values) != len(names):
            raise WiringError(f"{name} has {len(names)} elements, but {len(values)} values were given")
        checked = [self._check_set(component, *pair) for pair in zip(names, values, strict=True)]
        self.values |= {(component.name, variable): one for variable, one in zip(names, checked, strict=True)}

    def _check_set(self, component: Component, name: str, value: Value) -> Value:
        variable = component.variables[name]
        if variable.causality not in ("parameter", "input"):
            raise WiringError(f"{component.name}.{name} is not a parameter or an input and cannot be set")
        driver = self._drivers.get((component.name, name))
        if driver is not None:
            raise WiringError(f"{component.name}.{name} is driven by {driver} and cannot be set")
        if variable.type == "String":
            return str(value)
        number = check_number(component.name, variable, value)
        if variable.type == "Boolean":
            return bool(number)
        return int(number) if variable.type == "Integer" else number

    def resolve(self, name: str) -> tuple[Component, list[str]]:
        """The component and the scalar variables that "component.variable" means."""
        prefix, _, variable = name.partition(".")
        component = self.components.get(prefix)
        if component is None or not variable:
            raise NameNotFoundError("variable", name, self._names())
        return component, elements(component, variable)

    def _names(self) -> Iterable[str]:
        """Every name that can be resolved."""
        scalars = {f"{c}.{v}" for c, component in self.components.items() for v in component.variables}
        return scalars | {name.partition("[")[0] for name in scalars}

    def between(self, source: str, target: str) -> list[Connection]:
        """The connections from one component to another, in the order they were made."""
        edges = self.graph.get_edge_data(source, target, default={})
        return [edge["connection"] for edge in edges.values()]

    def connections(self) -> list[Connection]:
        return [connection for _, _, connection in self.graph.edges(data="connection")]

    def undriven_inputs(self) -> list[tuple[str, str]]:
        """Inputs that nothing drives, whether set or not."""
        return [
            (name, variable.name)
            for name, component in self.components.items()
            for variable in component.variables.values()
            if variable.causality == "input" and (name, variable.name) not in self._drivers
        ]

    def check(self, scheduled: Iterable[tuple[str, str]] = ()) -> None:
        """Every input must be driven, set, or written by the schedule, and not two of these. An input that is no Real
        is a switch: it may be left as the unit starts it."""
        for name, variable in scheduled:
            if (name, variable) in self.values or (name, variable) in self._drivers:
                raise WiringError(f"{name}.{variable} is written by the schedule, nothing else can drive or set it")
        known = {*self.values, *scheduled}
        loose = [
            f"{name}.{variable}"
            for name, variable in self.undriven_inputs()
            if (name, variable) not in known and self.components[name].variables[variable].type == "Real"
        ]
        if loose:
            raise WiringError(f"nothing drives {', '.join(loose)}: connect an output to it or set it")

    def enter_initialization(self, time: float = 0.0) -> None:
        """Set what was given from outside and let every component begin its initialisation."""
        if self._started:
            raise SimloopError("this system has run already; make a new one for another run")
        self._started = True
        for (name, variable), value in self.values.items():
            self.components[name].set(variable, value)
        for component in self.components.values():
            component.enter_initialization(time)

    def exit_initialization(self) -> None:
        for component in self.components.values():
            component.exit_initialization()

    def close(self) -> None:
        for component in self.components.values():
            component.close()
