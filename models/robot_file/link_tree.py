"""The links of a robot as a tree: which of them are tools, and which joints move none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# How ROS-Industrial calls the frame that a tool is screwed to (REP-199).
FLANGE = "tool0"
# The names an error lists before it says that there are more.
_LISTED = 12


@dataclass(frozen=True)
class LinkTree:
    """`parents` has each link's parent ("" for the base's); `moving` are the links that a joint moves against their
    parent; `sites` are named frames, each on a link."""

    parents: Mapping[str, str]
    moving: frozenset[str]
    sites: Mapping[str, str] = field(default_factory=dict)

    def movers(self, link: str) -> list[str]:
        """The links at and above this one that a joint moves, the nearest first."""
        found = []
        while link:
            if link in self.moving:
                found.append(link)
            link = self.parents[link]
        return found

    def held(self, tools: Sequence[str]) -> set[str]:
        """Moving links that move no tool."""
        used = {mover for tool in tools for mover in self.movers(self.sites.get(tool, tool))}
        return set(self.moving) - used

    def choose_tools(self, wanted: Sequence[str]) -> tuple[tuple[str, ...], str, str]:
        """The tools, a problem if they cannot be told, and what to say of them if they were not named."""
        if wanted:
            return self._check_tools(wanted)
        sites = [site for site, link in self.sites.items() if self.movers(link)]
        if len(sites) == 1:
            return (sites[0],), "", f"the tool is the site {sites[0]!r}, the only one that moves"
        if FLANGE in self.parents and self.movers(FLANGE):
            return (FLANGE,), "", f"the tool is the frame of link {FLANGE!r}"
        inner = set(self.parents.values())
        leaves = [link for link in self.parents if link not in inner and self.movers(link)]
        if len(leaves) == 1 and not sites:
            return (leaves[0],), "", f"the tool is the frame of link {leaves[0]!r}, the last of the arm"
        ends = sites or leaves
        if not ends:
            return (), "a joint that moves a link", ""
        return (), f"a tool frame: there are {len(ends)} ends, so name one with --tool, such as {_some(ends)}", ""

    def _check_tools(self, wanted: Sequence[str]) -> tuple[tuple[str, ...], str, str]:
        unknown = [name for name in wanted if name not in self.sites and name not in self.parents]
        if unknown:
            frames = [name for name in (*self.sites, *self.parents) if self.movers(self.sites.get(name, name))]
            return (), f"a link or site {_some(unknown)} for --tool; there are {_some(frames)}", ""
        still = [name for name in wanted if not self.movers(self.sites.get(name, name))]
        if still:
            return (), f"a joint that moves the tool {_some(still)}", ""
        return tuple(dict.fromkeys(wanted)), "", ""


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names[:_LISTED]))
    return listed + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
