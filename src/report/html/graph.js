/* SPDX-License-Identifier: Apache-2.0 */
/* graph.js - the graph of steps. A step that fuses several of the model's nodes is a frame around them. Below it the whole
 * graph as a strip, with the part that is seen. */

const BOX = { wide: 190, head: 42, line: 17, most: 6, pad: 7 };

const shortened = (text, most) => (text.length > most ? "…" + text.slice(text.length - most + 1) : text);

/* Boxes for inputs, steps and outputs; an edge for each tensor from who writes it to who reads it. */
function graphOf() {
  const nodes = [], edges = [], writer = new Map();
  const push = (node) => (nodes.push(node), nodes.length - 1);
  for (const port of SCHEDULE.inputs) writer.set(port.name, push({ name: port.name, says: port.type, port: true, high: 34, lines: [] }));
  SCHEDULE.steps.forEach((step) => {
    const layer = LAYER_OF.get(step.name), fused = isFused(step) ? step.from : [];
    const lines = fused.length > BOX.most ? [...fused.slice(0, BOX.most - 1), `and ${fused.length - BOX.most + 1} more`] : fused;
    const node = push({ name: step.name, step, layer, lines, says: `${step.type}${layer ? `, ${ms(layer.median_ms)} ms` : ", nothing runs"}`,
      high: BOX.head + (lines.length ? lines.length * BOX.line + BOX.pad : 0) });
    for (const input of step.inputs) if (input && writer.has(input.name)) edges.push({ from: writer.get(input.name), to: node, tensor: input });
    for (const output of step.outputs) if (output) writer.set(output.name, node);
  });
  for (const port of SCHEDULE.outputs) {
    const node = push({ name: port.name, says: port.type, port: true, high: 34, lines: [] });
    if (writer.has(port.name)) edges.push({ from: writer.get(port.name), to: node, tensor: port });
  }
  return { nodes, edges: edges.filter((e) => e.from !== e.to) };
}

function edgePath(edge) {
  const middle = (cell) => cell.y + cell.high / 2, half = (LAYOUT.column - BOX.wide) / 2;
  let d = "";
  edge.cells.forEach((cell, i) => {
    const y = middle(cell), from = cell.x, to = cell.x + BOX.wide;
    if (i === 0) d = `M${to},${y}`;
    else d += `C${from - half},${middle(edge.cells[i - 1])} ${from - half},${y} ${from},${y}` + (cell.through ? `L${to},${y}` : "");
  });
  return d;
}

function drawBox(node) {
  const parts = [svg("rect", { class: "box", width: BOX.wide, height: node.high, rx: 5 })];
  if (node.layer) parts.push(svg("rect", { width: 5, height: node.high, rx: 2, style: { fill: colorOf(node.layer.class) } }));
  parts.push(svg("text", { class: "strong", x: 13, y: 17, text: shortened(node.name, 24) }), svg("text", { x: 13, y: 32, text: shortened(node.says, 30) }));
  if (node.layer) parts.push(svg("rect", { class: "share", x: 13, y: 37, height: 2.5, width: Math.max(0.5, ((BOX.wide - 22) * node.layer.median_ms) / LONGEST_MS) }));
  node.lines.forEach((line, i) => parts.push(svg("rect", { class: "part", x: 13, y: BOX.head + 1 + i * BOX.line, width: BOX.wide - 21, height: BOX.line - 3, rx: 2.5 }),
    svg("text", { class: "small", x: 18, y: BOX.head + 11.5 + i * BOX.line, text: shortened(line, 29) })));
  const group = svg("g", { class: `node${node.port ? " port" : ""}`, transform: `translate(${node.x} ${node.y})`, "data-layer": node.layer && node.layer.index }, parts);
  return mark(group, node.layer, node.layer ? [...layerLines(node.layer), node.lines.length ? `fuses ${count(node.step.from.length, "node")}` : null] : [node.name, node.says]);
}

const LONGEST_MS = Math.max(...LAYERS.map((l) => l.median_ms), 1e-9);

function drawGraph(root, graph, size) {
  const margin = 12, parts = [];
  for (const edge of graph.edges) {
    const lines = [edge.tensor.name, edge.tensor.type];
    if (!edge.cut) parts.push(mark(svg("path", { class: "edge", d: edgePath(edge) }), null, lines));
    else for (const [node, x, other] of [[graph.nodes[edge.from], BOX.wide, edge.to], [graph.nodes[edge.to], -26, edge.from]]) {
      const y = node.y + node.high / 2;
      parts.push(mark(svg("path", { class: "edge cut", d: `M${node.x + x},${y}h26` }), null, [...lines, `${x < 0 ? "from" : "to"} ${graph.nodes[other].name}`]));
    }
  }
  parts.push(...graph.nodes.map(drawBox));
  root.setAttribute("viewBox", `${-margin} ${-margin} ${size.width + 2 * margin} ${size.height + 2 * margin}`);
  root.replaceChildren(...parts);
}

