"""A system: components and the connections between their variables, on a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
from simloop.master.component import Component, Value, elements
from simloop.master.errors import NameNotFoundError, SimloopError, WiringError
from simloop.master.measure import convert
from simloop.master.transform import IDENTITY, Linear, Scalar, Transform, compose, side_by_side
from simloop.master.values import Family, check_value, family


@dataclass(frozen=True)
class Connection:
    """Output variables of one component that drive as many input variables of another, as they are or transformed."""

    source: str
    outputs: tuple[str, ...]
    target: str
    inputs: tuple[str, ...]
    transform: Transform | None = None


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
        if not component.name or "" in component.name.split("."):
            raise WiringError(f"a component cannot be named {component.name!r}: a name, or names with dots, is needed")
        for other in self.components:
            if component.name == other:
                raise WiringError(f"there are two components named {other!r}")
            if component.name.startswith(f"{other}.") or other.startswith(f"{component.name}."):
                raise WiringError(
                    f"{component.name!r} and {other!r} cannot both be components: one is inside the other"
                )
        self.components[component.name] = component
        self.graph.add_node(component.name)

    def connect(
        self,
        source: str,
        target: str,
        *,
        factor: float = 1.0,
        offset: float = 0.0,
        transform: Scalar | None = None,
    ) -> None:
        """Join an output to an input, such as "planner.q_d" to "control.q_d": scalars, or vectors of one length.

        The values are converted to the unit of the input, by the definitions of both units, and are then
        factor · value + offset. A `transform` is used as it is, in place of all that.
        """
        (one, outputs), (other, inputs) = self.resolve(source), self.resolve(target)
        ends = f"{source} and {target}"
        if len(outputs) != len(inputs):
            raise WiringError(
                f"{ends} cannot be joined: {source} has {len(outputs)} elements and {target} has {len(inputs)}"
            )
        after = _checked_linear(ends, factor, offset)
        pairs = zip(outputs, inputs, strict=True)
        transforms = [transform or _conversion(one, output, other, taken, after) for output, taken in pairs]
        self.join(one.name, outputs, other.name, inputs, transforms)

    def join(
        self,
        source: str,
        outputs: Sequence[str],
        target: str,
        inputs: Sequence[str],
        transforms: Sequence[Scalar | None],
    ) -> None:
        """Join variables of two components one by one, as one connection; the transforms are used as they are."""
        one, other = self.components[source], self.components[target]
        for output, taken in zip(outputs, inputs, strict=True):
            self._check_pair(one, output, other, taken)
        for output, taken in zip(outputs, inputs, strict=True):
            self._drivers[target, taken] = f"{source}.{output}"
        change = side_by_side([None if transform == IDENTITY else transform for transform in transforms])
        connection = Connection(source, tuple(outputs), target, tuple(inputs), change)
        self.graph.add_edge(source, target, connection=connection)

    def _check_pair(self, one: Component, output: str, other: Component, taken: str) -> None:
        source, target = one.variables[output], other.variables[taken]
        ends = f"{one.name}.{output} and {other.name}.{taken}"
        if source.causality != "output" or target.causality != "input":
            kinds = f"{source.causality} and {target.causality}"
            raise WiringError(f"{ends} cannot be joined: an output must drive an input, these are {kinds}")
        if family(source) is not family(target):
            raise WiringError(f"{ends} cannot be joined: their types are {source.type} and {target.type}")
        driver = self._drivers.get((other.name, taken))
        if driver is not None:
            raise WiringError(f"{other.name}.{taken} is driven by {driver}, it cannot be by {one.name}.{output} too")

    def set(self, name: str, value: Value | Sequence[Value]) -> None:
        """Give a parameter, or an input that nothing drives, a value from the start on.

        A vector takes a sequence of its length, or one value for each of its elements.
        """
        component, names = self.resolve(name)
        values = [value] * len(names) if isinstance(value, str | bytes | float | int) else list(value)
        if len(values) != len(names):
            raise WiringError(f"{name} has {len(names)} elements, but {len(values)} values were given")
        checked = [self._check_set(component, *pair) for pair in zip(names, values, strict=True)]
        self.values |= {(component.name, variable): one for variable, one in zip(names, checked, strict=True)}

    def start(self, name: str, value: Value) -> None:
        """Give any one variable a value before the start, such as an output its first; the unit may refuse it."""
        component, (variable, *others) = self.resolve(name)
        if others:
            raise WiringError(f"{name} has {len(others) + 1} elements; name one, such as {variable}")
        self.values[component.name, variable] = check_value(component.name, component.variables[variable], value)

    def _check_set(self, component: Component, name: str, value: Value) -> Value:
        variable = component.variables[name]
        if variable.causality not in ("parameter", "input"):
            raise WiringError(f"{component.name}.{name} is not a parameter or an input and cannot be set")
        driver = self._drivers.get((component.name, name))
        if driver is not None:
            raise WiringError(f"{component.name}.{name} is driven by {driver} and cannot be set")
        return check_value(component.name, variable, value)

    def resolve(self, name: str) -> tuple[Component, list[str]]:
        """The component and the scalar variables that "component.variable" means."""
        words = name.split(".")
        for i in range(1, len(words)):
            component = self.components.get(".".join(words[:i]))
            if component is not None and any(words[i:]):
                return component, elements(component, ".".join(words[i:]))
        raise NameNotFoundError("variable", name, self._names())

    def _names(self) -> Iterable[str]:
        """Every name that can be resolved."""
        scalars = {f"{c}.{v}" for c, component in self.components.items() for v in component.variables}
        return scalars | {name.partition("[")[0] for name in scalars}

    def writable(self) -> list[tuple[str, str]]:
        """What may be written while a run goes on: inputs that nothing drives, and tunable parameters."""
        return [
            (component.name, name)
            for component in self.components.values()
            for name in component.variables
            if not self._why_not_written(component, name)
        ]

    def resolve_writable(self, name: str) -> tuple[Component, list[str]]:
        """As `resolve`, for what is `writable`; another name is refused with the reason."""
        component, names = self.resolve(name)
        for each in names:
            why = self._why_not_written(component, each)
            if why:
                raise WiringError(f"{component.name}.{each} cannot be written while a run goes on: {why}")
        return component, names

    def _why_not_written(self, component: Component, name: str) -> str:
        variable, driver = component.variables[name], self._drivers.get((component.name, name))
        if driver is not None:
            return f"it is driven by {driver}"
        if variable.causality not in ("input", "parameter"):
            return f"its causality is {variable.causality}, so it is not a free input or a tunable parameter"
        if variable.causality == "parameter" and variable.variability != "tunable":
            return "it is a parameter that is fixed at the start; set it before that (System.set, or --set)"
        return ""

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
            if (name, variable) not in known and family(self.components[name].variables[variable]) is Family.REAL
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


def _checked_linear(ends: str, factor: float, offset: float) -> Linear:
    for name, value in (("factor", factor), ("offset", offset)):
        if not math.isfinite(value):
            raise WiringError(f"{ends} cannot be joined: the {name} is {value}, a finite number is needed")
    return Linear(float(factor), float(offset))


def _conversion(one: Component, output: str, other: Component, taken: str, after: Linear) -> Scalar | None:
    """From the unit of an output to that of an input, and then `after`; None where nothing changes."""
    source, target = one.variables[output], other.variables[taken]
    ends = f"{one.name}.{output} and {other.name}.{taken}"
    if family(source) is not Family.REAL and after != IDENTITY:
        raise WiringError(f"{ends} cannot be joined with a factor or an offset: they are {source.type}, not Real")
    if source.measure is not None and target.measure is not None:
        between = convert(source.measure, target.measure)
        if between is None:
            raise WiringError(f"{ends} cannot be joined: their units are {source.measure} and {target.measure}")
        return compose([between, after])
    if source.unit != target.unit and source.unit is not None and target.unit is not None:
        unknown = f"{one.name}.{output}" if source.measure is None else f"{other.name}.{taken}"
        raise WiringError(
            f"{ends} cannot be joined: their units are {source.unit} and {target.unit}, and that of {unknown} "
            "has no definition"
        )
    return compose([after])
