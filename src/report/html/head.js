/* SPDX-License-Identifier: Apache-2.0 */
/* head.js - what the report is of, the totals, what changed, and the machine. */

function total(name, value, unit, says) {
  return el("div", {}, [el("dt", { text: name }), el("dd", {}, [value, unit && el("span", { class: "unit", text: " " + unit })]),
    says && el("dd", { class: "says", text: says })]);
}

/* Tracing a device makes a run longer on the host, not its layers: there the run is one without it. */
const isTraced = (profile) => Boolean(profile.queue && profile.unprofiled_ms);
const runOf = (profile) => (isTraced(profile) ? profile.unprofiled_ms : profile.median_ms);

/* What runs side by side: threads of a host, multiprocessors of a GPU. */
const unitsOf = (value) => count(value, DATA.machine.host_memory ? "thread" : "multiprocessor");

function showHead() {
  const machine = DATA.machine, p = PROFILE;
  const schedule = p.schedules > 1 ? `, schedule ${p.schedule} of ${p.schedules}` : "";
  byId("where").textContent = `${machine.name}, ${unitsOf(p.threads)}, batch ${p.batch}${schedule}; ` +
    `${count(p.runs, "profiled run")}${p.cold ? ", caches emptied before each" : ""}`;
  const traced = isTraced(p);
  const reachable = (100 * p.roof_ms) / p.layer_median_sum_ms;
  const list = [
    total("median run", ms(runOf(p)), "ms", traced ? `not traced; ${ms(p.median_ms)} ms with tracing` : `p99 ${ms(p.p99_ms)} ms, mean ${ms(p.mean_ms)} ms`),
    total("throughput", p.fps >= 1000 ? Math.round(p.fps).toLocaleString("en") : fixed(p.fps, 1), "/s", `batch ${p.batch}`),
    p.roof_ms > 0 && total("of the roof", fixed(reachable, 0), "%", `${ms(p.roof_ms)} ms if every layer reached its own`),
    total("products", fixed(p.gemm_percent, 1), "%", "of the time, what matrix units are for"),
    total("weights", fixed(SCHEDULE.weights_bytes * 1e-6, 1), "MB", `arena ${bytes(SCHEDULE.arena_bytes)}, scratch ${bytes(SCHEDULE.scratch_bytes)}`),
    total("operations", scaled(sum(LAYERS, (l) => l.flops), "").split(" ")[0], scaled(sum(LAYERS, (l) => l.flops), "FLOP").split(" ")[1],
      `${count(LAYERS.length, "layer")}, ${scaled((DATA.roofline.whole || {}).flop_per_second, "FLOP/s")}`),
  ];
  byId("totals").append(...list.filter(Boolean));
  const parts = [traced ? `On the device a run is ${ms(p.queue.span_ms - p.queue.gap_ms)} ms of layers and ${ms(p.queue.gap_ms)} ms of gaps between them; ` +
    `${ms(p.queue.launch_ms || 0)} ms are ${p.queue.replays === 1 ? "its launch" : `its ${p.queue.replays} launches`}, ${ms(Math.max(0, p.queue.host_ms - (p.queue.launch_ms || 0)))} ms the host's side of copies and steps.` :
    `A mean run of ${ms(p.mean_ms)} ms is ${ms(p.layer_sum_ms)} ms of layers and ${ms(p.between_layers_ms)} ms between them.`];
  if (p.unprofiled_ms && !traced) {
    const cost = 100 * (p.median_ms / p.unprofiled_ms - 1);
    parts.push(`Without profiling the median is ${ms(p.unprofiled_ms)} ms` + (cost > 2 ? `: profiling adds ${percent(cost, 0)}.` :
      cost < -10 ? `, ${percent(-cost, 0)} more than with it: the machine was not quiet.` : "."));
  }
  if (p.transfers) parts.push(`${count(p.transfers, "transfer")} to and from the device take ${ms(p.h2d_ms + p.d2h_ms)} ms.`);
  if (p.reference_percent > 0) parts.push(`${percent(p.reference_percent)} of the time is on the reference, which is slow: no tactic took those layers.`);
  byId("sum").textContent = parts.join(" ");
  byId("made").append(el("p", {}, [`Made by ${DATA.engine.built_by}${DATA.made ? ", " + DATA.made : ""}. `, DATA.command && el("code", { text: DATA.command })]));
}

function showMachine() {
  const section = byId("machine"), m = DATA.machine;
  const facts = [["Device", m.name], ["Version", m.version], ["Instruction sets", m.isa], [m.host_memory ? "Threads" : "Multiprocessors", m.threads],
    ["Cores", m.cores || null], ["Clock", m.clock_hz ? scaled(m.clock_hz, "Hz") : null], ["L1", m.l1_bytes ? binary(m.l1_bytes) : null],
    ["L2", m.l2_bytes ? binary(m.l2_bytes) : null], ["L3", m.l3_bytes ? binary(m.l3_bytes) : null], ["Engine built for", DATA.engine.device]];
  section.append(el("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) =>
    el("div", {}, [el("dt", { text: name }), el("dd", { text: value })]))));
  const roofs = Object.entries(PROFILE.roofs || {});
  if (roofs.length)
    section.append(plainTable(m.host_memory ? "Roofs, measured with the engine's threads" : "Roofs, measured on this device", [{ text: "Roof" }, { text: "a second", number: true }],
      roofs.map(([name, value]) => [name, scaled(value, /^(L\d|memory)/.test(name) ? "B" : "FLOP")])));
}
