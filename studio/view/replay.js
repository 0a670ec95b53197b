"use strict";
// The replay of a report: play, pause, scrub and speed, with the graphs' cursor at its time.

let seek = time => {};
if (motion) {
  const find = id => document.getElementById(id);
  const play = find("play"), slider = find("time"), speed = find("speed"), told = find("told"), plan = find("plan");
  const times = unpack(motion.times), poses = unpack(motion.poses), near = unpack(motion.near);
  const second = motion.plan ? unpack(motion.plan) : null;
  const faults = motion.faults ? unpack(motion.faults) : null, joints = motion.stage.joints.length;
  const size = poses.length / times.length, end = times[times.length - 1];
  let scene = null, now = 0, before = null, frame = -1;
  try {
    scene = new Scene(find("scene"), motion.stage);
  } catch (error) {
    find("scene").replaceWith(Object.assign(document.createElement("p"),
      {className: "notice", textContent: `The replay cannot be drawn: ${error.message}. The graphs below are whole.`}));
  }

  const frameAt = time => {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time + 1e-6) low = middle; else high = middle - 1;
    }
    return low;
  };
  function place() {
    const k = frameAt(now);
    if (scene && (k !== frame || scene.stale)) {
      scene.poses = poses.subarray(k * size, (k + 1) * size);
      const own = [...near.subarray(7 * k, 7 * k + 7)], pair = nearLine(own[0], own.slice(1, 4), own.slice(4, 7));
      const failed = faults ? faultMarks(scene, faults.subarray(k * joints, (k + 1) * joints)) : [];
      scene.above = {lines: pair.lines, marks: [...pair.marks, ...failed]};
      scene.marks = motion.stage.goals.map(at => ({at, size: 0.012, colour: GOAL}));
      scene.ghosts = second && plan.checked
        ? [{poses: second.subarray(k * size, (k + 1) * size), colour: motion.ghost || "#0072B2"}] : [];
      scene.draw();
      frame = k;
      document.body.dataset.frame = k;
    }
    const distance = near[7 * k];
    told.textContent = `${now.toFixed(2)} / ${end.toFixed(2)} s` +
      (distance < 1e5 ? ` · nearest ${inMillimetres(distance)}` : "");
    slider.value = now;
    showCursor(now);
  }
  const playing = () => play.getAttribute("aria-pressed") === "true";
  function setPlaying(on) {
    play.setAttribute("aria-pressed", on);
    play.textContent = on ? "❚❚ Pause" : "▶ Play";
    if (on && now >= end) now = times[0];
  }
  light = joint => { if (scene) { scene.lit = joint; scene.stale = true; } };
  seek = time => { now = Math.max(times[0], Math.min(end, Number(time))); place(); };
  play.addEventListener("click", () => setPlaying(!playing()));
  slider.addEventListener("input", () => { setPlaying(false); seek(slider.value); });
  plan.addEventListener("change", () => { frame = -1; place(); });
  document.querySelectorAll("[data-time]").forEach(one => one.addEventListener("click", () => {
    setPlaying(false);
    seek(one.dataset.time);
  }));
  if (scene) scene.canvas.addEventListener("keydown", event => {
    if (event.key !== " ") return;
    setPlaying(!playing());
    event.preventDefault();
  });
  const tick = wall => {
    if (playing() && before !== null) {
      now = Math.min(end, now + Number(speed.value) * (wall - before) / 1000);
      place();
      if (now >= end) setPlaying(false);
    } else if (scene && scene.stale) place();
    before = wall;
    requestAnimationFrame(tick);
  };
  place();
  requestAnimationFrame(tick);
}
