"use strict";
// Convex pieces on moving bodies, drawn with WebGL and no library, so that a report is one light file.
// Vectors are arrays of three, quaternions are w x y z, matrices are by columns as WebGL wants them.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = a => Math.hypot(a[0], a[1], a[2]);
const unit = a => scale(a, 1 / (norm(a) || 1));

function turn(q, p) {
  const v = [q[1], q[2], q[3]], t = scale(cross(v, p), 2);
  return add(p, add(scale(t, q[0]), cross(v, t)));
}
const placed = (pose, p) => add([pose[0], pose[1], pose[2]], turn([pose[3], pose[4], pose[5], pose[6]], p));
function unplaced(pose, p) {
  return turn([pose[3], -pose[4], -pose[5], -pose[6]], sub(p, [pose[0], pose[1], pose[2]]));
}

function matrixOf(pose) {
  const [x, y, z, w, a, b, c] = pose;
  return new Float32Array([
    1 - 2 * (b * b + c * c), 2 * (a * b + w * c), 2 * (a * c - w * b), 0,
    2 * (a * b - w * c), 1 - 2 * (a * a + c * c), 2 * (b * c + w * a), 0,
    2 * (a * c + w * b), 2 * (b * c - w * a), 1 - 2 * (a * a + b * b), 0,
    x, y, z, 1]);
}
function product(a, b) {
  const out = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) sum += a[4 * k + j] * b[4 * i + k];
    out[4 * i + j] = sum;
  }
  return out;
}

function unpack(text) {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}
const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
const pale = (colour, share) => colour.map(c => c + (1 - c) * share);

// Triangles with a normal at each corner: faces that meet at less than CREASE are shaded as one round surface.
const CREASE = Math.cos(35 * Math.PI / 180);
function triangles(corners, faces) {
  const at = i => [corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]];
  const count = faces.length / 3, normals = [], around = new Map();
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map(k => at(faces[3 * f + k]));
    normals.push(cross(sub(b, a), sub(c, a)));
    for (let k = 0; k < 3; k++) {
      const corner = faces[3 * f + k];
      around.set(corner, [...(around.get(corner) || []), f]);
    }
  }
  const out = new Float32Array(18 * count);
  for (let f = 0; f < count; f++) for (let k = 0; k < 3; k++) {
    const corner = faces[3 * f + k], own = unit(normals[f]);
    let sum = [0, 0, 0];
    for (const g of around.get(corner)) if (dot(unit(normals[g]), own) > CREASE) sum = add(sum, normals[g]);
    out.set([...at(corner), ...unit(sum)], 18 * f + 6 * k);
  }
  return out;
}

const VERTEX = `
attribute vec3 place, normal; uniform mat4 view, model; varying vec3 n;
void main() { n = mat3(model) * normal; gl_Position = view * model * vec4(place, 1.0); }`;
const FRAGMENT = `
precision mediump float; varying vec3 n; uniform vec4 colour; uniform float shaded;
void main() {
  vec3 m = normalize(n);
  float light = 0.55 + 0.4 * max(dot(m, vec3(0.40, -0.55, 0.73)), 0.0) + 0.12 * max(dot(m, vec3(-0.7, 0.5, 0.3)), 0.0);
  gl_FragColor = vec4(mix(colour.rgb, colour.rgb * light, shaded), colour.a);
}`;
const STILL = new Float32Array([0, 0, 0, 1, 0, 0, 0]);
const DARK = [0.07, 0.09, 0.15];
const GOAL = "#CC79A7", FAULTY = "#8f3f6e";
// A ghost's link is shown where it is this far, m or in its quaternion, from the robot's own: else it would only veil it.
const APART = 2e-3;
// What is to be seen stays out of this part of the canvas along each edge; above there are words.
const MARGIN = {side: 0.2, above: 0.22, below: 0.18}, WELL_INSIDE = 0.08;
const BACKGROUND = [0.972, 0.976, 0.984];

class Scene {
  // `stage` is what studio/view/stage.py describes.
  constructor(canvas, stage) {
    this.canvas = canvas;
    this.stage = stage;
    this.gl = canvas.getContext("webgl", {antialias: true, preserveDrawingBuffer: true});
    if (!this.gl) throw new Error("this browser offers no WebGL");
    this.poses = unpack(stage.home);
    this.ghosts = [];
    this.marks = [];
    this.lit = null;                                // the number of a joint whose links are shown dark
    this.above = {lines: [], marks: []};            // drawn over all else
    this._prepare();
    this.look();
    this._listen();
  }

  pose(body, poses = this.poses) { return poses.subarray(7 * body, 7 * body + 7); }

