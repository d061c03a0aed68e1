# SPDX-License-Identifier: Apache-2.0
"""page.py - what every report's page must do, asked in a headless Chromium: numbers that equal the JSON of the same run,
sorting and filters, no console error, nothing asked from outside, and a width of 390 pixels."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import chromium  # noqa: E402

HONE = os.environ.get("HONE_BIN", str(HERE.parents[1] / "build/release/hone"))
problems = []


def check(true, what):
    if not true:
        problems.append(what)
        print(f"FAILED: {what}", flush=True)


def hone(*arguments, code=0, timeout=1500):
    got = subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False)
    check(got.returncode == code, f"{arguments}: exit {got.returncode}, want {code}: {got.stderr[-400:]}")
    return got


def browser():
    """A browser, or the end of the test."""
    program = chromium.find()
    if not program:
        print(f"skipped: no headless Chromium is installed ({', '.join(chromium.NAMES)})")
        sys.exit(77)
    return chromium.Chromium(program)


def data_of(path):
    """The JSON in the page, read without a browser."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    check(len(blocks) == 1, f"{path.name}: {len(blocks)} blocks of data")
    check("<" not in blocks[0] and "\u2028" not in blocks[0], f"{path.name}: the data is not escaped")
    check(not re.search(r"(?:src|href)\s*=\s*[\"'](?:https?:)?//", text), f"{path.name}: it names another address")
    return json.loads(blocks[0])


def rows(b):
    """The visible rows of the table of layers, each a list of texts."""
    return b.ask("[...document.querySelectorAll('.layers tbody tr:not([hidden])')].map((r) => [...r.children].map((c) => c.textContent))")


def near(text, value):
    """Is the text this number, rounded to the digits that it shows?"""
    digits = len(text.split(".")[1]) if "." in text else 0
    return abs(float(text) - value) <= 0.5000001 * 10**-digits


def check_numbers(b, name, profile):
    """Columns against the JSON that the same run wrote to standard output."""
    table = rows(b)
    check(len(table) == len(profile["layers"]), f"{name}: {len(table)} rows for {len(profile['layers'])} layers")
    columns = b.ask("[...document.querySelectorAll('.layers .sort')].map((s) => s.dataset.column)")
    keys = {"median_ms": "median_ms", "p99_ms": "p99_ms", "percent": "percent", "gbyte": "gbyte_per_second",
            "roof_percent": "roof_percent", "above": "above_roof_ms"}
    for shown, layer in zip(table, profile["layers"]):
        cells = dict(zip(columns, shown))
        check(cells["name"] == layer["name"] and cells["type"] == layer["type"] and cells["tactic"] == layer["tactic"],
              f"{name}: {cells} is not {layer['name']}")
        for column, key in keys.items():
            said, want = cells[column], layer.get(key)
            check(said == "–" if want is None else near(said, want), f"{name}: {layer['name']}: {column} is {said}, the JSON has {want}")
        check(cells["gflop"] == "–" if layer["flops"] == 0 else near(cells["gflop"], layer["gflop_per_second"]),
              f"{name}: {layer['name']}: gflop {cells['gflop']}")
    total = b.ask("document.querySelector('#totals dd').firstChild.textContent")
    whole = profile["unprofiled_ms" if "queue" in profile and "unprofiled_ms" in profile else "median_ms"]
    check(near(total, whole), f"{name}: the median run is {total}, the JSON has {whole}")


def check_sorting(b, name, profile):
    """The heads' buttons: order, direction and aria-sort; by keyboard, too."""
    def names():
        return [row[1] for row in rows(b)]

    def state(column):
        return b.ask(f"document.querySelector('[data-column={column}]').closest('th').getAttribute('aria-sort')")

    by_time = [layer["name"] for layer in sorted(profile["layers"], key=lambda l: -l["median_ms"])]
    b.ask("document.querySelector('[data-column=median_ms]').click()")
    check(names() == by_time and state("median_ms") == "descending" and state("index") == "none", f"{name}: sorted by time")
    b.ask("document.querySelector('[data-column=median_ms]').focus()")
    b.key("Enter", 13, "\r")
    check([row[3] for row in rows(b)] == sorted((row[3] for row in rows(b)), key=float) and state("median_ms") == "ascending",
          f"{name}: sorted the other way by Enter")
    b.ask("document.querySelector('[data-column=name]').click()")
    check(sorted(names(), key=str.lower)[0] == names()[0] and state("name") == "ascending", f"{name}: sorted by name")
    b.ask("document.querySelector('[data-column=index]').click()")
    check(names() == [layer["name"] for layer in profile["layers"]], f"{name}: sorted by number again")


