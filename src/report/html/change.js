/* SPDX-License-Identifier: Apache-2.0 */
/* change.js - before and after: the model's nodes against the engine's steps, fused nodes against their parts, and, where
 * an earlier profile was given, its layers against these, put together by the nodes of the model that they stand for. */

const signed = (value, digits = 3) => (value > 0 ? "+" : value < 0 ? "−" : "±") + fixed(Math.abs(value), digits);

/* Two bars under one another, in one scale. */
function barPair(rows, unit) {
  const most = Math.max(...rows.map((r) => r.value), 1e-12);
  return el("div", { class: "pair" }, rows.map((row) => el("div", {}, [el("span", { class: "what-long", text: row.name }),
    el("span", { class: "track", "aria-hidden": "true" }, el("span", { class: row.now ? "now" : "then", style: { width: `${(100 * row.value) / most}%` } })),
    el("span", { class: "number", text: row.text || `${ms(row.value)} ${unit}` })])));
}

/* Groups of layers of two profiles that share nodes of the model; what has none goes by its name. */
function alignLayers(before, after) {
  const groups = [], owner = new Map();
  const join = (layer, side) => {
    const keys = layer.from && layer.from.length ? layer.from : [`layer ${layer.caused_by || layer.name}`];
    const found = [...new Set(keys.map((key) => owner.get(key)).filter(Boolean))];
    const group = found[0] || { before: [], after: [], keys: [] };
    if (!found.length) groups.push(group);
    for (const other of found.slice(1)) {
      for (const key of other.keys) owner.set(key, group);
      for (const part of ["before", "after", "keys"]) group[part].push(...other[part]);
      groups.splice(groups.indexOf(other), 1);
    }
    for (const key of keys) (owner.set(key, group), group.keys.push(key));
    group[side].push(layer);
  };
  for (const layer of before) join(layer, "before");
  for (const layer of after) join(layer, "after");
  const total = (list) => sum(list, (layer) => layer.median_ms);
  return groups.map((g) => ({ ...g, was: total(g.before), is: total(g.after), by: total(g.after) - total(g.before) }));
}

function earlier(section) {
  const old = DATA.before, groups = alignLayers(old.layers, LAYERS).sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
  const percentOf = 100 * (runOf(PROFILE) / runOf(old) - 1), faster = groups.filter((g) => g.by < 0);
  const elsewhere = old.device !== PROFILE.device || old.threads !== PROFILE.threads || old.batch !== PROFILE.batch;
  const text = [`The median run took ${ms(runOf(old))} ms before and takes ${ms(runOf(PROFILE))} ms now, ${percent(Math.abs(percentOf))} ${percentOf < 0 ? "less" : "more"}.`,
    `${old.layers.length} layers became ${LAYERS.length}; ${faster.length} groups of them are faster by ${ms(-sum(faster, (g) => g.by))} ms, the others slower by ${ms(sum(groups.filter((g) => g.by > 0), (g) => g.by))} ms.`,
    elsewhere && `Before: ${old.device}, ${old.threads} at once, batch ${old.batch}; these differ, so times do not compare as such.`];
  section.append(el("p", { class: "lead", text: text.filter(Boolean).join(" ") }),
    barPair([{ name: "before", value: runOf(old) }, { name: "now", value: runOf(PROFILE), now: true }], "ms"),
    plainTable("What changed most, by the model's nodes that layers stand for",
      [{ text: "Layers now" }, { text: "before ms", number: true }, { text: "now ms", number: true }, { text: "change ms", number: true }],
      groups.slice(0, 12).map((g) => [nameOf(g), g.before.length ? fixed(g.was, 3) : "–", g.after.length ? fixed(g.is, 3) : "–", signed(g.by)])));
}

function nameOf(group) {
  const list = group.after.length ? group.after : group.before, layer = list[0];
  const text = layer.name + (list.length > 1 ? ` and ${list.length - 1} more` : "");
  return group.after.length ? el("button", { type: "button", class: "link", text, onclick: () => select(layer, "table") }) : `${text} (gone)`;
}

/* Of each fused node that was timed both ways. */
function fusedAgainstParts() {
  const out = [];
  for (const node of LEDGER ? LEDGER.nodes : []) {
    const chosen = node.parts && node.parts.times && chosenOf(node);
    if (!chosen || !chosen.time_ns || !node.parts.times.length || node.measured_with) continue;
    const parts = Math.min(...node.parts.times.map((t) => t.time_ns));
    out.push({ node, layer: LAYER_OF.get(node.node), alike: LEDGER.nodes.filter((n) => n.measured_with === node.node).length, fused: chosen.time_ns, parts, why: node.parts.why });
  }
  return out.sort((a, b) => b.parts - b.fused - (a.parts - a.fused));
}

function showChange() {
  const section = byId("change");
  if (DATA.before) earlier(section);
  const origins = new Set(SCHEDULE.steps.flatMap((s) => s.from)), fused = SCHEDULE.steps.filter(isFused);
  const converts = LAYERS.filter((l) => l.class === "Convert" || l.type === "copy").length;
  const fired = new Map();
  for (const node of LEDGER ? LEDGER.nodes : [])
    for (const pass of node.passes || []) if (pass.fired) {
      if (!fired.has(pass.rule)) fired.set(pass.rule, { pass: pass.pass, nodes: new Set() });
      fired.get(pass.rule).nodes.add(pass.node);
    }
  const text = `${count(origins.size, "node")} of the model ${origins.size === 1 ? "runs" : "run"} as ${count(SCHEDULE.steps.length, "step")}: ${fused.length} of these fuse several nodes` +
    (converts ? `, ${converts} only convert or copy.` : ".") + " Constants that were computed while building are not counted.";
  section.append(el("p", { class: DATA.before ? "note" : "lead", text }), barPair([{ name: "nodes of the model", value: origins.size, text: String(origins.size) },
    { name: "steps of the engine", value: SCHEDULE.steps.length, text: String(SCHEDULE.steps.length), now: true }], ""));
  const columns = [], against = fusedAgainstParts().filter((f) => f.layer);
  if (fired.size) columns.push(plainTable("Rewrites by rule", [{ text: "Rule" }, { text: "Pass" }, { text: "Nodes", number: true }],
    [...fired].sort((a, b) => b[1].nodes.size - a[1].nodes.size).slice(0, 8).map(([rule, f]) => [rule, f.pass, String(f.nodes.size)])));
  if (against.length) columns.push(plainTable("Fused against its parts, as timed while tuning", [{ text: "Layer" }, { text: "parts ms", number: true }, { text: "fused ms", number: true }],
    against.slice(0, 8).map((f) => [[el("button", { type: "button", class: "link", text: f.layer.name, onclick: () => select(f.layer, "table") }), f.alike > 0 && el("span", { class: "says", text: ` and ${f.alike} alike` })], fixed(f.parts * 1e-6, 3), fixed(f.fused * 1e-6, 3)])));
  if (columns.length) section.append(el("div", { class: "columns" }, columns));
}
