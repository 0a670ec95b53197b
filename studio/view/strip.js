"use strict";
// A graph that scrolls: the last seconds of some curves on a small canvas.

class Strip {
  constructor(canvas, title, unit, colours, seconds = 10) {
    Object.assign(this, {canvas, title, unit, colours, seconds, times: [], rows: []});
  }

  push(time, values) {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && time < last) { this.times = []; this.rows = []; }
    if (time === last) return;
    this.times.push(time);
    this.rows.push(values);
    while (this.times.length > 2 && this.times[1] < time - this.seconds) { this.times.shift(); this.rows.shift(); }
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const c = this.canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const left = 52, right = width - 10, top = 24, bottom = height - 20;
    const end = Math.max(this.seconds, this.times[this.times.length - 1] || 0), begin = end - this.seconds;
    const [low, high] = this._range();
    const x = t => left + (t - begin) / this.seconds * (right - left);
    const y = v => bottom - (v - low) / (high - low) * (bottom - top);
    this._frame(c, {left, right, top, bottom, begin, end, low, high, x, y});
    c.save();
    c.beginPath();
    c.rect(left, top - 2, right - left, bottom - top + 4);
    c.clip();
    c.lineWidth = 1.6;
    this.colours.forEach((colour, i) => {
      c.strokeStyle = colour;
      c.beginPath();
      this.times.forEach((t, k) => c.lineTo(x(t), y(this.rows[k][i])));
      c.stroke();
    });
    c.restore();
  }

  _range() {
    let low = Infinity, high = -Infinity;
    for (const row of this.rows) for (const v of row) if (Math.abs(v) < 1e5) { low = Math.min(low, v); high = Math.max(high, v); }
    if (low > high) [low, high] = [0, 1];
    const room = 0.08 * (high - low) || 0.05 * Math.abs(high) || 0.01;
    return [low - room, high + room];
  }

  _frame(c, {left, right, top, bottom, begin, end, low, high, x, y}) {
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = "#1f2937";
    c.fillText(`${this.title} / ${this.unit}`, left, 15);
    c.fillStyle = "#6b7280";
    c.strokeStyle = "#e5e7eb";
    c.lineWidth = 1;
    c.textAlign = "right";
    const digits = Math.max(0, Math.min(5, 1 - Math.floor(Math.log10(high - low))));
    for (const part of [0.08, 0.5, 0.92]) {
      const v = low + part * (high - low);
      c.beginPath(); c.moveTo(left, y(v)); c.lineTo(right, y(v)); c.stroke();
      c.fillText(v.toFixed(digits), left - 6, y(v) + 4);
    }
    c.textAlign = "center";
    for (let t = Math.ceil(begin / 2) * 2; t <= end - 0.2; t += 2) c.fillText(`${t} s`, x(t), bottom + 15);
    c.textAlign = "left";
  }
}