def check_filter(b, name, profile):
    def find(text):
        b.ask(f"(() => {{ const w = document.getElementById('words'); w.value = {json.dumps(text)}; w.dispatchEvent(new Event('input')); }})()")
        return [row[1] for row in rows(b)]

    word = profile["layers"][0]["type"]
    want = [l["name"] for l in profile["layers"] if word in " ".join(
        [l["name"], l["type"], l["class"], l["tactic"], l["storage"], *l["from"]]).lower()]
    check(find(word) == want, f"{name}: filtered by {word}")
    check(find("no layer is called so") == [], f"{name}: a filter that nothing fits")
    find("")
    kind = profile["layers"][-1]["class"]
    choose = "(() => {{ const s = document.getElementById('of-class'); s.value = {}; s.dispatchEvent(new Event('change')); }})()"
    b.ask(choose.format(json.dumps(kind)))
    check([row[1] for row in rows(b)] == [l["name"] for l in profile["layers"] if l["class"] == kind], f"{name}: filtered by the class {kind}")
    told = b.ask("document.getElementById('shown').textContent")
    check(told.startswith(f"{sum(l['class'] == kind for l in profile['layers'])} of {len(profile['layers'])} "), f"{name}: it says {told}")
    b.ask(choose.format('""'))


# Contrast of every text with the ground behind it, as WCAG 2 has it: 4.5 at least. Gives those below.
CONTRAST = """(() => {
  const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const read = (text) => { const n = (text.match(/[\\d.]+/g) || []).map(Number); return { color: n.slice(0, 3), alpha: n.length > 3 ? n[3] : 1 }; };
  const ground = (node) => { for (; node; node = node.parentElement) { const c = read(getComputedStyle(node).backgroundColor); if (c.alpha > 0.5) return c.color; } return [255, 255, 255]; };
  const out = [], seen = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = seen.nextNode());) {
    const e = n.parentElement, style = getComputedStyle(e);
    if (!n.data.trim() || e.closest("script, style, noscript, option") || !e.getClientRects().length) continue;
    const drawn = e instanceof SVGElement;
    let below = ground(drawn ? e.closest(".frame") : e);
    if (drawn && e.previousElementSibling && e.classList.contains("inside")) below = read(getComputedStyle(e.previousElementSibling).fill).color;
    const a = light(read(drawn ? style.fill : style.color).color), b = light(below);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out.push(`${n.data.trim().slice(0, 30)} (${e.className.baseVal || e.className || e.tagName}): ${ratio.toFixed(2)}`);
  }
  return [...new Set(out)].slice(0, 8);
})()"""


