"use strict";
// A graph that scrolls: the last seconds of some curves on a small canvas, with limits dashed and what happened marked.

const PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
// What happened, told by shape as well as by colour: above a strip at its instant, and in the legend.
const ASIDE = {contact: -6, fault: 0, returned: 6};  // pixels, so that what happens at one instant is seen
const HAPPENED = {contact: ["●", "#b0400a"], fault: ["▲", FAULTY], returned: ["◆", "#005a8d"]};

const ROUNDING = 1e-12, SECOND_LABEL = 38;           // in the curves' units; pixels that a time needs

// The least of 1, 2 and 5 times a power of ten that is not below a size.
function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return power * [1, 2, 5, 10].find(k => k * power >= size * (1 - 1e-9));
}

// With so many digits after the point, and no minus before a nought.
const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, "");

class Strip {
  // `limits` are, curve by curve, the least and the greatest value, null where there is none.
  constructor(canvas, title, unit, colours, limits = [], seconds = 10) {
    Object.assign(this, {canvas, title, unit, colours, limits, seconds, times: [], rows: [], happened: [], lit: null});
  }

  push(time, values) {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && time < last) this.clear();
    if (time === last) return;
    this.times.push(time);
    this.rows.push(values);
    while (this.times.length > 2 && this.times[1] < time - this.seconds) { this.times.shift(); this.rows.shift(); }
    this.happened = this.happened.filter(mark => mark.time > time - this.seconds);
  }

  clear() { this.times = []; this.rows = []; this.happened = []; }

  mark(time, kind) { this.happened.push({time, kind}); }

  draw() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const c = this.canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const left = 52, right = width - 10, top = 28, bottom = height - 20;
    const end = Math.max(this.seconds, this.times[this.times.length - 1] || 0), begin = end - this.seconds;
    const [low, high] = this._range();
    const x = t => left + (t - begin) / this.seconds * (right - left);
    const y = v => bottom - (v - low) / (high - low) * (bottom - top);
    this._frame(c, {left, right, top, bottom, begin, end, low, high, x, y});
    c.save();
    c.beginPath();
    c.rect(left, top - 2, right - left, bottom - top + 4);
    c.clip();
    this._limits(c, left, right, y);
    this.colours.forEach((colour, i) => {
      c.lineWidth = i === this.lit ? 4 : 1.6;
      c.strokeStyle = colour;
      c.beginPath();
      this.times.forEach((t, k) => c.lineTo(x(t), y(this.rows[k][i])));
      c.stroke();
    });
    c.restore();
    this._marks(c, {left, top, bottom, x});
  }

  // Of the values, and of a limit that one of them comes near; what is rounding counts as nothing.
  _range() {
    let low = Infinity, high = -Infinity;
    for (const row of this.rows) row.forEach((v, i) => {
      if (Math.abs(v) > 1e5) return;
      if (Math.abs(v) < ROUNDING) v = 0;
      low = Math.min(low, v);
      high = Math.max(high, v);
      const [least, most] = this.limits[i] || [null, null];
      if (most !== null && v > 0.8 * most) high = Math.max(high, most);
      if (least !== null && v < 0.8 * least) low = Math.min(low, least);
    });
    if (low > high) low = high = 0;
    const room = Math.max(0.08 * (high - low), 0.02 * Math.max(Math.abs(low), Math.abs(high))) || 1;
    return [low - room, high + room];
  }

  _limits(c, left, right, y) {
    c.setLineDash([5, 4]);
    c.lineWidth = 1;
    this.limits.forEach((pair, i) => pair.forEach(limit => {
      if (limit === null) return;
      c.strokeStyle = this.colours[i];
      c.beginPath(); c.moveTo(left, y(limit)); c.lineTo(right, y(limit)); c.stroke();
    }));
    c.setLineDash([]);
  }

  _marks(c, {left, top, bottom, x}) {
    c.textAlign = "center";
    c.font = "10px system-ui, sans-serif";
    for (const {time, kind} of this.happened) {
      if (x(time) < left) continue;
      const [shape, colour] = HAPPENED[kind];
      c.fillStyle = c.strokeStyle = colour;
      c.globalAlpha = 0.5;
      c.beginPath(); c.moveTo(x(time), top); c.lineTo(x(time), bottom); c.stroke();
      c.globalAlpha = 1;
      c.fillText(shape, x(time) + ASIDE[kind], top - 1);
    }
    c.textAlign = "left";
  }

  _frame(c, {left, right, top, bottom, begin, end, low, high, x, y}) {
    const largest = Math.max(Math.abs(low), Math.abs(high)), nothing = low === -1 && high === 1;
    const [size, prefix] = PREFIXES.find(([size]) => largest >= 0.1 * size) || PREFIXES[PREFIXES.length - 1];
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = "#1f2937";
    c.fillText(`${this.title} / ${this.unit.split(", ").map(unit => prefix + unit).join(", ")}`, left, 14);
    c.fillStyle = "#6b7280";
    c.strokeStyle = "#e5e7eb";
    c.lineWidth = 1;
    c.textAlign = "right";
    const apart = nothing ? 2 : roundStep((high - low) / 4), digits = Math.max(0, -Math.floor(Math.log10(apart / size) + 1e-9));
    for (let k = Math.ceil(low / apart); k * apart <= high; k++) {
      c.beginPath(); c.moveTo(left, y(k * apart)); c.lineTo(right, y(k * apart)); c.stroke();
      c.fillText(fixed(k * apart / size, digits), left - 6, y(k * apart) + 4);
    }
    c.textAlign = "center";
    const seconds = roundStep(SECOND_LABEL * this.seconds / (right - left));
    for (let t = Math.ceil(begin / seconds) * seconds; t <= end - 0.02 * this.seconds; t += seconds) c.fillText(`${t} s`, x(t), bottom + 15);
    c.textAlign = "left";
  }
}
