/* SPDX-License-Identifier: Apache-2.0 */
/* time.js - the timeline: steps on the first track, queues of devices and threads' shares below, one run from its begin. */

/* Tracks in order, each with its spans. A share is by one thread; a step without a queue is the session's. */
function timelineTracks(spans) {
  const tracks = new Map();
  for (const span of spans) {
    const key = span.thread !== undefined ? `thread ${span.thread}` : span.queue !== undefined ? `queue ${span.queue}` : "steps";
    if (!tracks.has(key)) tracks.set(key, []);
    tracks.get(key).push(span);
  }
  const place = (key) => (key === "steps" ? -2 : key.startsWith("queue") ? -1 : Number(key.split(" ")[1]));
  return [...tracks].sort((a, b) => place(a[0]) - place(b[0]));
}

function drawTimeline(root, width, tracks, end_ns) {
  const left = 62, right = 8, row = 24, gap = 5, top = 20;
  const height = top + tracks.length * (row + gap) + 2;
  const x = (ns) => left + (ns / end_ns) * (width - left - right);
  const parts = [], names = svg("g", { class: "names" }, svg("rect", { width: left - 3, y: 0, height }));
  for (const v of ticks(0, end_ns * 1e-6, (width - left) / 90))
    parts.push(svg("line", { class: "grid", x1: x(v * 1e6), x2: x(v * 1e6), y1: top - 4, y2: height }),
      svg("text", { class: "tick", x: x(v * 1e6), y: 11, "text-anchor": v ? "middle" : "start", text: `${+v.toFixed(6)} ms` }));
  tracks.forEach(([name, spans], t) => {
    const y = top + t * (row + gap);
    parts.push(svg("rect", { class: "lane", x: left, y, width: width - left - right, height: row }));
    names.append(svg("text", { class: "tick", x: left - 7, y: y + row / 2 + 4, "text-anchor": "end", text: name }));
    for (const span of spans) {
      const layer = LAYER_OF.get(span.name), wide = x(span.end_ns) - x(span.begin_ns);
      const lines = [span.name, `${time(span.end_ns - span.begin_ns)}, from ${time(span.begin_ns)}`, span.parts && count(span.parts, "part") + " of the loop", layer && layer.class];
      parts.push(mark(svg("rect", { class: "span", "data-layer": layer && layer.index, x: x(span.begin_ns), y, width: Math.max(0.6, wide - (wide > 3 ? 0.7 : 0)), height: row,
        style: { fill: layer ? colorOf(layer.class) : "var(--quiet)" } }), layer, lines));
      if (t === 0 && wide > 8 * span.name.length) parts.push(svg("text", { class: "inside", x: x(span.begin_ns) + 5, y: y + row / 2 + 4, text: span.name }));
    }
  });
  fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }).replaceChildren(...parts, names);
  followPoints(root);
}

/* A drawing wider than its frame: buttons change how wide, the frame scrolls. draw(width) gets the drawing's width. */
function zooms(box, frame, most, draw) {
  let zoom = 1, width = 0;
  const told = el("span", { class: "zoom", text: "1×" });
  const to = (next) => {
    const middle = (frame.scrollLeft + frame.clientWidth / 2) / Math.max(1, frame.scrollWidth);
    zoom = Math.max(1, Math.min(most, next));
    told.textContent = `${+zoom.toFixed(1)}×`;
    draw(Math.round(width * zoom));
    frame.scrollLeft = middle * frame.scrollWidth - frame.clientWidth / 2;
  };
  const tools = el("div", { class: "tools" }, [
    el("button", { class: "tool", type: "button", "aria-label": "Wider", text: "+", onclick: () => to(zoom * 2) }),
    el("button", { class: "tool", type: "button", "aria-label": "Narrower", text: "−", onclick: () => to(zoom / 2) }),
    el("button", { class: "tool", type: "button", "aria-label": "Fit the width", text: "fit", onclick: () => to(1) }), told]);
  box.insertBefore(tools, frame);
  frame.addEventListener("keydown", (event) => {
    const next = { "+": zoom * 2, "=": zoom * 2, "-": zoom / 2, 0: 1 }[event.key];
    if (next !== undefined && !event.ctrlKey && !event.metaKey) (event.preventDefault(), to(next));
  });
  whenResized(frame, (now) => ((width = now), to(zoom)));
}

/* Keeps a selected mark in a frame that scrolls. */
function reveal(frame, node) {
  if (!node) return;
  const at = Number(node.getAttribute("x")), wide = Number(node.getAttribute("width"));
  if (at < frame.scrollLeft || at + wide > frame.scrollLeft + frame.clientWidth) frame.scrollLeft = at - frame.clientWidth / 2;
}

function showTimeline() {
  const timeline = DATA.timeline;
  if (!timeline || !timeline.spans.length) return;
  const section = byId("timeline"), tracks = timelineTracks(timeline.spans);
  const threads = tracks.filter(([name]) => name.startsWith("thread"));
  const busy = threads.map(([, spans]) => sum(spans, (s) => s.end_ns - s.begin_ns));
  const steps = tracks.filter(([name]) => !name.startsWith("thread")).flatMap(([, spans]) => spans);
  const gap = timeline.end_ns - sum(steps, (s) => s.end_ns - s.begin_ns);
  const says = [`Run ${timeline.run}, the middle one by its time of those that were kept: ${time(timeline.end_ns)}, ${count(steps.length, "step")}` +
    (gap >= 0 ? `, ${time(gap)} between them.` : "."),
  threads.length && `Threads are busy for ${busy.map((ns) => percent((100 * ns) / timeline.end_ns, 0)).join(", ")} of it: shares of parallel loops, from a thread's first part to its last.`,
  timeline.dropped && `${count(timeline.dropped, "share")} did not fit the list and are not shown.`];
  const drawing = svg("svg", {});
  const { frame, whole } = figure(section, drawing, { label: "Timeline of steps and threads", class: "moves", says: says.filter(Boolean).join(" "),
    keys: "Arrow keys go from layer to layer; + and − stretch, 0 fits." });
  zooms(whole, frame, 64, (width) => drawTimeline(drawing, width, tracks, timeline.end_ns));
  /* Names of tracks stay where they are read. */
  frame.addEventListener("scroll", () => drawing.querySelector(".names").setAttribute("transform", `translate(${frame.scrollLeft} 0)`), { passive: true });
  onSelect((layer, from) => {
    followPoints(drawing);
    if (from !== "mark") reveal(frame, drawing.querySelector(`[data-layer="${layer.index}"]`));
  });
}
