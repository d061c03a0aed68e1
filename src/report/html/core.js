/* SPDX-License-Identifier: Apache-2.0 */
/* core.js - what all sections use: the data, elements, numbers as text, the selected layer, and the keyboard in figures.
 * The files of the page are one script; each section is a function that main.js calls, and takes itself out where the
 * data has nothing for it. */
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const PROFILE = DATA.profile;
const SCHEDULE = DATA.engine.schedules.find((s) => s.schedule === PROFILE.schedule) || DATA.engine.schedules[0];
const MEMORY = DATA.memory.schedules.find((s) => s.schedule === PROFILE.schedule) || DATA.memory.schedules[0];
/* Layers are the profile's, in the order of execution, each with its step of the engine and its place under the roofs. */
const STEP_OF = new Map(SCHEDULE.steps.map((step, index) => [step.name, { ...step, index }]));
const LAYERS = PROFILE.layers.map((row, index) => ({
  ...row,
  index,
  step: STEP_OF.get(row.name) || { inputs: [], outputs: [], from: [], index: -1 },
  point: (DATA.roofline.layers || [])[index] || {},
}));
const LAYER_OF = new Map(LAYERS.map((layer) => [layer.name, layer]));

/* ---- elements ---- */
const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key === "style") for (const [name, text] of Object.entries(value)) node.style.setProperty(name, text);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of [children || []].flat()) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}
const el = (name, attributes, children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/* ---- numbers ---- */
const sum = (list, of) => list.reduce((total, item) => total + (of(item) || 0), 0);
const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : "–");
const ms = (value) => fixed(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3);
const percent = (value, digits = 1) => (Number.isFinite(value) ? value.toFixed(digits) + " %" : "–");
const count = (value, one, many) => `${value.toLocaleString("en")} ${value === 1 ? one : many || one + "s"}`;

/* Three digits and a prefix: 1 234 567 is 1.23 M. */
function scaled(value, unit) {
  if (!Number.isFinite(value)) return "–";
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let at = 0;
  while (Math.abs(value) >= 1000 && at + 1 < prefixes.length) (value /= 1000), ++at;
  const digits = value === 0 || (at === 0 && Number.isInteger(value)) ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ${prefixes[at]}${unit}`.trim();
}
const tickText = (value, unit) => scaled(value, unit).replace(/\.0+(?= |$)/, "");
const bytes = (value) => scaled(value, "B");
const binary = (value) => (value >= 1 << 20 ? `${+(value / (1 << 20)).toFixed(1)} MiB` : `${+(value / 1024).toFixed(1)} KiB`);
const small = (value) => (value === 0 ? "0" : Number.isFinite(value) ? value.toExponential(1) : "–");
const time = (ns) => (ns >= 1e6 ? `${ms(ns * 1e-6)} ms` : `${fixed(ns * 1e-3, ns >= 1e5 ? 0 : ns >= 1e4 ? 1 : 2)} µs`);

/* ---- colours: one for each class, by a place of its own, so that reports look alike ---- */
const CLASS_ORDER = ["Convolution", "Matrix product", "Attention", "Normalization", "Elementwise", "Pooling", "Activation", "Recurrent",
  "Softmax", "Data movement", "Convert", "Reduction", "Resize", "Quantization"];
const CLASSES = [...new Set(LAYERS.map((layer) => layer.class))].sort(
  (a, b) => (CLASS_ORDER.indexOf(a) + 99) % 99 - (CLASS_ORDER.indexOf(b) + 99) % 99 || a.localeCompare(b));
const colorOf = (name) => `var(--class-${1 + (CLASSES.indexOf(name) % 10)})`;

/* A call that stands for several nodes of the model; a convert has the nodes of the layer that wanted it. */
const isFused = (step) => step.kind === "call" && step.type !== "convert" && step.from.length > 1;

/* ---- the selected layer: chosen anywhere, followed everywhere ---- */
const followers = [];
const onSelect = (follow) => followers.push(follow);
let selected = null;

function say(text) {
  byId("said").textContent = text;
}

function select(layer, from) {
  if (!layer || layer === selected) return;
  selected = layer;
  for (const follow of followers) follow(layer, from);
  if (from !== "start") say(`${layer.name}, layer ${layer.index + 1} of ${LAYERS.length}: ${ms(layer.median_ms)} ms, ${percent(layer.percent)}`);
}

/* ---- what hovers over marks ---- */
function tip(event, lines) {
  const box = byId("tip");
  box.replaceChildren(...lines.filter(Boolean).map((line, i) => el(i ? "span" : "strong", { text: line })));
  box.hidden = false;
  const width = box.offsetWidth, height = box.offsetHeight;
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 4))}px`;
  box.style.top = `${event.clientY + 18 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}
const tipOut = () => (byId("tip").hidden = true);
const layerLines = (layer) => [layer.name, `${ms(layer.median_ms)} ms, ${percent(layer.percent)}`, `${layer.type}, ${layer.class}`,
  layer.bound && `${percent(layer.roof_percent, 0)} of the roof, ${boundText(layer)}`];

/* A mark of a layer: hovering tells of it, clicking selects it. */
function mark(node, layer, lines) {
  node.addEventListener("pointermove", (event) => tip(event, lines || layerLines(layer)));
  node.addEventListener("pointerleave", tipOut);
  if (layer) node.addEventListener("click", () => select(layer, "mark"));
  return node;
}

function boundText(layer) {
  if (layer.bound === "compute") return `compute ${layer.unit}`;
  if (layer.bound === "memory") return layer.level === "memory" ? "memory" : `memory ${layer.level}`;
  return layer.bound || "–";
}

/* ---- a figure: a title for readers who do not see it, a caption in words, arrow keys from layer to layer ---- */
function figure(section, drawing, options) {
  const caption = el("figcaption", { id: `${section.id}-says`, text: options.says });
  const frame = el("div", {
    class: `frame ${options.class || ""}`, tabindex: "0", role: "group", "aria-label": options.label,
    "aria-describedby": caption.id,
    onkeydown: (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const order = options.order || LAYERS;
      const at = order.indexOf(selected);
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: order.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      select(order[Math.max(0, Math.min(order.length - 1, to))], "keys");
    },
  }, drawing);
  drawing.setAttribute("aria-hidden", "true");
  const parts = [caption, frame, el("p", { class: "keys", text: options.keys || "Arrow keys go from layer to layer." })];
  const whole = el("figure", {}, parts);
  section.append(whole);
  return { whole, frame, caption };
}

/* Redraws when its place gets another width. */
function whenResized(frame, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (frame.clientWidth === width || !frame.clientWidth) return;
    width = frame.clientWidth;
    draw(width);
  }).observe(frame);
}

/* Numbers of 1, 2 and 5 in [low, high], about `wanted` of them. */
function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const out = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) out.push(Math.abs(at) < step * 1e-6 ? 0 : at);
  return out;
}
/* Powers of ten in [low, high]; where there are few, with 2 and 5 between. */
function logTicks(low, high) {
  const out = [], fine = Math.log10(high / low) < 3;
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p)
    for (const f of fine ? [1, 2, 5] : [1]) if (f * 10 ** p >= low * 0.999 && f * 10 ** p <= high * 1.001) out.push(f * 10 ** p);
  return out;
}

/* A table with a caption; cells are texts, numbers' columns are aligned to the right. */
function plainTable(caption, heads, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", {}, [
    el("caption", { text: caption }),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", class: head.number && "number", text: head.text })))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, i) =>
      el(i ? "td" : "th", { scope: i ? null : "row", class: heads[i].number && "number" }, cell))))),
  ]));
}
