"use strict";
// A person's hands: the gizmo at the gripper, keys and a gamepad, and pulling at links. Each gives what is wanted now,
// or null; what is not wanted any more is let go.

const SPEED = 0.15, TURN = 0.5, PADDED = 0.12;      // m/s, rad/s, dead zone of a stick
const GAIN = 4, FASTEST = 0.25;                     // 1/s, m/s: how a dragged gripper follows
const AXES = [{way: [1, 0, 0], colour: "#D55E00"}, {way: [0, 1, 0], colour: "#009E73"}, {way: [0, 0, 1], colour: "#0072B2"}];

class Gizmo {
  constructor(scene) { Object.assign(this, {scene, at: null, grip: null, target: null}); }

  size() { return 0.13 * this.scene.distance / 1.6; }

  // Arrows and a ball where the gripper is, and a line to where it is led.
  drawing() {
    if (!this.at) return {lines: [], marks: []};
    const size = this.size(), tips = AXES.map(axis => add(this.at, scale(axis.way, size)));
    const lines = AXES.map((axis, i) => ({a: this.at, b: tips[i], colour: axis.colour, width: this.grip === i ? 8 : 5}));
    const marks = AXES.map((axis, i) => ({at: tips[i], size: 0.12 * size, colour: axis.colour}));
    marks.push({at: this.at, size: 0.14 * size, colour: "#111827"});
    if (this.target) {
      lines.push({a: this.at, b: this.target, colour: "#CC79A7", width: 3});
      marks.push({at: this.target, size: 0.12 * size, colour: "#CC79A7"});
    }
    return {lines, marks};
  }

  take(x, y) {
    if (!this.at) return false;
    const near = p => Math.hypot(...[0, 1].map(i => this.scene.project(p)[i] - [x, y][i])) < 18;
    const tip = AXES.findIndex(axis => near(add(this.at, scale(axis.way, this.size()))));
    this.grip = tip >= 0 ? tip : near(this.at) ? "ball" : null;
    if (this.grip === null) return false;
    this.begin = this.at;
    this.from = this._along(x, y);
    this.target = this.at;
    return true;
  }

  drag(x, y) { this.target = add(this.begin, sub(this._along(x, y), this.from)); }

  drop() { this.grip = this.target = null; }

  // Where the pointer is on the held axis, or on the plane that faces the camera.
  _along(x, y) {
    if (this.grip === "ball") return this.scene.onPlane(x, y, this.begin);
    const {eye, way} = this.scene.ray(x, y), axis = AXES[this.grip].way, between = sub(this.begin, eye);
    const b = dot(axis, way), d = dot(axis, between), e = dot(way, between);
    return add(this.begin, scale(axis, (b * e - d) / Math.max(1e-6, 1 - b * b)));
  }

  twist() {
    if (!this.target) return null;
    const wanted = scale(sub(this.target, this.at), GAIN), speed = norm(wanted);
    return [...scale(wanted, Math.min(1, FASTEST / (speed || 1))), 0, 0, 0];
  }
}

const KEYS = {w: [0, SPEED], s: [0, -SPEED], a: [1, SPEED], d: [1, -SPEED], r: [2, SPEED], f: [2, -SPEED],
  q: [5, TURN], e: [5, -TURN]};
class Keyboard {
  constructor() {
    this.held = new Set();
    const typing = event => event.target.closest && event.target.closest("input:not([type=checkbox]), select, textarea");
    addEventListener("keydown", event => {
      const key = event.key.toLowerCase();
      if (KEYS[key] && !typing(event) && !event.ctrlKey && !event.metaKey) this.held.add(key);
    });
    addEventListener("keyup", event => this.held.delete(event.key.toLowerCase()));
    addEventListener("blur", () => this.held.clear());
    document.addEventListener("visibilitychange", () => this.held.clear());
  }

  twist() {
    if (!this.held.size) return null;
    const twist = [0, 0, 0, 0, 0, 0];
    for (const key of this.held) twist[KEYS[key][0]] += KEYS[key][1];
    return twist;
  }
}

// The left stick moves along x and y, the right one up, down and around; a shoulder button is the dead-man's switch.
function gamepadTwist() {
  const pad = [...(navigator.getGamepads ? navigator.getGamepads() : [])].find(one => one && one.connected);
  if (!pad || ![4, 5, 6, 7].some(i => pad.buttons[i] && pad.buttons[i].pressed)) return null;
  const stick = i => Math.abs(pad.axes[i] || 0) < PADDED ? 0 : pad.axes[i];
  return [-SPEED * stick(1), -SPEED * stick(0), -SPEED * stick(3), 0, 0, -TURN * stick(2)];
}