  look() {
    const {low, high} = this.stage;
    this.target = this.middle = scale(add(low, high), 0.5);
    this.distance = Math.max(0.6, 1.0 * norm(sub(high, low)) + 0.35);
    this.heading = -0.9;
    this.height = this.stage.height;
    this.follows = true;
    this.stale = true;
  }

  eye() {
    const flat = Math.cos(this.height);
    return add(this.target, scale([flat * Math.cos(this.heading), flat * Math.sin(this.heading),
      Math.sin(this.height)], this.distance));
  }

  _prepare() {
    const gl = this.gl, program = this.program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.at = Object.fromEntries(["view", "model", "colour", "shaded"].map(n => [n, gl.getUniformLocation(program, n)]));
    this.place = gl.getAttribLocation(program, "place");
    this.normal = gl.getAttribLocation(program, "normal");
    gl.enableVertexAttribArray(this.place);
    gl.enableVertexAttribArray(this.normal);
    gl.enable(gl.DEPTH_TEST);
    // The canvas itself stays opaque: the page behind it has no part in its colours.
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.pieces = this.stage.pieces.map(piece => ({...piece, ...this._upload(triangles(piece.corners, piece.faces)),
      colour: pale(rgb(piece.colour), piece.standing ? 0.3 : 0.5)}));
    this.ball = this._upload(ballTriangles());
    this.scratch = gl.createBuffer();
    this.grid = this._upload(gridLines(this.stage));
  }

