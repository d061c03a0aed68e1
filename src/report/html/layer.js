/* SPDX-License-Identifier: Apache-2.0 */
/* layer.js - the selected layer: its numbers, what it reads and writes, the model's nodes that it stands for, and every
 * tactic that was tried for it, with its interval or the reason against it. */

const LEDGER = DATA.ledger;
const LEDGER_NODES = new Map((LEDGER ? LEDGER.nodes : []).map((node) => [node.node, node]));

/* A row of the ledger with names instead of places. */
function candidate(place) {
  const row = LEDGER.rows[place], text = (i) => (row[i] === null || row[i] === undefined ? "" : LEDGER.texts[row[i]]);
  return { place, tactic: text(0) + text(4), provider: text(1), storages: `${text(2)} → ${text(3)}`, state: text(5), reason: text(6),
    estimate_ns: row[7], time_ns: row[8], low_ns: row[9], high_ns: row[10], runs: row[11], error: row[12], bound: row[13] };
}
/* Of a layer; a convert's story is that of the layer that wanted it. */
function ledgerNode(layer) {
  return LEDGER_NODES.get(layer.name) || LEDGER_NODES.get(layer.caused_by) || LEDGER_NODES.get(layer.name.split("/convert_")[0]);
}
const chosenOf = (node) => (node && node.candidates && node.chosen >= 0 ? candidate(node.candidates[node.chosen]) : null);

function facts(rows) {
  return el("dl", { class: "rows" }, rows.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "").map(([name, value]) =>
    el("div", {}, [el("dt", { text: name }), el("dd", {}, value)])));
}

/* The interval of 95 %, by powers of ten from the least to the most of the list, and its middle. */
function interval(one, low, high) {
  const at = (ns) => (high > low ? (100 * Math.log(ns / low)) / Math.log(high / low) : 50);
  const from = at(one.low_ns || one.time_ns), to = at(one.high_ns || one.time_ns);
  return el("span", { class: "interval", "aria-hidden": "true", style: { "--from": `${from}%`, "--wide": `${Math.max(0.5, to - from)}%`, "--at": `${at(one.time_ns)}%` } });
}

function timedTable(timed, chosen) {
  const low = Math.min(...timed.map((c) => c.low_ns || c.time_ns)), high = Math.max(...timed.map((c) => c.high_ns || c.time_ns));
  const row = (one) => el("tr", { class: one.place === chosen && "chosen" }, [
    el("th", { scope: "row", class: "tactic" }, [one.place === chosen && el("strong", { class: "badge", text: "chosen" }), el("code", { text: one.tactic }),
      el("span", { class: "says", text: one.storages + (one.reason ? `; ${one.reason}` : "") }), interval(one, low, high)]),
    el("td", { class: "number" }, [fixed(one.time_ns * 1e-6, 3), el("span", { class: "says", text: `${fixed((one.low_ns || one.time_ns) * 1e-6, 3)} to ${fixed((one.high_ns || one.time_ns) * 1e-6, 3)}` })])]);
  return el("table", { class: "tactics" }, [
    el("caption", { text: "Timed while tuning: median with an interval of 95 %, drawn by powers of ten" }),
    el("thead", {}, el("tr", {}, [el("th", { scope: "col", text: "Tactic" }), el("th", { scope: "col", class: "number", text: "ms" })])),
    el("tbody", {}, timed.map(row))]);
}

/* Those that were not timed, by what was said of them. */
function reasons(list, otherwise) {
  const groups = new Map();
  for (const one of list) {
    const why = one.reason || otherwise;
    if (!groups.has(why)) groups.set(why, []);
    groups.get(why).push(one);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length).map(([why, members]) => el("details", {}, [
    el("summary", {}, [why, el("span", { class: "count", text: ` ${members.length}` })]),
    el("ul", { class: "plain" }, members.map((one) => el("li", {}, [el("code", { text: one.tactic }),
      el("span", { class: "says", text: one.storages + (one.estimate_ns ? `; about ${time(one.estimate_ns)}` : "") })])))]));
}

