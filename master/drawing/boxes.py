"""The boxes and arrows of a drawing. Lengths are in pixels, y down."""

from __future__ import annotations

from dataclasses import dataclass, field

# Boxes and ports stand on a grid of half a row, so that two lines are either one or well apart.
ROW = 24.0  # a port
HEAD = 36.0  # a box's name
FOOT = 12.0
BETWEEN = 36.0  # two boxes of a column
LANE = 14.0  # two arrows side by side
MARGIN = 24.0
Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """From an output port of one box to an input port of another, or of the same."""

    source: str
    output: str
    target: str
    input: str


@dataclass
class Box:
    """A component, or (without a name to show) the place where an arrow passes through a column."""

    name: str
    width: float = 0.0
    x: float = 0.0
    y: float = 0.0
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    passing: bool = False

    @property
    def height(self) -> float:
        return ROW if self.passing else HEAD + ROW * max(len(self.inputs), len(self.outputs), 1) + FOOT

    def port(self, ports: list[str], name: str) -> float:
        """The height of a port."""
        return self.y + (ROW / 2 if self.passing else HEAD + ROW * (ports.index(name) + 0.5))


@dataclass
class Layout:
    boxes: dict[str, Box]
    routes: list[list[Point]]
    """The corners of each arrow, in the order in which the arrows were given."""
    width: float
    height: float