function drawStrip(strip, graph, size) {
  const view = svg("rect", { class: "view", y: 0, height: size.height });
  strip.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  strip.setAttribute("preserveAspectRatio", "none");
  strip.replaceChildren(...graph.nodes.map((node) => svg("rect", { x: node.x, y: node.y, width: BOX.wide, height: node.high, "data-layer": node.layer && node.layer.index,
    style: { fill: node.layer ? colorOf(node.layer.class) : "var(--quiet)", opacity: node.layer ? String(0.25 + (0.75 * node.layer.median_ms) / LONGEST_MS) : "0.3" } })), view);
  return view;
}

function showGraph() {
  const section = byId("graph"), graph = graphOf(), size = layOut(graph.nodes, graph.edges);
  const fused = SCHEDULE.steps.filter(isFused), views = SCHEDULE.steps.filter((s) => !LAYER_OF.has(s.name)).length;
  const converts = LAYERS.filter((l) => l.class === "Convert" || l.type === "copy").length;
  const says = `${count(SCHEDULE.steps.length, "step")} and ${count(graph.edges.length, "tensor")} between them. ${count(fused.length, "step")} ${fused.length === 1 ? "fuses" : "fuse"} ` +
    `${count(new Set(fused.flatMap((s) => s.from)).size, "node")} of the model, which stand in ${fused.length === 1 ? "its frame" : "their frames"}` + (converts ? `; ${count(converts, "step")} only convert or copy` : "") +
    (views ? `; ${count(views, "step")} ${views === 1 ? "runs" : "run"} nothing` : "") + ". The bar under a name is its time.";
  const drawing = svg("svg", {}), strip = svg("svg", { class: "strip", "aria-hidden": "true" });
  const { frame, whole } = figure(section, drawing, { label: "Graph of steps", class: "moves map", says, keys: "Arrow keys go from layer to layer; + and − zoom, 0 shows as much as can be read." });
  drawGraph(drawing, graph, size);
  const view = drawStrip(strip, graph, size);
  let scale = 1;
  const look = () => fill(view, { x: frame.scrollLeft / scale, width: Math.min(size.width, frame.clientWidth / scale) });
  const least = () => Math.max(0.3, Math.min(1, frame.clientWidth / (size.width + 24))); /* the strip shows the whole of long ones */
  function zoom(to) {
    const middle = (frame.scrollLeft + frame.clientWidth / 2) / scale;
    scale = Math.max(least(), Math.min(2, to));
    fill(drawing, { width: Math.round((size.width + 24) * scale), height: Math.round((size.height + 24) * scale) });
    frame.scrollLeft = middle * scale - frame.clientWidth / 2;
    look();
  }
  const show = (layer) => {
    const node = graph.nodes.find((n) => n.layer === layer);
    if (!node) return;
    frame.scrollLeft = (node.x + BOX.wide / 2) * scale - frame.clientWidth / 2;
    frame.scrollTop = (node.y + node.high / 2) * scale - frame.clientHeight / 2;
  };
  whole.insertBefore(el("div", { class: "tools" }, [
    el("button", { class: "tool", type: "button", "aria-label": "Zoom in", text: "+", onclick: () => zoom(scale * 1.4) }),
    el("button", { class: "tool", type: "button", "aria-label": "Zoom out", text: "−", onclick: () => zoom(scale / 1.4) }),
    el("button", { class: "tool", type: "button", "aria-label": "As small as can be read", text: "fit", onclick: () => zoom(0) }),
    el("button", { class: "tool", type: "button", text: "selected", onclick: () => (zoom(1), show(selected)) })]), frame);
  whole.insertBefore(strip, frame);
  frame.addEventListener("keydown", (event) => {
    const to = { "+": scale * 1.4, "=": scale * 1.4, "-": scale / 1.4, 0: 0 }[event.key];
    if (to !== undefined && !event.ctrlKey && !event.metaKey) (event.preventDefault(), zoom(to));
  });
  frame.addEventListener("scroll", look, { passive: true });
  strip.addEventListener("pointerdown", (event) => (frame.scrollLeft = (event.offsetX / strip.clientWidth) * size.width * scale - frame.clientWidth / 2));
  let drag = null;
  frame.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") drag = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop }; });
  window.addEventListener("pointerup", () => (drag = null));
  frame.addEventListener("pointermove", (event) => { if (drag) (frame.scrollLeft = drag.x - event.clientX), (frame.scrollTop = drag.y - event.clientY); });
  whenResized(frame, () => (zoom(scale), selected && show(selected)));
  onSelect((layer, from) => {
    followPoints(drawing);
    followPoints(strip);
    if (from !== "mark") show(layer);
  });
}
