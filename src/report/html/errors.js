/* SPDX-License-Identifier: Apache-2.0 */
/* errors.js - each step's error against the reference, as it was measured when the engine was built, and its bound. */

function drawErrors(root, width, layers) {
  const left = 62, right = 12, top = 12, bottom = 34, height = 210;
  const known = layers.map((l) => l.step), above = known.map((s) => s.error_rel_l2).filter((e) => e > 0);
  const low = Math.min(...above, ...known.map((s) => s.error_bound)) / 3, high = Math.max(...known.map((s) => Math.max(s.error_bound, s.error_rel_l2))) * 2;
  const x = (layer) => left + ((layer.index + 0.5) / LAYERS.length) * (width - left - right);
  const y = (v) => height - bottom - (Math.log(Math.max(v, low) / low) / Math.log(high / low)) * (height - top - bottom);
  const parts = [];
  for (const v of logTicks(low, high).filter((v) => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6)))
    parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), svg("text", { class: "tick", x: left - 7, y: y(v) + 4, "text-anchor": "end", text: v.toExponential(0) }));
  const half = Math.max(1.5, (width - left - right) / LAYERS.length / 2);
  for (const layer of layers)
    parts.push(svg("line", { class: "bound", x1: x(layer) - half, x2: x(layer) + half, y1: y(layer.step.error_bound), y2: y(layer.step.error_bound) }),
      mark(svg("circle", { class: "point", "data-layer": layer.index, cx: x(layer), cy: y(layer.step.error_rel_l2), r: 3.5, style: { "--of": colorOf(layer.class) } }), layer,
        [layer.name, `error ${small(layer.step.error_rel_l2)}, allowed ${small(layer.step.error_bound)}`, layer.tactic]));
  for (const v of ticks(1, LAYERS.length, (width - left) / 90)) if (v >= 1)
    parts.push(svg("text", { class: "tick", x: x({ index: v - 1 }), y: height - bottom + 16, "text-anchor": "middle", text: String(v) }));
  parts.push(svg("text", { class: "axis", x: width - right, y: height - 3, "text-anchor": "end", text: "layer" }));
  fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }).replaceChildren(...parts);
  followPoints(root);
}

function showErrors() {
  const section = byId("errors");
  const layers = LAYERS.filter((l) => l.step.error_rel_l2 >= 0 && l.step.error_bound > 0);
  if (!layers.length) return;
  const worst = [...layers].sort((a, b) => errorShare(b) - errorShare(a))[0];
  const outputs = SCHEDULE.outputs.filter((o) => o.error_rel_l2 >= 0);
  const says = [`Relative L2 of each layer's output against the reference on seeded inputs, measured when the engine was built; the line is what its type allows. ${count(layers.length, "layer")}, ` +
    `${layers.filter((l) => errorShare(l) > 0.5).length} above half of the bound; nearest to its bound is ${worst.name} with ${small(worst.step.error_rel_l2)} of ${small(worst.step.error_bound)}.`,
  outputs.map((o) => `Output ${o.name} is ${small(o.error_rel_l2)} away from the network without narrow types.`).join(" ")];
  const drawing = svg("svg", {});
  const { frame } = figure(section, drawing, { label: "Errors of layers and their bounds", says: says.filter(Boolean).join(" "), order: layers });
  whenResized(frame, (width) => drawErrors(drawing, width, layers));
  onSelect(() => followPoints(drawing));
}
