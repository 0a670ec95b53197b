"""URDF for MuJoCo: every fault of the file found and named, meshes replaced by hulls, then MuJoCo's own parser."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import SubElement, tostring

import mujoco
import numpy as np
from simloop.models.robot_file.link_tree import LinkTree
from simloop.models.robot_file.mesh_hull import MeshHulls
from simloop.models.robot_file.safe_xml import Element, numbers

MOVING_TYPES = ("revolute", "continuous", "prismatic")
KNOWN_TYPES = (*MOVING_TYPES, "fixed")
_INERTIA = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
_SCALARS = ("value", *_INERTIA, "lower", "upper", "effort", "velocity", "damping", "friction", "radius", "length")
# Attributes that hold numbers, and how many.
_NUMBERS = dict.fromkeys(("xyz", "rpy", "size", "scale"), 3) | dict.fromkeys(_SCALARS, 1)
_NUMERIC_TAGS = (
    "origin",
    "mass",
    "inertia",
    "axis",
    "limit",
    "dynamics",
    "box",
    "sphere",
    "cylinder",
    "capsule",
    "mesh",
)
# A principal inertia may be greater than the sum of the others by this part of it: what rounding in a file does.
INERTIA_ROUNDING = 1e-2


class Urdf:
    """A URDF file's content. Construct, look at `problems` and `lacks`; when there are none, `compile`."""

    def __init__(self, root: Element, path: Path) -> None:
        self.name = root.get("name") or path.stem
        self.problems: list[str] = []
        """What is wrong, each a clause."""
        self.lacks: list[str] = []
        """What is missing, each a noun phrase."""
        self.unlimited: dict[str, list[str]] = {}
        """Joints with no `effort` and with no `velocity` limit."""
        self.max_speed: dict[str, float] = {}
        self.mimics: list[tuple[str, str, str]] = []
        """Links moved by a joint that follows another and by that other, and a clause that says so."""
        self._hulls = MeshHulls(path.absolute().parent)
        self._out = Element("robot", {"name": self.name})
        self._links = self._named(root, "link")
        self._joints = self._named(root, "joint")
        self.tree = self._make_tree()
        self.is_tree = not self.problems
        sound = [element for element in (*self._links.values(), *self._joints.values()) if self._check_numbers(element)]
        if self.is_tree:
            for element in sound:
                self._copy_link(element) if element.tag == "link" else self._copy_joint(element)
            self._check_masses(known={element.attrib["name"] for element in sound})

    def compile(self) -> mujoco.MjModel:
        """The model, its links all kept as bodies of their own."""
        extension = SubElement(self._out, "mujoco")
        SubElement(extension, "compiler", {"fusestatic": "false", "inertiafromgeom": "false", "discardvisual": "true"})
        spec = mujoco.MjSpec.from_string(tostring(self._out, encoding="unicode"), assets=self._hulls.assets())
        return spec.compile()

    def notes(self) -> list[str]:
        """What was taken for granted, each a clause."""
        return self._hulls.notes() + [f"no {key} limit: {', '.join(names)}" for key, names in self.unlimited.items()]

    def _check_numbers(self, owner: Element) -> bool:
        found = []
        parts = (part for child in owner if child.tag != "visual" for part in child.iter())
        for element in (part for part in parts if part.tag in _NUMERIC_TAGS):
            for key, text in element.attrib.items():
                try:
                    numbers(text, _NUMBERS[key]) if key in _NUMBERS else ()
                except ValueError as error:
                    found.append(f"{_title(owner)}: {element.tag} {key} {error}")
        self.problems += found
        return not found

    def _named(self, root: Element, tag: str) -> dict[str, Element]:
        found = root.findall(tag)
        count = Counter(element.get("name", "") for element in found)
        self.problems += [f"{n} {tag}s are named {name!r}" for name, n in count.items() if n > 1 and name]
        if count[""]:
            self.problems.append(f"{count['']} {tag}{'s have' if count[''] > 1 else ' has'} no name")
        return {element.get("name", ""): element for element in found if element.get("name")}

    def _make_tree(self) -> LinkTree:
        parents: dict[str, str] = {}
        moving: set[str] = set()
        for name, joint in self._joints.items():
            kind = joint.get("type", "")
            if kind not in KNOWN_TYPES:
                self.problems.append(f"joint {name!r} is of type {kind!r}; it can be {', '.join(KNOWN_TYPES)}")
            ends = [_child(joint, tag).get("link", "") for tag in ("parent", "child")]
            wrong = [
                f"its {tag} {end!r}"
                for tag, end in zip(("parent", "child"), ends, strict=True)
                if end not in self._links
            ]
            if wrong:
                self.problems.append(f"joint {name!r} joins links that are not there: {' and '.join(wrong)}")
                continue
            if ends[1] in parents:
                self.problems.append(
                    f"link {ends[1]!r} has two parents, {parents[ends[1]]!r} and {ends[0]!r}; a tree has one each"
                )
                continue
            parents[ends[1]] = ends[0]
            if kind != "fixed":
                moving.add(ends[1])
        roots = [link for link in self._links if link not in parents]
        tree = LinkTree({link: parents.get(link, "") for link in self._links}, frozenset(moving))
        if not self._links:
            self.lacks.append("a link")
        elif circle := _circle(parents):
            self.problems.append(f"the links {' → '.join(map(repr, circle))} form a circle; a robot is a tree")
        elif len(roots) != 1 and not self.problems:
            self.problems.append(
                f"{len(roots)} links have no parent ({', '.join(map(repr, roots))}); one base is needed"
            )
        return tree

    def _copy_link(self, link: Element) -> None:
        out = SubElement(self._out, "link", {"name": link.attrib["name"]})
        inertial = link.find("inertial")
        if inertial is not None:
            self._copy_inertial(link, inertial, out)
        for collision in link.iterfind("collision"):
            shape = next(iter(_child(collision, "geometry")), None)
            if shape is None:
                self.lacks.append(f"a geometry in a collision of {_title(link)}")
                continue
            solid = self._solid(link, shape)
            if solid is not None:
                copy = SubElement(out, "collision")
                _copy_origin(collision, copy)
                SubElement(copy, "geometry").append(solid)

    def _solid(self, link: Element, shape: Element) -> Element | None:
        if shape.tag == "mesh":
            scale = numbers(shape.get("scale", "1 1 1"), 3)
            try:
                return Element("mesh", {"filename": self._hulls.add(shape.get("filename", ""), scale)})
            except ValueError as error:
                self.problems.append(f"mesh {shape.get('filename', '')!r} of {_title(link)} {error}")
                return None
        needed = {
            "box": ("size",),
            "sphere": ("radius",),
            "cylinder": ("radius", "length"),
            "capsule": ("radius", "length"),
        }
        if shape.tag not in needed:
            self.problems.append(f"a collision of {_title(link)} is a {shape.tag}; it can be mesh, {', '.join(needed)}")
            return None
        for key in needed[shape.tag]:
            if key not in shape.attrib:
                self.lacks.append(f"{key} of the {shape.tag} of {_title(link)}")
            elif min(numbers(shape.attrib[key])) <= 0.0:
                self.problems.append(
                    f"{_title(link)}: {shape.tag} {key} is {shape.attrib[key]!r}; it must be greater than 0"
                )
        return Element(shape.tag, {key: shape.get(key, "1 1 1") for key in needed[shape.tag]})

    def _copy_inertial(self, link: Element, inertial: Element, out: Element) -> None:
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        m = float(mass.get("value", "0")) if mass is not None else 0.0
        if m < 0.0:
            self.problems.append(f"{_title(link)} has a mass of {m:g} kg; a mass is positive")
            return
        if m == 0.0:
            return
        if inertia is None:
            self.lacks.append(f"inertia of {_title(link)}")
            return
        I = self._sound_inertia(link, inertia)  # noqa: E741
        copy = SubElement(out, "inertial")
        _copy_origin(inertial, copy)
        SubElement(copy, "mass", {"value": repr(m)})
        SubElement(copy, "inertia", {key: repr(float(I[place])) for key, place in _INERTIA.items()})

    def _sound_inertia(self, link: Element, inertia: Element) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """The inertia matrix, one that a body can have."""
        xx, xy, xz, yy, yz, zz = (float(inertia.get(key, "0")) for key in _INERTIA)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # noqa: E741
        principal, axes = np.linalg.eigh(I)
        said = f"principal inertias {', '.join(f'{value:.4g}' for value in principal)} kg m²"
        if principal[0] < 0.0:
            self.problems.append(f"{_title(link)} has {said}; none may be negative")
        elif principal[2] > (1.0 + INERTIA_ROUNDING) * (principal[0] + principal[1]):
            self.problems.append(f"{_title(link)} has {said}; none may be more than the sum of the others")
        elif principal[2] > (principal[0] + principal[1]) * (1.0 - 1e-9):
            # MuJoCo wants the inequality to hold to the last digit, which rounding in the file may break.
            principal[2] = (principal[0] + principal[1]) * (1.0 - 1e-9)
            I = axes @ np.diag(principal) @ axes.T  # noqa: E741
        return np.asarray(I)

    def _copy_joint(self, joint: Element) -> None:
        name, kind = joint.attrib["name"], joint.attrib["type"]
        child = _child(joint, "child").attrib["link"]
        out = SubElement(self._out, "joint", {"name": name, "type": kind})
        _copy_origin(joint, out)
        for tag in ("parent", "child"):
            SubElement(out, tag, {"link": _child(joint, tag).attrib["link"]})
        if kind == "fixed":
            return
        axis = _child(joint, "axis").get("xyz", "1 0 0")
        if not any(numbers(axis)):
            self.problems.append(f"joint {name!r} has the axis {axis!r}; it must not be zero")
        SubElement(out, "axis", {"xyz": axis})
        self._copy_limit(joint, out)
        dynamics = _child(joint, "dynamics")
        for key in ("damping", "friction"):
            if float(dynamics.get(key, "0")) < 0.0:
                self.problems.append(f"joint {name!r} has {key} {dynamics.get(key)}; it must not be negative")
        SubElement(out, "dynamics", {key: dynamics.get(key, "0") for key in ("damping", "friction")})
        mimic = joint.find("mimic")
        if mimic is not None:
            leader = mimic.get("joint", "")
            if leader in self._joints:
                other = _child(self._joints[leader], "child").attrib["link"]
                self.mimics.append((child, other, f"joint {name!r} mimics {leader!r}"))
            else:
                self.problems.append(f"joint {name!r} mimics {leader!r}, which is no joint")

    def _copy_limit(self, joint: Element, out: Element) -> None:
        name, limit, copy = joint.attrib["name"], _child(joint, "limit"), {}
        if joint.attrib["type"] != "continuous":
            if "lower" not in limit.attrib and "upper" not in limit.attrib:
                self.lacks.append(f"lower and upper limit of joint {name!r}")
            # The format gives a limit that is not there the value 0.
            copy = {key: limit.get(key, "0") for key in ("lower", "upper")}
            lower, upper = float(copy["lower"]), float(copy["upper"])
            if limit.attrib.keys() & copy.keys() and not lower < upper:
                self.problems.append(
                    f"joint {name!r} has the limits {lower:g} and {upper:g}; lower must be less than upper"
                )
        # Exporters that do not know an effort or a speed write 0.
        effort, speed = (float(limit.get(key, "0")) for key in ("effort", "velocity"))
        if effort > 0.0:
            copy["effort"] = repr(effort)
        if speed > 0.0:
            self.max_speed[name] = speed
        for key, value in (("effort", effort), ("velocity", speed)):
            if value < 0.0:
                self.problems.append(f"joint {name!r} has {key} {value:g}; it must not be negative")
            elif value == 0.0:
                self.unlimited.setdefault(key, []).append(name)
        if copy:
            SubElement(out, "limit", copy)

    def _check_masses(self, known: set[str]) -> None:
        """Links that a joint moves need a mass, their own or that of a link fixed to them."""
        massive = {link.attrib["name"] for link in self._out.iterfind("link") if link.find("inertial") is not None}
        carried = {next(iter(self.tree.movers(link)), "") for link in massive | (set(self._links) - known)}
        for link in self._links:
            if link in self.tree.moving and link not in carried and not self._is_named_already(link):
                self.lacks.append(f"mass and inertia of link {link!r}, which a joint moves")

    def _is_named_already(self, link: str) -> bool:
        return any(repr(link) in said for said in (*self.problems, *self.lacks) if "mass" in said or "inertia" in said)


def _circle(parents: dict[str, str]) -> list[str]:
    """Links that are each other's ancestors, if there are."""
    for start in parents:
        walk = [start]
        while walk[-1] in parents and parents[walk[-1]] not in walk:
            walk.append(parents[walk[-1]])
        if walk[-1] in parents:
            first = walk.index(parents[walk[-1]])
            return [*reversed(walk[first:]), walk[-1]]
    return []


def _child(element: Element, tag: str) -> Element:
    found = element.find(tag)
    return Element(tag) if found is None else found


def _copy_origin(element: Element, out: Element) -> None:
    origin = element.find("origin")
    if origin is not None:
        SubElement(out, "origin", {key: origin.attrib[key] for key in ("xyz", "rpy") if key in origin.attrib})


def _title(element: Element) -> str:
    return f"{element.tag} {element.get('name', '')!r}"
