"use strict";
// A person's hands: the gizmo at the gripper, keys and a gamepad, and pulling at links. Each gives what is wanted now,
// or null; what is not wanted any more is let go.

const SPEED = 0.15, TURN = 0.5, PADDED = 0.12;      // m/s, rad/s, dead zone of a stick
const GAIN = 4, FASTEST = 0.25, TURNING = 0.8;      // 1/s, m/s, rad/s: how a dragged gripper follows
const RING = 0.72, FARTHEST_TURN = 3;               // of a gizmo's size; rad that a drag can ask for at once
const KNOB = 18, BAND = 10;                         // pixels from which a tip or the ball is taken, and a ring
const AXES = [{way: [1, 0, 0], colour: "#D55E00"}, {way: [0, 1, 0], colour: "#009E73"}, {way: [0, 0, 1], colour: "#0072B2"}];

class Gizmo {
  // `at` is where the gripper is and `turned` how, a quaternion. `grip` is what is held: the number of an arrow, the
  // ball, or the number of a ring; `target` is where the gripper is led, or by how much it is to turn, rad.
  constructor(scene) { Object.assign(this, {scene, at: null, turned: null, grip: null, target: null}); }

  size() { return 0.13 * this.scene.distance / 1.6; }

  // Arrows and a ball where the gripper is, rings around it, and a line to where it is led.
  drawing() {
    if (!this.at) return {lines: [], marks: []};
    const size = this.size(), tips = AXES.map(axis => add(this.at, scale(axis.way, size)));
    const lines = AXES.map((axis, i) => ({path: [this.at, tips[i]], colour: axis.colour, width: this.holds("arrow", i) ? 8 : 5}));
    AXES.forEach((axis, i) => lines.push({path: this.ring(i), colour: axis.colour, width: this.holds("ring", i) ? 6 : 2.5}));
    const marks = AXES.map((axis, i) => ({at: tips[i], size: 0.12 * size, colour: axis.colour}));
    marks.push({at: this.at, size: 0.14 * size, colour: "#111827"});
    if (this.target && !this.holds("ring")) {
      lines.push({path: [this.at, this.target], colour: "#CC79A7", width: 3});
      marks.push({at: this.target, size: 0.12 * size, colour: "#CC79A7"});
    }
    return {lines, marks};
  }

  holds(kind, number) { return this.grip !== null && this.grip.kind === kind && (number === undefined || this.grip.number === number); }

  // The ring about an axis, closed.
  ring(number, count = 48) {
    const [u, v] = [1, 2].map(k => scale(AXES[(number + k) % 3].way, RING * this.size()));
    return Array.from({length: count + 1}, (_, k) => 2 * Math.PI * k / count)
      .map(angle => add(this.at, add(scale(u, Math.cos(angle)), scale(v, Math.sin(angle)))));
  }

  take(x, y, byFinger = false) {
    if (!this.at) return false;
    this.grip = this._under(x, y, byFinger ? 1.6 : 1);
    if (this.grip === null) return false;
    this.begin = this.at;
    this.from = [x, y];
    this.before = this.turned;
    this.target = this.holds("ring") ? 0 : this.at;
    return true;
  }

  // The arrow's tip, the ball or the ring that is nearest to a pixel, measured by how far each reaches, if it does.
  _under(x, y, reach) {
    const away = p => Math.hypot(...[0, 1].map(i => this.scene.project(p)[i] - [x, y][i]));
    const all = [{kind: "ball", away: away(this.at) / KNOB}];
    AXES.forEach((axis, number) => {
      all.push({kind: "arrow", number, away: away(add(this.at, scale(axis.way, this.size()))) / KNOB});
      all.push(...this.ring(number).map(point => ({kind: "ring", number, point, away: away(point) / BAND})));
    });
    const nearest = all.reduce((best, one) => one.away < best.away ? one : best);
    return nearest.away < reach ? nearest : null;
  }

  drag(x, y) {
    if (this.holds("ring")) this.target = this._angle(x, y);
    else this.target = add(this.begin, sub(this._along(x, y), this._along(...this.from)));
  }

  drop() { this.grip = this.target = null; }

  // Where the pointer is on the held axis, or on the plane that faces the camera.
  _along(x, y) {
    if (this.holds("ball")) return this.scene.onPlane(x, y, this.begin);
    const {eye, way} = this.scene.ray(x, y), axis = AXES[this.grip.number].way, between = sub(this.begin, eye);
    const b = dot(axis, way), d = dot(axis, between), e = dot(way, between);
    return add(this.begin, scale(axis, (b * e - d) / Math.max(1e-6, 1 - b * b)));
  }

  // How far the pointer went along the ring from where it was taken, rad.
  _angle(x, y) {
    const {number, point} = this.grip, small = 0.05, spoke = sub(point, this.begin);
    const ahead = add(point, scale(cross(AXES[number].way, spoke), small));
    const [from, to] = [point, ahead].map(p => this.scene.project(p)), way = [to[0] - from[0], to[1] - from[1]];
    const along = ((x - this.from[0]) * way[0] + (y - this.from[1]) * way[1]) / Math.max(1, way[0] ** 2 + way[1] ** 2);
    return Math.max(-FARTHEST_TURN, Math.min(FARTHEST_TURN, small * along));
  }

  // How far the gripper has turned about the held ring's axis since it was taken, rad.
  _turned() {
    const [w, x, y, z] = this.turned, [a, b, c, d] = this.before;
    const real = w * a + x * b + y * c + z * d;
    const axis = sub(sub(scale([x, y, z], a), scale([b, c, d], w)), cross([x, y, z], [b, c, d]));
    const angle = 2 * Math.atan2(dot(axis, AXES[this.grip.number].way), real);
    return angle > Math.PI ? angle - 2 * Math.PI : angle < -Math.PI ? angle + 2 * Math.PI : angle;
  }

  twist() {
    if (this.grip === null) return null;
    if (this.holds("ring")) {
      const speed = GAIN * (this.target - this._turned());
      return [0, 0, 0, ...scale(AXES[this.grip.number].way, Math.max(-TURNING, Math.min(TURNING, speed)))];
    }
    const wanted = scale(sub(this.target, this.at), GAIN), speed = norm(wanted);
    return [...scale(wanted, Math.min(1, FASTEST / (speed || 1))), 0, 0, 0];
  }
}

const KEYS = {w: [0, SPEED], s: [0, -SPEED], a: [1, SPEED], d: [1, -SPEED], r: [2, SPEED], f: [2, -SPEED],
  j: [3, -TURN], l: [3, TURN], i: [4, TURN], k: [4, -TURN], q: [5, TURN], e: [5, -TURN]};
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

// The left stick moves along x and y, the right one up, down and around; the cross turns about x and y. A shoulder
// button is the dead-man's switch.
function gamepadTwist() {
  const pad = [...(navigator.getGamepads ? navigator.getGamepads() : [])].find(one => one && one.connected);
  if (!pad || ![4, 5, 6, 7].some(i => pad.buttons[i] && pad.buttons[i].pressed)) return null;
  const stick = i => Math.abs(pad.axes[i] || 0) < PADDED ? 0 : pad.axes[i];
  const cross = (more, less) => TURN * ([more, less].map(i => Boolean(pad.buttons[i] && pad.buttons[i].pressed)).reduce((a, b) => a - b));
  return [-SPEED * stick(1), -SPEED * stick(0), -SPEED * stick(3), cross(15, 14), cross(12, 13), -TURN * stick(2)];
}
