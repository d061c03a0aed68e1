/* SPDX-License-Identifier: Apache-2.0 */
/* advice.js - what could be done, by what it would save, and, where advice was applied, the time after each step of it. The
 * data is what hone_report_advice() writes as JSON. */

const CONFIDENCE = { high: "sure", medium: "likely", low: "unsure" };

/* A step of the engine, or the one that stands for this node of the model. */
const layerNamed = (name) => LAYER_OF.get(name) || LAYERS.find((layer) => isFused(layer.step) && layer.from.includes(name)) ||
  LAYERS.find((layer) => layer.from.includes(name));

function adviceCard(item, number, most) {
  const known = Number.isFinite(item.saving_ms), low = item.saving_low_ms, high = item.saving_high_ms;
  const badges = [item.confidence !== undefined && (CONFIDENCE[item.confidence] || String(item.confidence)), item.timed && "timed", item.model_change && "changes the model", item.applies_itself && "applies itself"];
  const most_names = 6, names = (item.layers || []).slice(0, most_names).map((name) => {
    const layer = layerNamed(name);
    return layer ? el("button", { type: "button", class: "link", text: name, onclick: () => select(layer, "advice") }) : el("span", { text: name });
  });
  const at = (v) => `${(100 * Math.max(0, v)) / most}%`;
  return el("li", { class: "card" }, [
    el("div", { class: "saving" }, [el("strong", { text: known ? ms(item.saving_ms) : "–" }), el("span", { class: "unit", text: " ms" }),
      el("span", { class: "says", text: Number.isFinite(low) && Number.isFinite(high) ? `${ms(low)} to ${ms(high)} ms` : "" }),
      Number.isFinite(item.saving_percent) && el("span", { class: "says", text: percent(item.saving_percent) }),
      known && el("span", { class: "save", "aria-hidden": "true", style: { "--of": at(item.saving_ms), "--from": at(low), "--to": at(high) } })]),
    el("div", {}, [el("h3", {}, [`${number}. ${item.name}`, ...badges.filter(Boolean).map((text) => el("span", { class: "tag", text }))]),
      item.finding && el("p", { text: item.finding }), item.remedy && el("p", { class: "remedy", text: item.remedy }),
      item.model_change && el("p", { class: "remedy", text: `In the model: ${item.model_change}` }),
      item.flags && el("p", {}, el("code", { text: Array.isArray(item.flags) ? item.flags.join(" ") : item.flags })),
      names.length ? el("p", { class: "says" }, [...names.flatMap((name, i) => (i ? [", ", name] : [name])), item.layers.length > most_names ? ` and ${item.layers.length - most_names} more` : ""]) : null])]);
}

/* One bar a step: what it was predicted to take (a line) and what it took. The interval is that of its difference from the
 * best before it, so half of it stands to each side. */
const halfInterval = (step) => (step.high_ms > step.low_ms ? (step.high_ms - step.low_ms) / 2 : 0);
function drawStaircase(root, width, steps) {
  const left = 62, right = 12, top = 16, bottom = 26, height = 220;
  const values = steps.flatMap((s) => [s.measured_ms + halfInterval(s), s.predicted_ms]).filter(Number.isFinite), most = Math.max(...values, 1e-9) * 1.08;
  const y = (v) => height - bottom - (v / most) * (height - top - bottom), wide = (width - left - right) / steps.length, parts = [];
  for (const v of ticks(0, most, 4)) parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), svg("text", { class: "tick", x: left - 7, y: y(v) + 4, "text-anchor": "end", text: `${+v.toPrecision(6)}` }));
  steps.forEach((step, i) => {
    const x = left + i * wide + wide * 0.16, bar = wide * 0.68, kept = step.kept !== false, middle = x + bar / 2;
    const lines = [step.step, Number.isFinite(step.measured_ms) && `${ms(step.measured_ms)} ms`, step.predicted_ms > 0 && `predicted ${ms(step.predicted_ms)} ms`, step.why];
    if (Number.isFinite(step.measured_ms)) parts.push(mark(svg("rect", { class: kept ? "kept" : "dropped", x, y: y(step.measured_ms), width: bar, height: Math.max(0.5, y(0) - y(step.measured_ms)) }), null, lines),
      svg("text", { class: "tick strong", x: middle, y: y(Math.max(step.measured_ms + halfInterval(step), step.predicted_ms || 0)) - 5, "text-anchor": "middle", text: ms(step.measured_ms) }));
    if (halfInterval(step)) parts.push(svg("line", { class: "whisker", x1: middle, x2: middle, y1: y(step.measured_ms - halfInterval(step)), y2: y(step.measured_ms + halfInterval(step)) }));
    if (step.predicted_ms > 0) parts.push(svg("line", { class: "predicted", x1: x - 4, x2: x + bar + 4, y1: y(step.predicted_ms), y2: y(step.predicted_ms) }));
    parts.push(svg("text", { class: "tick", x: middle, y: height - 9, "text-anchor": "middle", text: wide > 70 ? shortened(step.step, Math.floor(wide / 6.4)) : String(i + 1) }));
  });
  parts.push(svg("text", { class: "axis", x: 6, y: 12, text: "ms" }));
  fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }).replaceChildren(...parts);
}

