"use strict";
// The live page: shows each picture that comes, and sends what the operator does. Texts go in as text, never as HTML.

const find = id => document.getElementById(id);
const make = (tag, more = {}, ...children) => {
  const one = Object.assign(document.createElement(tag), more);
  one.append(...children);
  return one;
};
const FAULTS = ["well", "loose", "frozen", "weak", "sensor stuck", "sensor noisy", "one measurement lost"];
const SEND_EVERY = 40, STRIP_EVERY = 80;            // ms

const layout = hello.layout, joints = hello.stage.joints;
let socket = null, picture = null, status = {}, said = "", pulled = null, fresh = false, ended = false;
const part = name => layout[name] ? picture.subarray(...layout[name]) : null;
const operating = () => status.you !== undefined && status.you === status.operator;
const send = order => { if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(order)); };

function makeScene() {
  try {
    return new Scene(find("scene"), hello.stage);
  } catch (error) {
    const words = `The robot cannot be drawn: ${error.message}. Open this address in another browser, or turn WebGL on in this one.`;
    document.querySelector("main").replaceWith(make("p", {className: "notice", textContent: words}));
    throw error;
  }
}
const scene = makeScene(), gizmo = new Gizmo(scene), keys = new Keyboard();
const units = [...new Set(joints.map(joint => joint.unit))], colours = joints.map(joint => joint.colour);
const strips = [
  new Strip(find("joints"), "joint positions", units.join(", "), colours),
  new Strip(find("forces"), "joint forces", units.map(unit => unit === "m" ? "N" : "N·m").join(", "), colours),
  new Strip(find("distance"), "nearest pair", "m", ["#111827"]),
];