  _upload(values) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    return {buffer, count: values.length / 6};
  }

  // World to clip, z up, as seen by the camera.
  _camera() {
    const eye = this.eye(), back = unit(sub(eye, this.target)), right = unit(cross([0, 0, 1], back));
    const up = cross(back, right), near = this.distance / 50, far = this.distance * 20;
    // On a canvas that is higher than wide, the width is what must fit.
    const aspect = this.canvas.width / this.canvas.height, f = Math.min(1, aspect) / Math.tan(0.36);
    const view = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(back, eye), 1]);
    const lens = new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1,
      0, 0, 2 * far * near / (near - far), 0]);
    this.frame = {eye, back, right, up, f, aspect};
    return product(lens, view);
  }

  _resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
  }

  draw() {
    this._resize();
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...BACKGROUND, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniformMatrix4fv(this.at.view, false, this._camera());
    this._paint(this.grid, STILL, [0.76, 0.78, 0.81, 1], 0, gl.LINES);
    for (const piece of this.pieces) {
      const colour = piece.joint === this.lit ? DARK : piece.colour;
      this._paint(piece, this.pose(piece.body), [...colour, 1], 1);
    }
    for (const mark of this.marks) this._paintBall(mark);
    gl.enable(gl.BLEND);
    for (const ghost of this.ghosts) this._paintGhost(ghost);
    gl.disable(gl.BLEND);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this._paintLines(this.above.lines);
    for (const mark of this.above.marks) this._paintBall(mark);
    this.stale = false;
  }

  // Depth first, then colour: a ghost is one transparent whole, and its inner faces do not add up.
  _paintGhost({poses, colour}) {
    const gl = this.gl, differs = body => {
      const own = this.pose(body);
      return this.pose(body, poses).some((value, i) => Math.abs(value - own[i]) > APART);
    };
    const moving = this.pieces.filter(piece => !piece.standing && differs(piece.body));
    for (const pass of [0, 1]) {
      gl.colorMask(...Array(4).fill(pass === 1));
      gl.depthFunc(pass ? gl.LEQUAL : gl.LESS);
      for (const piece of moving) this._paint(piece, this.pose(piece.body, poses), [...rgb(colour), 0.35], 1);
    }
    gl.depthFunc(gl.LESS);
  }

  _paintBall({at, size, colour}) {
    const model = matrixOf(STILL);
    model[0] = model[5] = model[10] = size;
    model.set(at, 12);
    this._paint(this.ball, null, [...rgb(colour), 1], 0.6, this.gl.TRIANGLES, model);
  }

  // As ribbons that face the camera: WebGL's own lines are one pixel wide.
  _paintLines(lines) {
    const gl = this.gl, pixel = this._pixel();
    for (const {path, colour, width = 3} of lines) {
      const corners = path.slice(1).flatMap((b, i) => {
        const a = path[i], side = scale(unit(cross(sub(b, a), sub(this.frame.eye, a))), 0.5 * width * pixel);
        return [add(a, side), sub(a, side), add(b, side), sub(a, side), sub(b, side), add(b, side)];
      });
      gl.bindBuffer(gl.ARRAY_BUFFER, this.scratch);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners.flatMap(p => [...p, 0, 0, 1])), gl.DYNAMIC_DRAW);
      this._paint({buffer: this.scratch, count: corners.length}, STILL, [...rgb(colour), 1], 0);
    }
  }

  _paint({buffer, count}, pose, colour, shaded, mode = this.gl.TRIANGLES, model = matrixOf(pose)) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.vertexAttribPointer(this.place, 3, gl.FLOAT, false, 24, 0);
    gl.vertexAttribPointer(this.normal, 3, gl.FLOAT, false, 24, 12);
    gl.uniformMatrix4fv(this.at.model, false, model);
    gl.uniform4fv(this.at.colour, colour);
    gl.uniform1f(this.at.shaded, shaded);
    gl.drawArrays(mode, 0, count);
  }

  // How large a pixel is where the camera looks, m.
  _pixel() { return 2 * this.distance / this.frame.f / this.canvas.clientHeight; }

  // Pixels of the page, from the canvas's corner, of a place in the world.
  project(p) {
    this._camera();
    const {eye, back, right, up, f, aspect} = this.frame, d = sub(p, eye), depth = -dot(back, d);
    return [(1 + f * dot(right, d) / aspect / depth) / 2 * this.canvas.clientWidth,
      (1 - f * dot(up, d) / depth) / 2 * this.canvas.clientHeight];
  }

  ray(x, y) {
    this._camera();
    const {eye, back, right, up, f, aspect} = this.frame;
    const across = (2 * x / this.canvas.clientWidth - 1) * aspect / f, along = (1 - 2 * y / this.canvas.clientHeight) / f;
    return {eye, way: unit(add(add(scale(right, across), scale(up, along)), scale(back, -1)))};
  }

  // Where the ray through a pixel meets the plane through `p` that faces the camera.
  onPlane(x, y, p) {
    const {eye, way} = this.ray(x, y);
    return add(eye, scale(way, dot(sub(p, eye), this.frame.back) / dot(way, this.frame.back)));
  }

  // The piece under a pixel and where it is hit, or null.
  pick(x, y) {
    const {eye, way} = this.ray(x, y);
    let best = null;
    for (const piece of this.pieces) {
      const pose = this.pose(piece.body), from = unplaced(pose, eye), to = sub(unplaced(pose, add(eye, way)), from);
      const t = enterHull(piece, from, to);
      if (t !== null && (best === null || t < best.t)) best = {t, piece, body: piece.body};
    }
    if (best) {
      best.point = add(eye, scale(way, best.t));
      best.local = unplaced(this.pose(best.body), best.point);
    }
    return best;
  }

  _listen() {
    const canvas = this.canvas, held = new Map();
    let spread = 0;                                  // of two fingers, pixels
    const apart = () => { const [p, q] = [...held.values()]; return Math.max(1, Math.hypot(p[0] - q[0], p[1] - q[1])); };
    const redraw = () => { this.stale = true; };
    canvas.addEventListener("pointerdown", event => {
      if (!held.size && this.busy && this.busy(event)) return;
      held.set(event.pointerId, [event.clientX, event.clientY]);
      if (held.size === 2) spread = apart();
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", event => {
      const before = held.get(event.pointerId);
      if (!before) return;
      const dx = event.clientX - before[0], dy = event.clientY - before[1];
      held.set(event.pointerId, [event.clientX, event.clientY]);
      if (held.size === 2) {
        this._zoom(spread / apart());
        spread = apart();
        this._shift(dx / 2, dy / 2);
      } else if (event.shiftKey || event.buttons === 4) this._shift(dx, dy);
      else this._orbit(dx, dy);
      redraw();
    });
    const release = event => { held.delete(event.pointerId); if (held.size === 2) spread = apart(); };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      this._zoom(Math.exp(0.0012 * event.deltaY));
      redraw();
    }, {passive: false});
    canvas.addEventListener("dblclick", () => this.look());
    // A finger that rests is not asking for a menu.
    canvas.addEventListener("contextmenu", event => event.preventDefault());
    canvas.addEventListener("keydown", event => { if (this._obey(event)) { event.preventDefault(); redraw(); } });
    // A tablet takes the graphics memory of a page that is out of sight.
    canvas.addEventListener("webglcontextlost", event => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this._prepare(); redraw(); });
    new ResizeObserver(redraw).observe(canvas);
  }

  // Arrows turn the view, with shift they shift it; + and - zoom, Home shows all.
  _obey({key, shiftKey}) {
    const way = {ArrowLeft: [20, 0], ArrowRight: [-20, 0], ArrowUp: [0, 20], ArrowDown: [0, -20]}[key];
    if (way && shiftKey) this._shift(...way);
    else if (way) this._orbit(...way);
    else if (key === "+" || key === "-") this._zoom(key === "+" ? 0.9 : 1.1);
    else if (key === "Home") this.look();
    else return false;
    return true;
  }

  _zoom(factor) { this.distance = Math.max(0.05, Math.min(100, factor * this.distance)); }

  _orbit(dx, dy) {
    this.heading -= 0.007 * dx;
    this.height = Math.max(-1.5, Math.min(1.5, this.height + 0.007 * dy));
  }

  // Who shifts the view wants to look elsewhere than where the robot goes.
  _shift(dx, dy) { this.follows = false; this._slide(dx, dy); }

  // Goes after places in the world that come near an edge, and back where they came from when none is near, a part of
  // the way with each picture.
  keepInSight(places) {
    if (!this.follows) return;
    const {clientWidth: width, clientHeight: height} = this.canvas;
    const beyond = (value, low, high) => value < low ? value - low : value > high ? value - high : 0;
    const out = more => places.map(place => {
      const [x, y] = this.project(place), {side, above, below} = MARGIN;
      return [beyond(x, (side + more) * width, (1 - side - more) * width), beyond(y, (above + more) * height, (1 - below - more) * height)];
    }).filter(([dx, dy]) => dx || dy);
    for (const [dx, dy] of out(0)) this._slide(-0.2 * dx, -0.2 * dy);
    if (!out(WELL_INSIDE).length) this.target = add(this.target, scale(sub(this.middle, this.target), 0.02));
  }

  _slide(dx, dy) {
    const pixel = this._pixel(), {right, up} = this.frame;
    this.target = add(this.target, add(scale(right, -dx * pixel), scale(up, dy * pixel)));
  }
}

