"use strict";
// The live page: shows each picture that comes, and sends what the operator does. Texts go in as text, never as HTML.

const find = id => document.getElementById(id);
const make = (tag, more = {}, ...children) => {
  const one = Object.assign(document.createElement(tag), more);
  one.append(...children);
  return one;
};
const FAULTS = ["well", "loose", "frozen", "weak", "sensor stuck", "sensor noisy", "one measurement lost"];
// Faults with a size, and what that is.
const SIZED = {3: unit => `at most, ${unit === "m" ? "N" : "N·m"}`, 5: unit => `standard deviation, ${unit}`};
const TUNABLES = {"plant.mass_error": "mass error", "plant.noise": "sensor noise, m or rad"};
const SEND_EVERY = 40, STRIP_EVERY = 80, TOLD_FOR = 1500, READ_FOR = 8000;  // ms

const layout = hello.layout, joints = hello.stage.joints;
let socket = null, picture = null, status = {}, said = "", pulled = null, fresh = false, ended = false;
let remark = {text: "", until: 0};                   // what the page itself has to say, and until when
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
const forces = units.map(unit => unit === "m" ? "N" : "N·m").join(", ");

// A strip for each of what there is to show: what it needs, its title and unit, its curves, and their limits.
const strips = [
  [["plant.q_true"], "joint positions", units.join(", "), q => [...q], joints.map(joint => joint.range)],
  [["control.tau"], "joint forces sent", forces, tau => [...tau], joints.map(joint => joint.force)],
  [["plant.q", "control.q_predicted"], "rolled back by", units.join(", "), (q, predicted) => [...q].map((v, i) => v - predicted[i])],
  [["plant.residual_force"], "shadow: unexplained force", forces, force => [...force]],
  [["collision.distance"], "nearest pair", "m", distance => [distance[0]]],
].filter(([needed]) => needed.every(name => layout[name])).map(([needed, title, unit, values, limits]) => {
  const canvas = make("canvas", {id: `strip-${needed[0]}`});
  canvas.setAttribute("aria-label", `${title} over time`);
  canvas.setAttribute("role", "img");
  find("strips").append(canvas);
  const strip = new Strip(canvas, title, unit, needed[0] === "collision.distance" ? ["#111827"] : colours, limits);
  return {strip, take: time => strip.push(time, values(...needed.map(part)))};
});

// What happened since the last picture: marked in every strip, and where the master went back told for a moment.
const last = {time: 0, repetition: 0, contact: 0, faults: null, returned: 0, told: -Infinity};
function noteEvents(now) {
  const [time, , , , , returned] = part("row"), contact = layout["collision.contact"] ? part("collision.contact")[0] : 0;
  const faults = String(part("plant.fault") || ""), kinds = [];
  if (time < last.time) Object.assign(last, {contact: 0, faults: null, returned: 0});
  if (contact && !last.contact) kinds.push("contact");
  if (last.faults !== null && faults !== last.faults) kinds.push("fault");
  if (returned > last.returned) { kinds.push("returned"); last.told = now; }
  Object.assign(last, {time, contact, faults, returned});
  for (const kind of kinds) strips.forEach(({strip}) => strip.mark(time, kind));
}