function connect() {
  const token = new URLSearchParams(location.search).get("token") || "";
  socket = new WebSocket(`ws://${location.host}/live?token=${encodeURIComponent(token)}`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = event => {
    if (typeof event.data === "string") { status = JSON.parse(event.data); showStatus(); }
    else { picture = new Float32Array(event.data); fresh = true; }
  };
  socket.onclose = () => {
    if (ended) return say("The session is over.", true);
    status = {};
    say("No connection: the arm stops. Trying again …", true);
    setTimeout(connect, 1000);
  };
}

function say(text, lost = false) {
  find("state").textContent = text;
  find("state").classList.toggle("lost", lost);
  document.querySelectorAll("aside button, aside select, aside input").forEach(one => {
    if (!["plan", "prediction", "operate"].includes(one.id)) one.disabled = !operating();
  });
}

function showStatus() {
  const who = status.operator === null ? "No one operates" : operating() ? "You operate" : `Watcher ${status.operator} operates`;
  say(`${who}. ${status.watchers} here; you are watcher ${status.you}.`);
  find("operate").textContent = operating() ? "Leave the controls" : "Take the controls";
  find("operate").disabled = status.operator !== null && !operating();
  find("notice").hidden = !status.notice;
  find("notice").textContent = status.notice || "";
  const parameters = JSON.stringify(status.parameters || {});
  if (parameters !== said) { said = parameters; listParameters(status.parameters || {}); }
}

function listParameters(parameters) {
  const written = /^plant\.f_ext|^planner\.twist/;   // what hands write on the way
  find("parameters").replaceChildren(...Object.keys(parameters).filter(name => !written.test(name)).sort().map(name => {
    const given = parameters[name], short = typeof given === "number" ? Number(given.toPrecision(6)) : given;
    const value = make("input", {value: String(short), title: String(given), size: 8, readOnly: hello.recorded});
    value.disabled = !operating();
    value.dataset.name = name;
    value.dataset.was = value.value;
    value.setAttribute("aria-label", name);
    return make("tr", {}, make("td", {className: "name", textContent: name}), make("td", {}, value));
  }));
}

function changes() {
  const changed = [...find("parameters").querySelectorAll("input")].filter(one => one.value !== one.dataset.was);
  const set = Object.fromEntries(changed.map(one => [one.dataset.name, one.value]));
  if (find("more-name").value.trim()) set[find("more-name").value.trim()] = find("more-value").value;
  return set;
}

const chosen = joints.map((joint, i) => {
  const kind = make("select", {}, ...FAULTS.map((name, k) => make("option", {value: k, textContent: name})));
  kind.setAttribute("aria-label", `fault of ${joint.name}`);
  kind.addEventListener("change", () => send({do: "fault", joint: i, kind: Number(kind.value)}));
  const swatch = make("span", {className: "swatch"}), number = make("td", {className: "number"});
  swatch.style.background = joint.colour;
  find("joints-table").append(make("tr", {}, make("td", {}, swatch, joint.name), number, make("td", {}, kind)));
  return {kind, number};
});

function draw() {
  const row = part("row"), paused = row[2] > 0;
  scene.poses = part("poses");
  scene.ghosts = [["plan", "#0072B2"], ["prediction", "#E69F00"]].filter(([name]) => find(name).checked && apart(name))
    .map(([name, colour]) => ({poses: part(name), colour}));
  gizmo.at = hello.steerable && !hello.recorded ? [...part("tools").subarray(0, 3)] : null;
  const distance = layout["collision.distance"] ? part("collision.distance")[0] : 1e6;
  const pair = nearLine(distance, [...(part("collision.point_a") || [0, 0, 0])], [...(part("collision.point_b") || [0, 0, 0])]);
  const own = gizmo.drawing(), hand = pulled ? handDrawing() : {lines: [], marks: []};
  scene.above = {lines: [...pair.lines, ...own.lines, ...hand.lines], marks: [...pair.marks, ...own.marks, ...hand.marks]};
  scene.marks = hello.stage.goals.map(at => ({at, size: 0.015, colour: "#CC79A7"}));
  scene.draw();
  find("clock").textContent = `${row[0].toFixed(3)} s · step ${row[1]} · ${Math.round(row[4])} steps/s`;
  find("near").textContent = distance < 1e5 ? `nearest pair ${(1000 * distance).toFixed(1)} mm` : "nothing near";
  find("near").classList.toggle("red", distance < NEAR);
  find("play").textContent = paused ? "▶ Play" : "❚❚ Pause";
  const finished = Boolean(status.ended);
  find("play").dataset.paused = paused;
  if (finished) find("play").disabled = true;
  if (document.activeElement !== find("speed")) find("speed").value = String(Number(row[3].toPrecision(3)));
  if (document.activeElement !== find("seek")) find("seek").value = row[0];
  showJoints();
  document.body.dataset.time = row[0];
}

// A ghost is shown where it is not where the robot is: else it would only veil it.
function apart(name) {
  const other = part(name), own = part("poses");
  return other && other.some((value, i) => Math.abs(value - own[i]) > 2e-3);
}

function handDrawing() {
  const at = placed(scene.pose(pulled.body), pulled.local);
  return {lines: [{a: at, b: pulled.to, colour: "#CC79A7", width: 5}],
    marks: [at, pulled.to].map(p => ({at: p, size: 0.012, colour: "#CC79A7"}))};
}

function showJoints() {
  const q = part("plant.q_true"), faults = part("plant.fault"), badges = [];
  chosen.forEach(({kind, number}, i) => {
    number.textContent = joints[i].unit === "rad" ? `${(q[i] * 180 / Math.PI).toFixed(1)}°` : `${q[i].toFixed(4)} m`;
    const fault = faults ? faults[i] : 0;
    if (document.activeElement !== kind) kind.value = String(fault);
    if (fault) badges.push(["fault", `${joints[i].name}: ${FAULTS[fault]}`]);
  });
  if (layout["collision.contact"] && part("collision.contact")[0]) badges.push(["", "contact"]);
  if (layout["planner.enable"] && part("planner.enable")[0]) badges.push(["hold", "steered"]);
  const text = JSON.stringify(badges);
  if (find("badges").dataset.text === text) return;
  find("badges").dataset.text = text;
  find("badges").replaceChildren(...badges.map(([kind, words]) => make("span", {className: kind, textContent: words})));
}

let stripped = 0;
function tick(now) {
  requestAnimationFrame(tick);
  if (!picture || !(fresh || scene.stale)) return;
  if (fresh) {
    const time = part("row")[0];
    strips[0].push(time, [...part("plant.q_true")]);
    if (layout["control.tau"]) strips[1].push(time, [...part("control.tau")]);
    if (layout["collision.distance"]) strips[2].push(time, [part("collision.distance")[0]]);
  }
  fresh = false;
  draw();
  if (now - stripped > STRIP_EVERY) { stripped = now; strips.forEach(strip => strip.draw()); }
}

// What the hands want is sent again and again: the loop lets go by itself when it hears nothing.
let wanting = false;
setInterval(() => {
  if (!operating() || hello.recorded) return;
  const twist = hello.steerable ? gizmo.twist() || gamepadTwist() || keys.twist() : null;
  if (twist) send({do: "steer", twist});
  if (pulled) send({do: "pull", body: pulled.body, local: pulled.local, to: pulled.to});
  const wants = Boolean(twist || pulled);
  if (wanting && !wants) send({do: "let go"});
  wanting = wants;
  const words = twist ? twist.slice(0, 3).map(v => `${(1000 * v).toFixed(0)}`).join(", ") : "";
  find("wanted").textContent = words ? `wanted: ${words} mm/s` : "";
}, SEND_EVERY);

let holder = null;                                   // the pointer that steers or pulls, of several fingers
const spot = event => { const box = find("scene").getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
scene.busy = event => {
  if (holder !== null) return true;
  if (!operating() || hello.recorded) return false;
  if (event.altKey || find("grab").checked) {
    const hit = scene.pick(...spot(event));
    if (!hit || hit.piece.standing) return false;
    pulled = {body: hit.body, local: hit.local, to: hit.point};
  } else if (!gizmo.take(...spot(event))) return false;
  holder = event.pointerId;
  find("scene").setPointerCapture(holder);
  return true;
};
find("scene").addEventListener("pointermove", event => {
  if (event.pointerId !== holder) return;
  if (gizmo.grip !== null) gizmo.drag(...spot(event));
  if (pulled) pulled.to = scene.onPlane(...spot(event), placed(scene.pose(pulled.body), pulled.local));
});
const letGo = () => { gizmo.drop(); pulled = holder = null; };
for (const kind of ["pointerup", "pointercancel"])
  find("scene").addEventListener(kind, event => { if (event.pointerId === holder) letGo(); });
addEventListener("blur", letGo);

find("play").addEventListener("click", () => send({do: find("play").dataset.paused === "true" ? "play" : "pause"}));
find("step").addEventListener("click", () => send({do: "step", count: 1}));
find("again").addEventListener("click", () => send({do: "again", set: changes()}));
find("finish").addEventListener("click", () => { ended = true; send({do: "finish"}); });
find("speed").addEventListener("change", () => { send({do: "speed", value: Number(find("speed").value)}); find("speed").blur(); });
find("seek").addEventListener("input", () => send({do: "seek", time: Number(find("seek").value)}));
find("operate").addEventListener("click", () => send({do: operating() ? "leave" : "operate"}));
for (const name of ["plan", "prediction"]) find(name).addEventListener("change", () => { scene.stale = true; });

find("title").textContent = hello.title;
find("steering").hidden = !hello.steerable || hello.recorded;
for (const name of ["guiding", "faults", "finish", "how", "more"]) find(name).hidden = hello.recorded;
find("seek").hidden = !hello.recorded;
if (hello.seconds) find("seek").max = hello.seconds;
scene.draw();
strips.forEach(strip => strip.draw());
connect();
requestAnimationFrame(tick);