function tacticsOf(layer) {
  const node = ledgerNode(layer), parts = [];
  if (!LEDGER) return [el("p", { class: "note", text: "There was no ledger beside the engine, which would tell what else was tried." })];
  if (!node || !node.candidates) return [el("p", { class: "note", text: node ? node.why : "The ledger tells nothing of this step: it was not a choice of the tuner's." })];
  const all = node.candidates.map(candidate), chosen = chosenOf(node);
  const timed = all.filter((c) => c.time_ns).sort((a, b) => a.time_ns - b.time_ns), most = 8;
  const others = all.filter((c) => !c.time_ns && c.state !== "rejected"), refused = all.filter((c) => c.state === "rejected");
  const why = [`${count(all.length, "tactic")} for ${node.node}: ${timed.length} timed, ${others.length} not, ${refused.length} refused.`,
    chosen && `Chosen: ${node.why}.`, node.measured_with && `Measured with ${node.measured_with}, which is the same work.`];
  parts.push(el("p", { class: "note", text: why.filter(Boolean).join(" ") }));
  if (timed.length) {
    const first = timed.filter((c, i) => i < most || (chosen && c.place === chosen.place));
    parts.push(timedTable(first, chosen && chosen.place));
    const rest = timed.filter((c) => !first.includes(c));
    if (rest.length) parts.push(el("details", {}, [el("summary", {}, ["slower ones", el("span", { class: "count", text: ` ${rest.length}` })]), timedTable(rest, -1)]));
  }
  if (node.f32) parts.push(el("p", { class: "note", text: `In f32 it would take ${time(node.f32.lost_ns)} more${node.f32.taken ? "; it was given back to f32" : ""}.` }));
  if (others.length) parts.push(el("h3", { text: "Not timed" }), ...reasons(others, "only estimated"));
  if (refused.length) parts.push(el("h3", { text: "Refused" }), ...reasons(refused, "no reason was given"));
  if (node.parts) parts.push(el("h3", { text: "Against its parts" }), partsOf(node, chosen));
  return parts;
}

function partsOf(node, chosen) {
  const times = (node.parts.times || []).map((t) => t.time_ns), best = Math.min(...times);
  const nodes = (node.parts.nodes || []).map((part) => el("li", {}, [el("code", { text: part.node }), el("span", { class: "says", text: `${part.op}${part.time_ns ? ", " + time(part.time_ns) : ""}` })]));
  return el("div", {}, [el("p", { class: "note", text: `${node.parts.why}` + (times.length ? `: the parts take ${time(best)} at their fastest` + (chosen && chosen.time_ns ? `, fused ${time(chosen.time_ns)}.` : ".") : ".") }),
    nodes.length ? el("ul", { class: "plain" }, nodes) : null]);
}

/* What was asked of the quantiser and of the planner, and what the layer got. */
function typesOf(node) {
  const quantised = ((node && node.quantised) || []).map((of) => el("li", {}, [el("code", { text: of.layer }), el("span", { class: "says", text: of.why
    ? `asked int8, got f32: ${of.why}`
    : `asked int8, got int8: ${of.tensor} from ${Number(of.from).toPrecision(4)} to ${Number(of.to).toPrecision(4)}, scale ${small(of.scale)}, zero point ${of.zero_point}` +
      (of.sqnr_db === undefined ? "" : `; ${percent(100 * of.clipped, 2)} cut, signal to noise ${fixed(of.sqnr_db, 1)} dB`) })]));
  const planned = ((node && node.planned) || []).map((of) => el("li", {}, [el("code", { text: of.layer }), el("span", { class: "says", text:
    `planned in ${of.type}, which saves ${time(of.saved_ns)} against f32${of.why ? `; not in 8 bits: ${of.why}` : ""}: ` +
    ["f32", "bf16", "f16", "int8"].filter((type) => of[type]).map((type) => `${type} ${time(of[type].ns)}, noise ${small(of[type].noise)}`).join("; ") })]));
  return [...quantised, ...planned];
}