def check_reading(b, name):
    """For who does not see it: names, captions, headings; a text beside each drawing."""
    bare = b.ask("[...document.querySelectorAll('button, input, select, summary, [tabindex=\"0\"]')].filter((e) => "
                 "!(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length))).map((e) => e.outerHTML.slice(0, 80))")
    check(not bare, f"{name}: without a name: {bare}")
    check(b.ask("[...document.querySelectorAll('main table')].every((t) => t.caption && t.caption.textContent)"), f"{name}: a table without a caption")
    check(b.ask("[...document.querySelectorAll('main th')].every((h) => h.scope)"), f"{name}: a head without a scope")
    said = b.ask("[...document.querySelectorAll('figure')].map((f) => { const frame = f.querySelector('.frame'); "
                 "return [frame.getAttribute('aria-label'), document.getElementById(frame.getAttribute('aria-describedby')).textContent.length]; })")
    check(len(said) >= 5 and all(label and length > 60 for label, length in said), f"{name}: figures say {said}")
    ids = b.ask("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    check(len(ids) == len(set(ids)), f"{name}: an id stands twice")
    named = [n["name"]["value"] for n in b.call("Accessibility.getFullAXTree")["nodes"]
             if n.get("role", {}).get("value") == "columnheader" and not n.get("ignored")]
    check("ms" in named and "Layer" in named, f"{name}: a screen reader's heads are {named[:12]}")


def marks(b, selector):
    return b.ask(f"document.querySelectorAll({json.dumps(selector)}).length")


def check_figures(b, name, data):
    """As many marks as the data has; boxes of the graph apart from one another, each reader to the right of its writer."""
    layers = data["profile"]["layers"]
    schedule, memory = data["engine"]["schedules"][0], data["memory"]["schedules"][0]
    steps = {step["name"]: step for step in schedule["steps"]}
    points = [p for p in data["roofline"]["layers"] if p["flop_per_byte"] > 0 and p["flop_per_second"] > 0]
    check(marks(b, "#roofline .point") == len(points) > 0, f"{name}: points of the roofline")
    covered = b.ask("(() => { const box = (e) => e.getBoundingClientRect(), points = [...document.querySelectorAll('#roofline .point')].map(box); "
                    "return [...document.querySelectorAll('#roofline [data-roof]')].filter((t) => { const a = box(t); return points.some((p) => "
                    "p.left < a.right && a.left < p.right && p.top < a.bottom && a.top < p.bottom); }).map((t) => t.textContent); })()")
    check(not covered, f"{name}: layers cover the names of roofs: {covered}")
    spans = data["timeline"]["spans"]
    check(marks(b, "#timeline .span") == len(spans) and {s["name"] for s in spans} >= {l["name"] for l in layers}, f"{name}: spans of the timeline")
    own = [t for t in memory["tensors"] if "same_place_as" not in t and "lies_in" not in t and t["bytes"] > 0 and "offset" in t]
    check(marks(b, "#memory .tensor") == len(own), f"{name}: tensors of the memory map")
    measured = [l for l in layers if steps[l["name"]].get("error_rel_l2", -1) >= 0 and steps[l["name"]]["error_bound"] > 0]
    check(marks(b, "#errors .point") == len(measured) > 0, f"{name}: points of the errors")
    boxes = b.ask("[...document.querySelectorAll('#graph .node')].map((g) => { const m = g.transform.baseVal[0].matrix, r = g.querySelector('.box'); "
                  "return [m.e, m.f, r.width.baseVal.value, r.height.baseVal.value]; })")
    check(len(boxes) == len(schedule["steps"]) + len(schedule["inputs"]) + len(schedule["outputs"]), f"{name}: {len(boxes)} boxes in the graph")
    apart = all(p[0] + p[2] <= q[0] or q[0] + q[2] <= p[0] or p[1] + p[3] <= q[1] or q[1] + q[3] <= p[1]
                for i, p in enumerate(boxes) for q in boxes[:i])
    check(apart, f"{name}: boxes of the graph overlap")
    right = b.ask("(() => { const g = graphOf(); layOut(g.nodes, g.edges); return g.edges.every((e) => g.nodes[e.from].x + BOX.wide < g.nodes[e.to].x); })()")
    check(right, f"{name}: an edge of the graph goes back")
    fused = [s for s in schedule["steps"] if s["kind"] == "call" and s["type"] != "convert" and len(s["from"]) > 1]
    check(marks(b, "#graph .node:has(.part)") == len(fused), f"{name}: frames of fused nodes")
    shares = b.ask("[...document.querySelectorAll('#classes tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    for row, want in zip(shares, data["profile"]["classes"]):
        check(row[0].strip() == want["class"] and near(row[1], want["median_ms"]) and near(row[2].split()[0], want["percent"]), f"{name}: class {row}")
    check(len(shares) == len(data["profile"]["classes"]), f"{name}: {len(shares)} classes")
    table = b.ask("[...document.querySelectorAll('#leftovers table:first-of-type tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")
    left, regions = data["profile"]["leftovers"], data["profile"]["refused_regions"]
    for row, want in zip(table, left):
        check(row[0] == want["name"] and near(row[2], want["median_ms"]) and row[4] == (want["fusion"] or "none is known"), f"{name}: leftover {row}")
    check(len(table) == len(left) + len(regions), f"{name}: {len(table)} rows of what is no product, the JSON has {len(left)} and {len(regions)}")


def check_selection(b, name, data, explained):
    """A layer that is selected in one figure is selected in all; its tactics are the ledger's."""
    layers = data["profile"]["layers"]
    b.ask("document.querySelector('#errors .frame').focus()")
    b.key("Home", 36)
    b.key("ArrowRight", 39)
    chosen = b.ask("document.getElementById('layer-h').textContent")
    picked = b.ask("[...document.querySelectorAll('[aria-pressed=true]')].map((e) => e.textContent)")
    check(picked == [chosen] and chosen != layers[0]["name"], f"{name}: by keys {picked}, {chosen}")
    check(chosen in b.ask("document.getElementById('said').textContent"), f"{name}: the selection is not said")
    number = next(i for i, l in enumerate(layers) if l["name"] == chosen)
    for section in ("timeline", "memory", "graph", "errors"):
        check(marks(b, f"#{section} .selected[data-layer='{number}']") > 0, f"{name}: not selected in {section}")
    node = next(n for n in explained if n["node"] == chosen)
    b.ask("document.querySelectorAll('#layer details').forEach((d) => (d.open = true))")
    timed = [c for c in node["candidates"] if "time_ns" in c]
    shown = b.ask("[...document.querySelectorAll('#layer .tactics tbody tr')].map((r) => [r.querySelector('code').textContent, r.querySelector('td').firstChild.textContent])")
    full = sorted((c["time_ns"], c["tactic"]) for c in timed)
    check(len(shown) == len(full), f"{name}: {chosen}: {len(shown)} tactics with a time, the ledger has {len(full)}")
    check(all(near(text, ns * 1e-6) for (_, text), (ns, _) in zip(sorted(shown, key=lambda s: float(s[1])), full)), f"{name}: {chosen}: {shown}")
    for c in (c for c in node["candidates"] if c["state"] == "rejected"):
        check(b.ask(f"document.getElementById('layer').textContent.includes({json.dumps(c['reason'])})"), f"{name}: no reason {c['reason']}")


def check_plain(b, path, profile):
    """Without scripts there is the profile as text."""
    b.call("Emulation.setScriptExecutionDisabled", value=True)
    b.call("Page.navigate", url=path.absolute().as_uri())
    for _ in range(50):
        time.sleep(0.1)
        text = " ".join(n.get("name", {}).get("value", "") for n in b.call("Accessibility.getFullAXTree")["nodes"]
                        if n.get("role", {}).get("value") == "StaticText")
        if profile["layers"][-1]["name"] in text:
            break
    b.call("Emulation.setScriptExecutionDisabled", value=False)
    check(all(layer["name"] in text for layer in profile["layers"]), f"{path.name}: without scripts: {text[:200]}")


def check_page(b, path, profile, explained):
    """All of it, in both schemes and at both widths."""
    name = path.name
    b.requests.clear()
    data = data_of(path)
    check(data["profile"] == profile, f"{name}: the page's profile is not what was printed")
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        b.open(path, width, 900, scheme)
        wide = b.ask("document.documentElement.scrollWidth")
        check(wide == width, f"{name}: at {width} pixels the page is {wide} wide")
        check(b.ask("document.getElementById('main').hidden") is False, f"{name}: nothing is shown")
        pale = b.ask(CONTRAST)
        check(not pale, f"{name}: {width} pixels, {scheme}: too little contrast: {pale}")
    b.open(path, 1280, 900)
    check_numbers(b, name, profile)
    check_sorting(b, name, profile)
    check_filter(b, name, profile)
    check_reading(b, name)
    check_figures(b, name, data)
    check_selection(b, name, data, explained)
    check_plain(b, path, profile)
    asked = [url for url in b.requests if url not in (path.absolute().as_uri(), "about:blank") and not url.startswith("data:")]
    check(not asked, f"{name}: it asks for {asked}")
    check(not b.problems, f"{name}: the console says {b.problems}")
