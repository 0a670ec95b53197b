"""Small robot files for tests: text to change, and meshes to put beside it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

INERTIA = '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.025" iyz="0.002" izz="0.01"/>'
INERTIAL = f'<inertial><origin xyz="0.1 0 0.05" rpy="0.1 0.2 0.3"/><mass value="2"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1.5" upper="2" effort="40" velocity="3"/>'

# base, a revolute shoulder, a prismatic slide with a mesh, a continuous wrist, a flange fixed to it.
ARM = f"""<robot name="arm">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper">{INERTIAL}
    <visual><geometry><mesh filename="package://nowhere/upper.dae"/></geometry></visual>
    <collision><origin xyz="0.2 0 0"/><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision></link>
  <link name="lower">{INERTIAL}
    <collision><geometry><mesh filename="package://robot/meshes/part.stl" scale="0.1 0.1 0.2"/></geometry></collision>
  </link>
  <link name="hand">{INERTIAL}</link>
  <link name="flange"/>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 0.3" rpy="0.2 0 0"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/>{LIMIT}<dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="slide" type="prismatic"><origin xyz="0.4 0 0"/><parent link="upper"/><child link="lower"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.6" effort="100" velocity="0.5"/></joint>
  <joint name="wrist" type="continuous"><origin xyz="0.2 0 0"/><parent link="lower"/><child link="hand"/>
    <axis xyz="0 0 1"/><limit effort="10" velocity="6"/></joint>
  <joint name="mount" type="fixed"><origin xyz="0.3 0.1 0"/><parent link="hand"/><child link="flange"/></joint>
</robot>
"""

# Two fingers, the second of which mimics the first.
FINGERS = f"""
  <link name="left">{INERTIAL}</link><link name="right">{INERTIAL}</link>
  <joint name="grip" type="prismatic"><parent link="flange"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0.01" upper="0.05" effort="1" velocity="1"/></joint>
  <joint name="follow" type="prismatic"><parent link="flange"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0.01" upper="0.05" effort="1" velocity="1"/><mimic joint="grip"/></joint>
</robot>"""

MJCF = """<mujoco model="bench">
  <include file="parts.xml"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="one" pos="0 0 1"><joint name="a" axis="0 1 0" range="-90 90"/>
      <geom type="mesh" mesh="part"/><geom type="sphere" size="0.2" contype="0" conaffinity="0" mass="0"/>
      <body name="two" pos="0.5 0 0"><joint name="b" axis="0 1 0" damping="0.1" armature="0.02"
        stiffness="2" springref="30" ref="10" frictionloss="0.3"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/><site name="tip" pos="0.3 0 0"/></body></body>
  </worldbody>
  <actuator><motor joint="a" gear="50" ctrlrange="-2 2"/></actuator>
  <keyframe><key name="other" qpos="0 0"/><key name="home" qpos="0.3 0.4"/></keyframe>
</mujoco>
"""
PARTS = '<mujoco><asset><mesh name="part" file="part.stl" scale="0.1 0.1 0.2"/></asset></mujoco>'


def sphere_mesh(rings: int = 12, sides: int = 24) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """A ball of radius 1 about (0.5, 0, 0): its corners and its triangles, seen from outside."""
    theta, phi = np.pi * np.arange(1, rings) / rings, 2 * np.pi * np.arange(sides) / sides
    grid = [(np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)) for t in theta for p in phi]
    points = np.array([(0.0, 0.0, 1.0), *grid, (0.0, 0.0, -1.0)]) + np.array([0.5, 0.0, 0.0])
    last, faces = len(points) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        faces.append((0, 1 + j, 1 + k))
        faces.append((last, last - sides + k, last - sides + j))
        for i in range(rings - 2):
            a, b, c, d = (1 + (i + di) * sides + e for di, e in ((0, j), (1, j), (1, k), (0, k)))
            faces += [(a, b, c), (a, c, d)]
    return points, faces


def write_stl(path: Path) -> Path:
    points, faces = sphere_mesh()
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *points[list(face)].ravel(), 0) for face in faces)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"solid of no text".ljust(80) + struct.pack("<I", len(faces)) + triangles)
    return path


def write_text_stl(path: Path) -> Path:
    points, faces = sphere_mesh()
    corners = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in points[list(face)]) for face in faces]
    facets = "".join(f"facet normal 0 0 0\nouter loop\n{three}endloop\nendfacet\n" for three in corners)
    path.write_text(f"solid ball\n{facets}endsolid ball\n")
    return path


def write_obj(path: Path) -> Path:
    points, faces = sphere_mesh()
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(["# a ball", *lines, "vn 0 0 1"]))
    return path


def write_collada(path: Path) -> Path:
    """In centimetres, turned by 90° about z and moved, so that only a reader who undoes it all is right."""
    points, _ = sphere_mesh()
    turned = 100.0 * (points - [0.0, 0.0, 2.0]) @ [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    path.write_text(
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="0.01"/></asset>'
        '<library_geometries><geometry id="g"><mesh><source id="p"><float_array>'
        + " ".join(map(repr, turned.ravel().tolist()))
        + '</float_array></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices></mesh>'
        "</geometry></library_geometries><library_visual_scenes><visual_scene><node><translate>0 0 200</translate>"
        '<rotate>0 0 1 90</rotate><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>'
    )
    return path


def write_arm(folder: Path, text: str = ARM) -> Path:
    """The arm in folder/robot/urdf, its mesh in folder/robot/meshes."""
    write_stl(folder / "robot/meshes/part.stl")
    path = folder / "robot/urdf/arm.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_mjcf(folder: Path, text: str = MJCF) -> Path:
    write_stl(folder / "part.stl")
    (folder / "parts.xml").write_text(PARTS)
    (folder / "bench.xml").write_text(text)
    return folder / "bench.xml"
