"use strict";
// A graph that scrolls: the last seconds of some curves on a small canvas, with limits dashed and what happened marked.

const PREFIXES = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
// What happened, told by shape as well as by colour: above a strip at its instant, and in the legend.
const HAPPENED = {contact: ["●", "#b0400a"], fault: ["▲", "#8f3f6e"], returned: ["◆", "#005a8d"]};

// With so many digits after the point, and no minus before a nought.
const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, "");

class Strip {
  // `limits` are, curve by curve, the least and the greatest value, null where there is none.
  constructor(canvas, title, unit, colours, limits = [], seconds = 10) {
    Object.assign(this, {canvas, title, unit, colours, limits, seconds, times: [], rows: [], happened: [], lit: null});
  }

  push(time, values) {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && time < last) { this.times = []; this.rows = []; this.happened = []; }
    if (time === last) return;
    this.times.push(time);
    this.rows.push(values);
    while (this.times.length > 2 && this.times[1] < time - this.seconds) { this.times.shift(); this.rows.shift(); }
    this.happened = this.happened.filter(mark => mark.time > time - this.seconds);
  }

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

  // Of the values, and of a limit that one of them comes near.
  _range() {
    let low = Infinity, high = -Infinity;
    for (const row of this.rows) row.forEach((v, i) => {
      if (Math.abs(v) > 1e5) return;
      low = Math.min(low, v);
      high = Math.max(high, v);
      const [least, most] = this.limits[i] || [null, null];
      if (most !== null && v > 0.8 * most) high = Math.max(high, most);
      if (least !== null && v < 0.8 * least) low = Math.min(low, least);
    });
    if (low > high) [low, high] = [0, 1];
    const room = Math.max(0.08 * (high - low), 1e-2 * Math.max(Math.abs(low), Math.abs(high))) || 0.01;
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
      c.fillText(shape, x(time), top - 1);
    }
    c.textAlign = "left";
  }

  _frame(c, {left, right, top, bottom, begin, end, low, high, x, y}) {
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const [size, prefix] = PREFIXES.find(([size]) => largest >= 0.1 * size) || PREFIXES[PREFIXES.length - 1];
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = "#1f2937";
    c.fillText(`${this.title} / ${this.unit.split(", ").map(unit => prefix + unit).join(", ")}`, left, 14);
    c.fillStyle = "#6b7280";
    c.strokeStyle = "#e5e7eb";
    c.lineWidth = 1;
    c.textAlign = "right";
    const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10((high - low) / size))));
    for (const part of [0.08, 0.5, 0.92]) {
      const v = low + part * (high - low);
      c.beginPath(); c.moveTo(left, y(v)); c.lineTo(right, y(v)); c.stroke();
      c.fillText(fixed(v / size, digits), left - 6, y(v) + 4);
    }
    c.textAlign = "center";
    for (let t = Math.ceil(begin / 2) * 2; t <= end - 0.2; t += 2) c.fillText(`${t} s`, x(t), bottom + 15);
    c.textAlign = "left";
  }
}
