/* SPDX-License-Identifier: Apache-2.0 */
/* layers.js - the table of layers: sorted by a button in each head, filtered by words, a class and a bound. */

const errorShare = (layer) => (layer.step.error_rel_l2 >= 0 ? layer.step.error_rel_l2 / layer.step.error_bound : NaN);
const COLUMNS = [
  { id: "index", text: "#", number: true, value: (l) => l.index + 1, show: (l) => String(l.index + 1) },
  { id: "name", text: "Layer", value: (l) => l.name },
  { id: "type", text: "Type", value: (l) => l.type, show: (l) => l.type },
  { id: "median_ms", text: "ms", number: true, value: (l) => l.median_ms, show: (l) => fixed(l.median_ms, 3), title: "median time of a run" },
  { id: "p99_ms", text: "p99", number: true, more: true, value: (l) => l.p99_ms, show: (l) => fixed(l.p99_ms, 3), title: "99th percentile, ms" },
  { id: "percent", text: "Share", number: true, value: (l) => l.percent, title: "percent of the layers' time" },
  { id: "gflop", text: "GFLOP/s", number: true, value: (l) => l.gflop_per_second, show: (l) => (l.flops ? fixed(l.gflop_per_second, 1) : "–") },
  { id: "gbyte", text: "GB/s", number: true, mid: true, value: (l) => l.gbyte_per_second, show: (l) => fixed(l.gbyte_per_second, 1) },
  { id: "bound", text: "Bound", value: (l) => boundText(l), show: (l) => boundText(l), title: "what takes longest at the roof" },
  { id: "roof_percent", text: "Roof %", number: true, value: (l) => l.roof_percent, show: (l) => fixed(l.roof_percent, 0), title: "time at the roof over time measured" },
  { id: "above", text: "Above ms", number: true, value: (l) => l.above_roof_ms, show: (l) => fixed(l.above_roof_ms, 3), title: "time above the roof: what could be saved at most" },
  { id: "error", text: "Error", number: true, mid: true, value: (l) => (l.step.error_rel_l2 >= 0 ? l.step.error_rel_l2 : NaN), show: (l) => (l.step.error_rel_l2 >= 0 ? small(l.step.error_rel_l2) : "–"), title: "relative L2 against the reference, measured at build" },
  { id: "storage", text: "Storage", more: true, value: (l) => l.storage, show: (l) => l.storage },
  { id: "tactic", text: "Tactic", more: true, value: (l) => l.tactic, show: (l) => l.tactic },
];

function layerRow(layer, longest) {
  const cells = COLUMNS.map((column) => {
    const classes = [column.number && "number", column.more && "more", column.mid && "mid", column.id].filter(Boolean).join(" ");
    if (column.id === "name")
      return el("th", { scope: "row", class: "name" }, el("button", { type: "button", class: "pick", onclick: () => select(layer, "table") }, [
        el("span", { class: "dot", style: { background: colorOf(layer.class) } }), el("span", { class: "label", title: layer.name }, el("bdi", { text: layer.name }))]));
    if (column.id === "percent")
      return el("td", { class: classes }, [el("span", { class: "bar", "aria-hidden": "true", style: { "--of": `${(100 * layer.median_ms) / longest}%` } }),
        el("span", { text: fixed(layer.percent, 1) })]);
    return el("td", { class: classes, text: column.show(layer) });
  });
  return el("tr", { "data-layer": layer.index }, cells);
}

/* Numbers that are not known come last, whichever way. */
function compareBy(column, down) {
  return (a, b) => {
    const x = column.value(a), y = column.value(b);
    if (!column.number) return (down ? -1 : 1) * String(x).localeCompare(String(y), "en", { numeric: true }) || a.index - b.index;
    const xKnown = Number.isFinite(x), yKnown = Number.isFinite(y);
    if (!xKnown || !yKnown) return yKnown - xKnown || a.index - b.index;
    return (down ? y - x : x - y) || a.index - b.index;
  };
}

function option(value, text) {
  return el("option", { value, text });
}

const field = (name, control) => el("span", { class: "field" }, [el("label", { for: control.id, text: name }), control]);

function showLayers() {
  const section = byId("layers"), longest = Math.max(...LAYERS.map((l) => l.median_ms), 1e-9);
  const rows = LAYERS.map((layer) => layerRow(layer, longest));
  const body = el("tbody", {}, rows);
  let column = COLUMNS[0], down = false;
  const heads = COLUMNS.map((one) => el("th", { scope: "col", class: [one.number && "number", one.more && "more", one.mid && "mid", one.id].filter(Boolean).join(" "),
    "aria-sort": one.id === "index" ? "ascending" : "none" },
  el("button", { type: "button", class: "sort", title: one.title, "data-column": one.id, onclick: () => sortBy(one) }, one.text)));

  function sortBy(one) {
    down = one === column ? !down : Boolean(one.number) && one.id !== "index";
    column = one;
    heads.forEach((head, i) => head.setAttribute("aria-sort", COLUMNS[i] !== one ? "none" : down ? "descending" : "ascending"));
    body.append(...[...LAYERS].sort(compareBy(one, down)).map((layer) => rows[layer.index]));
    say(`sorted by ${one.title || one.text}, ${down ? "descending" : "ascending"}`);
  }

  const words = el("input", { type: "search", id: "words", placeholder: "name, type, tactic …", autocomplete: "off", spellcheck: "false" });
  const ofClass = el("select", { id: "of-class" }, [option("", "all"), ...CLASSES.map((name) => option(name, name))]);
  const bounds = [...new Set(LAYERS.map(boundText))].sort();
  const ofBound = el("select", { id: "of-bound" }, [option("", "all"), ...bounds.map((name) => option(name, name))]);
  const shown = el("output", { id: "shown", for: "words of-class of-bound" });

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0, time_ms = 0;
    for (const layer of LAYERS) {
      const text = [layer.name, layer.type, layer.class, layer.tactic, layer.storage, ...layer.from].join(" ").toLowerCase();
      const fits = wanted.every((word) => text.includes(word)) && (!ofClass.value || layer.class === ofClass.value) &&
        (!ofBound.value || boundText(layer) === ofBound.value);
      rows[layer.index].hidden = !fits;
      if (fits) (++left), (time_ms += layer.median_ms);
    }
    shown.textContent = `${left} of ${count(LAYERS.length, "layer")}, ${ms(time_ms)} ms`;
  }
  words.addEventListener("input", filter);
  for (const choice of [ofClass, ofBound]) choice.addEventListener("change", filter);

  const more = el("input", { type: "checkbox", id: "more" });
  const table = el("table", { class: "layers" }, [
    el("caption", { class: "unseen", text: "Layers in the order of execution; the buttons in the heads sort them" }),
    el("thead", {}, el("tr", {}, heads)), body]);
  more.addEventListener("change", () => table.classList.toggle("wide", more.checked));
  section.append(
    el("form", { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() }, [
      field("Find", words), field("Class", ofClass), field("Bound", ofBound), el("label", { class: "check" }, [more, "all columns"]), shown]),
    el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Table of layers" }, table));
  filter();
  onSelect((layer, from) => {
    for (const row of rows) row.classList.toggle("selected", row === rows[layer.index]);
    for (const row of rows) row.querySelector(".pick").setAttribute("aria-pressed", row === rows[layer.index]);
    if (from !== "table" && from !== "start") {
      const box = rows[layer.index].closest(".scroll"), row = rows[layer.index];
      if (row.offsetTop < box.scrollTop + 40 || row.offsetTop + 30 > box.scrollTop + box.clientHeight) box.scrollTop = row.offsetTop - box.clientHeight / 2;
    }
  });
}
