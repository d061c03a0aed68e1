/* SPDX-License-Identifier: Apache-2.0 */
/* memory.js - the memory map: each tensor's place in the arena over the steps that it lives, and above it what is needed
 * at each step. Where extents are free there are no offsets, and only the curve is drawn. Arenas of several memory spaces
 * lie on one another. */

/* Where the arena of each memory space begins. */
const ARENAS = [];
for (const arena of MEMORY.arenas || [{ space: undefined, bytes: MEMORY.arena_bytes }])
  ARENAS.push({ ...arena, begin: sum(ARENAS, (before) => before.bytes) });
const arenaOf = (tensor) => ARENAS.find((arena) => arena.space === tensor.space) || ARENAS[0];

function drawMemory(root, width, tensors) {
  const left = 62, right = 12, curve = 74, between = 26, map = tensors.length ? 250 : 0, bottom = 30;
  const steps = MEMORY.steps, most = Math.max(MEMORY.peak_bytes, ...steps.map((s) => s.live_bytes), 1);
  const top = 24, height = top + curve + (map ? between + map : 0) + bottom;
  const x = (step) => left + (step / steps.length) * (width - left - right);
  const yLive = (v) => top + curve - (v / most) * curve;
  const arena = Math.max(MEMORY.arena_bytes, 1), y = (offset) => top + curve + between + map - (offset / arena) * map;
  const parts = [];
  let area = `M${x(0)},${yLive(0)}`;
  steps.forEach((s, i) => (area += `L${x(i)},${yLive(s.live_bytes)}L${x(i + 1)},${yLive(s.live_bytes)}`));
  parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: yLive(most), y2: yLive(most) }),
    svg("text", { class: "tick", x: left - 7, y: yLive(most) + 4, "text-anchor": "end", text: bytes(most) }),
    svg("text", { class: "tick", x: left - 7, y: yLive(0) + 4, "text-anchor": "end", text: "needed" }),
    svg("path", { class: "area", d: `${area}L${x(steps.length)},${yLive(0)}Z` }));
  const peak = steps.findIndex((s) => s.name === MEMORY.peak_step);
  if (peak >= 0) parts.push(svg("line", { class: "peak", x1: x(peak + 0.5), x2: x(peak + 0.5), y1: top - 18, y2: height - bottom }),
    svg("text", { class: "tick strong", x: x(peak + 0.5) + (peak > steps.length / 2 ? -5 : 5), y: top - 7, "text-anchor": peak > steps.length / 2 ? "end" : "start", text: "peak" }));
  if (map) {
    parts.push(svg("rect", { class: "lane", x: left, y: y(arena), width: width - left - right, height: map }),
      svg("text", { class: "tick", x: left - 7, y: y(arena) + 8, "text-anchor": "end", text: bytes(arena) }),
      svg("text", { class: "tick", x: left - 7, y: y(0), "text-anchor": "end", text: "offset 0" }));
    for (const one of ARENAS.length > 1 ? ARENAS : [])
      parts.push(svg("line", { class: "bound", x1: left, x2: width - right, y1: y(one.begin), y2: y(one.begin) }),
        svg("text", { class: "tick", x: width - right - 4, y: y(one.begin) - 4, "text-anchor": "end", text: `arena of the ${one.device}, ${bytes(one.bytes)}` }));
    for (const tensor of tensors) {
      const offset = arenaOf(tensor).begin + tensor.offset;
      const layer = LAYER_OF.get((steps[tensor.first_step] || {}).name);
      const high = Math.max(1, y(offset) - y(offset + tensor.bytes)), wide = x(tensor.last_step + 1) - x(tensor.first_step);
      parts.push(mark(svg("rect", { class: "tensor", "data-layer": layer && layer.index, x: x(tensor.first_step), y: y(offset + tensor.bytes),
        width: Math.max(1, wide - 0.8), height: Math.max(0.8, high - 0.8), style: { "--of": layer ? colorOf(layer.class) : "var(--quiet)" } }), layer,
      [tensor.name, `${bytes(tensor.bytes)} at ${tensor.offset.toLocaleString("en")}`, `steps ${tensor.first_step + 1} to ${tensor.last_step + 1}`, tensor.type]));
    }
  }
  for (const v of ticks(1, steps.length, (width - left) / 90)) if (v >= 1)
    parts.push(svg("text", { class: "tick", x: x(v - 0.5), y: height - bottom + 16, "text-anchor": "middle", text: String(v) }));
  parts.push(svg("text", { class: "axis", x: width - right, y: height - 3, "text-anchor": "end", text: "step" }));
  const hover = (event) => {
    const at = Math.floor(((event.offsetX - left) / (width - left - right)) * steps.length), step = steps[at];
    if (step && event.offsetY < top + curve) tip(event, [step.name, `step ${at + 1}: ${bytes(step.live_bytes)} needed`]);
    else if (event.target === root) tipOut();
  };
  root.onpointermove = hover;
  root.onpointerleave = tipOut;
  fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }).replaceChildren(...parts);
  followPoints(root);
}

function showMemory() {
  const section = byId("memory");
  if (!MEMORY.steps.length || !MEMORY.peak_bytes) return;
  const tensors = MEMORY.tensors.filter((t) => t.offset !== undefined && !t.same_place_as && !t.lies_in && t.bytes > 0);
  const held = tensors.filter((t) => {
    const peak = MEMORY.steps.findIndex((s) => s.name === MEMORY.peak_step);
    return t.first_step <= peak && peak <= t.last_step;
  });
  const says = [`${count(MEMORY.tensors.length, "tensor")} share an arena of ${bytes(MEMORY.arena_bytes)}; the most that is needed at once is ${bytes(MEMORY.peak_bytes)}, at ${MEMORY.peak_step}` +
    (held.length ? `, by ${held.map((t) => t.name).join(", ")}.` : "."),
  `Scratch takes ${bytes(MEMORY.scratch_bytes)}, inputs ${bytes(MEMORY.input_bytes)}, outputs ${bytes(MEMORY.output_bytes)}, weights ${bytes(DATA.memory.weights_bytes)}, mapped from the file.`,
  MEMORY.dynamic && "Extents are free: sizes are those of the opt shapes, and offsets come with the shapes.",
  MEMORY.has_unknown && "Tensors whose extents are known only after running are left out."];
  const drawing = svg("svg", {});
  const { frame } = figure(section, drawing, { label: "Memory map: offset in the arena over steps", says: says.filter(Boolean).join(" ") });
  whenResized(frame, (width) => drawMemory(drawing, width, tensors));
  onSelect(() => followPoints(drawing));
}
