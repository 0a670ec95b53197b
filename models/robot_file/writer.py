"""A compiled model written out as MJCF that needs no other file: joints, inertias, solid geoms, tools.

MuJoCo's own writer keeps six digits; this one keeps all, so that the written robot is the read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import mujoco
import numpy as np
import numpy.typing as npt
from simloop.models.arm import Vector
from simloop.models.enclosure import enclose
from simloop.models.robot_file.mesh_hull import excess_notes
from simloop.models.robot_file.mjcf import body_name, effort_limits, joint_name

_SHAPES = {
    mujoco.mjtGeom.mjGEOM_PLANE: "plane",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}
_SIZES = {"plane": 3, "sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "mesh": 0}


class MjcfWriter:
    """The MJCF of a model whose joints are slides and hinges.

    Joints of the links in `held` stay at their place in `q` (all joints, in the model's order) and are merged.
    `tools` are names of sites or links and become sites. Afterwards `exclude` leaves pairs of links out of contact.
    """

    def __init__(
        self,
        name: str,
        model: mujoco.MjModel,
        tools: Iterable[str],
        held: set[str],
        q: Vector,
    ) -> None:
        self._excess: dict[str, float] = {}
        self._model, self._held = model, held
        self._data = mujoco.MjData(model)
        self._data.qpos[:] = q
        mujoco.mj_kinematics(model, self._data)
        self._efforts = effort_limits(model)
        self._geom_names: set[str] = {model.geom(i).name for i in range(model.ngeom)}
        self._root = Element("mujoco", {"model": name})
        SubElement(self._root, "compiler", {"angle": "radian", "autolimits": "true", "inertiafromgeom": "false"})
        no_gravity = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        SubElement(self._root, "option", {"gravity": _text(model.opt.gravity * (not no_gravity))})
        self._assets = SubElement(self._root, "asset")
        world = SubElement(self._root, "worldbody")
        self._contact = SubElement(self._root, "contact")
        self._meshes: dict[int, str] = {}
        self._bodies = {0: world}
        self._add_geoms(0, world)
        for body in range(1, model.nbody):
            self._add_body(body)
        for tool in tools:
            self._add_tool(tool)
        for signature in model.exclude_signature:
            self.exclude(*divmod(int(signature), 1 << 16))
        self._leave_base_out()

    def text(self) -> str:
        indent(self._root)
        return tostring(self._root, encoding="unicode") + "\n"

    def notes(self) -> list[str]:
        return excess_notes(self._excess)

    def exclude(self, a: int, b: int) -> None:
        names = {"body1": self._name(a), "body2": self._name(b)}
        if all(element.attrib != names for element in self._contact):
            SubElement(self._contact, "exclude", names)

    def _name(self, body: int) -> str:
        return body_name(self._model, body) if body else "world"

    def _add_body(self, body: int) -> None:
        model, name = self._model, self._name(body)
        pos, quat = model.body_pos[body], model.body_quat[body]
        if name in self._held:
            pos, quat = self._on_parent(body)
        out = SubElement(self._bodies[int(model.body_parentid[body])], "body", {"name": name, **_place(pos, quat)})
        self._bodies[body] = out
        if model.body_gravcomp[body]:
            out.set("gravcomp", _text(model.body_gravcomp[body]))
        if model.body_mass[body] > 0.0:
            inertia = {"mass": _text(model.body_mass[body]), "diaginertia": _text(model.body_inertia[body])}
            place = {"pos": _text(model.body_ipos[body]), "quat": _text(model.body_iquat[body])}
            SubElement(out, "inertial", {**place, **inertia})
        if name not in self._held:
            first = int(model.body_jntadr[body])
            for joint in range(first, first + int(model.body_jntnum[body])):
                SubElement(out, "joint", self._joint(joint))
        self._add_geoms(body, out)

    def _on_parent(self, body: int) -> tuple[Vector, Vector]:
        """Where a held link is on its parent."""
        data, parent = self._data, int(self._model.body_parentid[body])
        back, away = np.zeros(4), np.zeros(3)
        mujoco.mju_negPose(away, back, data.xpos[parent], data.xquat[parent])
        pos, quat = np.zeros(3), np.zeros(4)
        mujoco.mju_mulPose(pos, quat, away, back, data.xpos[body], data.xquat[body])
        return pos, quat

    def _joint(self, joint: int) -> dict[str, str]:
        model, dof = self._model, int(self._model.jnt_dofadr[joint])
        hinge = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
        out = {"name": joint_name(model, joint), "type": "hinge" if hinge else "slide"}
        out |= {"axis": _text(model.jnt_axis[joint]), "pos": _text(model.jnt_pos[joint])}
        if model.jnt_limited[joint]:
            out["range"] = _text(model.jnt_range[joint])
        if joint in self._efforts:
            out["actuatorfrcrange"] = _text(self._efforts[joint])
        numbers: Mapping[str, npt.ArrayLike] = {
            "ref": model.qpos0[joint],
            "damping": [model.dof_damping[dof], *model.dof_dampingpoly[dof]],
            "armature": model.dof_armature[dof],
            "frictionloss": model.dof_frictionloss[dof],
            "stiffness": [model.jnt_stiffness[joint], *model.jnt_stiffnesspoly[joint]],
            "springref": model.qpos_spring[joint],
            "margin": model.jnt_margin[joint],
        }
        return out | {key: _text(value) for key, value in numbers.items() if np.any(value)}

    def _add_geoms(self, body: int, out: Element) -> None:
        model = self._model
        first = int(model.body_geomadr[body])
        for geom in range(first, first + int(model.body_geomnum[body])):
            if model.geom_contype[geom] or model.geom_conaffinity[geom]:
                SubElement(out, "geom", self._geom(geom, body))

    def _geom(self, geom: int, body: int) -> dict[str, str]:
        model = self._model
        kind = mujoco.mjtGeom(model.geom_type[geom])
        if kind not in _SHAPES:
            known = ", ".join(_SHAPES.values())
            raise ValueError(f"a geom of link {self._name(body)!r} is a {kind.name[7:].lower()}; it can be {known}")
        shape = _SHAPES[kind]
        out = {"name": model.geom(geom).name or self._free_name(self._name(body)), "type": shape}
        out |= _place(model.geom_pos[geom], model.geom_quat[geom])
        if shape == "mesh":
            out["mesh"] = self._mesh(int(model.geom_dataid[geom]))
        else:
            out["size"] = _text(model.geom_size[geom][: _SIZES[shape]])
        out["friction"] = _text(model.geom_friction[geom])
        usual = {"contype": 1, "conaffinity": 1, "condim": 3, "margin": 0.0}
        values = {key: getattr(model, f"geom_{key}")[geom] for key in usual}
        return out | {key: _text(value) for key, value in values.items() if value != usual[key]}

    def _free_name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._geom_names:
            count += 1
            name = f"{wanted}_{count}"
        self._geom_names.add(name)
        return name

    def _mesh(self, mesh: int) -> str:
        if mesh not in self._meshes:
            model = self._model
            name = str(model.mesh(mesh).name or f"mesh{mesh}")
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            try:
                corners, excess = enclose(model.mesh_vert[first : first + count].astype(float))
            except ValueError as error:
                raise ValueError(f"mesh {name!r} has no hull: {error}") from None
            self._excess[name] = excess
            SubElement(self._assets, "mesh", {"name": name, "vertex": _text(corners.ravel())})
            self._meshes[mesh] = name
        return self._meshes[mesh]

    def _add_tool(self, tool: str) -> None:
        model = self._model
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, tool)
        if site >= 0:
            place = _place(model.site_pos[site], model.site_quat[site])
            SubElement(self._bodies[int(model.site_bodyid[site])], "site", {"name": tool, **place})
            return
        body = next(i for i in range(1, model.nbody) if self._name(i) == tool)
        SubElement(self._bodies[body], "site", {"name": tool})

    def _leave_base_out(self) -> None:
        """Links that share a joint touch there. MuJoCo knows it, save where the lower one stands fast."""
        model = self._model
        for body in range(1, model.nbody):
            parent = int(model.body_parentid[body])
            if model.body_jntnum[body] and parent and model.body_weldid[parent] == 0:
                self.exclude(parent, body)


def _place(pos: Vector, quat: Vector) -> dict[str, str]:
    return {"pos": _text(pos), "quat": _text(quat)}


def _text(values: npt.ArrayLike) -> str:
    return " ".join(repr(value) for value in np.atleast_1d(np.asarray(values)).tolist())