function showStaircase(section, steps) {
  section.append(el("h3", { text: "Applied, step by step" }));
  const drawing = svg("svg", {}), kept = steps.filter((s) => s.kept !== false && Number.isFinite(s.measured_ms));
  const says = kept.length > 1 ? `Measured in turns, the last step that was kept takes ${percent(Math.abs(kept[kept.length - 1].change_percent))} ${kept[kept.length - 1].change_percent > 0 ? "more" : "less"} time than the first. The dashed line is what was predicted, the thin one an interval of 95 % of the difference from the best before; pale bars were not kept.` : "The dashed line is what was predicted.";
  const { frame } = figure(section, drawing, { label: "Time after each step", says, keys: "The table below has the same numbers." });
  whenResized(frame, (width) => drawStaircase(drawing, width, steps));
  const number = (value, text) => (Number.isFinite(value) ? text(value) : "–");
  section.append(plainTable("Time after each step of the advice", [{ text: "Step" }, { text: "predicted ms", number: true }, { text: "measured ms", number: true }, { text: "to the best before, ms", number: true },
    { text: "from the first", number: true }, { text: "error", number: true }, { text: "Kept" }],
  steps.map((s) => [[s.step, s.flags && el("code", { class: "flags", text: s.flags })], s.predicted_ms > 0 ? ms(s.predicted_ms) : "–", number(s.measured_ms, ms), halfInterval(s) ? `${signed(s.low_ms)} to ${signed(s.high_ms)}` : "–",
    number(s.change_percent, (v) => signed(v, 1) + " %"), number(s.error, small), s.kept === false ? `no${s.why ? ": " + s.why : ""}` : "yes"])));
}

function showAdvice() {
  const section = byId("advice"), told = DATA.advice;
  if (!told) return;
  const list = [...(told.advice || [])].sort((a, b) => (b.saving_ms || 0) - (a.saving_ms || 0));
  const most = Math.max(...list.map((item) => Math.max(item.saving_ms || 0, item.saving_high_ms || 0)), 1e-9);
  if (told.pattern) section.append(el("p", { class: "lead" }, [el("strong", { text: told.pattern.name }), told.pattern.text ? `: ${told.pattern.text}` : ""]));
  if (list.length) section.append(el("ol", { class: "cards" }, list.map((item, i) => adviceCard(item, i + 1, most))));
  else section.append(el("p", { class: "note", text: "Nothing would save time that could be told." }));
  const removed = told.removed || [];
  if (removed.length) section.append(el("details", {}, [el("summary", { text: `${count(removed.length, "defect")} of the model that the build removed` }),
    el("ul", { class: "plain" }, removed.map((item) => el("li", {}, [el("strong", { text: item.name }), ` ${item.finding}`])))]));
  if (told.staircase && told.staircase.length) showStaircase(section, told.staircase);
}