function portsOf(layer) {
  const kept = layer.step.inputs.filter(Boolean);
  const line = (what, port) => el("li", {}, [el("span", { class: "what", text: what }), el("code", { text: port.name }), el("span", { class: "says", text: `${port.type}, ${port.place}` })]);
  return [...kept.map((port) => line("in", port)), ...layer.step.outputs.filter(Boolean).map((port) => line("out", port))];
}

function showLayer(layer) {
  const step = layer.step, node = ledgerNode(layer), out = [];
  const open = [...byId("layer").querySelectorAll(":scope > details")].map((one) => one.open);
  out.push(el("p", { class: "kind", text: `Layer ${layer.index + 1} of ${LAYERS.length}` }), el("h2", { id: "layer-h" }, [layer.name]),
    el("p", { class: "says" }, [el("span", { class: "dot", style: { background: colorOf(layer.class) } }), ` ${layer.type}, ${layer.class}${layer.reference ? ", on the reference" : ""}`]));
  out.push(facts([["Time", `${ms(layer.median_ms)} ms, ${percent(layer.percent)}`], ["Range", `${ms(layer.min_ms)} to ${ms(layer.max_ms)} ms, p99 ${ms(layer.p99_ms)}`],
    ["Bound", layer.bound && `${boundText(layer)}, ${percent(layer.roof_percent, 0)} of the roof`], ["Above the roof", layer.bound && `${ms(layer.above_roof_ms)} ms`],
    ["Operations", layer.flops > 0 && `${scaled(layer.flops, "FLOP")}, ${fixed(layer.gflop_per_second, 1)} GFLOP/s`],
    ["Bytes", `${bytes(layer.parameter_bytes)} of parameters, ${bytes(layer.input_bytes)} in, ${bytes(layer.output_bytes)} out`],
    ["Storage", layer.storage], ["Tactic", [el("code", { text: layer.tactic })]],
    ["Error", step.error_rel_l2 >= 0 && step.error_bound > 0 && `${small(step.error_rel_l2)} of ${small(step.error_bound)} allowed`],
    ["Because of", layer.caused_by]]));
  if (layer.roof_reason) out.push(el("p", { class: "note", text: layer.roof_reason }));
  const section = (name, children, isOpen) => out.push(el("details", { open: isOpen }, [el("summary", { text: name }), ...children]));
  section("Tactics tried", tacticsOf(layer), open.length ? open[0] : true);
  const types = typesOf(node);
  if (types.length) out.push(el("div", { class: "types" }, [el("h3", { text: "Type asked and got" }), el("ul", { class: "plain" }, types)]));
  const passes = (node && node.passes) || [], fired = passes.filter((p) => p.fired), missed = passes.filter((p) => !p.fired);
  section(`Stands for ${count(layer.from.length, "node")} of the model`, [
    el("ul", { class: "plain" }, layer.from.map((name) => el("li", {}, el("code", { text: name })))),
    fired.length ? el("p", { class: "note", text: `Rewritten by ${[...new Set(fired.map((p) => p.rule))].join(", ")}.` }) : null,
    ...missed.map((p) => el("p", { class: "note", text: `${p.rule} did not apply at ${p.node}: ${p.unmet || "it did not match"}.` }))].filter(Boolean), open.length ? open[1] : true);
  section("Reads and writes", [el("ul", { class: "plain" }, portsOf(layer))], open.length ? open[2] : false);
  byId("layer").replaceChildren(...out);
  byId("layer").scrollTop = 0;
}

function followLayer() {
  onSelect((layer, from) => {
    showLayer(layer);
    if (from === "table" && getComputedStyle(byId("layer")).position !== "sticky") byId("layer").scrollIntoView({ block: "start" });
  });
}
