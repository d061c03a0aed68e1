# SPDX-License-Identifier: Apache-2.0
"""page.py - what every report's page must do, asked in a headless Chromium: numbers that equal the JSON of the same run,
sorting and filters, no console error, nothing asked from outside, and a width of 390 pixels."""
import json
import os
import pathlib
import re
import subprocess
import sys

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
    check(near(total, profile["median_ms"]), f"{name}: the median run is {total}, the JSON has {profile['median_ms']}")


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


def check_page(b, path, profile):
    """All of it, in both schemes and at both widths."""
    name = path.name
    check(data_of(path)["profile"] == profile, f"{name}: the page's profile is not what was printed")
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        b.open(path, width, 900, scheme)
        wide = b.ask("document.documentElement.scrollWidth")
        check(wide == width, f"{name}: at {width} pixels the page is {wide} wide")
        check(b.ask("document.getElementById('main').hidden") is False, f"{name}: nothing is shown")
    b.open(path, 1280, 900)
    check_numbers(b, name, profile)
    check_sorting(b, name, profile)
    check_filter(b, name, profile)
    asked = [url for url in b.requests if url not in (path.absolute().as_uri(), "about:blank") and not url.startswith("data:")]
    check(not asked, f"{name}: it asks for {asked}")
    check(not b.problems, f"{name}: the console says {b.problems}")