// Along from + t way, the t at which a convex piece is entered, or null.
function enterHull(piece, from, way) {
  let enter = 0, leave = Infinity;
  const {corners, faces} = piece, at = i => [corners[3 * i], corners[3 * i + 1], corners[3 * i + 2]];
  for (let f = 0; f < faces.length; f += 3) {
    const a = at(faces[f]), n = cross(sub(at(faces[f + 1]), a), sub(at(faces[f + 2]), a));
    const out = dot(n, sub(from, a)), speed = dot(n, way);
    if (speed < 0) enter = Math.max(enter, -out / speed);
    else if (speed > 0) leave = Math.min(leave, -out / speed);
    else if (out > 0) return null;
    if (enter > leave) return null;
  }
  return enter;
}

function ballTriangles() {
  const rings = 8, around = 14, at = (i, j) => {
    const down = Math.PI * i / rings, turned = 2 * Math.PI * j / around;
    return [Math.sin(down) * Math.cos(turned), Math.sin(down) * Math.sin(turned), Math.cos(down)];
  };
  const out = [];
  for (let i = 0; i < rings; i++) for (let j = 0; j < around; j++)
    for (const p of [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i, j + 1)]) out.push(...p, ...p);
  return new Float32Array(out);
}

// The floor: a grid at z = 0, or below the lowest piece, of lines 0.1 m or 0.5 m apart.
function gridLines({low, high}) {
  const size = Math.max(high[0] - low[0], high[1] - low[1], high[2] - low[2]), apart = size < 0.8 ? 0.1 : 0.5;
  const middle = [0, 1].map(i => Math.round((low[i] + high[i]) / 2 / apart) * apart), z = Math.min(0, low[2]) + 0.001;
  const out = [], half = 8 * apart;
  for (let k = -8; k <= 8; k++) {
    const x = middle[0] + k * apart, y = middle[1] + k * apart;
    for (const [a, b] of [[x, middle[1] - half], [x, middle[1] + half], [middle[0] - half, y], [middle[0] + half, y]])
      out.push(a, b, z, 0, 0, 1);
  }
  return new Float32Array(out);
}

// Who points at the name of a joint, or reaches it by keys, sees which one it is, whatever colours they see.
function lightWhenPointedAt(one, light) {
  for (const kind of ["pointerenter", "focusin"]) one.addEventListener(kind, () => light(true));
  for (const kind of ["pointerleave", "focusout"]) one.addEventListener(kind, () => light(false));
}

// Without a minus before what rounds to nothing.
const inMillimetres = distance => `${(Math.round(1e4 * distance) / 10 || 0).toFixed(1)} mm`;

// A ball at each joint that has failed.
function faultMarks(scene, faults) {
  return scene.stage.joints.filter((joint, i) => faults[i]).map(joint => (
    {at: placed(scene.pose(joint.body), joint.at), size: 0.02 * scene.distance / 1.6, colour: FAULTY}));
}

const NEAR = 0.05;
// The nearest pair as a line: red when nearer than NEAR m or inside.
function nearLine(distance, a, b) {
  if (!(distance < 1e5)) return {lines: [], marks: []};
  const colour = distance < NEAR ? "#D55E00" : "#009E73";
  return {lines: [{path: [a, b], colour, width: distance < NEAR ? 5 : 3}],
    marks: [a, b].map(at => ({at, size: 0.006, colour}))};
}
