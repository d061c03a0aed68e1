/* SPDX-License-Identifier: Apache-2.0 */
/* charts.js - shares of classes, and the roofline: rate over operations a byte, both by powers of ten. */

function showClasses() {
  const section = byId("classes");
  const classes = PROFILE.classes.map((row) => {
    const layers = LAYERS.filter((l) => l.class === row.class);
    return { ...row, above: sum(layers, (l) => l.above_roof_ms), roof: sum(layers, (l) => Math.max(l.compute_floor_ms || 0, l.memory_floor_ms || 0)) };
  });
  if (!classes.length) return;
  const stack = el("div", { class: "stack", "aria-hidden": "true" }, classes.filter((c) => c.percent > 0).map((c) =>
    mark(el("span", { style: { "flex-grow": String(c.percent), background: colorOf(c.class) } }), null,
      [c.class, `${ms(c.median_ms)} ms, ${percent(c.percent)}`, count(c.layers, "layer")])));
  section.append(stack, plainTable("Classes of layers by time; what is above the roof could be saved at most",
    [{ text: "Class" }, { text: "ms", number: true }, { text: "Share", number: true }, { text: "Layers", number: true },
      { text: "GFLOP", number: true }, { text: "At the roof ms", number: true }, { text: "Above ms", number: true }],
    classes.map((c) => [[el("span", { class: "dot", style: { background: colorOf(c.class) } }), " " + c.class], fixed(c.median_ms, 3),
      percent(c.percent), String(c.layers), c.flops ? fixed(c.flops * 1e-9, 2) : "–", c.roof ? fixed(c.roof, 3) : "–", fixed(c.above, 3)])));
}

/* Ridges name every pair of a unit and a level; roofs are drawn for units in use, slopes for all levels. */
function roofLines() {
  const units = new Map(), levels = new Map();
  for (const ridge of DATA.roofline.ridges || []) {
    if (ridge.used) units.set(ridge.unit, ridge.flop_per_second);
    levels.set(ridge.level, ridge.byte_per_second);
  }
  return { units: [...units], levels: [...levels] };
}

/* Where the name of a level roof ends: as far right as its text touches no circle. */
function placeForName(text, right, left, y, circles) {
  const wide = 7 * text.length;
  const free = (end) => circles.every((c) => c.x + c.r < end - wide || c.x - c.r > end || c.y + c.r < y - 17 || c.y - c.r > y - 1);
  for (let end = right; end - wide > left; end -= 8) if (free(end)) return end;
  return right;
}