function connect() {
  const token = new URLSearchParams(location.search).get("token") || "";
  socket = new WebSocket(`ws://${location.host}/live?token=${encodeURIComponent(token)}`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = event => {
    if (typeof event.data === "string") { status = JSON.parse(event.data); showStatus(); }
    else {
      const first = picture === null;
      picture = new Float32Array(event.data);
      fresh = true;
      if (first && status.you !== undefined) showStatus();
    }
  };
  socket.onclose = () => {
    status = {};
    find("notice").hidden = true;
    if (ended) return say(`The session is over. Its results: ${hello.results}`, true);
    say("No connection: the arm stops. Trying again …", true);
    setTimeout(connect, 1000);
  };
}

function say(text, lost = false) {
  find("state").textContent = text;
  find("state").classList.toggle("lost", lost);
  document.querySelectorAll("aside button, aside select, aside input").forEach(one => {
    if (!["plan", "prediction", "operate"].includes(one.id)) one.disabled = !operating() || !picture;
  });
  find("operate").disabled = status.operator !== null && !operating();
  if (status.ended) for (const name of ["play", "step"]) find(name).disabled = true;
}

function showStatus() {
  if (status.show !== hello.show) return location.reload();
  const who = status.operator === null ? "no one operates" : operating() ? "you operate" : `watcher ${status.operator} operates`;
  const pages = status.watchers === 1 ? "1 page is" : `${status.watchers} pages are`;
  say(`You are watcher ${status.you}; ${who}. ${pages} open.`);
  find("operate").textContent = operating() ? "Leave the controls" : "Take the controls";
  const notice = performance.now() < remark.until ? remark.text : status.notice || "";
  find("notice").hidden = !notice;
  find("notice").textContent = notice;
  const parameters = JSON.stringify(status.parameters || {});
  if (parameters !== said) {
    said = parameters;
    listParameters(status.parameters || {}, new Set(status.at_once || []));
    placeGoals(status.parameters || {});
  }
}

// Where the tools are to go may change with Reset.
function placeGoals(parameters) {
  const goal = i => Number(parameters[`planner.goal[${i + 1}]`]);
  hello.stage.goals = hello.stage.goals.map((before, k) => before.map((value, i) => Number.isFinite(goal(3 * k + i)) ? goal(3 * k + i) : value));
  scene.stale = true;
}

function listParameters(parameters, atOnce) {
  const written = /^plant\.f_ext|^planner\.twist|^plant\.fault\[/;  // what hands write on the way
  find("parameters").replaceChildren(...Object.keys(parameters).filter(name => !written.test(name)).sort().map(name => {
    const given = parameters[name], short = typeof given === "number" ? Number(given.toPrecision(6)) : given;
    const value = make("input", {value: String(short), title: String(given), size: 8, readOnly: hello.recorded});
    value.disabled = !operating();
    value.dataset.name = name;
    value.dataset.was = value.value;
    value.setAttribute("aria-label", name);
    const cells = [make("td", {className: "name", textContent: name}), make("td", {}, value)];
    if (atOnce.has(name)) {
      cells[0].append(make("i", {textContent: " at once"}));
      value.addEventListener("change", () => setNow(name, value));
    }
    return make("tr", {}, ...cells);
  }));
}

function changes() {
  const changed = [...find("parameters").querySelectorAll("input")].filter(one => one.value !== one.dataset.was);
  const set = Object.fromEntries(changed.map(one => [one.dataset.name, one.value]));
  if (find("more-name").value.trim()) set[find("more-name").value.trim()] = find("more-value").value;
  return set;
}

// What is typed into a field counts from the next step on.
function setNow(name, field) {
  const value = Number(field.value);
  if (field.value.trim() !== "" && Number.isFinite(value)) send({do: "set", name, value});
  else {
    remark = {text: `${name} cannot be '${field.value}'; it takes a number`, until: performance.now() + READ_FOR};
    showStatus();
  }
}

const fieldFor = (name, label) => {
  const field = make("input", {size: 7, inputMode: "decimal"});
  field.setAttribute("aria-label", label);
  field.addEventListener("change", () => setNow(name, field));
  return field;
};
const showField = (field, value) => { if (document.activeElement !== field) field.value = String(Number(value.toPrecision(6))); };

const tuned = Object.entries(TUNABLES).filter(([name]) => layout[name]).map(([name, label]) => {
  const field = fieldFor(name, label);
  find("tunables").append(make("tr", {}, make("td", {textContent: label}), make("td", {}, field)));
  return {name, field};
});

const chosen = joints.map((joint, i) => {
  const kind = make("select", {}, ...FAULTS.map((name, k) => make("option", {value: k, textContent: name})));
  kind.setAttribute("aria-label", `fault of ${joint.name}`);
  kind.addEventListener("change", () => send({do: "set", name: `plant.fault[${i + 1}]`, value: Number(kind.value)}));
  const size = fieldFor(`plant.fault_size[${i + 1}]`, `size of the fault of ${joint.name}`), sized = make("label", {}, make("span"), size);
  sized.hidden = true;
  const swatch = make("span", {className: "swatch"}), number = make("td", {className: "number"});
  swatch.style.background = joint.colour;
  const line = make("tr", {}, make("td", {}, swatch, joint.name), number, make("td", {}, kind, sized));
  lightWhenPointedAt(line, on => {
    scene.lit = on ? i : null;
    scene.stale = true;
    strips.forEach(({strip}) => { if (strip.colours === colours) strip.lit = scene.lit; });
  });
  find("joints-table").append(line);
  return {kind, size, sized, number};
});

function draw() {
  const row = part("row"), paused = row[2] > 0;
  scene.poses = part("poses");
  scene.ghosts = [["plan", "#0072B2"], ["prediction", "#E69F00"]].filter(([name]) => find(name).checked && part(name))
    .map(([name, colour]) => ({poses: part(name), colour}));
  const tool = [...part("tools")];
  scene.keepInSight(Array.from({length: tool.length / 7}, (_, i) => tool.slice(7 * i, 7 * i + 3)));
  gizmo.at = hello.steerable && !hello.recorded ? tool.slice(0, 3) : null;
  gizmo.turned = tool.slice(3, 7);
  const distance = layout["collision.distance"] ? part("collision.distance")[0] : 1e6;
  const pair = nearLine(distance, [...(part("collision.point_a") || [0, 0, 0])], [...(part("collision.point_b") || [0, 0, 0])]);
  const own = gizmo.drawing(), hand = pulled ? handDrawing() : {lines: [], marks: []};
  scene.above = {lines: [...pair.lines, ...own.lines, ...hand.lines],
    marks: [...pair.marks, ...own.marks, ...hand.marks, ...faultMarks(scene, part("plant.fault") || [])]};
  scene.marks = hello.stage.goals.map(at => ({at, size: 0.015, colour: GOAL}));
  if (layout["collision.contact"] && part("collision.contact")[0]) pair.marks.forEach(mark => { mark.size = 0.014; });
  scene.draw();
  showAxes();
  const rate = hello.recorded ? "" : ` · ${Math.round(row[4])} steps/s`;
  find("clock").textContent = `${row[0].toFixed(3)} s · step ${row[1]}${rate}`;
  find("near").textContent = distance < 1e5 ? `nearest pair ${inMillimetres(distance)}` : "nothing near";
  find("near").classList.toggle("red", distance < NEAR);
  find("play").textContent = paused ? "▶ Play" : "❚❚ Pause";
  find("play").dataset.paused = paused;
  if (document.activeElement !== find("speed")) showSpeed(String(Number(row[3].toPrecision(3))));
  if (document.activeElement !== find("seek")) find("seek").value = row[0];
  showJoints();
  document.body.dataset.time = row[0];
}

function showSpeed(speed) {
  const known = [...find("speed").options].some(option => option.value === speed);
  if (!known) find("speed").append(make("option", {value: speed, textContent: `${speed}×`}));
  find("speed").value = speed;
}

const letters = ["x", "y", "z"].map(textContent => make("span", {className: "axis", textContent, hidden: true}));
document.querySelector(".stage").append(...letters);
// The names of the arrows, beside their tips.
function showAxes() {
  letters.forEach((one, i) => {
    const [x, y] = gizmo.at ? scene.project(add(gizmo.at, scale(AXES[i].way, 1.3 * gizmo.size()))) : [-1, -1];
    one.hidden = x < 0 || y < 0 || x > scene.canvas.clientWidth || y > scene.canvas.clientHeight;
    one.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`;
  });
}

function handDrawing() {
  const at = placed(scene.pose(pulled.body), pulled.local);
  return {lines: [{path: [at, pulled.to], colour: "#CC79A7", width: 5}],
    marks: [at, pulled.to].map(p => ({at: p, size: 0.012, colour: "#CC79A7"}))};
}

function showJoints() {
  const q = part("plant.q_true"), faults = part("plant.fault") || [], badges = [];
  tuned.forEach(({name, field}) => showField(field, part(name)[0]));
  chosen.forEach(({kind, size, sized, number}, i) => {
    number.textContent = joints[i].unit === "rad" ? `${fixed(q[i] * 180 / Math.PI, 1)}°` : `${fixed(q[i], 4)} m`;
    const fault = faults[i] || 0;
    if (document.activeElement !== kind) kind.value = String(fault);
    sized.hidden = !SIZED[fault] || !layout["plant.fault_size"];
    if (sized.hidden) return;
    showField(size, part("plant.fault_size")[i]);
    sized.firstChild.textContent = SIZED[fault](joints[i].unit);
  });
  for (const kind of new Set(faults)) {
    const names = joints.filter((joint, i) => faults[i] === kind).map(joint => joint.name);
    if (kind) badges.push(["fault", `${HAPPENED.fault[0]} ${FAULTS[kind]}: ${names.join(", ")}`]);
  }
  if (layout["collision.contact"] && part("collision.contact")[0]) badges.push(["", `${HAPPENED.contact[0]} contact`]);
  if (performance.now() - last.told < TOLD_FOR) badges.push(["hold", `${HAPPENED.returned[0]} went back to an instant (${last.returned} so far)`]);
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
    const time = part("row")[0], repetition = part("row")[6];
    if (repetition !== last.repetition) {            // it began again
      Object.assign(last, {repetition, time: Infinity});
      strips.forEach(({strip}) => strip.clear());
    }
    strips.forEach(({take}) => take(time));
    noteEvents(now);
  }
  fresh = false;
  draw();
  if (now - stripped > STRIP_EVERY) { stripped = now; strips.forEach(({strip}) => strip.draw()); }
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
  const each = (from, factor) => twist.slice(from, from + 3).map(v => fixed(factor * v, 0)).join(", ");
  find("wanted").textContent = twist ? `wanted: ${each(0, 1000)} mm/s, ${each(3, 180 / Math.PI)} °/s` : "";
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
  } else if (!gizmo.take(...spot(event), event.pointerType === "touch")) return false;
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
find("seek").addEventListener("input", () => strips.forEach(({strip}) => strip.clear()));
find("seek").addEventListener("input", () => send({do: "seek", time: Number(find("seek").value)}));
find("scenario").addEventListener("change", () => send({do: "scenario", name: find("scenario").value}));
find("operate").addEventListener("click", () => send({do: operating() ? "leave" : "operate"}));
for (const name of ["plan", "prediction"]) find(name).addEventListener("change", () => { scene.stale = true; });

find("title").textContent = hello.title;
find("scenario").append(...hello.scenarios.map(name => make("option", {value: name, textContent: name})));
find("scenario").value = hello.scenario;
find("scenario").closest(".row").hidden = !hello.scenarios.length;
const words = {contact: "contact", fault: "fault", returned: "the master went back to an instant"};
const legend = Object.entries(words).map(([kind, word]) => [...HAPPENED[kind], word]);
if (hello.stage.goals.length) legend.unshift(["●", GOAL, "where a tool is to go"]);
find("legend").append(...legend.map(([sign, colour, word]) => {
  const shape = make("span", {textContent: sign});
  shape.style.color = colour;
  return make("span", {}, shape, ` ${word}`);
}));
find("prediction").closest("label").hidden = !layout.prediction;
find("steering").hidden = !hello.steerable || hello.recorded;
for (const name of ["guiding", "faults", "how", "more"]) find(name).hidden = hello.recorded || hello.real;
for (const name of ["play", "step", "again"]) find(name).hidden = hello.real;
find("speed").closest("label").hidden = hello.real;
find("finish").hidden = hello.recorded;
find("seek").hidden = !hello.recorded;
if (hello.seconds) find("seek").max = hello.seconds;
scene.draw();
strips.forEach(({strip}) => strip.draw());
connect();
requestAnimationFrame(tick);
