"use strict";
// The graphs of a report: one time axis for all, one legend for all joints, and a cursor at the replay's time.

const options = {responsive: true, displaylogo: false};
const buttons = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
const plots = figures.map((figure, i) => document.getElementById("plot" + i));
// Where fingers scroll, a finger on a graph scrolls too; its buttons zoom.
const dragging = matchMedia("(pointer: coarse)").matches ? {dragmode: false} : {};
figures.forEach((figure, i) => {
  plots[i].classList.toggle("wide", figure.layout.meta === "wide");
  const flat = figure.data.every(trace => trace.type === "scatter" || trace.type === "bar");
  const layout = {...figure.layout, ...(flat ? dragging : {})};
  Plotly.newPlot(plots[i], figure.data, layout, flat ? {...options, modeBarButtons: buttons} : options);
});
const overTime = plots.filter((plot, i) => figures[i].data.length && figures[i].data.every(t => t.type === "scatter"));
const timeAxes = plot => Object.keys(plot._fullLayout).filter(name => /^xaxis\d*$/.test(name));

let linking = false;
for (const one of overTime) {
  one.on("plotly_relayout", change => {
    const key = Object.keys(change).find(name => /^xaxis\d*\.(range|autorange)/.test(name));
    if (linking || !key) return;
    linking = true;
    const axis = one._fullLayout[key.split(".")[0]], whole = key.endsWith("autorange");
    const wanted = whole ? {autorange: true} : {range: [...axis.range], autorange: false};
    const others = overTime.map(plot => Plotly.relayout(plot, Object.fromEntries(
      timeAxes(plot).flatMap(name => Object.entries(wanted).map(([part, value]) => [`${name}.${part}`, value])))));
    Promise.all(others).finally(() => { linking = false; showCursor(); });
  });
  one.on("plotly_click", event => seek(event.points[0].x));
  one.on("plotly_afterplot", () => showCursor());
}

let cursorTime = 0;
function showCursor(time = cursorTime) {
  cursorTime = time;
  for (const plot of overTime) {
    if (!plot._fullLayout || !plot._fullLayout._size) continue;
    const lines = [...plot.querySelectorAll(".cursor")];
    timeAxes(plot).forEach((name, k) => {
      const line = lines[k] || plot.appendChild(Object.assign(document.createElement("div"), {className: "cursor"}));
      const x = plot._fullLayout[name], y = plot._fullLayout[name.replace("x", "y")] || plot._fullLayout.yaxis;
      const place = x.l2p(time);
      line.style.display = place >= 0 && place <= x._length ? "" : "none";
      Object.assign(line.style, {left: `${x._offset + place}px`, top: `${y._offset}px`, height: `${y._length}px`});
    });
  }
}

let light = joint => {};
const chips = [...document.querySelectorAll(".chips button")];
function show(wanted) {
  chips.forEach(chip => chip.setAttribute("aria-pressed", wanted(chip)));
  const joints = new Set(chips.filter(wanted).map(chip => Number(chip.dataset.joint)));
  figures.forEach((figure, i) => {
    const places = figure.data.flatMap((trace, k) => typeof trace.meta === "number" ? [k] : []);
    const visible = places.map(k => joints.has(figure.data[k].meta));
    if (places.length) Plotly.restyle(plots[i], {visible: visible}, places);
  });
}
const pressed = chip => chip.getAttribute("aria-pressed") === "true";
chips.forEach(one => {
  lightWhenPointedAt(one, on => light(on ? Number(one.dataset.joint) : null));
  let alone = false;
  one.addEventListener("click", event => {
    if (event.detail > 1) return;
    alone = pressed(one) && chips.filter(pressed).length === 1;
    const before = new Map(chips.map(chip => [chip, pressed(chip)]));
    show(chip => chip === one ? !before.get(one) : before.get(chip));
  });
  one.addEventListener("dblclick", () => { const all = alone; show(chip => all || chip === one); });
});