function drawRoofline(root, width, points, roofs) {
  const height = Math.round(Math.min(420, Math.max(280, width * 0.52)));
  const left = 62, right = 14, top = 14, bottom = 40;
  const peak = Math.max(...roofs.units.map(([, v]) => v), ...points.map((l) => l.point.flop_per_second));
  const xs = points.map((l) => l.point.flop_per_byte);
  const ridge = peak / Math.min(...roofs.levels.map(([, v]) => v), Infinity);
  const xLow = Math.min(...xs, 0.5) / 1.5, xHigh = Math.max(...xs, ridge || 1) * 2;
  const yLow = Math.min(...points.map((l) => l.point.flop_per_second)) / 2, yHigh = peak * 2;
  const x = (v) => left + ((Math.log(v) - Math.log(xLow)) / (Math.log(xHigh) - Math.log(xLow))) * (width - left - right);
  const y = (v) => height - bottom - ((Math.log(v) - Math.log(yLow)) / (Math.log(yHigh) - Math.log(yLow))) * (height - top - bottom);
  const parts = [];
  for (const v of logTicks(xLow, xHigh)) parts.push(svg("line", { class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom }),
    svg("text", { class: "tick", x: x(v), y: height - bottom + 16, "text-anchor": "middle", text: v >= 1 ? v.toLocaleString("en") : String(+v.toPrecision(1)) }));
  for (const v of logTicks(yLow, yHigh)) parts.push(svg("line", { class: "grid", y1: y(v), y2: y(v), x1: left, x2: width - right }),
    svg("text", { class: "tick", x: left - 7, y: y(v) + 4, "text-anchor": "end", text: tickText(v, "") }));
  parts.push(svg("text", { class: "axis", x: width - right, y: height - 6, "text-anchor": "end", text: "operations a byte" }),
    svg("text", { class: "axis", x: 8, y: top + 2, transform: `rotate(-90 8 ${top + 2})`, "text-anchor": "end", "dominant-baseline": "hanging", text: "FLOP/s" }));
  const top_ = Math.max(...roofs.units.map(([, v]) => v), 1);
  roofs.levels.forEach(([name, slope], i) => {
    const from = Math.max(xLow, yLow / slope), to = Math.min(xHigh, top_ / slope);
    if (to <= from) return;
    const turn = (Math.atan2(y(to * slope) - y(from * slope), x(to) - x(from)) * 180) / Math.PI;
    const at = Math.exp(Math.log(from) + (name === "memory" ? 0.06 : 0.03 + 0.31 * i) * (Math.log(to) - Math.log(from)));
    parts.push(svg("line", { class: "roof", x1: x(from), y1: y(from * slope), x2: x(to), y2: y(to * slope) }),
      svg("text", { class: "tick", x: x(at), y: y(at * slope) - 5, transform: `rotate(${turn} ${x(at)} ${y(at * slope)})`, text: width < 500 ? name : `${name} ${scaled(slope, "B/s")}` }));
  });
  const fastest = Math.max(...roofs.levels.map(([, v]) => v), 1), most = Math.max(...points.map((l) => l.median_ms));
  const circles = [...points].sort((a, b) => b.median_ms - a.median_ms).map((layer) => ({
    layer, x: x(layer.point.flop_per_byte), y: y(layer.point.flop_per_second), r: 2.5 + 9 * Math.sqrt(layer.median_ms / most) }));
  for (const [name, rate] of roofs.units) {
    const text = `${name} ${scaled(rate, "FLOP/s")}`, begin = x(Math.max(xLow, rate / fastest));
    parts.push(svg("line", { class: "roof", x1: begin, x2: width - right, y1: y(rate), y2: y(rate) }),
      svg("text", { class: "tick", x: placeForName(text, width - right, begin, y(rate), circles), y: y(rate) - 5, "text-anchor": "end", "data-roof": name, text }));
  }
  for (const c of circles)
    parts.push(mark(svg("circle", { class: "point", "data-layer": c.layer.index, cx: c.x, cy: c.y, r: c.r, style: { "--of": colorOf(c.layer.class) } }), c.layer));
  fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }).replaceChildren(...parts);
  followPoints(root);
}

function followPoints(root) {
  for (const point of root.querySelectorAll("[data-layer]")) point.classList.toggle("selected", selected !== null && Number(point.dataset.layer) === selected.index);
  const chosen = root.querySelector(".point.selected");
  if (chosen) chosen.parentNode.append(chosen); /* before all others */
}

function legend(names) {
  return el("ul", { class: "legend" }, names.map((name) => el("li", {}, [el("span", { class: "dot", style: { background: colorOf(name) } }), name])));
}

function showRoofline() {
  const section = byId("roofline"), roofs = roofLines();
  const points = LAYERS.filter((l) => l.point.flop_per_byte > 0 && l.point.flop_per_second > 0);
  if (!points.length || !roofs.levels.length) return;
  const whole = DATA.roofline.whole || {};
  const by = (kind) => LAYERS.filter((l) => l.bound === kind);
  const says = [`${count(points.length, "layer")} that compute something, by operations a byte and rate; area is time.`,
    ["compute", "memory", "latency"].filter((kind) => by(kind).length).map((kind) =>
      `${count(by(kind).length, "layer")} (${ms(sum(by(kind), (l) => l.median_ms))} ms) ${by(kind).length === 1 ? "is" : "are"} bound by ${kind}`).join(", ") + ".",
    whole.flop_per_byte && `The whole network has ${fixed(whole.flop_per_byte, 1)} operations a byte and reaches ${scaled(whole.flop_per_second, "FLOP/s")}, ${percent(whole.roof_percent, 0)} of its roof.`];
  const drawing = svg("svg", {});
  const { frame, whole: box } = figure(section, drawing, { label: "Roofline plot", says: says.filter(Boolean).join(" "), order: points });
  box.insertBefore(legend(CLASSES.filter((name) => points.some((l) => l.class === name))), frame);
  whenResized(frame, (width) => drawRoofline(drawing, width, points, roofs));
  onSelect(() => followPoints(drawing));
}
